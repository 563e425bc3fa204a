"""One pattern at a fixed mean field: the inner integral ∫Dy in closed form and in logarithms.

With H̃(v, χ) = Θ(−v) + Θ(v) exp(−v²/2χ) and v ~ N(μ, s²),

    A(μ) = ∫Dy H̃ = Φ(−μ/s) + C Φ(t),    R_k(μ) = ∫Dy H̃ Θ(v) v^k / A,

where r = s²/χ, σ'² = s²/(1 + r), t = (μ/s)/√(1 + r) and C = e^{−rt²/2}/√(1 + r). R₀ = p₊ is the
tilted weight of the violated side, that is of the tight constraints. With T = Θ(v)v, R_k = E[T^k]
under the tilted law of v, and

    ∂ ln A/∂μ = −R₁/χ,    ∂R₁/∂μ = p₊ − Var T/χ;

A solves the heat equation ∂A/∂s² = ½ ∂²A/∂μ². Where errors are allowed with weight e^{−y} each, a
violation beyond v* = √(2χy) weighs more as an error: H̃ = e^{−y} for v > v*, A gains e^{−y}Φ((μ −
v*)/s), and T counts 0 < v < v* only.

Every formula is written for numbers, arrays and `Dual` numbers alike (`dual`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from chanceline.theory.dual import (
    Numbers,
    exp,
    log1p,
    log_ndtr,
    logaddexp,
    sqrt,
    square,
    value_of,
    where,
)
from chanceline.theory.quadrature import Array

_LOG_SQRT_2PI = 0.5 * float(np.log(2 * np.pi))


class PatternLaw(NamedTuple):
    """ln A and the law of T tilted by H̃, at each μ; every field but χ and v* has the shape of μ.

    v is by how much a pattern violates its constraint, Gaussian of mean μ and variance s² before
    the tilt. T is what is corrected: v where 0 < v < v*, with weight p₊, and 0 elsewhere. Its
    moments are R_k = E[T^k].
    """

    log_mean_weight: Numbers  # g = ln A, A(μ) the mean weight of a pattern
    p_tight: Numbers  # p₊ = R₀, weight of 0 < v < v*
    p_not_tight: Numbers  # 1 − p₊
    mean_correction: Numbers  # R₁
    correction_variance: Numbers  # R₂ − R₁²
    chi: Numbers  # χ: a correction T has the weight e^{−T²/2χ}
    p_wrong: Numbers = 0.0  # weight of v > v*
    ceiling: Numbers = np.inf  # v*, beyond which a violation is an error; ∞ without errors
    # v*e*, with the density e* of v at v*, e^{−y}N(v*; μ, s²)/A; 0 without errors.
    ceiling_density: Numbers = 0.0

    @property
    def mean_square_correction(self) -> Numbers:
        """R₂ = E[T²], the second moment of the correction T."""
        return self.correction_variance + square(self.mean_correction)

    @property
    def slope(self) -> Numbers:
        """g' = d ln A/dμ = −R₁/χ: R₁ is the mean correction, χ the scale of its weight."""
        return -self.mean_correction / self.chi

    @property
    def net_p_tight(self) -> Numbers:
        """p₊ − v*e*, e* the density of v at v*; it replaces p₊ where errors are allowed.

        It is the mean slope of the correction T as a function of the violation v: 1 where
        0 < v < v*, with weight p₊, and at v* the fall from v* to 0. The mean R₁ = E[T] therefore
        has the slope ∂R₁/∂μ = this − Var T/χ, where the second term comes from the tilt e^{−T²/2χ}.
        """
        if np.isinf(value_of(self.ceiling)):
            return self.p_tight
        return self.p_tight - self.ceiling_density

    @property
    def curvature(self) -> Numbers:
        """g'' = (R₂ − R₁²)/χ² − p₊/χ, the slope of g' = −R₁/χ.

        With errors `net_p_tight` stands for p₊.
        """
        return self.correction_variance / square(self.chi) - self.net_p_tight / self.chi

    def without_differentials(self) -> PatternLaw:
        """The same numbers and arrays, none of them a Dual."""
        return PatternLaw._make(map(value_of, self))


