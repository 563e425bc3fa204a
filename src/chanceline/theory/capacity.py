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

        Threshold, saturation, symmetry breaking and errors have lines only for ensembles with
        these.
        """
        lines = [self.summary(), self._separating_line(), self._upper_bounds_line()]
        if self.ensemble.free_threshold:
            lines.append(f"  threshold b/|w| = {self.threshold:.8f}")
        if self.ensemble.signed and self.rho >= self.ensemble.saturation_density:
            lines.append(
                "  a good choice of half of the inputs reaches the load of all of them: "
                "half of all weights are zero there"
            )
        if self.replicon_alpha is not None:
            lines.append(self._breaking_line())
        if self.errors:
            lines.append(f"  {ERRORS_ARE_APPROXIMATE}")
        return "\n".join(lines)

    def _breaking_line(self) -> str:
        """Return a line that says where symmetry between supports breaks, and whether by a jump.

        A break point above 1 means that it breaks by a jump. The loads of the jump (`dynamic_alpha`
        and `static_alpha`) are None if they were not computed.
        """
        if self.static_alpha is not None:
            return (
                f"  supports fall into groups from α = {self.dynamic_alpha:.8f} on; symmetry "
                f"between them breaks by a jump at α = {self.static_alpha:.8f}"
            )
        if self.break_point is not None and self.break_point > 1:
            return (
                "  symmetry between supports breaks by a jump, before it becomes unstable at "
                f"α = {self.replicon_alpha:.8f}"
            )
        return f"  symmetry between supports breaks at α = {self.replicon_alpha:.8f}"

    def _separating_line(self) -> str:
        """Return a line with the loads below which every choice and typical choices separate.

        A choice is one of ρN variables. For two ensembles the load of typical choices has a simple
        formula, which is shown. If `bounds.vc` is None, every choice separates at no load.
        """
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
    return _capacity_with(ansatz, density_kept, ensemble)


def _capacity_with(ansatz: str, rho: float, ensemble: Ensemble) -> Capacity:
    """Compute the capacity at density ρ with one of three approximations of the replica method.

    `ansatz` says how the separating choices of variables (supports) are taken to relate to each
    other. "rs" is replica symmetry: all pairs are alike. "1rsb" is one step of symmetry breaking:
    supports fall into groups. "full" is infinitely many steps: groups within groups. `rho` and
    `ensemble` are already checked.
    """
    _check_ansatz(ansatz, ensemble)
    if ansatz == "rs":
        return _symmetric_capacity(Branch(rho, ensemble), replicon=True).capacity

    # "full" corrects the capacity with one step by a difference from the shipped table.
    one_step = capacity_1rsb(rho, ensemble)
    alpha = one_step.alpha
    error = one_step.error
    if ansatz == "full":
        alpha, error = full_breaking(rho, one_step.alpha)
    return Capacity(
        rho=rho,
        ansatz=ansatz,
        alpha=alpha,
        error=error,
        bounds=bounds_at(rho, ensemble),
        ensemble=ensemble,
        threshold=one_step.state.order.threshold,
        **transition_at(rho, ensemble).as_fields(),
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
    branch: Branch, start: Array | None = None, *, replicon: bool = False
) -> _SymmetricCapacity:
    """Compute the replica-symmetric capacity at the density of a branch.

    The result also has the solver's point at the capacity, to start a neighbouring density. `start`
    is such a point, (coordinates,), if one is known. With `replicon` the load where replica
    symmetry breaks is computed, too.
    """
    rho = branch.rho
    ensemble = branch.ensemble
    if rho >= ensemble.saturation_density:
        # More variables do not increase the capacity, and there is no point to solve for.
        return _SymmetricCapacity(_capacity_of_all(rho, ensemble), point=None)

    capacity_point = zero_entropy(branch, start)
    # The fields of `Capacity` that say where and how symmetry breaks.
    breaking: dict[str, Any] = {"replicon_alpha": None}
    if replicon:
        breaking = _breaking_fields(branch, capacity_point)
    capacity_of_branch = Capacity(
        rho=rho,
        ansatz="rs",
        alpha=capacity_point.alpha,
        error=capacity_point.error,
        bounds=bounds_at(rho, ensemble),
        ensemble=ensemble,
        threshold=capacity_point.solved.state.order.threshold,
        **breaking,
    )
    return _SymmetricCapacity(capacity_of_branch, point=capacity_point.solved.unknowns)


def _capacity_of_all(rho: float, ensemble: Ensemble) -> Capacity:
    """Return the capacity with given signs at densities from ½ on: that with all variables.

    ½ is the saturation density. At the capacity with all variables half of the weights are zero.
    The other half of the variables therefore suffices, and more variables do not increase the
    capacity. The entropy Σ of separating choices is not 0 there but ½H₂(2ρ − 1), the entropy of
    adding variables whose weight is zero.
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


