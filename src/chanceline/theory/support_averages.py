"""Averages of the support side over the field z of the variables, with their derivatives.

A variable has the field u = √F₀ z. When E, V and F₀ are scaled together p does not change and E⟨w²⟩
neither: means are taken at E = 1, with derivatives by (K, v, ln F₀), v = ln(V/d). A solution G of
the heat equation over 1 + e^{−K}B, which is one too, has

    ∂G/∂V = ∂G/∂F₀ + f'G'  under ∫Dz  (a product F·G loses F'G'),    ∂G/∂F₀ = u G'/2F₀.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from chanceline.theory.quadrature import Array, GaussianRule, focused_rule, rule_for
from chanceline.theory.supports import SupportSide, support_side

# From this value of K − ½ ln(E/d) on, the switch between rejected and chosen variables needs a
# finer rule of its own.
_SHARP_SWITCH = 25.0


@dataclass(frozen=True)
class SupportMeans:
    """Everything that the equations take from the variables: means over z, at E = 1.

    p is the probability that a variable is chosen and w its weight then; ⟨·⟩ is the mean over w at
    one z. Arrays hold a mean and its derivatives by (K, v, ln F₀), v = ln(V/d), shape (4,).
    """

    chosen: Array  # p
    rejected: float  # 1 − p
    nonzero: Array  # p P(w ≠ 0)
    norm: Array  # p⟨w²⟩
    overlap: Array  # (p⟨w⟩)²
    log_one_plus: float  # ln(1 + e^{−K}B)
    curvature_square: float  # f''²


class SupportOrder(NamedTuple):
    """The order parameters on which the support side depends; E = V + d."""

    F0: float  # variance of the mean field u
    V: float  # variance of the field h around u
    d: float  # E − V > 0, where a field h gives the weight w = h/E
    K: float  # price of a chosen variable: the odds have the factor e^{−K}


def resolved_support_side(
    order: SupportOrder, step: float, signed: bool
) -> tuple[SupportSide, GaussianRule]:
    """The support side on nodes that resolve where p(u) switches on, and its rule for ∫Dz.

    u = √F₀ z is the mean field on a variable, p(u) the probability that it is chosen. `signed`:
    whether the sign of its weight is given; then the nodes resolve where the weight switches on,
    too. `step` is that of the quadrature.
    """
    rule = _rule_of_switch(order, step, signed)
    u = np.sqrt(order.F0) * rule.nodes
    return support_side(u, order.V, order.d, order.K, signed), rule


def _rule_of_switch(order: SupportOrder, step: float, signed: bool) -> GaussianRule:
    """The rule for ∫Dz that resolves the support side, a function of the mean field u = √F₀ z.

    A variable is chosen with the odds e^{−K}B(u); V is the variance of its field around u, and
    E = V + d. Around u = 0 it changes on the scale √d, that of B = √(E/d) e^{u²/2d}. With given signs the
    weight switches on there, as Φ(u√(E/(V d))) in B: on the scale √(V d/E).

    A variable is as likely chosen as rejected where ln B = K, that is at u²/2d = `switch` =
    K − ½ ln(E/d). The probability p(u) that it is chosen has poles where 1 + e^{−K}B = 0, at
    u²/2d = switch ± iπ. For a large switch this is u = position·(1 ± iπ/2switch) with
    position = √(2d·switch): at the distance position·π/2switch from the real axis.
    """
    F0, V, d, K = order
    if F0 == 0:
        return rule_for(1.0, step / 2)  # u = 0 for all z
    E = V + d
    square_scale = d
    if signed:
        square_scale = d * (V / E)
    edge = np.sqrt(square_scale / F0)  # of what changes around u = 0; in units of z, as all below

    switch = K - 0.5 * np.log1p(V / d)  # E/d = 1 + V/d
    if switch < _SHARP_SWITCH:
        # The poles are far enough from the real axis for a rule of half the step.
        return rule_for(edge, step / 2)
    position = np.sqrt(2 * d * switch / F0)
    pole_distance = position * np.pi / (2 * switch)
    return focused_rule(
        centres=(-position, 0.0, position),
        sizes=(pole_distance, edge, pole_distance),
        step=step,
    )


def support_means(F0: float, v: float, K: float, step: float, signed: bool = False) -> SupportMeans:
    """The averages at E = 1, V = 1/(1 + e^{−v}), d = 1/(1 + e^v), with v = ln(V/d).

    The functions averaged are products of p, ⟨w⟩ and moments of w; by the odds, that is by −K, and
    by the field u

        ∂p/∂(−K) = p(1 − p),    ∂p/∂u = p(1 − p)⟨w⟩,    ∂⟨w²⟩/∂u = 2⟨w⟩(1 + Var w) + third,

    the last one at E = 1, with the third central moment of w.
    """
    V = float(expit(v))
    d = float(expit(-v))
    side, rule = resolved_support_side(SupportOrder(F0, V, d, K), step, signed)
    u = np.sqrt(F0) * rule.nodes  # (nodes,), as every array below

    p = side.chosen
    p_rejected = side.chosen * side.rejected  # p(1 − p)
    w = side.mean  # ⟨w⟩
    nonzero = side.nonzero  # P(w ≠ 0)
    slope = side.slope  # f' = p⟨w⟩
    curvature = side.curvature  # f''
    square = w**2 + side.variance  # ⟨w²⟩
    square_slope = 2 * w * (1 + side.variance) + side.third

    def mean(values: Array) -> float:
        """∫Dz values."""
        return float(rule.mean(values))

    def with_derivatives(
        value: Array, by_odds: Array, by_u: Array, slope_product: float = 0.0
    ) -> Array:
        """The mean of a function G(u), of its derivative by −K and of G', as derivatives, (4,).

        By K, by v (V = s(v), so that dV/dv = V d at E = 1) and by ln F₀, with
        ∂G/∂F₀ = u G'/2F₀ and ∂G/∂V = ∂G/∂F₀ + f'G' − `slope_product`, F'G' of a product F·G.
        """
        by_log_f0 = 0.5 * mean(by_u * u)
        by_V = by_log_f0 / F0 + mean(by_u * slope) - slope_product
        by_v = V * d * by_V
        return np.array([mean(value), -mean(by_odds), by_v, by_log_f0])

    curvature_square = mean(curvature**2)
    return SupportMeans(
        chosen=with_derivatives(value=p, by_odds=p_rejected, by_u=p_rejected * w),
        rejected=mean(side.rejected),
        nonzero=with_derivatives(
            value=p * nonzero,
            by_odds=p_rejected * nonzero,
            by_u=p_rejected * w * nonzero + p * side.nonzero_slope,
        ),
        norm=with_derivatives(
            value=p * square,
            by_odds=p_rejected * square,
            by_u=p_rejected * w * square + p * square_slope,
        ),
        overlap=with_derivatives(
            value=slope**2,
            by_odds=2 * slope * p_rejected * w,
            by_u=2 * slope * curvature,
            slope_product=curvature_square,
        ),
        log_one_plus=mean(side.log_one_plus),
        curvature_square=curvature_square,
    )
