"""The pattern side: the inner integral ∫Dy over one pattern, in closed form and in logarithms.

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

_LOG_SQRT_2PI = 0.5 * float(np.log(2 * np.pi))


class PatternSide(NamedTuple):
    """ln A and the law of T tilted by H̃, at each μ; every field but χ and v* has the shape of μ.

    v is by how much a pattern violates its constraint, Gaussian of mean μ and variance s² before
    the tilt. T is what is corrected: v where 0 < v < v*, with weight p₊, and 0 elsewhere. Its
    moments are R_k = E[T^k].
    """

    log_a: Numbers  # g = ln A, A(μ) the mean weight of a pattern
    tight: Numbers  # p₊ = R₀, weight of 0 < v < v*
    loose: Numbers  # 1 − p₊
    mean: Numbers  # R₁
    variance: Numbers  # R₂ − R₁²
    chi: Numbers  # χ: a correction T has the weight e^{−T²/2χ}
    wrong: Numbers = 0.0  # weight of v > v*
    ceiling: Numbers = np.inf  # v*, beyond which a violation is an error; ∞ without errors
    # v*e*, with the density e* of v at v*, e^{−y}N(v*; μ, s²)/A; 0 without errors.
    ceiling_density: Numbers = 0.0

    @property
    def second(self) -> Numbers:
        """R₂ = E[T²], the second moment of the correction T."""
        return self.variance + square(self.mean)

    @property
    def slope(self) -> Numbers:
        """g' = d ln A/dμ = −R₁/χ: R₁ is the mean correction, χ the scale of its weight."""
        return -self.mean / self.chi

    @property
    def net_tight(self) -> Numbers:
        """p₊ − v*e*, e* the density of v at v*; it replaces p₊ where errors are allowed.

        It is the mean slope of the correction T as a function of the violation v: 1 where
        0 < v < v*, with weight p₊, and at v* the fall from v* to 0. The mean R₁ = E[T] therefore
        has the slope ∂R₁/∂μ = this − Var T/χ, where the second term comes from the tilt e^{−T²/2χ}.
        """
        if np.isinf(value_of(self.ceiling)):
            return self.tight
        return self.tight - self.ceiling_density

    @property
    def curvature(self) -> Numbers:
        """g'' = (R₂ − R₁²)/χ² − p₊/χ, the slope of g' = −R₁/χ.

        With errors `net_tight` stands for p₊.
        """
        return self.variance / square(self.chi) - self.net_tight / self.chi

    def without_differentials(self) -> PatternSide:
        """The same numbers and arrays, none of them a Dual."""
        return PatternSide._make(map(value_of, self))


def pattern_side(mu: Numbers, s2: Numbers, chi: Numbers, ceiling: Numbers = np.inf) -> PatternSide:
    """The mean weight A(μ) of one pattern, and the law of T, what is corrected of its violation v.

    The constraint of a pattern is that a rule classifies it right, with its margin. It is violated
    by v ~ N(μ, s²), how far the pattern lies on the wrong side; v < 0 means that it is satisfied.
    There are three cases, and v has another weight in each:

        satisfied   v < 0         weight 1              T = 0, nothing is corrected,
        tight       0 < v < v*    weight e^{−v²/2χ}     T = v, all of it is corrected,
        wrong       v > v*        weight e^{−v*²/2χ}    T = 0, the pattern is left as an error.

    A(μ) is the mean of the weight over v. The law of T is that of v times its weight, over A.

    Parameters
    ----------
    mu : array of any shape
        Means μ of v.
    s2
        s² > 0, the variance of v.
    chi
        χ > 0, the scale of a correction. A χ < −s² gives the variables with weights of given sign
        (`supports`), for which the formulas hold, too.
    ceiling
        v*, the largest violation that is corrected; infinite where no errors are allowed.
    """
    # The law of X = T/σ' is found first, σ' the standard deviation of the Gaussian of tight v.
    tilted = _tilted_gaussian(mu, s2, chi)
    if np.isinf(value_of(ceiling)):
        law = _unit_law_without_errors(mu, s2, tilted)
    else:
        price = square(ceiling) / (2 * chi)  # an error weighs e^{−price}
        law = _unit_law_with_errors(mu, s2, tilted, ceiling, price=price)
    unit_moments = _mean_and_variance(law)
    return PatternSide(
        log_a=law.log_a,
        tight=law.tight,
        loose=law.loose,
        mean=tilted.sd * unit_moments.mean,
        variance=tilted.variance * unit_moments.variance,
        chi=chi,
        wrong=law.wrong,
        ceiling=ceiling,
        # v*e*: a length times a density has the same value in any unit of length.
        ceiling_density=law.top * law.density_at_top,
    )


