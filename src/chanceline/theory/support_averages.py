"""Averages over the variables, over their Gaussian field z.

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
    """The order parameters that the law of a variable depends on, numbers or Duals; E = V + d."""

    F0: Numbers  # variance of the mean field u
    V: Numbers  # variance of the field h around u
    d: Numbers  # E − V > 0, where a field h gives the weight w = h/E
    K: Numbers  # price of a chosen variable: the odds have the factor e^{−K}


def variable_law_at_nodes(
    parameters: VariableParameters, step: float, signed: bool
) -> tuple[VariableLaw, GaussianRule]:
    """The law of a variable (`variable_law`) at the nodes z of ∫Dz, and the rule they belong to.

    The mean field on a variable is u = √F₀ z, z a standard Gaussian. The nodes are fine where the
    probability that the variable is chosen rises from nearly 0 to nearly 1.

    Parameters
    ----------
    parameters
        Order parameters, numbers or Duals.
    step
        Distance of the nodes in the stretched variable of the quadrature.
    signed
        Whether the sign of each weight is given.
    """
    # The nodes carry no derivatives, as the integral does not depend on where they lie.
    plain_parameters = VariableParameters._make(map(value_of, parameters))
    rule = _rule_for_variables(plain_parameters, step, signed)
    law = variable_law(
        mean_field=sqrt(parameters.F0) * rule.nodes,  # u
        field_variance=parameters.V,
        net_stiffness=parameters.d,
        price=parameters.K,
        signed=signed,
    )
    return law, rule


def _rule_for_variables(parameters: VariableParameters, step: float, signed: bool) -> GaussianRule:
    """Nodes and weights of ∫Dz, fine where a variable goes from rejected to chosen.

    At the mean field u = √F₀ z a variable is chosen with the log-odds u²/2d − switch, where
    switch = K − ½ ln(E/d): K is the price of a variable and E = V + d. Short steps are needed

    - around u = 0,
    - around u = ±√(2d·switch), where the log-odds are 0, if the switch is large.

    With `signed` the sign of each weight is given. `step` is the distance of nodes in the stretched
    variable of the quadrature.
    """
    if parameters.F0 == 0:
        return rule_for(1.0, step / 2)  # u = 0 for all z: there is nothing to resolve

    centre_width = _width_at_zero(parameters, signed)
    switch = parameters.K - 0.5 * np.log1p(parameters.V / parameters.d)  # K − ½ ln(E/d)
    if switch < _SHARP_SWITCH:
        # The switch is smooth enough for a rule of half the step.
        return rule_for(centre_width, step / 2)

    # Where the log-odds are 0, in units of z, and over which length they rise there. The length is
    # the distance of the poles of the probability from the real axis: the log-odds are ±iπ at them,
    # so u = √(2d(switch ± iπ)) ≈ √(2d·switch)(1 ± iπ/2switch).
    switch_position = np.sqrt(2 * parameters.d * switch / parameters.F0)
    switch_width = switch_position * np.pi / (2 * switch)
    return focused_rule(
        centres=(-switch_position, 0.0, switch_position),
        sizes=(switch_width, centre_width, switch_width),
        step=step,
    )


def _width_at_zero(parameters: VariableParameters, signed: bool) -> float:
    """The distance in z = u/√F₀ over which the odds B(u) of choosing change around u = 0.

    u is the mean field of a variable, F₀ its variance, V that of the field around u, and E = V + d.
    B grows as e^{u²/2d}, on the scale √d. With given signs it has the factor
    Φ(u√(E/(V d))), too, by which the weight switches on: on the smaller scale √(V d/E).
    """
    V = parameters.V
    d = parameters.d
    square_scale = d
    if signed:
        square_scale = d * (V / (V + d))
    return float(np.sqrt(square_scale / parameters.F0))


def variable_means(
    parameters: VariableParameters, step: float, signed: bool = False
) -> VariableMeans:
    """The averages over all variables that the saddle equations need, in units where E = V + d = 1.

    `VariableMeans` says what each of them is. They are taken over the Gaussian mean field of the
    variables, with a quadrature of step `step`. `signed` tells whether the sign of each weight is
    given.
    """
    law, rule = variable_law_at_nodes(parameters, step, signed)
    weights = rule.weights
    mean_square_weight = square(law.mean_weight) + law.weight_variance  # ⟨w²⟩ at each node
    chosen_share = weighted_sum(weights, law.p_chosen)
    nonzero_share = chosen_share  # with free signs every chosen variable has a weight
    if signed:
        nonzero_share = weighted_sum(weights, law.p_chosen * law.p_nonzero)

    # The last three means serve stability alone. No equation is solved for them, so they need no
    # derivatives.
    plain_law = law.without_differentials()
    curvature = plain_law.curvature  # f''
    p_chosen_nonzero = plain_law.p_chosen * plain_law.p_nonzero  # chosen, with a weight
    return VariableMeans(
        chosen=chosen_share,
        rejected=weighted_sum(weights, law.p_rejected),
        nonzero=nonzero_share,
        norm=weighted_sum(weights, law.p_chosen * mean_square_weight),
        overlap=weighted_sum(weights, square(law.slope)),
        log_partition=weighted_sum(weights, law.log_partition),
        curvature_square=weighted_sum(weights, curvature**2),
        nonzero_square=weighted_sum(weights, p_chosen_nonzero**2),
        curvature_nonzero=weighted_sum(weights, curvature * p_chosen_nonzero),
    )
