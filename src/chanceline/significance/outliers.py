"""Values far out are pulled in, column by column."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from chanceline._arrays import Floats

CLIP_DEVIATIONS = 3.0
# Median absolute deviation of a normal distribution, in standard deviations.
NORMAL_MEDIAN_DEVIATION = 0.6744897501960817


class OutlierLimits(NamedTuple):
    """The smallest and the largest value that columns keep: (columns,) each."""

    lowest: Floats
    highest: Floats


def clip_outliers(values: Floats) -> Floats:
    """Columns (samples, columns) pulled in at their `outlier_limits`."""
    limits = outlier_limits(values)
    return np.clip(values, limits.lowest, limits.highest)


def outlier_limits(values: Floats) -> OutlierLimits:
    """`CLIP_DEVIATIONS` robust standard deviations from the medians of columns.

    Columns of mostly one value, whose median deviation is zero, have none: −∞ and ∞.
    """
    medians = _medians(values)
    deviations = _medians(np.abs(values - medians)) / NORMAL_MEDIAN_DEVIATION
    reach = np.where(deviations > 0, CLIP_DEVIATIONS * deviations, np.inf)
    return OutlierLimits(medians - reach, medians + reach)


def _medians(values: Floats) -> Floats:
    """The median of every column, by a sort, which takes half the time of `np.median`."""
    ranked = np.sort(np.ascontiguousarray(values.T), axis=1)
    n_values = ranked.shape[1]
    # One value in the middle, or two.
    middle = ranked[:, (n_values - 1) // 2 : n_values // 2 + 1]
    medians: Floats = middle.mean(axis=1)
    return medians