class _TiltedGaussian(NamedTuple):
    """N(v; μ, s²) e^{−v²/2χ}, which is C times the Gaussian of mean tσ' and variance σ'²."""

    variance: Numbers  # σ'²
    sd: Numbers  # σ'
    t: Numbers
    log_c: Numbers  # ln C


def _tilted_gaussian(mu: Numbers, s2: Numbers, chi: Numbers) -> _TiltedGaussian:
    """The Gaussian N(v; μ, s²) times e^{−v²/2χ}: C times the Gaussian of mean tσ' and variance σ'².

    Completing the square in v gives

        σ'² = s²/(1 + r),    t = μσ'/s²,    C = e^{−rt²/2}/√(1 + r),    r = s²/χ.
    """
    r = s2 / chi
    variance = s2 / (1 + r)
    sd = sqrt(variance)
    t = mu * (sd / s2)
    log_c = -0.5 * (log1p(r) + r * square(t))
    return _TiltedGaussian(variance=variance, sd=sd, t=t, log_c=log_c)


class _UnitLaw(NamedTuple):
    """The law of X = T/σ': a mass at 0, and a density n(x) ∝ e^{−(x − t)²/2} on 0 < x < top.

    T is what is corrected of a violation v, and σ' the standard deviation of v where it is.
    """

    log_a: Numbers  # ln A, of the sum of all weights before they are normalised
    t: Numbers  # the mean of the whole Gaussian, before it is cut at 0 and top
    tight: Numbers  # p₊ = ∫n dx
    loose: Numbers  # 1 − p₊, the mass at 0: satisfied or wrong
    density_at_zero: Numbers  # n(0)
    wrong: Numbers = 0.0  # the part of the mass at 0 that is wrong, 0 without errors
    density_at_top: Numbers = 0.0  # n(top), 0 without errors
    top: Numbers = 0.0  # v*/σ'; without errors, where n(top) = 0, any finite number will do


class _LogWeights(NamedTuple):
    """Logarithms of the weights of the two parts of A without errors: each may underflow."""

    satisfied: Numbers  # of v < 0
    tight: Numbers  # of v > 0, which is corrected


def _log_weights(mu: Numbers, s2: Numbers, tilted: _TiltedGaussian) -> _LogWeights:
    """The weights of a satisfied and of a tight constraint; μ and s² are as in `pattern_side`.

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

    It weighs 1 where v < 0 and e^{−v²/2χ} where v > 0. `pattern_side` has the moments of v, too.
    """
    log_weights = _log_weights(mu, s2, _tilted_gaussian(mu, s2, chi))
    return logaddexp(log_weights.satisfied, log_weights.tight)


def _unit_law_without_errors(mu: Numbers, s2: Numbers, tilted: _TiltedGaussian) -> _UnitLaw:
    """The law of X = T/σ' where no errors are allowed: T is the violation v if v > 0, else 0.

    v ~ N(μ, s²). The pattern is satisfied (v < 0, X = 0) or tight (v > 0, X = v/σ'). The weights of
    both cases are those of `_log_weights`, and A is their sum. Divided by A they are probabilities.
    Logarithms are subtracted instead, as each weight may underflow. `tilted` is the Gaussian of
    tight v, in units of its standard deviation σ'.
    """
    log_weights = _log_weights(mu, s2, tilted)
    log_a = logaddexp(log_weights.satisfied, log_weights.tight)
    return _UnitLaw(
        log_a=log_a,
        t=tilted.t,
        tight=exp(log_weights.tight - log_a),
        loose=exp(log_weights.satisfied - log_a),
        density_at_zero=_unit_density(0.0, tilted.t, tilted.log_c - log_a),
    )


