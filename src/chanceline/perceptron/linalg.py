"""How kernels are compiled, and small loops for them: products and updates of an inverse, in the leading k places, a selection
and random numbers.

Every kernel of the package gets its decorator from here: compiled once, and kept for the next process where there is a place to
keep them. `numba` refuses to decorate where nothing can be written, neither beside the sources nor in the user's cache: then each
process compiles for itself.
"""

from __future__ import annotations

import gc
from typing import Any, ClassVar, cast

import numba
import numpy as np
from numba.core import event
from numpy.typing import NDArray


class Uncollected(event.Listener):
    """While numba compiles, garbage collection waits: it would take an eighth of the time, and finds next to nothing."""

    before: ClassVar[list[bool]] = []

    def on_start(self, event: Any) -> None:
        self.before.append(gc.isenabled())
        gc.disable()

    def on_end(self, event: Any) -> None:
        if self.before.pop():
            gc.enable()


event.register("numba:compile", Uncollected())  # type: ignore[no-untyped-call]


def can_cache() -> bool:
    """Whether compiled code can be kept: in NUMBA_CACHE_DIR, beside the sources, or in the user's cache."""
    try:
        numba.njit(cache=True)(lambda: None)
    except RuntimeError:
        return False
    return True


CACHE = can_cache()


def kernel(allocates: bool = True, **options: Any) -> Any:
    """The decorator of a compiled function: `numba.njit` with a cache where there can be one.

    One that makes no array, and so need not count who uses which, compiles an eighth sooner.
    """
    return numba.njit(cache=CACHE, **(options | {"no_cfunc_wrapper": True, "_nrt": allocates}))


def inner_kernel(**options: Any) -> Any:
    """The same for functions that only kernels call: half of their compile time would be the way in from Python."""
    return kernel(no_cpython_wrapper=True, **options)


def inlined_kernel() -> Any:
    """The same for a function with a single caller, which takes it in: a function that is called is optimised twice."""
    return kernel(inline="always")


# Sums may be reassociated, so that they vectorise; the order is fixed at compile time, so results repeat.
FAST = {"reassoc", "contract", "nsz", "arcp"}


def counter(value: int) -> int:
    """A number that kernels take for any integer: for a plain one, every function that gets it is compiled once more."""
    return cast(int, np.int64(value))


ZERO, NONE, FOUR = counter(0), counter(-1), counter(4)


@kernel(allocates=False, fastmath=FAST)
def dot_first(left: NDArray, right: NDArray, count: int) -> float:
    total = 0.0
    for i in range(count):
        total += left[i] * right[i]
    return total


@inner_kernel(allocates=False, fastmath=FAST)
def dot_masked(left: NDArray, right: NDArray, mask: NDArray) -> float:
    total = 0.0
    for i in range(left.size):
        total += left[i] * right[i] * mask[i]
    return total


@inner_kernel(allocates=False, fastmath=FAST)
def add_scaled(out: NDArray, factor: float, vector: NDArray, count: int) -> None:
    for i in range(count):
        out[i] += factor * vector[i]


@inner_kernel(allocates=False, fastmath=FAST)
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


@inner_kernel(allocates=False, fastmath=FAST)
def rank_one(matrix: NDArray, factor: float, vector: NDArray, k: int) -> None:
    for i in range(k):
        scaled = factor * vector[i]
        for j in range(k):
            matrix[i, j] += scaled * vector[j]


@inner_kernel(allocates=False, fastmath=FAST)
def rank_four(matrix: NDArray, factors: NDArray, vectors: NDArray, k: int) -> None:
    """M += Σ_b factor_b v_b v_bᵀ over four vectors."""
    for i in range(k):
        p, q = factors[0] * vectors[0, i], factors[1] * vectors[1, i]
        r, s = factors[2] * vectors[2, i], factors[3] * vectors[3, i]
        for j in range(k):
            matrix[i, j] += p * vectors[0, j] + q * vectors[1, j] + r * vectors[2, j] + s * vectors[3, j]


@inner_kernel(allocates=False, fastmath=FAST)
def four_products(matrix: NDArray, vectors: NDArray, k: int, out: NDArray) -> None:
    """out_b = M v_b for four vectors."""
    for i in range(k):
        p, q, r, s = 0.0, 0.0, 0.0, 0.0
        for j in range(k):
            entry = matrix[i, j]
            p += entry * vectors[0, j]
            q += entry * vectors[1, j]
            r += entry * vectors[2, j]
            s += entry * vectors[3, j]
        out[0, i], out[1, i], out[2, i], out[3, i] = p, q, r, s


@inlined_kernel()
def next_pivot(inverse: NDArray, size: int, cross: NDArray, diagonal: float, work: NDArray) -> float:
    """What a new row (cross, diagonal) of a symmetric matrix has that those before it have not; work = M⁻¹·cross."""
    for i in range(size):
        work[i] = dot_first(inverse[i], cross, size)
    return diagonal - dot_first(cross, work, size)


@inlined_kernel()
def border(inverse: NDArray, size: int, pivot: float, work: NDArray) -> None:
    """Inverse of a symmetric matrix that gains a row, with that row's pivot and `work` from `next_pivot`."""
    rank_one(inverse, 1.0 / pivot, work, size)
    for i in range(size):
        inverse[i, size] = -work[i] / pivot
        inverse[size, i] = inverse[i, size]
    inverse[size, size] = 1.0 / pivot


@inlined_kernel()
def unborder(inverse: NDArray, size: int, place: int, work: NDArray) -> None:
    """Inverse of a symmetric matrix that loses a row; the last row takes its place."""
    last = size - 1
    for i in range(size):
        inverse[place, i], inverse[last, i] = inverse[last, i], inverse[place, i]
    for i in range(size):
        inverse[i, place], inverse[i, last] = inverse[i, last], inverse[i, place]
    for i in range(last):
        work[i] = inverse[last, i]
    rank_one(inverse, -1.0 / inverse[last, last], work, last)


@inner_kernel(allocates=False)
def smallest_first(values: NDArray, count: int) -> None:
    """Reorder values so that the `count` smallest come first (Hoare's selection)."""
    low, high = 0, values.size - 1
    while low < high:
        pivot = values[(low + high) >> 1]
        i, j = low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if count - 1 <= j:
            high = j
        elif count - 1 >= i:
            low = i
        else:
            return


@kernel(allocates=False)
def next_random(state: NDArray) -> float:
    """Uniform on [0, 1) from a splitmix64 counter: the same on every platform and library version."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return float(z >> np.uint64(11)) * (1.0 / 9007199254740992.0)
