"""Averages over the field z, with their derivatives: what replica symmetry needs of the patterns and of the supports.

Patterns. Class c has the share f_c and the field μ = √q₀ z + θ_c, θ_c = √ρ(margin + σ_c b), where b is the threshold in units of
|w| = √ρ. Derivatives are taken by (ln χ, q₀, b, ln v*). On every ratio of Gaussian averages (p₊, R₁, R₂, …) they are

    ∂E/∂q₀ = (R₁/χ) ∂E/∂μ  under ∫Dz, by the heat equation in s² = ρ − q₀ (a product F·G gains F'G'),
    ∂R_k/∂χ = [R_{k+2} − R_k(R₂ + v*²ε)]/2χ²,    ∂R_k/∂v* = v*^k e* + R_k ε v*/χ,
    ∂R_k/∂μ = kR_{k−1} − v*^k e* + δ_{k0} e₀ − (R_{k+1} − R_k R₁)/χ,

with ε the weight of errors and e₀, e* the densities of v at 0 and v*.

Supports. A variable with the field u = √F₀ z is chosen with the log-odds ½ ln(E/d) + u²/2d − K. Derivatives are taken by
(ln χ, K, v, ln F₀) with E = ρ/χ, v = ln(V/d) and V + d = E: ln E, ln d and ln V change by −1 with ln χ, and ln d and ln V by −V/E
and d/E with v. The log-odds then change by a constant and by a part proportional to u² = F₀z².
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from chanceline.theory.ensemble import Ensemble
from chanceline.theory.kernels import PatternSide, SupportSide, pattern_side, support_side
from chanceline.theory.quadrature import Array, GaussianRule, focused_rule, rule_for
from chanceline.theory.solver import OutsideDomain

# From this value of K − ½ ln(E/d) on, the switch between rejected and chosen variables needs a finer rule of its own.
_SHARP = 25.0


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
    ensemble: Ensemble, rho: float, q0: float, s2: float, chi: float, threshold: float, ceiling: float, step: float
) -> list[ClassSide]:
    """ln A and its moments for each class, with s² = ρ − q₀ given by itself."""
    if not (q0 >= 0 and s2 > 0 and chi > 0 and ceiling > 0):
        raise OutsideDomain(f"q₀ = {q0:.3g} must not be negative, ρ − q₀ = {s2:.3g}, χ = {chi:.3g} and v* must be positive")
    sides = []
    for share, sign in ensemble.classes:
        offset = float(np.sqrt(rho)) * (ensemble.margin + sign * threshold)
        rule = _field_rule(offset, q0, s2, chi, ceiling, step)
        mu = np.sqrt(q0) * rule.nodes + offset
        sides.append(ClassSide(share, sign, pattern_side(mu, s2, chi, ceiling), rule, mu, s2))
    return sides


def _field_rule(offset: float, q0: float, s2: float, chi: float, ceiling: float, step: float) -> GaussianRule:
    """The rule for ∫Dz that resolves the edge of A at μ = 0 and, with errors, the switch from satisfied to wrong."""
    if q0 == 0:
        return rule_for(1.0, step)
    unit = np.sqrt(q0)
    edge = np.sqrt(s2) / unit
    if np.isfinite(ceiling):
        # Beyond μ_* = v*√(1 + s²/χ) an error weighs more; A has zeros at a distance π(χ + s²)/μ_* from the real axis.
        switch = ceiling * np.sqrt(1 + s2 / chi)
        width = min(np.sqrt(s2), np.pi * (chi + s2) / switch) / unit
        return focused_rule((-offset / unit, (switch - offset) / unit), (edge, width), step)
    return rule_for(edge, step, -offset / unit)


class PatternMeans(NamedTuple):
    """Everything that the equations take from the patterns; each mean is over z and over classes.

    The first five hold the mean and its derivatives by (ln χ, q₀, b, ln v*).
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
    """Sums over the classes."""
    root = float(np.sqrt(rho))
    parts: Any = [_class_means(one, ensemble.margin * root / rho, root) for one in sides]
    return PatternMeans._make(map(sum, zip(*parts, strict=True)))


