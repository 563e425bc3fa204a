"""Columns called like usual confounders that go with an outcome other than two classes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from chanceline._arrays import Floats
from chanceline.tables.checks.confounders import CONFOUNDED_LEVEL, pvalue_of_labels
from chanceline.tables.column_names import is_called_confounder
from chanceline.tables.dataset import Finding
from chanceline.tables.partitions import determines, first_of_each_group


def warn_of_outcome_confounders(
    table: pd.DataFrame,
    two_class_labels: Sequence[Floats],
    allowed_for: Sequence[pd.Series],
    groups: pd.Series | None,
) -> list[Finding]:
    """A warning for every column called like a confounder that goes with the outcome.

    Parameters
    ----------
    table : columns of the samples.
    two_class_labels : ways to cut the outcome in two, labels ±1 of shape (samples,) each.
    allowed_for : blocks and covariates; nothing is said of a column that one of these determines.
    groups : rows with one value belong together, and count once.
    """
    is_counted = first_of_each_group(groups, len(table))
    findings = []
    for name in table:
        column = table[name]
        is_allowed_for = any(determines(adjusted_for, column) for adjusted_for in allowed_for)
        if not is_called_confounder(name) or is_allowed_for:
            continue

        # The smallest p-value of all cuts counts, times their number (Bonferroni).
        pvalues = [
            pvalue_of_labels(column[is_counted], labels[is_counted]) for labels in two_class_labels
        ]
        pvalue = min(1.0, len(pvalues) * min(pvalues))
        if pvalue <= CONFOUNDED_LEVEL:
            findings.append(
                Finding.warning(
                    f"column {str(name)!r} goes with the outcome (χ² test, p = {pvalue:.1g}); "
                    f"adjust={str(name)!r} asks what the features show beyond it."
                )
            )
    return findings


def one_against_others(classes: pd.Series) -> list[Floats]:
    """1 for a class and −1 for all others, of shape (samples,), for every class."""
    return [np.where(classes == value, 1.0, -1.0) for value in classes.unique()]
