"""Errors of every threshold on a line of scores."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from chanceline._arrays import Floats


class ThresholdSweep(NamedTuple):
    """The errors of "positive if the score is above the threshold", for all thresholds.

    Threshold i has i samples below it: it lies between the sorted scores i − 1 and i.

    Attributes
    ----------
    sorted_scores : (…, samples) ascending.
    errors : (…, samples + 1) of threshold 0, 1, …; whether the scores on both sides of a threshold
        differ is not looked at.
    """

    sorted_scores: Floats
    errors: NDArray[np.int64]


def sweep_thresholds(scores: Floats, labels: Floats) -> ThresholdSweep:
    """Sort scores, (…, samples), and count the errors of every threshold.

    A sample is called positive if its score is above the threshold. The labels are ±1 and have the
    same shape, or that of one row for all. Errors are counted between equal scores too, where no
    threshold lies: the caller has to leave these out.
    """
    order = np.argsort(scores, axis=-1)
    sorted_scores = np.take_along_axis(scores, order, axis=-1)
    is_positive = np.take_along_axis(np.broadcast_to(labels > 0, scores.shape), order, axis=-1)

    # Below all scores every negative sample is wrong. A sample that the threshold passes becomes
    # wrong if it is positive, and right if it is negative.
    n_negative = np.count_nonzero(~is_positive, axis=-1, keepdims=True)
    change = np.where(is_positive, 1, -1)
    errors_after_first = n_negative + np.cumsum(change, axis=-1)
    errors = np.concatenate([n_negative, errors_after_first], axis=-1)
    return ThresholdSweep(sorted_scores=sorted_scores, errors=errors)
