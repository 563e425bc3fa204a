"""Replica symmetry at one point of the diagram: below the Cover–Gardner load, at it and above.

Above α_CG (2ρ for the plain ensemble) it is a point of `rs_branch`, below that of `typical`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import logit

from chanceline.errors import InputError
from chanceline.theory.bounds import bounds_at
from chanceline.theory.closed_forms import binary_entropy, l0_gardner, typical_overlap
from chanceline.theory.continuation import last_two_points
from chanceline.theory.ensemble import PLAIN, Ensemble, check_alpha, check_rho
from chanceline.theory.newton import Solved
from chanceline.theory.quadrature import QUADRATURE_STEP
from chanceline.theory.rs_branch import Branch
from chanceline.theory.rs_equations import RSState
from chanceline.theory.rs_point import LOG_CHI
from chanceline.theory.solution import (
    Regime,
    RSSolution,
    Stability,
    regime_above_entrance,
)
from chanceline.theory.typical import solve_typical

if TYPE_CHECKING:
    import pandas as pd

# With fewer variables left out, as a share of all, nothing is resolved: ρ is too near to 1.
_SMALLEST_COMPLEMENT = 1e-12
# As near to the Cover–Gardner load α_CG as this share of it, the solutions below and above agree
# within rounding, and their common limit is the answer.
_AT_ENTRANCE = 1e-12
# The table of a branch ends at this share of the way from 2ρ to the ℓ₀-Gardner load.
_TABLE_END = 0.98


def solve_rs(alpha: float, rho: float, ensemble: Ensemble = PLAIN) -> RSSolution:
    """The replica-symmetric solution at a load α and a density ρ, 0 < α < α_ℓ₀(ρ).

    α is patterns per variable, ρ the share of variables chosen. Up to α_CG (`cover_gardner` of
    `Bounds`) typical choices of variables separate the patterns; above only selected ones do, up to
    α_ℓ₀ (`l0_gardner`), where the solutions end.
    """
    alpha = check_alpha(alpha)
    rho = check_rho(rho)
    bounds = bounds_at(rho, ensemble)
    _check_end(alpha, rho, ensemble)
    if rho > 1 - _SMALLEST_COMPLEMENT:
        raise InputError(f"rho = {rho!r} is too close to 1 to resolve; choose a smaller rho")
    if ensemble.signed and alpha <= bounds.cover_gardner:
        raise InputError(
            f"at alpha = {alpha:g} typical choices of variables already separate (up to "
            f"{bounds.cover_gardner:g}), and the entropy is that of all choices; with given signs "
            "choose a larger alpha"
        )

    if ensemble.error_rate:
        return _with_errors(alpha, rho, ensemble)
    # At α_CG itself the equations of neither side can be solved. The plain ensemble has a closed
    # form there. For others α_CG is known up to rounding only, and α lies on one side or the other.
    distance_to_entrance = abs(alpha - bounds.cover_gardner)
    if ensemble.plain and distance_to_entrance <= _AT_ENTRANCE * alpha:
        return _at_cover_gardner(alpha, rho)
    if alpha > bounds.cover_gardner:
        return _above_cover_gardner(alpha, rho, ensemble)
    return _below_cover_gardner(alpha, rho, ensemble)


def solve_rs_along(
    loads: Sequence[float], rho: float, ensemble: Ensemble = PLAIN
) -> list[RSSolution]:
    """The replica-symmetric solutions at one density ρ and several loads, in their order.

    Loads above α_CG, up to which typical choices of variables separate, lie on one branch of
    solutions, which is followed once for all of them. The others are solved one by one.
    """
    cover_gardner_load = bounds_at(rho, ensemble).cover_gardner  # α_CG
    # At α_CG itself, within rounding, `solve_rs` takes the limit.
    clearly_above = cover_gardner_load * (1 + _AT_ENTRANCE)
    loads_on_branch = sorted({load for load in loads if load > clearly_above})
    # With errors the branch may fold back in the load: then it has no order of loads to follow.
    if ensemble.error_rate or len(loads_on_branch) <= 1:
        return [solve_rs(load, rho, ensemble) for load in loads]

    smallest_load = loads_on_branch[0]
    largest_load = loads_on_branch[-1]
    _check_end(largest_load, rho, ensemble)
    branch = Branch(rho, ensemble)
    points = _points_between(branch, smallest_load, largest_load)

    solution_at = {}
    for load in loads_on_branch:
        solution_at[load] = _at_load(branch, load, _points_around(branch, points, load))
    for load in set(loads).difference(loads_on_branch):
        solution_at[load] = solve_rs(load, rho, ensemble)
    return [solution_at[load] for load in loads]


def _points_between(
    branch: Branch, smallest_load: float, largest_load: float
) -> list[Solved[RSState]]:
    """Points of a branch in the order of their loads, which enclose the two loads given.

    The first point lies below `smallest_load`, the last one is the first at or above the largest.
    """

    def has_reached_largest(state: RSState) -> bool:
        """Whether the load of this point is at least the largest one."""
        return branch.excess_load(state, largest_load) >= 0

    return list(branch.from_entrance(until=has_reached_largest, below=smallest_load))


def _points_around(
    branch: Branch, points: list[Solved[RSState]], alpha: float
) -> tuple[Solved[RSState], Solved[RSState]]:
    """The two neighbouring points of a branch between whose loads α lies.

    `points` are in the order of their loads. α lies above the load of the first and not above that
    of the last.
    """
    for before, after in pairwise(points):
        if branch.excess_load(after.state, alpha) >= 0:
            return before, after
    raise AssertionError("the last point of the branch lies above α")


def _check_end(alpha: float, rho: float, ensemble: Ensemble) -> None:
    """InputError for a load at or above α_ℓ₀, where the branch of solutions at density ρ ends."""
    end = bounds_at(rho, ensemble).l0_gardner
    if alpha >= end:
        raise InputError(
            f"no replica-symmetric solution exists at alpha = {alpha:g}: at rho = {rho:g} the "
            f"branch ends at the l0-Gardner load {end:.6g}; choose a smaller alpha"
        )


def _below_cover_gardner(alpha: float, rho: float, ensemble: Ensemble) -> RSSolution:
    """The solution where typical choices separate, with its quadrature error.

    The load α lies below the Cover–Gardner load, at the density ρ. The equations are solved on the
    usual step of the quadrature and on half of it. The second is the result, and the error is how
    far its overlaps q₀ (between choices) and q₁ (within one) have moved.
    """
    coarse = solve_typical(alpha, rho, ensemble, step=QUADRATURE_STEP)
    fine = solve_typical(alpha, rho, ensemble, step=QUADRATURE_STEP / 2)
    error = max(abs(fine.q0 - coarse.q0), abs(fine.q1 - coarse.q1))
    return replace(fine, quadrature_error=error)


def _at_cover_gardner(alpha: float, rho: float) -> RSSolution:
    """The replica-symmetric solution at the load α = 2ρ of the plain ensemble, in closed form.

    It is the largest load that a typical choice of ρN variables separates, and the common limit of
    the solutions below and above: one weight vector is left for each choice.
    """
    # The overlap of the weights of two choices is q₀ = cρ, where ρ is the norm of the weights.
    overlap_over_rho = typical_overlap(rho)  # c
    return RSSolution(
        alpha=alpha,
        rho=rho,
        regime=Regime.TYPICAL.value,
        entropy=binary_entropy(rho),  # that of all choices, as typical ones separate
        q0=overlap_over_rho * rho,
        q1=rho,  # within a choice: with one weight vector, the overlap is its norm
        chi=math.inf,  # the response of the weights diverges here
        K=float(logit(1 - rho)),  # e^{−K} = ρ/(1 − ρ): every variable is as likely chosen
        # In the rescaled units of χ the multipliers of the norm, of q₁ and of q₀ vanish.
        E=0.0,
        F1=0.0,
        F0=0.0,
        stability=Stability(within=1.0, between=_replicon_at_cover_gardner(rho, overlap_over_rho)),
        residual=0.0,
        quadrature_error=0.0,
        identity_error=0.0,
    )


def _replicon_at_cover_gardner(rho: float, overlap_over_rho: float) -> float:
    """The replicon between supports at the load 2ρ of the plain ensemble, stable below 1.

    It is the load times the mean product of (ln H)'' at the fields of a pattern on two supports
    (choices of ρN variables); H is the normal tail. The fields are Gaussians of the correlation c,
    `overlap_over_rho`.
    """
    # At this load (ln H)'' has become a step, −1 at positive fields and 0 at negative ones: the
    # mean product is the probability that both fields are positive.
    both_positive = 0.25 + math.asin(overlap_over_rho) / (2 * math.pi)  # Sheppard's formula
    return 2 * rho * both_positive


def _above_cover_gardner(alpha: float, rho: float, ensemble: Ensemble) -> RSSolution:
    """The solution at load α and density ρ on the branch above the Cover–Gardner load.

    The branch begins at that load and is followed until its load exceeds α: then α lies between its
    last two points.
    """
    branch = Branch(rho, ensemble)
    points = branch.from_entrance(
        until=lambda state: branch.excess_load(state, alpha) >= 0, below=alpha
    )
    return _at_load(branch, alpha, last_two_points(points))


def _with_errors(alpha: float, rho: float, ensemble: Ensemble) -> RSSolution:
    """The replica-symmetric solution at load α and density ρ where errors are allowed.

    It lies on the branch of this density, a line of solutions. Only the part of the branch counts
    where its entropy is below that of all choices of variables. InputError where α lies before it.
    """
    branch = Branch(rho, ensemble)
    part = _part_that_counts(branch, alpha)
    first_load = part.points[0].state.alpha

    # The usual case: the part begins before α and ends with its first point beyond α, so that α
    # lies between its last two points.
    if first_load < alpha:
        before, after = part.points[-2:]
        assert before.state.alpha < alpha <= after.state.alpha
        return _at_load(branch, alpha, (before, after))

    # Already its first point lies beyond α. If the whole branch counts, it goes on before this
    # point: back to its entrance, at the Cover–Gardner load.
    if part.is_whole_branch and alpha > bounds_at(rho, ensemble).cover_gardner:
        return _above_cover_gardner(alpha, rho, ensemble)
    raise InputError(
        f"at alpha = {alpha:g} typical choices of variables already do with this many errors (up "
        f"to {first_load:.6g} in replica symmetry), and the entropy is that of all choices; "
        "choose a larger alpha"
    )


class _PartThatCounts(NamedTuple):
    """The part of a branch with errors where its entropy is below that of all choices."""

    is_whole_branch: bool
    points: list[Solved[RSState]]  # along the branch, up to the first at the load asked for or more


def _part_that_counts(branch: Branch, alpha: float) -> _PartThatCounts:
    """The part of a branch with errors that counts, up to its first point with load α or more.

    With errors the entropy Σ of the branch counts pairs of a choice of variables and a cluster of
    weights. Where Σ is above H₂(ρ), the entropy of all choices, a typical choice has several
    clusters: that part does not count.
    """
    entropy_of_all = binary_entropy(branch.rho)  # H₂(ρ)

    def has_arrived(state: RSState) -> bool:
        """Whether the point lies on the part that counts, at load α or more."""
        return state.entropy < entropy_of_all and state.alpha >= alpha

    points = list(branch.from_entrance(until=has_arrived))
    all_count = all(point.state.entropy < entropy_of_all for point in points)
    if not all_count:
        # With many errors Σ begins above H₂(ρ), and the branch folds back in the load before Σ
        # falls below. The part that counts begins where it does.
        points = _after_crossing(branch, points, entropy_of_all)
    return _PartThatCounts(is_whole_branch=all_count, points=points)


def _after_crossing(
    branch: Branch, points: list[Solved[RSState]], entropy_of_all: float
) -> list[Solved[RSState]]:
    """The point where the entropy falls to that of all choices, and all points after it.

    `points` follow each other along the branch; at least one has a larger entropy than
    `entropy_of_all`, and the last one a smaller one.
    """
    indices_above = [i for i, point in enumerate(points) if point.state.entropy >= entropy_of_all]
    last_above = indices_above[-1]
    first_below = last_above + 1
    crossing = branch.point_where(
        (points[last_above], points[first_below]), lambda state: state.entropy - entropy_of_all
    )
    return [crossing, *points[first_below:]]


def _at_load(
    branch: Branch, alpha: float, bracket: tuple[Solved[RSState], Solved[RSState]]
) -> RSSolution:
    """The solution of a branch at load α, which lies between the loads of two of its points.

    The point of load α is found with the usual quadrature (`coarse`), and solved again at the same
    response χ of the weights with half the step (`fine`), which is the result. The difference of
    the two entropies is its quadrature error.
    """
    coarse = branch.point_where(bracket, lambda state: branch.excess_load(state, alpha))
    log_chi = float(coarse.unknowns[LOG_CHI])
    fine = branch.at_chi(log_chi, coarse.unknowns, QUADRATURE_STEP / 2)

    # With the finer quadrature the load at this χ is not quite α: the entropy Σ is moved to α along
    # its slope ∂Σ/∂α.
    load_above_alpha = branch.excess_load(fine.state, alpha)
    entropy = fine.state.entropy - fine.state.entropy_by_alpha * load_above_alpha
    return _solution_of(
        branch,
        alpha,
        fine,
        entropy=entropy,
        quadrature_error=abs(entropy - coarse.state.entropy),
    )


def _solution_of(
    branch: Branch,
    alpha: float,
    solved: Solved[RSState],
    *,
    entropy: float,
    quadrature_error: float,
) -> RSSolution:
    """A solved point of the branch at load α, in the form that users see.

    `entropy` is that of separating choices of variables, and `quadrature_error` its error.
    """
    ensemble = branch.ensemble
    state = solved.state
    order = state.order
    # The solver imposes two of the equations only in one combination: their own errors count, too.
    residual = max(solved.residual, _error_of_combined_equations(state, branch.rho))
    return RSSolution(
        alpha=alpha,
        rho=branch.rho,
        regime=regime_above_entrance(entropy).value,
        entropy=entropy,
        q0=order.q0,  # overlap of the weights of two choices
        # Overlap of two weight vectors on one choice, ρ − mχ: in the limit m → 0 it is the norm ρ.
        q1=branch.rho,
        chi=order.chi,  # response of the weights
        K=order.K,  # multiplier of the density ρ
        E=order.E,  # multiplier of the norm of the weights
        F1=order.F1,  # multiplier of q₁
        F0=order.F0,  # multiplier of q₀
        stability=_stability(state, alpha, ensemble),
        residual=residual,
        quadrature_error=quadrature_error,
        identity_error=_identity_error(state, alpha),
        ensemble=ensemble,
        threshold=order.threshold,
        price=order.price if ensemble.error_rate else None,  # of an error
        # The share of variables with a weight, which is ρ with free signs.
        nonzero=state.checks.nonzero if ensemble.signed else None,
    )


def _error_of_combined_equations(state: RSState, rho: float) -> float:
    """The larger relative error of two equations that the solver imposes only in combination.

    They are "the overlap of the weights of two choices is q₀" and "the norm, |w|² per variable, is
    ρ". By an identity both hold where the combination does: so their errors check the solution.
    """
    overlap_error = abs(state.checks.overlap / state.order.q0 - 1)
    norm_error = abs(state.checks.norm / rho - 1)
    return max(overlap_error, norm_error)


def _identity_error(state: RSState, alpha: float) -> float:
    """The error of "as many tight patterns as weights that are not zero", exact for a solution.

    Both are counted per variable; the share of tight patterns is corrected for margin and errors.
    """
    return alpha * state.checks.effective_tight - state.checks.nonzero


def _stability(state: RSState, alpha: float, ensemble: Ensemble) -> Stability:
    """The replicon products of a solution at load α, each stable below 1.

    `within` and `between` are those within a choice of variables (support) and between two;
    `weights` and `mixed`, of two further kinds of changes, are not known with errors.
    """
    within = _replicon_within(state, alpha, ensemble)
    products = state.stability
    if ensemble.error_rate:
        return Stability(within=within, between=products.between)
    return Stability(
        within=within,
        between=products.between,
        weights=products.weights,
        mixed=products.mixed,
    )


def _replicon_within(state: RSState, alpha: float, ensemble: Ensemble) -> float:
    """The replicon within a support at load α: tight patterns per weight, or infinite with errors.

    With errors it diverges, because the correction of a violation jumps to 0 at the largest
    violation that is no error.
    """
    if ensemble.error_rate:
        return math.inf
    return alpha * state.checks.tight / state.checks.nonzero


def branch_table(rho: float, points: int) -> pd.DataFrame:
    """Order parameters, entropy and stability by load at density ρ, one row a load.

    The patterns are those of the plain ensemble. There are `points` loads, from near 0 to near the
    ℓ₀-Gardner load, where the solutions end. One of them is 2ρ: below it typical choices of
    variables separate, above it selected ones. In both parts loads are denser at the ends, where
    the curves bend.
    """
    import pandas as pd

    entrance = 2 * rho
    # Short of the end itself, where the solution diverges.
    end = entrance + _TABLE_END * (l0_gardner(rho) - entrance)
    n_typical = max(2, round(points * entrance / end))
    n_selected = points - n_typical
    typical_loads = _denser_at_ends(0.0, entrance, n_typical + 1)[1:]  # load 0 has no solution
    selected_loads = _denser_at_ends(entrance, end, n_selected + 1)[1:]  # 2ρ is in the first part
    rows = [_table_row(solve_rs(alpha, rho)) for alpha in [*typical_loads, *selected_loads]]
    return pd.DataFrame(rows)


def _denser_at_ends(start: float, end: float, n_numbers: int) -> list[float]:
    """So many numbers from start to end, at evenly spaced angles of a half circle over them."""
    angles = np.linspace(0.0, np.pi, n_numbers)
    share = (1 - np.cos(angles)) / 2
    numbers: list[float] = (start + (end - start) * share).tolist()
    numbers[-1] = end  # without rounding: the equations change there
    return numbers


def _table_row(solution: RSSolution) -> dict[str, Any]:
    """The columns of `branch_table` at one load.

    q1 and q0 are the overlaps of weights on one choice of variables and on two, chi the response of
    the weights, K the price of a variable; `within` and `between` are the replicon products within
    a support and between supports, stable below 1.
    """
    return {
        "alpha": solution.alpha,
        "regime": solution.regime,
        "q1": solution.q1,
        "q0": solution.q0,
        "chi": solution.chi,
        "entropy": solution.entropy,
        "K": solution.K,
        "within": solution.stability.within,
        "between": solution.stability.between,
    }
