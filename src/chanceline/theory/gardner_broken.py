"""The capacity with *all* variables when errors are allowed, one step broken: where α_VS with errors ends as ρ → 1.

With errors the weights that classify well form several clusters, and Gardner and Derrida's load (`gardner`), which is replica
symmetric, is too high. One step of breaking (Majer, Engel and Zippelius, J. Phys. A 26, 7405, 1993) counts the clusters. For
|w| = 1, overlap q₀ between clusters and s² = 1 − q₀ the exponent of their number is

    Σ(q₀, χ, b, y) = α Σ_c f_c ∫Dz ln A(√q₀ z + θ_c) + ½ ln(1 + s²/χ) + ½ q₀/(χ + s²) + yαε,

stationary in q₀, χ, b and y, with A of `kernels`; the capacity is its zero. It is the same function as that of `rs` at ρ = 1,
where the only choices left to count are the clusters themselves: Σ of `rs` with errors counts pairs of a support and a cluster.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from chanceline.theory.pattern_means import class_sides, pattern_means
from chanceline.theory.patterns import Patterns
from chanceline.theory.quadrature import STEP
from chanceline.theory.solver import Newton, OutsideDomain, Solved, difference_jacobian, follow

Array = NDArray[np.float64]

# A start near the solution without threshold and margin at errors 0.1: ln χ, logit q₀, ln t*. All others are followed from there.
_ERRORS, _START = 0.1, np.array([-3.6, 1.23, -0.754])


@dataclass(frozen=True)
class Clusters:
    """The exponent of the number of clusters at one point, its errors of stationarity, and the load."""

    alpha: float
    entropy: float
    by_chi: float  # 2 ∂Σ/∂χ, which vanishes at the saddle by itself: the load is taken from the Euler identity
    residual: Array
    jacobian: Array


def clusters(point: Array, patterns: Patterns, step: float = STEP) -> Clusters:
    """The equations at (ln χ, logit q₀, b if the threshold is free, ln t*); α⟨p₊ − v*e* + κR₁⟩ = 1 gives the load."""
    if np.abs(point).max() > 60:
        raise OutsideDomain("an order parameter left the range of floating-point numbers")
    chi, q0, s2, ceiling = np.exp(point[0]), expit(point[1]), expit(-point[1]), np.exp(point[-1])
    threshold = float(point[2]) if patterns.free_threshold else 0.0
    means = pattern_means(class_sides(patterns, 1.0, q0, s2, chi, threshold, ceiling, step), patterns, 1.0)
    if not means.isostatic.value > 0:
        raise OutsideDomain("p₊ − v*e* must be positive")
    alpha = 1 / means.isostatic.value
    width, price = chi + s2, ceiling**2 / (2 * chi)
    square, both = (alpha * value / chi**2 for value in (means.square.value, means.square.value + means.variance.value))
    entropy = alpha * (means.log_a + price * patterns.errors) + 0.5 * np.log1p(s2 / chi) + 0.5 * q0 / width
    residual = [square * width**2 / q0 - 1, means.wrong.value / patterns.errors - 1, entropy]
    if patterns.free_threshold:
        residual.append(means.pull.value)
    by_chi = both - s2 / (chi * width) - q0 / width**2
    return Clusters(float(alpha), float(entropy), float(by_chi), np.array(residual), np.eye(len(point)))


def _solve(start: Array, patterns: Patterns) -> Solved[Clusters]:
    def equations(point: Array) -> Clusters:
        jacobian = difference_jacobian(lambda at: clusters(at, patterns).residual, point)
        return replace(clusters(point, patterns), jacobian=jacobian)

    return Newton(tolerance=1e-11, step_tolerance=1e-7).solve(equations, start, f"clusters of weights, {patterns.describe()}")


def _between(patterns: Patterns, share: float) -> Patterns:
    """Patterns on the way from the start (share 0) to those wanted (share 1)."""
    return Patterns(
        0.5 + (patterns.balance - 0.5) * share,
        patterns.margin * share,
        _ERRORS ** (1 - share) * patterns.errors**share,
    )


@lru_cache(maxsize=64)
def broken(patterns: Patterns) -> Solved[Clusters]:
    """The point where the last cluster of weights vanishes."""
    first = _solve(_START, Patterns(errors=_ERRORS))
    if patterns.free_threshold:
        first = replace(first, unknowns=np.insert(first.unknowns, 2, 0.0))

    def solve_at(share: float, start: Array) -> Solved[Clusters]:
        return _solve(start, _between(patterns, share))

    *_, last = follow(solve_at, first, 0.0, 0.25, until=1.0)
    return last


def broken_load(patterns: Patterns) -> float:
    """α_c with errors, one step broken."""
    return broken(patterns).state.alpha
