"""Replica symmetry at one point of the diagram: below the Cover–Gardner load, at it and above."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from chanceline._results import Result
from chanceline.errors import InputError
from chanceline.theory.bounds import bounds_at
from chanceline.theory.closed_forms import typical_overlap
from chanceline.theory.inputs import check_alpha, check_rho
from chanceline.theory.kernels import binary_entropy, log_odds
from chanceline.theory.patterns import PLAIN, Patterns
from chanceline.theory.quadrature import STEP
from chanceline.theory.rs import Branch, RSState
from chanceline.theory.solver import Solved
from chanceline.theory.stability import Stability
from chanceline.theory.typical import solve_typical


@dataclass(frozen=True)
class Conjugates:
    """q̂₁, q̂₀ and Q̂, finite only below the Cover–Gardner load."""

    q1: float
    q0: float
    Q: float


@dataclass(frozen=True, repr=False)
class RSSolution(Result):
    """Replica-symmetric solution in the limit m → 0.

    `regime` is "typical" (α ≤ α_CG, 2ρ for plain patterns: typical choices of variables separate), "selected" (only exponentially
    rare choices do) or "beyond" (Σ < 0: no choice does). Below α_CG, χ = ∞ and E = F₁ = F₀ = 0 are the limits of the rescaled
    variables. `threshold` is b/|w|; `price` is the y of an error, None without errors.
    """

    alpha: float
    rho: float
    regime: str
    entropy: float
    q0: float
    q1: float
    chi: float
    K: float
    E: float
    F1: float
    F0: float
    stability: Stability
    residual: float
    quadrature_error: float
    identity_error: float
    conjugates: Conjugates | None = None
    balance: float = 0.5
    margin: float = 0.0
    errors: float = 0.0
    threshold: float = 0.0
    price: float | None = None

    kind = "asymptotic (replica symmetric)"

    def summary(self) -> str:
        extra = Patterns(self.balance, self.margin, self.errors).describe()
        at = f"α = {self.alpha:g}, ρ = {self.rho:g}" + (f", {extra}" if extra else "")
        return f"RS solution at {at}: {self.regime}"

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "ansatz": "rs", "kind": self.kind}

    def __str__(self) -> str:
        lines = [
            self.summary(),
            f"  entropy Σ    {self.entropy:.10f}   (quadrature error {self.quadrature_error:.1e})",
            f"  q₁ {self.q1:.10g}   q₀ {self.q0:.10g}   χ {self.chi:.10g}   K {self.K:.10g}",
            f"  E {self.E:.10g}   F₁ {self.F1:.10g}   F₀ {self.F0:.10g}",
        ]
        if self.balance != 0.5 or self.price is not None:
            price = "" if self.price is None else f"   price of an error {self.price:.10g}"
            lines.append(f"  threshold b/|w| {self.threshold:.10g}{price}")
        lines.append(f"  stability    {self.stability}")
        lines.append(f"  residual     {self.residual:.1e}   |αp₊ − ρ| {abs(self.identity_error):.1e}")
        return "\n".join(lines)


def solve_rs(alpha: float, rho: float, patterns: Patterns = PLAIN) -> RSSolution:
    """The replica-symmetric solution at any load where it exists, 0 < α < α_ℓ₀(ρ)."""
    alpha, rho = check_alpha(alpha), check_rho(rho)
    bounds = bounds_at(rho, patterns)
    if alpha >= bounds.l0_gardner:
        raise InputError(
            f"no replica-symmetric solution exists at alpha = {alpha:g}: at rho = {rho:g} the branch ends at the "
            f"l0-Gardner load {bounds.l0_gardner:.6g}; choose a smaller alpha"
        )
    if rho > 1 - 1e-12:
        raise InputError(f"rho = {rho!r} is too close to 1 to resolve; choose a smaller rho")
    if patterns.errors:
        return _with_errors(alpha, rho, patterns)
    # Within rounding of α_CG the two sides agree, and the limit is the answer.
    if patterns.plain and abs(alpha - bounds.cover_gardner) <= 1e-12 * alpha:
        return _at_cover_gardner(alpha, rho)
    return _below(alpha, rho, patterns) if alpha <= bounds.cover_gardner else _above(alpha, rho, patterns)


def _below(alpha: float, rho: float, patterns: Patterns) -> RSSolution:
    coarse, state = (solve_typical(alpha, rho, patterns, step) for step in (STEP, STEP / 2))
    return RSSolution(
        alpha=alpha,
        rho=rho,
        regime="typical",
        entropy=binary_entropy(rho),
        q0=state.q0,
        q1=state.q1,
        chi=math.inf,
        K=state.K,
        E=0.0,
        F1=0.0,
        F0=0.0,
        stability=Stability(state.within, state.between),
        residual=state.residual,
        quadrature_error=max(abs(state.q0 - coarse.q0), abs(state.q1 - coarse.q1)),
        identity_error=0.0,
        conjugates=Conjugates(state.q1_hat, state.q0_hat, state.Q_hat),
        balance=patterns.balance,
        margin=patterns.margin,
        errors=patterns.errors,
        threshold=state.threshold,
    )


def _at_cover_gardner(alpha: float, rho: float) -> RSSolution:
    c = typical_overlap(rho)
    # (ln H)'' becomes a step, so the replicon between supports is 2ρ P(two Gaussians of correlation c are both positive).
    between = 2 * rho * (0.25 + math.asin(c) / (2 * math.pi))
    return RSSolution(
        alpha, rho, "typical", binary_entropy(rho), c * rho, rho, math.inf, log_odds(1 - rho), 0.0, 0.0, 0.0,
        Stability(1.0, between), 0.0, 0.0, 0.0,
    )  # fmt: skip


def _above(alpha: float, rho: float, patterns: Patterns) -> RSSolution:
    branch = Branch(rho, patterns)
    *_, before, after = branch.follow(lambda state: branch.excess_load(state, alpha) >= 0, below=alpha)
    return _at_load(branch, alpha, (before, after))


def _with_errors(alpha: float, rho: float, patterns: Patterns) -> RSSolution:
    """The point at load α past the fold of the branch, if it has one.

    With many errors the branch first runs back to smaller loads, with Σ > H₂(ρ): Σ counts pairs of a support and a cluster of
    weights, and a typical support has several clusters there. It is taken from where Σ falls below H₂(ρ); at smaller loads
    typical choices do.
    """
    branch, all_choices = Branch(rho, patterns), binary_entropy(rho)
    points = list(branch.follow(lambda state: state.entropy < all_choices and state.alpha >= alpha))
    too_many = [i for i, point in enumerate(points) if point.state.entropy >= all_choices]
    first = points[0]
    if too_many:
        last = too_many[-1]
        first = branch.point_where((points[last], points[last + 1]), lambda state: state.entropy - all_choices)
        points = [first, *points[last + 1 :]]
    if first.state.alpha >= alpha:
        if not too_many and alpha > bounds_at(rho, patterns).cover_gardner:
            return _above(alpha, rho, patterns)
        raise InputError(
            f"at alpha = {alpha:g} typical choices of variables already do with this many errors (up to {first.state.alpha:.6g} "
            "in replica symmetry), and the entropy is that of all choices; choose a larger alpha"
        )
    return _at_load(branch, alpha, (points[-2], points[-1]))


def _at_load(branch: Branch, alpha: float, bracket: tuple[Solved[RSState], Solved[RSState]]) -> RSSolution:
    rho, p = branch.rho, branch.patterns
    coarse = branch.point_where(bracket, lambda state: branch.excess_load(state, alpha))
    fine = branch.at_response(float(coarse.unknowns[0]), coarse.unknowns, STEP / 2)
    state, order = fine.state, fine.state.order
    # What is left between the load of the point and α, within rounding and quadrature error, moves Σ along its slope.
    entropy = state.entropy - state.entropy_by_alpha * branch.excess_load(state, alpha)
    # With errors the violation that is mended jumps at v*, and the replicon within a support diverges.
    within = math.inf if p.errors else alpha * state.tight / rho
    return RSSolution(
        alpha=alpha,
        rho=rho,
        regime="selected" if entropy > 0 else "beyond",
        entropy=entropy,
        q0=order.q0,
        q1=rho,
        chi=order.chi,
        K=order.K,
        E=order.E,
        F1=order.F1,
        F0=order.F0,
        stability=Stability(within, state.between),
        residual=max(fine.residual, abs(state.overlap / order.q0 - 1), abs(state.norm / rho - 1)),
        quadrature_error=abs(entropy - coarse.state.entropy),
        identity_error=alpha * state.isostatic - rho,
        balance=p.balance,
        margin=p.margin,
        errors=p.errors,
        threshold=order.threshold,
        price=order.price if p.errors else None,
    )
