"""The exact probability that one support separates Gaussian noise with given class sizes.

A rule on M features with threshold separates the labels y exactly if no λ ≥ 0, λ ≠ 0 has Σ λ_i y_i
x_i = 0 and Σ λ_i y_i = 0 (Gordan). For Gaussian x the first condition says that λ lies in a
uniformly random subspace of codimension M, so that the conic kinematic formula (Amelunxen, Lotz,
McCoy and Tropp 2014) gives the probability from the intrinsic volumes v_k of the cone C = {λ ≥ 0, Σ
λ_i y_i = 0}:

    P_sep(M) = 2(v_{M−1} + v_{M−3} + …).

v_k is the probability that the projection of a standard Gaussian g onto C lies in a face of
dimension k. That projection is λ_i = (g_i − b y_i)₊ with b such that it obeys the constraint: k = n
− 1 for n active components, i of them positive and j negative, and on the active ones λ and b are
independent. Hence, with Φ the normal distribution function,

    v_{n−1} = Σ_{i+j=n} C(n₊, i) C(n₋, j) β(i, j) ∫ db N(b; 0, 1/n) Φ(b)^{n₊−i} Φ(−b)^{n₋−j},
    v_0 = 1/C(P, n₊),

where β(i, j) is the share of the hyperplane Σ λ_i y_i = 0 that has λ > 0: 2^{−n}√(2πn) times the
density at 0 of a sum of i halves of Gaussians less j of them, an integral over their characteristic
function on the contour through its saddle point.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_ndtr, logsumexp, wofz

from chanceline.chance.binomial import LOG2, log_binomial

_LOG_2PI = float(np.log(2 * np.pi))
# Probabilities this much smaller (in ln) than the largest are left out of a sum.
_NEGLIGIBLE = 40.0
# From this many halves of Gaussians on their characteristic function decays fast, and a short
# contour will do.
_FAST_DECAY = 12
# Nodes of the trapezoidal rule along the contour, in the stretched variable t.
_LONG_CONTOUR = np.linspace(-30.0, 30.0, 1201)
_SHORT_CONTOUR = np.linspace(-4.0, 4.0, 321)
# The integral over b ends at the smaller of these: in units of 1, and of b's standard deviation
# 1/√n.
_LARGEST_B = 12.0
_LARGEST_B_IN_SD = 40.0
_N_B = 801  # nodes of that integral


@lru_cache(maxsize=100_000)
def log_cone_share(positives: int, negatives: int) -> float:
    """ln β(i, j), by the trapezoidal rule on a contour that is stretched for slow decay at small n.

    With i = `positives`, j = `negatives` and n = i + j the density at 0 of |g₁| + … + |g_i| −
    |g_{i+1}| − … is ∫dz/(2πi) [E e^{z|g|}]^i [E e^{−z|g|}]^j. The contour is z = s +
    i·width·sinh(t) through the saddle s.
    """
    i = positives
    j = negatives
    n = i + j
    saddle = _saddle(i, j)
    t = _LONG_CONTOUR if n < _FAST_DECAY else _SHORT_CONTOUR
    width = 2.0 / np.sqrt(n)
    z = saddle + 1j * width * np.sinh(t)

    # E e^{z|g|} = w(−iz/√2), the Faddeeva function; the last term is the Jacobian dz/dt.
    exponent = (
        i * np.log(wofz(-1j * z / np.sqrt(2)))
        + j * np.log(wofz(1j * z / np.sqrt(2)))
        + np.log(width * np.cosh(t))
    )
    top = float(exponent.real.max())
    integral = np.exp(exponent - top).sum().real * (t[1] - t[0])
    log_density = float(np.log(integral)) + top - _LOG_2PI
    return -n * LOG2 + 0.5 * (_LOG_2PI + float(np.log(n))) + log_density


def _saddle(i: int, j: int) -> float:
    """The s at which i ln E e^{s|g|} + j ln E e^{−s|g|} is smallest."""

    def slope(s: float) -> float:
        # d/ds ln E e^{s|g|}, E e^{s|g|} = 2e^{s²/2}Φ(s)
        return s + float(np.exp(-0.5 * s * s - 0.5 * _LOG_2PI - log_ndtr(s)))

    reach = 2.0 * max(i, j)
    return float(brentq(lambda s: i * slope(s) - j * slope(-s), -reach, reach))


def log_intrinsic_volume(n_samples: int, positives: int, active: int) -> float:
    """ln v_{n−1}, the intrinsic volume with n = `active` components (n = 1 stands for v_0)."""
    if active == 1:
        return -float(log_binomial(n_samples, positives))
    negatives = n_samples - positives
    i = np.arange(max(1, active - negatives), min(positives, active - 1) + 1)
    if len(i) == 0:
        return -np.inf
    j = active - i

    # ∫db on a grid that holds the peak of every term; rows are the splits i + j = n, columns the
    # nodes b.
    b = np.linspace(-1.0, 1.0, _N_B) * min(_LARGEST_B, _LARGEST_B_IN_SD / np.sqrt(active))
    log_integrand = (
        (positives - i)[:, None] * log_ndtr(b)
        + (negatives - j)[:, None] * log_ndtr(-b)
        - 0.5 * active * b**2
    )
    log_norm = 0.5 * (np.log(active) - _LOG_2PI)
    log_integral = logsumexp(log_integrand, axis=1) + np.log(b[1] - b[0]) + log_norm
    log_terms = log_integral + log_binomial(positives, i) + log_binomial(negatives, j)

    # β(i, j) is the costly factor: only for splits that can matter. 2^{−n} is its size without the
    # density.
    sizes = log_terms - active * LOG2
    relevant = np.flatnonzero(sizes >= sizes.max() - 3 * _NEGLIGIBLE)
    return float(logsumexp([log_terms[k] + log_cone_share(int(i[k]), int(j[k])) for k in relevant]))


def log_separable(n_samples: int, positives: int, n_selected: int) -> float:
    """ln P_sep(M): M features and a threshold separate with this probability."""
    if n_selected >= n_samples - 1 or positives in (0, n_samples):
        return 0.0
    if n_selected == 0:
        return -np.inf

    # v_{M−1} + v_{M−3} + …, until the terms no longer count.
    log_terms: list[float] = []
    for active in range(n_selected, 0, -2):
        log_terms.append(log_intrinsic_volume(n_samples, positives, active))
        if log_terms[-1] < max(log_terms) - _NEGLIGIBLE:
            break
    return min(0.0, LOG2 + float(logsumexp(log_terms)))


def log_expected_supports(
    n_samples: int, n_features: int, positives: int, n_selected: int, errors: int
) -> float:
    """ln of the expected number of pairs (support, set of errors) that separate the other samples.

    Supports have M features and the rule a threshold; e errors are made. The sum runs over how many
    of the errors are positive samples.
    """
    negatives = n_samples - positives
    log_terms = []
    for wrong_positives in range(max(0, errors - negatives), min(errors, positives) + 1):
        log_error_sets = float(
            log_binomial(positives, wrong_positives)
            + log_binomial(negatives, errors - wrong_positives)
        )
        log_probability = log_separable(n_samples - errors, positives - wrong_positives, n_selected)
        log_terms.append(log_error_sets + log_probability)
    return float(log_binomial(n_features, n_selected)) + float(logsumexp(log_terms))
