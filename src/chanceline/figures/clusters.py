"""Pictures of choices of variables as circles, with the weights that separate as sectors."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, degrees, sqrt
from typing import Any

import pandas as pd

from chanceline.figures.style import COLOURS

CIRCLE_RADIUS = 0.42  # circles have their centres one unit apart


def draw_clusters(ax: Any, choices: pd.DataFrame, title: str) -> None:
    """Draw choices of two variables as dotted circles, with the weights that separate as sectors.

    A direction from the centre of a circle stands for the direction of the two weights.

    Parameters
    ----------
    ax : matplotlib axes.
    choices : a row for each choice; columns start and width of its sector, in radians. The width is
        0 if no weights separate.
    title : of the panel; the number of choices that separate is added.
    """
    # Circles fill a square, row by row from above.
    n_in_row = ceil(sqrt(len(choices)))
    for place, choice in enumerate(choices.itertuples()):
        row, column = divmod(place, n_in_row)
        _draw_choice(ax, centre=(column, -row), start=choice.start, width=choice.width)

    separates = choices["width"] > 0
    n_separating = int(separates.sum())

    n_rows = ceil(len(choices) / n_in_row)
    # Centres are one unit apart, from 0 to n_in_row − 1 and down to 1 − n_rows; the limits leave
    # room for the circles around them.
    ax.set(
        xlim=(-0.6, n_in_row - 0.4),
        ylim=(-n_rows + 0.4, 0.6),
        aspect="equal",
        title=f"{title}\n{n_separating} of {len(choices)} choices separate",
    )
    ax.set_axis_off()


def _draw_choice(ax: Any, centre: tuple[int, int], start: float, width: float) -> None:
    """Draw one choice of variables: a dotted circle, with the weights that separate as a sector.

    Parameters
    ----------
    ax : matplotlib axes.
    centre : x and y of the circle.
    start, width : where the sector begins, and its angle, in radians; without width there is none.
    """
    from matplotlib.patches import Circle, Wedge

    circle = Circle(
        centre,
        CIRCLE_RADIUS,
        fill=False,
        linestyle=":",
        linewidth=0.8,
        edgecolor=COLOURS["breaks"],
    )
    ax.add_patch(circle)
    if width > 0:
        start_degrees = degrees(start)
        end_degrees = start_degrees + degrees(width)
        ax.add_patch(
            Wedge(centre, CIRCLE_RADIUS, start_degrees, end_degrees, color=COLOURS["rs"], alpha=0.6)
        )


def draw_cluster_entropy(
    ax: Any, table: pd.DataFrame, *, rho: float, capacity: float, panel_loads: Sequence[float]
) -> None:
    """Draw the entropy Σ of separating choices of variables against the load α = P/N.

    About e^{NΣ} choices of ρN variables (of N) separate P random patterns.

    Parameters
    ----------
    ax : matplotlib axes.
    table : columns alpha (the load, ascending) and entropy.
    rho : the density ρ, the share of the variables that is chosen.
    capacity : α_VS, the load at which the entropy vanishes.
    panel_loads : loads of the other panels of the figure, marked by triangles on the axis.
    """
    # The line ends at the capacity, where the entropy is 0.
    not_negative = table[table["entropy"] >= 0]
    loads = [*not_negative["alpha"], capacity]
    entropies = [*not_negative["entropy"], 0.0]
    ax.plot(loads, entropies, color=COLOURS["rs"], label=r"entropy $\Sigma$ of separating choices")
    _mark_loads(ax, rho, capacity)
    ax.plot(
        panel_loads,
        [0.0] * len(panel_loads),
        marker="^",
        linestyle="none",
        color=COLOURS["ink"],
        clip_on=False,
        label="the panels above",
    )
    ax.set(
        xlabel=r"load $\alpha=P/N$",
        ylabel=r"$\Sigma$",
        xlim=(0, None),
        ylim=(0, None),
        title=rf"many variables, density $\rho={rho:g}$",
    )
    # The free place below the curve, right of the second vertical line.
    ax.legend(loc="lower left", bbox_to_anchor=(0.36, 0.05), fontsize=9)


def _mark_loads(ax: Any, rho: float, capacity: float) -> None:
    """Vertical lines at the loads up to which all, typical and some choices separate."""
    marked_loads = {  # label → load, colour
        r"$\alpha_{\rm VC}=\rho$: up to here all": (rho, "vc"),
        r"$\alpha_{\rm CG}=2\rho$: typical ones": (2 * rho, "cover-gardner"),
        rf"$\alpha_{{\rm VS}}={capacity:.4f}$: some": (capacity, "rsb"),
    }
    for label, (load, colour) in marked_loads.items():
        ax.axvline(load, color=COLOURS[colour], linestyle="--", linewidth=1.2, label=label)
