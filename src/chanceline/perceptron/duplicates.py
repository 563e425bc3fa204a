"""Equal columns, equal rows, and equal rows with opposite labels, which no rule gets both right.

Digests stand for rows and columns: kept themselves, they would be a copy of X. Adding zero makes
−0 and 0 the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from chanceline.columns.table import AnyTable, ColumnTable, Tile
from chanceline.perceptron.blocks import column_blocks

FIRST_COLUMNS = 16  # rows that differ mostly do so here


def distinct_columns(X: AnyTable, intercept: bool) -> NDArray[np.int64]:
    """Return the sorted indices of columns that are different and not useless.

    Of each set of equal columns only the first is kept. With an intercept constant columns are
    useless, as it can replace them; without one only columns of zeros are. Any rule can be written
    with the columns that are left.

    X : (samples, features).
    intercept : whether rules have one.
    """
    first_with_digest: dict[bytes, int] = {}  # digest of a column's bytes → first such column
    for start, digests in _digests_of_blocks(X, intercept):
        for place, digest in enumerate(digests):
            if digest is not None:
                first_with_digest.setdefault(digest, start + place)
    return np.array(sorted(first_with_digest.values()), dtype=np.int64)


def _digests_of_blocks(X: AnyTable, intercept: bool) -> Iterator[tuple[int, list[bytes | None]]]:
    """The first column of every block of columns, and what `_digests_of_columns` makes of it.

    The parameters are those of `distinct_columns`.
    """
    if isinstance(X, ColumnTable):
        digests = X.map_tiles(_digests_of_tile, common=(intercept,))
        yield from zip(X.tile_starts, digests, strict=True)
        return
    for block in column_blocks(X):
        yield block.start, _digests_of_columns(X[:, block], intercept)


def _digests_of_tile(tile: Tile, _argument: None, intercept: bool) -> list[bytes | None]:
    return _digests_of_columns(tile.numbers, intercept)


def _digests_of_columns(values: NDArray[np.float64], intercept: bool) -> list[bytes | None]:
    """A digest of every column (samples, columns), the same for equal ones; None for useless ones.

    intercept : whether rules have one.
    """
    columns = np.ascontiguousarray(values.T) + 0.0  # −0 becomes 0: equal bytes
    is_useless = np.all(columns[:, :1] == columns, axis=1)
    if not intercept:
        is_useless &= columns[:, 0] == 0
    return [
        None if useless else blake2b(column, digest_size=16).digest()
        for column, useless in zip(columns, is_useless.tolist(), strict=True)
    ]


def contradicting_rows(X: AnyTable, y: NDArray[np.float64]) -> list[tuple[int, int]]:
    """Find equal rows of X with opposite labels, which no rule can both classify correctly.

    Returns one pair (smaller index, larger index) for each set of equal rows with both labels, in
    sorted order. Rows count as equal if the digests of their bytes are (BLAKE2b: different rows
    with one digest are too unlikely to matter).

    X : (samples, features).
    y : (samples,) labels ±1.
    """
    # A quick check of the first columns: if all rows differ there, no rows are equal, and the other
    # columns need not be read. Adding zero turns −0 into 0, as it is done for the digests.
    beginnings = X[:, :FIRST_COLUMNS] + 0.0
    n_distinct_beginnings = len(np.unique(beginnings, axis=0))
    if n_distinct_beginnings == len(X):
        return []

    # For each digest of a row, the first sample with this row and a positive label, and the first
    # one with a negative label.
    first_positive: dict[bytes, int] = {}
    first_negative: dict[bytes, int] = {}
    for sample, digest in enumerate(_digests_of_rows(X)):
        if y[sample] > 0:
            first_positive.setdefault(digest, sample)
        else:
            first_negative.setdefault(digest, sample)

    pairs = []
    for digest, positive_sample in first_positive.items():
        if digest in first_negative:
            negative_sample = first_negative[digest]
            smaller = min(positive_sample, negative_sample)
            larger = max(positive_sample, negative_sample)
            pairs.append((smaller, larger))
    return sorted(pairs)


def consistent_rows(X: AnyTable, y: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the indices of all rows but those that contradict the majority of their equals.

    If equal rows of X have both labels, every rule misclassifies some of them. Of such rows the
    ones with the less frequent label are left out; if both labels are equally frequent, the ones
    with the negative label.

    X : (samples, features).
    y : (samples,) labels ±1.
    """
    if not contradicting_rows(X, y):
        return np.arange(len(y))

    # A group is a set of equal rows; its sum of labels is positive if most of them are positive.
    _, group_of_row = np.unique(_digests_of_rows(X), return_inverse=True)  # (samples,)
    label_sum_of_group = np.bincount(group_of_row, weights=y)
    label_sum = label_sum_of_group[group_of_row]  # (samples,), that of the row's group

    has_majority_label = label_sum * y > 0
    is_positive_in_tie = (label_sum == 0) & (y > 0)
    return np.flatnonzero(has_majority_label | is_positive_in_tie)


def _digests_of_rows(X: AnyTable) -> list[bytes]:
    """Return one digest for each row of X, (samples, features); equal rows have equal digests.

    The table is read by blocks of columns. As soon as the columns read so far tell all rows apart,
    the other columns need not be read: the digests are then of the beginnings of the rows.
    """
    hashers = [blake2b() for _ in range(len(X))]  # one for each row
    digests: list[bytes] = []
    for block in column_blocks(X):
        rows = np.ascontiguousarray(X[:, block]) + 0.0  # −0 becomes 0: equal bytes
        for hasher, row in zip(hashers, rows, strict=True):
            hasher.update(row)
        digests = [hasher.digest() for hasher in hashers]
        are_all_different = len(set(digests)) == len(digests)
        if are_all_different:
            break
    return digests
