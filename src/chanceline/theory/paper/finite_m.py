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
from numpy.typing import NDArray
from scipy.special import expit, log_ndtr, logit

from chanceline.errors import ConvergenceError, InputError
from chanceline.theory.kernels import support_side
from chanceline.theory.quadrature import STEP, centred_rule, rule_for
from chanceline.theory.solver import Newton, OutsideDomain, difference_jacobian
from chanceline.theory.symmetric import solve_rs
from chanceline.theory.typical import mills

Array = NDArray[np.float64]


@dataclass(frozen=True)
class FiniteMState:
    """Order parameters and φ at finite m; `unknowns` = (ln χ, logit(q₀/q₁), K)."""

    m: float
    q1: float
    q0: float
    q1_hat: float
    q0_hat: float
    Q_hat: float
    K: float
    phi: float
    residual: Array
    jacobian: Array


@dataclass(frozen=True)
class PatternAverages:
    """∫Dz ln ∫Dy H^m, and the tilted second moment and squared mean of H'/H."""

    log_a: float
    second: float
    first_squared: float


def pattern_averages(m: float, gap: float, q1: float, q0: float, step: float = STEP) -> PatternAverages:
    """The pattern side for v = √(q₁−q₀) y + √q₀ z, with gap = ρ − q₁ given by itself (as m → 0 it is lost in ρ)."""
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
    return PatternAverages(float(rule.mean(np.log(norm) + top[:, 0])), float(rule.mean(second)), float(rule.mean(first**2)))


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
    patterns = pattern_averages(m, gap, q1, q0, step)
    scale = m**2 * alpha / gap
    F1, F0 = scale * patterns.second, scale * patterns.first_squared
    d = E - F1 + F0
    if not d > 0:
        raise OutsideDomain(f"E − F₁ + F₀ = {d:.3g} must be positive")
    rule = rule_for(np.sqrt(d / F0), step / 2)
    support = support_side(np.sqrt(F0) * rule.nodes, E, d, K + 0.5 * m * np.log(hat))
    phi = alpha * patterns.log_a + float(rule.mean(support.log_one_plus)) + K * rho + 0.5 * (E * rho - F1 * (chi + q1) + F0 * q0)
    residual = np.array(
        [
            rule.mean(support.chosen) / rho - 1,
            # (ρ − q₁) and q₁ both come from the same average; as m → 0 only its difference from ρ carries χ.
            (rule.mean(support.second_moment) - q1) / rho,
            rule.mean(support.slope**2) / q0 - 1,
        ]
    )
    return FiniteMState(m, q1, q0, F1 / m**2, F0 / m**2, hat - F1 / m**2, K, phi, residual, np.zeros((3, 3)))


def solve_finite_m(alpha: float, rho: float, m: float, start: Array, step: float = STEP) -> tuple[Array, FiniteMState]:
    """The saddle of φ(m) from a start (ln χ, logit(q₀/q₁), K) near to it; Jacobian by central differences."""

    def residual(unknowns: Array) -> Array:
        return _evaluate(unknowns, alpha, rho, m, step).residual

    def equations(unknowns: Array) -> FiniteMState:
        state = _evaluate(unknowns, alpha, rho, m, step)
        return replace(state, jacobian=difference_jacobian(residual, unknowns))

    solved = Newton(iterations=40).solve(equations, start, f"φ(m) at m = {m:.4g}, α = {alpha:.6g}, ρ = {rho:.6g}")
    return solved.unknowns, solved.state


def follow_m(alpha: float, rho: float, m: float, *, q1: float | None, chi: float, q0: float, K: float) -> FiniteMState:
    """φ(m) by continuation in m from the limit m → 0.

    Above 2ρ the limit is given by χ (and q₁ = ρ), below by q₁ (and χ = ∞).
    """
    current = min(1e-3, m)
    while True:
        gap = chi * current if q1 is None else rho - q1
        unknowns = np.array([np.log(gap / current), logit(q0 / (rho - gap)), K])
        try:
            unknowns, state = solve_finite_m(alpha, rho, current, unknowns)
            break
        except ConvergenceError:
            current /= 4
            if current < 1e-7:
                raise
    factor = 4.0
    while current < m:
        target = min(m, current * factor)
        guess = unknowns if q1 is None else unknowns - np.array([np.log(target / current), 0.0, 0.0])
        try:
            unknowns, state = solve_finite_m(alpha, rho, target, guess)
        except ConvergenceError:
            factor = np.sqrt(factor)
            if factor < 1.01:
                raise
            continue
        current = target
    return state


def solve_rs_at_m(alpha: float, rho: float, m: float) -> FiniteMState:
    """Replica symmetry at finite m > 0, by continuation from the limit m → 0."""
    if not (math.isfinite(m) and m > 0):
        raise InputError(f"m must be positive and finite, but is {m!r}")
    limit = solve_rs(alpha, rho)
    below = limit.regime == "typical"
    return follow_m(
        limit.alpha, limit.rho, m, q1=limit.q1 if below else None, chi=0.0 if below else limit.chi, q0=limit.q0, K=limit.K
    )
