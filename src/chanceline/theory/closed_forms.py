"""Loads of the plain ensemble in closed form, or as the root of one elementary function.

For every 0 < ρ < 1:  ρ = α_VC < 2ρ = α_CG < α_VS ≤ min(union bound, ℓ₀-Gardner) < 2.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import brentq
from scipy.special import erfcinv, gammainc


def binary_entropy(rho: float) -> float:
    """H₂(ρ) = −ρ ln ρ − (1 − ρ) ln(1 − ρ)."""
    return float(-rho * np.log(rho) - (1 - rho) * np.log1p(-rho))


def first_moment_exponent(alpha: float, rho: float) -> float:
    """lim ln E[𝒩]/N = H₂(ρ) + ln P(a given support separates)/N, 𝒩 the number of such supports.

    By Cover's count, P = 2^{1−P} Σ_{k<M} C(P−1, k): its exponent is α[H₂(ρ/α) − ln 2] for α > 2ρ
    and 0 below.
    """
    if alpha <= 2 * rho:
        return binary_entropy(rho)
    return binary_entropy(rho) + alpha * (binary_entropy(rho / alpha) - math.log(2))


def union_bound(rho: float) -> float:
    """The load where the first moment stops growing: a rigorous upper bound (Markov)."""
    lower = 2 * rho
    upper = 4 * rho
    while first_moment_exponent(upper, rho) > 0:
        upper *= 2
    root = brentq(first_moment_exponent, lower, upper, args=(rho,), xtol=1e-16, rtol=1e-15)
    return float(root)


def l0_gardner(rho: float) -> float:
    """α = 2[ρ + 2tφ(t)] with 2H(t) = ρ: annealed dilution, which allows a negative entropy.

    The replica-symmetric branch exists up to this load, where χ → 0 and Σ → −∞. Without
    cancellation as ρ → 1, 2 − α = 4[½ − H(t) − tφ(t)] = 4∫₀ᵗ s²φ(s) ds, an incomplete gamma
    function; to leading order it is (π/3)(1 − ρ)³.
    """
    t = math.sqrt(2) * float(erfcinv(rho))
    return 2 - 2 * float(gammainc(1.5, t * t / 2))


def typical_overlap(rho: float) -> float:
    """c = lim q₀/ρ at α = 2ρ: the root of c = 2ρ J(c), J of `overlap_kernel`."""

    def excess(c: float) -> float:
        return 2 * rho * overlap_kernel(c) - c

    return float(brentq(excess, 0.0, 1.0, xtol=1e-16, rtol=1e-15))


def overlap_kernel(c: float) -> float:
    """J(c) = [√(1−c²) + c(π − arccos c)]/(2π), ⟨x₊y₊⟩ of two Gaussians of correlation c."""
    c = min(c, 1.0)
    return (math.sqrt(1 - c * c) + c * (math.pi - math.acos(c))) / (2 * math.pi)
