"""greedy-BIHT's inner loop for ±1 columns.

There a hundred patterns may flip at every iteration, but most of them flip back at the next: the weights swing with
period two and drift slowly. So the pull of the wrong patterns is brought up to date from that of two iterations ago.

Weights change by multiples of ½, margins too: they are kept as whole numbers, 4m where that is one (`levels`).
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from chanceline.perceptron.bits import first_one, only_signs, which_negative
from chanceline.perceptron.linalg import add_scaled
from chanceline.select.rowsums import TILE, combine_rows, in_tiles, sum_rows

FITS_BYTE, FITS_SHORT, FAR = 127, 32767, 2.0**30
CLOSED = np.int32(-(2**31))


def sign_tables(columns: NDArray, most: int) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """The columns, and the patterns followed by their negatives, for the loop below; empty where it can't be used."""
    n, patterns = columns.shape
    numbers_fit = (2 * patterns + 1) * (n + TILE) < 2**31 and 2 * FITS_SHORT * (most + 1) < FAR
    if not (numbers_fit and only_signs(columns)):
        return np.zeros((0, 0), dtype=np.int8), np.zeros((0, 0), dtype=np.int8)
    return in_tiles(columns), in_tiles(np.vstack([columns.T, -columns.T]))


@njit(cache=True)
def set_levels(signs: NDArray, support: NDArray, weights: NDArray, size: int, margins: NDArray, levels: NDArray) -> None:
    """Whole numbers with the signs of the margins: 4m if 2m is whole, else the odd number next to it.

    They are cut where they can't come back within the loop, 2^30: one iteration moves them by less than 2^16.
    """
    margins[:] = 0.0
    for i in range(size):
        add_scaled(margins, weights[i], signs[support[i]], margins.size)
    for pattern in range(margins.size):
        below = np.floor(2.0 * margins[pattern])
        level = 2.0 * below + (below != 2.0 * margins[pattern])
        levels[pattern] = min(FAR, max(-FAR, level))


@njit(cache=True)
def advance(moved: NDArray, levels: NDArray) -> int:
    """m += moved/2; how many levels are zero (those of the padding stay 1)."""
    # In the width of the levels, or the loop is not vectorised well.
    zeros = np.int32(0)
    for pattern in range(levels.size):
        levels[pattern] += 2 * moved[pattern]
        zeros = np.int32(zeros + (levels[pattern] == 0))
    return int(zeros)


@njit(cache=True)
def list_ones(word: np.uint64, shift: int, places: NDArray, count: np.int64) -> np.int64:
    """Append the places of a word's ones, plus the shift; how many places there are then."""
    # An index without sign needs no test for counting from the end.
    filled = np.uint64(count)
    while word:
        places[filled] = np.int64(first_one(word)) + shift
        word &= word - np.uint64(1)
        filled += np.uint64(1)
    return np.int64(filled)


@njit(cache=True)
def note_flips(levels: NDArray, wrong: NDArray, patterns: int, turned: NDArray) -> np.int64:
    """Bring the mask of wrong patterns up to date; list those that became wrong, and with P added those now right."""
    count = np.int64(0)
    for word in range(wrong.size):
        now, before = which_negative(levels, 64 * word), wrong[word]
        count = list_ones(now & ~before, 64 * word, turned, count)
        count = list_ones(before & ~now, 64 * word + patterns, turned, count)
        wrong[word] = now
    return count


@njit(cache=True)
def add_twice(rows: NDArray, chosen: NDArray, count: np.int64, sums: NDArray, pull: NDArray) -> None:
    """pull += 2 Σ rows[chosen]."""
    for first in range(0, count, FITS_BYTE):
        sum_rows(rows, chosen, first, min(count, first + FITS_BYTE), sums)
        for j in range(pull.size):
            pull[j] += 2 * sums[j]


@njit(cache=True)
def free_place(pull: NDArray, order: NDArray, free: int, weight: float) -> int:
    """The first of the largest |w_j + c_j| among the open places, where w = 0, and `free` (−1: none); pull = 2c.

    Size and place are compared as one number; order is n − j at open places and CLOSED elsewhere.
    """
    scale, best = np.int32(pull.size + 1), np.int32(0)
    for j in range(pull.size):
        best = max(best, np.int32(abs(pull[j]) * scale + order[j]))
    size, place = best // scale, pull.size - best % scale
    if free >= 0:
        own = abs(2.0 * weight + pull[free])
        if own > size or (own == size and free < place):
            return free
    return int(place)


