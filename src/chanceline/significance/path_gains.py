"""How much each column would add to forward paths, for many labellings at once.

The gain of a column is C²/L: C is its product with what a path leaves of the labels, and L the
squared length of its part outside the columns taken. Whenever a path takes a direction out, C and L
of all columns follow.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np

from chanceline._arrays import Floats, Ints
from chanceline.significance.best_pairs import BestPairs, find_best_pairs
from chanceline.significance.column_pairs import COLUMNS_IN_CACHE, ColumnPairs
from chanceline.significance.path_steps import (
    LENGTH_MARGIN,
    SPREAD_SHARES,
    RowMaxima,
    largest_in_chunk,
    largest_of_maxima,
)

# Squared products that are ranked at a time: 24 MB in single precision. Those of a batch of
# labellings for 40,000 columns are fewer.
ENTRIES_TO_RANK = 6_000_000


class ColumnGains(Protocol):
    """The gains of all columns between two steps of the paths."""

    def best_pairs(self, squared_length: Floats, scale: Floats) -> BestPairs | None:
        """The pair that explains most of every labelling; None where there is no list of pairs.

        To be asked for before anything is taken out.

        Parameters
        ----------
        squared_length : (labellings,) that of the labels.
        scale : (labellings,) the same, but 1 where there is nothing.
        """

    def mean_squares(self) -> Floats:
        """The mean squared product with the labels over each share of the columns, those that fit
        best: (labellings, SPREAD_SHARES). To be asked for before anything is taken out.
        """

    def best_columns(self) -> Ints:
        """The column of largest gain for every labelling, (labellings,)."""

    def take_out(self, direction: Floats, coefficient: Floats) -> None:
        """Go on without a direction.

        Parameters
        ----------
        direction : (labellings, coordinates) Q, of length 1, or 0 where a path has ended.
        coefficient : (labellings, 1) d, the labels' part along it.
        """


class GainsInMemory:
    """The gains of columns that are in memory.

    Parameters
    ----------
    products : (labellings, columns) of the columns with the labels themselves.
    ranking : (coordinates, columns) Z, of length 1, in the precision in which columns are compared.
    pairs : the most correlated pairs of columns.
    """

    def __init__(self, products: Floats, ranking: Floats, pairs: ColumnPairs) -> None:
        self._first_products = products
        self._pairs = pairs
        self._ranking = ranking
        # Both are one direction behind what was taken out last.
        self._products = products.astype(ranking.dtype, copy=False)
        self._squared_lengths = lengths_at_start(self._products)
        self._last_taken: tuple[Floats, Floats] | None = None

    def best_pairs(self, squared_length: Floats, scale: Floats) -> BestPairs | None:
        gains = pair_gains(self._pairs, self._first_products)
        return find_best_pairs(self._pairs, gains, squared_length=squared_length, scale=scale)

    def mean_squares(self) -> Floats:
        """The mean squared product with the labels over the columns where it is largest.

        There is a mean for each of `SPREAD_SHARES`: 1 stands for all columns, 0.1 for the tenth of
        the columns with the largest squares.

        Returns
        -------
        (labellings, shares)
        """
        # The products of the columns with the labels themselves, before anything is explained.
        n_labellings, n_columns = self._first_products.shape
        # With squares in ascending order, the columns of a share go from its start to the end.
        starts = [n_columns - columns_in_share(share, n_columns) for share in SPREAD_SHARES]
        means = np.empty((n_labellings, len(starts)))
        # A few labellings at a time, so that copies take little memory.
        n_rows = max(1, ENTRIES_TO_RANK // n_columns)
        for first_row in range(0, n_labellings, n_rows):
            rows = slice(first_row, first_row + n_rows)
            squares = self._first_products[rows] ** 2
            # A partial sort is enough: no square before a start is larger than one from it on.
            partitioned = np.partition(squares, starts, axis=1)
            for share_index, start in enumerate(starts):
                largest_squares = partitioned[:, start:]
                means[rows, share_index] = largest_squares.mean(axis=1, dtype=float)
        return means

    def best_columns(self) -> Ints:
        best, _ = largest_of_maxima(self._best_of_chunks(), n_rows=len(self._products))
        return best

    def take_out(self, direction: Floats, coefficient: Floats) -> None:
        dtype = self._products.dtype
        self._last_taken = (direction.astype(dtype), coefficient.astype(dtype))

    def _best_of_chunks(self) -> Iterator[RowMaxima]:
        """The column of largest gain in each chunk of columns, for every labelling.

        C and L of a chunk are brought up to date just before, so that it is in the processor's
        cache.
        """
        for chunk in column_chunks(self._products.shape[1]):
            products = self._products[:, chunk]  # views
            squared_lengths = self._squared_lengths[:, chunk]
            if self._last_taken is not None:
                take_out_of(products, squared_lengths, self._ranking[:, chunk], *self._last_taken)
            yield largest_in_chunk(chunk.start, products**2 / squared_lengths)
        self._last_taken = None


def lengths_at_start(products: Floats) -> Floats:
    """L before anything is taken out, of the shape and type of C: (labellings, columns).

    Columns have length 1; the margin keeps their gains finite once the span has used them up.
    """
    squared_length = 1 + LENGTH_MARGIN[products.dtype]
    return np.full(products.shape, squared_length, dtype=products.dtype)


def take_out_of(
    products: Floats,
    squared_lengths: Floats,
    values: Floats,
    direction: Floats,
    coefficient: Floats,
) -> None:
    """C ← C − dV and L ← L − V² with V = QZ, in place.

    L is never less than its margin, which is all that is left of a column that the span has used
    up: rounding may take more, and then the gain C²/L would be anything.

    Parameters
    ----------
    products, squared_lengths : (labellings, columns) C and L.
    values : (coordinates, columns) Z.
    direction, coefficient : (labellings, coordinates) Q and (labellings, 1) d.
    """
    overlap = direction @ values
    products -= overlap * coefficient
    squared_lengths -= np.square(overlap, out=overlap)
    np.maximum(squared_lengths, LENGTH_MARGIN[overlap.dtype], out=squared_lengths)


def pair_gains(pairs: ColumnPairs, products: Floats) -> Iterator[tuple[int, Floats]]:
    """How much each pair (i, j) explains: (c_i² + c_j² − 2 g c_i c_j)/(1 − g²), g the overlap.

    Parameters
    ----------
    pairs : the list of pairs.
    products : (labellings, columns) c, the products of the columns with the labels.

    Yields
    ------
    The start of every chunk of pairs, and (labellings, chunk) the gains.
    """
    for start in range(0, len(pairs), COLUMNS_IN_CACHE):
        chunk = slice(start, start + COLUMNS_IN_CACHE)
        overlap = pairs.overlap[chunk]
        c_i = products.take(pairs.first[chunk], axis=1)
        c_j = products.take(pairs.second[chunk], axis=1)
        yield start, (c_j * (c_j - 2 * overlap * c_i) + c_i**2) / (1 - overlap**2)


def column_chunks(n_columns: int) -> Iterator[slice]:
    """Stretches of so many columns as stay in the processor's cache."""
    for start in range(0, n_columns, COLUMNS_IN_CACHE):
        yield slice(start, min(start + COLUMNS_IN_CACHE, n_columns))


def columns_in_share(share: float, n_columns: int) -> int:
    """How many columns a share of them is, at least one."""
    return max(1, round(share * n_columns))
