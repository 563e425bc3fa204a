"""α_c with *all* variables when errors are allowed, with one step of breaking.

With errors the weights that classify well form several clusters, and Gardner and Derrida's load
(`gardner`), which is replica symmetric, is too high. One step of breaking (Majer, Engel and
Zippelius, J. Phys. A 26, 7405, 1993) counts the clusters. For |w| = 1, overlap q₀ between clusters
and s² = 1 − q₀ the exponent of their number is

    Σ(q₀, χ, b, y) = α Σ_c f_c ∫Dz ln A(√q₀ z + θ_c) + ½ ln(1 + s²/χ) + ½ q₀/(χ + s²) + yαε,

stationary in q₀, χ, b and y, with A of `patterns`; the capacity is its zero, where the last cluster
vanishes. It is the same function as that of `rs_equations` at ρ = 1, where the only choices left to
count are the clusters themselves: Σ there, with errors, counts pairs of a support and a cluster.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np
from scipy.special import expit

from chanceline.theory.continuation import follow
from chanceline.theory.ensemble import Ensemble
from chanceline.theory.first_moment import Counted
from chanceline.theory.newton import Newton, OutsideDomain, Solved
from chanceline.theory.pattern_averages import PatternOrder, class_sides, pattern_means
from chanceline.theory.quadrature import STEP, Array

# A start near the solution without threshold and margin at this error rate: ln χ, logit q₀, ln t*.
# All others are followed from there.
_START_ERROR_RATE = 0.1
_START = np.array([-3.6, 1.23, -0.754])
_THRESHOLD_INDEX = 2  # where b stands in the point, if it is free
# Logarithms of order parameters beyond this are no longer numbers to compute with.
_LARGEST_LOG = 60
# First step from the start to the ensemble wanted, as a share of the way.
_FIRST_SHARE = 0.25


@lru_cache(maxsize=64)
def one_step_gardner(ensemble: Ensemble) -> Solved[Counted]:
    """α_c with all variables and errors, one step broken: where α_VS with errors ends as ρ → 1."""

    def solve_at(share: float, start: Array) -> Solved[Counted]:
        """On the way from the start (share 0) to the ensemble wanted (share 1)."""
        rate = _START_ERROR_RATE ** (1 - share) * ensemble.error_rate**share
        between = Ensemble(
            balance=0.5 + (ensemble.balance - 0.5) * share,
            margin=ensemble.margin * share,
            error_rate=rate,
        )
        return Newton(tolerance=1e-11, step_tolerance=1e-7).solve(
            lambda point: clusters(point, between), start, between.label("clusters of weights")
        )

    first = solve_at(0.0, _START)
    if ensemble.free_threshold:
        with_threshold = np.insert(first.unknowns, _THRESHOLD_INDEX, 0.0)
        first = replace(first, unknowns=with_threshold)
    *_, last = follow(solve_at, first, begin=0.0, step=_FIRST_SHARE, until=1.0)
    return last


def clusters(point: Array, ensemble: Ensemble) -> Counted:
    """The equations at (ln χ, logit q₀, b if the threshold is free, ln t*).

    α⟨p₊ − v*e* + κR₁⟩ = 1 gives the load.
    """
    if np.abs(point).max() > _LARGEST_LOG:
        raise OutsideDomain("an order parameter left the range of floating-point numbers")
    threshold = 0.0
    if ensemble.free_threshold:
        threshold = float(point[_THRESHOLD_INDEX])
    order = PatternOrder(
        rho=1.0,
        q0=expit(point[1]),
        s2=expit(-point[1]),
        chi=np.exp(point[0]),
        threshold=threshold,
        ceiling=np.exp(point[-1]),
    )
    means = pattern_means(class_sides(ensemble, order, STEP), ensemble, rho=1.0)
    if not means.isostatic[0] > 0:
        raise OutsideDomain("p₊ − v*e* must be positive")

    chi = order.chi
    alpha = 1 / means.isostatic[0]
    width = chi + order.s2
    price = order.ceiling**2 / (2 * chi)  # y
    entropy = (
        alpha * (means.log_a + price * ensemble.error_rate)
        + 0.5 * np.log1p(order.s2 / chi)
        + 0.5 * order.q0 / width
    )
    square = alpha * means.square[0] / chi**2
    residual = [
        square * width**2 / order.q0 - 1,
        means.wrong[0] / ensemble.error_rate - 1,
        float(entropy),
    ]
    if ensemble.free_threshold:
        residual.append(means.by_threshold[0])
    return Counted(alpha=float(alpha), rho=1.0, residual=np.array(residual))