def _breaking_fields(branch: Branch, capacity_point: CapacityPoint) -> dict[str, Any]:
    """Return where and how symmetry between supports breaks, as fields of a `Capacity`.

    A support is a choice of variables. The replicon between supports is the factor by which small
    differences between supports grow in one round of the equations. It increases with the load, and
    replica symmetry is unstable where it exceeds 1. `capacity_point` is the capacity of `branch`,
    the end of the search. How symmetry breaks is known only for some ensembles and densities;
    unknown fields are left out of the result.
    """
    at_capacity = capacity_point.solved
    if at_capacity.state.replicon_between <= 1:
        return {"replicon_alpha": None}  # replica symmetry is stable up to the capacity

    # Follow the branch back from the capacity, to smaller loads, to the critical point, where the
    # replicon is 1.
    points_back = branch.follow(
        at_capacity, _REPLICON_STEP, lambda state: state.replicon_between < 1
    )
    bracket = last_two_points(points_back)
    critical = branch.point_where(bracket, lambda state: state.replicon_between - 1).state

    # To find out how symmetry breaks takes the equations with symmetry breaking, which are not
    # solved for every ensemble.
    if not can_break(branch.ensemble):
        return {"replicon_alpha": critical.alpha}
    if branch.rho < LOWEST_BROKEN_DENSITY:
        # Nor are they solved at so small densities. Only the break point is known, which has a
        # formula of its own.
        critical_break = break_point(critical, branch.rho, branch.ensemble)
        return {"replicon_alpha": critical.alpha, "break_point": critical_break}
    return transition_from(critical, branch.rho, branch.ensemble).as_fields()


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
    return Curve(tuple(_capacity_with(ansatz, rho, ensemble) for rho in densities))


def _symmetric_capacities(
    densities: list[float], ensemble: Ensemble, replicon: bool
) -> dict[float, Capacity]:
    """Compute the replica-symmetric capacity at several densities; returns them by density.

    The densities ρ are solved in increasing order. Newton's method starts each from the solver's
    points at the two densities before it, extrapolated linearly in logit(ρ/ρ_s). ρ_s is the
    saturation density, from which on more variables do not increase the capacity. With `replicon`
    the load where symmetry breaks is computed, too.
    """
    capacity_of: dict[float, Capacity] = {}
    solved_points: list[_SolvedPoint] = []  # in increasing density
    for rho in sorted(set(densities)):
        share = min(rho / ensemble.saturation_density, 1.0)
        logit_share = logit(share)  # infinite from ρ_s on, where the start is not used
        start = _extrapolated_start(solved_points[-2:], logit_share)
        solved = _symmetric_capacity(Branch(rho, ensemble), start, replicon=replicon)
        capacity_of[rho] = solved.capacity
        if solved.point is not None:
            solved_points.append(_SolvedPoint(logit_share, solved.point))
    return capacity_of


class _SolvedPoint(NamedTuple):
    """A point of the curve: logit(ρ/ρ_s), ρ_s the saturation density, and the solver's point."""

    logit_share: float
    coordinates: Array  # (coordinates,)


def _extrapolated_start(previous: list[_SolvedPoint], logit_share: float) -> Array | None:
    """Extrapolate a start for the solver, (coordinates,), to the density of `logit_share`.

    `logit_share` is logit(ρ/ρ_s) with the density ρ and the saturation density ρ_s. `previous` has
    the last solved points, at most two. Two points are extrapolated linearly; one point is returned
    as it is; without any point the result is None.
    """
    if not previous:
        return None
    last = previous[-1]
    if len(previous) == 1:
        return last.coordinates
    before_last = previous[0]
    move = last.coordinates - before_last.coordinates  # (coordinates,)
    last_step = last.logit_share - before_last.logit_share
    next_step = logit_share - last.logit_share
    return last.coordinates + move * next_step / last_step


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
        return Curve(tuple(_density_with(ansatz, load, ensemble) for load in loads))
    return _density_with(ansatz, cast("float", alpha), ensemble)


def _density_with(ansatz: str, alpha: float, ensemble: Ensemble) -> Density:
    """Find the density whose capacity is the load α; `ansatz` is "rs", "1rsb" or "full".

    With symmetry breaking ("1rsb" and "full") the search starts from the density of replica
    symmetry ("rs"), which is close.
    """
    symmetric = density_at(
        alpha,
        balance=ensemble.balance,
        margin=ensemble.margin,
        errors=ensemble.error_rate,
        signs=ensemble.signs,
    )
    if ansatz == "rs":
        return symmetric
    return broken_density(symmetric.alpha, ansatz, ensemble, symmetric_rho=symmetric.rho)


def evenly_spaced(points: int) -> list[float]:
    """n = `points` densities at equal distances inside 0 < ρ < 1: 1/(n+1), …, n/(n+1)."""
    return [(i + 1) / (points + 1) for i in range(points)]
