"""Rules on no variable or one: those that separate, and the fewest errors of every column."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from chanceline._arrays import Floats
from chanceline.perceptron.blocks import BLOCK_ENTRIES, column_blocks
from chanceline.perceptron.problem import Problem
from chanceline.perceptron.rational import ExactTable
from chanceline.perceptron.rounded_rule import separating_rule
from chanceline.perceptron.rule import Rule
from chanceline.select.line_errors import fewest_on_line, make_line_scratch
from chanceline.select.thresholds import sweep_thresholds


class MajorityRule(NamedTuple):
    """The rule without variables: its errors, and the weight of the intercept."""

    errors: int
    constant: float


def majority_rule(problem: Problem) -> MajorityRule:
    """Return the rule without variables, which puts everybody into the larger class.

    Without an intercept there is none, and everybody is wrong.
    """
    if not problem.intercept:
        return MajorityRule(errors=problem.n_samples, constant=0.0)
    n_positive = int(np.count_nonzero(problem.y > 0))
    n_negative = problem.n_samples - n_positive
    if n_positive >= n_negative:
        return MajorityRule(errors=n_negative, constant=1.0)
    return MajorityRule(errors=n_positive, constant=-1.0)


def separating_single(problem: Problem) -> int | None:
    """Find the first column that separates the classes by itself; None if there is none.

    The decision is exact, because values of X are only compared: with each other if there is an
    intercept, else with zero. For every column, (features,), `rising_separates` says whether a rule
    with a positive weight separates, and `falling_separates` the same for a negative weight.
    """
    X = problem.X
    y = problem.y
    if problem.intercept:
        # If there is only one class, the intercept alone separates, and so does any column.
        has_both_classes = y.min() < y.max()
        if not has_both_classes:
            return 0
        # All values of one class must lie above those of the other.
        positive_rows = X[y > 0]
        negative_rows = X[y < 0]
        rising_separates = positive_rows.min(axis=0) > negative_rows.max(axis=0)
        falling_separates = positive_rows.max(axis=0) < negative_rows.min(axis=0)
    else:
        labelled_X = X * y[:, None]
        rising_separates = (labelled_X > 0).all(axis=0)
        falling_separates = (labelled_X < 0).all(axis=0)

    # If signs of the weights are prescribed, each is 1, −1 or 0 (free).
    if problem.signs is not None:
        rising_separates = rising_separates & (problem.signs >= 0)
        falling_separates = falling_separates & (problem.signs <= 0)
    separating_columns = np.flatnonzero(rising_separates | falling_separates)
    if separating_columns.size == 0:
        return None
    return int(separating_columns[0])


class SingleRules(NamedTuple):
    """For every column the rule on it alone with the fewest errors; arrays of shape (features,).

    Attributes
    ----------
    errors : of the rule.
    constants : weight of the intercept: 1 or −1, or 0 without one.
    weights : of the scaled column.
    """

    errors: NDArray[np.int64]
    constants: Floats
    weights: Floats


def search_singles(problem: Problem, random: NDArray[np.uint64]) -> SingleRules:
    """Find the rule with the fewest errors on every single scaled column, by line searches.

    The margins of a rule are m + t·a, where a = y·x is the column (the feature x times the labels
    y) and t its weight. With an intercept of weight 1 or −1 the search starts from m = y or m = −y.
    Without an intercept it starts from m = 0.

    Thresholds between two values so close that rounding could make them equal are left out. So
    `single_errors`, which is exact, may find fewer errors.

    random : (1,) state of the random numbers, which choose among equally good intervals.
    """
    n_features = problem.n_features
    columns = problem.columns
    rules = SingleRules(
        errors=np.full(n_features, problem.n_samples + 1),  # more than any rule makes
        constants=np.zeros(n_features),
        weights=np.zeros(n_features),
    )
    # Where searches start: pairs of the weight of the intercept and the margins m. The last column
    # of the problem, number n_features, is that of the intercept, y.
    if problem.intercept:
        intercept_column = columns[n_features]
        starts = [(1.0, intercept_column), (-1.0, -intercept_column)]
    else:
        starts = [(0.0, np.zeros(problem.n_samples))]

    line = make_line_scratch(problem.n_samples)
    for j in range(n_features):
        smallest_weight = -np.inf
        if problem.nonnegative[j]:
            smallest_weight = 0.0
        for constant, margins in starts:
            errors, weight = fewest_on_line(
                margins,
                direction=columns[j],
                least_step=smallest_weight,  # from the weight 0, so that steps are weights
                line=line,
                random=random,
            )
            if errors < rules.errors[j]:
                rules.errors[j] = errors
                rules.constants[j] = constant
                rules.weights[j] = weight
    return rules


def single_errors(problem: Problem, block_entries: int = BLOCK_ENTRIES) -> NDArray[np.int64]:
    """Return the fewest errors of a rule on every single column, (features,), exactly.

    With an intercept the values of each column are sorted and every threshold is tried; without one
    the threshold is zero. A rising rule has a positive weight and calls values above the threshold
    positive; a falling rule has a negative weight and calls values below it positive. Columns are
    read in blocks of about `block_entries` numbers, to save memory.
    """
    errors = np.zeros(problem.n_features, dtype=np.int64)
    for block in column_blocks(problem.X, block_entries):
        values = np.ascontiguousarray(problem.X[:, block].T)  # (columns, samples)
        if problem.intercept:
            errors_of_rising, errors_of_falling = _errors_with_threshold(values, problem.y)
        else:
            labelled_values = values * problem.y  # a rising rule is correct where this is positive
            errors_of_rising = np.count_nonzero(labelled_values <= 0, axis=1)
            errors_of_falling = np.count_nonzero(labelled_values >= 0, axis=1)

        # Take the better rule, or that of the prescribed sign: 1 or −1, while 0 is free.
        fewest_errors = np.minimum(errors_of_rising, errors_of_falling)
        if problem.signs is not None:
            signs = problem.signs[block]
            fewest_errors = np.where(signs > 0, errors_of_rising, fewest_errors)
            fewest_errors = np.where(signs < 0, errors_of_falling, fewest_errors)
        errors[block] = fewest_errors
    return errors


def _errors_with_threshold(
    values: Floats, y: Floats
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the fewest errors over all thresholds, for rules on one column each.

    values : (columns, samples) one column of the table in each row.
    y : (samples,) labels ±1.

    Returns
    -------
    rising : (columns,) for rules that call values above the threshold positive.
    falling : (columns,) for rules that call values above the threshold negative.
    """
    # The errors of rising rules, (columns, samples + 1). Threshold i has i sorted values below it:
    # the first lies below all values, the last above all values.
    sweep = sweep_thresholds(values, y)
    errors = sweep.errors

    # No threshold can lie between equal values. So thresholds there must not count in the minimum
    # and maximum below. Their errors are replaced by those of a threshold that counts anyway: the
    # one below all values, where exactly the negative samples are wrong.
    is_tied = np.diff(sweep.sorted_scores, axis=1) == 0  # thresholds 1 … samples − 1
    errors_below_all = np.count_nonzero(y < 0)
    errors_between_samples = errors[:, 1:-1]  # a view, of the same thresholds
    errors_between_samples[is_tied] = errors_below_all

    # A falling rule is wrong exactly where the rising rule with the same threshold is correct. So
    # it makes samples − errors of them, the fewest where the rising rule makes the most.
    fewest_of_rising = errors.min(axis=1)
    most_of_rising = errors.max(axis=1)
    fewest_of_falling = len(y) - most_of_rising
    return fewest_of_rising, fewest_of_falling


