"""Breaking of replica symmetry between supports in k steps: free entropy and saddle equations. k = 0 is replica symmetry.

The n replicas of the support c fall into nested groups of sizes x_k < … (as n → 0, 0 < x₁ < … < x_k < 1). The overlap is ρ − mχ
within one replica, p_k between replicas of the smallest common group, …, p₀ between different groups; conjugates F₁, G_k, …, G₀.
As m → 0,

    Σ = α ∫Dz g₀(√p₀ z) + ∫Dz f₀(√G₀ z) + Kρ + ½(E − F₁)ρ − ½F₁χ + ½ Σ_{i=0}^{k} (x_{i+1} − x_i) G_i p_i,

x₀ = 0, x_{k+1} = 1, where g_i and f_i descend the recursion (`parisi`) from the closed forms (`kernels`)

    g_k = ln A with s² = ρ − p_k,      f_k = ln(1 + e^{−K}B) with d = E − F₁ + G_k.

Each saddle equation is a partial derivative of Σ; with E_i the average over the weight P_i of level i they read E = ρ/χ and

    (1) E_k[p] = ρ,    (2) E_k[p(u²/d² + 1/d − 1/E)] = ρ,    (3) E_i[f_i'²] = p_i,    (4) α E_i[g_i'²] = G_i,
    (5) E − α E_k[R₂ − R₁²]/χ² = d,
    (6) α(E_i[g_i] − E_{i−1}[g_{i−1}]) + E_i[f_i] − E_{i−1}[f_{i−1}] = ½x_i(G_i p_i − G_{i−1} p_{i−1}).

Two Euler identities hold. The pattern term does not change when ρ, χ and all p_i are scaled together (the constraints do
not change under w → λw), the support term not when E, F₁ and all G_i are. At the saddle they give α E_k[p₊] = ρ, as many
tight constraints as chosen weights, and Σ = α E₀[g₀] + E₀[f₀] + Kρ. Near capacity these terms are large and nearly cancel;
going back to its top by (6), and writing f_k = p ln(e^{−K}B) + H₂(p), leaves the entropy inside the smallest
group, a sum of small terms:

    (7) Σ = E_k[H₂(p)] + ½ρ ln(E/d) + α E_k[g_k + ½(s² + χ)g_k'²].

The solver asks that both forms agree in place of (6) for i = k. With (1), (2), (4) and (5) alone the identities imply

    E (α E_k[p₊] − ρ) = Σ_i (x_{i+1} − x_i) G_i (E_i[f_i'²] − p_i):

so one equation of (3) can be given up for the identity. The solver uses it to eliminate α = ρ/E_k[p₊] and (5), which it turns
into d = −α E_k[g_k'']; from (3) it takes the differences between neighbouring levels. The equation left over, E₀[f₀'²] = p₀,
is imposed nowhere and shows how accurate a solution is; `RSBState.identity_error` is what it amounts to in α E_k[p₊] − ρ.

With unequal classes or a margin every pattern average runs over the classes, whose fields are centred at θ_c (`rs`); the
threshold brings the equation Σ_c σ_c f_c E_k[R₁] = 0. With a margin p₊ + κR₁/ρ takes the place of p₊ in the identity, which
turns (5) into d = α E_k[κR₁/(ρχ) − g_k'']; (7) holds as it stands.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import entr

from chanceline.theory.ensemble import PLAIN, Ensemble, binary_entropy, gardner
from chanceline.theory.kernels import PatternSide, SupportSide, pattern_side, support_side
from chanceline.theory.numerics import Array, ChiBranch, Newton, OutsideDomain, Solved
from chanceline.theory.parisi import LevelMeans, Recursion, focused_grid, gaussian_steps, recurse, uniform_grid

# Grid points per length that the integrands resolve; with these the error is near rounding (tests compare finer grids).
_PER_PATTERN_EDGE, _PER_SUPPORT_EDGE = 4.5, 5.5
_REACH = 9.0
# Relative residuals; rounding in the recursion leaves 1e-13 of them.
TOLERANCE = 1e-11


@dataclass(frozen=True)
class RSBOrder:
    """Order parameters of k steps between supports: p and G hold levels 0 … k, x the k break points."""

    chi: float
    K: float
    E: float
    F1: float
    p: tuple[float, ...]
    G: tuple[float, ...]
    x: tuple[float, ...]
    threshold: float = 0.0  # b/|w|


def pattern_recursion(
    p: Array, x: Array, chi: float, rho: float, offset: float = 0.0, fineness: float = 1.0
) -> tuple[PatternSide, Recursion]:
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
    return top, recurse(grids, top.log_a, top.slope, p, x, offset)


def support_recursion(G: Array, x: Array, E: float, d: float, K: float, fineness: float = 1.0) -> tuple[SupportSide, Recursion]:
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
    top = support_side(grids[-1].nodes, E - d, d, K)
    return top, recurse(grids, top.log_one_plus, top.slope, G, x)


# The differences for the Jacobian move one coordinate at a time: most of them leave one of the two sides as it was.
@lru_cache(maxsize=64)
def _class_means(
    p: tuple[float, ...], x: tuple[float, ...], chi: float, rho: float, offset: float, fineness: float
) -> LevelMeans:
    """The means of one class; at the top p₊, R₁, g_k'' and g_k + ½(s² + χ)g_k'²."""
    top, recursion = pattern_recursion(np.array(p), np.array(x), chi, rho, offset, fineness)
    internal = top.log_a + 0.5 * (rho - p[-1] + chi) * top.slope**2
    return recursion.means(top.curvature, top.tight, top.mean, top.curvature, internal)


