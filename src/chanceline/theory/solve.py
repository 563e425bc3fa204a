"""`solve(alpha, rho)`: the replica solution at one point of the diagram."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from chanceline.errors import InputError
from chanceline.theory import rs
from chanceline.theory.closed_forms import cover_gardner, l0_gardner, typical_overlap
from chanceline.theory.finite_m import FiniteMState, follow_m
from chanceline.theory.kernels import binary_entropy, log_odds
from chanceline.theory.quadrature import STEP
from chanceline.theory.stability import Stability
from chanceline.theory.typical import solve_typical

if TYPE_CHECKING:
    from chanceline.theory.rsb import OneStepSolution


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


def check_rho(rho: float) -> float:
    """ρ as a float strictly between 0 and 1, or InputError."""
    value = _finite("rho", rho)
    if not 0 < value < 1:
        raise InputError(f"rho must lie strictly between 0 and 1 (it is the share of variables kept), but is {rho!r}")
    return value


def check_alpha(alpha: float) -> float:
    """α as a positive float, or InputError."""
    value = _finite("alpha", alpha)
    if not value > 0:
        raise InputError(f"alpha must be positive (it is the number of patterns per variable), but is {alpha!r}")
    return value


def _finite(name: str, value: float) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be a number, but is {value!r}") from None
    if not math.isfinite(number):
        raise InputError(f"{name} must be a finite number, but is {value!r}")
    return number


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
    coarse = rs.root_between(rho, (before, after), lambda state: rs.excess_load(state, alpha))
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


def solve_rs_at_m(alpha: float, rho: float, m: float) -> FiniteMState:
    """Replica symmetry at finite m > 0, by continuation from the limit m → 0."""
    if not (math.isfinite(m) and m > 0):
        raise InputError(f"m must be positive and finite, but is {m!r}")
    limit = solve_rs(alpha, rho)
    below = limit.regime == "typical"
    return follow_m(
        limit.alpha, limit.rho, m, q1=limit.q1 if below else None, chi=0.0 if below else limit.chi, q0=limit.q0, K=limit.K
    )


def solve(alpha: float, rho: float, ansatz: str = "rs") -> RSSolution | OneStepSolution:
    """Solve the saddle-point equations at load α = P/N and density ρ = M/N.

    Parameters
    ----------
    alpha
        Patterns per variable, positive.
    rho
        Share of the variables that the perceptron may keep, 0 < ρ < 1.
    ansatz
        "rs", replica symmetric, or "1rsb", one step of symmetry breaking between supports (where there is any).

    Returns
    -------
    RSSolution or OneStepSolution
        Order parameters, entropy Σ of separating choices, both stability products, residual and quadrature error.
    """
    if ansatz == "rs":
        return solve_rs(alpha, rho)
    if ansatz == "1rsb":
        from chanceline.theory.rsb import solve_1rsb  # it builds on this module

        return solve_1rsb(alpha, rho)
    raise InputError(f"ansatz must be 'rs' or '1rsb', but is {ansatz!r}")
