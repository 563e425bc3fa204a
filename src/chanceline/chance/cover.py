"""Cover's count: how many labellings of P points a linear rule in d dimensions can realise at most.

A labelling y ∈ {±1}^P of the points x_1 … x_P is *strictly separable* by a support of M features
when y_μ (w·x_μ + b) > 0 for all μ with some w on the support (and some b with an intercept, b = 0
without). With an intercept the rule is homogeneous in dimension d = M + 1, without in d = M.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from chanceline.chance.binomial import LOG2, log_binomial


def log_cover_curve(n_points: int, largest_dimension: int) -> NDArray[np.float64]:
    """ln D(P, d) of `log_cover` for d = 0 … `largest_dimension`, (largest_dimension + 1,).

    D(P, d) = 2 Σ_{k<d} C(P−1, k) is Cover's count of the separable labellings of P points.
    """
    log_all_labellings = n_points * LOG2
    log_terms = log_binomial(n_points - 1, np.arange(min(largest_dimension, n_points)))

    # D(P, 0) = 0; from d = P on every labelling is separable.
    curve = np.full(largest_dimension + 1, log_all_labellings)
    curve[0] = -np.inf
    curve[1 : len(log_terms) + 1] = LOG2 + np.logaddexp.accumulate(log_terms)
    return np.minimum(curve, log_all_labellings)  # rounding may put the sum slightly above


def log_cover(n_points: int, dimension: int) -> float:
    """ln D(P, d), D(P, d) = 2 Σ_{k<d} C(P−1, k): Cover's count (1965).

    It bounds the separable labellings of *every* configuration of points.

    Proof by induction on P. Let s(Z) be the number of strictly separable labellings of the point
    set Z ⊂ ℝ^d. Adding a point z ≠ 0, a labelling of Z extends in both ways exactly if it is
    separable by a hyperplane through z (tilt it either way), that is, if it is separable after
    projecting Z along z into d − 1 dimensions; otherwise in one way. So s(Z ∪ z) = s(Z) + s(proj Z)
    ≤ D(P, d) + D(P, d−1) = D(P+1, d) by Pascal's rule. A point z = 0 is never strictly on a side,
    and s drops to 0. Equality holds in general position; ties, duplicates and dependence only lower
    s.
    """
    return float(log_cover_curve(n_points, dimension)[dimension])
