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

where β(i, j) is the share of the hyperplane Σ λ_i y_i = 0 that has λ > 0 (`log_cone_share`).
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import log_ndtr, logsumexp, wofz

from chanceline.chance.binomial import LOG2, log_binomial

_LOG_2PI = float(np.log(2 * np.pi))
# Probabilities this much smaller (in ln) than the largest are left out of a sum.
_NEGLIGIBLE = 40.0
# The same before the factor β is known, which varies between the splits of one sum. There is no
# proof that this is enough; in ten cases tried, 5 to 150 positives of 300 to 5000 samples, keeping
# all splits gave the same to the last digit.
_NEGLIGIBLE_BEFORE_SHARE = 120.0
# From this many halves of Gaussians on their characteristic function decays fast, and a short
# contour will do.
_FAST_DECAY = 12
# Nodes of the trapezoidal rule along the contour: values of t, which stretches it.
_T_OF_LONG_CONTOUR = np.linspace(-30.0, 30.0, 1201)
_T_OF_SHORT_CONTOUR = np.linspace(-4.0, 4.0, 321)
# The integral over b ends at the smaller of these: in units of 1, and of b's standard deviation
# 1/√n.
_LARGEST_B = 12.0
_LARGEST_B_IN_SD = 40.0
_N_NODES = 801  # of that integral


@lru_cache(maxsize=100_000)
def log_cone_share(positives: int, negatives: int) -> float:
    """ln β: the share of the hyperplane Σ_positives λ = Σ_negatives λ in which every λ is positive.

    All n of independent Gaussians are positive with probability 2^{−n}, and then half-normal
    variables |g|. With f the density of

        |g₁| + … + |g_positives| − |g_{positives+1}| − … − |g_n|,

    β = 2^{−n} √(2πn) f(0).
    """
    n = positives + negatives
    log_density = _log_density_of_balance(positives, negatives)
    return -n * LOG2 + 0.5 * (_LOG_2PI + float(np.log(n))) + log_density


def _log_density_of_balance(positives: int, negatives: int) -> float:
    """ln of the density at 0 of a sum of half-normal variables less a sum of others.

    A half-normal variable is |g| with g a standard Gaussian, and M(z) = E e^{z|g|}. The moment
    generating function of the difference is M(z)^positives M(−z)^negatives, and its inverse Laplace
    transform gives the density

        f(0) = 1/(2πi) ∫ dz M(z)^positives M(−z)^negatives,   z = s + i · width · sinh(t).

    This path crosses the real axis at the saddle point s, where the integrand is largest on it. The
    peak there has a width of order 1/√n for n variables. For few variables the integrand decays
    slowly, and sinh reaches far out. The trapezoidal rule in t is exact to rounding, as the
    integrand is smooth and vanishes at both ends.
    """
    n = positives + negatives
    if n < _FAST_DECAY:
        t = _T_OF_LONG_CONTOUR
    else:
        t = _T_OF_SHORT_CONTOUR
    width = 2.0 / np.sqrt(n)
    z = _saddle(positives, negatives) + 1j * width * np.sinh(t)

    # dz = i · width · cosh(t) dt; this i cancels the one of 1/(2πi).
    log_jacobian = np.log(width * np.cosh(t))
    exponent = positives * _log_moment(z) + negatives * _log_moment(-z) + log_jacobian

    # The largest term is taken out of the sum, so that nothing overflows.
    largest = float(exponent.real.max())
    integral = np.exp(exponent - largest).sum().real * (t[1] - t[0])
    return float(np.log(integral)) + largest - _LOG_2PI


