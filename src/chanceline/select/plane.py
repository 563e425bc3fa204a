"""The fewest errors on two variables, exactly, in O(P² log P).

A line that splits the samples can be moved, without changing the split, until it lies beside one of
them. So the lines through one sample, turned by half a circle, with that sample on either side,
give all splits (compare He and Little, arXiv 2306.12344). Without an intercept all lines go through
the origin. Angles that rounding cannot tell apart are compared in rational arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chanceline.perceptron.problem import Floats, Problem
from chanceline.perceptron.rational import ExactTable, is_affordable
from chanceline.perceptron.rounded_rule import separating_rule
from chanceline.perceptron.rule import Rule, scaled_rule
from chanceline.perceptron.separate import margin_on

ANGLE_DOUBT = 1e-14  # differences and their arctan2 are right to a few 1e-16
ANGLES_AT_ONCE = 1_000_000  # entries of a table of angles
MAX_COMPARED = 20_000  # sets of nearly equal angles that are compared exactly
MORE_THAN_ANY = np.iinfo(np.int64).max  # errors where a line is not to be looked at


class Split(NamedTuple):
    """The best split of points of the plane by a line.

    Attributes
    ----------
    errors : of this split.
    right : (samples,) those that it has right.
    lower_bound : no line makes fewer errors than this; as many as `errors`, but where angles could
        not be told apart.
    """

    errors: int
    right: NDArray[np.bool_]
    lower_bound: int


def best_split(points: Floats, y: Floats, intercept: bool = True) -> Split:
    """Find the split of points by a line with the fewest errors.

    Lines through every point (the pivot) are turned by half a circle. Between two angles at which a
    line meets other points, its errors do not change. Angles that cannot be told apart give no
    split, but they may lower the `lower_bound`.

    Parameters
    ----------
    points : (samples, 2).
    y : (samples,) labels ±1. A point on the line is an error.
    intercept : without one all lines go through the origin.
    """
    if not intercept:
        # y w·x > 0: as many y·x as possible on one side of a line through the origin.
        points = points * y[:, None]
        y = np.ones(len(y))
    places = _group_by_place(points, y)

    # Where the search begins: the best split without a line.
    if intercept:
        pivots = places.points
        # Everybody belongs to the larger class.
        n_positive = int(places.n_positive.sum())
        fewest = min(n_positive, len(y) - n_positive)
        is_called_positive = np.full(len(places.points), 2 * n_positive >= len(y))
    else:
        pivots = np.zeros((1, 2))
        fewest = len(y)
        is_called_positive = np.zeros(len(places.points), dtype=bool)

    # Turn the lines through some pivots at a time.
    lower_bound = fewest
    n_compared = 0
    chunk = max(1, ANGLES_AT_ONCE // len(places.points))
    for start in range(0, len(pivots), chunk):
        turn = _turn_lines(places, pivots[start : start + chunk], intercept)
        position = turn.best_position()
        if turn.errors[position] < fewest:
            fewest = int(turn.errors[position])
            is_called_positive = turn.positive_places(position, places)

        # Nearly equal angles might hide a better split, unless their points lie on one line.
        for tie in turn.ties_below(fewest):
            n_compared += 1
            pivot = pivots[start + tie.pivot]
            is_too_much = n_compared > MAX_COMPARED
            if is_too_much or not _on_one_line(pivot, places.points[tie.places]):
                lower_bound = min(lower_bound, tie.errors)
        if turn.ends_meet():
            lower_bound = 0  # nothing is claimed

    right = is_called_positive[places.place_of_sample] == (y > 0)
    if not intercept:
        right &= np.any(points != 0, axis=1)
    return Split(errors=fewest, right=right, lower_bound=min(lower_bound, fewest))


class _Places(NamedTuple):
    """The different points among those of all samples.

    Attributes
    ----------
    points : (places, 2).
    n_positive, n_negative : (places,) samples of each class there.
    place_of_sample : (samples,).
    """

    points: Floats
    n_positive: NDArray[np.int64]
    n_negative: NDArray[np.int64]
    place_of_sample: NDArray[np.int64]


def _group_by_place(points: Floats, y: Floats) -> _Places:
    """Count the samples of each class at every point; (samples, 2) and (samples,)."""
    # Adding zero makes −0 and 0 equal.
    places, place_of_sample = np.unique(points + 0.0, axis=0, return_inverse=True)
    place_of_sample = place_of_sample.ravel()
    n_positive = np.bincount(place_of_sample, weights=y > 0).astype(np.int64)
    n_samples = np.bincount(place_of_sample).astype(np.int64)
    return _Places(
        points=places,
        n_positive=n_positive,
        n_negative=n_samples - n_positive,
        place_of_sample=place_of_sample,
    )


class _Tie(NamedTuple):
    """Places that a line meets at nearly equal angles.

    Attributes
    ----------
    errors : fewest that some order of them could lead to.
    pivot : row of the pivot of the line.
    places : which.
    """

    errors: int
    pivot: int
    places: NDArray[np.int64]


class _Turn(NamedTuple):
    """Lines through some pivots, turned by half a circle: what they meet, and the errors.

    Attributes
    ----------
    is_pivot : (pivots, places) the place of the pivot itself.
    side : (pivots, places) +1 left of the line at the beginning, −1 right of it, 0 for the pivot.
    order : (pivots, places) the places as the line meets them; each changes sides then.
    angles : (pivots, places) of the line when it meets them, ascending; ∞ for the pivot.
    change : (pivots, places) of the errors when they are met, where left is positive.
    errors : (2, pivots, places) before they are met: where left is positive, and where right is.
    is_tied : (pivots, places) whether the angle cannot be told from the one before.
    """

    is_pivot: NDArray[np.bool_]
    side: NDArray[np.int64]
    order: NDArray[np.int64]
    angles: Floats
    change: NDArray[np.int64]
    errors: NDArray[np.int64]
    is_tied: NDArray[np.bool_]

    def best_position(self) -> tuple[int, int, int]:
        """Where `errors` are fewest, not looking between tied angles."""
        errors = np.where(self.is_tied, MORE_THAN_ANY, self.errors)
        orientation, pivot, step = np.unravel_index(np.argmin(errors), errors.shape)
        return int(orientation), int(pivot), int(step)

    def positive_places(self, position: tuple[int, int, int], places: _Places) -> NDArray[np.bool_]:
        """The places, (places,), that the line at a position of `errors` calls positive."""
        orientation, pivot, step = position
        is_left = self.side[pivot] > 0
        is_left[self.order[pivot, :step]] ^= True
        right_is_positive = orientation == 1
        is_positive_side = is_left != right_is_positive
        # The line can pass the pivot on the side that is better.
        majority = places.n_positive >= places.n_negative
        return np.where(self.is_pivot[pivot], majority, is_positive_side)

    def ties_below(self, fewest: int) -> Iterator[_Tie]:
        """Sets of tied angles within which some order could make fewer errors than `fewest`."""
        if not self.is_tied.any():
            return
        # Every set begins at an angle that is not tied to the one before.
        starts = np.flatnonzero(~self.is_tied)
        sizes = np.diff(np.append(starts, self.is_tied.size))
        for orientation, sign in ((0, 1), (1, -1)):
            # At best those that lower the errors are met first.
            largest_fall = np.add.reduceat(np.minimum(sign * self.change, 0).ravel(), starts)
            at_best = self.errors[orientation].ravel()[starts] + largest_fall
            for k in np.flatnonzero((sizes > 1) & (at_best < fewest)):
                pivot, step = divmod(int(starts[k]), self.is_tied.shape[1])
                members = self.order[pivot, step : step + sizes[k]]
                yield _Tie(errors=int(at_best[k]), pivot=pivot, places=members)

    def ends_meet(self) -> bool:
        """Whether some line's first and last angle, half a circle apart, cannot be told apart."""
        first = self.angles[:, 0]
        last = np.where(np.isfinite(self.angles), self.angles, 0.0).max(axis=1)
        return bool(np.any(np.isfinite(first) & (first + np.pi <= last + ANGLE_DOUBT)))


