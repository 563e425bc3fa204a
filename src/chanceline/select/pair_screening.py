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

    Two variables that are weak alone may be strong together. A pair is scored by how much a
    least-squares fit of the labels on its two columns lowers the residual sum of squares. With
    columns of length 1, `product` c_j of each with the labels and `overlap` g_ij with each other,
    this gain is

        (c_i² + c_j² − 2 g_ij c_i c_j) / (1 − g_ij²).

    Every variable i is paired only with the best j > i, so that no pair occurs twice. Single
    precision is enough for a ranking. If there are too many pairs to look at, none is returned.
    """
    n_features = problem.n_features
    if n_features < 2 or n_features * (n_features - 1) // 2 > MAX_PAIRS:
        return np.zeros((0, 2), dtype=np.int64)

    unit, labels = _unit_columns(problem)  # (features, samples) and (samples,)
    product = (unit @ labels).astype(np.float32)  # c, (features,)
    unit_float32 = unit.astype(np.float32)
    best_gain = np.zeros(n_features, dtype=np.float32)
    best_partner = np.zeros(n_features, dtype=np.int64)
    # The variables i in blocks, each with all partners j from the beginning of the block on.
    for start in range(0, n_features, BLOCK_COLUMNS):
        block = slice(start, start + BLOCK_COLUMNS)
        c_i = product[block, None]
        c_j = product[start:]
        overlap = unit_float32[block] @ unit_float32[start:].T  # g, (block, columns from start on)

        # Count every pair once, j > i (above the diagonal, as rows and columns of `overlap` both
        # begin at `start`), and no pair of nearly equal variables.
        unexplained = 1 - overlap * overlap
        is_pair = np.triu(unexplained > NEARLY_EQUAL, 1)
        gain = c_i**2 + c_j**2 - 2 * c_i * c_j * overlap
        gain /= np.where(is_pair, unexplained, np.inf)  # a gain of 0 where it is no pair
        best_gain[block] = gain.max(axis=1)
        best_partner[block] = start + gain.argmax(axis=1)

    # The variables i of largest gain. The last one has no partner after it.
    n_pairs = min(count, n_features - 1)
    order = np.argsort(-best_gain, kind="stable")[:n_pairs]
    pairs = np.column_stack([order, best_partner[order]])
    return pairs[best_gain[order] > 0]


def _unit_columns(problem: Problem) -> tuple[Floats, Floats]:
    """Return the columns scaled to length 1, (features, samples), and the labels, (samples,).

    Both are centred if the problem has an intercept. Constant columns become zero.
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
