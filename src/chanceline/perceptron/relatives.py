"""Relatives: columns of a table that are strongly correlated with each other.

Beside a column of a support, a relative has little of its own: of its length 1 only √(1 − r²) is
not along that column. A search that overlooks this passes by the differences of relatives.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

# From here on √(1 − r²) differs from 1 by more than the noise of swaps. On pairs, groups of five,
# chains and factor models 0.6, 0.7 and 0.8 gave the same sizes, 0.9 larger ones; fresh problems and
# measured tables are in benchmarks/correlated.py.
LEAST_CORRELATION = 0.7
LEAST_SQUARED_LENGTH = 1e-6  # 1 − r²: below, columns are copies, and their difference is rounding
CHANCE_OF_RELATIVES = 0.01  # that a table of independent columns has any, at most
MAX_RELATED_COLUMNS = 3000  # of a table: if all are relatives, their lists take 150 MB
COLUMNS_PER_BLOCK = 256  # whose correlations with all others are in memory at a time


class Relatives(NamedTuple):
    """Pairs of strongly correlated columns, listed by the first of the two.

    The relatives of column j are at the places first[j] … first[j + 1] − 1 of the other arrays.

    Attributes
    ----------
    first : (n + 1,) where the list of every column begins.
    column : (pairs,) the relative.
    own_length : (pairs,) √(1 − r²), the length of the relative without its part along column j.
    """

    first: NDArray[np.int64]
    column: NDArray[np.int64]
    own_length: NDArray[np.float64]


def no_relatives(n_columns: int) -> Relatives:
    """Empty lists, for `n_columns` columns."""
    return Relatives(
        first=np.zeros(n_columns + 1, dtype=np.int64),
        column=np.zeros(0, dtype=np.int64),
        own_length=np.zeros(0),
    )


def find_relatives(columns: NDArray[np.float64]) -> Relatives:
    """The relatives among the columns of a table, (n, samples), each of mean square 1 or 0.

    Tables of more than MAX_RELATED_COLUMNS get empty lists.
    """
    n_columns = columns.shape[0]
    if n_columns > MAX_RELATED_COLUMNS:
        return no_relatives(n_columns)
    starts = range(0, n_columns, COLUMNS_PER_BLOCK)
    blocks = [pairs_of_block(columns, start) for start in starts]

    # The pairs come in the order of their first columns, so each column's are together.
    first_columns = np.concatenate([pairs.first_column for pairs in blocks])
    return Relatives(
        first=np.searchsorted(first_columns, np.arange(n_columns + 1)),
        column=np.concatenate([pairs.second_column for pairs in blocks]),
        own_length=np.concatenate([pairs.own_length for pairs in blocks]),
    )


class RelatedPairs(NamedTuple):
    """Pairs of strongly correlated columns, in the order of the first; arrays of shape (pairs,)."""

    first_column: NDArray[np.int64]
    second_column: NDArray[np.int64]
    own_length: NDArray[np.float64]


def pairs_of_block(columns: NDArray[np.float64], start: int) -> RelatedPairs:
    """The relatives of COLUMNS_PER_BLOCK columns from `start` on, among all columns, (n, samples).

    A pair counts if r is at least LEAST_CORRELATION, or at most −LEAST_CORRELATION, and independent
    columns would hardly ever have such a pair.
    """
    n_columns, n_samples = columns.shape
    block = columns[start : start + COLUMNS_PER_BLOCK]
    correlations = block @ columns.T / n_samples
    places, others = np.nonzero(np.abs(correlations) >= LEAST_CORRELATION)
    r = correlations[places, others]

    # Each column is a copy of itself, and left out as one.
    squared_length = 1.0 - r**2
    is_copy = squared_length < LEAST_SQUARED_LENGTH
    n_pairs = n_columns * (n_columns - 1) // 2
    may_be_chance = n_pairs * chance_of_correlation(r, n_samples) > CHANCE_OF_RELATIVES
    counts = ~is_copy & ~may_be_chance
    return RelatedPairs(
        first_column=start + places[counts],
        second_column=others[counts],
        own_length=np.sqrt(squared_length[counts]),
    )


def chance_of_correlation(r: NDArray[np.float64], n_samples: int) -> NDArray[np.float64]:
    """A bound on the chance that two independent columns are correlated by r or more, or −r.

    For columns of fair signs ±1 it is Chernoff's, with P samples:

        2 exp(−P D),    D = ½ (1 + r) ln(1 + r) + ½ (1 − r) ln(1 − r).

    Of Gaussian columns strong correlations are rarer. Rounding may leave |r| a bit above 1.
    """
    size = np.minimum(np.abs(r), 1.0)
    divergence = 0.5 * xlogy(1.0 + size, 1.0 + size) + 0.5 * xlogy(1.0 - size, 1.0 - size)
    return 2.0 * np.exp(-n_samples * divergence)
