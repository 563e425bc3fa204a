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
    """Compute the capacity at one density: the load where the entropy Σ of good choices is 0.

    A good choice of variables separates the patterns, and Σ = ln(number of good choices)/N. Σ falls
    with the load, and at the capacity the last good choices vanish. `branch` holds the equations
    and the density. `start` is a point near the capacity, (coordinates,), if one is known. The
    equations contain integrals; the error of the load is estimated by halving their step.
    """
    coarse_point = _solve_by_first_method(branch, start)

    # Solve again with half the step of the quadrature, at the same value of χ, the response of the
    # weights, which is the parameter along the branch.
    log_chi = float(coarse_point.unknowns[LOG_CHI])
    fine_point = branch.at_chi(log_chi, start=coarse_point.unknowns, step=QUADRATURE_STEP / 2)

    # At this χ the finer Σ is not exactly 0. Both loads are corrected to Σ = 0 by a Newton step.
    coarse_alpha = _load_of_zero_entropy(coarse_point.state)
    fine_alpha = _load_of_zero_entropy(fine_point.state)
    quadrature_error = abs(fine_alpha - coarse_alpha)
    rounding_error = _rounding_of_load(fine_point.state, branch.rho, fine_alpha)
    return CapacityPoint(
        solved=fine_point,
        alpha=float(fine_alpha),
        error=float(quadrature_error + rounding_error),
    )


def _solve_by_first_method(branch: Branch, start: Array | None) -> Solved[RSState]:
    """Find the point of a branch with entropy Σ = 0, by the first of several methods that succeeds.

    A point `start` near the solution, (coordinates,), is tried first, if there is one. The other
    methods need no start.
    """
    methods: list[Callable[[Branch], Solved[RSState]]] = [
        _solve_from_entrance,
        _solve_from_smaller_densities,
    ]
    if start is not None:
        methods.insert(0, lambda branch: branch.at_zero_entropy(start))
    return first_success(lambda method: method(branch), methods)


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


def _load_of_zero_entropy(state: RSState) -> float:
    """The load where the entropy Σ vanishes, by one Newton step in α from a point near by.

    The order parameters move with the load, but Σ is stationary in them: ∂Σ/∂α is the whole slope.
    """
    return state.alpha - state.entropy / state.entropy_by_alpha


def _solve_from_entrance(branch: Branch) -> Solved[RSState]:
    """Find the point where the entropy Σ is 0, by following the branch from its beginning.

    The branch is followed until Σ is no longer positive: its zero lies between the last two points.
    """
    bracket = last_two_points(branch.from_entrance(lambda state: state.entropy <= 0))
    return branch.point_where(bracket, lambda state: state.entropy)


