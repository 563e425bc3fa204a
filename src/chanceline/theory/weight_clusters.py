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

from chanceline.theory.continuation import follow, last_point
from chanceline.theory.ensemble import EQUAL_CLASSES, Ensemble
from chanceline.theory.first_moment import Counted
from chanceline.theory.newton import Newton, OutsideDomain, Solved, check_logarithms
from chanceline.theory.pattern_averages import (
    PatternMeans,
    PatternParameters,
    class_laws,
    pattern_means,
)
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
    """Compute the capacity of a perceptron with all variables that may misclassify some patterns.

    The capacity is the largest load (patterns per variable) with at most the share of errors that
    `ensemble` allows. If errors are allowed, the weight vectors that classify well form several
    separate clusters. The method counts these (one step of symmetry breaking), and the capacity is
    where the last cluster disappears.

    Newton's method needs a start near the solution. One is known for equal classes, no margin and
    an error rate of 0.1. From there the ensemble is changed in steps to the given one; the position
    is the share of the way, 0 at the start and 1 at the end. The unknowns of the result are those
    of `cluster_equations`.
    """

    def solve_at(share: float, start: Array) -> Solved[Counted]:
        """The solution for the ensemble at this share of the way, from a nearby point."""
        return _solve_clusters(_ensemble_at_share(share, ensemble), start)

    first = solve_at(0.0, _START)
    if ensemble.free_threshold:
        # The threshold is one more unknown. At share 0 the classes are equal, and it is 0.
        with_threshold = np.insert(first.unknowns, _THRESHOLD, 0.0)
        first = replace(first, unknowns=with_threshold)
    return last_point(follow(solve_at, first, begin=0.0, step=_STEP_OF_SHARE, until=1.0))


def _ensemble_at_share(share: float, goal: Ensemble) -> Ensemble:
    """Interpolate between two ensembles of random patterns: the known start and the `goal`.

    The ensemble at the start (share 0) has equal classes, no margin, and the error rate 0.1. At
    share 1 the result is the `goal`.
    """
    # The balance is the share of positive patterns. It is interpolated as a geometric mean. If the
    # classes of the goal are equal, too, the ratio is 1 and they stay exactly equal at every share.
    balance = EQUAL_CLASSES * (goal.balance / EQUAL_CLASSES) ** share

    # The error rate is interpolated as a part of the positive class, by the log-odds of this part.
    # The part therefore stays below 1; at 1 the load would diverge.
    start_log_odds = logit(_START_ERROR_RATE / EQUAL_CLASSES)
    goal_log_odds = logit(goal.error_rate / goal.balance)
    log_odds = (1 - share) * start_log_odds + share * goal_log_odds
    part_of_class = expit(log_odds)
    return Ensemble(
        balance=balance,
        margin=goal.margin * share,
        error_rate=float(balance * part_of_class),
    )


def _solve_clusters(ensemble: Ensemble, start: Array) -> Solved[Counted]:
    """Where the last cluster of weights vanishes: Newton from a point near to it, (unknowns,)."""
    return Newton(tolerance=1e-11, step_tolerance=1e-7).solve(
        lambda point: cluster_equations(point, ensemble),
        start,
        ensemble.label("clusters of weights"),
    )


