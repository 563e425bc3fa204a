"""The inverse of a symmetric matrix that follows changes of the matrix by updates of low rank.

The matrices stand in the leading `size` × `size` places of larger arrays, so that rows can come
and go without new arrays.
"""

from __future__ import annotations

from numpy.typing import NDArray

from chanceline.kernels.compile import REASSOCIATE, counter, leaf_kernel
from chanceline.kernels.vectors import add_scaled, dot_first

FOUR = counter(4)  # vectors that one update takes in
UNSTABLE_PIVOT = 1e-5  # after a smaller one the inverse has lost half of its digits


@leaf_kernel(fastmath=REASSOCIATE)
def rank_one(matrix: NDArray, factor: float, vector: NDArray, size: int) -> None:
    """M += factor · v vᵀ."""
    for i in range(size):
        scaled = factor * vector[i]
        for j in range(size):
            matrix[i, j] += scaled * vector[j]


@leaf_kernel(fastmath=REASSOCIATE)
def rank_four(matrix: NDArray, factors: NDArray, vectors: NDArray, size: int) -> None:
    """M += Σ_b factors[b] · v_b v_bᵀ over four vectors, the rows of `vectors`; M is `matrix`.

    Written out for four, so that every entry of M is read and written once instead of four times.
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
def four_products(matrix: NDArray, vectors: NDArray, size: int, out: NDArray) -> None:
    """out_b = M v_b for four vectors, the rows of `vectors`, in one pass over the matrix."""
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
def update_by_four(
    inverse: NDArray,
    size: int,
    vectors: NDArray,
    signs: NDArray,
    images: NDArray,
    coefficients: NDArray,
) -> bool:
    """Let the inverse of M become that of M + Σ_b t_b v_b v_bᵀ, over four vectors.

    One after the other, by Sherman and Morrison:

        (M + t v vᵀ)⁻¹ = M⁻¹ − u uᵀ / (t + vᵀu),   u = M⁻¹v,   t = ±1.

    Parameters
    ----------
    inverse : M⁻¹ in its leading size × size places.
    vectors : (4, ≥ size) the rows v_b; one of zeros changes nothing.
    signs : (4,) the t_b = ±1.
    images : (4, ≥ size) scratch for the u_b.
    coefficients : (4,) scratch for the −1 / (t_b + v_bᵀu_b), by which the u_b u_bᵀ are added.

    Returns
    -------
    False, with the inverse as it was, if the update would be unstable.
    """
    # u_b = M⁻¹v_b, as if each were the first.
    four_products(inverse, vectors, size, images)
    is_stable = True
    for b in range(FOUR):
        pivot = signs[b] + dot_first(vectors[b], images[b], size)
        if signs[b] * pivot < UNSTABLE_PIVOT:
            is_stable = False
        coefficients[b] = -1.0 / pivot
        # For the later vectors M⁻¹ has this update: u = (M⁻¹ + coefficient · u_b u_bᵀ) v.
        for later in range(b + 1, FOUR):
            overlap = dot_first(vectors[later], images[b], size)
            add_scaled(images[later], coefficients[b] * overlap, images[b], size)
    if is_stable:
        rank_four(inverse, coefficients, images, size)
    return is_stable


@leaf_kernel()
def next_pivot(
    inverse: NDArray, size: int, cross: NDArray, diagonal: float, solved: NDArray
) -> float:
    """The pivot of a new row (cross, diagonal): diagonal − crossᵀ M⁻¹ cross.

    It is what the new row has that the rows before it have not: 0 for a combination of them.
    `solved` is overwritten by M⁻¹ cross, which `border` needs.
    """
    for i in range(size):
        solved[i] = dot_first(inverse[i], cross, size)
    return diagonal - dot_first(cross, solved, size)


@leaf_kernel()
def border(inverse: NDArray, size: int, pivot: float, solved: NDArray) -> None:
    """Let the inverse of a size × size matrix take in one more row and column.

    `pivot` and `solved` are those of the new row, from `next_pivot`.
    """
    rank_one(inverse, 1.0 / pivot, solved, size)
    for i in range(size):
        inverse[i, size] = -solved[i] / pivot
        inverse[size, i] = inverse[i, size]
    inverse[size, size] = 1.0 / pivot


@leaf_kernel()
def unborder(inverse: NDArray, size: int, place: int, work: NDArray) -> None:
    """Let the inverse of a symmetric size × size matrix lose the row and column `place`.

    The last row and column take that place. With the inverse's last row (rᵀ, d) after that, the
    leading block B becomes B − r rᵀ / d. `work`, (size − 1,) or more, is scratch for r.
    """
    last = size - 1

    # Exchange the row that goes with the last one, then the columns.
    for i in range(size):
        leaving = inverse[place, i]
        inverse[place, i] = inverse[last, i]
        inverse[last, i] = leaving
    for i in range(size):
        leaving = inverse[i, place]
        inverse[i, place] = inverse[i, last]
        inverse[i, last] = leaving

    # B − r rᵀ / d: the Schur complement of the last entry d.
    for i in range(last):
        work[i] = inverse[last, i]
    rank_one(inverse, -1.0 / inverse[last, last], work, last)
