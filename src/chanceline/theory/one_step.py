"""The branch with one step of breaking between supports (1RSB), and ways along it.

The branch begins where symmetry breaks (`transition`): continuously on the replicon line, with
p₁ − p₀ = 0 at a finite x < 1, or by a jump before it, with a finite p₁ − p₀ at x = 1. From there χ
falls steadily, and the branch is followed in ln χ. Its entropy vanishes at a finite x and K;
beyond, the branch goes on with Σ < 0 towards x → 0.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.optimize import brentq
from scipy.special import expit, logit

from chanceline.errors import InputError
from chanceline.theory.capacity_table import capacity_table
from chanceline.theory.continuation import follow, last_point, last_two_points
from chanceline.theory.ensemble import EQUAL_CLASSES, Ensemble
from chanceline.theory.newton import Solved
from chanceline.theory.quadrature import Array
from chanceline.theory.rsb import RSBBranch, RSBOrder, RSBState, pack_order
from chanceline.theory.transition import (
    LOG_AMPLITUDE,
    LOG_BREAK,
    SupportTransition,
    start_near_symmetric,
    transition_at,
)

# A branch is followed from a first point, whose amplitude (p₁ − p₀)/(ρ − p₁) is larger than that at
# the beginning: by the first number, or by the second one times that at the beginning, which is not
# 0 after a jump, if this is more.
_FIRST_AMPLITUDE = 0.15
_FIRST_GROWTH = 0.25
# At smaller amplitudes rounding drowns the equation of the break point, which is of third order.
_SMALLEST_AMPLITUDE = 0.02
# At still smaller ones the broken solution is the symmetric one for all practical purposes, and the
# grids become long.
_UNRESOLVED_AMPLITUDE = 1e-3
# How well the amplitude at a load must be known for Newton to find the rest.
_TOLERANCE_OF_AMPLITUDE = 1e-4
# Towards smaller break points, and more negative entropies, the branch is not followed.
_SMALLEST_BREAK = 0.15
_LOWEST_ENTROPY = -0.05
# The first step from the plain ensemble towards the one wanted, and the smallest.
_FIRST_SHARE = 0.05
_SMALLEST_SHARE = 1e-3
# First steps of ln χ along the branch: loads grow as χ falls.
_STEP_TO_SMALLER_LOADS = 0.1
_STEP_TO_LARGER_LOADS = -0.05
# One step of breaking is solved for densities from this on, and for margins up to this.
LOWEST_BROKEN_DENSITY = 0.0005
LARGEST_BROKEN_MARGIN = 1.0
# The error of the grids is estimated by solving again on grids that are finer by this factor.
FINER = 1.4


def can_break(ensemble: Ensemble) -> bool:
    """Whether one step of breaking is solved for an ensemble: the test of `check_breaking`."""
    has_free_weights = not ensemble.error_rate and not ensemble.signed
    return has_free_weights and ensemble.margin <= LARGEST_BROKEN_MARGIN


def check_breaking(ensemble: Ensemble) -> None:
    """Raise InputError unless one step of symmetry breaking can be solved for this ensemble.

    With one step of symmetry breaking (ansatz "1rsb") the choices of variables that separate the
    classes fall into groups; without it (ansatz "rs") they are all alike. The equations with groups
    are solved only if each weight may have either sign, every pattern must be classified correctly,
    and the margin is at most `LARGEST_BROKEN_MARGIN`.
    """
    if ensemble.error_rate or ensemble.signed:
        raise InputError(
            "one step of breaking is solved for errors = 0 and free signs only; use ansatz 'rs'"
        )
    if ensemble.margin > LARGEST_BROKEN_MARGIN:
        raise InputError(
            f"one step of breaking is solved for margin ≤ {LARGEST_BROKEN_MARGIN:g}; "
            "with a larger margin use ansatz 'rs'"
        )


@lru_cache(maxsize=1)
def _spline_of_capacity_points() -> CubicSpline:
    """Interpolate the solutions in the shipped table, as starts for the solver at any density ρ.

    A row of the table has a density ρ (the share of variables that a rule may use) and the solution
    of the equations at the capacity, the largest load that some choice of variables separates. The
    result is a cubic spline that maps logit ρ to this solution, as a vector of unknowns for
    Newton's method, (coordinates,).
    """
    table = capacity_table()  # by increasing density
    points = [_point_of_row(row) for row in table]
    return CubicSpline(logit(table.rho), points)


def _point_of_row(row: Any) -> Array:
    """Encode the solution in a row of the shipped table as a vector of unknowns, (coordinates,).

    The solution has the columns chi, K, E, F1, p0, p1, G0, G1 and x. `RSBOrder` says what they
    mean, and `pack_order` in which order and by which functions they become unknowns.
    """
    order = RSBOrder(
        chi=row.chi,
        K=row.K,
        E=row.E,
        F1=row.F1,
        p=(row.p0, row.p1),
        G=(row.G0, row.G1),
        x=(row.x,),
    )
    return pack_order(order, row.rho)


def start_at(rho: float) -> Array:
    """Return a start for Newton's method at the one-step capacity of density ρ, (coordinates,).

    The start is interpolated in the shipped table; ρ must be a density that the table covers.
    """
    return np.asarray(_spline_of_capacity_points()(logit(rho)))


def branch_off(
    branch: RSBBranch, transition: SupportTransition, amplitude: float = _FIRST_AMPLITUDE
) -> Solved[RSBState]:
    """Solve for a point near the beginning of the one-step branch, with a given amplitude.

    With one step of symmetry breaking supports fall into groups. The amplitude, which is small
    here, is (p₁ − p₀)/(ρ − p₁), where p₁ is the overlap of two supports in the same group and p₀
    that of two in different groups. The equation of the break point x is of third order in the
    amplitude, so it determines x only if the other equations already hold. Therefore the other
    equations are solved first, with x held at its value at the beginning; then all are solved, with
    x free.
    """
    at_first_break = _solved_at_break(branch, transition, amplitude, x=transition.first_break)
    return branch.solve_with(
        at_first_break.unknowns, held=(LOG_AMPLITUDE,), name="the beginning of 1RSB"
    )


def _solved_at_break(
    branch: RSBBranch, transition: SupportTransition, amplitude: float, x: float
) -> Solved[RSBState]:
    """Solve for a point near the beginning of the one-step branch, with given amplitude and x.

    Newton's method holds these two coordinates, moves all others, and solves all equations except
    that of the break point x. The amplitude is (p₁ − p₀)/(ρ − p₁), with the overlap p₁ of two
    supports in the same group, p₀ of two in different groups, and the density ρ.
    """
    start = _start_at_break(branch, transition, amplitude, x)
    return branch.solve_with(
        start, held=(LOG_AMPLITUDE,), name="the beginning of 1RSB", hold_breaks=True
    )


def _start_at_break(
    branch: RSBBranch, transition: SupportTransition, amplitude: float, x: float
) -> Array:
    """Return a start for Newton's method where groups of supports have just begun, (coordinates,).

    Supports are choices of variables; from some load on those that separate the classes fall into
    groups. The start has exactly the given amplitude and break point x; its other coordinates are
    only roughly right.

    Parameters
    ----------
    branch
        The equations for supports in groups, at a density ρ.
    transition
        Where the groups begin, and whether they begin continuously or by a jump.
    amplitude
        How distinct the groups are, (p₁ − p₀)/(ρ − p₁). p₁ is the overlap (scalar product of the
        weights, per variable) of two supports in the same group, p₀ that of two in different ones.
    x
        The probability that two supports are in different groups.
    """
    if transition.jump is None:
        # The groups appear continuously, with amplitude 0: start from the state without groups.
        return start_near_symmetric(branch, transition.critical, amplitude, x)

    # The groups appear by a jump: start from the solution at the jump, whose amplitude and break
    # point (x = 1) are close to those wanted.
    solution_at_jump = transition.jump.static
    start = solution_at_jump.unknowns.copy()
    start[LOG_AMPLITUDE] = np.log(amplitude)
    start[LOG_BREAK] = np.log(x)
    return start


def end_of_branch(branch: RSBBranch) -> Solved[RSBState]:
    """Solve for the capacity, where the branch with groups of supports ends.

    A support is a choice of variables. The number of supports that separate the classes falls as
    the load (patterns per variable) grows. At the capacity its logarithm per variable, the entropy,
    is 0; at larger loads no such support is left.

    There are three ways to the solution. For the plain ensemble (equal classes, no margin) Newton's
    method starts from the shipped table. Other ensembles are reached in steps from the plain one.
    At densities below the table the solutions are followed from the load where groups begin.
    Raises InputError for densities that are too small or above the table.
    """
    check_broken_density(branch.rho)
    lowest_density, highest_density = capacity_table().rho[[0, -1]]
    if branch.rho > highest_density:
        raise InputError(
            f"the end of one step of breaking is solved for rho ≤ {highest_density:g}, but rho is "
            f"{branch.rho:g}; use ansatz 'rs', which differs little there"
        )
    if branch.rho < lowest_density:
        return _end_of_branch_from_beginning(branch)

    # The table covers this density.
    plain_capacity = start_at(branch.rho)  # accurate enough to start Newton's method
    if branch.ensemble.plain:
        return branch.at_zero_entropy(plain_capacity)
    return _end_of_branch_from_plain(branch, plain_capacity)


def _end_of_branch_from_beginning(branch: RSBBranch) -> Solved[RSBState]:
    """Find the point of the branch where the entropy Σ is 0, by following it from its beginning.

    The first point with Σ ≤ 0 is close enough to start Newton's method for Σ = 0.
    """
    first = _first_point(branch, transition_at(branch.rho, branch.ensemble))
    points = branch.follow(first, _STEP_TO_LARGER_LOADS, lambda state: state.entropy <= 0)
    return branch.at_zero_entropy(last_point(points).unknowns)


def _first_point(branch: RSBBranch, transition: SupportTransition) -> Solved[RSBState]:
    """Return the point from which the branch is followed, at some distance from its beginning.

    At the beginning itself rounding drowns the equation of the break point.
    """
    begin = transition.amplitude
    distance = max(_FIRST_AMPLITUDE, _FIRST_GROWTH * begin)
    return branch_off(branch, transition, begin + distance)


def check_broken_density(rho: float) -> None:
    """InputError where the density ρ is smaller than one step of breaking is solved for."""
    if rho < LOWEST_BROKEN_DENSITY:
        raise InputError(
            f"one step of breaking is solved for rho ≥ {LOWEST_BROKEN_DENSITY:g}, but rho is "
            f"{rho:g}; use ansatz 'rs', which differs little there"
        )


def _in_table(rho: float) -> bool:
    """Whether the shipped table covers a density."""
    lowest, highest = capacity_table().rho[[0, -1]]
    return bool(lowest <= rho <= highest)


def _end_of_branch_from_plain(branch: RSBBranch, plain_capacity: Array) -> Solved[RSBState]:
    """Solve for the end of a branch, its capacity, starting from that of the plain ensemble.

    The capacity is the largest load at which some choice of variables still separates the classes.
    Newton's method needs a start near the solution. One is known for the plain ensemble (equal
    classes, no margin): `plain_capacity`, (coordinates,). The margin and the share of positive
    patterns are therefore changed in small steps, from those of the plain ensemble to those of
    `branch`, and each solution starts the next. The position between the two ensembles is the share
    of the way: 0 is the plain ensemble, 1 the ensemble of `branch`.
    """
    start = plain_capacity
    if branch.ensemble.free_threshold:
        # The threshold is one more unknown, the last. It is close to 0 near equal classes.
        start = np.append(plain_capacity, 0.0)

    def capacity_at(share: float, guess: Array) -> Solved[RSBState]:
        """The capacity of the ensemble at this share of the way; `guess` starts Newton's method."""
        ensemble = _ensemble_on_the_way(share, branch.ensemble)
        return RSBBranch(branch.rho, branch.steps, ensemble).at_zero_entropy(guess)

    def has_ensemble_of_branch(solution: Solved[RSBState]) -> bool:
        """Whether the end of the way is reached."""
        return solution.state.ensemble == branch.ensemble

    # The last step may be too long and end at a share above 1. This does no harm, because
    # `_ensemble_on_the_way` returns the ensemble of `branch` for every share from 1 on.
    solutions = follow(
        capacity_at,
        first=capacity_at(_FIRST_SHARE, start),
        begin=_FIRST_SHARE,
        step=_FIRST_SHARE,
        until=has_ensemble_of_branch,
        smallest=_SMALLEST_SHARE,
    )
    return last_point(solutions)