def pattern_law(mu: Numbers, s2: Numbers, chi: Numbers, ceiling: Numbers = np.inf) -> PatternLaw:
    """Compute the mean weight A(μ) of a pattern, and the distribution of its correction T.

    A pattern is a sample that must lie on the side of its class. It misses this by v ~ N(μ, s²),
    its violation; a negative v satisfies the constraint. A positive v may be corrected by T = v, at
    a cost that grows as v². Above v* it is better to leave the pattern as an error. The cost enters
    as a weight e^{−cost}:

        satisfied   v < 0         weight 1              T = 0, nothing is corrected,
        tight       0 < v < v*    weight e^{−v²/2χ}     T = v, all of it is corrected,
        wrong       v > v*        weight e^{−v*²/2χ}    T = 0, the pattern is left as an error.

    A is the mean of the weight over v. The density of v times the weight, divided by A, is again a
    probability density. The probabilities of the three cases and the moments of T belong to it.

    Parameters
    ----------
    mu : array of any shape
        Means μ of v.
    s2
        s² > 0, the variance of v.
    chi
        χ, the scale of the cost v²/2χ. It is positive for patterns. The formulas also hold for
        χ < −s², where the cost is negative but the mean weight still finite; the module `supports`
        uses this for variables.
    ceiling
        v*, the largest violation that is corrected; infinite if no errors are allowed.

    Returns
    -------
    PatternLaw
        ln A, the probabilities, and mean and variance of T, each with the shape of μ.
    """
    # The density of v times e^{−v²/2χ} is proportional to a Gaussian of standard deviation σ'.
    tilted = _tilted_gaussian(mu, s2, chi)

    # The distribution of the scaled correction X = T/σ', its mean and its variance. `value_of`
    # drops the derivatives of a ceiling that is a Dual.
    no_errors_allowed = np.isinf(value_of(ceiling))
    if no_errors_allowed:
        scaled_law = _scaled_law_without_errors(mu, s2, tilted)
    else:
        price = square(ceiling) / (2 * chi)  # an error weighs e^{−price}
        scaled_law = _scaled_law_with_errors(mu, s2, tilted, ceiling, price=price)
    scaled_moments = _mean_and_variance(scaled_law)

    # v* times the density of v at v*. X has the end v*/σ' and there σ' times this density, so that
    # σ' drops out of the product.
    ceiling_density = scaled_law.top * scaled_law.density_at_top

    # Convert X back to T = σ'X; probabilities stay the same.
    return PatternLaw(
        log_mean_weight=scaled_law.log_mean_weight,
        p_tight=scaled_law.p_tight,
        p_not_tight=scaled_law.p_not_tight,
        mean_correction=tilted.sd * scaled_moments.mean,
        correction_variance=tilted.variance * scaled_moments.variance,
        chi=chi,
        p_wrong=scaled_law.p_wrong,
        ceiling=ceiling,
        ceiling_density=ceiling_density,
    )


class _TiltedGaussian(NamedTuple):
    """N(v; μ, s²) e^{−v²/2χ}, which is C times the Gaussian of mean tσ' and variance σ'²."""

    variance: Numbers  # σ'²
    sd: Numbers  # σ'
    t: Numbers
    log_c: Numbers  # ln C


def _tilted_gaussian(mu: Numbers, s2: Numbers, chi: Numbers) -> _TiltedGaussian:
    """Return C, mean and variance of the Gaussian that N(v; μ, s²) e^{−v²/2χ} is proportional to.

    The product is C times the Gaussian of mean tσ' and variance σ'². Completing the square in v
    gives

        σ'² = s²/(1 + r),    t = μσ'/s²,    C = e^{−rt²/2}/√(1 + r),    r = s²/χ.
    """
    r = s2 / chi
    variance = s2 / (1 + r)
    sd = sqrt(variance)
    t = mu * (sd / s2)
    log_c = -0.5 * (log1p(r) + r * square(t))
    return _TiltedGaussian(variance=variance, sd=sd, t=t, log_c=log_c)


class _ScaledLaw(NamedTuple):
    """The distribution of X = T/σ', the correction T of a pattern over the sd σ' of tight ones.

    It is a point mass at 0, and on 0 < x < top the density n(x) ∝ e^{−(x − t)²/2}.
    """

    log_mean_weight: Numbers  # ln A, which normalises the probabilities
    t: Numbers  # the mean of the Gaussian before it is cut at 0 and top
    p_tight: Numbers  # p₊ = ∫n dx
    p_not_tight: Numbers  # 1 − p₊, the point mass at 0: satisfied or wrong
    density_at_zero: Numbers  # n(0)
    p_wrong: Numbers = 0.0  # the wrong part of the point mass, 0 without errors
    density_at_top: Numbers = 0.0  # n(top), 0 without errors
    top: Numbers = 0.0  # v*/σ'; without errors, where n(top) = 0, any finite number will do


class _LogWeights(NamedTuple):
    """Logarithms of the weights of the two parts of A without errors: each may underflow."""

    satisfied: Numbers  # of v < 0
    tight: Numbers  # of v > 0, which is corrected


