"""A rule with small whole weights that can be applied by hand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from chanceline._arrays import Floats, Ints
from chanceline._results import Result
from chanceline.columns.table import AnyTable, ColumnTable
from chanceline.errors import InputError
from chanceline.perceptron.rule import make_rule
from chanceline.perceptron.validation import check_arrays, check_labels
from chanceline.prediction.metrics import best_threshold
from chanceline.prediction.rule import PredictionRule

# The largest number of points for a step of one feature.
MAX_POINTS = 5
# Scales at which weights are rounded to begin with.
N_SCALES = 40
# The largest weight times the smallest scale: less would round to zero points.
SMALLEST_SCALED_WEIGHT = 0.5


@dataclass(frozen=True, eq=False, repr=False)
class Scorecard(Result):
    """A rule with small whole weights: positive where Σ_j points_j x_j/step_j lies above the
    threshold.

    Attributes
    ----------
    support : columns with points other than zero, (support,)
    points : whole numbers, (support,)
    steps : what a point is given for, in the units of each column: a standard deviation (two
        digits), or as asked, (support,)
    threshold : in points.
    errors : of the scorecard on the samples, counted exactly.
    loss : how many more these are than the rule makes that it comes from (fewer, if negative).
    """

    support: Ints
    points: Ints
    steps: Floats
    threshold: float
    errors: int
    loss: int

    kind = "exact"

    def summary(self) -> str:
        largest = np.abs(self.points).max(initial=0)
        features = f"{len(self.points)} features, points of at most {largest}"
        return f"{features}, {self.errors} errors"


def scorecard(
    X: ArrayLike | ColumnTable,
    y: ArrayLike,
    rule: PredictionRule,
    *,
    largest: int = MAX_POINTS,
    steps: ArrayLike | None = None,
) -> Scorecard:
    """Make a scorecard of a rule: whole weights of at most `largest`, with few training errors.

    The rule's weights are multiplied by many factors and rounded. Starting from the best rounding,
    one weight at a time is changed by one, if this leads to fewer errors, or to as many errors with
    a score that follows the rule's more closely.

    Parameters
    ----------
    X, y : the samples that the rule was made from, (samples, features) and (samples,)
    rule : on features alone, without covariates and blocks
    largest : the largest number of points, in absolute value
    steps : one for every feature of the rule, such as 10 for "a point for every 10 mg/l"
    """
    values: AnyTable
    if isinstance(X, ColumnTable):
        values = X
        labels = check_labels(y, X.shape, min_classes=2)
    else:
        values, labels, _ = check_arrays(X, y)
    check_rule(rule)
    columns = values[:, rule.support]
    step_sizes = steps_or_default(steps, columns)

    # Search for points, which are whole weights of the columns measured in steps x_j/step_j. The
    # rule's own weights of these are w_j · step_j, because w_j x_j = (w_j · step_j)(x_j/step_j).
    weights_of_steps = rule.weights * step_sizes
    search = PointSearch(
        columns=columns / step_sizes,
        labels=labels,
        rule_scores=rule.scores(values),
        max_points=largest,
    )
    points = search.improve(search.best_rounding(weights_of_steps))
    threshold = best_threshold(search.totals(points), labels).value

    # Leave out features with 0 points; then count the errors of the scorecard and of the rule.
    has_points = points != 0  # (rule's features,)
    support = rule.support[has_points]
    card_points = points[has_points]
    card_steps = step_sizes[has_points]
    card_weights = card_points / card_steps  # of the columns in their own units
    card_errors = make_rule(values, labels, support, card_weights, bias=-threshold).errors
    rule_errors = make_rule(values, labels, rule.support, rule.weights, bias=rule.bias).errors
    return Scorecard(
        support=support,
        points=card_points,
        steps=card_steps,
        threshold=threshold,
        errors=card_errors,
        loss=card_errors - rule_errors,
    )


def check_rule(rule: PredictionRule) -> None:
    """Refuse a rule that has anything but features, or none of them."""
    has_covariates = len(rule.covariate_weights) > 0
    has_blocks = len(rule.block_biases) > 1
    if has_covariates or has_blocks or len(rule.support) == 0:
        raise InputError(
            "a scorecard needs a rule on features alone, without covariates and blocks, "
            "and with at least one."
        )


def steps_or_default(steps: ArrayLike | None, columns: Floats) -> Floats:
    """The step of each feature, in the feature's own units: (features,).

    A scorecard scores Σ_j points_j x_j/step_j: a value x_j that is larger by one step gets points_j
    more. The default is the standard deviation of each column, rounded to two digits.

    Parameters
    ----------
    steps : as the user asks, one for each feature; None for the default. Steps that are not
        positive, or not one for each feature, are an error.
    columns : the rule's features, (samples, features)
    """
    if steps is None:
        spreads = columns.std(axis=0)
        rounded_spreads = [float(f"{spread:.2g}") for spread in spreads]
        step_sizes = np.array(rounded_spreads)
    else:
        step_sizes = np.array(steps, dtype=float)

    n_features = columns.shape[1]
    if step_sizes.shape != (n_features,) or not np.all(step_sizes > 0):
        raise InputError(
            f"steps must hold a positive number for each of the {n_features} features of the rule."
        )
    return step_sizes


@dataclass(frozen=True, eq=False)
class PointSearch:
    """A search for points that make few errors.

    Attributes
    ----------
    columns : in steps, (samples, features)
    labels : ±1, (samples,)
    rule_scores : those of the rule that the points stand for, (samples,)
    max_points : the largest number of points.
    """

    columns: Floats
    labels: Floats
    rule_scores: Floats
    max_points: int

    def totals(self, points: Ints) -> Floats:
        """The sum of points of every sample, (samples,)."""
        return self.columns @ points.astype(float)

    def rank(self, points: Ints) -> tuple[int, float]:
        """Errors at the best threshold, then how badly totals follow the rule: less is better."""
        totals = self.totals(points)
        errors = best_threshold(totals, self.labels).errors
        if np.ptp(totals) == 0:
            return errors, np.inf
        correlation = float(np.corrcoef(totals, self.rule_scores)[0, 1])
        return errors, -correlation

    def best_rounding(self, weights: Floats) -> Ints:
        """The best points among the weights rounded at many scales.

        Parameters
        ----------
        weights : weights of the rule, for columns in steps, (features,)
        """
        largest_points = np.linspace(SMALLEST_SCALED_WEIGHT, self.max_points, N_SCALES)
        scales = largest_points / np.abs(weights).max()
        roundings = np.rint(scales[:, None] * weights).astype(int)
        return min(roundings, key=self.rank)

    def improve(self, points: Ints) -> Ints:
        """Move one number of points by one, the best move each time, until none is better."""
        rank = self.rank(points)
        while True:
            best_neighbour = min(self.neighbours(points), key=self.rank)
            neighbour_rank = self.rank(best_neighbour)
            if neighbour_rank >= rank:
                return points
            points = best_neighbour
            rank = neighbour_rank

    def neighbours(self, points: Ints) -> Iterator[Ints]:
        """All points that differ from these by one in one place."""
        for feature in range(len(points)):
            for move in (-1, 1):
                neighbour = points.copy()
                neighbour[feature] += move
                if abs(neighbour[feature]) <= self.max_points:
                    yield neighbour
