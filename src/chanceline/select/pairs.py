"""One and two variables, exhaustively: those that separate, and the fewest errors; and promising pairs.

With an intercept, w separates if and only if w·(x_μ − x_ν) > 0 for every positive μ and negative ν, so the intercept
drops out and a pair of variables leaves directions in the plane. Every constraint cuts the cone of allowed directions;
a few of them usually empty it, so a pair costs some ten nanoseconds.

The fewest errors on two variables take O(P² log P). A line that splits the samples can be moved, without changing the split,
until it lies beside one of them. So the lines through one sample, turned by half a circle, with that sample on either side, give
all splits (compare He and Little, arXiv 2306.12344). Without a threshold all lines go through the origin. Angles that rounding
cannot tell apart are compared in rational arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chanceline.perceptron.linalg import inlined_kernel, kernel
from chanceline.perceptron.margin import SEPARABLE
from chanceline.perceptron.problem import BLOCK_ENTRIES, Floats, Problem
from chanceline.perceptron.rule import Rule, margin_on, scaled_rule
from chanceline.select.swaps import fewest_on_line, make_line

CONSTRAINTS_AT_MOST = 20_000
PAIRS_AT_MOST = 100_000_000
SINGLES_KEPT = 100  # in a pool of columns
BLOCK = 512
NEARLY_EQUAL = 1e-6  # 1 − g² below this: one variable twice
ROWS_A_STEP = 64  # variables whose pairs are swept between two looks at the keyboard
CLOSE = 1e-14  # differences and their arctan2 are right to a few 1e-16
CHUNK = 1_000_000  # entries of a table of angles
COMPARED_AT_MOST = 20_000  # sets of nearly equal angles that are compared exactly


@inlined_kernel()
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


@inlined_kernel()
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


@kernel(allocates=False)
def sweep_pairs(
    values: NDArray, first: NDArray, second: NDArray, start: int, after: int, stop: int, cone: NDArray
) -> tuple[int, int]:
    """The first pair (i, j) from (start, after) on, i < stop and j > i, that meets all constraints, or (−1, −1)."""
    for i in range(start, stop):
        for j in range(after if i == start else i + 1, values.shape[0]):
            if pair_separates(values[i], values[j], first, second, cone):
                return i, j
    return -1, -1


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
    columns, y = problem.columns[: problem.n_features], problem.y
    if problem.intercept and y.min() < y.max():
        # The values of one class all lie below those of the other.
        positive, negative = columns[:, y > 0], -columns[:, y < 0]
        apart = (positive.min(axis=1) > negative.max(axis=1)) | (positive.max(axis=1) < negative.min(axis=1))
    else:
        apart = (columns > 0).all(axis=1) | (columns < 0).all(axis=1)
    return next((int(j) for j in np.flatnonzero(apart) if separates(problem, np.array([j]))), None)


def separating_pairs(problem: Problem) -> Iterator[tuple[int, int] | None]:
    """A pair that separates, searched exhaustively; yields None at every chance to interrupt, and ends at the pair if any."""
    values, first, second = constraints(problem)
    n, cone = problem.n_features, np.zeros(4)
    for start in range(0, n, ROWS_A_STEP):
        stop = min(start + ROWS_A_STEP, n)
        i, j = start, start
        while True:
            i, j = sweep_pairs(values, first, second, i, j + 1, stop, cone)
            if i < 0:
                break
            if separates(problem, np.array([i, j])):
                yield int(i), int(j)
                return
        yield None


def separates(problem: Problem, support: NDArray[np.int64]) -> bool:
    """Whether some w on these variables (and the intercept) has all patterns right."""
    return margin_on(problem, support, early=True).verdict == SEPARABLE


def all_singles(
    columns: NDArray[np.float64], signed: NDArray[np.bool_], kept: int, state: NDArray[np.uint64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The fewest errors of every column alone, exactly, and its rule (threshold, weight).

    With a threshold the rule is ±1 + t·x, a line search from m = ±y along y·x; without one it is t·x.
    """
    n, patterns = columns.shape[0] - kept, columns.shape[1]
    errors, rules, line = np.full(n, patterns + 1), np.zeros((n, 2)), make_line(patterns)
    starts = [(1.0, columns[n]), (-1.0, -columns[n])] if kept else [(0.0, np.zeros(patterns))]
    for j in range(n):
        for threshold, margins in starts:
            found, step = fewest_on_line(margins, columns[j], 0.0 if signed[j] else -np.inf, line, state)
            if found < errors[j]:
                errors[j], rules[j] = found, (threshold, step)
    return errors, rules


