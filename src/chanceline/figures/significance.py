"""Pictures of the chance test and of the front of fewest errors.

`draw_test` shows what the features of the stepwise path explain against their number, beside the
same on shuffled labels; `draw_front` the fewest errors that a search found; `draw_samples` the
samples along the rule, `draw_features` its features.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from matplotlib.ticker import MaxNLocator

from chanceline.figures.style import COLOURS, legend_below
from chanceline.significance.left_out_scores import samples_along_rule
from chanceline.significance.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from chanceline._arrays import Floats
    from chanceline.select.front_result import Front
    from chanceline.significance.readings import Band
    from chanceline.significance.result import SeparationTest

OBSERVED_COLOUR = COLOURS["rs"]
SHUFFLED_COLOUR = COLOURS["breaks"]
POSITIVE_COLOUR = COLOURS["rs"]
NEGATIVE_COLOUR = COLOURS["cover-gardner"]
VERDICT_COLOURS = {
    Verdict.STRUCTURE: COLOURS["structure"],
    Verdict.CHANCE: COLOURS["chance"],
    Verdict.NOT_SHOWN: COLOURS["unclear"],
    Verdict.UNDECIDED: COLOURS["unclear"],
}
MAX_BOXES = 8  # features that fit below each other
MAX_NAME_LETTERS = 18  # of a name beside an axis
SCATTER = 0.22  # samples of a class are scattered so far above and below their line
BOX_SHIFT = 0.17  # the boxes of both classes lie so far above and below their feature's line
ROOM_BESIDE_BOXES = 0.6  # below the lowest feature's line, and above the highest
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


def draw_test(ax: Axes, result: SeparationTest) -> None:
    """Draw the test of a table: how well a few features explain the labels, true and shuffled.

    R² of stepwise least squares, which adds features one by one, is drawn against the number of
    features. A band shows R² for shuffled labels. A star marks the set of features that the verdict
    names, if it is one of these sets.
    """
    sizes = [point.k for point in result.front]
    explained = [point.explained for point in result.front]
    verdict_colour = VERDICT_COLOURS[result.verdict]

    # The band is drawn only if shuffled labels are known for every number of features.
    bands = [point.shuffled for point in result.front if point.shuffled is not None]
    if len(bands) == len(sizes):
        _draw_shuffled_bands(ax, sizes, bands)
    ax.plot(sizes, explained, "o-", color=OBSERVED_COLOUR, markersize=5, label="your labels")
    evidence = result.evidence
    if evidence.k is not None and evidence.explained is not None:
        _draw_star(
            ax,
            x=evidence.k,
            y=evidence.explained,
            colour=verdict_colour,
            label="the features named",
        )

    ax.set_xlim(0.5, max(sizes) + 0.5)
    ax.set_ylim(0.0, 1.02)
    ax.set_xticks(sizes)
    ax.set_xlabel(f"features that stepwise least squares takes (of {result.n_features})")
    ax.set_ylabel("R² of the labels")
    ax.set_title(result.verdict, color=verdict_colour, weight="bold")
    legend_below(ax)


def _draw_shuffled_bands(ax: Axes, sizes: Sequence[int], bands: Sequence[Band]) -> None:
    """Draw R² on shuffled labels: a band that holds 90 % of the shuffles, and their median.

    Parameters
    ----------
    ax : the axes to draw on.
    sizes : numbers of features.
    bands : ends of the band, and the median, for each number of features.
    """
    ax.fill_between(
        sizes,
        [band.low for band in bands],
        [band.high for band in bands],
        color=SHUFFLED_COLOUR,
        alpha=0.3,
        linewidth=0,
        label="shuffled labels, 90 % of them",
    )
    ax.plot(
        sizes,
        [band.median for band in bands],
        color=SHUFFLED_COLOUR,
        linestyle="--",
        label="shuffled labels, median",
    )


def draw_front(ax: Axes, front: Front) -> None:
    """Draw the fewest errors found against the number of features, with the errors written beside.

    A star marks the first rule without errors, which is the last point of the front.
    """
    sizes = [point.k for point in front.points]
    ax.plot(sizes, front.errors, "o-", drawstyle="steps-post", color=OBSERVED_COLOUR, markersize=5)
    for point in front.points:
        ax.annotate(
            str(point.errors),
            (point.k, point.errors),
            xytext=(4, 5),
            textcoords="offset points",
            fontsize="small",
        )
    last = front.points[-1]
    if last.errors == 0:
        ax.plot([last.k], [0], "*", color=COLOURS["l0"], markersize=15, zorder=5, clip_on=False)

    ax.set_ylim(bottom=0)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.yaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlabel(f"features in the rule (of {front.n_features})")
    ax.set_ylabel(f"fewest errors found (of {front.n_samples} samples)")


class DrawnClass(NamedTuple):
    """One of the two classes: its name, its samples as a mask (samples,), and its colour."""

    name: str
    members: NDArray[np.bool_]
    is_positive: bool
    colour: str


def drawn_classes(result: SeparationTest) -> tuple[DrawnClass, DrawnClass]:
    """The negative and the positive class, in this order."""
    negative, positive = result.class_names
    return (
        DrawnClass(negative, result.labels < 0, is_positive=False, colour=NEGATIVE_COLOUR),
        DrawnClass(positive, result.labels > 0, is_positive=True, colour=POSITIVE_COLOUR),
    )


def draw_samples(ax: Axes, result: SeparationTest) -> None:
    """Draw the scores of all samples, in a row for each class; wrongly classified ones are ringed.

    Scores are cross-validated if possible, and else those of the training samples; the axis says
    which.
    """
    samples = samples_along_rule(result)
    largest_score = np.abs(samples.values).max(initial=0.0) or 1.0  # 1 if all scores are 0
    scaled_scores = samples.values / largest_score  # from −1 to 1

    # The points of a class are scattered at random above and below its row, so that they do not
    # hide each other.
    rng = np.random.default_rng(0)
    for row, drawn in enumerate(drawn_classes(result)):
        scores = scaled_scores[drawn.members]
        heights = row + rng.uniform(-SCATTER, SCATTER, size=len(scores))
        ax.plot(
            scores,
            heights,
            "o",
            color=drawn.colour,
            alpha=0.7,
            markersize=5,
            label=drawn.name,
        )
        is_wrong = samples.is_wrong[drawn.members]
        _draw_rings(ax, scores[is_wrong], heights[is_wrong])

    ax.axvline(0, color=SHUFFLED_COLOUR, linewidth=1)
    ax.set_yticks([0, 1], [name_on_axis(name) for name in result.class_names])
    positive = name_on_axis(result.class_names[1])
    ax.set(
        ylim=(-0.5, 1.5),
        xlabel=f"{samples.kind} score (threshold 0, scaled); right of it: {positive}",
    )


def _draw_star(ax: Axes, x: float, y: float, colour: str, label: str) -> None:
    """Draw one star above everything else."""
    ax.plot([x], [y], "*", color=colour, markersize=15, zorder=5, label=label)


def _draw_rings(ax: Axes, x: Floats, y: Floats) -> None:
    """Draw a ring around every point."""
    ax.plot(
        x,
        y,
        "o",
        markerfacecolor="none",
        markeredgecolor=COLOURS["ink"],
        markersize=9,
    )


def draw_features(ax: Axes, result: SeparationTest) -> None:
    """Draw how the rule's features are distributed in each class, in standard deviations.

    Every feature has a row with a box for each class: a line from the 5 % to the 95 % quantile,
    a bar between the quartiles, and a dot at the median. The most influential feature is on top.
    """
    names = heaviest_features(result)
    names_from_below = names[::-1]  # rows are counted from below
    for row, name in enumerate(names_from_below):
        values = result.columns[name]
        spread = values.std() or 1.0  # a constant column stays at 0
        standardized = (values - values.mean()) / spread
        for drawn in drawn_classes(result):
            # The box of the positive class is above that of the negative one.
            height = row - BOX_SHIFT
            if drawn.is_positive:
                height = row + BOX_SHIFT
            # The first row gives the legend its entry for each class.
            label = ""
            if row == 0:
                label = name_on_axis(drawn.name)
            draw_box(
                ax,
                height=height,
                values=standardized[drawn.members],
                colour=drawn.colour,
                label=label,
            )

    ax.set_yticks(range(len(names)), [name_on_axis(name) for name in names_from_below])
    ax.set(
        ylim=(-ROOM_BESIDE_BOXES, len(names) - 1 + ROOM_BESIDE_BOXES),
        xlabel="standard deviations from the mean",
    )
    legend_below(ax)


def heaviest_features(result: SeparationTest) -> list[str]:
    """The features of the rule to use (or that separate) with the largest |weight|·SD, in order."""
    rule = result.rule or result.separating
    weights = dict(zip(rule.features, rule.weights, strict=True))
    known = [name for name in rule.features if name in result.columns]

    def influence(name: str) -> float:
        return float(abs(weights[name] * result.columns[name].std()))

    return sorted(known, key=influence, reverse=True)[:MAX_BOXES]


def draw_box(ax: Axes, height: float, values: NDArray[np.float64], colour: str, label: str) -> None:
    """The distribution of values (samples,) at one height: a line, a bar and a dot."""
    low, first_quartile, median, third_quartile, high = np.quantile(values, QUANTILES)
    ax.hlines(height, low, high, color=colour, linewidth=1.5)
    ax.hlines(
        height, first_quartile, third_quartile, color=colour, linewidth=8, alpha=0.6, label=label
    )
    ax.plot([median], [height], "o", color=COLOURS["ink"], markersize=4)


def name_on_axis(name: str) -> str:
    """A name that fits beside an axis; dollars, which would start a formula, are escaped."""
    text = name.replace("$", r"\$")
    if len(text) > MAX_NAME_LETTERS:
        return text[: MAX_NAME_LETTERS - 1] + "…"
    return text
