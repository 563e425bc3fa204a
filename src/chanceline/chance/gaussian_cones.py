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
_NODES_OF_LONG_RANGE = np.linspace(-30.0, 30.0, 1201)
_NODES_OF_SHORT_RANGE = np.linspace(-4.0, 4.0, 321)
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
    """ln of the density at 0 of a sum of independent half-normal variables with signs.

    A half-normal variable is |g| with g a standard Gaussian. `positives` of the variables are added
    and `negatives` of them subtracted. With the moment generating function M(z) = E e^{z|g|} the
    density of the result at 0 is the inverse Laplace transform

        1/(2πi) ∫ dz M(z)^positives M(−z)^negatives,

    along any line z = s + iy parallel to the imaginary axis, so that it is 1/2π ∫ dy. With s at the
    saddle point the integrand hardly oscillates near y = 0, where it is largest.
    """
    # The integrand peaks at y = 0 with a width of order 1/√n, n the number of variables, and falls
    # as y^{−n} far out. So the integral is taken over t, where y = width · sinh(t): equal steps of
    # t are short steps of y at the peak and long ones far out. With few variables the integrand
    # falls slowly, which needs a longer range of t. The nodes t are fixed and equally spaced.
    n_variables = positives + negatives
    if n_variables < _FAST_DECAY:
        t = _NODES_OF_LONG_RANGE
    else:
        t = _NODES_OF_SHORT_RANGE
    width = 2.0 / np.sqrt(n_variables)
    y = width * np.sinh(t)
    log_dy_by_dt = np.log(width * np.cosh(t))

    z = _saddle_point(positives, negatives) + 1j * y
    log_product_of_moments = positives * _log_moment(z) + negatives * _log_moment(-z)
    log_integrand = log_product_of_moments + log_dy_by_dt

    # The trapezoidal rule in t is exact up to rounding, because the integrand is smooth and
    # vanishes at both ends. The integral is real, so the imaginary parts cancel. The largest term
    # is taken out of the sum, so that nothing overflows.
    largest = float(log_integrand.real.max())
    t_step = t[1] - t[0]
    scaled_integral = np.exp(log_integrand - largest).sum().real * t_step
    log_integral = float(np.log(scaled_integral)) + largest
    return log_integral - _LOG_2PI  # the factor 1/2π


