"""Gaps that follow the classes, or small values: filling them in may be all that a test sees."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtr

from chanceline._arrays import Floats
from chanceline.tables.checks.ranks import mann_whitney, warn_if_small
from chanceline.tables.dataset import Finding

# p-value up to which columns of small values are said to have more gaps. It is smaller than that of
# the classes, as no false verdict comes of these gaps.
SMALL_VALUES_LEVEL = 0.01


def warn_if_gaps_follow_classes(
    marks: NDArray[np.bool_], labels: Floats, subject: str, remedy: str
) -> list[Finding]:
    """A warning if gaps, or cells marked for another reason, are more frequent in one class.

    Two tests: the numbers of marks in rows (Mann and Whitney), and the marks of each column
    (Fisher's exact test). Of their p-values the smallest is told, with Bonferroni's factors.

    Parameters
    ----------
    marks : which cells are marked, of shape (samples, columns).
    labels : ±1 of shape (samples,).
    subject, remedy : what the sentence calls the cells, and its end.
    """
    if not marks.any():
        return []
    marks = marks[:, marks.any(axis=0)]  # (samples, columns with marks)
    n_columns = marks.shape[1]
    is_positive = labels > 0

    pvalue_of_rows = mann_whitney(marks.sum(axis=1), labels).pvalue
    smallest_tail = float(_fisher_tails(marks, is_positive).min())
    n_tests = 2  # of the rows, and of the columns
    fisher_factor = n_tests * 2 * n_columns  # two tails of every column
    pvalue = min(1.0, n_tests * pvalue_of_rows, fisher_factor * smallest_tail)
    shares = f"{marks[is_positive].mean():.0%} and {marks[~is_positive].mean():.0%}"
    return warn_if_small(
        pvalue,
        f"{subject} differ between the classes ({shares} of the cells concerned, p = {pvalue:.2g}) "
        f"and may be all the test sees; {remedy}.",
    )


def _fisher_tails(marks: NDArray[np.bool_], is_positive: NDArray[np.bool_]) -> Floats:
    """The smaller tail of Fisher's exact test for each column of marks, of shape (columns,).

    Parameters
    ----------
    marks : which cells are gaps or otherwise marked, of shape (samples, columns).
    is_positive : of shape (samples,).
    """
    from scipy.stats import hypergeom

    n_samples = len(is_positive)
    n_positives = int(is_positive.sum())
    n_marks = marks.sum(axis=0)
    n_marks_of_positives = marks[is_positive].sum(axis=0)
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
    n_features = features.shape[1]
    if n_features <= 2:
        return []
    median_ranks = features.median().rank()
    gap_ranks = features.isna().mean().rank()
    correlation = float(median_ranks.corr(gap_ranks))
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
