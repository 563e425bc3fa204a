"""Where symmetry between supports breaks, and how: continuously, or by a jump.

Replica symmetry is unstable from the load on where its replicon between supports is 1, the replicon
line. Differentiating that condition along Parisi's flow gives the break point at which the broken
solution leaves the symmetric one. With g = ln A of the patterns, f = ln(1 + e^{−K}B) of the
variables, a = αE[g''²] and b = E[f''²], where ab = 1 on the line,

    x_c = (αb E[g'''²] + a² E[f'''²]) / 2(αb E[g''³] + a² E[f''³]).

A break point is a probability. x_c < 1 means a continuous transition. For x_c > 1 there is none at
the line: symmetry has broken before, by a jump (`discontinuity`). Below the density ρ*, where
x_c = 1, it always does; `jump_density` has ρ* as a function of the margin.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit

from chanceline.errors import InputError, real_number
from chanceline.theory.continuation import last_two_points
from chanceline.theory.dual import Dual
from chanceline.theory.ensemble import PLAIN, Ensemble
from chanceline.theory.newton import Solved
from chanceline.theory.pattern_averages import PatternParameters, class_laws
from chanceline.theory.patterns import pattern_law
from chanceline.theory.quadrature import QUADRATURE_STEP, Array
from chanceline.theory.rs_branch import Branch
from chanceline.theory.rs_equations import OrderParameters, RSState
from chanceline.theory.support_averages import VariableParameters, rule_for_variables
from chanceline.theory.supports import variable_law

# ρ* is sought between these densities. It grows with the margin from 0.017 to about 0.54 and falls
# again; where the margin is larger than this its line was not looked at.
_LOWEST_DENSITY = 0.002
_HIGHEST_DENSITY = 0.7
_LARGEST_MARGIN_OF_LINE = 1.0
# How exactly the logit of ρ* is found.
_TOLERANCE_OF_LOGIT = 1e-11


def replicon_line(rho: float, ensemble: Ensemble = PLAIN) -> Solved[RSState]:
    """The replica-symmetric point at density ρ where the replicon between supports is 1.

    Above its load replica symmetry is unstable. Below, it is exact if the break point there
    (`break_point`) is below 1. The branch of solutions is followed until the replicon exceeds
    1; the point where it is 1 lies between the last two.
    """
    branch = Branch(rho, ensemble)
    bracket = last_two_points(branch.from_entrance(lambda state: state.replicon_between > 1))
    return branch.point_where(bracket, lambda state: state.replicon_between - 1)


class CurvatureMoments(NamedTuple):
    """Means over the field of powers of a second derivative, and of the third one's square.

    The function is g = ln A of the patterns or f = ln(1 + e^{−K}B) of the variables.
    """

    square: float  # E[g''²]
    cube: float  # E[g''³]
    slope_square: float  # E[g'''²]


def break_point(
    critical: RSState, rho: float, ensemble: Ensemble = PLAIN, step: float = QUADRATURE_STEP
) -> float:
    """The break point x_c with which breaking begins where replica symmetry becomes unstable.

    A break point is the probability that two supports belong to different groups. x_c < 1 means
    that groups form continuously there; x_c > 1 that they have formed before, by a jump. With the
    log-weights g of a pattern and f of a variable as functions of their fields, E[·] the averages
    over the fields, and the load α,

        x_c = (αb E[g'''²] + a² E[f'''²]) / 2(αb E[g''³] + a² E[f''³]),
        a = αE[g''²],    b = E[f''²].

    The product ab is the replicon between supports, which is 1 there. The formula follows from
    ab = 1, differentiated along the flow of Parisi's equation by which g and f change with x.

    `critical` is the state where the replicon is 1 (`replicon_line`) at the density ρ; `step` is
    that of the quadrature.
    """
    alpha = critical.alpha
    patterns = _pattern_curvature_moments(critical.order, rho, ensemble, step)  # of g
    variables = _variable_curvature_moments(critical.order, ensemble, step)  # of f
    a = alpha * patterns.square
    b = variables.square
    numerator = alpha * b * patterns.slope_square + a**2 * variables.slope_square
    half_denominator = alpha * b * patterns.cube + a**2 * variables.cube
    return numerator / (2 * half_denominator)


def _pattern_curvature_moments(
    order: OrderParameters, rho: float, ensemble: Ensemble, step: float
) -> CurvatureMoments:
    """Compute what the break point's formula needs of the patterns: means of g''², g''³, g'''².

    A rule violates the constraint of a pattern by an amount v ~ N(μ, s²). Each v has a weight: 1 if
    v < 0 (no violation), and less the larger v is. g(μ) is the logarithm of the mean weight over v
    (`pattern_law`); primes are derivatives by μ. The means of the result are over all patterns,
    whose μ has a Gaussian distribution in each class. `order` has the parameters of these
    distributions at density ρ (`rho`), and `step` is the step of the quadrature. The ensemble must
    allow no errors.

    g'' has a formula. g''' is its derivative, by a Dual: a number that carries its derivative
    through every formula it enters.
    """
    s2 = rho - order.q0  # s², the variance of a violation around its mean μ
    # The ceiling, above which violations are left as errors, keeps its default: infinity.
    parameters = PatternParameters(
        rho=rho, q0=order.q0, s2=s2, chi=order.chi, threshold=order.threshold
    )
    # Two lists with the classes in the same order.
    laws_of_classes = class_laws(ensemble, parameters, step)
    pattern_classes = ensemble.offsets(rho, order.threshold)

    means = np.zeros(3)  # of g''², g''³ and g'''²
    for class_law, pattern_class in zip(laws_of_classes, pattern_classes, strict=True):
        # In a class μ is Gaussian: √q₀ z + offset, here at the nodes z of the quadrature, (nodes,).
        mean_violation = np.sqrt(order.q0) * class_law.nodes + pattern_class.offset

        # μ enters as a Dual whose derivative by itself is 1, so `curvature`, which is g'', is a
        # Dual whose derivative is g'''.
        law = pattern_law(_dual_with_unit_derivative(mean_violation), s2, order.chi)
        second_derivative = law.curvature.value  # g'', (nodes,)
        third_derivative = law.curvature.differential[0]  # g''', (nodes,)

        # The weights have the share of the class as a factor, so the sum over classes is a mean.
        means += _curvature_moments(second_derivative, third_derivative, class_law.weights)

    square, cube, slope_square = means.tolist()
    return CurvatureMoments(square=square, cube=cube, slope_square=slope_square)


