"""The picture of a front: errors against the number of features."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.ticker import MaxNLocator

from chanceline.figures.style import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from chanceline.select.front import Front


def draw_front(ax: Axes, found: Front) -> None:
    """Steps of the fewest errors found; the first rule without errors is marked."""
    sizes = [point.k for point in found.points]
    errors = found.errors
    ax.step(sizes, errors, where="post", color=COLOURS["rs"])
    ax.plot(sizes, errors, "o", color=COLOURS["rs"], markersize=5)
    for size, count in zip(sizes, errors, strict=True):
        ax.annotate(str(count), (size, count), xytext=(4, 5), textcoords="offset points", fontsize="small")
    last = found.points[-1]
    if last.errors == 0:
        ax.plot([last.k], [0], "*", color=COLOURS["l0"], markersize=15, zorder=5, clip_on=False)
    ax.set_ylim(bottom=0)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.yaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlabel(f"features in the rule (of {found.n_features})")
    ax.set_ylabel(f"fewest errors found (of {found.n_samples} samples)")
