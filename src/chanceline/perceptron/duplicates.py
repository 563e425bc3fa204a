"""Equal columns, equal rows, and equal rows with opposite labels, which no rule gets both right.

Digests stand for rows and columns: kept themselves, they would be a copy of X. Adding zero makes
−0 and 0 the same bytes.
"""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from chanceline.columns.table import AnyTable
from chanceline.perceptron.blocks import column_blocks

FIRST_COLUMNS = 16  # rows that differ mostly do so here


def distinct_columns(X: AnyTable, intercept: bool) -> NDArray[np.int64]:
    """Sorted indices of the first column of every set of equal ones, without constant columns.

    With an intercept every constant is left out, without one only zeros. A rule that uses a
    duplicate can use the first of its kind, and a constant is the intercept over again, so the
    union over supports need only run over these columns. X is (samples, features).
    """
    first_with_digest: dict[bytes, int] = {}
    for block in column_blocks(X):
        columns = np.ascontiguousarray(X[:, block].T) + 0.0  # −0 becomes 0: equal bytes

        is_useless = np.all(columns[:, :1] == columns, axis=1)
        if not intercept:
            is_useless &= columns[:, 0] == 0

        for j in np.flatnonzero(~is_useless):
            digest = blake2b(columns[j], digest_size=16).digest()
            first_with_digest.setdefault(digest, block.start + int(j))
    return np.array(sorted(first_with_digest.values()), dtype=np.int64)


def contradicting_rows(X: AnyTable, y: NDArray[np.float64]) -> list[tuple[int, int]]:
    """Pairs of equal rows of X (samples, features) with opposite labels y = ±1.

    One pair (smaller index, larger index) for each set of equal rows, sorted.
    """
    # Rows that all differ in their first columns are not equal: no need to read the others.
    n_distinct_beginnings = len(np.unique(X[:, :FIRST_COLUMNS] + 0.0, axis=0))
    if n_distinct_beginnings == len(X):
        return []

    # For every distinct row, by its digest: label → the first sample that has it.
    samples_of_row: dict[bytes, dict[bool, int]] = {}
    for i, digest in enumerate(_digests_of_rows(X)):
        is_positive = bool(y[i] > 0)
        samples_of_row.setdefault(digest, {}).setdefault(is_positive, i)

    pairs = []
    for first_of_label in samples_of_row.values():
        has_both_labels = len(first_of_label) == 2
        if has_both_labels:
            pairs.append((min(first_of_label.values()), max(first_of_label.values())))
    return sorted(pairs)


def consistent_rows(X: AnyTable, y: NDArray[np.float64]) -> NDArray[np.int64]:
    """Indices of the rows without the minority of every set of equal rows with both labels.

    Any rule gets that minority wrong; of a tie the negative rows are left out.
    """
    if not contradicting_rows(X, y):
        return np.arange(len(y))
    _, row_kind = np.unique(_digests_of_rows(X), return_inverse=True)
    balance = np.bincount(row_kind, weights=y)[row_kind]
    is_majority = balance * y > 0
    is_positive_of_tie = (balance == 0) & (y > 0)
    return np.flatnonzero(is_majority | is_positive_of_tie)


def _digests_of_rows(X: AnyTable) -> list[bytes]:
    """A digest of every row, the same for equal rows and for no others.

    No more columns are read than tell all rows apart.
    """
    hashers = [blake2b() for _ in range(len(X))]
    digests: list[bytes] = []
    for block in column_blocks(X):
        rows = np.ascontiguousarray(X[:, block]) + 0.0  # −0 becomes 0: equal bytes
        for hasher, row in zip(hashers, rows, strict=True):
            hasher.update(row)
        digests = [hasher.digest() for hasher in hashers]
        if len(set(digests)) == len(digests):
            break
    return digests