def best_singles(problem: Problem) -> NDArray[np.int64]:
    """The columns with the fewest errors alone, exactly, a block of columns at a time."""
    width, y = max(1, BLOCK_ENTRIES // problem.n_samples), problem.y
    errors = np.zeros(problem.n_features, dtype=np.int64)
    for start in range(0, problem.n_features, width):
        block = np.arange(start, min(start + width, problem.n_features))
        values = np.ascontiguousarray(problem.rows(block)[:, : len(block)].T) * y
        if problem.intercept:
            order = np.argsort(values, axis=1)
            # Positives less negatives below a threshold after each sample; none between equal values.
            below = np.cumsum(y[order], axis=1)
            below[:, :-1][np.diff(np.take_along_axis(values, order, axis=1), axis=1) == 0] = 0
            higher, lower = np.sum(y < 0) + below.min(axis=1), np.sum(y > 0) - below.max(axis=1)
        else:
            higher, lower = np.sum(values * y <= 0, axis=1), np.sum(values * y >= 0, axis=1)
        errors[block] = np.where(problem.signed[block], higher, np.minimum(higher, lower))
    return np.argsort(errors, kind="stable")[:SINGLES_KEPT]


def promising_pairs(problem: Problem, count: int) -> NDArray[np.int64]:
    """Up to `count` pairs of large gain by least squares, each variable with its best partner; none where pairs are too many.

    Two variables that are weak alone may be strong together. With unit columns, c_j their products with the labels and g_ij with
    each other, the pair (i, j) lowers the residual sum of squares by (c_i² + c_j² − 2 g_ij c_i c_j) / (1 − g_ij²).
    """
    n = problem.n_features
    if n < 2 or n * (n - 1) // 2 > PAIRS_AT_MOST:
        return np.zeros((0, 2), dtype=np.int64)
    unit = problem.columns[:n] * problem.y
    target = problem.y.copy()
    if problem.intercept:
        unit -= unit.mean(axis=1, keepdims=True)
        target -= target.mean()
    length = np.linalg.norm(unit, axis=1, keepdims=True)
    unit = np.divide(unit, length, out=np.zeros_like(unit), where=length > 0)
    products = (unit @ target).astype(np.float32)
    narrow = unit.astype(np.float32)
    gains, partners = np.zeros(n, dtype=np.float32), np.zeros(n, dtype=np.int64)
    for first in range(0, n, BLOCK):
        some, own, other = slice(first, first + BLOCK), products[first : first + BLOCK, None], products[first:]
        gram = narrow[some] @ narrow[first:].T
        rest = 1 - gram * gram
        # Every pair once, and no variable with one that is nearly the same.
        gain = (own**2 + other**2 - 2 * own * other * gram) / np.where(np.triu(rest > NEARLY_EQUAL, 1), rest, np.inf)
        gains[some], partners[some] = gain.max(axis=1), first + gain.argmax(axis=1)
    order = np.argsort(-gains, kind="stable")[: min(count, n - 1)]
    return np.column_stack([order, partners[order]])[gains[order] > 0]


class Split(NamedTuple):
    """The best split of points by a line: `errors` of it, the points it gets `right`, and what no line goes `below`."""

    errors: int
    right: NDArray[np.bool_]
    below: int


def best_split(points: Floats, y: Floats, intercept: bool = True) -> Split:
    """The split of P points of the plane with the fewest errors; a point on the line is an error."""
    if not intercept:
        # y w·x > 0: as many y·x as possible on one side of a line through the origin.
        points, y = points * y[:, None], np.ones(len(y))
    places, place_of = np.unique(points + 0.0, axis=0, return_inverse=True)
    place_of = place_of.ravel()
    positive = np.bincount(place_of, weights=y > 0).astype(np.int64)
    negative = np.bincount(place_of).astype(np.int64) - positive
    pivots = places if intercept else np.zeros((1, 2))
    larger = positive.sum() >= negative.sum()
    best, upper = int(min(positive.sum(), negative.sum()) if intercept else len(y)), np.full(len(places), larger and intercept)
    below, compared, width = best, 0, max(1, CHUNK // len(places))
    for start in range(0, len(pivots), width):
        x, z = (places[:, axis] - pivots[start : start + width, None, axis] for axis in (0, 1))
        here = (x == 0) & (z == 0)
        angles = np.arctan2(z, x)
        # The line is turned from −CLOSE to π − CLOSE. At first those of side +1 lie left of it; each changes sides when met.
        side = np.where((angles >= -CLOSE) & (angles < np.pi - CLOSE), 1, -1) * ~here
        angles = np.where(here, np.inf, (angles + CLOSE) % np.pi)
        order = np.argsort(angles, axis=1, kind="stable")
        angles = np.take_along_axis(angles, order, axis=1)
        change = np.take_along_axis(side, order, axis=1) * (positive - negative)[order]
        begin = (np.where(side > 0, negative, 0) + np.where(side < 0, positive, 0)).sum(axis=1)
        errors = begin[:, None] + np.cumsum(change, axis=1) - change
        own = (here * (np.minimum(positive, negative) if intercept else positive)).sum(axis=1)[:, None]
        both = np.stack([errors + own, (~here * (positive + negative)).sum(axis=1)[:, None] - errors + own])
        close = np.zeros(errors.shape, dtype=bool)
        close[:, 1:] = angles[:, 1:] <= angles[:, :-1] + CLOSE
        flipped, row, step = np.unravel_index(np.argmin(np.where(close, len(y) + 1, both)), both.shape)
        if both[flipped, row, step] < best:
            best = int(both[flipped, row, step])
            left = side[row] > 0
            left[order[row, :step]] ^= True
            upper = np.where(here[row], positive >= negative, left != bool(flipped))
        for count, at, members in _nearly_equal(close, both, change, order, best):
            compared += 1
            if compared > COMPARED_AT_MOST or not _on_one_line(pivots[start + at], places[members]):
                below = min(below, count)
        last = np.where(np.isfinite(angles), angles, 0.0).max(axis=1)
        if np.any(np.isfinite(angles[:, 0]) & (angles[:, 0] + np.pi <= last + CLOSE)):
            below = 0  # the first and the last angle cannot be told apart: nothing is claimed
    right = upper[place_of] == (y > 0)
    return Split(best, right if intercept else right & np.any(points != 0, axis=1), min(below, best))


def _nearly_equal(
    close: NDArray, both: NDArray, change: NDArray, order: NDArray, best: int
) -> Iterator[tuple[int, int, NDArray]]:
    """Sets of nearly equal angles within which some order of the crossings might make fewer errors than the best: that
    number, the row and the points."""
    if not close.any():
        return
    starts = np.flatnonzero(~close)
    sizes = np.diff(np.append(starts, close.size))
    for flipped, sign in ((0, 1), (1, -1)):
        fewer = np.add.reduceat(np.minimum(sign * change, 0).ravel(), starts)
        counts = both[flipped].ravel()[starts] + fewer
        for number in np.flatnonzero((sizes > 1) & (counts < best)):
            row, first = divmod(int(starts[number]), close.shape[1])
            yield int(counts[number]), row, order[row, first : first + sizes[number]]


def _on_one_line(pivot: Floats, points: Floats) -> bool:
    """Whether all points lie on one line with the pivot, exactly."""
    across = [
        tuple(Fraction(float(value)) - Fraction(float(origin)) for value, origin in zip(point, pivot, strict=True))
        for point in points
    ]
    x, z = across[0]
    return all(x * other[1] == z * other[0] for other in across[1:])


def fewest_on_pairs(problem: Problem, pairs: Iterable[ArrayLike]) -> tuple[Rule | None, int]:
    """The rule with the fewest errors on some pair of these variables, and a number of errors that no rule on them goes below."""
    best, below = None, problem.n_samples
    for pair in pairs:
        support = np.asarray(pair)
        split = best_split(problem.X[:, support], problem.y, problem.intercept)
        below = min(below, split.below)
        if best is None or split.errors < best.errors:
            rows = np.flatnonzero(split.right)
            rule = scaled_rule(problem, support, *problem.split(margin_on(problem, support, rows).weights))
            best = rule if best is None or rule.errors < best.errors else best
    return best, below
