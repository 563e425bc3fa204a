"""Breaking of replica symmetry between supports in k steps: free entropy and saddle equations. k = 0 is replica symmetry.

The n replicas of the support c fall into nested groups of sizes x_k < … (as n → 0, 0 < x₁ < … < x_k < 1). The overlap is ρ − mχ
within one replica, p_k between replicas of the smallest common group, …, p₀ between strangers; conjugates F₁, G_k, …, G₀.
As m → 0,

    Σ = α ∫Dz g₀(√p₀ z) + ∫Dz f₀(√G₀ z) + Kρ + ½(E − F₁)ρ − ½F₁χ + ½ Σ_{i=0}^{k} (x_{i+1} − x_i) G_i p_i,

x₀ = 0, x_{k+1} = 1, where g_i and f_i descend the ladder (`ladder`) from the closed forms (`kernels`)

    g_k = ln A with s² = ρ − p_k,      f_k = ln(1 + e^{−K}B) with d = E − F₁ + G_k.

Each saddle equation is a partial derivative of Σ; with E_i the average over the weight P_i of level i they read E = ρ/χ and

    (1) E_k[p] = ρ,    (2) E_k[p(u²/d² + 1/d − 1/E)] = ρ,    (3) E_i[f_i'²] = p_i,    (4) α E_i[g_i'²] = G_i,
    (5) E − α E_k[R₂ − R₁²]/χ² = d,
    (6) α(E_i[g_i] − E_{i−1}[g_{i−1}]) + E_i[f_i] − E_{i−1}[f_{i−1}] = ½x_i(G_i p_i − G_{i−1} p_{i−1}).

Two Euler identities hold. The pattern term does not change when ρ, χ and all p_i are scaled together (the constraints do
not change under w → λw), the support term not when E, F₁ and all G_i are. At the saddle they give α E_k[p₊] = ρ, as many
tight constraints as chosen weights, and Σ = α E₀[g₀] + E₀[f₀] + Kρ. Near capacity these terms are large and nearly cancel;
climbing to the top of the ladders by (6), and writing f_k = p ln(e^{−K}B) + H₂(p), leaves the entropy inside the smallest
group, a sum of small terms:

    (7) Σ = E_k[H₂(p)] + ½ρ ln(E/d) + α E_k[g_k + ½(s² + χ)g_k'²].

The solver asks that both forms agree in place of (6) for i = k. With (1), (2), (4) and (5) alone the identities imply

    E (α E_k[p₊] − ρ) = Σ_i (x_{i+1} − x_i) G_i (E_i[f_i'²] − p_i):

so one equation of (3) can be given up for the identity. The solver uses it to eliminate α = ρ/E_k[p₊] and (5), which it turns
into d = −α E_k[g_k'']; from (3) it takes the differences between neighbouring levels. The equation left over, E₀[f₀'²] = p₀,
is imposed nowhere and shows how accurate a solution is; `BrokenState.identity_error` is what it amounts to in α E_k[p₊] − ρ.

With unequal classes or a margin every pattern average runs over the classes, whose fields are centred at θ_c (`rs`); the
threshold brings the equation Σ_c σ_c f_c E_k[R₁] = 0. With a margin p₊ + κR₁/ρ takes the place of p₊ in the identity, which
turns (5) into d = α E_k[κR₁/(ρχ) − g_k'']; (7) holds as it stands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr

from chanceline.theory.gardner import gardner
from chanceline.theory.kernels import PatternSide, SupportSide, binary_entropy, pattern_side, support_side
from chanceline.theory.ladder import Ladder, climb, focused_grid, gaussian_steps, uniform_grid
from chanceline.theory.patterns import PLAIN, Patterns
from chanceline.theory.solver import Newton, OutsideDomain, Solved, difference_jacobian, follow_response

Array = NDArray[np.float64]

# Grid points per length that the integrands resolve; with these the error is near rounding (tests compare finer grids).
_PER_PATTERN_EDGE, _PER_SUPPORT_EDGE = 4.5, 5.5
_REACH = 9.0
# Relative residuals; rounding in the ladders leaves 1e-13 of them.
TOLERANCE = 1e-11


@dataclass(frozen=True)
class Breaking:
    """Order parameters of k steps between supports: p and G hold levels 0 … k, x the k break points."""

    chi: float
    K: float
    E: float
    F1: float
    p: tuple[float, ...]
    G: tuple[float, ...]
    x: tuple[float, ...]
    threshold: float = 0.0  # b/|w|


def pattern_ladder(
    p: Array, x: Array, chi: float, rho: float, offset: float = 0.0, fineness: float = 1.0
) -> tuple[PatternSide, Ladder]:
    """g_k … g₀ and their weights, for overlaps p₀ … p_k and a class whose field is centred at `offset`."""
    s2 = rho - p[-1]
    if not (chi > 0 and s2 > 0 and np.all(np.diff(p, prepend=0.0) > 0)):
        raise OutsideDomain("χ > 0 and 0 < p₀ < … < p_k < ρ are needed")
    # The edge of A needs a step of a fraction of s; elsewhere, and on the levels below, the Gaussians set the step. On the
    # violated side the last one is narrowed by A^x.
    steps = gaussian_steps(p) / fineness
    reach = _REACH * np.sqrt(p[-1]) + abs(offset)
    total = s2 + chi
    narrowing = np.sqrt(total / (total + x[-1] * (p[-1] - p[-2]))) if len(x) else np.sqrt(total / (total + p[0]))
    grids = [uniform_grid(reach, step) for step in steps[:-1]]
    s = np.sqrt(s2)
    grids.append(focused_grid(reach, s / _PER_PATTERN_EDGE / fineness, steps[-1] * narrowing, 3 * s))
    top = pattern_side(grids[-1].nodes, s2, chi)
    return top, climb(grids, top.log_a, top.slope, p, x, offset)


def support_ladder(G: Array, x: Array, E: float, d: float, K: float, fineness: float = 1.0) -> tuple[SupportSide, Ladder]:
    """f_k … f₀ and their weights. The grids reach as far as P_k does, which is wider than N(0, G_k).

    For large u, f_i ≈ u²/2d_i with d_{i−1} = d_i − x_i(G_i − G_{i−1}): the tilted weight of level i is a Gaussian of variance
    v_i = v_{i−1}(d_i/d_{i−1})² + (G_i − G_{i−1}) d_i/d_{i−1}, v₀ = G₀.
    """
    parts = np.diff(G, prepend=0.0)
    scales = np.append(d - np.cumsum((x * parts[1:])[::-1])[::-1], d)
    if not (d < E and np.all(parts > 0) and scales.min() > 1e-3 * d):
        raise OutsideDomain("E > d > Σ x_i(G_i − G_{i−1}) and 0 < G₀ < … < G_k are needed")
    variance = G[0]
    for part, ratio in zip(parts[1:], scales[1:] / scales[:-1], strict=True):
        variance = variance * ratio**2 + part * ratio
    # 1 + e^{−K}B vanishes at u²/2d = K − ½ ln(E/d) ± iπ: this far from the real axis f_k is analytic. On level i the switch
    # between rejected and chosen groups has exponent x_{i+1}(u²/2d_i − K), so that π/x_{i+1} and d_i stand for π and d.
    switch = max(K - 0.5 * np.log(E / d), 0.0)
    zeros = np.sqrt(2 * scales * (switch + 1j * np.pi / np.append(x, 1.0)))
    reach = _REACH * np.sqrt(variance)
    grids = [
        focused_grid(reach, zero.imag / _PER_SUPPORT_EDGE / fineness, step / fineness, abs(zero))
        for zero, step in zip(zeros, gaussian_steps(G), strict=True)
    ]
    top = support_side(grids[-1].nodes, E, d, K)
    return top, climb(grids, top.log_one_plus, top.slope, G, x)


def free_entropy(order: Breaking, alpha: float, rho: float, patterns: Patterns = PLAIN, fineness: float = 1.0) -> float:
    """Σ as a function of all order parameters (not only at the saddle)."""
    o, p, G, x = order, np.array(order.p), np.array(order.G), np.array(order.x)
    value = 0.0
    for share, _, offset in _offsets(patterns, rho, o.threshold):
        value += share * pattern_ladder(p, x, o.chi, rho, offset, fineness)[1].mean_value(0)
    _, supports = support_ladder(G, x, o.E, o.E - o.F1 + G[-1], o.K, fineness)
    gaps = np.diff(np.array([0.0, *o.x, 1.0]))
    outside = o.K * rho + 0.5 * ((o.E - o.F1) * rho - o.F1 * o.chi + gaps @ (G * p))
    return float(alpha * value + supports.mean_value(0) + outside)


def _offsets(patterns: Patterns, rho: float, threshold: float) -> list[tuple[float, float, float]]:
    """(share, σ, θ) of each class."""
    root = float(np.sqrt(rho))
    return [(share, sign, root * (patterns.margin + sign * threshold)) for share, sign in patterns.classes]


@dataclass(frozen=True)
class _PatternMeans:
    tight: float
    first: float  # E_k[R₁]
    pull: float  # Σ_c σ_c f_c E_k[R₁]
    curvature: float
    squares: Array  # E_i[g_i'²]
    values: Array  # E_i[g_i]
    internal: float  # E_k[g_k + ½(s² + χ)g_k'²]
    squared_curvature: Array  # at the top and at the bottom
    edge_weight: float


@dataclass(frozen=True)
class _SupportMeans:
    chosen: float
    rejected: float
    weighted: float  # E_k[p u²/d²]
    squares: Array  # E_i[f_i'²]
    values: Array  # E_i[f_i]
    mixing: float  # E_k[H₂(p)]
    squared_curvature: tuple[float, float]
    edge_weight: float


# The differences for the Jacobian move one coordinate at a time: most of them leave one of the two sides as it was.
@lru_cache(maxsize=64)
def _class_means(
    p: tuple[float, ...], x: tuple[float, ...], chi: float, rho: float, offset: float, fineness: float
) -> _PatternMeans:
    """The means of one class, with σ_c f_c left out of `pull`."""
    top, ladder = pattern_ladder(np.array(p), np.array(x), chi, rho, offset, fineness)
    k = len(x)
    first = ladder.mean(k, top.mean)
    return _PatternMeans(
        ladder.mean(k, top.tight),
        first,
        first,
        ladder.mean(k, top.curvature),
        np.array([ladder.mean_square_slope(i) for i in range(k + 1)]),
        np.array([ladder.mean_value(i) for i in range(k + 1)]),
        ladder.mean(k, top.log_a + 0.5 * (rho - p[-1] + chi) * top.slope**2),
        np.array([ladder.mean(k, top.curvature**2), ladder.mean(0, ladder.bottom_curvature(top.curvature) ** 2)]),
        ladder.edge_weight,
    )


def _pattern_means(
    patterns: Patterns, threshold: float, p: tuple[float, ...], x: tuple[float, ...], chi: float, rho: float, fineness: float
) -> _PatternMeans:
    """The means over all classes."""
    parts = [
        (share, sign, _class_means(p, x, chi, rho, offset, fineness))
        for share, sign, offset in _offsets(patterns, rho, threshold)
    ]

    def total(name: str) -> Any:
        return sum(share * getattr(part, name) for share, _, part in parts)

    return _PatternMeans(
        total("tight"),
        total("first"),
        sum(share * sign * part.pull for share, sign, part in parts),
        total("curvature"),
        total("squares"),
        total("values"),
        total("internal"),
        total("squared_curvature"),
        max(part.edge_weight for _, _, part in parts),
    )


@lru_cache(maxsize=64)
def _support_means(G: tuple[float, ...], x: tuple[float, ...], d: float, switch: float, fineness: float) -> _SupportMeans:
    # Only K − ½ ln(E/d) enters: E = e·d brings K = switch + ½.
    top, ladder = support_ladder(np.array(G), np.array(x), np.e * d, d, switch + 0.5, fineness)
    k = len(x)
    return _SupportMeans(
        ladder.mean(k, top.chosen),
        ladder.mean(k, top.rejected),
        ladder.mean(k, top.chosen * (top.u / d) ** 2),
        np.array([ladder.mean_square_slope(i) for i in range(k + 1)]),
        np.array([ladder.mean_value(i) for i in range(k + 1)]),
        ladder.mean(k, entr(top.chosen) + entr(top.rejected)),
        (ladder.mean(k, top.curvature**2), ladder.mean(0, ladder.bottom_curvature(top.curvature) ** 2)),
        ladder.edge_weight,
    )


@dataclass(frozen=True)
class BrokenState:
    """The equations at one point; the Jacobian is taken by differences when Newton asks for it."""

    alpha: float
    rho: float
    patterns: Patterns
    order: Breaking
    residual: Array
    entropy: float  # Σ at the saddle, equation (7)
    entropy_by_alpha: float  # dΣ/dα at the saddle = E₀[g₀]
    identity_error: float  # the equation left over, as an error of α E_k[p₊] − ρ
    tight: float  # E_k[p₊]
    replicon_inner: float  # among the replicas of one smallest group
    replicon_outer: float  # among the largest groups
    edge_weight: float  # what the ends of the grids cut off
    function: Callable[[Array], BrokenState]
    values: Array

    @cached_property
    def jacobian(self) -> Array:
        """Central differences: the equations are stiff near ρ = 1, where forward ones would slow Newton down."""
        return difference_jacobian(lambda moved: self.function(moved).residual, self.values)


def pack(order: Breaking, rho: float, patterns: Patterns = PLAIN) -> Array:
    """The point: ln χ, K − ½ ln(E/d), ln of p₀, p₁ − p₀, … over ρ − p_k, ln x₁ … ln x_k, ln d, ln of G₀, G₁ − G₀, …

    and the threshold, if it is free.
    """
    d = order.E - order.F1 + order.G[-1]
    shares = np.diff(np.array(order.p), prepend=0.0) / (rho - order.p[-1])
    parts = np.diff(np.array(order.G), prepend=0.0)
    switch = order.K - 0.5 * np.log(order.E / d)
    free = [order.threshold] if patterns.free_threshold else []
    return np.array([np.log(order.chi), switch, *np.log(shares), *np.log(order.x), np.log(d), *np.log(parts), *free])


@dataclass(frozen=True)
class BrokenBranch:
    """The equations with a given number of steps at one density, and Newton on them."""

    rho: float
    steps: int = 1
    patterns: Patterns = PLAIN

    @property
    def size(self) -> int:
        """Number of coordinates of a point."""
        return 5 + 3 * self.steps + int(self.patterns.free_threshold)

    def equations(self, point: Array, fineness: float = 1.0) -> BrokenState:
        """Relative residuals, one fewer than the point has coordinates (see `pack`); α follows."""
        if np.abs(point).max() > 100:
            raise OutsideDomain("an order parameter left the range of floating-point numbers")
        rho, k = self.rho, self.steps
        chi, switch, d = float(np.exp(point[0])), float(point[1]), float(np.exp(point[3 + 2 * k]))
        shares, x = np.exp(point[2 : 3 + k]), np.exp(point[3 + k : 3 + 2 * k])
        parts = np.exp(point[4 + 2 * k : 5 + 3 * k])
        threshold = float(point[-1]) if self.patterns.free_threshold else 0.0
        if np.any(np.diff(x, prepend=0.0, append=1.0) <= 0):
            raise OutsideDomain("0 < x₁ < … < x_k < 1 is needed")
        p = rho / (1 + shares.sum()) * np.cumsum(shares)
        G, E = np.cumsum(parts), rho / chi
        if d >= E:
            raise OutsideDomain("E > d is needed")
        order_p, order_G, order_x = tuple(map(float, p)), tuple(map(float, G)), tuple(map(float, x))
        patterns = _pattern_means(self.patterns, threshold, order_p, order_x, chi, rho, fineness)
        supports = _support_means(order_G, order_x, d, switch, fineness)

        # The margin's part of the identity, κE_k[R₁]/ρ.
        by_margin = self.patterns.margin / np.sqrt(rho) * patterns.first
        alpha = rho / (patterns.tight + by_margin)
        K = switch + 0.5 * np.log(E / d)
        means = alpha * patterns.values + supports.values
        entropy = supports.mixing + 0.5 * rho * np.log(E / d) + alpha * patterns.internal
        by_breaks = np.diff(means) / (0.5 * x * np.diff(G * p)) - 1
        if k:
            by_breaks[-1] = (means[0] - entropy) / (K * rho) + 1
        norm = supports.weighted + supports.chosen * (1 / d - 1 / E)
        residual = np.concatenate(
            [
                [
                    supports.chosen / rho - 1 if rho <= 0.5 else 1 - supports.rejected / (1 - rho),
                    norm / rho - 1,
                    alpha * (by_margin / chi - patterns.curvature) / d - 1,
                ],
                alpha * np.diff(patterns.squares, prepend=0.0) / parts - 1,
                np.diff(supports.squares) / np.diff(p) - 1,
                [patterns.pull / np.sqrt(rho)] if self.patterns.free_threshold else [],
                by_breaks,
            ]
        )
        inner, outer = alpha * patterns.squared_curvature * supports.squared_curvature
        gaps = np.diff(np.array([0.0, *x, 1.0]))
        return BrokenState(
            alpha=float(alpha),
            rho=rho,
            patterns=self.patterns,
            order=Breaking(chi, K, E, E - d + float(G[-1]), order_p, order_G, order_x, threshold),
            residual=residual,
            entropy=float(entropy),
            entropy_by_alpha=float(patterns.values[0]),
            identity_error=float(gaps @ G / E * (supports.squares[0] - p[0])),
            tight=float(patterns.tight),
            replicon_inner=float(inner),
            replicon_outer=float(outer),
            edge_weight=max(patterns.edge_weight, supports.edge_weight),
            function=lambda moved: self.equations(moved, fineness),
            values=point,
        )

    def solve_with(
        self,
        point: Array,
        held: tuple[int, ...],
        what: str,
        *,
        extra: Callable[[BrokenState], float] | None = None,
        hold_breaks: bool = False,
        fineness: float = 1.0,
    ) -> Solved[BrokenState]:
        """Newton in all coordinates of the point but those held.

        `extra` is one equation more (its value must vanish); `hold_breaks` leaves out the equations (6).
        """
        template = np.array(point, dtype=float)
        free = [j for j in range(len(template)) if j not in held]

        def restricted(values: Array) -> BrokenState:
            moved = template.copy()
            moved[free] = values
            state = self.equations(moved, fineness)
            residual = state.residual[: len(state.residual) - self.steps] if hold_breaks else state.residual
            if extra is not None:
                residual = np.append(residual, extra(state))
            return replace(state, residual=residual, function=restricted, values=values)

        extras = self.patterns.describe()
        name = f"{what} at ρ = {self.rho:.10g}" + (f", {extras}" if extras else "")
        solved = Newton(tolerance=TOLERANCE, step_tolerance=1e-5).solve(restricted, template[free], name)
        template[free] = solved.unknowns
        return replace(solved, unknowns=template)

    def at_response(self, log_chi: float, start: Array, fineness: float = 1.0) -> Solved[BrokenState]:
        """The saddle at a given χ; along the branch χ falls."""
        what = f"{self.steps} step(s) of breaking at χ = {np.exp(log_chi):.6g}"
        return self.solve_with(np.array([log_chi, *start[1:]]), (0,), what, fineness=fineness)

    def at_load(self, alpha: float, start: Array, fineness: float = 1.0) -> Solved[BrokenState]:
        """The saddle at a given α."""
        what = f"{self.steps} step(s) of breaking at α = {alpha:.10g}"
        top = gardner(self.patterns).load
        scale = min(alpha - self.rho * top, top - alpha)
        return self.solve_with(start, (), what, extra=lambda state: (state.alpha - alpha) / scale, fineness=fineness)

    def at_zero_entropy(self, start: Array, fineness: float = 1.0) -> Solved[BrokenState]:
        """The point where no choice is left to count, Σ = 0."""
        what = f"capacity with {self.steps} step(s) of breaking"
        return self.solve_with(start, (), what, extra=relative_entropy, fineness=fineness)

    def follow(
        self, start: Solved[BrokenState], step: float, until: Callable[[BrokenState], bool]
    ) -> Iterator[Solved[BrokenState]]:
        """Continuation in ln χ from any point of the branch; a positive step leads back to its beginning."""
        return follow_response(self.at_response, start, step, until)


def relative_entropy(state: BrokenState) -> float:
    """Σ/H₂(ρ), the equation of the capacity."""
    return state.entropy / binary_entropy(state.rho)
