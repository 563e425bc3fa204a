"""The branch with one step of breaking between supports (1RSB), and ways along it.

Replica symmetry is exact from 2ρ up to the load where its replicon between supports reaches 1.
There the one-step solution branches off with p₁ − p₀ = 0 at a finite x; from there χ falls
steadily, and the branch is followed in ln χ. Its entropy vanishes at a finite x and K; beyond, the
branch goes on with Σ < 0 towards x → 0.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.special import expit, logit

from chanceline.errors import InputError
from chanceline.theory.capacity_table import capacity_table
from chanceline.theory.continuation import (
    first_success,
    follow,
    last_point,
    last_two_points,
)
from chanceline.theory.ensemble import EQUAL_CLASSES, PLAIN, Ensemble
from chanceline.theory.newton import Solved
from chanceline.theory.quadrature import Array
from chanceline.theory.rs_branch import Branch
from chanceline.theory.rs_equations import RSState
from chanceline.theory.rsb import RSBBranch, RSBOrder, RSBState, pack_order

# Where a point of `rsb.pack_order` with one step of breaking holds ln (p₁ − p₀)/(ρ − p₁).
_LOG_AMPLITUDE = 3
# (p₁ − p₀)/(ρ − p₁) of the first point of the branch, and the break points tried there.
_FIRST_AMPLITUDE = 0.15
_FIRST_BREAKS = (0.8, 0.9, 0.7)
# A smaller share of that amplitude is lost in rounding.
_SMALLEST_AMPLITUDE_SHARE = 1e-3
# Towards smaller break points, and more negative entropies, the branch is not followed.
_SMALLEST_BREAK = 0.15
_LOWEST_ENTROPY = -0.05
# With a margin the break point can reach 1 before the replicon line is met; nearer to 1 than this
# the branch is not followed. Without a margin there is no such limit, as x is below 1 anyway.
_LARGEST_BREAK = 0.97
_NO_LARGEST_BREAK = 1.0
# The first step from the plain ensemble towards the one wanted, and the smallest.
_FIRST_SHARE = 0.05
_SMALLEST_SHARE = 1e-3
# First steps of ln χ along the branch: loads grow as χ falls.
_STEP_TO_SMALLER_LOADS = 0.1
_STEP_TO_LARGER_LOADS = -0.05
# One step of breaking is solved for margins up to this.
LARGEST_BROKEN_MARGIN = 1.0
# The error is seen on grids finer by this factor.
FINER = 1.4


def check_breaking(ensemble: Ensemble) -> None:
    """InputError unless one step of breaking is solved: without errors and for moderate margins."""
    if ensemble.error_rate or ensemble.signed:
        raise InputError(
            "one step of breaking is solved for errors = 0 and free signs only; use ansatz 'rs'"
        )
    if ensemble.margin > LARGEST_BROKEN_MARGIN:
        raise InputError(
            f"one step of breaking is solved for margin ≤ {LARGEST_BROKEN_MARGIN:g}; "
            "with a larger margin use ansatz 'rs'"
        )


def replicon_line(rho: float, ensemble: Ensemble = PLAIN) -> Solved[RSState]:
    """The replica-symmetric point where the replicon between supports is 1.

    Below its load replica symmetry is exact, above it is unstable.
    """
    branch = Branch(rho, ensemble)
    bracket = last_two_points(branch.from_entrance(lambda state: state.between > 1))
    return branch.point_where(bracket, lambda state: state.between - 1)


@lru_cache(maxsize=1)
def _start_spline() -> CubicSpline:
    """Points with one step of breaking where the entropy Σ vanishes, as a function of logit ρ.

    A row of the shipped table has the order parameters of such a point: χ, the multipliers K, E and
    F₁, the overlaps p₀ and p₁ with their multipliers G₀ and G₁, and the break point x. They become
    coordinates of the solver, (coordinates,), and these are interpolated.
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
    """A start for one step of breaking at Σ = 0, interpolated in the shipped table."""
    return np.asarray(_start_spline()(logit(rho)))


