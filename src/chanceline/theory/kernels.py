"""The inner integrals ∫Dy of the rescaled equations (α > 2ρ), in closed form and in logarithms.

Pattern side. With H̃(v, χ) = Θ(−v) + Θ(v) exp(−v²/2χ) and v ~ N(μ, s²),

    A(μ) = ∫Dy H̃ = H(μ/s) + C Φ(t),    R_k(μ) = ∫Dy H̃ Θ(v) v^k / A,

where C = √(χ/(χ+s²)) exp(−μ²/2(χ+s²)), m' = μχ/(s²+χ), σ'² = s²χ/(s²+χ), t = m'/σ'. R₀ = p₊ is the tilted weight of the
violated side, that is of the tight constraints. A solves the heat equation ∂A/∂s² = ½ ∂²A/∂μ², and

    A' = −A R₁/χ,    (A R_k)' = A (k R_{k−1} − R_{k+1}/χ)   for k ≥ 1,    ∂(A R_k)/∂χ = A R_{k+2}/(2χ²).

Support side. With h ~ N(u, V) and d = E − V > 0,

    B(u) = ∫Dy exp(h²/2E) = √(E/d) exp(u²/2d),    p(u) = e^{−K}B/(1 + e^{−K}B),

the tilted mean of h is uE/d and its tilted variance VE/d; f = ln(1 + e^{−K}B) has f' = p u/d.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_ndtr, logit

Array = NDArray[np.float64]
_LOG_SQRT_2PI = 0.5 * np.log(2 * np.pi)


@dataclass(frozen=True)
class PatternSide:
    """ln A and the tilted moments R_0 … R_order at each μ."""

    log_a: Array
    moments: tuple[Array, ...]
    chi: float

    @property
    def tight(self) -> Array:
        """p₊ = R₀."""
        return self.moments[0]

    @property
    def slope(self) -> Array:
        """g' = d ln A/dμ = −R₁/χ."""
        return -self.moments[1] / self.chi

    @property
    def curvature(self) -> Array:
        """g'' = R₂/χ² − p₊/χ − (R₁/χ)²."""
        p, r1, r2 = self.moments[:3]
        return r2 / self.chi**2 - p / self.chi - (r1 / self.chi) ** 2


def pattern_side(mu: Array, s2: float, chi: float, order: int = 2) -> PatternSide:
    """A(μ) and its moments up to v^order, for v ~ N(μ, s²)."""
    total = s2 + chi
    sd = np.sqrt(s2 * chi / total)
    t = mu * np.sqrt(chi / (s2 * total))
    log_c = 0.5 * np.log(chi / total) - mu**2 / (2 * total)
    log_tight = log_c + log_ndtr(t)
    log_a = np.logaddexp(log_ndtr(-mu / np.sqrt(s2)), log_tight)
    moments = [np.exp(log_tight - log_a)]
    if order >= 1:
        boundary = np.exp(log_c - 0.5 * t**2 - _LOG_SQRT_2PI - log_a)
        moments.append(sd * (t * moments[0] + boundary))
    for k in range(1, order):
        moments.append(sd * t * moments[k] + k * sd**2 * moments[k - 1])
    return PatternSide(log_a, tuple(moments), chi)


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


def binary_entropy(rho: float) -> float:
    """H₂(ρ) = −ρ ln ρ − (1 − ρ) ln(1 − ρ)."""
    return float(-rho * np.log(rho) - (1 - rho) * np.log1p(-rho))


def log_odds(rho: float) -> float:
    """ln(ρ/(1 − ρ))."""
    return float(logit(rho))
