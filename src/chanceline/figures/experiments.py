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
    """Draw the figure of a sweep (an experiment at many sizes and loads) to a file.

    Parameters
    ----------
    figure : its name.
    out : the file to write.
    store : the file with the results of the sweep; None for the run that the package ships.

    Returns
    -------
    sentence : what was drawn, from which results.
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
    """Draw the figure of a sweep, and give the table of the numbers in it.

    Parameters
    ----------
    figure_name : one of `ScalingFigure`: the entropy of separating choices of variables; the
        smallest choices, extrapolated to infinite size; or the smallest choices that a search found
        (by the paper's algorithm, or by the best one).
    points : results of the sweep, a row for each number of variables and load.
    """
    kind = known_figure(figure_name)
    if kind is ScalingFigure.ENTROPY:
        return _entropy_figure(points)
    if kind is ScalingFigure.CAPACITY:
        return _capacity_figure(points)

    # The smallest choices found, and theory; those of the best search are extrapolated, too.
    title = "greedy-BIHT, the paper's algorithm"
    limits = None
    if kind is ScalingFigure.BEST:
        title = "the best search"
        limits = capacity_limits(points)
    curve = capacity_curve(evenly_spaced(99)).to_frame()  # theory at 99 densities
    figure = Figure(figsize=(7.4, 5.6), layout="constrained")
    draw_smallest_densities(
        figure.subplots(), points=points, theory=curve, title=title, extrapolated=limits
    )
    return figure, points


def _entropy_figure(points: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Draw how many supports (sets of variables) separate, and give the table of limits N → ∞.

    There is a column of two panels for each density ρ. The upper one shows the limits of the
    entropy ln(supports)/N against the load α. The lower one shows how the entropy is extrapolated
    to N → ∞, for one kind of inputs: those on the sphere, if there are such. What is extrapolated
    is the difference of the entropy from the first moment, ln(mean number of supports)/N, because
    it is small and smooth in N.

    Parameters
    ----------
    points : a row for each number N of variables, density, load and kind of inputs.
    """
    limits = entropy_limits(points)
    rhos = sorted(limits["rho"].unique(), reverse=True)
    picture = Figure(figsize=(4.2 * len(rhos), 7.4), layout="constrained")
    upper_axes, lower_axes = picture.subplots(2, len(rhos), squeeze=False)

    # The kind of inputs in the lower panels.
    shown_inputs = points["inputs"].iloc[0]
    if "sphere" in set(points["inputs"]):
        shown_inputs = "sphere"
    shown_points = points[points["inputs"] == shown_inputs].dropna(subset="entropy")

    for upper, lower, rho in zip(upper_axes, lower_axes, rhos, strict=True):
        largest_load = limits.loc[limits["rho"] == rho, "alpha"].max()
        theory_curve = _symmetric_entropies(rho, largest_load)
        draw_entropy_limits(upper, limits=limits, curve=theory_curve, rho=rho)

        points_at_rho = shown_points[shown_points["rho"] == rho]
        differences_in_theory = _entropy_minus_first_moment(points_at_rho, rho)  # at N → ∞
        draw_extrapolations(lower, points_at_rho, differences_in_theory)
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


def _entropy_minus_first_moment(points: pd.DataFrame, rho: float) -> dict[float, float]:
    """Load → Σ less the exponent of the first moment, in theory, at the loads of the points."""
    differences = {}
    for alpha in loads_of(points):
        differences[alpha] = solve(alpha, rho).entropy - first_moment_exponent(alpha, rho)
    return differences


def _capacity_figure(points: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Draw the smallest supports (sets of variables) found, and give the table of limits N → ∞.

    K is the number of variables of the smallest support that separates the classes. Theory gives a
    first estimate of it, called the first moment: the K at which the mean number of separating
    supports is 1. What is drawn in the upper half, in a panel for each kind of inputs, is how the
    difference of K/N from this estimate is extrapolated to N → ∞. The lower half shows the limits
    of K/N against the load.

    Parameters
    ----------
    points : a row for each number N of variables, load and kind of inputs. The column first_moment
        is the first moment's K/N.
    """
    limits = capacity_limits(points)
    # As in the limits, leave out sizes N where the first moment's number of variables is tiny.
    first_moment_size = points["first_moment"] * points["n"]
    points_of_large_size = points[first_moment_size >= MIN_FIRST_MOMENT_SIZE]
    input_kinds = sorted(points_of_large_size["inputs"].unique())

    picture = Figure(figsize=(8.4, 7.4), layout="constrained")
    halves = picture.subfigures(2, 1, squeeze=False, height_ratios=(1, 0.9))  # (rows, columns)
    upper_half, lower_half = halves[:, 0]

    # The extrapolations, with a star at the limit N → ∞ of the difference in theory.
    upper_axes = upper_half.subplots(1, len(input_kinds), squeeze=False)[0]
    for ax, inputs in zip(upper_axes, input_kinds, strict=True):
        points_of_kind = points_of_large_size[points_of_large_size["inputs"] == inputs]
        differences_in_theory = _density_minus_first_moment(points_of_kind)
        draw_extrapolations(ax, points_of_kind, differences_in_theory)
        ax.set(ylabel="(smallest $K$ − first-moment $K$)$/N$", title=INPUT_STYLES[inputs].label)

    draw_capacity_limits(lower_half.subplots(), limits)
    return picture, limits


def _density_minus_first_moment(points: pd.DataFrame) -> dict[float, float]:
    """Load → ρ_VS less the density of the first moment, in theory, at the loads of the points."""
    differences = {}
    for alpha in loads_of(points):
        differences[alpha] = density(alpha).rho - first_moment_density(alpha)
    return differences


def loads_of(points: pd.DataFrame) -> list[float]:
    """The loads that occur, each once."""
    return [float(alpha) for alpha in points["alpha"].unique()]


def draw_smallest_densities(
    ax: Any,
    points: pd.DataFrame,
    theory: pd.DataFrame,
    title: str,
    extrapolated: pd.DataFrame | None = None,
) -> None:
    """Draw the paper's capacity figure: the load α = P/N against the density ρ = K/N.

    Points are the smallest K of N variables, found by a search, that separate P random patterns;
    lines are theory.

    Parameters
    ----------
    ax : matplotlib axes.
    points : means over random problems, one row each: columns n (the number N), load (α), density
        (ρ) and error (of the density). If there is a further column shipped, its true rows come
        with the package and are drawn hollow.
    theory : loads against the density rho: up to the load alpha_vs the best choice of variables
        separates, up to the load cover_gardner (2ρ) a typical choice.
    title : of the figure.
    extrapolated : limits N → ∞ of the points: columns alpha (the load), searched (the density that
        the search reaches) and searched_error. None if there are none to draw.
    """
    _draw_capacity_curves(ax, theory)
    if "shipped" in points:
        is_shipped = points["shipped"].astype(bool)
        _draw_sizes(ax, points[is_shipped], remark=", shipped", filled=False)
        _draw_sizes(ax, points[~is_shipped], remark=", run here")
    else:
        _draw_sizes(ax, points)
    if extrapolated is not None and len(extrapolated):
        ax.errorbar(
            extrapolated["searched"],
            extrapolated["alpha"],
            xerr=extrapolated["searched_error"],
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
    """Draw the loads up to which the best and a typical choice of variables separate.

    Both are drawn against the density ρ, the share of the variables that is chosen; `curve` has the
    columns rho, alpha_vs (the best choice) and cover_gardner (a typical one).
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


def _draw_sizes(ax: Any, points: pd.DataFrame, remark: str = "", *, filled: bool = True) -> None:
    """Draw points (density, load) with error bars, in a colour and shape for each size N.

    Parameters
    ----------
    ax : matplotlib axes.
    points : columns n (the number N of variables), density, load, and error (of the density).
    remark : end of the names in the legend.
    filled : whether markers are filled, or hollow.
    """
    for n, points_of_size in points.groupby("n"):
        style = SIZE_STYLES.get(n, OTHER_SIZE_STYLE)
        face_colour = "none"
        if filled:
            face_colour = style.colour
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
    """Draw the entropy Σ of separating supports against the load α at one density ρ.

    About e^{NΣ} supports (sets of ρN of N variables) separate αN random patterns. Theory is drawn
    as a line, and counts extrapolated to N → ∞ as points with error bars.

    Parameters
    ----------
    ax : matplotlib axes.
    limits : columns rho, inputs (their kind), alpha; the limits of exact counts ("exact") and with
        Monte Carlo counts ("both"), either of which may be missing; and the errors of the limits.
    curve : columns alpha and rs, the entropy of replica-symmetric theory.
    rho : the density, one of the numbers in `limits`.
    """
    ax.plot(curve["alpha"], curve["rs"], color=COLOURS["rs"], label=r"$\Sigma$, replica symmetric")
    limits_at_rho = limits[limits["rho"] == rho]
    for inputs, limits_of_kind in limits_at_rho.groupby("inputs"):
        style = INPUT_STYLES[str(inputs)]
        for counts in (EXACT_COUNTS, ALL_COUNTS):
            has_column = counts.column in limits_of_kind
            if has_column and limits_of_kind[counts.column].notna().any():
                _draw_limits_of_counts(ax, limits=limits_of_kind, style=style, counts=counts)
    ax.set(xlabel=r"load $\alpha$", ylabel=r"$\ln$(supports)$/N$", title=rf"$\rho={rho:g}$")
    ax.axhline(0, color="0.6", linewidth=0.8)
    ax.set_ylim(bottom=-0.1 * ax.get_ylim()[1])  # some room below the line at 0
    ax.legend(loc="lower left", fontsize=8)


def _draw_limits_of_counts(
    ax: Any, limits: pd.DataFrame, style: InputStyle, counts: CountStyle
) -> None:
    """Draw the limits N → ∞ of one kind of inputs from one kind of counts, with error bars.

    Parameters
    ----------
    ax : matplotlib axes.
    limits : columns alpha (the load), and the limit and its error in the columns that `counts`
        names.
    style : of the kind of inputs.
    counts : of the kind of counts: their column, and how they are drawn.
    """
    # Points at the same load are moved apart: inputs of one kind to the left, of the other to the
    # right, and limits of one kind of counts farther than those of the other.
    x = limits["alpha"] + counts.offset_factor * style.x_offset
    face_colour = "none"
    if counts.filled:
        face_colour = style.colour
    ax.errorbar(
        x,
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

    What is drawn are differences of the measurements from what the first moment (the mean number of
    separating sets of variables) gives at the same N. Each load has a colour; loads with too few
    sizes N for a fit are left out.

    Parameters
    ----------
    ax : matplotlib axes.
    points : columns alpha (the load), n (the number N), difference, and its errors.
    theory : for each load the difference in the limit N → ∞ by theory, drawn as a star.
    """
    colours = cycle(LOAD_COLOURS)
    for alpha, points_at_load in points.groupby("alpha"):
        fit = fit_differences(points_at_load)
        if fit is None:
            continue
        colour = next(colours)
        _draw_fitted_points(
            ax, points=points_at_load, fit=fit, colour=colour, label=rf"$\alpha={alpha:g}$"
        )
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
    # One entry of the legend for all stars, without a point.
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
    """Draw the differences at one load against 1/N, with error bars, and their fit as a line.

    Parameters
    ----------
    ax : matplotlib axes.
    points : columns n (the number N of variables), difference, and its errors.
    fit : the difference as a function of N.
    colour, label : of the load.
    """
    ax.errorbar(
        1 / points["n"],
        points["difference"],
        difference_errors(points),
        color=colour,
        marker="o",
        **POINTS,
    )
    # The line begins just right of 1/N = 0, where N would be infinite.
    inverse_sizes = np.linspace(1e-9, 1 / points["n"].min(), 50)
    ax.plot(inverse_sizes, fit.at(1 / inverse_sizes), color=colour, linewidth=1, label=label)


def draw_capacity_limits(ax: Any, limits: pd.DataFrame) -> None:
    """Draw the smallest share of variables that separates, for N → ∞, against the load α.

    What is drawn is the difference from the share ρ_VS by replica-symmetric theory, which is the
    line at 0.

    Parameters
    ----------
    ax : matplotlib axes.
    limits : columns alpha, inputs (their kind), searched and searched_error (the share that a
        search finds), rs and rsb (ρ_VS, replica symmetric and with one step of breaking).
    """
    # Theory, which is the same for all kinds of inputs.
    ax.axhline(0, color=COLOURS["rs"], label=r"$\rho_{\rm VS}$, replica symmetric")
    theory = limits.drop_duplicates("alpha").sort_values("alpha")
    ax.plot(
        theory["alpha"],
        theory["rsb"] - theory["rs"],
        "--",
        color=COLOURS["rsb"],
        label=r"$\rho_{\rm VS}$, one step of breaking",
    )

    # What a search finds; points of the two kinds of inputs are moved apart.
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