def _log_weights(mu: Numbers, s2: Numbers, tilted: _TiltedGaussian) -> _LogWeights:
    """The weights of a satisfied and of a tight constraint; μ and s² are as in `pattern_law`.

    With the density N(v; μ, s²) of the violation v they are

        satisfied   v < 0    ∫N dv             = Φ(−μ/s),
        tight       v > 0    ∫N e^{−v²/2χ} dv  = C Φ(t),

    because N e^{−v²/2χ} is C times a Gaussian of mean tσ' and standard deviation σ' (`tilted`).
    """
    return _LogWeights(
        satisfied=log_ndtr(mu / -sqrt(s2)),  # ln Φ(−μ/s)
        tight=tilted.log_c + log_ndtr(tilted.t),  # ln [C Φ(t)]
    )


def log_pattern_weight(mu: Numbers, s2: Numbers, chi: Numbers) -> Numbers:
    """ln A(μ) without errors, A the mean weight of a pattern whose violation v is N(μ, s²).

    It weighs 1 where v < 0 and e^{−v²/2χ} where v > 0. `pattern_law` has the moments of v, too.
    """
    log_weights = _log_weights(mu, s2, _tilted_gaussian(mu, s2, chi))
    return logaddexp(log_weights.satisfied, log_weights.tight)


def _scaled_law_without_errors(mu: Numbers, s2: Numbers, tilted: _TiltedGaussian) -> _ScaledLaw:
    """Compute the distribution of a pattern's correction T, in units of σ', without errors.

    A pattern with the violation v ~ N(μ, s²) is in one of two cases:

        satisfied   v < 0    weight 1             T = 0
        tight       v > 0    weight e^{−v²/2χ}    T = v

    The probability of a case is its mean weight divided by A, the sum of the two mean weights. In
    the tight case the density of v times the weight is C times a Gaussian density of mean tσ' and
    standard deviation σ'; `tilted` has C, t and σ'. So X = T/σ' is 0 for a satisfied pattern, and
    has the density (C/A) e^{−(x − t)²/2}/√(2π) at x > 0.
    """
    # Logarithms are used because the weights may underflow.
    log_weights = _log_weights(mu, s2, tilted)  # of the two cases
    log_mean_weight = logaddexp(log_weights.satisfied, log_weights.tight)  # ln A
    p_satisfied = exp(log_weights.satisfied - log_mean_weight)
    p_tight = exp(log_weights.tight - log_mean_weight)

    log_c_over_a = tilted.log_c - log_mean_weight  # ln(C/A)
    density_at_zero = _scaled_density(0.0, tilted.t, log_c_over_a)
    # The density has no upper end: `top`, and the density there, keep their default 0.
    return _ScaledLaw(
        log_mean_weight=log_mean_weight,
        t=tilted.t,
        p_tight=p_tight,
        p_not_tight=p_satisfied,
        density_at_zero=density_at_zero,
    )


def _scaled_law_with_errors(
    mu: Numbers, s2: Numbers, tilted: _TiltedGaussian, ceiling: Numbers, price: Numbers
) -> _ScaledLaw:
    """Compute the distribution of a pattern's correction T, in units of σ', with errors.

    A pattern violates its constraint by v ~ N(μ, s²). With v* = `ceiling`, the largest violation
    that is no error, it is in one of three cases:

        satisfied   v < 0         weight 1             T = 0
        tight       0 < v < v*    weight e^{−v²/2χ}    T = v
        wrong       v > v*        weight e^{−price}    T = 0

    The probability of a case is its mean weight divided by A, the sum of the three mean weights. In
    the tight case the density of v times the weight is C times a Gaussian density of mean tσ' and
    standard deviation σ'; `tilted` has C, t and σ'. So X = T/σ' is 0 for a satisfied or wrong
    pattern, and has the density (C/A) e^{−(x − t)²/2}/√(2π) at 0 < x < v*/σ'.
    """
    s = sqrt(s2)
    scaled_ceiling = ceiling / tilted.sd  # v*/σ'

    # The mean weights of the three cases, as logarithms because they may underflow.
    log_weight_satisfied = log_ndtr(-mu / s)  # ln P(v < 0)
    log_weight_tight = _log_tight_weight(tilted, scaled_ceiling)
    log_weight_wrong = log_ndtr((mu - ceiling) / s) - price  # ln [P(v > v*) e^{−price}]

    # Their sum A, and the probabilities of the cases.
    log_weight_satisfied_or_tight = logaddexp(log_weight_satisfied, log_weight_tight)
    log_mean_weight = logaddexp(log_weight_satisfied_or_tight, log_weight_wrong)  # ln A
    p_satisfied = exp(log_weight_satisfied - log_mean_weight)
    p_tight = exp(log_weight_tight - log_mean_weight)
    p_wrong = exp(log_weight_wrong - log_mean_weight)

    # The density of X at its two ends, 0 and v*/σ'.
    log_c_over_a = tilted.log_c - log_mean_weight  # ln(C/A)
    density_at_zero = _scaled_density(0.0, tilted.t, log_c_over_a)
    density_at_top = _scaled_density(scaled_ceiling, tilted.t, log_c_over_a)
    return _ScaledLaw(
        log_mean_weight=log_mean_weight,
        t=tilted.t,
        p_tight=p_tight,
        p_not_tight=p_satisfied + p_wrong,
        density_at_zero=density_at_zero,
        p_wrong=p_wrong,
        density_at_top=density_at_top,
        top=scaled_ceiling,
    )