def _ensemble_on_the_way(share: float, wanted: Ensemble) -> Ensemble:
    """Return an ensemble between the plain one (share 0) and `wanted` (share 1 and beyond).

    The margin and the logit of the balance (the share of positive patterns) increase from 0 in
    proportion to the share.
    """
    if share >= 1:
        return wanted
    balance = EQUAL_CLASSES  # exactly, if the classes wanted are equal
    if wanted.free_threshold:
        balance = float(expit(share * logit(wanted.balance)))
    return Ensemble(balance=balance, margin=share * wanted.margin)


class BrokenStart(NamedTuple):
    """A start for the one-step solution at a load: a point of the branch near this load."""

    point: Array  # (coordinates,)
    # Whether the solver keeps the break point of this start, because rounding drowns its equation.
    hold_breaks: bool


def start_at_load(alpha: float, branch: RSBBranch) -> BrokenStart | None:
    """Find a start for Newton's method at load α, where supports fall into groups.

    A support is a choice of variables, and the load is patterns per variable. The solutions of the
    theory with groups form a curve, the branch. It begins at the load where the groups begin, and
    ends at the capacity, the largest load at which some support separates the classes. α must lie
    above the beginning. The start is a point of the curve near α. Returns None if α is so close to
    the beginning that the solution cannot be distinguished from the one without groups.
    """
    transition = transition_at(branch.rho, branch.ensemble)  # where the groups begin
    load_at_beginning = transition.breaking_alpha

    # If α is nearer to the end than to the beginning, follow the curve back from its end. This is
    # done only where the shipped table has the end: at some densities of the plain ensemble (equal
    # classes, no margin).
    if branch.ensemble.plain and _in_table(branch.rho):
        end = end_of_branch(branch)
        middle_load = 0.5 * (load_at_beginning + end.state.alpha)
        if alpha > middle_load:
            return _start_by_following(alpha, branch, from_point=end)

    # Otherwise follow the curve upwards from a first point. This lies at some distance from the
    # beginning, where rounding drowns one of the equations. Loads below it need another method.
    first_point = _first_point(branch, transition)
    if alpha >= first_point.state.alpha:
        return _start_by_following(alpha, branch, from_point=first_point)
    return _start_before_first_point(alpha, branch, transition, first_point)


