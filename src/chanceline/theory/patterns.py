"""The pattern side: the inner integral ∫Dy over one pattern, in closed form and in logarithms.

With H̃(v, χ) = Θ(−v) + Θ(v) exp(−v²/2χ) and v ~ N(μ, s²),

    A(μ) = ∫Dy H̃ = H(μ/s) + C Φ(t),    R_k(μ) = ∫Dy H̃ Θ(v) v^k / A,

where C = √(χ/(χ+s²)) exp(−μ²/2(χ+s²)), m' = μχ/(s²+χ), σ'² = s²χ/(s²+χ), t = m'/σ'. R₀ = p₊ is the
tilted weight of the violated side, that is of the tight constraints. With T = Θ(v)v, R_k = E[T^k]
under the tilted law of v, and

    ∂ ln A/∂μ = −R₁/χ,    ∂R₁/∂μ = p₊ − Var T/χ,    ∂E[f(T)]/∂χ = Cov(f(T), T²)/(2χ²);

A solves the heat equation ∂A/∂s² = ½ ∂²A/∂μ². Where errors are allowed with weight e^{−y} each, a
violation beyond v* = √(2χy) weighs more as an error: H̃ = e^{−y} for v > v*, A gains e^{−y}H((v* −
μ)/s), and T counts 0 < v < v* only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import log_ndtr

from chanceline.theory.quadrature import Array

_LOG_SQRT_2PI = 0.5 * np.log(2 * np.pi)


@dataclass(frozen=True)
class PatternSide:
    """ln A and the law of T tilted by H̃, at each μ; every array has the shape of μ.

    v is by how much a pattern violates its constraint, Gaussian of mean μ and variance s² before
    the tilt. T is what is corrected: v where 0 < v < v*, with weight p₊, and 0 elsewhere. Its
    moments are R_k = E[T^k].
    """

    log_a: Array
    tight: Array  # p₊ = R₀, weight of 0 < v < v*
    loose: Array  # 1 − p₊
    density_at_zero: Array  # e₀, of v at 0⁺: N(0; μ, s²)/A
    mean: Array  # R₁
    variance: Array  # R₂ − R₁²
    third: Array  # third central moment
    fourth: Array  # fourth central moment
    chi: float  # χ: a correction T has the weight e^{−T²/2χ}
    wrong: Array | float = 0.0  # weight of v > v*
    density_at_ceiling: Array | float = 0.0  # e*, of v at v*: e^{−y}N(v*; μ, s²)/A
    ceiling: float = np.inf  # v*, beyond which a violation is an error; ∞ without errors

    @property
    def second(self) -> Array:
        """R₂."""
        return self.variance + self.mean**2

    @property
    def slope(self) -> Array:
        """g' = d ln A/dμ = −R₁/χ."""
        return -self.mean / self.chi

    @property
    def net_tight(self) -> Array:
        """p₊ − v*e*, e* the density of v at v*; it replaces p₊ where errors are allowed.

        It is the mean slope of T as a function of v: 1 where 0 < v < v*, and the fall by v* at v*.
        Hence ∂R₁/∂μ = this − Var T/χ.
        """
        if np.isinf(self.ceiling):
            return self.tight
        return self.tight - self.ceiling * self.density_at_ceiling

    @property
    def curvature(self) -> Array:
        """g'' = (R₂ − R₁²)/χ² − p₊/χ (with errors `net_tight` for p₊)."""
        return self.variance / self.chi**2 - self.net_tight / self.chi


