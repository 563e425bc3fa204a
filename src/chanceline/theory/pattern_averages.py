"""Averages over the patterns: over their Gaussian field z and over the classes.

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
    """The law of a pattern of one class, at the nodes of the class's own quadrature rule."""

    sign: float  # σ_c: how the threshold b moves the class's offset, θ_c = √ρ(margin + σ_c b)
    law: PatternLaw  # its arrays have the shape (nodes,)
    nodes: Array  # z of the rule for ∫Dz, (nodes,)
    weights: Array  # f_c times those of the rule, f_c the share of the patterns, (nodes,)

    def mean(self, values: Numbers) -> Numbers:
        """f_c ∫Dz values, for values at the nodes, (nodes,)."""
        return weighted_sum(self.weights, values)


class PatternParameters(NamedTuple):
    """The order parameters that the law of a pattern depends on, numbers or Duals."""

    rho: Numbers  # ρ, the share of variables chosen; also |w|² per variable
    q0: Numbers  # q₀, the overlap of the weights of two choices of variables
    s2: Numbers  # ρ − q₀, by itself: the difference would cancel
    chi: Numbers  # χ: a violation v that is corrected has the weight e^{−v²/2χ}
    threshold: Numbers = 0.0  # b, in units of |w| = √ρ
    ceiling: Numbers = np.inf  # v*: larger violations are errors


def class_laws(ensemble: Ensemble, parameters: PatternParameters, step: float) -> list[ClassLaw]:
    """Describe how far a pattern violates its constraint, for each class, at quadrature nodes.

    A pattern is a sample of the random table; its constraint asks that it lies on the side of its
    class. Its mean violation depends on a standard Gaussian number z, and `pattern_law` has the
    distribution around this mean. The theory needs averages over z. The nodes of these averages are
    chosen here, and `pattern_law` is evaluated at each.

    Parameters
    ----------
    ensemble
        The kind of patterns: share and margin of the classes, errors allowed.
    parameters
        The order parameters, which are the unknowns of the theory. If they are Duals, numbers with
        derivatives, the results carry derivatives, too.
    step
        The step of the quadrature.

    Returns
    -------
    One `ClassLaw` for each class. Its arrays are (nodes,).

    Raises
    ------
    OutsideDomain
        If the order parameters have no meaning. It makes a solver take a shorter step.
    """
    # The nodes are chosen from the plain values: the integral does not depend on where its nodes
    # lie, so they need no derivatives.
    plain_parameters = PatternParameters._make(map(value_of, parameters))
    _check_domain(plain_parameters)

    root_q0 = sqrt(parameters.q0)  # standard deviation of the mean violation
    laws_of_classes = []
    for share, sign, offset in ensemble.offsets(parameters.rho, parameters.threshold):
        # Each class has its own nodes, dense where its functions change quickly.
        rule = _rule_for_class(value_of(offset), plain_parameters, step)
        mean_violation = root_q0 * rule.nodes + offset  # of a pattern with field z, (nodes,)
        law = pattern_law(
            mu=mean_violation,
            s2=parameters.s2,
            chi=parameters.chi,
            ceiling=parameters.ceiling,
        )
        # With the share of the class as a factor, a sum over the classes is a mean over patterns.
        class_weights = share * rule.weights
        laws_of_classes.append(
            ClassLaw(sign=sign, law=law, nodes=rule.nodes, weights=class_weights)
        )
    return laws_of_classes


def _check_domain(parameters: PatternParameters) -> None:
    """OutsideDomain, for which a solver takes a shorter step, unless the averages make sense.

    q₀ ≥ 0 and s² = ρ − q₀ > 0 are variances of the field; χ > 0 is the scale of the weight of a
    correction, and v* > 0 the largest violation that is corrected.
    """
    variances_are_valid = parameters.q0 >= 0 and parameters.s2 > 0
    scales_are_valid = parameters.chi > 0 and parameters.ceiling > 0
    if not (variances_are_valid and scales_are_valid):
        raise OutsideDomain(
            f"q₀ = {parameters.q0:.3g} must not be negative, ρ − q₀ = {parameters.s2:.3g}, "
            f"χ = {parameters.chi:.3g} and v* must be positive"
        )


def _rule_for_class(offset: float, parameters: PatternParameters, step: float) -> GaussianRule:
    """Choose nodes z and weights for averages over the patterns of one class.

    z is a standard Gaussian number, and a pattern has the mean violation μ = √q₀ z + offset. The
    function to be averaged, ln A(μ), is the logarithm of the mean weight of a pattern. It changes
    quickly around μ = 0, over the standard deviation s of violations. If errors are allowed, it
    also changes quickly where an error begins to weigh more than a corrected violation. The nodes
    are dense at these places. `step` is the step of the quadrature.
    """
    if parameters.q0 == 0:
        return rule_for(1.0, step)  # μ is the same for all z, and nothing changes with z

    # The change around μ = 0. Positions and lengths in μ are converted to z.
    mu_per_z = np.sqrt(parameters.q0)  # dμ/dz
    edge_centre = -offset / mu_per_z  # where μ = 0
    edge_width = np.sqrt(parameters.s2) / mu_per_z  # s, in units of z
    no_errors_allowed = np.isinf(parameters.ceiling)
    if no_errors_allowed:
        return rule_for(edge_width, step, centre=edge_centre)

    # The change where errors begin. One rule resolves both.
    errors_begin = _where_errors_begin(parameters)
    errors_centre = (errors_begin.mu - offset) / mu_per_z
    errors_width = errors_begin.width / mu_per_z
    return focused_rule(
        centres=(edge_centre, errors_centre), sizes=(edge_width, errors_width), step=step
    )


