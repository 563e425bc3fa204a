"""The figures of the experiments: from a sweep's points to a picture, and the table that goes beside it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from chanceline.experiments.scaling import (
    SMALLEST_SIZE,
    capacity_limits,
    entropy_limits,
    errors_of,
    fit_differences,
    known_figure,
    shipped_points,
    stored_points,
)
from chanceline.figures.style import COLOURS, check_figure, figure_style, legend_below, save
from chanceline.theory.capacity import capacity_curve, density, evenly_spaced
from chanceline.theory.closed_forms import first_moment_exponent
from chanceline.theory.first_moment import first_moment_density
from chanceline.theory.solve import solve

POINTS: dict[str, Any] = {"linestyle": "none", "markersize": 4}
SIZES = {64: (COLOURS["union"], "o"), 128: (COLOURS["here"], "s"), 256: (COLOURS["rsb"], "^")}
LOADS = [COLOURS[name] for name in ("rs", "cover-gardner", "union", "here", "rsb", "l0", "vc")]
# Colour, marker and label; points of the two kinds of inputs stand side by side, shifted by the last.
INPUTS = {
    "binary": (COLOURS["rs"], "o", "±1 inputs", -0.006),
    "sphere": (COLOURS["here"], "s", "inputs on the sphere", 0.006),
}


def draw_sweep(figure: str, out: str | Path, store: str | Path | None = None) -> str:
    """Draw a sweep's figure to a file, from a store or from the shipped run; returns a sentence on what was drawn."""
    check_figure(out)
    points = shipped_points(figure) if store is None else stored_points(figure, store)
    with figure_style():
        picture, _ = draw_figure(figure, points)
        save(picture, out)
    source = "the shipped run" if store is None else str(store)
    return f"{figure} drawn from {source}: {int(points['problems'].sum())} problems at {len(points)} points"


