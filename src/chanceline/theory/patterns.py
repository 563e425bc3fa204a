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

    Parameters
    ----------
    mu : array of any shape
        Means μ of v.
    s2, chi
        s² and χ. A negative χ gives the support side with given signs (`supports`).
    ceiling
        v*, infinite without errors.
    """
    # On the violated side the tilted law of v is a Gaussian of mean t·sd and standard deviation sd.
    total = s2 + chi
    sd = np.sqrt(s2 * chi / total)
    t = mu * np.sqrt(chi / (s2 * total))
    log_c = 0.5 * np.log(chi / total) - mu**2 / (2 * total)

    # Weights of v < 0, of 0 < v < v* and of v > v*, and their sum A; densities are in units of
    # 1/sd.
    log_loose = log_ndtr(-mu / np.sqrt(s2))
    wrong: Array | float = 0.0
    far: Array | float = 0.0  # density of v at v*
    top = 0.0  # v* in units of sd, where there is one
    if np.isinf(ceiling):
        log_tight = log_c + log_ndtr(t)
        log_a = np.logaddexp(log_loose, log_tight)
    else:
        top = ceiling / sd
        log_tight = log_c + _log_ndtr_between(-t, top - t)
        log_wrong = log_ndtr((mu - ceiling) / np.sqrt(s2)) - ceiling**2 / (2 * chi)
        log_a = np.logaddexp(np.logaddexp(log_loose, log_tight), log_wrong)
        wrong = np.exp(log_wrong - log_a)
        far = np.exp(log_c - 0.5 * (top - t) ** 2 - _LOG_SQRT_2PI - log_a)
    tight = np.exp(log_tight - log_a)
    loose = np.exp(log_loose - log_a) + wrong
    edge = np.exp(log_c - 0.5 * t**2 - _LOG_SQRT_2PI - log_a)

    moments = _moments(_UnitLaw(t=t, tight=tight, loose=loose, edge=edge, far=far, top=top))
    return PatternSide(
        log_a=log_a,
        tight=tight,
        loose=loose,
        edge=edge / sd,
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
    """The tilted law of T in units of sd: N(t, 1) on 0 < x < top with weight p₊, else 0."""

    t: Array
    tight: Array  # p₊
    loose: Array  # 1 − p₊
    edge: Array  # density at x = 0
    far: Array | float  # density at x = top, 0 without errors
    top: float


class _Moments(NamedTuple):
    """Mean and central moments of T."""

    mean: Array
    variance: Array
    third: Array
    fourth: Array


def _moments(law: _UnitLaw) -> _Moments:
    """Mean and central moments of T, without cancellation on either side.

    They come from moments about 0 where T is mostly 0 (t ≤ 0), and from moments about the
    Gaussian's own mean t where T mostly is that Gaussian (t > 0). Integration by parts leaves x^k
    times the density at the upper end, `far_k`.
    """
    t, tight, loose, edge, far, top = law
    far_1 = top * far
    far_2 = top**2 * far
    far_3 = top**3 * far
    ends = edge - far
    mean = t * tight + ends
    variance = tight * (1 + t**2 * loose) + t * ends * (loose - tight) - ends**2 - far_1

    # Moments about 0.
    raw_second = t * mean + tight - far_1
    raw_third = (t**2 + 2) * mean + t * (tight - far_1) - far_2
    raw_fourth = t * raw_third + 3 * raw_second - far_3

    # Moments about t; `inner` is ∫(x − t)² over 0 < x < top.
    inner = tight - t * ends - far_1
    about_t_first = ends - t * loose
    about_t_second = inner + t**2 * loose
    about_t_third = ends * (2 + t**2) + 2 * t * far_1 - far_2 - t**3 * loose
    about_t_fourth = 3 * inner - t**3 * ends - 3 * t * (t * far_1 - far_2) - far_3 + t**4 * loose

    third = np.where(
        t > 0,
        _third_central(about_t_first, about_t_second, about_t_third),
        _third_central(mean, raw_second, raw_third),
    )
    fourth = np.where(
        t > 0,
        _fourth_central(about_t_first, about_t_second, about_t_third, about_t_fourth),
        _fourth_central(mean, raw_second, raw_third, raw_fourth),
    )
    return _Moments(mean, variance, third, fourth)


def _third_central(first: Array, second: Array, third: Array) -> Array:
    """Third central moment from the first three moments about any point."""
    return third - 3 * first * second + 2 * first**3


def _fourth_central(first: Array, second: Array, third: Array, fourth: Array) -> Array:
    """Fourth central moment from the first four moments about any point."""
    return fourth - 4 * first * third + 6 * first**2 * second - 3 * first**4
