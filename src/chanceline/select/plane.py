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

from chanceline._arrays import Floats
from chanceline.perceptron.problem import Problem
from chanceline.perceptron.rational import ExactTable, is_affordable
from chanceline.perceptron.rounded_rule import separating_rule
from chanceline.perceptron.rule import Rule, scaled_rule
from chanceline.perceptron.separate import margin_on

ANGLE_DOUBT = 1e-14  # differences and their arctan2 are right to a few 1e-16
ANGLES_AT_ONCE = 1_000_000  # entries of a table of angles
MAX_COMPARED = 20_000  # sets of nearly equal angles that are compared exactly
# Which side of a line is called positive.
LEFT_IS_POSITIVE = 0
RIGHT_IS_POSITIVE = 1
MORE_THAN_ANY = np.iinfo(np.int64).max  # errors where a line is not to be looked at


class Split(NamedTuple):
    """The best split of points of the plane by a line.

    Attributes
    ----------
    errors : of this split.
    is_correct : (samples,) those that it has right.
    lower_bound : no line makes fewer errors than this; as many as `errors`, but where angles could
        not be told apart.
    """

    errors: int
    is_correct: NDArray[np.bool_]
    lower_bound: int


def best_split(points: Floats, y: Floats, intercept: bool = True) -> Split:
    """Find the line in the plane that classifies points with the fewest errors.

    points : (samples, 2).
    y : (samples,) labels ±1. A point on the line is an error.
    intercept : without one, only lines through the origin are allowed.
    """
    if intercept:
        return _split_anywhere(points, y)
    return _split_through_origin(points, y)


def _split_anywhere(points: Floats, y: Floats) -> Split:
    """Find the best split of points, (samples, 2), with labels y = ±1 by any line.

    The best line can be moved, without changing the split, until it passes close by one of the
    points. So it is enough to turn a line about every point by half a circle.

    Samples at the same point are grouped: a place is a point at which one or more samples lie.
    """
    is_positive = y > 0
    places = _group_by_place(points, is_positive)
    # Begin with the split that a line far away from all places makes.
    turn_result = _turn_about(
        pivots=places.points, places=places, start_split=_majority_split(places), intercept=True
    )
    called_positive = turn_result.best.is_positive[places.place_of_sample]  # (samples,)
    return Split(
        errors=turn_result.best.errors,
        is_correct=called_positive == is_positive,
        lower_bound=turn_result.lower_bound,
    )


def _split_through_origin(points: Floats, y: Floats) -> Split:
    """Find the best split of points, (samples, 2), with labels y = ±1 by a line through the origin.

    A sample x is classified correctly if y w·x > 0, that is if the point y·x lies on the positive
    side of the line. So the samples are replaced by the points y·x, which all count as positive:
    the best line has as many of them as possible on one side.

    Samples at the same point are grouped: a place is a point at which one or more samples lie.
    """
    labelled_points = points * y[:, None]
    places = _group_by_place(labelled_points, is_positive=np.ones(len(y), dtype=bool))

    # Begin with the worst split: no place lies on the positive side, so all samples are wrong.
    nothing_positive = np.zeros(len(places.points), dtype=bool)
    start_split = _PlaceSplit(errors=len(y), is_positive=nothing_positive)
    origin = np.zeros((1, 2))
    turn_result = _turn_about(
        pivots=origin, places=places, start_split=start_split, intercept=False
    )

    # Samples at the origin lie on every line, so they are errors and must not be marked as correct.
    called_positive = turn_result.best.is_positive[places.place_of_sample]  # (samples,)
    is_off_origin = np.any(labelled_points != 0, axis=1)
    return Split(
        errors=turn_result.best.errors,
        is_correct=called_positive & is_off_origin,
        lower_bound=turn_result.lower_bound,
    )


