"""The pictures of one chance test: the front beside shuffled labels, and every sample along the rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.ticker import MaxNLocator

from chanceline.figures.style import COLOURS
from chanceline.significance.words import CHANCE, STRUCTURE, UNDECIDED, counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from chanceline.significance.result import SeparationTest

BLUE, GREY, RED = COLOURS["rs"], COLOURS["breaks"], COLOURS["cover-gardner"]
VERDICTS = {STRUCTURE: COLOURS["structure"], CHANCE: COLOURS["chance"], UNDECIDED: COLOURS["unclear"]}


def draw_test(ax: Axes, result: SeparationTest) -> None:
    """Errors against the number of features: the observed labels, the band of shuffled ones, and the rule reported."""
    sizes = np.array([point.k for point in result.front])
    errors = np.array([point.errors for point in result.front])
    bands = [point.shuffled for point in result.front if point.shuffled is not None]
    colour = VERDICTS[result.verdict]
    if len(bands) == len(sizes):
        low, middle, high = (np.array([getattr(band, name) for band in bands]) for name in ("low", "median", "high"))
        ax.fill_between(sizes, low, high, color=GREY, alpha=0.3, linewidth=0, label="shuffled labels, 90% of them")
        ax.plot(sizes, middle, color=GREY, linestyle="--", label="shuffled labels, median")
    ax.plot(sizes, errors, "o-", color=BLUE, markersize=5, label="your labels, same least-squares rule")
    fewest = np.array([point.fewest for point in result.front])
    if np.any(fewest < errors):
        ax.plot(sizes, fewest, "o:", color=BLUE, markerfacecolor="white", markersize=5, label="your labels, best rule found")
    if result.n_selected:
        ax.plot([result.n_selected], [result.errors], "*", color=colour, markersize=15, zorder=5, label="the rule reported")
    ax.set_xlim(0.5, max([*sizes, result.n_selected]) + 0.5)
    ax.set_ylim(bottom=-0.02 * max(ax.get_ylim()[1], 1))
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.yaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlabel(f"number of features (of {result.n_features})")
    ax.set_ylabel(f"errors among {result.n_samples} samples")
    ax.set_title(result.verdict, color=colour, weight="bold")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2, frameon=False, fontsize="small")


def draw_samples(ax: Axes, result: SeparationTest) -> None:
    """Every sample along the rule, one row for each class; those on the wrong side are ringed."""
    reach = float(np.abs(result.scores).max(initial=0.0)) or 1.0
    along = result.scores / reach
    rng = np.random.default_rng(0)
    for place, (side, name, colour) in enumerate(zip((-1, 1), result.class_names, (RED, BLUE), strict=True)):
        members = result.labels * side > 0
        height = place + rng.uniform(-0.22, 0.22, size=int(members.sum()))
        ax.plot(along[members], height, "o", color=colour, alpha=0.7, markersize=5, linestyle="none", label=name)
        wrong = side * along[members] <= 0
        ax.plot(along[members][wrong], height[wrong], "o", markerfacecolor="none", markeredgecolor=COLOURS["ink"], markersize=9)
    ax.axvline(0, color=GREY, linewidth=1)
    ax.set_yticks([0, 1], [_short(name) for name in result.class_names])
    ax.set_ylim(-0.5, 1.5)
    ax.set_xlabel(f"distance from the threshold (scaled); right of it: {_short(result.class_names[1])}")
    ax.set_title(f"{counted(result.n_selected, 'feature')}, {counted(result.errors, 'error')}")


def _short(name: str, most: int = 18) -> str:
    """A class name that fits beside an axis; dollars would start a formula."""
    text = name.replace("$", r"\$")
    return text if len(text) <= most else text[: most - 1] + "…"
