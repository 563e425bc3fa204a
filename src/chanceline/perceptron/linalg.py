"""Small dense loops for the kernels: products, an inverse, and its updates, in the leading k places of larger arrays."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numba import njit
from numpy.typing import NDArray

# Sums may be reassociated, so that they vectorise; the order is fixed at compile time, so results repeat.
FAST = {"reassoc", "contract", "nsz", "arcp"}
FOUR = 4  # vectors that go through a matrix together: its entries are then read once for all of them


def counter(value: int) -> int:
    """A number that kernels take for any integer: for a plain one, every function that gets it is compiled once more."""
    return cast(int, np.int64(value))


ZERO, NONE = counter(0), counter(-1)


@njit(cache=True, fastmath=FAST)
def dot(left: NDArray, right: NDArray) -> Any:
    total = left[0] * right[0]
    for i in range(1, left.size):
        total += left[i] * right[i]
    return total


@njit(cache=True, fastmath=FAST)
def dot_first(left: NDArray, right: NDArray, count: int) -> float:
    total = 0.0
    for i in range(count):
        total += left[i] * right[i]
    return total


@njit(cache=True, fastmath=FAST)
def dot_masked(left: NDArray, right: NDArray, mask: NDArray) -> float:
    total = 0.0
    for i in range(left.size):
        total += left[i] * right[i] * mask[i]
    return total


@njit(cache=True, fastmath=FAST)
def add_scaled(out: NDArray, factor: float, vector: NDArray, count: int) -> None:
    for i in range(count):
        out[i] += factor * vector[i]


@njit(cache=True, fastmath=FAST)
def add_four(out: NDArray, factors: NDArray, vectors: NDArray, count: int) -> None:
    """out += Σ_b factor_b v_b for four vectors in one pass."""
    a, b, c, d = vectors[0], vectors[1], vectors[2], vectors[3]
    p, q, r, s = factors[0], factors[1], factors[2], factors[3]
    for i in range(count):
        out[i] += p * a[i] + q * b[i] + r * c[i] + s * d[i]


@njit(cache=True, fastmath=FAST)
def combine(vectors: NDArray, chosen: NDArray, factors: NDArray, count: int, out: NDArray) -> None:
    """out = Σ_i factor_i vectors[chosen_i], four at a time: fewer passes over the sum."""
    for j in range(out.size):
        out[j] = 0.0
    whole = count - count % 4
    for i in range(0, whole, 4):
        a, b, c, d = vectors[chosen[i]], vectors[chosen[i + 1]], vectors[chosen[i + 2]], vectors[chosen[i + 3]]
        p, q, r, s = factors[i], factors[i + 1], factors[i + 2], factors[i + 3]
        for j in range(out.size):
            out[j] += p * a[j] + q * b[j] + r * c[j] + s * d[j]
    for i in range(whole, count):
        add_scaled(out, factors[i], vectors[chosen[i]], out.size)


@njit(cache=True, fastmath=FAST)
def rank_one(matrix: NDArray, factor: float, vector: NDArray, k: int) -> None:
    for i in range(k):
        scaled = factor * vector[i]
        for j in range(k):
            matrix[i, j] += scaled * vector[j]


@njit(cache=True)
def swap_places(matrix: NDArray, first: int, second: int, k: int) -> None:
    """Exchange two rows, and the same two columns, of the leading k × k block."""
    for i in range(k):
        matrix[first, i], matrix[second, i] = matrix[second, i], matrix[first, i]
    for i in range(k):
        matrix[i, first], matrix[i, second] = matrix[i, second], matrix[i, first]


@njit(cache=True, fastmath=FAST)
def times_four(matrix: NDArray, vectors: NDArray, out: NDArray, k: int) -> None:
    """out_b = M v_b for four vectors."""
    a, b, c, d = vectors[0], vectors[1], vectors[2], vectors[3]
    for i in range(k):
        row = matrix[i]
        p = q = r = s = 0.0
        for j in range(k):
            entry = row[j]
            p += entry * a[j]
            q += entry * b[j]
            r += entry * c[j]
            s += entry * d[j]
        out[0, i], out[1, i], out[2, i], out[3, i] = p, q, r, s


@njit(cache=True)
def overlaps(left: NDArray, right: NDArray, out: NDArray, k: int) -> None:
    """out_bc = out_cb = u_b · v_c for c ≤ b."""
    for b in range(FOUR):
        for c in range(b + 1):
            out[b, c] = out[c, b] = dot_first(left[b], right[c], k)


@njit(cache=True, fastmath=FAST)
def add_products(matrix: NDArray, coupling: NDArray, vectors: NDArray, work: NDArray, k: int) -> None:
    """M −= Σ_bc C_bc v_b v_cᵀ for four vectors; `work` has their shape."""
    for b in range(FOUR):
        for i in range(k):
            work[b, i] = 0.0
        add_four(work[b], coupling[b], vectors, k)
    a, b, c, d = work[0], work[1], work[2], work[3]
    for i in range(k):
        row = matrix[i]
        p, q, r, s = vectors[0, i], vectors[1, i], vectors[2, i], vectors[3, i]
        for j in range(k):
            row[j] -= p * a[j] + q * b[j] + r * c[j] + s * d[j]


@njit(cache=True)
def invert_four(matrix: NDArray, signs: NDArray, smallest: float) -> bool:
    """Invert in place by elimination in order; False if a pivot's share of its sign is below `smallest`."""
    for p in range(FOUR):
        pivot = matrix[p, p]
        if signs[p] * pivot < smallest:
            return False
        matrix[p, p] = 1.0
        for c in range(FOUR):
            matrix[p, c] /= pivot
        for r in range(FOUR):
            if r != p:
                factor = matrix[r, p]
                matrix[r, p] = 0.0
                for c in range(FOUR):
                    matrix[r, c] -= factor * matrix[p, c]
    return True


@njit(cache=True)
def invert(matrix: NDArray, k: int) -> None:
    """Invert the positive definite leading k × k block in place, by sweeping its diagonal (only the lower triangle is read)."""
    smallest = 0.0
    for i in range(k):
        smallest = max(smallest, 1e-15 * matrix[i, i])
        for j in range(i):
            matrix[j, i] = matrix[i, j]
    row = np.zeros(k)
    for p in range(k):
        pivot = max(matrix[p, p], smallest)
        for i in range(k):
            row[i] = matrix[p, i]
        row[p] = 0.0
        rank_one(matrix, -1.0 / pivot, row, k)
        for i in range(k):
            matrix[p, i] = matrix[i, p] = row[i] / pivot
        matrix[p, p] = -1.0 / pivot
    for i in range(k):
        for j in range(k):
            matrix[i, j] = -matrix[i, j]
