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

    A variable is chosen with the odds e^{−K}B(u), B = √(E/d) e^{u²/2d}: V is the variance of its
    field around u, d = E − V, and K the price of choosing it. Two features need resolving: what
    changes around u = 0, and, if a high price puts it far out, the switch from rejected to chosen.
    """
    if order.F0 == 0:
        return rule_for(1.0, step / 2)  # u = 0 for all z

    centre_width = _width_at_zero(order, signed)
    # A variable is as likely chosen as rejected where ln B = K, at u²/2d = switch.
    switch = order.K - 0.5 * np.log1p(order.V / order.d)  # K − ½ ln(E/d)
    if switch < _SHARP_SWITCH:
        # The poles of the switch are far enough from the real axis for a rule of half the step.
        return rule_for(centre_width, step / 2)

    # The probability of choosing has poles where 1 + e^{−K}B = 0, at u²/2d = switch ± iπ. For a
    # large switch √(switch ± iπ) ≈ √switch (1 ± iπ/2switch): the poles are beside the position
    # u = √(2d·switch), at π/2switch of it from the real axis.
    switch_position = np.sqrt(2 * order.d * switch / order.F0)  # in units of z
    pole_distance = switch_position * np.pi / (2 * switch)
    return focused_rule(
        centres=(-switch_position, 0.0, switch_position),
        sizes=(pole_distance, centre_width, pole_distance),
        step=step,
    )


def _width_at_zero(order: SupportOrder, signed: bool) -> float:
    """The distance in z = u/√F₀ over which the odds B(u) of choosing change around u = 0.

    B grows as e^{u²/2d}, on the scale √d. With given signs it has the factor Φ(u√(E/(V d))), too,
    by which the weight switches on: on the smaller scale √(V d/E), E = V + d.
    """
    V = order.V
    d = order.d
    square_scale = d
    if signed:
        square_scale = d * (V / (V + d))
    return float(np.sqrt(square_scale / order.F0))


def support_means(
    F0: float, log_V_over_d: float, K: float, step: float, signed: bool = False
) -> SupportMeans:
    """The averages over the variables at E = V + d = 1, with their derivatives.

    Each variable has a mean field u = √F₀ z. There p is the probability that it is chosen, w its
    weight then, and ⟨·⟩ the mean over w. f = ln(1 + e^{−K}B), with the odds e^{−K}B of choosing,
    has the slope f' = p⟨w⟩ by u.

    Parameters
    ----------
    F0
        Variance F₀ of the mean field.
    log_V_over_d
        v = ln(V/d), V the variance of the field around u and d = 1 − V.
    K
        Price of a chosen variable.
    step
        Step of the quadrature.
    signed
        Whether the sign of each weight is given.
    """
    V = float(expit(log_V_over_d))  # 1/(1 + e^{−v})
    d = float(expit(-log_V_over_d))  # 1/(1 + e^v) = 1 − V
    order = SupportOrder(F0, V, d, K)
    side, rule = resolved_support_side(order, step, signed)
    mean_field = np.sqrt(F0) * rule.nodes
    averages = _Averages(order=order, rule=rule, mean_field=mean_field, slope=side.slope)
    functions = _support_functions(side)

    # The overlap is a product of two expectations, f'·f': its derivative by V loses the mean of
    # f''·f''.
    curvature_square = averages.mean(side.curvature**2)
    return SupportMeans(
        chosen=averages.with_derivatives(functions.chosen),
        rejected=averages.mean(side.rejected),
        nonzero=averages.with_derivatives(functions.nonzero),
        norm=averages.with_derivatives(functions.norm),
        overlap=averages.with_derivatives(functions.overlap, slope_product=curvature_square),
        log_one_plus=averages.mean(side.log_partition),
        curvature_square=curvature_square,
    )


class _Function(NamedTuple):
    """A function G of the mean field u with two derivatives, at the nodes, each (nodes,)."""

    value: Array  # G
    by_log_odds: Array  # ∂G/∂(−K), as the log-odds of choosing are ln B − K
    by_u: Array  # G' = ∂G/∂u


class _SupportFunctions(NamedTuple):
    """The functions whose averages have derivatives; ⟨·⟩ is the mean over the weight w."""

    chosen: _Function  # p, the probability that a variable is chosen
    nonzero: _Function  # p P(w ≠ 0)
    norm: _Function  # p⟨w²⟩
    overlap: _Function  # (p⟨w⟩)²


def _support_functions(side: SupportSide) -> _SupportFunctions:
    """The functions averaged, at E = 1: products of p and of moments of w, with their derivatives.

    p is the probability that a variable is chosen, and w its weight then. Only p depends on the
    price K.
    """
    p = side.chosen
    mean_w = side.mean
    mean_w2 = mean_w**2 + side.variance
    p_nonzero = side.nonzero
    # p = 1/(1 + e^{−log odds}), and the log-odds ln B − K have the slope ⟨w⟩ by u.
    p_by_log_odds = side.chosen * side.rejected
    p_by_u = p_by_log_odds * mean_w
    # A change of u shifts w by as much, and tilts its law by e^{w·change}: any mean ⟨g(w)⟩ has the
    # slope ⟨g'⟩ + Cov(g, w). For g = w² that is 2⟨w⟩ + 2⟨w⟩ Var w + the third central moment.
    mean_w2_by_u = 2 * mean_w * (1 + side.variance) + side.third
    f_slope = side.slope  # f' = p⟨w⟩, f = ln(1 + e^{−K}B)
    return _SupportFunctions(
        chosen=_Function(value=p, by_log_odds=p_by_log_odds, by_u=p_by_u),
        nonzero=_Function(
            value=p * p_nonzero,
            by_log_odds=p_by_log_odds * p_nonzero,
            by_u=p_by_u * p_nonzero + p * side.nonzero_slope,
        ),
        norm=_Function(
            value=p * mean_w2,
            by_log_odds=p_by_log_odds * mean_w2,
            by_u=p_by_u * mean_w2 + p * mean_w2_by_u,
        ),
        overlap=_Function(
            value=f_slope**2,
            by_log_odds=2 * f_slope * p_by_log_odds * mean_w,
            by_u=2 * f_slope * side.curvature,
        ),
    )


class _Averages(NamedTuple):
    """Averages over z of functions of the mean field u = √F₀ z, at E = V + d = 1."""

    order: SupportOrder
    rule: GaussianRule
    mean_field: Array  # u at the nodes, (nodes,)
    slope: Array  # f' at the nodes, f = ln(1 + e^{−K}B), (nodes,)

    def mean(self, values: Array) -> float:
        """∫Dz values, for values at the nodes, (nodes,)."""
        return float(self.rule.mean(values))

    def with_derivatives(self, function: _Function, slope_product: float = 0.0) -> Array:
        """The mean of a function G(u) and its derivatives by K, v = ln(V/d) and ln F₀, (4,).

        A product G = X·Y of two expectations has the `slope_product` ∫Dz X'Y', where ' is ∂/∂u; a
        single expectation has 0.
        """
        F0 = self.order.F0
        # u = √F₀ z: ∂G/∂ln F₀ = ½ u G'.
        by_log_F0 = 0.5 * self.mean(function.by_u * self.mean_field)
        # Under the mean ∂G/∂V = ∂G/∂F₀ + f'G' − X'Y': G is a ratio of two solutions of the heat
        # equation ∂/∂V = ½ ∂²/∂u², the lower one is e^f, and ∂G/∂F₀ is the mean of ½G''.
        by_V = by_log_F0 / F0 + self.mean(function.by_u * self.slope) - slope_product
        # V = 1/(1 + e^{−v}), so that dV/dv = V(1 − V) = V d.
        by_v = self.order.V * self.order.d * by_V
        by_K = -self.mean(function.by_log_odds)
        return np.array([self.mean(function.value), by_K, by_v, by_log_F0])
