"""The chance line, replica symmetric: where the entropy of separating choices vanishes, and ρ_VS(α)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit

from chanceline.errors import ConvergenceError, InputError
from chanceline.theory.closed_forms import gardner, l0_gardner
from chanceline.theory.ensemble import Ensemble, EnsembleResult, check_alpha
from chanceline.theory.quadrature import STEP, Array
from chanceline.theory.rs import Branch, RSState
from chanceline.theory.solver import Solved, first_success, follow

APPROXIMATE = "errors make the set of weights non-convex: replica symmetry within a support is an approximation"


def with_error(value: float, error: float) -> str:
    """A number with as many of its first ten decimals as its error leaves (and one more), and the error."""
    decimals = 10 if error < 1e-9 else max(0, 1 - math.floor(math.log10(error)))
    return f"{value:.{decimals}f} ± {error:.1e}"


@dataclass(frozen=True, repr=False)
class Density(EnsembleResult):
    """ρ_VS(α): the smallest share of variables that separates at load α."""

    alpha: float
    rho: float
    error: float

    kind = "asymptotic (replica method)"

    def summary(self) -> str:
        return f"density at {self.ensemble.label(f'α = {self.alpha:g}')}: ρ_VS = {with_error(self.rho, self.error)}"

    def __str__(self) -> str:
        return self.summary() + (f"\n  {APPROXIMATE}" if self.errors else "")


@dataclass(frozen=True)
class End:
    """The point Σ = 0, its load on a refined rule, and the error of the load."""

    solved: Solved[RSState]
    alpha: float
    error: float


def _from_the_entrance(branch: Branch) -> Solved[RSState]:
    """The point Σ = 0 by the whole way along the branch."""
    *_, before, after = branch.from_entrance(lambda state: state.entropy <= 0)
    return branch.point_where((before, after), lambda state: state.entropy)


def _from_smaller_densities(branch: Branch) -> Solved[RSState]:
    """The same by way of the points Σ = 0 of other densities: with errors the entrance is hard to find near ρ = 1."""
    half = 0.5

    def solve_at(x: float, guess: Array) -> Solved[RSState]:
        return Branch(float(expit(x)), branch.ensemble).at_zero_entropy(guess)

    first = _from_the_entrance(Branch(half, branch.ensemble))
    *_, last = follow(solve_at, first, float(logit(half)), 0.5, until=float(logit(branch.rho)))
    return last


def zero_entropy(branch: Branch, start: Array | None) -> End:
    """The capacity of a branch, from a point near to it or from nothing."""
    ways = [_from_the_entrance, _from_smaller_densities]
    if start is not None:
        ways.insert(0, lambda branch: branch.at_zero_entropy(start))
    coarse = first_success(lambda way: way(branch), ways)
    fine = branch.at_chi(float(coarse.unknowns[0]), coarse.unknowns, STEP / 2)
    state = fine.state
    alpha = state.alpha - state.entropy / state.entropy_by_alpha
    before_refinement = coarse.state.alpha - coarse.state.entropy / coarse.state.entropy_by_alpha
    order = state.order
    rounding = 4 * np.finfo(float).eps * (order.F0 * (branch.rho - order.q0) + abs(alpha * state.entropy_by_alpha))
    return End(fine, float(alpha), float(abs(alpha - before_refinement) + rounding / abs(state.entropy_by_alpha)))


def density(alpha: float, *, balance: float = 0.5, margin: float = 0.0, errors: float = 0.0) -> Density:
    """ρ_VS(α), the inverse of the capacity: the smallest density that separates at load α, 0 < α < α_c.

    α_c is the capacity with all variables kept (2 for equal classes without margin and errors); the other parameters are those of
    `capacity`. Newton on ln(α/(α_c − α)) as a function of logit ρ, with dα_VS/dρ = −(∂Σ/∂ρ)/(∂Σ/∂α).
    """
    alpha, ensemble = check_alpha(alpha), Ensemble.checked(balance, margin, errors)
    top = gardner(ensemble).load
    if alpha >= top:
        raise InputError(f"alpha must be below {top:.6g}, the capacity with all variables kept, but is {alpha:g}")
    lowest, highest = -30.0, 14.0

    def nearest(x: float) -> float:
        return top * l0_gardner(float(expit(x))) / 2 - alpha

    if not nearest(lowest) < 0 < nearest(highest):
        raise InputError(f"alpha = {alpha:g} is too close to 0 or {top:.6g} to resolve; choose a load further inside")
    x = float(brentq(nearest, lowest, highest))
    start: Array | None = None
    for _ in range(50):
        rho = float(expit(x))
        end = zero_entropy(Branch(rho, ensemble), start)
        start, state, reached = end.solved.unknowns, end.solved.state, end.alpha
        slope = -state.entropy_by_rho / state.entropy_by_alpha
        if slope <= 0:
            at = ensemble.label(f"α = {alpha:g}")
            raise ConvergenceError(
                f"density at {at}: with errors replica symmetry is an approximation, in which no density has this capacity; "
                "choose a smaller load"
            )
        move = np.log(alpha * (top - reached) / (reached * (top - alpha)))
        by_x = slope * rho * (1 - rho) * top / (reached * (top - reached))
        step = float(np.clip(move / by_x, -1.0, 1.0))
        x += step
        if abs(step) < 1e-13 or abs(reached - alpha) <= end.error:
            rho = float(expit(x))
            error = float(end.error / slope + 2 * np.finfo(float).eps * rho)
            return Density(alpha, rho, error, ensemble=ensemble, threshold=state.order.threshold)
    raise ConvergenceError(
        f"density at α = {alpha:g}: Newton stopped at ρ = {expit(x):.10g}; try a load further from 0 or {top:.6g}"
    )
