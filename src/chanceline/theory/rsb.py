"""One step of replica symmetry breaking between supports (1RSB), at one load.

Replica symmetry is exact from 2ρ up to the load where its replicon between supports reaches 1. There the one-step solution
branches off with p₁ − p₀ = 0 at a finite x; from there χ falls steadily, and the branch is followed in ln χ. Its entropy
vanishes at a finite x and K (`rsb_capacity`); beyond, the branch goes on with Σ < 0 towards x → 0.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from chanceline._results import Result
from chanceline.errors import InputError
from chanceline.theory.capacity_table import start_at, table_range
from chanceline.theory.gardner import gardner
from chanceline.theory.inputs import check_alpha, check_rho
from chanceline.theory.patterns import PLAIN, Patterns
from chanceline.theory.rs import Branch, RSState
from chanceline.theory.solver import Solved, first_success, follow
from chanceline.theory.stability import Stability
from chanceline.theory.steps import Breaking, BrokenBranch, BrokenState, pack
from chanceline.theory.symmetric import solve_rs

Array = NDArray[np.float64]

# Coordinate of `steps.pack` that holds ln (p₁ − p₀)/(ρ − p₁) when k = 1.
_AMPLITUDE, _BREAK = 3, 4
_FIRST_AMPLITUDE = 0.15
_SMALLEST_BREAK = 0.15
# With a margin the break point can reach 1 before the replicon line is met; nearer to 1 than this the branch is not followed.
_LARGEST_BREAK = 0.97
# The first step from plain patterns towards those wanted.
_FIRST_SHARE = 0.05
LARGEST_MARGIN = 1.0
FINER = 1.4


@dataclass(frozen=True, repr=False)
class OneStepSolution(Result):
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
    balance: float = 0.5
    margin: float = 0.0
    errors: float = 0.0
    threshold: float = 0.0

    kind = "asymptotic (one step of replica symmetry breaking)"

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "ansatz": "1rsb", "kind": self.kind}

    def summary(self) -> str:
        extra = Patterns(self.balance, self.margin, self.errors).describe()
        at = f"α = {self.alpha:g}, ρ = {self.rho:g}" + (f", {extra}" if extra else "")
        return f"1RSB solution at {at}: {self.regime}"

    def __str__(self) -> str:
        head = self.summary()
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


def replicon_line(rho: float, patterns: Patterns = PLAIN) -> Solved[RSState]:
    """The replica-symmetric point where the replicon between supports is 1: below it, replica symmetry is exact."""
    branch = Branch(rho, patterns)
    *_, stable, unstable = branch.follow(lambda state: state.between > 1)
    return branch.point_where((stable, unstable), lambda state: state.between - 1)


def branch_off(branch: BrokenBranch, critical: RSState, amplitude: float = _FIRST_AMPLITUDE) -> Solved[BrokenState]:
    """A point of the one-step branch near its beginning, where (p₁ − p₀)/(ρ − p₁) is `amplitude`.

    ∂Σ/∂x is of third order in the amplitude, so x is only fixed once the other equations hold: it is held first, then freed.
    """
    o = critical.order
    part = amplitude * (branch.rho - o.q0)
    part_of_g = part * (o.F0 / o.q0)
    p, G = (o.q0 - part / 2, o.q0 + part / 2), (o.F0 - part_of_g / 2, o.F0 + part_of_g / 2)
    order = Breaking(o.chi, o.K, o.E, o.F1, p, G, (0.0,), o.threshold)
    what = "the beginning of 1RSB"

    def with_break_at(x: float) -> Solved[BrokenState]:
        point = pack(replace(order, x=(x,)), branch.rho, branch.patterns)
        point[_AMPLITUDE] = np.log(amplitude)
        held = branch.solve_with(point, (_AMPLITUDE, _BREAK), what, hold_breaks=True)
        return branch.solve_with(held.unknowns, (_AMPLITUDE,), what)

    return first_success(with_break_at, (0.8, 0.9, 0.7))


def solve_1rsb(alpha: float, rho: float, patterns: Patterns = PLAIN, start: Array | None = None) -> OneStepSolution:
    """One step of breaking between supports at load α; replica symmetry where that is exact.

    Parameters
    ----------
    alpha, rho
        Load P/N and density M/N.
    patterns
        Balance and margin; errors must be 0.
    start
        A point of the branch near by (`steps.pack`), if one is known.
    """
    alpha, rho = check_alpha(alpha), check_rho(rho)
    check_breaking(patterns)
    branch = BrokenBranch(rho, 1, patterns)
    if start is None:
        if alpha <= rho * gardner(patterns).load:
            return _symmetric(alpha, rho, patterns)
        start = _walk_back(alpha, branch) if patterns.margin else _walk_to(alpha, branch)
        if start is None:
            return _symmetric(alpha, rho, patterns)
    coarse = branch.at_load(alpha, start)
    fine = branch.at_load(alpha, coarse.unknowns, FINER)
    state, o = fine.state, fine.state.order
    (p0, p1), (G0, G1), (x,) = o.p, o.G, o.x
    within = 1.0 + state.identity_error / rho if not patterns.margin else alpha * state.tight / rho
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
        stability=Stability(within, state.replicon_inner),
        replicon_inner=state.replicon_inner,
        replicon_outer=state.replicon_outer,
        residual=fine.residual,
        quadrature_error=abs(state.entropy - coarse.state.entropy),
        identity_error=state.identity_error,
        balance=patterns.balance,
        margin=patterns.margin,
        threshold=o.threshold,
    )


def check_breaking(patterns: Patterns) -> None:
    """One step of breaking between supports is solved without errors and for moderate margins."""
    if patterns.errors:
        raise InputError("one step of breaking is solved for errors = 0 only; with errors use ansatz 'rs'")
    if patterns.margin > LARGEST_MARGIN:
        raise InputError(f"one step of breaking is solved for margin ≤ {LARGEST_MARGIN:g}; with a larger margin use ansatz 'rs'")


def _symmetric(alpha: float, rho: float, patterns: Patterns) -> OneStepSolution:
    s = solve_rs(alpha, rho, patterns)
    return OneStepSolution(
        alpha=s.alpha, rho=s.rho, regime=s.regime, broken=False, entropy=s.entropy, q0=s.q0, q1=s.q1, chi=s.chi, K=s.K, E=s.E,
        F1=s.F1, F0=s.F0, p1=s.q0, p0=s.q0, G1=s.F0, G0=s.F0, x=None, stability=s.stability, replicon_inner=s.stability.between,
        replicon_outer=s.stability.between, residual=s.residual, quadrature_error=s.quadrature_error,
        identity_error=s.identity_error, balance=s.balance, margin=s.margin, threshold=s.threshold,
    )  # fmt: skip


def end_of_branch(branch: BrokenBranch) -> Solved[BrokenState]:
    """The point Σ = 0 of the one-step branch, 0.02 ≤ ρ ≤ 0.95.

    For plain patterns the shipped table has a start; from there balance and margin are followed to those wanted.
    """
    lowest, highest = table_range()
    if not lowest <= branch.rho <= highest:
        raise InputError(
            f"one step of breaking is solved for {lowest:g} ≤ rho ≤ {highest:g}, but rho is {branch.rho:g}; "
            "outside, use ansatz 'rs', which differs little there"
        )
    wanted = branch.patterns
    if wanted.plain:
        return branch.at_zero_entropy(start_at(branch.rho))

    def on_the_way(share: float) -> BrokenBranch:
        if share >= 1:
            return branch
        balance = float(expit(share * logit(wanted.balance))) if wanted.free_threshold else 0.5
        return BrokenBranch(branch.rho, 1, Patterns(balance, share * wanted.margin))

    start = start_at(branch.rho)
    if wanted.free_threshold:
        start = np.append(start, 0.0)
    first = on_the_way(_FIRST_SHARE).at_zero_entropy(start)
    *_, last = follow(
        lambda share, guess: on_the_way(share).at_zero_entropy(guess),
        first,
        _FIRST_SHARE,
        _FIRST_SHARE,
        until=lambda point: point.state.patterns == wanted,
        smallest=1e-3,
    )
    return last


def _walk_back(alpha: float, branch: BrokenBranch) -> Array | None:
    """A point near load α from the end Σ = 0; None if x reaches 1 above that load, where replica symmetry takes over.

    With a margin above about ½ symmetry breaks discontinuously: p₁ − p₀ is finite where x = 1, a little below the replicon line.
    """
    end = end_of_branch(branch)
    if alpha > end.state.alpha:
        return _walk_up(end, alpha, branch)
    *_, last = branch.follow(end, 0.1, lambda state: state.alpha <= alpha or state.order.x[0] > _LARGEST_BREAK)
    return last.unknowns if last.state.alpha <= alpha else None


def _walk_to(alpha: float, branch: BrokenBranch) -> Array | None:
    """A point of the branch near load α, from whichever of its ends is nearer: where it begins, or Σ = 0.

    None below the replicon line, where replica symmetry is exact.
    """
    critical = replicon_line(branch.rho, branch.patterns).state
    if alpha <= critical.alpha:
        return None
    lowest, highest = table_range()
    if lowest <= branch.rho <= highest:
        end = end_of_branch(branch)
        if alpha > 0.5 * (critical.alpha + end.state.alpha):
            if alpha > end.state.alpha:
                return _walk_up(end, alpha, branch)
            *_, last = branch.follow(end, 0.1, lambda state: state.alpha <= alpha)
            return last.unknowns
    first = branch_off(branch, critical)
    if first.state.alpha >= alpha:
        # α − α_critical grows linearly with the amplitude.
        share = (alpha - critical.alpha) / (first.state.alpha - critical.alpha)
        return branch_off(branch, critical, _FIRST_AMPLITUDE * max(share, 1e-3)).unknowns
    return _walk_up(first, alpha, branch)


def _walk_up(start: Solved[BrokenState], alpha: float, branch: BrokenBranch) -> Array:
    def far_enough(state: BrokenState) -> bool:
        return state.alpha >= alpha or state.order.x[0] < _SMALLEST_BREAK or state.entropy < -0.05

    *_, last = branch.follow(start, -0.05, far_enough)
    if last.state.alpha < alpha:
        raise InputError(
            f"no one-step solution is known at alpha = {alpha:g}: at rho = {branch.rho:g} its entropy is negative from well "
            f"below {last.state.alpha:.6g} on; choose a smaller alpha"
        )
    return last.unknowns
