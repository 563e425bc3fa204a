"""The hard margin on given variables, by nonnegative least squares on the patterns.

min_{λ ≥ 0} |Σ_μ λ_μ a_μ|² + (1 − Σ_μ λ_μ)². With w = Σ λ_μ a_μ and s = Σ λ_μ, the minimum has a_μ·w ≥ 1 − s:
w is the direction of the largest margin, or w = 0 and λ proves that nothing separates (Gordan).

In floating point w is never quite zero: up to `RESOLUTION` it counts as zero, which is no proof. Where k + 1 rows of k columns
carry λ and are not nearly dependent, `conflict_is_certain` proves that the exact λ is positive too, rounding included. The rest
is for `rational.py`, or holds up to the gap that `largest_gap` gives.

Weights that must not be negative are one more row e_j each, whose margin w_j need only be ≥ 0: it has no part in Σ λ_μ.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chanceline.kernels.compile import NONE, ZERO, inlined_kernel, inner_kernel, kernel
from chanceline.kernels.inverse import border, next_pivot, unborder
from chanceline.kernels.vectors import add_scaled, dot_first

SEPARABLE, INSEPARABLE, UNDECIDED = 1, 0, -1
# Margins below this, relative to the longest row, count as none.
RESOLUTION = 1e-8
ROUNDING = 2.0**-53  # of one operation, relative
NEGLIGIBLE = 1e-9  # multiplier, of those of sum 1, that may be zero but for rounding
LARGEST_INTEGER = 4e18  # that 64 bits hold
ENTRY_ROUNDINGS = (
    3.0  # of an entry of the rows, which are columns of X less their centre, divided by their scale
)


class Margin(NamedTuple):
    """What `hard_margin` says of some rows: SEPARABLE, INSEPARABLE or UNDECIDED, w and λ."""

    verdict: int
    weights: NDArray[np.float64]
    multipliers: NDArray[np.float64]


def largest_margin(
    rows: NDArray[np.float64],
    start: NDArray[np.float64] | None = None,
    early: bool = False,
    signed: NDArray[np.bool_] | None = None,
) -> Margin:
    """The largest margin on the rows a_μ, from multipliers λ if given; `early`: any separating w will do.

    Weights that are `signed` are not negative, and then Σ λ_μ a_μj ≤ 0 proves as much of them as Σ λ_μ a_μj = 0.
    """
    patterns, k = rows.shape
    multipliers = np.zeros(patterns) if start is None else start.copy()
    if signed is not None:
        multipliers = np.append(multipliers, np.maximum(-(multipliers @ rows)[signed], 0.0))
        rows = np.vstack([rows, np.eye(k)[signed]])
    rows, weights = np.ascontiguousarray(rows), np.zeros(k)
    verdict = hard_margin(rows, patterns, weights, multipliers, early, make_passive(*rows.shape))
    return Margin(int(verdict), weights, multipliers[:patterns])


class Passive(NamedTuple):
    """Rows with λ > 0, those that wait to be taken in behind them; the inverse of their Gram matrix (patterns extended
    by a common last coordinate √unit); and room."""

    size: NDArray[np.int64]
    members: NDArray[np.int64]
    inside: NDArray[np.int64]
    values: NDArray[np.float64]
    inverse: NDArray[np.float64]
    work: NDArray[np.float64]
    cross: NDArray[np.float64]


def make_passive(patterns: int, k: int) -> Passive:
    """Workspace for up to so many patterns on up to k variables."""
    capacity = min(patterns, k + 1) + 1
    size, members, inside = (
        np.zeros(length, dtype=np.int64) for length in (1, patterns + 1, patterns)
    )
    return Passive(
        size,
        members,
        inside,
        np.zeros(patterns + 1),
        np.zeros((capacity, capacity)),
        *np.zeros((2, capacity)),
    )


@inlined_kernel()
def take_in(
    passive: Any, rows: NDArray, patterns: int, k: int, unit: float, queued: int, room: int
) -> None:
    """Add the rows that wait, as long as there is room, but none that depends on those inside."""
    filled, members, inside, values, inverse, work, cross = passive
    for waiting in range(filled[0], queued):
        size, pattern = filled[0], members[waiting]
        own = unit if pattern < patterns else 0.0
        for i in range(size):
            cross[i] = dot_first(rows[members[i]], rows[pattern], k) + (
                own if members[i] < patterns else 0.0
            )
        diagonal = dot_first(rows[pattern], rows[pattern], k) + own
        pivot = next_pivot(inverse, size, cross, diagonal, work)
        inside[pattern] = 0
        if size < room and pivot >= 1e-13 * diagonal:
            border(inverse, size, pivot, work)
            inside[pattern], members[size], values[size], filled[0] = (
                1,
                pattern,
                values[waiting],
                size + 1,
            )


@inlined_kernel()
def settle(passive: Any, patterns: int, unit: float) -> int:
    """Least squares on the passive rows, walking back to the positive orthant; how many had to leave."""
    filled, members, inside, values, inverse, work, goal = passive
    left = ZERO
    while filled[0] > 0:
        size, step, leaving = filled[0], 1.0, NONE
        for i in range(size):
            goal[i] = 0.0
            for j in range(size):
                goal[i] += inverse[i, j] if members[j] < patterns else 0.0
            goal[i] *= unit
            if goal[i] <= 1e-13:
                fall = values[i] - goal[i]
                length = values[i] / (fall if fall > 1e-300 else 1e-300)
                if length < step or leaving < 0:
                    leaving = i
                    step = length if length < step else step
        for i in range(size):
            values[i] += step * (goal[i] - values[i])
        if leaving < 0:
            break
        inside[members[leaving]] = 0
        unborder(inverse, size, leaving, work)
        filled[0] = size - 1
        members[leaving], values[leaving] = members[size - 1], values[size - 1]
        left += 1
    return left


@kernel()
def hard_margin(
    rows: NDArray, patterns: int, weights: NDArray, multipliers: NDArray, early: bool, passive: Any
) -> int:
    """Separate the rows or prove that it cannot be done, by Lawson and Hanson's active-set method.

    Parameters
    ----------
    rows : a_μ in the first k places of as many rows as `patterns`; below them e_j for weights that must not be negative.
    weights : filled with w = Σ λ_μ a_μ, a_μ·w > 0 for all μ if SEPARABLE.
    multipliers : of all rows, a start λ ≥ 0 (zeros will do); filled with λ, Σ λ_μ a_μ = 0 if INSEPARABLE.
    early : stop at the first separating w rather than at the largest margin.
    passive : room, from `make_passive` for as many rows and columns or more.
    """
    (filled, members, inside, values, _, _, _), every, k = passive, rows.shape[0], weights.size
    room = every if every < k + 1 else k + 1
    # The last coordinate has the length of the longest row, so that neither drowns the other.
    longest, queued, filled[0] = 1e-300, ZERO, 0
    for pattern in range(every):
        length = dot_first(rows[pattern], rows[pattern], k)
        longest = length if length > longest else longest
        inside[pattern] = 0
        if multipliers[pattern] > 0.0:
            members[queued], values[queued] = pattern, multipliers[pattern]
            queued += 1
    warm, status, changes, entering, lowest = queued > 0, UNDECIDED, queued, NONE, 0.0
    for _ in range(80 * (every + k) + 80):
        size = filled[0]
        take_in(passive, rows, patterns, k, longest, queued, room)
        if entering < 0 or filled[0] > size:
            changes += settle(passive, patterns, longest)
            size, total = filled[0], 0.0
            for j in range(k):
                weights[j] = 0.0
            for i in range(size):
                total += values[i] if members[i] < patterns else 0.0
                add_scaled(weights, values[i], rows[members[i]], k)
            if (
                size > 0
                and dot_first(weights, weights, k) <= RESOLUTION**2 * longest * total * total
            ):
                status = INSEPARABLE
                break
            # The smallest margin off the passive set and its pattern, the smallest of all, and how far those inside are off.
            slack, worst, entering, lowest, drift = (
                longest * (1.0 - total),
                np.inf,
                NONE,
                np.inf,
                0.0,
            )
            for pattern in range(every):
                margin = dot_first(rows[pattern], weights, k)
                if margin < lowest and (pattern < patterns or margin < -1e-12 * longest):
                    lowest = margin
                margin += 0.0 if pattern < patterns else slack
                if inside[pattern] > 0:
                    off = abs(margin - slack)
                    drift = off if off > drift else drift
                elif margin < worst:
                    worst, entering = margin, pattern
            if drift > 1e-11 * longest and changes > 0:
                # On the passive set a_μ·w = 1 − s; if not, updates have worn the inverse out.
                filled[0], queued, changes, entering = 0, size, ZERO, NONE
                continue
            if early and lowest > 1e-12 * longest * total and size > 0:
                status = SEPARABLE
                break
            done = entering < 0 or worst >= slack - 1e-12 * longest or size == room
            if done and size > 0:
                status = SEPARABLE if lowest > 0.0 else INSEPARABLE
                break
            changes += 1
            if not done:
                members[size], values[size], queued = entering, 0.0, size + 1
                continue
        if lowest > 0.0 and size > 0:
            status = SEPARABLE
        if status == SEPARABLE or not warm:
            break
        # The start led nowhere: once more from nothing.
        warm, filled[0], queued, entering = False, 0, ZERO, NONE
        for pattern in range(every):
            inside[pattern] = 0
    for pattern in range(every):
        multipliers[pattern] = 0.0
        value = dot_first(rows[pattern], weights, k) if pattern >= patterns else 0.0
        if value < 0.0 or inside[pattern] > 0:  # zero up to rounding
            add_scaled(weights, -value, rows[pattern], k)
    for i in range(filled[0]):
        multipliers[members[i]] = values[i]
    return status


@inner_kernel()
def fill_basis(
    rows: NDArray, patterns: int, k: int, multipliers: NDArray, shrink: float, matrix: NDArray
) -> None:
    """The rows with λ > 0 as columns: patterns times `shrink`, and below them 1 for a pattern, 0 for any other row."""
    place = 0
    for i in range(multipliers.size):
        if multipliers[i] > 0.0:
            factor = shrink if i < patterns else 1.0
            for j in range(k):
                matrix[j, place] = factor * rows[i, j]
            matrix[k, place] = 1.0 if i < patterns else 0.0
            place += 1


@inner_kernel()
def invert(matrix: NDArray, inverse: NDArray, size: int) -> bool:
    """An approximate inverse by elimination with pivots, which uses the matrix up; False if a pivot vanishes."""
    for i in range(size):
        for j in range(size):
            inverse[i, j] = 1.0 if i == j else 0.0
    for column in range(size):
        place = column
        for i in range(column + 1, size):
            if abs(matrix[i, column]) > abs(matrix[place, column]):
                place = i
        pivot = matrix[place, column]
        if not abs(pivot) > 1e-300:
            return False
        for j in range(size):
            swapped = matrix[place, j]
            matrix[place, j] = matrix[column, j]
            matrix[column, j] = swapped / pivot
            swapped = inverse[place, j]
            inverse[place, j] = inverse[column, j]
            inverse[column, j] = swapped / pivot
        for i in range(size):
            factor = matrix[i, column]
            if i != column and factor != 0.0:
                for j in range(size):
                    matrix[i, j] -= factor * matrix[column, j]
                    inverse[i, j] -= factor * inverse[column, j]
    return True


@inner_kernel()
def largest_gap(rows: NDArray, patterns: int, k: int, multipliers: NDArray, work: NDArray) -> float:
    """No weights of length 1, nonnegative where they must be, have a larger margin: |Σ λ_μ a_μ| / Σ λ_μ, rounding included."""
    total = 0.0
    longest = 0.0
    for j in range(k):
        work[j] = 0.0
    for i in range(multipliers.size):
        if multipliers[i] > 0.0:
            add_scaled(work, multipliers[i], rows[i], k)
            if i < patterns:
                total += multipliers[i]
                length = dot_first(rows[i], rows[i], k)
                longest = length if length > longest else longest
    if total == 0.0:
        return np.inf
    # Every entry of the sum is right up to a few roundings of it.
    rounding = 2.0 * (k + 4.0 + ENTRY_ROUNDINGS) * ROUNDING * np.sqrt(k * longest)
    return np.sqrt(dot_first(work, work, k)) / total + rounding


@kernel()
def conflict_is_certain(
    rows: NDArray, patterns: int, k: int, multipliers: NDArray, matrix: NDArray, inverse: NDArray
) -> bool:
    """Whether exact multipliers near these prove that nothing separates, with all rounding taken into account.

    The rows with λ > 0, each with a last place (1 for patterns, 0 for weights that must not be negative), are the columns of a
    matrix B, and B λ = (0, …, 0, 1). If B is square and not singular, λ is unique. An approximate inverse C bounds it: with
    R = C B − 1 and |R| < 1 in the row sum norm, B is not singular, and λ differs from its approximation l by at most
    |C (B l − e)| / (1 − |R|). Sums of n products are right up to n + 1 roundings of the sum of their absolute values, and
    entries of the rows up to `ENTRY_ROUNDINGS`.

    Parameters
    ----------
    rows : (·, k or more), the rows as for `hard_margin`.
    multipliers : of all rows, as `hard_margin` leaves them.
    matrix, inverse : room, (k + 1, k + 1) or more.
    """
    size = k + 1
    count = 0
    longest = 0.0
    for i in range(multipliers.size):
        if multipliers[i] > 0.0:
            count += 1
            if i < patterns:
                length = dot_first(rows[i], rows[i], k)
                longest = length if length > longest else longest
    if count != size or longest == 0.0:
        return False
    shrink = 1.0 / np.sqrt(longest)
    fill_basis(rows, patterns, k, multipliers, shrink, matrix)
    if not invert(matrix, inverse, size):
        return False
    # Inverting has used the matrix up.
    fill_basis(rows, patterns, k, multipliers, shrink, matrix)
    rounding = 2.0 * (size + 2.0 + ENTRY_ROUNDINGS + 1.0) * ROUNDING
    largest_row = 0.0
    for i in range(size):
        total = 0.0
        for j in range(size):
            entry = -1.0 if i == j else 0.0
            absolute = 1.0 if i == j else 0.0
            for m in range(size):
                entry += inverse[i, m] * matrix[m, j]
                absolute += abs(inverse[i, m] * matrix[m, j])
            total += abs(entry) + rounding * absolute
        largest_row = total if total > largest_row else largest_row
    if not largest_row < 0.5:
        return False
    # The last column of the inverse is the approximation of λ. Bounds of |B l − e| take the place of the first column of B.
    for i in range(size):
        entry = -1.0 if i == k else 0.0
        absolute = 1.0 if i == k else 0.0
        for m in range(size):
            entry += matrix[i, m] * inverse[m, k]
            absolute += abs(matrix[i, m] * inverse[m, k])
        matrix[i, 0] = abs(entry) + rounding * absolute
    farthest = 0.0
    for i in range(size):
        distance = 0.0
        for m in range(size):
            distance += abs(inverse[i, m]) * matrix[m, 0]
        farthest = distance if distance > farthest else farthest
    farthest *= (1.0 + rounding) / (1.0 - largest_row)
    is_positive = True
    for i in range(size):
        is_positive = is_positive and inverse[i, k] > farthest
    return is_positive


@kernel()
def conflict_is_exact(
    whole: NDArray, used: NDArray, k: int, members: NDArray, extra: NDArray, work: NDArray
) -> bool:
    """Whether 0 = Σ λ_i b_i has a solution λ > 0 in integers; False also where they become too large.

    The b_i are the columns `members` of `whole`, on its rows `used`, and a unit vector in every place `extra`; no λ ≠ 0 of theirs
    has Σ λ_i b_i = 0 and Σ λ_i = 0, so that the λ in question is unique but for a factor.

    Bareiss' elimination, above the pivots too: all divisions have no remainder, all pivots become equal, and with one column f
    left without a pivot p, λ_f = p and λ_i = −(entry of column f in the row of the pivot of i).

    Parameters
    ----------
    whole : (·, ·) small integers in doubles; NaN where there are none.
    work : room for integers, (k, members + extra) or more.
    """
    count = members.size + extra.size
    for j in range(k):
        for i in range(members.size):
            value = whole[used[j], members[i]]
            if not abs(value) < LARGEST_INTEGER:
                return False
            work[j, i] = int(value)
        for i in range(extra.size):
            work[j, members.size + i] = 1 if extra[i] == j else 0
    rank = 0
    free = -1
    before = 1
    for column in range(count):
        place = -1
        for j in range(rank, k):
            if work[j, column] != 0:
                place = j
                break
        if place < 0:
            if free >= 0:
                return False
            free = column
            continue
        for i in range(count):
            swapped = work[place, i]
            work[place, i] = work[rank, i]
            work[rank, i] = swapped
        pivot = work[rank, column]
        for j in range(k):
            factor = work[j, column]
            if j != rank:
                for i in range(count):
                    size = abs(float(pivot) * float(work[j, i])) + abs(
                        float(factor) * float(work[rank, i])
                    )
                    if size > LARGEST_INTEGER:
                        return False
                    work[j, i] = (pivot * work[j, i] - factor * work[rank, i]) // before
        before = pivot
        rank += 1
    if free < 0:
        return False
    is_positive = True
    for j in range(rank):
        # λ_j / λ_f = −work[j, free] / pivot.
        has_other_sign = work[j, free] > 0 if before < 0 else work[j, free] < 0
        is_positive = is_positive and has_other_sign
    return is_positive
