"""Replica symmetry at finite m > 0: φ(m) of the paper, the growth rate of Σ_c V(c)^m.

In the rescaled variables χ = (ρ − q₁)/m, E = m(Q̂ + q̂₁), F = m²q̂ the support side keeps its closed form, with K shifted by
(m/2) ln(Q̂ + q̂₁). The pattern side has the inner integral ∫Dy H^m(v/√(ρ−q₁)), done by a rule centred on v = 0:

    φ(m) = α∫Dz ln ∫Dy H^m + ∫Dz ln(1 + e^{−K}(Q̂+q̂₁)^{−m/2} B) + Kρ + ½Eρ − ½F₁(χ + q₁) + ½F₀q₀.

φ(m) → Σ as m → 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit, log_ndtr, logit

from chanceline.errors import InputError
from chanceline.theory.kernels import support_side
from chanceline.theory.quadrature import STEP, Array, centred_rule, rule_for
from chanceline.theory.solver import Newton, OutsideDomain, Solved, first_success, follow
from chanceline.theory.symmetric import mills, solve_rs


@dataclass(frozen=True)
class FiniteMState:
    """Order parameters and φ at finite m; the unknowns are (ln χ, logit(q₀/q₁), K)."""

    q1: float
    q0: float
    q1_hat: float
    q0_hat: float
    Q_hat: float
    K: float
    phi: float
    residual: Array


def pattern_averages(m: float, gap: float, q1: float, q0: float, step: float = STEP) -> tuple[float, float, float]:
    """∫Dz ln ∫Dy H^m, and the tilted second moment and squared mean of H'/H.

    For v = √(q₁−q₀) y + √q₀ z, with gap = ρ − q₁ given by itself (as m → 0 it is lost in ρ).
    """
    width = np.sqrt(gap)
    between = np.sqrt(q1 - q0)
    rule = rule_for(np.sqrt((gap + q1 - q0) / q0), step)
    shift = np.sqrt(q0) * rule.nodes
    y, weights = centred_rule(-shift / between, min(4.0, 4 * width / between), step)
    x = (between * y + shift[:, None]) / width
    log_power = m * log_ndtr(-x)
    top = log_power.max(axis=1, keepdims=True)
    tilted = weights * np.exp(log_power - top)
    norm = tilted.sum(axis=1)
    h = mills(x)
    second = (tilted * h**2).sum(axis=1) / norm
    first = (tilted * h).sum(axis=1) / norm
    return float(rule.mean(np.log(norm) + top[:, 0])), float(rule.mean(second)), float(rule.mean(first**2))


def _evaluate(unknowns: Array, alpha: float, rho: float, m: float, step: float) -> FiniteMState:
    log_chi, y, K = (float(value) for value in unknowns)
    chi = np.exp(log_chi)
    gap = m * chi
    q1 = rho - gap
    if not q1 > 0 or abs(y) > 100:
        raise OutsideDomain("q₁ = ρ − mχ must be positive")
    q0 = q1 * expit(y)
    hat = rho / gap
    E = m * hat
    log_a, second, first_squared = pattern_averages(m, gap, q1, q0, step)
    scale = m**2 * alpha / gap
    F1, F0 = scale * second, scale * first_squared
    d = E - F1 + F0
    if not d > 0:
        raise OutsideDomain(f"E − F₁ + F₀ = {d:.3g} must be positive")
    rule = rule_for(np.sqrt(d / F0), step / 2)
    support = support_side(np.sqrt(F0) * rule.nodes, E, d, K + 0.5 * m * np.log(hat))
    phi = alpha * log_a + float(rule.mean(support.log_one_plus)) + K * rho + 0.5 * (E * rho - F1 * (chi + q1) + F0 * q0)
    residual = np.array(
        [
            rule.mean(support.chosen) / rho - 1,
            # (ρ − q₁) and q₁ both come from the same average; as m → 0 only its difference from ρ carries χ.
            (rule.mean(support.second_moment) - q1) / rho,
            rule.mean(support.slope**2) / q0 - 1,
        ]
    )
    return FiniteMState(q1, q0, F1 / m**2, F0 / m**2, hat - F1 / m**2, K, phi, residual)


def solve_finite_m(alpha: float, rho: float, m: float, start: Array, step: float = STEP) -> Solved[FiniteMState]:
    """The saddle of φ(m) from a start (ln χ, logit(q₀/q₁), K) near to it."""
    what = f"φ(m) at m = {m:.4g}, α = {alpha:.6g}, ρ = {rho:.6g}"
    return Newton(iterations=40).solve(lambda unknowns: _evaluate(unknowns, alpha, rho, m, step), start, what)


def solve_rs_at_m(alpha: float, rho: float, m: float) -> FiniteMState:
    """Replica symmetry at finite m > 0, by continuation in ln m from the limit m → 0.

    Above 2ρ the limit is given by χ (and q₁ = ρ), below by ρ − q₁ = mχ (and χ = ∞): from one m to the next that one is kept.
    """
    if not (math.isfinite(m) and m > 0):
        raise InputError(f"m must be positive and finite, but is {m!r}")
    limit = solve_rs(alpha, rho)
    below = limit.regime == "typical"

    def solve_at(log_m: float, start: Array) -> Solved[FiniteMState]:
        moved = np.array([log_m if below else 0.0, 0.0, 0.0])
        solved = solve_finite_m(limit.alpha, limit.rho, math.exp(log_m), start - moved)
        return replace(solved, unknowns=solved.unknowns + moved)

    def beginning(log_m: float) -> tuple[float, Solved[FiniteMState]]:
        gap = limit.rho - limit.q1 if below else limit.chi * math.exp(log_m)
        start = np.array([np.log(gap if below else limit.chi), logit(limit.q0 / (limit.rho - gap)), limit.K])
        return log_m, solve_at(log_m, start)

    begin, first = first_success(beginning, [math.log(min(1e-3, m)) - k * math.log(4) for k in range(7)])
    *_, last = follow(solve_at, first, begin, math.log(4), until=math.log(m), smallest=1e-2)
    return last.state
