"""The four figures of the experiments, each from its table of points, with the table that goes beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from chanceline.experiments.points import known_figure, shipped_points, stored_points
from chanceline.experiments.witnesses import (
    SMALLEST_SIZE,
    capacity_witness,
    entropy_witness,
    errors_of,
    fit_differences,
    union_density,
)
from chanceline.figures.experiments import (
    INPUTS,
    draw_capacity_limits,
    draw_entropy_limits,
    draw_extrapolations,
    draw_smallest,
)
from chanceline.figures.style import check_figure, figure_style, save
from chanceline.theory.capacity import curve_table, density, evenly_spaced
from chanceline.theory.closed_forms import first_moment_exponent
from chanceline.theory.solve import solve


def draw_figure(figure: str, points: pd.DataFrame) -> tuple[Any, pd.DataFrame]:
    """A matplotlib figure, and the table that goes beside it."""
    return _DRAWERS[known_figure(figure)](points)


def draw_sweep(figure: str, out: str | Path, store: str | Path | None = None) -> str:
    """Draw to a file; returns a sentence on what was drawn."""
    check_figure(out)
    points = shipped_points(figure) if store is None else stored_points(figure, store)
    with figure_style():
        picture, _ = draw_figure(figure, points)
        save(picture, out)
    source = "the shipped run" if store is None else str(store)
    return f"{figure} drawn from {source}: {int(points['problems'].sum())} problems at {len(points)} points"


def _draw_smallest(title: str, extrapolated: bool) -> Callable[[pd.DataFrame], tuple[Any, pd.DataFrame]]:
    def draw(points: pd.DataFrame) -> tuple[Any, pd.DataFrame]:
        picture = Figure(figsize=(7.4, 5.6), layout="constrained")
        limits = capacity_witness(points) if extrapolated else None
        draw_smallest(picture.subplots(), points, curve_table(evenly_spaced(99)), title, limits)
        return picture, points

    return draw


def _draw_entropy(points: pd.DataFrame) -> tuple[Any, pd.DataFrame]:
    witness = entropy_witness(points)
    rhos = sorted(witness["rho"].unique(), reverse=True)
    picture = Figure(figsize=(4.2 * len(rhos), 7.4), layout="constrained")
    axes = picture.subplots(2, len(rhos), squeeze=False)
    for column, rho in enumerate(rhos):
        part = witness[witness["rho"] == rho]
        loads = np.linspace(2 * rho, part["alpha"].max(), 25)
        curves = pd.DataFrame({"alpha": loads, "rs": [solve(float(alpha), rho).entropy for alpha in loads]})
        draw_entropy_limits(axes[0, column], witness, curves, rho)
        inputs = "sphere" if "sphere" in set(points["inputs"]) else points["inputs"].iloc[0]
        shown = points[(points["rho"] == rho) & (points["inputs"] == inputs)].dropna(subset="entropy")
        limits = {a: solve(a, rho).entropy - first_moment_exponent(a, rho) for a in map(float, shown["alpha"].unique())}
        _draw_fits(axes[1, column], shown, limits)
        axes[1, column].set(ylabel=r"(typical $\ln Z$ − $\ln$ E$Z$)$/N$", title=rf"{INPUTS[inputs][2]}, $\rho={rho:g}$")
    return picture, witness


def _draw_capacity(points: pd.DataFrame) -> tuple[Any, pd.DataFrame]:
    witness = capacity_witness(points)
    points = points[points["first_moment"] * points["n"] >= SMALLEST_SIZE]
    kinds = sorted(points["inputs"].unique())
    picture = Figure(figsize=(8.4, 7.4), layout="constrained")
    above, below = picture.subfigures(2, 1, squeeze=False, height_ratios=(1, 0.9))[:, 0]
    for ax, inputs in zip(above.subplots(1, len(kinds), squeeze=False)[0], kinds, strict=True):
        shown = points[points["inputs"] == inputs]
        _draw_fits(ax, shown, {a: density(a).rho - union_density(a) for a in map(float, shown["alpha"].unique())})
        ax.set(ylabel="(smallest $K$ − first-moment $K$)$/N$", title=INPUTS[inputs][2])
    draw_capacity_limits(below.subplots(), witness)
    return picture, witness


def _draw_fits(ax: Any, points: pd.DataFrame, limits: Mapping[float, float]) -> None:
    fits = _fitted(points, limits)
    fitted = points[points["alpha"].isin(fits["alpha"])]
    draw_extrapolations(ax, fitted.assign(error=errors_of(fitted)), fits, "difference")


def _fitted(points: pd.DataFrame, limits: Mapping[float, float]) -> pd.DataFrame:
    """The fitted curves on a grid of sizes up to infinity."""
    parts = []
    for alpha, group in points.groupby("alpha"):
        fit = fit_differences(group)
        if fit is None:
            continue
        sizes = 1 / np.linspace(1e-9, 1 / group["n"].min(), 50)
        parts.append(pd.DataFrame({"alpha": alpha, "n": sizes, "fitted": fit.at(sizes), "theory": limits[float(alpha)]}))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=["alpha", "n", "fitted", "theory"])


_DRAWERS: dict[str, Callable[[pd.DataFrame], tuple[Any, pd.DataFrame]]] = {
    "paper-fig3": _draw_smallest("greedy-BIHT, the paper's algorithm", extrapolated=False),
    "best": _draw_smallest("the best search", extrapolated=True),
    "entropy": _draw_entropy,
    "capacity": _draw_capacity,
}