def _unit_law_with_errors(
    mu: Numbers, s2: Numbers, tilted: _TiltedGaussian, ceiling: Numbers, price: Numbers
) -> _UnitLaw:
    """The law of X = T/σ' where violations above the ceiling v* are left as errors.

    T is the violation v ~ N(μ, s²) where 0 < v < v*, and 0 elsewhere. With the Gaussian density N
    of v and the normal distribution function Φ, the three cases have the weights

        satisfied   v < 0         ∫N dv             = Φ(−μ/s),
        tight       0 < v < v*    ∫N e^{−v²/2χ} dv  = C [Φ(v*/σ' − t) − Φ(−t)],
        wrong       v > v*        e^{−y} ∫N dv      = e^{−y} Φ((μ − v*)/s).

    The second holds because N e^{−v²/2χ} is C times a Gaussian of mean tσ' and standard deviation
    σ' (`tilted`). y = v*²/2χ is the price of an error (`price`). A is the sum of the three, by
    which each is divided. All is done in logarithms, as each weight may underflow.
    """
    t = tilted.t
    s = sqrt(s2)
    top = ceiling / tilted.sd  # v*/σ'
    log_satisfied = log_ndtr(-mu / s)
    log_tight = tilted.log_c + _log_ndtr_between(-t, top - t)
    log_wrong = log_ndtr((mu - ceiling) / s) - price
    log_a = logaddexp(logaddexp(log_satisfied, log_tight), log_wrong)

    p_satisfied = exp(log_satisfied - log_a)
    p_wrong = exp(log_wrong - log_a)
    log_density_factor = tilted.log_c - log_a  # the density of X is C/A times a normal density
    return _UnitLaw(
        log_a=log_a,
        t=t,
        tight=exp(log_tight - log_a),
        loose=p_satisfied + p_wrong,
        density_at_zero=_unit_density(0.0, t, log_density_factor),
        wrong=p_wrong,
        density_at_top=_unit_density(top, t, log_density_factor),
        top=top,
    )


def _unit_density(x: Numbers, t: Numbers, log_factor: Numbers) -> Numbers:
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


def _mean_and_variance(law: _UnitLaw) -> _Moments:
    """Mean and variance of X, which is 0 with probability 1 − p₊, else has a density on (0, top).

    The density is that of a Gaussian of mean t and variance 1, cut at 0 and top:
    n(x) ∝ e^{−(x − t)²/2}, with ∫n dx = p₊ (`law.tight`; 1 − p₊ is `law.loose`).

    Its moments D_k = ∫(x − a)^k n dx about a point a follow from n' = −(x − t) n, that is
    (x − a) n = (t − a) n − n'. Integrated as it is, and times (x − a) by parts, this gives

        D₁ = (t − a) p₊ + n(0) − n(top),
        D₂ = (t − a) D₁ + p₊ − a n(0) − (top − a) n(top).

    The mass 1 − p₊ at x = 0 adds (0 − a)^k (1 − p₊) to the moment k of X.
    """
    density_difference = law.density_at_zero - law.density_at_top  # n(0) − n(top)
    mean = law.t * law.tight + density_difference  # D₁ about a = 0

    # The variance is the same for any a. Little cancels if a is where X mostly lies: around t, or
    # at 0. It is a plain number, not differentiated.
    t = value_of(law.t)
    mostly_around_t = (t > 0) & (value_of(law.tight) > 0.5)
    a = np.where(mostly_around_t, t, 0.0)

    t_from_a = law.t - a
    D_1 = t_from_a * law.tight + density_difference
    edge_terms = a * law.density_at_zero + (law.top - a) * law.density_at_top
    D_2 = t_from_a * D_1 + law.tight - edge_terms
    first_moment = D_1 - a * law.loose  # of X about a
    second_moment = D_2 + a**2 * law.loose
    return _Moments(mean=mean, variance=second_moment - square(first_moment))
