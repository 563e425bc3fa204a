"""Columns of X as small integers, on which floating point makes no errors."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from chanceline._arrays import Floats
from chanceline.perceptron.problem import Problem

FACTORS = (1.0, 256.0)  # make integers of integers, and of halves, quarters …
MAX_SMALL_INTEGER = 2.0**20  # products of differences are far below 2^53: doubles hold them exactly


def small_integers(
    problem: Problem, support: NDArray[np.int64] | slice = slice(None)
) -> NDArray[np.float64]:
    """Write columns of X as small integers, on which floating-point arithmetic is exact.

    Each column is multiplied by the first of FACTORS that turns all its values into small integers;
    a column for which no factor does this is filled with NaN.

    A column may be scaled, and also shifted if there is an intercept: this does not change what
    rules on the column can separate. So two kinds of columns become small integers whatever their
    values are:

    - with an intercept, columns of two different values become columns of 0 and 1;
    - without one, columns whose values are 0, c and −c become columns of 0, 1 and −1.

    support : indices of features, or a slice; by default all.

    Returns
    -------
    (columns, samples) integers, stored as doubles.
    """
    X = np.asarray(problem.X[:, support], dtype=float)
    values = X.T  # (columns, samples), as the result
    integers = np.full(values.shape, np.nan)

    # Fill each column with its multiple by the first factor that makes small integers of it.
    is_filled = np.zeros(len(values), dtype=np.bool_)  # (columns,)
    for factor in FACTORS:
        multiples = values * factor
        is_integer = (multiples == np.round(multiples)).all(axis=1)
        is_small = (np.abs(multiples) < MAX_SMALL_INTEGER).all(axis=1)
        can_fill = is_integer & is_small & ~is_filled
        integers[can_fill] = multiples[can_fill]
        is_filled |= can_fill

    # Overwrite, in place, the columns of the kind that becomes small integers in any case.
    if problem.intercept:
        _write_two_values_as_0_and_1(values, integers)
    else:
        _write_opposite_values_as_signs(values, integers)
    return integers


def _write_two_values_as_0_and_1(values: Floats, integers: Floats) -> None:
    """Replace the values of columns that have at most two different ones by 0 and 1, in place.

    values : (columns, samples) the original values.
    integers : (columns, samples) overwritten in these columns.
    """
    is_lowest = np.equal(values, values.min(axis=1, keepdims=True))
    is_highest = np.equal(values, values.max(axis=1, keepdims=True))
    has_two_values = (is_lowest | is_highest).all(axis=1)
    integers[has_two_values] = ~is_lowest[has_two_values]


def _write_opposite_values_as_signs(values: Floats, integers: Floats) -> None:
    """Replace values by their signs in columns whose values are among 0, c and −c, in place.

    values : (columns, samples) the original values.
    integers : (columns, samples) overwritten in these columns.
    """
    sizes = np.abs(values)
    is_zero_or_largest = (sizes == 0) | (sizes == sizes.max(axis=1, keepdims=True))
    has_one_size = is_zero_or_largest.all(axis=1)  # besides 0
    integers[has_one_size] = np.sign(values)[has_one_size]


def integer_columns(
    problem: Problem, support: NDArray[np.int64] | slice = slice(None)
) -> NDArray[np.float64]:
    """Return y_μ x_μ on some columns in small integers, (columns, samples), the intercept last.

    Columns that cannot be written in small integers are NaN. Columns whose weight must not be
    positive have the opposite sign, as the scaled columns of the problem do.
    """
    integers = small_integers(problem, support) * problem.y
    if problem.signs is not None:
        integers[problem.signs[support] < 0] *= -1.0
    if problem.intercept:
        integers = np.vstack([integers, problem.y])
    return integers
