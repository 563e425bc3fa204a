"""Breaking of replica symmetry between supports in k steps: free entropy and saddle equations.

k = 0 is replica symmetry. The n replicas of the support c fall into nested groups of sizes x_k < …
(as n → 0, 0 < x₁ < … < x_k < 1). The overlap is ρ − mχ within one replica, p_k between replicas of
the smallest common group, …, p₀ between different groups; conjugates F₁, G_k, …, G₀. As m → 0,

    Σ = α ∫Dz g₀(√p₀ z) + ∫Dz f₀(√G₀ z) + Kρ + ½(E − F₁)ρ − ½F₁χ
        + ½ Σ_{i=0}^{k} (x_{i+1} − x_i) G_i p_i,

x₀ = 0, x_{k+1} = 1, where g_i and f_i descend the recursion (`parisi`) from the closed forms
(`patterns`, `supports`)

    g_k = ln A with s² = ρ − p_k,      f_k = ln(1 + e^{−K}B) with d = E − F₁ + G_k.

Each saddle equation is a partial derivative of Σ; with E_i the average over the weight P_i of level
i they read E = ρ/χ and

    (1) E_k[p] = ρ,    (2) E_k[p(u²/d² + 1/d − 1/E)] = ρ,    (3) E_i[f_i'²] = p_i,
    (4) α E_i[g_i'²] = G_i,    (5) E − α E_k[R₂ − R₁²]/χ² = d,
    (6) α(E_i[g_i] − E_{i−1}[g_{i−1}]) + E_i[f_i] − E_{i−1}[f_{i−1}]
        = ½x_i(G_i p_i − G_{i−1} p_{i−1}).

Two Euler identities hold. The pattern term does not change when ρ, χ and all p_i are scaled
together (the constraints do not change under w → λw), the support term not when E, F₁ and all G_i
are. At the saddle they give α E_k[p₊] = ρ, as many tight constraints as chosen weights, and Σ = α
E₀[g₀] + E₀[f₀] + Kρ. Near capacity these terms are large and nearly cancel; going back to its top
by (6), and writing f_k = p ln(e^{−K}B) + H₂(p), leaves the entropy inside the smallest group, a sum
of small terms:

    (7) Σ = E_k[H₂(p)] + ½ρ ln(E/d) + α E_k[g_k + ½(s² + χ)g_k'²].

The solver asks that both forms agree in place of (6) for i = k. With (1), (2), (4) and (5) alone
the identities imply

    E (α E_k[p₊] − ρ) = Σ_i (x_{i+1} − x_i) G_i (E_i[f_i'²] − p_i):

so one equation of (3) can be given up for the identity. The solver uses it to eliminate α =
ρ/E_k[p₊] and (5), which it turns into d = −α E_k[g_k'']; from (3) it takes the differences between
neighbouring levels. The equation left over, E₀[f₀'²] = p₀, is imposed nowhere and shows how
accurate a solution is; `RSBState.identity_error` is what it amounts to in α E_k[p₊] − ρ.

With unequal classes or a margin every pattern average runs over the classes, whose fields are
centred at θ_c (`rs_equations`); the threshold brings the equation Σ_c σ_c f_c E_k[R₁] = 0. With a
margin p₊ + κR₁/ρ takes the place of p₊ in the identity, which turns (5) into d = α E_k[κR₁/(ρχ) −
g_k'']; (7) holds as it stands.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from chanceline.theory.closed_forms import binary_entropy
from chanceline.theory.continuation import ChiBranch
from chanceline.theory.ensemble import PLAIN, Ensemble, OffsetClass
from chanceline.theory.gardner import gardner
from chanceline.theory.newton import Newton, OutsideDomain, Solved, check_logarithms
from chanceline.theory.quadrature import Array
from chanceline.theory.rsb_recursions import (
    BrokenPatternMeans,
    BrokenVariableMeans,
    broken_class_means,
    broken_variable_means,
)

# Relative residuals; rounding in the recursion leaves 1e-13 of them.
RSB_TOLERANCE = 1e-11
# Break points are probabilities; the differences of the Jacobian need a little room beyond 1.
_LARGEST_BREAK = 1.001


@dataclass(frozen=True)
class RSBOrder:
    """Order parameters of k steps of breaking between supports, in the paper's letters.

    Multipliers are Lagrange multipliers: the paper calls them conjugates. Two replicas of the
    support whose smallest common group has the level i = 0 … k have the overlap p_i of their
    weights.
    """

    chi: float  # χ, the response: weights with the same support overlap by ρ − mχ, m → 0
    K: float  # multiplier of the density ρ: the price of a variable
    E: float  # multiplier of the norm of the weights
    F1: float  # F₁, multiplier of the overlap ρ − mχ within a support
    p: tuple[float, ...]  # overlaps p₀ … p_k
    G: tuple[float, ...]  # their multipliers G₀ … G_k
    x: tuple[float, ...]  # break points x₁ … x_k: the sizes of the groups
    threshold: float = 0.0  # b/|w|


@dataclass(frozen=True)
class RSBState:
    """The equations at one point.

    E_i is the average over the field on level i = 0 … k of the breaking, g_i the log-weight of
    a pattern there.
    """

    alpha: float
    ensemble: Ensemble
    order: RSBOrder
    residual: Array  # (equations,)
    entropy: float  # Σ at the saddle, as the entropy inside the smallest group
    entropy_by_alpha: float  # dΣ/dα at the saddle = E₀[g₀]
    identity_error: float  # the equation left over, as an error of α E_k[p₊] − ρ
    tight: float  # E_k[p₊], the share of tight constraints
    replicon_inner: float  # among the replicas of one smallest group
    replicon_outer: float  # among the largest groups
    edge_weight: float  # the largest weight at an end of a grid: what the grids cut off


class _Layout:
    """The position of each coordinate in a point of the solver, with k steps of breaking.

    `pack_order` makes such a point. It has 3k + 5 coordinates, and one more if the threshold is
    free.
    """

    def __init__(self, steps: int) -> None:
        """Set the position of each coordinate, with `steps` = k steps of breaking.

        A position is an index, or a slice of k or k + 1 indices for a sequence.
        """
        k = steps
        self.log_chi = 0
        self.switch = 1  # K − ½ ln(E/d)
        self.log_shares = slice(2, k + 3)  # k + 1: ln p₀/(ρ − p_k), ln (p₁ − p₀)/(ρ − p_k), …
        self.log_breaks = slice(k + 3, 2 * k + 3)  # k: ln x₁, … of the break points
        self.log_d = 2 * k + 3  # d = E − F₁ + G_k
        self.log_G_differences = slice(2 * k + 4, 3 * k + 5)  # k + 1: ln G₀, ln (G₁ − G₀), …
        self.threshold = 3 * k + 5  # exists only if the threshold is free


def pack_order(order: RSBOrder, rho: float, ensemble: Ensemble = PLAIN) -> Array:
    """Encode order parameters as a vector of unknowns for Newton's method, (coordinates,).

    The order parameters are the few numbers that describe a large random problem in the theory.
    Supports (choices of variables) fall into groups, and these into larger groups, on k levels.
    The coordinates may be any real numbers, so that Newton's method can move freely: a positive
    quantity is encoded by its logarithm, and an increasing sequence by the logarithms of its
    differences. In this order they are

        ln χ                    χ > 0: a violation v of a constraint is corrected at the cost v²/2χ,
        K − ½ ln(E/d)           the switch, K the price of a variable, E the multiplier of |w|²,
        ln p₀/(ρ − p_k), …      overlaps p₀, p₁ − p₀, …, (k + 1,), relative to ρ − p_k,
        ln x₁, …, ln x_k        break points, (k,): the sizes of the groups,
        ln d                    d = E − F₁ + G_k,
        ln G₀, ln(G₁ − G₀), …   Lagrange multipliers of the overlaps, (k + 1,),
        b                       the threshold, only if it is free.

    An overlap is the scalar product of the weights of two supports, per variable, by the level of
    their smallest common group. ρ (`rho`) is the density, the share of variables chosen. d and the
    switch replace F₁ and K (`RSBOrder`), because they are what the formulas use: a variable that
    the patterns pull by a field u is chosen with the log-odds

        u²/2d + ½ ln(E/d) − K = u²/2d − switch,

    and then has the mean weight u/d. E is not a coordinate, because it is always ρ/χ.
    `_unpack_order` is the inverse, and `_Layout` has the position of each coordinate.
    """
    net_stiffness = order.E - order.F1 + order.G[-1]  # d
    switch = order.K - 0.5 * np.log(order.E / net_stiffness)

    # Increasing sequences become differences, which are positive.
    overlap_differences = np.diff(np.array(order.p), prepend=0.0)  # p₀, p₁ − p₀, …, (k + 1,)
    rho_minus_top_overlap = rho - order.p[-1]  # ρ − p_k
    overlap_shares = overlap_differences / rho_minus_top_overlap
    multiplier_differences = np.diff(np.array(order.G), prepend=0.0)  # G₀, G₁ − G₀, …, (k + 1,)

    coordinates = [
        np.log(order.chi),
        switch,
        *np.log(overlap_shares),
        *np.log(order.x),  # break points, (k,)
        np.log(net_stiffness),
        *np.log(multiplier_differences),
    ]
    if ensemble.free_threshold:
        coordinates.append(order.threshold)
    return np.array(coordinates)


class _UnpackedOrder(NamedTuple):
    """A point decoded, the inverse of `pack_order`: order parameters, and what goes with them.

    Level i = 0 … k is the smallest group that two replicas of the support have in common.
    """

    order: RSBOrder
    switch: float  # K − ½ ln(E/d): a variable of field u is chosen with log-odds u²/2d − switch
    d: float  # E − F₁ + G_k: a chosen variable of field u has the mean weight u/d
    overlaps: Array  # p₀ … p_k by level, (k + 1,)
    multipliers: Array  # of the overlaps, G₀ … G_k, (k + 1,)
    multiplier_differences: Array  # G₀, G₁ − G₀, …, (k + 1,)
    breaks: Array  # break points x₁ … x_k, (k,)


def _unpack_order(point: Array, rho: float, steps: int, ensemble: Ensemble) -> _UnpackedOrder:
    """Decode the unknowns of Newton's method into order parameters; inverse of `pack_order`.

    `pack_order` explains the coordinates of `point`, (coordinates,). `rho` is the density, the
    share of variables chosen, and `steps` is k, the number of levels of groups into which choices
    of variables fall. Raises OutsideDomain, which makes Newton's method take a shorter step, if the
    point has no meaning. The letters are

        E, d        stiffness and net stiffness of the weights: a variable that the patterns pull by
                    a field u has the mean weight u/d, if it is chosen,
        K, switch   price of a variable; it is chosen with the log-odds u²/2d − switch, where
                    switch = K − ½ ln(E/d),
        p₀ … p_k    overlaps of two choices by the level of their smallest common group,
        G₀ … G_k    Lagrange multipliers of these overlaps,
        F₁          Lagrange multiplier of the overlap within a choice; d = E − F₁ + G_k.
    """
    check_logarithms(point)
    layout = _Layout(steps)
    chi = float(np.exp(point[layout.log_chi]))
    stiffness = rho / chi  # E = ρ/χ, an equation of the theory; it holds at every point
    net_stiffness = float(np.exp(point[layout.log_d]))  # d
    switch = float(point[layout.switch])
    breaks = np.exp(point[layout.log_breaks])  # break points x₁ … x_k
    _check_order(net_stiffness, stiffness, breaks)

    multiplier_differences = np.exp(point[layout.log_G_differences])  # G₀, G₁ − G₀, …
    multipliers = np.cumsum(multiplier_differences)  # G₀ … G_k
    overlap_shares = np.exp(point[layout.log_shares])  # p₀, p₁ − p₀, … divided by ρ − p_k
    overlaps = _overlaps_of_shares(overlap_shares, rho)  # p₀ … p_k
    threshold = 0.0  # if it is not free
    if ensemble.free_threshold:
        threshold = float(point[layout.threshold])

    order = RSBOrder(
        chi=chi,
        K=switch + 0.5 * np.log(stiffness / net_stiffness),
        E=stiffness,
        F1=stiffness - net_stiffness + float(multipliers[-1]),
        p=tuple(overlaps.tolist()),
        G=tuple(multipliers.tolist()),
        x=tuple(breaks.tolist()),
        threshold=threshold,
    )
    return _UnpackedOrder(
        order=order,
        switch=switch,
        d=net_stiffness,
        overlaps=overlaps,
        multipliers=multipliers,
        multiplier_differences=multiplier_differences,
        breaks=breaks,
    )


def _check_order(d: float, E: float, breaks: Array) -> None:
    """OutsideDomain, which tells Newton to take a shorter step, unless the point makes sense.

    d < E: the variance of a weight in its field, 1/d − 1/E, is positive. 0 < x₁ < … < x_k ≤ 1: the
    `breaks`, (k,), are probabilities. Where symmetry breaks by a jump x_k is 1 (`transition`), so a
    little more than 1 passes.
    """
    if d >= E:
        raise OutsideDomain("E > d is needed")
    increasing = np.all(np.diff(breaks, prepend=0.0) > 0)
    if not increasing or np.any(breaks > _LARGEST_BREAK):
        raise OutsideDomain("0 < x₁ < … < x_k ≤ 1 is needed")


def _overlaps_of_shares(shares: Array, rho: float) -> Array:
    """The overlaps p₀ … p_k from their shares p₀/(ρ − p_k), (p₁ − p₀)/(ρ − p_k), ….

    Both are (k + 1,); ρ is the density. The shares sum to p_k/(ρ − p_k), and one more than that is
    ρ/(ρ − p_k). This gives ρ − p_k, by which the shares are then multiplied.
    """
    rho_minus_top = rho / (1 + shares.sum())  # ρ − p_k
    return rho_minus_top * np.cumsum(shares)


class _Averages(NamedTuple):
    """The averages that the equations need."""

    patterns: BrokenPatternMeans  # over the patterns of all classes
    variables: BrokenVariableMeans  # over the variables
    correction_by_sign: float  # Σ_c σ_c f_c E_k[R₁] over classes c, zero at the best threshold


def _averages_at(
    unpacked: _UnpackedOrder, rho: float, ensemble: Ensemble, fineness: float
) -> _Averages:
    """Compute the averages over patterns and over variables that the saddle equations need.

    The saddle equations determine the order parameters, the unknowns of the theory. `unpacked` has
    trial values of these, at which the averages are taken, and `rho` is the density ρ. The averages
    are integrals on grids, which are finer than usual by the factor `fineness`.
    """
    # The two averaging functions cache their results, so their arguments must be hashable: tuples
    # (the fields of `order`) and numbers instead of arrays.
    order = unpacked.order
    variables = broken_variable_means(
        multipliers=order.G, breaks=order.x, d=unpacked.d, switch=unpacked.switch, fineness=fineness
    )

    # The patterns: one record of means for each class, in the order of `classes`.
    classes = ensemble.offsets(rho, order.threshold)
    means_of_class = [
        broken_class_means(
            overlaps=order.p,
            breaks=order.x,
            chi=order.chi,
            rho=rho,
            offset=pattern_class.offset,
            fineness=fineness,
        )
        for pattern_class in classes
    ]
    shares_of_classes = [pattern_class.share for pattern_class in classes]
    return _Averages(
        patterns=_sum_over_classes(shares_of_classes, means_of_class),
        variables=variables,
        correction_by_sign=_correction_by_sign(classes, means_of_class),
    )


def _correction_by_sign(
    classes: list[OffsetClass], means_of_class: list[BrokenPatternMeans]
) -> float:
    """Σ_c σ_c f_c E_k[R₁]: the mean corrections of the classes, by their shares f_c and signs."""
    total = 0.0
    for pattern_class, means in zip(classes, means_of_class, strict=True):
        total += pattern_class.sign * pattern_class.share * means.mean_correction
    return total


def _sum_over_classes(
    shares: list[float], means_of_class: list[BrokenPatternMeans]
) -> BrokenPatternMeans:
    """The averages over all patterns: Σ_c f_c of those of class c, field by field.

    `shares` are the f_c, the shares of the classes.
    """
    totals: list[Any] = []
    for values_of_class in zip(*means_of_class, strict=True):  # of one field, for each class
        terms = [share * value for share, value in zip(shares, values_of_class, strict=True)]
        totals.append(sum(terms))
    return BrokenPatternMeans(*totals)


def _identity_error(unpacked: _UnpackedOrder, variables: BrokenVariableMeans) -> float:
    """The error of E₀[f₀'²] = p₀, which is imposed nowhere, in terms of α E_k[p₊] − ρ.

    Both vanish at the exact saddle, where as many constraints are tight, α E_k[p₊], as weights are
    chosen, ρ. The equations that are imposed imply (module docstring)

        E (α E_k[p₊] − ρ) = Σ_i (x_{i+1} − x_i) G_i (E_i[f_i'²] − p_i).

    E_i[·]  an average on level i = 0 … k of the breaking,
    f_i     the log-weight of a variable there (`parisi`),
    p_i     the overlap of level i, and G_i its multiplier,
    x_i     a break point, with x₀ = 0 and x_{k+1} = 1,
    E       without index and bracket: the multiplier of the norm of the weights.
    """
    break_gaps = np.diff(np.array([0.0, *unpacked.breaks, 1.0]))  # x_{i+1} − x_i, (k + 1,)
    # The solver imposes E_i[f_i'²] = p_i as differences between neighbouring levels. What is left,
    # E_i[f_i'²] − p_i, is therefore the same on every level, and is taken out of the sum.
    bottom_error = variables.mean_square_slopes[0] - unpacked.overlaps[0]  # E₀[f₀'²] − p₀
    return float(break_gaps @ unpacked.multipliers / unpacked.order.E * bottom_error)


def _multiplier_errors(
    unpacked: _UnpackedOrder, patterns: BrokenPatternMeans, alpha: float
) -> Array:
    """The relative errors of the saddle equations α E_i[g_i'²] = G_i, (k + 1,).

    On level i = 0 … k, G_i is the multiplier of the overlap and g_i the log-weight of a pattern;
    E_i[·] is the average there and α the load. Neighbouring levels can be nearly equal: so G₀ and
    the differences G₁ − G₀, … are compared, each relative to itself.
    """
    # What G₀, G₁ − G₀, … must be.
    differences_of_patterns = alpha * np.diff(patterns.mean_square_slopes, prepend=0.0)
    return differences_of_patterns / unpacked.multiplier_differences - 1


def _overlap_errors(unpacked: _UnpackedOrder, variables: BrokenVariableMeans) -> Array:
    """The relative errors of the saddle equations E_i[f_i'²] = p_i as differences of levels, (k,).

    On level i = 0 … k the overlap is p_i, f_i is the log-weight of a variable and E_i[·] the
    average there. The differences p₁ − p₀, … are compared. The equation of the bottom level, i = 0,
    is not imposed: an identity, which sets the load, takes its place (`_identity_error`).
    """
    parts_of_supports = np.diff(variables.mean_square_slopes)  # what p₁ − p₀, … must be
    return parts_of_supports / np.diff(unpacked.overlaps) - 1


class _Replicons(NamedTuple):
    """Stability of the groups of replicas; a value above 1 asks for more steps of breaking."""

    inner: float  # in a smallest group
    outer: float  # between the largest groups


def _replicons(alpha: float, averages: _Averages) -> _Replicons:
    """The replicon products α E_i[g_i''²] E_i[f_i''²] of the top level i = k and the bottom, i = 0.

    g_i is the log-weight of a pattern and f_i that of a variable on level i, whose second
    derivatives are averaged there; α is the load. The product says by which factor a small change
    of the overlaps of that level comes back: above 1 it grows.
    """
    patterns = averages.patterns
    variables = averages.variables
    inner = alpha * patterns.top_square_curvature * variables.top_square_curvature
    outer = alpha * patterns.bottom_square_curvature * variables.bottom_square_curvature
    return _Replicons(inner=inner, outer=outer)


def _entropy(unpacked: _UnpackedOrder, averages: _Averages, rho: float, alpha: float) -> float:
    """The entropy Σ of separating choices per variable, at the density ρ and the load α:

        Σ = E_k[H₂(p)] + ½ρ ln(E/d) + α E_k[g_k + ½(s² + χ)g_k'²].

    It is formula (7) of the module, the entropy inside a smallest group: a sum of small terms,
    while in the definition of Σ large ones nearly cancel. E_k[·] is an average on the top level k.
    """
    # E_k[H₂(p)], of choosing variables: each is chosen with its probability p.
    choice_term = averages.variables.choice_entropy
    # Of their weights: E is the multiplier of the norm, and the mean weight in a field u is u/d.
    weight_term = 0.5 * rho * np.log(unpacked.order.E / unpacked.d)
    # Of the patterns: s² is the variance of their fields inside the group, χ the response, and g_k
    # the log-weight of a pattern on the top level.
    pattern_term = alpha * averages.patterns.entropy_term
    return float(choice_term + weight_term + pattern_term)


@dataclass(frozen=True)
class RSBBranch(ChiBranch[RSBState]):
    """The equations with a given number of steps at one density, and Newton on them."""

    rho: float  # ρ, the share of variables that are chosen
    steps: int = 1  # k
    ensemble: Ensemble = PLAIN

    def equations(self, point: Array, fineness: float = 1.0) -> RSBState:
        """Evaluate the equations of the theory with groups of supports at a point.

        A support is a choice of variables. The supports that separate the classes fall into groups
        within groups, on k levels (k = `steps`). If `residual` of the result, the relative errors
        of the equations, is zero, the point is a solution. Then `alpha` is its load (patterns per
        variable), and `entropy` is ln(number of separating supports) per variable.

        Besides these the state has checks of the solution: `identity_error`, the error of an
        equation that is not solved; the replicons, factors by which small differences of overlaps
        grow (stable below 1), within a smallest group and between the largest ones; and
        `edge_weight`, the largest weight at an end of a grid, which shows what the grids cut off.

        Parameters
        ----------
        point : (coordinates,)
            The order parameters, encoded as `pack_order` describes.
        fineness
            The grids of the averages are finer by this factor.
        """
        # The order parameters at this point, and averages over the patterns and the variables.
        decoded = _unpack_order(point, self.rho, self.steps, self.ensemble)
        averages = _averages_at(decoded, self.rho, self.ensemble, fineness)
        pattern_averages = averages.patterns
        variable_averages = averages.variables

        # The load, the equations, and what else follows from the averages.
        alpha = self._load(averages)
        entropy = _entropy(decoded, averages, self.rho, alpha)
        residual = self._residual(decoded, averages, alpha, entropy)
        replicons = _replicons(alpha, averages)
        largest_edge_weight = max(pattern_averages.edge_weight, variable_averages.edge_weight)

        # ∂entropy/∂α: the entropy is stationary in the order parameters, so only its explicit
        # dependence on the load counts. It is the term α·(mean log-weight of a pattern), where the
        # mean is on the bottom level.
        entropy_by_alpha = float(pattern_averages.mean_values[0])
        return RSBState(
            alpha=float(alpha),
            ensemble=self.ensemble,
            order=decoded.order,
            residual=residual,
            entropy=entropy,
            entropy_by_alpha=entropy_by_alpha,
            identity_error=_identity_error(decoded, variable_averages),
            tight=float(pattern_averages.tight),  # share of patterns exactly at the margin
            replicon_inner=replicons.inner,
            replicon_outer=replicons.outer,
            edge_weight=largest_edge_weight,
        )

    def _load(self, averages: _Averages) -> float:
        """The load α, by an identity: as many patterns are tight as variables are chosen.

        It is α·(share of tight patterns) = ρ, where a margin adds to this share.
        """
        effective_tight = averages.patterns.tight + self._margin_term(averages)
        return self.rho / effective_tight

    def _margin_term(self, averages: _Averages) -> float:
        """κE_k[R₁]/ρ, what a margin adds to the share E_k[p₊] of tight constraints in identities.

        E_k[R₁] is the mean violation of a constraint, ρ the density and κ = margin·√ρ, so that
        κ/ρ = margin/√ρ.
        """
        return self.ensemble.margin / np.sqrt(self.rho) * averages.patterns.mean_correction

    def _residual(
        self, unpacked: _UnpackedOrder, averages: _Averages, alpha: float, entropy: float
    ) -> Array:
        """Collect the relative errors of all equations of the theory at a point, (equations,).

        In the theory supports (choices of variables) fall into groups within groups, on k levels.
        Its unknowns, the order parameters, are `unpacked`. The equations are, in this order, those
        of

            the share of variables that are chosen,
            the mean square of the weights,
            the net stiffness d: a chosen variable in a field u has the mean weight u/d,
            the Lagrange multipliers of the overlaps (k + 1),
            the overlaps of the weights of two supports, as differences between levels (k),
            the threshold of the rule, only if it is free,
            the break points, which are the sizes of the groups (k).

        Two callers rely on this order: `solve_with` cuts the equations of the break points off at
        the end if the break points are held, and with k = 1 `transition.complexity` reads the last
        one.

        `averages` are the averages over patterns and variables at this point, `alpha` is its load,
        and `entropy` is ln(number of separating supports) per variable.
        """
        errors = [
            self._chosen_error(averages.variables),
            self._norm_error(unpacked, averages.variables),
            self._net_stiffness_error(unpacked, averages, alpha),
            *_multiplier_errors(unpacked, averages.patterns, alpha),
            *_overlap_errors(unpacked, averages.variables),
        ]
        if self.ensemble.free_threshold:
            # At the best threshold the mean corrections of the two classes balance: their sum, with
            # the opposite signs of the classes, is 0.
            size_of_corrections = np.sqrt(self.rho)  # their order of magnitude
            errors.append(averages.correction_by_sign / size_of_corrections)
        break_errors = self._break_errors(unpacked, averages, alpha, entropy)
        return np.array([*errors, *break_errors])  # those of the break points last

    def _chosen_error(self, variables: BrokenVariableMeans) -> float:
        """The relative error of "the share of variables chosen, E_k[p], is ρ".

        E_k[·] is an average on the top level and p the probability that a variable is chosen. Above
        ρ = ½ the share rejected, E_k[1 − p] = 1 − ρ, is compared instead: of the two shares the
        smaller one keeps more digits. Its sign is turned, so that the error grows with p.
        """
        if self.rho <= 0.5:
            return variables.chosen / self.rho - 1
        return 1 - variables.rejected / (1 - self.rho)

    def _norm_error(self, unpacked: _UnpackedOrder, variables: BrokenVariableMeans) -> float:
        """The relative error of "the squared length of the weights, per variable, is ρ".

        A variable of field u is chosen with probability p, and its weight w then has the mean u/d
        and the variance 1/d − 1/E: E is the multiplier of the length, d = E − F₁ + G_k. The mean of
        w² over all variables, E_k[·] on the top level, is

            E_k[p(u²/d² + 1/d − 1/E)] = ρ.
        """
        weight_variance = 1 / unpacked.d - 1 / unpacked.order.E
        # `weight_square` is E_k[p u²/d²], and `chosen` E_k[p].
        norm = variables.weight_square + variables.chosen * weight_variance
        return norm / self.rho - 1

    def _net_stiffness_error(
        self, unpacked: _UnpackedOrder, averages: _Averages, alpha: float
    ) -> float:
        """The relative error of the equation of d, the net stiffness: d = α E_k[κR₁/(ρχ) − g_k''].

        α is the load, R₁ the mean correction of a constraint, κ = margin·√ρ, χ the response and g_k
        the log-weight of a pattern on the top level k, over which E_k[·] averages. A
        chosen variable in a field u has the mean weight u/d. The equation is the saddle equation of
        F₁, the multiplier of the overlap within a support, which enters by d = E − F₁ + G_k.
        """
        margin_part = self._margin_term(averages) / unpacked.order.chi  # E_k[κR₁/(ρχ)]
        d_of_patterns = alpha * (margin_part - averages.patterns.curvature)
        return d_of_patterns / unpacked.d - 1

    def _break_errors(
        self, unpacked: _UnpackedOrder, averages: _Averages, alpha: float, entropy: float
    ) -> list[float]:
        """Return the relative errors of the equations of the k break points x₁ … x_k.

        Supports (choices of variables) fall into groups on k levels; the break point x_i gives the
        size of the groups on level i. The entropy Σ, ln(number of separating supports) per
        variable, must be stationary in each x_i. This is so where

            S_i − S_{i−1} = ½x_i(G_i p_i − G_{i−1} p_{i−1}).

        S_i = α·(mean log-weight of a pattern) + (mean log-weight of a variable) on level i = 0 … k,
        with the load α. p_i is the overlap of two supports whose smallest common group is on level
        i, and G_i the Lagrange multiplier of p_i. `entropy` is Σ, computed on the top level k.

        The equations of x₁ … x_{k−1} are compared as they stand. That of the last one, x_k, is
        replaced, because near the capacity large terms nearly cancel in it. The equation

            S₀ + Kρ = Σ,

        with the price K of a variable, takes its place. It is equivalent, because at a solution
        S₀ + Kρ is the entropy, too, from the bottom level; adding up all k equations turns it into
        the form from which `entropy` is computed. So if the first k − 1 equations hold, the last
        one holds where the two forms agree. (Module docstring, formulas (6) and (7).)
        """
        if not self.steps:
            return []  # without steps there are no break points
        mean_log_weights = (
            alpha * averages.patterns.mean_values + averages.variables.mean_values
        )  # S₀ … S_k, (k + 1,)
        overlap_terms = unpacked.multipliers * unpacked.overlaps  # G_i p_i, i = 0 … k

        # The equations of x₁ … x_{k−1}, which have the levels 0 … k − 1.
        left_sides = np.diff(mean_log_weights[:-1])  # S_i − S_{i−1}, i = 1 … k − 1
        overlap_differences = np.diff(overlap_terms[:-1])  # G_i p_i − G_{i−1} p_{i−1}
        right_sides = 0.5 * unpacked.breaks[:-1] * overlap_differences
        errors_of_first_breaks = left_sides / right_sides - 1

        # The equation in place of that of x_k: Kρ = Σ − S₀, relative to Kρ.
        price_term = unpacked.order.K * self.rho  # Kρ
        entropy_minus_bottom = entropy - mean_log_weights[0]  # Σ − S₀
        error_of_last_break = 1 - entropy_minus_bottom / price_term
        return [*errors_of_first_breaks, error_of_last_break]

    def solve_with(  # noqa: PLR0913
        self,
        point: Array,
        held: tuple[int, ...],
        name: str,
        *,
        extra_equation: Callable[[RSBState], float] | None = None,
        hold_breaks: bool = False,
        fineness: float = 1.0,
    ) -> Solved[RSBState]:
        """Solve the equations of the theory by Newton's method, with some unknowns held fixed.

        The unknowns are the coordinates of a point, (coordinates,). The equations are one fewer:
        their solutions form a curve, with one point for each load. The caller must therefore hold
        one coordinate or give one more equation.

        Parameters
        ----------
        point : (coordinates,)
            Where Newton's method starts, encoded by `pack_order`. Held coordinates keep their
            values.
        held
            Indices of the coordinates that are held.
        name
            What is solved, for error messages.
        extra_equation
            A function of the state that must vanish.
        hold_breaks
            Whether the break points are held, too. Their equations are then left out.
        fineness
            The grids of the averages are finer by this factor.

        Returns
        -------
        The solved state, whose `unknowns` are the whole point, (coordinates,).
        """
        free_coordinates = self._free_coordinates(len(point), held, hold_breaks)

        def whole_point(free_values: Array) -> Array:
            """All coordinates, (coordinates,): free ones from Newton, held ones from `point`."""
            whole = np.array(point, dtype=float)
            whole[free_coordinates] = free_values
            return whole

        def residual(state: RSBState) -> Array:
            """The errors of the equations that are solved, one for each free coordinate."""
            errors = state.residual
            if hold_breaks:
                # The equations of the break points come last, one for each step.
                n_other_equations = len(errors) - self.steps
                errors = errors[:n_other_equations]
            if extra_equation is not None:
                errors = np.append(errors, extra_equation(state))
            return errors

        start_of_free = np.array(point)[free_coordinates]
        solved = Newton(tolerance=RSB_TOLERANCE, step_tolerance=1e-5).solve(
            lambda free_values: self.equations(whole_point(free_values), fineness),
            start_of_free,
            self.ensemble.label(f"{name} at ρ = {self.rho:.10g}"),
            residual=residual,
        )
        return replace(solved, unknowns=whole_point(solved.unknowns))

    def _free_coordinates(
        self, n_coordinates: int, held: tuple[int, ...], hold_breaks: bool
    ) -> list[int]:
        """Indices of the coordinates that are not held; `hold_breaks` holds break points, too."""
        all_coordinates = range(n_coordinates)
        all_held = set(held)
        if hold_breaks:
            all_held.update(all_coordinates[_Layout(self.steps).log_breaks])
        return [index for index in all_coordinates if index not in all_held]

    def at_chi(self, log_chi: float, start: Array) -> Solved[RSBState]:
        """The saddle at a given χ, from a point near to it, whose own ln χ is not used.

        χ is the response of the weights. `start` is a point of `pack_order`, (coordinates,). ln χ
        is held, so that as many coordinates as equations are left.
        """
        name = f"{self.steps} step(s) of breaking at χ = {np.exp(log_chi):.6g}"
        position = _Layout(self.steps).log_chi
        point = np.array(start, dtype=float)
        point[position] = log_chi
        return self.solve_with(point, held=(position,), name=name)

    def at_load(
        self, alpha: float, start: Array, fineness: float = 1.0, *, hold_breaks: bool = False
    ) -> Solved[RSBState]:
        """Solve the equations with groups of supports at a given load α, by Newton's method.

        A support is a choice of variables, and the load is patterns per variable. `start` is a
        point near the solution, (coordinates,). With `hold_breaks` the sizes of the groups (break
        points) keep their values in `start`, and their equations are left out. The grids of the
        averages are finer than usual by the factor `fineness`.
        """
        # α lies between ρα_c, up to which a typical choice of variables separates, and α_c, the
        # capacity with all variables. The error of the load is taken relative to the distance from
        # the nearer of these two.
        load_of_all = gardner(self.ensemble).load  # α_c
        load_of_typical = self.rho * load_of_all  # ρα_c
        scale = min(alpha - load_of_typical, load_of_all - alpha)

        def load_error(state: RSBState) -> float:
            """The equation "the load is α", as a relative error."""
            return (state.alpha - alpha) / scale

        return self.solve_with(
            start,
            held=(),
            name=f"{self.steps} step(s) of breaking at α = {alpha:.10g}",
            extra_equation=load_error,
            hold_breaks=hold_breaks,
            fineness=fineness,
        )

    def at_zero_entropy(self, start: Array) -> Solved[RSBState]:
        """The capacity: the saddle where no choice is left to count, from a point near to it.

        No coordinate is held; the one more equation is Σ = 0 for the entropy, relative to H₂(ρ),
        the entropy of all choices.
        """
        scale = binary_entropy(self.rho)
        return self.solve_with(
            start,
            held=(),
            name=f"capacity with {self.steps} step(s) of breaking",
            extra_equation=lambda state: state.entropy / scale,
        )
