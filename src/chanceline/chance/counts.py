"""Logarithms of exact counts: how many labellings a linear rule can realise, stable to P, N = 10⁶.

All logarithms are natural. A labelling y ∈ {±1}^P of the points x_1 … x_P is *strictly separable* by a
support of M features when y_μ (w·x_μ + b) > 0 for all μ with some w on the support (and some b with an
intercept, b = 0 without). With an intercept the rule is homogeneous in dimension d = M + 1, without in d =
M.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, logsumexp

LOG2 = float(np.log(2.0))


def log_binomial(n: ArrayLike, k: ArrayLike) -> NDArray[np.float64]:
    """ln C(n, k) for 0 ≤ k ≤ n, and −∞ outside."""
    n, k = np.asarray(n, dtype=float), np.asarray(k, dtype=float)
    inside = (k >= 0) & (k <= n)
    k = np.where(inside, k, 0.0)
    value = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    # C(n, 0) = C(n, n) = 1 and C(n, 1) = n without the cancellation of large log-gammas.
    value = np.where((k == 0) | (k == n), 0.0, value)
    value = np.where((k == 1) | (k == n - 1), np.log(np.maximum(n, 1.0)), value)
    return np.where(inside, value, -np.inf)


def log_cover_curve(n_points: int, largest_dimension: int) -> NDArray[np.float64]:
    """ln D(P, d) for d = 0 … `largest_dimension`; see `log_cover`."""
    terms = log_binomial(n_points - 1, np.arange(min(largest_dimension, n_points)))
    curve = np.full(largest_dimension + 1, n_points * LOG2)
    curve[0] = -np.inf
    curve[1 : len(terms) + 1] = LOG2 + np.logaddexp.accumulate(terms)
    return np.minimum(curve, n_points * LOG2)


def log_cover(n_points: int, dimension: int) -> float:
    """ln D(P, d), D(P, d) = 2 Σ_{k<d} C(P−1, k): Cover's count (1965), a bound for *every* configuration.

    Proof by induction on P. Let s(Z) be the number of strictly separable labellings of the point set Z ⊂
    ℝ^d. Adding a point z ≠ 0, a labelling of Z extends in both ways exactly if it is separable by a
    hyperplane through z (tilt it either way), that is, if it is separable after projecting Z along z into d
    − 1 dimensions; otherwise in one way. So s(Z ∪ z) = s(Z) + s(proj Z) ≤ D(P, d) + D(P, d−1) = D(P+1, d)
    by Pascal's rule. A point z = 0 is never strictly on a side, and s drops to 0. Equality holds in general
    position; ties, duplicates and dependence only lower s.
    """
    return float(log_cover_curve(n_points, dimension)[dimension])


def log_hamming_ball(n_points: int, errors: int) -> float:
    """ln Σ_{j≤e} C(P, j): the labellings within e flips of a given one."""
    return min(float(logsumexp(log_binomial(n_points, np.arange(min(errors, n_points) + 1)))), n_points * LOG2)


def log_planar_sets(n_points: int, size: ArrayLike) -> NDArray[np.float64]:
    """ln of an upper bound on the k-sets of P points of the plane: subsets of size k that a line cuts off.

    For k < P/2 the k-sets are as many as the edges {p, q} whose line leaves k − 1 points on one side. The
    graph of these edges, with degrees δ_p, obeys (Andrzejak, Aronov, Har-Peled, Seidel, Welzl 1998,
    "Results on k-sets and j-facets via continuous motion")::

        crossings + Σ_p C(δ_p/2, 2) = number of edges with fewer than k − 1 points on a side ≤ P (k − 1),

    the inequality being that of Alon and Győri (1986). By convexity the sum is at least P·C(c/P, 2) with c
    edges, hence c ≤ P (1 + √(1 + 8(k−1)))/2. For k = P/2 the identity reads crossings + Σ_p C((δ_p+1)/2, 2)
    = C(P/2, 2), each edge gives two sets, and c ≤ P √(P − 1). Sets of size k and P − k are complements.
    Strict separability is an open condition, so moving the points slightly into general position loses
    none: the bound holds with ties too.
    """
    size = np.asarray(size, dtype=float)
    small = np.minimum(size, n_points - size)
    below_half = 0.5 * n_points * (1 + np.sqrt(1 + 8 * np.maximum(small - 1, 0.0)))
    bound = np.where(2 * small == n_points, n_points * np.sqrt(max(n_points - 1.0, 1.0)), below_half)
    # Counts are whole numbers; the empty and the full set are one each.
    return np.where(small == 0, 0.0, np.log(np.maximum(np.floor(bound + 1e-9 * bound), 1.0)))
