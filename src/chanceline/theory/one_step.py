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
from chanceline.theory.continuation import first_success, follow
from chanceline.theory.ensemble import PLAIN, Ensemble
from chanceline.theory.newton import Solved
from chanceline.theory.quadrature import Array
from chanceline.theory.rs_branch import Branch
from chanceline.theory.rs_equations import RSState
from chanceline.theory.rsb import RSBBranch, RSBOrder, RSBState, pack_order

# Coordinates of `rsb.pack_order` that hold ln (p₁ − p₀)/(ρ − p₁) and ln x₁ when k = 1.
_AMPLITUDE = 3
_BREAK = 4
# (p₁ − p₀)/(ρ − p₁) of the first point of the branch, and the break points tried there.
_FIRST_AMPLITUDE = 0.15
_FIRST_BREAKS = (0.8, 0.9, 0.7)
# A smaller share of that amplitude is lost in rounding.
_SMALLEST_AMPLITUDE_SHARE = 1e-3
# Towards smaller break points, and more negative entropies, the branch is not followed.
_SMALLEST_BREAK = 0.15
_LOWEST_ENTROPY = -0.05
# With a margin the break point can reach 1 before the replicon line is met; nearer to 1 than this
# the branch is not followed.
_LARGEST_BREAK = 0.97
# The first step from the plain ensemble towards the one wanted, and the smallest.
_FIRST_SHARE = 0.05
_SMALLEST_SHARE = 1e-3
# Steps of ln χ from Σ = 0 back to smaller loads, and on to larger ones.
_STEP_BACK = 0.1
_STEP_ON = -0.05
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
    """The replica-symmetric point where the replicon is 1; below it that symmetry is exact."""
    branch = Branch(rho, ensemble)
    *_, stable, unstable = branch.from_entrance(lambda state: state.between > 1)
    return branch.point_where((stable, unstable), lambda state: state.between - 1)


