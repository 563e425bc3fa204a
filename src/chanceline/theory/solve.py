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

        Supports are choices of variables. With groups of supports there are two overlaps of their
        weights with two covariances of their fields, (p₀, G₀) between groups and (p₁, G₁) within a
        group, and one x, the probability that two supports are in different groups. Without groups
        the parameters are those of the base class.
        """
        symmetric = super()._law_parameters()
        # No groups, or groups that are too weak to be resolved: these have an x, but equal
        # overlaps.
        if self.x is None or self.p1 == self.p0:
            return symmetric
        return replace(
            symmetric,
            overlaps=(self.p0, self.p1),
            conjugates=(self.G0, self.G1),
            breaks=(self.x,),
        )

    def __str__(self) -> str:
        """Return the solution as lines of text: two without groups of supports, several with them.

        Supports are choices of variables. `OneStepSolution` explains the letters.
        """
        if not self.broken:
            entropy = f"Σ = {self.entropy:.10f} ± {self.quadrature_error:.1e}"
            return f"{self.summary()}\n  {self._why_unbroken()}: {entropy}"

        overlaps_and_conjugates = (
            f"p₁ {self.p1:.10g}   p₀ {self.p0:.10g}   G₁ {self.G1:.10g}   G₀ {self.G0:.10g}"
        )
        inner = f"within a group {self.replicon_inner:.6f}"
        outer = f"between groups {self.replicon_outer:.6f}"
        identity = f"|αp₊ − ρ| {abs(self.identity_error):.1e}"
        lines = [
            self.summary(),
            self._entropy_line(),
            f"  x {self.x:.10g}   {overlaps_and_conjugates}",
            f"  χ {self.chi:.10g}   K {self.K:.10g}   E {self.E:.10g}   F₁ {self.F1:.10g}",
            f"  replicons    {inner}, {outer}",
            f"  residual     {self.residual:.1e}   {identity}",
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
        return _solution_without_groups(symmetric, Phase.SYMMETRIC, transition=None)

    # 2. Only selected supports separate, but groups do not change the solution yet.
    check_broken_density(rho)
    transition = transition_at(rho, ensemble)
    if alpha <= transition.breaking_alpha:
        phase = _unbroken_phase(alpha, transition)
        symmetric = solve_rs(alpha, rho, ensemble)
        return _solution_without_groups(symmetric, phase, transition)

    # 3. The groups have just begun: overlaps within and between groups are still too similar to be
    #    resolved, and there is no start for the solver.
    branch = RSBBranch(rho, steps=1, ensemble=ensemble)
    start = start_at_load(alpha, branch)
    if start is None:
        symmetric = solve_rs(alpha, rho, ensemble)
        return _solution_without_groups(symmetric, Phase.BROKEN, transition)

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
    have, too, become means over all pairs of supports. `rho` is the density ρ.
    """
    p0, p1 = order.p  # overlap of two supports in different groups, and in the same group
    G0, G1 = order.G  # their multipliers
    x = order.x[0]  # the probability that two supports are in different groups
    p_same_group = 1 - x
    return {
        "x": x,
        "p0": p0,
        "p1": p1,
        "G0": G0,
        "G1": G1,
        "q0": x * p0 + p_same_group * p1,
        "F0": x * G0 + p_same_group * G1,
        # Two weight vectors on one support overlap by ρ − mχ with m replicas; the limit m → 0 is ρ.
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


def _solution_without_groups(
    symmetric: RSSolution, phase: Phase, transition: SupportTransition | None
) -> OneStepSolution:
    """Convert a solution without groups of supports to a `OneStepSolution`, the result with groups.

    Supports are choices of variables. What differs between supports of the same group and of
    different groups gets the same value for both. With the phase BROKEN there are groups, but they
    are too weak to be resolved. `transition` says at which load groups begin; None if this was not
    computed, which happens only if there are no groups.
    """
    is_broken = phase is Phase.BROKEN
    fields_of_both_kinds: dict[str, Any] = {
        field.name: getattr(symmetric, field.name) for field in fields(ReplicaSolution)
    }

    # At which load groups begin, as fields of the result. The break point x, the probability that
    # two supports are in different groups, exists only if there are groups. Groups that are too
    # weak to be resolved have just begun, and x still has its first value.
    breaking = _NO_TRANSITION
    x = None
    if transition is not None:
        breaking = transition.as_fields()
        if is_broken:
            x = transition.first_break

    # Within and between groups the overlaps, their multipliers and the replicons are the same.
    replicon = symmetric.stability.between
    return OneStepSolution(
        **fields_of_both_kinds,
        broken=is_broken,
        phase=phase.value,
        p1=symmetric.q0,
        p0=symmetric.q0,
        G1=symmetric.F0,
        G0=symmetric.F0,
        x=x,
        replicon_inner=replicon,
        replicon_outer=replicon,
        **breaking,
    )
