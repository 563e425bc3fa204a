"""The capacity α_VS(ρ) and its inverse ρ_VS(α), at one point or along a curve: what users call.

The replica-symmetric capacity is a point of `chance_line`, those with breaking are in
`broken_capacity`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast, overload

import numpy as np
from scipy.special import logit

from chanceline._lazy import lazy
from chanceline.errors import InputError, shown
from chanceline.theory.bounds import Bounds, bounds_at
from chanceline.theory.break_point import break_point
from chanceline.theory.broken_capacity import capacity_1rsb, full_breaking
from chanceline.theory.broken_density import broken_density
from chanceline.theory.chance_line import CapacityPoint, Density, density_at, zero_entropy
from chanceline.theory.continuation import last_two_points
from chanceline.theory.curve import Curve
from chanceline.theory.ensemble import (
    ERRORS_ARE_APPROXIMATE,
    Ensemble,
    EnsembleResult,
    check_rho,
    with_error,
)
from chanceline.theory.gardner import gardner
from chanceline.theory.one_step import LOWEST_BROKEN_DENSITY, can_break
from chanceline.theory.quadrature import Array
from chanceline.theory.rs_branch import Branch
from chanceline.theory.transition import transition_at, transition_from

# Former home of a documented name.
__getattr__ = lazy(
    __name__, {}, moved={"RSBCapacity": "chanceline.theory.broken_capacity:RSBCapacity"}
)

# First step of ln χ, χ the response of the weights, along a branch back from the capacity towards
# the point where replica symmetry breaks: χ grows on the way to smaller loads.
_REPLICON_STEP = 0.25


@dataclass(frozen=True, repr=False)
class Capacity(EnsembleResult):
    """α_VS(ρ) with its numerical error, and how symmetry between supports breaks before.

    Replica symmetry is unstable from `replicon_alpha` on. The broken solution leaves it there with
    the break point `break_point`, x_c. If that is above 1 symmetry breaks before, by a jump: from
    `dynamic_alpha` on, α_d, the supports fall into exponentially many groups, from `static_alpha`
    on, α_K, few groups hold most of them.
    """

    rho: float
    ansatz: str
    alpha: float
    error: float
    bounds: Bounds
    replicon_alpha: float | None  # None if symmetry does not break, or was not asked for
    # How it breaks: known without errors, with free signs and for margins up to 1.
    break_point: float | None = None
    # None without a jump, and below ρ = 0.0005, where it is not solved.
    dynamic_alpha: float | None = None
    static_alpha: float | None = None

    kind = "asymptotic (replica method)"

    def summary(self) -> str:
        """The capacity with its error, in one line."""
        at = self.ensemble.label(f"ρ = {self.rho:g}")
        value = with_error(self.alpha, self.error)
        return f"capacity at {at} ({self.ansatz}): α_VS = {value}"

    def __str__(self) -> str:
        """Return the capacity and the loads around it as lines of text.

        Each of the optional lines is there only if the ensemble or the result has its subject: a
        threshold, saturation, the breaking of symmetry between choices of variables, and errors.
        """
        lines = [self.summary(), self._separating_line(), self._upper_bounds_line()]
        if self.ensemble.free_threshold:
            lines.append(f"  threshold b/|w| = {self.threshold:.8f}")

        is_saturated = self.ensemble.signed and self.rho >= self.ensemble.saturation_density
        if is_saturated:
            lines.append(
                "  a good choice of half of the inputs reaches the load of all of them: "
                "half of all weights are zero there"
            )

        if self.replicon_alpha is not None:  # symmetry breaks below the capacity
            lines.append(self._breaking_line())
        if self.errors:
            lines.append(f"  {ERRORS_ARE_APPROXIMATE}")
        return "\n".join(lines)

    def _breaking_line(self) -> str:
        """Return a line that says at which load separating supports begin to fall into groups.

        A support is a choice of variables. The groups form continuously or by a jump ("symmetry
        between supports breaks"). They form by a jump if the break point is above 1; the loads of
        the jump, `dynamic_alpha` and `static_alpha`, are None if they were not computed. The line
        is only written if `replicon_alpha` is not None.
        """
        if self.static_alpha is not None:
            return (
                f"  supports fall into groups from α = {self.dynamic_alpha:.8f} on; symmetry "
                f"between them breaks by a jump at α = {self.static_alpha:.8f}"
            )
        breaks_by_jump = self.break_point is not None and self.break_point > 1
        if breaks_by_jump:
            return (
                "  symmetry between supports breaks by a jump, before it becomes unstable at "
                f"α = {self.replicon_alpha:.8f}"
            )
        return f"  symmetry between supports breaks at α = {self.replicon_alpha:.8f}"

    def _separating_line(self) -> str:
        """Return a line with the loads below which every choice, and a typical choice, separates.

        A choice is one of ρN out of N variables. An example of the line is "every choice separates
        below α_VC = 0.1, typical ones below 2ρ = 0.2". The first half is left out if `bounds.vc` is
        None, because some choices then fail at every load.
        """
        # The symbol of the second load: a formula where there is a simple one.
        if self.ensemble.plain:
            typical_load = "2ρ"
        elif self.ensemble == Ensemble(signs="given"):
            typical_load = "ρ"
        else:
            typical_load = "α_CG"

        typical_part = f"typical ones below {typical_load} = {self.bounds.cover_gardner:g}"
        if self.bounds.vc is None:
            return f"  {typical_part} separate"
        return f"  every choice separates below α_VC = {self.bounds.vc:g}, {typical_part}"

    def _upper_bounds_line(self) -> str:
        """The two upper bounds; the union bound is infinite where very many errors are allowed."""
        union = "none"
        if math.isfinite(self.bounds.union):
            union = f"{self.bounds.union:.8f} (rigorous)"
        return f"  upper bounds: union {union}, ℓ₀-Gardner {self.bounds.l0_gardner:.8f}"


@overload
def capacity(
    rho: float,
    ansatz: str = ...,
    *,
    balance: float = ...,
    margin: float = ...,
    errors: float = ...,
    signs: str = ...,
) -> Capacity: ...


@overload
def capacity(
    rho: Sequence[float] | Array,
    ansatz: str = ...,
    *,
    balance: float = ...,
    margin: float = ...,
    errors: float = ...,
    signs: str = ...,
) -> Curve: ...


def capacity(  # noqa: PLR0913
    rho: float | Sequence[float] | Array,
    ansatz: str = "rs",
    *,
    balance: float = 0.5,
    margin: float = 0.0,
    errors: float = 0.0,
    signs: str = "free",
) -> Capacity | Curve:
    """α_VS(ρ): the load above which no choice of ρN variables separates random patterns.

    Parameters
    ----------
    rho
        Share of the variables kept, 0 < ρ < 1. For several of them the result is a `Curve`, as
        from `capacity_curve`.
    ansatz
        "rs", replica symmetric; "1rsb", one step of breaking between supports; "full", the limit of
        infinitely many steps, with the error of that extrapolation.
    balance
        Share of positive patterns, 0 < balance < 1. Unless it is ½ the rule has a free threshold.
    margin
        y(w·x + b)/|w| must be at least this, for inputs of unit variance.
    errors
        Share of patterns that may be wrong, below the share of the rarer class. With errors the
        weights of a support form clusters, Σ counts pairs of a support and a cluster, and one step
        is an approximation; `weight_clusters.one_step_gardner` has the limit ρ → 1.
    signs
        "given" if the sign of each input's weight is prescribed (a synapse is excitatory or
        inhibitory, a marker can only raise the risk), for inputs of mean 0, without errors and with
        ansatz "rs".
    """
    if np.ndim(rho):
        return capacity_curve(
            np.ravel(rho), ansatz, balance=balance, margin=margin, errors=errors, signs=signs
        )
    density_kept = check_rho(cast("float", rho))
    ensemble = Ensemble.checked(balance, margin, errors, signs)
    return _capacity_by_ansatz(ansatz, density_kept, ensemble)


def _capacity_by_ansatz(ansatz: str, rho: float, ensemble: Ensemble) -> Capacity:
    """Compute the capacity at density ρ with one of three approximations of the replica method.

    The capacity is the load (patterns per variable) up to which some choice of ρN variables
    separates the patterns. `ansatz` says how the separating choices, called supports, are taken to
    relate to each other:

        "rs"      all pairs of supports are alike (replica symmetry),
        "1rsb"    supports fall into groups (one step of symmetry breaking),
        "full"    groups fall into groups again, on infinitely many levels.

    `rho` is already checked, and so are the values of `ensemble`.
    """
    _check_ansatz(ansatz, ensemble)
    if ansatz == "rs":
        return _symmetric_capacity(Branch(rho, ensemble), with_breaking=True).capacity

    one_step = capacity_1rsb(rho, ensemble)
    alpha = one_step.alpha
    error = one_step.error
    if ansatz == "full":
        # The difference between the two capacities is read from a shipped table.
        alpha, error = full_breaking(rho, one_step.alpha)

    # At which loads the supports begin to fall into groups, as fields of `Capacity`.
    transition_fields = transition_at(rho, ensemble).as_fields()
    return Capacity(
        rho=rho,
        ansatz=ansatz,
        alpha=alpha,
        error=error,
        bounds=bounds_at(rho, ensemble),
        ensemble=ensemble,
        threshold=one_step.state.order.threshold,
        **transition_fields,
    )


def _check_ansatz(ansatz: str, ensemble: Ensemble) -> None:
    """InputError unless the ansatz is one of three, and solved for the ensemble."""
    if ansatz not in ("rs", "1rsb", "full"):
        raise InputError(f"ansatz must be 'rs', '1rsb' or 'full', but is {shown(ansatz)}")
    if ansatz == "full" and not ensemble.plain:
        raise InputError(
            "the limit of full breaking is known for balance ½, no margin and no errors; "
            "use ansatz '1rsb' or 'rs'"
        )


class _SymmetricCapacity(NamedTuple):
    """The replica-symmetric capacity at one density, and from where a neighbour can start."""

    capacity: Capacity
    # Where the entropy Σ of separating choices vanishes, (coordinates,); None from the saturation
    # density of the ensemble on, where there is no such point.
    point: Array | None


def _symmetric_capacity(
    branch: Branch, start: Array | None = None, *, with_breaking: bool = False
) -> _SymmetricCapacity:
    """Compute the capacity at one density, taking all pairs of separating choices to be alike.

    This assumption is called replica symmetry. `branch` has the density ρ, the ensemble and their
    equations. The solver returns a point, (coordinates,), from which it can be started at a
    neighbouring density; `start` is such a point, if one is known. With `with_breaking` the load
    from which on the assumption fails is computed, too.
    """
    rho = branch.rho
    ensemble = branch.ensemble
    if rho >= ensemble.saturation_density:
        # More variables do not increase the capacity, and there is no point to solve for.
        saturated_capacity = _capacity_of_all_variables(rho, ensemble)
        return _SymmetricCapacity(saturated_capacity, point=None)

    capacity_point = zero_entropy(branch, start)

    # The fields of `Capacity` that say where and how the assumption fails.
    transition_fields: dict[str, Any] = {"replicon_alpha": None}
    if with_breaking:
        transition_fields = _transition_fields(branch, capacity_point)

    symmetric_capacity = Capacity(
        rho=rho,
        ansatz="rs",
        alpha=capacity_point.alpha,
        error=capacity_point.error,
        bounds=bounds_at(rho, ensemble),
        ensemble=ensemble,
        threshold=capacity_point.solved.state.order.threshold,
        **transition_fields,
    )
    return _SymmetricCapacity(symmetric_capacity, point=capacity_point.solved.unknowns)


def _capacity_of_all_variables(rho: float, ensemble: Ensemble) -> Capacity:
    """Return the capacity at a density ρ from which on more variables do not increase it.

    This happens if the signs of the weights are given, for ρ ≥ ½. The capacity with all variables
    has a formula (`gardner`). Half of the weights are zero there, so a choice of the other half of
    the variables has the same capacity, and so has every larger one that contains it.
    """
    all_variables = gardner(ensemble)
    return Capacity(
        rho=rho,
        ansatz="rs",
        alpha=all_variables.load,
        error=0.0,
        bounds=bounds_at(rho, ensemble),
        replicon_alpha=None,
        ensemble=ensemble,
        threshold=all_variables.threshold,
    )


def _transition_fields(branch: Branch, capacity_point: CapacityPoint) -> dict[str, Any]:
    """Return where and how separating supports fall into groups, as fields of a `Capacity`.

    A support is a choice of variables. The theory without groups ("replica symmetry") is stable as
    long as a factor, the replicon, is at most 1: small differences between supports grow by this
    factor from one round of the equations to the next. The replicon increases with the load, and
    the critical point is where it is 1. `capacity_point` is the capacity of `branch`, the largest
    load of interest. The keys of the result are

        replicon_alpha                 always: the load of the critical point, or None if the
                                       theory without groups is stable up to the capacity,
        break_point                    if there is a critical point, and groups can be computed for
                                       the ensemble: the break point there,
        dynamic_alpha, static_alpha    if also the density is large enough: the loads at which
                                       groups form by a jump, or None if there is no jump.
    """
    at_capacity = capacity_point.solved
    if at_capacity.state.replicon_between <= 1:
        return {"replicon_alpha": None}  # the theory without groups is stable up to the capacity

    # Follow the solutions from the capacity to smaller loads, until the replicon falls below 1. The
    # critical point lies between the last two solutions.
    solutions = branch.follow(at_capacity, _REPLICON_STEP, lambda state: state.replicon_between < 1)
    bracket = last_two_points(solutions)
    critical_point = branch.point_where(bracket, lambda state: state.replicon_between - 1)
    critical_state = critical_point.state

    # How groups form takes the equations with groups, which are not solved for every ensemble.
    if not can_break(branch.ensemble):
        return {"replicon_alpha": critical_state.alpha}

    # At very small densities these equations are not solved either. There only the break point is
    # known: above 1 it says that groups form by a jump.
    if branch.rho < LOWEST_BROKEN_DENSITY:
        critical_break = break_point(critical_state, branch.rho, branch.ensemble)
        return {"replicon_alpha": critical_state.alpha, "break_point": critical_break}

    return transition_from(critical_state, branch.rho, branch.ensemble).as_fields()


def capacity_curve(  # noqa: PLR0913
    rhos: Iterable[float],
    ansatz: str = "rs",
    replicon: bool = False,
    *,
    balance: float = 0.5,
    margin: float = 0.0,
    errors: float = 0.0,
    signs: str = "free",
) -> Curve:
    """The capacity α_VS at many densities ρ; the points of the curve are in the order of `rhos`.

    With `replicon` the load where symmetry between choices of variables breaks is found too (it
    costs more than the capacity itself); with an ansatz other than "rs" it always is. The other
    parameters are those of `capacity`.
    """
    densities = [check_rho(rho) for rho in rhos]
    ensemble = Ensemble.checked(balance, margin, errors, signs)
    if ansatz == "rs":
        capacity_of = _symmetric_capacities(densities, ensemble, replicon)
        return Curve(tuple(capacity_of[rho] for rho in densities))
    return Curve(tuple(_capacity_by_ansatz(ansatz, rho, ensemble) for rho in densities))


def _symmetric_capacities(
    densities: list[float], ensemble: Ensemble, with_breaking: bool
) -> dict[float, Capacity]:
    """Compute the replica-symmetric capacity at several densities ρ; return them by density.

    Replica symmetry takes all pairs of separating choices of variables to be alike. The densities
    are solved in increasing order, because each solution helps to start the next: the start is a
    linear extrapolation of the two solutions before it, as functions of logit(ρ/ρ_s). From the
    saturation density ρ_s on more variables do not increase the capacity. With `with_breaking` the
    load from which on the symmetry fails is computed, too.
    """
    capacity_of: dict[float, Capacity] = {}
    solved_points: list[_SolvedPoint] = []  # in increasing density
    for rho in sorted(set(densities)):
        share_of_saturation = min(rho / ensemble.saturation_density, 1.0)
        logit_share = logit(share_of_saturation)  # infinite from ρ_s on, where no start is used
        start = _extrapolated_start(solved_points[-2:], logit_share)

        branch = Branch(rho, ensemble)
        solved = _symmetric_capacity(branch, start, with_breaking=with_breaking)
        capacity_of[rho] = solved.capacity
        if solved.point is not None:
            solved_points.append(_SolvedPoint(logit_share, solved.point))
    return capacity_of


class _SolvedPoint(NamedTuple):
    """A point of the curve: logit(ρ/ρ_s), ρ_s the saturation density, and the solver's point."""

    logit_share: float
    coordinates: Array  # (coordinates,)


