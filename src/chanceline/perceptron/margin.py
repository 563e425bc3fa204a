"""The hard margin on given variables, by nonnegative least squares on the patterns.

min_{λ ≥ 0} |Σ_μ λ_μ a_μ|² + (1 − Σ_μ λ_μ)². With w = Σ λ_μ a_μ and s = Σ λ_μ, the minimum has a_μ·w ≥ 1 − s:
w is the direction of the largest margin, or w = 0 and λ proves that nothing separates (Gordan).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chanceline.perceptron.linalg import (
    NONE,
    ZERO,
    add_scaled,
    border,
    dot_first,
    inlined_kernel,
    kernel,
    next_pivot,
    unborder,
)

SEPARABLE, INSEPARABLE, UNDECIDED = 1, 0, -1
# Margins below this, relative to the longest row, count as none.
RESOLUTION = 1e-8


class Margin(NamedTuple):
    """What `hard_margin` says of some rows: SEPARABLE, INSEPARABLE or UNDECIDED, w and λ."""

    verdict: int
    weights: NDArray[np.float64]
    multipliers: NDArray[np.float64]


def largest_margin(rows: NDArray[np.float64], start: NDArray[np.float64] | None = None, early: bool = False) -> Margin:
    """The largest margin on the rows a_μ, from multipliers λ if given; `early`: any separating w will do."""
    rows = np.ascontiguousarray(rows)
    weights, multipliers = np.zeros(rows.shape[1]), np.zeros(rows.shape[0]) if start is None else start.copy()
    return Margin(int(hard_margin(rows, weights, multipliers, early, make_passive(*rows.shape))), weights, multipliers)


class Passive(NamedTuple):
    """Patterns with λ > 0, those that wait to be taken in behind them; the inverse of their Gram matrix (rows extended by a
    common last coordinate √unit); and room."""

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
    size, members, inside = (np.zeros(length, dtype=np.int64) for length in (1, patterns + 1, patterns))
    return Passive(size, members, inside, np.zeros(patterns + 1), np.zeros((capacity, capacity)), *np.zeros((2, capacity)))


@inlined_kernel()
def take_in(passive: Any, rows: NDArray, k: int, unit: float, queued: int, room: int) -> None:
    """Add the patterns that wait, as long as there is room, but none that depends on those inside."""
    for waiting in range(passive.size[0], queued):
        size, pattern = passive.size[0], passive.members[waiting]
        for i in range(size):
            passive.cross[i] = dot_first(rows[passive.members[i]], rows[pattern], k) + unit
        diagonal = dot_first(rows[pattern], rows[pattern], k) + unit
        pivot = next_pivot(passive.inverse, size, passive.cross, diagonal, passive.work)
        passive.inside[pattern] = 0
        if size < room and pivot >= 1e-13 * diagonal:
            border(passive.inverse, size, pivot, passive.work)
            passive.inside[pattern] = 1
            passive.members[size] = pattern
            passive.values[size] = passive.values[waiting]
            passive.size[0] = size + 1


@inlined_kernel()
def settle(passive: Any, unit: float) -> int:
    """Least squares on the passive patterns, walking back to the positive orthant; how many had to leave."""
    values, inverse, goal, left = passive.values, passive.inverse, passive.cross, ZERO
    while passive.size[0] > 0:
        size = passive.size[0]
        step, leaving = 1.0, NONE
        for i in range(size):
            goal[i] = 0.0
            for j in range(size):
                goal[i] += inverse[i, j]
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
        passive.inside[passive.members[leaving]] = 0
        unborder(inverse, size, leaving, passive.work)
        passive.size[0] = size - 1
        passive.members[leaving] = passive.members[size - 1]
        values[leaving] = values[size - 1]
        left += 1
    return left


@kernel(allocates=False)
def hard_margin(rows: NDArray, weights: NDArray, multipliers: NDArray, early: bool, passive: Any) -> int:
    """Separate the rows or prove that it cannot be done, by Lawson and Hanson's active-set method.

    A start that leads nowhere is given up for a cold one.

    Parameters
    ----------
    rows : a_μ in the first k places of every row, k the number of weights.
    weights : filled with w = Σ λ_μ a_μ, a_μ·w > 0 for all μ if SEPARABLE.
    multipliers : a start λ ≥ 0 (zeros will do); filled with λ, Σ λ_μ a_μ = 0 if INSEPARABLE.
    early : stop at the first separating w rather than at the largest margin.
    passive : room, from `make_passive` for as many rows and columns or more.
    """
    patterns, k = rows.shape[0], weights.size
    room = patterns if patterns < k + 1 else k + 1
    # The last coordinate has the length of the longest row, so that neither drowns the other.
    longest, queued, passive.size[0] = 1e-300, ZERO, 0
    for pattern in range(patterns):
        length = dot_first(rows[pattern], rows[pattern], k)
        longest = length if length > longest else longest
        passive.inside[pattern] = 0
        if multipliers[pattern] > 0.0:
            passive.members[queued], passive.values[queued] = pattern, multipliers[pattern]
            queued += 1
    warm, status, changes, entering, lowest = queued > 0, UNDECIDED, queued, NONE, 0.0
    for _ in range(80 * (patterns + k) + 80):
        size = passive.size[0]
        take_in(passive, rows, k, longest, queued, room)
        if entering < 0 or passive.size[0] > size:
            changes += settle(passive, longest)
            size, total = passive.size[0], 0.0
            for j in range(k):
                weights[j] = 0.0
            for i in range(size):
                total += passive.values[i]
                add_scaled(weights, passive.values[i], rows[passive.members[i]], k)
            if size > 0 and dot_first(weights, weights, k) <= RESOLUTION**2 * longest * total * total:
                status = INSEPARABLE
                break
            # The smallest margin off the passive set and its pattern, the smallest of all, and how far those inside are off.
            slack, worst, entering, lowest, drift = longest * (1.0 - total), np.inf, NONE, np.inf, 0.0
            for pattern in range(patterns):
                margin = dot_first(rows[pattern], weights, k)
                lowest = margin if margin < lowest else lowest
                if passive.inside[pattern] > 0:
                    off = abs(margin - slack)
                    drift = off if off > drift else drift
                elif margin < worst:
                    worst, entering = margin, pattern
            if drift > 1e-11 * longest and changes > 0:
                # On the passive set a_μ·w = 1 − s; if not, updates have worn the inverse out.
                passive.size[0], queued, changes, entering = 0, size, ZERO, NONE
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
                passive.members[size], passive.values[size], queued = entering, 0.0, size + 1
                continue
        if lowest > 0.0 and size > 0:
            status = SEPARABLE
        if status == SEPARABLE or not warm:
            break
        # The start led nowhere: once more from nothing.
        warm, passive.size[0], queued, entering = False, 0, ZERO, NONE
        for pattern in range(patterns):
            passive.inside[pattern] = 0
    for pattern in range(patterns):
        multipliers[pattern] = 0.0
    for i in range(passive.size[0]):
        multipliers[passive.members[i]] = passive.values[i]
    return status