@lru_cache(maxsize=1)
def _start_spline() -> CubicSpline:
    """The points Σ = 0 of the shipped table, as functions of logit ρ."""
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

    ∂Σ/∂x is of third order in the amplitude, so the break point x is only fixed once the other
    equations hold: it is held first, then freed. Several values to hold are tried. `critical` is
    the replica-symmetric state where the branch begins.
    """
    # p₀ and p₁ lie on either side of q₀, G₀ and G₁ in proportion on either side of F₀.
    symmetric = critical.order
    p_part = amplitude * (branch.rho - symmetric.q0)
    G_part = p_part * (symmetric.F0 / symmetric.q0)
    name = "the beginning of 1RSB"

    def with_break_at(x: float) -> Solved[RSBState]:
        """The point with the amplitude held, first at this break point, then at its own."""
        order = RSBOrder(
            chi=symmetric.chi,
            K=symmetric.K,
            E=symmetric.E,
            F1=symmetric.F1,
            p=(symmetric.q0 - p_part / 2, symmetric.q0 + p_part / 2),
            G=(symmetric.F0 - G_part / 2, symmetric.F0 + G_part / 2),
            x=(x,),
            threshold=symmetric.threshold,
        )
        point = pack_order(order, branch.rho, branch.ensemble)
        # p₁ − p₀ is `amplitude` times ρ − q₀, and that is not quite ρ − p₁.
        point[_AMPLITUDE] = np.log(amplitude)
        with_break_held = branch.solve_with(
            point, held=(_AMPLITUDE, _BREAK), name=name, hold_breaks=True
        )
        return branch.solve_with(with_break_held.unknowns, held=(_AMPLITUDE,), name=name)

    return first_success(with_break_at, _FIRST_BREAKS)


def end_of_branch(branch: RSBBranch) -> Solved[RSBState]:
    """The point Σ = 0 of the one-step branch, 0.02 ≤ ρ ≤ 0.95.

    For the plain ensemble the shipped table has a start; from there balance (in its logit) and
    margin are followed to those of the branch, as a share 0 … 1 of the way.
    """
    lowest, highest = capacity_table().rho[[0, -1]]
    if not lowest <= branch.rho <= highest:
        raise InputError(
            f"one step of breaking is solved for {lowest:g} ≤ rho ≤ {highest:g}, but rho is "
            f"{branch.rho:g}; outside, use ansatz 'rs', which differs little there"
        )
    wanted = branch.ensemble
    start = start_at(branch.rho)
    if wanted.plain:
        return branch.at_zero_entropy(start)
    if wanted.free_threshold:
        start = np.append(start, 0.0)

    def on_the_way(share: float) -> RSBBranch:
        """From the plain ensemble (share 0) to the one wanted (share 1)."""
        if share >= 1:
            return branch
        balance = 0.5
        if wanted.free_threshold:
            balance = float(expit(share * logit(wanted.balance)))
        return RSBBranch(branch.rho, 1, Ensemble(balance, share * wanted.margin))

    *_, last = follow(
        lambda share, guess: on_the_way(share).at_zero_entropy(guess),
        first=on_the_way(_FIRST_SHARE).at_zero_entropy(start),
        begin=_FIRST_SHARE,
        step=_FIRST_SHARE,
        until=lambda point: point.state.ensemble == wanted,
        smallest=_SMALLEST_SHARE,
    )
    return last


def start_at_load(alpha: float, branch: RSBBranch) -> Array | None:
    """A point of the branch near load α; None where replica symmetry is exact.

    It is sought from whichever end of the branch is nearer: where it begins, on the replicon line,
    or Σ = 0. With a margin above about ½ symmetry breaks discontinuously, p₁ − p₀ is finite where x
    = 1, a little below that line: then the way is from Σ = 0, and ends where x comes near 1.
    """
    if branch.ensemble.margin:
        return _from_end(alpha, branch, end_of_branch(branch), _LARGEST_BREAK)
    critical = replicon_line(branch.rho, branch.ensemble).state
    if alpha <= critical.alpha:
        return None
    lowest, highest = capacity_table().rho[[0, -1]]
    if lowest <= branch.rho <= highest:
        end = end_of_branch(branch)
        if alpha > 0.5 * (critical.alpha + end.state.alpha):
            return _from_end(alpha, branch, end, largest_break=1.0)
    return _from_beginning(alpha, branch, critical)


def _from_end(
    alpha: float, branch: RSBBranch, end: Solved[RSBState], largest_break: float
) -> Array | None:
    """A point near load α, followed from `end`, where Σ = 0; None if x passes `largest_break`.

    Larger loads than that of Σ = 0 lie onwards on the branch, smaller ones back.
    """
    if alpha > end.state.alpha:
        return _onwards(alpha, branch, end)

    def far_enough(state: RSBState) -> bool:
        return state.alpha <= alpha or state.order.x[0] > largest_break

    *_, last = branch.follow(end, _STEP_BACK, far_enough)
    if last.state.alpha > alpha:
        return None
    return last.unknowns


def _from_beginning(alpha: float, branch: RSBBranch, critical: RSState) -> Array:
    """A point near load α, followed from the replicon line, where the branch begins.

    `critical` is the replica-symmetric state there. The first point has a finite amplitude; for a
    load before it the amplitude is scaled down, as α − α_critical grows linearly with it.
    """
    first = branch_off(branch, critical)
    if first.state.alpha < alpha:
        return _onwards(alpha, branch, first)
    share = (alpha - critical.alpha) / (first.state.alpha - critical.alpha)
    amplitude = _FIRST_AMPLITUDE * max(share, _SMALLEST_AMPLITUDE_SHARE)
    return branch_off(branch, critical, amplitude).unknowns


def _onwards(alpha: float, branch: RSBBranch, start: Solved[RSBState]) -> Array:
    """From a point at a smaller load on to load α, or InputError where the branch ends."""

    def far_enough(state: RSBState) -> bool:
        too_small = state.order.x[0] < _SMALLEST_BREAK
        return state.alpha >= alpha or too_small or state.entropy < _LOWEST_ENTROPY

    *_, last = branch.follow(start, _STEP_ON, far_enough)
    if last.state.alpha < alpha:
        raise InputError(
            f"no one-step solution is known at alpha = {alpha:g}: at rho = {branch.rho:g} its "
            f"entropy is negative from well below {last.state.alpha:.6g} on; choose a smaller alpha"
        )
    return last.unknowns
