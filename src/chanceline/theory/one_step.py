"""The branch with one step of breaking between supports (1RSB), and ways along it.

The branch begins where symmetry breaks (`transition`): continuously on the replicon line, with
p₁ − p₀ = 0 at a finite x < 1, or by a jump before it, with a finite p₁ − p₀ at x = 1. From there χ
falls steadily, and the branch is followed in ln χ. Its entropy vanishes at a finite x and K;
beyond, the branch goes on with Σ < 0 towards x → 0.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

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
    """InputError unless one step of breaking is solved for this ensemble.

    It is for free signs of the weights, without errors, and for moderate margins.
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
def _start_spline() -> CubicSpline:
    """The solver's points at the capacity with one step of breaking, as a spline in logit ρ.

    A row of the shipped table has a density ρ and the order parameters (`RSBOrder`) at its
    capacity. The coordinates that the solver has for them (`pack_order`) are smooth functions of
    logit ρ, and are interpolated.
    """
    rows = capacity_table()
    points = []
    for row in rows:
        order = RSBOrder(
            chi=row.chi,
            K=row.K,
            E=row.E,
            F1=row.F1,
            p=(row.p0, row.p1),
            G=(row.G0, row.G1),
            x=(row.x,),
        )
        points.append(pack_order(order, row.rho))
    return CubicSpline(logit(rows.rho), points)


def start_at(rho: float) -> Array:
    """A start for one step of breaking where the entropy is 0, (coordinates,), from the table.

    It is interpolated; ρ must be a density that the shipped table covers.
    """
    return np.asarray(_start_spline()(logit(rho)))


def branch_off(
    branch: RSBBranch, transition: SupportTransition, amplitude: float = _FIRST_AMPLITUDE
) -> Solved[RSBState]:
    """A point of the one-step branch near its beginning, where (p₁ − p₀)/(ρ − p₁) is `amplitude`.

    p₁ is the overlap of two supports of the same group, p₀ that of different groups. The equation
    of the break point x is of third order in the amplitude, which is small: it fixes x only once
    the other equations hold. So x is held first, at its value at the beginning, and then freed. The
    amplitude is held both times.
    """
    at_first_break = _solved_at_break(branch, transition, amplitude, x=transition.first_break)
    return branch.solve_with(
        at_first_break.unknowns, held=(LOG_AMPLITUDE,), name="the beginning of 1RSB"
    )


def _solved_at_break(
    branch: RSBBranch, transition: SupportTransition, amplitude: float, x: float
) -> Solved[RSBState]:
    """A solution near the beginning of the one-step branch, with given amplitude and break point x.

    Newton's method holds these two, moves all other coordinates, and solves all equations but that
    of x. The amplitude is (p₁ − p₀)/(ρ − p₁), with the overlaps p₁ and p₀ of two supports within a
    group and between groups, and the density ρ.
    """
    start = _start_at_break(branch, transition, amplitude, x)
    return branch.solve_with(
        start, held=(LOG_AMPLITUDE,), name="the beginning of 1RSB", hold_breaks=True
    )


def _start_at_break(
    branch: RSBBranch, transition: SupportTransition, amplitude: float, x: float
) -> Array:
    """A point near the beginning of the one-step branch, with this amplitude and break point x.

    The other coordinates are about right: a start for Newton's method, (coordinates,).
    """
    if transition.jump is None:
        # Groups of supports begin with the amplitude 0: take a state without groups.
        return start_near_symmetric(branch, transition.critical, amplitude, x)

    # Groups begin by a jump: take the solution there, whose amplitude and x = 1 are near.
    solution_at_jump = transition.jump.static
    start = solution_at_jump.unknowns.copy()
    start[LOG_AMPLITUDE] = np.log(amplitude)
    start[LOG_BREAK] = np.log(x)
    return start


def end_of_branch(branch: RSBBranch) -> Solved[RSBState]:
    """The capacity with one step of breaking: the solution where the entropy of supports is 0.

    The plain ensemble has a start for Newton's method in the shipped table, from which other
    ensembles are reached in steps. Below the table's densities the branch is followed from its
    beginning. InputError for a density ρ below 0.0005 or above the table's 0.95.
    """
    check_broken_density(branch.rho)
    lowest, highest = capacity_table().rho[[0, -1]]
    if branch.rho > highest:
        raise InputError(
            f"the end of one step of breaking is solved for rho ≤ {highest:g}, but rho is "
            f"{branch.rho:g}; use ansatz 'rs', which differs little there"
        )
    if branch.rho < lowest:
        return _end_from_beginning(branch)
    start = start_at(branch.rho)
    if branch.ensemble.plain:
        return branch.at_zero_entropy(start)
    return _end_from_plain(branch, start)