@njit(cache=True)
def same_entries(first: NDArray, second: NDArray, size: int) -> bool:
    """Whether the leading entries agree; they are compared from the last, which changes soonest."""
    same = 0
    while same < size and first[size - 1 - same] == second[size - 1 - same]:
        same += 1
    return same == size


@njit(cache=True)
def biht_signs(
    signs: NDArray, both: NDArray, w: NDArray, is_fixed: NDArray, free: int, done: int, most: int, settled: float
) -> int:
    """The inner loop at one K, with `sign_tables`; the iterations it stands for.

    w is zero off the fixed places and the free one (−1: none yet); the loop ends when |Δw|² ≤ `settled`.
    A state that returns exactly closes a cycle (Brent's test), and whole turns of it are skipped.
    """
    n, patterns = w.size, both.shape[0] // 2
    margins, levels = np.zeros(patterns), np.ones(signs.shape[1], dtype=np.int32)
    moved = np.zeros(signs.shape[1], dtype=np.int16)
    wrong, turned = np.zeros((2, signs.shape[1] // 64), dtype=np.uint64), np.zeros(patterns, dtype=np.int64)
    sums, pulls = np.zeros(both.shape[1], dtype=np.int8), np.zeros((3, both.shape[1]), dtype=np.int32)
    order = np.full(both.shape[1], CLOSED)
    support, step = np.zeros(n + 1, dtype=np.int64), np.zeros(n + 1, dtype=np.int16)
    weights, mark = np.zeros(n), np.zeros(n)
    last, mark_free, marked, next_mark = 0, -1, 0, 2
    for j in range(n):
        if is_fixed[j]:
            support[last], weights[last] = j, w[j]
            last += 1
        elif j != free:
            order[j] = order.size - j
    # The free place comes last; its weight is zero until it has one.
    size = last + 1
    if free >= 0:
        support[last], weights[last] = free, w[free]
    set_levels(signs, support, weights, size, margins, levels)
    while done <= most:
        zeros = advance(moved, levels)
        pull = pulls[done & 1]
        add_twice(both, turned, note_flips(levels, wrong[done & 1], patterns, turned), sums, pull)
        if zeros:
            # A pattern at zero pulls half as much as a wrong one.
            pulls[2] = pull
            pull = pulls[2]
            for pattern in range(patterns):
                if levels[pattern] == 0:
                    for j in range(pull.size):
                        pull[j] += both[pattern, j]
        best = free_place(pull, order, free, weights[last])
        leaving, change, reach = 0, 0.0, 0.0
        if best != free:
            order[best] = CLOSED
            if free >= 0:
                order[free] = order.size - free
                twice = 2.0 * weights[last]
                change = weights[last] ** 2
                support[size], step[size], leaving = free, np.int16(-twice), 1
                # A weight that is no multiple of ½ (the start's) does not leave by whole steps.
                reach = abs(twice) if twice == np.floor(twice) else np.inf
            free, support[last], weights[last] = best, best, 0.0
        length, squares = np.int64(0), np.int64(0)
        for i in range(size):
            twice_step = np.int64(pull[support[i]])
            step[i] = twice_step
            length += abs(twice_step)
            squares += twice_step * twice_step
            weights[i] += 0.5 * twice_step
        if reach + length <= FITS_SHORT:
            combine_rows(signs, support, step, size + leaving, moved)
        else:
            moved[:] = 0
            set_levels(signs, support, weights, size, margins, levels)
        done += 1
        if change + 0.25 * squares <= settled:
            break
        if mark_free == free and same_entries(weights, mark, size):
            done += (done - marked) * ((most + 1 - done) // (done - marked))
            mark_free = -1
        elif done >= next_mark:
            next_mark, marked, mark_free = 2 * done, done, free
            mark[:size] = weights[:size]
    w[:] = 0.0
    for i in range(size):
        w[support[i]] = weights[i]
    return done
