"""Averages of the pattern side over the field z and over the classes, with their derivatives.

Class c has the share f_c and the field μ = √q₀ z + θ_c, θ_c = √ρ(margin + σ_c b), where b is the
threshold in units of |w| = √ρ. Derivatives are taken by (ln χ, q₀, b, ln v*). On every ratio of
Gaussian averages (p₊, R₁, R₂, …) they are

    ∂E/∂q₀ = (R₁/χ) ∂E/∂μ  under ∫Dz, by the heat equation in s² = ρ − q₀ (a product F·G gains
    F'G'), ∂R_k/∂χ = [R_{k+2} − R_k(R₂ + v*²ε)]/2χ²,    ∂R_k/∂v* = v*^k e* + R_k ε v*/χ, ∂R_k/∂μ =
    kR_{k−1} − v*^k e* + δ_{k0} e₀ − (R_{k+1} − R_k R₁)/χ,

with ε the weight of errors and e₀, e* the densities of v at 0 and v*.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from chanceline.theory.ensemble import Ensemble
from chanceline.theory.newton import OutsideDomain
from chanceline.theory.patterns import PatternSide, pattern_side
from chanceline.theory.quadrature import Array, GaussianRule, focused_rule, rule_for


@dataclass(frozen=True)
class ClassSide:
    """The pattern side of one class on the nodes of its own rule."""

    share: float  # f_c
    sign: float  # σ_c
    side: PatternSide
    rule: GaussianRule
    mu: Array  # (nodes,)
    s2: float

    def mean(self, values: Array) -> float:
        """f_c ∫Dz values."""
        return self.share * float(self.rule.mean(values))


@dataclass(frozen=True)
class PatternOrder:
    """The order parameters on which the pattern side depends."""

    rho: float
    q0: float
    s2: float  # ρ − q₀, by itself: the difference would cancel
    chi: float
    threshold: float = 0.0  # b, in units of |w| = √ρ
    ceiling: float = np.inf  # v*


def class_sides(ensemble: Ensemble, order: PatternOrder, step: float) -> list[ClassSide]:
    """ln A and its moments for each class, on a quadrature of that step."""
    q0 = order.q0
    s2 = order.s2
    chi = order.chi
    if not (q0 >= 0 and s2 > 0 and chi > 0 and order.ceiling > 0):
        raise OutsideDomain(
            f"q₀ = {q0:.3g} must not be negative, ρ − q₀ = {s2:.3g}, χ = {chi:.3g} and v* must be "
            "positive"
        )
    sides = []
    for share, sign, offset in ensemble.offsets(order.rho, order.threshold):
        rule = _field_rule(offset, order, step)
        mu = np.sqrt(q0) * rule.nodes + offset
        side = pattern_side(mu, s2, chi, order.ceiling)
        sides.append(ClassSide(share=share, sign=sign, side=side, rule=rule, mu=mu, s2=s2))
    return sides


def _field_rule(offset: float, order: PatternOrder, step: float) -> GaussianRule:
    """The rule for ∫Dz that resolves the edge of A at μ = 0 and, with errors, where they begin."""
    if order.q0 == 0:
        return rule_for(1.0, step)
    s2 = order.s2
    chi = order.chi
    unit = np.sqrt(order.q0)  # μ = unit·z + offset
    edge = np.sqrt(s2) / unit
    if np.isinf(order.ceiling):
        return rule_for(edge, step, centre=-offset / unit)
    # Beyond μ_* = v*√(1 + s²/χ) an error weighs more; A has zeros at a distance π(χ + s²)/μ_* from
    # the real axis.
    switch = order.ceiling * np.sqrt(1 + s2 / chi)
    width = min(np.sqrt(s2), np.pi * (chi + s2) / switch) / unit
    return focused_rule(
        centres=(-offset / unit, (switch - offset) / unit), sizes=(edge, width), step=step
    )


class PatternMeans(NamedTuple):
    """Everything that the equations take from the patterns; each mean is over z and over classes.

    The first five hold the mean and its derivatives by (ln χ, q₀, b, ln v*), shape (5,).
    """

    isostatic: Array  # p₊ − v*e* + κR₁/ρ, which times α is ρ
    square: Array  # R₁²
    variance: Array  # R₂ − R₁²
    by_threshold: Array  # Σ_c σ_c f_c R₁, zero at the best threshold
    wrong: Array  # the error rate
    first: float  # R₁
    tight: float  # p₊
    log_a: float
    heat: float  # g'' + g'²
    curvature_square: float  # g''²


def pattern_means(sides: list[ClassSide], ensemble: Ensemble, rho: float) -> PatternMeans:
    """The means of all classes together."""
    root_rho = float(np.sqrt(rho))
    kappa_over_rho = ensemble.margin * root_rho / rho
    means_of_classes: Any = [
        _class_means(class_side, kappa_over_rho, root_rho) for class_side in sides
    ]
    return PatternMeans._make(map(sum, zip(*means_of_classes, strict=True)))


class _Derivatives(NamedTuple):
    """A function of μ on the nodes, (nodes,), and its derivatives by ln χ, μ and ln v*."""

    value: Array
    by_log_chi: Array
    by_mu: Array
    by_log_ceiling: Array


class _PatternDerivatives(NamedTuple):
    """What is averaged over z."""

    first: _Derivatives  # R₁
    variance: _Derivatives  # Var T
    net_tight: _Derivatives  # p₊ − v*e*
    wrong: _Derivatives  # ε


def _class_means(class_side: ClassSide, kappa_over_rho: float, root_rho: float) -> PatternMeans:
    """Means and gradients of one class."""
    side = class_side.side
    if np.isinf(side.ceiling):
        derivatives = _derivatives_without_errors(side)
    else:
        derivatives = _derivatives_with_errors(side, class_side.mu, class_side.s2)
    r1 = derivatives.first

    def averaged(of: _Derivatives, product: float = 0.0) -> Array:
        """The mean and its derivatives by ln χ, q₀, b and ln v*.

        `product` is the F'G' of a product.
        """
        by_q0 = class_side.mean(side.mean / side.chi * of.by_mu) + product
        by_threshold = class_side.mean(of.by_mu) * (class_side.sign * root_rho)
        return np.array(
            [
                class_side.mean(of.value),
                class_side.mean(of.by_log_chi),
                by_q0,
                by_threshold,
                class_side.mean(of.by_log_ceiling),
            ]
        )

    r1_square = _Derivatives(
        value=r1.value**2,
        by_log_chi=2 * r1.value * r1.by_log_chi,
        by_mu=2 * r1.value * r1.by_mu,
        by_log_ceiling=2 * r1.value * r1.by_log_ceiling,
    )
    product = class_side.mean(r1.by_mu**2)
    first = averaged(r1)
    return PatternMeans(
        isostatic=averaged(derivatives.net_tight) + kappa_over_rho * first,
        square=averaged(r1_square, product),
        variance=averaged(derivatives.variance, -product),
        by_threshold=class_side.sign * first,
        wrong=averaged(derivatives.wrong),
        first=float(first[0]),
        tight=class_side.mean(side.tight),
        log_a=class_side.mean(side.log_a),
        heat=class_side.mean(side.curvature + side.slope**2),
        curvature_square=class_side.mean(side.curvature**2),
    )


def _derivatives_without_errors(side: PatternSide) -> _PatternDerivatives:
    """R₁, Var T and p₊ with their derivatives; v* is infinite, and no pattern is wrong."""
    chi = side.chi
    r1 = side.mean
    variance = side.variance
    zero = np.zeros_like(r1)
    first = _Derivatives(
        value=r1,
        by_log_chi=(side.third + 2 * r1 * variance) / (2 * chi),
        by_mu=side.tight - variance / chi,
        by_log_ceiling=zero,
    )
    variance_of_t = _Derivatives(
        value=variance,
        by_log_chi=(side.fourth - variance**2 + 2 * r1 * side.third) / (2 * chi),
        by_mu=2 * r1 * side.loose - side.third / chi,
        by_log_ceiling=zero,
    )
    tight = _Derivatives(
        value=side.tight,
        by_log_chi=side.second * side.loose / (2 * chi),
        by_mu=side.edge - r1 * side.loose / chi,
        by_log_ceiling=zero,
    )
    wrong = _Derivatives(zero, zero, zero, zero)
    return _PatternDerivatives(first, variance_of_t, tight, wrong)


def _derivatives_with_errors(side: PatternSide, mu: Array, s2: float) -> _PatternDerivatives:
    """The same where violations beyond v* are errors, ε their weight and e* their density at v*."""
    chi = side.chi
    r1 = side.mean
    variance = side.variance
    v = side.ceiling
    zero = np.zeros_like(r1)
    wrong = zero + side.wrong  # ε
    far = zero + side.far_edge  # e*
    net = side.net_tight
    square = side.second + v**2 * wrong  # E of the clipped violation squared
    tail = (v - mu) / s2  # −∂ ln N(v*; μ, s²)/∂v*

    r1_by_ceiling = v * (v * far + r1 * v * wrong / chi)
    first = _Derivatives(
        value=r1,
        by_log_chi=(side.third + 2 * r1 * variance) / (2 * chi) - r1 * v**2 * wrong / (2 * chi),
        by_mu=net - variance / chi,
        by_log_ceiling=r1_by_ceiling,
    )

    # R₂ by ln v*, from which Var T = R₂ − R₁².
    second_by_ceiling = v * (v**2 * far + side.second * v * wrong / chi)
    variance_by_chi = (side.fourth - variance**2 + 2 * r1 * side.third) / (2 * chi)
    variance_of_t = _Derivatives(
        value=variance,
        by_log_chi=variance_by_chi - (variance - r1**2) * v**2 * wrong / (2 * chi),
        by_mu=2 * r1 * (1 - net) - side.third / chi - v**2 * far,
        by_log_ceiling=second_by_ceiling - 2 * r1 * r1_by_ceiling,
    )

    far_by_chi = far * (v**2 - square) / (2 * chi)
    far_by_ceiling = v * far * (-(v / chi) * (1 - wrong) - tail)
    net_tight = _Derivatives(
        value=net,
        by_log_chi=(side.second - side.tight * square) / (2 * chi) - v * far_by_chi,
        by_mu=side.edge - r1 * side.loose / chi - far - v * far * (tail + r1 / chi),
        by_log_ceiling=v * side.tight * v * wrong / chi - v * far_by_ceiling,
    )

    wrong_patterns = _Derivatives(
        value=wrong,
        by_log_chi=wrong * (v**2 - square) / (2 * chi),
        by_mu=far + wrong * r1 / chi,
        by_log_ceiling=-v * (v / chi * wrong * (1 - wrong) + far),
    )
    return _PatternDerivatives(first, variance_of_t, net_tight, wrong_patterns)
