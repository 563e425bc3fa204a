"""`solve(alpha, rho)`: the replica solution at one point of the diagram, and one step of breaking between supports (1RSB).

Replica symmetry is exact from 2ρ up to the load where its replicon between supports reaches 1. There the one-step solution
branches off with p₁ − p₀ = 0 at a finite x; from there χ falls steadily, and the branch is followed in ln χ. Its entropy
vanishes at a finite x and K (`capacity`); beyond, the branch goes on with Σ < 0 towards x → 0.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.special import expit, logit

from chanceline.errors import InputError, shown
from chanceline.theory.ensemble import PLAIN, Ensemble, capacity_table, check_alpha, check_rho, gardner
from chanceline.theory.numerics import Array, Solved, first_success, follow
from chanceline.theory.rs import Branch, RSState
from chanceline.theory.rsb import RSBBranch, RSBOrder, RSBState, pack
from chanceline.theory.symmetric import ReplicaSolution, RSSolution, Stability, solve_rs

# Coordinate of `rsb.pack` that holds ln (p₁ − p₀)/(ρ − p₁) when k = 1.
_AMPLITUDE, _BREAK = 3, 4
_FIRST_AMPLITUDE = 0.15
_SMALLEST_BREAK = 0.15
# With a margin the break point can reach 1 before the replicon line is met; nearer to 1 than this the branch is not followed.
_LARGEST_BREAK = 0.97
# The first step from the plain ensemble towards the one wanted.
_FIRST_SHARE = 0.05
LARGEST_MARGIN = 1.0
FINER = 1.4


@dataclass(frozen=True, repr=False, kw_only=True)
class OneStepSolution(ReplicaSolution):
    """One step of breaking between supports.

    `broken` says whether symmetry is broken at all: below the replicon line it is not, replica symmetry is exact, and its
    values are returned with p₁ = p₀ = q₀, G₁ = G₀ = F₀ and no x. `q0` and `F0` are the means over pairs of supports,
    xp₀ + (1 − x)p₁ and xG₀ + (1 − x)G₁. `stability.between` is the replicon inside a group; above 1 it asks for more
    steps.
    """

    broken: bool
    p1: float
    p0: float
    G1: float
    G0: float
    x: float | None
    replicon_inner: float
    replicon_outer: float

    ansatz = "1rsb"
    kind = "asymptotic (one step of replica symmetry breaking)"

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


def solve(
    alpha: float,
    rho: float,
    ansatz: str = "rs",
    *,
    balance: float = 0.5,
    margin: float = 0.0,
    errors: float = 0.0,
    signs: str = "free",
) -> RSSolution | OneStepSolution:
    """Solve the saddle-point equations at load α = P/N and density ρ = M/N.

    Parameters
    ----------
    alpha
        Patterns per variable, positive.
    rho
        Share of the variables that the perceptron may keep, 0 < ρ < 1.
    ansatz
        "rs", replica symmetric, or "1rsb", one step of symmetry breaking between supports (where there is any).
    balance, margin, errors, signs
        Share of positive patterns, margin wanted, share of errors allowed, "given" signs, as in `capacity`.

    Returns
    -------
    RSSolution or OneStepSolution
        Order parameters, entropy Σ of separating choices, both stability products, residual and quadrature error.
    """
    ensemble = Ensemble.checked(balance, margin, errors, signs)
    if ansatz not in ("rs", "1rsb"):
        raise InputError(f"ansatz must be 'rs' or '1rsb', but is {shown(ansatz)}")
    return solve_rs(alpha, rho, ensemble) if ansatz == "rs" else solve_1rsb(alpha, rho, ensemble)


@lru_cache(maxsize=1)
def _starts() -> CubicSpline:
    rows = capacity_table()
    orders = [RSBOrder(row.chi, row.K, row.E, row.F1, (row.p0, row.p1), (row.G0, row.G1), (row.x,)) for row in rows]
    return CubicSpline(logit(rows.rho), [pack(order, rho) for order, rho in zip(orders, rows.rho, strict=True)])


def start_at(rho: float) -> Array:
    """A start for one step of breaking at Σ = 0, interpolated between the rows of the shipped table in logit ρ."""
    return np.asarray(_starts()(logit(rho)))


def replicon_line(rho: float, ensemble: Ensemble = PLAIN) -> Solved[RSState]:
    """The replica-symmetric point where the replicon between supports is 1: below it, replica symmetry is exact."""
    branch = Branch(rho, ensemble)
    *_, stable, unstable = branch.from_entrance(lambda state: state.between > 1)
    return branch.point_where((stable, unstable), lambda state: state.between - 1)


def branch_off(branch: RSBBranch, critical: RSState, amplitude: float = _FIRST_AMPLITUDE) -> Solved[RSBState]:
    """A point of the one-step branch near its beginning, where (p₁ − p₀)/(ρ − p₁) is `amplitude`.

    ∂Σ/∂x is of third order in the amplitude, so x is only fixed once the other equations hold: it is held first, then freed.
    """
    o = critical.order
    part = amplitude * (branch.rho - o.q0)
    part_of_g = part * (o.F0 / o.q0)
    p, G = (o.q0 - part / 2, o.q0 + part / 2), (o.F0 - part_of_g / 2, o.F0 + part_of_g / 2)
    order = RSBOrder(o.chi, o.K, o.E, o.F1, p, G, (0.0,), o.threshold)
    what = "the beginning of 1RSB"

    def with_break_at(x: float) -> Solved[RSBState]:
        point = pack(replace(order, x=(x,)), branch.rho, branch.ensemble)
        point[_AMPLITUDE] = np.log(amplitude)
        held = branch.solve_with(point, (_AMPLITUDE, _BREAK), what, hold_breaks=True)
        return branch.solve_with(held.unknowns, (_AMPLITUDE,), what)

    return first_success(with_break_at, (0.8, 0.9, 0.7))


def solve_1rsb(alpha: float, rho: float, ensemble: Ensemble = PLAIN) -> OneStepSolution:
    """One step of breaking between supports at load α, without errors; replica symmetry where that is exact."""
    alpha, rho = check_alpha(alpha), check_rho(rho)
    check_breaking(ensemble)
    branch = RSBBranch(rho, 1, ensemble)
    start = _walk_to(alpha, branch) if alpha > rho * gardner(ensemble).load else None
    if start is None:
        return _symmetric(alpha, rho, ensemble)
    coarse = branch.at_load(alpha, start)
    fine = branch.at_load(alpha, coarse.unknowns, FINER)
    state, o = fine.state, fine.state.order
    (p0, p1), (G0, G1), (x,) = o.p, o.G, o.x
    within = 1.0 + state.identity_error / rho if not ensemble.margin else alpha * state.tight / rho
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
        ensemble=ensemble,
        threshold=o.threshold,
    )


def check_breaking(ensemble: Ensemble) -> None:
    """One step of breaking between supports is solved without errors and for moderate margins."""
    if ensemble.error_rate or ensemble.signed:
        raise InputError("one step of breaking is solved for errors = 0 and free signs only; use ansatz 'rs'")
    if ensemble.margin > LARGEST_MARGIN:
        raise InputError(f"one step of breaking is solved for margin ≤ {LARGEST_MARGIN:g}; with a larger margin use ansatz 'rs'")


def _symmetric(alpha: float, rho: float, ensemble: Ensemble) -> OneStepSolution:
    s = solve_rs(alpha, rho, ensemble)
    values: dict[str, Any] = {field.name: getattr(s, field.name) for field in fields(ReplicaSolution)}
    values |= {"p1": s.q0, "p0": s.q0, "G1": s.F0, "G0": s.F0, "x": None}
    return OneStepSolution(broken=False, replicon_inner=s.stability.between, replicon_outer=s.stability.between, **values)


def end_of_branch(branch: RSBBranch) -> Solved[RSBState]:
    """The point Σ = 0 of the one-step branch, 0.02 ≤ ρ ≤ 0.95.

    For the plain ensemble the shipped table has a start; from there balance and margin are followed to those wanted.
    """
    lowest, highest = capacity_table().rho[[0, -1]]
    if not lowest <= branch.rho <= highest:
        raise InputError(
            f"one step of breaking is solved for {lowest:g} ≤ rho ≤ {highest:g}, but rho is {branch.rho:g}; "
            "outside, use ansatz 'rs', which differs little there"
        )
    wanted = branch.ensemble
    if wanted.plain:
        return branch.at_zero_entropy(start_at(branch.rho))

    def on_the_way(share: float) -> RSBBranch:
        if share >= 1:
            return branch
        balance = float(expit(share * logit(wanted.balance))) if wanted.free_threshold else 0.5
        return RSBBranch(branch.rho, 1, Ensemble(balance, share * wanted.margin))

    start = start_at(branch.rho)
    if wanted.free_threshold:
        start = np.append(start, 0.0)
    *_, last = follow(
        lambda share, guess: on_the_way(share).at_zero_entropy(guess),
        on_the_way(_FIRST_SHARE).at_zero_entropy(start),
        _FIRST_SHARE,
        _FIRST_SHARE,
        until=lambda point: point.state.ensemble == wanted,
        smallest=1e-3,
    )
    return last


def _walk_to(alpha: float, branch: RSBBranch) -> Array | None:
    """A point of the branch near load α, from whichever of its ends is nearer: where it begins, or Σ = 0.

    None where replica symmetry is exact: below the replicon line. With a margin above about ½ symmetry breaks discontinuously,
    p₁ − p₀ is finite where x = 1, a little below that line: the walk is from Σ = 0, and ends where x comes near 1.
    """
    margin, (lowest, highest) = branch.ensemble.margin, capacity_table().rho[[0, -1]]
    if not margin:
        critical = replicon_line(branch.rho, branch.ensemble).state
        if alpha <= critical.alpha:
            return None
    if margin or lowest <= branch.rho <= highest:
        end = end_of_branch(branch)
        if alpha > end.state.alpha:
            return _walk_up(end, alpha, branch)
        if margin or alpha > 0.5 * (critical.alpha + end.state.alpha):
            most = _LARGEST_BREAK if margin else 1.0
            *_, last = branch.follow(end, 0.1, lambda state: state.alpha <= alpha or state.order.x[0] > most)
            return last.unknowns if last.state.alpha <= alpha else None
    first = branch_off(branch, critical)
    if first.state.alpha >= alpha:
        # α − α_critical grows linearly with the amplitude.
        share = (alpha - critical.alpha) / (first.state.alpha - critical.alpha)
        return branch_off(branch, critical, _FIRST_AMPLITUDE * max(share, 1e-3)).unknowns
    return _walk_up(first, alpha, branch)


def _walk_up(start: Solved[RSBState], alpha: float, branch: RSBBranch) -> Array:
    def far_enough(state: RSBState) -> bool:
        return state.alpha >= alpha or state.order.x[0] < _SMALLEST_BREAK or state.entropy < -0.05

    *_, last = branch.follow(start, -0.05, far_enough)
    if last.state.alpha < alpha:
        raise InputError(
            f"no one-step solution is known at alpha = {alpha:g}: at rho = {branch.rho:g} its entropy is negative from well "
            f"below {last.state.alpha:.6g} on; choose a smaller alpha"
        )
    return last.unknowns
