"""Logarithms of exact counts: how many labellings a linear rule can realise, stable to P, N = 10⁶.

All logarithms are natural. A labelling y ∈ {±1}^P of the points x_1 … x_P is *strictly separable* by a
support of M features when y_μ (w·x_μ + b) > 0 for all μ with some w on the support (and some b with an
intercept, b = 0 without). With an intercept the rule is homogeneous in dimension d = M + 1, without in d =
M.

Then the exact probability that one support separates Gaussian noise with given class sizes by a rule with threshold; and how far
the sum of a column over shuffled positives may go (`log_tail`).

A rule on M features with threshold separates the labels y exactly if no λ ≥ 0, λ ≠ 0 has Σ λ_i y_i x_i = 0 and Σ λ_i y_i = 0
(Gordan). For Gaussian x the first condition says that λ lies in a uniformly random subspace of codimension M, so that the
conic kinematic formula (Amelunxen, Lotz, McCoy and Tropp 2014) gives the probability from the intrinsic volumes v_k of the
cone C = {λ ≥ 0, Σ λ_i y_i = 0}:

    P_sep(M) = 2(v_{M−1} + v_{M−3} + …).

v_k is the probability that the projection of a standard Gaussian g onto C lies in a face of dimension k. That projection is
λ_i = (g_i − b y_i)₊ with b such that it obeys the constraint: k = n − 1 for n active components, i of them positive and j
negative, and on the active ones λ and b are independent. Hence, with Φ the normal distribution function,

    v_{n−1} = Σ_{i+j=n} C(n₊, i) C(n₋, j) β(i, j) ∫ db N(b; 0, 1/n) Φ(b)^{n₊−i} Φ(−b)^{n₋−j},      v_0 = 1/C(P, n₊),

where β(i, j) is the share of the hyperplane Σ λ_i y_i = 0 that has λ > 0: 2^{−n}√(2πn) times the density at 0 of a sum of i
halves of Gaussians less j of them, an integral over their characteristic function on the contour through its saddle point.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, gammaln, log_ndtr, logsumexp, wofz

LOG2 = float(np.log(2.0))
_LOG_2PI = float(np.log(2 * np.pi))
# Probabilities this much smaller (in ln) than the largest are left out.
_NEGLIGIBLE = 40.0
# Of the tail of one column: μ beyond the logits' own range, bisections for it, and standard deviations of K on a circle.
_FAR, _BISECTIONS, _AROUND = 50.0, 25, 20
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


def log_neighbours(n_points: int, positives: int, errors: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Class sizes k and ln w_k: the labellings with n₊ positives within e flips of one labelling with k
    positives.

    Flipping a of the k positives and b of the P − k negatives gives n₊ = k − a + b, so that

        w_k = Σ_{b} C(k, b + k − n₊) C(P − k, b),   0 ≤ 2b + k − n₊ ≤ e.
    """
    k = np.arange(max(0, positives - errors), min(n_points, positives + errors) + 1)
    b = np.arange(errors + 1)
    a = (k - positives)[:, None] + b[None, :]
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


# Gaussian noise.


@lru_cache(maxsize=100_000)
def log_share(positives: int, negatives: int) -> float:
    """ln β(i, j), by the trapezoidal rule on the contour Re z = s, stretched for its slow decay at small n."""
    from scipy.optimize import brentq

    i, j = positives, negatives

    def slope(s: float) -> float:
        # d/ds ln E e^{s|g|}, E e^{s|g|} = 2e^{s²/2}Φ(s)
        return s + float(np.exp(-0.5 * s * s - 0.5 * _LOG_2PI - log_ndtr(s)))

    reach = 2.0 * max(i, j)
    s = float(brentq(lambda s: i * slope(s) - j * slope(-s), -reach, reach))
    t = np.linspace(-30.0, 30.0, 1201) if i + j < 12 else np.linspace(-4.0, 4.0, 321)
    width = 2.0 / np.sqrt(i + j)
    z = s + 1j * width * np.sinh(t)
    # E e^{z|g|} = w(−iz/√2), the Faddeeva function.
    exponent = i * np.log(wofz(-1j * z / np.sqrt(2))) + j * np.log(wofz(1j * z / np.sqrt(2))) + np.log(width * np.cosh(t))
    top = float(exponent.real.max())
    density = float(np.log(np.exp(exponent - top).sum().real * (t[1] - t[0]))) + top - _LOG_2PI
    n = i + j
    return -n * LOG2 + 0.5 * (_LOG_2PI + float(np.log(n))) + density


