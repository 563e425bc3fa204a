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
from chanceline.theory import dual
from chanceline.theory.continuation import (
    first_success,
    follow,
    last_point,
    last_two_points,
)
from chanceline.theory.dual import Dual, independent
from chanceline.theory.ensemble import (
    ERRORS_ARE_APPROXIMATE,
    Ensemble,
    EnsembleResult,
    check_alpha,
    with_error,
)
from chanceline.theory.gardner import gardner, l0_load
from chanceline.theory.newton import EPS, Solved
from chanceline.theory.quadrature import QUADRATURE_STEP, Array
from chanceline.theory.rs_branch import Branch
from chanceline.theory.rs_equations import RSState, entropy_by_rho
from chanceline.theory.rs_point import LOG_CHI

# The density is sought between these values of logit ρ: 1e-13 and 1 − 1e-6.
_LOWEST_LOGIT = -30.0
_HIGHEST_LOGIT = 14.0
# Newton on logit ρ: steps, the longest step, and the step below which it has arrived.
_DENSITY_NEWTON_STEPS = 50
_LONGEST_STEP = 1.0
_LAST_STEP = 1e-13
# Where the branch is followed from smaller densities: the first density, as a share of the
# saturation density of the ensemble, and the first step of the logit of that share.
_FIRST_DENSITY_SHARE = 0.5
_LOGIT_STEP = 0.5
# How many roundings are allowed for, each of the machine's precision, in the entropy at its zero
# (relative to its terms) and in a density that is found from its logit (relative to itself).
_ROUNDINGS_OF_ENTROPY = 4
_ROUNDINGS_OF_DENSITY = 2


@dataclass(frozen=True)
class CapacityPoint:
    """The capacity of a branch: the point where the entropy Σ of separating choices vanishes."""

    solved: Solved[RSState]  # the point on the refined quadrature
    alpha: float  # its load
    error: float  # of the load


def zero_entropy(branch: Branch, start: Array | None) -> CapacityPoint:
    """Compute the capacity of a branch: the load where the entropy Σ of separating choices is 0.

    The branch is the curve of replica-symmetric solutions at one density. `start` is a point near
    the capacity, (coordinates,), if one is known. The result has the point with the finer
    quadrature, its load, and the error of the load.
    """
    # Several methods are tried in turn, until one succeeds.
    coarse = _zero_by_first_way(branch, start)
    # Solve again with half the step of the quadrature, at the same χ (the response of the weights,
    # which is the parameter along the branch).
    log_chi = float(coarse.unknowns[LOG_CHI])
    fine = branch.at_chi(log_chi, start=coarse.unknowns, step=QUADRATURE_STEP / 2)

    # At this χ the finer Σ is not exactly 0. Both loads are corrected to Σ = 0 by a Newton step.
    alpha = _load_of_zero(fine.state)
    quadrature_error = abs(alpha - _load_of_zero(coarse.state))
    error = quadrature_error + _rounding_of_load(fine.state, branch.rho, alpha)
    return CapacityPoint(solved=fine, alpha=float(alpha), error=float(error))


def _zero_by_first_way(branch: Branch, start: Array | None) -> Solved[RSState]:
    """The point Σ = 0 of a branch, by the first of several ways that succeeds.

    `start`, a point near to it, is tried before the ways that need none.
    """
    ways: list[Callable[[Branch], Solved[RSState]]] = [_from_entrance, _from_smaller_densities]
    if start is not None:
        ways.insert(0, lambda branch: branch.at_zero_entropy(start))
    return first_success(lambda way: way(branch), ways)


def _rounding_of_load(state: RSState, rho: float, alpha: float) -> float:
    """The error of the load α where the entropy Σ vanishes, as far as it comes from rounding.

    Σ is a sum, whose rounding is a few times EPS of its largest terms. These are F₀(ρ − q₀), with
    the density ρ, the overlap q₀ of the weights of two choices and its multiplier F₀, and α ∂Σ/∂α.
    An error of Σ moves its zero by that error over the slope ∂Σ/∂α.
    """
    order = state.order
    slope = state.entropy_by_alpha
    size_of_terms = order.F0 * (rho - order.q0) + abs(alpha * slope)
    entropy_rounding = _ROUNDINGS_OF_ENTROPY * EPS * size_of_terms
    return entropy_rounding / abs(slope)


def _load_of_zero(state: RSState) -> float:
    """The load where the entropy Σ vanishes, by one Newton step in α from a point near by.

    The order parameters move with the load, but Σ is stationary in them: ∂Σ/∂α is the whole slope.
    """
    return state.alpha - state.entropy / state.entropy_by_alpha


