"""Gardner's capacity of a perceptron with *all* its variables, for unequal classes, a margin and errors, in closed form.

With x = v/|w| ~ N(τ_c, 1) for class c, τ_c = margin + σ_c·threshold, the patterns with 0 < x < t* are pulled to the margin and
those with x ≥ t* are given up:

    1/α_c = Σ_c f_c ∫_0^{t*} dx φ(x − τ_c) x²,      ε = Σ_c f_c H(t* − τ_c),

stationary in the threshold, Σ_c σ_c f_c ∫_0^{t*} dx φ(x − τ_c) x = 0. Without errors t* = ∞ (Gardner 1988), with them this is
Gardner and Derrida's formula (1988). A typical choice of ρN variables separates up to ρα_c; choosing the largest fields of
all N multiplies α_c by ρ + 2tφ(t), 2H(t) = ρ, instead: the ℓ₀-Gardner load.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr

from chanceline.theory.patterns import Patterns

_ROOT_2PI = math.sqrt(2 * math.pi)
# Beyond this threshold all patterns lie on one side.
_FARTHEST = 40.0


@dataclass(frozen=True)
class Gardner:
    """α_c with all variables kept, the threshold b/|w| there, and t*, the largest violation (in units of |w|) that is mended."""

    load: float
    threshold: float
    ceiling: float


def partial_moments(tau: float, ceiling: float = math.inf) -> tuple[float, float, float]:
    """∫_0^{t*} dx φ(x − τ) x^k for k = 0, 1, 2."""
    low = math.exp(-0.5 * tau * tau) / _ROOT_2PI
    high = 0.0 if math.isinf(ceiling) else math.exp(-0.5 * (ceiling - tau) ** 2) / _ROOT_2PI
    weight = float(ndtr(tau)) if math.isinf(ceiling) else float(ndtr(ceiling - tau) - ndtr(-tau))
    first = tau * weight + low - high
    return weight, first, tau * first + weight - (ceiling * high if high else 0.0)


def _ceiling(patterns: Patterns, threshold: float) -> float:
    """t* at which the share of patterns given up is ε."""
    if not patterns.errors:
        return math.inf

    def excess(ceiling: float) -> float:
        taus = (patterns.margin + sign * threshold for _, sign in patterns.classes)
        wrong = sum(share * ndtr(tau - ceiling) for (share, _), tau in zip(patterns.classes, taus, strict=True))
        return float(wrong) - patterns.errors

    if excess(0.0) <= 0:
        return 0.0
    return float(brentq(excess, 0.0, 2 * _FARTHEST + patterns.margin, xtol=1e-15, rtol=1e-14))


def _pull(patterns: Patterns, threshold: float) -> tuple[float, float]:
    """Σ_c σ_c f_c ∫x, which vanishes at the best threshold, and Σ_c f_c ∫x² = 1/α_c."""
    ceiling = _ceiling(patterns, threshold)
    moments = [(f, sign, partial_moments(patterns.margin + sign * threshold, ceiling)) for f, sign in patterns.classes]
    return sum(f * sign * m[1] for f, sign, m in moments), sum(f * m[2] for f, _, m in moments)


@lru_cache(maxsize=256)
def gardner(patterns: Patterns) -> Gardner:
    """α_c, the best threshold and t*."""
    threshold = 0.0
    if patterns.free_threshold and not patterns.errors:
        reach = _FARTHEST + patterns.margin
        threshold = float(brentq(lambda b: _pull(patterns, b)[0], -reach, reach, xtol=1e-15, rtol=1e-14))
    elif patterns.free_threshold:
        # With errors there can be several stationary thresholds: take the one with the largest load.
        reach = 6 + 2 * patterns.margin
        grid = np.linspace(-reach, reach, 97)
        pulls = [_pull(patterns, float(b))[0] for b in grid]
        roots = [
            float(brentq(lambda b: _pull(patterns, b)[0], grid[i], grid[i + 1], xtol=1e-15, rtol=1e-14))
            for i in range(len(grid) - 1)
            if pulls[i] < 0 <= pulls[i + 1]
        ]
        threshold = min(roots, key=lambda b: _pull(patterns, b)[1])
    return Gardner(1 / _pull(patterns, threshold)[1], threshold, _ceiling(patterns, threshold))