def _turn_lines(places: _Places, pivots: Floats, intercept: bool) -> _Turn:
    """Turn the lines through some pivots, (pivots, 2), and count the errors on the way.

    The angle of a line goes from −ANGLE_DOUBT to π − ANGLE_DOUBT.
    """
    n_positive = places.n_positive
    n_negative = places.n_negative
    x = places.points[:, 0] - pivots[:, None, 0]
    z = places.points[:, 1] - pivots[:, None, 1]
    is_pivot = (x == 0) & (z == 0)

    # Where places lie at the beginning, and in which order they are met.
    angles = np.arctan2(z, x)
    starts_left = (angles >= -ANGLE_DOUBT) & (angles < np.pi - ANGLE_DOUBT)
    side = np.where(starts_left, 1, -1) * ~is_pivot
    angles = np.where(is_pivot, np.inf, (angles + ANGLE_DOUBT) % np.pi)
    order = np.argsort(angles, axis=1, kind="stable")
    angles = np.take_along_axis(angles, order, axis=1)

    # Errors among the others where left is positive: at the beginning, then before every place.
    wrong_at_first = np.where(side > 0, n_negative, 0) + np.where(side < 0, n_positive, 0)
    change = np.take_along_axis(side, order, axis=1) * (n_positive - n_negative)[order]
    errors = wrong_at_first.sum(axis=1)[:, None] + np.cumsum(change, axis=1) - change
    n_others = (~is_pivot * (n_positive + n_negative)).sum(axis=1)[:, None]

    # At the pivot one class is wrong; at the origin, which every line goes through, all are.
    wrong_at_place = np.minimum(n_positive, n_negative) if intercept else n_positive
    wrong_at_pivot = (is_pivot * wrong_at_place).sum(axis=1)[:, None]

    is_tied = np.zeros(errors.shape, dtype=bool)
    is_tied[:, 1:] = angles[:, 1:] <= angles[:, :-1] + ANGLE_DOUBT
    return _Turn(
        is_pivot=is_pivot,
        side=side,
        order=order,
        angles=angles,
        change=change,
        errors=np.stack([errors + wrong_at_pivot, n_others - errors + wrong_at_pivot]),
        is_tied=is_tied,
    )


