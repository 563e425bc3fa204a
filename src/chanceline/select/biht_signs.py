"""greedy-BIHT's inner loop for ±1 columns.

Weights change by multiples of ½, margins too: they are kept as whole numbers, 4m where that is one (`levels`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from chanceline.perceptron.compiled import kernel
from chanceline.perceptron.linalg import add_scaled

FAR = 2.0**61
SHIFT = 24  # bits of a number that holds a place
CLOSED = -(2**62)
ROWS_IN_A_BYTE = 124  # whose sum of ±1 fits into one


def sign_tables(columns: NDArray) -> tuple[NDArray, NDArray]:
    """Columns in the narrowest whole numbers that can hold 2Σ_μ a_μ, and in bytes −a_μ in row 2μ and a_μ in row 2μ + 1.

    Empty unless every entry is ±1.
    """
    if not np.all(np.abs(columns) == 1.0):
        return np.zeros((0, 0), dtype=np.int16), np.zeros((0, 0), dtype=np.int8)
    n, patterns = columns.shape
    narrow = np.int16 if 2 * patterns <= np.iinfo(np.int16).max else np.int32
    signed = np.empty((2 * patterns, n), dtype=np.int8)
    signed[0::2], signed[1::2] = -columns.T, columns.T
    return np.ascontiguousarray(columns, dtype=narrow), signed


@kernel()
def add_rows(rows: NDArray, chosen: NDArray, factors: NDArray, count: int, out: NDArray) -> None:
    """out += Σ_{i < count} factor_i rows[chosen_i] in whole numbers, four rows at a time."""
    whole = count - count % 4
    for i in range(0, whole, 4):
        a, b, c, d = rows[chosen[i]], rows[chosen[i + 1]], rows[chosen[i + 2]], rows[chosen[i + 3]]
        p, q, r, s = factors[i], factors[i + 1], factors[i + 2], factors[i + 3]
        for j in range(out.size):
            out[j] += p * a[j] + q * b[j] + r * c[j] + s * d[j]
    for i in range(whole, count):
        row, factor = rows[chosen[i]], factors[i]
        for j in range(out.size):
            out[j] += factor * row[j]


@kernel()
def sum_signs(signed: NDArray, chosen: NDArray, begin: int, end: int, part: NDArray) -> None:
    """part = Σ_{begin ≤ i < end} signed[chosen_i] in bytes, of which one instruction adds many."""
    for j in range(part.size):
        part[j] = 0
    whole = end - (end - begin) % 4
    for i in range(begin, whole, 4):
        a, b, c, d = signed[chosen[i]], signed[chosen[i + 1]], signed[chosen[i + 2]], signed[chosen[i + 3]]
        for j in range(part.size):
            part[j] += (a[j] + b[j]) + (c[j] + d[j])
    for i in range(whole, end):
        row = signed[chosen[i]]
        for j in range(part.size):
            part[j] += row[j]


@kernel()
def add_signs(signed: NDArray, chosen: NDArray, count: int, factor: int, part: NDArray, out: NDArray) -> None:
    """out += factor Σ_{i < count} signed[chosen_i], by parts that fit into bytes."""
    for begin in range(0, count, ROWS_IN_A_BYTE):
        sum_signs(signed, chosen, begin, min(begin + ROWS_IN_A_BYTE, count), part)
        for j in range(out.size):
            out[j] += factor * part[j]


@kernel()
def set_levels(columns: NDArray, places: NDArray, weights: NDArray, size: int, levels: NDArray) -> None:
    """Whole numbers with the signs of the margins: 4m if 2m is whole, else the odd number next to it.

    They are cut at `FAR`, from where they can't come back within the loop.
    """
    margins = np.zeros(levels.size)
    for i in range(size):
        add_scaled(margins, weights[i], columns[places[i]], margins.size)
    for pattern in range(margins.size):
        below = np.floor(2.0 * margins[pattern])
        level = 2.0 * below + (1.0 if below != 2.0 * margins[pattern] else 0.0)
        levels[pattern] = np.int64(min(FAR, max(-FAR, level)))


@kernel()
def advance(moved: NDArray, levels: NDArray, wrong: NDArray, flips: NDArray) -> int:
    """m += moved/2; brings `wrong` up to date, marks its changes in `flips`, and counts the levels that are zero."""
    zeros = 0
    for pattern in range(levels.size):
        levels[pattern] += 2 * moved[pattern]
        zeros += levels[pattern] == 0
    for pattern in range(levels.size):
        now = np.int8(levels[pattern] < 0)
        flips[pattern] = now ^ wrong[pattern]
        wrong[pattern] = now
    return zeros


@kernel()
def list_flips(wrong: NDArray, flips: NDArray, turned: NDArray) -> int:
    """List the signed rows of the patterns that became wrong (2μ + 1) or right (2μ): how many."""
    # An index without sign needs no test for counting from the end.
    listed = np.uint64(0)
    for pattern in range(wrong.size):
        # Written at every pattern and kept where it flips: faster than a branch that nothing predicts.
        turned[listed] = 2 * pattern + wrong[pattern]
        listed += np.uint64(flips[pattern])
    return int(listed)


@kernel()
def list_zeros(levels: NDArray, turned: NDArray) -> int:
    """List the signed rows of the patterns at zero, which pull half as much as wrong ones: how many."""
    listed = 0
    for pattern in range(levels.size):
        if levels[pattern] == 0:
            turned[listed] = 2 * pattern + 1
            listed += 1
    return listed


@kernel()
def free_place(pull: NDArray, order: NDArray, free: int, weight: float) -> int:
    """The first of the largest |w_j + c_j| among the open places, where w = 0, and `free` (−1: none); pull = 2c.

    Size and place are compared as one number; order is n − j at open places and CLOSED elsewhere.
    """
    best = np.int64(0)
    for j in range(pull.size):
        best = max(best, (np.int64(abs(pull[j])) << SHIFT) + order[j])
    size, place = best >> SHIFT, pull.size - int(best & ((1 << SHIFT) - 1))
    if free >= 0:
        own = abs(2.0 * weight + pull[free])
        if own > size or (own == size and free < place):
            return free
    return place


@kernel()
def move_weights(pull: NDArray, places: NDArray, size: int, weights: NDArray, step: NDArray) -> tuple[int, int]:
    """w += c at the places in use; step = 2c there, and the sums of its sizes and of its squares."""
    length, squares = 0, 0
    for i in range(size):
        twice = int(pull[places[i]])
        step[i] = twice
        length += abs(twice)
        squares += twice * twice
        weights[i] += 0.5 * twice
    return length, squares


@kernel()
def same_entries(first: NDArray, second: NDArray, size: int) -> bool:
    """Whether the leading entries agree; they are compared from the last, which changes soonest."""
    same = 0
    while same < size and first[size - 1 - same] == second[size - 1 - same]:
        same += 1
    return same == size


@kernel()
def lay_out(w: NDArray, is_fixed: NDArray, free: int, places: NDArray, weights: NDArray, order: NDArray) -> int:
    """Places and weights of the fixed entries, then of the free one; the order of the open places. How many are used."""
    used = 0
    for j in range(w.size):
        if is_fixed[j]:
            places[used], weights[used] = j, w[j]
            used += 1
        elif j != free:
            order[j] = w.size - j
    if free >= 0:
        places[used], weights[used] = free, w[free]
    return used + 1


@kernel()
def biht_signs(
    columns: NDArray, signed: NDArray, w: NDArray, is_fixed: NDArray, free: int, done: int, most: int, settled: float
) -> int:
    """The inner loop at one K, with `sign_tables`; the iterations it stands for.

    w is zero off the fixed places and the free one (−1: none yet); the loop ends when |Δw|² ≤ `settled`.
    A state that returns exactly closes a cycle (Brent's test), and whole turns of it are skipped.
    """
    n, patterns = columns.shape
    levels, moved = np.zeros(patterns, dtype=np.int64), np.zeros_like(columns[0])
    wrong, turned = np.zeros((2, patterns), dtype=np.int8), np.zeros(patterns + 1, dtype=np.int64)
    pulls, part = np.zeros((3, n), dtype=columns.dtype), np.zeros(n, dtype=np.int8)
    flips, order = np.zeros(patterns, dtype=np.int8), np.full(n, CLOSED)
    # The fixed places, then the free one, whose weight is zero until it has one, then one that leaves.
    places, step = np.zeros(n + 1, dtype=np.int64), np.zeros(n + 1, dtype=columns.dtype)
    weights, mark = np.zeros(n), np.zeros(n)
    longest = np.iinfo(columns.dtype).max
    size = lay_out(w, is_fixed, free, places, weights, order)
    last, mark_free, marked, next_mark = size - 1, -1, 0, 2
    set_levels(columns, places, weights, size, levels)
    while done <= most:
        pull = pulls[done & 1]
        zeros = advance(moved, levels, wrong[done & 1], flips)
        add_signs(signed, turned, list_flips(wrong[done & 1], flips, turned), 2, part, pull)
        if zeros:
            for j in range(n):
                pulls[2, j] = pull[j]
            pull = pulls[2]
            add_signs(signed, turned, list_zeros(levels, turned), 1, part, pull)
        best = free_place(pull, order, free, weights[last])
        leaving, change, reach = 0, 0.0, 0.0
        if best != free:
            order[best] = CLOSED
            if free >= 0:
                order[free] = n - free
                twice = 2.0 * weights[last]
                change = weights[last] ** 2
                places[size], step[size], leaving = free, np.int64(-twice), 1
                # A weight that is no multiple of ½ (the start's) does not leave by whole steps.
                reach = abs(twice) if twice == np.floor(twice) else np.inf
            free, places[last], weights[last] = best, best, 0.0
        length, squares = move_weights(pull, places, size, weights, step)
        for pattern in range(patterns):
            moved[pattern] = 0
        if reach + length <= longest:
            add_rows(columns, places, step, size + leaving, moved)
        else:
            set_levels(columns, places, weights, size, levels)
        done += 1
        if change + 0.25 * squares <= settled:
            break
        if mark_free == free and same_entries(weights, mark, size):
            done += (done - marked) * ((most + 1 - done) // (done - marked))
            mark_free = -1
        elif done >= next_mark:
            next_mark, marked, mark_free = 2 * done, done, free
            for i in range(size):
                mark[i] = weights[i]
    for j in range(n):
        w[j] = 0.0
    for i in range(size):
        w[places[i]] = weights[i]
    return done
