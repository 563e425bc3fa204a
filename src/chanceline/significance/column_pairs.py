"""A list of highly correlated pairs of columns, which a greedy first step cannot find: each column
alone may say nothing and their difference everything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from chanceline._arrays import Floats, Ints
from chanceline.significance.arrays import ROUNDING_TOLERANCE

# So many columns at a time stay in the processor's cache together with the draws of one batch.
COLUMNS_IN_CACHE = 256
# A column with less than this squared length outside the span of others adds nothing but rounding.
MIN_SQUARED_LENGTH = 1e-6
# Overlaps that agree to so many decimals are ties.
OVERLAP_DECIMALS = 9
# Pairs in the list: as many as columns, and at least these, which are all of a small table's.
MIN_PAIRS = 2_000


@dataclass(frozen=True, eq=False)
class ColumnPairs:
    """Pairs (i, j) of columns, i < j, with the overlap z_i·z_j of the normalised columns.

    Attributes
    ----------
    first, second, overlap : (pairs,) i, j and z_i·z_j.
    """

    first: Ints
    second: Ints
    overlap: Floats

    def __len__(self) -> int:
        return len(self.first)


def no_pairs() -> ColumnPairs:
    """An empty list."""
    return ColumnPairs(
        first=np.zeros(0, dtype=np.int64),
        second=np.zeros(0, dtype=np.int64),
        overlap=np.zeros(0),
    )


def correlated_pairs(
    normalized: Floats, min_pairs: int = MIN_PAIRS, chunk_size: int = COLUMNS_IN_CACHE
) -> ColumnPairs:
    """The pairs of largest absolute overlap; columns that are copies of each other make none.

    Parameters
    ----------
    normalized : (samples, columns) of length 1.
    min_pairs : as many pairs as columns are listed, or this many if that is more.
    chunk_size : columns whose overlaps with all later ones are computed at once.
    """
    n_columns = normalized.shape[1]
    max_pairs = max(n_columns, min_pairs)
    listed = _CodedPairs(code=np.zeros(0, dtype=np.int64), overlap=np.zeros(0))
    least_overlap = 0.0
    for start in range(0, n_columns, chunk_size):
        added = _pairs_of_chunk(normalized, slice(start, start + chunk_size), least_overlap)
        listed = _CodedPairs(
            code=np.append(listed.code, added.code),
            overlap=np.append(listed.overlap, added.overlap),
        )
        if len(listed.code) > max_pairs:
            listed = _most_overlapping(listed, max_pairs)
            # Pairs of later chunks with less overlap would be dropped again.
            least_overlap = float(np.abs(listed.overlap).min()) - ROUNDING_TOLERANCE
    order = np.argsort(listed.code)
    # A pair (i, j) is coded as i·n_columns + j.
    first, second = np.divmod(listed.code[order], n_columns)
    return ColumnPairs(first=first, second=second, overlap=listed.overlap[order])


class _CodedPairs(NamedTuple):
    """Pairs (i, j) of columns, i < j, each as one number i·n_columns + j, with their overlaps."""

    code: Ints
    overlap: Floats


def _pairs_of_chunk(normalized: Floats, chunk: slice, least_overlap: float) -> _CodedPairs:
    """The pairs of a column of the chunk with any later column, copies left out.

    Parameters
    ----------
    normalized : (samples, columns) of length 1.
    chunk : columns.
    least_overlap : pairs whose absolute overlap is smaller are left out.
    """
    n_columns = normalized.shape[1]
    products = normalized[:, chunk].T @ normalized[:, chunk.start :]  # (chunk, later columns)
    absolute_overlap = np.abs(products)
    # Of a column with overlap g with another, 1 − g² of its squared length is outside that other.
    # In a copy |g| is nearly 1, and 1 − g² ≈ 2(1 − |g|) is too little.
    is_copy = absolute_overlap >= 1 - MIN_SQUARED_LENGTH / 2
    is_candidate = (absolute_overlap >= least_overlap) & ~is_copy
    # Pairs i < j are above the diagonal; the others are left out.
    n_rows, n_later = products.shape
    is_candidate[np.tril_indices(n_rows, m=n_later)] = False
    row, later = np.nonzero(is_candidate)
    first = row + chunk.start
    second = later + chunk.start
    return _CodedPairs(code=first * n_columns + second, overlap=products[row, later])


def _most_overlapping(pairs: _CodedPairs, max_pairs: int) -> _CodedPairs:
    """So many pairs of largest absolute overlap; ties by the code, whatever the chunks were."""
    rounded = np.round(np.abs(pairs.overlap), OVERLAP_DECIMALS)
    largest = np.lexsort((pairs.code, -rounded))[:max_pairs]
    return _CodedPairs(code=pairs.code[largest], overlap=pairs.overlap[largest])
