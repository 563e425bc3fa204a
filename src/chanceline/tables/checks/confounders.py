"""Columns called like usual confounders (age, sex, batch, …) that go with the classes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.special import chdtrc

from chanceline._arrays import Floats
from chanceline.tables.column_names import is_called_confounder
from chanceline.tables.dataset import Finding
from chanceline.tables.partitions import determines

CONFOUNDED_LEVEL = 0.05  # p-value up to which a column is said to go with the classes
MOST_CATEGORIES_OF_NUMBERS = 5  # a number with more values is a measurement
LARGEST_SCALED = 3.0  # standard deviations; what lies beyond counts as if it lay there
FEWEST_ROWS_A_TERM = 5  # on average; text with more values than that is no category


def warn_of_confounders(
    table: pd.DataFrame, labels: Floats, allowed_for: Sequence[pd.Series] = ()
) -> list[Finding]:
    """A warning for every column called like a confounder that goes with the classes.

    Parameters
    ----------
    table : columns of the samples.
    labels : ±1 of shape (samples,).
    allowed_for : blocks and covariates; nothing is said of a column that one of these determines.
    """
    findings = []
    for name in table:
        if not is_called_confounder(name):
            continue
        column = table[name]
        if any(determines(category, column) for category in allowed_for):
            continue
        findings += _warn_if_confounded(column, labels)
    return findings


def _warn_if_confounded(column: pd.Series, labels: Floats) -> list[Finding]:
    """A warning if the label depends on the column.

    With the label regressed on the n × k centred terms T of the column (`_regression_terms`), and w
    its weights, n·R² = n·(|T w|²/n)/var(labels) is χ² with as many degrees of freedom as T has
    rank (asymptotic; of categories it is Pearson's test).

    Parameters
    ----------
    column, labels : a value and ±1 for each sample, of shape (samples,).
    """
    terms = _regression_terms(column)
    terms = terms - terms.mean(axis=0)
    # Centred terms have the same weights whether the labels are centred or not.
    weights, _, rank, _ = np.linalg.lstsq(terms, labels, rcond=None)
    n_r_squared = np.sum((terms @ weights) ** 2) / labels.var()
    pvalue = float(chdtrc(max(rank, 1), n_r_squared))
    has_few_terms = rank <= len(labels) / FEWEST_ROWS_A_TERM
    is_confounded = pvalue <= CONFOUNDED_LEVEL and has_few_terms
    if not is_confounded:
        return []
    name = str(column.name)
    return [
        Finding.warning(
            f"column {name!r} goes with the classes (χ² test, p = {pvalue:.1g}); adjust={name!r} "
            "asks what the features show beyond it."
        )
    ]


def _regression_terms(column: pd.Series) -> Floats:
    """A number and its square, or an indicator of each category, of shape (samples, terms)."""
    is_numeric = pd.api.types.is_numeric_dtype(column)
    if not is_numeric or column.nunique() <= MOST_CATEGORIES_OF_NUMBERS:
        return pd.get_dummies(column).to_numpy(dtype=float)
    scaled = (column - column.mean()) / column.std()
    scaled = scaled.clip(-LARGEST_SCALED, LARGEST_SCALED).fillna(0.0)
    return np.column_stack([scaled, scaled**2])