def pattern_side(mu: Array, s2: float, chi: float, ceiling: float = np.inf) -> PatternSide:
    """A(μ) and the moments of T, for v ~ N(μ, s²); violations beyond the ceiling v* are errors.

    v is by how much a pattern violates its constraint, A the mean weight of the pattern: 1 where
    v < 0, e^{−v²/2χ} where the constraint is tight, 0 < v < v*, and e^{−v*²/2χ} beyond. T, what is
    corrected, is v on the tight part and 0 on both others.

    Parameters
    ----------
    mu : array of any shape
        Means μ of v.
    s2, chi
        s² > 0, the variance of v, and χ > 0, the scale of the weight e^{−v²/2χ} of a correction; a
        χ < −s² gives the support side with given signs (`supports`).
    ceiling
        v*, infinite without errors.
    """
    # On the tight part N(v; μ, s²) e^{−v²/2χ} is a Gaussian of this standard deviation, σ'. The law
    # of T is found in units of it.
    tight_sd = np.sqrt(s2 * chi / (s2 + chi))
    law = _unit_law(mu, s2, chi, ceiling)
    moments = _moments(law)
    return PatternSide(
        log_a=law.log_a,
        tight=law.tight,
        loose=law.loose,
        density_at_zero=law.density_at_zero / tight_sd,
        mean=tight_sd * moments.mean,
        variance=tight_sd**2 * moments.variance,
        third=tight_sd**3 * moments.third,
        fourth=tight_sd**4 * moments.fourth,
        chi=chi,
        wrong=law.wrong,
        density_at_ceiling=law.density_at_top / tight_sd,
        ceiling=ceiling,
    )


class _UnitLaw(NamedTuple):
    """The law of X = T/σ': a mass at 0, and a density n(x) ∝ e^{−(x − t)²/2} on 0 < x < top."""

    log_a: Array  # ln A, of the sum of all weights before they are normalised
    t: Array  # the mean of the whole Gaussian, before it is cut at 0 and top
    tight: Array  # p₊ = ∫n dx
    loose: Array  # 1 − p₊, the mass at 0: satisfied or wrong
    wrong: Array | float  # the part of it that is wrong, 0 without errors
    density_at_zero: Array  # n(0)
    density_at_top: Array | float  # n(top), 0 without errors
    top: float  # v*/σ', always finite: without errors, where n(top) = 0, any number will do


def _unit_law(mu: Array, s2: float, chi: float, ceiling: float) -> _UnitLaw:
    """The law of T/σ' from the weights of the three parts; the parameters are as in `pattern_side`.

    With the density N(v; μ, s²) of the violation v, A is the sum of the weights

        satisfied   v < 0         ∫N dv             = Φ(−μ/s),
        tight       0 < v < v*    ∫N e^{−v²/2χ} dv  = C [Φ(v*/σ' − t) − Φ(−t)],
        wrong       v > v*        e^{−y} ∫N dv      = e^{−y} Φ((μ − v*)/s),    y = v*²/2χ,

    because N e^{−v²/2χ} is C times a Gaussian of mean tσ' and standard deviation σ', with

        σ'² = s²χ/(s² + χ),    t = μσ'/s²,    C = √(χ/(s² + χ)) e^{−μ²/2(s² + χ)}.

    Weights are taken in logarithms: each of them may underflow.
    """
    total_variance = s2 + chi
    t = mu * np.sqrt(chi / (s2 * total_variance))
    log_c = 0.5 * np.log(chi / total_variance) - mu**2 / (2 * total_variance)
    log_satisfied = log_ndtr(-mu / np.sqrt(s2))
    if np.isinf(ceiling):
        log_tight = log_c + log_ndtr(t)
        log_a = np.logaddexp(log_satisfied, log_tight)
        top = 0.0  # any finite number: it is only multiplied with the density there, which is 0
        density_at_top: Array | float = 0.0
        wrong: Array | float = 0.0
    else:
        top = ceiling / np.sqrt(s2 * chi / total_variance)  # v*/σ'
        log_tight = log_c + _log_ndtr_between(-t, top - t)
        log_wrong = log_ndtr((mu - ceiling) / np.sqrt(s2)) - ceiling**2 / (2 * chi)
        log_a = np.logaddexp(np.logaddexp(log_satisfied, log_tight), log_wrong)
        # n(x) is C times the normal density of x − t, over A.
        density_at_top = np.exp(log_c - 0.5 * (top - t) ** 2 - _LOG_SQRT_2PI - log_a)
        wrong = np.exp(log_wrong - log_a)
    return _UnitLaw(
        log_a=log_a,
        t=t,
        tight=np.exp(log_tight - log_a),
        loose=np.exp(log_satisfied - log_a) + wrong,
        wrong=wrong,
        density_at_zero=np.exp(log_c - 0.5 * t**2 - _LOG_SQRT_2PI - log_a),
        density_at_top=density_at_top,
        top=top,
    )


