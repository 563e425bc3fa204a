"""Averages of the pattern side over the field z and over the classes, with their derivatives.

Class c has the share f_c and the field μ = √q₀ z + θ_c, θ_c = √ρ(margin + σ_c b), where b is the
threshold in units of |w| = √ρ. An average ⟨F⟩ = Σ_c f_c ∫Dz F(μ) is differentiated by
(ln χ, q₀, b, ln v*).

The functions F averaged are expectations E[f(v)] under the tilted law of v (`patterns`), whose
density is H̃(v) N(v; μ, s²)/A. With T = v on 0 < v < v* and 0 elsewhere, ε the weight of errors, e₀
and e* the densities of v at 0 and v*, and [f]₀, [f]_* the jumps of f there (from left to right),

    ∂E[f]/∂ln χ  = Cov(f, T²)/2χ + (v*²/2χ) Cov(f, 1_{v>v*}),
    ∂E[f]/∂μ     = E[f'] − Cov(f, T)/χ + [f]₀ e₀ + [f]_* e*,
    ∂E[f]/∂ln v* = −v* {(v*/χ) Cov(f, 1_{v>v*}) + [f]_* e*},

because ln H̃ = −min(v₊, v*)²/2χ. Numerator and denominator of E[f] solve the heat equation, and q₀
moves both μ and s² = ρ − q₀, so that

    ∂⟨F⟩/∂q₀ = ⟨(R₁/χ) F'⟩,    ∂⟨F G⟩/∂q₀ = ⟨(R₁/χ) (F G)' + F' G'⟩,    F' = ∂F/∂μ.
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
    """ln A and its moments for each class, at the fields μ = √q₀ z + θ_c of its own rule for ∫Dz.

    `step` is that of the quadrature.
    """
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

    # The weight of a correction, ~ e^{−μ²/2(χ + s²)}, falls to that of an error, e^{−v*²/2χ}, at
    # μ_* = v*√(1 + s²/χ). Their sum has zeros where the exponents differ by ±iπ: for the slope
    # μ_*/(χ + s²) of the first this is a distance π(χ + s²)/μ_* from the real axis.
    mu_star = order.ceiling * np.sqrt(1 + s2 / chi)
    distance_of_zeros = np.pi * (chi + s2) / mu_star
    width = min(np.sqrt(s2), distance_of_zeros) / unit
    return focused_rule(
        centres=(-offset / unit, (mu_star - offset) / unit), sizes=(edge, width), step=step
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
    log_a_by_s2: float  # ∂ ln A/∂s² = ½(g'' + g'²)
    curvature_square: float  # g''²


def pattern_means(sides: list[ClassSide], ensemble: Ensemble, rho: float) -> PatternMeans:
    """The means of all classes together: the sum over classes of each field of `PatternMeans`."""
    root_rho = float(np.sqrt(rho))
    kappa_over_rho = ensemble.margin * root_rho / rho
    means_of_classes: Any = [
        _class_means(class_side, kappa_over_rho, root_rho) for class_side in sides
    ]
    return PatternMeans._make(map(sum, zip(*means_of_classes, strict=True)))


class _Derivatives(NamedTuple):
    """An expectation E[f] on the nodes, (nodes,), and its derivatives by ln χ, μ and ln v*."""

    value: Array
    by_log_chi: Array
    by_mu: Array
    by_log_ceiling: Array


class _PatternDerivatives(NamedTuple):
    """What is averaged over z."""

    first: _Derivatives  # R₁ = E[T]
    variance: _Derivatives  # Var T
    net_tight: _Derivatives  # p₊ − v*e*
    wrong: _Derivatives  # ε


def _class_means(class_side: ClassSide, kappa_over_rho: float, root_rho: float) -> PatternMeans:
    """Means and gradients of one class; the share f_c is a factor of each."""
    side = class_side.side
    if np.isinf(side.ceiling):
        derivatives = _derivatives_without_errors(side)
    else:
        derivatives = _derivatives_with_errors(side, class_side.mu, class_side.s2)
    r1 = derivatives.first
    r1_square = _Derivatives(
        value=r1.value**2,
        by_log_chi=2 * r1.value * r1.by_log_chi,
        by_mu=2 * r1.value * r1.by_mu,
        by_log_ceiling=2 * r1.value * r1.by_log_ceiling,
    )

    # ⟨F'G'⟩ of R₁·R₁, which Var T = R₂ − R₁² has with the other sign.
    slope_square = class_side.mean(r1.by_mu**2)
    first = _mean_with_gradient(class_side, r1, root_rho)
    square = _mean_with_gradient(class_side, r1_square, root_rho, slope_square)
    variance = _mean_with_gradient(class_side, derivatives.variance, root_rho, -slope_square)
    net_tight = _mean_with_gradient(class_side, derivatives.net_tight, root_rho)
    return PatternMeans(
        isostatic=net_tight + kappa_over_rho * first,
        square=square,
        variance=variance,
        by_threshold=class_side.sign * first,
        wrong=_mean_with_gradient(class_side, derivatives.wrong, root_rho),
        first=float(first[0]),
        tight=class_side.mean(side.tight),
        log_a=class_side.mean(side.log_a),
        log_a_by_s2=0.5 * class_side.mean(side.curvature + side.slope**2),
        curvature_square=class_side.mean(side.curvature**2),
    )


def _mean_with_gradient(
    class_side: ClassSide, of: _Derivatives, root_rho: float, slope_product: float = 0.0
) -> Array:
    """f_c ∫Dz F and its derivatives by ln χ, q₀, b and ln v*, (5,).

    By q₀ it is f_c ∫Dz (R₁/χ) F', plus `slope_product` = f_c ∫Dz F'G' where a product is averaged;
    by b it is f_c ∫Dz F' times ∂μ/∂b = σ_c √ρ.
    """
    side = class_side.side
    by_q0 = class_side.mean(side.mean / side.chi * of.by_mu) + slope_product
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


def _derivatives_without_errors(side: PatternSide) -> _PatternDerivatives:
    """R₁, Var T and p₊ with their derivatives, without what errors add; no pattern is wrong.

    Each is an expectation E[f(T)] under the tilted law of v, whose derivatives are

        by ln χ: Cov(f, T²)/2χ,    by μ: E[f'] − Cov(f, T)/χ + [f]₀ e₀,

    [f]₀ the jump of f at v = 0 and e₀ the density of v there:

        R₁      f = T            Cov(f, T²) = third + 2R₁ Var T,             E[f'] = p₊,
        Var T   f = (T − R₁)²    Cov(f, T²) = fourth − (Var T)² + 2R₁ third,  E[f'] = 2R₁(1 − p₊),
        p₊      f = 1_{T>0}      Cov(f, T²) = R₂(1 − p₊),                    [f]₀ = 1,

    with third and fourth central moments of T. (In f = (T − R₁)² the R₁ may be held: by it E[f] is
    stationary.)
    """
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
    """R₁, Var T, p₊ − v*e* and ε with their derivatives, where violations beyond v* are errors.

    The first three are those without errors, p₊ as the third, to which `_add_errors` adds what the
    covariance of f with 1_{v>v*} and the jump of f at v* make of it: T falls from v* to 0 there, so
    that (T − R₁)² jumps by R₁² − (v* − R₁)² and 1_{T>0} by −1. For ε f is 1_{v>v*} itself.

    v*e* = v* e^{−v*²/2χ} N(v*; μ, s²)/A is differentiated by its logarithm, with

        ∂ ln A/∂ln χ = (R₂ + v*²ε)/2χ,    ∂ ln A/∂μ = −R₁/χ,    ∂ ln A/∂ln v* = −v*²ε/χ.

    Parameters
    ----------
    side
        The pattern side at each node, (nodes,).
    mu, s2
        μ at each node, (nodes,), and s².
    """
    chi = side.chi
    r1 = side.mean
    r2 = side.second
    v = side.ceiling  # v*
    wrong = np.zeros_like(r1) + side.wrong  # ε, (nodes,)
    base = _derivatives_without_errors(side)
    first = _add_errors(base.first, side, covariance=-r1 * wrong, jump=-v)
    variance = _add_errors(
        base.variance,
        side,
        covariance=(r1**2 - side.variance) * wrong,
        jump=v * (2 * r1 - v),
    )
    tight = _add_errors(base.net_tight, side, covariance=-side.tight * wrong, jump=-1.0)

    # f = 1_{v>v*} has Cov(f, T) = −εR₁ and Cov(f, T²) = −εR₂.
    wrong_without_jump = _Derivatives(
        value=wrong,
        by_log_chi=-wrong * r2 / (2 * chi),
        by_mu=wrong * r1 / chi,
        by_log_ceiling=np.zeros_like(r1),
    )
    wrong_patterns = _add_errors(wrong_without_jump, side, covariance=wrong * (1 - wrong), jump=1.0)

    # v*e* and its derivatives.
    far = v * side.far_edge
    tail = (v - mu) / s2  # ∂ ln N(v*; μ, s²)/∂μ
    far_by_log_chi = far * (v**2 * (1 - wrong) - r2) / (2 * chi)
    far_by_mu = far * (tail + r1 / chi)
    far_by_log_ceiling = far * (1 - v * (v / chi * (1 - wrong) + tail))
    net_tight = _Derivatives(
        value=side.net_tight,
        by_log_chi=tight.by_log_chi - far_by_log_chi,
        by_mu=tight.by_mu - far_by_mu,
        by_log_ceiling=tight.by_log_ceiling - far_by_log_ceiling,
    )
    return _PatternDerivatives(first, variance, net_tight, wrong_patterns)


def _add_errors(
    base: _Derivatives, side: PatternSide, covariance: Array, jump: Array | float
) -> _Derivatives:
    """The derivatives of E[f] with the terms that errors add to those in `base`:

        by ln χ: (v*²/2χ) Cov(f, 1_{v>v*}),    by μ: [f]_* e*,
        by ln v*: −v* {(v*/χ) Cov(f, 1_{v>v*}) + [f]_* e*}.

    `covariance` is Cov(f, 1_{v>v*}), `jump` is [f]_* = f just above v* − f just below, and e* is
    the density of v at v*.
    """
    v = side.ceiling  # v*
    chi = side.chi
    jump_term = jump * side.far_edge
    return _Derivatives(
        value=base.value,
        by_log_chi=base.by_log_chi + v**2 * covariance / (2 * chi),
        by_mu=base.by_mu + jump_term,
        by_log_ceiling=-v * (v / chi * covariance + jump_term),
    )
