"""Replica symmetry at finite m > 0, φ(m) of the paper, and the paper's own one step of breaking (appendix B).

φ(m) is the growth rate of Σ_c V(c)^m, with overlap q₁ between the m replicas of w within a support and q₀ between supports; as
m → 0 it tends to Σ. In appendix B the m replicas fall into groups of size k, m < k < 1, with overlap q₂ within a group and q₁
between groups. Both are one function: with levels 0 … L, break points x₁ = m (and x₂ = k), x₀ = 0 and x_{L+1} = 1, as n → 0,

    φ = αm E₀[g₀] + ∫Dz ln(1 + e^{−K}B) + Kρ + (m/2)[Q̂ρ + Σ_i (x_{i+1} − x_i) q̂_i q_i],

where g₀ comes from ln H(v/√(ρ−q_L)) by the recursion of `parisi`, and the support side is Gaussian all the way down:

    D_L = Q̂ + q̂_L = ρ/(ρ − q_L),    D_{i−1} = D_i − x_i(q̂_i − q̂_{i−1}),
    ln B = −(m/2) ln D_L + Σ_i (m/2x_i) ln(D_i/D_{i−1}) + m h₀²/2D₀,      h₀ = √q̂₀ z.

The saddle equations of appendix B have q₂ − q₁ = ρ(q̂₂ − q̂₁)/(D₂ D₁). For a fixed support the feasible w form a convex cone and
their measure is log-concave: it has one pure state, and no group can exist. The numbers agree: whatever split is imposed, what
the equations return is smaller (`growth` < 1), so that the only solution is q₂ = q₁. For a small split `growth` is the paper's AT
product λλ̂ at finite m, below 1; it tends to 1 as m → 0 for α > 2ρ.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit, log_ndtr, logit

from chanceline.errors import InputError
from chanceline.theory.numerics import STEP, Array, Newton, OutsideDomain, Solved, first_success, follow, rule_for
from chanceline.theory.parisi import Recursion, focused_grid, gaussian_steps, recurse, uniform_grid
from chanceline.theory.symmetric import mills, solve_rs

_REACH, _PER_EDGE = 9.0, 6.0


@dataclass(frozen=True)
class FiniteMState:
    """Order parameters by level and φ; the unknowns are (ln(ρ − q_L), logit(q₀/q₁), K).

    `growth` is what the equation of q₂ − q₁ returns, relative to the split imposed; 1 without groups.
    """

    q: Array
    q_hat: Array
    Q_hat: float
    K: float
    phi: float
    growth: float
    residual: Array


def pattern_recursion(q: Array, breaks: Array, gap: float) -> Recursion:
    """g_L → … → g₀ for v = Σ_i √(q_i − q_{i−1}) z_i, with gap = ρ − q_L given by itself (as m → 0 it is lost in ρ)."""
    parts = np.diff(q, prepend=0.0)
    if not (gap > 0 and parts.min() > 0):
        raise OutsideDomain("0 < q₀ < q₁ < … < ρ is needed")
    width, steps, reach = np.sqrt(gap), gaussian_steps(q), _REACH * np.sqrt(q[-1])
    # H^x narrows the Gaussians on the violated side.
    coarse = steps[1:] * np.sqrt(gap / (gap + breaks * parts[1:]))
    grids = [uniform_grid(reach, steps[0]), *(focused_grid(reach, width / _PER_EDGE, step, 4 * width) for step in coarse)]
    v = grids[-1].nodes / width
    return recurse(grids, log_ndtr(-v), mills(v) / width, q, breaks)


def _support(D: float, q_hat: Array, K: float, breaks: Array) -> tuple[Array, Array, Array, Array]:
    """D₀ … D_L, ln(e^{−K}B), (h₀/D₀)² and the weights of ∫Dz."""
    widths = D - np.append(np.cumsum((breaks * np.diff(q_hat))[::-1])[::-1], 0.0)
    if not 0 < widths[0] <= D:
        raise OutsideDomain("D_L ≥ … ≥ D₀ > 0 is needed")
    m = breaks[0]
    rule = rule_for(float(np.sqrt(widths[0] / (m * q_hat[0]))), STEP / 2)
    h0 = np.sqrt(q_hat[0]) * rule.nodes
    constant = -0.5 * m * np.log(D) + 0.5 * m * (np.log(widths[1:] / widths[:-1]) / breaks).sum()
    return widths, constant + m * h0**2 / (2 * widths[0]) - K, (h0 / widths[0]) ** 2, rule.weights


def _evaluate(unknowns: Array, alpha: float, rho: float, breaks: Array, split: float) -> FiniteMState:
    """The equations, with q₂ − q₁ = split·(ρ − q₂) imposed where there are groups."""
    if np.abs(unknowns[:2]).max() > 100:
        raise OutsideDomain("an order parameter left the range of floating-point numbers")
    gap, y, K = float(np.exp(unknowns[0])), float(unknowns[1]), float(unknowns[2])
    q1, m = rho - gap - split * gap, breaks[0]
    q = np.array([q1 * expit(y), q1, *([rho - gap] if split else [])])
    patterns = pattern_recursion(q, breaks, gap)
    q_hat, D = alpha * patterns.mean_square_slopes, rho / gap
    widths, log_odds, w, weights = _support(D, q_hat, K, breaks)
    p = expit(log_odds)
    chosen = weights @ p
    q1_now = weights @ (p * w) + chosen * (q_hat[1] - q_hat[0]) / (widths[1] * widths[0])
    # (ρ − q₁) and q₁ both come from the same average; as m → 0 only its difference from ρ carries χ.
    residual = np.array([chosen / rho - 1, (q1_now - q1) / rho, weights @ (p**2 * w) / q[0] - 1])
    # ½m[Q̂ρ + …] with D_L for Q̂, which is lost in q̂_L as m → 0.
    outside = D * rho - q_hat[-1] * (gap + breaks[-1] * q[-1]) + np.diff(breaks, prepend=0.0) @ (q_hat * q)[:-1]
    phi = alpha * m * patterns.mean_values[0] + weights @ np.logaddexp(0.0, log_odds) + K * rho + 0.5 * m * outside
    growth = rho * (q_hat[-1] - q_hat[1]) / (D * widths[1]) / (q[-1] - q1) if split else 1.0
    return FiniteMState(q, q_hat, D - q_hat[-1], K, float(phi), float(growth), residual)


def solve_finite_m(alpha: float, rho: float, breaks: tuple[float, ...], start: Array, split: float = 0.0) -> Solved[FiniteMState]:
    """The saddle of φ from a start (ln(ρ − q_L), logit(q₀/q₁), K) near to it; `breaks` is (m,) or, with groups, (m, k)."""
    what = f"φ(m) at m = {breaks[0]:.4g}, α = {alpha:.6g}, ρ = {rho:.6g}"
    return Newton(iterations=60).solve(lambda unknowns: _evaluate(unknowns, alpha, rho, np.array(breaks), split), start, what)


def solve_rs_at_m(alpha: float, rho: float, m: float) -> FiniteMState:
    """Replica symmetry at finite m > 0, by continuation in ln m from the limit m → 0.

    Above 2ρ the limit is given by χ = (ρ − q₁)/m (and q₁ = ρ), below by q₁: from one m to the next that one is kept.
    """
    if not (math.isfinite(m) and m > 0):
        raise InputError(f"m must be positive and finite, but is {m!r}")
    limit = solve_rs(alpha, rho)
    below = limit.regime == "typical"

    def solve_at(log_m: float, start: Array) -> Solved[FiniteMState]:
        moved = np.array([0.0 if below else log_m, 0.0, 0.0])
        solved = solve_finite_m(limit.alpha, limit.rho, (math.exp(log_m),), start + moved)
        return replace(solved, unknowns=solved.unknowns - moved)

    def beginning(log_m: float) -> tuple[float, Solved[FiniteMState]]:
        kept = limit.rho - limit.q1 if below else limit.chi
        q1 = limit.q1 if below else limit.rho - limit.chi * math.exp(log_m)
        return log_m, solve_at(log_m, np.array([np.log(kept), logit(limit.q0 / q1), limit.K]))

    begin, first = first_success(beginning, [math.log(min(1e-3, m)) - k * math.log(4) for k in range(7)])
    *_, last = follow(solve_at, first, begin, math.log(4), until=math.log(m), smallest=1e-2)
    return last.state


def impose_split(alpha: float, rho: float, m: float, group: float, split: float) -> FiniteMState:
    """Solve all saddle equations of appendix B but that of q₂ − q₁, which is held at `split`·(ρ − q₂).

    Parameters
    ----------
    m, group
        Number of replicas and size of a group, 0 < m < group < 1.
    split
        (q₂ − q₁)/(ρ − q₂) > 0.
    """
    symmetric = solve_rs_at_m(alpha, rho, m)
    q0, q1 = symmetric.q
    start = np.array([np.log(rho - q1), logit(q0 / q1), symmetric.K])
    return solve_finite_m(alpha, rho, (m, group), start, split).state