def _start_before_first_point(
    alpha: float, branch: RSBBranch, transition: SupportTransition, first: Solved[RSBState]
) -> BrokenStart | None:
    """Find a start for Newton's method at load α, where groups of supports have just begun.

    α lies between the load where groups begin (`transition`) and that of the point `first`. Here
    the load increases with the amplitude, which says how distinct the groups are. Brent's method
    finds the amplitude that belongs to α. Returns None if it is too small to be resolved.

    Supports are choices of variables. The amplitude is (p₁ − p₀)/(ρ − p₁), where p₁ is the overlap
    (scalar product of the weights, per variable) of two supports in the same group, p₀ that of two
    in different groups, and ρ the density.
    """
    amplitude_at_beginning = transition.amplitude  # 0, or positive if groups begin by a jump
    lowest_amplitude = max(amplitude_at_beginning, _UNRESOLVED_AMPLITUDE)
    highest_amplitude = float(np.exp(first.unknowns[LOG_AMPLITUDE]))

    def excess_load(amplitude: float) -> float:
        """The load of the point with this amplitude, minus α."""
        point = _start_near_beginning(branch, transition, amplitude).point
        return branch.equations(point).alpha - alpha

    # Usual case: α lies between the loads of the two amplitudes.
    if excess_load(lowest_amplitude) < 0:
        amplitude = brentq(
            excess_load, lowest_amplitude, highest_amplitude, rtol=_TOLERANCE_OF_AMPLITUDE
        )
        return _start_near_beginning(branch, transition, amplitude=float(amplitude))

    # Otherwise even the point of the lowest amplitude has a load of at least α. There are two
    # cases. In the first, groups begin with a smaller amplitude than the lowest one: load α belongs
    # to an amplitude between these two, which is too small to be resolved.
    if amplitude_at_beginning < lowest_amplitude:
        return None

    # In the second, groups begin by a jump, with exactly the lowest amplitude. As α is above the
    # load at the beginning, the computed load is at least α by a rounding error only: α is the
    # load at the beginning.
    return _start_near_beginning(branch, transition, amplitude=lowest_amplitude)


