"""Loads of the plain ensemble in closed form, or as the root of one elementary function.

For every 0 < ρ < 1:  ρ = α_VC < 2ρ = α_CG < α_VS ≤ min(union bound, ℓ₀-Gardner) < 2.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import brentq
from scipy.special import erfcinv, gammainc

# The plain ensemble holds 2 patterns per variable when all variables are used.
PLAIN_LOAD_OF_ALL = 2.0


def binary_entropy(rho: float) -> float:
    """H₂(ρ) = −ρ ln ρ − (1 − ρ) ln(1 − ρ), ln(number of choices of ρN out of N)/N as N → ∞."""
    return float(-rho * np.log(rho) - (1 - rho) * np.log1p(-rho))


def first_moment_exponent(alpha: float, rho: float) -> float:
    """Growth rate of the expected number of supports that separate: lim ln E[𝒩]/N for N variables.

    A support is a choice of M = ρN of the N variables; ρ is the density, α = P/N the load of P
    patterns. There are e^{N H₂(ρ)} supports, H₂ the binary entropy. By Cover's count one of them
    separates P random patterns with the probability 2^{1−P} Σ_{k<M} C(P−1, k). This is
    e^{Nα[H₂(ρ/α) − ln 2]} for α > 2ρ, and 1 below.
    """
    if alpha <= 2 * rho:
        return binary_entropy(rho)
    return binary_entropy(rho) + alpha * (binary_entropy(rho / alpha) - math.log(2))


def union_bound(rho: float) -> float:
    """The load where the expected number of separating choices of ρN variables stops growing.

    It is the zero of `first_moment_exponent`, which falls with the load. By Markov's inequality it
    is a rigorous upper bound of the capacity.
    """
    # At the load 2ρ the exponent is still H₂(ρ) > 0; the upper end is doubled until it is negative.
    lower = 2 * rho
    upper = 4 * rho
    while first_moment_exponent(upper, rho) > 0:
        upper *= 2
    root = brentq(first_moment_exponent, lower, upper, args=(rho,), xtol=1e-16, rtol=1e-15)
    return float(root)


def l0_gardner(rho: float) -> float:
    """The load up to which the replica-symmetric branch of density ρ exists (annealed dilution).

    With the normal density φ and its upper tail H it is α = 2[ρ + 2tφ(t)], where t is such that
    2H(t) = ρ: the ρN largest of N Gaussian fields are those above t in size. The entropy Σ of
    separating choices may be negative on the way, and Σ → −∞ there.

    It is computed without cancellation as ρ → 1: 2 − α = 4[½ − H(t) − tφ(t)] = 4∫₀ᵗ s²φ(s) ds,
    which is 2P(3/2, t²/2) with the regularised incomplete gamma function P; to leading order it is
    (π/3)(1 − ρ)³.
    """
    t = math.sqrt(2) * float(erfcinv(rho))  # from 2H(t) = erfc(t/√2) = ρ
    return 2 - 2 * float(gammainc(1.5, t * t / 2))


def typical_overlap(rho: float) -> float:
    """The overlap of two typical choices of ρN variables at the load 2ρ, the largest they separate.

    It is c = q₀/ρ there, q₀ the overlap of their weight vectors and ρ the squared length of each:
    the root of c = 2ρ J(c), J of `overlap_kernel`.
    """

    def excess(c: float) -> float:
        """2ρ J(c) − c; positive at c = 0, negative at c = 1."""
        return 2 * rho * overlap_kernel(c) - c

    return float(brentq(excess, 0.0, 1.0, xtol=1e-16, rtol=1e-15))


def overlap_kernel(c: float) -> float:
    """J(c) = ⟨x₊y₊⟩ of two standard Gaussians x and y of correlation c, x₊ = max(x, 0):

    J(c) = [√(1−c²) + c(π − arccos c)]/(2π), the arc-cosine kernel of first order.
    """
    c = min(c, 1.0)  # rounding may bring it above, where the root and arccos end
    return (math.sqrt(1 - c * c) + c * (math.pi - math.acos(c))) / (2 * math.pi)
