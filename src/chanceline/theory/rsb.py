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
from chanceline.theory.ensemble import PLAIN, Ensemble
from chanceline.theory.gardner import gardner
from chanceline.theory.newton import Newton, OutsideDomain, Solved, check_logarithms
from chanceline.theory.quadrature import Array
from chanceline.theory.rsb_recursions import (
    BrokenPatternMeans,
    BrokenSupportMeans,
    broken_class_means,
    broken_support_means,
)

# Relative residuals; rounding in the recursion leaves 1e-13 of them.
RSB_TOLERANCE = 1e-11
# Break points are probabilities; the differences of the Jacobian need a little room beyond 1.
_LARGEST_BREAK = 1.001


@dataclass(frozen=True)
class RSBOrder:
    """Order parameters of k steps between supports."""

    chi: float  # χ, the response: weights with the same support overlap by ρ − mχ, m → 0
    K: float  # conjugate of the density ρ: the price of a variable
    E: float  # conjugate of the norm of the weights
    F1: float  # F₁, conjugate of the overlap ρ − mχ within a support
    p: tuple[float, ...]  # overlaps p₀ … p_k
    G: tuple[float, ...]  # their conjugates G₀ … G_k
    x: tuple[float, ...]  # break points x₁ … x_k
    threshold: float = 0.0  # b/|w|