def cluster_equations(point: Array, ensemble: Ensemble) -> Counted:
    """Evaluate the equations of the capacity of a perceptron with errors: load and residual.

    The weight vectors that classify well form several separate clusters. Σ = ln(number of
    clusters)/N depends on a few unknowns, and is stationary in them; at the capacity it is 0. The
    unknowns are the coordinates of `point`, in this order,

        ln χ       χ > 0: a violation v of a constraint is corrected at the cost v²/2χ,
        logit q₀   q₀ is the scalar product of weights (of length 1) in different clusters,
        b          the threshold of the rule, only if it is free,
        ln v*      v* is the violation above which a pattern is an error.

    The equations, and what they become here, are

        ∂Σ/∂χ = 0      solved directly for the load,
        ∂Σ/∂q₀ = 0     residual[0]: q₀ equals an average over the patterns,
        ∂Σ/∂v* = 0     residual[1]: the share of errors equals the error rate allowed,
        Σ = 0          residual[2],
        ∂Σ/∂b = 0      residual[3], only if b is free: the corrections of the two classes balance.

    A point with residual 0 is the solution. The rule has all variables, so the density ρ is 1.
    """
    parameters = _decode(point, ensemble)
    laws_of_classes = class_laws(ensemble, parameters, QUADRATURE_STEP)
    means = pattern_means(laws_of_classes, ensemble, rho=1.0)

    # Σ is stationary in χ if the number of tight patterns (exactly at the margin) equals the number
    # of weights: the load times the share of tight patterns, corrected for margin and errors, is 1.
    if not means.effective_tight > 0:
        # No load is possible here: Newton's method must take a shorter step.
        raise OutsideDomain("the corrected share of tight patterns must be positive")
    alpha = 1 / means.effective_tight

    # The equations of q₀ and v* enter as relative errors. With the derivatives of Σ themselves
    # Newton's method fails at large margins.
    q0_of_patterns = _overlap_of_patterns(alpha, parameters, means)  # what q₀ must be
    overlap_error = q0_of_patterns / parameters.q0 - 1
    error_rate_error = means.wrong / ensemble.error_rate - 1
    cluster_exponent = _cluster_exponent(alpha, parameters, means, ensemble)  # Σ
    residual = [overlap_error, error_rate_error, cluster_exponent]
    if ensemble.free_threshold:
        residual.append(means.correction_by_sign)
    return Counted(alpha=float(alpha), rho=1.0, residual=np.array(residual))


def _overlap_of_patterns(alpha: float, parameters: PatternParameters, means: PatternMeans) -> float:
    """What the overlap q₀ of weights in different clusters equals where ∂Σ/∂q₀ = 0:

        α⟨R₁²⟩(χ + s²)²/χ²,    s² = 1 − q₀.

    R₁ is the mean correction of a pattern, ⟨·⟩ the mean over patterns, α the load and χ the
    response of the weights.
    """
    scale = (parameters.chi + parameters.s2) / parameters.chi
    return float(alpha * means.mean_correction_square * scale**2)


def _cluster_exponent(
    alpha: float, parameters: PatternParameters, means: PatternMeans, ensemble: Ensemble
) -> float:
    """The exponent Σ = ln(number of clusters of weights)/N at the load α:

        Σ = α(⟨ln A⟩ + yε) + ½ ln(1 + s²/χ) + ½ q₀/(χ + s²).

    It is the free entropy of one step of breaking with all variables and |w| = 1 (Majer, Engel and
    Zippelius 1993). A is the mean weight of a pattern, ⟨·⟩ the mean over patterns, y the price of
    an error, ε the error rate allowed, and χ the response; q₀ is the overlap of weights in
    different clusters, s² = 1 − q₀.
    """
    chi = parameters.chi
    s2 = parameters.s2
    price = parameters.ceiling**2 / (2 * chi)  # y, what the largest violation v* costs
    pattern_term = alpha * (means.log_mean_weight + price * ensemble.error_rate)
    volume_term = 0.5 * np.log1p(s2 / chi)
    overlap_term = 0.5 * parameters.q0 / (chi + s2)
    return float(pattern_term + volume_term + overlap_term)


def _decode(point: Array, ensemble: Ensemble) -> PatternParameters:
    """Decode the unknowns of Newton's method into the parameters that averages over patterns need.

    The unknowns, (coordinates,), are (ln χ, logit q₀, b if it is free, ln v*), as
    `cluster_equations` describes; ln v* is the last one in either case. Raises OutsideDomain, which
    makes Newton's method take a shorter step, if χ is far larger than at any solution: Σ, the
    logarithm of the number of clusters of weights per variable, is then nearly 0 at every load.
    """
    check_logarithms(point)
    chi = np.exp(point[_LOG_CHI])
    largest_chi = _LARGEST_RESPONSE * (1 + ensemble.margin**2)
    if chi > largest_chi:
        raise OutsideDomain("χ diverges")

    logit_q0 = point[_LOGIT_Q0]
    threshold = 0.0  # if it is not free
    if ensemble.free_threshold:
        threshold = float(point[_THRESHOLD])
    return PatternParameters(
        rho=1.0,
        q0=expit(logit_q0),
        s2=expit(-logit_q0),  # 1 − q₀
        chi=chi,
        threshold=threshold,
        ceiling=np.exp(point[_LOG_CEILING]),
    )