@lru_cache(maxsize=64)
def _support_means(G: tuple[float, ...], x: tuple[float, ...], d: float, switch: float, fineness: float) -> LevelMeans:
    """The means of the supports; at the top p, 1 − p, p u²/d² and H₂(p)."""
    # Only K − ½ ln(E/d) enters: E = e·d brings K = switch + ½.
    top, recursion = support_recursion(np.array(G), np.array(x), np.e * d, d, switch + 0.5, fineness)
    mixing = entr(top.chosen) + entr(top.rejected)
    return recursion.means(top.curvature, top.chosen, top.rejected, top.chosen * top.mean**2, mixing)


@dataclass(frozen=True)
class RSBState:
    """The equations at one point."""

    alpha: float
    ensemble: Ensemble
    order: RSBOrder
    residual: Array
    entropy: float  # Σ at the saddle, equation (7)
    entropy_by_alpha: float  # dΣ/dα at the saddle = E₀[g₀]
    identity_error: float  # the equation left over, as an error of α E_k[p₊] − ρ
    tight: float  # E_k[p₊]
    replicon_inner: float  # among the replicas of one smallest group
    replicon_outer: float  # among the largest groups
    edge_weight: float  # what the ends of the grids cut off


def pack(order: RSBOrder, rho: float, ensemble: Ensemble = PLAIN) -> Array:
    """The point: ln χ, K − ½ ln(E/d), ln of p₀, p₁ − p₀, … over ρ − p_k, ln x₁ … ln x_k, ln d, ln of G₀, G₁ − G₀, …

    and the threshold, if it is free.
    """
    d = order.E - order.F1 + order.G[-1]
    shares = np.diff(np.array(order.p), prepend=0.0) / (rho - order.p[-1])
    parts = np.diff(np.array(order.G), prepend=0.0)
    switch = order.K - 0.5 * np.log(order.E / d)
    free = [order.threshold] if ensemble.free_threshold else []
    return np.array([np.log(order.chi), switch, *np.log(shares), *np.log(order.x), np.log(d), *np.log(parts), *free])


