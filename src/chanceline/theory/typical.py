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
    centred_rule,
    rule_for,
)
from chanceline.theory.solution import Conjugates, Regime, RSSolution, Stability

# From this x on x + h cancels too much, and its asymptotic series has all digits.
_SERIES_FROM = 60.0
# c = q₀/q₁ is sought this far from 0 (relative to ρ) and 1.
_OVERLAP_EDGE = 1e-12


def mills(x: Array) -> Array:
    """h = H'/H = −φ/H, with φ the normal density and H(x) the normal probability above x."""
    return -np.sqrt(2 / np.pi) / erfcx(np.asarray(x) / np.sqrt(2))


def mills_slope(x: Array) -> Array:
    """h' = (ln H)'' = −h(x + h), by the asymptotic series of x + h where that cancels.

    H(x) is the normal probability above x, and h = H'/H (`mills`) comes near to −x for large x:
    x + h = −(1/x)(1 − 2/x² + 10/x⁴ − 74/x⁶ + 706/x⁸ − …).
    """
    x = np.asarray(x, dtype=float)
    h = mills(x)
    large_x = np.maximum(x, _SERIES_FROM)  # the series is not used where x is smaller
    y = large_x**-2
    series = 1 - y * (2 - y * (10 - y * (74 - 706 * y)))  # Horner's rule
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
        """Σ_c f_c ∫Dt function(γt + offset_c), where class c has the share f_c of the patterns."""
        return sum(
            (share * self._mean_of_class(function, offset) for share, _, offset in self.classes),
            start=0.0,
        )

    def mean_by_sign(self, function: Callable[[Array], Array]) -> float:
        """Σ_c σ_c f_c ∫Dt function(γt + offset_c), class c of share f_c and sign σ_c."""
        return sum(
            (
                share * sign * self._mean_of_class(function, offset)
                for share, sign, offset in self.classes
            ),
            start=0.0,
        )

    def _mean_of_class(self, function: Callable[[Array], Array], offset: float) -> float:
        """∫Dt function(γt + offset); the function changes where this is 0, over a distance of 1."""
        rule = rule_for(1 / self.gamma, self.step, centre=-offset / self.gamma)
        return float(rule.mean(function(self.gamma * rule.nodes + offset)))

    def mean_square(self, function: Callable[[Array], Array], c: float) -> float:
        """Σ_k f_k ∫Dz [∫Dy function(γ(√(1−c) y + √c z) + offset_k)]², k the classes of share f_k.

        c = q₀/q₁ is the part of the field that two choices of variables have in common, √c z, while
        y is of one choice alone.
        """
        total = 0.0
        for share, _, offset in self.classes:
            total += share * self._mean_square_of_class(function, c, offset)
        return total

    def _mean_square_of_class(
        self, function: Callable[[Array], Array], c: float, offset: float
    ) -> float:
        """∫Dz [∫Dy function(argument)]², argument = γ(√(1−c) y + √c z) + offset.

        The function must change where its argument is 0, over a distance of about 1; the rules for
        y and z are finest there.
        """
        gamma = self.gamma
        own = np.sqrt(1 - c)
        common = np.sqrt(c)

        # The outer rule. The argument is 0 at a y that depends on z. This y passes 0, the middle of
        # Dy, at z = −offset/(γ·common), and moves by common/own per unit of z: around that z, over
        # own/common, the mean over y changes.
        z_rule = rule_for(own / common, self.step, centre=-offset / (gamma * common))

        # The inner rule, one for each z. The argument is γ(own·y + shift), 0 at y = −shift/own. It
        # moves by γ·own per unit of y, so that the function changes over 1/(γ·own).
        shift = common * z_rule.nodes + offset / gamma  # (z nodes,)
        feature_in_y = 1 / (gamma * own)
        y_width = WIDTHS_PER_FEATURE * min(1.0, feature_in_y)
        y, y_weights = centred_rule(-shift / own, y_width, self.step)  # (z nodes, y nodes)

        argument = gamma * (own * y + shift[:, None])
        mean_over_y = (y_weights * function(argument)).sum(axis=1)  # (z nodes,)
        return float(z_rule.mean(mean_over_y**2))


def _field_at(log_gamma: float, ensemble: Ensemble, step: float) -> Field:
    """The field at a given ln γ, with the best threshold b if the threshold is free.

    Offsets are √(1 + γ²)(margin + σ_c b), because |w| = √ρ = √(1 + γ²) in units of √(ρ − q₁), by
    γ² = q₁/(ρ − q₁). The best b, at which the volume of solutions is largest, is the root of
    Σ_c σ_c f_c ∫Dt h(γt + offset_c) = 0: class c has the share f_c and the sign σ_c, h is `mills`.
    """
    gamma = float(np.exp(log_gamma))
    norm = np.sqrt(1 + gamma**2)  # |w| in units of √(ρ − q₁)

    def with_threshold(threshold: float) -> Field:
        """The field at a threshold b, in units of |w|."""
        classes = tuple(
            OffsetClass(share, sign, float(norm * (ensemble.margin + sign * threshold)))
            for share, sign in ensemble.classes
        )
        return Field(gamma, threshold, classes, step)

    def volume_slope(threshold: float) -> float:
        """How the volume of solutions changes with b, up to a factor: zero at the best b."""
        return with_threshold(threshold).mean_by_sign(mills)

    if not ensemble.free_threshold:
        return with_threshold(0.0)
    reach = LARGEST_THRESHOLD + ensemble.margin
    best = brentq(volume_slope, -reach, reach, xtol=1e-15, rtol=1e-14)
    return with_threshold(float(best))


