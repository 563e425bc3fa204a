"""Promising pairs of all N(N−1)/2 by least squares: two variables that are weak alone may be strong together.

With unit columns, c_j their products with the labels and g_ij with each other, the pair (i, j) lowers the residual sum of
squares by (c_i² + c_j² − 2 g_ij c_i c_j) / (1 − g_ij²).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from chanceline.perceptron.compiled import kernel
from chanceline.perceptron.problem import Problem

PAIRS_AT_MOST = 100_000_000
BLOCK = 512
NEARLY_EQUAL = 1e-6  # 1 − g² below this: one variable twice


@kernel()
def best_partners(gram: NDArray, products: NDArray, first: int, gains: NDArray, partners: NDArray) -> None:
    """For every variable i = first, first + 1, … of a block of the Gram matrix the partner j > i of largest gain."""
    for row in range(gram.shape[0]):
        i = first + row
        own = products[i]
        for j in range(i + 1, products.size):
            g = gram[row, j]
            rest = 1.0 - g * g
            gain = own * own + products[j] * products[j] - 2.0 * g * own * products[j]
            if gain > gains[i] * rest and rest > NEARLY_EQUAL:
                gains[i], partners[i] = gain / rest, j


def promising_pairs(problem: Problem, count: int) -> NDArray[np.int64]:
    """Up to `count` pairs of large gain, each variable with its best partner, best first; none where there are too many pairs."""
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
        best_partners(narrow[first : first + BLOCK] @ narrow.T, products, first, gains, partners)
    order = np.argsort(-gains, kind="stable")[: min(count, n - 1)]
    return np.column_stack([order, partners[order]])[gains[order] > 0]
