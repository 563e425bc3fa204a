"""The picture of one chance test: the bound's curve, the chance line, shuffled set sizes, and where you
are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.ticker import MaxNLocator

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from chanceline.significance.result import SeparationTest

BLUE, GREY, RED, GREEN = "#2a6fbb", "#8a8f98", "#c2452d", "#3a8a4d"
COLOURS = {"structure": GREEN, "chance allows this": RED, "cannot tell": GREY}


def draw_test(ax: Axes, result: SeparationTest) -> None:
    """Set size M on the axis: log₁₀ of the bound (left), shuffled set sizes (right), the zone of
    permutation shaded.
    """
    sizes, log10_p = result.bound_sizes, result.bound_curve
    null = result.null_distribution[np.isfinite(result.null_distribution)]
    right = _right_end(result, null)
    shown = (sizes >= 1) & (sizes <= right)
    ax.plot(sizes[shown], log10_p[shown], "o-", color=BLUE, markersize=4, label="rigorous bound")
    ax.axhline(np.log10(result.settings["level"]), color=BLUE, linewidth=0.8, linestyle=":", label="level")
    start = result.largest_convincing + 0.5
    if start < right:
        ax.axvspan(start, right + 0.5, color=GREY, alpha=0.15, linewidth=0, label="only permutation can speak")
    if result.replica is not None and result.replica.chance_size is not None and result.replica.chance_size <= right:
        ax.axvline(result.replica.chance_size, color=GREY, linestyle="--", label="chance line α$_{VS}$ (asymptotic)")
    if len(null):
        _histogram(ax, null)
    here = min(0.0, result.bound.log10_p)
    ax.plot([result.n_selected], [here], "*", color=COLOURS[result.verdict], markersize=16, zorder=5)
    ax.annotate(
        "you are here",
        (result.n_selected, here),
        xytext=(10, -18) if here == 0 else (-12, 8),
        textcoords="offset points",
        ha="left" if here == 0 else "right",
        color=COLOURS[result.verdict],
        weight="bold",
    )
    ax.set_xlim(0.5, right + 0.5)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlabel(f"selected features M (of {result.n_features})")
    ax.set_ylabel("log₁₀ p of the bound")
    ax.set_title(result.verdict, color=COLOURS[result.verdict], weight="bold")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=4, frameon=False, fontsize="small")


def _right_end(result: SeparationTest, null: Any) -> int:
    ends = [result.n_selected + 2, result.largest_convincing + 3, *(null.max(initial=0) + 1,)]
    if result.replica is not None and result.replica.chance_size is not None:
        ends.append(min(result.replica.chance_size + 1, 3 * max(ends)))
    return int(min(max(ends), result.n_features))


def _histogram(ax: Axes, null: Any) -> None:
    values, counts = np.unique(null, return_counts=True)
    beside = ax.twinx()
    beside.bar(values, counts / counts.sum(), width=0.7, color=RED, alpha=0.35)
    beside.set_ylim(0, 1.6 * counts.max() / counts.sum())
    beside.set_ylabel("share of shuffled labellings", color=RED)