class _ErrorsBegin(NamedTuple):
    """Where errors begin to outweigh corrections in the weight A(μ) of a pattern."""

    mu: float  # μ_*, where they weigh the same
    width: float  # the distance in μ over which ln A changes there


def _where_errors_begin(parameters: PatternParameters) -> _ErrorsBegin:
    """The mean violation μ_* where errors begin to outweigh corrections, and how sharply they do.

    A violation v ~ N(μ, s²) weighs e^{−v²/2χ} where it is corrected, and e^{−v*²/2χ} where it is an
    error, above the ceiling v*. Averaged over v this is, up to slowly changing factors,

        A ≈ e^{−Q(μ)} + e^{−v*²/2χ},    Q(μ) = μ²/2(χ + s²).

    The two terms are equal at μ_*. Near it A has complex zeros, where ln A is singular. The error
    of the quadrature falls exponentially with their distance from the real axis: so this distance
    is the width to resolve, or s, the width of v, if that is smaller.
    """
    s2 = parameters.s2
    chi = parameters.chi
    # Both terms are equal where Q = v*²/2χ.
    mu_star = parameters.ceiling * np.sqrt(1 + s2 / chi)
    # They cancel where Q differs from this by ±iπ: at π/(dQ/dμ) from μ_*, dQ/dμ = μ_*/(χ + s²).
    distance_of_zeros = np.pi * (chi + s2) / mu_star
    return _ErrorsBegin(mu=mu_star, width=min(np.sqrt(s2), distance_of_zeros))


class PatternMeans(NamedTuple):
    """Everything that the equations take from the patterns; each mean is over z and over classes.

    R_k = E[T^k] are the moments of the correction T: v where 0 < v < v*, and 0 elsewhere. p₊ is the
    probability of 0 < v < v*, e* the density of v at v*, and κ = margin·√ρ. The first six are Duals
    if the order parameters are.
    """

    # p₊ − v*e* + κR₁/ρ: the share of tight patterns, corrected for errors and margin. Times the
    # load α it is the share of variables with a weight.
    effective_tight: Numbers
    mean_correction_square: Numbers  # R₁²
    correction_variance: Numbers  # R₂ − R₁²
    correction_by_sign: Numbers  # Σ_c σ_c f_c R₁, zero at the best threshold
    wrong: Numbers  # the error rate, 0 where no errors are allowed
    log_mean_weight: Numbers  # g = ln A
    tight: float  # p₊
    curvature_square: float  # g''², where ' is ∂/∂μ
    tight_square: float  # p₊²
    curvature_times_tight: float  # g''p₊


def pattern_means(
    laws_of_classes: list[ClassLaw], ensemble: Ensemble, rho: Numbers
) -> PatternMeans:
    """The averages over all patterns: each field of `PatternMeans`, summed over the classes.

    The share of a class is already a factor of its means. `rho` is ρ = |w|² per variable.
    """
    kappa_over_rho = ensemble.margin / sqrt(rho)  # κ/ρ, where κ = margin·√ρ
    means_of_classes = [_means_of_class(class_law, kappa_over_rho) for class_law in laws_of_classes]
    # zip turns (class, field) into (field, class): each field is a sum over the classes.
    sums_of_fields = map(sum, zip(*means_of_classes, strict=True))
    return PatternMeans._make(sums_of_fields)


def _means_of_class(class_law: ClassLaw, kappa_over_rho: Numbers) -> PatternMeans:
    """Compute the means over the patterns of one class, each times the share f_c of the class.

    A pattern that violates its constraint is either corrected, so that it lies exactly at the
    margin (it is then called tight), or left as an error. The means describe how many patterns are
    tight or wrong, and how large the corrections are: R₁ and R₂ are the first two moments of the
    correction of a pattern, and A is the mean weight of the pattern. `PatternMeans` lists them.

    `class_law.law` has these quantities at quadrature nodes z; `class_law.mean` averages over z and
    multiplies by f_c. `kappa_over_rho` is κ/ρ with κ = margin·√ρ and the density ρ.

    The effective share of tight patterns is p₊ − v*e* + κR₁/ρ. An identity of the theory (module
    `rs_equations`) says that the load times this share is the share of variables with a nonzero
    weight. p₊ is the share of tight patterns itself. Errors subtract v*e*, where v* is the largest
    violation that is no error and e* the density of violations there; the margin adds κR₁/ρ.
    """
    law = class_law.law
    mean_correction = class_law.mean(law.mean_correction)  # R₁
    share_without_margin = class_law.mean(law.net_p_tight)  # p₊ − v*e*
    effective_tight_share = share_without_margin + kappa_over_rho * mean_correction

    errors_are_allowed = np.isfinite(value_of(law.ceiling))
    share_of_errors = 0.0
    if errors_are_allowed:
        share_of_errors = class_law.mean(law.p_wrong)

    # The last four means describe stability. They enter no equation that Newton's method solves, so
    # they are computed without derivatives.
    plain_law = law.without_differentials()
    p_tight = plain_law.p_tight
    curvature = plain_law.curvature  # g'', of the log-weight g = ln A
    return PatternMeans(
        effective_tight=effective_tight_share,
        mean_correction_square=class_law.mean(square(law.mean_correction)),  # R₁²
        correction_variance=class_law.mean(law.correction_variance),  # R₂ − R₁²
        # The sign of the class, ±1, says how the threshold moves its violations. At the best
        # threshold the classes balance: the sum over the classes is 0.
        correction_by_sign=class_law.sign * mean_correction,
        wrong=share_of_errors,
        log_mean_weight=class_law.mean(law.log_mean_weight),  # ln A
        tight=class_law.mean(p_tight),
        curvature_square=class_law.mean(curvature**2),
        tight_square=class_law.mean(p_tight**2),
        curvature_times_tight=class_law.mean(curvature * p_tight),
    )