def draw_figure(figure: str, points: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """A matplotlib figure, and the table that goes beside it."""
    if known_figure(figure) == "entropy":
        return _entropy_figure(points)
    if figure == "capacity":
        return _capacity_figure(points)
    picture = Figure(figsize=(7.4, 5.6), layout="constrained")
    best = figure == "best"
    title = "the best search" if best else "greedy-BIHT, the paper's algorithm"
    limits = capacity_limits(points) if best else None
    draw_smallest(
        picture.subplots(), points, capacity_curve(evenly_spaced(99)).to_frame(), title, limits
    )
    return picture, points


def _entropy_figure(points: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    limits = entropy_limits(points)
    rhos = sorted(limits["rho"].unique(), reverse=True)
    picture = Figure(figsize=(4.2 * len(rhos), 7.4), layout="constrained")
    inputs = "sphere" if "sphere" in set(points["inputs"]) else points["inputs"].iloc[0]
    for above, below, rho in zip(*picture.subplots(2, len(rhos), squeeze=False), rhos, strict=True):
        loads = np.linspace(2 * rho, limits.loc[limits["rho"] == rho, "alpha"].max(), 25)
        curve = pd.DataFrame(
            {"alpha": loads, "rs": [solve(float(alpha), rho).entropy for alpha in loads]}
        )
        draw_entropy_limits(above, limits, curve, rho)
        shown = points[(points["rho"] == rho) & (points["inputs"] == inputs)].dropna(
            subset="entropy"
        )
        theory = {
            a: solve(a, rho).entropy - first_moment_exponent(a, rho)
            for a in map(float, shown["alpha"].unique())
        }
        draw_extrapolations(below, shown, theory)
        below.set(
            ylabel=r"(typical $\ln Z$ − $\ln$ E$Z$)$/N$",
            title=rf"{INPUTS[inputs][2]}, $\rho={rho:g}$",
        )
    return picture, limits


def _capacity_figure(points: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    limits = capacity_limits(points)
    points = points[points["first_moment"] * points["n"] >= SMALLEST_SIZE]
    kinds = sorted(points["inputs"].unique())
    picture = Figure(figsize=(8.4, 7.4), layout="constrained")
    above, below = picture.subfigures(2, 1, squeeze=False, height_ratios=(1, 0.9))[:, 0]
    for ax, inputs in zip(above.subplots(1, len(kinds), squeeze=False)[0], kinds, strict=True):
        shown = points[points["inputs"] == inputs]
        draw_extrapolations(
            ax,
            shown,
            {
                a: density(a).rho - first_moment_density(a)
                for a in map(float, shown["alpha"].unique())
            },
        )
        ax.set(ylabel="(smallest $K$ − first-moment $K$)$/N$", title=INPUTS[inputs][2])
    draw_capacity_limits(below.subplots(), limits)
    return picture, limits


def draw_smallest(
    ax: Any,
    points: pd.DataFrame,
    curve: pd.DataFrame,
    title: str,
    limits: pd.DataFrame | None = None,
) -> None:
    """The paper's capacity figure: markers at (mean K/N, α) over α_VS and α_CG.

    `points` has n, load, density, error, `curve` has rho, alpha_vs, cover_gardner, and `limits` (N → ∞) alpha, searched,
    searched_error.
    """
    ax.plot(
        curve["rho"],
        curve["alpha_vs"],
        color=COLOURS["rs"],
        label=r"$\alpha_{\rm VS}$, replica symmetric",
    )
    ax.plot(
        curve["rho"],
        curve["cover_gardner"],
        color=COLOURS["cover-gardner"],
        label=r"$\alpha_{\rm CG}=2\rho$",
    )
    for n, group in points.groupby("n"):
        colour, marker = SIZES.get(n, ("0.3", "D"))
        ax.errorbar(
            group["density"],
            group["load"],
            xerr=group["error"],
            color=colour,
            marker=marker,
            label=f"$N={n}$",
            **POINTS,
        )
    if limits is not None and len(limits):
        ax.errorbar(
            limits["searched"],
            limits["alpha"],
            xerr=limits["searched_error"],
            color="black",
            marker="x",
            label=r"$N\to\infty$, extrapolated",
            **POINTS,
        )
    ax.set(
        xlabel=r"density $\rho=K/N$",
        ylabel=r"load $\alpha=P/N$",
        xlim=(0, 1),
        ylim=(0, 2.05),
        title=title,
    )
    ax.legend(loc="lower right")


def draw_entropy_limits(ax: Any, limits: pd.DataFrame, curve: pd.DataFrame, rho: float) -> None:
    """Σ against α at one ρ: theory as a line (`curve` has alpha, rs), counts extrapolated to N → ∞ as points with error bars."""
    ax.plot(curve["alpha"], curve["rs"], color=COLOURS["rs"], label=r"$\Sigma$, replica symmetric")
    for inputs, group in limits[limits["rho"] == rho].groupby("inputs"):
        colour, marker, label, shift = INPUTS[str(inputs)]
        for name, fill, what, apart in (
            ("exact", "none", "exact counts", 3),
            ("both", colour, "with Monte Carlo", 1),
        ):
            if name in group and group[name].notna().any():
                ax.errorbar(
                    group["alpha"] + apart * shift,
                    group[name],
                    group[f"{name}_error"],
                    color=colour,
                    marker=marker,
                    mfc=fill,
                    capsize=2,
                    label=f"{label}, {what}",
                    **POINTS,
                )
    ax.set(xlabel=r"load $\alpha$", ylabel=r"$\ln$(supports)$/N$", title=rf"$\rho={rho:g}$")
    ax.axhline(0, color="0.6", linewidth=0.8)
    ax.set_ylim(bottom=-0.1 * ax.get_ylim()[1])
    ax.legend(loc="lower left", fontsize=8)


def draw_extrapolations(ax: Any, points: pd.DataFrame, theory: Mapping[float, float]) -> None:
    """The difference from the first moment against 1/N, one colour for each load, with the fitted curve down to the limit.

    `theory` has the limit for each load.
    """
    fits = [
        (float(alpha), group, fit)
        for alpha, group in points.groupby("alpha")
        if (fit := fit_differences(group))
    ]
    for k, (alpha, group, fit) in enumerate(fits):
        colour = LOADS[k % len(LOADS)]
        places = np.linspace(1e-9, 1 / group["n"].min(), 50)
        ax.errorbar(
            1 / group["n"],
            group["difference"],
            errors_of(group),
            color=colour,
            marker="o",
            **POINTS,
        )
        ax.plot(places, fit.at(1 / places), color=colour, linewidth=1, label=rf"$\alpha={alpha:g}$")
        ax.plot(
            [0],
            [theory[alpha]],
            color=colour,
            marker="*",
            markersize=11,
            clip_on=False,
            linestyle="none",
        )
    ax.set(xlabel="$1/N$", xlim=(-0.001, None))
    ax.plot(
        [],
        [],
        color=COLOURS["ink"],
        marker="*",
        markersize=9,
        linestyle="none",
        label="replica theory",
    )
    legend_below(ax, 3)


def draw_capacity_limits(ax: Any, limits: pd.DataFrame) -> None:
    """Extrapolated smallest share minus the symmetric ρ_VS against α, for both kinds of inputs."""
    ax.axhline(0, color=COLOURS["rs"], label=r"$\rho_{\rm VS}$, replica symmetric")
    theory = limits.drop_duplicates("alpha").sort_values("alpha")
    ax.plot(
        theory["alpha"],
        theory["rsb"] - theory["rs"],
        "--",
        color=COLOURS["rsb"],
        label=r"$\rho_{\rm VS}$, one step of breaking",
    )
    for inputs, group in limits.groupby("inputs"):
        colour, marker, label, shift = INPUTS[str(inputs)]
        ax.errorbar(
            group["alpha"] + shift,
            group["searched"] - group["rs"],
            group["searched_error"],
            color=colour,
            marker=marker,
            capsize=2,
            label=label,
            **POINTS,
        )
    ax.set(xlabel=r"load $\alpha$", ylabel=r"smallest share, $N\to\infty$, minus $\rho_{\rm VS}$")
    legend_below(ax, 4)
