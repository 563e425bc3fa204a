"""What every forward path does at a step: find the largest gain of each labelling, and the part of
a column outside the directions taken.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from chanceline._arrays import Bools, Floats, Ints
from chanceline.significance.arrays import ROUNDING_TOLERANCE
from chanceline.significance.column_pairs import MIN_SQUARED_LENGTH

# Shares of the columns, those that fit best, over which the spread is a mean.
SPREAD_SHARES = (1.0, 0.1, 0.01)
# Added to squared lengths, by precision: more than their rounding, so that the gain of a column
# that the span has used up is no division by nothing.
LENGTH_MARGIN = {np.dtype(np.float64): 1e-6, np.dtype(np.float32): 6e-6}
NO_FEATURE = -1  # in place of an index, where a path has ended or there is no pair


def squared_lengths(rows: Floats) -> Floats:
    """Σ_j rows_ij²: (rows,)."""
    squares: Floats = np.einsum("ij,ij->i", rows, rows)
    return squares


def orthogonal_part(vectors: Floats, span: Floats) -> tuple[Floats, Bools]:
    """The part of each vector outside its span, scaled to length 1; zero where nothing is left.

    Parameters
    ----------
    vectors : (labellings, coordinates) of length 1.
    span : (labellings, directions, coordinates) orthonormal directions.

    Returns
    -------
    (labellings, coordinates) the scaled parts, and (labellings,) where something is left.
    """
    # One projection is enough: what is left is no shorter than the square root of the minimum.
    components = np.matmul(span, vectors[:, :, None]).transpose(0, 2, 1)
    outside = vectors - np.matmul(components, span)[:, 0]
    length = np.sqrt(squared_lengths(outside))
    is_left = length**2 > MIN_SQUARED_LENGTH
    return outside / np.where(is_left, length, np.inf)[:, None], is_left


class RowMaxima(NamedTuple):
    """The largest value of every row: (rows,) its place, and the value."""

    place: Ints
    value: Floats


def largest_of_rows(chunks: Iterable[tuple[int, Floats]], n_rows: int) -> RowMaxima:
    """The largest value of every row, from chunks of its values.

    Parameters
    ----------
    chunks : the index at which each chunk starts, and its values ≥ 0: (rows, chunk).
    n_rows : number of rows.
    """
    maxima = (largest_in_chunk(start, values) for start, values in chunks)
    return largest_of_maxima(maxima, n_rows)


def largest_in_chunk(start: int, values: Floats) -> RowMaxima:
    """The largest value of every row of a chunk (rows, chunk) that starts at this index.

    Single precision makes values equal that differ by rounding alone, and `argmax` takes the first
    of equals.
    """
    best_in_chunk = values.astype(np.float32, copy=False).argmax(axis=1)
    rows = np.arange(len(values))
    return RowMaxima(start + best_in_chunk, values[rows, best_in_chunk])


def largest_of_maxima(maxima_of_chunks: Iterable[RowMaxima], n_rows: int) -> RowMaxima:
    """The largest value of every row, from the largest of each chunk, in the order of the chunks.

    Of values that differ by rounding alone the first is taken: a later one has to be larger by more
    than `ROUNDING_TOLERANCE`.
    """
    best = np.zeros(n_rows, dtype=np.int64)
    largest = np.full(n_rows, -1.0)  # below all values
    for maxima in maxima_of_chunks:
        is_larger = maxima.value > largest * (1 + ROUNDING_TOLERANCE)
        best[is_larger] = maxima.place[is_larger]
        largest[is_larger] = maxima.value[is_larger]
    return RowMaxima(best, largest)