def _end_from_beginning(branch: RSBBranch) -> Solved[RSBState]:
    """The point where the entropy Σ vanishes, by the whole way along the branch from its beginning.

    The first point with Σ ≤ 0 is near enough to start Newton on Σ = 0.
    """
    first = _first_point(branch, transition_at(branch.rho, branch.ensemble))
    points = branch.follow(first, _STEP_TO_LARGER_LOADS, lambda state: state.entropy <= 0)
    return branch.at_zero_entropy(last_point(points).unknowns)


def _first_point(branch: RSBBranch, transition: SupportTransition) -> Solved[RSBState]:
    """The point from which the branch is followed, some way from its beginning.

    At the beginning itself the equation of the break point is lost in rounding.
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


def _end_from_plain(branch: RSBBranch, plain_end: Array) -> Solved[RSBState]:
    """The capacity with one step of breaking, followed from the plain ensemble to that of `branch`.

    `plain_end` is the solution of the plain ensemble (equal classes, no margin) where the entropy Σ
    of separating supports vanishes, (coordinates,). Margin and balance (the share of positive
    patterns) are turned on in steps, and each solution starts the next. The parameter followed is
    the share of the way that is done.
    """
    # A free threshold is one more coordinate, the last, which the plain ensemble does not have. It
    # is 0 for equal classes: a start for the first point, one step away from them.
    start = plain_end
    if branch.ensemble.free_threshold:
        start = np.append(plain_end, 0.0)

    def solve_at(share: float, guess: Array) -> Solved[RSBState]:
        """The point where Σ vanishes, of the ensemble at this share of the way."""
        ensemble = _ensemble_on_the_way(share, branch.ensemble)
        return RSBBranch(branch.rho, branch.steps, ensemble).at_zero_entropy(guess)

    # The last step may pass share 1; the ensemble is the one wanted from there on.
    return last_point(
        follow(
            solve_at,
            first=solve_at(_FIRST_SHARE, start),
            begin=_FIRST_SHARE,
            step=_FIRST_SHARE,
            until=lambda point: point.state.ensemble == branch.ensemble,
            smallest=_SMALLEST_SHARE,
        )
    )


def _ensemble_on_the_way(share: float, wanted: Ensemble) -> Ensemble:
    """An ensemble between the plain one (share 0) and the one wanted (share 1 and beyond).

    The margin, and the logit of the balance (the share of positive patterns), grow from 0 in
    proportion to the share.
    """
    if share >= 1:
        return wanted
    balance = EQUAL_CLASSES  # exactly, if the classes wanted are equal
    if wanted.free_threshold:
        balance = float(expit(share * logit(wanted.balance)))
    return Ensemble(balance=balance, margin=share * wanted.margin)


class BrokenStart(NamedTuple):
    """A point of the branch near a load."""

    point: Array  # (coordinates,)
    hold_breaks: bool  # whether its break point is as good as its equation would make it


def start_at_load(alpha: float, branch: RSBBranch) -> BrokenStart | None:
    """A start for the one-step solution at load α: a point of the branch near to it.

    α must lie above the load where the branch begins. None where it is so near to that load that
    the broken solution cannot be told from the symmetric one.
    """
    # Follow the branch back from its end if α is nearer to that, and the shipped table has it.
    transition = transition_at(branch.rho, branch.ensemble)
    if branch.ensemble.plain and _in_table(branch.rho):
        end = end_of_branch(branch)
        middle_load = 0.5 * (transition.breaking_alpha + end.state.alpha)
        if alpha > middle_load:
            return _start_by_following(alpha, branch, end)

    # Else from its first point, some way from the beginning; before that one there is another way.
    first = _first_point(branch, transition)
    if alpha >= first.state.alpha:
        return _start_by_following(alpha, branch, first)
    return _start_before_first_point(alpha, branch, transition, first)


def _start_before_first_point(
    alpha: float, branch: RSBBranch, transition: SupportTransition, first: Solved[RSBState]
) -> BrokenStart | None:
    """A start at load α on the first piece of the one-step branch, from its beginning to `first`.

    On this piece the load grows with the amplitude (p₁ − p₀)/(ρ − p₁), p₁ and p₀ being the overlaps
    of supports within and between groups. None where the amplitude is too small to resolve.
    """
    amplitude_at_beginning = transition.amplitude  # 0, or more after a jump
    lowest = max(amplitude_at_beginning, _UNRESOLVED_AMPLITUDE)
    highest = float(np.exp(first.unknowns[LOG_AMPLITUDE]))

    def excess(amplitude: float) -> float:
        """The load of the point with this amplitude, minus α."""
        point = _start_near_beginning(branch, transition, amplitude).point
        return branch.equations(point).alpha - alpha

    if excess(lowest) < 0:
        amplitude = brentq(excess, lowest, highest, rtol=_TOLERANCE_OF_AMPLITUDE)
        return _start_near_beginning(branch, transition, amplitude=float(amplitude))

    # The amplitude at load α is not above the lowest one.
    if lowest > amplitude_at_beginning:
        return None  # it lies between that at the beginning and the lowest we can resolve
    # The lowest one is the beginning itself, and so is α, within rounding.
    return _start_near_beginning(branch, transition, lowest)


def _start_near_beginning(
    branch: RSBBranch, transition: SupportTransition, amplitude: float
) -> BrokenStart:
    """The point of a given amplitude on the first piece of the one-step branch.

    The amplitude is (p₁ − p₀)/(ρ − p₁), p₁ and p₀ being the overlaps of supports (choices of
    variables) within and between groups.
    """
    if amplitude >= _SMALLEST_AMPLITUDE:
        point = branch_off(branch, transition, amplitude).unknowns
        return BrokenStart(point, hold_breaks=False)

    # At smaller amplitudes the equation of the break point x is lost in rounding: its terms are of
    # third order in the amplitude. There x is interpolated, and the other equations are solved.
    x = _interpolated_break(branch, transition, amplitude)
    point = _solved_at_break(branch, transition, amplitude, x).unknowns
    return BrokenStart(point, hold_breaks=True)


def _interpolated_break(
    branch: RSBBranch, transition: SupportTransition, amplitude: float
) -> float:
    """The break point x at an amplitude that is too small for the equation of x.

    It lies on the line between two amplitudes: that at the beginning of the branch, which is not
    above `amplitude`, and the smallest at which the equation of x can be solved.
    """
    begin = transition.amplitude
    x_at_begin = transition.first_break
    (x_at_smallest,) = branch_off(branch, transition, _SMALLEST_AMPLITUDE).state.order.x
    share_of_range = (amplitude - begin) / (_SMALLEST_AMPLITUDE - begin)
    return (1 - share_of_range) * x_at_begin + share_of_range * x_at_smallest


def _start_by_following(alpha: float, branch: RSBBranch, first: Solved[RSBState]) -> BrokenStart:
    """A start at load α, by following the one-step branch from its solution `first`.

    The branch is followed to larger or smaller loads until the load passes α. The start is
    interpolated between the last two solutions.
    """
    first_load = first.state.alpha
    if alpha == first_load:
        return BrokenStart(first.unknowns, hold_breaks=False)
    if alpha > first_load:
        before, after = _solutions_around_load(alpha, branch, first)
    else:
        points = branch.follow(first, _STEP_TO_SMALLER_LOADS, lambda state: state.alpha <= alpha)
        before, after = last_two_points(points)

    share = (alpha - before.state.alpha) / (after.state.alpha - before.state.alpha)
    point = before.unknowns + share * (after.unknowns - before.unknowns)
    return BrokenStart(point, hold_breaks=False)


def _solutions_around_load(
    alpha: float, branch: RSBBranch, start: Solved[RSBState]
) -> tuple[Solved[RSBState], Solved[RSBState]]:
    """Two neighbouring solutions of the one-step branch, with α between their loads.

    The branch is followed from `start`, at a smaller load, until the load passes α. InputError
    where before that it is far beyond its end, where no support is left.
    """

    def has_arrived(state: RSBState) -> bool:
        """Whether the load is reached."""
        return state.alpha >= alpha

    points = branch.follow(
        start, _STEP_TO_LARGER_LOADS, lambda state: has_arrived(state) or _is_far_beyond_end(state)
    )
    before, last = last_two_points(points)
    if not has_arrived(last.state):
        raise InputError(
            f"no one-step solution is known at alpha = {alpha:g}: at rho = {branch.rho:g} its "
            f"entropy is negative from well below {last.state.alpha:.6g} on; choose a smaller alpha"
        )
    return before, last


def _is_far_beyond_end(state: RSBState) -> bool:
    """Whether a point lies far beyond the end of the one-step branch, where no support is left.

    The entropy is well below 0 there, or the break point is small: in the shipped table it is at
    least 0.3 at the end of a branch, and it falls from there.
    """
    (break_point,) = state.order.x
    return break_point < _SMALLEST_BREAK or state.entropy < _LOWEST_ENTROPY
