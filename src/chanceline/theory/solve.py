"""`solve(alpha, rho)`: the replica solution at one point, symmetric or one step broken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import Any, cast, overload

import numpy as np

from chanceline.errors import InputError, shown
from chanceline.theory.distributions import FieldLaws
from chanceline.theory.ensemble import PLAIN, Ensemble, check_alpha, check_rho
from chanceline.theory.gardner import gardner
from chanceline.theory.newton import Solved
from chanceline.theory.one_step import (
    FINER,
    BrokenStart,
    check_breaking,
    check_broken_density,
    start_at_load,
)
from chanceline.theory.quadrature import Array
from chanceline.theory.rsb import RSBBranch, RSBOrder, RSBState
from chanceline.theory.solution import (
    ReplicaSolution,
    RSSolution,
    Solutions,
    Stability,
    regime_above_entrance,
)
from chanceline.theory.symmetric import solve_rs, solve_rs_along
from chanceline.theory.transition import SupportTransition, transition_at


class Phase(StrEnum):
    """What has become of the symmetry between supports."""

    SYMMETRIC = "symmetric"  # replica symmetry is exact
    GROUPED = "grouped"  # α_d < α ≤ α_K: exponentially many groups, the entropy as without them
    BROKEN = "broken"  # few groups hold most supports


@dataclass(frozen=True, repr=False, kw_only=True)
class OneStepSolution(ReplicaSolution):
    """One step of breaking between supports.

    Choices of variables (supports) fall into groups. Two of the same group have the overlap p₁ of
    their weights, with its multiplier G₁ (the covariance of their fields), two of different groups
    p₀ and G₀; x is the probability that two belong to different groups.

    `broken` says whether symmetry is broken at all. Where it is not, the values of replica symmetry
    are returned with p₁ = p₀ = q₀, G₁ = G₀ = F₀ and no x; `phase` tells whether it is exact
    ("symmetric"), or gives the right entropy of supports that fall into exponentially many groups
    ("grouped"). `q0` and `F0` are the means over pairs of supports, xp₀ + (1 − x)p₁ and
    xG₀ + (1 − x)G₁. `stability.between` is the replicon inside a group; above 1 it asks for more
    steps.

    `break_point`, `dynamic_alpha` and `static_alpha` are those of `Capacity`; None where typical
    choices separate, below the load α_CG.
    """

    broken: bool
    phase: str
    p1: float
    p0: float
    G1: float
    G0: float
    x: float | None  # None where symmetry is not broken
    replicon_inner: float  # within a group
    replicon_outer: float  # between groups
    replicon_alpha: float | None  # from which load on replica symmetry is unstable
    break_point: float | None  # x_c on that line; above 1 symmetry breaks before, by a jump
    dynamic_alpha: float | None  # α_d, None without a jump
    static_alpha: float | None  # α_K, None without a jump

    ansatz = "1rsb"
    kind = "asymptotic (one step of replica symmetry breaking)"

    def _law_parameters(self) -> FieldLaws:
        """Return the parameters that determine the distributions of weights and stabilities.

        Supports are choices of variables. Without groups of supports the parameters are those of
        the base class. With groups, these three of them depend on whether two supports are in
        different groups or in the same group:

            overlaps      p₀ and p₁, scalar products of the weights of two supports, per variable,
            conjugates    G₀ and G₁, covariances of the fields on a variable in two supports (a
                          field is what the patterns pull its weight by),
            breaks        only x, the probability that two supports are in different groups.
        """
        parameters_without_groups = super()._law_parameters()
        # No groups, or groups that are too weak to be resolved: these have an x, but equal
        # overlaps.
        if self.x is None or self.p1 == self.p0:
            return parameters_without_groups
        return replace(
            parameters_without_groups,
            overlaps=(self.p0, self.p1),
            conjugates=(self.G0, self.G1),
            breaks=(self.x,),
        )

    def __str__(self) -> str:
        """Return the solution as lines of text: two without groups of supports, several with them.

        Supports are choices of variables; `broken` says whether they fall into groups.
        """
        if not self.broken:
            entropy = f"Σ = {self.entropy:.10f} ± {self.quadrature_error:.1e}"
            return f"{self.summary()}\n  {self._why_unbroken()}: {entropy}"

        # The probability that two supports are in different groups.
        break_point = f"x {self.x:.10g}"
        # Overlaps of the weights of two supports in the same group and in different groups, and
        # covariances of the fields, by which the patterns pull a weight, in the two supports.
        overlaps = f"p₁ {self.p1:.10g}   p₀ {self.p0:.10g}"
        covariances = f"G₁ {self.G1:.10g}   G₀ {self.G0:.10g}"
        # The scale χ of the cost v²/2χ of a violation v, and the price of a variable.
        cost_and_price = f"χ {self.chi:.10g}   K {self.K:.10g}"
        # A field h gives the weight h/E; F₁ is the variance of the field.
        stiffness_and_variance = f"E {self.E:.10g}   F₁ {self.F1:.10g}"
        # Factors by which small differences of overlaps grow, stable below 1.
        replicon_inner = f"within a group {self.replicon_inner:.6f}"
        replicon_outer = f"between groups {self.replicon_outer:.6f}"
        # A check of the solution: as many tight patterns (exactly at the margin), αp₊ per variable,
        # as chosen variables, ρ.
        identity_error = f"|αp₊ − ρ| {abs(self.identity_error):.1e}"
        lines = [
            self.summary(),
            self._entropy_line(),
            f"  {break_point}   {overlaps}   {covariances}",
            f"  {cost_and_price}   {stiffness_and_variance}",
            f"  replicons    {replicon_inner}, {replicon_outer}",
            f"  residual     {self.residual:.1e}   {identity_error}",
        ]
        return "\n".join(lines)

    def _why_unbroken(self) -> str:
        """Why the entropy is that of replica symmetry."""
        if self.phase == Phase.GROUPED:
            return (
                f"supports fall into exponentially many groups from α = {self.dynamic_alpha:.8g} "
                f"on; up to α = {self.static_alpha:.8g} their entropy is that of replica symmetry"
            )
        return "replica symmetry is exact at this load"


@overload
def solve(
    alpha: float,
    rho: float,
    ansatz: str = ...,
    *,
    balance: float = ...,
    margin: float = ...,
    errors: float = ...,
    signs: str = ...,
) -> RSSolution | OneStepSolution: ...


@overload
def solve(
    alpha: Sequence[float] | Array,
    rho: float,
    ansatz: str = ...,
    *,
    balance: float = ...,
    margin: float = ...,
    errors: float = ...,
    signs: str = ...,
) -> Solutions: ...


def solve(  # noqa: PLR0913
    alpha: float | Sequence[float] | Array,
    rho: float,
    ansatz: str = "rs",
    *,
    balance: float = 0.5,
    margin: float = 0.0,
    errors: float = 0.0,
    signs: str = "free",
) -> RSSolution | OneStepSolution | Solutions:
    """Solve the theory of chance separation at load α and density ρ.

    P random patterns (samples) of N variables are separated by a perceptron that may use M of the
    variables: α = P/N and ρ = M/N. The theory, the replica method, says for large N how many of
    the choices of M variables separate, and what the weights are like.

    Parameters
    ----------
    alpha
        Load, patterns per variable, positive: a number, or several in a sequence. For several loads
        the result is `Solutions`, one solution per load in their order. With "rs" the loads are
        then solved together, along one curve of solutions.
    rho
        Share of the variables that the perceptron may keep, 0 < ρ < 1.
    ansatz
        "rs" (replica symmetry) or "1rsb" (one step of symmetry breaking: the choices of variables
        that separate may fall into groups; where they do not, the symmetric solution is returned).
    balance, margin, errors, signs
        Share of positive patterns, margin of the rule, share of errors allowed, and "free" or
        "given" signs of the weights, as in `capacity`.

    Returns
    -------
    RSSolution, OneStepSolution or Solutions
        Order parameters, entropy Σ of separating choices of variables, stability products,
        residual and quadrature error.
    """
    ensemble = Ensemble.checked(balance, margin, errors, signs)
    if ansatz not in ("rs", "1rsb"):
        raise InputError(f"ansatz must be 'rs' or '1rsb', but is {shown(ansatz)}")
    has_several_loads = np.ndim(alpha) > 0
    if has_several_loads:
        loads = np.ravel(alpha).tolist()
        return _solve_along(loads, rho, ansatz, ensemble)

    load = cast("float", alpha)
    if ansatz == "rs":
        return solve_rs(load, rho, ensemble)
    return solve_1rsb(load, rho, ensemble)


def _solve_along(loads: list[float], rho: float, ansatz: str, ensemble: Ensemble) -> Solutions:
    """Solve at several loads and one density, in the order of the loads."""
    loads = [check_alpha(load) for load in loads]
    rho = check_rho(rho)
    if ansatz == "rs":
        return Solutions(tuple(solve_rs_along(loads, rho, ensemble)))
    # Solve at each load on its own. The most expensive part, finding where symmetry breaks, is done
    # only once, because `transition_at` caches its result.
    return Solutions(tuple(solve_1rsb(load, rho, ensemble) for load in loads))


def solve_1rsb(alpha: float, rho: float, ensemble: Ensemble = PLAIN) -> OneStepSolution:
    """Solve at load α and density ρ, where the separating choices of variables may form groups.

    A support is a choice of ρN of the N variables. As the load (patterns per variable) grows, the
    supports that separate the patterns become few and fall into groups (one step of replica
    symmetry breaking). There are four cases, by increasing load, which the code tests one by one.
    Only in the last case does the solution differ from `solve_rs`, which knows no groups. Raises
    InputError for ensembles and densities that are not covered; errors are not.
    """
    alpha = check_alpha(alpha)
    rho = check_rho(rho)
    check_breaking(ensemble)

    # 1. Up to the Cover–Gardner load typical supports separate, and there are no groups. At which
    #    larger load groups would begin is not computed.
    cover_gardner_load = rho * gardner(ensemble).load
    if alpha <= cover_gardner_load:
        symmetric = solve_rs(alpha, rho, ensemble)
        return _as_one_step_solution(symmetric, Phase.SYMMETRIC, transition=None)

    # 2. Only selected supports separate, but groups do not change the solution yet.
    check_broken_density(rho)
    transition = transition_at(rho, ensemble)
    if alpha <= transition.breaking_alpha:
        phase = _unbroken_phase(alpha, transition)
        symmetric = solve_rs(alpha, rho, ensemble)
        return _as_one_step_solution(symmetric, phase, transition)

    # 3. The groups have just begun: overlaps within and between groups are still too similar to be
    #    resolved, and there is no start for the solver.
    branch = RSBBranch(rho, steps=1, ensemble=ensemble)
    start = start_at_load(alpha, branch)
    if start is None:
        symmetric = solve_rs(alpha, rho, ensemble)
        return _as_one_step_solution(symmetric, Phase.BROKEN, transition)

    # 4. There are groups, and the equations with one step of breaking are solved.
    return _broken_solution(alpha, branch, start, transition)


def _broken_solution(
    alpha: float, branch: RSBBranch, start: BrokenStart, transition: SupportTransition
) -> OneStepSolution:
    """Solve at load α with groups of supports, by Newton's method from `start`.

    The equations are solved twice, the second time on finer grids. The second solution is returned,
    and the change of its entropy is reported as the quadrature error.
    """
    coarse = branch.at_load(alpha, start.point, hold_breaks=start.hold_breaks)
    fine = branch.at_load(alpha, coarse.unknowns, FINER, hold_breaks=start.hold_breaks)
    quadrature_error = abs(fine.state.entropy - coarse.state.entropy)
    return _solution_with_groups(
        branch, fine, transition, alpha=alpha, quadrature_error=quadrature_error
    )


def _unbroken_phase(alpha: float, transition: SupportTransition) -> Phase:
    """Return the phase at a load α where the entropy is that of replica symmetry.

    If symmetry breaks by a jump, there are already groups of supports from the load `dynamic_alpha`
    on.
    """
    if transition.dynamic_alpha is not None and alpha > transition.dynamic_alpha:
        return Phase.GROUPED
    return Phase.SYMMETRIC


# The fields of a solution that say where and how symmetry breaks, if this was not computed.
_NO_TRANSITION: dict[str, Any] = {
    "replicon_alpha": None,
    "break_point": None,
    "dynamic_alpha": None,
    "static_alpha": None,
}


def _solution_with_groups(
    branch: RSBBranch,
    solved: Solved[RSBState],
    transition: SupportTransition,
    *,
    alpha: float,
    quadrature_error: float,
) -> OneStepSolution:
    """Convert a solution with groups of supports to a `OneStepSolution`, the public result.

    Supports are choices of variables. `solved` is the solution at load α, `transition` says at
    which load the groups begin, and `quadrature_error` is the numerical error of the entropy.
    """
    state = solved.state
    # A replicon is the factor by which small differences of overlaps grow; stable below 1.
    stability = Stability(
        within=_replicon_within_support(state, alpha, branch.rho),
        between=state.replicon_inner,  # between supports of one group
    )
    return OneStepSolution(
        alpha=alpha,
        rho=branch.rho,
        ensemble=branch.ensemble,
        regime=regime_above_entrance(state.entropy).value,
        broken=True,
        phase=Phase.BROKEN.value,
        entropy=state.entropy,
        stability=stability,
        replicon_inner=state.replicon_inner,
        replicon_outer=state.replicon_outer,
        residual=solved.residual,
        quadrature_error=quadrature_error,
        identity_error=state.identity_error,
        **_order_as_fields(state.order, branch.rho),
        **transition.as_fields(),
    )


def _order_as_fields(order: RSBOrder, rho: float) -> dict[str, Any]:
    """Return the order parameters of a solution with groups, as fields of `OneStepSolution`.

    Order parameters are the few numbers that describe a large random problem in the theory. Two
    supports (choices of variables) have an overlap, the scalar product of their weights per
    variable, and the multiplier of the overlap is the covariance of their fields. Both depend on
    whether the supports are in the same group. The fields q₀ and F₀, which solutions without groups
    have, too, become means over all pairs of supports. q₁ is the overlap of two separating weight
    vectors on one support; in the limit that this theory takes it is their squared length, which is
    the density ρ (`rho`).
    """
    overlap_between_groups, overlap_within_group = order.p
    multiplier_between_groups, multiplier_within_group = order.G
    p_different_groups = order.x[0]  # that two supports are in different groups
    p_same_group = 1 - p_different_groups
    mean_overlap = p_different_groups * overlap_between_groups + p_same_group * overlap_within_group
    mean_multiplier = (
        p_different_groups * multiplier_between_groups + p_same_group * multiplier_within_group
    )
    return {
        "x": p_different_groups,
        "p0": overlap_between_groups,
        "p1": overlap_within_group,
        "G0": multiplier_between_groups,
        "G1": multiplier_within_group,
        "q0": mean_overlap,
        "F0": mean_multiplier,
        "q1": rho,
        "chi": order.chi,
        "K": order.K,
        "E": order.E,
        "F1": order.F1,
        "threshold": order.threshold,
    }


def _replicon_within_support(state: RSBState, alpha: float, rho: float) -> float:
    """Return the replicon product within a support, αp₊/ρ; it is stable below 1.

    α is the load, p₊ the share of tight patterns (those exactly at the margin) and ρ the density,
    so this is the number of tight patterns per chosen weight.
    """
    if state.ensemble.margin:
        return alpha * state.tight / rho
    # Without a margin αp₊ = ρ at the exact solution, and the solver imposes this in place of
    # another equation. By how much that one fails, put in terms of αp₊ − ρ, is `identity_error`.
    return 1.0 + state.identity_error / rho


def _as_one_step_solution(
    symmetric: RSSolution, phase: Phase, transition: SupportTransition | None
) -> OneStepSolution:
    """Convert a solution of the theory without groups of supports to a `OneStepSolution`.

    Supports are choices of variables. A `OneStepSolution` has values for supports of the same group
    and of different groups; both get the same value here. The phase says why this is right:

        SYMMETRIC    there are no groups,
        GROUPED      there are exponentially many groups, which leave the entropy as it is,
        BROKEN       the groups have just begun, and are too weak to be resolved.

    `transition` says at which load groups begin; it is None if this was not computed, which happens
    only in the phase SYMMETRIC.
    """
    groups_are_weak = phase is Phase.BROKEN
    # The fields of the base class, which both kinds of solutions have.
    common_fields: dict[str, Any] = {
        field.name: getattr(symmetric, field.name) for field in fields(ReplicaSolution)
    }

    # At which load groups begin, as fields of the result.
    transition_fields = _NO_TRANSITION
    if transition is not None:
        transition_fields = transition.as_fields()

    # The break point x, the probability that two supports are in different groups, is part of the
    # solution only in the phase BROKEN. The groups have just begun, and x still has its first
    # value.
    x = None
    if groups_are_weak and transition is not None:
        x = transition.first_break

    overlap = symmetric.q0  # of the weights of two supports
    multiplier = symmetric.F0  # of the overlap
    replicon = symmetric.stability.between  # stability between supports
    return OneStepSolution(
        **common_fields,
        broken=groups_are_weak,
        phase=phase.value,
        p1=overlap,
        p0=overlap,
        G1=multiplier,
        G0=multiplier,
        x=x,
        replicon_inner=replicon,
        replicon_outer=replicon,
        **transition_fields,
    )
