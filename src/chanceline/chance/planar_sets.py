"""Planar k-sets: how many subsets of P points of the plane a line can cut off.

Where the bounds of `log_planar_sets` come from: for k < P/2 the k-sets are as many as the edges
{p, q} whose line leaves k − 1 points on one side. The graph of these c edges, with degrees δ_p,
obeys

    crossings + Σ_p C(δ_p/2, 2) = edges with fewer than k − 1 points on a side ≤ P (k − 1);

the identity is that of Andrzejak, Aronov, Har-Peled, Seidel and Welzl (1998, "Results on k-sets and
j-facets via continuous motion"), the inequality that of Alon and Győri (1986). By convexity the sum
is at least P·C(c/P, 2), which bounds c. For k = P/2 the identity reads

    crossings + Σ_p C((δ_p + 1)/2, 2) = C(P/2, 2),

and each edge gives two sets.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

# A bound that should be a whole number may come out this much (relatively) below it.
_RELATIVE_ROUNDING = 1e-9


def log_planar_sets(n_points: int, size: ArrayLike) -> NDArray[np.float64]:
    """Compute ln of an upper bound on the number of k-sets of P points in the plane.

    A k-set is a subset of k points that a line cuts off from the others. The line cuts off the
    complement of the subset, too. So the bound is computed for the smaller of the two, of size
    k ≤ P/2. There are at most

        P (1 + √(1 + 8(k − 1)))/2   k-sets for k < P/2,
        P √(P − 1)                  k-sets for k = P/2,

    and one for k = 0; the head of the module derives both. Points may coincide or lie on one line:
    moving them slightly into general position loses no subset that a line cuts off strictly.

    Parameters
    ----------
    n_points
        P.
    size
        The size of the subset or of its complement, a number or an array; the result has its shape.
    """
    size = np.asarray(size, dtype=float)
    k = np.minimum(size, n_points - size)

    # The two bounds. Their values at k = 0 are replaced at the end.
    k_minus_1 = np.maximum(k - 1, 0.0)
    bound_below_half = 0.5 * n_points * (1 + np.sqrt(1 + 8 * k_minus_1))
    bound_at_half = n_points * np.sqrt(max(n_points - 1.0, 1.0))
    bound = np.where(2 * k == n_points, bound_at_half, bound_below_half)

    # Counts are whole numbers, so the bound is rounded down. A bound that is a whole number may
    # come out slightly less in floating point; the small addition keeps it.
    rounded_down = np.floor(bound + _RELATIVE_ROUNDING * bound)

    # There is one empty set and one full set, and ln 1 = 0.
    log_bound = np.log(np.maximum(rounded_down, 1.0))
    return np.where(k == 0, 0.0, log_bound)