def best_single_rule(problem: Problem, column: int) -> Rule | None:
    """Return the rule on one column with the fewest errors; of several that with the widest gap.

    The samples that it has correct are separated in rational arithmetic, so that no gap is too
    narrow. None if no weights in doubles separate them.
    """
    sign = 0
    if problem.signs is not None:
        sign = int(problem.signs[column])
    values = problem.X[:, column].astype(float)
    samples = _correctly_classified_samples(
        values, problem.y, intercept=problem.intercept, sign=sign
    )
    return separating_rule(ExactTable(problem), np.array([column]), samples).rule


def _correctly_classified_samples(
    values: Floats, y: Floats, *, intercept: bool, sign: int
) -> NDArray[np.int64]:
    """Return the indices of the samples that the best rule on one column classifies correctly.

    Of several rules with equally few errors, that with the widest gap at its threshold is taken.

    values : (samples,) the column.
    y : (samples,) labels ±1.
    intercept : without one the only threshold is 0.
    sign : the sign that the weight must have, or 0 for any.
    """
    weight_signs = [1.0, -1.0]
    if sign != 0:
        weight_signs = [float(sign)]
    # Qualities are compared as tuples: first the number of correct samples, then the gap.
    best_quality = (-1, 0.0)
    best_samples = np.zeros(0, dtype=np.int64)
    for side, gap in _sides_of_thresholds(values, intercept):
        for weight_sign in weight_signs:
            # `side`, (samples,), is 1 above the threshold and −1 below it (0 on it, which is always
            # wrong). The rule assigns the class weight_sign · side, to be compared with y.
            is_correct = weight_sign * side * y > 0
            samples = np.flatnonzero(is_correct)
            quality = (samples.size, gap)
            if quality > best_quality:
                best_quality = quality
                best_samples = samples
    return best_samples


def _sides_of_thresholds(values: Floats, intercept: bool) -> Iterator[tuple[Floats, float]]:
    """Yield for every threshold on which side of it the values lie, and how wide its gap is.

    The side, (samples,), is +1 above the threshold, −1 below it, and 0 on it. The gap is the
    distance between the two neighbouring values. Without an intercept the only threshold is 0,
    whose gap is not computed.
    """
    if not intercept:
        yield np.sign(values), 0.0
        return
    everything_above = np.ones(len(values))
    yield everything_above, 0.0
    for low, high in pairwise(np.unique(values).tolist()):
        yield np.where(values >= high, 1.0, -1.0), high - low
    yield -everything_above, 0.0
