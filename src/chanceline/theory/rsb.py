"""One step of replica symmetry breaking between supports (1RSB), at one load.

Replica symmetry is exact from 2ρ up to the load where its replicon between supports reaches 1. There the one-step solution
branches off with p₁ − p₀ = 0 at a finite x; from there χ falls steadily, and the branch is followed in ln χ. Its entropy
vanishes at a finite x and K (`rsb_capacity`); beyond, the branch goes on with Σ < 0 towards x → 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chanceline.errors import InputError
from chanceline.theory import rs
from chanceline.theory.capacity_table import start_at, table_range
from chanceline.theory.inputs import check_alpha, check_rho
from chanceline.theory.solver import Solved, first_success, follow_response
from chanceline.theory.stability import Stability
from chanceline.theory.steps import (
    Breaking,
    BrokenState,
    pack,
    solve_at_load,
    solve_at_response,
    solve_at_zero_entropy,
    solve_with,
)
from chanceline.theory.symmetric import solve_rs

Array = NDArray[np.float64]

# Coordinate of `steps.pack` that holds ln (p₁ − p₀)/(ρ − p₁) when k = 1.
_AMPLITUDE, _BREAK = 3, 4
_FIRST_AMPLITUDE = 0.15
_SMALLEST_BREAK = 0.15
FINER = 1.4


@dataclass(frozen=True)
class OneStepSolution:
    """One step of breaking between supports, in the limit m → 0.

    `broken` says whether symmetry is broken at all: below the replicon line it is not, replica symmetry is exact, and its
    values are returned with p₁ = p₀ = q₀, G₁ = G₀ = F₀ and no x. `q0` and `F0` are the means over pairs of supports,
    xp₀ + (1 − x)p₁ and xG₀ + (1 − x)G₁. `stability.between` is the replicon inside a group; above 1 it asks for more
    steps (`parisi`).
    """

    alpha: float
    rho: float
    regime: str
    broken: bool
    entropy: float
    q0: float
    q1: float
    chi: float
    K: float
    E: float
    F1: float
    F0: float
    p1: float
    p0: float
    G1: float
    G0: float
    x: float | None
    stability: Stability
    replicon_inner: float
    replicon_outer: float
    residual: float
    quadrature_error: float
    identity_error: float

    kind = "asymptotic (one step of replica symmetry breaking)"

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "ansatz": "1rsb"}

    def __str__(self) -> str:
        head = f"1RSB solution at α = {self.alpha:g}, ρ = {self.rho:g}: {self.regime}"
        if not self.broken:
            return f"{head}\n  replica symmetry is exact at this load: Σ = {self.entropy:.10f} ± {self.quadrature_error:.1e}"
        return "\n".join(
            [
                head,
                f"  entropy Σ    {self.entropy:.10f}   (quadrature error {self.quadrature_error:.1e})",
                f"  x {self.x:.10g}   p₁ {self.p1:.10g}   p₀ {self.p0:.10g}   G₁ {self.G1:.10g}   G₀ {self.G0:.10g}",
                f"  χ {self.chi:.10g}   K {self.K:.10g}   E {self.E:.10g}   F₁ {self.F1:.10g}",
                f"  replicons    within a group {self.replicon_inner:.6f}, between groups {self.replicon_outer:.6f}",
                f"  residual     {self.residual:.1e}   |αp₊ − ρ| {abs(self.identity_error):.1e}",
            ]
        )


def replicon_line(rho: float) -> Solved[rs.RSState]:
    """The replica-symmetric point where the replicon between supports is 1: below it, replica symmetry is exact."""
    *_, stable, unstable = rs.follow_branch(rho, lambda state: state.between > 1)
    return rs.point_where(rho, (stable, unstable), lambda state: state.between - 1)


def branch_off(rho: float, critical: rs.RSState, amplitude: float = _FIRST_AMPLITUDE) -> Solved[BrokenState]:
    """A point of the one-step branch near its beginning, where (p₁ − p₀)/(ρ − p₁) is `amplitude`.

    ∂Σ/∂x is of third order in the amplitude, so x is only fixed once the other equations hold: it is held first, then freed.
    """
    o = critical.order
    part = amplitude * (rho - o.q0)
    part_of_g = part * (o.F0 / o.q0)
    order = Breaking(
        o.chi, o.K, o.E, o.F1, (o.q0 - part / 2, o.q0 + part / 2), (o.F0 - part_of_g / 2, o.F0 + part_of_g / 2), (0.0,)
    )
    what = f"the beginning of 1RSB at ρ = {rho:.10g}"

    def with_break_at(x: float) -> Solved[BrokenState]:
        point = pack(replace(order, x=(x,)), rho)
        point[_AMPLITUDE] = np.log(amplitude)
        held = solve_with(point, (_AMPLITUDE, _BREAK), rho, 1, what, hold_breaks=True)
        return solve_with(held.unknowns, (_AMPLITUDE,), rho, 1, what)

    return first_success(with_break_at, (0.8, 0.9, 0.7))


def follow_one_step(
    start: Solved[BrokenState], rho: float, until: Callable[[BrokenState], bool], step: float = -0.05
) -> Iterator[Solved[BrokenState]]:
    """Continuation in ln χ from any point of the branch; a positive step leads back to its beginning."""
    return follow_response(lambda log_chi, guess: solve_at_response(log_chi, rho, guess, 1), start, step, until)


def solve_1rsb(alpha: float, rho: float, start: Array | None = None) -> OneStepSolution:
    """One step of breaking between supports at load α; replica symmetry where that is exact.

    Parameters
    ----------
    alpha, rho
        Load P/N and density M/N.
    start
        A point of the branch near by (`steps.pack`), if one is known.
    """
    alpha, rho = check_alpha(alpha), check_rho(rho)
    if start is None:
        if alpha <= 2 * rho:
            return _symmetric(alpha, rho)
        critical = replicon_line(rho).state
        if alpha <= critical.alpha:
            return _symmetric(alpha, rho)
        start = _walk_to(alpha, rho, critical)
    coarse = solve_at_load(alpha, rho, start, 1)
    fine = solve_at_load(alpha, rho, coarse.unknowns, 1, FINER)
    state, o = fine.state, fine.state.order
    (p0, p1), (G0, G1), (x,) = o.p, o.G, o.x
    return OneStepSolution(
        alpha=alpha,
        rho=rho,
        regime="selected" if state.entropy > 0 else "beyond",
        broken=True,
        entropy=state.entropy,
        q0=x * p0 + (1 - x) * p1,
        q1=rho,
        chi=o.chi,
        K=o.K,
        E=o.E,
        F1=o.F1,
        F0=x * G0 + (1 - x) * G1,
        p1=p1,
        p0=p0,
        G1=G1,
        G0=G0,
        x=x,
        stability=Stability(1.0 + state.identity_error / rho, state.replicon_inner),
        replicon_inner=state.replicon_inner,
        replicon_outer=state.replicon_outer,
        residual=fine.residual,
        quadrature_error=abs(state.entropy - coarse.state.entropy),
        identity_error=state.identity_error,
    )


def _symmetric(alpha: float, rho: float) -> OneStepSolution:
    s = solve_rs(alpha, rho)
    return OneStepSolution(
        alpha=s.alpha, rho=s.rho, regime=s.regime, broken=False, entropy=s.entropy, q0=s.q0, q1=s.q1, chi=s.chi, K=s.K, E=s.E,
        F1=s.F1, F0=s.F0, p1=s.q0, p0=s.q0, G1=s.F0, G0=s.F0, x=None, stability=s.stability, replicon_inner=s.stability.between,
        replicon_outer=s.stability.between, residual=s.residual, quadrature_error=s.quadrature_error,
        identity_error=s.identity_error,
    )  # fmt: skip


def _walk_to(alpha: float, rho: float, critical: rs.RSState) -> Array:
    """A point of the branch near load α, from whichever of its ends is nearer: where it begins, or (from the table) Σ = 0."""
    lowest, highest = table_range()
    if lowest <= rho <= highest:
        end = solve_at_zero_entropy(rho, start_at(rho), 1)
        if alpha > 0.5 * (critical.alpha + end.state.alpha):
            if alpha > end.state.alpha:
                return _walk_up(end, alpha, rho)
            *_, last = follow_one_step(end, rho, lambda state: state.alpha <= alpha, step=0.1)
            return last.unknowns
    first = branch_off(rho, critical)
    if first.state.alpha >= alpha:
        # α − α_critical grows linearly with the amplitude.
        share = (alpha - critical.alpha) / (first.state.alpha - critical.alpha)
        return branch_off(rho, critical, _FIRST_AMPLITUDE * max(share, 1e-3)).unknowns
    return _walk_up(first, alpha, rho)


def _walk_up(start: Solved[BrokenState], alpha: float, rho: float) -> Array:
    *_, last = follow_one_step(
        start, rho, lambda state: state.alpha >= alpha or state.order.x[0] < _SMALLEST_BREAK or state.entropy < -0.05
    )
    if last.state.alpha < alpha:
        raise InputError(
            f"no one-step solution is known at alpha = {alpha:g}: at rho = {rho:g} its entropy is negative from well below "
            f"{last.state.alpha:.6g} on; choose a smaller alpha"
        )
    return last.unknowns
