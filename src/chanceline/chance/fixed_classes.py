"""Labellings with given class sizes that a linear rule on M features realises with ≤ e errors.

Let c_k be the number of separable labellings with k positives. A rule and its opposite (−w, −b)
separate opposite labellings, with an intercept and without, so c_k = c_{P−k} and Σ_k c_k ≤ D(P, d),
Cover's count. The wanted count is at most Σ_k c_k w_k, w_k of `hamming.log_neighbours`. Three
bounds on it are known, and the smallest is taken.
"""

from __future__ import annotations

from enum import StrEnum

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from chanceline.chance.binomial import LOG2
from chanceline.chance.cover import log_cover_curve
from chanceline.chance.hamming import log_hamming_ball, log_neighbours
from chanceline.chance.planar_sets import log_planar_sets

# Above this many errors the count per class size (quadratic in e) gives way to the plain Hamming
# ball, which is larger.
EXACT_ERRORS = 1000
# Two counts whose logarithms are closer than this (relatively) are the same, and rounding must not
# choose between their names.
_TIE_TOLERANCE = 1e-12


class CountForm(StrEnum):
    """Which bound on the number of labellings is the smallest."""

    COVER = "cover"
    THRESHOLD = "threshold"
    PLANAR_SETS = "planar k-sets"


def log_fixed_class_labellings(
    n_points: int, positives: int, selected: NDArray[np.int64], errors: int, intercept: bool
) -> tuple[NDArray[np.float64], list[CountForm]]:
    """ln of a bound on the labellings within e errors of a rule on M features, for each M.

    Only labellings with n₊ = `positives` positives count, unless there are very many errors.

    Parameters
    ----------
    n_points, positives, errors
        P, n₊ and e.
    selected : (sizes,)
        The numbers M of features.
    intercept
        Whether the rule has a free threshold.

    Returns
    -------
    log_counts : (sizes,)
        ln of the smallest bound for each M.
    forms
        Which bound that was, for each M.
    """
    # Cover's count D of all separable labellings, for every M.
    forms = [CountForm.COVER] * len(selected)
    dimensions = selected + int(intercept)
    log_separable = log_cover_curve(n_points, int(dimensions.max()))[dimensions]  # ln D, (sizes,)
    if errors > EXACT_ERRORS:
        # The count below would take too long. Instead all labellings within e flips of a separable
        # one are counted, whatever their number of positives.
        return log_separable + log_hamming_ball(n_points, errors), forms

    # With c_k separable labellings of k positives, and w_k labellings of n₊ positives within e
    # flips of such a one, at most Σ_k c_k w_k are counted. This is at most D times a factor.
    class_sizes, log_n_neighbours = log_neighbours(n_points, positives, errors)  # k and ln w_k
    log_factor = _log_largest_mean_pair(n_points, class_sizes, log_n_neighbours)
    log_counts = log_separable + log_factor
    if not intercept:
        return log_counts, forms

    # With an intercept c_k itself is known for M = 1 (thresholds on one feature), and has a bound
    # for M = 2 (points of a plane cut off by a line). There Σ_k c_k w_k may be smaller.
    log_c_of_thresholds = _log_threshold_sets(n_points, class_sizes)  # ln c_k, (class sizes,)
    log_c_of_half_planes = log_planar_sets(n_points, class_sizes)
    for size, form, log_c in [
        (1, CountForm.THRESHOLD, log_c_of_thresholds),
        (2, CountForm.PLANAR_SETS, log_c_of_half_planes),
    ]:
        log_count = float(logsumexp(log_c + log_n_neighbours))  # ln Σ_k c_k w_k
        for position in np.flatnonzero(selected == size):
            if _is_smaller(log_count, log_counts[position]):
                log_counts[position] = log_count
                forms[position] = form
    return log_counts, forms


def _is_smaller(log_count: float, other_log_count: float) -> bool:
    """Whether a logarithm of a count is smaller than another by more than rounding."""
    return log_count < other_log_count - _TIE_TOLERANCE * abs(log_count)


def _log_threshold_sets(n_points: int, k: NDArray[np.int64]) -> NDArray[np.float64]:
    """ln c_k of a threshold on one feature: the k largest or smallest values, fewer with ties.

    The empty and the full set are the same from both ends.
    """
    empty_or_full = (k == 0) | (k == n_points)
    return np.where(empty_or_full, 0.0, LOG2)


def _log_largest_mean_pair(
    n_points: int, class_sizes: NDArray[np.int64], log_w: NDArray[np.float64]
) -> float:
    """ln max_k (w_k + w_{P−k})/2, the factor on Cover's count D of separable labellings.

    Of P points, c_k is the number of separable labellings with k positives, Σ_k c_k ≤ D. w_k is the
    number of labellings with the wanted n₊ positives within e flips of one with k. The wanted count
    is at most Σ_k c_k w_k. A rule and its opposite separate opposite labellings, so that
    c_k = c_{P−k} and

        Σ_k c_k w_k = Σ_k c_k (w_k + w_{P−k})/2 ≤ D · max_k (w_k + w_{P−k})/2.

    Without errors w is 1 at k = n₊ alone: then the factor is 1/2 for unequal classes, as a
    labelling and its opposite cannot both have n₊ positives, and 1 for equal ones.

    Parameters
    ----------
    n_points
        P.
    class_sizes : (class_sizes,)
        Consecutive k; w is zero outside of them.
    log_w : (class_sizes,)
        ln w_k.
    """
    # w_{P−k} stands at index (P − k) − (first k) of log_w, if it is there at all.
    index_of_opposite = n_points - class_sizes - class_sizes[0]
    present = (index_of_opposite >= 0) & (index_of_opposite < len(class_sizes))
    log_w_opposite = np.full(len(class_sizes), -np.inf)
    log_w_opposite[present] = log_w[index_of_opposite[present]]
    return float(np.max(np.logaddexp(log_w, log_w_opposite))) - LOG2