def _log_ndtr_between(low: Array, high: Array) -> Array:
    """ln[Φ(high) − Φ(low)] for low < high, Φ the normal distribution function.

    Where both are positive it is taken as ln[Φ(−low) − Φ(−high)]: of two numbers near 1 the
    difference would cancel. It is ln(larger) + ln(1 − smaller/larger) in either case.
    """
    in_upper_tail = low > 0
    larger = log_ndtr(np.where(in_upper_tail, -low, high))
    smaller = log_ndtr(np.where(in_upper_tail, -high, low))
    return larger + np.log1p(-np.exp(smaller - larger))


class _Moments(NamedTuple):
    """Mean and central moments."""

    mean: Array
    variance: Array
    third: Array
    fourth: Array


def _moments(law: _UnitLaw) -> _Moments:
    """Mean and central moments of X, from its moments m_k = E[(X − a)^k] about a point a.

    X has the mass 1 − p₊ (`law.loose`) at 0 and, on 0 < x < top, a density n(x) ∝ e^{−(x − t)²/2}
    of weight p₊ (`law.tight`). Little cancels if a is where X mostly lies: at t where that is
    positive and most of the mass is tight, else at 0.
    """
    t = law.t
    mostly_around_t = (t > 0) & (law.tight > 0.5)
    a = np.where(mostly_around_t, t, 0.0)
    zero_powers = {1: -a, 2: a**2, 3: -(a**3), 4: a**4}  # (0 − a)^k
    D = _density_moments(law, a, zero_powers)

    # The mass at 0 adds its own part: m_k = D_k + (0 − a)^k (1 − p₊).
    m_1, m_2, m_3, m_4 = (D[k] + zero_powers[k] * law.loose for k in (1, 2, 3, 4))
    # The central moments follow from those about a. The mean is D₁ at a = 0.
    return _Moments(
        mean=t * law.tight + (law.density_at_zero - law.density_at_top),
        variance=m_2 - m_1**2,
        third=m_3 - 3 * m_1 * m_2 + 2 * m_1**3,
        fourth=m_4 - 4 * m_1 * m_3 + 6 * m_1**2 * m_2 - 3 * m_1**4,
    )


def _density_moments(law: _UnitLaw, a: Array, zero_powers: dict[int, Array]) -> list[Array]:
    """D₀ … D₄, the moments D_k = ∫(x − a)^k n dx about a of the density n(x) on 0 < x < top.

    n ∝ e^{−(x − t)²/2} has the slope n' = −(x − t) n, so that (x − a) n = (t − a) n − n'. Times
    (x − a)^{k−1} and integrated, the last term by parts, this is

        D_k = (t − a) D_{k−1} + (k − 1) D_{k−2} + (0 − a)^{k−1} n(0) − (top − a)^{k−1} n(top).

    `law` has t, top, n(0), n(top) and D₀ = `law.tight`; `zero_powers` are (0 − a)^k by k.
    """
    n_0 = law.density_at_zero
    n_top = law.density_at_top
    t_from_a = law.t - a
    top_from_a = law.top - a  # finite, also where the density has no end and n(top) is 0
    D = [law.tight, t_from_a * law.tight + (n_0 - n_top)]
    for k in (2, 3, 4):
        inner_terms = t_from_a * D[k - 1] + (k - 1) * D[k - 2]
        D.append(inner_terms + zero_powers[k - 1] * n_0 - top_from_a ** (k - 1) * n_top)
    return D
