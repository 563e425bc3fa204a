"""Rows whose values are all high or all low, as logarithms of counts of different depth are."""

from __future__ import annotations

import numpy as np

from chanceline._arrays import Floats
from chanceline.columns.table import AnyTable
from chanceline.tables.checks.ranks import mann_whitney
from chanceline.tables.checks.totals import are_counts
from chanceline.tables.checks.within_classes import (
    centred_within,
    class_of_rows,
    evenly_spaced_columns,
    size_of_smaller_class,
)
from chanceline.tables.dataset import Finding

SHIFT_LEVEL = 0.01  # p-value up to which the rows' means are said to tell the classes apart
FEWEST_COLUMNS = 20  # a mean of fewer is no depth
FEWEST_ROWS_OF_CLASS = 3
SHARE_RISING = 0.9  # of the columns, that rise with the mean of the others
# A row of twice the depth has every logarithm larger by the same, so that all columns have the same
# covariance with each other. Of published tables and simulated spectra the median was below half of
# the mean wherever nearly all columns rise together, but for one table.
SMALLEST_RATIO = 0.75  # of the median covariance to the mean
MOST_COLUMNS_PAIRED = 300  # whose covariances are compared


def warn_if_row_means_follow_classes(X: Floats, y: Floats) -> list[Finding]:
    """A warning if rows differ by a shift of all their values, and the shift tells the classes
    apart.

    Such rows look like logarithms of counts of different depth: within the classes nearly all
    columns rise and fall together, by the same amount. The shift is measured by a row's mean.

    Parameters
    ----------
    X : numbers of shape (samples, features).
    y : labels ±1 of shape (samples,).
    """
    if X.shape[1] < FEWEST_COLUMNS or size_of_smaller_class(y) < FEWEST_ROWS_OF_CLASS:
        return []
    if are_counts(X):
        return []  # another check compares the totals of counts
    return warn_of_shifted_rows(X, y, X.mean(axis=1))


def warn_of_shifted_rows(X: AnyTable, y: Floats, row_means: Floats) -> list[Finding]:
    """A warning if rows differ by a shift of all their values, and the shift tells the classes
    apart.

    Such rows look like logarithms of counts of different depth: within the classes nearly all
    columns rise and fall together, by the same amount. The shift is measured by a row's mean.

    Parameters
    ----------
    X : numbers of shape (samples, features), which are no counts.
    y : labels ±1 of shape (samples,).
    row_means : the mean of each row of X, of shape (samples,).
    """
    if size_of_smaller_class(y) < FEWEST_ROWS_OF_CLASS:
        return []
    area, pvalue = mann_whitney(row_means, y)
    if pvalue > SHIFT_LEVEL or not rows_are_shifted(X, y):
        return []
    return [
        Finding.warning(
            "nearly all columns rise and fall together from row to row, and the rows' means alone "
            f"tell the classes apart (area under the curve {max(area, 1 - area):.2f}, p = "
            f"{pvalue:.2g}), as logarithms of counts of different depth do; transform='centre' "
            "takes the rows' means out, transform='none' says that they are meant."
        )
    ]


def rows_are_shifted(X: AnyTable, y: Floats) -> bool:
    """Whether, within the classes, nearly every column rises with the mean of the others, and all
    by the same amount.

    Parameters
    ----------
    X : numbers of shape (samples, features).
    y : labels ±1 of shape (samples,).
    """
    return columns_rise_alike(centred_within(evenly_spaced_columns(X), class_of_rows(y)))


def columns_rise_alike(values: Floats) -> bool:
    """Whether nearly every column rises with the mean of the others, and all by the same amount.

    If all rise by the same amount, all pairs of columns have the same covariance, so that the
    median of the covariances is close to their mean.

    Parameters
    ----------
    values : centred columns, of shape (samples, columns).
    """
    share_rising = float(np.mean(covariances_with_others(values) > 0))
    if share_rising < SHARE_RISING:
        return False
    covariances = _covariances_of_pairs(evenly_spaced_columns(values, MOST_COLUMNS_PAIRED))
    return float(np.median(covariances)) >= SMALLEST_RATIO * float(np.mean(covariances))


def covariances_with_others(values: Floats) -> Floats:
    """The covariance of each column with the mean of all other columns, of shape (columns,).

    With s the sum of all n columns, the mean of all columns but x is (s − x)/(n − 1), and
    cov(x, s − x) = cov(x, s) − var(x).

    Parameters
    ----------
    values : centred columns, of shape (samples, columns).
    """
    n_samples, n_columns = values.shape
    row_sums = values.sum(axis=1)
    covariances_with_sum = row_sums @ values / n_samples
    variances = np.mean(values**2, axis=0)
    return (covariances_with_sum - variances) / (n_columns - 1)


def _covariances_of_pairs(values: Floats) -> Floats:
    """The covariance of every pair of centred columns (samples, columns), once: (pairs,)."""
    covariances = values.T @ values / len(values)
    first_columns, second_columns = np.triu_indices(values.shape[1], 1)
    return covariances[first_columns, second_columns]
