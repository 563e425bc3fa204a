"""A picture of the p-values of all features one by one, along the columns or the chromosomes: a
Manhattan plot.

Of very many features a picture cannot show every point. So the width is cut into strips; in each
of them the few smallest p-values are points, and a bar goes up to the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from chanceline._arrays import Floats, Ints
from chanceline.figures.style import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from chanceline.tables.variants import VariantPlaces

N_STRIPS = 300
POINTS_OF_STRIP = 2
MOST_NAMED = 5  # features whose names stand in the picture
SMALLEST_PVALUE = 1e-300
LEVEL = 0.05  # of all features together; the line of Bonferroni is at LEVEL/features
# Neighbouring chromosomes differ in colour.
CHROMOSOME_COLOURS = (COLOURS["rs"], COLOURS["breaks"])
NAMED_COLOUR = COLOURS["here"]
NARROWEST_LABELLED = 0.025  # of the width, from which on a chromosome is named below


class Chromosome(NamedTuple):
    """A stretch of features: its name, and where it begins and ends on the axis."""

    name: str
    begin: float
    end: float


class FeatureAxis(NamedTuple):
    """Where features stand on the horizontal axis.

    Attributes
    ----------
    places : (features,).
    chromosomes : the stretches of the axis; empty where features are numbered.
    """

    places: Floats
    chromosomes: Sequence[Chromosome]


def feature_axis(n_features: int, variants: VariantPlaces | None) -> FeatureAxis:
    """Where features stand on the horizontal axis.

    Genetic variants stand by chromosome and position, one chromosome behind the other in the order
    of the file. Other features stand by the numbers of their columns.

    Parameters
    ----------
    n_features : number of columns.
    variants : chromosome and position of every feature; None if features are no variants.
    """
    if variants is None:
        return FeatureAxis(np.arange(n_features, dtype=np.float64), ())

    # Number the chromosomes 0, 1, … in the order of the file.
    names = list(dict.fromkeys(variants.chromosomes))  # each once
    number_of_name = {name: number for number, name in enumerate(names)}
    chromosome_of_feature = np.array([number_of_name[name] for name in variants.chromosomes])

    # Positions start anew on each chromosome. Shift them, so that a chromosome begins where the one
    # before it ends.
    places = variants.positions.astype(np.float64)  # (features,)
    chromosomes = []
    begin = 0.0
    for number, name in enumerate(names):
        on_chromosome = chromosome_of_feature == number
        first_position = float(places[on_chromosome].min())
        last_position = float(places[on_chromosome].max())
        length = last_position - first_position + 1
        places[on_chromosome] += begin - first_position
        chromosomes.append(Chromosome(name, begin, begin + length))
        begin += length
    return FeatureAxis(places, chromosomes)


def draw_single_features(
    ax: Axes, pvalues: Floats, axis: FeatureAxis, names: Sequence[str], named: Sequence[int]
) -> None:
    """Draw a Manhattan plot: −log₁₀ p of every feature alone, and Bonferroni's threshold.

    Parameters
    ----------
    ax : the axes to draw on.
    pvalues : (features,), NaN for features that do not vary; these are drawn at height 0.
    axis : where the features stand.
    names : of the features.
    named : columns of the features that the result names, which are marked.
    """
    # Clipped, because a p-value of 0 would have an infinite height.
    heights = -np.log10(np.clip(pvalues, SMALLEST_PVALUE, 1.0))
    heights = np.nan_to_num(heights, nan=0.0)

    # Chromosomes are stretches of the axis in alternating colours; without them all features are in
    # one stretch.
    stretches = axis.chromosomes or [Chromosome("", 0.0, float(axis.places.max()) + 1)]
    whole_width = stretches[-1].end
    strip_width = whole_width / N_STRIPS
    for number, stretch in enumerate(stretches):
        is_inside = (axis.places >= stretch.begin) & (axis.places < stretch.end)
        inside = np.flatnonzero(is_inside)
        _draw_stretch(
            ax,
            places=axis.places[inside],
            heights=heights[inside],
            strip_width=strip_width,
            colour=CHROMOSOME_COLOURS[number % len(CHROMOSOME_COLOURS)],
        )
    _mark_features(
        ax, places=axis.places, heights=heights, feature_names=names, columns_to_mark=named
    )

    # The threshold, and the axes: a little wider and higher than what is drawn.
    n_tested = int(np.count_nonzero(~np.isnan(pvalues)))
    threshold = _draw_threshold(ax, n_tested)
    ax.set_xlim(-0.01 * whole_width, 1.01 * whole_width)
    ax.set_ylim(bottom=0.0, top=1.12 * max(threshold, float(heights.max(initial=0.0))))
    ax.set_ylabel("−log₁₀ p of the feature alone")
    _label_axis(ax, axis)


def _draw_threshold(ax: Axes, n_tested: int) -> float:
    """Draw Bonferroni's threshold: the level of all tests together, divided by their number.

    Returns
    -------
    threshold : height of the line, −log₁₀ p.
    """
    n_tests = max(1, n_tested)  # not 0, which cannot be divided by
    threshold = float(-np.log10(LEVEL / n_tests))
    ax.axhline(threshold, color=COLOURS["soft"], linestyle="--", linewidth=1)
    ax.annotate(
        f"{LEVEL}/{n_tests:,}",
        (0.0, threshold),
        xytext=(2, 3),
        textcoords="offset points",
        fontsize="small",
        color=COLOURS["soft"],
    )
    return threshold


def _draw_stretch(
    ax: Axes, places: Floats, heights: Floats, strip_width: float, colour: str
) -> None:
    """Draw the features of one stretch of the axis (a chromosome, say), cut into narrow strips.

    The `POINTS_OF_STRIP` highest features of a strip are drawn as points. The lower ones would hide
    each other: a bar from 0 to the highest of these stands for all of them.

    Parameters
    ----------
    ax : the axes to draw on.
    places, heights : x and y of the features in the stretch, (features,).
    strip_width : in units of the axis.
    colour : of points and bars.
    """
    if len(places) == 0:
        return

    # Sort the features by strip, and within a strip the highest first. (The last key of `lexsort`
    # is the main one.)
    strip_of_feature = places // strip_width
    order = np.lexsort((-heights, strip_of_feature))
    sorted_strips = strip_of_feature[order]

    # Rank of each sorted feature within its strip: 0 for the highest, then 1, 2, …
    _, first_of_strip, n_in_strip = np.unique(sorted_strips, return_index=True, return_counts=True)
    rank_in_strip = np.arange(len(order)) - np.repeat(first_of_strip, n_in_strip)

    # The features drawn as points; and for each strip with more features the highest of the others.
    points = order[rank_in_strip < POINTS_OF_STRIP]
    highest_without_point = order[rank_in_strip == POINTS_OF_STRIP]
    middles = (strip_of_feature[highest_without_point] + 0.5) * strip_width
    tops = heights[highest_without_point]
    ax.vlines(middles, 0.0, tops, color=colour, linewidth=1.2, alpha=0.6)
    ax.plot(places[points], heights[points], "o", color=colour, markersize=2.2)


def _mark_features(
    ax: Axes,
    places: Floats,
    heights: Floats,
    feature_names: Sequence[str],
    columns_to_mark: Sequence[int],
) -> None:
    """Mark some features by points, and write names at the `MOST_NAMED` highest of them.

    Parameters
    ----------
    ax : the axes to draw on.
    places, heights : x and y of all features, (features,).
    feature_names : names of all features.
    columns_to_mark : indices of the features to mark.
    """
    if not columns_to_mark:
        return
    columns: Ints = np.array(columns_to_mark, dtype=np.int64)
    ax.plot(places[columns], heights[columns], "o", color=NAMED_COLOUR, markersize=5, zorder=5)

    highest_first = columns[np.argsort(-heights[columns], kind="stable")]
    for column in highest_first[:MOST_NAMED].tolist():
        ax.annotate(
            feature_names[column],
            (places[column], heights[column]),
            xytext=(4, 3),
            textcoords="offset points",
            fontsize="small",
        )


def _label_axis(ax: Axes, axis: FeatureAxis) -> None:
    """Label the horizontal axis: with names of chromosomes, or as numbers of columns.

    A name stands below the middle of its chromosome; too short chromosomes have none.
    """
    if not axis.chromosomes:
        ax.set_xlabel("number of the column")
        return

    whole_width = axis.chromosomes[-1].end
    middles = []
    names = []
    for chromosome in axis.chromosomes:
        width = chromosome.end - chromosome.begin
        if width >= NARROWEST_LABELLED * whole_width:
            middles.append((chromosome.begin + chromosome.end) / 2)
            names.append(chromosome.name)
    ax.set_xticks(middles)
    ax.set_xticklabels(names, fontsize="small")
    ax.set_xlabel("chromosome")
