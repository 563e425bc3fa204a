"""Equal columns, equal rows, and equal rows with opposite labels, which no rule gets both right.

Digests stand for rows and columns: kept themselves, they would be a copy of X. Adding zero makes
−0 and 0 the same bytes.
"""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from chanceline.perceptron.blocks import column_blocks

FIRST_COLUMNS = 16  # rows that differ mostly do so here


def distinct_columns(X: NDArray[np.float64], intercept: bool) -> NDArray[np.int64]:
    """Sorted indices of the first column of every set of equal ones, without constant columns.

    With an intercept every constant is left out, without one only zeros. A rule that uses a
    duplicate can use the first of its kind, and a constant is the intercept over again, so the
    union over supports need only run over these columns. X is (samples, features).
    """
    first_of: dict[bytes, int] = {}
    for block in column_blocks(X):
        columns = np.ascontiguousarray(X[:, block].T) + 0.0

        is_useless = np.all(columns[:, :1] == columns, axis=1)
        if not intercept:
            is_useless &= columns[:, 0] == 0

        for j in np.flatnonzero(~is_useless):
            digest = blake2b(columns[j], digest_size=16).digest()
            first_of.setdefault(digest, block.start + int(j))
    return np.array(sorted(first_of.values()), dtype=np.int64)


def contradicting_rows(X: NDArray[np.float64], y: NDArray[np.float64]) -> list[tuple[int, int]]:
    """Pairs of equal rows of X (samples, features) with opposite labels y = ±1.

    One pair (smaller index, larger index) for each set of equal rows, sorted.
    """
    if len(np.unique(X[:, :FIRST_COLUMNS] + 0.0, axis=0)) == len(X):
        return []

    # The first sample of each label, for every distinct row.
    first_of: dict[bytes, dict[bool, int]] = {}
    for i, row in enumerate(X):
        digest = blake2b((row + 0.0).tobytes()).digest()
        first_of.setdefault(digest, {}).setdefault(bool(y[i] > 0), i)

    pairs = []
    for first_of_label in first_of.values():
        if len(first_of_label) == 2:
            pairs.append((min(first_of_label.values()), max(first_of_label.values())))
    return sorted(pairs)


def consistent_rows(X: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.int64]:
    """Indices of the rows without the minority of every set of equal rows with both labels.

    Any rule gets that minority wrong; of a tie the negative rows are left out.
    """
    if not contradicting_rows(X, y):
        return np.arange(len(y))
    _, row_kind = np.unique(X, axis=0, return_inverse=True)
    row_kind = row_kind.ravel()
    balance = np.bincount(row_kind, weights=y)[row_kind]
    is_majority = balance * y > 0
    is_positive_of_tie = (balance == 0) & (y > 0)
    return np.flatnonzero(is_majority | is_positive_of_tie)
