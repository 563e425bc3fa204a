"""From stores (or the shipped full run) to the four figures of the experiments, each with its data.

Every figure is a function of a table of points; where the points come from is decided once, in `Points`.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from chanceline.errors import InputError
from chanceline.experiments.fits import extrapolate
from chanceline.experiments.store import Store, frame
from chanceline.experiments.sweeps import load_sweep
from chanceline.experiments.witnesses import (
    FEWEST_SIZES,
    capacity_points,
    capacity_witness,
    entropy_points,
    entropy_witness,
    union_density,
)

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
    names = sweeps or SWEEPS[_known(figure)]
    wanted = {task.id for name in names for task in load_sweep(name).tasks}
    with Store(store) as results:
        table = frame(record for record in results.records() if record.task.id in wanted)
    points = _points(figure, table) if len(table) else table
    if not len(points):
        raise InputError(f"{store} has too few results of {' and '.join(names)} to draw; run more of it first")
    return points


def shipped_points(figure: str) -> pd.DataFrame:
    """The points of a figure from the full run that comes with the package."""
    import pandas as pd

    file = resources.files("chanceline") / "data" / "experiments" / f"{_known(figure)}.csv"
    return pd.read_csv(io.StringIO(file.read_text(encoding="utf-8")))


def _known(figure: str) -> str:
    if figure not in SWEEPS:
        raise InputError(f"there is no figure of {figure!r}; choose one of {', '.join(SWEEPS)}")
    return figure


def _points(figure: str, table: pd.DataFrame) -> pd.DataFrame:
    if figure != "entropy":
        return capacity_points(table)
    parts = dict(iter(table.groupby("kind")))
    return entropy_points(parts.get("count"), parts.get("log-count"), LOADS, parts.get("share"))


def draw_figure(figure: str, points: pd.DataFrame) -> tuple[Any, pd.DataFrame]:
    """A matplotlib figure, and the table that goes beside it."""
    return _DRAWERS[_known(figure)](points)


def draw_sweep(figure: str, out: str | Path, store: str | Path | None = None) -> str:
    """Draw to a file; returns a sentence on what was drawn."""
    from chanceline.plotting import house_style
    from chanceline.writing import write_bytes

    target = Path(out)
    if target.suffix not in (".png", ".svg", ".pdf"):
        raise InputError(f"cannot tell the format of {target}; end its name in .png, .svg or .pdf")
    points = shipped_points(figure) if store is None else stored_points(figure, store)
    with house_style():
        picture, _ = draw_figure(figure, points)
        buffer = io.BytesIO()
        picture.savefig(buffer, format=target.suffix[1:])
    write_bytes(target, buffer.getvalue())
    source = "the shipped full run" if store is None else str(store)
    return f"{figure} drawn from {source}: {int(points['problems'].sum())} problems at {len(points)} points"


def _draw_smallest(title: str) -> Callable[[pd.DataFrame], tuple[Any, pd.DataFrame]]:
    def draw(points: pd.DataFrame) -> tuple[Any, pd.DataFrame]:
        from matplotlib.figure import Figure

        from chanceline.plotting_experiments import draw_smallest
        from chanceline.theory.curves import curve_table, evenly_spaced

        picture = Figure(figsize=(7.4, 5.6), layout="constrained")
        draw_smallest(picture.subplots(), points, curve_table(evenly_spaced(99)), title)
        return picture, points

    return draw


def _draw_entropy(points: pd.DataFrame) -> tuple[Any, pd.DataFrame]:
    import pandas as pd
    from matplotlib.figure import Figure

    from chanceline.plotting_experiments import draw_entropy_witness, draw_extrapolations
    from chanceline.theory.closed_forms import first_moment_exponent
    from chanceline.theory.solve import solve

    witness = entropy_witness(points)
    rhos = sorted(witness["rho"].unique(), reverse=True)
    picture = Figure(figsize=(5.4 * len(rhos), 9), layout="constrained")
    axes = picture.subplots(2, len(rhos), squeeze=False)
    for column, rho in enumerate(rhos):
        part = witness[witness["rho"] == rho]
        loads = np.linspace(2 * rho, part["alpha"].max(), 60)
        curves = pd.DataFrame({"alpha": loads, "rs": [solve(float(alpha), rho).entropy for alpha in loads]})
        draw_entropy_witness(axes[0, column], witness, curves, rho)
        inputs = "sphere" if "sphere" in set(points["inputs"]) else points["inputs"].iloc[0]
        shown = points[(points["rho"] == rho) & (points["inputs"] == inputs)].dropna(subset="entropy")
        limits = {a: solve(a, rho).entropy - first_moment_exponent(a, rho) for a in map(float, shown["alpha"].unique())}
        fits = _fitted(shown, limits)
        draw_extrapolations(axes[1, column], shown[shown["alpha"].isin(fits["alpha"])], fits, "difference")
        axes[1, column].set(ylabel=r"(typical $\ln Z$ − $\ln$ E$Z$)$/N$", title=rf"{inputs} inputs, $\rho={rho:g}$")
    return picture, witness


def _draw_capacity(points: pd.DataFrame) -> tuple[Any, pd.DataFrame]:
    from matplotlib.figure import Figure

    from chanceline.plotting_experiments import draw_capacity_witness, draw_extrapolations
    from chanceline.theory.capacity import density

    witness = capacity_witness(points)
    kinds = sorted(points["inputs"].unique())
    picture = Figure(figsize=(5.0 * (len(kinds) + 1), 4.6), layout="constrained")
    axes = picture.subplots(1, len(kinds) + 1)
    for ax, inputs in zip(axes, kinds, strict=False):
        shown = points[points["inputs"] == inputs]
        fits = _fitted(shown, {a: density(a).rho - union_density(a) for a in map(float, shown["alpha"].unique())})
        draw_extrapolations(ax, shown[shown["alpha"].isin(fits["alpha"])], fits, "difference")
        ax.set(ylabel="(smallest $K$ − first-moment $K$)$/N$", title=f"{inputs} inputs")
    draw_capacity_witness(axes[-1], witness)
    return picture, witness


def _fitted(points: pd.DataFrame, limits: Mapping[float, float]) -> pd.DataFrame:
    """The fitted curves on a grid of sizes up to infinity."""
    import pandas as pd

    parts = []
    for alpha, group in points.groupby("alpha"):
        if group["n"].nunique() < FEWEST_SIZES:
            continue
        fit = extrapolate(group["n"], group["difference"], group["error"])
        sizes = 1 / np.linspace(1e-9, 1 / group["n"].min(), 50)
        parts.append(pd.DataFrame({"alpha": alpha, "n": sizes, "fitted": fit.at(sizes), "theory": limits[float(alpha)]}))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=["alpha", "n", "fitted", "theory"])


_DRAWERS: dict[str, Callable[[pd.DataFrame], tuple[Any, pd.DataFrame]]] = {
    "paper-fig3": _draw_smallest("greedy-BIHT, the paper's algorithm"),
    "best": _draw_smallest("the best search"),
    "entropy": _draw_entropy,
    "capacity": _draw_capacity,
}
