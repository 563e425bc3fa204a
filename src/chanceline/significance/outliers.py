"""Values far out are pulled in, column by column."""

from __future__ import annotations

import numpy as np

from chanceline._arrays import Floats

CLIP_DEVIATIONS = 3.0
# Median absolute deviation of a normal distribution, in standard deviations.
NORMAL_MEDIAN_DEVIATION = 0.6744897501960817


def clip_outliers(values: Floats) -> Floats:
    """Columns pulled in at `CLIP_DEVIATIONS` robust standard deviations from their medians.

    Columns of mostly one value, whose median deviation is zero, stay as they are.
    """
    medians = _medians(values)
    deviations = _medians(np.abs(values - medians)) / NORMAL_MEDIAN_DEVIATION
    reach = np.where(deviations > 0, CLIP_DEVIATIONS * deviations, np.inf)
    return np.clip(values, medians - reach, medians + reach)


def _medians(values: Floats) -> Floats:
    """The median of every column, by a sort, which takes half the time of `np.median`."""
    ranked = np.sort(np.ascontiguousarray(values.T), axis=1)
    n_values = ranked.shape[1]
    # One value in the middle, or two.
    middle = ranked[:, (n_values - 1) // 2 : n_values // 2 + 1]
    medians: Floats = middle.mean(axis=1)
    return medians
