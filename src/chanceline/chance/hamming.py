"""Labellings within e flips of another: the Hamming ball, and its part with a given class size."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp

from chanceline.chance.binomial import LOG2, log_binomial


def log_hamming_ball(n_points: int, errors: int) -> float:
    """ln Σ_{j≤e} C(P, j): the labellings within e flips of a given one."""
    flips = np.arange(min(errors, n_points) + 1)
    return min(float(logsumexp(log_binomial(n_points, flips))), n_points * LOG2)


def log_neighbours(
    n_points: int, positives: int, errors: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """How many labellings with n₊ positives lie within e flips of one labelling with k positives.

    Flipping a of the k positives and b of the P − k negatives gives n₊ = k − a + b, so that

        w_k = Σ_{b} C(k, b + k − n₊) C(P − k, b),   0 ≤ 2b + k − n₊ ≤ e.

    Returns
    -------
    k : (class_sizes,)
        The class sizes from which n₊ can be reached.
    log_w : (class_sizes,)
        ln w_k.
    """
    k = np.arange(max(0, positives - errors), min(n_points, positives + errors) + 1)
    b = np.arange(errors + 1)
    negatives = n_points - k

    # Rows are class sizes k, columns are b: shape (class_sizes, errors + 1).
    a = (k - positives)[:, None] + b[None, :]
    allowed = (a >= 0) & (a + b <= errors) & (a <= k[:, None]) & (b <= negatives[:, None])
    a = np.where(allowed, a, 0)
    b_allowed = np.where(allowed, b[None, :], 0)

    # ln C(k, a) + ln C(P − k, b) from one table of log-factorials.
    log_factorial = gammaln(np.arange(n_points + 2, dtype=float) + 1.0)
    terms = (
        log_factorial[k][:, None]
        - log_factorial[a]
        - log_factorial[k[:, None] - a]
        + log_factorial[negatives][:, None]
        - log_factorial[b_allowed]
        - log_factorial[negatives[:, None] - b_allowed]
    )
    return k, logsumexp(np.where(allowed, terms, -np.inf), axis=1)
