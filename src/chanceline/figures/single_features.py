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
    """Where features stand on the axis: by the numbers of their columns, or variants by chromosome
    and position, one chromosome behind the other in the order of the file.
    """
    if variants is None:
        return FeatureAxis(np.arange(n_features, dtype=np.float64), ())
    names = list(dict.fromkeys(variants.chromosomes))  # each once
    number_of_name = {name: number for number, name in enumerate(names)}
    chromosome_of_feature = np.array([number_of_name[name] for name in variants.chromosomes])

    # Positions are counted on each chromosome: move them, so that it begins where the last ends.
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
    """Draw a Manhattan plot: −log₁₀ p of every feature alone, and the threshold of Bonferroni.

    Parameters
    ----------
    ax : the axes to draw on.
    pvalues : (features,), NaN for features that do not vary.
    axis : where the features stand.
    names : of the features.
    named : the numbers of those that the result names.
    """
    heights = -np.log10(np.clip(pvalues, SMALLEST_PVALUE, 1.0))
    heights = np.nan_to_num(heights, nan=0.0)

    # Stretches of the axis in turning colours: chromosomes, or one for all features.
    stretches = axis.chromosomes or [Chromosome("", 0.0, float(axis.places.max()) + 1)]
    whole_width = stretches[-1].end
    strip_width = whole_width / N_STRIPS
    for number, stretch in enumerate(stretches):
        inside = np.flatnonzero((axis.places >= stretch.begin) & (axis.places < stretch.end))
        colour = CHROMOSOME_COLOURS[number % len(CHROMOSOME_COLOURS)]
        _draw_stretch(ax, axis.places[inside], heights[inside], strip_width, colour)
    _mark_named(ax, axis.places, heights, names, named)

    threshold = _draw_threshold(ax, n_tested=int(np.count_nonzero(~np.isnan(pvalues))))
    ax.set_xlim(-0.01 * whole_width, 1.01 * whole_width)
    ax.set_ylim(bottom=0.0, top=1.12 * max(threshold, float(heights.max(initial=0.0))))
    ax.set_ylabel("−log₁₀ p of the feature alone")
    _label_axis(ax, axis)


def _draw_threshold(ax: Axes, n_tested: int) -> float:
    """Draw the line of Bonferroni's level for so many features; return its height, −log₁₀ p."""
    n_tests = max(1, n_tested)
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
    """Draw the features of one stretch of the axis, which is cut into narrow strips.

    The highest features of a strip are points. The others would hide each other: a bar from 0 to
    the highest of them stands for all.

    Parameters
    ----------
    places, heights : (features,) of the features in the stretch.
    strip_width : in units of the axis.
    """
    if len(places) == 0:
        return
    strip_of_feature = places // strip_width
    # Sort by strip, and in each strip the highest first: the last key of `lexsort` is the main one.
    order = np.lexsort((-heights, strip_of_feature))
    sorted_strips = strip_of_feature[order]
    _, first_of_strip, n_in_strip = np.unique(sorted_strips, return_index=True, return_counts=True)
    # How many features of its strip are higher, for each feature in that order.
    n_higher = np.arange(len(order)) - np.repeat(first_of_strip, n_in_strip)

    points = order[n_higher < POINTS_OF_STRIP]
    highest_without_point = order[n_higher == POINTS_OF_STRIP]  # one of a strip at most
    middles = (strip_of_feature[highest_without_point] + 0.5) * strip_width
    tops = heights[highest_without_point]
    ax.vlines(middles, 0.0, tops, color=colour, linewidth=1.2, alpha=0.6)
    ax.plot(places[points], heights[points], "o", color=colour, markersize=2.2)


def _mark_named(
    ax: Axes, places: Floats, heights: Floats, names: Sequence[str], named: Sequence[int]
) -> None:
    """Mark the features with the numbers `named`, and write names at the highest of them.

    `places`, `heights` and `names` are those of all features.
    """
    if not named:
        return
    columns: Ints = np.array(named, dtype=np.int64)
    ax.plot(places[columns], heights[columns], "o", color=NAMED_COLOUR, markersize=5, zorder=5)
    highest_first = columns[np.argsort(-heights[columns], kind="stable")]
    for column in highest_first[:MOST_NAMED].tolist():
        ax.annotate(
            names[column],
            (places[column], heights[column]),
            xytext=(4, 3),
            textcoords="offset points",
            fontsize="small",
        )


def _label_axis(ax: Axes, axis: FeatureAxis) -> None:
    """Names of chromosomes below their middle, or numbers of columns."""
    if not axis.chromosomes:
        ax.set_xlabel("number of the column")
        return
    whole_width = axis.chromosomes[-1].end
    labelled = [
        chromosome
        for chromosome in axis.chromosomes
        if chromosome.end - chromosome.begin >= NARROWEST_LABELLED * whole_width
    ]
    ax.set_xticks([(chromosome.begin + chromosome.end) / 2 for chromosome in labelled])
    ax.set_xticklabels([chromosome.name for chromosome in labelled], fontsize="small")
    ax.set_xlabel("chromosome")
