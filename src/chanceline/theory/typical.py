"""Replica symmetry below the Cover–Gardner load (α < 2ρ for plain patterns), where typical choices separate (section 5.1).

For m → 0 the choice of variables decouples, Σ = H₂(ρ) and e^{−K} = ρ/(1 − ρ). With r = q₁/ρ, γ² = r/(1 − r) and h = H'/H,
what is left is Gardner's equation in ρN dimensions and one equation for the overlap of two independent choices:

    γ² = (α/ρ) ∫Dt h(γt)²,    c = (α/γ²) ∫Dz [∫Dy h(γ(√(1−c) y + √c z))]²,    c = q₀/q₁.

With unequal classes or a margin, h is taken at γt + √(1+γ²)(margin + σ_c b), averages run over the classes, and the threshold b
(in units of |w|) maximises the volume: Σ_c σ_c f_c ∫Dt h = 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import erfcx, logit

from chanceline.theory.patterns import PLAIN, Patterns
from chanceline.theory.quadrature import STEP, centred_rule, rule_for, shifted_rule

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
    threshold: float = 0.0


@dataclass(frozen=True)
class Field:
    """Gardner's solution with ρN variables: γ, the threshold b/|w|, and the offsets of the classes in units of √(ρ − q₁)."""

    gamma: float
    threshold: float
    classes: tuple[tuple[float, float], ...]  # (share, offset)


def _field(log_gamma: float, patterns: Patterns, step: float) -> Field:
    """The best threshold at a given γ: Σ_c σ_c f_c ∫Dt h = 0."""
    gamma = float(np.exp(log_gamma))
    norm = np.sqrt(1 + gamma**2)

    def at(threshold: float) -> Field:
        classes = tuple((share, float(norm * (patterns.margin + sign * threshold))) for share, sign in patterns.classes)
        return Field(gamma, threshold, classes)

    def pull(threshold: float) -> float:
        parts = zip(patterns.classes, at(threshold).classes, strict=True)
        return sum(share * sign * _average(mills, gamma, offset, step) for (share, sign), (_, offset) in parts)

    if not patterns.free_threshold:
        return at(0.0)
    reach = 40.0 + patterns.margin
    return at(float(brentq(pull, -reach, reach, xtol=1e-15, rtol=1e-14)))


def _average(function: Callable[[Array], Array], gamma: float, offset: float, step: float) -> float:
    """∫Dt function(γt + offset)."""
    rule = shifted_rule(-offset / gamma, 1 / gamma, step) if offset else rule_for(1 / gamma, step)
    return float(rule.mean(function(gamma * rule.nodes + offset)))


def gardner_field(load: float, patterns: Patterns = PLAIN, step: float = STEP) -> Field:
    """Gardner's equation at load P/M = α/ρ < α_c; γ → ∞ as the load reaches α_c."""

    def excess(log_gamma: float) -> float:
        field = _field(log_gamma, patterns, step)
        gamma = field.gamma
        square = sum(f * _average(lambda x: (mills(x) / gamma) ** 2, gamma, offset, step) for f, offset in field.classes)
        return load * square - 1

    low, high = -1.0, 1.0
    while excess(low) < 0:
        low -= 2
    while excess(high) > 0:
        high += 2
    return _field(float(brentq(excess, low, high, xtol=1e-15, rtol=1e-15)), patterns, step)


def _smoothed(function: str, gamma: float, offset: float, c: float, step: float) -> tuple[Array, Array]:
    """∫Dy f(γ(√(1−c) y + √c z) + offset) at the nodes z of a rule, and the rule's weights."""
    narrow, wide = np.sqrt(1 - c), np.sqrt(c)
    rule = shifted_rule(-offset / (gamma * wide), narrow / wide, step) if offset else rule_for(narrow / wide, step)
    shift = wide * rule.nodes + offset / gamma
    y, weights = centred_rule(-shift / narrow, min(4.0, 4 / (gamma * narrow)), step)
    arguments = gamma * (narrow * y + shift[:, None])
    values = mills(arguments) / gamma if function == "h" else mills_slope(arguments)
    return (weights * values).sum(axis=1), rule.weights


def solve_typical(alpha: float, rho: float, patterns: Patterns = PLAIN, step: float = STEP) -> TypicalState:
    """All order parameters at α < α_CG (2ρ for plain patterns)."""
    field = gardner_field(alpha / rho, patterns, step)
    gamma = field.gamma

    def squared(function: str, c: float) -> float:
        total = 0.0
        for share, offset in field.classes:
            inner, weights = _smoothed(function, gamma, offset, c, step)
            total += share * float(weights @ inner**2)
        return total

    c = float(brentq(lambda c: alpha * squared("h", c) - c, 1e-12 * rho, 1 - 1e-12, xtol=1e-16, rtol=1e-14))
    r, one_minus_r = gamma**2 / (1 + gamma**2), 1 / (1 + gamma**2)
    q1, q0, hat = rho * r, rho * r * c, 1 / one_minus_r  # hat = Q̂ + q̂₁ = ρ/(ρ − q₁)
    slopes = sum(f * _average(lambda x: mills_slope(x) ** 2, gamma, offset, step) for f, offset in field.classes)
    fields = sum(f * _average(lambda x: mills(x) ** 2, gamma, offset, step) for f, offset in field.classes)
    q1_hat = alpha / (rho * one_minus_r) * fields
    q0_hat = alpha / (rho * one_minus_r) * gamma**2 * squared("h", c)
    return TypicalState(
        q1=q1,
        q0=q0,
        q1_hat=q1_hat,
        q0_hat=q0_hat,
        Q_hat=hat - q1_hat,
        K=float(logit(1 - rho)),
        within=alpha / rho * slopes,
        between=alpha * squared("h'", c),
        residual=max(abs(rho * q1_hat / hat**2 / q1 - 1), abs(rho**2 * q0_hat / hat**2 / q0 - 1)),
        threshold=field.threshold,
    )
