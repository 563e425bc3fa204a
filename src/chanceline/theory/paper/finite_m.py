"""Replica symmetry at finite m > 0, φ(m), and the paper's own one step of breaking (appendix B).

φ(m) is the growth rate of Σ_c V(c)^m, with overlap q₁ between the m replicas of w within a support
and q₀ between supports; as m → 0 it tends to Σ. In appendix B the m replicas fall into groups of
size k, m < k < 1, with overlap q₂ within a group and q₁ between groups. Both are one function: with
levels 0 … L, break points x₁ = m (and x₂ = k), x₀ = 0 and x_{L+1} = 1, as n → 0,

    φ = αm E₀[g₀] + ∫Dz ln(1 + e^{−K}B) + Kρ + (m/2)[Q̂ρ + Σ_i (x_{i+1} − x_i) q̂_i q_i],

where g₀ comes from ln H(v/√(ρ−q_L)) by the recursion of `parisi`, and the support side is Gaussian
all the way down:

    D_L = Q̂ + q̂_L = ρ/(ρ − q_L),    D_{i−1} = D_i − x_i(q̂_i − q̂_{i−1}),
    ln B = −(m/2) ln D_L + Σ_i (m/2x_i) ln(D_i/D_{i−1}) + m h₀²/2D₀,      h₀ = √q̂₀ z.

The saddle equations of appendix B have q₂ − q₁ = ρ(q̂₂ − q̂₁)/(D₂ D₁). For a fixed support the
feasible w form a convex cone and their measure is log-concave: it has one pure state, and no group
can exist. The numbers agree: whatever split is imposed, what the equations return is smaller
(`growth` < 1), so that the only solution is q₂ = q₁. For a small split `growth` is the paper's AT
product λλ̂ at finite m, below 1; it tends to 1 as m → 0 for α > 2ρ.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.special import expit, log_ndtr, logit

from chanceline.errors import InputError
from chanceline.theory.continuation import first_success, follow
from chanceline.theory.newton import Newton, OutsideDomain, Solved, check_logarithms
from chanceline.theory.parisi import (
    FIELD_REACH,
    Recursion,
    descending_scales,
    focused_grid,
    gaussian_steps,
    recurse,
    uniform_grid,
)
from chanceline.theory.quadrature import QUADRATURE_STEP, Array, rule_for
from chanceline.theory.solution import Regime, RSSolution
from chanceline.theory.symmetric import solve_rs
from chanceline.theory.typical import mills

# Grid points per width of the edge of H, up to so many widths from it.
_POINTS_PER_EDGE = 6.0
_EDGE_FOCUS = 4
# Continuation in ln m begins at this m or smaller, goes by this factor, and gives up at this step.
_FIRST_M = 1e-3
_M_FACTOR = 4
_M_ATTEMPTS = 7
_SMALLEST_STEP = 1e-2


@dataclass(frozen=True)
class FiniteMState:
    """Order parameters by level and φ; the unknowns are (ln(ρ − q_L), logit(q₀/q₁), K).

    `growth` is what the equation of q₂ − q₁ returns, relative to the split imposed; 1 without
    groups.
    """

    q: Array  # (levels,)
    q_hat: Array  # (levels,)
    Q_hat: float
    K: float
    phi: float
    growth: float
    residual: Array


def volume_recursion(q: Array, breaks: Array, gap: float) -> Recursion:
    """g_L → … → g₀ for the field v = Σ_i √(q_i − q_{i−1}) z_i, from g_L = ln H(v/√(ρ − q_L)).

    Parameters
    ----------
    q : (L + 1,)
        Overlaps q₀ … q_L.
    breaks : (L,)
        x₁ … x_L.
    gap
        ρ − q_L, by itself: as m → 0 it is lost in ρ.
    """
    parts = np.diff(q, prepend=0.0)
    if not (gap > 0 and parts.min() > 0):
        raise OutsideDomain("0 < q₀ < q₁ < … < ρ is needed")
    width = np.sqrt(gap)
    reach = FIELD_REACH * np.sqrt(q[-1])

    # Far on the violated side H^x falls as e^{−x v²/2(ρ − q_L)}: times a Gaussian of variance
    # `part` it is one of variance part·gap/(gap + x·part).
    steps = gaussian_steps(q)
    narrowing = np.sqrt(gap / (gap + breaks * parts[1:]))
    grids = [uniform_grid(reach, steps[0])]
    for coarse in steps[1:] * narrowing:
        grid = focused_grid(
            reach, fine=width / _POINTS_PER_EDGE, coarse=coarse, focus=_EDGE_FOCUS * width
        )
        grids.append(grid)

    # The top function ln H(v/width) = ln Φ(−v/width), with the slope H'/H divided by the width;
    # `mills` is H'/H with its sign, negative.
    scaled_field = grids[-1].nodes / width
    return recurse(
        grids,
        top=log_ndtr(-scaled_field),
        top_slope=mills(scaled_field) / width,
        variances=q,
        breaks=breaks,
    )


class SupportLaw(NamedTuple):
    """The support side, Gaussian all the way down, on the nodes z."""

    D_levels: Array  # D₀ … D_L
    log_odds: Array  # ln(e^{−K}B), (nodes,)
    weight_square: Array  # (h₀/D₀)², (nodes,)
    weights: Array  # of ∫Dz, (nodes,)


def support_law(D: float, q_hat: Array, K: float, breaks: Array) -> SupportLaw:
    """The support side on the nodes z of a rule for ∫Dz, with h₀ = √q̂₀ z and m = x₁:

        ln B = −(m/2) ln D_L + (m/2) Σ_i ln(D_i/D_{i−1})/x_i + m h₀²/2D₀.

    Parameters
    ----------
    D
        D_L = Q̂ + q̂_L.
    q_hat : (L + 1,)
        q̂₀ … q̂_L.
    K
        Conjugate of ρ.
    breaks : (L,)
        x₁ … x_L.
    """
    D_levels = descending_scales(D, breaks, q_hat)
    D0 = D_levels[0]
    if not 0 < D0 <= D:
        raise OutsideDomain("D_L ≥ … ≥ D₀ > 0 is needed")
    m = breaks[0]
    rule = rule_for(float(np.sqrt(D0 / (m * q_hat[0]))), QUADRATURE_STEP / 2)
    h0 = np.sqrt(q_hat[0]) * rule.nodes

    log_ratios = np.log(D_levels[1:] / D_levels[:-1]) / breaks
    log_B = -0.5 * m * np.log(D) + 0.5 * m * log_ratios.sum() + m * h0**2 / (2 * D0)
    return SupportLaw(
        D_levels=D_levels,
        log_odds=log_B - K,
        weight_square=(h0 / D0) ** 2,
        weights=rule.weights,
    )


def _equations(
    unknowns: Array, alpha: float, rho: float, breaks: Array, split: float
) -> FiniteMState:
    """The equations at (ln(ρ − q_L), logit(q₀/q₁), K), relative, and φ.

    With q̂_i = α E_i[g_i'²], D_L = ρ/(ρ − q_L) and the support side of `support_law` they are

        ∫Dz p = ρ,    ∫Dz p [(h₀/D₀)² + (q̂₁ − q̂₀)/(D₁D₀)] = q₁,    ∫Dz p² (h₀/D₀)² = q₀.

    Where there are groups q₂ − q₁ = `split`·(ρ − q₂) is imposed, and its equation,
    q₂ − q₁ = ρ(q̂₂ − q̂₁)/(D₂D₁), returns `growth` times as much. `breaks` are (m,) or (m, k).
    """
    check_logarithms(unknowns[:2])

    # Decode the order parameters.
    gap = float(np.exp(unknowns[0]))  # ρ − q_L
    K = float(unknowns[2])
    q1 = rho - gap - split * gap
    levels = [q1 * expit(float(unknowns[1])), q1]
    if split:
        levels.append(rho - gap)
    q = np.array(levels)
    m = breaks[0]
    D = rho / gap  # D_L

    # Both sides.
    patterns = volume_recursion(q, breaks, gap)
    q_hat = alpha * patterns.mean_square_slopes
    D_levels, log_odds, weight_square, weights = support_law(D, q_hat, K, breaks)
    p = expit(log_odds)
    chosen = weights @ p

    # ρ − q₁ and q₁ both come from the same average; as m → 0 only its difference from ρ carries χ.
    spread = chosen * (q_hat[1] - q_hat[0]) / (D_levels[1] * D_levels[0])
    q1_now = weights @ (p * weight_square) + spread
    q0_now = weights @ (p**2 * weight_square)
    residual = np.array([chosen / rho - 1, (q1_now - q1) / rho, q0_now / q[0] - 1])

    # φ, with Q̂ρ + Σ_i (x_{i+1} − x_i) q̂_i q_i in terms of D_L = Q̂ + q̂_L, as Q̂ is lost in q̂_L for
    # m → 0: the terms of level L are then D_L ρ − q̂_L[(ρ − q_L) + x_L q_L].
    outside = (
        D * rho
        - q_hat[-1] * (gap + breaks[-1] * q[-1])
        + np.diff(breaks, prepend=0.0) @ (q_hat * q)[:-1]
    )
    phi = (
        alpha * m * patterns.mean_values[0]
        + weights @ np.logaddexp(0.0, log_odds)
        + K * rho
        + 0.5 * m * outside
    )
    growth = 1.0
    if split:
        growth = rho * (q_hat[-1] - q_hat[1]) / (D * D_levels[1]) / (q[-1] - q1)
    return FiniteMState(
        q=q,
        q_hat=q_hat,
        Q_hat=D - q_hat[-1],
        K=K,
        phi=float(phi),
        growth=float(growth),
        residual=residual,
    )


def solve_finite_m(
    alpha: float, rho: float, breaks: tuple[float, ...], start: Array, split: float = 0.0
) -> Solved[FiniteMState]:
    """The saddle of φ from a start (ln(ρ − q_L), logit(q₀/q₁), K) near to it.

    `breaks` is (m,) or, with groups, (m, k); `split` is (q₂ − q₁)/(ρ − q₂), imposed where there are
    groups.
    """
    return Newton(iterations=60).solve(
        lambda unknowns: _equations(unknowns, alpha, rho, np.array(breaks), split),
        start,
        f"φ(m) at m = {breaks[0]:.4g}, α = {alpha:.6g}, ρ = {rho:.6g}",
    )


def solve_rs_at_m(alpha: float, rho: float, m: float) -> FiniteMState:
    """Replica symmetry at finite m > 0, by continuation in ln m from the limit m → 0.

    The unknowns of `solve_finite_m` are (ln(ρ − q₁), logit(q₀/q₁), K). Below 2ρ they all have a
    limit as m → 0 and are followed as they are. Above 2ρ q₁ → ρ, and χ = (ρ − q₁)/m has a limit:
    (ln χ, logit(q₀/q₁), K) is followed, which differs by ln m in the first one.
    """
    if not (math.isfinite(m) and m > 0):
        raise InputError(f"m must be positive and finite, but is {m!r}")
    limit = solve_rs(alpha, rho)
    is_typical = limit.regime == Regime.TYPICAL

    def solve_at(log_m: float, start: Array) -> Solved[FiniteMState]:
        """The saddle at m; start and unknowns are the followed ones."""
        shift = np.zeros(3)  # ln(ρ − q₁) less the first followed unknown
        if not is_typical:
            shift[0] = log_m
        solved = solve_finite_m(limit.alpha, limit.rho, (math.exp(log_m),), start + shift)
        return replace(solved, unknowns=solved.unknowns - shift)

    def first_point(log_m: float) -> tuple[float, Solved[FiniteMState]]:
        return log_m, solve_at(log_m, _start_near_limit(limit, log_m, is_typical))

    # The first point at a small m, at a smaller one where that fails; then on to the m wanted.
    log_first = math.log(min(_FIRST_M, m))
    log_starts = [log_first - k * math.log(_M_FACTOR) for k in range(_M_ATTEMPTS)]
    begin, first = first_success(first_point, log_starts)
    *_, last = follow(
        solve_at,
        first,
        begin=begin,
        step=math.log(_M_FACTOR),
        until=math.log(m),
        smallest=_SMALLEST_STEP,
    )
    return last.state


def _start_near_limit(limit: RSSolution, log_m: float, is_typical: bool) -> Array:
    """The limit m → 0 in the unknowns that `solve_rs_at_m` follows, (3,)."""
    if is_typical:
        scale = limit.rho - limit.q1
        q1 = limit.q1
    else:
        scale = limit.chi
        q1 = limit.rho - limit.chi * math.exp(log_m)
    return np.array([np.log(scale), logit(limit.q0 / q1), limit.K])


def impose_split(alpha: float, rho: float, m: float, group: float, split: float) -> FiniteMState:
    """Solve all saddle equations of appendix B but that of q₂ − q₁, held at `split`·(ρ − q₂).

    Parameters
    ----------
    alpha, rho
        Load and density.
    m, group
        Number of replicas and size of a group, 0 < m < group < 1.
    split
        (q₂ − q₁)/(ρ − q₂) > 0.
    """
    symmetric = solve_rs_at_m(alpha, rho, m)
    q0, q1 = symmetric.q
    start = np.array([np.log(rho - q1), logit(q0 / q1), symmetric.K])
    return solve_finite_m(alpha, rho, (m, group), start, split).state
