"""Loads that are known in closed form, or as the root of one elementary function.

For every 0 < ρ < 1:  ρ = α_VC < 2ρ = α_CG < α_VS ≤ min(union bound, ℓ₀-Gardner) < 2.
"""

from __future__ import annotations

import math

from scipy.optimize import brentq
from scipy.special import erfcinv, gammainc

from chanceline.theory.kernels import binary_entropy


def vapnik_chervonenkis(rho: float) -> float:
    """α_VC = ρ: below it *every* choice of ρN variables separates patterns in general position."""
    return rho


def cover_gardner(rho: float) -> float:
    """α_CG = 2ρ: below it a *typical* choice of ρN variables separates (Cover 1965, Gardner 1988)."""
    return 2 * rho


def first_moment_exponent(alpha: float, rho: float) -> float:
    """lim ln E[𝒩]/N = H₂(ρ) + ln P(a given support separates)/N.

    By Cover's count, P = 2^{1−P} Σ_{k<M} C(P−1, k): its exponent is α[H₂(ρ/α) − ln 2] for α > 2ρ and 0 below.
    """
    if alpha <= 2 * rho:
        return binary_entropy(rho)
    return binary_entropy(rho) + alpha * (binary_entropy(rho / alpha) - math.log(2))


def union_bound(rho: float) -> float:
    """The load where the first moment stops growing: a rigorous upper bound on the capacity (Markov)."""
    lower, upper = 2 * rho, 4 * rho
    while first_moment_exponent(upper, rho) > 0:
        upper *= 2
    return float(brentq(first_moment_exponent, lower, upper, args=(rho,), xtol=1e-16, rtol=1e-15))


def l0_gardner(rho: float) -> float:
    """α = 2[ρ + 2tφ(t)] with 2H(t) = ρ: annealed dilution, which lets the entropy of the choice be negative.

    The replica-symmetric branch exists up to this load, where χ → 0 and Σ → −∞.
    """
    return 2 - l0_gardner_gap(rho)


def l0_gardner_gap(rho: float) -> float:
    """2 − α_ℓ₀ without cancellation; (π/3)(1 − ρ)³ to leading order as ρ → 1.

    2 − α_ℓ₀ = 4[½ − H(t) − tφ(t)] = 4∫₀ᵗ [φ(s) − φ(t)] ds = 4∫₀ᵗ s²φ(s) ds, an incomplete gamma function.
    """
    t = math.sqrt(2) * float(erfcinv(rho))
    return 2 * float(gammainc(1.5, t * t / 2))


def typical_overlap(rho: float) -> float:
    """c = lim q₀/ρ at α = 2ρ: the root of c = 2ρ J(c), J(c) = [√(1−c²) + c(π − arccos c)]/(2π)."""

    def excess(c: float) -> float:
        return 2 * rho * (math.sqrt(1 - c * c) + c * (math.pi - math.acos(c))) / (2 * math.pi) - c

    return float(brentq(excess, 0.0, 1.0, xtol=1e-16, rtol=1e-15))