def gardner_field(load: float, ensemble: Ensemble = PLAIN, step: float = QUADRATURE_STEP) -> Field:
    """The field at which load·⟨h²⟩/γ² = 1, Gardner's equation.

    `load` is patterns per chosen variable, P/M = α/ρ; it must be below Gardner's capacity α_c.
    ⟨h²⟩ is the mean of h² (`mills`) over the field γt + offset, t ~ N(0, 1), and over the classes.
    The left-hand side falls with γ, from ∞ at γ = 0 to load/α_c < 1 at γ = ∞; the root is bracketed
    in ln γ.
    """

    def excess(log_gamma: float) -> float:
        """The left-hand side of the equation less 1."""
        field = _field_at(log_gamma, ensemble, step)
        return load * field.mean(lambda x: (mills(x) / field.gamma) ** 2) - 1

    # Widen the bracket of ln γ until the excess changes its sign.
    low = -1.0
    high = 1.0
    while excess(low) < 0:
        low -= 2
    while excess(high) > 0:
        high += 2
    log_gamma = float(brentq(excess, low, high, xtol=1e-15, rtol=1e-15))
    return _field_at(log_gamma, ensemble, step)


def solve_typical(
    alpha: float, rho: float, ensemble: Ensemble = PLAIN, step: float = QUADRATURE_STEP
) -> RSSolution:
    """All order parameters at α < α_CG (2ρ for the plain ensemble), where typical choices separate.

    q₁ is the overlap of two weight vectors of the same variables, q₀ that of two independent
    choices of variables. Gardner's equation gives γ² = q₁/(ρ − q₁) and the threshold.
    """
    field = gardner_field(alpha / rho, ensemble, step)
    gamma = field.gamma
    c = _common_part(alpha, rho, field)  # q₀/q₁
    q1 = rho * (gamma**2 / (1 + gamma**2))
    q0 = q1 * c
    conjugates = _conjugates(alpha, rho, field, c)

    # The saddle equations q₁ = ρq̂₁/(Q̂ + q̂₁)² and q₀ = ρ²q̂₀/(Q̂ + q̂₁)², where Q̂ + q̂₁ = 1 + γ².
    hat_sum = _hat_sum(gamma)
    q1_error = abs(rho * conjugates.q1 / hat_sum**2 / q1 - 1)
    q0_error = abs(rho**2 * conjugates.q0 / hat_sum**2 / q0 - 1)

    # The replicon products are (α/ρ)⟨h'²⟩ and α ∫Dz [∫Dy h']².
    stability = Stability(
        within=alpha / rho * field.mean(lambda x: mills_slope(x) ** 2),
        between=alpha * field.mean_square(mills_slope, c),
    )
    return RSSolution(
        alpha=alpha,
        rho=rho,
        regime=Regime.TYPICAL.value,
        entropy=binary_entropy(rho),
        q0=q0,
        q1=q1,
        chi=math.inf,  # χ, E, F₁ and F₀, which are rescaled, have their limits
        K=float(logit(1 - rho)),  # e^{−K} = ρ/(1 − ρ): every variable is as likely chosen
        E=0.0,
        F1=0.0,
        F0=0.0,
        stability=stability,
        residual=max(q1_error, q0_error),
        quadrature_error=0.0,
        identity_error=0.0,
        conjugates=conjugates,
        ensemble=ensemble,
        threshold=field.threshold,
    )


def _common_part(alpha: float, rho: float, field: Field) -> float:
    """c = q₀/q₁, the part of the field that two choices of variables share: the root of αJ(c) = c.

    J(c) is `_overlap_of_slopes`. αJ(c) − c changes its sign between 0 and 1: J(0) > 0, and
    αJ(1) = ρ < 1 by Gardner's equation.
    """
    c = brentq(
        lambda c: alpha * _overlap_of_slopes(field, c) - c,
        _OVERLAP_EDGE * rho,
        1 - _OVERLAP_EDGE,
        xtol=1e-16,
        rtol=1e-14,
    )
    return float(c)


def _overlap_of_slopes(field: Field, c: float) -> float:
    """J(c) = ∫Dz [∫Dy h/γ]², h = `mills` at γ(√(1−c) y + √c z) + offset, over the classes."""
    return field.mean_square(lambda x: mills(x) / field.gamma, c)


def _conjugates(alpha: float, rho: float, field: Field, c: float) -> Conjugates:
    """The conjugates q̂₁, q̂₀ and Q̂ of q₁, q₀ and ρ; c = q₀/q₁, and h is `mills`:

    q̂₁ = α/(ρ − q₁)·⟨h²⟩,    q̂₀ = α/(ρ − q₁)·γ²J(c),    Q̂ = (Q̂ + q̂₁) − q̂₁.
    """
    gamma = field.gamma
    spread_over_rho = 1 / (1 + gamma**2)  # 1 − q₁/ρ, as γ² = q₁/(ρ − q₁)
    alpha_per_spread = alpha / (rho * spread_over_rho)  # α/(ρ − q₁)
    q1_hat = alpha_per_spread * field.mean(lambda x: mills(x) ** 2)
    q0_hat = alpha_per_spread * gamma**2 * _overlap_of_slopes(field, c)
    return Conjugates(q1=q1_hat, q0=q0_hat, Q=_hat_sum(gamma) - q1_hat)


def _hat_sum(gamma: float) -> float:
    """Q̂ + q̂₁ = ρ/(ρ − q₁), which is 1 + γ² because γ² = q₁/(ρ − q₁)."""
    spread_over_rho = 1 / (1 + gamma**2)  # 1 − q₁/ρ
    return 1 / spread_over_rho
