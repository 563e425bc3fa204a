"""All single variables and all pairs, exhaustively: is there a support of size one or two?

With an intercept, w separates if and only if w·(x_μ − x_ν) > 0 for every positive μ and negative ν, so the intercept
drops out and a pair of variables leaves directions in the plane. Every constraint cuts the cone of allowed directions;
a few of them usually empty it, so a pair costs some ten nanoseconds.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from chanceline.perceptron.compiled import kernel
from chanceline.perceptron.margin import SEPARABLE, largest_margin
from chanceline.perceptron.problem import Problem

CONSTRAINTS_AT_MOST = 20_000
ROWS_A_STEP = 64  # variables whose pairs are swept between two looks at the keyboard


@kernel()
def cut_cone(cone: NDArray, x: float, y: float) -> bool:
    """Intersect the open cone between directions (c0, c1) and (c2, c3), counter-clockwise, with x·u + y·v > 0.

    The cone spans at most a half-plane; returns False when nothing is left.
    """
    start = x * cone[0] + y * cone[1]
    stop = x * cone[2] + y * cone[3]
    if start <= 0.0 and stop <= 0.0:
        # A half-plane, both of whose edges lie on the constraint's, is either kept whole or lost.
        return start == 0.0 and stop == 0.0 and y * cone[0] - x * cone[1] > 0.0
    if start < 0.0:
        # The boundary direction (y, −x) turned so that it lies inside: it is where the constraint starts to hold.
        cone[0], cone[1] = y, -x
    if stop < 0.0:
        cone[2], cone[3] = -y, x
    return True


@kernel()
def pair_separates(left: NDArray, right: NDArray, first: NDArray, second: NDArray, cone: NDArray) -> bool:
    """Whether some (u, v) has u·left_c + v·right_c > 0 for all constraints c = first − second."""
    x = left[first[0]] - (left[second[0]] if second[0] >= 0 else 0.0)
    y = right[first[0]] - (right[second[0]] if second[0] >= 0 else 0.0)
    if x == 0.0 and y == 0.0:
        return False
    cone[0], cone[1], cone[2], cone[3] = y, -x, -y, x
    for c in range(1, first.size):
        x = left[first[c]]
        y = right[first[c]]
        if second[c] >= 0:
            x -= left[second[c]]
            y -= right[second[c]]
        if not cut_cone(cone, x, y):
            return False
    # A cone that has shrunk to a ray is empty, since it is open.
    return cone[0] * cone[3] - cone[1] * cone[2] > 0.0 or cone[0] * cone[2] + cone[1] * cone[3] < 0.0


@kernel()
def sweep_pairs(values: NDArray, first: NDArray, second: NDArray, start: int, after: int, stop: int) -> tuple[int, int]:
    """The first pair (i, j) from (start, after) on, i < stop and j > i, that meets all constraints, or (−1, −1)."""
    cone = np.zeros(4)
    for i in range(start, stop):
        for j in range(after if i == start else i + 1, values.shape[0]):
            if pair_separates(values[i], values[j], first, second, cone):
                return i, j
    return -1, -1


@kernel()
def sweep_singles(values: NDArray, first: NDArray, second: NDArray, start: int) -> int:
    """The first variable from `start` on that meets all constraints alone (with either sign), or −1."""
    for j in range(start, values.shape[0]):
        lowest, highest = np.inf, -np.inf
        for c in range(first.size):
            value = values[j, first[c]] - (values[j, second[c]] if second[c] >= 0 else 0.0)
            lowest = min(lowest, value)
            highest = max(highest, value)
        if lowest > 0.0 or highest < 0.0:
            return j
    return -1


def constraints(problem: Problem) -> tuple[NDArray, NDArray, NDArray]:
    """Values per variable and index pairs (first, second) so that every constraint is values[first] − values[second].

    Without an intercept the constraints are the rows a_μ themselves (second = −1). Random order empties cones soonest.
    Where positives times negatives are many, a random part of the constraints stands for all of them; what meets those
    has to be tested in full.
    """
    columns = problem.columns[: problem.n_features]
    generator = np.random.Generator(np.random.PCG64(0))
    if not problem.intercept:
        first = generator.permutation(problem.n_samples)
        return columns, first, np.full(first.size, -1)
    positive, negative = np.flatnonzero(problem.y > 0), np.flatnonzero(problem.y < 0)
    total = positive.size * negative.size
    few = total <= CONSTRAINTS_AT_MOST
    order = generator.permutation(total) if few else generator.integers(total, size=CONSTRAINTS_AT_MOST)
    return columns * problem.y, positive[order // negative.size], negative[order % negative.size]


def separating_single(problem: Problem) -> int | None:
    """A variable that separates alone, or None: exhaustive."""
    values, first, second = constraints(problem)
    j = -1
    while (j := int(sweep_singles(values, first, second, j + 1))) >= 0:
        if separates(problem, np.array([j])):
            return j
    return None


def separating_pairs(problem: Problem) -> Iterator[tuple[int, int] | None]:
    """A pair that separates, searched exhaustively; yields None at every chance to interrupt, and ends at the pair if any."""
    values, first, second = constraints(problem)
    n = problem.n_features
    for start in range(0, n, ROWS_A_STEP):
        stop = min(start + ROWS_A_STEP, n)
        i, j = start, start
        while True:
            i, j = sweep_pairs(values, first, second, i, j + 1, stop)
            if i < 0:
                break
            if separates(problem, np.array([i, j])):
                yield int(i), int(j)
                return
        yield None


def separates(problem: Problem, support: NDArray[np.int64]) -> bool:
    """Whether some w on these variables (and the intercept) has all patterns right."""
    return largest_margin(problem.rows(support), early=True).verdict == SEPARABLE
