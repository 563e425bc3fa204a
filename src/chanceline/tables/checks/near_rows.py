"""Rows that are far more alike than independent rows, though nothing says that they belong
together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtr

from chanceline._arrays import Bools, Floats, Ints
from chanceline.columns.table import AnyTable
from chanceline.tables.checks.equal_rows import row_digests
from chanceline.tables.dataset import Finding

# Rows are too near if their squared distance is at most this share of the median, …
NEAR_SHARE = 0.5
# … and the closest of independent rows would be so close with at most this probability.
NEAR_LEVEL = 0.001
NEARLY_EQUAL_SHARE = 0.1  # of the median, up to which they are called nearly equal
# Of larger tables the first rows are looked at, and so many evenly spaced columns.
MOST_ROWS_COMPARED = 3000
MOST_COLUMNS_COMPARED = 1000
LARGEST_STANDARDIZED = 3.0  # standard deviations; what lies beyond counts as if it lay there
PAIRS_SHOWN = 3
SMALLEST_MEAN = 1e-100  # of squared distances, so that nothing is divided by 0
SMALLEST_SHARE_OF_VARIANCE = 1e-6  # of the squared mean, for the same reason


class NearPairs(NamedTuple):
    """Pairs of rows that are near each other, all of shape (pairs,).

    Attributes
    ----------
    first_rows, second_rows : positions of the two rows.
    shares_of_median : squared distances, as shares of the median of all pairs.
    """

    first_rows: NDArray[np.int64]
    second_rows: NDArray[np.int64]
    shares_of_median: Floats

    def subset(self, is_in_subset: NDArray[np.bool_]) -> NearPairs:
        """The pairs where `is_in_subset`, of shape (pairs,), is True."""
        return NearPairs(
            first_rows=self.first_rows[is_in_subset],
            second_rows=self.second_rows[is_in_subset],
            shares_of_median=self.shares_of_median[is_in_subset],
        )


def warn_of_near_rows(
    X: AnyTable, y: Floats, group_of_row: NDArray[np.int64], row_names: Sequence[Any]
) -> list[Finding]:
    """Warnings about pairs of rows that are far more alike than independent rows.

    One warning is about pairs of rows of the same class, one about pairs of opposite classes.

    Parameters
    ----------
    X : numbers of shape (samples, features).
    y : labels ±1 of shape (samples,).
    group_of_row : (samples,) rows with the same number belong together, such as rows of one
        subject.
    row_names : what messages call each row, (samples,).
    """
    pairs = near_pairs(X, group_of_row)
    have_same_class = y[pairs.first_rows] == y[pairs.second_rows]  # (near pairs,)
    findings = []

    # Pairs of the same class.
    if have_same_class.any():
        meaning = "if they are of one subject, say which rows belong together with groups=COLUMN"
        has_groups = len(np.unique(group_of_row)) < len(group_of_row)
        if has_groups:
            meaning = "though nothing that was declared says that they belong together"
        findings.append(pairs_warning(pairs.subset(have_same_class), row_names, meaning))

    # Pairs of opposite classes, without exactly equal rows: another check
    # (`warn_of_contradictions`) warns of those.
    opposite = pairs.subset(~have_same_class)
    are_equal = _are_equal(X, opposite.first_rows, opposite.second_rows)
    nearly_equal = opposite.subset(~are_equal)
    if len(nearly_equal.first_rows) > 0:
        meaning = "though of opposite classes, as if samples were in both"
        findings.append(pairs_warning(nearly_equal, row_names, meaning))
    return findings


def pairs_warning(pairs: NearPairs, row_names: Sequence[Any], meaning: str) -> Finding:
    """The warning about pairs of rows that are too similar, which names the first of the pairs.

    Parameters
    ----------
    pairs : rows that are too similar.
    row_names : what the warning calls each row, (samples,).
    meaning : the end of the warning: what the similarity may mean.
    """
    n_pairs = len(pairs.first_rows)
    first_rows = pairs.first_rows[:PAIRS_SHOWN]
    second_rows = pairs.second_rows[:PAIRS_SHOWN]
    shown = [
        f"{row_names[first]} and {row_names[second]}"
        for first, second in zip(first_rows, second_rows, strict=True)
    ]
    if n_pairs > PAIRS_SHOWN:
        shown.append("…")
    likeness = "far more alike than independent rows"
    if np.all(pairs.shares_of_median <= NEARLY_EQUAL_SHARE):
        likeness = "nearly equal"
    pairs_in_words = "; ".join(shown)
    return Finding.warning(
        f"rows {pairs_in_words} are {likeness} ({n_pairs} such pairs); {meaning}."
    )


def near_pairs(X: AnyTable, group_of_row: NDArray[np.int64]) -> NearPairs:
    """Pairs of rows of different groups that are too close to be independent.

    Their squared distance is at most `NEAR_SHARE` times the median over all pairs. It is also so
    small that, with probability 1 − `NEAR_LEVEL`, no pair of independent rows would be so close.
    By Bonferroni, that is so if the probability for one pair, times the number of pairs, is at most
    `NEAR_LEVEL`.

    Parameters
    ----------
    X : numbers of shape (samples, features).
    group_of_row : (samples,) rows with the same number belong together, such as rows of one
        subject.
    """
    values = _standardized(X)
    first_rows, second_rows = np.triu_indices(len(values), 1)  # every pair of rows once
    squares = _squared_distances(values, first_rows, second_rows)  # (all pairs,)

    # Candidates are pairs of different groups that are much closer than most pairs.
    median = float(np.median(squares))
    is_small = squares <= NEAR_SHARE * median
    are_unrelated = group_of_row[first_rows] != group_of_row[second_rows]
    is_candidate = is_small & are_unrelated
    candidates = NearPairs(
        first_rows=first_rows[is_candidate],
        second_rows=second_rows[is_candidate],
        shares_of_median=squares[is_candidate] / max(median, SMALLEST_MEAN),
    )

    # For each candidate, the probability that one pair of independent rows is at least as close,
    # from a scaled χ² distribution with the mean and variance of all squared distances.
    pvalues = _chance_of_closer_rows(squares[is_candidate], squares)  # (candidates,)

    # Equal rows are at least as close as any pair. Where columns have few different values,
    # independent rows may often be equal, which the continuous χ² distribution misses. So the
    # probability of equal rows, the same for all candidates, is a lower bound.
    chance_of_equality = _chance_of_equal_rows(values)
    pvalues = np.maximum(pvalues, chance_of_equality)
    corrected_pvalues = len(squares) * pvalues  # for all pairs of rows (Bonferroni)
    return candidates.subset(corrected_pvalues <= NEAR_LEVEL)


def _standardized(X: AnyTable) -> Floats:
    """The rows and columns to compare, of shape (rows, columns), standardized.

    Of a large table these are the first rows, and evenly spaced columns. Constant columns are left
    out. The others have mean 0 and variance 1 before extreme values are clipped.
    """
    step = -(-X.shape[1] // MOST_COLUMNS_COMPARED)  # rounded up
    values = X[:, ::step][:MOST_ROWS_COMPARED]
    values = values[:, values.std(axis=0) > 0]
    standardized = (values - values.mean(axis=0)) / values.std(axis=0)
    return np.clip(standardized, -LARGEST_STANDARDIZED, LARGEST_STANDARDIZED)


def _squared_distances(
    values: Floats, first: NDArray[np.int64], second: NDArray[np.int64]
) -> Floats:
    """|a − b|² = |a|² + |b|² − 2 a·b for every pair of rows a and b, of shape (pairs,).

    `first` and `second` are the positions of a and b in `values` (rows, columns).
    """
    squared_lengths = np.einsum("ij,ij->i", values, values)
    products = (values @ values.T)[first, second]
    squares = squared_lengths[first] + squared_lengths[second] - 2 * products
    return np.maximum(squares, 0.0)  # rounding may make it negative


def _chance_of_closer_rows(small_squares: Floats, squares: Floats) -> Floats:
    """The probability that two independent rows are at most as far apart as each of some pairs.

    The squared distances d of independent rows are approximated by mean/ν times a χ² variable with
    ν = 2 mean²/variance degrees of freedom, which has the same mean and variance. Then the
    probability is P(χ² ≤ ν d/mean).

    Parameters
    ----------
    small_squares : the squared distances d of the pairs to judge.
    squares : the squared distances of all pairs, of shape (pairs,), for the mean and variance.
    """
    mean = max(float(squares.mean()), SMALLEST_MEAN)
    variance = max(float(squares.var()), SMALLEST_SHARE_OF_VARIANCE * mean**2)
    degrees_of_freedom = 2 * mean**2 / variance
    return chdtr(degrees_of_freedom, degrees_of_freedom * small_squares / mean)


def _chance_of_equal_rows(values: Floats) -> float:
    """The probability that two independent rows are equal, as rows of few different values may be.

    Columns are taken as independent: it is the product, over columns, of the share of pairs of rows
    that agree in the column. A value that occurs in c rows makes c (c − 1)/2 pairs agree.

    Parameters
    ----------
    values : the rows, of shape (rows, columns).
    """
    n_rows = len(values)
    n_pairs = n_rows * (n_rows - 1) / 2
    shares_agreeing = []
    for column in values.T:
        _, counts = np.unique(column, return_counts=True)  # c of each different value
        shares_agreeing.append((counts * (counts - 1)).sum() / (2 * max(n_pairs, 1)))
    return float(np.prod(shares_agreeing))


def _are_equal(X: AnyTable, first: Ints, second: Ints) -> Bools:
    """Which pairs have equal rows in X, of shape (pairs,)."""
    digests = row_digests(X, [*first.tolist(), *second.tolist()])
    equal = [digests[i] == digests[k] for i, k in zip(first, second, strict=True)]
    return np.array(equal, dtype=np.bool_)
