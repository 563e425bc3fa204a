"""Patterns and variables with breaking: recursions from the closed forms, and averages.

The patterns descend from g_k = ln A with s² = ρ − p_k (`patterns`), the variables from
f_k = ln(1 + e^{−K}B), where e^{−K}B = e^{u²/2d − switch} (`supports`) with d = E − F₁ + G_k and
switch = K − ½ ln(E/d). `parisi` has the recursion.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import entr, expit

from chanceline.theory.newton import OutsideDomain
from chanceline.theory.parisi import (
    FIELD_REACH,
    Grid,
    Recursion,
    descending_scales,
    focused_grid,
    gaussian_steps,
    recurse,
    uniform_grid,
)
from chanceline.theory.patterns import PatternLaw, pattern_law
from chanceline.theory.quadrature import Array

# Grid points in the width s of the edge of A, and in the distance from the real axis of the zero
# that limits the variables; with these the error is near rounding (tests compare finer grids).
_POINTS_PER_PATTERN_EDGE = 4.5
_POINTS_PER_ZERO_DISTANCE = 5.5
# The step is fine up to this many widths s from the edge of A.
_PATTERN_FOCUS = 3
# The smallest d_i as a share of d that the grids of the variables are made for.
_SMALLEST_SCALE = 1e-3


def pattern_recursion(  # noqa: PLR0913
    overlaps: Array,
    breaks: Array,
    chi: float,
    rho: float,
    *,
    offset: float = 0.0,
    fineness: float = 1.0,
) -> tuple[PatternLaw, Recursion]:
    """Compute the log-weight g_i(u) of a pattern of one class, on levels i = 0 … k of groups.

    Choices of variables (supports) fall into groups within groups; the groups on level k are the
    smallest. Each support has a rule, which violates the constraint of the pattern (a sample) by v.
    u is the part of v that is the same for all supports of one group on level i. The weight of a
    pattern falls with its violation. On level k, inside a smallest group, v ~ N(u, s²), and g_k is
    the logarithm of the mean weight over v (`pattern_law`). The functions on the lower levels
    follow from it by averages over the part of u that is not known there (`recurse`):

        g_{i−1}(u) = (1/x_i) ln ∫du' N(u' − u; p_i − p_{i−1}) exp[x_i g_i(u')].

    Parameters
    ----------
    overlaps : (k + 1,)
        Overlaps p₀ < … < p_k < ρ of the weights on two supports, by level: the variances of u.
    breaks : (k,)
        Break points 0 < x₁ < … < x_k < 1, the sizes of the groups: exponents in the averages.
    chi
        χ > 0: a violation v > 0 has the weight e^{−v²/2χ}.
    rho
        ρ, the share of variables that are chosen. It is also |w|² per variable.
    offset
        Mean of the violation in this class.
    fineness
        Grids are finer by this factor.

    Returns
    -------
    top_law
        Weight and correction of a pattern on level k, at the nodes of its grid.
    recursion
        g_i, its slope and the weights (the distribution of u) on the grid of each level.
    """
    violation_variance = rho - overlaps[-1]  # s², of v around u on level k
    is_increasing = np.all(np.diff(overlaps, prepend=0.0) > 0)  # 0 < p₀ < … < p_k
    if not (chi > 0 and violation_variance > 0 and is_increasing):
        raise OutsideDomain("χ > 0 and 0 < p₀ < … < p_k < ρ are needed")

    # Grids are centred at u = 0, the boundary between satisfied and violated patterns. They must
    # cover the distribution of u, whose mean is `offset`.
    reach = FIELD_REACH * np.sqrt(overlaps[-1]) + abs(offset)
    grids = _pattern_grids(
        overlaps=overlaps,
        breaks=breaks,
        s2=violation_variance,
        chi=chi,
        reach=reach,
        fineness=fineness,
    )

    # u is Gaussian with the mean `offset` and, on level i, the variance p_i (`overlaps`).
    top_law = pattern_law(mu=grids[-1].nodes, s2=violation_variance, chi=chi)
    recursion = recurse(
        grids,
        top_values=top_law.log_mean_weight,  # g_k
        top_slopes=top_law.slope,  # dg_k/du
        variances=overlaps,
        breaks=breaks,
        centre=offset,
    )
    return top_law, recursion


def _pattern_grids(  # noqa: PLR0913
    overlaps: Array, breaks: Array, s2: float, chi: float, *, reach: float, fineness: float
) -> list[Grid]:
    """Return grids of u from −`reach` to `reach` for numerical integrals, one per level 0 … k.

    u is what is known of the violation v of a pattern on a level. The integrands are

        on the levels 0 … k − 1    a Gaussian density of u, given u on the level below, times a
                                   function that is as smooth,
        on the top level k         a Gaussian density of u times A(u)^x. A is the mean weight of the
                                   pattern: v ~ N(u, s²) has the weight e^{−v²/2χ} if v > 0, else 1.

    `overlaps` has the variances of u by level, (k + 1,), and `breaks` the break points, (k,), of
    which the last one is the exponent x (without any x is 1). Grids are finer than usual by the
    factor `fineness`.
    """
    steps_of_gaussians = gaussian_steps(overlaps) / fineness  # short enough for these, (k + 1,)
    lower_grids = [uniform_grid(reach, step) for step in steps_of_gaussians[:-1]]

    # At large u A falls like the Gaussian e^{−u²/2(s² + χ)}, the mean of e^{−v²/2χ} over v. The
    # product with the density is narrower than the density, and its step shorter, by this factor.
    narrowing_factor = _narrowing_by_patterns(overlaps, breaks, decay_variance=s2 + chi)
    coarse_step = steps_of_gaussians[-1] * narrowing_factor

    # Around u = 0 A starts to fall from 1 over the width s of v: the steps are even shorter there.
    edge_width = np.sqrt(s2)  # s
    fine_step = edge_width / _POINTS_PER_PATTERN_EDGE / fineness
    top_grid = focused_grid(
        reach,
        fine=fine_step,
        coarse=coarse_step,
        focus=_PATTERN_FOCUS * edge_width,  # steps are fine up to this |u|
    )
    return [*lower_grids, top_grid]


def _narrowing_by_patterns(overlaps: Array, breaks: Array, decay_variance: float) -> float:
    """The width of the last Gaussian of the field u times A(u)^x, relative to its own width.

    The last Gaussian, e^{−u²/2V}, has the variance V = p_k − p_{k−1}, or p₀ without breaking. On
    the top level A^x stands beside it, with the break point x = x_k, or 1 without breaking. Far on
    the violated side the weight A of a pattern falls as e^{−u²/2c}, c = `decay_variance`. Then

        e^{−u²/2V} e^{−x u²/2c} = e^{−u²/2V'},    1/V' = 1/V + x/c,    V'/V = c/(c + xV).

    `overlaps` are the variances p₀ … p_k of u by level, `breaks` the break points x₁ … x_k.
    """
    last_break = 1.0  # without breaking
    if len(breaks):
        last_break = breaks[-1]
    last_variance = np.diff(overlaps, prepend=0.0)[-1]  # V
    return float(np.sqrt(decay_variance / (decay_variance + last_break * last_variance)))


class ChoiceLaw(NamedTuple):
    """A variable with free sign at each field u: whether it is chosen, and its mean weight then.

    It is chosen with probability p, of log-odds ln(e^{−K}B) = u²/2d − switch. Arrays are (nodes,).
    """

    log_partition: Array  # f = ln(1 + e^{−K}B)
    p_chosen: Array  # p
    p_rejected: Array  # 1 − p
    mean_weight: Array  # u/d, of its weight
    d: float

    @property
    def slope(self) -> Array:
        """f' = p u/d."""
        return self.p_chosen * self.mean_weight

    @property
    def curvature(self) -> Array:
        """f'' = p/d + p(1 − p)(u/d)², the derivative of p u/d, as dp/du = p(1 − p) u/d."""
        return self.p_chosen / self.d + self.p_chosen * self.p_rejected * self.mean_weight**2


def _choice_law(u: Array, d: float, switch: float) -> ChoiceLaw:
    """Whether a variable is chosen at the fields u, (nodes,), and its mean weight u/d then.

    The log-odds of choosing it are u²/2d − switch.
    """
    log_odds = u**2 / (2 * d) - switch
    return ChoiceLaw(
        log_partition=np.logaddexp(0.0, log_odds),
        p_chosen=expit(log_odds),
        p_rejected=expit(-log_odds),
        mean_weight=u / d,
        d=d,
    )


def support_recursion(
    multipliers: Array, breaks: Array, d: float, switch: float, *, fineness: float = 1.0
) -> tuple[ChoiceLaw, Recursion]:
    """Compute the log-weight f_i(u) of a variable, on levels i = 0 … k of groups.

    Choices of variables (supports) fall into groups within groups; the groups on level k are the
    smallest. In each support the patterns pull the weight of the variable by a number. u, the
    field, is the part of this number that is the same for all supports of one group on level i. The
    larger |u|, the more likely the variable is chosen. On level k the variable is rejected (weight
    1) or chosen (weight e^{u²/2d − switch}), and f_k is the logarithm of the sum. The functions on
    the lower levels follow from it by averages over the part of u that is not known there
    (`recurse`):

        f_{i−1}(u) = (1/x_i) ln ∫du' N(u' − u; G_i − G_{i−1}) exp[x_i f_i(u')].

    Parameters
    ----------
    multipliers : (k + 1,)
        Variances 0 < G₀ < … < G_k of u, by level: the Lagrange multipliers of the overlaps.
    breaks : (k,)
        Break points 0 < x₁ < … < x_k < 1, the sizes of the groups: exponents in the averages.
    d, switch
        On level k a variable is chosen with the log-odds u²/2d − switch. If it is chosen, its mean
        weight is u/d.
    fineness
        Grids are finer by this factor.

    Returns
    -------
    top_law
        Choice and weight of a variable on level k, at the nodes of its grid.
    recursion
        f_i, its slope and the weights (the distribution of u) on the grid of each level.
    """
    # At large u the functions f_i grow as u²/2d_i; the grids depend on these d_i.
    growth_scales = _growth_scales(multipliers, breaks, d)  # d₀ … d_k, (k + 1,)
    grids = _support_grids(
        multipliers=multipliers,
        breaks=breaks,
        growth_scales=growth_scales,
        switch=switch,
        fineness=fineness,
    )

    # u is Gaussian with the mean 0 and, on level i, the variance G_i (`multipliers`).
    top_law = _choice_law(grids[-1].nodes, d, switch)
    recursion = recurse(
        grids,
        top_values=top_law.log_partition,  # f_k
        top_slopes=top_law.slope,  # df_k/du
        variances=multipliers,
        breaks=breaks,
    )
    return top_law, recursion


def _growth_scales(multipliers: Array, breaks: Array, d: float) -> Array:
    """The scales d₀ … d_k, (k + 1,): on level i the log-weight of a variable grows as u²/2d_i.

    u is the field of the variable, with the variances G₀ … G_k by level (`multipliers`). d_k is
    `d`, and d_{i−1} = d_i − x_i(G_i − G_{i−1}) with the break points x₁ … x_k (`breaks`). Where a
    d_i is not positive the averages over u diverge: then OutsideDomain tells Newton to take a
    shorter step.
    """
    scales = descending_scales(d, breaks, multipliers)
    increasing = np.all(np.diff(multipliers, prepend=0.0) > 0)
    if not (increasing and scales.min() > _SMALLEST_SCALE * d):
        raise OutsideDomain("d > Σ x_i(G_i − G_{i−1}) and 0 < G₀ < … < G_k are needed")
    return scales


def _support_grids(
    multipliers: Array, breaks: Array, growth_scales: Array, switch: float, fineness: float
) -> list[Grid]:
    """Return grids of the field u of a variable for numerical integrals, one per level 0 … k.

    On level i the log-odds of choosing the variable are about u²/2d_i − switch. The log-weight of
    the variable, which is integrated, bends where they change sign: the steps must be short up to
    this |u|.

    How short is told by the singularities of the log-weight at complex u. The trapezoidal rule with
    the step h has an error of about e^{−2πa/h}, where a is the distance of the nearest singularity
    from the real axis. `_nearest_singularity` returns this singularity: its imaginary part is a,
    and its modulus is at least the |u| of the bend.

    Parameters
    ----------
    multipliers : (k + 1,)
        Variances of u.
    breaks : (k,)
        x₁ … x_k, exponents in the integrals.
    growth_scales : (k + 1,)
        d₀ … d_k: the log-weight on level i grows as u²/2d_i.
    switch
        The value of u²/2d_i at which the log-odds are about 0.
    fineness
        Grids are finer than usual by this factor.
    """
    reach = FIELD_REACH * np.sqrt(_tilted_variance(multipliers, growth_scales))
    coarse_steps = gaussian_steps(multipliers) / fineness  # resolve the Gaussians between levels

    # With a negative switch a variable is likely chosen at every u; the grids for 0 are fine
    # enough.
    nonnegative_switch = max(switch, 0.0)

    # The log-weight f_i on level i comes from averaging e^{x_{i+1} f_{i+1}}: its exponent is
    # x_{i+1}. The exponent on the top level is 1.
    exponents = np.append(breaks, 1.0)  # (k + 1,)

    grids = []
    for growth_scale, exponent, coarse_step in zip(
        growth_scales, exponents, coarse_steps, strict=True
    ):
        singularity = _nearest_singularity(growth_scale, nonnegative_switch, exponent)
        distance_from_axis = singularity.imag
        fine_step = distance_from_axis / _POINTS_PER_ZERO_DISTANCE / fineness
        grid = focused_grid(
            reach,
            fine=fine_step,
            coarse=coarse_step,
            focus=abs(singularity),  # steps are fine up to this |u|
        )
        grids.append(grid)
    return grids


def _tilted_variance(multipliers: Array, scales: Array) -> float:
    """The variance v_k of the field u at the top level k, where it is tilted to large values.

    The grids must reach as far. Level i has the function f_i ≈ u²/2d_i, and the tilt e^{x_i f_i}
    widens the field beyond its Gaussian of variance G_i. From a field u of level i − 1 the tilted
    Gaussian has the mean r u and the variance (G_i − G_{i−1}) r with r = d_i/d_{i−1}: completing
    the square, 1/(G_i − G_{i−1}) − x_i/d_i is 1/[(G_i − G_{i−1}) r]. So v₀ = G₀ and

        v_i = v_{i−1} r² + (G_i − G_{i−1}) r.

    `multipliers` are G₀ … G_k, `scales` are d₀ … d_k, both (k + 1,).
    """
    variance = multipliers[0]
    for i in range(1, len(multipliers)):
        ratio = scales[i] / scales[i - 1]
        variance = variance * ratio**2 + (multipliers[i] - multipliers[i - 1]) * ratio
    return float(variance)


def _nearest_singularity(scale: float, switch: float, exponent: float) -> complex:
    """The complex field u next to the real axis at which the log-weight of a variable is singular.

    On a level with the scale d and the exponent x (a break point, 1 at the top) it is about

        (1/x) ln(1 + e^{x(u²/2d − switch)}),

    the logarithm of a sum that vanishes where x(u²/2d − switch) = iπ. `switch` is at least 0.
    """
    return complex(np.sqrt(2 * scale * (switch + 1j * np.pi / exponent)))


class BrokenPatternMeans(NamedTuple):
    """Averages over the patterns; g_i is the log-weight of one on level i = 0 … k, with g_k = ln A.

    E_i is the average over the weight P_i of the field on level i.
    """

    tight: float  # E_k[p₊], p₊ the probability that a constraint is tight
    mean_correction: float  # E_k[R₁], R₁ the mean correction of a violated constraint
    curvature: float  # E_k[g_k'']
    entropy_term: float  # E_k[g_k + ½(s² + χ)g_k'²], the patterns' part of the entropy Σ over α
    mean_square_slopes: Array  # E_i[g_i'²], (levels,)
    mean_values: Array  # E_i[g_i], (levels,)
    top_square_curvature: float  # E_k[g_k''²]
    bottom_square_curvature: float  # E₀[g₀''²]
    edge_weight: float  # the largest weight at an end of a grid: what the grids cut off


class BrokenVariableMeans(NamedTuple):
    """Averages over the variables; f_i is the log-weight of one, and f_k = ln(1 + e^{−K}B).

    E_i is the average over the weight P_i of the field u on level i = 0 … k.
    """

    chosen: float  # E_k[p], p the probability that a variable is chosen
    rejected: float  # E_k[1 − p]
    weight_square: float  # E_k[p u²/d²], u/d the mean weight of a chosen variable
    choice_entropy: float  # E_k[H₂(p)]
    mean_square_slopes: Array  # E_i[f_i'²], (levels,)
    mean_values: Array  # E_i[f_i], (levels,)
    top_square_curvature: float  # E_k[f_k''²]
    bottom_square_curvature: float  # E₀[f₀''²]
    edge_weight: float  # the largest weight at an end of a grid: what the grids cut off


# The differences for the Jacobian move one coordinate at a time. Most coordinates enter only the
# averages over the patterns or only those over the variables: the others are in the cache.


@lru_cache(maxsize=64)
def broken_class_means(  # noqa: PLR0913
    overlaps: tuple[float, ...],
    breaks: tuple[float, ...],
    chi: float,
    rho: float,
    *,
    offset: float,
    fineness: float,
) -> BrokenPatternMeans:
    """Compute averages over the patterns of one class, for the equations of the theory.

    Choices of variables (supports) fall into groups within groups, on levels i = 0 … k; the groups
    on the top level k are the smallest. On level i a pattern has a field, the part of its violation
    that is the same for all supports of one group, and a log-weight g_i, a function of the field.
    Averages are over the distribution of the field on a level. The parameters are those of
    `pattern_recursion`, but as tuples instead of arrays: results are cached, and the arguments must
    be hashable.

    `curvature` in the result is g'', a second derivative by the field. `edge_weight` is the largest
    weight at an end of a grid, and shows how much the grids cut off.
    """
    top_law, recursion = pattern_recursion(
        overlaps=np.array(overlaps),
        breaks=np.array(breaks),
        chi=chi,
        rho=rho,
        offset=offset,
        fineness=fineness,
    )
    top_level = len(breaks)  # k

    def top_mean(values: Array) -> float:
        """The average over the field of the top level, of values at its nodes, (nodes,)."""
        return recursion.mean(top_level, values)

    # A pattern adds g_k + ½(s² + χ)g_k'² to the entropy inside a smallest group of supports. s² is
    # the variance of the violation around the field there, and 2χ the scale of the cost v²/2χ of a
    # violation v. The formula is (7) in the docstring of the module `rsb`.
    violation_variance = rho - overlaps[-1]  # s²
    slope_term = 0.5 * (violation_variance + chi) * top_law.slope**2
    entropy_of_pattern = top_law.log_mean_weight + slope_term  # (nodes,)

    # The recursion has values and slopes on all levels. The curvature is known on the top level,
    # and `bottom_curvature` takes it down to level 0.
    top_curvature = top_law.curvature  # g_k'', (nodes,)
    bottom_curvature = recursion.bottom_curvature(top_curvature)  # g₀'', at the nodes of level 0
    return BrokenPatternMeans(
        tight=top_mean(top_law.p_tight),
        mean_correction=top_mean(top_law.mean_correction),
        curvature=top_mean(top_curvature),
        entropy_term=top_mean(entropy_of_pattern),
        mean_square_slopes=recursion.mean_square_slopes,  # of each level, (k + 1,)
        mean_values=recursion.mean_values,  # of each level, (k + 1,)
        top_square_curvature=top_mean(top_curvature**2),
        bottom_square_curvature=recursion.mean(0, bottom_curvature**2),
        edge_weight=recursion.edge_weight,
    )


@lru_cache(maxsize=64)
def broken_variable_means(
    multipliers: tuple[float, ...],
    breaks: tuple[float, ...],
    d: float,
    switch: float,
    *,
    fineness: float,
) -> BrokenVariableMeans:
    """Compute averages over the variables, for the equations of the theory.

    Choices of variables (supports) fall into groups within groups, on levels i = 0 … k; the groups
    on the top level k are the smallest. In each support the patterns pull the weight of a variable
    by a number. On level i a variable has a field, the part of this number that is the same for all
    supports of one group, and a log-weight f_i, a function of the field. Averages are over the
    distribution of the field on a level.

    The parameters are those of `support_recursion`, but as tuples instead of arrays: results are
    cached, and the arguments must be hashable. On level k a variable in the field u is chosen with
    the log-odds u²/2d − switch.

    `curvature` in the result is f'', a second derivative by the field. `edge_weight` is the largest
    weight at an end of a grid, and shows how much the grids cut off.
    """
    top_law, recursion = support_recursion(
        multipliers=np.array(multipliers),
        breaks=np.array(breaks),
        d=d,
        switch=switch,
        fineness=fineness,
    )
    top_level = len(breaks)  # k

    def top_mean(values: Array) -> float:
        """The average over the field of the top level, of values at its nodes, (nodes,)."""
        return recursion.mean(top_level, values)

    # The entropy −p ln p − (1−p) ln(1−p) of choosing a variable with probability p, (nodes,).
    choice_entropy = entr(top_law.p_chosen) + entr(top_law.p_rejected)
    weight_square = top_law.p_chosen * top_law.mean_weight**2  # p·(mean weight if chosen)²

    # The recursion has values and slopes on all levels. The curvature is known on the top level,
    # and `bottom_curvature` takes it down to level 0.
    top_curvature = top_law.curvature  # f_k'', (nodes,)
    bottom_curvature = recursion.bottom_curvature(top_curvature)  # f₀'', at the nodes of level 0
    return BrokenVariableMeans(
        chosen=top_mean(top_law.p_chosen),
        rejected=top_mean(top_law.p_rejected),
        weight_square=top_mean(weight_square),
        choice_entropy=top_mean(choice_entropy),
        mean_square_slopes=recursion.mean_square_slopes,  # of each level, (k + 1,)
        mean_values=recursion.mean_values,  # of each level, (k + 1,)
        top_square_curvature=top_mean(top_curvature**2),
        bottom_square_curvature=recursion.mean(0, bottom_curvature**2),
        edge_weight=recursion.edge_weight,
    )
