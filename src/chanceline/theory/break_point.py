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
from chanceline.theory.pattern_averages import PatternOrder, class_sides
from chanceline.theory.patterns import pattern_side
from chanceline.theory.quadrature import QUADRATURE_STEP, Array
from chanceline.theory.rs_branch import Branch
from chanceline.theory.rs_equations import Order, RSState
from chanceline.theory.support_averages import SupportOrder, resolved_support_side
from chanceline.theory.supports import support_side

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
    (`break_point`) is below 1. The branch of solutions is followed until the replicon, `between`,
    exceeds 1; the point where it is 1 lies between the last two.
    """
    branch = Branch(rho, ensemble)
    bracket = last_two_points(branch.from_entrance(lambda state: state.between > 1))
    return branch.point_where(bracket, lambda state: state.between - 1)


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
    """The break point x_c at which the solution with one step of breaking leaves the symmetric one:

        x_c = (αb E[g'''²] + a² E[f'''²]) / 2(αb E[g''³] + a² E[f''³]),

    with a = αE[g''²] and b = E[f''²]. g is the log-weight of a pattern and f that of a variable,
    as functions of their fields, over which E[·] averages; α is the load. It comes from the
    condition ab = 1 of the replicon line, differentiated along Parisi's flow.

    `critical` is the state on the replicon line (`replicon_line`) at the density ρ; `step` is that
    of the quadrature.
    """
    alpha = critical.alpha
    patterns = _pattern_moments(critical.order, rho, ensemble, step)
    variables = _variable_moments(critical.order, ensemble, step)
    a = alpha * patterns.square
    b = variables.square
    numerator = alpha * b * patterns.slope_square + a**2 * variables.slope_square
    half_denominator = alpha * b * patterns.cube + a**2 * variables.cube
    return numerator / (2 * half_denominator)


def _pattern_moments(order: Order, rho: float, ensemble: Ensemble, step: float) -> CurvatureMoments:
    """The moments of g'' and g''' over the patterns of all classes, g = ln A.

    A(μ) is the weight of a pattern of mean field μ = √q₀ z + θ_c, z a standard Gaussian: q₀ is the
    overlap of two supports, θ_c the offset of class c. Around μ the field has the variance
    s² = ρ − q₀, ρ the density, and a violation v costs v²/2χ.
    """
    pattern_order = PatternOrder(
        rho=rho,
        q0=order.q0,
        s2=rho - order.q0,
        chi=order.chi,
        threshold=order.threshold,
    )
    # The sides have nodes and weights of z. They are evaluated once more at fields that are Duals,
    # whose second derivative g'' carries the third.
    sides = class_sides(ensemble, pattern_order, step)
    offsets = ensemble.offsets(rho, order.threshold)
    total = np.zeros(3)  # the three moments, summed over classes: weights have their shares
    for class_side, (_, _, offset) in zip(sides, offsets, strict=True):
        field = np.sqrt(order.q0) * class_side.nodes + offset  # μ
        side = pattern_side(_with_unit_slope(field), pattern_order.s2, order.chi)
        total += _moments_of(side.curvature, class_side.weights)
    return CurvatureMoments(*total.tolist())


def _variable_moments(order: Order, ensemble: Ensemble, step: float) -> CurvatureMoments:
    """The moments of f'' and f''' over the variables, f = ln(1 + e^{−K}B).

    A variable of mean field u = √F₀ z, z a standard Gaussian, weighs e^{−K}B(u) if it is chosen and
    1 if not. K is its price; E, F₁ and F₀ are the multipliers of the norm of the weights, of the
    overlap within a support and of that between two, V = F₁ − F₀ and d = E − V.
    """
    support_order = SupportOrder(
        F0=order.F0, V=order.F1 - order.F0, d=order.E - order.F1 + order.F0, K=order.K
    )
    _, rule = resolved_support_side(support_order, step, ensemble.signed)
    # Fields as Duals: the second derivative f'' carries the third.
    field = np.sqrt(order.F0) * rule.nodes  # u
    side = support_side(
        u=_with_unit_slope(field),
        V=support_order.V,
        d=support_order.d,
        K=order.K,
        signed=ensemble.signed,
    )
    return _moments_of(side.curvature, rule.weights)


def _with_unit_slope(field: Array) -> Dual:
    """The field, (nodes,), as a Dual: what is computed of it carries its derivative by it."""
    return Dual(field, np.ones((1, len(field))))


def _moments_of(curvature: Dual, weights: Array) -> CurvatureMoments:
    """The moments of a second derivative g'' and of the third, g''', over the field.

    `curvature` is g'' at the nodes, (nodes,), a Dual whose differential by the field is g''';
    `weights` are those of the nodes, (nodes,).
    """
    third = curvature.differential[0]  # (nodes,)
    return CurvatureMoments(
        square=float(weights @ curvature.value**2),
        cube=float(weights @ curvature.value**3),
        slope_square=float(weights @ third**2),
    )


def jump_density(margin: float = 0.0) -> float:
    """ρ*(κ): at smaller densities symmetry between supports breaks by a jump.

    It is the density at which the break point x_c on the replicon line is 1; at smaller densities
    x_c is above 1. `margin` is κ in units of |w|, at most 1; the classes are equal. ρ* is 0.016949
    without a margin.
    """
    margin = real_number(margin, "margin")
    if not 0 <= margin <= _LARGEST_MARGIN_OF_LINE:
        raise InputError(
            f"margin must lie between 0 and {_LARGEST_MARGIN_OF_LINE:g} for the density where "
            f"symmetry begins to break by a jump, but is {margin!r}"
        )
    ensemble = Ensemble(margin=margin)

    def excess(logit_rho: float) -> float:
        """x_c − 1 at the density of this logit."""
        rho = float(expit(logit_rho))
        critical = replicon_line(rho, ensemble).state
        return break_point(critical, rho, ensemble) - 1

    # In the logit, as densities of interest differ by orders of magnitude.
    root = brentq(excess, logit(_LOWEST_DENSITY), logit(_HIGHEST_DENSITY), xtol=_TOLERANCE_OF_LOGIT)
    return float(expit(root))
