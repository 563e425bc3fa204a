"""Averages of the pattern side over the field z and over the classes.

Class c has the share f_c and the field μ = √q₀ z + θ_c, θ_c = √ρ(margin + σ_c b), where b is the
threshold in units of |w| = √ρ. An average is ⟨F⟩ = Σ_c f_c ∫Dz F(μ). Given `Dual` order parameters
it carries its derivatives.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from chanceline.theory.dual import Numbers, sqrt, square, value_of, weighted_sum
from chanceline.theory.ensemble import Ensemble
from chanceline.theory.newton import OutsideDomain
from chanceline.theory.patterns import PatternLaw, pattern_law
from chanceline.theory.quadrature import Array, GaussianRule, focused_rule, rule_for


class ClassLaw(NamedTuple):
    """The pattern side of one class on the nodes of its own rule."""

    sign: float  # σ_c: how the threshold b moves the class's offset, θ_c = √ρ(margin + σ_c b)
    law: PatternLaw  # its arrays have the shape (nodes,)
    nodes: Array  # z of the rule for ∫Dz, (nodes,)
    weights: Array  # f_c times those of the rule, f_c the share of the patterns, (nodes,)

    def mean(self, values: Numbers) -> Numbers:
        """f_c ∫Dz values, for values at the nodes, (nodes,)."""
        return weighted_sum(self.weights, values)


class PatternParameters(NamedTuple):
    """The order parameters on which the pattern side depends, numbers or Duals."""

    rho: Numbers  # ρ, the share of variables chosen; also |w|² per variable
    q0: Numbers  # q₀, the overlap of the weights of two choices of variables
    s2: Numbers  # ρ − q₀, by itself: the difference would cancel
    chi: Numbers  # χ: a violation v that is corrected has the weight e^{−v²/2χ}
    threshold: Numbers = 0.0  # b, in units of |w| = √ρ
    ceiling: Numbers = np.inf  # v*: larger violations are errors


def class_laws(ensemble: Ensemble, order: PatternParameters, step: float) -> list[ClassLaw]:
    """The mean weight and the corrections of a pattern of each class, at the nodes of ∫Dz.

    A rule violates a pattern of class c by v ~ N(μ, s²). The mean μ = √q₀ z + θ_c differs from
    pattern to pattern, z a standard Gaussian: q₀ is the overlap of the weights of two choices of
    variables, and s² = ρ − q₀. The offset θ_c depends on margin and threshold
    (`Ensemble.offsets`). `pattern_law` has what follows from μ, s², the response χ and the ceiling
    v*, above which a violation is an error.

    Every class has its own nodes z, fine where its functions change; `step` is their distance in
    the stretched variable of the quadrature. Where `order` makes no sense OutsideDomain is raised,
    which tells a solver to take a shorter step.
    """
    plain_order = PatternParameters._make(
        map(value_of, order)
    )  # numbers without their differentials
    _check_domain(plain_order)
    root_q0 = sqrt(order.q0)
    laws_of_classes = []
    for share, sign, offset in ensemble.offsets(order.rho, order.threshold):
        # The nodes are chosen by the plain numbers, and held in all derivatives: the integral does
        # not depend on them.
        rule = _rule_for_class(value_of(offset), plain_order, step)
        mu = root_q0 * rule.nodes + offset
        law = pattern_law(mu=mu, s2=order.s2, chi=order.chi, ceiling=order.ceiling)
        class_weights = share * rule.weights
        laws_of_classes.append(
            ClassLaw(sign=sign, law=law, nodes=rule.nodes, weights=class_weights)
        )
    return laws_of_classes


def _check_domain(order: PatternParameters) -> None:
    """OutsideDomain, for which a solver takes a shorter step, unless the averages make sense.

    q₀ ≥ 0 and s² = ρ − q₀ > 0 are variances of the field; χ > 0 is the scale of the weight of a
    correction, and v* > 0 the largest violation that is corrected.
    """
    variances_are_valid = order.q0 >= 0 and order.s2 > 0
    scales_are_valid = order.chi > 0 and order.ceiling > 0
    if not (variances_are_valid and scales_are_valid):
        raise OutsideDomain(
            f"q₀ = {order.q0:.3g} must not be negative, ρ − q₀ = {order.s2:.3g}, "
            f"χ = {order.chi:.3g} and v* must be positive"
        )


def _rule_for_class(offset: float, order: PatternParameters, step: float) -> GaussianRule:
    """Nodes and weights of ∫Dz that resolve where ln A(μ) changes quickly, μ = √q₀ z + offset.

    A(μ) is the mean weight of a pattern whose violation v has the mean μ and the variance
    s² = ρ − q₀. ln A changes quickly in two places: around μ = 0, where v changes its sign, over a
    distance s; and, if violations above `order.ceiling` are errors, where errors begin. The
    Gaussian variable is z, so that positions and lengths in μ are turned into those in z. `step` is
    the distance of nodes in the stretched variable of the quadrature.
    """
    if order.q0 == 0:
        return rule_for(1.0, step)  # μ is the same for all z

    mu_per_z = np.sqrt(order.q0)  # lengths in μ are divided by it, to be lengths in z
    edge_centre = -offset / mu_per_z  # where μ = 0
    edge_width = np.sqrt(order.s2) / mu_per_z
    if np.isinf(order.ceiling):  # no errors are allowed
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


def _where_errors_begin(order: PatternParameters) -> _ErrorsBegin:
    """The mean violation μ_* from which on errors outweigh corrections, and how sharply they do.

    The violation v of a pattern has the mean μ and the variance s². Corrected, it weighs
    e^{−v²/2χ}; above the ceiling v* it is an error and weighs e^{−v*²/2χ}. Averaged over v the mean
    weight of a pattern is, up to slow factors,

        A ≈ e^{−Q(μ)} + e^{−v*²/2χ},    Q(μ) = μ²/2(χ + s²).

    Both terms are equal at μ_*. ln A is averaged on nodes at equal steps, and the error of that
    falls exponentially with the distance from the real axis to the nearest singularity of ln A,
    which is a complex zero of A. This distance is the width to resolve; or s, the width of v
    itself, if that is less.
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
    p₊ is the weight of 0 < v < v*, e* the density of v at v*, and κ = margin·√ρ. The first six are
    Duals if the order parameters are.
    """

    effective_tight: Numbers  # p₊ − v*e* + κR₁/ρ, which times α is ρ
    violation_square: Numbers  # R₁²
    violation_variance: Numbers  # R₂ − R₁²
    violation_by_sign: Numbers  # Σ_c σ_c f_c R₁, zero at the best threshold
    wrong: Numbers  # the error rate, 0 where no errors are allowed
    log_mean_weight: Numbers  # g = ln A
    tight: float  # p₊
    curvature_square: float  # g''², where ' is ∂/∂μ
    tight_square: float  # p₊²
    curvature_tight: float  # g''p₊


def pattern_means(
    laws_of_classes: list[ClassLaw], ensemble: Ensemble, rho: Numbers
) -> PatternMeans:
    """The averages over all patterns: the sum over the classes of each field of `PatternMeans`.

    The share of a class is already a factor of its means. `rho` is ρ = |w|² per variable.
    """
    kappa_over_rho = ensemble.margin / sqrt(rho)  # κ/ρ, where κ = margin·√ρ
    means_of_classes = [_means_of_class(class_law, kappa_over_rho) for class_law in laws_of_classes]
    # zip turns (class, field) into (field, class): each field is a sum over the classes.
    sums_of_fields = map(sum, zip(*means_of_classes, strict=True))
    return PatternMeans._make(sums_of_fields)


def _means_of_class(class_law: ClassLaw, kappa_over_rho: Numbers) -> PatternMeans:
    """The means over the patterns of one class, each times the share f_c of the class.

    At each node z of the Gaussian average, `class_law.side` has the law of T, what is corrected of
    the violation v of a pattern: its mean R₁ (`mean`), its variance, and the probability p₊ of a
    correction (`tight`). `kappa_over_rho` is κ/ρ with κ = margin·√ρ, ρ the density.
    """
    law = class_law.law
    mean_violation = class_law.mean(law.mean_correction)  # of R₁
    net_tight = class_law.mean(law.net_p_tight)  # of p₊, corrected where errors are allowed
    wrong = 0.0
    if np.isfinite(value_of(law.ceiling)):  # errors are allowed
        wrong = class_law.mean(law.p_wrong)

    # Stability is computed from the last four means. No equation is solved for them, so that they
    # need no derivatives.
    plain_law = law.without_differentials()
    tight = plain_law.p_tight
    curvature = plain_law.curvature  # of the log-weight ln A, by its mean field μ
    return PatternMeans(
        effective_tight=net_tight + kappa_over_rho * mean_violation,
        violation_square=class_law.mean(square(law.mean_correction)),
        violation_variance=class_law.mean(law.correction_variance),
        violation_by_sign=class_law.sign * mean_violation,
        wrong=wrong,
        log_mean_weight=class_law.mean(law.log_mean_weight),
        tight=class_law.mean(tight),
        curvature_square=class_law.mean(curvature**2),
        tight_square=class_law.mean(tight**2),
        curvature_tight=class_law.mean(curvature * tight),
    )
