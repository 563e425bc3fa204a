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
    """Up to `count` pairs of columns of large gain, (pairs, 2), the best first.

    Every variable i comes with the best of its partners j > i, so no pair comes twice. There are
    none where pairs are too many to look at.

    Two variables that are weak alone may be strong together. With unit columns, `product` c_j of
    each with the labels and `overlap` g_ij with each other, the pair (i, j) lowers the residual sum
    of squares by (c_i² + c_j² − 2 g_ij c_i c_j) / (1 − g_ij²), its gain. Single precision will do
    for a ranking.
    """
    n_features = problem.n_features
    if n_features < 2 or n_features * (n_features - 1) // 2 > MAX_PAIRS:
        return np.zeros((0, 2), dtype=np.int64)

    unit, target = _unit_columns(problem)
    product = (unit @ target).astype(np.float32)  # c, (features,)
    unit_single = unit.astype(np.float32)
    best_gain = np.zeros(n_features, dtype=np.float32)
    best_partner = np.zeros(n_features, dtype=np.int64)
    # Variables i a block at a time, with partners j from the block's beginning on.
    for start in range(0, n_features, BLOCK_COLUMNS):
        block = slice(start, start + BLOCK_COLUMNS)
        c_i = product[block, None]
        c_j = product[start:]
        overlap = unit_single[block] @ unit_single[start:].T  # g, (block, columns from start on)

        # Every pair once, j > i, and no variable with one that is nearly the same.
        unexplained = 1 - overlap * overlap
        is_pair = np.triu(unexplained > NEARLY_EQUAL, 1)
        gain = c_i**2 + c_j**2 - 2 * c_i * c_j * overlap
        gain /= np.where(is_pair, unexplained, np.inf)  # no pair: no gain
        best_gain[block] = gain.max(axis=1)
        best_partner[block] = start + gain.argmax(axis=1)

    # The last variable has no partner after it.
    order = np.argsort(-best_gain, kind="stable")[: min(count, n_features - 1)]
    pairs = np.column_stack([order, best_partner[order]])
    return pairs[best_gain[order] > 0]


def _unit_columns(problem: Problem) -> tuple[Floats, Floats]:
    """The columns at length 1, (features, samples), and the labels, (samples,).

    Both are centred if the problem has an intercept. Columns that carry nothing are zero.
    """
    # Columns of the problem are y·x, with labels y = ±1: y·y·x = x.
    unit = problem.columns[: problem.n_features] * problem.y
    target = problem.y.copy()
    if problem.intercept:
        unit -= unit.mean(axis=1, keepdims=True)
        target -= target.mean()
    length = np.linalg.norm(unit, axis=1, keepdims=True)
    np.divide(unit, length, out=unit, where=length > 0)
    return unit, target
