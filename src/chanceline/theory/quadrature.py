"""Averages over the standard Gaussian measure Dz, by the trapezoidal rule in a stretched variable.

With z = centre + w sinh(t) the nodes are w·step apart near the centre and grow in proportion to the distance beyond w: features
of width w at the centre and the unit width of the Gaussian are resolved by the same few hundred nodes. The integrands are
analytic in a strip around the real axis and decay like a Gaussian, so the error falls exponentially in 1/step (Trefethen &
Weideman, SIAM Review 56, 385, 2014): halving the step once more shows what is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

STEP = 0.03125
REACH = 12.0  # Gaussian mass beyond: 4e-33


@dataclass(frozen=True)
class GaussianRule:
    """Nodes z and weights of ∫Dz; the weights sum to one."""

    nodes: Array
    weights: Array

    def mean(self, values: Array) -> Array:
        """∫Dz values(z), along the first axis of `values`."""
        return self.weights @ values


@lru_cache(maxsize=256)
def gaussian_rule(width: float = 4.0, step: float = STEP) -> GaussianRule:
    """Rule for ∫Dz on |z| ≤ REACH, graded so that features of size `width`/4 around z = 0 are resolved."""
    half = int(np.ceil(np.arcsinh(REACH / width) / step))
    t = step * np.arange(-half, half + 1, dtype=float)
    nodes = width * np.sinh(t)
    weights = np.exp(-0.5 * nodes**2) * np.cosh(t)
    weights /= weights.sum()
    return GaussianRule(nodes, weights)


def rule_for(scale: float, step: float = STEP, centre: float = 0.0) -> GaussianRule:
    """The rule for ∫Dz that resolves features of size `scale` (in units of z) around the centre, at most at the Gaussian's edge.

    Widths are rounded down to powers of two: the rule then stays put while a solver moves, and is found in the cache.
    """
    width = float(2.0 ** np.floor(np.log2(4.0 * min(1.0, scale))))
    if not centre:
        return gaussian_rule(width, step)
    nodes, weights = centred_rule(np.array([centre]), width, step)
    return GaussianRule(nodes[0], weights[0])


def focused_rule(centres: Sequence[float], sizes: Sequence[float], step: float = STEP) -> GaussianRule:
    """The rule for ∫Dz that resolves several features at once, the i-th of size `sizes[i]` around `centres[i]`.

    The variable is t(z) = Σ_i arcsinh((z − c_i)/w_i), w_i = 4·size: equal steps in t are fine near each centre. A centre
    beyond the reach of the Gaussian is moved to its edge.
    """
    middles = np.clip(np.asarray(centres, dtype=float), -REACH, REACH)[:, None]
    widths = 4.0 * np.minimum(1.0, np.asarray(sizes, dtype=float))[:, None]
    samples = np.unique(
        np.clip(middles + widths * np.sinh(np.linspace(-1, 1, 201) * np.arcsinh(2 * REACH / widths)), -REACH, REACH)
    )

    def stretched(z: Array) -> Array:
        return np.arcsinh((z - middles) / widths).sum(axis=0)

    at = stretched(samples)
    t = np.arange(at[0], at[-1], step)
    nodes = np.interp(t, at, samples)
    for _ in range(8):
        density = (1 / np.hypot(widths, nodes - middles)).sum(axis=0)
        nodes -= (stretched(nodes) - t) / density
    weights = np.exp(-0.5 * nodes**2) / (1 / np.hypot(widths, nodes - middles)).sum(axis=0)
    return GaussianRule(nodes, weights / weights.sum())


def centred_rule(centres: Array, width: float, step: float = STEP) -> tuple[Array, Array]:
    """Nodes and weights of ∫Dy, one row for each centre, graded around a feature of size `width`/4 at that centre.

    A centre outside the reach of the Gaussian is moved to its edge: the feature does not matter there.
    """
    middle = np.clip(np.asarray(centres, dtype=float), -REACH, REACH)[:, None]
    half = int(np.ceil(np.arcsinh(2 * REACH / width) / step))
    t = step * np.arange(-half, half + 1, dtype=float)
    nodes = middle + width * np.sinh(t)
    weights = np.exp(-0.5 * nodes**2) * np.cosh(t)
    weights /= weights.sum(axis=1, keepdims=True)
    return nodes, weights
