"""One and two variables, exhaustively: those that separate, and the fewest errors; and promising pairs.

With an intercept, w separates if and only if w·(x_μ − x_ν) > 0 for every positive μ and negative ν, so the intercept
drops out and a pair of variables leaves directions in the plane. Every constraint cuts the cone of allowed directions;
a few of them usually empty it, so a pair costs some ten nanoseconds. Only cuts that rounding cannot undo are made; the pairs
left over are decided exactly, in rational arithmetic where need be.

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

from chanceline.kernels.compile import inlined_kernel, kernel
from chanceline.perceptron.blocks import BLOCK_ENTRIES
from chanceline.perceptron.integers import small_integers
from chanceline.perceptron.margin import INSEPARABLE, SEPARABLE, UNDECIDED
from chanceline.perceptron.problem import Floats, Problem
from chanceline.perceptron.rational import ExactTable, is_affordable
from chanceline.perceptron.rounded_rule import separating_rule
from chanceline.perceptron.rule import Rule, scaled_rule
from chanceline.perceptron.separate import is_refuted, margin_on
from chanceline.select.swaps import fewest_on_line, make_line

CONSTRAINTS_AT_MOST = 20_000
PAIRS_AT_MOST = 100_000_000
SIGN_DOUBT = (
    8 * 2.0**-53
)  # products of two differences are right to four roundings, and so is their sum
UNDERFLOW = 1e-300  # products below this may have lost all their digits
DECISIONS = 5_000  # pairs decided in rational arithmetic, some seconds
BLOCK = 512
NEARLY_EQUAL = 1e-6  # 1 − g² below this: one variable twice
ROWS_A_STEP = 64  # variables whose pairs are swept between two looks at the keyboard
CLOSE = 1e-14  # differences and their arctan2 are right to a few 1e-16
CHUNK = 1_000_000  # entries of a table of angles
COMPARED_AT_MOST = 20_000  # sets of nearly equal angles that are compared exactly


@inlined_kernel()
def cut_cone(cone: NDArray, x: float, y: float, is_exact: bool) -> bool:
    """Intersect the open cone between directions (c0, c1) and (c2, c3), counter-clockwise, with x·u + y·v > 0.

    The cone spans at most a half-plane. Returns False when nothing is left for certain. If the numbers are not exact, the cone
    is left as it is where rounding could decide, so that it has at least all directions that meet the constraints.
    """
    start = x * cone[0] + y * cone[1]
    stop = x * cone[2] + y * cone[3]
    doubt_at_start = 0.0
    doubt_at_stop = 0.0
    if not is_exact:
        doubt_at_start = SIGN_DOUBT * (abs(x * cone[0]) + abs(y * cone[1])) + UNDERFLOW
        doubt_at_stop = SIGN_DOUBT * (abs(x * cone[2]) + abs(y * cone[3])) + UNDERFLOW
    if start < -doubt_at_start and stop < -doubt_at_stop:
        return False
    if start <= doubt_at_start and stop <= doubt_at_stop:
        # A half-plane, both of whose edges lie on the constraint's, is either kept whole or lost.
        is_kept = start == 0.0 and stop == 0.0 and y * cone[0] - x * cone[1] > 0.0
        return is_kept or not is_exact
    if start < -doubt_at_start:
        # The boundary direction (y, −x) turned so that it lies inside: it is where the constraint starts to hold.
        cone[0] = y
        cone[1] = -x
    if stop < -doubt_at_stop:
        cone[2] = -y
        cone[3] = x
    return True


@inlined_kernel()
def pair_may_separate(
    left: NDArray, right: NDArray, first: NDArray, second: NDArray, is_exact: bool, cone: NDArray
) -> bool:
    """Whether some (u, v) may have u·left_c + v·right_c > 0 for all constraints c = first − second: False is certain.

    The values are those of X, so that a difference is right up to one rounding, and zero only between equals; or small integers.
    """
    is_open = True
    for c in range(first.size):
        x = left[first[c]]
        y = right[first[c]]
        if second[c] >= 0:
            x -= left[second[c]]
            y -= right[second[c]]
        if x == 0.0 and y == 0.0:
            return False
        if is_open:
            cone[0] = y
            cone[1] = -x
            cone[2] = -y
            cone[3] = x
            is_open = False
        elif not cut_cone(cone, x, y, is_exact):
            return False
    if is_open:
        return True  # no constraints
    # A cone that has shrunk to a ray is empty, since it is open.
    is_wide = (
        cone[0] * cone[3] - cone[1] * cone[2] > 0.0 or cone[0] * cone[2] + cone[1] * cone[3] < 0.0
    )
    return is_wide or not is_exact


@kernel()
def sweep_pairs(
    values: NDArray,
    is_whole: NDArray,
    first: NDArray,
    second: NDArray,
    start: int,
    after: int,
    stop: int,
    cone: NDArray,
) -> tuple[int, int]:
    """The first pair (i, j) from (start, after) on, i < stop and j > i, that may meet all constraints, or (−1, −1)."""
    for i in range(start, stop):
        for j in range(after if i == start else i + 1, values.shape[0]):
            if pair_may_separate(
                values[i], values[j], first, second, is_whole[i] and is_whole[j], cone
            ):
                return i, j
    return -1, -1


class Constraints(NamedTuple):
    """Every constraint is values[first] − values[second] > 0, or values[first] > 0 where second is −1.

    values : (N, P), and `is_whole` says which variables have small integers.
    """

    values: NDArray[np.float64]
    is_whole: NDArray[np.bool_]
    first: NDArray[np.int64]
    second: NDArray[np.int64]


def constraints(problem: Problem) -> Constraints:
    """Values per variable and pairs of samples for all constraints.

    The values are those of X itself (times the labels where there is no intercept): `problem.columns` are rounded.
    Without an intercept the constraints are the rows a_μ themselves (second = −1). Random order empties cones soonest.
    Where positives times negatives are many, a random part of the constraints stands for all of them; what meets those
    has to be tested in full.
    """
    values = small_integers(problem)
    is_whole = ~np.isnan(values[:, 0])
    values[~is_whole] = problem.X.T[~is_whole]
    generator = np.random.Generator(np.random.PCG64(0))
    if not problem.intercept:
        first = generator.permutation(problem.n_samples)
        return Constraints(values * problem.y, is_whole, first, np.full(first.size, -1))
    positive, negative = np.flatnonzero(problem.y > 0), np.flatnonzero(problem.y < 0)
    total = positive.size * negative.size
    few = total <= CONSTRAINTS_AT_MOST
    order = (
        generator.permutation(total) if few else generator.integers(total, size=CONSTRAINTS_AT_MOST)
    )
    return Constraints(
        values, is_whole, positive[order // negative.size], negative[order % negative.size]
    )


def separating_single(problem: Problem) -> int | None:
    """A variable that separates alone, or None: exhaustive, by comparisons of the values of X, which are exact."""
    X, y = problem.X, problem.y
    has_both_classes = y.min() < y.max()
    if problem.intercept and has_both_classes:
        # The values of one class all lie below those of the other.
        positive = X[y > 0]
        negative = X[y < 0]
        above = positive.min(axis=0) > negative.max(axis=0)
        below = positive.max(axis=0) < negative.min(axis=0)
    elif problem.intercept:
        return 0
    else:
        signed = X * y[:, None]
        above = (signed > 0).all(axis=0)
        below = (signed < 0).all(axis=0)
    if problem.signs is not None:
        above = above & (problem.signs >= 0)
        below = below & (problem.signs <= 0)
    separating = np.flatnonzero(above | below)
    return int(separating[0]) if separating.size else None


def separating_pairs(problem: Problem, decisions: int = DECISIONS) -> Iterator[PairFound | bool]:
    """A pair that separates, searched exhaustively.

    Yields False at every chance to interrupt, and in the end the pair if there is one; True if none separates for certain.
    A pair that is left over is decided in rational arithmetic, up to so many `decisions`.
    """
    given = constraints(problem)
    table = ExactTable(problem)
    n, cone = problem.n_features, np.zeros(4)
    all_refuted = True
    for start in range(0, n, ROWS_A_STEP):
        stop = min(start + ROWS_A_STEP, n)
        i, j = start, start
        while True:
            i, j = sweep_pairs(*given, i, j + 1, stop, cone)
            if i < 0:
                break
            pair = np.array([i, j])
            verdict, rule = settle_pair(table, pair, decisions)
            if rule is not None:
                yield PairFound(pair, rule)
                return
            all_refuted = all_refuted and verdict == INSEPARABLE
        yield False
    if all_refuted:
        yield True


class PairFound(NamedTuple):
    """Two variables that separate, and a rule on them that does."""

    support: NDArray[np.int64]
    rule: Rule


def settle_pair(
    table: ExactTable, pair: NDArray[np.int64], decisions: int
) -> tuple[int, Rule | None]:
    """Whether two variables separate, exactly, and the rule that does; UNDECIDED where that takes too many decisions."""
    problem = table.problem
    margin = margin_on(problem, pair)
    if margin.verdict == SEPARABLE:
        rule = scaled_rule(problem, pair, *problem.split(margin.weights))
        if rule.separates:
            return SEPARABLE, rule
    if is_refuted(problem, pair, margin):
        return INSEPARABLE, None
    if table.decisions >= decisions or not is_affordable(2 + problem.kept, problem.n_samples):
        return UNDECIDED, None
    separable, exact_rule = separating_rule(table, pair)
    return SEPARABLE if separable else INSEPARABLE, exact_rule


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
            found, step = fewest_on_line(
                margins, columns[j], 0.0 if signed[j] else -np.inf, line, state
            )
            if found < errors[j]:
                errors[j], rules[j] = found, (threshold, step)
    return errors, rules


def errors_alone(problem: Problem, block_entries: int = BLOCK_ENTRIES) -> NDArray[np.int64]:
    """The fewest errors of every column alone, exactly, a block of columns at a time: by sorting the values of X."""
    width, y = max(1, block_entries // problem.n_samples), problem.y
    errors = np.zeros(problem.n_features, dtype=np.int64)
    for start in range(0, problem.n_features, width):
        block = slice(start, start + width)
        values = np.ascontiguousarray(problem.X[:, block].T)
        if problem.intercept:
            order = np.argsort(values, axis=1)
            # Positives less negatives below a threshold after each sample; none between equal values.
            below = np.cumsum(y[order], axis=1)
            below[:, :-1][np.diff(np.take_along_axis(values, order, axis=1), axis=1) == 0] = 0
            # A threshold below all samples, too.
            higher = np.sum(y < 0) + np.minimum(below.min(axis=1), 0)
            lower = np.sum(y > 0) - np.maximum(below.max(axis=1), 0)
        else:
            higher, lower = np.sum(values * y <= 0, axis=1), np.sum(values * y >= 0, axis=1)
        fewest = np.minimum(higher, lower)
        if problem.signs is not None:
            fewest = np.where(problem.signs[block] > 0, higher, fewest)
            fewest = np.where(problem.signs[block] < 0, lower, fewest)
        errors[block] = fewest
    return errors


def single_rule(problem: Problem, j: int) -> Rule | None:
    """The rule on column j alone with the fewest errors, in the widest gap that allows so few; None if doubles have none.

    The samples that it has right are separated in rational arithmetic, so that no gap is too narrow.
    """
    right = _right_alone(
        problem.X[:, j].astype(float), problem.y, problem.intercept, _sign_of(problem, j)
    )
    _, rule = separating_rule(ExactTable(problem), np.array([j]), right)
    return rule


def _sign_of(problem: Problem, j: int) -> int:
    return 0 if problem.signs is None else int(problem.signs[j])


def _right_alone(values: Floats, y: Floats, intercept: bool, sign: int) -> NDArray[np.int64]:
    """The samples that the best rule on these values has right, of the widest gap if several are best."""
    best: tuple[int, float] | None = None
    right = np.zeros(0, dtype=np.int64)
    thresholds = [(0.0, 0.0, 0.0)]
    if intercept:
        distinct = np.unique(values)
        between = [
            (low, high, high - low)
            for low, high in zip(distinct[:-1].tolist(), distinct[1:].tolist(), strict=True)
        ]
        # Beyond all samples, too: everybody belongs to one class.
        thresholds = [
            (-np.inf, float(distinct[0]), 0.0),
            *between,
            (float(distinct[-1]), np.inf, 0.0),
        ]
    for low, high, gap in thresholds:
        side = np.where(values >= high, 1.0, np.where(values <= low, -1.0, 0.0))
        if not intercept:
            side = np.sign(values)
        for direction in (1.0, -1.0):
            if direction * sign >= 0:
                correct = side * direction * y > 0
                quality = (int(np.count_nonzero(correct)), gap)
                if best is None or quality > best:
                    best = quality
                    right = np.flatnonzero(correct)
    return right


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
        some, own, other = (
            slice(first, first + BLOCK),
            products[first : first + BLOCK, None],
            products[first:],
        )
        gram = narrow[some] @ narrow[first:].T
        rest = 1 - gram * gram
        # Every pair once, and no variable with one that is nearly the same.
        gain = (own**2 + other**2 - 2 * own * other * gram) / np.where(
            np.triu(rest > NEARLY_EQUAL, 1), rest, np.inf
        )
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
    best, upper = (
        int(min(positive.sum(), negative.sum()) if intercept else len(y)),
        np.full(len(places), larger and intercept),
    )
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
        own = (here * (np.minimum(positive, negative) if intercept else positive)).sum(axis=1)[
            :, None
        ]
        both = np.stack(
            [errors + own, (~here * (positive + negative)).sum(axis=1)[:, None] - errors + own]
        )
        close = np.zeros(errors.shape, dtype=bool)
        close[:, 1:] = angles[:, 1:] <= angles[:, :-1] + CLOSE
        flipped, row, step = np.unravel_index(
            np.argmin(np.where(close, len(y) + 1, both)), both.shape
        )
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
    return Split(
        best, right if intercept else right & np.any(points != 0, axis=1), min(below, best)
    )


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
        tuple(
            Fraction(float(value)) - Fraction(float(origin))
            for value, origin in zip(point, pivot, strict=True)
        )
        for point in points
    ]
    x, z = across[0]
    return all(x * other[1] == z * other[0] for other in across[1:])


def fewest_on_pairs(problem: Problem, pairs: Iterable[ArrayLike]) -> tuple[Rule | None, int]:
    """The rule with the fewest errors on some pair of these variables, and a number of errors that no rule on them goes below."""
    best, below = None, problem.n_samples
    table = ExactTable(problem)
    for pair in pairs:
        support = np.asarray(pair)
        split = best_split(problem.X[:, support], problem.y, problem.intercept)
        below = min(below, split.below)
        if best is None or split.errors < best.errors:
            rows = np.flatnonzero(split.right)
            rule = scaled_rule(
                problem, support, *problem.split(margin_on(problem, support, rows).weights)
            )
            if (
                rule.errors > split.errors
                and problem.signs is None
                and is_affordable(2 + problem.kept, problem.n_samples)
            ):
                # Too narrow a gap for the largest margin in floating point.
                _, narrow_rule = separating_rule(table, support, rows)
                rule = rule if narrow_rule is None else narrow_rule
            best = rule if best is None or rule.errors < best.errors else best
    return best, below
