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
from chanceline.theory.newton import Newton, OutsideDomain, Solved, check_logarithms
from chanceline.theory.pattern_averages import PatternOrder, class_sides, pattern_means
from chanceline.theory.quadrature import QUADRATURE_STEP, Array

# A start near the solution without threshold and margin at this error rate: ln χ, logit q₀, ln t*.
# All others are followed from there.
_START_ERROR_RATE = 0.1
_START = np.array([-3.6, 1.23, -0.754])
_THRESHOLD_INDEX = 2  # where b stands in the point, if it is free
# First step from the start to the ensemble wanted, as a share of the way.
_STEP_OF_SHARE = 0.25


@lru_cache(maxsize=64)
def one_step_gardner(ensemble: Ensemble) -> Solved[Counted]:
    """α_c with all variables and errors, one step broken: where α_VS with errors ends as ρ → 1.

    It is followed from the ensemble of the known start (share 0 of the way) to this one (share 1).
    """

    def on_the_way(share: float) -> Ensemble:
        """Balance and margin go there linearly, the error rate geometrically."""
        rate = _START_ERROR_RATE ** (1 - share) * ensemble.error_rate**share
        return Ensemble(
            balance=0.5 + (ensemble.balance - 0.5) * share,
            margin=ensemble.margin * share,
            error_rate=rate,
        )

    def solve_at(share: float, start: Array) -> Solved[Counted]:
        between = on_the_way(share)
        return Newton(tolerance=1e-11, step_tolerance=1e-7).solve(
            lambda point: cluster_equations(point, between),
            start,
            between.label("clusters of weights"),
        )

    first = solve_at(0.0, _START)
    if ensemble.free_threshold:
        with_threshold = np.insert(first.unknowns, _THRESHOLD_INDEX, 0.0)
        first = replace(first, unknowns=with_threshold)
    *_, last = follow(solve_at, first, begin=0.0, step=_STEP_OF_SHARE, until=1.0)
    return last


def cluster_equations(point: Array, ensemble: Ensemble) -> Counted:
    """The equations of the clusters at (ln χ, logit q₀, b if the threshold is free, ln t*).

    The exponent of the number of clusters, with s² = 1 − q₀, the error rate ε, y = v*²/2χ and v* =
    t*, the violation from which on a pattern is an error, is

        Σ = α(⟨ln A⟩ + yε) + ½ ln(1 + s²/χ) + ½ q₀/(χ + s²).

    Means ⟨·⟩ over fields and classes are those of `pattern_averages`. The load comes from the
    identity α⟨p₊ − v*e* + κR₁⟩ = 1, e* the density of v at v* and κ the margin. The residual has

        ∂Σ/∂q₀ = 0:  (α/χ²)⟨R₁²⟩ = q₀/(χ + s²)², relative,
        ∂Σ/∂y = 0:   ⟨wrong⟩ = ε, relative,
        Σ = 0,
        ∂Σ/∂b = 0:   Σ_c σ_c f_c ∫Dz R₁ = 0, if the threshold is free.
    """
    check_logarithms(point)
    log_chi = point[0]
    logit_q0 = point[1]
    log_ceiling = point[-1]
    threshold = 0.0
    if ensemble.free_threshold:
        threshold = float(point[_THRESHOLD_INDEX])
    order = PatternOrder(
        rho=1.0,
        q0=expit(logit_q0),
        s2=expit(-logit_q0),
        chi=np.exp(log_chi),
        threshold=threshold,
        ceiling=np.exp(log_ceiling),
    )
    means = pattern_means(class_sides(ensemble, order, QUADRATURE_STEP), ensemble, rho=1.0)
    if not means.isostatic[0] > 0:
        raise OutsideDomain("p₊ − v*e* must be positive")
    alpha = 1 / means.isostatic[0]

    # Σ.
    chi = order.chi
    chi_plus_s2 = chi + order.s2
    price = order.ceiling**2 / (2 * chi)  # y
    entropy = (
        alpha * (means.log_a + price * ensemble.error_rate)
        + 0.5 * np.log1p(order.s2 / chi)
        + 0.5 * order.q0 / chi_plus_s2
    )

    # The first element of each mean is its value; the others are derivatives.
    square = alpha * means.square[0] / chi**2  # (α/χ²)⟨R₁²⟩
    square_error = square * chi_plus_s2**2 / order.q0 - 1
    wrong_error = means.wrong[0] / ensemble.error_rate - 1
    residual = [square_error, wrong_error, float(entropy)]
    if ensemble.free_threshold:
        residual.append(means.by_threshold[0])
    return Counted(alpha=float(alpha), rho=1.0, residual=np.array(residual))
