"""The inverse of a symmetric matrix that follows changes of the matrix by updates of low rank.

The matrices stand in the leading `size` × `size` places of larger arrays, so that rows can come
and go without new arrays.
"""

from __future__ import annotations

from numpy.typing import NDArray

from chanceline.kernels.compile import REASSOCIATE, counter, leaf_kernel
from chanceline.kernels.vectors import add_scaled, dot_first

FOUR = counter(4)  # vectors that one update takes in
UNSTABLE_GROWTH = 1e-5  # of the determinant: below it the inverse loses half of its digits


@leaf_kernel(fastmath=REASSOCIATE)
def add_rank_one(matrix: NDArray, factor: float, vector: NDArray, size: int) -> None:
    """Add factor · v vᵀ to the leading size × size places of a matrix; v is `vector`."""
    for i in range(size):
        scaled = factor * vector[i]
        for j in range(size):
            matrix[i, j] += scaled * vector[j]


@leaf_kernel(fastmath=REASSOCIATE)
def add_rank_four(matrix: NDArray, factors: NDArray, vectors: NDArray, size: int) -> None:
    """Add Σ_b factors[b] · v_b v_bᵀ, over b = 0 … 3, to a matrix in place.

    The v_b are the four rows of `vectors`, (4, ≥ size); only the leading `size` × `size` places of
    `matrix` change. The four terms are written out, so that every entry of the matrix is read and
    written once instead of four times.
    """
    for i in range(size):
        scaled0 = factors[0] * vectors[0, i]
        scaled1 = factors[1] * vectors[1, i]
        scaled2 = factors[2] * vectors[2, i]
        scaled3 = factors[3] * vectors[3, i]
        for j in range(size):
            matrix[i, j] += (
                scaled0 * vectors[0, j]
                + scaled1 * vectors[1, j]
                + scaled2 * vectors[2, j]
                + scaled3 * vectors[3, j]
            )


@leaf_kernel(fastmath=REASSOCIATE)
def multiply_four_vectors(matrix: NDArray, vectors: NDArray, size: int, out: NDArray) -> None:
    """Compute the products of a matrix M with four vectors in one pass over the matrix.

    The vectors v_b are the rows of `vectors`, (4, ≥ size), and M stands in the leading `size` ×
    `size` places of `matrix`. Row b of `out`, (4, ≥ size), becomes M v_b.
    """
    for i in range(size):
        sum0 = 0.0
        sum1 = 0.0
        sum2 = 0.0
        sum3 = 0.0
        for j in range(size):
            entry = matrix[i, j]
            sum0 += entry * vectors[0, j]
            sum1 += entry * vectors[1, j]
            sum2 += entry * vectors[2, j]
            sum3 += entry * vectors[3, j]
        out[0, i] = sum0
        out[1, i] = sum1
        out[2, i] = sum2
        out[3, i] = sum3