@dataclass(frozen=True)
class RSBState:
    """The equations at one point.

    E_i is the average over the field on level i = 0 … k of the breaking, g_i the function of the
    patterns there.
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
    """Where a point for Newton holds its coordinates, with k steps of breaking.

    They are 3k + 5, or one more where the threshold is free, and are unbounded whatever the order
    parameters. ρ is the density, d = E − F₁ + G_k, and the letters are those of `RSBOrder`.
    """

    def __init__(self, steps: int) -> None:
        k = steps
        self.log_chi = 0
        self.switch = 1  # K − ½ ln(E/d)
        self.log_shares = slice(2, k + 3)  # ln p₀/(ρ − p_k), ln (p₁ − p₀)/(ρ − p_k), …
        self.log_breaks = slice(k + 3, 2 * k + 3)  # ln x₁ … ln x_k
        self.log_d = 2 * k + 3
        self.log_G_parts = slice(2 * k + 4, 3 * k + 5)  # ln G₀, ln (G₁ − G₀), …
        self.threshold = 3 * k + 5  # only where it is free


def pack_order(order: RSBOrder, rho: float, ensemble: Ensemble = PLAIN) -> Array:
    """The order parameters of k steps of breaking as a point for Newton; inverse: `_unpack_order`.

    Its coordinates, 3k + 5 or one more, are unbounded whatever the order parameters. E, F₁ and G_k
    are the multipliers of the norm of the weights, of their overlap within a support and in a
    smallest group; K is the price of a variable. With d = E − F₁ + G_k a variable of field u is
    chosen with log-odds u²/2d − switch. The coordinates are

        ln χ                                             of the response,
        the switch, K − ½ ln(E/d),
        ln p₀/(ρ − p_k), ln (p₁ − p₀)/(ρ − p_k), …       of k + 1 overlaps, ρ the density,
        ln x₁ … ln x_k                                   of the break points,
        ln d,
        ln G₀, ln (G₁ − G₀), …                           of k + 1 multipliers of the overlaps,
        the threshold                                    only where the ensemble leaves it free.
    """
    d = order.E - order.F1 + order.G[-1]
    shares = np.diff(np.array(order.p), prepend=0.0) / (rho - order.p[-1])
    G_parts = np.diff(np.array(order.G), prepend=0.0)

    layout = _Layout(steps=len(order.x))
    n_coordinates = layout.threshold  # all before the threshold
    if ensemble.free_threshold:
        n_coordinates += 1
    point = np.empty(n_coordinates)
    point[layout.log_chi] = np.log(order.chi)
    point[layout.switch] = order.K - 0.5 * np.log(order.E / d)
    point[layout.log_shares] = np.log(shares)
    point[layout.log_breaks] = np.log(order.x)
    point[layout.log_d] = np.log(d)
    point[layout.log_G_parts] = np.log(G_parts)
    if ensemble.free_threshold:
        point[layout.threshold] = order.threshold
    return point


class _UnpackedOrder(NamedTuple):
    """A point decoded, the inverse of `pack_order`: order parameters, and what goes with them."""

    order: RSBOrder
    switch: float  # K − ½ ln(E/d): a variable of field u is chosen with log-odds u²/2d − switch
    d: float  # E − F₁ + G_k
    p: Array  # (k + 1,)
    G: Array  # (k + 1,)
    G_parts: Array  # G₀, G₁ − G₀, …, (k + 1,)
    x: Array  # (k,)


def _unpack_order(point: Array, rho: float, steps: int, ensemble: Ensemble) -> _UnpackedOrder:
    """The order parameters at a point of `pack_order`, or OutsideDomain if there are none.

    `_Layout` says which coordinates a point has with k = `steps` steps of breaking; ρ is the
    density, and the other letters are those of `RSBOrder`.
    """
    check_logarithms(point)
    layout = _Layout(steps)
    chi = float(np.exp(point[layout.log_chi]))
    E = rho / chi  # a saddle equation
    d = float(np.exp(point[layout.log_d]))
    x = np.exp(point[layout.log_breaks])
    _check_order(d, E, x)

    switch = float(point[layout.switch])
    G_parts = np.exp(point[layout.log_G_parts])  # G₀, G₁ − G₀, …
    G = np.cumsum(G_parts)
    p = _overlaps_of_shares(np.exp(point[layout.log_shares]), rho)
    threshold = 0.0
    if ensemble.free_threshold:
        threshold = float(point[layout.threshold])
    order = RSBOrder(
        chi=chi,
        K=switch + 0.5 * np.log(E / d),  # as switch = K − ½ ln(E/d)
        E=E,
        F1=E - d + float(G[-1]),  # as d = E − F₁ + G_k
        p=tuple(p.tolist()),
        G=tuple(G.tolist()),
        x=tuple(x.tolist()),
        threshold=threshold,
    )
    return _UnpackedOrder(order=order, switch=switch, d=d, p=p, G=G, G_parts=G_parts, x=x)


def _check_order(d: float, E: float, x: Array) -> None:
    """OutsideDomain unless d < E and 0 < x₁ < … < x_k, x_k at most a little above 1.

    At x_k = 1 symmetry breaks by a jump (`transition`).
    """
    if d >= E:
        raise OutsideDomain("E > d is needed")
    increasing = np.all(np.diff(x, prepend=0.0) > 0)
    if not increasing or np.any(x > _LARGEST_BREAK):
        raise OutsideDomain("0 < x₁ < … < x_k ≤ 1 is needed")


def _overlaps_of_shares(shares: Array, rho: float) -> Array:
    """The overlaps p₀ … p_k from p₀/(ρ − p_k), (p₁ − p₀)/(ρ − p_k), …; both are (k + 1,).

    The shares sum to p_k/(ρ − p_k) = ρ/(ρ − p_k) − 1: one more than their sum is ρ/(ρ − p_k).
    """
    rho_minus_top = rho / (1 + shares.sum())  # ρ − p_k
    return rho_minus_top * np.cumsum(shares)


class _Averages(NamedTuple):
    """The averages that the equations need."""

    patterns: BrokenPatternMeans  # over the patterns of all classes
    supports: BrokenSupportMeans  # over the variables
    violation_by_sign: float  # Σ_c σ_c f_c E_k[R₁] over classes c, zero at the best threshold


def _averages(
    unpacked: _UnpackedOrder, rho: float, ensemble: Ensemble, fineness: float
) -> _Averages:
    """The averages over patterns and over variables at the order parameters `unpacked`.

    Class c of the patterns has a share f_c, a sign σ_c = ±1 and an offset of its fields. Averages
    over patterns are Σ_c f_c of those of the classes; R₁ is the mean violation of a constraint.
    """
    order = unpacked.order
    classes = ensemble.offsets(rho, order.threshold)
    means_of_class = [
        broken_class_means(
            order.p, order.x, order.chi, rho, offset=pattern_class.offset, fineness=fineness
        )
        for pattern_class in classes
    ]
    supports = broken_support_means(
        order.G, order.x, unpacked.d, unpacked.switch, fineness=fineness
    )
    violation_by_sign = sum(
        pattern_class.share * pattern_class.sign * means.violation
        for pattern_class, means in zip(classes, means_of_class, strict=True)
    )
    shares = [pattern_class.share for pattern_class in classes]
    return _Averages(
        patterns=_sum_over_classes(shares, means_of_class),
        supports=supports,
        violation_by_sign=violation_by_sign,
    )


def _sum_over_classes(
    shares: list[float], means_of_class: list[BrokenPatternMeans]
) -> BrokenPatternMeans:
    """Σ_c f_c of each average, field by field; `shares` are the f_c of the classes."""
    totals: list[Any] = []
    for values_of_class in zip(*means_of_class, strict=True):  # of one field, for each class
        terms = [share * value for share, value in zip(shares, values_of_class, strict=True)]
        totals.append(sum(terms))
    return BrokenPatternMeans(*totals)


def _identity_error(unpacked: _UnpackedOrder, supports: BrokenSupportMeans) -> float:
    """The error of E₀[f₀'²] = p₀, which is imposed nowhere, in terms of α E_k[p₊] − ρ.

    E_i[·] is an average on level i = 0 … k of the breaking, f_i the function of the variables
    there, p_i an overlap, G_i its conjugate and x_i a break point (x₀ = 0, x_{k+1} = 1); E without
    index is an order parameter. p₊ is the probability that a constraint is tight, α the load and ρ
    the density. The equations that are imposed imply

        E (α E_k[p₊] − ρ) = Σ_i (x_{i+1} − x_i) G_i (E_i[f_i'²] − p_i).
    """
    x_gaps = np.diff(np.array([0.0, *unpacked.x, 1.0]))  # x_{i+1} − x_i, (k + 1,)
    # E_i[f_i'²] = p_i is imposed as differences between levels: its error is the same on every
    # level, that of the bottom, and is taken out of the sum.
    bottom_error = supports.squares[0] - unpacked.p[0]  # E₀[f₀'²] − p₀
    return float(x_gaps @ unpacked.G / unpacked.order.E * bottom_error)


def _conjugate_errors(
    unpacked: _UnpackedOrder, patterns: BrokenPatternMeans, alpha: float
) -> Array:
    """The relative errors of α E_i[g_i'²] = G_i as differences between neighbouring levels.

    On level i = 0 … k the overlap has the conjugate G_i, and g_i is the function of the patterns.
    G₀ and the k differences are compared, (k + 1,).
    """
    G_parts_of_patterns = alpha * np.diff(patterns.squares, prepend=0.0)  # G₀, G₁ − G₀, …
    return G_parts_of_patterns / unpacked.G_parts - 1


def _overlap_errors(unpacked: _UnpackedOrder, supports: BrokenSupportMeans) -> Array:
    """The relative errors of E_i[f_i'²] = p_i as differences between neighbouring levels, (k,).

    On level i = 0 … k the overlap is p_i, and f_i is the function of the variables. The equation of
    the bottom level, i = 0, is given up for the identity that sets the load.
    """
    p_parts_of_supports = np.diff(supports.squares)  # p₁ − p₀, …
    return p_parts_of_supports / np.diff(unpacked.p) - 1


class _Replicons(NamedTuple):
    """Stability of the groups of replicas; a value above 1 asks for more steps of breaking."""

    inner: float  # in a smallest group
    outer: float  # between the largest groups


def _replicons(alpha: float, averages: _Averages) -> _Replicons:
    """α E[g''²] E[f''²] at the top and at the bottom level; g of the patterns, f of the variables.

    The averages are those of the level, α is the load.
    """
    patterns = averages.patterns
    supports = averages.supports
    inner = alpha * patterns.top_square_curvature * supports.top_square_curvature
    outer = alpha * patterns.bottom_square_curvature * supports.bottom_square_curvature
    return _Replicons(inner=inner, outer=outer)


def _entropy(unpacked: _UnpackedOrder, averages: _Averages, rho: float, alpha: float) -> float:
    """The entropy Σ as that inside a smallest group, at the density ρ and the load α:

    Σ = E_k[H₂(p)] + ½ρ ln(E/d) + α E_k[g_k + ½(s² + χ)g_k'²].
    """
    # Of choosing variables, each with its probability p.
    choice_term = averages.supports.choice_entropy
    # Of their weights, with the multiplier E of the norm and d = E − F₁ + G_k.
    weight_term = 0.5 * rho * np.log(unpacked.order.E / unpacked.d)
    # Of the patterns: s² is the variance of their fields inside the group, χ the response, and g_k
    # their function on the top level.
    pattern_term = alpha * averages.patterns.entropy_term
    return float(choice_term + weight_term + pattern_term)


@dataclass(frozen=True)
class RSBBranch(ChiBranch[RSBState]):
    """The equations with a given number of steps at one density, and Newton on them."""

    rho: float  # ρ, the share of variables that are chosen
    steps: int = 1  # k
    ensemble: Ensemble = PLAIN

    def equations(self, point: Array, fineness: float = 1.0) -> RSBState:
        """The state at a point: its load, its entropy, and how far the saddle equations fail.

        The residual has one equation fewer than the point has coordinates: the load is no
        coordinate but follows from an identity, so the saddles form a line.

        Parameters
        ----------
        point : (coordinates,)
            The order parameters as `pack_order` gives them.
        fineness
            Grids are finer by this factor.
        """
        unpacked = _unpack_order(point, self.rho, self.steps, self.ensemble)
        averages = _averages(unpacked, self.rho, self.ensemble, fineness)
        patterns = averages.patterns
        supports = averages.supports

        # The load from the identity α E_k[p₊ + κR₁/ρ] = ρ: p₊ is the probability that a constraint
        # is tight, R₁ its mean violation, κ = margin·√ρ, and E_k an average on the top level.
        alpha = self.rho / (patterns.tight + self._margin_term(averages))
        entropy = _entropy(unpacked, averages, self.rho, alpha)
        # dΣ/dα = E₀[g₀], with the function g₀ of the patterns on the bottom level.
        entropy_by_alpha = patterns.values[0]
        replicons = _replicons(alpha, averages)
        return RSBState(
            alpha=float(alpha),
            ensemble=self.ensemble,
            order=unpacked.order,
            residual=self._residual(unpacked, averages, alpha, entropy),
            entropy=entropy,
            entropy_by_alpha=float(entropy_by_alpha),
            identity_error=_identity_error(unpacked, supports),
            tight=float(patterns.tight),
            replicon_inner=replicons.inner,
            replicon_outer=replicons.outer,
            edge_weight=max(patterns.edge_weight, supports.edge_weight),
        )

    def _margin_term(self, averages: _Averages) -> float:
        """κE_k[R₁]/ρ, κ = margin·√ρ: the mean violation R₁ of a constraint, times margin/√ρ."""
        return self.ensemble.margin / np.sqrt(self.rho) * averages.patterns.violation

    def _residual(
        self, unpacked: _UnpackedOrder, averages: _Averages, alpha: float, entropy: float
    ) -> Array:
        """The relative error of each saddle equation, (equations,), at the load α.

        Those of the break points come last: `solve_with` leaves them out where break points are
        held. `entropy` is Σ at this point.
        """
        errors = [
            self._chosen_error(averages.supports),
            self._norm_error(unpacked, averages.supports),
            self._d_error(unpacked, averages, alpha),
            *_conjugate_errors(unpacked, averages.patterns, alpha),
            *_overlap_errors(unpacked, averages.supports),
        ]
        if self.ensemble.free_threshold:
            # Σ_c σ_c f_c E_k[R₁] = 0, over classes c of share f_c and sign σ_c; the mean violation
            # R₁ has the scale √ρ.
            errors.append(averages.violation_by_sign / np.sqrt(self.rho))
        return np.array([*errors, *self._break_errors(unpacked, averages, alpha, entropy)])

    def _chosen_error(self, supports: BrokenSupportMeans) -> float:
        """The relative error of E_k[p] = ρ: the share of variables chosen.

        Of the shares chosen and rejected the smaller one is compared: its relative error says more.
        """
        if self.rho <= 0.5:
            return supports.chosen / self.rho - 1
        return 1 - supports.rejected / (1 - self.rho)

    def _norm_error(self, unpacked: _UnpackedOrder, supports: BrokenSupportMeans) -> float:
        """The relative error of E_k[p(u²/d² + 1/d − 1/E)] = ρ: the squared length of the weights.

        p is the probability that a variable of field u is chosen. Its weight then has the mean u/d
        and the variance 1/d − 1/E; d = E − F₁ + G_k.
        """
        weight_variance = 1 / unpacked.d - 1 / unpacked.order.E
        # `weight_square` is E_k[p u²/d²], and `chosen` E_k[p].
        norm = supports.weight_square + supports.chosen * weight_variance
        return norm / self.rho - 1

    def _d_error(self, unpacked: _UnpackedOrder, averages: _Averages, alpha: float) -> float:
        """The relative error of α E_k[κR₁/(ρχ) − g_k''] = d, d = E − F₁ + G_k.

        α is the load, R₁ the mean violation of a constraint, κ = margin·√ρ, χ the response and g_k
        the function of the patterns on the top level.
        """
        margin_part = self._margin_term(averages) / unpacked.order.chi  # E_k[κR₁/(ρχ)]
        d_of_patterns = alpha * (margin_part - averages.patterns.curvature)
        return d_of_patterns / unpacked.d - 1

    def _break_errors(
        self, unpacked: _UnpackedOrder, averages: _Averages, alpha: float, entropy: float
    ) -> list[float]:
        """The relative errors of the equations of x₁ … x_k; none without breaking.

        Level i = 0 … k has the overlap p_i and its conjugate G_i; x_i lies between levels i − 1 and
        i. E_i is the average on level i, g_i the function of the patterns there and f_i that of the
        variables. With S_i = α E_i[g_i] + E_i[f_i] the equations are

            S_i − S_{i−1} = ½x_i(G_i p_i − G_{i−1} p_{i−1}).

        In that of i = k large terms nearly cancel. Given the others it holds exactly where two
        expressions for the entropy agree: S₀ + Kρ, of the bottom level (K is the conjugate of the
        density ρ), and `entropy`, of the top level. That is the equation used for i = k.
        """
        if not self.steps:
            return []
        S = alpha * averages.patterns.values + averages.supports.values  # S₀ … S_k
        left_sides = np.diff(S)  # of i = 1 … k
        right_sides = 0.5 * unpacked.x * np.diff(unpacked.G * unpacked.p)
        errors_below_top = left_sides[:-1] / right_sides[:-1] - 1
        # S₀ + Kρ = entropy, relative to Kρ.
        top_error = 1 - (entropy - S[0]) / (unpacked.order.K * self.rho)
        return [*errors_below_top, top_error]

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
        """Newton in all coordinates of the point but those held.

        There is one equation fewer than coordinates, as the load is free. So the caller must hold
        one coordinate or give one equation more. With `hold_breaks` the break points stay as they
        are, too, and their equations go.

        Parameters
        ----------
        point : (coordinates,)
            A start, with the values of the held coordinates.
        held
            Indices of coordinates that stay as they are.
        name
            What is solved, for the error's sentence.
        extra_equation
            One equation more: its value, which must vanish, at a state.
        hold_breaks
            Whether the coordinates of the `steps` break points are held, besides those of `held`,
            and their equations left out.
        fineness
            Grids are finer by this factor.
        """
        free_coordinates = self._free_coordinates(len(point), held, hold_breaks)

        def whole_point(free_values: Array) -> Array:
            """All coordinates: the free ones, which Newton moves, among those held."""
            whole = np.array(point, dtype=float)
            whole[free_coordinates] = free_values
            return whole

        def residual(state: RSBState) -> Array:
            values = state.residual
            if hold_breaks:
                # The equations of the break points come last, one for each step.
                values = values[: len(values) - self.steps]
            if extra_equation is not None:
                values = np.append(values, extra_equation(state))
            return values

        solved = Newton(tolerance=RSB_TOLERANCE, step_tolerance=1e-5).solve(
            lambda free_values: self.equations(whole_point(free_values), fineness),
            np.array(point)[free_coordinates],
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

        ln χ, coordinate 0 of a point, is held: as many coordinates as equations are left.
        """
        name = f"{self.steps} step(s) of breaking at χ = {np.exp(log_chi):.6g}"
        return self.solve_with(np.array([log_chi, *start[1:]]), held=(0,), name=name)

    def at_load(
        self, alpha: float, start: Array, fineness: float = 1.0, *, hold_breaks: bool = False
    ) -> Solved[RSBState]:
        """The saddle at a given load α, from a point near to it.

        No coordinate is held (`held=()`); that the state has this load is the one equation more.
        Its error is relative to the distance from the nearer end of ρα_c < α < α_c, where α_c is
        the load that all variables hold together and ρα_c the one that a typical choice of them
        holds. α must lie between them: `solve_1rsb` sees to it. With `hold_breaks` the break
        points stay as they are.
        """
        load_of_all = gardner(self.ensemble).load  # α_c
        scale = min(alpha - self.rho * load_of_all, load_of_all - alpha)
        return self.solve_with(
            start,
            held=(),
            name=f"{self.steps} step(s) of breaking at α = {alpha:.10g}",
            extra_equation=lambda state: (state.alpha - alpha) / scale,
            hold_breaks=hold_breaks,
            fineness=fineness,
        )

    def at_zero_entropy(self, start: Array) -> Solved[RSBState]:
        """The capacity: the saddle where no choice is left to count, from a point near to it.

        No coordinate is held; the one equation more is that the entropy Σ is 0, relative to H₂(ρ),
        the entropy of all choices.
        """
        scale = binary_entropy(self.rho)
        return self.solve_with(
            start,
            held=(),
            name=f"capacity with {self.steps} step(s) of breaking",
            extra_equation=lambda state: state.entropy / scale,
        )
