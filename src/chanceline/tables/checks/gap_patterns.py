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
    """A warning if gaps, or cells marked for another reason, are more frequent in one class.

    Parameters
    ----------
    marks : which cells are marked, of shape (samples, columns).
    labels : ±1 of shape (samples,).
    subject, remedy : what the sentence calls the cells, and its end.
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
    """A warning if marked cells are more frequent in one class.

    Two tests: the numbers of marks in rows (Mann and Whitney), and the marks of each column
    (Fisher's exact test). Of their p-values the smallest is told, with Bonferroni's factors.

    Parameters
    ----------
    counts : of the marks.
    labels, subject, remedy : as in `warn_if_gaps_follow_classes`.
    """
    n_columns = len(counts.of_columns)
    if n_columns == 0:
        return []
    is_positive = labels > 0
    pvalue_of_rows = mann_whitney(counts.of_rows.astype(float), labels).pvalue
    smallest_tail = float(_fisher_tails(counts, is_positive).min())
    n_tests = 2  # of the rows, and of the columns
    fisher_factor = n_tests * 2 * n_columns  # two tails of every column
    pvalue = min(1.0, n_tests * pvalue_of_rows, fisher_factor * smallest_tail)
    share_of_positives = counts.of_rows[is_positive].mean() / n_columns
    share_of_negatives = counts.of_rows[~is_positive].mean() / n_columns
    shares = f"{share_of_positives:.0%} and {share_of_negatives:.0%}"
    return warn_if_small(
        pvalue,
        f"{subject} differ between the classes ({shares} of the cells concerned, p = {pvalue:.2g}) "
        f"and may be all the test sees; {remedy}.",
    )


def _fisher_tails(counts: MarkCounts, is_positive: Bools) -> Floats:
    """The smaller tail of Fisher's exact test for each different pair of counts.

    Parameters
    ----------
    counts : of marks.
    is_positive : of shape (samples,).
    """
    from scipy.stats import hypergeom

    n_samples = len(is_positive)
    n_positives = int(is_positive.sum())
    # Many columns have the same counts, and each pair of counts is looked at once.
    pairs = np.unique(np.column_stack([counts.of_columns, counts.of_positives]), axis=0)
    n_marks = pairs[:, 0]
    n_marks_of_positives = pairs[:, 1]
    lower_tails = hypergeom.cdf(n_marks_of_positives, n_samples, n_positives, n_marks)
    upper_tails = hypergeom.sf(n_marks_of_positives - 1, n_samples, n_positives, n_marks)
    return np.minimum(lower_tails, upper_tails)


def warn_if_gaps_follow_small_values(features: pd.DataFrame) -> list[Finding]:
    """A warning if columns of small values have more gaps.

    Spearman's ρ between the columns' medians and their shares of gaps: under independence
    ρ √(n − 1) is standard normal for n columns (asymptotic), and small ρ speak against it. Two
    columns show nothing. Where all medians or all shares are equal ρ is NaN, which warns of
    nothing.

    Parameters
    ----------
    features : numbers of shape (samples, features), gaps NaN.
    """
    return warn_if_gaps_follow_medians(features.median(), features.isna().mean())


def warn_if_gaps_follow_medians(medians: pd.Series, shares_of_gaps: pd.Series) -> list[Finding]:
    """The same warning, from the median and the share of gaps of every column."""
    n_features = len(medians)
    if n_features <= 2:
        return []
    correlation = float(medians.rank().corr(shares_of_gaps.rank()))
    pvalue = float(ndtr(correlation * sqrt(n_features - 1)))
    # Not `pvalue > …`: NaN warns of nothing either.
    if not pvalue <= SMALL_VALUES_LEVEL:
        return []
    return [
        Finding.warning(
            f"columns of small values have more gaps (Spearman {correlation:.2f}, p = "
            f"{pvalue:.2g}), as values below a limit of detection do; the median hides that, "
            "missing='half-min' keeps it."
        )
    ]