@dataclass(frozen=True)
class RSBBranch(ChiBranch[RSBState]):
    """The equations with a given number of steps at one density, and Newton on them."""

    rho: float
    steps: int = 1
    ensemble: Ensemble = PLAIN

    def equations(self, point: Array, fineness: float = 1.0) -> RSBState:
        """Relative residuals, one fewer than the point has coordinates (see `pack`); α follows."""
        if np.abs(point).max() > 100:
            raise OutsideDomain("an order parameter left the range of floating-point numbers")
        rho, k = self.rho, self.steps
        chi, switch, d = float(np.exp(point[0])), float(point[1]), float(np.exp(point[3 + 2 * k]))
        shares, x = np.exp(point[2 : 3 + k]), np.exp(point[3 + k : 3 + 2 * k])
        parts = np.exp(point[4 + 2 * k : 5 + 3 * k])
        threshold = float(point[-1]) if self.ensemble.free_threshold else 0.0
        if np.any(np.diff(x, prepend=0.0, append=1.0) <= 0):
            raise OutsideDomain("0 < x₁ < … < x_k < 1 is needed")
        p = rho / (1 + shares.sum()) * np.cumsum(shares)
        G, E = np.cumsum(parts), rho / chi
        if d >= E:
            raise OutsideDomain("E > d is needed")
        order_p, order_G, order_x = (tuple(map(float, levels)) for levels in (p, G, x))
        classes: Any = [
            (share, sign, _class_means(order_p, order_x, chi, rho, offset, fineness))
            for share, sign, offset in self.ensemble.offsets(rho, threshold)
        ]
        patterns = LevelMeans._make(map(sum, zip(*([share * mean for mean in one] for share, _, one in classes), strict=True)))
        supports = _support_means(order_G, order_x, d, switch, fineness)
        tight, first, curvature, internal = patterns.top
        chosen, rejected, weighted, mixing = supports.top

        # The margin's part of the identity, κE_k[R₁]/ρ.
        by_margin = self.ensemble.margin / np.sqrt(rho) * first
        alpha = rho / (tight + by_margin)
        K = switch + 0.5 * np.log(E / d)
        means = alpha * patterns.values + supports.values
        entropy = mixing + 0.5 * rho * np.log(E / d) + alpha * internal
        by_breaks = np.diff(means) / (0.5 * x * np.diff(G * p)) - 1
        if k:
            by_breaks[-1] = (means[0] - entropy) / (K * rho) + 1
        by_threshold = sum(share * sign * one.top[1] for share, sign, one in classes) / np.sqrt(rho)
        norm = weighted + chosen * (1 / d - 1 / E)
        residual = [
            chosen / rho - 1 if rho <= 0.5 else 1 - rejected / (1 - rho),
            norm / rho - 1,
            alpha * (by_margin / chi - curvature) / d - 1,
            *(alpha * np.diff(patterns.squares, prepend=0.0) / parts - 1),
            *(np.diff(supports.squares) / np.diff(p) - 1),
            *([by_threshold] if self.ensemble.free_threshold else []),
            *by_breaks,
        ]
        inner, outer = alpha * patterns.squared_curvature * supports.squared_curvature
        gaps = np.diff(np.array([0.0, *x, 1.0]))
        return RSBState(
            alpha=float(alpha),
            ensemble=self.ensemble,
            order=RSBOrder(chi, K, E, E - d + float(G[-1]), order_p, order_G, order_x, threshold),
            residual=np.array(residual),
            entropy=float(entropy),
            entropy_by_alpha=float(patterns.values[0]),
            identity_error=float(gaps @ G / E * (supports.squares[0] - p[0])),
            tight=float(tight),
            replicon_inner=float(inner),
            replicon_outer=float(outer),
            edge_weight=max(patterns.edge_weight, supports.edge_weight),
        )

    def solve_with(
        self,
        point: Array,
        held: tuple[int, ...],
        what: str,
        *,
        extra: Callable[[RSBState], float] | None = None,
        hold_breaks: bool = False,
        fineness: float = 1.0,
    ) -> Solved[RSBState]:
        """Newton in all coordinates of the point but those held.

        `extra` is one equation more (its value must vanish); `hold_breaks` leaves out the equations (6).
        """
        free = [j for j in range(len(point)) if j not in held]

        def filled(values: Array) -> Array:
            whole = np.array(point, dtype=float)
            whole[free] = values
            return whole

        def residual(state: RSBState) -> Array:
            values = state.residual[: len(state.residual) - self.steps] if hold_breaks else state.residual
            return values if extra is None else np.append(values, extra(state))

        solved = Newton(tolerance=TOLERANCE, step_tolerance=1e-5).solve(
            lambda values: self.equations(filled(values), fineness),
            np.array(point)[free],
            self.ensemble.label(f"{what} at ρ = {self.rho:.10g}"),
            residual=residual,
        )
        return replace(solved, unknowns=filled(solved.unknowns))

    def at_chi(self, log_chi: float, start: Array) -> Solved[RSBState]:
        what = f"{self.steps} step(s) of breaking at χ = {np.exp(log_chi):.6g}"
        return self.solve_with(np.array([log_chi, *start[1:]]), (0,), what)

    def at_load(self, alpha: float, start: Array, fineness: float = 1.0) -> Solved[RSBState]:
        """The saddle at a given α."""
        what = f"{self.steps} step(s) of breaking at α = {alpha:.10g}"
        top = gardner(self.ensemble).load
        scale = min(alpha - self.rho * top, top - alpha)
        return self.solve_with(start, (), what, extra=lambda state: (state.alpha - alpha) / scale, fineness=fineness)

    def at_zero_entropy(self, start: Array) -> Solved[RSBState]:
        """The point where no choice is left to count, Σ = 0."""
        what, scale = f"capacity with {self.steps} step(s) of breaking", binary_entropy(self.rho)
        return self.solve_with(start, (), what, extra=lambda state: state.entropy / scale)
