"""Points instead of weights: every variable counts −1, 0 or 1, and ρN of them count.

Scores with unit points are what people add up by hand. With the overlap q of two such scores and
its multiplier q̂, and a price K of a variable, replica symmetry has

    Σ = α∫Dz ln H(√(q/(ρ−q)) z) + ∫Dz ln(1 + 2e^{−K} cosh √q̂ z) + Kρ − ½q̂(ρ − q).

A score is a discrete thing: Σ = 0 is the capacity, and replica symmetry is stable there. At ρ → 1
all points are ±1, and α → 0.8331 (Krauth and Mézard 1989). The union bound is rigorous: there are
C(N, M)2^M scores, and each separates P random patterns with probability 2^−P.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from chanceline.theory.closed_forms import binary_entropy
from chanceline.theory.ensemble import check_rho
from chanceline.theory.free_entropy import Domain, FreeEntropy, OrderStart, log_tail
from chanceline.theory.quadrature import Array, rule_for

# The rule for ∫Dz: it resolves the edge of H, and the fields at which variables begin to count,
# down to this size in z.
_RULE = rule_for(scale=0.05)


class _PointsOrder(NamedTuple):
    """The order parameters of scores with points −1, 0, 1, in the order of `POINTS.parameters`.

    Any of them may be complex, because derivatives are taken by complex steps.
    """

    overlap_share: Any  # q/ρ, q the overlap of two scores
    overlap_multiplier: Any  # q̂, the multiplier of q
    price: Any  # K, of a variable that counts, in logarithms


def _entropy(alpha: Any, rho: Any, order: Sequence[Any]) -> Any:
    """The entropy of separating scores, ln(their number)/N, at a load α and a density ρ:

        Σ = α∫Dz ln H(√(q/(ρ−q)) z) + ∫Dz ln(1 + 2e^{−K} cosh √q̂ z) + Kρ − ½q̂(ρ − q).

    H is the upper tail of the normal distribution. `order`, (3,), has the values of `_PointsOrder`:
    q/ρ, q the overlap of two scores, its multiplier q̂, and the price K of a variable that counts.
    """
    overlap_share, overlap_multiplier, price = _PointsOrder(*order)
    root_of_ratio = np.sqrt(overlap_share / (1 - overlap_share))  # √(q/(ρ − q))
    pattern_term = _RULE.mean(log_tail(root_of_ratio * _RULE.nodes))
    fields = np.sqrt(overlap_multiplier) * _RULE.nodes  # √q̂ z, (nodes,)
    variable_term = _RULE.mean(_log_partition(fields, price))
    order_terms = price * rho - 0.5 * overlap_multiplier * rho * (1 - overlap_share)
    return alpha * pattern_term + variable_term + order_terms


def _log_partition(field: Any, price: Any) -> Any:
    """ln(1 + 2e^{−K} cosh u) at fields u of any size, (nodes,): a variable counts 0, 1 or −1.

    K is the price of a variable that counts.
    cosh u overflows for large |u|. As it is even, u may be taken with a positive real part, and
    e^u is taken out: with 2 cosh u = e^u (1 + e^{−2u}) the logarithm is

        u + ln[e^{−u} + e^{−K}(1 + e^{−2u})].
    """
    u = np.where(field.real < 0, -field, field)
    two_cosh_over_exp = 1 + np.exp(-2 * u)
    return u + np.log(np.exp(-u) + np.exp(-price) * two_cosh_over_exp)


def _replicon(alpha: float, rho: float, order: Sequence[float]) -> float:
    """The replicon α ∫Dz g''² ∫Dz f''²: above 1 replica symmetry is unstable.

    α is the load, g the log-weight of a pattern and f that of a variable. `order`, (3,), has q/ρ,
    with the overlap q of two scores and the density ρ; the multiplier q̂ of q; and the price K of a
    variable that counts.
    """
    overlap_share, overlap_multiplier, price = _PointsOrder(*order)
    pattern_curvature = _pattern_curvature(overlap_share, rho)
    variable_curvature = _variable_curvature(overlap_multiplier, price)
    return float(alpha * _RULE.mean(pattern_curvature**2) * _RULE.mean(variable_curvature**2))


def _pattern_curvature(overlap_share: float, rho: float) -> Array:
    """g'' of the log-weight g = ln H(x) of a pattern, x = √q z/√(ρ − q), at the nodes z, (nodes,):

        g'' = −h(h − x)/(ρ − q),    h = φ(x)/H(x).

    H is the upper tail of the normal distribution and φ its density; `overlap_share` is q/ρ.
    """
    variance = rho * (1 - overlap_share)  # ρ − q
    x = np.sqrt(overlap_share / (1 - overlap_share)) * _RULE.nodes
    hazard = np.exp(-0.5 * x**2 - log_tail(x)) / np.sqrt(2 * np.pi)  # h
    return -hazard * (hazard - x) / variance


def _variable_curvature(overlap_multiplier: float, price: float) -> Array:
    """f'' of the log-weight f = ln(1 + 2e^{−K} cosh u) of a variable, u = √q̂ z, (nodes,).

    The variable counts with probability p, and has then the points ±1 with mean tanh u: so
    f' = p tanh u is the mean of its points, and f'' = p − (p tanh u)² their variance.
    """
    u = np.sqrt(overlap_multiplier) * _RULE.nodes
    odds = 2 * np.exp(-price) * np.cosh(u)
    p_counts = odds / (1 + odds)  # p
    return p_counts - (p_counts * np.tanh(u)) ** 2


# The start is near the capacity at ρ = 0.1; `order` has the order of the parameters.
POINTS = FreeEntropy(
    name="points −1, 0, 1",
    entropy=_entropy,
    parameters={"q_share": Domain.SHARE, "q_hat": Domain.POSITIVE, "K": Domain.REAL},
    start=OrderStart(alpha=0.508, rho=0.1, order=(0.43, 9.4, 5.85)),
    replicon=_replicon,
)


def points_union_bound(rho: float) -> float:
    """The load α where the expected number of separating scores stops growing.

    Of N variables ρN count, each −1 or 1: there are e^{N[H₂(ρ) + ρ ln 2]} scores, H₂ the binary
    entropy. A score separates αN random patterns with probability 2^{−αN}. So the expected number
    is 1 at α = [H₂(ρ) + ρ ln 2]/ln 2. By Markov's inequality it is a rigorous upper bound of the
    capacity.
    """
    rho = check_rho(rho)
    log_2 = float(np.log(2))
    return (binary_entropy(rho) + rho * log_2) / log_2
