"""The tables of points behind the four figures of the experiments: from a store, or from the shipped run."""

from __future__ import annotations

import io
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from chanceline.errors import InputError
from chanceline.experiments.store import Store, frame
from chanceline.experiments.sweeps import load_sweep
from chanceline.experiments.witnesses import capacity_points, entropy_points

if TYPE_CHECKING:
    import pandas as pd

# Loads at which Monte Carlo curves are read; exact counts bring their own.
LOADS = tuple(np.arange(8, 29) / 16)
# Figure → the sweeps it is drawn from; `quick` ones are small versions made on the spot.
SWEEPS = {
    "paper-fig3": ("paper-fig3",),
    "best": ("best",),
    "entropy": ("entropy", "entropy-large"),
    "capacity": ("capacity",),
}
QUICK_SWEEPS = {
    "paper-fig3": ("quick-fig3",),
    "best": ("quick-best",),
    "entropy": ("quick-entropy",),
    "capacity": ("quick-capacity",),
}


def stored_points(figure: str, store: str | Path, sweeps: Sequence[str] | None = None) -> pd.DataFrame:
    """The points of a figure from the results that a store has of its sweeps."""
    names = sweeps or SWEEPS[known_figure(figure)]
    wanted = {task.id for name in names for task in load_sweep(name).tasks}
    with Store(store) as results:
        table = frame(record for record in results.records() if record.task.id in wanted)
    points = _points(figure, table) if len(table) else table
    if not len(points):
        raise InputError(f"{store} has too few results of {' and '.join(names)} to draw; run more of it first")
    return points


def shipped_points(figure: str) -> pd.DataFrame:
    """The points of a figure from the run that comes with the package."""
    import pandas as pd

    file = resources.files("chanceline") / "data" / "experiments" / f"{known_figure(figure)}.csv"
    return pd.read_csv(io.StringIO(file.read_text(encoding="utf-8")))


def known_figure(figure: str) -> str:
    if figure not in SWEEPS:
        raise InputError(f"there is no figure of {figure!r}; choose one of {', '.join(SWEEPS)}")
    return figure


def _points(figure: str, table: pd.DataFrame) -> pd.DataFrame:
    if figure != "entropy":
        return capacity_points(table)
    parts = dict(iter(table.groupby("kind")))
    return entropy_points(parts.get("count"), parts.get("log-count"), LOADS, parts.get("share"))
