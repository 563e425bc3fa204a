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
# Above this many errors the count per class size (quadratic in e) gives way to the larger plain Hamming ball.
EXACT_ERRORS = 1000


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


def log_coin(n_points: int, dimensions: NDArray[np.int64], errors: int) -> NDArray[np.float64]:
    """ln of the labellings, whatever their class sizes, within e errors of a rule in each of the dimensions.

    At most D(P, d) labellings are separable and each has Σ_{j≤e} C(P, j) neighbours.
    """
    curve = log_cover_curve(n_points, int(dimensions.max()))
    return np.minimum(curve[dimensions] + log_hamming_ball(n_points, errors), n_points * LOG2)


def log_neighbours(n_points: int, positives: int, errors: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Class sizes k and ln w_k: the labellings with n₊ positives within e flips of one labelling with k
    positives.

    Flipping a of the k positives and b of the P − k negatives gives n₊ = k − a + b, so that

        w_k = Σ_{b} C(k, b + k − n₊) C(P − k, b),   0 ≤ 2b + k − n₊ ≤ e.
    """
    k = np.arange(max(0, positives - errors), min(n_points, positives + errors) + 1)
    excess = k - positives
    b = np.arange(errors + 1)
    a = excess[:, None] + b[None, :]
    allowed = (a >= 0) & (a + b <= errors) & (a <= k[:, None]) & (b <= (n_points - k)[:, None])
    a = np.where(allowed, a, 0)
    log_factorial = gammaln(np.arange(n_points + 2, dtype=float) + 1.0)
    rest = n_points - k
    b_safe = np.where(allowed, b[None, :], 0)
    terms = (
        log_factorial[k][:, None] - log_factorial[a] - log_factorial[k[:, None] - a]
        + log_factorial[rest][:, None] - log_factorial[b_safe] - log_factorial[rest[:, None] - b_safe]
    )  # fmt: skip
    return k, logsumexp(np.where(allowed, terms, -np.inf), axis=1)


def log_fixed(
    n_points: int, positives: int, selected: NDArray[np.int64], errors: int, intercept: bool
) -> tuple[NDArray[np.float64], list[str]]:
    """ln of the labellings with n₊ positives within e errors of a rule on M features, for each M, and which
    form won.

    Let c_k be the number of separable labellings with k positives. A rule and its opposite (−w, −b)
    separate opposite labellings, with an intercept and without, so c_k = c_{P−k} and Σ_k c_k ≤ D(P, d). The
    wanted count is at most Σ_k c_k w_k (`log_neighbours`), hence at most

    * "cover": D(P, d) · max_k (w_k + w_{P−k})/2. Without errors this is D/2 if n₊ ≠ P/2 and D if n₊ = P/2:
      a labelling and its opposite cannot both have n₊ positives unless the classes are equal;
    * "threshold" (M = 1 with an intercept): Σ_k c_k w_k with c_k = 2 for 0 < k < P, the k largest or the k
      smallest values; fewer with ties. The two coincide with neither P/2 special: for n₊ = P/2 the two
      directions are two different labellings. The empty and the full set count once;
    * "planar k-sets" (M = 2 with an intercept): Σ_k c_k w_k with `log_planar_sets`.
    """
    shift = 1 if intercept else 0
    curve = log_cover_curve(n_points, int(selected.max()) + shift)[selected + shift]
    if errors > EXACT_ERRORS:
        return curve + log_hamming_ball(n_points, errors), ["cover"] * len(selected)
    k, log_w = log_neighbours(n_points, positives, errors)
    opposite = np.full(len(k), -np.inf)
    mirrored = n_points - k - k[0]
    present = (mirrored >= 0) & (mirrored < len(k))
    opposite[present] = log_w[mirrored[present]]
    counts = curve + float(np.max(np.logaddexp(log_w, opposite))) - LOG2
    forms = ["cover"] * len(selected)
    if intercept:
        sharper = (
            (1, "threshold", np.where((k == 0) | (k == n_points), 0.0, LOG2)),
            (2, "planar k-sets", log_planar_sets(n_points, k)),
        )
        for m, form, log_c in sharper:
            value = float(logsumexp(log_c + log_w))
            for position in np.flatnonzero(selected == m):
                # Where both counts are the same, rounding must not choose the name.
                if value < counts[position] - 1e-12 * abs(value):
                    counts[position], forms[position] = value, form
    return counts, forms