def _start_near_beginning(
    branch: RSBBranch, transition: SupportTransition, amplitude: float
) -> BrokenStart:
    """Find the solution with a given amplitude, where groups of supports have just begun.

    Supports are choices of variables. The amplitude says how distinct their groups are. It is
    (p₁ − p₀)/(ρ − p₁), where p₁ is the overlap (scalar product of the weights, per variable) of two
    supports in the same group, p₀ that of two in different groups, and ρ the density.
    """
    # Usual case: all equations are solved.
    if amplitude >= _SMALLEST_AMPLITUDE:
        point = branch_off(branch, transition, amplitude).unknowns
        return BrokenStart(point, hold_breaks=False)

    # The equation of the break point x has terms of third order in the amplitude. At such small
    # amplitudes rounding drowns them: x is interpolated and held, and only the other equations are
    # solved.
    x = _interpolated_break(branch, transition, amplitude)
    point = _solved_at_break(branch, transition, amplitude, x).unknowns
    return BrokenStart(point, hold_breaks=True)


def _interpolated_break(
    branch: RSBBranch, transition: SupportTransition, amplitude: float
) -> float:
    """Interpolate the break point x at an amplitude that is too small for the equation of x.

    The interpolation is linear in the amplitude. Its lower end is the beginning of the branch,
    whose amplitude is at most `amplitude`. Its upper end is the smallest amplitude at which the
    equation of x can be solved.
    """
    begin = transition.amplitude
    x_at_begin = transition.first_break
    (x_at_smallest,) = branch_off(branch, transition, _SMALLEST_AMPLITUDE).state.order.x
    share_of_range = (amplitude - begin) / (_SMALLEST_AMPLITUDE - begin)
    return (1 - share_of_range) * x_at_begin + share_of_range * x_at_smallest


