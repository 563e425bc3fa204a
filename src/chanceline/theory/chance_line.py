"""The chance line, replica symmetric: where the entropy of separating choices vanishes, Σ = 0.

`zero_entropy` finds the load at a density, `density_at` the density at a load, ρ_VS(α). With given
signs Σ counts the choices on which some weights of the right sign separate; half of the inputs,
well chosen, reach the load of all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit

from chanceline.errors import ConvergenceError, InputError
from chanceline.theory.continuation import first_success, follow
from chanceline.theory.ensemble import (
    APPROXIMATE,
    Ensemble,
    EnsembleResult,
    check_alpha,
    with_error,
)
from chanceline.theory.gardner import gardner, l0_load
from chanceline.theory.newton import EPS, Solved
from chanceline.theory.quadrature import QUADRATURE_STEP, Array
from chanceline.theory.rs_branch import Branch
from chanceline.theory.rs_equations import RSState

# The density is sought between these values of logit ρ: 1e-13 and 1 − 1e-6.
_LOWEST_LOGIT = -30.0
_HIGHEST_LOGIT = 14.0
# Newton on logit ρ: steps, the longest step, and the step below which it has arrived.
_DENSITY_NEWTON_STEPS = 50
_LONGEST_STEP = 1.0
_LAST_STEP = 1e-13
# Where the branch is followed from smaller densities: begin, as a share of the widest density, and
# first step of its logit.
_FIRST_DENSITY = 0.5
_LOGIT_STEP = 0.5


@dataclass(frozen=True)
class End:
    """The point Σ = 0, its load on a refined rule, and the error of the load."""

    solved: Solved[RSState]
    alpha: float
    error: float


def zero_entropy(branch: Branch, start: Array | None) -> End:
    """The capacity of a branch, from a point near to it or from nothing.

    The point is found on the usual rule, and found again at the same χ on one of half the step:
    what Σ is there moves the load along its slope, and the two loads differ by the error of the
    quadrature.

    Parameters
    ----------
    branch
        The density and the ensemble.
    start : (coordinates,) or None
        A point near Σ = 0, tried before the ways that need none.
    """
    ways: list[Callable[[Branch], Solved[RSState]]] = [_from_entrance, _from_smaller_densities]
    if start is not None:
        ways.insert(0, lambda branch: branch.at_zero_entropy(start))
    coarse = first_success(lambda way: way(branch), ways)
    fine = branch.at_chi(float(coarse.unknowns[0]), coarse.unknowns, QUADRATURE_STEP / 2)

    alpha = _load_of_zero(fine.state)
    quadrature_error = abs(alpha - _load_of_zero(coarse.state))

    # Σ is a sum of terms as large as F₀(ρ − q₀) and α⟨ln A⟩; its rounding, too, moves the load.
    order = fine.state.order
    by_alpha = fine.state.entropy_by_alpha
    rounding = 4 * EPS * (order.F0 * (branch.rho - order.q0) + abs(alpha * by_alpha))
    error = quadrature_error + rounding / abs(by_alpha)
    return End(solved=fine, alpha=float(alpha), error=float(error))


def _load_of_zero(state: RSState) -> float:
    """The load where Σ vanishes, from a point near by and the slope ∂Σ/∂α."""
    return state.alpha - state.entropy / state.entropy_by_alpha


def _from_entrance(branch: Branch) -> Solved[RSState]:
    """The point Σ = 0 by the whole way along the branch."""
    *_, before, after = branch.from_entrance(lambda state: state.entropy <= 0)
    return branch.point_where((before, after), lambda state: state.entropy)


def _from_smaller_densities(branch: Branch) -> Solved[RSState]:
    """The point Σ = 0 by way of those of smaller densities, followed in logit(ρ/ρ_w).

    ρ_w is the widest density of the ensemble. With errors the entrance of the branch is hard to
    find near ρ = 1; it is entered at the share _FIRST_DENSITY of ρ_w.
    """
    ensemble = branch.ensemble

    def solve_at(logit_rho: float, guess: Array) -> Solved[RSState]:
        rho = ensemble.widest * float(expit(logit_rho))
        return Branch(rho, ensemble).at_zero_entropy(guess)

    *_, last = follow(
        solve_at,
        first=_from_entrance(Branch(_FIRST_DENSITY * ensemble.widest, ensemble)),
        begin=float(logit(_FIRST_DENSITY)),
        step=_LOGIT_STEP,
        until=float(logit(branch.rho / ensemble.widest)),
    )
    return last


@dataclass(frozen=True, repr=False)
class Density(EnsembleResult):
    """ρ_VS(α): the smallest share of variables that separates at load α."""

    alpha: float
    rho: float
    error: float

    kind = "asymptotic (replica method)"

    def summary(self) -> str:
        at = self.ensemble.label(f"α = {self.alpha:g}")
        return f"density at {at}: ρ_VS = {with_error(self.rho, self.error)}"

    def __str__(self) -> str:
        if self.errors:
            return f"{self.summary()}\n  {APPROXIMATE}"
        return self.summary()


def density_at(
    alpha: float,
    *,
    balance: float = 0.5,
    margin: float = 0.0,
    errors: float = 0.0,
    signs: str = "free",
) -> Density:
    """ρ_VS(α), the inverse of the capacity: the smallest density that separates at load α.

    0 < α < α_c, the capacity with all variables kept (2 for equal classes without margin and
    errors, half of it with given signs); the other parameters are those of `capacity`.

    Newton in x = logit ρ (of 2ρ with given signs), from where the ℓ₀-Gardner load is α: at each x
    the capacity α_VS(ρ) and its slope are solved, started from the last point.
    """
    alpha = check_alpha(alpha)
    ensemble = Ensemble.checked(balance, margin, errors, signs)
    widest = ensemble.widest
    x = _logit_of_l0_load(alpha, ensemble)
    start: Array | None = None
    for _ in range(_DENSITY_NEWTON_STEPS):
        rho = widest * float(expit(x))
        end = zero_entropy(Branch(rho, ensemble), start)
        start = end.solved.unknowns
        slope = _capacity_slope(end, alpha, ensemble)
        step = _logit_step(alpha, end.alpha, slope, rho, ensemble)
        x += step
        if abs(step) < _LAST_STEP or abs(end.alpha - alpha) <= end.error:
            rho = widest * float(expit(x))
            return Density(
                alpha=alpha,
                rho=rho,
                error=float(end.error / slope + 2 * EPS * rho),
                ensemble=ensemble,
                threshold=end.solved.state.order.threshold,
            )
    raise ConvergenceError(
        f"density at α = {alpha:g}: Newton stopped at ρ = {widest * expit(x):.10g}; "
        f"try a load further from 0 or {gardner(ensemble).load:.6g}"
    )


def _logit_of_l0_load(alpha: float, ensemble: Ensemble) -> float:
    """logit ρ (of 2ρ with given signs) where the ℓ₀-Gardner load is α, or InputError."""
    top = gardner(ensemble).load
    if alpha >= top:
        raise InputError(
            f"alpha must be below {top:.6g}, the capacity with all variables kept, but is {alpha:g}"
        )

    def excess(x: float) -> float:
        return l0_load(ensemble.widest * float(expit(x)), ensemble) - alpha

    if not excess(_LOWEST_LOGIT) < 0 < excess(_HIGHEST_LOGIT):
        raise InputError(
            f"alpha = {alpha:g} is too close to 0 or {top:.6g} to resolve; "
            "choose a load further inside"
        )
    return float(brentq(excess, _LOWEST_LOGIT, _HIGHEST_LOGIT))


def _logit_step(
    alpha: float, reached: float, slope: float, rho: float, ensemble: Ensemble
) -> float:
    """Newton's step in x = logit(ρ/ρ_w) from the capacity `reached` at ρ towards the load α.

    ρ_w is `ensemble.widest`. It is taken on t = ln(α/(α_c − α)), nearly linear in x: the step is
    [t(α) − t(reached)]/(dt/dx), where dρ/dx = ρ(1 − ρ/ρ_w) and dt/dα = α_c/[α(α_c − α)]. `slope` is
    dα_VS/dρ.
    """
    load_of_all = gardner(ensemble).load  # α_c
    distance = np.log(alpha * (load_of_all - reached) / (reached * (load_of_all - alpha)))
    rho_by_x = rho * (1 - rho / ensemble.widest)
    t_by_x = slope * rho_by_x * load_of_all / (reached * (load_of_all - reached))
    return float(np.clip(distance / t_by_x, -_LONGEST_STEP, _LONGEST_STEP))


def _capacity_slope(end: End, alpha: float, ensemble: Ensemble) -> float:
    """dα_VS/dρ = −(∂Σ/∂ρ)/(∂Σ/∂α) at a point Σ = 0; ConvergenceError where it is not positive."""
    state = end.solved.state
    slope = -state.entropy_by_rho / state.entropy_by_alpha
    if slope <= 0:
        raise ConvergenceError(
            f"density at {ensemble.label(f'α = {alpha:g}')}: with errors replica symmetry is an "
            "approximation, in which no density has this capacity; choose a smaller load"
        )
    return slope
