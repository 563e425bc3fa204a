"""Planar k-sets: how many subsets of P points of the plane a line can cut off."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

# A bound that should be a whole number may come out this much (relatively) below it.
_ROUNDING = 1e-9


def log_planar_sets(n_points: int, size: ArrayLike) -> NDArray[np.float64]:
    """ln of an upper bound on the k-sets of P points: subsets of size k that a line cuts off.

    For k < P/2 the k-sets are as many as the edges {p, q} whose line leaves k − 1 points on one
    side. The graph of these edges, with degrees δ_p, obeys (Andrzejak, Aronov, Har-Peled, Seidel,
    Welzl 1998, "Results on k-sets and j-facets via continuous motion")::

        crossings + Σ_p C(δ_p/2, 2) = number of edges with fewer than k − 1 points on a side ≤ P (k
        − 1),

    the inequality being that of Alon and Győri (1986). By convexity the sum is at least P·C(c/P, 2)
    with c edges, hence c ≤ P (1 + √(1 + 8(k−1)))/2. For k = P/2 the identity reads crossings + Σ_p
    C((δ_p+1)/2, 2) = C(P/2, 2), each edge gives two sets, and c ≤ P √(P − 1). Sets of size k and P
    − k are complements. Strict separability is an open condition, so moving the points slightly
    into general position loses none: the bound holds with ties too.
    """
    size = np.asarray(size, dtype=float)
    smaller_side = np.minimum(size, n_points - size)
    below_half = 0.5 * n_points * (1 + np.sqrt(1 + 8 * np.maximum(smaller_side - 1, 0.0)))
    at_half = n_points * np.sqrt(max(n_points - 1.0, 1.0))
    bound = np.where(2 * smaller_side == n_points, at_half, below_half)

    # Counts are whole numbers; the empty and the full set are one each.
    whole = np.floor(bound + _ROUNDING * bound)
    return np.where(smaller_side == 0, 0.0, np.log(np.maximum(whole, 1.0)))
