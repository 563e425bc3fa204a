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

    share: float  # f_c, of the patterns
    sign: float  # σ_c: how the threshold b moves the class's offset, θ_c = √ρ(margin + σ_c b)
    side: PatternSide  # its arrays have the shape (nodes,)
    rule: GaussianRule  # for ∫Dz
    mu: Array  # mean μ = √q₀ z + θ_c of the violation v at each node z, (nodes,)
    s2: float  # variance s² = ρ − q₀ of v around μ

    def mean(self, values: Array) -> float:
        """f_c ∫Dz values."""
        return self.share * float(self.rule.mean(values))


@dataclass(frozen=True)
class PatternOrder:
    """The order parameters on which the pattern side depends."""

    rho: float  # ρ, the share of variables chosen; also |w|² per variable
    q0: float  # q₀, the overlap of the weights of two choices of variables
    s2: float  # ρ − q₀, by itself: the difference would cancel
    chi: float  # χ: a violation v that is corrected has the weight e^{−v²/2χ}
    threshold: float = 0.0  # b, in units of |w| = √ρ
    ceiling: float = np.inf  # v*: larger violations are errors


def class_sides(ensemble: Ensemble, order: PatternOrder, step: float) -> list[ClassSide]:
    """The pattern side of each class, at the fields μ = √q₀ z + θ_c of its own rule for ∫Dz.

    μ is the mean and s² = ρ − q₀ the variance of the violation v of a pattern; the offset
    θ_c = √ρ(margin + σ_c b) of class c depends on the threshold b. A violation up to the ceiling v*
    is corrected, with the weight e^{−v²/2χ}; beyond it the pattern is an error. `step` is that of
    the quadrature. OutsideDomain tells a solver to take a shorter step.
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
    """The rule for ∫Dz that resolves the edge of A at μ = 0 and, with errors, where they begin.

    A(μ) is the weight of a pattern whose violation v has the mean μ = √q₀ z + `offset` and the
    variance s² = ρ − q₀. ln A, which is averaged, changes around μ = 0, where v changes its sign,
    over a distance s; and, if violations above `order.ceiling` are errors, where they begin.
    """
    if order.q0 == 0:
        return rule_for(1.0, step)  # μ is the same for all z

    mu_per_z = np.sqrt(order.q0)  # lengths in μ are divided by it, to be lengths in z
    edge_centre = -offset / mu_per_z  # where μ = 0
    edge_width = np.sqrt(order.s2) / mu_per_z
    if np.isinf(order.ceiling):
        return rule_for(edge_width, step, centre=edge_centre)

    errors_begin = _where_errors_begin(order)
    errors_centre = (errors_begin.mu - offset) / mu_per_z
    errors_width = errors_begin.width / mu_per_z
    return focused_rule(
        centres=(edge_centre, errors_centre), sizes=(edge_width, errors_width), step=step
    )


class _ErrorsBegin(NamedTuple):
    """Where errors begin to outweigh corrections in the weight A(μ) of a pattern."""

    mu: float  # μ_*, where they weigh the same
    width: float  # the distance in μ over which ln A changes there


def _where_errors_begin(order: PatternOrder) -> _ErrorsBegin:
    """Where the weight A(μ) of a pattern goes over from that of corrections to that of errors.

    The violation v has the mean μ and the variance s². A corrected one weighs e^{−v²/2χ}, one above
    the ceiling v* is an error and weighs e^{−v*²/2χ}. Averaged over v, up to slow factors,

        A ≈ e^{−Q(μ)} + e^{−v*²/2χ},    Q(μ) = μ²/2(χ + s²).

    A rule of equal steps must resolve the distance from the real axis to the nearest singularity of
    ln A, which for complex μ is a zero of A; or s, the width of v itself, if that is less.
    """
    s2 = order.s2
    chi = order.chi
    # Both terms are equal where Q = v*²/2χ.
    mu_star = order.ceiling * np.sqrt(1 + s2 / chi)
    # They cancel where Q differs from this by ±iπ: at π/(dQ/dμ) from μ_*, dQ/dμ = μ_*/(χ + s²).
    distance_of_zeros = np.pi * (chi + s2) / mu_star
    return _ErrorsBegin(mu=mu_star, width=min(np.sqrt(s2), distance_of_zeros))


class PatternMeans(NamedTuple):
    """Everything that the equations take from the patterns; each mean is over z and over classes.

    R_k = E[T^k], where T, what is corrected of a violation v, is v on 0 < v < v* and 0 elsewhere;
    p₊ is the weight of 0 < v < v*, e* the density of v at v*, and κ = margin·√ρ. The first five
    hold the mean and its derivatives by (ln χ, q₀, b, ln v*), in this order, shape (5,).
    """

    isostatic: Array  # p₊ − v*e* + κR₁/ρ, which times α is ρ
    square: Array  # R₁²
    variance: Array  # R₂ − R₁²
    by_threshold: Array  # Σ_c σ_c f_c R₁, zero at the best threshold
    wrong: Array  # the error rate
    first: float  # R₁
    tight: float  # p₊
    log_a: float  # g = ln A
    log_a_by_s2: float  # ∂ ln A/∂s² = ½(g'' + g'²), where ' is ∂/∂μ
    curvature_square: float  # g''²


def pattern_means(sides: list[ClassSide], ensemble: Ensemble, rho: float) -> PatternMeans:
    """The means of all classes together: the sum over classes of each field of `PatternMeans`.

    The share of a class is already a factor of its means. `rho` is ρ = |w|² per variable.
    """
    root_rho = float(np.sqrt(rho))
    kappa_over_rho = ensemble.margin * root_rho / rho  # κ/ρ, where κ = margin·√ρ
    means_of_classes: Any = [
        _class_means(class_side, kappa_over_rho, root_rho) for class_side in sides
    ]
    # zip turns (class, field) into (field, class): each field is a sum over the classes.
    sums_of_fields = map(sum, zip(*means_of_classes, strict=True))
    return PatternMeans._make(sums_of_fields)


class _Expectation(NamedTuple):
    """E[f(v)] on the nodes, (nodes,), and what `_differentiate` makes its derivatives of.

    E and Cov are those of the tilted law of v at one node; T = v on 0 < v < v* and 0 elsewhere.
    """

    value: Array  # E[f]
    mean_slope: Array  # E[f'] away from v*; a jump [f]₀ at v = 0 adds [f]₀ e₀, e₀ = density there
    cov_with_t: Array  # Cov(f, T)
    cov_with_t2: Array  # Cov(f, T²)
    above_ceiling: Array | float  # f for v > v*, the same for all of them
    jump_at_ceiling: Array | float  # [f]_* = f just above v* − f just below


class _Derivatives(NamedTuple):
    """A function F on the nodes, (nodes,), and its derivatives by ln χ, μ and ln v*."""

    value: Array
    by_log_chi: Array
    by_mu: Array
    by_log_ceiling: Array

    def minus(self, other: _Derivatives) -> _Derivatives:
        """F − G, with its derivatives."""
        return _Derivatives(
            value=self.value - other.value,
            by_log_chi=self.by_log_chi - other.by_log_chi,
            by_mu=self.by_mu - other.by_mu,
            by_log_ceiling=self.by_log_ceiling - other.by_log_ceiling,
        )

    def squared(self) -> _Derivatives:
        """F², with its derivatives 2F·dF."""
        return _Derivatives(
            value=self.value**2,
            by_log_chi=2 * self.value * self.by_log_chi,
            by_mu=2 * self.value * self.by_mu,
            by_log_ceiling=2 * self.value * self.by_log_ceiling,
        )


def _class_means(class_side: ClassSide, kappa_over_rho: float, root_rho: float) -> PatternMeans:
    """Means and gradients of one class; its share f_c of the patterns is a factor of each.

    At a node z of ∫Dz, v is the violation of a pattern, T what is corrected of it, and R₁ = E[T].
    The fields that are arrays hold a mean over z and its derivatives, (5,); the others are plain
    means, of g = ln A, A the weight of a pattern, and of its slope and curvature by the mean of v.
    `kappa_over_rho` is κ/ρ with κ = margin·√ρ, and `root_rho` is √ρ.
    """
    side = class_side.side
    r1 = _differentiate(_mean_of_t(side), side)
    mean_r1 = _mean_with_gradient(class_side, r1, root_rho)
    mean_net_tight = _mean_with_gradient(class_side, _net_tight(class_side), root_rho)
    return PatternMeans(
        isostatic=mean_net_tight + kappa_over_rho * mean_r1,
        square=_mean_of_r1_square(class_side, r1, root_rho),
        variance=_mean_of_variance(class_side, r1, root_rho),
        by_threshold=class_side.sign * mean_r1,
        wrong=_mean_of_wrong(class_side, root_rho),
        first=class_side.mean(side.mean),
        tight=class_side.mean(side.tight),
        log_a=class_side.mean(side.log_a),
        log_a_by_s2=0.5 * class_side.mean(side.curvature + side.slope**2),
        curvature_square=class_side.mean(side.curvature**2),
    )


def _mean_of_r1_square(class_side: ClassSide, r1: _Derivatives, root_rho: float) -> Array:
    """The mean of R₁² and its derivatives, (5,), where R₁ = E[T] on the nodes is `r1`.

    R₁·R₁ is a product F·G of expectations: its mean has one term more in the derivative by q₀, the
    mean of F'G', where ' is ∂/∂μ.
    """
    slope_product = class_side.mean(r1.by_mu**2)
    return _mean_with_gradient(class_side, r1.squared(), root_rho, extra_by_q0=slope_product)


def _mean_of_variance(class_side: ClassSide, r1: _Derivatives, root_rho: float) -> Array:
    """The mean of Var T = R₂ − R₁·R₁ and its derivatives, (5,), where R₁ on the nodes is `r1`.

    The product R₁·R₁ has the mean of R₁'² as one term more in the derivative by q₀; here it is
    subtracted.
    """
    variance = _differentiate(_variance_of_t(class_side.side), class_side.side)
    slope_product = class_side.mean(r1.by_mu**2)
    return _mean_with_gradient(class_side, variance, root_rho, extra_by_q0=-slope_product)


def _mean_of_wrong(class_side: ClassSide, root_rho: float) -> Array:
    """The mean weight of errors and its derivatives, (5,); all 0 where none are allowed."""
    side = class_side.side
    if np.isinf(side.ceiling):
        return np.zeros(5)
    error_weight = _differentiate(_weight_of_wrong(side), side)
    return _mean_with_gradient(class_side, error_weight, root_rho)


def _mean_with_gradient(
    class_side: ClassSide, function: _Derivatives, root_rho: float, extra_by_q0: float = 0.0
) -> Array:
    """The mean f_c ∫Dz F(μ) of a class and its derivatives by ln χ, q₀, b and ln v*, (5,).

    `function` is F on the nodes z, at the mean μ = √q₀ z + θ_c of the violation. The class has the
    share f_c, a factor of `class_side.mean`, and the sign σ_c. F is the mean of a function of the
    violation; where it is a product F·G of two such means, `extra_by_q0` is f_c ∫Dz F'G', with
    ' = ∂/∂μ.
    """
    value = class_side.mean(function.value)
    by_log_chi = class_side.mean(function.by_log_chi)
    by_q0 = _mean_slope_by_q0(class_side, function) + extra_by_q0
    # The threshold b moves the offset θ_c: ∂μ/∂b = σ_c √ρ.
    by_threshold = class_side.mean(function.by_mu) * (class_side.sign * root_rho)
    by_log_ceiling = class_side.mean(function.by_log_ceiling)
    return np.array([value, by_log_chi, by_q0, by_threshold, by_log_ceiling])


def _mean_slope_by_q0(class_side: ClassSide, function: _Derivatives) -> float:
    """The derivative of f_c ∫Dz F(μ) by q₀: f_c ∫Dz (R₁/χ) F', where F' = ∂F/∂μ.

    q₀ widens the law of μ = √q₀ z + θ_c, and narrows that of the violation v around μ, whose
    variance is s² = ρ − q₀. In steps:

    - ∂/∂q₀ ∫Dz F(√q₀ z + θ_c) = ∫Dz ½F'', by parts in z, and s² adds −∂F/∂s²;
    - F = N/A with a numerator N and the weight A of the pattern. Both are averages over v, so they
      solve the heat equation ∂/∂s² = ½ ∂²/∂μ². N = F A in it leaves ½F'' − ∂F/∂s² = −F' A'/A;
    - A'/A = −R₁/χ, R₁ the mean of what is corrected (`side.mean`), χ the scale of its weight.

    In a product F·G, ½(FG)'' has the term F'G' more; it is not counted here.
    """
    side = class_side.side
    r1_over_chi = side.mean / side.chi
    return class_side.mean(r1_over_chi * function.by_mu)


def _differentiate(expectation: _Expectation, side: PatternSide) -> _Derivatives:
    """E[f(v)] on the nodes, with its derivatives by ln χ, μ and ln v*.

    v is the violation of a pattern, and T what is corrected of it: v where 0 < v < v*, else 0. The
    law of v is a Gaussian of mean μ times the tilt e^{−T²/2χ}, and e^{−v*²/2χ} for v above the
    ceiling v* (`side.ceiling`), where it is an error. A parameter of the tilt changes E[f] by the
    covariance of f with the derivative of the logarithm of the tilt; μ shifts v, too.
    """
    chi = side.chi
    without_errors = _Derivatives(
        value=expectation.value,
        # ∂(−T²/2χ)/∂ln χ = T²/2χ, hence Cov(f, T²)/2χ.
        by_log_chi=expectation.cov_with_t2 / (2 * chi),
        # v moves with μ: f by f', and the logarithm of the tilt by −T/χ. E[f'] − Cov(f, T)/χ.
        by_mu=expectation.mean_slope - expectation.cov_with_t / chi,
        by_log_ceiling=np.zeros_like(expectation.value),
    )
    if np.isinf(side.ceiling):
        return without_errors
    return _with_ceiling_terms(without_errors, expectation, side)


def _with_ceiling_terms(
    without_errors: _Derivatives, expectation: _Expectation, side: PatternSide
) -> _Derivatives:
    """The derivatives of E[f(v)] with the terms of the ceiling v*, above which v is an error.

    Above v* the law of v has the factor e^{−v*²/2χ}, whose logarithm has the derivatives v*²/2χ by
    ln χ and −v*²/χ by ln v*: each is multiplied by the covariance of f with 1_{v > v*}. At v* f
    jumps by [f]_*, and v has the density e*.
    """
    chi = side.chi
    v_star = side.ceiling
    # Cov(f, 1_{v>v*}): f has one value above v*, and `side.wrong` is the weight of v > v*.
    cov_with_wrong = (expectation.above_ceiling - expectation.value) * side.wrong
    jump_term = expectation.jump_at_ceiling * side.density_at_ceiling  # [f]_* e*
    return _Derivatives(
        value=without_errors.value,
        # + (v*²/2χ) Cov(f, 1_{v>v*})
        by_log_chi=without_errors.by_log_chi + v_star**2 * cov_with_wrong / (2 * chi),
        # A larger μ carries the weight e* dμ over the jump: + [f]_* e*.
        by_mu=without_errors.by_mu + jump_term,
        # A larger v* takes the weight e* dv* back below it, with dv* = v* d ln v*:
        # −(v*²/χ) Cov(f, 1_{v>v*}) − v* [f]_* e*.
        by_log_ceiling=-v_star * (v_star / chi * cov_with_wrong + jump_term),
    )


def _mean_of_t(side: PatternSide) -> _Expectation:
    """R₁ = E[f] with f = T, what is corrected of a violation v, ready to be differentiated.

    T is v on 0 < v < v* and 0 elsewhere; v* is `side.ceiling`. p₊ (`side.tight`) is the weight of
    0 < v < v*, and `side.third` is E[(T − R₁)³].
    """
    r1 = side.mean
    return _Expectation(
        value=r1,
        mean_slope=side.tight,  # E[f'] = p₊, as f' = 1 on 0 < v < v* alone
        cov_with_t=side.variance,  # Cov(T, T)
        cov_with_t2=side.third + 2 * r1 * side.variance,  # Cov(T, T²), by T = R₁ + (T − R₁)
        above_ceiling=0.0,  # T = 0 for v > v*
        jump_at_ceiling=-side.ceiling,  # at v*, T falls from v* to 0
    )


def _variance_of_t(side: PatternSide) -> _Expectation:
    """Var T = E[f] with f = (T − R₁)², ready to be differentiated.

    T, what is corrected of a violation v, is v on 0 < v < v* and 0 elsewhere; R₁ = E[T] is
    `side.mean`. R₁ in f may be held: E[(T − a)²] is stationary at a = R₁. `side.third` and
    `side.fourth` are the central moments E[(T − R₁)³] and E[(T − R₁)⁴].
    """
    r1 = side.mean
    variance = side.variance
    v_star = side.ceiling
    return _Expectation(
        value=variance,
        # f' = 2(T − R₁) on 0 < v < v*, of weight p₊: E[f'] = 2(R₁ − R₁p₊), and 1 − p₊ is `loose`.
        mean_slope=2 * r1 * side.loose,
        # Cov(f, T) = E[(T − R₁)³]
        cov_with_t=side.third,
        # By T² = (T − R₁)² + 2R₁T − R₁²: E[(T − R₁)⁴] − (Var T)² + 2R₁ E[(T − R₁)³].
        cov_with_t2=side.fourth - variance**2 + 2 * r1 * side.third,
        # T = 0 for v > v*
        above_ceiling=r1**2,
        # At v* f goes from (v* − R₁)² to R₁².
        jump_at_ceiling=v_star * (2 * r1 - v_star),
    )


def _weight_of_tight(side: PatternSide) -> _Expectation:
    """p₊ = E[f] with f = 1 for a violation 0 < v < v* and 0 elsewhere: the tight ones.

    f is flat but for its jumps, by 1 at v = 0 and by −1 at v*. What is corrected is T = f v: hence
    f T^k = T^k and Cov(f, T^k) = R_k(1 − p₊), where R_k = E[T^k]: R₁ is `side.mean`, R₂
    `side.second` and 1 − p₊ `side.loose`.
    """
    return _Expectation(
        value=side.tight,
        mean_slope=side.density_at_zero,  # of the jump by 1 at v = 0
        cov_with_t=side.mean * side.loose,
        cov_with_t2=side.second * side.loose,
        above_ceiling=0.0,
        jump_at_ceiling=-1.0,
    )


def _weight_of_wrong(side: PatternSide) -> _Expectation:
    """ε = E[f] with f = 1 for a violation v > v* and 0 below: the weight of errors.

    T, what is corrected, is v on 0 < v < v* and 0 elsewhere. T = 0 where f = 1, so that
    Cov(f, T^k) = −εR_k with R_k = E[T^k]: R₁ is `side.mean`, R₂ is `side.second`.
    """
    error_weight = np.asarray(side.wrong)  # ε, (nodes,)
    return _Expectation(
        value=error_weight,
        mean_slope=np.zeros_like(error_weight),  # f is flat on both sides of v*
        cov_with_t=-error_weight * side.mean,
        cov_with_t2=-error_weight * side.second,
        above_ceiling=1.0,  # f for v > v*
        jump_at_ceiling=1.0,  # … and its step at v*, from 0
    )


def _net_tight(class_side: ClassSide) -> _Derivatives:
    """p₊ − v*e* on the nodes with its derivatives; without errors it is p₊ alone.

    p₊ is the weight of the violations 0 < v < v*, e* the density of v at the ceiling v*.
    """
    side = class_side.side
    tight = _differentiate(_weight_of_tight(side), side)  # p₊
    if np.isinf(side.ceiling):
        return tight
    return tight.minus(_ceiling_term(side, class_side.mu, class_side.s2))


def _ceiling_term(side: PatternSide, mu: Array, s2: float) -> _Derivatives:
    """v*e*, e* the density of the violation v at the ceiling v*, with its derivatives on the nodes.

    `mu` is the mean μ of v on the nodes, (nodes,), and `s2` its variance s², before the tilt by
    e^{−v²/2χ}. A is the sum of the tilted weights. The derivatives are v*e* times those of

        ln(v*e*) = ln v* − v*²/2χ + ln N(v*; μ, s²) − ln A,

    where, ε being the weight of v > v* (`side.wrong`) and R_k the moments of what is corrected (R₁
    is `side.mean`, R₂ is `side.second`),

        ∂ ln A/∂ln χ = (R₂ + v*²ε)/2χ,    ∂ ln A/∂μ = −R₁/χ,    ∂ ln A/∂ln v* = −v*²ε/χ.
    """
    chi = side.chi
    v_star = side.ceiling
    no_error = 1 - side.wrong  # 1 − ε
    ceiling_density = v_star * np.asarray(side.density_at_ceiling)  # v*e*
    normal_slope = (v_star - mu) / s2  # ∂ ln N(v*; μ, s²)/∂μ, the opposite of that by v*
    return _Derivatives(
        value=ceiling_density,
        # ∂ ln(v*e*)/∂ln χ = v*²/2χ − (R₂ + v*²ε)/2χ
        by_log_chi=ceiling_density * (v_star**2 * no_error - side.second) / (2 * chi),
        # ∂ ln(v*e*)/∂μ = (v* − μ)/s² + R₁/χ
        by_mu=ceiling_density * (normal_slope + side.mean / chi),
        # ∂ ln(v*e*)/∂ln v* = 1 − v*²/χ − v*(v* − μ)/s² + v*²ε/χ
        by_log_ceiling=ceiling_density * (1 - v_star * (v_star / chi * no_error + normal_slope)),
    )
