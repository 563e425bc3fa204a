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
    """Bound how many labellings of P points a linear rule on M features realises, for each M.

    A labelling gives each point one of two classes. It is realised if it differs from a separable
    one in at most e points, the errors. Only labellings with n₊ positives are counted. With

        c_k    the number of separable labellings with k positives,
        w_k    the number of labellings with n₊ positives that differ from a given labelling with k
               positives in at most e points,

    at most Σ_k c_k w_k labellings are realised. The w_k are computed, but the c_k are not known.
    There are three bounds on the sum, and the smallest is taken:

        COVER          any M                      D · max_k (w_k + w_{P−k})/2, where D ≥ Σ_k c_k is
                                                  Cover's count of all separable labellings
        THRESHOLD      M = 1 with an intercept    the sum with c_k ≤ 2: a threshold on one feature
                                                  cuts off the k largest or the k smallest values
        PLANAR_SETS    M = 2 with an intercept    the sum with a bound on c_k, the number of sets of
                                                  k points of a plane that a line can cut off

    With more than EXACT_ERRORS errors it would take too long to compute w_k. Then labellings with
    any number of positives are counted, and the bound is D · Σ_{j≤e} C(P, j), also called COVER.

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
        Natural logarithm of the smallest bound for each M.
    forms
        Which bound that was, for each M.
    """
    # Cover's count D for every M. The dimension of a rule is M, or M + 1 with an intercept.
    forms = [CountForm.COVER] * len(selected)
    dimensions = selected + int(intercept)
    log_cover_of_dimension = log_cover_curve(n_points, int(dimensions.max()))
    log_D = log_cover_of_dimension[dimensions]  # (sizes,)
    if errors > EXACT_ERRORS:
        return log_D + log_hamming_ball(n_points, errors), forms

    # The bound COVER: D times the largest mean of w_k and w_{P−k}.
    k, log_w = log_neighbours(n_points, positives, errors)  # both (class sizes,)
    log_largest_mean = _log_largest_mean_pair(n_points, k, log_w)
    log_counts = log_D + log_largest_mean
    if not intercept:
        return log_counts, forms

    # The bounds THRESHOLD for M = 1 and PLANAR_SETS for M = 2 replace COVER where they are smaller.
    log_c_of_thresholds = _log_threshold_sets(n_points, k)  # ln of the largest c_k, (class sizes,)
    log_c_of_lines = log_planar_sets(n_points, k)
    for n_selected, form, log_c in [
        (1, CountForm.THRESHOLD, log_c_of_thresholds),
        (2, CountForm.PLANAR_SETS, log_c_of_lines),
    ]:
        log_sum = float(logsumexp(log_c + log_w))  # ln Σ_k c_k w_k
        for index in np.flatnonzero(selected == n_selected):
            if _is_smaller(log_sum, log_counts[index]):
                log_counts[index] = log_sum
                forms[index] = form
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

    Without errors w_k is 1 for k = n₊ and 0 for all other k. Then the factor is 1/2 for unequal
    classes, because a labelling and its opposite cannot both have n₊ positives, and 1 for equal
    classes.

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