def branch_off(
    branch: RSBBranch, critical: RSState, amplitude: float = _FIRST_AMPLITUDE
) -> Solved[RSBState]:
    """A point of the one-step branch near its beginning, where (p₁ − p₀)/(ρ − p₁) is `amplitude`.

    p₁ is the overlap of two supports of the same group, p₀ that of different groups. The branch
    begins where replica symmetry breaks (`critical`), with p₀ = p₁.

    Several break points are tried to begin with.
    """
    return first_success(
        lambda x: _branch_off_from_break(branch, critical, amplitude, x), _FIRST_BREAKS
    )


def _branch_off_from_break(
    branch: RSBBranch, critical: RSState, amplitude: float, x: float
) -> Solved[RSBState]:
    """The point of the branch with (p₁ − p₀)/(ρ − p₁) = `amplitude`, found from a break point x.

    `critical` is the replica-symmetric state where the branch begins. The derivative of the entropy
    by the break point is of third order in the amplitude, and fixes x only once the other equations
    hold: so x is held first, then freed. The amplitude is held both times.
    """
    name = "the beginning of 1RSB"
    start = _beside_symmetric(branch, critical, amplitude, x)
    at_x = branch.solve_with(start, held=(_LOG_AMPLITUDE,), name=name, hold_breaks=True)
    return branch.solve_with(at_x.unknowns, held=(_LOG_AMPLITUDE,), name=name)


def _beside_symmetric(branch: RSBBranch, critical: RSState, amplitude: float, x: float) -> Array:
    """A start for one step of breaking, (coordinates,), beside a replica-symmetric state.

    That has one overlap q₀ of any two supports, and its multiplier F₀. The start has two overlaps a
    little apart, p₀ between groups and p₁ within one, on either side of q₀, and their multipliers
    G₀ and G₁ in proportion on either side of F₀. (p₁ − p₀)/(ρ − p₁) is `amplitude`, and x is the
    break point.
    """
    symmetric = critical.order
    p_gap = amplitude * (branch.rho - symmetric.q0)  # p₁ − p₀
    G_gap = p_gap * (symmetric.F0 / symmetric.q0)  # G₁ − G₀
    order = RSBOrder(
        chi=symmetric.chi,
        K=symmetric.K,
        E=symmetric.E,
        F1=symmetric.F1,
        p=(symmetric.q0 - p_gap / 2, symmetric.q0 + p_gap / 2),
        G=(symmetric.F0 - G_gap / 2, symmetric.F0 + G_gap / 2),
        x=(x,),
        threshold=symmetric.threshold,
    )
    point = pack_order(order, branch.rho, branch.ensemble)
    # The gap was taken relative to ρ − q₀, and that is not quite ρ − p₁: set it right.
    point[_LOG_AMPLITUDE] = np.log(amplitude)
    return point


def end_of_branch(branch: RSBBranch) -> Solved[RSBState]:
    """The point of the one-step branch where the entropy Σ vanishes, 0.02 ≤ ρ ≤ 0.95.

    For the plain ensemble the shipped table has a start, and other ensembles are reached from it.
    """
    lowest, highest = capacity_table().rho[[0, -1]]
    if not lowest <= branch.rho <= highest:
        raise InputError(
            f"one step of breaking is solved for {lowest:g} ≤ rho ≤ {highest:g}, but rho is "
            f"{branch.rho:g}; outside, use ansatz 'rs', which differs little there"
        )
    start = start_at(branch.rho)
    if branch.ensemble.plain:
        return branch.at_zero_entropy(start)
    return _end_from_plain(branch, start)


