"""What features explain against their number, beside shuffled labels; the fewest errors found; samples along the rule, and its
features.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.ticker import MaxNLocator

from chanceline.figures.style import COLOURS, legend_below
from chanceline.significance.text import CHANCE, NOT_SHOWN, STRUCTURE, UNDECIDED

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from chanceline.select.front_result import Front
    from chanceline.significance.result import SeparationTest

BLUE, GREY, RED = COLOURS["rs"], COLOURS["breaks"], COLOURS["cover-gardner"]
VERDICTS = {
    STRUCTURE: COLOURS["structure"], CHANCE: COLOURS["chance"], NOT_SHOWN: COLOURS["unclear"], UNDECIDED: COLOURS["unclear"],
}  # fmt: skip
MOST_BOXES = 8


def draw_test(ax: Axes, result: SeparationTest) -> None:
    """R² against the number of features: the observed labels, the band of shuffled ones, and what the p-value rests on.

    Below every number of features stand the fewest errors known with so many.
    """
    sizes = [point.k for point in result.front]
    explained = [point.explained for point in result.front]
    bands = [point.shuffled for point in result.front if point.shuffled is not None]
    colour = VERDICTS[result.verdict]
    if len(bands) == len(sizes):
        low = [band.low for band in bands]
        median = [band.median for band in bands]
        high = [band.high for band in bands]
        ax.fill_between(
            sizes,
            low,
            high,
            color=GREY,
            alpha=0.3,
            linewidth=0,
            label="shuffled labels, 90 % of them",
        )
        ax.plot(sizes, median, color=GREY, linestyle="--", label="shuffled labels, median")
    ax.plot(sizes, explained, "o-", color=BLUE, markersize=5, label="your labels")
    evidence = result.evidence
    if evidence.k is not None and evidence.explained is not None:
        ax.plot(
            [evidence.k],
            [evidence.explained],
            "*",
            color=colour,
            markersize=15,
            zorder=5,
            label="the p-value rests on this",
        )
    ax.set_xlim(0.5, max(sizes) + 0.5)
    ax.set_ylim(0.0, 1.02)
    ax.set_xticks(sizes, [f"{point.k}\n{point.errors}" for point in result.front])
    ax.set_xlabel(
        f"number of features (of {result.n_features}), and fewest errors (of {result.n_samples} samples)"
    )
    ax.set_ylabel("R² of the labels")
    ax.set_title(result.verdict, color=colour, weight="bold")
    # Two lines of numbers stand between the axis and the legend.
    legend_below(ax, distance=0.22)


def draw_front(ax: Axes, found: Front) -> None:
    """Steps of the fewest errors found; the first rule without errors is marked."""
    sizes = [point.k for point in found.points]
    ax.plot(sizes, found.errors, "o-", drawstyle="steps-post", color=BLUE, markersize=5)
    for size, count in zip(sizes, found.errors, strict=True):
        ax.annotate(
            str(count), (size, count), xytext=(4, 5), textcoords="offset points", fontsize="small"
        )
    last = found.points[-1]
    if last.errors == 0:
        ax.plot([last.k], [0], "*", color=COLOURS["l0"], markersize=15, zorder=5, clip_on=False)
    ax.set_ylim(bottom=0)
    _count(
        ax,
        f"features in the rule (of {found.n_features})",
        f"fewest errors found (of {found.n_samples} samples)",
    )


def draw_samples(ax: Axes, result: SeparationTest) -> None:
    """Every sample along the rule, one row for each class; those on the wrong side are ringed."""
    along = result.scores / (np.abs(result.scores).max(initial=0.0) or 1.0)
    rng = np.random.default_rng(0)
    for place, (side, name, colour) in enumerate(
        zip((-1, 1), result.class_names, (RED, BLUE), strict=True)
    ):
        members = result.labels * side > 0
        height = place + rng.uniform(-0.22, 0.22, size=int(members.sum()))
        ax.plot(
            along[members],
            height,
            "o",
            color=colour,
            alpha=0.7,
            markersize=5,
            linestyle="none",
            label=name,
        )
        # A sample on the threshold is not predicted to be positive.
        wrong = (along[members] > 0) != (side > 0)
        ax.plot(
            along[members][wrong],
            height[wrong],
            "o",
            markerfacecolor="none",
            markeredgecolor=COLOURS["ink"],
            markersize=9,
        )
    ax.axvline(0, color=GREY, linewidth=1)
    ax.set_yticks([0, 1], [_short(name) for name in result.class_names])
    ax.set(
        ylim=(-0.5, 1.5),
        xlabel=f"distance from the threshold (scaled); right of it: {_short(result.class_names[1])}",
    )


def draw_features(ax: Axes, result: SeparationTest) -> None:
    """Features of the rule to use, by class, in standard deviations: quartiles as a bar, 5 % to 95 % as a line, medians."""
    used = result.rule or result.separating
    weights = dict(zip(used.features, used.weights, strict=True))
    known = [name for name in used.features if name in result.columns]
    names = sorted(known, key=lambda name: -abs(weights[name] * result.columns[name].std()))[
        :MOST_BOXES
    ]
    for place, name in enumerate(reversed(names)):
        values = result.columns[name]
        values = (values - values.mean()) / (values.std() or 1.0)
        for side, shift, colour in ((-1, -0.17, RED), (1, 0.17, BLUE)):
            low, first, middle, third, high = np.quantile(
                values[result.labels * side > 0], (0.05, 0.25, 0.5, 0.75, 0.95)
            )
            label = _short(result.class_names[side > 0]) if place == 0 else ""
            ax.hlines(place + shift, low, high, color=colour, linewidth=1.5)
            ax.hlines(
                place + shift, first, third, color=colour, linewidth=8, alpha=0.6, label=label
            )
            ax.plot([middle], [place + shift], "o", color=COLOURS["ink"], markersize=4)
    ax.set_yticks(range(len(names)), [_short(name) for name in reversed(names)])
    ax.set(ylim=(-0.6, len(names) - 0.4), xlabel="standard deviations from the mean")
    legend_below(ax)


def _count(ax: Axes, features: str, errors: str) -> None:
    """Whole numbers on both axes."""
    for axis, label in ((ax.xaxis, features), (ax.yaxis, errors)):
        axis.set_major_locator(MaxNLocator(integer=True))
        axis.set_label_text(label)


def _short(name: str) -> str:
    """A class name that fits beside an axis; dollars would start a formula."""
    text = name.replace("$", r"\$")
    return text if len(text) <= 18 else text[:17] + "…"
