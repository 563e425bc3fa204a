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
    """Compute how many choices of variables separate random patterns, and what their weights do.

    This is the solution without groups of choices (replica symmetry). The load α is the number of
    patterns (samples) per variable, and the density ρ is the share of variables chosen. There are
    two regimes. Up to the Cover–Gardner load α_CG (`cover_gardner` of `Bounds`) a typical choice of
    variables separates the patterns. Above α_CG only selected choices do, up to the ℓ₀-Gardner load
    α_ℓ₀ (`l0_gardner`), where the solutions end. Raises InputError for loads beyond.
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
        # With errors the entropy, not α_CG, separates the two regimes.
        return _solution_with_errors(alpha, rho, ensemble)

    # At α_CG itself the equations of both regimes are singular. For the plain ensemble the solution
    # there has a closed form. For other ensembles α_CG is known only up to rounding, so that α
    # practically always lies in one of the two regimes.
    distance_to_entrance = abs(alpha - bounds.cover_gardner)
    if ensemble.plain and distance_to_entrance <= _AT_ENTRANCE * alpha:
        return _solution_at_cover_gardner(alpha, rho)
    if alpha > bounds.cover_gardner:
        return _solution_above_cover_gardner(alpha, rho, ensemble)
    return _solution_below_cover_gardner(alpha, rho, ensemble)


def solve_rs_along(
    loads: Sequence[float], rho: float, ensemble: Ensemble = PLAIN
) -> list[RSSolution]:
    """Compute the solutions of `solve_rs` at one density ρ and several loads, in their order.

    A typical choice of variables separates the patterns up to the Cover–Gardner load α_CG. Above
    α_CG all solutions lie on one curve, the branch. It is followed once for all these loads, which
    saves time. The loads up to α_CG are solved one by one.
    """
    cover_gardner_load = bounds_at(rho, ensemble).cover_gardner  # α_CG
    # Loads that equal α_CG within rounding are left to `solve_rs`, which treats this limit.
    lowest_on_branch = cover_gardner_load * (1 + _AT_ENTRANCE)
    loads_on_branch = sorted({load for load in loads if load > lowest_on_branch})
    # With errors the load need not increase along the branch, so one pass cannot visit the loads in
    # order. For a single load one pass saves nothing.
    if ensemble.error_rate or len(loads_on_branch) <= 1:
        return [solve_rs(load, rho, ensemble) for load in loads]

    # Follow the branch once: points that are not yet at the loads, but enclose all of them.
    smallest_load = loads_on_branch[0]
    largest_load = loads_on_branch[-1]
    _check_end(largest_load, rho, ensemble)
    branch = Branch(rho, ensemble)
    points = _points_between(branch, smallest_load, largest_load)

    # The solution at each load, by load. On the branch it is solved between two of the points.
    solution_at = {}
    for load in loads_on_branch:
        bracket = _points_around(branch, points, load)
        solution_at[load] = _solution_at_load(branch, load, bracket)
    other_loads = set(loads).difference(loads_on_branch)
    for load in other_loads:
        solution_at[load] = solve_rs(load, rho, ensemble)
    return [solution_at[load] for load in loads]


def _points_between(
    branch: Branch, smallest_load: float, largest_load: float
) -> list[Solved[RSState]]:
    """Return points of a branch, in the order of their loads, that enclose two given loads.

    The first point lies below `smallest_load`. The last point is the first one at or above
    `largest_load`.
    """

    def has_reached_largest(state: RSState) -> bool:
        """Whether the load of this point is at least the largest one."""
        return branch.excess_load(state, largest_load) >= 0

    return list(branch.from_entrance(until=has_reached_largest, below=smallest_load))


def _points_around(
    branch: Branch, points: list[Solved[RSState]], alpha: float
) -> tuple[Solved[RSState], Solved[RSState]]:
    """Return the two neighbouring points of a branch between whose loads α lies.

    `points` are in the order of their loads. α is larger than the first load and at most the last.
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


def _solution_below_cover_gardner(alpha: float, rho: float, ensemble: Ensemble) -> RSSolution:
    """Compute the solution where typical choices of variables separate, with its quadrature error.

    The load α is below the Cover–Gardner load at density ρ. The equations are solved with the usual
    step of the quadrature and with half of it. The second solution is the result. The error is the
    larger change of its two overlaps: q₀ of weights on two choices, and q₁ on one choice.
    """
    coarse = solve_typical(alpha, rho, ensemble, step=QUADRATURE_STEP)
    fine = solve_typical(alpha, rho, ensemble, step=QUADRATURE_STEP / 2)
    error = max(abs(fine.q0 - coarse.q0), abs(fine.q1 - coarse.q1))
    return replace(fine, quadrature_error=error)


