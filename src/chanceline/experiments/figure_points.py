"""The points of a figure: from results in a store, or from the run that comes with the package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path

import numpy as np
import pandas as pd

from chanceline.errors import InputError
from chanceline.experiments.points import capacity_points, entropy_points
from chanceline.experiments.store import Store, frame
from chanceline.experiments.sweeps import load_sweep

SHIPPED_FOLDER = Path(__file__).parents[1] / "data" / "experiments"
# Loads at which Monte Carlo curves are read, 1/2 to 7/4; exact counts bring their own.
CURVE_LOADS = tuple(np.arange(8, 29) / 16)


class ScalingFigure(StrEnum):
    """The figures that are drawn from sweeps."""

    PAPER_FIG3 = "paper-fig3"
    BEST = "best"
    ENTROPY = "entropy"
    CAPACITY = "capacity"


# Figure → the sweeps it is drawn from.
SWEEPS: Mapping[str, Sequence[str]] = {
    ScalingFigure.PAPER_FIG3: ("paper-fig3",),
    ScalingFigure.BEST: ("best",),
    ScalingFigure.ENTROPY: ("entropy", "entropy-large"),
    ScalingFigure.CAPACITY: ("capacity",),
}
# The same figures from small sweeps that are run on the spot.
QUICK_SWEEPS: Mapping[str, Sequence[str]] = {
    ScalingFigure.PAPER_FIG3: ("quick-fig3",),
    ScalingFigure.BEST: ("quick-best",),
    ScalingFigure.ENTROPY: ("quick-entropy",),
    ScalingFigure.CAPACITY: ("quick-capacity",),
}


def known_figure(figure: str) -> ScalingFigure:
    """The figure of this name; an unknown one is refused."""
    try:
        return ScalingFigure(figure)
    except ValueError:
        raise InputError(
            f"there is no figure of {figure!r}; choose one of {', '.join(ScalingFigure)}"
        ) from None


def stored_points(
    figure: str, store: str | Path, sweeps: Sequence[str] | None = None
) -> pd.DataFrame:
    """The points of a figure, from the results in a store.

    Parameters
    ----------
    figure : the name of a figure, a value of `ScalingFigure`.
    store : path of the file with results of tasks.
    sweeps : the names of the sweeps (lists of tasks) to take results of; by default those that the
        figure is made of.

    Returns
    -------
    DataFrame
        As `entropy_points` or `capacity_points` makes it.
    """
    wanted_figure = known_figure(figure)
    if sweeps is None:
        sweeps = SWEEPS[wanted_figure]
    wanted_ids = {task.id for name in sweeps for task in load_sweep(name).tasks}
    records = [record for record in Store(store).records() if record.task.id in wanted_ids]

    points = pd.DataFrame()
    if records:
        results = frame(records)  # a table with one row for each record
        points = _points_of_results(wanted_figure, results)
    if points.empty:
        raise InputError(
            f"{store} has too few results of {' and '.join(sweeps)} to draw; run more of it first"
        )
    return points


def _points_of_results(figure: ScalingFigure, results: pd.DataFrame) -> pd.DataFrame:
    """The points of a figure, from a table with the results of its tasks.

    The figure of the entropy has tasks of several kinds, some of which may be missing in the table.
    All other figures have tasks of one kind, the search for a smallest support.
    """
    if figure is not ScalingFigure.ENTROPY:
        return capacity_points(results)
    results_by_kind = dict(iter(results.groupby("kind")))
    return entropy_points(
        counts=results_by_kind.get("count"),
        curves=results_by_kind.get("log-count"),
        loads=CURVE_LOADS,
        shares=results_by_kind.get("share"),
    )


def shipped_points(figure: str) -> pd.DataFrame:
    """The points of a figure from the run that comes with the package."""
    return pd.read_csv(SHIPPED_FOLDER / f"{known_figure(figure)}.csv")
