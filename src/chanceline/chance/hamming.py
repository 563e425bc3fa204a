"""Labellings within e flips of another: the Hamming ball, and its part with a given class size."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from chanceline.chance.binomial import LOG2, log_binomial


def log_hamming_ball(n_points: int, errors: int) -> float:
    """ln Σ_{j≤e} C(P, j): the labellings within e flips of a given one."""
    flips = np.arange(min(errors, n_points) + 1)
    return min(float(logsumexp(log_binomial(n_points, flips))), n_points * LOG2)


def log_neighbours(
    n_points: int, positives: int, errors: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Count the labellings with n₊ positives near a labelling with k positives, for every k.

    Labellings of P points are near each other if they differ in at most e labels. Flip a of the k
    positives and b of the P − k negatives. This leaves k − a + b positives, which is n₊ if
    a = b + k − n₊. So the number of labellings is

        w_k = Σ_b C(k, a) C(P − k, b)   over all b with a ≥ 0 and a + b ≤ e.

    Parameters
    ----------
    n_points, positives, errors
        P, n₊ and e.

    Returns
    -------
    class_sizes : (sizes,)
        All k from which n₊ can be reached by e flips, in ascending order.
    log_w : (sizes,)
        ln w_k for each of these k.
    """
    # A flip changes the number of positives by one, so k lies within `errors` of n₊.
    smallest_class = max(0, positives - errors)
    largest_class = min(n_points, positives + errors)
    class_sizes = np.arange(smallest_class, largest_class + 1)

    # Rows are class sizes k, columns are numbers of flipped negatives b.
    k = class_sizes[:, None]
    flipped_negatives = np.arange(errors + 1)[None, :]
    flipped_positives = flipped_negatives + k - positives
    n_flips = flipped_positives + flipped_negatives
    is_possible = (flipped_positives >= 0) & (n_flips <= errors)

    log_choices_of_positives = log_binomial(k, flipped_positives)
    log_choices_of_negatives = log_binomial(n_points - k, flipped_negatives)
    log_products = log_choices_of_positives + log_choices_of_negatives
    log_terms = np.where(is_possible, log_products, -np.inf)
    log_w = logsumexp(log_terms, axis=1)
    return class_sizes, log_w
