"""Gaps that follow the classes, or small values: filling them in may be all that a test sees."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import ndtr

from chanceline._arrays import Bools, Floats, Ints
from chanceline.tables.checks.ranks import mann_whitney, warn_if_small
from chanceline.tables.dataset import Finding

# p-value up to which columns of small values are said to have more gaps. It is smaller than that of
# the classes, as no false verdict comes of these gaps.
SMALL_VALUES_LEVEL = 0.01


class MarkCounts(NamedTuple):
    """How many cells are marked, in all columns that have marks.

    Attributes
    ----------
    of_rows : (samples,).
    of_columns : (columns with marks,).
    of_positives : the same, in rows of the positive class.
    """

    of_rows: Ints
    of_columns: Ints
    of_positives: Ints


def warn_if_gaps_follow_classes(
    marks: Bools, labels: Floats, subject: str, remedy: str
) -> list[Finding]:
    """A warning if marked cells (gaps, or values below a limit) are more frequent in one class.

    Parameters
    ----------
    marks : which cells are marked, of shape (samples, columns).
    labels : ±1 of shape (samples,).
    subject, remedy : the subject of the warning (what the marked cells are), and its end.
    """
    counts = count_marks(marks, labels)
    return warn_if_marks_follow_classes(counts, labels, subject, remedy)


def count_marks(marks: Bools, labels: Floats) -> MarkCounts:
    """How many cells of an array (samples, columns) are marked; `labels` are ±1."""
    of_columns = marks.sum(axis=0)
    has_marks = of_columns > 0
    return MarkCounts(
        of_rows=marks.sum(axis=1),
        of_columns=of_columns[has_marks],
        of_positives=marks[labels > 0].sum(axis=0)[has_marks],
    )


def join_counts(parts: Sequence[MarkCounts]) -> MarkCounts:
    """The counts of the same rows, from those of tables that stand side by side; at least one."""
    return MarkCounts(
        of_rows=np.sum([part.of_rows for part in parts], axis=0),
        of_columns=np.concatenate([part.of_columns for part in parts]),
        of_positives=np.concatenate([part.of_positives for part in parts]),
    )


def warn_if_marks_follow_classes(
    counts: MarkCounts, labels: Floats, subject: str, remedy: str
) -> list[Finding]:
    """A warning if marked cells (gaps, or values below a limit) are more frequent in one class.

    Parameters
    ----------
    counts : how many cells are marked in each row, and in each column that has marks.
    labels : ±1 of shape (samples,).
    subject, remedy : the subject of the warning (what the marked cells are), and its end.
    """
    n_columns = len(counts.of_columns)
    if n_columns == 0:
        return []
    is_positive = labels > 0
    pvalue = _pvalue_of_marks(counts, labels)
    # The message tells the share of marked cells in each class, among the columns that have marks.
    share_of_positives = counts.of_rows[is_positive].mean() / n_columns
    share_of_negatives = counts.of_rows[~is_positive].mean() / n_columns
    shares = f"{share_of_positives:.0%} and {share_of_negatives:.0%}"
    return warn_if_small(
        pvalue,
        f"{subject} differ between the classes ({shares} of the cells concerned, p = {pvalue:.2g}) "
        f"and may be all the test sees; {remedy}.",
    )


def _pvalue_of_marks(counts: MarkCounts, labels: Floats) -> float:
    """The smaller p-value of two tests, after Bonferroni's correction.

    One is the Mann-Whitney test of the number of marks in each row. The other one is Fisher's exact
    test in each column, of whether a cell is marked against the class of its row.

    Parameters
    ----------
    counts : how many cells are marked in each row, and in each column that has marks.
    labels : ±1 of shape (samples,).
    """
    n_tests = 2
    rows_pvalue = n_tests * mann_whitney(counts.of_rows.astype(float), labels).pvalue

    # Fisher's test of each column has two tails.
    n_tails = 2 * len(counts.of_columns)
    smallest_tail = float(_smaller_fisher_tails(counts, labels > 0).min())
    columns_pvalue = n_tests * n_tails * smallest_tail
    return min(1.0, rows_pvalue, columns_pvalue)


def _smaller_fisher_tails(counts: MarkCounts, is_positive: Bools) -> Floats:
    """The smaller of the two tails of Fisher's exact test, for each different pair of counts.

    A column enters the test by a pair of counts: its number of marked cells, and how many of these
    are in positive rows. Many columns have the same pair, so each different pair is tested once.
    The result has the shape (pairs,).

    Parameters
    ----------
    counts : how many cells of each column are marked.
    is_positive : which rows are positive, of shape (samples,).
    """
    from scipy.stats import hypergeom

    n_samples = len(is_positive)
    n_positives = int(is_positive.sum())
    pairs_of_columns = np.column_stack([counts.of_columns, counts.of_positives])
    pairs = np.unique(pairs_of_columns, axis=0)
    n_marked = pairs[:, 0]
    n_marked_positives = pairs[:, 1]  # marked cells in positive rows

    # If labels are shuffled, the number of marked cells in positive rows is hypergeometric. These
    # are the probabilities that it is at most, and at least, the observed number.
    lower_tails = hypergeom.cdf(n_marked_positives, n_samples, n_positives, n_marked)
    upper_tails = hypergeom.sf(n_marked_positives - 1, n_samples, n_positives, n_marked)
    return np.minimum(lower_tails, upper_tails)


def warn_if_gaps_follow_small_values(features: pd.DataFrame) -> list[Finding]:
    """A warning if columns of small values have more gaps.

    Parameters
    ----------
    features : numbers of shape (samples, features), gaps NaN.
    """
    return warn_if_gaps_follow_medians(features.median(), features.isna().mean())


def warn_if_gaps_follow_medians(medians: pd.Series, shares_of_gaps: pd.Series) -> list[Finding]:
    """A warning if columns with a small median have more gaps.

    The statistic is Spearman's ρ between the medians and the shares of gaps of n columns. Under
    independence it is asymptotically normal with mean 0 and variance 1/(n − 1). The p-value is the
    lower tail: ρ is negative if columns of small values have more gaps.

    Parameters
    ----------
    medians, shares_of_gaps : one number for each feature, of shape (features,).
    """
    n_features = len(medians)
    if n_features <= 2:
        return []  # too few columns for a correlation
    correlation = float(medians.rank().corr(shares_of_gaps.rank()))
    pvalue = float(ndtr(correlation * sqrt(n_features - 1)))
    # Where all medians or all shares are equal, the p-value is NaN. The comparison is then False,
    # and there is no warning.
    is_significant = pvalue <= SMALL_VALUES_LEVEL
    if not is_significant:
        return []
    return [
        Finding.warning(
            f"columns of small values have more gaps (Spearman {correlation:.2f}, p = "
            f"{pvalue:.2g}), as values below a limit of detection do; the median hides that, "
            "missing='half-min' keeps it."
        )
    ]