def _log_moment(z: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """ln E e^{z|g|} of a half-normal variable |g|: E e^{z|g|} = w(−iz/√2), Faddeeva's function."""
    return np.log(wofz(-1j * z / np.sqrt(2)))


def _saddle(positives: int, negatives: int) -> float:
    """The s at which positives · ln E e^{s|g|} + negatives · ln E e^{−s|g|} is smallest.

    g is a standard Gaussian; both numbers are at least 1.
    """

    def slope(s: float) -> float:
        """d/ds ln E e^{s|g|} = s + φ(s)/Φ(s), from E e^{s|g|} = 2e^{s²/2}Φ(s)."""
        return s + float(np.exp(-0.5 * s * s - 0.5 * _LOG_2PI - log_ndtr(s)))

    def total_slope(s: float) -> float:
        return positives * slope(s) - negatives * slope(-s)

    # For s > 0, slope(s) > s and slope(−s) < 1/s: total_slope(s) > positives·s − negatives/s, and
    # at s = reach this is above 0. In the same way total_slope(−reach) < 0.
    reach = 2.0 * max(positives, negatives)
    return float(brentq(total_slope, -reach, reach))


def log_intrinsic_volume(n_samples: int, positives: int, active: int) -> float:
    """ln v_{n−1}, the intrinsic volume of the cone with n = `active` components; n = 1 gives v_0.

    P = `n_samples`, of which n₊ = `positives` and n₋ the rest. Summed over the splits of the n
    active components into i positive and j negative ones,

        v_{n−1} = Σ_{i+j=n} C(n₊, i) C(n₋, j) β(i, j) I(n₊ − i, n₋ − j),
        v_0 = 1/C(P, n₊),

    with β(i, j) of `log_cone_share`, and I of `_log_inactive` for the components left over.
    """
    if active == 1:
        return -float(log_binomial(n_samples, positives))
    negatives = n_samples - positives
    active_positives = np.arange(max(1, active - negatives), min(positives, active - 1) + 1)
    if len(active_positives) == 0:
        return -np.inf
    active_negatives = active - active_positives

    log_terms = (
        log_binomial(positives, active_positives)
        + log_binomial(negatives, active_negatives)
        + _log_inactive(
            active=active,
            inactive_positives=positives - active_positives,
            inactive_negatives=negatives - active_negatives,
        )
    )

    # β is the costly factor, so that it is computed only for splits that can matter.
    relevant = np.flatnonzero(log_terms >= log_terms.max() - _NEGLIGIBLE_BEFORE_SHARE)
    log_volumes = []
    for split in relevant:
        log_share = log_cone_share(int(active_positives[split]), int(active_negatives[split]))
        log_volumes.append(log_terms[split] + log_share)
    return float(logsumexp(log_volumes))


def _log_inactive(
    active: int, inactive_positives: NDArray[np.int64], inactive_negatives: NDArray[np.int64]
) -> NDArray[np.float64]:
    """ln I for each split, (splits,): the probability that the other components are inactive.

    A cone has a component for each sample. Of `active` = n of them the positive values are given; a
    split says how many of the others belong to positive and how many to negative samples.

        I = ∫ db N(b; 0, 1/n) Φ(b)^{inactive positives} Φ(−b)^{inactive negatives}.

    The powers of Φ may move the peak of the integrand far out of the Gaussian. So the grid reaches
    `_LARGEST_B_IN_SD` of its standard deviations 1/√n, but no farther than `_LARGEST_B`, beyond
    which Φ(−b) is below 10⁻³².
    """
    largest_b = min(_LARGEST_B, _LARGEST_B_IN_SD / np.sqrt(active))
    b = np.linspace(-1.0, 1.0, _N_NODES) * largest_b

    # Rows are splits, columns are the nodes b.
    log_integrand = (
        inactive_positives[:, None] * log_ndtr(b)
        + inactive_negatives[:, None] * log_ndtr(-b)
        - 0.5 * active * b**2
    )
    log_norm = 0.5 * (np.log(active) - _LOG_2PI)
    return logsumexp(log_integrand, axis=1) + np.log(b[1] - b[0]) + log_norm


def log_separable(n_samples: int, positives: int, n_selected: int) -> float:
    """ln of the probability that M features of Gaussian noise and a threshold separate the labels.

    P_sep(M) = 2(v_{M−1} + v_{M−3} + …), with M = `n_selected`: the probability that a random
    subspace of codimension M meets the cone of `log_intrinsic_volume` only at 0, by the conic
    kinematic formula. Every second volume counts, as those of even and of odd dimension both sum to
    one half (Gauss–Bonnet).
    """
    if n_selected >= n_samples - 1 or positives in (0, n_samples):
        return 0.0
    if n_selected == 0:
        return -np.inf

    # n active components give v_{n−1}; the sum ends where its terms no longer count.
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

    With N = `n_features`, M = `n_selected`, e = `errors`, n₊ positives and n₋ negatives, and i the
    number of errors among the positives, it is

        C(N, M) Σ_i C(n₊, i) C(n₋, e − i) P_sep,

    P_sep the probability of `log_separable` for the samples left over. The rule has a threshold.
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
