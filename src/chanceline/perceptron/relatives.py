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
    """Return empty lists of relatives for `n_columns` columns."""
    return Relatives(
        first=np.zeros(n_columns + 1, dtype=np.int64),
        column=np.zeros(0, dtype=np.int64),
        own_length=np.zeros(0),
    )


def find_relatives(columns: NDArray[np.float64]) -> Relatives:
    """List, for every column of a table, its relatives: columns strongly correlated with it.

    Tables of more than MAX_RELATED_COLUMNS columns get empty lists, to save memory.

    columns : (n, samples) the columns, each of mean square 1 (or 0).

    Returns
    -------
    The lists of all columns one after the other: the relatives of column j are at the places
    first[j] … first[j + 1] − 1 of the arrays `column` (their indices) and `own_length`.
    """
    n_columns = columns.shape[0]
    if n_columns > MAX_RELATED_COLUMNS:
        return no_relatives(n_columns)
    starts = range(0, n_columns, COLUMNS_PER_BLOCK)
    blocks = [pairs_of_block(columns, start) for start in starts]

    # The pairs are sorted by their first column, so the list of column j begins at the first pair
    # whose first column is at least j.
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
    """Find the strongly correlated pairs whose first column is in one block of columns.

    A pair counts if its correlation r has |r| ≥ LEAST_CORRELATION, unless this could be chance:
    that is, if among all pairs of independent columns so strong a correlation could occur with a
    probability above CHANCE_OF_RELATIVES. Copies of a column do not count.

    columns : (n, samples) all columns, each of mean square 1 (or 0).
    start : the block is the COLUMNS_PER_BLOCK columns from this one on.
    """
    n_columns, n_samples = columns.shape
    block = columns[start : start + COLUMNS_PER_BLOCK]
    correlations = block @ columns.T / n_samples  # (columns of the block, n)
    places_in_block, second_columns = np.nonzero(np.abs(correlations) >= LEAST_CORRELATION)
    r = correlations[places_in_block, second_columns]  # (pairs,)

    # 1 − r² is the squared length of the part of one column that is orthogonal to the other. It is
    # zero for copies, and so for the pair of each column with itself.
    squared_length = 1.0 - r**2
    is_copy = squared_length < LEAST_SQUARED_LENGTH

    # The probability of one such pair by chance, times the number of pairs (Bonferroni).
    n_pairs = n_columns * (n_columns - 1) // 2
    may_be_chance = n_pairs * chance_of_correlation(r, n_samples) > CHANCE_OF_RELATIVES
    is_related = ~is_copy & ~may_be_chance
    return RelatedPairs(
        first_column=start + places_in_block[is_related],
        second_column=second_columns[is_related],
        own_length=np.sqrt(squared_length[is_related]),
    )


def chance_of_correlation(r: NDArray[np.float64], n_samples: int) -> NDArray[np.float64]:
    """Bound the probability that two independent columns have a correlation of at least |r|.

    For columns of fair signs ±1 and P samples, Chernoff's bound is

        2 exp(−P D),    D = ½ (1 + r) ln(1 + r) + ½ (1 − r) ln(1 − r).

    For Gaussian columns strong correlations are rarer. `r`, of any shape, may exceed 1 a little by
    rounding.
    """
    size = np.minimum(np.abs(r), 1.0)
    agreement = 0.5 * xlogy(1.0 + size, 1.0 + size)
    disagreement = 0.5 * xlogy(1.0 - size, 1.0 - size)
    divergence = agreement + disagreement  # D
    return 2.0 * np.exp(-n_samples * divergence)
