"""Fewest errors of a linear rule on two variables, exactly, in O(P² log P).

A line that splits the samples can be moved, without changing the split, until it lies beside one of them. So the lines through
one sample, turned by half a circle, with that sample on either side, give all splits (compare He and Little, arXiv 2306.12344).
Without a threshold all lines go through the origin. Angles that rounding cannot tell apart are compared in rational arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chanceline.perceptron.problem import Problem
from chanceline.perceptron.rule import Rule, margin_on, scaled_rule

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
CLOSE = 1e-14  # differences and their arctan2 are right to a few 1e-16
CHUNK = 1_000_000  # entries of a table of angles
COMPARED_AT_MOST = 20_000  # sets of nearly equal angles that are compared exactly


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


def _nearly_equal(close: NDArray, both: Ints, change: Ints, order: Ints, best: int) -> Iterator[tuple[int, int, Ints]]:
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
