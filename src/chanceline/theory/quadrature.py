"""Averages over the standard Gaussian measure Dz, by the trapezoidal rule in a stretched variable.

With z = centre + w sinh(t) the nodes are w·step apart near the centre and grow in proportion to the
distance beyond w: features of width w at the centre and the unit width of the Gaussian are resolved
by the same few hundred nodes. The integrands are analytic in a strip around the real axis and decay
like a Gaussian, so the error falls exponentially in 1/step (Trefethen & Weideman, SIAM Review 56,
385, 2014): halving the step once more shows what is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

QUADRATURE_STEP = 0.03125  # of the stretched variable t
GAUSSIAN_REACH = 12.0  # Gaussian mass beyond: 4e-33
# Nodes are dense around a feature of the integrand up to this many times the width of the feature.
WIDTHS_PER_FEATURE = 4.0
# The stretched variable t(z) of several centres has no inverse in closed form: it is interpolated
# from so many points z for each centre, and so many Newton steps make the nodes exact. The starts
# are close: with up to three centres four steps reach the rounding error.
_SAMPLES_PER_CENTRE = 201
_NODE_NEWTON_STEPS = 8


@dataclass(frozen=True)
class GaussianRule:
    """Nodes z and weights of ∫Dz, each of shape (nodes,); the weights sum to one."""

    nodes: Array
    weights: Array

    def mean(self, values: Array) -> Array:
        """∫Dz values(z), along the first axis of `values`."""
        return self.weights @ values


@lru_cache(maxsize=256)
def gaussian_rule(width: float = 4.0, step: float = QUADRATURE_STEP) -> GaussianRule:
    """Rule for ∫Dz up to |z| = GAUSSIAN_REACH that resolves features of size `width`/4 around 0.

    The nodes z = width·sinh(t) lie at equal steps of t, and their weights are e^{−z²/2} dz/dt.
    """
    n_half = int(np.ceil(np.arcsinh(GAUSSIAN_REACH / width) / step))  # nodes on either side of 0
    t = step * np.arange(-n_half, n_half + 1, dtype=float)
    nodes = width * np.sinh(t)
    weights = np.exp(-0.5 * nodes**2) * np.cosh(t)  # dz/dt = width·cosh(t); the sum is made one
    return GaussianRule(nodes, weights / weights.sum())


def rule_for(scale: float, step: float = QUADRATURE_STEP, centre: float = 0.0) -> GaussianRule:
    """The rule for ∫Dz that resolves features of size `scale` (in units of z) around the centre.

    Nodes are z = centre + width·sinh(t) at equal steps of t. A centre beyond the reach of the
    Gaussian is moved to its edge. The width is rounded down to a power of two: so the nodes stay
    the same while a solver moves and the scale changes a little, and around 0 they are found in the
    cache.
    """
    feature_size = min(1.0, scale)  # the Gaussian itself has to be resolved, too
    width = float(2.0 ** np.floor(np.log2(WIDTHS_PER_FEATURE * feature_size)))
    if centre == 0:
        return gaussian_rule(width, step)
    nodes, weights = centred_rule(np.array([centre]), width, step)
    return GaussianRule(nodes[0], weights[0])  # the only row


def focused_rule(
    centres: Sequence[float], sizes: Sequence[float], step: float = QUADRATURE_STEP
) -> GaussianRule:
    """Return nodes and weights for averages over a standard Gaussian z, dense around given centres.

    The function to be averaged changes quickly in several places: around `centres[i]`, over a
    distance `sizes[i]` in z. The nodes are equally spaced in a stretched variable t(z), which makes
    them dense in z near each centre; `step` is the spacing in t. A node has the weight
    e^{−z²/2} dz/dt, normalised so that the weights sum to one.
    """
    # A centre outside the range of the nodes is moved to its edge. Sizes above 1 are reduced to 1,
    # because the Gaussian itself, of width 1, must be resolved, too.
    all_centres = np.asarray(centres, dtype=float)
    centres_in_reach = np.clip(all_centres, -GAUSSIAN_REACH, GAUSSIAN_REACH)
    capped_sizes = np.minimum(1.0, np.asarray(sizes, dtype=float))
    # Nodes are dense up to this distance from a centre.
    dense_widths = WIDTHS_PER_FEATURE * capped_sizes
    stretching = _Stretching(middles=centres_in_reach[:, None], widths=dense_widths[:, None])

    # Samples of z and of t(z), both ascending.
    z_samples = stretching.samples()
    t_samples = stretching.t(z_samples)

    # The nodes z are where t(z) takes equally spaced values. t(z) has no inverse in closed form, so
    # they are interpolated between the samples, and refined by Newton's method for t(z) = t. The
    # interpolated nodes are so close that a fixed number of steps leaves only rounding errors.
    t = np.arange(t_samples[0], t_samples[-1], step)
    nodes = np.interp(t, t_samples, z_samples)
    for _ in range(_NODE_NEWTON_STEPS):
        excess = stretching.t(nodes) - t
        nodes -= excess / stretching.slope(nodes)

    # A node stands for the length dz = dt/(dt/dz) of z, where the step dt is the same for all.
    weights = np.exp(-0.5 * nodes**2) / stretching.slope(nodes)
    return GaussianRule(nodes, weights / weights.sum())


class _Stretching(NamedTuple):
    """The variable t(z) = Σ_i arcsinh((z − c_i)/w_i), which grows fast near each centre c_i.

    Both arrays have the shape (features, 1): sums over axis 0 run over the features.
    """

    middles: Array  # c_i
    widths: Array  # w_i

    def t(self, z: Array) -> Array:
        """t(z) at each z, (points,)."""
        return np.arcsinh((z - self.middles) / self.widths).sum(axis=0)

    def slope(self, z: Array) -> Array:
        """dt/dz at each z, (points,)."""
        return (1 / np.hypot(self.widths, z - self.middles)).sum(axis=0)

    def samples(self) -> Array:
        """Points z within the reach of the Gaussian, ascending, dense around each centre."""
        # From a centre at one end of the range the other end is twice the reach away. Points are
        # at equal steps of the t of one centre alone, and those beyond the range fall on its ends.
        reach_of_t = np.arcsinh(2 * GAUSSIAN_REACH / self.widths)  # (features, 1)
        offsets = self.widths * np.sinh(np.linspace(-1, 1, _SAMPLES_PER_CENTRE) * reach_of_t)
        return np.unique(np.clip(self.middles + offsets, -GAUSSIAN_REACH, GAUSSIAN_REACH))


def centred_rule(
    centres: Array, width: float, step: float = QUADRATURE_STEP
) -> tuple[Array, Array]:
    """Nodes and weights of ∫Dy, one row a centre, that resolve a feature of size `width`/4 there.

    The nodes y = centre + width·sinh(t) lie at equal steps of t, and their weights are
    e^{−y²/2} dy/dt, made to sum to one in each row. A centre outside the reach of the Gaussian is
    moved to its edge: the feature does not matter there. From one edge the other is twice the
    reach away; so far the nodes go to both sides.

    Returns
    -------
    nodes, weights : (centres, nodes)
    """
    middle = np.clip(np.asarray(centres, dtype=float), -GAUSSIAN_REACH, GAUSSIAN_REACH)[:, None]
    n_half = int(np.ceil(np.arcsinh(2 * GAUSSIAN_REACH / width) / step))
    t = step * np.arange(-n_half, n_half + 1, dtype=float)
    nodes = middle + width * np.sinh(t)
    weights = np.exp(-0.5 * nodes**2) * np.cosh(t)
    return nodes, weights / weights.sum(axis=1, keepdims=True)
