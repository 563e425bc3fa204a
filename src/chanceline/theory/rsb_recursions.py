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
    """The log-weight g_i(u) of a pattern of one class, on all levels i = 0 … k of breaking.

    Supports (choices of variables) fall into groups within groups, and u is the part of a pattern's
    field that the supports of one group on level i share. Inside the smallest groups, on level k,
    the log-weight is g_k = ln A of `pattern_law`. `recurse` leads from there down to g₀, with a
    Gaussian density N:

        g_{i−1}(u) = (1/x_i) ln ∫du' N(u' − u; p_i − p_{i−1}) exp[x_i g_i(u')].

    On each level u has a density P_i(u), over which averages are taken.

    Parameters
    ----------
    overlaps : (k + 1,)
        Overlaps p₀ < … < p_k < ρ of the weights of two replicas, by level.
    breaks : (k,)
        Break points 0 < x₁ < … < x_k < 1.
    chi
        χ > 0, the response: a violation v of a constraint costs v²/2χ.
    rho
        ρ, the share of variables that are chosen, which is also the norm of the weights.
    offset
        Where the field of the class is centred.
    fineness
        Grids are finer by this factor.

    Returns
    -------
    top_law
        ln A and the law of the correction at the nodes of the top grid.
    recursion
        g_i, its slope and the density P_i on the grid of each level.
    """
    s2 = rho - overlaps[-1]  # s², the variance of the field within a smallest group
    increasing = np.all(np.diff(overlaps, prepend=0.0) > 0)  # 0 < p₀ < … < p_k
    if not (chi > 0 and s2 > 0 and increasing):
        raise OutsideDomain("χ > 0 and 0 < p₀ < … < p_k < ρ are needed")

    # Grids are centred at 0, where A has its edge, and must reach over the field around `offset`.
    reach = FIELD_REACH * np.sqrt(overlaps[-1]) + abs(offset)
    grids = _pattern_grids(
        overlaps=overlaps, breaks=breaks, s2=s2, chi=chi, reach=reach, fineness=fineness
    )
    top_law = pattern_law(grids[-1].nodes, s2, chi)
    recursion = recurse(
        grids,
        top_values=top_law.log_mean_weight,
        top_slopes=top_law.slope,
        variances=overlaps,
        breaks=breaks,
        centre=offset,
    )
    return top_law, recursion