@leaf_kernel()
def update_inverse_by_four(
    inverse: NDArray,
    size: int,
    vectors: NDArray,
    signs: NDArray,
    images: NDArray,
    coefficients: NDArray,
) -> bool:
    """Update an inverse M⁻¹ in place when M changes by Σ_b t_b v_b v_bᵀ, over four vectors.

    The four rank-one changes are made one after the other, by the Sherman–Morrison formula

        (M + t v vᵀ)⁻¹ = M⁻¹ + c u uᵀ,   with u = M⁻¹v,  c = −1 / (t + vᵀu),  t = ±1.

    (In its usual form c = −t / (1 + t vᵀu); as t = ±1, this is the same.) The determinant of M
    grows by the factor 1 + t vᵀu = t · (t + vᵀu).

    All u_b and c_b are computed first, then the inverse is changed in one pass.

    Parameters
    ----------
    inverse : M⁻¹, in its leading size × size places; changed in place.
    vectors : (4, ≥ size) the v_b, in rows; a row of zeros changes nothing.
    signs : (4,) the t_b: 1 to add v_b v_bᵀ, −1 to subtract it.
    images : (4, ≥ size) scratch, filled with the u_b.
    coefficients : (4,) scratch, filled with the c_b.

    Returns
    -------
    True if the inverse was updated. False if the update would be numerically unstable; the inverse
    is then unchanged.
    """
    # Start with M⁻¹v_b for all four vectors, with the M before all updates.
    multiply_four_vectors(inverse, vectors, size, images)
    is_stable = True
    for b in range(FOUR):
        # By now images[b] is u_b: it has been corrected for the updates by the vectors before b.
        denominator = signs[b] + dot_first(vectors[b], images[b], size)
        determinant_growth = signs[b] * denominator
        # If the determinant becomes nearly 0 or negative, the update would be inaccurate. (With a
        # denominator of 0 the scratch arrays become infinite, but the inverse is not changed.)
        if determinant_growth < UNSTABLE_GROWTH:
            is_stable = False
        coefficients[b] = -1.0 / denominator

        # Correct the images of the later vectors. The inverse that they are multiplied by is now
        # M⁻¹ + c_b u_b u_bᵀ instead of M⁻¹, so they change by c_b (u_bᵀ v_later) u_b.
        for later in range(b + 1, FOUR):
            overlap = dot_first(vectors[later], images[b], size)
            add_scaled(images[later], coefficients[b] * overlap, images[b], size)
    if is_stable:
        add_rank_four(inverse, coefficients, images, size)
    return is_stable


@leaf_kernel()
def next_pivot(
    inverse: NDArray, size: int, cross: NDArray, diagonal: float, solved: NDArray
) -> float:
    """Return the pivot of a new row and column of M: diagonal − crossᵀ M⁻¹ cross.

    M is a symmetric size × size matrix, given by its `inverse`. The new row is (`cross`,
    `diagonal`). The pivot is the Schur complement of M: it is zero if the new row is a linear
    combination of the rows of M. `solved`, (≥ size,), is filled with M⁻¹ cross, which
    `extend_inverse` needs.
    """
    for i in range(size):
        solved[i] = dot_first(inverse[i], cross, size)
    return diagonal - dot_first(cross, solved, size)


@leaf_kernel()
def extend_inverse(inverse: NDArray, size: int, pivot: float, solved: NDArray) -> None:
    """Update an inverse in place when its size × size matrix gets one more row and column.

    `pivot` and `solved` are those of the new row, from `next_pivot`. The array `inverse` must have
    room for (size + 1) × (size + 1) entries.
    """
    add_rank_one(inverse, 1.0 / pivot, solved, size)
    for i in range(size):
        inverse[i, size] = -solved[i] / pivot
        inverse[size, i] = inverse[i, size]
    inverse[size, size] = 1.0 / pivot


@leaf_kernel()
def shrink_inverse(inverse: NDArray, size: int, place: int, last_row: NDArray) -> None:
    """Update an inverse in place when its matrix loses the row and column `place`.

    The matrix is symmetric, of size × size. The update has two steps:

    1. Row and column `place` are exchanged with the last row and column, in the matrix and so in
       the inverse. Callers rely on this new order of the rows.
    2. The last row and column are removed. If the inverse is now written as

           ( B   r )
           ( rᵀ  d )     with the number d in the last place,

       then the inverse of the smaller matrix is B − r rᵀ / d.

    inverse : the inverse, in its leading size × size places; afterwards one row and column fewer
        count.
    last_row : (≥ size − 1,) scratch for r.
    """
    last = size - 1

    # Step 1. Exchange row `place` with the last row, then column `place` with the last column.
    for i in range(size):
        entry_of_removed_row = inverse[place, i]
        inverse[place, i] = inverse[last, i]
        inverse[last, i] = entry_of_removed_row
    for i in range(size):
        entry_of_removed_column = inverse[i, place]
        inverse[i, place] = inverse[i, last]
        inverse[i, last] = entry_of_removed_column

    # Step 2. Write B − r rᵀ / d over B.
    d = inverse[last, last]
    for i in range(last):
        last_row[i] = inverse[last, i]  # r
    add_rank_one(inverse, -1.0 / d, last_row, last)