def _from_entrance(branch: Branch) -> Solved[RSState]:
    """The point where the entropy Σ is 0, by the whole way along the branch from its beginning.

    The branch is followed until Σ is no longer positive: its zero lies between the last two points.
    """
    bracket = last_two_points(branch.from_entrance(lambda state: state.entropy <= 0))
    return branch.point_where(bracket, lambda state: state.entropy)


def _from_smaller_densities(branch: Branch) -> Solved[RSState]:
    """Find the point of a branch with entropy Σ = 0 by following it from a smaller density.

    This is needed for densities near 1 with errors, where Newton's method may not find the first
    point of the branch. The point with Σ = 0 is followed in small steps of logit(ρ/ρ_s), so that
    every step stays within 0 < ρ < ρ_s. ρ_s is the saturation density, from which on more variables
    do not increase the capacity.
    """
    ensemble = branch.ensemble
    saturation = ensemble.saturation_density  # ρ_s

    def zero_at(logit_share: float, guess: Array) -> Solved[RSState]:
        """The point with Σ = 0 at the density of this logit, from a guess of its unknowns."""
        density = _density_of(logit_share, ensemble)
        return Branch(density, ensemble).at_zero_entropy(guess)

    first_density = _FIRST_DENSITY_SHARE * saturation
    points = follow(
        zero_at,
        first=_from_entrance(Branch(first_density, ensemble)),
        begin=float(logit(_FIRST_DENSITY_SHARE)),
        step=_LOGIT_STEP,
        until=float(logit(branch.rho / saturation)),
    )
    return last_point(points)


