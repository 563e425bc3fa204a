"""The hard margin on given variables, by nonnegative least squares on the patterns.

min_{λ ≥ 0} |Σ_μ λ_μ a_μ|² + (1 − Σ_μ λ_μ)². With w = Σ λ_μ a_μ and s = Σ λ_μ, the minimum has a_μ·w ≥ 1 − s:
w is the direction of the largest margin, or w = 0 and λ proves that nothing separates (Gordan).
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from chanceline.perceptron.linalg import NONE, ZERO, combine, dot, dot_first, invert, rank_one, swap_places

SEPARABLE, INSEPARABLE, UNDECIDED = 1, 0, -1
# Margins below this, relative to the longest row, count as none.
RESOLUTION = 1e-8


@njit(cache=True)
def border(inverse: NDArray, size: int, cross: NDArray, diagonal: float, work: NDArray) -> bool:
    """Inverse of a symmetric matrix that gains a row; False if that row depends on the others."""
    for i in range(size):
        work[i] = dot_first(inverse[i], cross, size)
    schur = diagonal - dot_first(cross, work, size)
    if schur < 1e-13 * diagonal:
        return False
    rank_one(inverse, 1.0 / schur, work, size)
    for i in range(size):
        inverse[i, size] = -work[i] / schur
        inverse[size, i] = inverse[i, size]
    inverse[size, size] = 1.0 / schur
    return True


@njit(cache=True)
def unborder(inverse: NDArray, size: int, place: int, work: NDArray) -> None:
    """Inverse of a symmetric matrix that loses a row; the last row takes its place."""
    last = size - 1
    if place != last:
        swap_places(inverse, place, last, size)
    for i in range(last):
        work[i] = inverse[last, i]
    rank_one(inverse, -1.0 / inverse[last, last], work, last)


@njit(cache=True)
def refresh(rows: NDArray, passive: NDArray, size: int, unit: float, inverse: NDArray) -> None:
    """The inverse of the passive Gram matrix (rows extended by their common last coordinate) from scratch."""
    for i in range(size):
        for j in range(i + 1):
            inverse[i, j] = dot(rows[passive[i]], rows[passive[j]]) + unit
    invert(inverse, size)


@njit(cache=True)
def hard_margin(rows: NDArray, weights: NDArray, multipliers: NDArray, early: bool) -> int:
    """Separate the rows or prove that it cannot be done; a start that leads nowhere is given up for a cold one."""
    warm = False
    for pattern in range(multipliers.size):
        warm = warm or multipliers[pattern] > 0.0
    for _ in range(2):
        verdict = active_set(rows, weights, multipliers, early)
        if verdict != UNDECIDED or not warm:
            break
        for pattern in range(multipliers.size):
            multipliers[pattern] = 0.0
    return verdict


@njit(cache=True)
def active_set(rows: NDArray, weights: NDArray, multipliers: NDArray, early: bool) -> int:
    """Lawson and Hanson's active-set method, with the inverse of the passive Gram matrix kept up to date.

    Parameters
    ----------
    rows : (P, k) array of a_μ.
    weights : filled with w = Σ λ_μ a_μ, a_μ·w > 0 for all μ if SEPARABLE.
    multipliers : a start λ ≥ 0 (zeros will do); filled with λ, Σ λ_μ a_μ = 0 if INSEPARABLE.
    early : stop at the first separating w rather than at the largest margin.
    """
    patterns, k = rows.shape
    capacity = min(patterns, k + 1) + 1
    inverse = np.zeros((capacity, capacity))
    passive = np.zeros(capacity, dtype=np.int64)
    inside = np.zeros(patterns, dtype=np.bool_)
    values = np.zeros(capacity)
    goal = np.zeros(capacity)
    cross = np.zeros(capacity)
    work = np.zeros(capacity)
    size = ZERO
    longest = 0.0
    for pattern in range(patterns):
        longest = max(longest, dot(rows[pattern], rows[pattern]))
    # The least squares' last coordinate has the length of the rows, so that neither drowns the other.
    unit = max(longest, 1e-300)
    for pattern in range(patterns):
        if multipliers[pattern] > 0.0 and size < capacity - 1:
            for i in range(size):
                cross[i] = dot(rows[passive[i]], rows[pattern]) + unit
            diagonal = dot(rows[pattern], rows[pattern]) + unit
            if border(inverse, size, cross, diagonal, work):
                passive[size] = pattern
                inside[pattern] = True
                values[size] = multipliers[pattern]
                size += 1
    status = UNDECIDED
    changes = size
    for _ in range(40 * (patterns + k) + 40):
        # Least squares on the passive set, walking back to the positive orthant where needed.
        while size > 0:
            for i in range(size):
                goal[i] = 0.0
                for j in range(size):
                    goal[i] += inverse[i, j]
                goal[i] *= unit
            step, leaving = 1.0, NONE
            for i in range(size):
                if goal[i] <= 1e-13:
                    length = values[i] / max(values[i] - goal[i], 1e-300)
                    if length < step or leaving < 0:
                        step, leaving = min(step, length), i
            for i in range(size):
                values[i] += step * (goal[i] - values[i])
            if leaving < 0:
                break
            changes += 1
            inside[passive[leaving]] = False
            unborder(inverse, size, leaving, work)
            size -= 1
            passive[leaving] = passive[size]
            values[leaving] = values[size]
        combine(rows, passive, values, size, weights)
        total = 0.0
        for i in range(size):
            total += values[i]
        if size > 0 and dot(weights, weights) <= RESOLUTION**2 * longest * total * total:
            status = INSEPARABLE
            break
        worst, entering = np.inf, NONE
        lowest, drift = np.inf, 0.0
        slack = unit * (1.0 - total)
        for pattern in range(patterns):
            margin = dot(rows[pattern], weights)
            lowest = min(lowest, margin)
            if inside[pattern]:
                drift = max(drift, abs(margin - slack))
            elif margin < worst:
                worst, entering = margin, pattern
        if drift > 1e-11 * unit and changes > 0:
            # On the passive set a_μ·w = 1 − s; if not, updates have worn the inverse out.
            refresh(rows, passive, size, unit, inverse)
            changes = 0
            continue
        if early and lowest > 1e-12 * longest * total and size > 0:
            status = SEPARABLE
            break
        if entering < 0 or worst >= slack - 1e-12 * unit or size == capacity - 1:
            status = SEPARABLE if lowest > 0.0 and size > 0 else INSEPARABLE
            if size == 0:
                status = UNDECIDED
            break
        for i in range(size):
            cross[i] = dot(rows[passive[i]], rows[entering]) + unit
        diagonal = dot(rows[entering], rows[entering]) + unit
        if not border(inverse, size, cross, diagonal, work):
            status = SEPARABLE if lowest > 0.0 else UNDECIDED
            break
        passive[size] = entering
        inside[entering] = True
        values[size] = 0.0
        size += 1
        changes += 1
    for pattern in range(patterns):
        multipliers[pattern] = 0.0
    for i in range(size):
        multipliers[passive[i]] = values[i]
    return status
