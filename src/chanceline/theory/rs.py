"""Replica-symmetric equations above the Cover–Gardner load, α > 2ρ, in the rescaled variables of the limit m → 0.

Every saddle equation is a partial derivative of one function, the free entropy

    Σ(q₀, χ, E, F₁, F₀, K) = α∫Dz ln A + ∫Dz ln(1 + e^{−K}B) + Kρ + ½(E − F₁)ρ − ½F₁χ + ½F₀q₀,

with A and B of `kernels`, s² = ρ − q₀, μ = √q₀ z, d = E − F₁ + F₀, u = √F₀ z. The derivatives by K, E and F₁ give χ = ρ/E,
those by χ and q₀ give F₁ and F₀. What is left to solve, with V = F₁ − F₀, is

    (1) ∫Dz p = ρ,    (2) ∫Dz p (u²/d² + V/(E d)) = ρ,    (3) ∫Dz (p u/d)² = q₀,
    (4) F₀ = (α/χ²)∫Dz R₁²,    (5) d = E − (α/χ²)∫Dz (R₂ − R₁²),

in the unknowns ln χ, logit(q₀/ρ), K, ln(V/d) and ln F₀ (V and F₀ could be eliminated, but d is a small difference of large
terms and p(u) depends on it exponentially: as unknowns of their own they keep rounding errors small).

At zero margin the constraints do not change under w → λw; at the saddle this gives one more identity, α∫Dz p₊ = ρ: as many tight
constraints as chosen weights. It gives the load, α = ρ/∫Dz p₊, as a function of χ and q₀, without cancellation near ρ = 1; along
the branch χ falls steadily from ∞ (at α = 2ρ) to 0 (at α = α_ℓ₀) and is the parameter to follow. One of (2) and (3) is then
redundant: write X and Y for their errors; by Gaussian integration by parts on both sides, (1), (4), (5) and the identity imply

    F₀ Y = (F₀ − d) X.

Near α = 2ρ, where F₀ ≪ d, (2) hardly depends on q₀; at F₀ = d (3) holds by itself. The combination X − Y d/(F₀ + d) = 0 is good
everywhere, and X and Y separately are left over as a check of every solution.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from chanceline.theory.closed_forms import typical_overlap
from chanceline.theory.kernels import PatternSide, SupportSide, binary_entropy, pattern_side, support_side
from chanceline.theory.quadrature import STEP, GaussianRule, rule_for
from chanceline.theory.solver import Newton, OutsideDomain, Solved, follow_response, root_between

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Order:
    """Order parameters and their conjugates at α > 2ρ."""

    q0: float
    chi: float
    E: float
    F1: float
    F0: float
    K: float


def free_entropy(order: Order, alpha: float, rho: float, step: float = STEP) -> float:
    """Σ as a function of all six order parameters (not only at the saddle)."""
    o = order
    pattern, rule_z = _patterns(o.q0, rho - o.q0, o.chi, step)
    d = o.E - o.F1 + o.F0
    if not d > 0:
        raise OutsideDomain(f"E − F₁ + F₀ = {d:.3g} must be positive")
    support, rule_u = _supports(o.F0, o.E, d, o.K, step)
    return float(
        alpha * rule_z.mean(pattern.log_a)
        + rule_u.mean(support.log_one_plus)
        + o.K * rho
        + 0.5 * (o.E - o.F1) * rho
        - 0.5 * o.F1 * o.chi
        + 0.5 * o.F0 * o.q0
    )


def _patterns(q0: float, s2: float, chi: float, step: float) -> tuple[PatternSide, GaussianRule]:
    if not (q0 >= 0 and s2 > 0 and chi > 0):
        raise OutsideDomain(f"q₀ = {q0:.3g} must not be negative, ρ − q₀ = {s2:.3g} and χ = {chi:.3g} must be positive")
    rule = rule_for(np.sqrt(s2 / q0) if q0 > 0 else 1.0, step)
    return pattern_side(np.sqrt(q0) * rule.nodes, s2, chi), rule


def _supports(F0: float, E: float, d: float, K: float, step: float) -> tuple[SupportSide, GaussianRule]:
    # p(u) has poles near the real axis where it switches on, far from u = 0 when ρ is small: half the step resolves them.
    rule = rule_for(np.sqrt(d / F0) if F0 > 0 else 1.0, step / 2)
    return support_side(np.sqrt(F0) * rule.nodes, E, d, K), rule


@dataclass(frozen=True)
class RSState:
    """The equations at one point: order parameters, residual (relative), Jacobian, and what follows at the saddle."""

    alpha: float
    to_two: float  # 2 − α, without cancellation when ρ > ½
    rho: float
    order: Order
    residual: Array
    jacobian: Array
    alpha_gradient: Array  # by the same unknowns as the Jacobian
    tight: float  # ∫Dz p₊
    norm: float  # ∫Dz p (u²/d² + V/(E d)), equal to ρ at the saddle
    overlap: float  # ∫Dz (p u/d)², equal to q₀ at the saddle
    entropy: float
    entropy_gradient: Array
    entropy_by_alpha: float  # ∂Σ/∂α at the saddle = ∫Dz ln A
    entropy_by_rho: float  # ∂Σ/∂ρ at the saddle
    between: float  # the replicon between supports


def equations(point: Array, rho: float, step: float = STEP) -> RSState:
    """Residual of (1), (2) with (3), (4), (5) and analytic Jacobian in all of (ln χ, logit(q₀/ρ), K, ln(V/d), ln F₀)."""
    log_chi, y, K, v, log_f0 = (float(value) for value in point)
    if max(abs(log_chi), abs(y), abs(v), abs(log_f0)) > 100:
        raise OutsideDomain("an order parameter left the range of floating-point numbers")
    chi, q0, s2, F0 = np.exp(log_chi), rho * expit(y), rho * expit(-y), np.exp(log_f0)
    E = rho / chi
    V, d = E * expit(v), E * expit(-v)
    F1 = F0 + V
    pattern, rule = _patterns(q0, s2, chi, step)
    mean = rule.mean
    p0, r1, var, third = pattern.tight, pattern.mean, pattern.variance, pattern.third
    tight = mean(p0)
    alpha = rho / tight
    to_two = 2 - alpha
    if rho > 0.5:
        # With every term small: ∫Dz p₊ = ½ + ∫_{z>0} Dz [p₊(−z) − (1 − p₊(z))].
        half = rule.nodes.size // 2
        odd = rule.weights * (p0[::-1] - pattern.loose)
        to_two = (1 - rho + odd[half] + 2 * odd[half + 1 :].sum()) / tight
    a = alpha / chi**2
    V_now, F0_now = a * mean(var), a * mean(r1**2)

    support, rule_u = _supports(F0, E, d, K, step)
    mean_u = rule_u.mean
    p, pr, w = support.chosen, support.chosen * support.rejected, (support.u / support.d) ** 2
    chosen = mean_u(p)
    spread = w + V / (E * d)
    norm, overlap = mean_u(p * spread), mean_u(p**2 * w)
    share = d / (F0 + d)
    residual = np.array(
        [
            (chosen - rho) / rho if rho <= 0.5 else 1 - mean_u(support.rejected) / (1 - rho),
            (norm - rho - share * (overlap - q0)) / rho,
            F0_now / F0 - 1,
            (V_now - V) * E / (V * d),
        ]
    )

    by_chi, by_y, by_k, by_v, by_f0 = np.eye(5)
    by_d, by_V = -by_chi - expit(v) * by_v, -by_chi + expit(-v) * by_v  # of ln d and ln V
    dq0 = q0 * expit(-y) * by_y
    dE, dF0 = -E * by_chi, F0 * by_f0

    # Pattern side: with s² = ρ − q₀ the heat equation gives d/dq₀ ∫Dz E[f(T)] = ∫Dz (R₁/χ) ∂E[f(T)]/∂μ.
    r1_prime = p0 - var / chi
    tight_by_chi = mean(pattern.second * pattern.loose) / (2 * chi**2)
    tight_by_q0 = mean(r1 * (pattern.edge - r1 * pattern.loose / chi)) / chi
    square_by_chi = mean(r1 * (third + 2 * r1 * var)) / chi**2
    square_by_q0 = mean(r1_prime**2 + 2 * r1**2 * r1_prime / chi)
    var_by_chi = mean(pattern.fourth - var**2 + 2 * r1 * third) / (2 * chi**2)
    var_by_q0 = mean(r1 / chi * (2 * r1 * pattern.loose - third / chi) - r1_prime**2)
    dalpha = -alpha / tight * (tight_by_chi * chi * by_chi + tight_by_q0 * dq0)
    da = a * (dalpha / alpha - 2 * by_chi)
    dF0_now = a * (square_by_chi * chi * by_chi + square_by_q0 * dq0) + F0_now / a * da
    dV_now = a * (var_by_chi * chi * by_chi + var_by_q0 * dq0) + V_now / a * da

    # Support side: the log-odds ½ ln(E/d) + u²/2d − K change by a constant and by a part proportional to u² = F₀z².
    flat = 0.5 * expit(v) * by_v - by_k
    square = (by_f0 - by_d) / (2 * d)
    dw = by_f0 - 2 * by_d
    dspread = V / (E * d) * (by_chi + by_v)
    u2 = support.u**2

    def by_log_odds(values: Array) -> Array:
        return mean_u(values) * flat + mean_u(values * u2) * square

    dnorm = by_log_odds(pr * spread) + mean_u(p * w) * dw + chosen * dspread
    doverlap = by_log_odds(2 * p * pr * w) + overlap * dw
    dshare = share * (1 - share) * (by_d - by_f0)
    jacobian = np.array(
        [
            by_log_odds(pr) / min(rho, 1 - rho),
            (dnorm - share * (doverlap - dq0) - (overlap - q0) * dshare) / rho,
            dF0_now / F0 - F0_now / F0 * by_f0,
            (dV_now - V_now * by_V) * E / (V * d) + (V_now / V - 1) * V / d * by_v,
        ]
    )
    mean_log_a = float(mean(pattern.log_a))
    # dΣ: every term but the last vanishes at the saddle. ∂Σ/∂χ = ½(α∫Dz R₂/χ² − F₁), ∂Σ/∂q₀ = ½(F₀ − α∫Dz g'²).
    entropy_gradient = (
        (rho - chosen) * by_k
        + 0.5 * (rho - norm) * dE
        + 0.5 * (norm - rho + chosen / E - chi) * (dF0 + V * by_V)
        + 0.5 * (q0 - overlap) * dF0
        + 0.5 * (F0_now + V_now - F1) * chi * by_chi
        + 0.5 * (F0 - F0_now) * dq0
        + mean_log_a * dalpha
    )
    # ½[(E − F₁)ρ − F₁χ + F₀q₀], grouped so that no term is larger than it need be.
    outside = 0.5 * (d * rho - F0 * s2 - F1 * chi)
    return RSState(
        alpha=float(alpha),
        to_two=float(to_two),
        rho=rho,
        order=Order(float(q0), float(chi), float(E), float(F1), float(F0), K),
        residual=residual,
        jacobian=jacobian,
        alpha_gradient=dalpha,
        tight=float(tight),
        norm=float(norm),
        overlap=float(overlap),
        entropy=float(alpha * mean_log_a + mean_u(support.log_one_plus) + K * rho + outside),
        entropy_gradient=entropy_gradient,
        entropy_by_alpha=mean_log_a,
        entropy_by_rho=float(0.5 * alpha * mean(pattern.curvature + pattern.slope**2) + K + 0.5 * (E - F1)),
        between=float(alpha * mean(pattern.curvature**2) * mean_u(support.curvature**2)),
    )


def beginning(chi: float, rho: float) -> Array:
    """The branch to leading order in 1/χ: q₀/ρ → c, e^{−K} → ρ/(1 − ρ), with F₀ and V as they follow."""
    c = typical_overlap(rho)
    pattern, rule = _patterns(rho * c, rho * (1 - c), chi, STEP)
    alpha = rho / rule.mean(pattern.tight)
    F0, V = (alpha / chi**2 * rule.mean(value) for value in (pattern.mean**2, pattern.variance))
    return np.array([np.log(chi), logit(c), -logit(rho), np.log(V / (rho / chi - V)), np.log(F0)])


def solve_at_response(log_chi: float, rho: float, start: Array, step: float = STEP) -> Solved[RSState]:
    """The saddle at a given χ, by Newton from a point near to it; `unknowns` of the result is the whole point."""

    def restricted(values: Array) -> RSState:
        state = equations(np.array([log_chi, *values]), rho, step)
        return replace(state, jacobian=state.jacobian[:, 1:])

    solved = Newton().solve(restricted, start[1:], f"RS at χ = {np.exp(log_chi):.6g}, ρ = {rho:.10g}")
    return replace(solved, unknowns=np.array([log_chi, *solved.unknowns]))


def excess_load(state: RSState, alpha: float) -> float:
    """How far the load of a point lies above α, without cancellation near 2."""
    return state.alpha - alpha if state.rho <= 0.5 else 2 - alpha - state.to_two


def solve_at_zero_entropy(rho: float, start: Array, step: float = STEP) -> Solved[RSState]:
    """The point where no choice is left to count, Σ = 0, as the fifth equation."""
    scale = binary_entropy(rho)

    def extended(point: Array) -> RSState:
        state = equations(point, rho, step)
        return replace(
            state,
            residual=np.append(state.residual, state.entropy / scale),
            jacobian=np.vstack([state.jacobian, state.entropy_gradient / scale]),
        )

    # Σ is a small difference of terms as large as α∫Dz ln A.
    rounding = 16 * np.finfo(float).eps * rho * np.exp(-start[0]) / scale
    return Newton(tolerance=max(1e-12, rounding)).solve(extended, start, f"RS capacity at ρ = {rho:.10g}")


def follow_branch(rho: float, until: Callable[[RSState], bool], below: float = np.inf) -> Iterator[Solved[RSState]]:
    """Continuation from the entrance of the branch at α = 2ρ, χ → ∞; ends with the first point where `until` holds.

    The first point has χ = 100ρ, or more if its load is not yet below `below`.
    """
    log_chi = float(np.log(100 * rho))
    first = solve_at_response(log_chi, rho, beginning(np.exp(log_chi), rho))
    while first.state.alpha >= below:
        log_chi += 2.0
        first = solve_at_response(log_chi, rho, beginning(np.exp(log_chi), rho))
    yield from follow_response(lambda log_chi, guess: solve_at_response(log_chi, rho, guess), first, -1.0, until)


def follow_back(start: Solved[RSState], rho: float, until: Callable[[RSState], bool]) -> Iterator[Solved[RSState]]:
    """Continuation from any point towards the entrance of the branch."""
    return follow_response(lambda log_chi, guess: solve_at_response(log_chi, rho, guess), start, 0.25, until)


def point_where(
    rho: float, bracket: tuple[Solved[RSState], Solved[RSState]], value: Callable[[RSState], float]
) -> Solved[RSState]:
    """The point between two points of the branch where `value` vanishes."""
    return root_between(lambda log_chi, guess: solve_at_response(log_chi, rho, guess), bracket, value)
