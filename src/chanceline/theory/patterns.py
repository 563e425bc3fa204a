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

    T is v where 0 < v < v*, with weight p₊, and 0 elsewhere; its moments are R_k = E[T^k].
    """

    log_a: Array
    tight: Array  # p₊ = R₀, weight of 0 < v < v*
    loose: Array  # 1 − p₊
    edge: Array  # density of v at 0⁺: N(0; μ, s²)/A
    mean: Array  # R₁
    variance: Array  # R₂ − R₁²
    third: Array  # third central moment
    fourth: Array  # fourth central moment
    chi: float
    wrong: Array | float = 0.0  # weight of v > v*
    far_edge: Array | float = 0.0  # density of v at v*: e^{−y}N(v*; μ, s²)/A
    ceiling: float = np.inf  # v*

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
        """p₊ − v*·(density at v*), which takes the place of p₊ where errors are allowed.

        ∂R₁/∂μ = this − Var T/χ.
        """
        if np.isinf(self.ceiling):
            return self.tight
        return self.tight - self.ceiling * self.far_edge

    @property
    def curvature(self) -> Array:
        """g'' = (R₂ − R₁²)/χ² − p₊/χ (with errors `net_tight` for p₊)."""
        return self.variance / self.chi**2 - self.net_tight / self.chi


def pattern_side(mu: Array, s2: float, chi: float, ceiling: float = np.inf) -> PatternSide:
    """A(μ) and the moments of T, for v ~ N(μ, s²); violations beyond the ceiling v* are errors.

    A is the sum of three weights, each an integral over the density N(v; μ, s²):

        satisfied   v < 0         ∫N dv             = Φ(−μ/s),
        tight       0 < v < v*    ∫N e^{−v²/2χ} dv  = C [Φ(v*/σ' − t) − Φ(−t)],
        wrong       v > v*        e^{−y} ∫N dv      = e^{−y} Φ((μ − v*)/s),    y = v*²/2χ,

    because N e^{−v²/2χ} is C times a Gaussian of mean tσ' and standard deviation σ', with

        σ'² = s²χ/(s² + χ),    t = μσ'/s²,    C = √(χ/(s² + χ)) e^{−μ²/2(s² + χ)}.

    T is v where the constraint is tight, and 0 on both other parts.

    Parameters
    ----------
    mu : array of any shape
        Means μ of v.
    s2, chi
        s² > 0, and χ > 0; a χ < −s² gives the support side with given signs (`supports`).
    ceiling
        v*, infinite without errors.
    """
    total = s2 + chi
    sd = np.sqrt(s2 * chi / total)  # σ'
    t = mu * np.sqrt(chi / (s2 * total))
    log_c = 0.5 * np.log(chi / total) - mu**2 / (2 * total)

    log_satisfied = log_ndtr(-mu / np.sqrt(s2))
    if np.isinf(ceiling):
        log_tight = log_c + log_ndtr(t)
        log_a = np.logaddexp(log_satisfied, log_tight)
        top = 0.0  # any number: no density is left there
        far: Array | float = 0.0
        wrong: Array | float = 0.0
    else:
        top = ceiling / sd
        log_tight = log_c + _log_ndtr_between(-t, top - t)
        log_wrong = log_ndtr((mu - ceiling) / np.sqrt(s2)) - ceiling**2 / (2 * chi)
        log_a = np.logaddexp(np.logaddexp(log_satisfied, log_tight), log_wrong)
        far = np.exp(log_c - 0.5 * (top - t) ** 2 - _LOG_SQRT_2PI - log_a)
        wrong = np.exp(log_wrong - log_a)

    # The law of T/σ', and back to the units of v.
    law = _UnitLaw(
        t=t,
        tight=np.exp(log_tight - log_a),
        loose=np.exp(log_satisfied - log_a) + wrong,
        edge=np.exp(log_c - 0.5 * t**2 - _LOG_SQRT_2PI - log_a),
        far=far,
        top=top,
    )
    moments = _moments(law)
    return PatternSide(
        log_a=log_a,
        tight=law.tight,
        loose=law.loose,
        edge=law.edge / sd,
        mean=sd * moments.mean,
        variance=sd**2 * moments.variance,
        third=sd**3 * moments.third,
        fourth=sd**4 * moments.fourth,
        chi=chi,
        wrong=wrong,
        far_edge=far / sd,
        ceiling=ceiling,
    )


def _log_ndtr_between(low: Array, high: Array) -> Array:
    """ln[Φ(high) − Φ(low)], taken in the tail where both lie."""
    in_upper_tail = low > 0
    larger = log_ndtr(np.where(in_upper_tail, -low, high))
    smaller = log_ndtr(np.where(in_upper_tail, -high, low))
    return larger + np.log1p(-np.exp(smaller - larger))


class _UnitLaw(NamedTuple):
    """The law of X = T/σ': a mass at 0, and a density n(x) ∝ e^{−(x − t)²/2} on 0 < x < top."""

    t: Array
    tight: Array  # p₊ = ∫n dx
    loose: Array  # 1 − p₊, the mass at 0
    edge: Array  # n(0)
    far: Array | float  # n(top), 0 without errors
    top: float


class _Moments(NamedTuple):
    """Mean and central moments."""

    mean: Array
    variance: Array
    third: Array
    fourth: Array


def _moments(law: _UnitLaw) -> _Moments:
    """Mean and central moments of X, from its moments m_k = E[(X − a)^k] about a point a.

    The mass at 0 has the part (−a)^k (1 − p₊) in m_k. The density's part, D_k = ∫(x − a)^k n dx,
    follows by parts from n' = −(x − t) n: D₀ = p₊ and

        D_k = (t − a) D_{k−1} + (k − 1) D_{k−2} + (−a)^{k−1} n(0) − (top − a)^{k−1} n(top).

    Little cancels if a is where X mostly lies: at t where that is positive and most of the mass is
    tight, else at 0.
    """
    t, tight, loose, edge, far, top = law
    a = np.where((t > 0) & (tight > 0.5), t, 0.0)
    shift = t - a

    d_1 = shift * tight + (edge - far)
    d_2 = shift * d_1 + tight - a * edge - (top - a) * far
    d_3 = shift * d_2 + 2 * d_1 + a**2 * edge - (top - a) ** 2 * far
    d_4 = shift * d_3 + 3 * d_2 - a**3 * edge - (top - a) ** 3 * far

    m_1 = d_1 - a * loose
    m_2 = d_2 + a**2 * loose
    m_3 = d_3 - a**3 * loose
    m_4 = d_4 + a**4 * loose
    return _Moments(
        mean=t * tight + (edge - far),
        variance=m_2 - m_1**2,
        third=m_3 - 3 * m_1 * m_2 + 2 * m_1**3,
        fourth=m_4 - 4 * m_1 * m_3 + 6 * m_1**2 * m_2 - 3 * m_1**4,
    )
