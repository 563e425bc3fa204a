"""The exact probability that one support separates Gaussian noise with given class sizes by a rule with threshold.

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
from scipy.optimize import brentq
from scipy.special import log_ndtr, logsumexp, wofz

from chanceline.chance.counts import log_binomial

_LOG_2PI = float(np.log(2 * np.pi))
# Terms this much smaller than the largest are left out.
_NEGLIGIBLE = 40.0


@lru_cache(maxsize=100_000)
def log_share(positives: int, negatives: int) -> float:
    """ln β(i, j), by the trapezoidal rule on the contour Re z = s, stretched for its slow decay at small n."""
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
    return -n * float(np.log(2.0)) + 0.5 * (_LOG_2PI + float(np.log(n))) + density


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
    log_low, log_high = log_ndtr(b), log_ndtr(-b)
    weights = (positives - i)[:, None] * log_low + (negatives - j)[:, None] * log_high - 0.5 * active * b**2
    outer = logsumexp(weights, axis=1) + np.log(b[1] - b[0]) + 0.5 * (np.log(active) - _LOG_2PI)
    terms = outer + log_binomial(positives, i) + log_binomial(negatives, j)
    counts = terms - active * np.log(2.0)
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
    return min(0.0, float(np.log(2.0)) + float(logsumexp(terms)))


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