def log_volume(n_samples: int, positives: int, active: int) -> float:
    """ln v_{n−1} for n active components (n = 1 stands for v_0)."""
    if active == 1:
        return -float(log_binomial(n_samples, positives))
    negatives = n_samples - positives
    i = np.arange(max(1, active - negatives), min(positives, active - 1) + 1)
    if len(i) == 0:
        return -np.inf
    j = active - i
    # ∫db on a grid that holds the peak of every term.
    b = np.linspace(-1.0, 1.0, 801) * min(12.0, 40.0 / np.sqrt(active))
    weights = (positives - i)[:, None] * log_ndtr(b) + (negatives - j)[:, None] * log_ndtr(-b) - 0.5 * active * b**2
    outer = logsumexp(weights, axis=1) + np.log(b[1] - b[0]) + 0.5 * (np.log(active) - _LOG_2PI)
    terms = outer + log_binomial(positives, i) + log_binomial(negatives, j)
    counts = terms - active * LOG2
    near = counts >= counts.max() - 3 * _NEGLIGIBLE
    return float(logsumexp([terms[k] + log_share(int(i[k]), int(j[k])) for k in np.flatnonzero(near)]))


def log_separable(n_samples: int, positives: int, n_selected: int) -> float:
    """ln P_sep(M) with a threshold; 0 from M = P − 1 on."""
    if n_selected >= n_samples - 1 or positives in (0, n_samples):
        return 0.0
    if n_selected == 0:
        return -np.inf
    terms: list[float] = []
    for active in range(n_selected, 0, -2):
        terms.append(log_volume(n_samples, positives, active))
        if terms[-1] < max(terms) - _NEGLIGIBLE:
            break
    return min(0.0, LOG2 + float(logsumexp(terms)))


def log_expected_supports(n_samples: int, n_features: int, positives: int, n_selected: int, errors: int) -> float:
    """ln of the expected number of (support of M features, set of e errors) pairs that separate the rest, with a threshold."""
    negatives = n_samples - positives
    first = np.arange(max(0, errors - negatives), min(errors, positives) + 1)
    terms = [
        float(log_binomial(positives, a) + log_binomial(negatives, errors - a))
        + log_separable(n_samples - errors, positives - int(a), n_selected)
        for a in first
    ]
    return float(log_binomial(n_features, n_selected)) + float(logsumexp(terms))


def log_tail(
    column: NDArray[np.float64], labels: NDArray[np.bool_], starts: NDArray[np.int64], slope: float, *, exact: bool = True
) -> float:
    """ln of E e^{h(S − s)} ≥ P(S ≥ s) for h > 0, P(S ≤ s) for h < 0: S the sum of a column over shuffled positives, s as it is.

    Within a block of P units the n₊ positives are a random subset, and S has the moment generating function
    e_{n₊}(e^{h a_1}, …, e^{h a_P})/C(P, n₊), e_m the elementary symmetric polynomial. With any μ, η_i = μ + h a_i, and K the sum
    of independent Bernoulli variables of probabilities 1/(1 + e^{−η_i}),

        E e^{hS} = e^{−μ n₊} Π_i (1 + e^{η_i}) · P(K = n₊)/C(P, n₊)

    is an identity (the generating function of e_m, read as probabilities). So Markov's inequality says

        ln p ≤ −ℓ(μ, h) + Σ_blocks [ln P(K = n₊) − ln C(P, n₊)],

    ℓ the log-likelihood of the logistic regression of the labels on a, with a μ for every block. Each (μ, h) gives a bound, and
    nothing hangs on how well ℓ is maximised. That the positives are drawn without replacement is taken into account in full;
    drawing with replacement, which dominates (Hoeffding 1963, theorem 4), would halve ln p where the classes are equal.

    Blocks begin at `starts`. Without `exact`, P(K = n₊) is that of a normal distribution: good enough to find h.
    """
    values, sizes = slope * column, np.diff(starts, append=len(column))
    positives = np.add.reduceat(labels, starts, dtype=np.int64)
    # The μ at which K is n₊ on average, by bisection: beyond these ends K would be nothing or all.
    low, high = -np.maximum.reduceat(values, starts) - _FAR, _FAR - np.minimum.reduceat(values, starts)
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        few = np.add.reduceat(expit(np.repeat(middle, sizes) + values), starts) < positives
        low, high = np.where(few, middle, low), np.where(few, high, middle)
    logits = np.repeat(low, sizes) + values
    chances, rest = expit(logits), np.logaddexp(0, logits).sum() - logits[labels].sum() - log_binomial(sizes, positives).sum()
    if not exact:
        variances = np.add.reduceat(chances * (1 - chances), starts)
        return float(rest - np.log(np.maximum(2 * np.pi * variances, 1)).sum() / 2)
    sums = zip(np.split(chances, starts[1:]), positives.tolist(), strict=True)
    return float(rest + sum(np.log(chance_of_sum(*of_block)) for of_block in sums))


def chance_of_sum(chances: NDArray[np.float64], wanted: int) -> float:
    """P(K = k mod n) ≥ P(K = k) for a sum of Bernoulli variables, on a circle of n residues so wide that the two are equal to
    many digits; all terms are positive, so that rounding stays small.
    """
    residues = 1 + min(len(chances), _AROUND + int(_AROUND * np.sqrt(np.sum(chances * (1 - chances)))))
    row = np.eye(1, residues)[0]
    for chance in chances:
        moved = chance * row
        row -= moved
        row += np.append(moved[-1], moved[:-1])
    return float(row[wanted % residues])