def _variable_curvature_moments(
    order: OrderParameters, ensemble: Ensemble, step: float
) -> CurvatureMoments:
    """Compute what the break point's formula needs of the variables: means of f''², f''³, f'''².

    The field on a variable sums up what the patterns demand of its weight; it is Gaussian with the
    mean u. The variable is chosen with certain odds, which depend on u (`variable_law`), and
    f(u) = ln(1 + odds); primes are derivatives by u. The means of the result are over all
    variables, whose u is Gaussian with the mean 0. `order` has the parameters of these
    distributions, and `step` is the step of the quadrature.

    f'' has a formula. f''' is its derivative, by a Dual: a number that carries its derivative
    through every formula it enters.
    """
    field_variance = order.F1 - order.F0  # V, the variance of the field around its mean u
    net_stiffness = order.E - order.F1 + order.F0  # d: the mean weight of a chosen variable is u/d
    parameters = VariableParameters(F0=order.F0, V=field_variance, d=net_stiffness, K=order.K)
    rule = rule_for_variables(parameters, step, ensemble.signed)

    # u = √F₀ z, at the nodes z of the quadrature, (nodes,).
    mean_field = np.sqrt(order.F0) * rule.nodes
    # u enters as a Dual whose derivative by itself is 1, so `curvature`, which is f'', is a Dual
    # whose derivative is f'''.
    law = variable_law(
        mean_field=_dual_with_unit_derivative(mean_field),
        field_variance=field_variance,
        net_stiffness=net_stiffness,
        price=order.K,
        signed=ensemble.signed,
    )
    second_derivative = law.curvature.value  # f'', (nodes,)
    third_derivative = law.curvature.differential[0]  # f''', (nodes,)
    return _curvature_moments(second_derivative, third_derivative, rule.weights)


def _dual_with_unit_derivative(field: Array) -> Dual:
    """The field, (nodes,), as a Dual: functions of it then carry their derivative by the field."""
    return Dual(field, np.ones((1, len(field))))


def _curvature_moments(
    second_derivative: Array, third_derivative: Array, weights: Array
) -> CurvatureMoments:
    """Average the square and the cube of a second derivative, and the square of the third one.

    All arrays are (nodes,); `weights` are those of the nodes.
    """
    return CurvatureMoments(
        square=float(weights @ second_derivative**2),
        cube=float(weights @ second_derivative**3),
        slope_square=float(weights @ third_derivative**2),
    )


def jump_density(margin: float = 0.0) -> float:
    """Find ρ*, the density below which separating choices of variables fall into groups by a jump.

    The choices are of ρN out of N variables. From some load on (patterns per variable) those that
    separate the patterns fall into groups of similar choices. Above ρ* the groups are alike at
    first and grow apart continuously; below ρ* they are distinct as soon as they exist. `margin`,
    between 0 and 1, is the margin of the rule in units of |w|; the two classes of patterns are
    equally large.

    ρ* is the root of x_c = 1. The break point x_c is the probability that two choices belong to
    different groups, at the load where the solution without groups becomes unstable. Its formula
    can give x_c > 1, which is no probability: then the groups have formed before, by a jump.
    """
    margin = real_number(margin, "margin")
    if not 0 <= margin <= _LARGEST_MARGIN_OF_LINE:
        raise InputError(
            f"margin must lie between 0 and {_LARGEST_MARGIN_OF_LINE:g} for the density where "
            f"symmetry begins to break by a jump, but is {margin!r}"
        )
    ensemble = Ensemble(margin=margin)

    def excess_break_point(logit_rho: float) -> float:
        """x_c − 1 at the density with this logit."""
        rho = float(expit(logit_rho))
        # The solution without groups, at the load where it becomes unstable.
        critical_state = replicon_line(rho, ensemble).state
        x_c = break_point(critical_state, rho, ensemble)
        return x_c - 1

    # The root is searched in logit ρ, because ρ* varies over orders of magnitude with the margin.
    lowest_logit = logit(_LOWEST_DENSITY)
    highest_logit = logit(_HIGHEST_DENSITY)
    root = brentq(excess_break_point, lowest_logit, highest_logit, xtol=_TOLERANCE_OF_LOGIT)
    return float(expit(root))
