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
    """The columns of a support as small integers in doubles, (columns, samples); NaN for others.

    Each is X times a positive constant, the first of FACTORS that makes small integers of all its
    values. Of columns with two values (with an intercept), or of one absolute value (without), the
    values may be replaced by the simplest ones: the same rules are possible.
    """
    X = np.asarray(problem.X[:, support], dtype=float)
    integers = np.full(X.T.shape, np.nan)
    is_filled = np.zeros(len(integers), dtype=np.bool_)
    for factor in FACTORS:
        scaled = X * factor
        is_integer = (scaled == np.round(scaled)).all(axis=0)
        is_small = (np.abs(scaled) < MAX_SMALL_INTEGER).all(axis=0)
        can_fill = is_integer & is_small & ~is_filled
        integers[can_fill] = scaled.T[can_fill]
        is_filled |= can_fill

    if problem.intercept:
        _simplify_two_values(X, integers)
    else:
        _simplify_one_size(X, integers)
    return integers


def _simplify_two_values(X: Floats, integers: Floats) -> None:
    """Write 0 and 1 for the values of columns of X (samples, columns) that have at most two."""
    is_lowest = np.equal(X, X.min(axis=0))
    is_highest = np.equal(X, X.max(axis=0))
    has_two_values = (is_lowest | is_highest).all(axis=0)
    integers[has_two_values] = ~is_lowest.T[has_two_values]


def _simplify_one_size(X: Floats, integers: Floats) -> None:
    """Write the signs for columns of X (samples, columns) whose values are 0 or ± one number."""
    sizes = np.abs(X)
    has_one_size = ((sizes == 0) | (sizes == sizes.max(axis=0))).all(axis=0)
    integers[has_one_size] = np.sign(X).T[has_one_size]


def integer_columns(
    problem: Problem, support: NDArray[np.int64] | slice = slice(None)
) -> NDArray[np.float64]:
    """y_μ x_μ on a support in small integers: (columns, samples), the intercept last.

    NaN for columns that are no small integers. Columns whose weight must not be positive are
    reversed, as those of the problem are.
    """
    integers = small_integers(problem, support) * problem.y
    if problem.signs is not None:
        integers[problem.signs[support] < 0] *= -1.0
    if problem.intercept:
        integers = np.vstack([integers, problem.y])
    return integers
