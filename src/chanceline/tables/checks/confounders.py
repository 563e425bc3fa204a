"""Columns called like usual confounders (age, sex, batch, …) that go with the classes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.special import chdtrc

from chanceline._arrays import Floats
from chanceline.tables.column_names import is_called_confounder
from chanceline.tables.dataset import Finding
from chanceline.tables.partitions import determines, first_of_each_group

CONFOUNDED_LEVEL = 0.05  # p-value up to which a column is said to go with the classes
MOST_CATEGORIES_OF_NUMBERS = 5  # a number with more values is a measurement
LARGEST_SCALED = 3.0  # standard deviations; what lies beyond counts as if it lay there
FEWEST_ROWS_A_TERM = 5  # on average; text with more values than that is no category


def warn_of_confounders(
    table: pd.DataFrame,
    labels: Floats,
    controlled_columns: Sequence[pd.Series] = (),
    groups: pd.Series | None = None,
) -> list[Finding]:
    """A warning for every column that is named like a usual confounder (age, batch, …) and is
    associated with the classes.

    Parameters
    ----------
    table : columns of the samples, (samples, columns).
    labels : ±1 of shape (samples,).
    controlled_columns : blocks and covariates, which the test already takes into account; there is
        no warning about a column that one of these determines.
    groups : rows with the same value belong to one subject, of which only the first row counts;
        None without groups.
    """
    is_counted = first_of_each_group(groups, len(labels))
    findings = []
    for name in table:
        if not is_called_confounder(name):
            continue
        column = table[name]
        if any(determines(controlled_column, column) for controlled_column in controlled_columns):
            continue
        findings += _warn_if_confounded(column[is_counted], labels[is_counted])
    return findings


def _warn_if_confounded(column: pd.Series, labels: Floats) -> list[Finding]:
    """A warning if the labels depend on the column.

    Parameters
    ----------
    column, labels : a value and ±1 for each sample, of shape (samples,).
    """
    pvalue = pvalue_of_labels(column, labels)
    if pvalue > CONFOUNDED_LEVEL:
        return []
    name = str(column.name)
    return [
        Finding.warning(
            f"column {name!r} goes with the classes (χ² test, p = {pvalue:.1g}); adjust={name!r} "
            "asks what the features show beyond it."
        )
    ]


def pvalue_of_labels(column: pd.Series, labels: Floats) -> float:
    """The p-value of a χ² test of the hypothesis that labels are independent of a column.

    R² is the share of the variance of the n labels that is explained by a regression on the terms
    of the column: indicators of its categories, or a number and its square. Under independence
    n R² has a χ² distribution, with the rank of the terms as degrees of freedom (asymptotically).
    The p-value is 1 if there are too many terms for the number of samples.

    Parameters
    ----------
    column, labels : a value and ±1 for each sample, of shape (samples,).
    """
    terms = _regression_terms(column)  # (samples, terms)
    terms = terms - terms.mean(axis=0)
    # Centred labels would give the same weights, because the terms are centred.
    weights, _, rank, _ = np.linalg.lstsq(terms, labels, rcond=None)
    if rank > len(labels) / FEWEST_ROWS_A_TERM:
        return 1.0
    explained_sum_of_squares = np.sum((terms @ weights) ** 2)
    # With R² = (explained_sum_of_squares/n)/variance, n cancels in n R².
    n_times_r_squared = explained_sum_of_squares / labels.var()
    return float(chdtrc(max(rank, 1), n_times_r_squared))


def _regression_terms(column: pd.Series) -> Floats:
    """The regressors that a column gives, of shape (samples, terms).

    A measurement gives its standardized value and the square of that, gaps counting as the mean. A
    column of words or of few different numbers gives an indicator for each category.
    """
    is_numeric = pd.api.types.is_numeric_dtype(column)
    if not is_numeric or column.nunique() <= MOST_CATEGORIES_OF_NUMBERS:
        return pd.get_dummies(column).to_numpy(dtype=float)
    scaled = (column - column.mean()) / column.std()
    scaled = scaled.clip(-LARGEST_SCALED, LARGEST_SCALED).fillna(0.0)
    return np.column_stack([scaled, scaled**2])
