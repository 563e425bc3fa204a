"""Points instead of weights: every variable counts −1, 0 or 1, and ρN of them count.

Scores with unit points are what people add up by hand. With the overlap q of two such scores and
its conjugate q̂, and a price K of a variable, replica symmetry has

    Σ = α∫Dz ln H(√(q/(ρ−q)) z) + ∫Dz ln(1 + 2e^{−K} cosh √q̂ z) + Kρ − ½q̂(ρ − q).

A score is a discrete thing: Σ = 0 is the capacity, and replica symmetry is stable there. At ρ → 1
all points are ±1, and α → 0.8331 (Krauth and Mézard 1989). The union bound is rigorous: there are
C(N, M)2^M scores, and each separates P random patterns with probability 2^−P.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from chanceline.theory.closed_forms import binary_entropy
from chanceline.theory.ensemble import check_rho
from chanceline.theory.free_entropy import Domain, FreeEntropy, OrderStart, log_tail
from chanceline.theory.quadrature import rule_for

# Resolves the edge of H and the switch of the variables down to this size in z.
_RULE = rule_for(scale=0.05)


def _entropy(alpha: Any, rho: Any, order: Sequence[Any]) -> Any:
    """Σ at the overlap share q/ρ, q̂ and K."""
    q_share, q_hat, K = order
    slope = np.sqrt(q_share / (1 - q_share))  # √(q/(ρ − q))
    patterns = _RULE.mean(log_tail(slope * _RULE.nodes))
    field = np.sqrt(q_hat) * _RULE.nodes
    # ln(1 + 2e^{−K} cosh u) with u of any size: cosh is even, and e^{|u|} is taken out.
    growth = np.where(field.real < 0, -field, field)
    variables = _RULE.mean(growth + np.log(np.exp(-growth) + np.exp(-K) * _two_cosh(growth)))
    coupling = K * rho - 0.5 * q_hat * rho * (1 - q_share)
    return alpha * patterns + variables + coupling


def _two_cosh(growth: Any) -> Any:
    """2e^{−u} cosh u = 1 + e^{−2u}."""
    return 1 + np.exp(-2 * growth)


def _replicon(alpha: float, rho: float, order: Sequence[float]) -> float:
    """α∫Dz g''²·∫Dz f''²: g = ln H of the patterns, f = ln(1 + 2e^{−K} cosh u) of the variables."""
    q_share, q_hat, K = order
    variance = rho * (1 - q_share)  # ρ − q
    x = np.sqrt(q_share / (1 - q_share)) * _RULE.nodes
    hazard = np.exp(-0.5 * x**2 - log_tail(x)) / np.sqrt(2 * np.pi)  # −(ln H)'
    pattern_curvature = -hazard * (hazard - x) / variance
    u = np.sqrt(q_hat) * _RULE.nodes
    odds = 2 * np.exp(-K) * np.cosh(u)
    counted = odds / (1 + odds)  # the probability that a variable counts
    variable_curvature = counted - (counted * np.tanh(u)) ** 2
    return float(alpha * _RULE.mean(pattern_curvature**2) * _RULE.mean(variable_curvature**2))


POINTS = FreeEntropy(
    name="points −1, 0, 1",
    entropy=_entropy,
    parameters={"q_share": Domain.SHARE, "q_hat": Domain.POSITIVE, "K": Domain.REAL},
    start=OrderStart(alpha=0.508, rho=0.1, order=(0.43, 9.4, 5.85)),
    replicon=_replicon,
)


def points_union_bound(rho: float) -> float:
    """The load where the expected number of separating scores stops growing, [H₂(ρ) + ρ ln 2]/ln 2.

    By Markov's inequality it is a rigorous upper bound of their capacity.
    """
    rho = check_rho(rho)
    return (binary_entropy(rho) + rho * float(np.log(2))) / float(np.log(2))