def _turn_about(
    pivots: Floats, places: _Places, start_split: _PlaceSplit, intercept: bool
) -> _TurnResult:
    """Turn lines about the pivots by half a circle; return the best split met, and a lower bound.

    A split classifies the samples on one side of a line as positive. Samples lie at places, one or
    more at each. While a line turns, its split changes only at angles where it meets a place. If
    rounding makes two such angles indistinguishable, the split between them is hidden: it is left
    out of the search, although it may be better. The lower bound takes hidden splits into account.

    pivots : (pivots, 2) the points to turn lines about.
    places : the places of all samples.
    start_split : the best split known before.
    intercept : without one the pivot is the origin, and samples there are errors.
    """
    best = start_split
    hidden_splits = _HiddenSplits(places, fewest=best.errors)
    # Many pivots at a time, but not so many that their tables of angles take too much memory.
    chunk_size = max(1, ANGLES_AT_ONCE // len(places.points))  # pivots at a time
    for chunk_start in range(0, len(pivots), chunk_size):
        pivot_chunk = pivots[chunk_start : chunk_start + chunk_size]
        turn = _turn_lines(places, pivot_chunk, intercept)

        # The best split that the lines of this chunk meet replaces `best` if it is better.
        position = turn.best_position()
        fewest_met = int(turn.errors[position])
        if fewest_met < best.errors:
            best = _PlaceSplit(
                errors=fewest_met,
                is_positive=turn.positive_places(position, places),
            )

        # Note in `hidden_splits.fewest` how few errors the hidden splits of this chunk may make.
        # Only those that may be better than `best` are looked at; `best` is up to date by now, so
        # that they are as few as possible.
        hidden_splits.lower_fewest(turn, pivot_chunk, errors_of_best=best.errors)

    # No split makes fewer errors than the best one met, unless a hidden one does.
    lower_bound = min(hidden_splits.fewest, best.errors)
    return _TurnResult(best=best, lower_bound=lower_bound)


class _TurnResult(NamedTuple):
    """The best split that turning lines have met, and the errors that no line goes below."""

    best: _PlaceSplit
    lower_bound: int


class _Places(NamedTuple):
    """The different points among those of all samples; samples at one place count together.

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


def _group_by_place(points: Floats, is_positive: NDArray[np.bool_]) -> _Places:
    """Group samples at the same point, a place, and count the samples of each class there.

    points : (samples, 2).
    is_positive : (samples,) bools, the class.
    """
    # Adding zero turns −0 into 0, so that `np.unique` takes both as the same value.
    places, place_of_sample = np.unique(points + 0.0, axis=0, return_inverse=True)
    place_of_sample = place_of_sample.ravel()  # NumPy 2.0 gives it a second axis
    n_positive = np.bincount(place_of_sample, weights=is_positive).astype(np.int64)
    n_samples = np.bincount(place_of_sample).astype(np.int64)
    return _Places(
        points=places,
        n_positive=n_positive,
        n_negative=n_samples - n_positive,
        place_of_sample=place_of_sample,
    )


class _PlaceSplit(NamedTuple):
    """A split of the places: its errors, and the places, (places,), that it calls positive."""

    errors: int
    is_positive: NDArray[np.bool_]


def _majority_split(places: _Places) -> _PlaceSplit:
    """Return the split that puts all places into the larger class, the positive one in a tie."""
    n_positive = int(places.n_positive.sum())
    n_negative = int(places.n_negative.sum())
    return _PlaceSplit(
        errors=min(n_positive, n_negative),
        is_positive=np.full(len(places.points), n_positive >= n_negative),
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


class _Position(NamedTuple):
    """A place in `_Turn.errors`: a line, just before it meets a place.

    Attributes
    ----------
    orientation : LEFT_IS_POSITIVE or RIGHT_IS_POSITIVE.
    pivot : row of the line's pivot.
    step : how many places the line has met before.
    """

    orientation: int
    pivot: int
    step: int


class _Turn(NamedTuple):
    """Lines through some pivots, turned by half a circle: what they meet, and the errors.

    In the arrays "by place" column p is place p; in those "as met" column s is the place that the
    line meets at its step s, which is `order[·, s]`.

    Attributes
    ----------
    is_pivot : (pivots, places) by place: whether it is the pivot itself.
    side_of_place : (pivots, places) by place: +1 left of the line at the beginning, −1 right of it,
        0 for the pivot.
    order : (pivots, places) the places as met; each changes sides then. The pivot comes last.
    angles : (pivots, places) as met: of the line, ascending; ∞ for the pivot.
    change_at_step : (pivots, places) as met: of the errors, where left is positive.
    errors : (2, pivots, places) as met, before the place changes sides; the first index is
        LEFT_IS_POSITIVE or RIGHT_IS_POSITIVE.
    is_tied : (pivots, places) as met: whether the angle cannot be told from the one before. The
        first of a row never is.
    """

    is_pivot: NDArray[np.bool_]
    side_of_place: NDArray[np.int64]
    order: NDArray[np.int64]
    angles: Floats
    change_at_step: NDArray[np.int64]
    errors: NDArray[np.int64]
    is_tied: NDArray[np.bool_]

    def best_position(self) -> _Position:
        """Find the position with the fewest errors, not counting those between tied angles."""
        errors = np.where(self.is_tied, MORE_THAN_ANY, self.errors)
        orientation, pivot, step = np.unravel_index(np.argmin(errors), errors.shape)
        return _Position(orientation=int(orientation), pivot=int(pivot), step=int(step))

    def positive_places(self, position: _Position, places: _Places) -> NDArray[np.bool_]:
        """Return which places, (places,) bools, a line classifies as positive.

        A place is a point at which one or more samples lie. A line turns about a pivot, which is
        one of the places or the origin. At each step it meets another place, which changes from its
        left side to its right side, or back.

        position : the line: about which pivot it has turned (`pivot`, a row of the arrays), how
            many places it has met (`step`), and which of its sides is positive (`orientation`).
        """
        # At the start `side_of_place` is +1 for places left of the line. Places met since then have
        # changed sides; `order` holds the places in the order in which they are met.
        row = position.pivot
        is_left = self.side_of_place[row] > 0  # (places,)
        places_met = self.order[row, : position.step]
        is_left[places_met] = ~is_left[places_met]

        if position.orientation == RIGHT_IS_POSITIVE:
            is_positive_side = ~is_left
        else:
            is_positive_side = is_left

        # If the pivot is itself a place, the line can be moved slightly to either side of it. So
        # the samples there are classified as their majority.
        majority_is_positive = places.n_positive >= places.n_negative
        is_place_of_pivot = self.is_pivot[row]  # (places,)
        return np.where(is_place_of_pivot, majority_is_positive, is_positive_side)

    def ties_below(self, fewest: int) -> Iterator[_Tie]:
        """Yield the ties within which some split could make fewer errors than `fewest`.

        Each line turns about its pivot and meets one place (a point of one or more samples) at each
        step. A tie is a set of places that a line meets one after the other at angles which cannot
        be told apart, so that their order is unknown. Splits between them are not searched.
        """
        if not self.is_tied.any():
            return
        # All steps, (pivots, steps), are divided into sets of neighbouring steps whose angles are
        # tied; most sets are a single step. A set is given by the index of its first step in the
        # flattened arrays and by its size; both (sets,).
        first_steps, sizes = self._sets_of_tied_steps()
        is_tie = sizes > 1
        for orientation in (LEFT_IS_POSITIVE, RIGHT_IS_POSITIVE):
            fewest_in_set = self._fewest_in_sets(orientation, first_steps)  # (sets,) errors
            may_be_better = is_tie & (fewest_in_set < fewest)
            for tied_set in np.flatnonzero(may_be_better):
                # From the flattened index to the row (pivot) and the column (step) of `order`,
                # which says which place is met at each step.
                row, column = np.unravel_index(first_steps[tied_set], self.order.shape)
                places = self.order[row, column : column + sizes[tied_set]]
                yield _Tie(errors=int(fewest_in_set[tied_set]), pivot=int(row), places=places)

    def _fewest_in_sets(
        self, orientation: int, first_steps: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Bound from below the errors of a line between the places of each tied set, (sets,).

        A turning line meets one place (a point of one or more samples) at each step; meeting it
        changes the number of errors. In a tied set the order of the places is unknown, because
        their angles cannot be told apart. In the best case the line first meets the places that
        lower the errors. Then the errors fall by the sum of these changes.

        orientation : LEFT_IS_POSITIVE or RIGHT_IS_POSITIVE, the side of the line that is positive.
        first_steps : (sets,) the first step of each set, as an index of flattened arrays (pivots,
            steps), ascending. A set ends where the next one begins.
        """
        # `change_at_step` is the change if left is positive. If right is positive, correct and
        # wrong are exchanged, so the change has the opposite sign.
        change_at_step = self.change_at_step  # (pivots, steps)
        if orientation == RIGHT_IS_POSITIVE:
            change_at_step = -change_at_step

        # Of every set, the sum of the changes that lower the errors.
        falls = np.minimum(change_at_step, 0).ravel()
        largest_fall = np.add.reduceat(falls, first_steps)  # (sets,)

        # `errors` holds the errors just before each step. At the first step of a set these are the
        # errors before the whole set.
        errors_before_step = self.errors[orientation].ravel()
        errors_before_set = errors_before_step[first_steps]
        return errors_before_set + largest_fall

    def _sets_of_tied_steps(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where each set of tied steps begins in `is_tied`, flattened, and its size; both (sets,).

        A set begins at an angle that is not tied to the one before, and ends where the next set
        begins; most have one place only. No set reaches from one row into the next, since the first
        angle of a row is never tied to the one before.
        """
        starts = np.flatnonzero(~self.is_tied)
        ends = np.append(starts[1:], self.is_tied.size)
        return starts, ends - starts

    def ends_meet(self) -> bool:
        """Whether the last angle of some line equals its first plus π, up to rounding.

        A turn by half a circle ends where it began, so these two places are tied as well. The angle
        of the pivot itself is ∞ and does not count.
        """
        first = self.angles[:, 0]  # the smallest of each pivot
        finite_angles = np.where(np.isfinite(self.angles), self.angles, 0.0)
        last = finite_angles.max(axis=1)
        meets = first + np.pi <= last + ANGLE_DOUBT
        return bool(np.any(np.isfinite(first) & meets))


def _turn_lines(places: _Places, pivots: Floats, intercept: bool) -> _Turn:
    """Turn a line about each pivot by half a circle, and count its errors on the way.

    A place is a point at which one or more samples lie. All lines start along the x axis and turn
    counter-clockwise. At each step a line meets one place, which then moves from one side of the
    line to the other. After half a circle it has met every place once, as the line extends both
    ways from its pivot. One side of the line counts as positive.

    places : the places of all samples.
    pivots : (pivots, 2) the points that the lines turn about.
    intercept : without one the pivot is the origin, and samples there are errors.
    """
    # The coordinates of each place relative to each pivot, and its direction seen from the pivot,
    # from −π to π; all (pivots, places). (The second coordinate is called z, as y denotes labels.)
    x = places.points[:, 0] - pivots[:, None, 0]
    z = places.points[:, 1] - pivots[:, None, 1]
    is_pivot = (x == 0) & (z == 0)
    direction = np.arctan2(z, x)
    # On which side of the line each place is at the start: +1, left, for directions from 0 to π;
    # −1, right, for the others; 0 for the place of the pivot.
    side_of_place = _side_at_start(direction, is_pivot)

    # Sort the places of each pivot by the angle by which the line has turned when it meets them:
    # their direction modulo π; ∞ for the place of the pivot, which comes last. The arrays from
    # `order` on have the shape (pivots, steps): at each step the line meets one place.
    angle_of_place = _angle_when_met(direction, is_pivot)
    order = np.argsort(angle_of_place, axis=1, kind="stable")
    angles = np.take_along_axis(angle_of_place, order, axis=1)
    side_when_met = np.take_along_axis(side_of_place, order, axis=1)

    # The change of the errors at each step, if the left side is positive. When a place moves from
    # left (side 1) to right, its positive samples become wrong and its negative ones correct. From
    # right (side −1) to left it is the other way round. The pivot (side 0) changes nothing.
    excess_of_positives = places.n_positive - places.n_negative
    change_at_step = side_when_met * excess_of_positives[order]
    return _Turn(
        is_pivot=is_pivot,
        side_of_place=side_of_place,
        order=order,
        angles=angles,
        change_at_step=change_at_step,
        errors=_errors_before_steps(places, side_of_place, change_at_step, intercept),
        is_tied=_is_tied_to_previous(angles),
    )


def _side_at_start(direction: Floats, is_pivot: NDArray[np.bool_]) -> NDArray[np.int64]:
    """On which side of the line each place is at the start: +1 left, −1 right, 0 for the pivot.

    The line starts at the angle −ANGLE_DOUBT. `direction`, (pivots, places), is the angle, from −π
    to π, at which a place is seen from the pivot.
    """
    is_left = (direction >= -ANGLE_DOUBT) & (direction < np.pi - ANGLE_DOUBT)
    side = np.where(is_left, 1, -1)
    side[is_pivot] = 0
    return side


def _angle_when_met(direction: Floats, is_pivot: NDArray[np.bool_]) -> Floats:
    """Return the angle by which a line has turned when it meets each place; ∞ for the pivot.

    A line turns counter-clockwise by half a circle, and meets every place with its front end or its
    back end: so the angle is the direction of the place modulo π. Lines that start along the x axis
    meet

        (1, 1)     in the direction π/4     at π/4, with the front end
        (1, −1)    in the direction −π/4    at 3π/4, with the back end

    The start is at −ANGLE_DOUBT instead, so that rounding does not move the frequent directions 0
    and π to the other end of the turn. `direction` and `is_pivot` have the shape (pivots, places).
    """
    return np.where(is_pivot, np.inf, (direction + ANGLE_DOUBT) % np.pi)


def _is_tied_to_previous(angles: Floats) -> NDArray[np.bool_]:
    """Whether each angle, (pivots, steps) and ascending, cannot be told from that one step before.

    The first of a row never is.
    """
    is_tied = np.zeros(angles.shape, dtype=bool)
    is_tied[:, 1:] = angles[:, 1:] <= angles[:, :-1] + ANGLE_DOUBT
    return is_tied


def _errors_before_steps(
    places: _Places,
    side_of_place: NDArray[np.int64],
    change_at_step: NDArray[np.int64],
    intercept: bool,
) -> NDArray[np.int64]:
    """Count the errors of turning lines just before each of their steps, (2, pivots, steps).

    Each line turns about its pivot, a fixed point. A place is a point at which one or more samples
    lie. At every step the line meets one place, which moves to its other side. The samples on one
    side of a line are classified as positive: the left side in entry LEFT_IS_POSITIVE = 0 of the
    result, the right side in entry RIGHT_IS_POSITIVE = 1. (The last step of a line "meets" its own
    pivot, if this is a place, and changes nothing.)

    side_of_place : (pivots, places) +1 if the place is on the left of the line at the start, −1 on
        the right, 0 for the pivot.
    change_at_step : (pivots, steps) how the errors change at a step if left is positive.
    intercept : without one the pivot is the origin, and samples there are errors. Then samples must
        be multiplied by their labels, so that all are positive.
    """
    # Left is positive: the errors at the start, plus the changes at all steps before the present
    # one. Samples at the pivot lie on neither side and are counted at the end.
    wrong_at_start = _wrong_at_start(places, side_of_place)  # (pivots, 1)
    changes_after_step = np.cumsum(change_at_step, axis=1)
    changes_before_step = changes_after_step - change_at_step
    errors_left_positive = wrong_at_start + changes_before_step  # (pivots, steps)

    # Right is positive: correct samples become wrong, and wrong ones correct. So the errors of both
    # cases add up to the number of samples outside the pivot.
    is_pivot = side_of_place == 0
    n_samples = places.n_positive + places.n_negative  # (places,)
    n_off_pivot = np.where(is_pivot, 0, n_samples).sum(axis=1, keepdims=True)  # (pivots, 1)
    errors_right_positive = n_off_pivot - errors_left_positive

    # The errors at the pivot are the same for all steps and both cases.
    wrong_at_pivot = _wrong_at_pivot(places, is_pivot, intercept)  # (pivots, 1)
    return np.stack([errors_left_positive + wrong_at_pivot, errors_right_positive + wrong_at_pivot])


def _wrong_at_start(places: _Places, side_of_place: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count the errors of each line at the start, (pivots, 1), if left is positive.

    Then negative samples on the left (`side_of_place` +1) and positive ones on the right (−1) are
    wrong. Samples at the pivot do not count.
    """
    wrong_on_left = np.where(side_of_place > 0, places.n_negative, 0)
    wrong_on_right = np.where(side_of_place < 0, places.n_positive, 0)
    return (wrong_on_left + wrong_on_right).sum(axis=1, keepdims=True)


def _wrong_at_pivot(
    places: _Places, is_pivot: NDArray[np.bool_], intercept: bool
) -> NDArray[np.int64]:
    """Count the errors among the samples at the pivot of each line, (pivots, 1).

    A line can pass its pivot on either side, so only the smaller class is wrong there. Without an
    intercept the pivot is the origin, which every line goes through: all samples there are wrong.
    They must all be positive then.
    """
    if intercept:
        wrong_at_place = np.minimum(places.n_positive, places.n_negative)
    else:
        wrong_at_place = places.n_positive
    return np.where(is_pivot, wrong_at_place, 0).sum(axis=1, keepdims=True)


class _HiddenSplits:
    """How few errors splits may make that lie between angles which cannot be told apart.

    Attributes
    ----------
    places : of all samples.
    fewest : errors of the best of them so far; at first those of the best split without a line.
    n_compared : sets of nearly equal angles looked at so far.
    """

    def __init__(self, places: _Places, fewest: int) -> None:
        """Start with the errors of the best split without a line, `fewest`."""
        self.places = places
        self.fewest = fewest
        self.n_compared = 0

    def lower_fewest(self, turn: _Turn, pivots: Floats, errors_of_best: int) -> None:
        """Lower `fewest` to the errors of splits that may be hidden between tied angles of a turn.

        turn : that of the lines about these pivots.
        pivots : (pivots, 2).
        errors_of_best : of the best split found; only splits with fewer errors matter.
        """
        for tie in turn.ties_below(errors_of_best):
            self.n_compared += 1
            if self._may_hide_a_split(pivots[tie.pivot], tie):
                self.fewest = min(self.fewest, tie.errors)
        if turn.ends_meet():
            # This is rare: instead of comparing these angles too, no lower bound is claimed.
            self.fewest = 0

    def _may_hide_a_split(self, pivot: Floats, tie: _Tie) -> bool:
        """Whether a split may be hidden in a tie: its points are not on one line with the pivot.

        Only then its angles differ. After MAX_COMPARED ties this is not tested any more, and True.
        """
        if self.n_compared > MAX_COMPARED:
            return True
        return not _on_one_line(pivot, self.places.points[tie.places])


def _on_one_line(pivot: Floats, points: Floats) -> bool:
    """Whether all points, (points, 2), lie exactly on one line with the pivot, (2,).

    In rational arithmetic: the cross products of their differences from the pivot are zero.
    """
    pivot_x, pivot_z = map(Fraction, pivot.tolist())
    differences = [(Fraction(x) - pivot_x, Fraction(z) - pivot_z) for x, z in points.tolist()]
    first_x, first_z = differences[0]
    cross_products = [first_x * z - first_z * x for x, z in differences[1:]]
    return not any(cross_products)


class PairsSearched(NamedTuple):
    """The rule with the fewest errors on some pairs, and a number that no rule on them goes below.

    There is no rule where there were no pairs.
    """

    rule: Rule | None
    lower_bound: int


def best_rule_on_pairs(problem: Problem, pairs: Iterable[ArrayLike]) -> PairsSearched:
    """Find the rule with the fewest errors on given pairs of columns, exactly.

    For each pair all splits of the samples by lines are searched. A split is made into a rule only
    if it has fewer errors than the best rule so far. As its weights are rounded to double
    precision, the rule may make more errors than the split.

    pairs : indices of two columns each.

    Returns
    -------
    The best rule, None if there are no pairs; and a lower bound: no rule on these pairs makes fewer
    errors.
    """
    best_rule: Rule | None = None
    lower_bound = problem.n_samples
    table = ExactTable(problem)
    for pair in pairs:
        support = np.asarray(pair)
        split = best_split(problem.X[:, support], problem.y, problem.intercept)
        lower_bound = min(lower_bound, split.lower_bound)
        if best_rule is not None and split.errors >= best_rule.errors:
            continue

        rule = _rule_of_split(table, support, split)
        if best_rule is None or rule.errors < best_rule.errors:
            best_rule = rule
    return PairsSearched(best_rule, lower_bound)


def _rule_of_split(table: ExactTable, support: NDArray[np.int64], line_split: Split) -> Rule:
    """Make a rule of a split of the samples by a line.

    The rule has the largest margin on the samples that the split classifies correctly. If the gap
    between the classes is so narrow that this rule, in floating point, makes more errors than the
    split, a rule is looked for in rational arithmetic. This is done only if it does not take too
    long and no signs of weights are prescribed.

    table : the problem in rational arithmetic.
    support : (2,) the two columns.
    line_split : the split; it says which samples are to be correct.
    """
    problem = table.problem
    correct_samples = np.flatnonzero(line_split.is_correct)
    margin_fit = margin_on(problem, support, correct_samples)
    # The last weight is that of the intercept, if there is one: `Problem.split` separates the two.
    weights, constant = problem.split(margin_fit.weights)
    max_margin_rule = scaled_rule(problem, support, weights, constant)
    if max_margin_rule.errors <= line_split.errors or problem.signs is not None:
        return max_margin_rule

    # The gap is too narrow for floating point.
    n_columns = support.size + problem.n_unpenalized
    if is_affordable(n_columns, problem.n_samples):
        exact_rule = separating_rule(table, support, correct_samples).rule
        if exact_rule is not None:  # else no weights in doubles are known
            return exact_rule
    return max_margin_rule
