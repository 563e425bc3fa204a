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
from scipy.special import expit, logit

from chanceline.theory.continuation import follow
from chanceline.theory.ensemble import Ensemble
from chanceline.theory.first_moment import Counted
from chanceline.theory.newton import Newton, OutsideDomain, Solved, check_logarithms
from chanceline.theory.pattern_averages import PatternOrder, class_sides, pattern_means
from chanceline.theory.quadrature import QUADRATURE_STEP, Array

# A start near the solution without threshold and margin at this error rate, in the coordinates
# ln χ, logit q₀ and ln v* of `cluster_equations`. All others are followed from there.
_START_ERROR_RATE = 0.1
_START = np.array([-3.6, 1.23, -0.754])
# Where a point holds its coordinates.
_LOG_CHI = 0
_LOGIT_Q0 = 1
_THRESHOLD = 2  # b, if it is free
_LOG_CEILING = -1  # ln v*
# χ of solutions is of the order of a squared margin, or below 1 without one.
_LARGEST_RESPONSE = 1e3
# First step from the start to the ensemble wanted, as a share of the way.
_STEP_OF_SHARE = 0.25


@lru_cache(maxsize=64)
def one_step_gardner(ensemble: Ensemble) -> Solved[Counted]:
    """The capacity α_c with all variables and a rate of errors, with one step of breaking.

    The capacity with chosen variables ends there as their density ρ → 1. The solution is followed
    from an ensemble whose solution is nearly known (share 0 of the way) to this one (share 1).

    Unknowns are those of `cluster_equations`: ln χ, logit q₀, the threshold b if it is free, ln v*.
    """

    def on_the_way(share: float) -> Ensemble:
        """Margin linearly, the share of the smaller class geometrically.

        Towards as many errors as the smaller class has patterns the load diverges, so the errors
        move as a part of that class, linearly in their log-odds.
        """
        balance = 0.5 * (ensemble.balance / 0.5) ** share  # equal classes stay exactly equal
        start_odds = logit(_START_ERROR_RATE / 0.5)
        end_odds = logit(ensemble.error_rate / ensemble.balance)
        part_of_class = expit((1 - share) * start_odds + share * end_odds)
        return Ensemble(
            balance=balance,
            margin=ensemble.margin * share,
            error_rate=float(balance * part_of_class),
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
        # The classes are equal at share 0, and the best threshold is 0; from there on it moves.
        with_threshold = np.insert(first.unknowns, _THRESHOLD, 0.0)
        first = replace(first, unknowns=with_threshold)
    *_, at_ensemble = follow(solve_at, first, begin=0.0, step=_STEP_OF_SHARE, until=1.0)
    return at_ensemble


def cluster_equations(point: Array, ensemble: Ensemble) -> Counted:
    """The equations of the last cluster of weights at (ln χ, logit q₀, b if it is free, ln v*).

    χ is the response: a violation v of a constraint costs v²/2χ. q₀ is the overlap of weights in
    different clusters, and s² = 1 − q₀. b is the threshold of the rule. From the violation v* on,
    `order.ceiling`, a pattern is an error, whose price is y = v*²/2χ; the error rate allowed is ε.

    The exponent of the number of clusters is, with the load α and the weight A of a pattern,

        Σ = α(⟨ln A⟩ + yε) + ½ ln(1 + s²/χ) + ½ q₀/(χ + s²),

    where ⟨·⟩ is the mean over fields and classes of patterns. The residual has

        ∂Σ/∂q₀ = 0:  (α/χ²)⟨R₁²⟩ = q₀/(χ + s²)², relative; R₁ is the mean violation of a pattern;
        ∂Σ/∂y = 0:   the share of errors = ε, relative;
        Σ = 0;
        ∂Σ/∂b = 0:   ⟨σR₁⟩ = 0, if the threshold is free; σ = ±1 is the sign of a class.
    """
    order = _decode(point, ensemble)
    chi = order.chi
    # For χ → ∞ all terms of Σ vanish, whatever the load: a solution without meaning.
    if chi > _LARGEST_RESPONSE * (1 + ensemble.margin**2):
        raise OutsideDomain("χ diverges")
    chi_plus_s2 = chi + order.s2

    # Arrays among the means hold the value first, then its derivatives, which are not needed.
    means = pattern_means(class_sides(ensemble, order, QUADRATURE_STEP), ensemble, rho=1.0)
    isostatic = means.isostatic[0]
    mean_square = means.square[0]  # ⟨R₁²⟩
    wrong = means.wrong[0]  # the share of errors
    violation_by_sign = means.by_threshold[0]  # ⟨σR₁⟩

    # The load from the identity α·isostatic = 1: as many tight constraints as weights. With the
    # share p₊ of tight constraints, the density e* of violations at v* and the margin κ
    # isostatic = ⟨p₊ − v*e* + κR₁⟩.
    if not isostatic > 0:
        raise OutsideDomain("p₊ − v*e* must be positive")
    alpha = 1 / isostatic

    price = order.ceiling**2 / (2 * chi)  # y
    entropy = (
        alpha * (means.log_a + price * ensemble.error_rate)
        + 0.5 * np.log1p(order.s2 / chi)
        + 0.5 * order.q0 / chi_plus_s2
    )

    overlap_error = alpha * mean_square / chi**2 * chi_plus_s2**2 / order.q0 - 1
    wrong_error = wrong / ensemble.error_rate - 1
    residual = [overlap_error, wrong_error, float(entropy)]
    if ensemble.free_threshold:
        residual.append(violation_by_sign)
    return Counted(alpha=float(alpha), rho=1.0, residual=np.array(residual))


def _decode(point: Array, ensemble: Ensemble) -> PatternOrder:
    """The order parameters at (ln χ, logit q₀, b if it is free, ln v*), the weights of length 1."""
    check_logarithms(point)
    log_chi = point[_LOG_CHI]
    logit_q0 = point[_LOGIT_Q0]
    log_ceiling = point[_LOG_CEILING]
    threshold = 0.0
    if ensemble.free_threshold:
        threshold = float(point[_THRESHOLD])
    return PatternOrder(
        rho=1.0,
        q0=expit(logit_q0),
        s2=expit(-logit_q0),  # 1 − q₀
        chi=np.exp(log_chi),
        threshold=threshold,
        ceiling=np.exp(log_ceiling),
    )