def _pattern_grids(  # noqa: PLR0913
    overlaps: Array, breaks: Array, s2: float, chi: float, *, reach: float, fineness: float
) -> list[Grid]:
    """Grids of the field u of a pattern up to ±`reach`, one for each level 0 … k of breaking.

    On each level a function of u is integrated against Gaussians, and the narrowest Gaussian sets
    the step. Only on the top level does the function itself need shorter steps: a power of A(u),
    the mean weight of a pattern, which falls from 1 around u = 0 over the width s.

    Parameters
    ----------
    overlaps : (k + 1,)
        Variances p₀ … p_k of u, by level.
    breaks : (k,)
        Break points x₁ … x_k.
    s2, chi
        s², the variance of the violation of a pattern around u; a violation v costs v²/2χ.
    reach
        How far the grids go.
    fineness
        Grids are finer by this factor.
    """
    steps_of_gaussians = gaussian_steps(overlaps) / fineness  # (k + 1,)
    lower_grids = [uniform_grid(reach, step) for step in steps_of_gaussians[:-1]]

    # On the top grid the Gaussian is multiplied by a power of A and becomes narrower: A falls as
    # e^{−u²/2(s² + χ)} where u is large (`patterns`).
    narrowing = _narrowing_by_patterns(overlaps, breaks, decay_variance=s2 + chi)
    edge_width = np.sqrt(s2)
    top_grid = focused_grid(
        reach,
        fine=edge_width / _POINTS_PER_PATTERN_EDGE / fineness,
        coarse=steps_of_gaussians[-1] * narrowing,
        focus=_PATTERN_FOCUS * edge_width,
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
    """The log-weight f_i(u) of a variable, on all levels i = 0 … k of breaking.

    Supports (choices of variables) fall into groups within groups, and u is the part of a
    variable's field that the supports of one group on level i share. Inside the smallest groups, on
    level k, the variable is chosen with the log-odds u²/2d − switch, and its log-weight is
    f_k(u) = ln(1 + e^{u²/2d − switch}). `recurse` leads from there down to f₀, with a Gaussian
    density N:

        f_{i−1}(u) = (1/x_i) ln ∫du' N(u' − u; G_i − G_{i−1}) exp[x_i f_i(u')].

    On each level u has a density P_i(u), over which averages are taken.

    Parameters
    ----------
    multipliers : (k + 1,)
        Multipliers 0 < G₀ < … < G_k of the overlaps, by level.
    breaks : (k,)
        Break points 0 < x₁ < … < x_k < 1.
    d
        The mean weight of a chosen variable is u/d.
    switch
        K − ½ ln(E/d), with the price K of a variable and the multiplier E of the norm: what u²/2d
        must exceed for a variable to be likely chosen.
    fineness
        Grids are finer by this factor.

    Returns
    -------
    top_law
        f_k, the probability of choosing and the mean weight at the nodes of the top grid.
    recursion
        f_i, its slope and the density P_i on the grid of each level.
    """
    # For large u, f_i grows as u²/2d_i, where d_k = d and d_{i−1} = d_i − x_i(G_i − G_{i−1}). Where
    # a d_i is not positive the integrals diverge.
    scales = descending_scales(d, breaks, multipliers)  # d₀ … d_k
    increasing = np.all(np.diff(multipliers, prepend=0.0) > 0)  # 0 < G₀ < … < G_k
    if not (increasing and scales.min() > _SMALLEST_SCALE * d):
        raise OutsideDomain("d > Σ x_i(G_i − G_{i−1}) and 0 < G₀ < … < G_k are needed")

    grids = _support_grids(
        multipliers=multipliers, breaks=breaks, scales=scales, switch=switch, fineness=fineness
    )
    top_law = _choice_law(grids[-1].nodes, d, switch)
    recursion = recurse(
        grids,
        top_values=top_law.log_partition,
        top_slopes=top_law.slope,
        variances=multipliers,
        breaks=breaks,
    )
    return top_law, recursion


def _support_grids(
    multipliers: Array, breaks: Array, scales: Array, switch: float, fineness: float
) -> list[Grid]:
    """Grids of the field u of a variable, fine where it goes from rejected to chosen.

    There is one grid for each level i = 0 … k of breaking. The trapezoidal rule on it integrates
    the log-weight of a variable, which is about

        f_i(u) ≈ (1/x) ln(1 + e^{x(u²/2d_i − switch)}),    x = x_{i+1}, and 1 at the top.

    f_i is singular where 1 + e^{…} has a complex zero. With the step h the rule has an error of
    about e^{−2πa/h}, a the distance of the nearest zero from the real axis. So h is a fraction of a
    for |u| up to the size of this zero. Further out the Gaussians set the step.

    Parameters
    ----------
    multipliers : (k + 1,)
        Variances G₀ … G_k of the field, by level.
    breaks : (k,)
        Break points x₁ … x_k.
    scales : (k + 1,)
        d₀ … d_k of the levels.
    switch
        Where u²/2d_i exceeds it a variable is likely chosen.
    fineness
        Grids are finer by this factor.
    """
    reach = FIELD_REACH * np.sqrt(_tilted_variance(multipliers, scales))
    # Where the switch is negative every variable is likely chosen: the grids of switch 0 will do.
    nonnegative_switch = max(switch, 0.0)
    next_breaks = np.append(breaks, 1.0)  # x_{i+1} of level i
    coarse_steps = gaussian_steps(multipliers) / fineness

    grids = []
    for scale, next_break, coarse_step in zip(scales, next_breaks, coarse_steps, strict=True):
        complex_zero = _zero_of_switch(scale, nonnegative_switch, next_break)
        distance_from_real_axis = complex_zero.imag  # a
        grid = focused_grid(
            reach,
            fine=distance_from_real_axis / _POINTS_PER_ZERO_DISTANCE / fineness,
            coarse=coarse_step,
            focus=abs(complex_zero),
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


def _zero_of_switch(scale: float, switch: float, next_break: float) -> complex:
    """The complex field u where 1 + e^{x_{i+1}(u²/2d_i − switch)} vanishes, next to the real axis.

    On level i this sum switches from 1 to large values where the variable goes from rejected to
    chosen. It vanishes where its exponent is iπ, at u² = 2d_i (switch + iπ/x_{i+1}). The distance
    of this u from the real axis tells how fine a grid must be.

    Parameters
    ----------
    scale
        d_i: a chosen variable of field u gains u²/2d_i.
    switch
        What it must gain to be chosen, at least 0.
    next_break
        x_{i+1}, the break point above level i; 1 at the top.
    """
    return complex(np.sqrt(2 * scale * (switch + 1j * np.pi / next_break)))


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
    """The averages over the patterns of one class with k steps of breaking, on levels 0 … k.

    `BrokenPatternMeans` says what each of them is. g_i is the log-weight of a pattern on level i,
    as a function of its field (`pattern_recursion`).

    Parameters
    ----------
    overlaps : (k + 1,)
        Overlaps p₀ … p_k of two replicas of the support, by level.
    breaks : (k,)
        Break points x₁ … x_k.
    chi, rho
        The response χ, and the density ρ of chosen variables.
    offset
        Where the field of the class is centred.
    fineness
        Grids are finer by this factor.

    Results are cached: overlaps and breaks are tuples because they are keys of the cache.
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
    bottom_curvature = recursion.bottom_curvature(top_law.curvature)  # g₀''
    # What a pattern of a given field adds to the entropy of supports in a smallest group:
    # g_k + ½(s² + χ)g_k'². s² is the variance of the field among the supports of the group.
    s2 = rho - overlaps[-1]
    entropy_of_pattern = top_law.log_mean_weight + 0.5 * (s2 + chi) * top_law.slope**2
    return BrokenPatternMeans(
        tight=recursion.mean(top_level, top_law.p_tight),
        mean_correction=recursion.mean(top_level, top_law.mean_correction),
        curvature=recursion.mean(top_level, top_law.curvature),
        entropy_term=recursion.mean(top_level, entropy_of_pattern),
        mean_square_slopes=recursion.mean_square_slopes,
        mean_values=recursion.mean_values,
        top_square_curvature=recursion.mean(top_level, top_law.curvature**2),
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
    """The averages over the variables with k steps of breaking, on levels 0 … k.

    `BrokenVariableMeans` says what each of them is. f_i is the log-weight of a variable on level i,
    as a function of its field u (`support_recursion`).

    Parameters
    ----------
    multipliers : (k + 1,)
        Multipliers G₀ … G_k of the overlaps, the variances of the field u, by level.
    breaks : (k,)
        Break points x₁ … x_k.
    d
        The mean weight of a chosen variable is u/d.
    switch
        K − ½ ln(E/d), with the price K of a variable and the multiplier E of the norm: a variable
        is chosen with the log-odds u²/2d − switch.
    fineness
        Grids are finer by this factor.

    Results are cached: multipliers and breaks are tuples because they are keys of the cache.
    """
    top_law, recursion = support_recursion(
        multipliers=np.array(multipliers),
        breaks=np.array(breaks),
        d=d,
        switch=switch,
        fineness=fineness,
    )
    top_level = len(breaks)  # k
    bottom_curvature = recursion.bottom_curvature(top_law.curvature)  # f₀''
    # −p ln p − (1 − p) ln(1 − p), the entropy of choosing a variable with probability p.
    choice_entropy = entr(top_law.p_chosen) + entr(top_law.p_rejected)
    return BrokenVariableMeans(
        chosen=recursion.mean(top_level, top_law.p_chosen),
        rejected=recursion.mean(top_level, top_law.p_rejected),
        weight_square=recursion.mean(top_level, top_law.p_chosen * top_law.mean_weight**2),
        choice_entropy=recursion.mean(top_level, choice_entropy),
        mean_square_slopes=recursion.mean_square_slopes,
        mean_values=recursion.mean_values,
        top_square_curvature=recursion.mean(top_level, top_law.curvature**2),
        bottom_square_curvature=recursion.mean(0, bottom_curvature**2),
        edge_weight=recursion.edge_weight,
    )
