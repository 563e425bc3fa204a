"""The figures of the experiments: from a sweep's points to a picture and its table."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import cycle
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from chanceline.experiments.extrapolation import Extrapolation
from chanceline.experiments.figure_points import (
    ScalingFigure,
    known_figure,
    shipped_points,
    stored_points,
)
from chanceline.experiments.scaling import (
    MIN_FIRST_MOMENT_SIZE,
    capacity_limits,
    difference_errors,
    entropy_limits,
    fit_differences,
)
from chanceline.figures.style import COLOURS, check_figure, figure_style, legend_below, save
from chanceline.theory.capacity import capacity_curve, density, evenly_spaced
from chanceline.theory.closed_forms import first_moment_exponent
from chanceline.theory.first_moment import first_moment_density
from chanceline.theory.solve import solve

# Points without a line between them.
POINTS: dict[str, Any] = {"linestyle": "none", "markersize": 4}
STAR = "*"  # marks what theory says
# One colour after the other, for lines at different loads.
LOAD_COLOURS = [
    COLOURS[name] for name in ("rs", "cover-gardner", "union", "here", "rsb", "l0", "vc")
]


class PointStyle(NamedTuple):
    """How the points of one size of problem are drawn."""

    colour: str
    marker: str


class InputStyle(NamedTuple):
    """How the points of one kind of inputs are drawn.

    `x_offset`, in units of the load, sets points of both kinds side by side.
    """

    colour: str
    marker: str
    label: str
    x_offset: float


SIZE_STYLES = {
    64: PointStyle(COLOURS["union"], "o"),
    128: PointStyle(COLOURS["here"], "s"),
    256: PointStyle(COLOURS["rsb"], "^"),
}
OTHER_SIZE_STYLE = PointStyle("0.3", "D")
INPUT_STYLES = {
    "binary": InputStyle(colour=COLOURS["rs"], marker="o", label="±1 inputs", x_offset=-0.006),
    "sphere": InputStyle(
        colour=COLOURS["here"], marker="s", label="inputs on the sphere", x_offset=0.006
    ),
}


class CountStyle(NamedTuple):
    """How limits from one kind of counts are drawn.

    Their points stand beside the load by `offset_factor` times the offset of their inputs; markers
    are filled or hollow. The limits are in the column `column` of a table.
    """

    column: str
    label: str
    offset_factor: int
    filled: bool


EXACT_COUNTS = CountStyle(column="exact", label="exact counts", offset_factor=3, filled=False)
ALL_COUNTS = CountStyle(column="both", label="with Monte Carlo", offset_factor=1, filled=True)
N_CURVE_POINTS = 25  # of the entropy's curve, each of which is solved


def draw_sweep(figure: str, out: str | Path, store: str | Path | None = None) -> str:
    """Draw a sweep's figure to a file, and return a sentence on what was drawn.

    `figure` is its name, `out` the file to write. `store` is the file with the results; without it
    the shipped run is drawn.
    """
    check_figure(out)
    if store is None:
        points = shipped_points(figure)
        source = "the shipped run"
    else:
        points = stored_points(figure, store)
        source = str(store)
    with figure_style():
        drawn_figure, _ = draw_figure(figure, points)
        save(drawn_figure, out)
    n_problems = int(points["problems"].sum())
    return f"{figure} drawn from {source}: {n_problems} problems at {len(points)} points"


def draw_figure(figure_name: str, points: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """The figure of a sweep, and the table of the numbers in it.

    `figure_name` is one of `ScalingFigure`; `points` has a row for each size and load.
    """
    kind = known_figure(figure_name)
    if kind is ScalingFigure.ENTROPY:
        return _entropy_figure(points)
    if kind is ScalingFigure.CAPACITY:
        return _capacity_figure(points)

    title = "greedy-BIHT, the paper's algorithm"
    limits = None
    if kind is ScalingFigure.BEST:
        title = "the best search"
        limits = capacity_limits(points)
    curve = capacity_curve(evenly_spaced(99)).to_frame()
    figure = Figure(figsize=(7.4, 5.6), layout="constrained")
    draw_smallest(figure.subplots(), points, curve, title, limits)
    return figure, points


def _entropy_figure(points: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """The figure of counted supports, and the table of their limits.

    For each density ρ: above, the entropy ln(supports)/N against the load; below, how it is
    extrapolated to N → ∞ for one kind of inputs.

    Parameters
    ----------
    points : a row for each number N of variables, density, load and kind of inputs.
    """
    limits = entropy_limits(points)
    rhos = sorted(limits["rho"].unique(), reverse=True)
    picture = Figure(figsize=(4.2 * len(rhos), 7.4), layout="constrained")
    upper_axes, lower_axes = picture.subplots(2, len(rhos), squeeze=False)
    shown_inputs = points["inputs"].iloc[0]
    if "sphere" in set(points["inputs"]):
        shown_inputs = "sphere"
    points_of_kind = points[points["inputs"] == shown_inputs].dropna(subset="entropy")
    for upper, lower, rho in zip(upper_axes, lower_axes, rhos, strict=True):
        largest_load = limits.loc[limits["rho"] == rho, "alpha"].max()
        draw_entropy_limits(upper, limits, _symmetric_entropies(rho, largest_load), rho)
        points_at_rho = points_of_kind[points_of_kind["rho"] == rho]
        draw_extrapolations(lower, points_at_rho, _entropy_differences(points_at_rho, rho))
        lower.set(
            ylabel=r"(typical $\ln Z$ − $\ln$ E$Z$)$/N$",
            title=rf"{INPUT_STYLES[shown_inputs].label}, $\rho={rho:g}$",
        )
    return picture, limits


def _symmetric_entropies(rho: float, largest_load: float) -> pd.DataFrame:
    """The replica-symmetric entropy "rs" at loads "alpha", from where typical choices fail, 2ρ."""
    loads = np.linspace(2 * rho, largest_load, N_CURVE_POINTS)
    entropies = [solve(float(alpha), rho).entropy for alpha in loads]
    return pd.DataFrame({"alpha": loads, "rs": entropies})


def _entropy_differences(points: pd.DataFrame, rho: float) -> dict[float, float]:
    """Load → Σ less the exponent of the first moment, in theory, at the loads of the points."""
    differences = {}
    for alpha in loads_of(points):
        differences[alpha] = solve(alpha, rho).entropy - first_moment_exponent(alpha, rho)
    return differences


def _capacity_figure(points: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """The figure of the smallest supports that were found, and the table of their limits.

    Above, a panel for each kind of inputs shows how the smallest density is extrapolated to N → ∞;
    below, the limits are drawn against the load. As in the limits, sizes N where the first moment's
    number K of variables is very small are left out.
    """
    limits = capacity_limits(points)
    large_enough = points[points["first_moment"] * points["n"] >= MIN_FIRST_MOMENT_SIZE]
    input_kinds = sorted(large_enough["inputs"].unique())
    picture = Figure(figsize=(8.4, 7.4), layout="constrained")
    halves = picture.subfigures(2, 1, squeeze=False, height_ratios=(1, 0.9))  # (rows, columns)
    upper, lower = halves[:, 0]

    upper_axes = upper.subplots(1, len(input_kinds), squeeze=False)[0]
    for ax, inputs in zip(upper_axes, input_kinds, strict=True):
        points_of_kind = large_enough[large_enough["inputs"] == inputs]
        draw_extrapolations(ax, points_of_kind, _density_differences(points_of_kind))
        ax.set(ylabel="(smallest $K$ − first-moment $K$)$/N$", title=INPUT_STYLES[inputs].label)
    draw_capacity_limits(lower.subplots(), limits)
    return picture, limits


def _density_differences(points: pd.DataFrame) -> dict[float, float]:
    """Load → ρ_VS less the density of the first moment, in theory, at the loads of the points."""
    differences = {}
    for alpha in loads_of(points):
        differences[alpha] = density(alpha).rho - first_moment_density(alpha)
    return differences


def loads_of(points: pd.DataFrame) -> list[float]:
    """The loads that occur, each once."""
    return [float(alpha) for alpha in points["alpha"].unique()]


def draw_smallest(
    ax: Any,
    points: pd.DataFrame,
    curve: pd.DataFrame,
    title: str,
    limits: pd.DataFrame | None = None,
) -> None:
    """Draw the paper's capacity figure: loads α against densities K/N, found and in theory.

    Parameters
    ----------
    points : means over random problems, columns n, load, density and error; and shipped, if those
        that come with the package are to be told apart.
    curve : columns rho, alpha_vs and cover_gardner.
    limits : for N → ∞, columns alpha, searched (the density K/N that search finds) and
        searched_error.
    """
    _draw_capacity_curves(ax, curve)
    if "shipped" in points:
        is_shipped = points["shipped"].astype(bool)
        _draw_sizes(ax, points[is_shipped], remark=", shipped", filled=False)
        _draw_sizes(ax, points[~is_shipped], remark=", run here")
    else:
        _draw_sizes(ax, points)
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


def _draw_capacity_curves(ax: Any, curve: pd.DataFrame) -> None:
    """Draw the loads α_VS of chosen variables and α_CG of typical ones against the density."""
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


def _draw_sizes(ax: Any, points: pd.DataFrame, remark: str = "", *, filled: bool = True) -> None:
    """Draw points (density, load) with error bars, a colour and a marker for each number N of
    variables; `remark` ends their names in the legend.
    """
    for n, points_of_size in points.groupby("n"):
        style = SIZE_STYLES.get(n, OTHER_SIZE_STYLE)
        face_colour = style.colour if filled else "none"
        ax.errorbar(
            points_of_size["density"],
            points_of_size["load"],
            xerr=points_of_size["error"],
            color=style.colour,
            marker=style.marker,
            markerfacecolor=face_colour,
            label=f"$N={n}${remark}",
            **POINTS,
        )


def draw_entropy_limits(ax: Any, limits: pd.DataFrame, curve: pd.DataFrame, rho: float) -> None:
    """Draw the entropy Σ against the load α at one density ρ: theory as a line, extrapolated counts
    as points with error bars.

    Parameters
    ----------
    limits : limits N → ∞ in the columns exact (of exact counts) and both (with Monte Carlo counts),
        either of which may be missing; their errors; rho, inputs and alpha.
    curve : columns alpha and rs, the replica-symmetric entropy.
    rho : the density.
    """
    ax.plot(curve["alpha"], curve["rs"], color=COLOURS["rs"], label=r"$\Sigma$, replica symmetric")
    limits_at_rho = limits[limits["rho"] == rho]  # rho is one of the table's own numbers
    for inputs, limits_of_kind in limits_at_rho.groupby("inputs"):
        for counts in (EXACT_COUNTS, ALL_COUNTS):
            if counts.column in limits_of_kind and limits_of_kind[counts.column].notna().any():
                _draw_limits_of_counts(ax, limits_of_kind, INPUT_STYLES[str(inputs)], counts)
    ax.set(xlabel=r"load $\alpha$", ylabel=r"$\ln$(supports)$/N$", title=rf"$\rho={rho:g}$")
    ax.axhline(0, color="0.6", linewidth=0.8)
    ax.set_ylim(bottom=-0.1 * ax.get_ylim()[1])
    ax.legend(loc="lower left", fontsize=8)


def _draw_limits_of_counts(
    ax: Any, limits: pd.DataFrame, style: InputStyle, counts: CountStyle
) -> None:
    """Draw the limits N → ∞ of one kind of inputs from one kind of counts, with error bars.

    `limits` has the columns alpha and, named by `counts`, the limit and its error. Points of
    several kinds are moved apart: the offset of the inputs says to which side of their load, the
    factor of the counts how far.
    """
    face_colour = "none"
    if counts.filled:
        face_colour = style.colour
    ax.errorbar(
        limits["alpha"] + counts.offset_factor * style.x_offset,
        limits[counts.column],
        limits[f"{counts.column}_error"],
        color=style.colour,
        marker=style.marker,
        markerfacecolor=face_colour,
        capsize=2,
        label=f"{style.label}, {counts.label}",
        **POINTS,
    )


def draw_extrapolations(ax: Any, points: pd.DataFrame, theory: Mapping[float, float]) -> None:
    """Draw measurements at several numbers N of variables against 1/N, with fits down to 1/N = 0.

    Parameters
    ----------
    points : columns alpha, n, difference (from the first moment at this N), and those that
        `difference_errors` reads.
    theory : load → the limit N → ∞ that theory gives, drawn as a star.
    """
    colours = cycle(LOAD_COLOURS)
    for alpha, at_load in points.groupby("alpha"):
        fit = fit_differences(at_load)
        if fit is None:
            continue
        colour = next(colours)
        _draw_fitted_points(ax, at_load, fit, colour, label=rf"$\alpha={alpha:g}$")
        ax.plot(
            [0],
            [theory[float(alpha)]],
            color=colour,
            marker=STAR,
            markersize=11,
            clip_on=False,
            linestyle="none",
        )
    ax.set(xlabel="$1/N$", xlim=(-0.001, None))
    # An entry of the legend for all stars.
    ax.plot(
        [],
        [],
        color=COLOURS["ink"],
        marker=STAR,
        markersize=9,
        linestyle="none",
        label="replica theory",
    )
    legend_below(ax, 3)


def _draw_fitted_points(
    ax: Any, points: pd.DataFrame, fit: Extrapolation, colour: str, *, label: str
) -> None:
    """Draw the differences at one load against 1/N, with error bars, and their fit as a line."""
    ax.errorbar(
        1 / points["n"],
        points["difference"],
        difference_errors(points),
        color=colour,
        marker="o",
        **POINTS,
    )
    # From nearly 0: the fit is a function of N.
    inverse_sizes = np.linspace(1e-9, 1 / points["n"].min(), 50)
    ax.plot(inverse_sizes, fit.at(1 / inverse_sizes), color=colour, linewidth=1, label=label)


def draw_capacity_limits(ax: Any, limits: pd.DataFrame) -> None:
    """Draw the smallest share of variables that separates, for N → ∞, against the load.

    It is drawn relative to the replica-symmetric theory, ρ_VS, which is the line at 0.

    Parameters
    ----------
    limits : columns alpha, inputs (their kind), searched and searched_error (the share that a
        search finds), rs and rsb (ρ_VS, replica symmetric and with one step of breaking).
    """
    ax.axhline(0, color=COLOURS["rs"], label=r"$\rho_{\rm VS}$, replica symmetric")
    theory = limits.drop_duplicates("alpha").sort_values("alpha")
    ax.plot(
        theory["alpha"],
        theory["rsb"] - theory["rs"],
        "--",
        color=COLOURS["rsb"],
        label=r"$\rho_{\rm VS}$, one step of breaking",
    )
    for inputs, limits_of_kind in limits.groupby("inputs"):
        style = INPUT_STYLES[str(inputs)]
        ax.errorbar(
            limits_of_kind["alpha"] + style.x_offset,
            limits_of_kind["searched"] - limits_of_kind["rs"],
            limits_of_kind["searched_error"],
            color=style.colour,
            marker=style.marker,
            capsize=2,
            label=style.label,
            **POINTS,
        )
    ax.set(xlabel=r"load $\alpha$", ylabel=r"smallest share, $N\to\infty$, minus $\rho_{\rm VS}$")
    legend_below(ax, 4)