def _start_by_following(
    alpha: float, branch: RSBBranch, from_point: Solved[RSBState]
) -> BrokenStart:
    """Find a start for Newton's method at load α, by following solutions from a known one.

    `from_point` is the known solution. From there the curve of solutions (`branch`) is followed to
    larger or smaller loads until the load reaches α. The start is interpolated linearly, in the
    load, between the last two solutions.
    """
    known_load = from_point.state.alpha
    if alpha == known_load:
        return BrokenStart(from_point.unknowns, hold_breaks=False)

    # Two neighbouring solutions between whose loads α lies.
    if alpha > known_load:
        before, after = _solutions_around_load(alpha, branch, from_point)
    else:
        points = branch.follow(
            from_point, _STEP_TO_SMALLER_LOADS, until=lambda state: state.alpha <= alpha
        )
        before, after = last_two_points(points)

    # The point on the straight line between them at load α.
    load_range = after.state.alpha - before.state.alpha
    share_of_range = (alpha - before.state.alpha) / load_range
    point = before.unknowns + share_of_range * (after.unknowns - before.unknowns)
    return BrokenStart(point, hold_breaks=False)


def _solutions_around_load(
    alpha: float, branch: RSBBranch, start: Solved[RSBState]
) -> tuple[Solved[RSBState], Solved[RSBState]]:
    """Return two neighbouring solutions between whose loads α lies.

    The curve of solutions (`branch`) is followed from `start`, whose load is smaller than α, until
    the load reaches α. The curve goes on beyond the capacity, the load where the entropy, ln(number
    of separating choices of variables) per variable, becomes negative; but such solutions have no
    meaning. Far beyond the capacity the search is given up, and InputError is raised.
    """

    def has_reached_load(state: RSBState) -> bool:
        """Whether the load is at least α."""
        return state.alpha >= alpha

    def must_stop(state: RSBState) -> bool:
        """Whether the load is at least α, or the search is given up."""
        return has_reached_load(state) or _is_far_beyond_end(state)

    points = branch.follow(start, _STEP_TO_LARGER_LOADS, until=must_stop)
    before, last = last_two_points(points)
    if not has_reached_load(last.state):
        raise InputError(
            f"no one-step solution is known at alpha = {alpha:g}: at rho = {branch.rho:g} its "
            f"entropy is negative from well below {last.state.alpha:.6g} on; choose a smaller alpha"
        )
    return before, last


def _is_far_beyond_end(state: RSBState) -> bool:
    """Return whether a point lies far beyond the end of the one-step branch.

    At the end of the branch the entropy of separating supports is 0, and no support is left beyond.
    A point is far beyond if its entropy is well below 0 or its break point is small. In the shipped
    table the break point at the end of a branch is at least 0.3, and it decreases from there on.
    """
    (break_point,) = state.order.x
    return break_point < _SMALLEST_BREAK or state.entropy < _LOWEST_ENTROPY
