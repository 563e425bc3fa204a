"""The pairs of columns that correlate most with each other.

A greedy search misses such pairs: each column alone may say nothing about the labels, while the
difference of the two says everything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from chanceline._arrays import Bools, Floats, Ints

# So many columns fit into the processor's cache, together with the draws of one batch.
COLUMNS_IN_CACHE = 256
# A normalised column whose part outside the span of others has a smaller squared length than this
# adds only rounding errors.
MIN_SQUARED_LENGTH = 1e-6
# Overlaps that agree to this many decimals are ties.
OVERLAP_DECIMALS = 9
# The overlaps of so many pairs at a time are computed again in double precision.
PAIRS_AT_A_TIME = 4_096
# The list has as many pairs as there are columns, but at least this many (if there are so many).
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
    """The pairs of columns with the largest absolute overlaps.

    The overlap of two columns is their scalar product. Pairs of columns that are copies of each
    other (or of the negative) are left out. All overlaps are screened in single precision. The
    pairs that may be among the largest, given the rounding, are computed again in double precision,
    and these values decide.

    Parameters
    ----------
    normalized : (samples, columns), each column of length 1.
    min_pairs : the number of pairs is the number of columns, or `min_pairs` if that is more; fewer
        if there are not so many pairs.
    chunk_size : number of columns whose overlaps with all later columns are computed at once.

    Returns
    -------
    Pairs (i, j) with i < j, ascending in i, then in j.
    """
    n_samples, n_columns = normalized.shape
    max_pairs = max(n_columns, min_pairs)
    rounding = overlap_rounding(n_samples)
    screened = _screened_pairs(normalized, max_pairs, rounding, chunk_size)

    # The largest overlaps in double precision. A pair (i, j) is kept as one number, its code
    # i·n_columns + j.
    exact_overlaps = _exact_overlaps(normalized, screened.code)
    pairs = _CodedPairs(code=screened.code, overlap=exact_overlaps)
    if len(pairs.code) > max_pairs:
        pairs = _most_overlapping(pairs, max_pairs)

    # Decode. Ascending codes give the pairs in the order of i, then of j.
    ascending = np.argsort(pairs.code)
    first, second = np.divmod(pairs.code[ascending], n_columns)  # code = i·n_columns + j
    return ColumnPairs(first=first, second=second, overlap=pairs.overlap[ascending])


def overlap_rounding(n_samples: int) -> float:
    """The largest error of an overlap that is computed in single precision.

    The scalar product of two unit vectors of n entries has at most n + 2 relative rounding errors:
    n of the products and sums, and two of rounding the entries of both vectors.
    """
    return (n_samples + 2) * float(np.finfo(np.float32).eps)


class _CodedPairs(NamedTuple):
    """Pairs (i, j) of columns, i < j, each as one number i·n_columns + j, with their overlaps."""

    code: Ints
    overlap: Floats

    def take(self, is_chosen: Bools) -> _CodedPairs:
        """The pairs where `is_chosen` is true."""
        return _CodedPairs(self.code[is_chosen], self.overlap[is_chosen])

    def followed_by(self, more: _CodedPairs) -> _CodedPairs:
        """These pairs, then more pairs, in one list."""
        return _CodedPairs(
            code=np.append(self.code, more.code),
            overlap=np.append(self.overlap, more.overlap),
        )


def _screened_pairs(
    normalized: Floats, max_pairs: int, rounding: float, chunk_size: int
) -> _CodedPairs:
    """All pairs that may be among the `max_pairs` pairs with the largest absolute overlaps.

    The overlap of two columns is their scalar product. Overlaps are computed in single precision,
    for a chunk of columns at a time. After each chunk, pairs that cannot be among the largest any
    more are dropped. As rounding might change the rank of pairs with nearly equal overlaps, the
    result may have more pairs than `max_pairs`.

    Pairs of columns that are copies of each other do not count. They have the largest overlaps of
    all, near 1, so that they are left out before the `max_pairs`-th largest overlap is looked up.

    Parameters
    ----------
    normalized : (samples, columns), each column of length 1, in double precision.
    max_pairs : number of pairs that the caller will keep.
    rounding : the largest error of an overlap in single precision.
    chunk_size : number of columns whose overlaps with all later columns are computed at once.
    """
    single_precision: Floats = normalized.astype("float32")
    pairs = _CodedPairs(code=np.zeros(0, dtype=np.int64), overlap=np.zeros(0, dtype=np.float32))
    least_overlap = 0.0  # pairs with a smaller one cannot be among the largest any more
    n_columns = normalized.shape[1]
    for start in range(0, n_columns, chunk_size):
        chunk = slice(start, start + chunk_size)
        pairs_of_chunk = _pairs_of_chunk(single_precision, chunk, least_overlap)
        distinct_pairs = _without_copies(normalized, pairs_of_chunk, rounding)
        pairs = pairs.followed_by(distinct_pairs)

        if len(pairs.code) > max_pairs:
            # Drop the pairs whose overlap is certainly smaller than the `max_pairs`-th largest. Two
            # overlaps are compared, and each may be wrong by the rounding: hence the factor 2.
            margin = 2 * rounding
            least_overlap = _nth_largest(pairs.overlap, max_pairs) - margin
            may_be_largest = np.abs(pairs.overlap) >= least_overlap
            pairs = pairs.take(may_be_largest)
    return pairs


def _pairs_of_chunk(columns: Floats, chunk: slice, least_overlap: float) -> _CodedPairs:
    """The pairs whose first column is in the chunk, and whose second is any later column.

    Parameters
    ----------
    columns : (samples, columns), each column of length 1, in single precision.
    chunk : a range of columns; the first columns of the pairs.
    least_overlap : pairs with a smaller absolute overlap are left out.
    """
    n_columns = columns.shape[1]
    # Both axes count columns from the start of the chunk: (chunk, later columns).
    overlaps = columns[:, chunk].T @ columns[:, chunk.start :]
    is_large = np.abs(overlaps) >= np.float32(least_overlap)
    i, j = np.nonzero(is_large)
    # Keep (i, j) with i < j: this drops (i, i), and (j, i) of two columns of the chunk.
    is_ordered = i < j
    i = i[is_ordered]
    j = j[is_ordered]
    # A pair is kept as one number, its code.
    first_column = i + chunk.start
    second_column = j + chunk.start
    code = first_column * n_columns + second_column
    return _CodedPairs(code=code, overlap=overlaps[i, j])


def _without_copies(normalized: Floats, pairs: _CodedPairs, rounding: float) -> _CodedPairs:
    """Leave out the pairs whose columns are copies of each other (or of the negative).

    For two columns of length 1 with the overlap g, the part of one that is orthogonal to the other
    has the squared length 1 − g². For copies |g| ≈ 1, so that 1 − g² ≈ 2(1 − |g|). Two columns
    count as copies if this squared length is at most `MIN_SQUARED_LENGTH`.

    Parameters
    ----------
    normalized : (samples, columns), in double precision.
    pairs : with overlaps in single precision.
    rounding : the largest error of these overlaps.
    """
    least_overlap_of_copies = 1 - MIN_SQUARED_LENGTH / 2
    is_suspected = np.abs(pairs.overlap) >= least_overlap_of_copies - rounding
    suspected = np.flatnonzero(is_suspected)
    exact_overlaps = _exact_overlaps(normalized, pairs.code[suspected])
    is_kept = np.ones(len(pairs.code), dtype=bool)
    is_kept[suspected] = np.abs(exact_overlaps) < least_overlap_of_copies
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


def _nth_largest(overlaps: Floats, n: int) -> float:
    """The n-th largest absolute overlap."""
    position = len(overlaps) - n
    return float(np.partition(np.abs(overlaps), position)[position])


def _most_overlapping(pairs: _CodedPairs, max_pairs: int) -> _CodedPairs:
    """The `max_pairs` pairs of largest absolute overlap.

    Of tied pairs those with the smallest code come first, so that the size of the chunks does not
    matter.
    """
    rounded = np.round(np.abs(pairs.overlap), OVERLAP_DECIMALS)
    largest = np.lexsort((pairs.code, -rounded))[:max_pairs]
    return _CodedPairs(code=pairs.code[largest], overlap=pairs.overlap[largest])
