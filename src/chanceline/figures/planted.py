"""Pictures of the planted line: samples at which the true features stand out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from chanceline.figures.style import COLOURS
from chanceline.significance.planted import SampleCount

# Colours of the palette for the lines, from no noise to much.
LINE_COLOURS = ("rs", "cover-gardner", "rsb", "union")
ALONE_MARKER = "^"
MEASURED_MARKER = "o"

# A measured point: number of features, noise, and samples with their error.
MeasuredPoint = tuple[int, float, SampleCount]


def draw_planted_lines(
    ax: Any,
    n_features: Sequence[int],
    lines: Mapping[float, Sequence[float]],
    measured: Iterable[MeasuredPoint],
    alone: Iterable[MeasuredPoint],
) -> None:
    """Draw the samples needed to find a planted rule against the number of features.

    A planted rule is one that made the labels of a simulated table, from a few true features and
    with some noise. It can be found if no set of unrelated features separates the classes as well.

    Parameters
    ----------
    ax : matplotlib axes.
    n_features : numbers N of features at which the lines are known.
    lines : noise → samples needed at every N, by theory.
    measured : points from simulated tables: where unrelated sets begin to do worse than the true
        set.
    alone : points from simulated tables: where the true set is the only one that does so well.
    """
    # A line for each noise, from theory.
    colours = [COLOURS[name] for name in LINE_COLOURS]
    colour_of_noise = dict(zip(lines, colours, strict=False))
    for noise, colour in colour_of_noise.items():
        label = f"noise {noise:g}"
        if noise == 0:
            label = "no noise: the chance line"
        ax.plot(n_features, lines[noise], color=colour, label=label)

    # Simulations, as points in the colours of the lines; for the legend their markers in grey.
    _draw_points(ax, points=measured, colour_of_noise=colour_of_noise, marker=MEASURED_MARKER)
    _draw_points(ax, points=alone, colour_of_noise=colour_of_noise, marker=ALONE_MARKER)
    ax.plot([], [], MEASURED_MARKER, color="0.3", label="unrelated sets do worse (simulated)")
    ax.plot([], [], ALONE_MARKER, color="0.3", label="the true set is the only one (simulated)")
    ax.set(xscale="log", ylim=(0, None), xlabel="features $N$", ylabel="samples $P$")
    ax.legend(loc="upper left", fontsize=9)


def _draw_points(
    ax: Any, points: Iterable[MeasuredPoint], colour_of_noise: Mapping[float, str], marker: str
) -> None:
    """Draw numbers of samples against numbers of features, with error bars.

    Parameters
    ----------
    ax : matplotlib axes.
    points : number of features, noise, and number of samples with its error.
    colour_of_noise : noise → colour of the points.
    marker : matplotlib's, for all points.
    """
    for n_features, noise, count in points:
        ax.errorbar(
            n_features,
            count.samples,
            yerr=count.error,
            fmt=marker,
            color=colour_of_noise[noise],
            capsize=2,
        )
