"""Products and sums of vectors.

Kernels are loops over scalars: array expressions and slice assignments compile ten times slower.
"""

from __future__ import annotations

from numpy.typing import NDArray

from chanceline.kernels.compile import LEAF, REASSOCIATE, kernel, leaf_kernel


@kernel(fastmath=REASSOCIATE, **LEAF)
def dot_first(left: NDArray, right: NDArray, count: int) -> float:
    """Return the dot product Σ_i left_i right_i over the first `count` entries."""
    total = 0.0
    for i in range(count):
        total += left[i] * right[i]
    return total


@leaf_kernel(fastmath=REASSOCIATE)
def dot_masked(left: NDArray, right: NDArray, mask: NDArray) -> float:
    """Return Σ_i mask_i left_i right_i; the mask holds 0.0 or 1.0 for every entry."""
    total = 0.0
    for i in range(left.size):
        total += left[i] * right[i] * mask[i]
    return total


@leaf_kernel(fastmath=REASSOCIATE)
def add_scaled(out: NDArray, factor: float, vector: NDArray, count: int) -> None:
    """Add factor · vector to `out` in place, in the first `count` entries."""
    for i in range(count):
        out[i] += factor * vector[i]


@leaf_kernel(fastmath=REASSOCIATE)
def combine(vectors: NDArray, chosen: NDArray, factors: NDArray, count: int, out: NDArray) -> None:
    """Fill `out` with a linear combination of selected rows: Σ_i factors[i] · vectors[chosen[i]].

    The sum runs over i = 0 … count − 1. Four rows are added at a time, so that `out` is read and
    written a quarter as often.

    vectors : (rows, n) the rows to choose from.
    chosen : (≥ count,) indices of rows.
    factors : (≥ count,) the coefficient of each chosen row.
    out : (n,) overwritten.
    """
    for j in range(out.size):
        out[j] = 0.0

    n_in_fours = count - count % 4  # the largest multiple of four up to `count`
    for i in range(0, n_in_fours, 4):
        row1 = vectors[chosen[i]]
        row2 = vectors[chosen[i + 1]]
        row3 = vectors[chosen[i + 2]]
        row4 = vectors[chosen[i + 3]]
        factor1 = factors[i]
        factor2 = factors[i + 1]
        factor3 = factors[i + 2]
        factor4 = factors[i + 3]
        for j in range(out.size):
            out[j] += factor1 * row1[j] + factor2 * row2[j] + factor3 * row3[j] + factor4 * row4[j]

    # The last rows, fewer than four, one by one.
    for i in range(n_in_fours, count):
        add_scaled(out, factors[i], vectors[chosen[i]], out.size)
