"""Replica symmetry at finite m > 0, φ(m), and the paper's own one step of breaking (appendix B).

φ(m) is the growth rate of Σ_c V(c)^m, with overlap q₁ between the m replicas of w within a support
and q₀ between supports; as m → 0 it tends to Σ. In appendix B the m replicas fall into groups of
size k, m < k < 1, with overlap q₂ within a group and q₁ between groups. Both are one function: with
levels 0 … L, break points x₁ = m (and x₂ = k), x₀ = 0 and x_{L+1} = 1, as n → 0,

    φ = αm E₀[g₀] + ∫Dz ln(1 + e^{−K}B) + Kρ + (m/2)[Q̂ρ + Σ_i (x_{i+1} − x_i) q̂_i q_i],

where g₀ comes from ln H(v/√(ρ−q_L)) by the recursion of `parisi`, and the part of the variables is
Gaussian all the way down:

    D_L = Q̂ + q̂_L = ρ/(ρ − q_L),    D_{i−1} = D_i − x_i(q̂_i − q̂_{i−1}),
    ln B = −(m/2) ln D_L + Σ_i (m/2x_i) ln(D_i/D_{i−1}) + m h₀²/2D₀,      h₀ = √q̂₀ z.

The saddle equations of appendix B have q₂ − q₁ = ρ(q̂₂ − q̂₁)/(D₂ D₁). For a fixed support the
feasible w form a convex cone and their measure is log-concave: it has one pure state, and no group
can exist. The numbers agree: whatever split is imposed, what the equations return is smaller
(`growth` < 1), so that the only solution is q₂ = q₁. For a small split `growth` is the paper's AT
product λλ̂ at finite m, below 1; it tends to 1 as m → 0 for α > 2ρ.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.special import expit, log_ndtr, logit

from chanceline.errors import InputError
from chanceline.theory.continuation import first_success, follow, last_point
from chanceline.theory.newton import Newton, OutsideDomain, Solved, check_logarithms
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
from chanceline.theory.quadrature import QUADRATURE_STEP, Array, GaussianRule, rule_for
from chanceline.theory.solution import Regime, RSSolution
from chanceline.theory.symmetric import solve_rs
from chanceline.theory.typical import mills

# Grid points per width of the edge of H, up to so many widths from it.
_POINTS_PER_EDGE = 6.0
_EDGE_FOCUS = 4
# Continuation in ln m begins at this m or smaller.
_FIRST_M = 1e-3
# Its first step is this factor of m; where the first point fails, m is smaller by this factor.
_M_FACTOR = 4
# So many first points are tried.
_M_ATTEMPTS = 7
# It gives up at this step of ln m.
_SMALLEST_STEP = 1e-2


@dataclass(frozen=True)
class FiniteMState:
    """Order parameters by level 0 … L and φ, at a point of the saddle equations.

    m is the number of replicas of the weights on one support. Without groups of them L = 1, else
    L = 2. `growth` is what the equation of q₂ − q₁ returns, relative to the split imposed; 1
    without groups.
    """

    q: Array  # overlaps: q₀ between supports, q₁ (and q₂) between replicas in one, (levels,)
    q_hat: Array  # their multipliers, (levels,)
    Q_hat: float  # multiplier of the norm of the weights
    K: float  # multiplier of the density: the price of a variable
    phi: float  # φ, the growth rate of Σ_c V(c)^m
    growth: float
    residual: Array  # relative errors of the three equations, (3,)


def volume_recursion(q: Array, breaks: Array, own_variance: float) -> Recursion:
    """Compute the log-probability g_i(v) that a pattern is on its side, on all levels i = 0 … L.

    The field of a pattern is its scalar product with a weight vector, a Gaussian number; a positive
    field is on the wrong side. The theory has m copies (replicas) of the weights on each choice of
    variables (support). v is the part of the field that several replicas have in common:

        level 0    all replicas, on any support,
        level 1    all replicas on one support,
        level 2    all replicas in one group of those on a support, if there are groups.

    The top level L is 1, or 2 with groups. Given v there, g_L is known; on the lower levels g_i
    follows by averages (`recurse`).

    Parameters
    ----------
    q : (L + 1,)
        Variances q₀ < … < q_L of v by level: the overlaps (scalar products) of two replicas.
    breaks : (L,)
        Exponents x₁ … x_L of the averages: the number m of replicas on a support and, with groups,
        the size of a group.
    own_variance
        ρ − q_L, the variance of the part of the field that each replica has of its own, where ρ is
        the variance of the whole field. It is a separate argument, because as m → 0 the
        subtraction would lose all digits.
    """
    is_increasing = np.diff(q, prepend=0.0).min() > 0  # 0 < q₀ < … < q_L
    if not (own_variance > 0 and is_increasing):
        raise OutsideDomain("0 < q₀ < q₁ < … < ρ is needed")
    grids = _field_grids(q, breaks, own_variance)

    # Given v on the top level, the field is N(v, ρ − q_L), and the pattern is on its side with
    # probability P(field < 0) = Φ(−t), t = v/√(ρ − q_L), where Φ is the normal distribution
    # function. It is written H(t) = Φ(−t), and the derivative of ln H is `mills`.
    field_sd = np.sqrt(own_variance)
    scaled_field = grids[-1].nodes / field_sd  # t
    top_values = log_ndtr(-scaled_field)  # g_L = ln H(t)
    top_slopes = mills(scaled_field) / field_sd  # dg_L/dv
    return recurse(grids, top_values=top_values, top_slopes=top_slopes, variances=q, breaks=breaks)


def _field_grids(q: Array, breaks: Array, own_variance: float) -> list[Grid]:
    """Return grids of the field v of a pattern, one for each level 0 … L, for numerical integrals.

    v is the part of the field that copies (replicas) of the weights share, on level i with the
    variance q_i. H(v) is the probability that the pattern is on its side; it falls from 1 to 0
    around v = 0. The integrands are

        on level 0            a Gaussian density of v,
        on level i = 1 … L    a Gaussian density of v, times about H(v)^x_i.

    A grid must reach far enough to cover v, and its steps must be short enough for the integrand.

    Parameters
    ----------
    q : (L + 1,)
        The variances q₀ … q_L.
    breaks : (L,)
        The exponents x₁ … x_L.
    own_variance
        ρ − q_L, the variance of the part of the field that each replica has of its own.
    """
    reach = FIELD_REACH * np.sqrt(q[-1])
    steps_of_gaussians = gaussian_steps(q)  # short enough for the Gaussians alone, (L + 1,)
    bottom_grid = uniform_grid(reach, steps_of_gaussians[0])

    # Far on the violated side H^x falls like a Gaussian. The product with the density is narrower
    # than the density by this factor, and needs shorter steps.
    narrowing_factors = _narrowing_of_levels(q, breaks, own_variance)  # of levels 1 … L, (L,)
    coarse_steps = steps_of_gaussians[1:] * narrowing_factors  # (L,)

    # Around v = 0 H falls from 1 to 0 over this width: the steps are even shorter there.
    edge_width = np.sqrt(own_variance)
    fine_step = edge_width / _POINTS_PER_EDGE
    upper_grids = [
        focused_grid(
            reach,
            fine=fine_step,
            coarse=coarse_step,
            focus=_EDGE_FOCUS * edge_width,  # steps are fine up to this |v|
        )
        for coarse_step in coarse_steps
    ]
    return [bottom_grid, *upper_grids]


def _narrowing_of_levels(q: Array, breaks: Array, own_variance: float) -> Array:
    """By which factor H^x narrows the Gaussian of the field v, on the levels 1 … L, (L,).

    `q` are the variances q₀ … q_L of v by level, `breaks` the break points x₁ … x_L, and H(v/√r)
    is the probability that a pattern of field v is satisfied, with r = ρ − q_L (`own_variance`).
    The Gaussian of level i, e^{−v²/2V}, has the variance V = q_i − q_{i−1}. On the violated side,
    far from 0, H^x falls as e^{−x v²/2r}, x = x_i. The product is a Gaussian of variance V' with

        1/V' = 1/V + x/r,    V'/V = r/(r + xV).
    """
    variance_parts = np.diff(q)  # V of each level
    return np.sqrt(own_variance / (own_variance + breaks * variance_parts))


class SupportLaw(NamedTuple):
    """One variable, at the nodes z of its Gaussian field h₀ = √q̂₀ z."""

    precisions: Array  # D₀ … D_L: on level i the weight is Gaussian with mean h_i/D_i
    log_odds: Array  # ln(e^{−K}B), the log-odds that the variable is chosen, (nodes,)
    mean_weight_square: Array  # (h₀/D₀)², the square of its mean weight, (nodes,)
    weights: Array  # of the nodes in ∫Dz, (nodes,)


def support_law(
    top_precision: float, multipliers: Array, price: float, breaks: Array
) -> SupportLaw:
    """Compute the log-odds that a variable is chosen, and its mean weight if it is.

    Both are functions of the field h₀ of the variable, a Gaussian number by which the data pull its
    weight on all choices of variables (supports) alike:

        log-odds = ln B(h₀) − K,    ln B(h₀) = m h₀²/2D₀ + constant,
        mean weight = h₀/D₀.

    K is the price of a variable, m the number of copies (replicas) of the weights on each support,
    and D₀ the precision of a weight, given h₀. Both are computed at the nodes of a quadrature rule,
    for averages over h₀.

    D₀ and the constant come from fields that only some replicas have in common: h₁ those on one
    support, and h₂ those in one group of replicas, if there are groups. Given h_i on level
    i = 0 … L, a weight has the mean h_i/D_i. D_L is known, and the others follow downwards:

        D_{i−1} = D_i − x_i(q̂_i − q̂_{i−1}).

    Parameters
    ----------
    top_precision
        D_L: one over the variance of a weight, given its field h_L on the top level L.
    multipliers : (L + 1,)
        Variances q̂₀ … q̂_L of the fields h_i.
    price
        K, the price of a variable.
    breaks : (L,)
        x₁ = m, and x₂, the size of a group of replicas, if there are groups.

    Returns
    -------
    SupportLaw
        D₀ … D_L, the log-odds and the squared mean weight at the nodes, (nodes,), and the weights
        of the nodes in the average over h₀.
    """
    precisions = descending_scales(top_precision, breaks, multipliers)  # D₀ … D_L
    bottom_precision = precisions[0]  # D₀
    # The D_i decrease towards level 0. B diverges if D₀ is not positive.
    if not 0 < bottom_precision <= top_precision:
        raise OutsideDomain("D_L ≥ … ≥ D₀ > 0 is needed")

    # The nodes of h₀ = √q̂₀ z, where z is a standard Gaussian.
    field_variance = multipliers[0]  # q̂₀
    n_replicas = breaks[0]  # m
    rule = _rule_for_choice(bottom_precision, field_variance, n_replicas)
    bottom_field = np.sqrt(field_variance) * rule.nodes  # h₀

    log_b = _log_b(bottom_field, precisions, breaks)  # m h₀²/2D₀ + constant
    mean_weight = bottom_field / bottom_precision  # h₀/D₀
    return SupportLaw(
        precisions=precisions,
        log_odds=log_b - price,  # ln(e^{−K}B)
        mean_weight_square=mean_weight**2,
        weights=rule.weights,
    )


def _rule_for_choice(
    bottom_precision: float, field_variance: float, n_replicas: float
) -> GaussianRule:
    """Nodes z and weights of ∫Dz that resolve the probability of choosing a variable.

    With m replicas (`n_replicas`), the field √q̂₀ z of variance q̂₀ (`field_variance`) and D₀
    (`bottom_precision`), the odds of choosing it grow as e^{m q̂₀z²/2D₀}: they change over the
    length √(D₀/m q̂₀).
    """
    z_scale = float(np.sqrt(bottom_precision / (n_replicas * field_variance)))
    # Half the usual step: the probability goes from 0 to 1 over a shorter length than the odds.
    return rule_for(z_scale, QUADRATURE_STEP / 2)


def _log_b(h0: Array, precisions: Array, breaks: Array) -> Array:
    """ln B, the ln of the integral over m replicas of a weight w, at fields h₀ of the bottom level.

    `precisions` are D₀ … D_L, the precisions of w by level, `breaks` the break points x₁ = m … x_L.
    Per replica:

    - On the top level ln ∫dw e^{−D_L w²/2 + hw} = −½ ln D_L + h²/2D_L, up to a constant.
    - A step down averages over the Gaussian, of variance G, by which the field of level i differs
      from h, that of level i − 1. (1/x_i) ln of the mean of e^{x_i (field)²/2D_i} is
      h²/2D_{i−1} + ln(D_i/D_{i−1})/2x_i, because D_{i−1} = D_i − x_i G.
    """
    m = breaks[0]
    log_ratios = np.log(precisions[1:] / precisions[:-1]) / breaks  # ln(D_i/D_{i−1})/x_i, (L,)
    # m replicas of −½ ln D_L + ½ Σ_i ln(D_i/D_{i−1})/x_i + h₀²/2D₀.
    constant = -0.5 * m * np.log(precisions[-1]) + 0.5 * m * log_ratios.sum()
    return constant + m * h0**2 / (2 * precisions[0])


class _Overlaps(NamedTuple):
    """The unknowns of `_evaluate_equations`, decoded."""

    q: Array  # q₀ between supports, q₁ between replicas in one and, with groups, q₂ within a group
    own_variance: float  # ρ − q_L, L the top level; by itself, as for m → 0 it is lost in ρ
    K: float  # multiplier of the density ρ

    @property
    def q0(self) -> float:
        """The overlap between supports."""
        return float(self.q[0])

    @property
    def q1(self) -> float:
        """The overlap between replicas in one support, of different groups if there are any."""
        return float(self.q[1])


def _decode_overlaps(unknowns: Array, rho: float, split: float) -> _Overlaps:
    """Decode the unknowns of Newton's method, (3,), into overlaps of weights and the price K.

    The unknowns are ln(ρ − q_L), logit(q₀/q₁) and K. ρ is the density, K the price of a variable,
    and q_L the largest of the overlaps. An overlap is the scalar product, per variable, of two
    copies (replicas) of the weights:

        q₀    on two choices of variables (supports),
        q₁    on one support; if the replicas there fall into groups, in different groups,
        q₂    on one support and in the same group; only if there are groups.

    Without groups `split` is 0 and q_L = q₁. With groups q_L = q₂, and `split` is the given value
    of (q₂ − q₁)/(ρ − q₂), from which q₁ follows.
    """
    log_own_variance, logit_q0_over_q1, K = unknowns.tolist()
    check_logarithms(np.array([log_own_variance, logit_q0_over_q1]))
    own_variance = float(np.exp(log_own_variance))  # ρ − q_L
    largest_overlap = rho - own_variance  # q_L

    difference_of_groups = split * own_variance  # q₂ − q₁, or 0 without groups
    q1 = largest_overlap - difference_of_groups
    q0 = q1 * expit(logit_q0_over_q1)
    overlaps = [q0, q1]
    has_groups = split != 0
    if has_groups:
        overlaps.append(largest_overlap)  # q₂
    return _Overlaps(q=np.array(overlaps), own_variance=own_variance, K=K)


def _evaluate_equations(
    unknowns: Array, alpha: float, rho: float, breaks: Array, split: float
) -> FiniteMState:
    """Evaluate the equations of the theory at a point: where their residual is 0, it is a solution.

    The theory computes φ(m), the growth rate of Σ_c V(c)^m with the number of variables. The sum
    is over the choices of variables (supports) c, and V(c) is the volume of the weights on c that
    separate the classes. With m copies (replicas) of the weights, φ(m) is a function of a few
    unknowns, and is stationary in them at a solution. The evaluation goes round once: from the
    overlaps of the weights to averages over the patterns, from these (the multipliers) to averages
    over the variables, and from these to overlaps again, which are compared with the first ones.

    Parameters
    ----------
    unknowns : (3,)
        (ln(ρ − q_L), logit(q₀/q₁), K): overlaps of replicas and the price of a variable, as
        `_decode_overlaps` explains.
    alpha, rho
        Load α (patterns per variable) and density ρ (share of variables chosen).
    breaks : (L,)
        The number m of replicas and, if they fall into groups, the size of a group.
    split
        How different groups are, (q₂ − q₁)/(ρ − q₂); 0 without groups.
    """
    # Overlaps q_i of two replicas, on levels i = 0 … L by what the two have in common: nothing, the
    # support, or (with groups, L = 2) also the group.
    overlaps = _decode_overlaps(unknowns, rho, split)

    # The patterns determine the Lagrange multipliers of the overlaps: q̂_i = α E_i[g_i'²], where g_i
    # is the log-probability that a pattern is on its side, and E_i[·] the average on level i.
    patterns = volume_recursion(overlaps.q, breaks, overlaps.own_variance)
    multipliers = alpha * patterns.mean_square_slopes  # q̂₀ … q̂_L, (L + 1,)

    # The multipliers determine how a variable is chosen and weighted.
    top_precision = _top_precision(overlaps.own_variance, rho)  # of a weight, on level L
    variables = support_law(
        top_precision=top_precision, multipliers=multipliers, price=overlaps.K, breaks=breaks
    )
    residual = _residual(overlaps, rho, multipliers, variables)

    # Results: φ, the multiplier Q̂ of the norm of the weights, and whether the difference of groups
    # that is given by `split` would grow.
    n_replicas = breaks[0]  # m
    pattern_term = alpha * n_replicas * patterns.mean_values[0]  # αm E₀[g₀]
    phi = _phi(
        overlaps=overlaps,
        rho=rho,
        breaks=breaks,
        pattern_term=pattern_term,
        multipliers=multipliers,
        variables=variables,
    )
    norm_multiplier = top_precision - multipliers[-1]  # Q̂, because the precision is Q̂ + q̂_L
    return FiniteMState(
        q=overlaps.q,
        q_hat=multipliers,
        Q_hat=norm_multiplier,
        K=overlaps.K,
        phi=phi,
        growth=_growth(overlaps, rho, multipliers, variables.precisions),
        residual=residual,
    )


def _top_precision(own_variance: float, rho: float) -> float:
    """D_L = ρ/(ρ − q_L), one over the variance of a chosen weight around what replicas share.

    `own_variance` is ρ − q_L: the norm ρ of the weights minus the overlap q_L of two replicas on
    the top level. It is the variance 1/D_L of a chosen weight times the share ρ of variables
    chosen.
    """
    return rho / own_variance


def _residual(overlaps: _Overlaps, rho: float, multipliers: Array, variables: SupportLaw) -> Array:
    """Compute the relative errors of density and overlaps at a trial point, (3,).

    The overlaps of the trial point determine how a variable is chosen and weighted (`variables`).
    Averages over the variables then give a density and overlaps, too. At a solution these are equal
    to the given density and to the overlaps of the point. The errors are, in this order, those of
    the density, of q₁ and of q₀.

    Parameters
    ----------
    overlaps
        Overlaps of two copies (replicas) of the weights at the trial point: q₀ if they are on two
        choices of variables (supports), q₁ if they are on one.
    rho
        The given density, the share of variables that are chosen.
    multipliers : (levels,)
        Variances of the field of a variable, by level.
    variables
        Choice and weight of a variable at the nodes of its field on level 0, the part of the field
        that is the same for all supports.
    """
    p = expit(variables.log_odds)  # the probability that the variable is chosen, (nodes,)
    mean_weight_square = variables.mean_weight_square  # (its mean weight if chosen)², (nodes,)
    node_weights = variables.weights  # of the average over the nodes

    density = node_weights @ p
    # Given the field two supports choose the variable independently, each with probability p.
    q0 = node_weights @ (p**2 * mean_weight_square)
    # Two replicas on the same support choose it together, with probability p. They also have more
    # of the field in common (level 1), which adds to their overlap.
    overlap_of_level_0 = node_weights @ (p * mean_weight_square)
    overlap_of_level_1 = _added_overlap(
        level=1,
        chosen_share=density,
        multipliers=multipliers,
        precisions=variables.precisions,
    )
    q1 = overlap_of_level_0 + overlap_of_level_1

    density_error = density / rho - 1
    # As m → 0 q₁ approaches ρ, so the error of q₁ can be taken relative to ρ.
    q1_error = (q1 - overlaps.q1) / rho
    q0_error = q0 / overlaps.q0 - 1
    return np.array([density_error, q1_error, q0_error])


def _added_overlap(level: int, chosen_share: float, multipliers: Array, precisions: Array) -> float:
    """What the overlap of replicas gains on level i = `level`, as they share more of the field.

    Replicas that share the field h_i of a chosen variable have the mean weight h_i/D_i, D_i the
    precision (`precisions`). Where h_{i−1} is known, h_i/D_i has the variance

        (q̂_i − q̂_{i−1})/(D_i D_{i−1}):

    h_i differs from h_{i−1} by a Gaussian of variance q̂_i − q̂_{i−1} (`multipliers`), which the
    weights widen by the factor D_i/D_{i−1}.
    """
    added_field_variance = multipliers[level] - multipliers[level - 1]
    return float(chosen_share * added_field_variance / (precisions[level] * precisions[level - 1]))


def _phi(  # noqa: PLR0913
    overlaps: _Overlaps,
    rho: float,
    breaks: Array,
    pattern_term: float,
    multipliers: Array,
    variables: SupportLaw,
) -> float:
    """φ, the growth rate of Σ_c V(c)^m over supports c, V(c) the volume of weights that separate:

        φ = (term of the patterns) + ∫Dz ln(1 + e^{−K}B) + Kρ + (m/2)·bracket.

    e^{−K}B are the odds that a variable is chosen (`variables`, at nodes z of the integral), K is
    the price of a variable, ρ the density and m the first of the break points (`breaks`). The
    bracket is the sum of norm and overlaps times their multipliers (`_sum_of_multiplier_terms`).
    """
    n_replicas = breaks[0]  # m
    variable_term = variables.weights @ np.logaddexp(0.0, variables.log_odds)
    price_term = overlaps.K * rho
    bracket = _sum_of_multiplier_terms(overlaps, rho, breaks, multipliers)
    multiplier_term = 0.5 * n_replicas * bracket
    return float(pattern_term + variable_term + price_term + multiplier_term)


def _sum_of_multiplier_terms(
    overlaps: _Overlaps, rho: float, breaks: Array, multipliers: Array
) -> float:
    """Sum the norm and the overlaps of the weights, each times its multiplier, for φ(m):

        Q̂ρ + Σ_{i=0}^{L} (x_{i+1} − x_i) q̂_i q_i.

    Q̂ is the Lagrange multiplier of the norm ρ (squared length of the weights, per variable), and
    q̂_i (`multipliers`) that of the overlap q_i, the scalar product of two copies of the weights on
    level i = 0 … L. The break points are x₀ = 0, x₁ … x_L (`breaks`), and x_{L+1} = 1; x₁ is m, the
    number of copies. Q̂ is not an argument: it is D_L − q̂_L with the precision D_L of a weight.
    """
    # The terms of the norm and of the top level i = L are
    #     Q̂ρ + (1 − x_L) q̂_L q_L = D_L ρ − q̂_L ρ + q̂_L q_L − x_L q̂_L q_L.
    # For small m the second and the third term are large and nearly cancel. Their sum is
    # −q̂_L (ρ − q_L), where ρ − q_L is known accurately, so that the terms become
    #     D_L ρ − q̂_L (ρ − q_L + x_L q_L).
    rho_minus_top_overlap = overlaps.own_variance  # ρ − q_L
    top_precision = _top_precision(rho_minus_top_overlap, rho)  # D_L
    top_break = breaks[-1]  # x_L
    top_overlap = overlaps.q[-1]  # q_L
    top_multiplier = multipliers[-1]  # q̂_L
    top_factor = rho_minus_top_overlap + top_break * top_overlap
    top_terms = top_precision * rho - top_multiplier * top_factor

    # The terms of the levels i = 0 … L − 1.
    break_differences = np.diff(breaks, prepend=0.0)  # x_{i+1} − x_i, (L,)
    products = multipliers * overlaps.q  # q̂_i q_i, (L + 1,)
    lower_terms = break_differences @ products[:-1]
    return float(top_terms + lower_terms)


def _growth(overlaps: _Overlaps, rho: float, multipliers: Array, precisions: Array) -> float:
    """What the equation of q₂ − q₁ returns, relative to the q₂ − q₁ imposed; 1 without groups.

    q₂ and q₁ are the overlaps of replicas within and between groups, `multipliers` theirs, and
    `precisions` those of the weights by level. Below 1 groups that are imposed become weaker, and
    would vanish.
    """
    if len(overlaps.q) == 2:  # q₀ and q₁: no groups
        return 1.0
    q2 = overlaps.q[2]
    returned = _added_overlap(2, rho, multipliers, precisions)
    return float(returned / (q2 - overlaps.q1))


def solve_finite_m(
    alpha: float, rho: float, breaks: tuple[float, ...], start: Array, split: float = 0.0
) -> Solved[FiniteMState]:
    """The saddle of φ(m), by Newton from a start near to it.

    φ(m) is the growth rate of Σ_c V(c)^m over supports c, V(c) their volume of solutions; m need
    not be whole.

    Parameters
    ----------
    alpha, rho
        Load α and density ρ.
    breaks
        (m,), or (m, k) where the m replicas fall into groups of size k.
    start : (3,)
        ln(ρ − q_L), logit(q₀/q₁) and K: q₀ is the overlap between supports, q_L the largest one
        within a support (q₁, or q₂ with groups), and K the multiplier of ρ.
    split
        (q₂ − q₁)/(ρ − q₂), imposed where there are groups; 0 without.
    """
    return Newton(iterations=60).solve(
        lambda unknowns: _evaluate_equations(unknowns, alpha, rho, np.array(breaks), split),
        start,
        f"φ(m) at m = {breaks[0]:.4g}, α = {alpha:.6g}, ρ = {rho:.6g}",
    )


def solve_rs_at_m(alpha: float, rho: float, m: float) -> FiniteMState:
    """Solve the equations of φ(m) for m > 0, without groups of replicas.

    φ(m) is the growth rate of Σ_c V(c)^m with the number of variables. The sum is over the choices
    of variables c, and V(c) is the volume of the weights on c that separate the classes. m, the
    number of copies (replicas) of the weights, need not be a whole number. `alpha` is the load
    (patterns per variable) and `rho` the density (share of variables chosen).

    The solution in the limit m → 0 is known from `solve_rs`. The solution at a small m is found
    from there, and is then followed in ln m to the given m.
    """
    if not (math.isfinite(m) and m > 0):
        raise InputError(f"m must be positive and finite, but is {m!r}")
    branch = _BranchFromLimit(solve_rs(alpha, rho))

    # Solve at a small m. If this fails, try again at smaller values, each by the same factor.
    log_factor = math.log(_M_FACTOR)
    log_of_largest = math.log(min(_FIRST_M, m))
    log_of_small_m = [log_of_largest - i * log_factor for i in range(_M_ATTEMPTS)]
    log_first_m, first = first_success(branch.first_point, log_of_small_m)

    # Follow the solution from there to the given m.
    points = follow(
        branch.solve_at,
        first,
        begin=log_first_m,
        step=log_factor,
        until=math.log(m),
        smallest=_SMALLEST_STEP,
    )
    return last_point(points).state


class _BranchFromLimit(NamedTuple):
    """The saddles at m > 0 that begin at the limit m → 0, in coordinates that have a limit there.

    The unknowns of `solve_finite_m` are (ln(ρ − q₁), logit(q₀/q₁), K), with the overlaps q₁ within
    a support and q₀ between supports, and the multiplier K of the density ρ. At loads below 2ρ,
    where typical supports separate, all of them have a limit: the coordinates are the unknowns.
    Above 2ρ, q₁ → ρ and ln(ρ − q₁) has no limit; but χ = (ρ − q₁)/m has one, and the coordinates
    are (ln χ, logit(q₀/q₁), K).
    """

    limit: RSSolution  # the solution as m → 0

    @property
    def is_typical(self) -> bool:
        """Whether the load lies below 2ρ, where typical supports separate."""
        return self.limit.regime == Regime.TYPICAL

    def solve_at(self, log_m: float, start: Array) -> Solved[FiniteMState]:
        """The saddle at this ln m, from a start near to it; both in the branch's coordinates, (3,).

        `unknowns` of the result are these coordinates, too.
        """
        unknowns_minus_coordinates = self._unknowns_minus_coordinates(log_m)
        solved = solve_finite_m(
            self.limit.alpha,
            self.limit.rho,
            breaks=(math.exp(log_m),),  # m alone: no groups
            start=start + unknowns_minus_coordinates,
        )
        return replace(solved, unknowns=solved.unknowns - unknowns_minus_coordinates)

    def first_point(self, log_m: float) -> tuple[float, Solved[FiniteMState]]:
        """ln m, and the saddle there, started from the limit m → 0."""
        return log_m, self.solve_at(log_m, self._near_limit(log_m))

    def _unknowns_minus_coordinates(self, log_m: float) -> Array:
        """The unknowns of `solve_finite_m` minus the coordinates of the same point, (3,)."""
        if self.is_typical:
            return np.zeros(3)
        return np.array([log_m, 0.0, 0.0])  # ln(ρ − q₁) = ln χ + ln m

    def _near_limit(self, log_m: float) -> Array:
        """The coordinates in the limit m → 0, (3,), as a start at a small m.

        They are (ln(ρ − q₁), logit(q₀/q₁), K), or above 2ρ, where q₁ = ρ − mχ, ln χ is the first.
        """
        limit = self.limit
        if self.is_typical:
            q1 = limit.q1
            first = np.log(limit.rho - q1)
        else:
            q1 = limit.rho - limit.chi * math.exp(log_m)
            first = np.log(limit.chi)
        return np.array([first, logit(limit.q0 / q1), limit.K])


def impose_split(alpha: float, rho: float, m: float, group: float, split: float) -> FiniteMState:
    """Solve the saddle equations with groups of replicas whose overlaps differ by a given amount.

    The m replicas of the weights on a support fall into groups, as in the paper's appendix B. Their
    overlaps are q₀ between supports, q₁ between groups and q₂ within one. The difference q₂ − q₁ is
    held by `split`, and its own equation is left out; `FiniteMState.growth` then says whether that
    equation would make the difference larger or smaller. Newton starts from the solution without
    groups, in the unknowns (ln(ρ − q_L), logit(q₀/q₁), K) of `solve_finite_m`.

    Parameters
    ----------
    alpha, rho
        Load and density.
    m, group
        Number of replicas and size of a group, 0 < m < group < 1.
    split
        (q₂ − q₁)/(ρ − q₂) > 0, the value that is held.
    """
    symmetric = solve_rs_at_m(alpha, rho, m)
    q0, q1 = symmetric.q
    start = np.array([np.log(rho - q1), logit(q0 / q1), symmetric.K])
    return solve_finite_m(alpha, rho, breaks=(m, group), start=start, split=split).state