def _on_one_line(pivot: Floats, points: Floats) -> bool:
    """Whether all points, (points, 2), lie on one line with the pivot, (2,), exactly."""
    pivot_x, pivot_z = map(Fraction, pivot.tolist())
    differences = [(Fraction(x) - pivot_x, Fraction(z) - pivot_z) for x, z in points.tolist()]
    first_x, first_z = differences[0]
    return all(first_x * z == first_z * x for x, z in differences[1:])


class PairsSearched(NamedTuple):
    """The rule with the fewest errors on some pairs, and a number that no rule on them goes below.

    There is no rule where there were no pairs.
    """

    rule: Rule | None
    lower_bound: int


def best_rule_on_pairs(problem: Problem, pairs: Iterable[ArrayLike]) -> PairsSearched:
    """Search pairs of columns exactly for the rule with the fewest errors."""
    best: Rule | None = None
    lower_bound = problem.n_samples
    table = ExactTable(problem)
    for pair in pairs:
        support = np.asarray(pair)
        split = best_split(problem.X[:, support], problem.y, problem.intercept)
        lower_bound = min(lower_bound, split.lower_bound)
        if best is None or split.errors < best.errors:
            rule = _rule_of_split(table, support, split)
            if best is None or rule.errors < best.errors:
                best = rule
    return PairsSearched(best, lower_bound)


def _rule_of_split(table: ExactTable, support: NDArray[np.int64], split: Split) -> Rule:
    """The rule of largest margin on the samples that a split has right.

    Where the gap is too narrow for floating point, it is found in rational arithmetic, unless signs
    of weights are given.
    """
    problem = table.problem
    samples = np.flatnonzero(split.right)
    margin = margin_on(problem, support, samples)
    weights, constant = problem.split(margin.weights)
    rule = scaled_rule(problem, support, weights, constant)
    if rule.errors <= split.errors or problem.signs is not None:
        return rule
    if is_affordable(2 + problem.n_unpenalized, problem.n_samples):
        exact_rule = separating_rule(table, support, samples).rule
        if exact_rule is not None:
            return exact_rule
    return rule
