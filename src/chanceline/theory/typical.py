"""Replica symmetry below the Cover–Gardner load, α < 2ρ, where typical choices separate (section 5.1 of the paper).

For m → 0 the choice of variables decouples, Σ = H₂(ρ) and e^{−K} = ρ/(1 − ρ). With r = q₁/ρ, γ² = r/(1 − r) and h = H'/H,
what is left is Gardner's equation in ρN dimensions and one equation for the overlap of two independent choices:

    γ² = (α/ρ) ∫Dt h(γt)²,    c = (α/γ²) ∫Dz [∫Dy h(γ(√(1−c) y + √c z))]²,    c = q₀/q₁.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import erfcx, logit

from chanceline.theory.quadrature import STEP, centred_rule, rule_for

Array = NDArray[np.float64]


def mills(x: Array) -> Array:
    """h = H'/H = −φ/H."""
    return -np.sqrt(2 / np.pi) / erfcx(np.asarray(x) / np.sqrt(2))


def mills_slope(x: Array) -> Array:
    """h' = (ln H)'' = −h(x + h), by its asymptotic series where x + h cancels."""
    x = np.asarray(x, dtype=float)
    h = mills(x)
    far = np.maximum(x, 60.0) ** -2
    sum_far = -(1 - far * (2 - far * (10 - far * (74 - 706 * far)))) / np.maximum(x, 60.0)
    return -h * np.where(x > 60.0, sum_far, x + h)


@dataclass(frozen=True)
class TypicalState:
    """Order parameters below α_CG and both stability products."""

    q1: float
    q0: float
    q1_hat: float
    q0_hat: float
    Q_hat: float
    K: float
    within: float
    between: float
    residual: float


def gardner_field(load: float, step: float = STEP) -> float:
    """γ of Gardner's equation at load P/M = α/ρ < 2; γ → ∞ as the load reaches 2."""

    def excess(log_gamma: float) -> float:
        gamma = np.exp(log_gamma)
        rule = rule_for(1 / gamma, step)
        return float(load * rule.mean((mills(gamma * rule.nodes) / gamma) ** 2) - 1)

    low, high = -1.0, 1.0
    while excess(low) < 0:
        low -= 2
    while excess(high) > 0:
        high += 2
    return float(np.exp(brentq(excess, low, high, xtol=1e-15, rtol=1e-15)))


def _smoothed(function: str, gamma: float, c: float, step: float) -> tuple[Array, Array]:
    """∫Dy f(γ(√(1−c) y + √c z)) at the nodes z of a rule, and the rule's weights."""
    narrow = np.sqrt(1 - c)
    rule = rule_for(narrow / np.sqrt(c), step)
    shift = np.sqrt(c) * rule.nodes
    y, weights = centred_rule(-shift / narrow, min(4.0, 4 / (gamma * narrow)), step)
    arguments = gamma * (narrow * y + shift[:, None])
    values = mills(arguments) / gamma if function == "h" else mills_slope(arguments)
    return (weights * values).sum(axis=1), rule.weights


def solve_typical(alpha: float, rho: float, step: float = STEP) -> TypicalState:
    """All order parameters at α < 2ρ."""
    gamma = gardner_field(alpha / rho, step)

    def excess(c: float) -> float:
        inner, weights = _smoothed("h", gamma, c, step)
        return float(alpha * (weights @ inner**2) - c)

    c = float(brentq(excess, 1e-12 * rho, 1 - 1e-12, xtol=1e-16, rtol=1e-14))
    r, one_minus_r = gamma**2 / (1 + gamma**2), 1 / (1 + gamma**2)
    q1, q0, hat = rho * r, rho * r * c, 1 / one_minus_r  # hat = Q̂ + q̂₁ = ρ/(ρ − q₁)
    gardner = rule_for(1 / gamma, step)
    within = float(alpha / rho * gardner.mean(mills_slope(gamma * gardner.nodes) ** 2))
    inner, weights = _smoothed("h'", gamma, c, step)
    q1_hat = alpha / (rho * one_minus_r) * float(gardner.mean(mills(gamma * gardner.nodes) ** 2))
    smooth, smooth_weights = _smoothed("h", gamma, c, step)
    q0_hat = alpha / (rho * one_minus_r) * gamma**2 * float(smooth_weights @ smooth**2)
    return TypicalState(
        q1=q1,
        q0=q0,
        q1_hat=q1_hat,
        q0_hat=q0_hat,
        Q_hat=hat - q1_hat,
        K=float(logit(1 - rho)),
        within=within,
        between=float(alpha * (weights @ inner**2)),
        residual=max(abs(rho * q1_hat / hat**2 / q1 - 1), abs(rho**2 * q0_hat / hat**2 / q0 - 1)),
    )
