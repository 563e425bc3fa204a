"""Averages of the pattern side over the field z and over the classes, with their derivatives: what replica symmetry needs.

Class c has the share f_c and the field μ = √q₀ z + θ_c, θ_c = √ρ(margin + σ_c b), where b is the threshold in units of |w| =
√ρ. Derivatives are taken by (ln χ, q₀, b, ln v*). On every ratio of Gaussian averages (p₊, R₁, R₂, …) they are

    ∂E/∂q₀ = (R₁/χ) ∂E/∂μ  under ∫Dz, by the heat equation in s² = ρ − q₀ (a product F·G gains F'G'),
    ∂R_k/∂χ = [R_{k+2} − R_k(R₂ + v*²ε)]/2χ²,    ∂R_k/∂v* = v*^k e* + R_k ε v*/χ,
    ∂R_k/∂μ = kR_{k−1} − v*^k e* + δ_{k0} e₀ − (R_{k+1} − R_k R₁)/χ,

with ε the weight of errors and e₀, e* the densities of v at 0 and v*.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chanceline.theory.kernels import PatternSide, pattern_side
from chanceline.theory.patterns import Patterns
from chanceline.theory.quadrature import GaussianRule, focused_rule, rule_for, shifted_rule
from chanceline.theory.solver import OutsideDomain

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ClassSide:
    """The pattern side of one class on the nodes of its own rule."""

    share: float
    sign: float
    side: PatternSide
    rule: GaussianRule
    mu: Array
    s2: float

    def mean(self, values: Array) -> float:
        """f_c ∫Dz values."""
        return self.share * float(self.rule.mean(values))


def class_sides(
    patterns: Patterns, rho: float, q0: float, s2: float, chi: float, threshold: float, ceiling: float, step: float
) -> list[ClassSide]:
    """ln A and its moments for each class, with s² = ρ − q₀ given by itself."""
    if not (q0 >= 0 and s2 > 0 and chi > 0 and ceiling > 0):
        raise OutsideDomain(f"q₀ = {q0:.3g} must not be negative, ρ − q₀ = {s2:.3g}, χ = {chi:.3g} and v* must be positive")
    sides = []
    for share, sign in patterns.classes:
        offset = float(np.sqrt(rho)) * (patterns.margin + sign * threshold)
        rule = _field_rule(offset, q0, s2, chi, ceiling, step)
        mu = np.sqrt(q0) * rule.nodes + offset
        sides.append(ClassSide(share, sign, pattern_side(mu, s2, chi, ceiling), rule, mu, s2))
    return sides


def _field_rule(offset: float, q0: float, s2: float, chi: float, ceiling: float, step: float) -> GaussianRule:
    """The rule for ∫Dz that resolves the edge of A at μ = 0 and, with errors, the switch from mended to given up."""
    if q0 == 0:
        return rule_for(1.0, step)
    unit = np.sqrt(q0)
    edge = np.sqrt(s2) / unit
    if np.isfinite(ceiling):
        # Beyond μ_* = v*√(1 + s²/χ) an error is cheaper; A has zeros at a distance π(χ + s²)/μ_* from the real axis.
        switch = ceiling * np.sqrt(1 + s2 / chi)
        width = min(np.sqrt(s2), np.pi * (chi + s2) / switch) / unit
        return focused_rule((-offset / unit, (switch - offset) / unit), (edge, width), step)
    return shifted_rule(-offset / unit, edge, step) if offset else rule_for(edge, step)


@dataclass(frozen=True)
class Averaged:
    """A mean and its derivatives by (ln χ, q₀, b, ln v*)."""

    value: float
    gradient: Array


@dataclass(frozen=True)
class PatternMeans:
    """Everything that the equations take from the patterns; each mean is over z and over classes."""

    isostatic: Averaged  # p₊ − v*e* + κR₁/ρ, which times α is ρ
    square: Averaged  # R₁²
    variance: Averaged  # R₂ − R₁²
    pull: Averaged  # Σ_c σ_c f_c R₁, zero at the best threshold
    wrong: Averaged  # share of errors
    first: float  # R₁
    tight: float  # p₊
    log_a: float
    heat: float  # g'' + g'²
    curvature_square: float  # g''²


def pattern_means(sides: list[ClassSide], patterns: Patterns, rho: float) -> PatternMeans:
    """Sums over the classes."""
    kappa = patterns.margin * float(np.sqrt(rho))
    parts = [_class_means(one, kappa / rho, float(np.sqrt(rho))) for one in sides]

    def total(name: str) -> Averaged:
        chosen = [part[name] for part in parts]
        return Averaged(sum(value for value, _ in chosen), np.sum([gradient for _, gradient in chosen], axis=0))

    def mean(name: str) -> float:
        return sum(one.mean(getattr(one.side, name)) for one in sides)

    return PatternMeans(
        isostatic=total("isostatic"),
        square=total("square"),
        variance=total("variance"),
        pull=total("pull"),
        wrong=total("wrong"),
        first=mean("mean"),
        tight=mean("tight"),
        log_a=mean("log_a"),
        heat=sum(one.mean(one.side.curvature + one.side.slope**2) for one in sides),
        curvature_square=sum(one.mean(one.side.curvature**2) for one in sides),
    )


def _class_means(one: ClassSide, by_norm: float, root_rho: float) -> dict[str, tuple[float, Array]]:
    """Means and gradients of one class; `by_norm` is κ/ρ."""
    side, mean = one.side, one.mean
    chi, r1, var, third, loose = side.chi, side.mean, side.variance, side.third, side.loose
    errors = np.isfinite(side.ceiling)
    net = side.net_tight
    # Of R₁ and Var T: by μ, by ln χ and by ln v*.
    r1_mu = net - var / chi
    var_mu = 2 * r1 * (1 - net if errors else loose) - third / chi
    r1_chi = (third + 2 * r1 * var) / (2 * chi)
    var_chi = (side.fourth - var**2 + 2 * r1 * third) / (2 * chi)
    net_mu = side.edge - r1 * loose / chi
    net_chi = side.second * loose / (2 * chi)
    zero = np.zeros_like(r1)
    r1_top = var_top = net_top = wrong_mu = wrong_chi = wrong_top = zero
    if errors:
        v, wrong, far = side.ceiling, zero + side.wrong, zero + side.far_edge
        tail = (v - one.mu) / one.s2
        var_mu = var_mu - v**2 * far
        r1_chi = r1_chi - r1 * v**2 * wrong / (2 * chi)
        var_chi = var_chi - (var - r1**2) * v**2 * wrong / (2 * chi)
        square = side.second + v**2 * wrong  # E of the clipped violation squared
        far_chi = far * (v**2 - square) / (2 * chi)
        net_chi = (side.second - side.tight * square) / (2 * chi) - v * far_chi
        net_mu = net_mu - far - v * far * (tail + r1 / chi)
        r1_top = v * (v * far + r1 * v * wrong / chi)
        second_top = v * (v**2 * far + side.second * v * wrong / chi)
        var_top = second_top - 2 * r1 * r1_top
        far_top = v * far * (-(v / chi) * (1 - wrong) - tail)
        net_top = v * side.tight * v * wrong / chi - v * far_top
        wrong_mu = far + wrong * r1 / chi
        wrong_chi = wrong * (v**2 - square) / (2 * chi)
        wrong_top = -v * (v / chi * wrong * (1 - wrong) + far)
    by_threshold = one.sign * root_rho

    def averaged(value: Array, by_chi: Array, by_mu: Array, by_top: Array) -> tuple[float, Array]:
        return mean(value), np.array([mean(by_chi), mean(r1 / chi * by_mu), mean(by_mu) * by_threshold, mean(by_top)])

    first = averaged(r1, r1_chi, r1_mu, r1_top)
    tight = averaged(net, net_chi, net_mu, net_top)
    square_value, square_gradient = averaged(r1**2, 2 * r1 * r1_chi, 2 * r1 * r1_mu, 2 * r1 * r1_top)
    square_gradient[1] += mean(r1_mu**2)
    variance_value, variance_gradient = averaged(var, var_chi, var_mu, var_top)
    variance_gradient[1] -= mean(r1_mu**2)
    return {
        "isostatic": (tight[0] + by_norm * first[0], tight[1] + by_norm * first[1]),
        "square": (square_value, square_gradient),
        "variance": (variance_value, variance_gradient),
        "pull": (one.sign * first[0], one.sign * first[1]),
        "wrong": averaged(zero + side.wrong, wrong_chi, wrong_mu, wrong_top),
    }
