"""A list of highly correlated pairs of columns, which a greedy first step cannot find: each column
alone may say nothing and their difference everything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from chanceline._arrays import Bools, Floats, Ints

# So many columns at a time stay in the processor's cache together with the draws of one batch.
COLUMNS_IN_CACHE = 256
# A column with less than this squared length outside the span of others adds nothing but rounding.
MIN_SQUARED_LENGTH = 1e-6
# Overlaps that agree to this many decimals are ties.
OVERLAP_DECIMALS = 9
# So many pairs at a time are multiplied again in double precision.
PAIRS_AT_A_TIME = 4_096
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
    """The pairs of columns with the largest absolute overlaps, without copies of each other.

    All overlaps are screened in single precision. The pairs that could be among the largest,
    whatever the rounding, are computed again in double precision, which decides.

    Parameters
    ----------
    normalized : (samples, columns) of length 1.
    min_pairs : as many pairs as columns are listed, or this many if that is more.
    chunk_size : columns whose overlaps with all later ones are computed at once.
    """
    n_samples, n_columns = normalized.shape
    max_pairs = max(n_columns, min_pairs)
    rounding = overlap_rounding(n_samples)
    screened = _screened_pairs(normalized, max_pairs, rounding, chunk_size)

    # The largest of those that are left, in double precision.
    exact = _CodedPairs(screened.code, _exact_overlaps(normalized, screened.code))
    if len(exact.code) > max_pairs:
        exact = _most_overlapping(exact, max_pairs)

    # A pair (i, j) is coded as i·n_columns + j.
    by_code = np.argsort(exact.code)
    first, second = np.divmod(exact.code[by_code], n_columns)
    return ColumnPairs(first=first, second=second, overlap=exact.overlap[by_code])


def overlap_rounding(n_samples: int) -> float:
    """How far an overlap in single precision may be from the true one.

    A sum of n products of unit vectors is wrong by at most n + 2 roundings: one for each sum, and
    two for the entries of the vectors.
    """
    return (n_samples + 2) * float(np.finfo(np.float32).eps)


class _CodedPairs(NamedTuple):
    """Pairs (i, j) of columns, i < j, each as one number i·n_columns + j, with their overlaps."""

    code: Ints
    overlap: Floats

    def take(self, chosen: Bools) -> _CodedPairs:
        """The pairs where `chosen` is true."""
        return _CodedPairs(self.code[chosen], self.overlap[chosen])


def _screened_pairs(
    normalized: Floats, max_pairs: int, rounding: float, chunk_size: int
) -> _CodedPairs:
    """All pairs that may be among the `max_pairs` of largest overlap, and a few more.

    Parameters
    ----------
    normalized : (samples, columns) of length 1.
    rounding : how far an overlap in single precision may be from the true one.
    chunk_size : columns whose overlaps with all later ones are computed at once.
    """
    single_precision: Floats = normalized.astype("float32")
    listed = _CodedPairs(code=np.zeros(0, dtype=np.int64), overlap=np.zeros(0, dtype=np.float32))
    least_overlap = 0.0
    for start in range(0, normalized.shape[1], chunk_size):
        chunk = slice(start, start + chunk_size)
        added = _pairs_of_chunk(single_precision, chunk, least_overlap)
        added = _without_copies(normalized, added, rounding)
        listed = _CodedPairs(
            code=np.append(listed.code, added.code),
            overlap=np.append(listed.overlap, added.overlap),
        )
        if len(listed.code) > max_pairs:
            # Enough pairs reach the overlap of the last one wanted. That overlap and any other may
            # be wrong by the rounding, so that pairs within twice the rounding stay.
            least_overlap = _largest_but(listed.overlap, max_pairs) - 2 * rounding
            listed = listed.take(np.abs(listed.overlap) >= least_overlap)
    return listed


def _pairs_of_chunk(columns: Floats, chunk: slice, least_overlap: float) -> _CodedPairs:
    """The pairs of a column of the chunk with any later column, of the chunk or behind it.

    Parameters
    ----------
    columns : (samples, columns) of length 1, in single precision.
    chunk : a range of columns.
    least_overlap : pairs whose absolute overlap is smaller are left out.
    """
    n_columns = columns.shape[1]
    overlaps = columns[:, chunk].T @ columns[:, chunk.start :]  # (chunk, columns from its start on)
    i, j = np.nonzero(np.abs(overlaps) >= np.float32(least_overlap))
    # Both count from the start of the chunk. Of (i, j), (j, i) and (i, i) those with i < j stay.
    is_pair = i < j
    i = i[is_pair]
    j = j[is_pair]
    first_column = i + chunk.start
    second_column = j + chunk.start
    return _CodedPairs(code=first_column * n_columns + second_column, overlap=overlaps[i, j])


def _without_copies(normalized: Floats, pairs: _CodedPairs, rounding: float) -> _CodedPairs:
    """The pairs without those whose columns are copies of each other.

    If two columns have the overlap g, the part 1 − g² of the squared length of one lies outside the
    other. For copies |g| is nearly 1, and 1 − g² ≈ 2(1 − |g|) is too little.
    """
    smallest_of_copies = 1 - MIN_SQUARED_LENGTH / 2
    is_suspected = np.abs(pairs.overlap) >= smallest_of_copies - rounding
    suspected = np.flatnonzero(is_suspected)
    overlaps = _exact_overlaps(normalized, pairs.code[suspected])
    is_kept = np.ones(len(pairs.code), dtype=bool)
    is_kept[suspected] = np.abs(overlaps) < smallest_of_copies
    return pairs.take(is_kept)


def _exact_overlaps(normalized: Floats, codes: Ints) -> Floats:
    """The overlaps of coded pairs in double precision: (pairs,)."""
    n_columns = normalized.shape[1]
    overlaps = np.empty(len(codes))
    for start in range(0, len(codes), PAIRS_AT_A_TIME):
        chunk = slice(start, start + PAIRS_AT_A_TIME)
        first, second = np.divmod(codes[chunk], n_columns)
        overlaps[chunk] = np.einsum("ij,ij->j", normalized[:, first], normalized[:, second])
    return overlaps


def _largest_but(overlaps: Floats, n_larger: int) -> float:
    """The smallest of the `n_larger` largest absolute overlaps."""
    position = len(overlaps) - n_larger
    return float(np.partition(np.abs(overlaps), position)[position])


def _most_overlapping(pairs: _CodedPairs, max_pairs: int) -> _CodedPairs:
    """So many pairs of largest absolute overlap; ties by the code, whatever the chunks were."""
    rounded = np.round(np.abs(pairs.overlap), OVERLAP_DECIMALS)
    largest = np.lexsort((pairs.code, -rounded))[:max_pairs]
    return _CodedPairs(code=pairs.code[largest], overlap=pairs.overlap[largest])