def _log_moment(z: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """ln E e^{z|g|} of a half-normal variable |g|: E e^{z|g|} = w(−iz/√2), Faddeeva's function."""
    return np.log(wofz(-1j * z / np.sqrt(2)))


def _saddle_point(positives: int, negatives: int) -> float:
    """Find the saddle point of the generating function of a difference of half-normal variables.

    The saddle point is the s at which

        positives · ln E e^{s|g|} + negatives · ln E e^{−s|g|}

    is smallest, g a standard Gaussian. There the derivative by s is zero, which Brent's method
    solves. `positives` and `negatives` are at least 1.
    """

    def slope(s: float) -> float:
        """d/ds ln E e^{s|g|} = s + φ(s)/Φ(s), from E e^{s|g|} = 2e^{s²/2}Φ(s)."""
        log_density_over_distribution = -0.5 * s * s - 0.5 * _LOG_2PI - log_ndtr(s)
        return s + float(np.exp(log_density_over_distribution))

    def total_slope(s: float) -> float:
        """Return the derivative by s of the function to be made smallest."""
        return positives * slope(s) - negatives * slope(-s)

    # The root lies between −reach and reach. For s > 0, slope(s) > s and slope(−s) < 1/s. So
    # total_slope(s) > positives·s − negatives/s, which is positive at s = reach. In the same way
    # total_slope(−reach) is negative.
    reach = 2.0 * max(positives, negatives)
    return float(brentq(total_slope, -reach, reach))


def log_intrinsic_volume(n_samples: int, positives: int, n_active: int) -> float:
    """ln of the probability that n components of a Gaussian's projection onto a cone are above 0.

    The cone is {λ ≥ 0, Σ_positives λ = Σ_negatives λ}, with a component λ_i for each sample. The
    closest point of the cone to a standard Gaussian vector is its projection. The components of the
    projection that are above 0 are called active, all others are 0. In the theory of cones the
    probability of n = `n_active` active components is the intrinsic volume v_{n−1}: the index is
    the dimension of the face that the projection lies in, which is n − 1, because the equation
    between the sums takes one dimension away.

    The active components split into i positives and j negatives, i + j = n, of n₊ and n₋ samples:

        v_{n−1} = Σ_i C(n₊, i) C(n₋, j) β(i, j) I(n₊ − i, n₋ − j),

    where β is the probability that all active components are above 0 (`log_cone_share`), and I that
    all others are 0 (`_log_probability_inactive`). Both i and j are at least 1, as otherwise the
    sums could not be equal.
    """
    if n_active == 1:
        # The special case v_0: the projection is the point 0, the face of dimension 0, with no
        # active component. Its probability is 1/C(n_samples, n₊). (A single active component is
        # impossible, because it could not balance the sums.)
        return -float(log_binomial(n_samples, positives))

    negatives = n_samples - positives
    fewest_active_positives = max(1, n_active - negatives)
    most_active_positives = min(positives, n_active - 1)
    active_positives = np.arange(fewest_active_positives, most_active_positives + 1)  # i, (splits,)
    if len(active_positives) == 0:
        return -np.inf  # so many active components are impossible
    active_negatives = n_active - active_positives  # j

    # ln of C(n₊, i) C(n₋, j) I, the terms without β, (splits,).
    log_positive_choices = log_binomial(positives, active_positives)
    log_negative_choices = log_binomial(negatives, active_negatives)
    log_others_inactive = _log_probability_inactive(
        n_active=n_active,
        inactive_positives=positives - active_positives,
        inactive_negatives=negatives - active_negatives,
    )
    log_without_share = log_positive_choices + log_negative_choices + log_others_inactive

    # β takes long to compute. As β ≤ 1, a term is at most its value without β. So a split is left
    # out if its term without β is far below the largest one. (This neglects nothing that matters as
    # long as the β of the largest term is not extremely small. No proof of that is known; tables
    # where it was checked are named at `_NEGLIGIBLE_BEFORE_SHARE`.)
    smallest_that_matters = log_without_share.max() - _NEGLIGIBLE_BEFORE_SHARE
    log_terms = []
    for split in np.flatnonzero(log_without_share >= smallest_that_matters):
        log_share = log_cone_share(int(active_positives[split]), int(active_negatives[split]))
        log_terms.append(log_without_share[split] + log_share)
    return float(logsumexp(log_terms))


def _log_probability_inactive(
    n_active: int, inactive_positives: NDArray[np.int64], inactive_negatives: NDArray[np.int64]
) -> NDArray[np.float64]:
    """ln of the probability that all inactive components of a projection are 0, (splits,).

    A standard Gaussian g, one component for each sample, is projected onto the cone
    {λ ≥ 0, Σ_positives λ = Σ_negatives λ}. The projection is λ_i = max(g_i − b, 0) for a positive
    sample and max(g_i + b, 0) for a negative one, with b such that the sums agree. On the n active
    components the sums agree if b = (Σ_positives g − Σ_negatives g)/n, a Gaussian of variance 1/n.
    Given b, an inactive positive component is 0 if g_i < b, with probability Φ(b), and a negative
    one if g_i < −b, with probability Φ(−b). All are independent, so the probability is

        ∫ db N(b; 0, 1/n) Φ(b)^{inactive positives} Φ(−b)^{inactive negatives}.

    n_active : n, the number of components above 0.
    inactive_positives, inactive_negatives : (splits,) numbers of the other components in each
        class, for several ways to split them.
    """
    # The powers of Φ may move the peak of the integrand far from the peak of the Gaussian. So the
    # grid of b reaches many standard deviations 1/√n, but no farther than where Φ(−b) is below
    # 10⁻³².
    largest_b = min(_LARGEST_B, _LARGEST_B_IN_SD / np.sqrt(n_active))
    b = np.linspace(-1.0, 1.0, _N_NODES) * largest_b
    b_step = b[1] - b[0]

    # Rows are splits, columns are the nodes b.
    log_positives = inactive_positives[:, None] * log_ndtr(b)
    log_negatives = inactive_negatives[:, None] * log_ndtr(-b)
    log_gaussian = 0.5 * (np.log(n_active) - _LOG_2PI) - 0.5 * n_active * b**2
    log_integrand = log_positives + log_negatives + log_gaussian
    # The trapezoidal rule. At both ends the integrand is so small that their weight ½ is left out.
    return logsumexp(log_integrand, axis=1) + np.log(b_step)


def log_separable(n_samples: int, positives: int, n_selected: int) -> float:
    """ln of the probability that M features of Gaussian noise and a threshold separate the labels.

    The probability is 2(v_{M−1} + v_{M−3} + …), down to v_0 or v_1. Here v_k, the k-th intrinsic
    volume of the cone C = {λ ≥ 0, Σ_positives λ = Σ_negatives λ} with one λ for each sample, is the
    probability that the projection of a Gaussian vector onto C lies in a face of dimension k. The
    reasons:

    - A rule separates the labels if and only if a random subspace of codimension M meets C in 0
      alone (Gordan's theorem).
    - The subspace meets C in other points too with the probability 2(v_{M+1} + v_{M+3} + …) (conic
      kinematic formula; Amelunxen, Lotz, McCoy and Tropp 2014).
    - All v_k of even k add up to ½, and so do those of odd k. So one minus that probability is the
      same sum with M − 1, M − 3, … instead.

    n_selected : M.
    """
    if n_selected >= n_samples - 1 or positives in (0, n_samples):
        return 0.0  # always separable: as many weights as samples, or a single class
    if n_selected == 0:
        return -np.inf  # never: a threshold alone does not separate two classes

    # k = M − 1, M − 3, … . A face of dimension k belongs to projections with k + 1 components above
    # 0, and `log_intrinsic_volume` asks for this number.
    log_volumes: list[float] = []
    for k in range(n_selected - 1, -1, -2):
        log_volume = log_intrinsic_volume(n_samples, positives, n_active=k + 1)
        log_volumes.append(log_volume)
        # The volumes have a single peak as a function of k (true in every table tried; not proven).
        # So a volume far below an earlier one is past the peak, and all further ones are smaller.
        if log_volume < max(log_volumes) - _NEGLIGIBLE:
            break
    log_probability = LOG2 + float(logsumexp(log_volumes))
    return min(0.0, log_probability)  # rounding may put a probability near 1 slightly above 1


def log_expected_supports(
    n_samples: int, n_features: int, positives: int, n_selected: int, errors: int
) -> float:
    """ln of the expected number of pairs (support, set of errors) that separate all other samples.

    A support is a choice of M = `n_selected` of N = `n_features` features of Gaussian noise. A set
    of errors consists of e = `errors` samples, i of them positive. A pair counts if a rule on the
    support, with a threshold, separates all samples outside the set. With n₊ positives and n₋
    negatives the expected number of pairs is

        C(N, M) Σ_i C(n₊, i) C(n₋, e − i) P_sep,

    where P_sep is the probability that one support separates the P − e other samples, n₊ − i of
    them positive (`log_separable`).
    """
    negatives = n_samples - positives
    fewest_wrong_positives = max(0, errors - negatives)
    most_wrong_positives = min(errors, positives)
    log_terms = []
    for wrong_positives in range(fewest_wrong_positives, most_wrong_positives + 1):  # i
        log_choices_of_positives = log_binomial(positives, wrong_positives)
        log_choices_of_negatives = log_binomial(negatives, errors - wrong_positives)
        log_error_sets = float(log_choices_of_positives + log_choices_of_negatives)
        log_probability = log_separable(n_samples - errors, positives - wrong_positives, n_selected)
        log_terms.append(log_error_sets + log_probability)
    log_supports = float(log_binomial(n_features, n_selected))
    return log_supports + float(logsumexp(log_terms))