@dataclass(frozen=True, repr=False)
class Density(EnsembleResult):
    """ρ_VS(α): the smallest share of variables that separates at load α."""

    alpha: float
    rho: float
    error: float
    ansatz: str = "rs"

    kind = "asymptotic (replica method)"

    def summary(self) -> str:
        """The density with its error, in one line."""
        at = self.ensemble.label(f"α = {self.alpha:g}")
        if self.ansatz != "rs":
            at += f" ({self.ansatz})"
        return f"density at {at}: ρ_VS = {with_error(self.rho, self.error)}"

    def __str__(self) -> str:
        """The summary, and a warning where errors make the theory an approximation."""
        if self.errors:
            return f"{self.summary()}\n  {ERRORS_ARE_APPROXIMATE}"
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

    The density is the share of variables chosen, the load is patterns per variable. α must lie
    between 0 and the capacity with all variables, which is 2 by default. The other parameters are
    those of `capacity`.
    """
    alpha = check_alpha(alpha)
    ensemble = Ensemble.checked(balance, margin, errors, signs)

    # Newton's method solves "the capacity at ρ is α". Its unknown is logit(ρ/ρ_s), where ρ_s is the
    # density from which on more variables do not increase the capacity. It starts at the density
    # whose ℓ₀-Gardner load is α: this load has a formula, and is a little above the capacity.
    logit_share = _logit_of_l0_load(alpha, ensemble)
    solver_point: Array | None = None  # the last point of the capacity's own solver, to start it
    for _ in range(_DENSITY_NEWTON_STEPS):
        rho = _density_of(logit_share, ensemble)
        capacity_point = zero_entropy(Branch(rho, ensemble), solver_point)
        solver_point = capacity_point.solved.unknowns
        slope = _capacity_slope(capacity_point, rho, ensemble, wanted=alpha)
        step = _logit_step(
            wanted=alpha,
            reached=capacity_point.alpha,
            slope=slope,
            logit_share=logit_share,
            ensemble=ensemble,
        )
        logit_share += step

        # Stop when the capacity equals α within its error, or when the step is negligible.
        agrees_with_alpha = abs(capacity_point.alpha - alpha) <= capacity_point.error
        if agrees_with_alpha or abs(step) < _LAST_STEP:
            # Capacity and slope are from before the last step, which is accurate enough for the
            # error of the density.
            density = _density_of(logit_share, ensemble)
            return _density_result(alpha, density, capacity_point, slope, ensemble)
    raise ConvergenceError(
        f"density at α = {alpha:g}: Newton stopped at ρ = {rho:.10g}; "
        f"try a load further from 0 or {gardner(ensemble).load:.6g}"
    )


def _density_result(
    alpha: float, rho: float, capacity_point: CapacityPoint, slope: float, ensemble: Ensemble
) -> Density:
    """The density ρ found at the load α, with its error, as the result that users see.

    `capacity_point` is the capacity before Newton's last step, and `slope` is dα_VS/dρ there.
    The error of the capacity over its slope is that of the density, to which rounding adds.
    """
    error = capacity_point.error / slope + _ROUNDINGS_OF_DENSITY * EPS * rho
    return Density(
        alpha=alpha,
        rho=rho,
        error=float(error),
        ensemble=ensemble,
        threshold=capacity_point.solved.state.order.threshold,
    )


def _density_of(logit_share: float, ensemble: Ensemble) -> float:
    """The density ρ from logit(ρ/ρ_s), ρ_s the saturation density of the ensemble."""
    return ensemble.saturation_density * float(expit(logit_share))


def _logit_of_l0_load(alpha: float, ensemble: Ensemble) -> float:
    """Find logit(ρ/ρ_s) of the density ρ whose ℓ₀-Gardner load is α, by Brent's method.

    The ℓ₀-Gardner load (`l0_load`) has a formula, increases with ρ and is a little above the
    capacity. ρ_s is the saturation density: 1, or ½ with given signs of the weights. Raises
    InputError if no density has this load, or if the density is too close to 0 or ρ_s to be
    resolved.
    """
    load_of_all = gardner(ensemble).load
    if alpha >= load_of_all:
        raise InputError(
            f"alpha must be below {load_of_all:.6g}, the capacity with all variables kept, "
            f"but is {alpha:g}"
        )

    def excess(logit_share: float) -> float:
        """The ℓ₀-Gardner load at the density with this logit(ρ/ρ_s), minus α."""
        return l0_load(_density_of(logit_share, ensemble), ensemble) - alpha

    if not excess(_LOWEST_LOGIT) < 0 < excess(_HIGHEST_LOGIT):
        raise InputError(
            f"alpha = {alpha:g} is too close to 0 or {load_of_all:.6g} to resolve; "
            "choose a load further inside"
        )
    return float(brentq(excess, _LOWEST_LOGIT, _HIGHEST_LOGIT))


def _logit_step(
    *, wanted: float, reached: float, slope: float, logit_share: float, ensemble: Ensemble
) -> float:
    """Newton's step in x = logit(ρ/ρ_s) towards the density ρ whose capacity is the load `wanted`.

    The step is [t(wanted) − t(reached)]/(dt/dx), cut to the longest one allowed, with the log-odds

        t(load) = ln[load/(α_c − load)],

    which are nearly linear in x. Here α_c is the load of all variables, which no capacity exceeds,
    and ρ_s the saturation density, which no ρ exceeds.

    Parameters
    ----------
    wanted
        The load for which the density is sought.
    reached, slope
        The capacity at the present density, and its derivative by ρ.
    logit_share
        x at the present density.
    ensemble
        Gives ρ_s and α_c.
    """
    load_of_all = gardner(ensemble).load  # α_c

    # t(wanted) − t(reached) as one logarithm: the difference of two would cancel.
    odds_ratio = wanted * (load_of_all - reached) / (reached * (load_of_all - wanted))
    log_odds_slope = _log_odds_slope(reached, slope, logit_share, ensemble)  # dt/dx
    newton_step = np.log(odds_ratio) / log_odds_slope
    return float(np.clip(newton_step, -_LONGEST_STEP, _LONGEST_STEP))


def _log_odds_slope(
    capacity_value: float, capacity_by_rho: float, logit_share: float, ensemble: Ensemble
) -> float:
    """dt/dx of the log-odds t = ln[α/(α_c − α)] of the capacity α(ρ), by x = logit(ρ/ρ_s).

    α_c is the load of all variables, ρ_s the saturation density. The capacity and its slope dα/dρ
    are given at the density where x is `logit_share`. The chain rule is left to Duals: each number
    below carries its derivative by x.
    """
    load_of_all = gardner(ensemble).load  # α_c
    (x,) = independent(np.array([logit_share]))
    rho = ensemble.saturation_density * dual.expit(x)
    # The capacity, made by hand: its derivative by x is dα/dρ·dρ/dx.
    capacity = Dual(capacity_value, capacity_by_rho * rho.differential)
    log_odds = dual.log(capacity / (load_of_all - capacity))  # t
    (log_odds_by_x,) = log_odds.gradient
    return float(log_odds_by_x)


def _capacity_slope(
    capacity_point: CapacityPoint, rho: float, ensemble: Ensemble, *, wanted: float
) -> float:
    """dα_VS/dρ, the slope of the capacity, at the point where the entropy Σ vanishes.

    Σ stays 0 along the line of capacities, dΣ = ∂Σ/∂ρ dρ + ∂Σ/∂α dα = 0: so the slope is
    −(∂Σ/∂ρ)/(∂Σ/∂α). ConvergenceError where it is not positive; `wanted` is the load asked for,
    which the error names.
    """
    by_rho = entropy_by_rho(capacity_point.solved.unknowns, rho, ensemble)
    slope = -by_rho / capacity_point.solved.state.entropy_by_alpha
    if slope <= 0:
        raise ConvergenceError(
            f"density at {ensemble.label(f'α = {wanted:g}')}: with errors replica symmetry is an "
            "approximation, in which no density has this capacity; choose a smaller load"
        )
    return slope
