"""The two sides of the equations with breaking: recursions from the closed forms, and averages.

The pattern side descends from g_k = ln A with s² = ρ − p_k, the support side from f_k = ln(1 +
e^{−K}B) with d = E − F₁ + G_k (`parisi` has the recursion, `patterns` and `supports` the closed
forms).
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import entr

from chanceline.theory.newton import OutsideDomain
from chanceline.theory.parisi import (
    FIELD_REACH,
    Recursion,
    descending_scales,
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
# The step is fine up to this many widths s from the edge of A.
_PATTERN_FOCUS = 3
# The smallest d_i as a share of d that the grids of the support side are made for.
_SMALLEST_SCALE = 1e-3


def pattern_recursion(  # noqa: PLR0913
    p: Array, x: Array, chi: float, rho: float, *, offset: float = 0.0, fineness: float = 1.0
) -> tuple[PatternSide, Recursion]:
    """g_k = ln A on its grid, and g_k … g₀ with their weights.

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
    parts = np.diff(p, prepend=0.0)  # p₀, p₁ − p₀, …: variances of the nested Gaussians
    s2 = rho - p[-1]
    if not (chi > 0 and s2 > 0 and np.all(parts > 0)):
        raise OutsideDomain("χ > 0 and 0 < p₀ < … < p_k < ρ are needed")
    s = np.sqrt(s2)
    reach = FIELD_REACH * np.sqrt(p[-1]) + abs(offset)

    # Below the top the Gaussians set the step.
    steps = gaussian_steps(p) / fineness
    grids = [uniform_grid(reach, step) for step in steps[:-1]]

    # At the top the edge of A needs a step of a fraction of s. Far on the violated side A^x falls
    # as e^{−x u²/2(s² + χ)}: times the last Gaussian, of variance `part`, it is one of variance
    # part·(s² + χ)/(s² + χ + x·part). Without breaking A itself is averaged, x = 1.
    total = s2 + chi
    tilt = 1.0
    if len(x):
        tilt = x[-1]
    narrowing = np.sqrt(total / (total + tilt * parts[-1]))
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