def _end_from_plain(branch: RSBBranch, plain_end: Array) -> Solved[RSBState]:
    """The point where the entropy Σ vanishes, followed from the plain ensemble to that of `branch`.

    `plain_end` is that point of the plain ensemble, (coordinates,). The parameter is a share of the
    way, from the first step on.
    """
    start = plain_end
    if branch.ensemble.free_threshold:
        start = np.append(plain_end, 0.0)  # the threshold comes last, 0 for equal classes

    def solve_at(share: float, guess: Array) -> Solved[RSBState]:
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

    The margin and the logit of the balance, the share of positive patterns, grow from 0.
    """
    if share >= 1:
        return wanted
    balance = EQUAL_CLASSES
    if wanted.free_threshold:
        balance = float(expit(share * logit(wanted.balance)))
    return Ensemble(balance=balance, margin=share * wanted.margin)


def start_at_load(alpha: float, branch: RSBBranch) -> Array | None:
    """A point of the branch near load α, (coordinates,); None where replica symmetry is exact.

    It is sought from whichever end of the branch is nearer in load: where the branch begins, on the
    replicon line (above which replica symmetry is unstable), or where its entropy Σ vanishes. The
    second end is known for the densities of the shipped table only.

    With a margin above about ½ symmetry breaks discontinuously: a little below the replicon line
    the overlaps within and between groups differ by a finite p₁ − p₀ where the break point x is 1.
    So with a margin the way is always from Σ = 0, and ends where x comes near 1.
    """
    if branch.ensemble.margin:
        return _from_end(alpha, branch, end_of_branch(branch), largest_break=_LARGEST_BREAK)

    critical = replicon_line(branch.rho, branch.ensemble).state
    if alpha <= critical.alpha:
        return None

    lowest, highest = capacity_table().rho[[0, -1]]
    if lowest <= branch.rho <= highest:
        end = end_of_branch(branch)
        middle_load = 0.5 * (critical.alpha + end.state.alpha)
        if alpha > middle_load:
            return _from_end(alpha, branch, end, largest_break=_NO_LARGEST_BREAK)
    return _from_beginning(alpha, branch, critical)


def _from_end(
    alpha: float, branch: RSBBranch, end: Solved[RSBState], largest_break: float
) -> Array | None:
    """A point near load α, (coordinates,), followed from `end`, where the entropy is 0.

    None if the break point x passes `largest_break` on the way to a smaller load: below, replica
    symmetry is exact. A load larger than that of `end` lies farther along the branch, where the
    entropy is negative.
    """
    if alpha > end.state.alpha:
        return _up_to_load(alpha, branch, end)

    def has_arrived(state: RSBState) -> bool:
        return state.alpha <= alpha

    def is_last(state: RSBState) -> bool:
        break_point = state.order.x[0]
        return has_arrived(state) or break_point > largest_break

    last = last_point(branch.follow(end, _STEP_TO_SMALLER_LOADS, is_last))
    if has_arrived(last.state):
        return last.unknowns
    return None


def _from_beginning(alpha: float, branch: RSBBranch, critical: RSState) -> Array:
    """A point near load α, (coordinates,), followed from the replicon line.

    The branch begins there, at the replica-symmetric state `critical`, with the amplitude
    (p₁ − p₀)/(ρ − p₁) = 0, p₁ and p₀ the overlaps of supports within and between groups. The first
    point solved has a finite amplitude. For a load before it the amplitude is scaled down, as
    α − α_critical grows linearly with it.
    """
    first = branch_off(branch, critical)
    if first.state.alpha < alpha:
        return _up_to_load(alpha, branch, first)
    share = (alpha - critical.alpha) / (first.state.alpha - critical.alpha)
    amplitude = _FIRST_AMPLITUDE * max(share, _SMALLEST_AMPLITUDE_SHARE)
    return branch_off(branch, critical, amplitude).unknowns


def _up_to_load(alpha: float, branch: RSBBranch, start: Solved[RSBState]) -> Array:
    """A point near load α, (coordinates,), followed from `start`, a point at a smaller load.

    InputError where the branch is given up before: where its entropy is well below 0, or its break
    point x is small. The second comes after the entropy has become negative, too: in the shipped
    table x is at least 0.3 where the entropy vanishes.
    """

    def has_arrived(state: RSBState) -> bool:
        return state.alpha >= alpha

    def is_given_up(state: RSBState) -> bool:
        has_small_break = state.order.x[0] < _SMALLEST_BREAK
        has_low_entropy = state.entropy < _LOWEST_ENTROPY
        return has_small_break or has_low_entropy

    points = branch.follow(
        start, _STEP_TO_LARGER_LOADS, lambda state: has_arrived(state) or is_given_up(state)
    )
    last = last_point(points)
    if not has_arrived(last.state):
        raise InputError(
            f"no one-step solution is known at alpha = {alpha:g}: at rho = {branch.rho:g} its "
            f"entropy is negative from well below {last.state.alpha:.6g} on; choose a smaller alpha"
        )
    return last.unknowns
