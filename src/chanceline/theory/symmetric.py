"""Replica symmetry at one point of the diagram: below 2ρ, at 2ρ and above."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from chanceline.errors import InputError
from chanceline.theory import rs
from chanceline.theory.closed_forms import cover_gardner, l0_gardner, typical_overlap
from chanceline.theory.inputs import check_alpha, check_rho
from chanceline.theory.kernels import binary_entropy, log_odds
from chanceline.theory.quadrature import STEP
from chanceline.theory.stability import Stability
from chanceline.theory.typical import solve_typical


@dataclass(frozen=True)
class Conjugates:
    """q̂₁, q̂₀ and Q̂, finite only below the Cover–Gardner load."""

    q1: float
    q0: float
    Q: float


@dataclass(frozen=True)
class RSSolution:
    """Replica-symmetric solution in the limit m → 0.

    `regime` is "typical" (α ≤ 2ρ: typical choices of variables separate), "selected" (only exponentially rare choices do) or
    "beyond" (Σ < 0: no choice does). Below 2ρ, χ = ∞ and E = F₁ = F₀ = 0 are the limits of the rescaled variables.
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

    kind = "asymptotic (replica symmetric)"

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "ansatz": "rs"}

    def __str__(self) -> str:
        return "\n".join(
            [
                f"RS solution at α = {self.alpha:g}, ρ = {self.rho:g}: {self.regime}",
                f"  entropy Σ    {self.entropy:.10f}   (quadrature error {self.quadrature_error:.1e})",
                f"  q₁ {self.q1:.10g}   q₀ {self.q0:.10g}   χ {self.chi:.10g}   K {self.K:.10g}",
                f"  E {self.E:.10g}   F₁ {self.F1:.10g}   F₀ {self.F0:.10g}",
                f"  stability    {self.stability}",
                f"  residual     {self.residual:.1e}   |αp₊ − ρ| {abs(self.identity_error):.1e}",
            ]
        )


def solve_rs(alpha: float, rho: float) -> RSSolution:
    """The replica-symmetric solution at any load where it exists, 0 < α < α_ℓ₀(ρ)."""
    alpha, rho = check_alpha(alpha), check_rho(rho)
    if alpha >= l0_gardner(rho):
        raise InputError(
            f"no replica-symmetric solution exists at alpha = {alpha:g}: at rho = {rho:g} the branch ends at the "
            f"l0-Gardner load {l0_gardner(rho):.6g}; choose a smaller alpha"
        )
    # Within rounding of 2ρ the two sides agree, and the limit is the answer.
    if abs(alpha - cover_gardner(rho)) <= 1e-12 * alpha:
        return _at_cover_gardner(alpha, rho)
    return _below(alpha, rho) if alpha < cover_gardner(rho) else _above(alpha, rho)


def _below(alpha: float, rho: float) -> RSSolution:
    coarse, state = solve_typical(alpha, rho), solve_typical(alpha, rho, STEP / 2)
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
    )


def _at_cover_gardner(alpha: float, rho: float) -> RSSolution:
    c = typical_overlap(rho)
    # (ln H)'' becomes a step, so the replicon between supports is 2ρ P(two Gaussians of correlation c are both positive).
    between = 2 * rho * (0.25 + math.asin(c) / (2 * math.pi))
    return RSSolution(
        alpha, rho, "typical", binary_entropy(rho), c * rho, rho, math.inf, log_odds(1 - rho), 0.0, 0.0, 0.0,
        Stability(1.0, between), 0.0, 0.0, 0.0,
    )  # fmt: skip


def _above(alpha: float, rho: float) -> RSSolution:
    *_, before, after = rs.follow_branch(rho, lambda state: rs.excess_load(state, alpha) >= 0, below=alpha)
    coarse = rs.point_where(rho, (before, after), lambda state: rs.excess_load(state, alpha))
    fine = rs.solve_at_response(float(coarse.unknowns[0]), rho, coarse.unknowns, STEP / 2)
    state, order = fine.state, fine.state.order
    # What is left between the load of the point and α, within rounding and quadrature error, moves Σ along its slope.
    entropy = state.entropy - state.entropy_by_alpha * rs.excess_load(state, alpha)
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
        stability=Stability(alpha * state.tight / rho, state.between),
        residual=max(fine.residual, abs(state.overlap / order.q0 - 1), abs(state.norm / rho - 1)),
        quadrature_error=abs(entropy - coarse.state.entropy),
        identity_error=alpha * state.tight - rho,
    )
