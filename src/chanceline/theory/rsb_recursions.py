"""The two sides of the equations with breaking: recursions from the closed forms, and averages.

The pattern side descends from g_k = ln A with s² = ρ − p_k, the support side from f_k = ln(1 +
e^{−K}B) with d = E − F₁ + G_k (`parisi` has the recursion, `patterns` and `supports` the closed
forms).
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.special import entr

from chanceline.theory.newton import OutsideDomain
from chanceline.theory.parisi import (
    LevelMeans,
    Recursion,
    focused_grid,
    gaussian_steps,
    recurse,
    uniform_grid,
)
from chanceline.theory.patterns import PatternSide, pattern_side
from chanceline.theory.quadrature import Array
from chanceline.theory.supports import SupportSide, support_side

# Grid points per length that the integrands resolve; with these the error is near rounding (tests
# compare finer grids).
_PER_PATTERN_EDGE = 4.5
_PER_SUPPORT_EDGE = 5.5
# The grids reach this many standard deviations of the field.
_REACH = 9.0
# The step is fine up to this many widths s from the edge of A.
_PATTERN_FOCUS = 3
# The smallest d_i as a share of d that the grids of the support side are made for.
_SMALLEST_SCALE = 1e-3


def pattern_recursion(
    p: Array, x: Array, chi: float, rho: float, *, offset: float = 0.0, fineness: float = 1.0
) -> tuple[PatternSide, Recursion]:
    """g_k … g₀ and their weights.

    Parameters
    ----------
    p : (k + 1,)
        Overlaps p₀ … p_k.
    x : (k,)
        Break points x₁ … x_k.
    chi, rho
        χ and ρ.
    offset
        Where the field of the class is centred.
    fineness
        Grids are finer by this factor.
    """
    s2 = rho - p[-1]
    if not (chi > 0 and s2 > 0 and np.all(np.diff(p, prepend=0.0) > 0)):
        raise OutsideDomain("χ > 0 and 0 < p₀ < … < p_k < ρ are needed")
    s = np.sqrt(s2)
    reach = _REACH * np.sqrt(p[-1]) + abs(offset)

    # The edge of A needs a step of a fraction of s; elsewhere, and on the levels below, the
    # Gaussians set the step. On the violated side the last one is narrowed by A^x.
    steps = gaussian_steps(p) / fineness
    total = s2 + chi
    last_part = p[0]
    if len(x):
        last_part = x[-1] * (p[-1] - p[-2])
    narrowing = np.sqrt(total / (total + last_part))

    grids = [uniform_grid(reach, step) for step in steps[:-1]]
    top_grid = focused_grid(
        reach,
        fine=s / _PER_PATTERN_EDGE / fineness,
        coarse=steps[-1] * narrowing,
        focus=_PATTERN_FOCUS * s,
    )
    grids.append(top_grid)
    top = pattern_side(top_grid.nodes, s2, chi)
    recursion = recurse(
        grids, top=top.log_a, top_slope=top.slope, variances=p, breaks=x, centre=offset
    )
    return top, recursion


def support_recursion(
    G: Array, x: Array, E: float, d: float, K: float, *, fineness: float = 1.0
) -> tuple[SupportSide, Recursion]:
    """f_k … f₀ and their weights.

    The grids reach as far as P_k does, which is wider than N(0, G_k).

    For large u, f_i ≈ u²/2d_i with d_{i−1} = d_i − x_i(G_i − G_{i−1}): the tilted weight of level i
    is a Gaussian of variance v_i = v_{i−1}(d_i/d_{i−1})² + (G_i − G_{i−1}) d_i/d_{i−1}, v₀ = G₀.

    Parameters
    ----------
    G : (k + 1,)
        Conjugates G₀ … G_k.
    x : (k,)
        Break points x₁ … x_k.
    E, d, K
        The other order parameters of the support side.
    fineness
        Grids are finer by this factor.
    """
    parts = np.diff(G, prepend=0.0)
    scales = np.append(d - np.cumsum((x * parts[1:])[::-1])[::-1], d)  # d₀ … d_k
    if not (d < E and np.all(parts > 0) and scales.min() > _SMALLEST_SCALE * d):
        raise OutsideDomain("E > d > Σ x_i(G_i − G_{i−1}) and 0 < G₀ < … < G_k are needed")

    # The variance v_k of the tilted weight at the top.
    variance = G[0]
    for part, ratio in zip(parts[1:], scales[1:] / scales[:-1], strict=True):
        variance = variance * ratio**2 + part * ratio
    reach = _REACH * np.sqrt(variance)

    # 1 + e^{−K}B vanishes at u²/2d = K − ½ ln(E/d) ± iπ: this far from the real axis f_k is
    # analytic. On level i the switch between rejected and chosen groups has exponent
    # x_{i+1}(u²/2d_i − K), so that π/x_{i+1} and d_i stand for π and d.
    switch = max(K - 0.5 * np.log(E / d), 0.0)
    zeros = np.sqrt(2 * scales * (switch + 1j * np.pi / np.append(x, 1.0)))
    grids = [
        focused_grid(
            reach,
            fine=zero.imag / _PER_SUPPORT_EDGE / fineness,
            coarse=step / fineness,
            focus=abs(zero),
        )
        for zero, step in zip(zeros, gaussian_steps(G), strict=True)
    ]
    top = support_side(grids[-1].nodes, E - d, d, K)
    recursion = recurse(grids, top=top.log_one_plus, top_slope=top.slope, variances=G, breaks=x)
    return top, recursion


# The differences for the Jacobian move one coordinate at a time: most of them leave one of the two
# sides as it was, and the caches have it.


@lru_cache(maxsize=64)
def broken_class_means(
    p: tuple[float, ...],
    x: tuple[float, ...],
    chi: float,
    rho: float,
    *,
    offset: float,
    fineness: float,
) -> LevelMeans:
    """The means of one class; at the top p₊, R₁, g_k'' and g_k + ½(s² + χ)g_k'²."""
    top, recursion = pattern_recursion(
        np.array(p), np.array(x), chi, rho, offset=offset, fineness=fineness
    )
    internal = top.log_a + 0.5 * (rho - p[-1] + chi) * top.slope**2
    return recursion.means(top.curvature, top.tight, top.mean, top.curvature, internal)


@lru_cache(maxsize=64)
def broken_support_means(
    G: tuple[float, ...], x: tuple[float, ...], d: float, switch: float, *, fineness: float
) -> LevelMeans:
    """The means of the supports; at the top p, 1 − p, p u²/d², H₂(p). `switch`: K − ½ ln(E/d)."""
    # Only the switch enters: E = e·d brings K = switch + ½.
    top, recursion = support_recursion(
        np.array(G), np.array(x), E=np.e * d, d=d, K=switch + 0.5, fineness=fineness
    )
    mixing = entr(top.chosen) + entr(top.rejected)
    weight_square = top.chosen * top.mean**2
    return recursion.means(top.curvature, top.chosen, top.rejected, weight_square, mixing)
