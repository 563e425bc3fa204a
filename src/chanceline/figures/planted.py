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

    Parameters
    ----------
    ax : matplotlib axes.
    n_features : N, at which the lines are known.
    lines : noise → samples at every N, by theory.
    measured, alone : in simulated tables, where unrelated sets stop doing as well, and where the
        true set is the only one.
    """
    colours = [COLOURS[name] for name in LINE_COLOURS]
    colour_of_noise = dict(zip(lines, colours, strict=False))
    for noise, colour in colour_of_noise.items():
        label = f"noise {noise:g}"
        if noise == 0:
            label = "no noise: the chance line"
        ax.plot(n_features, lines[noise], color=colour, label=label)
    _draw_points(ax, measured, colour_of_noise, MEASURED_MARKER)
    _draw_points(ax, alone, colour_of_noise, ALONE_MARKER)
    # Two entries for the legend that belong to no line.
    ax.plot([], [], MEASURED_MARKER, color="0.3", label="unrelated sets do worse (simulated)")
    ax.plot([], [], ALONE_MARKER, color="0.3", label="the true set is the only one (simulated)")
    ax.set(xscale="log", ylim=(0, None), xlabel="features $N$", ylabel="samples $P$")
    ax.legend(loc="upper left", fontsize=9)


def _draw_points(
    ax: Any, points: Iterable[MeasuredPoint], colour_of_noise: Mapping[float, str], marker: str
) -> None:
    """Points with error bars, in the colour of their noise."""
    for n_features, noise, count in points:
        ax.errorbar(
            n_features,
            count.samples,
            yerr=count.error,
            fmt=marker,
            color=colour_of_noise[noise],
            capsize=2,
        )