def support_recursion(  # noqa: PLR0913
    G: Array, x: Array, E: float, d: float, K: float, *, fineness: float = 1.0
) -> tuple[SupportSide, Recursion]:
    """f_k = ln(1 + e^{−K}B) on its grid, and f_k … f₀ with their weights.

    For large u, f_i ≈ u²/2d_i with d_k = d and d_{i−1} = d_i − x_i(G_i − G_{i−1}). The field u has
    its own grid on each level i = 0 … k, fine where the choice switches on.

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
    scales = descending_scales(d, x, G)  # d₀ … d_k
    increasing = np.all(np.diff(G, prepend=0.0) > 0)
    if not (d < E and increasing and scales.min() > _SMALLEST_SCALE * d):
        raise OutsideDomain("E > d > Σ x_i(G_i − G_{i−1}) and 0 < G₀ < … < G_k are needed")
    reach = FIELD_REACH * np.sqrt(_tilted_variance(G, scales))
    switch = max(K - 0.5 * np.log(E / d), 0.0)
    next_breaks = np.append(x, 1.0)  # x_{i+1} of level i
    steps = gaussian_steps(G)

    # f_i is analytic up to a complex u, the zero of its switch: the fine step is a fraction of the
    # distance of that zero from the real axis.
    grids = []
    for level in range(len(G)):
        zero = _zero_of_switch(scales[level], switch, next_breaks[level])
        grid = focused_grid(
            reach,
            fine=zero.imag / _PER_SUPPORT_EDGE / fineness,
            coarse=steps[level] / fineness,
            focus=abs(zero),
        )
        grids.append(grid)

    top = support_side(grids[-1].nodes, E - d, d, K)
    recursion = recurse(grids, top=top.log_one_plus, top_slope=top.slope, variances=G, breaks=x)
    return top, recursion


def _tilted_variance(G: Array, scales: Array) -> float:
    """The variance v_k of the weight P_k, which is wider than N(0, G_k): the grids reach as far.

    Where f_i ≈ u²/2d_i, v₀ = G₀ and v_i = v_{i−1} r² + (G_i − G_{i−1}) r with r = d_i/d_{i−1};
    `scales` are d₀ … d_k.
    """
    variance = G[0]
    for i in range(1, len(G)):
        ratio = scales[i] / scales[i - 1]
        variance = variance * ratio**2 + (G[i] - G[i - 1]) * ratio
    return float(variance)


def _zero_of_switch(scale: float, switch: float, next_break: float) -> complex:
    """The complex field u where 1 + e^{x_{i+1}(u²/2d_i − switch)} vanishes, next to the real axis.

    This sum switches from rejected to chosen groups on level i, with `scale` d_i, `next_break`
    x_{i+1} (1 at the top: single variables) and `switch` K − ½ ln(E/d), or 0 where that is
    negative. The exponent is iπ at u² = 2d_i (switch + iπ/x_{i+1}).
    """
    return complex(np.sqrt(2 * scale * (switch + 1j * np.pi / next_break)))


class BrokenPatternMeans(NamedTuple):
    """Averages of the pattern side over the weights P_i; those without a level are over P_k."""

    tight: float  # E_k[p₊]
    first: float  # E_k[R₁]
    curvature: float  # E_k[g_k'']
    internal: float  # E_k[g_k + ½(s² + χ)g_k'²]
    squares: Array  # E_i[g_i'²], (levels,)
    values: Array  # E_i[g_i], (levels,)
    square_curvatures: Array  # E_k[g_k''²] and E₀[g₀''²]
    edge_weight: float  # what the ends of the grids cut off


class BrokenSupportMeans(NamedTuple):
    """Averages of the support side over the weights P_i; those without a level are over P_k."""

    chosen: float  # E_k[p]
    rejected: float  # E_k[1 − p]
    weight_square: float  # E_k[p u²/d²]
    mixing: float  # E_k[H₂(p)]
    squares: Array  # E_i[f_i'²], (levels,)
    values: Array  # E_i[f_i], (levels,)
    square_curvatures: Array  # E_k[f_k''²] and E₀[f₀''²]
    edge_weight: float  # what the ends of the grids cut off


# The differences for the Jacobian move one coordinate at a time: most of them leave one of the two
# sides as it was, and the caches have it.


@lru_cache(maxsize=64)
def broken_class_means(  # noqa: PLR0913
    p: tuple[float, ...],
    x: tuple[float, ...],
    chi: float,
    rho: float,
    *,
    offset: float,
    fineness: float,
) -> BrokenPatternMeans:
    """The means of one class; the parameters are those of `pattern_recursion`."""
    top, recursion = pattern_recursion(
        np.array(p), np.array(x), chi, rho, offset=offset, fineness=fineness
    )
    k = len(x)
    internal = top.log_a + 0.5 * (rho - p[-1] + chi) * top.slope**2
    return BrokenPatternMeans(
        tight=recursion.mean(k, top.tight),
        first=recursion.mean(k, top.mean),
        curvature=recursion.mean(k, top.curvature),
        internal=recursion.mean(k, internal),
        squares=recursion.mean_square_slopes,
        values=recursion.mean_values,
        square_curvatures=recursion.mean_square_curvatures(top.curvature),
        edge_weight=recursion.edge_weight,
    )


@lru_cache(maxsize=64)
def broken_support_means(
    G: tuple[float, ...], x: tuple[float, ...], d: float, switch: float, *, fineness: float
) -> BrokenSupportMeans:
    """The means of the supports at `switch` = K − ½ ln(E/d).

    The other parameters are those of `support_recursion`. E and K enter by the switch alone:
    E = e·d brings K = switch + ½.
    """
    top, recursion = support_recursion(
        np.array(G), np.array(x), E=np.e * d, d=d, K=switch + 0.5, fineness=fineness
    )
    k = len(x)
    return BrokenSupportMeans(
        chosen=recursion.mean(k, top.chosen),
        rejected=recursion.mean(k, top.rejected),
        weight_square=recursion.mean(k, top.chosen * top.mean**2),
        mixing=recursion.mean(k, entr(top.chosen) + entr(top.rejected)),
        squares=recursion.mean_square_slopes,
        values=recursion.mean_values,
        square_curvatures=recursion.mean_square_curvatures(top.curvature),
        edge_weight=recursion.edge_weight,
    )
