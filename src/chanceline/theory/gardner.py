"""Gardner's capacity with *all* variables, for unequal classes, a margin and errors.

With x = v/|w| ~ N(τ_c, 1) for class c, τ_c = margin + σ_c·threshold, patterns with 0 < x < t* are
moved to the margin, and those with x ≥ t* are errors:

    1/α_c = Σ_c f_c ∫_0^{t*} dx φ(x − τ_c) x²,      ε = Σ_c f_c H(t* − τ_c),

stationary in the threshold, Σ_c σ_c f_c ∫_0^{t*} dx φ(x − τ_c) x = 0. Without errors t* = ∞
(Gardner 1988), with them this is Gardner and Derrida's formula (1988). A typical choice of ρN
variables separates up to ρα_c; choosing the largest fields of all N multiplies α_c by ρ + 2tφ(t),
2H(t) = ρ, instead: the ℓ₀-Gardner load.

With weights of given sign every typical load is half of that (Amit, Wong and Campbell 1989), with
half of the weights at zero. The largest fields of the right sign then multiply α_c by ρ + tφ(t),
H(t) = ρ, up to ρ = ½: half of what 2ρ gives without signs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr

from chanceline.theory.closed_forms import PLAIN_LOAD_OF_ALL, l0_gardner
from chanceline.theory.ensemble import Ensemble

_ROOT_2PI = math.sqrt(2 * math.pi)
# Beyond this threshold all patterns lie on one side.
LARGEST_THRESHOLD = 40.0
# With errors several thresholds can be stationary. They are searched in so many intervals, between
# plus and minus this threshold.
_INTERVALS_WITH_ERRORS = 96
_REACH_WITH_ERRORS = 6


@dataclass(frozen=True)
class Gardner:
    """α_c with all variables, and the rule there. Weights of given sign halve α_c and nothing else.

    Attributes
    ----------
    load : α_c.
    threshold : b/|w|, the best threshold.
    ceiling : t*, the largest violation (in units of |w|) that is no error.
    """

    load: float
    threshold: float
    ceiling: float


@lru_cache(maxsize=256)
def gardner(ensemble: Ensemble) -> Gardner:
    """Compute Gardner's capacity: the largest load that a rule with all variables separates.

    The load is patterns per variable. If the rule may choose the signs of its weights, the capacity
    α_c has a formula: 1/α_c is the mean square of the corrections which the rule makes to the
    patterns (`_correction_moments`). The threshold of the rule makes it as small as possible. With
    given signs the capacity is half of that, at the same threshold.
    """
    threshold = 0.0  # with equal classes, by symmetry
    if ensemble.free_threshold:
        threshold = _best_threshold(ensemble)
    inverse_load_of_free_signs = _correction_moments(ensemble, threshold).mean_square  # 1/α_c

    # With given signs half of all weights are zero at the capacity, and only the other half help to
    # separate. The share of nonzero weights, ½ or 1, is the saturation density of the ensemble.
    share_of_nonzero_weights = ensemble.saturation_density
    return Gardner(
        load=share_of_nonzero_weights / inverse_load_of_free_signs,
        threshold=threshold,
        ceiling=_ceiling(ensemble, threshold),
    )


def l0_load(rho: float, ensemble: Ensemble) -> float:
    """The ℓ₀-Gardner load, where the replica-symmetric branch of density ρ ends.

    It is α_c[ρ + 2tφ(t)] with 2H(t) = ρ: α_c is the load of all variables, φ the normal density, H
    its upper tail. With given signs min(2ρ, 1) stands for ρ. `l0_gardner` has the formula for the
    plain ensemble, where α_c = 2: its value over 2 is the bracket.
    """
    share_of_saturation = min(rho / ensemble.saturation_density, 1.0)  # ρ, or min(2ρ, 1)
    return gardner(ensemble).load * l0_gardner(share_of_saturation) / PLAIN_LOAD_OF_ALL


def _best_threshold(ensemble: Ensemble) -> float:
    """Find the threshold of a rule with all variables that maximises its capacity α_c.

    It is the lowest minimum of 1/α_c as a function of the threshold; if errors are allowed, there
    can be several minima. They are bracketed on a grid of thresholds by the sign of the slope, and
    refined by Brent's method.
    """

    def slope(threshold: float) -> float:
        """The derivative of 1/α_c by the threshold, up to a positive factor."""
        return _correction_moments(ensemble, threshold).mean_by_sign

    def inverse_load(threshold: float) -> float:
        """1/α_c at this threshold."""
        return _correction_moments(ensemble, threshold).mean_square

    grid = _threshold_grid(ensemble)
    slopes = [slope(threshold) for threshold in grid]
    # A minimum lies where the slope changes from negative to positive. There always is one: at the
    # lower end of the grid almost all violations are in the class of sign −1, and the slope is
    # negative; at the upper end they are in the class of sign 1, and it is positive.
    minima = []
    for i in range(len(grid) - 1):
        slope_turns_positive = slopes[i] < 0 <= slopes[i + 1]
        if slope_turns_positive:
            minimum = brentq(slope, grid[i], grid[i + 1], xtol=1e-15, rtol=1e-14)
            minima.append(float(minimum))
    return min(minima, key=inverse_load)


def _threshold_grid(ensemble: Ensemble) -> list[float]:
    """Ascending thresholds; between two neighbours 1/α_c has at most one minimum.

    Without errors it has one in all, and the two ends will do; with errors there are many
    intervals. A margin moves where the classes have their violations, and widens the range.
    """
    if ensemble.error_rate:
        reach = _REACH_WITH_ERRORS + 2 * ensemble.margin
        n_intervals = _INTERVALS_WITH_ERRORS
    else:
        reach = LARGEST_THRESHOLD + ensemble.margin
        n_intervals = 1
    return [float(threshold) for threshold in np.linspace(-reach, reach, n_intervals + 1)]


class _CorrectionMoments(NamedTuple):
    """Moments of the correction T of a pattern over all classes c, of share f_c and sign σ_c.

    E_c[·] is the mean over the patterns of class c.
    """

    mean_by_sign: float  # Σ_c σ_c f_c E_c[T], which vanishes at the best threshold
    mean_square: float  # Σ_c f_c E_c[T²] = 1/α_c


def _correction_moments(ensemble: Ensemble, threshold: float) -> _CorrectionMoments:
    """Compute by how much a rule with all variables corrects the patterns, on average.

    Before the rule is fitted, the constraint of a pattern is violated by x, in units of the length
    |w| of the weights. In class c, of the share f_c and the sign σ_c = ±1 (0 if one class stands
    for both), x ~ N(τ_c, 1) with τ_c = margin + σ_c·threshold. The rule corrects violations
    0 < x < t*: the correction of the pattern is T = x, and else T = 0. Larger violations are left
    as errors. The result has the mean of T, where each class counts with its sign, and of T²:

        mean_by_sign = Σ_c σ_c f_c E_c[T],    mean_square = Σ_c f_c E_c[T²].
    """
    ceiling = _ceiling(ensemble, threshold)  # t*
    mean_by_sign = 0.0
    mean_square = 0.0
    for class_share, class_sign in ensemble.classes:
        mean_violation = ensemble.margin + class_sign * threshold  # τ_c
        correction = _partial_moments(mean_violation, ceiling)  # E_c[T] and E_c[T²]
        mean_by_sign += class_share * class_sign * correction.first
        mean_square += class_share * correction.second
    return _CorrectionMoments(mean_by_sign=mean_by_sign, mean_square=mean_square)


class _PartialMoments(NamedTuple):
    """M_k = E[x^k 1_{0 < x < t*}] of a violation x in one class."""

    first: float  # M₁
    second: float  # M₂


def _partial_moments(tau: float, ceiling: float) -> _PartialMoments:
    """Compute M₁ = E[x; 0 < x < t*] and M₂ = E[x²; 0 < x < t*] of a Gaussian x ~ N(τ, 1).

    These are integrals of x and x² times the density of x from 0 to t* (`ceiling`); they are not
    divided by M₀ = P(0 < x < t*). Integration by parts gives, with the normal density φ,

        M₁ = τM₀ + φ(τ) − φ(t* − τ),    M₂ = τM₁ + M₀ − t*φ(t* − τ).

    If the ceiling is infinite, the terms with φ(t* − τ) vanish.
    """
    density_at_zero = math.exp(-0.5 * tau * tau) / _ROOT_2PI  # φ(τ)
    if math.isinf(ceiling):
        probability = float(ndtr(tau))  # M₀
        first = tau * probability + density_at_zero
        second = tau * first + probability
        return _PartialMoments(first, second)

    density_at_ceiling = math.exp(-0.5 * (ceiling - tau) ** 2) / _ROOT_2PI  # φ(t* − τ)
    probability = float(ndtr(ceiling - tau) - ndtr(-tau))  # M₀
    first = tau * probability + density_at_zero - density_at_ceiling
    second = tau * first + probability - ceiling * density_at_ceiling
    return _PartialMoments(first, second)


def _ceiling(ensemble: Ensemble, threshold: float) -> float:
    """Find t*, the largest violation of a pattern's constraint that is not left as an error.

    Violations are Gaussian, and in units of the length |w| of the weights (`_share_above`). t* is
    such that the share of patterns with larger violations is the error rate that is allowed. It is
    ∞ if no errors are allowed, and 0 if fewer patterns than allowed are violated at all.
    """
    if not ensemble.error_rate:
        return math.inf

    def excess_share(ceiling: float) -> float:
        """The share of violations above this ceiling, minus the error rate; it decreases."""
        return _share_above(ceiling, ensemble, threshold) - ensemble.error_rate

    if excess_share(0.0) <= 0:
        return 0.0
    # Mean violations are at most LARGEST_THRESHOLD + margin, and their standard deviation is 1: no
    # violation reaches this upper end.
    upper_end = 2 * LARGEST_THRESHOLD + ensemble.margin
    return float(brentq(excess_share, 0.0, upper_end, xtol=1e-15, rtol=1e-14))


def _share_above(ceiling: float, ensemble: Ensemble, threshold: float) -> float:
    """The share of patterns whose violation is above t*, the ceiling: Σ_c f_c Φ(τ_c − t*).

    Violations in class c, of share f_c and sign σ_c, are Gaussian of variance 1 and mean
    τ_c = margin + σ_c·threshold; Φ is the normal distribution function.
    """
    share_above = 0.0
    for share, sign in ensemble.classes:
        mean_violation = ensemble.margin + sign * threshold  # τ_c
        share_above += share * float(ndtr(mean_violation - ceiling))
    return share_above
