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
    """Sort scores, and count the errors of every threshold between them.

    A sample is called positive if its score is above the threshold. Threshold i has i samples below
    it. Errors are counted for thresholds between equal scores too, although there can be none: the
    caller has to leave these out.

    scores : (…, samples); every row is sorted by itself.
    labels : ±1, of the same shape, or (samples,) for all rows.
    """
    order = np.argsort(scores, axis=-1)
    sorted_scores = np.take_along_axis(scores, order, axis=-1)
    is_positive = np.broadcast_to(labels > 0, scores.shape)
    is_positive_when_sorted = np.take_along_axis(is_positive, order, axis=-1)

    # With threshold 0, below all scores, exactly the negative samples are wrong. When the threshold
    # moves up past a sample, a positive sample becomes wrong and a negative one correct.
    n_negative = np.count_nonzero(~is_positive_when_sorted, axis=-1, keepdims=True)
    change = np.where(is_positive_when_sorted, 1, -1)
    errors_of_higher_thresholds = n_negative + np.cumsum(change, axis=-1)  # of thresholds 1, 2, …
    errors = np.concatenate([n_negative, errors_of_higher_thresholds], axis=-1)
    return ThresholdSweep(sorted_scores=sorted_scores, errors=errors)