def _log_tight_weight(tilted: _TiltedGaussian, scaled_ceiling: Numbers) -> Numbers:
    """ln ∫N(v; μ, s²) e^{−v²/2χ} dv over 0 < v < v*, the weight of tight patterns.

    The integrand is C times a Gaussian of mean tσ' and standard deviation σ' (`tilted`). In units
    of σ' the integral ends at v*/σ', `scaled_ceiling`: it is C [Φ(v*/σ' − t) − Φ(−t)].
    """
    return tilted.log_c + _log_ndtr_between(-tilted.t, scaled_ceiling - tilted.t)


def _scaled_density(x: Numbers, t: Numbers, log_factor: Numbers) -> Numbers:
    """e^{log_factor} times the density at x of a Gaussian of mean t and variance 1."""
    return exp(log_factor - 0.5 * square(x - t) - _LOG_SQRT_2PI)


def _log_ndtr_between(low: Numbers, high: Numbers) -> Numbers:
    """ln[Φ(high) − Φ(low)] for low < high, Φ the normal distribution function.

    Where both are positive it is taken as ln[Φ(−low) − Φ(−high)]: of two numbers near 1 the
    difference would cancel. It is ln(larger) + ln(1 − smaller/larger) in either case.
    """
    in_upper_tail = value_of(low) > 0
    larger = log_ndtr(where(in_upper_tail, -low, high))
    smaller = log_ndtr(where(in_upper_tail, -high, low))
    return larger + log1p(-exp(smaller - larger))


class _Moments(NamedTuple):
    """Of X = T/σ', the correction in units of σ'."""

    mean: Numbers
    variance: Numbers


def _mean_and_variance(law: _ScaledLaw) -> _Moments:
    """Compute mean and variance of X, which is 0 or has a Gaussian density cut off at both ends.

    X is 0 with probability 1 − p₊. On 0 < x < top it has the density n(x) ∝ e^{−(x − t)²/2}, whose
    integral is p₊ (`p_tight`). Then

        E[X] = t p₊ + n(0) − n(top),    Var X = E[(X − a)²] − (E[X − a])²

    for any reference point a, which is chosen so that rounding errors stay small.
    """
    density_drop = law.density_at_zero - law.density_at_top  # n(0) − n(top)
    mean = law.t * law.p_tight + density_drop

    # The two terms of the variance cancel least if a lies where X has most of its probability: at t
    # or at 0. The variance does not depend on a, so a needs no derivatives: `value_of` drops them.
    t_value = value_of(law.t)
    mostly_around_t = (t_value > 0) & (value_of(law.p_tight) > 0.5)
    reference = np.where(mostly_around_t, t_value, 0.0)  # a
    about_reference = _moments_about(reference, law, density_drop)
    variance = about_reference.second - square(about_reference.first)
    return _Moments(mean=mean, variance=variance)


class _MomentsAbout(NamedTuple):
    """First and second moment of X about a reference point a."""

    first: Numbers  # E[X − a]
    second: Numbers  # E[(X − a)²]


def _moments_about(reference: Array, law: _ScaledLaw, density_drop: Numbers) -> _MomentsAbout:
    """Compute E[X − a] and E[(X − a)²] about a reference point a (`reference`).

    X is 0 with probability 1 − p₊ (`p_not_tight`). On 0 < x < top it has the density
    n(x) ∝ e^{−(x − t)²/2}, whose integral is p₊ (`p_tight`). `density_drop` is n(0) − n(top). The
    density contributes

        I₁ = ∫(x − a) n dx  = (t − a) p₊ + n(0) − n(top),
        I₂ = ∫(x − a)² n dx = (t − a) I₁ + p₊ − [a n(0) + (top − a) n(top)].

    In both one factor x − a is written as (t − a) + (x − t), and the part with x − t is integrated
    by parts, because (x − t) n = −dn/dx.
    """
    # The contributions of the density.
    t_from_reference = law.t - reference  # t − a
    top_from_reference = law.top - reference  # top − a
    first_of_density = t_from_reference * law.p_tight + density_drop  # I₁
    edge_terms = reference * law.density_at_zero + top_from_reference * law.density_at_top
    second_of_density = t_from_reference * first_of_density + law.p_tight - edge_terms  # I₂

    # X = 0 adds (0 − a)(1 − p₊) and (0 − a)²(1 − p₊).
    return _MomentsAbout(
        first=first_of_density - reference * law.p_not_tight,
        second=second_of_density + reference**2 * law.p_not_tight,
    )
