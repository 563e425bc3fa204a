"""The picture of tests of sets: p and adjusted p of the best sets below each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chanceline.figures.style import COLOURS, legend_below

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from chanceline.significance.set_result import SetReading, SetTests

CONVINCING_COLOUR = COLOURS["structure"]
OTHER_COLOUR = COLOURS["breaks"]
MAX_SETS_DRAWN = 20
MIN_SETS_DRAWN = 5  # however small the picture is
MAX_SET_NAME = 28  # letters of a name beside the axis
FIGURE_WIDTH = 7.5  # inches
HEIGHT_OF_SET = 0.22  # inches
HEIGHT_OF_FRAME = 1.6  # inches, of axis and legend
MIN_SETS_OF_HEIGHT = 8  # fewer sets have the room of so many
LEGEND_DISTANCE = 0.6  # inches below the axis


def size_of_sets(result: SetTests) -> tuple[float, float]:
    """Width and height of the picture in inches, so that every set has a line of its own."""
    return FIGURE_WIDTH, HEIGHT_OF_FRAME + height_of_axes(result)


def height_of_axes(result: SetTests) -> float:
    """Inches of the axes that hold the lines of all sets drawn."""
    n_drawn = min(len(result.sets), MAX_SETS_DRAWN)
    return HEIGHT_OF_SET * max(n_drawn, MIN_SETS_OF_HEIGHT)


def draw_sets(ax: Axes, result: SetTests) -> None:
    """Draw tests of sets of features: for each of the best sets a line between two p-values.

    The line goes from the p-value of the set alone (ring) to the p-value adjusted for all sets
    (dot). Evidence grows to the right; a dashed line marks the level. Only as many sets are drawn
    as the picture has room for.
    """
    drawn_sets = result.sets[: room_for_sets(ax)]  # the best come first
    level = result.settings.level
    for row, tested_set in enumerate(drawn_sets):
        colour = OTHER_COLOUR
        if tested_set.adjusted_pvalue <= level:
            colour = CONVINCING_COLOUR
        draw_set(ax, row=row, tested_set=tested_set, colour=colour, is_first=row == 0)

    ax.axvline(level, color=COLOURS["ink"], linestyle="--", linewidth=1, label=f"level {level:g}")
    ax.set_xscale("log")
    # p-values fall from left to right, with a little room on both sides: for p = 1 on the left, and
    # for the smallest p-value that shuffles give on the right.
    left_end = 1.3
    right_end = result.smallest_possible_p / 1.5
    ax.set_xlim(left_end, right_end)

    # Rows are one unit apart, the first set in row 0 on top. Above it and below the last row there
    # is room of 0.6 of a row.
    n_drawn = len(drawn_sets)
    ax.set_ylim(n_drawn - 0.4, -0.6)
    labels = [label_of_set(tested_set) for tested_set in drawn_sets]
    ax.set_yticks(range(n_drawn), labels)

    ax.set_xlabel(f"p-value from {result.shuffles} shuffles")
    if len(result.sets) > n_drawn:
        ax.set_title(f"the best {n_drawn} of {len(result.sets)} sets", fontsize="medium")
    legend_below(ax, columns=3, distance=LEGEND_DISTANCE / height_of_axes(result))


def room_for_sets(ax: Axes) -> int:
    """How many lines a picture of this height can hold."""
    picture = ax.figure
    height = picture.bbox.height / picture.dpi  # inches
    n_lines = round((height - HEIGHT_OF_FRAME) / HEIGHT_OF_SET)
    return min(max(n_lines, MIN_SETS_DRAWN), MAX_SETS_DRAWN)


def draw_set(ax: Axes, row: int, tested_set: SetReading, colour: str, *, is_first: bool) -> None:
    """Draw one set of features: a line from its p-value (ring) to its adjusted p-value (dot).

    Parameters
    ----------
    ax : the axes to draw on.
    row : place of the set from the top, 0, 1, …
    tested_set : the set, with its p-value alone and adjusted for all sets.
    colour : of the line and its ends.
    is_first : whether this set is the one that stands for all in the legend.
    """
    pvalue = tested_set.pvalue
    adjusted_pvalue = tested_set.adjusted_pvalue
    # Matplotlib leaves empty labels out of the legend.
    label_of_ring = ""
    label_of_dot = ""
    if is_first:
        label_of_ring = "the set alone"
        label_of_dot = "adjusted for all sets"
    ax.hlines(row, pvalue, adjusted_pvalue, color=colour, linewidth=1.2)
    ax.plot(
        [pvalue],
        [row],
        "o",
        markerfacecolor=COLOURS["card"],
        markeredgecolor=colour,
        markersize=5,
        label=label_of_ring,
    )
    ax.plot(
        [adjusted_pvalue],
        [row],
        "o",
        color=colour,
        markersize=6,
        label=label_of_dot,
    )


def label_of_set(item: SetReading) -> str:
    """The name of a set that fits beside the axis, and how many features of it were tested."""
    name = item.name
    if len(name) > MAX_SET_NAME:
        name = name[: MAX_SET_NAME - 1] + "…"
    # Dollars would start a formula.
    name = name.replace("$", r"\$")
    return f"{name} ({item.n_features})"