def _extrapolated_start(last_points: list[_SolvedPoint], logit_share: float) -> Array | None:
    """Extrapolate a start for the solver, (coordinates,), to the next density ρ of a curve.

    `logit_share` is logit(ρ/ρ_s) at the next density, with the saturation density ρ_s.
    `last_points` has the last solved points, at most two. Two points are extrapolated linearly in
    logit(ρ/ρ_s); one point is returned as it is; without any point the result is None.
    """
    if not last_points:
        return None
    last_point = last_points[-1]
    if len(last_points) == 1:
        return last_point.coordinates

    point_before = last_points[0]
    last_move = last_point.coordinates - point_before.coordinates  # (coordinates,)
    last_step = last_point.logit_share - point_before.logit_share
    next_step = logit_share - last_point.logit_share
    return last_point.coordinates + last_move * next_step / last_step


@overload
def density(
    alpha: float,
    ansatz: str = ...,
    *,
    balance: float = ...,
    margin: float = ...,
    errors: float = ...,
    signs: str = ...,
) -> Density: ...


@overload
def density(
    alpha: Sequence[float] | Array,
    ansatz: str = ...,
    *,
    balance: float = ...,
    margin: float = ...,
    errors: float = ...,
    signs: str = ...,
) -> Curve: ...


def density(  # noqa: PLR0913
    alpha: float | Sequence[float] | Array,
    ansatz: str = "rs",
    *,
    balance: float = 0.5,
    margin: float = 0.0,
    errors: float = 0.0,
    signs: str = "free",
) -> Density | Curve:
    """ρ_VS(α), the inverse of the capacity: the smallest density that separates at load α.

    0 < α < α_c, the capacity with all variables kept (2 for equal classes without margin and
    errors, half of it with given signs). For several loads, an array of any shape, the result is a
    `Curve` of as many points in one row. The other parameters are those of `capacity`.
    """
    ensemble = Ensemble.checked(balance, margin, errors, signs)
    _check_ansatz(ansatz, ensemble)
    if np.ndim(alpha):
        loads = np.ravel(alpha).tolist()
        return Curve(tuple(_density_by_ansatz(ansatz, load, ensemble) for load in loads))
    return _density_by_ansatz(ansatz, cast("float", alpha), ensemble)


def _density_by_ansatz(ansatz: str, alpha: float, ensemble: Ensemble) -> Density:
    """Find the density whose capacity is the load α, by one of three theories.

    `ansatz` says whether separating choices of variables are taken to fall into groups: not at all
    ("rs"), into one level of groups ("1rsb") or into groups within groups on infinitely many levels
    ("full"). The search with groups starts from the density without, which is close.
    """
    symmetric_density = density_at(
        alpha,
        balance=ensemble.balance,
        margin=ensemble.margin,
        errors=ensemble.error_rate,
        signs=ensemble.signs,
    )
    if ansatz == "rs":
        return symmetric_density
    # `density_at` has checked α and converted it to a float.
    checked_alpha = symmetric_density.alpha
    return broken_density(checked_alpha, ansatz, ensemble, symmetric_rho=symmetric_density.rho)


def evenly_spaced(points: int) -> list[float]:
    """n = `points` densities at equal distances inside 0 < ρ < 1: 1/(n+1), …, n/(n+1)."""
    return [(i + 1) / (points + 1) for i in range(points)]
