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
    inner_kernel,
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
    return Margin(int(hard_margin(rows, weights, multipliers, early)), weights, multipliers)


class Passive(NamedTuple):
    """Patterns with λ > 0, and the inverse of their Gram matrix (rows extended by a common last coordinate √unit)."""

    rows: NDArray[np.float64]
    unit: float
    size: NDArray[np.int64]
    members: NDArray[np.int64]
    inside: NDArray[np.int64]
    values: NDArray[np.float64]
    inverse: NDArray[np.float64]
    work: NDArray[np.float64]


@inner_kernel()
def take_in(passive: Any, pattern: int, value: float) -> bool:
    """Add a pattern; False if it depends on those inside."""
    rows, size, k = passive.rows, passive.size[0], passive.rows.shape[1]
    cross = np.zeros(size)
    for i in range(size):
        cross[i] = dot_first(rows[passive.members[i]], rows[pattern], k) + passive.unit
    diagonal = dot_first(rows[pattern], rows[pattern], k) + passive.unit
    pivot = next_pivot(passive.inverse, size, cross, diagonal, passive.work)
    independent = pivot >= 1e-13 * diagonal
    passive.inside[pattern] = independent
    if independent:
        border(passive.inverse, size, pivot, passive.work)
        passive.members[size], passive.values[size] = pattern, value
        passive.size[0] += 1
    return independent


@inlined_kernel()
def settle(passive: Any) -> int:
    """Least squares on the passive patterns, walking back to the positive orthant; how many had to leave."""
    values, inverse, goal, left = passive.values, passive.inverse, np.zeros(passive.values.size), ZERO
    while passive.size[0] > 0:
        size = passive.size[0]
        step, leaving = 1.0, NONE
        for i in range(size):
            goal[i] = 0.0
            for j in range(size):
                goal[i] += inverse[i, j]
            goal[i] *= passive.unit
            if goal[i] <= 1e-13:
                length = values[i] / max(values[i] - goal[i], 1e-300)
                if length < step or leaving < 0:
                    step, leaving = min(step, length), i
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


@inlined_kernel()
def look_around(passive: Any, weights: NDArray, slack: float) -> tuple[float, int, float, float]:
    """The smallest margin off the passive set and its pattern, the smallest of all, and how far those inside are off."""
    worst, entering, lowest, drift = np.inf, NONE, np.inf, 0.0
    for pattern in range(passive.rows.shape[0]):
        margin = dot_first(passive.rows[pattern], weights, weights.size)
        lowest = min(lowest, margin)
        if passive.inside[pattern] > 0:
            drift = max(drift, abs(margin - slack))
        elif margin < worst:
            worst, entering = margin, pattern
    return worst, entering, lowest, drift


@kernel()
def hard_margin(rows: NDArray, weights: NDArray, multipliers: NDArray, early: bool) -> int:
    """Separate the rows or prove that it cannot be done, by Lawson and Hanson's active-set method.

    A start that leads nowhere is given up for a cold one.

    Parameters
    ----------
    rows : (P, k) array of a_μ.
    weights : filled with w = Σ λ_μ a_μ, a_μ·w > 0 for all μ if SEPARABLE.
    multipliers : a start λ ≥ 0 (zeros will do); filled with λ, Σ λ_μ a_μ = 0 if INSEPARABLE.
    early : stop at the first separating w rather than at the largest margin.
    """
    patterns, k = rows.shape
    capacity = min(patterns, k + 1) + 1
    longest = 1e-300
    for pattern in range(patterns):
        longest = max(longest, dot_first(rows[pattern], rows[pattern], k))
    # The last coordinate has the length of the rows, so that neither drowns the other.
    passive = Passive(
        rows, longest, np.zeros(1, dtype=np.int64), np.zeros(capacity, dtype=np.int64), np.zeros(patterns, dtype=np.int64),
        np.zeros(capacity), np.zeros((capacity, capacity)), np.zeros(capacity),
    )  # fmt: skip
    for pattern in range(patterns):
        if multipliers[pattern] > 0.0 and passive.size[0] < capacity - 1:
            take_in(passive, pattern, multipliers[pattern])
    warm, status, changes = passive.size[0] > 0, UNDECIDED, passive.size[0]
    for _ in range(80 * (patterns + k) + 80):
        changes += settle(passive)
        size, total = passive.size[0], 0.0
        for j in range(k):
            weights[j] = 0.0
        for i in range(size):
            total += passive.values[i]
            add_scaled(weights, passive.values[i], rows[passive.members[i]], k)
        if size > 0 and dot_first(weights, weights, k) <= RESOLUTION**2 * longest * total * total:
            status = INSEPARABLE
            break
        slack = longest * (1.0 - total)
        worst, entering, lowest, drift = look_around(passive, weights, slack)
        if drift > 1e-11 * longest and changes > 0:
            # On the passive set a_μ·w = 1 − s; if not, updates have worn the inverse out.
            passive.size[0] = 0
            for i in range(size):
                take_in(passive, passive.members[i], passive.values[i])
            changes = 0
            continue
        if early and lowest > 1e-12 * longest * total and size > 0:
            status = SEPARABLE
            break
        done = entering < 0 or worst >= slack - 1e-12 * longest or size == capacity - 1
        if done and size > 0:
            status = SEPARABLE if lowest > 0.0 else INSEPARABLE
            break
        changes += 1
        if not done and take_in(passive, entering, 0.0):
            continue
        if lowest > 0.0 and size > 0:
            status = SEPARABLE
        if status == SEPARABLE or not warm:
            break
        # The start led nowhere: once more from nothing.
        warm = False
        passive.size[0] = 0
        for pattern in range(patterns):
            passive.inside[pattern] = 0
    for pattern in range(patterns):
        multipliers[pattern] = 0.0
    for i in range(passive.size[0]):
        multipliers[passive.members[i]] = passive.values[i]
    return status
