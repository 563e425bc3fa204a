"""Averages of the support side over the field z of the variables.

A variable has the mean field u = √F₀ z. When E, V and F₀ are scaled together p does not change and
E⟨w²⟩ neither: means are taken at E = 1. Given `Dual` order parameters they carry their derivatives.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from chanceline.theory.dual import Numbers, sqrt, square, value_of, weighted_sum
from chanceline.theory.quadrature import GaussianRule, focused_rule, rule_for
from chanceline.theory.supports import VariableLaw, variable_law

# A variable of field u is chosen with log-odds u²/2d − switch, switch = K − ½ ln(E/d). From this
# switch on the step from rejected to chosen variables is so sharp that it needs a rule of its own.
_SHARP_SWITCH = 25.0


class VariableMeans(NamedTuple):
    """Everything that the equations take from the variables: means over z, at E = 1.

    p is the probability that a variable is chosen and w its weight then; ⟨·⟩ is the mean over w at
    one z. All but the last three are Duals if the order parameters are.
    """

    chosen: Numbers  # p
    rejected: Numbers  # 1 − p
    nonzero: Numbers  # p P(w ≠ 0)
    norm: Numbers  # p⟨w²⟩
    overlap: Numbers  # (p⟨w⟩)²
    log_partition: Numbers  # ln(1 + e^{−K}B)
    curvature_square: float  # f''²
    nonzero_square: float  # [p P(w ≠ 0)]²
    curvature_nonzero: float  # f'' p P(w ≠ 0)


class VariableParameters(NamedTuple):
    """The order parameters on which the support side depends, numbers or Duals; E = V + d."""

    F0: Numbers  # variance of the mean field u
    V: Numbers  # variance of the field h around u
    d: Numbers  # E − V > 0, where a field h gives the weight w = h/E
    K: Numbers  # price of a chosen variable: the odds have the factor e^{−K}


def variable_law_at_nodes(
    order: VariableParameters, step: float, signed: bool
) -> tuple[VariableLaw, GaussianRule]:
    """Choice and weight of a variable at the nodes of ∫Dz, and that rule: nodes, weights.

    u = √F₀ z is the mean field on a variable, z a standard Gaussian. p(u) is the probability that
    the variable is chosen, which goes from nearly 0 to nearly 1 over a short range of |u|: the
    nodes are fine there. `order` has F₀, the variance V of the field around u, d, and the price K
    of a variable. With `signed` the sign of each weight is given; the nodes then resolve u = 0,
    too, where a weight begins. `step` is the distance of nodes in the stretched variable.
    """
    # The nodes are chosen by the numbers alone, without their differentials, and held in all
    # derivatives: the integral does not depend on them.
    values = VariableParameters._make(map(value_of, order))
    rule = _rule_for_variables(values, step, signed)
    law = variable_law(
        mean_field=sqrt(order.F0) * rule.nodes,  # u
        field_variance=order.V,
        net_stiffness=order.d,
        price=order.K,
        signed=signed,
    )
    return law, rule


def _rule_for_variables(order: VariableParameters, step: float, signed: bool) -> GaussianRule:
    """Nodes and weights of ∫Dz that resolve how a variable goes from rejected to chosen.

    The mean field on a variable is u = √F₀ z, and the odds that it is chosen are e^{−K}B(u) with
    B = √(E/d) e^{u²/2d}: V is the variance of its field around u, d = E − V, and K the price of
    choosing it. Two features need short steps: what changes around u = 0; and the switch from
    rejected to chosen, at ±u where e^{−K}B = 1, if a high price puts it far from 0. With `signed`
    the sign of each weight is given. `step` is the distance of nodes in the stretched variable.
    """
    if order.F0 == 0:
        return rule_for(1.0, step / 2)  # u = 0 for all z: there is nothing to resolve

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


def _width_at_zero(order: VariableParameters, signed: bool) -> float:
    """The distance in z = u/√F₀ over which the odds B(u) of choosing change around u = 0.

    u is the mean field of a variable, F₀ its variance, V that of the field around u, and E = V + d.
    B grows as e^{u²/2d}, on the scale √d. With given signs it has the factor
    Φ(u√(E/(V d))), too, by which the weight switches on: on the smaller scale √(V d/E).
    """
    V = order.V
    d = order.d
    square_scale = d
    if signed:
        square_scale = d * (V / (V + d))
    return float(np.sqrt(square_scale / order.F0))


def variable_means(order: VariableParameters, step: float, signed: bool = False) -> VariableMeans:
    """The averages over all variables that the saddle equations need, in units where E = V + d = 1.

    At each field, p is the probability that a variable is chosen (`chosen`), ⟨w⟩ and ⟨w²⟩ are mean
    and mean square of its weight then, and f = ln(1 + odds of choosing) is its log-weight, with the
    second derivative f'' by the field (`curvature`). All are averaged over the Gaussian field.
    `step` is that of the quadrature; `signed`: whether the sign of each weight is given.
    """
    law, rule = variable_law_at_nodes(order, step, signed)
    weights = rule.weights
    mean_square_weight = square(law.mean_weight) + law.weight_variance  # ⟨w²⟩
    mean_chosen = weighted_sum(weights, law.p_chosen)
    mean_nonzero = mean_chosen  # with free signs every chosen variable has a weight
    if signed:
        mean_nonzero = weighted_sum(weights, law.p_chosen * law.p_nonzero)

    # Stability is computed from the last three means. No equation is solved for them, so that they
    # need no derivatives.
    plain_law = law.without_differentials()
    curvature = plain_law.curvature  # f''
    p_chosen_nonzero = (
        plain_law.p_chosen * plain_law.p_nonzero
    )  # chosen, and of a weight that is not 0
    return VariableMeans(
        chosen=mean_chosen,
        rejected=weighted_sum(weights, law.p_rejected),
        nonzero=mean_nonzero,
        norm=weighted_sum(weights, law.p_chosen * mean_square_weight),
        overlap=weighted_sum(weights, square(law.slope)),
        log_partition=weighted_sum(weights, law.log_partition),
        curvature_square=weighted_sum(weights, curvature**2),
        nonzero_square=weighted_sum(weights, p_chosen_nonzero**2),
        curvature_nonzero=weighted_sum(weights, curvature * p_chosen_nonzero),
    )