def _solve_from_smaller_densities(branch: Branch) -> Solved[RSState]:
    """Find the point with entropy Σ = 0 at the density of `branch`, starting at a smaller density.

    This is needed for densities near 1 with errors, where Newton's method may not find the first
    point of the branch. A branch has the solutions at one density ρ. The point with Σ = 0 is
    followed from branch to branch in small steps of logit(ρ/ρ_s), so that every step stays within
    0 < ρ < ρ_s. From the saturation density ρ_s on more variables do not increase the capacity.
    """
    ensemble = branch.ensemble
    saturation_density = ensemble.saturation_density  # ρ_s

    def point_at(logit_share: float, guess: Array) -> Solved[RSState]:
        """The point with Σ = 0 at the density with this logit(ρ/ρ_s), from a guess of it."""
        rho = _density_of(logit_share, ensemble)
        return Branch(rho, ensemble).at_zero_entropy(guess)

    first_rho = _FIRST_DENSITY_SHARE * saturation_density
    first_point = _solve_from_entrance(Branch(first_rho, ensemble))
    points = follow(
        point_at,
        first=first_point,
        begin=float(logit(_FIRST_DENSITY_SHARE)),
        step=_LOGIT_STEP,
        until=float(logit(branch.rho / saturation_density)),
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

    # Newton's method solves "the capacity at density ρ is α". Its unknown is logit(ρ/ρ_s): at the
    # saturation density ρ_s the capacity stops increasing with ρ. It starts at the density whose
    # ℓ₀-Gardner load is α. This load has a formula, and is a little above the capacity.
    logit_share = _logit_of_l0_load(alpha, ensemble)
    solver_point: Array | None = None  # where the solver of the capacity starts, (coordinates,)
    for _ in range(_DENSITY_NEWTON_STEPS):
        # The capacity at the present density, and its slope by the density.
        rho = _density_of(logit_share, ensemble)
        capacity_point = zero_entropy(Branch(rho, ensemble), solver_point)
        solver_point = capacity_point.solved.unknowns
        slope = _capacity_slope(capacity_point, rho, ensemble, wanted_load=alpha)

        step = _logit_step(
            wanted_load=alpha,
            present_load=capacity_point.alpha,
            slope=slope,
            logit_share=logit_share,
            ensemble=ensemble,
        )
        logit_share += step

        # Stop when the capacity equals α within its error, or when the step is negligible.
        agrees_with_alpha = abs(capacity_point.alpha - alpha) <= capacity_point.error
        step_is_negligible = abs(step) < _LAST_STEP
        if agrees_with_alpha or step_is_negligible:
            # The result is the density after this last step. Its error is computed from capacity
            # and slope before the step, which is accurate enough.
            last_rho = _density_of(logit_share, ensemble)
            return _density_result(alpha, last_rho, capacity_point, slope, ensemble)

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
    capacity. It stops increasing at the saturation density ρ_s: 1, or ½ if the signs of the weights
    are given. Raises InputError if no density has the load α, or if the density is too close to 0
    or ρ_s to be resolved.
    """
    load_of_all = gardner(ensemble).load  # the capacity with all variables
    if alpha >= load_of_all:
        raise InputError(
            f"alpha must be below {load_of_all:.6g}, the capacity with all variables kept, "
            f"but is {alpha:g}"
        )

    def excess_load(logit_share: float) -> float:
        """The ℓ₀-Gardner load at the density with this logit(ρ/ρ_s), minus α."""
        rho = _density_of(logit_share, ensemble)
        return l0_load(rho, ensemble) - alpha

    root_is_bracketed = excess_load(_LOWEST_LOGIT) < 0 < excess_load(_HIGHEST_LOGIT)
    if not root_is_bracketed:
        raise InputError(
            f"alpha = {alpha:g} is too close to 0 or {load_of_all:.6g} to resolve; "
            "choose a load further inside"
        )
    return float(brentq(excess_load, _LOWEST_LOGIT, _HIGHEST_LOGIT))


def _logit_step(
    *, wanted_load: float, present_load: float, slope: float, logit_share: float, ensemble: Ensemble
) -> float:
    """Return Newton's step in x = logit(ρ/ρ_s) to the density whose capacity is `wanted_load`.

    The step is [t(wanted_load) − t(present_load)]/(dt/dx), cut to the longest one allowed, with the
    log-odds

        t(load) = ln[load/(α_c − load)],

    which are nearly linear in x. Here α_c is the load of all variables, which no capacity exceeds,
    and ρ_s the saturation density, which no ρ exceeds.

    Parameters
    ----------
    wanted_load
        The load for which the density is sought.
    present_load, slope
        The capacity at the present density, and its derivative by ρ.
    logit_share
        x at the present density.
    ensemble
        Gives ρ_s and α_c.
    """
    load_of_all = gardner(ensemble).load  # α_c

    # t(wanted_load) − t(present_load) as one logarithm: the difference of two would cancel.
    numerator = wanted_load * (load_of_all - present_load)
    denominator = present_load * (load_of_all - wanted_load)
    odds_ratio = numerator / denominator
    log_odds_slope = _log_odds_slope(present_load, slope, logit_share, ensemble)  # dt/dx
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
    capacity_point: CapacityPoint, rho: float, ensemble: Ensemble, *, wanted_load: float
) -> float:
    """Compute the slope dα/dρ of the capacity α as a function of the density ρ.

    The entropy Σ of separating choices is 0 at every capacity. So along the curve of capacities
    ∂Σ/∂ρ dρ + ∂Σ/∂α dα = 0, and the slope is −(∂Σ/∂ρ)/(∂Σ/∂α). Raises ConvergenceError if it is
    not positive; the message names `wanted_load`, the load for which a density is sought.
    """
    by_rho = entropy_by_rho(capacity_point.solved.unknowns, rho, ensemble)  # ∂Σ/∂ρ
    by_alpha = capacity_point.solved.state.entropy_by_alpha  # ∂Σ/∂α
    slope = -by_rho / by_alpha
    if slope <= 0:
        load_and_ensemble = ensemble.label(f"α = {wanted_load:g}")
        raise ConvergenceError(
            f"density at {load_and_ensemble}: with errors replica symmetry is an "
            "approximation, in which no density has this capacity; choose a smaller load"
        )
    return slope
