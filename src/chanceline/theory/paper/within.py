"""The paper's own one-step breaking (appendix B): the m replicas of w *within* one support fall into groups of size k, m <
k < 1.

With overlaps q₂ within a group, q₁ between groups, q₀ between supports, as n → 0,

    φ = αm E₀[g₀] + ∫Dz ln(1 + e^{−K}B) + Kρ + (m/2)[Q̂ρ − (k − 1)q̂₂q₂ − (m − k)q̂₁q₁ + m q̂₀q₀],

where g₀ comes from g₂ = ln H(v/√(ρ−q₂)) by the recursion of `parisi` with break points (m, k), and, with
D = Q̂ + q̂₂, D₁ = D − k(q̂₂ − q̂₁),
D₀ = D₁ − m(q̂₁ − q̂₀), the support side is Gaussian all the way down:

    ln B = −(m/2) ln D + (m/2k) ln(D/D₁) + ½ ln(D₁/D₀) + m h₀²/2D₀,      h₀ = √q̂₀ z.

The saddle equations are the appendix's; in closed form q₂ − q₁ = ρ(q̂₂ − q̂₁)/(D D₁). For a fixed support the feasible w
form a convex cone and their measure is log-concave: it has one pure state, and no group can exist. The numbers agree:
whatever split is imposed, what the equations return is smaller (`growth` < 1), so that the only solution is q₂ = q₁. For a
small split `growth` is the paper's AT product λλ̂ at finite m, below 1; it tends to 1 as m → 0 for α > 2ρ.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, log_ndtr, logit

from chanceline.errors import InputError
from chanceline.theory.paper.finite_m import solve_rs_at_m
from chanceline.theory.parisi import Recursion, focused_grid, gaussian_steps, recurse, uniform_grid
from chanceline.theory.quadrature import Array, rule_for
from chanceline.theory.solver import Newton, OutsideDomain
from chanceline.theory.symmetric import mills

_REACH, _PER_EDGE = 9.0, 6.0


@dataclass(frozen=True)
class WithinOrder:
    """Overlaps, conjugates and K of the ansatz within a support."""

    q2: float
    q1: float
    q0: float
    q2_hat: float
    q1_hat: float
    q0_hat: float
    Q_hat: float
    K: float


@dataclass(frozen=True)
class SplitState:
    """Everything solved but q₂ − q₁, which is imposed; `growth` is what its own equation returns, relative to it."""

    order: WithinOrder
    growth: float
    residual: Array


def pattern_recursion(q2: float, q1: float, q0: float, m: float, group: float, rho: float) -> Recursion:
    """g₂ → g₁ → g₀ for v = √(q₂−q₁) x + √(q₁−q₀) y + √q₀ z."""
    if not 0 < q0 < q1 < q2 < rho:
        raise OutsideDomain("0 < q₀ < q₁ < q₂ < ρ is needed")
    width = np.sqrt(rho - q2)
    variances = np.array([q0, q1, q2])
    steps = gaussian_steps(variances)
    reach = _REACH * np.sqrt(q2)
    # H^k narrows the Gaussians on the violated side.
    spread = rho - q2
    narrowing = np.sqrt(spread / (spread + group * (q2 - q1)))
    middle = np.sqrt(spread / (spread + m * (q1 - q0)))
    grids = [
        uniform_grid(reach, steps[0]),
        focused_grid(reach, width / _PER_EDGE, min(steps[1], np.sqrt(q1 - q0) / 2 * middle), 4 * width),
        focused_grid(reach, width / _PER_EDGE, steps[2] * narrowing, 4 * width),
    ]
    v = grids[-1].nodes / width
    return recurse(grids, log_ndtr(-v), mills(v) / width, variances, np.array([m, group]))


def free_energy(order: WithinOrder, alpha: float, rho: float, m: float, group: float) -> float:
    """φ as a function of all order parameters (not only at the saddle)."""
    o = order
    patterns = pattern_recursion(o.q2, o.q1, o.q0, m, group, rho)
    D, D1, D0 = _widths(o, m, group)
    log_odds, _, weights = _log_odds(o, m, group, D, D1, D0)
    outside = o.Q_hat * rho - (group - 1) * o.q2_hat * o.q2 - (m - group) * o.q1_hat * o.q1 + m * o.q0_hat * o.q0
    return float(alpha * m * patterns.mean_values[0] + weights @ np.logaddexp(0.0, log_odds) + o.K * rho + 0.5 * m * outside)


def _widths(o: WithinOrder, m: float, group: float) -> tuple[float, float, float]:
    D = o.Q_hat + o.q2_hat
    D1 = D - group * (o.q2_hat - o.q1_hat)
    D0 = D1 - m * (o.q1_hat - o.q0_hat)
    if not 0 < D0 <= D1 <= D:
        raise OutsideDomain("D ≥ D₁ ≥ D₀ > 0 is needed")
    return D, D1, D0


def _log_odds(o: WithinOrder, m: float, group: float, D: float, D1: float, D0: float) -> tuple[Array, Array, Array]:
    """ln(e^{−K}B), (h₀/D₀)² and the weights of ∫Dz."""
    rule = rule_for(float(np.sqrt(D0 / (m * o.q0_hat))))
    h0 = np.sqrt(o.q0_hat) * rule.nodes
    constant = -0.5 * m * np.log(D) + 0.5 * m / group * np.log(D / D1) + 0.5 * np.log(D1 / D0)
    return constant + m * h0**2 / (2 * D0) - o.K, (h0 / D0) ** 2, rule.weights


def impose_split(alpha: float, rho: float, m: float, group: float, split: float) -> SplitState:
    """Solve all saddle equations but that of q₂ − q₁, which is held at `split`·(ρ − q₂).

    Parameters
    ----------
    m, group
        Number of replicas and size of a group, 0 < m < group < 1.
    split
        (q₂ − q₁)/(ρ − q₂) > 0.
    """
    if not 0 < m < group < 1:
        raise InputError(f"0 < m < group < 1 is needed, but m = {m!r} and group = {group!r}")
    if not split > 0:
        raise InputError(f"split must be positive, but is {split!r}")
    symmetric = solve_rs_at_m(alpha, rho, m)
    start = np.array([np.log(rho - symmetric.q1), logit(symmetric.q0 / symmetric.q1), symmetric.K])

    what = f"a split within a support at α = {alpha:g}, ρ = {rho:g}, m = {m:g}, k = {group:g}"
    newton = Newton(tolerance=1e-9, iterations=60)
    return newton.solve(lambda unknowns: _state(unknowns, alpha, rho, m, group, split), start, what).state


def _state(unknowns: Array, alpha: float, rho: float, m: float, group: float, split: float) -> SplitState:
    gap, y, K = float(np.exp(unknowns[0])), float(unknowns[1]), float(unknowns[2])
    q2 = rho - gap
    q1 = q2 - split * gap
    q0 = q1 * float(expit(y))
    patterns = pattern_recursion(q2, q1, q0, m, group, rho)
    q0_hat, q1_hat, q2_hat = alpha * patterns.mean_square_slopes
    order = WithinOrder(q2, q1, q0, q2_hat, q1_hat, q0_hat, rho / gap - q2_hat, K)
    D, D1, D0 = _widths(order, m, group)
    log_odds, w, weights = _log_odds(order, m, group, D, D1, D0)
    p = expit(log_odds)
    chosen = weights @ p
    q1_now = weights @ (p * w) + chosen * (q1_hat - q0_hat) / (D1 * D0)
    residual = np.array([chosen / rho - 1, (q1_now - q1) / gap, weights @ (p**2 * w) / q0 - 1])
    growth = rho * (q2_hat - q1_hat) / (D * D1) / (q2 - q1)
    return SplitState(order, float(growth), residual)