def _solution_at_cover_gardner(alpha: float, rho: float) -> RSSolution:
    """Return the solution at the largest load that a typical choice of variables separates.

    For equal classes without margin (the plain ensemble) this load is 2ρ, where ρ is the share of
    variables chosen, and the solution has a closed form: each choice has exactly one separating
    weight vector left. The solutions below and above 2ρ have this common limit. `alpha` equals 2ρ
    within rounding.
    """
    # Weights have the squared length ρ per variable. c is the correlation of the weights of two
    # choices; their overlap (scalar product per variable) is q₀ = cρ.
    overlap_over_rho = typical_overlap(rho)  # c

    # The factors by which small differences of overlaps grow, stable below 1. For weight vectors on
    # one choice the factor is (number of tight patterns)/(number of weights), which is exactly 1
    # here.
    stability = Stability(
        within=1.0,
        between=_replicon_at_cover_gardner(rho, overlap_over_rho),  # on two choices
    )
    return RSSolution(
        alpha=alpha,
        rho=rho,
        regime=Regime.TYPICAL.value,
        entropy=binary_entropy(rho),  # the entropy of all choices, because typical ones separate
        q0=overlap_over_rho * rho,
        q1=rho,  # overlap within one choice: its only weight vector with itself, so its norm ρ
        chi=math.inf,  # χ, the scale of the cost v²/2χ of a violation v, diverges here
        K=float(logit(1 - rho)),  # each variable is chosen with the same odds e^{−K} = ρ/(1 − ρ)
        # E = ρ/χ is the multiplier of the norm, and vanishes with 1/χ. So do F₁ and F₀, those of q₁
        # and q₀.
        E=0.0,
        F1=0.0,
        F0=0.0,
        stability=stability,
        # A closed form has no numerical errors.
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


def _solution_above_cover_gardner(alpha: float, rho: float, ensemble: Ensemble) -> RSSolution:
    """Compute the solution at load α and density ρ on the branch above the Cover–Gardner load.

    The branch begins at the Cover–Gardner load. It is followed until its load exceeds α, so that α
    lies between the loads of its last two points.
    """
    branch = Branch(rho, ensemble)
    points = branch.from_entrance(
        until=lambda state: branch.excess_load(state, alpha) >= 0, below=alpha
    )
    return _solution_at_load(branch, alpha, last_two_points(points))


def _solution_with_errors(alpha: float, rho: float, ensemble: Ensemble) -> RSSolution:
    """Compute the solution at load α and density ρ, if some patterns may be misclassified.

    The solutions at one density (share of variables chosen) form a curve, the branch. The entropy
    should be the logarithm of the number of choices of variables that classify well. Only the part
    of the branch where it is below the entropy of all choices is valid. The solution is the point
    of the valid part at load α (patterns per variable). Raises InputError if α lies before the
    valid part.
    """
    branch = Branch(rho, ensemble)
    # Points in order along the branch. They begin with the valid part, and end with the first valid
    # point whose load is at least α. `is_whole_branch` says that the valid part begins with the
    # branch itself.
    valid_part = _valid_part_up_to_load(branch, alpha)
    first_load = valid_part.points[0].state.alpha

    # Usual case: the first valid point lies below α. As the last point is the first one at or above
    # α, α lies between the last two points.
    if first_load < alpha:
        before, after = valid_part.points[-2:]
        assert before.state.alpha < alpha <= after.state.alpha
        return _solution_at_load(branch, alpha, (before, after))

    # Otherwise even the first valid point lies at or above α. If the whole branch is valid, the
    # solution lies between the beginning of the branch, the Cover–Gardner load, and this point.
    load_at_beginning = bounds_at(rho, ensemble).cover_gardner
    if valid_part.is_whole_branch and alpha > load_at_beginning:
        return _solution_above_cover_gardner(alpha, rho, ensemble)
    raise InputError(
        f"at alpha = {alpha:g} typical choices of variables already do with this many errors (up "
        f"to {first_load:.6g} in replica symmetry), and the entropy is that of all choices; "
        "choose a larger alpha"
    )


class _ValidPart(NamedTuple):
    """The part of a branch with errors whose entropy is below the entropy of all choices."""

    is_whole_branch: bool
    points: list[Solved[RSState]]  # in order along the branch; the last is the first at load ≥ α


def _valid_part_up_to_load(branch: Branch, alpha: float) -> _ValidPart:
    """Follow a curve of solutions (branch) with errors until load α, and keep the valid points.

    The entropy Σ is the logarithm of a number, per variable. It should count the choices of
    variables that classify well. If errors are allowed, the weights on one choice can form several
    separate clusters, and Σ counts pairs (choice, cluster). It can then exceed H₂(ρ), the entropy
    of all choices of ρN variables. Points where it does are not valid.

    In the end Σ falls along the branch, and the valid part is the last part. If many errors are
    allowed, Σ is above H₂(ρ) at first, and the load decreases there before it increases: a point
    can have the load α and not be valid. The branch is therefore followed to the first point that
    is valid and has at least the load α.
    """
    entropy_of_all = binary_entropy(branch.rho)  # H₂(ρ)

    def is_valid(state: RSState) -> bool:
        """Whether the entropy of the point is below that of all choices."""
        return state.entropy < entropy_of_all

    def is_valid_and_has_reached_load(state: RSState) -> bool:
        """Whether to stop following the branch: the point is valid and its load at least α."""
        return is_valid(state) and state.alpha >= alpha

    points = list(branch.from_entrance(until=is_valid_and_has_reached_load))
    all_points_are_valid = all(is_valid(point.state) for point in points)
    if not all_points_are_valid:
        # The valid part begins where Σ falls to H₂(ρ) for the last time.
        points = _after_crossing(branch, points, entropy_of_all)
    return _ValidPart(is_whole_branch=all_points_are_valid, points=points)


def _after_crossing(
    branch: Branch, points: list[Solved[RSState]], entropy_of_all: float
) -> list[Solved[RSState]]:
    """Return the point where the entropy falls to the entropy of all choices, and all later points.

    `points` are in order along the branch. At least one of them has an entropy of `entropy_of_all`
    or more, and the last one has a smaller entropy.
    """
    indices_above = [i for i, point in enumerate(points) if point.state.entropy >= entropy_of_all]
    last_above = indices_above[-1]
    first_below = last_above + 1
    crossing = branch.point_where(
        (points[last_above], points[first_below]), lambda state: state.entropy - entropy_of_all
    )
    return [crossing, *points[first_below:]]


def _solution_at_load(
    branch: Branch, alpha: float, bracket: tuple[Solved[RSState], Solved[RSState]]
) -> RSSolution:
    """Compute the solution of a branch at load α, and its numerical error.

    The branch is the curve of solutions at one density; `bracket` has two of its points between
    whose loads α lies. The solution is computed twice. `coarse` is the point of load α with the
    usual step of the quadrature. `fine`, the result, is solved with half the step at the same χ,
    the parameter along the branch. The difference of the two entropies, ln(number of separating
    choices of variables) per variable, is reported as the quadrature error.
    """
    coarse = branch.point_where(bracket, lambda state: branch.excess_load(state, alpha))
    log_chi = float(coarse.unknowns[LOG_CHI])
    fine = branch.at_chi(log_chi, coarse.unknowns, QUADRATURE_STEP / 2)

    # With the finer quadrature the load at this χ differs a little from α. A first-order step with
    # the slope ∂Σ/∂α gives the entropy Σ at α itself.
    load_difference = branch.excess_load(fine.state, alpha)  # load of the point − α
    entropy_difference = fine.state.entropy_by_alpha * load_difference  # Σ of the point − Σ at α
    entropy = fine.state.entropy - entropy_difference
    return _solution_from_point(
        branch,
        alpha,
        fine,
        entropy=entropy,
        quadrature_error=abs(entropy - coarse.state.entropy),
    )


def _solution_from_point(
    branch: Branch,
    alpha: float,
    solved: Solved[RSState],
    *,
    entropy: float,
    quadrature_error: float,
) -> RSSolution:
    """Convert a solved point of the branch at load α to an `RSSolution`, the public result.

    `entropy` is ln(number of separating choices of variables) per variable, and `quadrature_error`
    is its numerical error.
    """
    ensemble = branch.ensemble
    state = solved.state
    order = state.order
    # The solver replaces two of the equations by one combination of them. Their own errors are not
    # in its residual, and are added here.
    residual = max(solved.residual, _error_of_combined_equations(state, branch.rho))

    # Values that only some ensembles have.
    price_of_error = None
    if ensemble.error_rate:
        price_of_error = order.price
    nonzero_share = None  # with free signs the share of variables with a nonzero weight is just ρ
    if ensemble.signed:
        nonzero_share = state.checks.nonzero
    return RSSolution(
        alpha=alpha,
        rho=branch.rho,
        regime=regime_above_entrance(entropy).value,
        entropy=entropy,
        q0=order.q0,  # overlap of the weights of two choices
        # The overlap of two weight vectors on one choice is ρ − mχ with m replicas of the weights,
        # and ρ in the limit m → 0 that is solved here.
        q1=branch.rho,
        chi=order.chi,  # χ: a violation v that is corrected has the weight e^{−v²/2χ}
        K=order.K,  # price of a variable, the Lagrange multiplier of the density ρ
        E=order.E,  # Lagrange multiplier of the norm of the weights
        F1=order.F1,  # … of q₁
        F0=order.F0,  # … of q₀
        stability=_stability(state, alpha, ensemble),
        residual=residual,
        quadrature_error=quadrature_error,
        identity_error=_identity_error(state, alpha),
        ensemble=ensemble,
        threshold=order.threshold,
        price=price_of_error,
        nonzero=nonzero_share,
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
    """Return the factors by which small perturbations of a solution grow; each is stable below 1.

    The solution assumes that all supports (choices of variables) are alike. A perturbation changes
    the overlaps (scalar products) of weight vectors a little. Its factor says how much larger it is
    after one round of the equations. The factors of the last three are already known to `state`.
    The result has

        within    overlaps of weight vectors on one support change,
        between   overlaps of two supports change, alike for all weight vectors on them,
        weights   overlaps of two supports change, depending on the weight vectors on both,
        mixed     overlaps of two supports change, depending on the weight vectors on one of them.

    The last two are not known if errors are allowed, and then stay None.
    """
    factor_within = _replicon_within(state, alpha, ensemble)
    factors_between_supports = state.stability
    if ensemble.error_rate:
        return Stability(within=factor_within, between=factors_between_supports.between)
    return Stability(
        within=factor_within,
        between=factors_between_supports.between,
        weights=factors_between_supports.weights,
        mixed=factors_between_supports.mixed,
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
    """Return a table of solutions at density ρ, one row per load, by increasing load.

    A row has the load, the entropy (how many choices of variables separate), the order parameters
    and the stability of one solution (`_table_row`). The patterns have equal classes, no margin and
    no errors. There are `points` loads, from near 0 to near the ℓ₀-Gardner load, where the
    solutions end. One of them is 2ρ: below 2ρ typical choices of variables separate the patterns,
    above it only selected ones. In both parts the loads are denser at the ends, where the curves
    bend.
    """
    import pandas as pd

    middle_load = 2 * rho
    # The table stops before the ℓ₀-Gardner load, because the solution diverges there.
    last_load = middle_load + _TABLE_END * (l0_gardner(rho) - middle_load)

    # Both parts get a number of loads in proportion to their length. The first load of each part is
    # dropped: load 0 has no solution, and 2ρ is already the last load of the first part.
    n_typical = max(2, round(points * middle_load / last_load))
    n_selected = points - n_typical
    typical_loads = _denser_at_ends(0.0, middle_load, n_typical + 1)[1:]
    selected_loads = _denser_at_ends(middle_load, last_load, n_selected + 1)[1:]

    solutions = [solve_rs(alpha, rho) for alpha in [*typical_loads, *selected_loads]]
    rows = [_table_row(solution) for solution in solutions]
    return pd.DataFrame(rows)


def _denser_at_ends(start: float, end: float, n_numbers: int) -> list[float]:
    """Return `n_numbers` numbers from start to end, denser near both ends.

    They are (1 − cos θ)/2 of the way from start to end, at equally spaced angles θ from 0 to π.
    """
    angles = np.linspace(0.0, np.pi, n_numbers)
    share = (1 - np.cos(angles)) / 2
    numbers: list[float] = (start + (end - start) * share).tolist()
    numbers[-1] = end  # without rounding: the equations change there
    return numbers


def _table_row(solution: RSSolution) -> dict[str, Any]:
    """Return one row of `branch_table`: column names and values for one solution.

    `alpha` is the load, and `entropy` is ln(number of separating choices of variables) per
    variable. `q1` is the overlap (scalar product per variable) of two weight vectors on one choice
    and `q0` that on two choices. `chi` is the scale χ of the cost v²/2χ of a violation v, and `K`
    the price of choosing a variable. `within` and `between` are the factors by which small
    differences of overlaps grow, within a choice and between choices; each is stable below 1.
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