def _class_means(one: ClassSide, by_norm: float, root_rho: float) -> PatternMeans:
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

    def averaged(value: Array, by_chi: Array, by_mu: Array, by_top: Array, by_q0: float = 0.0) -> Array:
        moved = mean(r1 / chi * by_mu) + by_q0
        return np.array([mean(value), mean(by_chi), moved, mean(by_mu) * (one.sign * root_rho), mean(by_top)])

    first = averaged(r1, r1_chi, r1_mu, r1_top)
    extra = mean(r1_mu**2)  # the F'G' of a product
    return PatternMeans(
        isostatic=averaged(net, net_chi, net_mu, net_top) + by_norm * first,
        square=averaged(r1**2, 2 * r1 * r1_chi, 2 * r1 * r1_mu, 2 * r1 * r1_top, extra),
        variance=averaged(var, var_chi, var_mu, var_top, -extra),
        by_threshold=one.sign * first,
        wrong=averaged(zero + side.wrong, wrong_chi, wrong_mu, wrong_top),
        first=float(first[0]),
        tight=mean(side.tight),
        log_a=mean(side.log_a),
        heat=mean(side.curvature + side.slope**2),
        curvature_square=mean(side.curvature**2),
    )


@dataclass(frozen=True)
class SupportMeans:
    """Everything that the equations take from the variables; arrays hold a mean and its derivatives by (ln χ, K, v, ln F₀)."""

    chosen: Array  # p
    rejected: float  # 1 − p
    norm: Array  # p (u²/d² + V/(E d))
    overlap: Array  # (p u/d)²
    log_one_plus: float  # ln(1 + e^{−K}B)
    curvature_square: float  # f''²


def support_on_rule(F0: float, E: float, d: float, K: float, step: float) -> tuple[SupportSide, GaussianRule]:
    """The support side on nodes that resolve where p(u) switches on."""
    switch = K - 0.5 * np.log(E / d)
    if F0 == 0 or switch < _SHARP:
        # p(u) has poles near the real axis where it switches on, far from u = 0 when ρ is small: half the step resolves them.
        rule = rule_for(np.sqrt(d / F0) if F0 > 0 else 1.0, step / 2)
    else:
        # The poles, at u²/2d = switch ± iπ, are as near as this to the real axis.
        at = np.sqrt(2 * d * switch / F0)
        rule = focused_rule((-at, 0.0, at), (at * np.pi / (2 * switch), np.sqrt(d / F0), at * np.pi / (2 * switch)), step)
    return support_side(np.sqrt(F0) * rule.nodes, E, d, K), rule


def support_means(F0: float, E: float, v: float, K: float, step: float) -> SupportMeans:
    """The averages at V = E/(1 + e^{−v}), d = E/(1 + e^v)."""
    V, d = E * expit(v), E * expit(-v)
    side, rule = support_on_rule(F0, E, d, K, step)

    def mean(values: Array) -> float:
        return float(rule.mean(values))

    p, pr, w, u2 = side.chosen, side.chosen * side.rejected, (side.u / side.d) ** 2, side.u**2
    spread = w + V / (E * d)
    chosen, overlap = mean(p), mean(p**2 * w)
    by_chi, by_k, by_v, by_f0 = np.eye(4)
    by_d = -by_chi - expit(v) * by_v  # of ln d
    flat = 0.5 * expit(v) * by_v - by_k
    square = (by_f0 - by_d) / (2 * d)
    dw = by_f0 - 2 * by_d
    dspread = V / (E * d) * (by_chi + by_v)

    def by_log_odds(values: Array) -> Array:
        return mean(values) * flat + mean(values * u2) * square

    return SupportMeans(
        chosen=np.append(chosen, by_log_odds(pr)),
        rejected=mean(side.rejected),
        norm=np.append(mean(p * spread), by_log_odds(pr * spread) + mean(p * w) * dw + chosen * dspread),
        overlap=np.append(overlap, by_log_odds(2 * p * pr * w) + overlap * dw),
        log_one_plus=mean(side.log_one_plus),
        curvature_square=mean(side.curvature**2),
    )
