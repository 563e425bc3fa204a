"""Replica symmetry below the Cover–Gardner load, where typical choices separate (section 5.1).

For m → 0 the choice of variables decouples, Σ = H₂(ρ) and e^{−K} = ρ/(1 − ρ). With r = q₁/ρ, γ² =
r/(1 − r) and h = H'/H, what is left is Gardner's equation in ρN dimensions and one equation for the
overlap of two independent choices:

    γ² = (α/ρ) ∫Dt h(γt)²,    c = (α/γ²) ∫Dz [∫Dy h(γ(√(1−c) y + √c z))]²,    c = q₀/q₁.

With unequal classes or a margin, h is taken at γt + √(1+γ²)(margin + σ_c b), averages run over the
classes, and the threshold b (in units of |w|) maximises the volume: Σ_c σ_c f_c ∫Dt h = 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import erfcx, logit

from chanceline.theory.closed_forms import binary_entropy
from chanceline.theory.ensemble import PLAIN, Ensemble, OffsetClass
from chanceline.theory.gardner import LARGEST_THRESHOLD
from chanceline.theory.quadrature import (
    QUADRATURE_STEP,
    WIDTHS_PER_FEATURE,
    Array,
    GaussianRule,
    centred_rule,
    rule_for,
)
from chanceline.theory.solution import Conjugates, Regime, RSSolution, Stability

# From this x on x + h cancels too much, and its asymptotic series has all digits.
_SERIES_FROM = 60.0
# c = q₀/q₁ is sought this far from 0 (relative to ρ) and 1.
_OVERLAP_EDGE = 1e-12


def mills(x: Array) -> Array:
    """h = H'/H = −φ/H, with φ the normal density and H(x) the normal probability above x.

    By erfcx(t) = e^{t²} erfc(t) and H(x) = ½ erfc(x/√2) neither φ nor H underflows:
    φ/H = √(2/π)/erfcx(x/√2).
    """
    return -np.sqrt(2 / np.pi) / erfcx(np.asarray(x) / np.sqrt(2))


def mills_slope(x: Array) -> Array:
    """h' = (ln H)'' = −h(x + h), by the asymptotic series of x + h where that cancels.

    H(x) is the normal probability above x, and h = H'/H (`mills`) comes near to −x for large x:
    x + h = −(1/x)(1 − 2/x² + 10/x⁴ − 74/x⁶ + 706/x⁸ − …).
    """
    x = np.asarray(x, dtype=float)
    h = mills(x)
    # The series is used for large x only. Elsewhere the bound keeps it finite, and it is dropped.
    large_x = np.maximum(x, _SERIES_FROM)
    y = large_x**-2  # 1/x²
    series = 1 - y * (2 - y * (10 - y * (74 - 706 * y)))  # the bracket above, by Horner's rule
    x_plus_h = np.where(x > _SERIES_FROM, -series / large_x, x + h)
    return -h * x_plus_h


@dataclass(frozen=True)
class Field:
    """Gardner's solution with ρN variables: the field γt + offset of a pattern, t ~ N(0, 1).

    q₁ is the overlap of two solutions w of the same variables, |w|² = ρ. The field is that of the
    solutions' mean, in units of √(ρ − q₁), their spread around it.
    """

    gamma: float  # γ = √(q₁/(ρ − q₁))
    threshold: float  # b/|w|
    classes: tuple[OffsetClass, ...]  # offsets are in units of √(ρ − q₁)
    step: float  # of the quadrature

    def mean(self, function: Callable[[Array], Array]) -> float:
        """The mean of a function of the field: Σ_c f_c ∫Dt function(γt + offset_c).

        Class c has the share f_c of the patterns. The function is called with arrays, (nodes,).
        """
        return sum(
            (share * self._mean_of_class(function, offset) for share, _, offset in self.classes),
            start=0.0,
        )

    def mean_by_sign(self, function: Callable[[Array], Array]) -> float:
        """The same mean with a sign for each class: Σ_c σ_c f_c ∫Dt function(γt + offset_c).

        Class c has the share f_c of the patterns, and a threshold moves its offset by the sign σ_c.
        """
        return sum(
            (
                share * sign * self._mean_of_class(function, offset)
                for share, sign, offset in self.classes
            ),
            start=0.0,
        )

    def _mean_of_class(self, function: Callable[[Array], Array], offset: float) -> float:
        """∫Dt function(γt + offset), t a standard Gaussian.

        The function, one of `mills` and its like, changes where its argument is 0, over a distance
        of about 1: that is around t = −offset/γ, over 1/γ, where the rule has its finest nodes.
        """
        rule = rule_for(1 / self.gamma, self.step, centre=-offset / self.gamma)
        return float(rule.mean(function(self.gamma * rule.nodes + offset)))

    def mean_square(self, function: Callable[[Array], Array], common_part: float) -> float:
        """The mean of function(field)·function(field') over the fields of a pattern in two choices.

        Two choices of variables share the part c = q₀/q₁ (`common_part`) of the variance of their
        fields. Given the part √c z in common, the rest √(1−c) y of each field is independent, and
        the mean is a square:

            Σ_k f_k ∫Dz [∫Dy function(γ(√(1−c) y + √c z) + offset_k)]²,

        where class k has the share f_k of the patterns.
        """
        total = 0.0
        for share, _, offset in self.classes:
            total += share * self._mean_square_of_class(function, common_part, offset)
        return total

    def _mean_square_of_class(
        self, function: Callable[[Array], Array], common_part: float, offset: float
    ) -> float:
        """Average function(x)·function(x') over the fields x and x' of a pattern in two choices.

        The pattern belongs to one class, and the choices are of variables. Both fields have the
        Gaussian part z in common, and each has an independent part y of its own; c, `common_part`,
        is the correlation of the fields. The average is

            ∫Dz [∫Dy function(γ(√(1−c) y + shift))]²,    shift = √c z + offset/γ.

        The nodes of both integrals are chosen for a function that changes around argument 0, over a
        distance of about 1.
        """
        own_sd = np.sqrt(1 - common_part)  # √(1−c)
        common_sd = np.sqrt(common_part)  # √c
        # The nodes z are dense where the integral over y changes.
        z_rule = self._rule_for_common_part(own_sd, common_sd, offset)
        shift = common_sd * z_rule.nodes + offset / self.gamma  # (z nodes,)

        # The integral over y at each z. Its nodes are dense where the argument is 0; this y depends
        # on z, so each z has its own row of nodes.
        y, y_weights = self._rules_for_own_part(own_sd, shift)  # both (z nodes, y nodes)
        argument = self.gamma * (own_sd * y + shift[:, None])  # (z nodes, y nodes)
        mean_over_y = (y_weights * function(argument)).sum(axis=1)  # (z nodes,)

        # Given z, the two fields are independent with the same distribution, so the mean of the
        # product is the square of the mean.
        return float(z_rule.mean(mean_over_y**2))

    def _rule_for_common_part(self, own: float, common: float, offset: float) -> GaussianRule:
        """Nodes z of the outer integral, fine where the inner one changes.

        The argument γ(own·y + common·z) + offset vanishes on a line in the plane of y and z. The
        line crosses y = 0, where y has most weight, at z = −offset/(γ·common), and the unit width
        of y while z moves by own/common.
        """
        return rule_for(own / common, self.step, centre=-offset / (self.gamma * common))

    def _rules_for_own_part(self, own: float, shift: Array) -> tuple[Array, Array]:
        """Nodes y of the inner integral and their weights, a row for each z: (z nodes, y nodes).

        The argument γ(own·y + shift) vanishes at y = −shift/own, and changes by 1 over 1/(γ·own).
        The nodes are fine there, but no wider than the Gaussian itself, of width 1, needs. `shift`
        has one value for each z, (z nodes,).
        """
        feature_in_y = min(1.0, 1 / (self.gamma * own))
        y_width = WIDTHS_PER_FEATURE * feature_in_y
        return centred_rule(-shift / own, y_width, self.step)


def _field_at(log_gamma: float, ensemble: Ensemble, step: float) -> Field:
    """Return the field of a pattern for a given ln γ, with the best threshold b if b is free.

    The solutions are the weight vectors w that separate the patterns. The field of a pattern is its
    scalar product with their mean, in units of their spread. Its standard deviation γ is given by
    γ² = q₁/(ρ − q₁), where q₁ is the overlap (scalar product) of two typical solutions on the same
    variables and ρ their squared length, both per variable. The best b leaves the largest volume of
    solutions. `step` is the step of the quadrature.
    """
    gamma = float(np.exp(log_gamma))
    if not ensemble.free_threshold:
        return _field_with_threshold(0.0, gamma, ensemble, step)

    def volume_slope(threshold: float) -> float:
        """The derivative of ln(volume) by b, up to a positive factor; it is zero at the best b.

        ln(volume) depends on b through the mean of ln H(field) over the patterns, where H is the
        upper tail of the normal distribution. b shifts the field by b·sign, with the sign ±1 of the
        class. The derivative is therefore the mean of sign·h(field), h = (ln H)' (`mills`).
        """
        return _field_with_threshold(threshold, gamma, ensemble, step).mean_by_sign(mills)

    reach = LARGEST_THRESHOLD + ensemble.margin
    best_threshold = brentq(volume_slope, -reach, reach, xtol=1e-15, rtol=1e-14)
    return _field_with_threshold(float(best_threshold), gamma, ensemble, step)


def _field_with_threshold(threshold: float, gamma: float, ensemble: Ensemble, step: float) -> Field:
    """The field of a pattern at a threshold b, in units of |w|: γt + offset in each class.

    t is a standard Gaussian, and γ² = q₁/(ρ − q₁) with the overlap q₁ of two typical solutions w
    and |w|² = ρ. The field is in units of √(ρ − q₁).
    """
    # As ρ/(ρ − q₁) = 1 + γ², |w| is √(1 + γ²) in the units of the field.
    weight_length = np.sqrt(1 + gamma**2)
    classes = []
    for share, sign in ensemble.classes:
        offset_in_lengths = ensemble.margin + sign * threshold  # in units of |w|
        offset = float(weight_length * offset_in_lengths)
        classes.append(OffsetClass(share, sign, offset))
    return Field(gamma, threshold, tuple(classes), step)


def gardner_field(load: float, ensemble: Ensemble = PLAIN, step: float = QUADRATURE_STEP) -> Field:
    """Solve Gardner's equation for the field of a pattern, with a typical choice of variables.

    The field is the scalar product of the pattern with the mean of all weight vectors that separate
    the patterns, in units of their spread. It is γt + offset, where t ~ N(0, 1) and each class of
    patterns has its own offset. γ is the root of

        load·⟨h²⟩ = γ².

    ⟨h²⟩ is the mean of h² over the field and the classes, and h (`mills`) the logarithmic
    derivative of the upper tail of the normal distribution. `load` is patterns per chosen variable,
    and must be below Gardner's capacity, the largest load that can be separated. `step` is the step
    of the quadrature.
    """

    def excess(log_gamma: float) -> float:
        """load·⟨h²⟩/γ² − 1, which decreases with γ from ∞ to below 0."""
        field = _field_at(log_gamma, ensemble, step)
        mean_over_gamma_square = field.mean(lambda x: (mills(x) / field.gamma) ** 2)  # ⟨h²⟩/γ²
        return load * mean_over_gamma_square - 1

    # Widen the bracket of ln γ until it contains the root.
    lower_end = -1.0
    upper_end = 1.0
    while excess(lower_end) < 0:
        lower_end -= 2
    while excess(upper_end) > 0:
        upper_end += 2
    log_gamma = float(brentq(excess, lower_end, upper_end, xtol=1e-15, rtol=1e-15))
    return _field_at(log_gamma, ensemble, step)


def solve_typical(
    alpha: float, rho: float, ensemble: Ensemble = PLAIN, step: float = QUADRATURE_STEP
) -> RSSolution:
    """Compute the solution at a load so small that a typical choice of variables separates.

    The load α (`alpha`) is patterns per variable and must be below the Cover–Gardner load. The
    density ρ (`rho`) is the share of variables chosen. `step` is the step of the quadrature.

    On a typical choice of ρN variables the problem is that of the ordinary perceptron with all its
    variables, which Gardner solved. `gardner_field` has this solution: γ² = q₁/(ρ − q₁), where q₁
    is the overlap (scalar product per variable) of two separating weight vectors on the choice.
    """
    load_of_choice = alpha / rho  # patterns per chosen variable
    field = gardner_field(load_of_choice, ensemble, step)
    gamma_square = field.gamma**2
    q1 = rho * (gamma_square / (1 + gamma_square))

    # The overlap q₀ of weight vectors on two choices.
    common_part = _common_part(alpha, rho, field)  # q₀/q₁
    q0 = q1 * common_part

    # The Lagrange multipliers of q₁, of q₀ and of the norm of the weights.
    conjugates = _conjugates(alpha, rho, field, common_part)
    return RSSolution(
        alpha=alpha,
        rho=rho,
        regime=Regime.TYPICAL.value,
        entropy=binary_entropy(rho),  # the entropy of all choices
        q0=q0,
        q1=q1,
        # Above the Cover–Gardner load violations v of patterns have the weight e^{−v²/2χ}, and E,
        # F₁ and F₀ are multipliers that depend on χ. Here, where a typical choice separates without
        # any violation, they have the limits for χ → ∞. `conjugates` has multipliers that are
        # finite here.
        chi=math.inf,
        K=float(logit(1 - rho)),  # each variable is chosen with the same odds e^{−K} = ρ/(1 − ρ)
        E=0.0,
        F1=0.0,
        F0=0.0,
        stability=_stability(alpha, rho, field, common_part),
        residual=_saddle_error(rho, q1, q0, field, conjugates),
        quadrature_error=0.0,
        identity_error=0.0,
        conjugates=conjugates,
        ensemble=ensemble,
        threshold=field.threshold,
    )


def _stability(alpha: float, rho: float, field: Field, common_part: float) -> Stability:
    """The replicons within a choice and between two: (α/ρ)⟨h'²⟩ and α ∫Dz [∫Dy h']².

    h' = `mills_slope` at the field of a pattern, whose part z two choices share; y one has alone.
    """
    return Stability(
        within=alpha / rho * field.mean(lambda x: mills_slope(x) ** 2),
        between=alpha * field.mean_square(mills_slope, common_part),
    )


def _saddle_error(rho: float, q1: float, q0: float, field: Field, conjugates: Conjugates) -> float:
    """The larger relative error with which overlaps and multipliers solve two saddle equations:

        q₁ = ρq̂₁/(Q̂ + q̂₁)²,    q₀ = ρ²q̂₀/(Q̂ + q̂₁)².

    q₁ is the overlap of two weight vectors of the same variables, q₀ that of two choices, ρ the
    density; q̂₁, q̂₀ and Q̂ (`conjugates`) are the multipliers of q₁, q₀ and of the norm.
    """
    hat_sum = _hat_sum(field.gamma)  # Q̂ + q̂₁
    returned_q1 = rho * conjugates.q1 / hat_sum**2
    returned_q0 = rho**2 * conjugates.q0 / hat_sum**2
    return max(abs(returned_q1 / q1 - 1), abs(returned_q0 / q0 - 1))


def _common_part(alpha: float, rho: float, field: Field) -> float:
    """c = q₀/q₁, the part of the field that two choices of variables share: the root of αJ(c) = c.

    q₁ is the overlap of two weight vectors of the same variables, q₀ that of two independent
    choices, α the load and ρ the density. The equation, with J(c) of `_overlap_of_slopes`, is the
    saddle equation of q₀.
    αJ(c) − c changes its sign between 0 and 1: J(0) > 0, and αJ(1) = ρ < 1 by Gardner's equation.
    """

    def excess(common_part: float) -> float:
        """αJ(c) − c."""
        return alpha * _overlap_of_slopes(field, common_part) - common_part

    # The ends are left out: the nodes of ∫Dz and ∫Dy have no limit there. c is at least of the
    # order of ρ, so that the lower end is relative to it.
    root = brentq(excess, _OVERLAP_EDGE * rho, 1 - _OVERLAP_EDGE, xtol=1e-16, rtol=1e-14)
    return float(root)


def _overlap_of_slopes(field: Field, common_part: float) -> float:
    """J(c) = ∫Dz [∫Dy h/γ]², over the classes of patterns, with c = `common_part`.

    h is `mills` at the field γ(√(1−c) y + √c z) + offset of a pattern: z is what two choices of
    variables share of it, y what is one choice's own.
    """
    return field.mean_square(lambda x: mills(x) / field.gamma, common_part)


def _conjugates(alpha: float, rho: float, field: Field, common_part: float) -> Conjugates:
    """The multipliers q̂₁, q̂₀ and Q̂ of the overlaps q₁ and q₀ and of the norm ρ:

        q̂₁ = α/(ρ − q₁)·⟨h²⟩,    q̂₀ = α/(ρ − q₁)·γ²J(c),    Q̂ = (Q̂ + q̂₁) − q̂₁.

    They are the saddle equations of q₁, q₀ and ρ, at the load α. h is `mills`, ⟨·⟩ its mean over
    the field, γ² = q₁/(ρ − q₁), J(c) is `_overlap_of_slopes` and c = q₀/q₁ is `common_part`.
    """
    gamma = field.gamma
    spread_over_rho = 1 / (1 + gamma**2)  # 1 − q₁/ρ
    alpha_per_spread = alpha / (rho * spread_over_rho)  # α/(ρ − q₁)
    q1_hat = alpha_per_spread * field.mean(lambda x: mills(x) ** 2)
    q0_hat = alpha_per_spread * gamma**2 * _overlap_of_slopes(field, common_part)
    return Conjugates(q1=q1_hat, q0=q0_hat, Q=_hat_sum(gamma) - q1_hat)


def _hat_sum(gamma: float) -> float:
    """Q̂ + q̂₁ = ρ/(ρ − q₁), the sum of two multipliers (`_conjugates`) by a saddle equation.

    It is 1 + γ², because γ² = q₁/(ρ − q₁).
    """
    spread_over_rho = 1 / (1 + gamma**2)  # 1 − q₁/ρ
    return 1 / spread_over_rho
