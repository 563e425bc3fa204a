"""The inner integrals ∫Dy of the rescaled equations (above the Cover–Gardner load), in closed form and in logarithms.

Pattern side. With H̃(v, χ) = Θ(−v) + Θ(v) exp(−v²/2χ) and v ~ N(μ, s²),

    A(μ) = ∫Dy H̃ = H(μ/s) + C Φ(t),    R_k(μ) = ∫Dy H̃ Θ(v) v^k / A,

where C = √(χ/(χ+s²)) exp(−μ²/2(χ+s²)), m' = μχ/(s²+χ), σ'² = s²χ/(s²+χ), t = m'/σ'. R₀ = p₊ is the tilted weight of the
violated side, that is of the tight constraints. With T = Θ(v)v, R_k = E[T^k] under the tilted law of v, and

    ∂ ln A/∂μ = −R₁/χ,    ∂R₁/∂μ = p₊ − Var T/χ,    ∂E[f(T)]/∂χ = Cov(f(T), T²)/(2χ²);

A solves the heat equation ∂A/∂s² = ½ ∂²A/∂μ². Where errors are allowed with weight e^{−y} each, a violation beyond
v* = √(2χy) weighs more as an error: H̃ = e^{−y} for v > v*, A gains e^{−y}H((v* − μ)/s), and T counts 0 < v < v* only.

Support side. With h ~ N(u, V) and d = E − V > 0,

    B(u) = ∫Dy exp(h²/2E) = √(E/d) exp(u²/2d),    p(u) = e^{−K}B/(1 + e^{−K}B),

the tilted mean of h is uE/d and its tilted variance VE/d; f = ln(1 + e^{−K}B) has f' = p u/d.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, log_ndtr

from chanceline.theory.quadrature import Array

_LOG_SQRT_2PI = 0.5 * np.log(2 * np.pi)


@dataclass(frozen=True)
class PatternSide:
    """ln A and the law of T tilted by H̃, at each μ.

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
        """p₊ − v*·(density at v*), which takes the place of p₊ where errors are allowed: ∂R₁/∂μ = this − Var T/χ."""
        return self.tight - self.ceiling * self.far_edge if np.isfinite(self.ceiling) else self.tight

    @property
    def curvature(self) -> Array:
        """g'' = (R₂ − R₁²)/χ² − p₊/χ (with errors `net_tight` for p₊)."""
        return self.variance / self.chi**2 - self.net_tight / self.chi


def pattern_side(mu: Array, s2: float, chi: float, ceiling: float = np.inf) -> PatternSide:
    """A(μ) and the moments of T, for v ~ N(μ, s²); violations beyond the ceiling v* are errors."""
    total = s2 + chi
    sd = np.sqrt(s2 * chi / total)
    t = mu * np.sqrt(chi / (s2 * total))
    log_c = 0.5 * np.log(chi / total) - mu**2 / (2 * total)
    log_loose = log_ndtr(-mu / np.sqrt(s2))
    if np.isfinite(ceiling):
        top = ceiling / sd
        log_tight = log_c + _log_ndtr_between(-t, top - t)
        log_wrong = log_ndtr((mu - ceiling) / np.sqrt(s2)) - ceiling**2 / (2 * chi)
        log_a = np.logaddexp(np.logaddexp(log_loose, log_tight), log_wrong)
        wrong = np.exp(log_wrong - log_a)
        far = np.exp(log_c - 0.5 * (top - t) ** 2 - _LOG_SQRT_2PI - log_a)  # times sd
        fars = [far, top * far, top**2 * far, top**3 * far]
    else:
        log_tight = log_c + log_ndtr(t)
        log_a = np.logaddexp(log_loose, log_tight)
        wrong, fars = 0.0, [0.0, 0.0, 0.0, 0.0]
    tight, loose = np.exp(log_tight - log_a), np.exp(log_loose - log_a) + wrong
    edge = np.exp(log_c - 0.5 * t**2 - _LOG_SQRT_2PI - log_a)  # times sd
    ends = edge - fars[0]
    mean = t * tight + ends
    variance = tight * (1 + t**2 * loose) + t * ends * (loose - tight) - ends**2 - fars[1]
    # In units of sd: moments about 0 where T is mostly 0, and about the Gaussian's own mean t where it mostly is that Gaussian.
    second, raw_third = t * mean + tight - fars[1], (t**2 + 2) * mean + t * (tight - fars[1]) - fars[2]
    raw_fourth = t * raw_third + 3 * second - fars[3]
    e = ends - t * loose
    inner = tight - t * ends - fars[1]  # ∫(x − t)² over 0 < x < top
    near_second = inner + t**2 * loose
    near_third = ends * (2 + t**2) + 2 * t * fars[1] - fars[2] - t**3 * loose
    near_fourth = 3 * inner - t**3 * ends - 3 * t * (t * fars[1] - fars[2]) - fars[3] + t**4 * loose
    third = np.where(t > 0, near_third - 3 * e * near_second + 2 * e**3, raw_third - 3 * mean * second + 2 * mean**3)
    fourth = np.where(
        t > 0,
        near_fourth - 4 * e * near_third + 6 * e**2 * near_second - 3 * e**4,
        raw_fourth - 4 * mean * raw_third + 6 * mean**2 * second - 3 * mean**4,
    )
    return PatternSide(
        log_a,
        tight,
        loose,
        edge / sd,
        sd * mean,
        sd**2 * variance,
        sd**3 * third,
        sd**4 * fourth,
        chi,
        wrong,
        fars[0] / sd,
        ceiling,
    )


def _log_ndtr_between(low: Array, high: Array) -> Array:
    """ln[Φ(high) − Φ(low)], taken in the tail where both lie."""
    flip = low > 0
    upper, lower = log_ndtr(np.where(flip, -low, high)), log_ndtr(np.where(flip, -high, low))
    return upper + np.log1p(-np.exp(lower - upper))


@dataclass(frozen=True)
class SupportSide:
    """f = ln(1 + e^{−K}B), p, 1 − p and the tilted slope u/d at each u."""

    log_one_plus: Array
    chosen: Array
    rejected: Array
    u: Array
    d: float
    e: float

    @property
    def slope(self) -> Array:
        """f' = p u/d."""
        return self.chosen * self.u / self.d

    @property
    def curvature(self) -> Array:
        """f'' = p/d + p(1 − p) u²/d²."""
        return self.chosen / self.d + self.chosen * self.rejected * (self.u / self.d) ** 2

    @property
    def second_moment(self) -> Array:
        """p ⟨h²⟩/E² = p (u²/d² + V/(E d))."""
        return self.chosen * ((self.u / self.d) ** 2 + (self.e - self.d) / (self.e * self.d))


def support_side(u: Array, e: float, d: float, k: float) -> SupportSide:
    """B(u) = √(E/d) exp(u²/2d) against e^K."""
    log_odds = 0.5 * np.log(e / d) + u**2 / (2 * d) - k
    return SupportSide(np.logaddexp(0.0, log_odds), expit(log_odds), expit(-log_odds), u, d, e)
