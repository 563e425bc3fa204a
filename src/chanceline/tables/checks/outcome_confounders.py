"""Columns called like usual confounders that go with an outcome other than two classes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from chanceline._arrays import Floats
from chanceline.tables.checks.confounders import (
    CONFOUNDED_LEVEL,
    MOST_CATEGORIES_OF_NUMBERS,
    pvalue_of_labels,
)
from chanceline.tables.column_names import is_called_confounder
from chanceline.tables.dataset import Finding
from chanceline.tables.partitions import determines, first_of_each_group


def warn_of_outcome_confounders(
    table: pd.DataFrame,
    two_class_labels: Sequence[Floats],
    controlled_columns: Sequence[pd.Series],
    groups: pd.Series | None,
    *,
    adjusts_for_numbers: bool,
) -> list[Finding]:
    """A warning for every column that is named like a usual confounder (age, batch, …) and is
    associated with the outcome.

    Parameters
    ----------
    table : columns of the samples, (samples, columns).
    two_class_labels : ways to divide the outcome into two classes, labels ±1 of shape (samples,)
        each. A column is tested against all of them.
    controlled_columns : blocks and covariates, which the test already takes into account; there is
        no warning about a column that one of these determines.
    groups : rows with the same value belong to one subject, of which only the first row counts;
        None without groups.
    adjusts_for_numbers : whether the test of this outcome can adjust for numeric covariates, and
        not only for categories. It decides which remedy the warning proposes.
    """
    is_counted = first_of_each_group(groups, len(table))  # (samples,)
    findings = []
    for name in table:
        column = table[name]
        if not is_called_confounder(name):
            continue
        if any(determines(controlled_column, column) for controlled_column in controlled_columns):
            continue
        counted_labels = [labels[is_counted] for labels in two_class_labels]
        pvalue = _smallest_pvalue(column[is_counted], counted_labels)
        if pvalue <= CONFOUNDED_LEVEL:
            findings.append(_confounder_warning(column, pvalue, adjusts_for_numbers))
    return findings


def _smallest_pvalue(column: pd.Series, two_class_labels: Sequence[Floats]) -> float:
    """The smallest p-value of a column, over all divisions of the outcome into two classes, after
    Bonferroni's correction.
    """
    pvalues = [pvalue_of_labels(column, labels) for labels in two_class_labels]
    return min(1.0, len(pvalues) * min(pvalues))


def _confounder_warning(column: pd.Series, pvalue: float, adjusts_for_numbers: bool) -> Finding:
    """The warning that a column goes with the outcome, and how to allow for it."""
    name = repr(str(column.name))
    remedy = f"adjust={name} asks"
    if _is_measurement(column) and not adjusts_for_numbers:
        remedy = "a column that cuts it into few categories, with blocks=COLUMN, asks"
    return Finding.warning(
        f"column {name} goes with the outcome (χ² test, p = {pvalue:.1g}); "
        f"{remedy} what the features show beyond it."
    )


def _is_measurement(column: pd.Series) -> bool:
    """Whether a column holds numbers of too many values for categories."""
    return pd.api.types.is_numeric_dtype(column) and column.nunique() > MOST_CATEGORIES_OF_NUMBERS


def one_against_others(classes: pd.Series) -> list[Floats]:
    """1 for a class and −1 for all others, of shape (samples,), for every class."""
    return [np.where(classes == value, 1.0, -1.0) for value in classes.unique()]
