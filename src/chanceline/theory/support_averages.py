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
    curvature_times_nonzero: float  # f'' p P(w ≠ 0)


class VariableParameters(NamedTuple):
    """The order parameters that the law of a variable depends on, numbers or Duals; E = V + d."""

    F0: Numbers  # variance of the mean field u
    V: Numbers  # variance of the field h around u
    d: Numbers  # E − V > 0, where a field h gives the weight w = h/E
    K: Numbers  # price of a chosen variable: the odds have the factor e^{−K}


def variable_law_at_nodes(
    parameters: VariableParameters, step: float, signed: bool
) -> tuple[VariableLaw, GaussianRule]:
    """Describe how variables are chosen and weighted, at the nodes of an average over variables.

    The patterns pull the weight of a variable by a number, its field. Its mean u = √F₀ z differs
    from variable to variable, with a standard Gaussian z. An average over variables is therefore an
    average over z. The nodes z are chosen here, and `variable_law` (probability of choosing the
    variable, mean and variance of its weight) is evaluated at each.

    Parameters
    ----------
    parameters
        F₀, V, d and K: numbers or Duals (numbers with derivatives).
    step
        The step of the quadrature.
    signed
        Whether the sign of each weight is given.

    Returns
    -------
    law
        The result of `variable_law`, with arrays (nodes,).
    rule
        Nodes z and their weights, (nodes,).
    """
    # The nodes need no derivatives, because the integral does not depend on where they lie.
    plain_parameters = VariableParameters._make(map(value_of, parameters))
    rule = rule_for_variables(plain_parameters, step, signed)
    law = variable_law(
        mean_field=sqrt(parameters.F0) * rule.nodes,  # u
        field_variance=parameters.V,
        net_stiffness=parameters.d,
        price=parameters.K,
        signed=signed,
    )
    return law, rule


def rule_for_variables(parameters: VariableParameters, step: float, signed: bool) -> GaussianRule:
    """Choose nodes z and weights for averages over the variables, which are chosen or not.

    z is a standard Gaussian number, and √F₀ z is what the patterns pull the weight of a variable
    by, its mean field. The larger |z|, the more likely the variable is chosen. The nodes are dense
    where this probability changes quickly. `parameters` are plain numbers, without derivatives.
    `step` is the step of the quadrature, and `signed` says whether the sign of each weight is
    given.
    """
    if parameters.F0 == 0:
        # The mean field is 0 for all z, and nothing changes with z.
        return rule_for(1.0, step / 2)

    # A variable with mean field u is chosen with the log-odds u²/2d + ½ ln(E/d) − K, where K is its
    # price, E = V + d the stiffness of its weight and V the variance of its field. At u = 0 the
    # log-odds are −switch, so that
    #     switch = K − ½ ln(E/d) = K − ½ ln(1 + V/d).
    net_stiffness = parameters.d  # d
    log_of_stiffness_ratio = np.log1p(parameters.V / net_stiffness)  # ln(E/d)
    switch = parameters.K - 0.5 * log_of_stiffness_ratio
    width_at_zero = _width_at_zero(parameters, signed)
    if switch < _SHARP_SWITCH:
        # The probability changes so smoothly that nodes around 0 with half the usual step resolve
        # it.
        return rule_for(width_at_zero, step / 2)

    # The probability rises sharply on both sides of 0, at ±z. Each rise needs dense nodes.
    sharp_rise = _sharp_rise(switch, net_stiffness, parameters.F0)
    return focused_rule(
        centres=(-sharp_rise.z, 0.0, sharp_rise.z),
        sizes=(sharp_rise.width, width_at_zero, sharp_rise.width),
        step=step,
    )


class _SharpRise(NamedTuple):
    """Where the probability that a variable is chosen rises from nearly 0 to nearly 1."""

    z: float  # where it is ½, on the positive side
    width: float  # over which length of z it rises


def _sharp_rise(switch: float, d: float, F0: float) -> _SharpRise:
    """Where in z the variables of mean field u = √F₀ z come to be chosen, for a large `switch`.

    The log-odds of choosing one, u²/2d − switch, are 0 at u = √(2d·switch). Their slope there is
    u/d = 2·switch/u: over the length πu/2switch they rise by π, and the probability from 0.17 to
    0.83.
    """
    z = np.sqrt(2 * d * switch / F0)
    return _SharpRise(z=z, width=z * np.pi / (2 * switch))


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
    """Compute averages over all variables: share chosen, squared weight, and more.

    The equations of the theory compare these averages (`VariableMeans`) with the order parameters,
    their unknowns. The field h, by which the patterns pull the weight of a variable, has a mean u,
    which differs between variables. `variable_law` describes a variable at a given u: it is chosen
    with some odds, and then has a random weight w; a variable that is not chosen has the weight 0.
    f(u) = ln(1 + odds) is its log-weight, whose derivatives are

        f'  = the mean weight of a variable, chosen or not (`slope`),
        f'' = the response of this mean to the field (`curvature`).

    `parameters` are in units in which the stiffness E = V + d of the weights is 1 (w = h/E). `step`
    is the step of the quadrature, and `signed` says whether the sign of each weight is given.
    """
    law, rule = variable_law_at_nodes(parameters, step, signed)
    node_weights = rule.weights  # of the nodes u in an average over the variables, (nodes,)

    chosen_share = weighted_sum(node_weights, law.p_chosen)
    nonzero_share = chosen_share  # with free signs every chosen variable has a nonzero weight
    if signed:
        nonzero_share = weighted_sum(node_weights, law.p_chosen * law.p_nonzero)

    # The mean square of the weight of a variable at each u, and its square mean. On two choices of
    # variables the weights are independent at given u, so the latter is the mean of their product.
    mean_square_if_chosen = square(law.mean_weight) + law.weight_variance
    mean_square_weight = law.p_chosen * mean_square_if_chosen
    square_mean_weight = square(law.slope)

    # Stability depends on means of f'' and of the probability of a nonzero weight. They enter no
    # equation that Newton's method solves, so they are computed without derivatives.
    plain_law = law.without_differentials()
    curvature = plain_law.curvature  # f''
    p_nonzero = plain_law.p_chosen * plain_law.p_nonzero
    return VariableMeans(
        chosen=chosen_share,
        rejected=weighted_sum(node_weights, law.p_rejected),
        nonzero=nonzero_share,
        norm=weighted_sum(node_weights, mean_square_weight),
        overlap=weighted_sum(node_weights, square_mean_weight),
        log_partition=weighted_sum(node_weights, law.log_partition),  # mean of f
        curvature_square=weighted_sum(node_weights, curvature**2),
        nonzero_square=weighted_sum(node_weights, p_nonzero**2),
        curvature_times_nonzero=weighted_sum(node_weights, curvature * p_nonzero),
    )
