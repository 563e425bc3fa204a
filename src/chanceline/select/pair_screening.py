"""Pairs of variables that are worth a try, by least squares."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from chanceline._arrays import Floats
from chanceline.perceptron.problem import Problem
from chanceline.select.pairs import MAX_PAIRS

BLOCK_COLUMNS = 512  # whose overlaps with all others are in memory at a time
NEARLY_EQUAL = 1e-6  # 1 − g² below this: one variable twice


def screen_pairs(problem: Problem, count: int) -> NDArray[np.int64]:
    """Return up to `count` promising pairs of columns, (pairs, 2), the best first.

    Two variables that are weak alone may be strong together. A pair is scored by its gain: how much
    a least-squares fit of the labels on its two columns lowers the residual sum of squares. Each
    variable i is paired only with the one j > i of largest gain, so that no pair occurs twice. If
    the table has more than MAX_PAIRS pairs, none is returned.
    """
    n_features = problem.n_features
    n_all_pairs = n_features * (n_features - 1) // 2
    if n_features < 2 or n_all_pairs > MAX_PAIRS:
        return np.zeros((0, 2), dtype=np.int64)

    # Single precision is enough for a ranking.
    unit_columns, labels = _unit_columns(problem)  # (features, samples) and (samples,)
    products_with_labels = (unit_columns @ labels).astype(np.float32)  # (features,)
    unit_columns_float32 = unit_columns.astype(np.float32)
    largest_gains = np.zeros(n_features, dtype=np.float32)
    best_partners = np.zeros(n_features, dtype=np.int64)
    # The table of all pairs (i, j) may be too large for the memory, so it is computed for some
    # variables i at a time: the rows of `overlaps` and `gains`. As j > i, their partners j are
    # among the variables from the first of these i on: the columns, of which column 0 is variable
    # `first`.
    for first in range(0, n_features, BLOCK_COLUMNS):
        some_variables = slice(first, first + BLOCK_COLUMNS)
        partners = slice(first, n_features)
        overlaps = unit_columns_float32[some_variables] @ unit_columns_float32[partners].T
        # The gains are 0 where j ≤ i.
        gains = _gains(
            products_with_labels[some_variables], products_with_labels[partners], overlaps
        )
        largest_gains[some_variables] = gains.max(axis=1)
        best_partners[some_variables] = first + gains.argmax(axis=1)

    # Take the variables i of largest gain. The last variable has no partner, so there are at most
    # n_features − 1 pairs.
    n_pairs = min(count, n_features - 1)
    first_variables = np.argsort(-largest_gains, kind="stable")[:n_pairs]
    pairs = np.column_stack([first_variables, best_partners[first_variables]])
    has_gain = largest_gains[first_variables] > 0
    return pairs[has_gain]


def _gains(
    product_of_rows: NDArray[np.float32],
    product_of_columns: NDArray[np.float32],
    overlap: NDArray[np.float32],
) -> NDArray[np.float32]:
    """Return the gain of every pair, (rows, columns): row i above the diagonal with column j > i.

    The gain of two columns of length 1 is the drop of the residual sum of squares when the labels
    are fitted on both. With the products c of each with the labels, and their overlap g, it is

        (c_i² + c_j² − 2 g c_i c_j) / (1 − g²).

    It is 0 where j ≤ i, and for columns that are nearly equal.

    product_of_rows, product_of_columns : (rows,) and (columns,) the c_i and c_j.
    overlap : (rows, columns) g. Rows and columns are numbered from the same variable on.
    """
    c_i = product_of_rows[:, None]
    c_j = product_of_columns[None, :]
    unexplained_share = 1 - overlap * overlap
    is_pair = np.triu(unexplained_share > NEARLY_EQUAL, 1)  # above the diagonal
    gains = c_i**2 + c_j**2 - 2 * c_i * c_j * overlap
    gains /= np.where(is_pair, unexplained_share, np.inf)  # 0 where it is no pair
    return gains


def _unit_columns(problem: Problem) -> tuple[Floats, Floats]:
    """Return the columns scaled to length 1, (features, samples), and the labels, (samples,).

    Both are centred if the problem has an intercept. Constant columns become zero.
    """
    # Columns of the problem are y·x, with labels y = ±1: y·y·x = x.
    unit_columns = problem.columns[: problem.n_features] * problem.y
    labels = problem.y.copy()
    if problem.intercept:
        unit_columns -= unit_columns.mean(axis=1, keepdims=True)
        labels -= labels.mean()
    lengths = np.linalg.norm(unit_columns, axis=1, keepdims=True)
    np.divide(unit_columns, lengths, out=unit_columns, where=lengths > 0)
    return unit_columns, labels
