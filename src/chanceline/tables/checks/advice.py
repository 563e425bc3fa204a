"""What bears on a verdict about numbers and labels: rows that contradict each other or are too
near, identifiers and the label among the features, traces of labels in how the table was made.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chanceline._arrays import Floats
from chanceline.columns.table import ColumnTable
from chanceline.columns.wide import in_tiles_if_wide
from chanceline.tables.checks.class_fills import warn_of_class_fills
from chanceline.tables.checks.corrected import warn_of_corrected_batches
from chanceline.tables.checks.equal_rows import warn_of_contradictions
from chanceline.tables.checks.filtered import warn_of_filtered_features
from chanceline.tables.checks.label_copies import warn_of_label_copies
from chanceline.tables.checks.lone_columns import warn_of_lone_columns
from chanceline.tables.checks.near_rows import warn_of_near_rows
from chanceline.tables.checks.row_order import order_is_allowed_for, warn_of_drift_along_rows
from chanceline.tables.checks.wide_advice import examine_wide_table
from chanceline.tables.dataset import Dataset, Finding
from chanceline.tables.identifiers import warn_of_identifiers
from chanceline.tables.partitions import first_of_each_group


def examine(
    X: Floats,
    y: Floats,
    names: Sequence[str],
    rows: Sequence[Any] | None = None,
    *,
    look_for_identifiers: bool = True,
) -> list[Finding]:
    """Warnings about equal rows of opposite classes, columns that identify the rows, and columns
    that are copies of the label.

    Parameters
    ----------
    X : finite numbers of shape (samples, features).
    y : labels ±1 of shape (samples,).
    names : the names of the features.
    rows : what messages call each row; None for 1, 2, …
    look_for_identifiers : whether to look for columns that identify the rows. It must be False
        after a transform: a column of ranks, for example, looks like row numbers.
    """
    row_names = rows or range(1, len(X) + 1)
    findings = warn_of_contradictions(X, y, row_names)
    if look_for_identifiers:
        findings += warn_of_identifiers(X, names)
    return [*findings, *warn_of_label_copies(X, y, names)]


def examine_dataset(
    data: Dataset, group_of_row: NDArray[np.int64], *, has_all_candidates: bool = True
) -> list[Finding]:
    """Warnings about the numbers and labels of a table, in the order of the report.

    They concern rows that are too similar, traces of how the table was made (such as features
    selected by the labels), columns that identify the rows, and copies of the label.

    Parameters
    ----------
    data : the table.
    group_of_row : (samples,) rows with the same number belong together, such as those of one
        subject, and may be nearly equal.
    has_all_candidates : False if the features are known to have been selected from more; then
        nothing asks whether they were.
    """
    # A table of very many columns is a `ColumnTable`, of which a few columns are read at a time.
    X = in_tiles_if_wide(data.X)
    if isinstance(X, ColumnTable):
        return examine_wide_table(data, X, group_of_row, ask_if_selected=has_all_candidates)
    row_names = data.rows or range(1, len(data.y) + 1)
    near_row_findings = warn_of_near_rows(X, data.y, group_of_row, row_names)
    trace_findings = _look_for_traces_of_labels(data, X, ask_if_selected=has_all_candidates)
    other_findings = examine(
        X,
        data.y,
        data.feature_names,
        data.rows,
        # If the columns were checked when the table was read, identifiers were looked for then,
        # before any transform. After a transform they look like measurements.
        look_for_identifiers=not data.columns_checked,
    )
    return [*near_row_findings, *trace_findings, *other_findings]


def _look_for_traces_of_labels(data: Dataset, X: Floats, *, ask_if_selected: bool) -> list[Finding]:
    """Warnings about features that were made or selected with the labels, and about a drift along
    the rows.

    Parameters
    ----------
    data : the table.
    X : the numbers of the table in memory, of shape (samples, features).
    ask_if_selected : whether to look for signs that the features were selected by the labels;
        False if it is known that they are a selection.
    """
    # Batches that were taken out of all features by a method that used the labels.
    findings = warn_of_corrected_batches(X, data.y)

    # Gaps that were filled with the mean or median of their class. If the columns were checked when
    # the table was read, such gaps were looked for then.
    if not data.columns_checked:
        findings += warn_of_class_fills(X, data.y, data.feature_names)

    # The tests below need independent rows: the first row of each group.
    independent_X = X
    independent_y = data.y
    if data.groups is not None:
        is_first = first_of_each_group(data.groups, len(data.y))
        independent_X = X[is_first]
        independent_y = data.y[is_first]

    # Columns that alone tell the classes apart, far better than all others, may be made from the
    # labels.
    findings += warn_of_lone_columns(independent_X, independent_y, data.feature_names)
    if ask_if_selected:
        findings += warn_of_filtered_features(independent_X, independent_y)
    # Blocks, pairs or a covariate may already account for a drift along the rows.
    if not order_is_allowed_for(data):
        findings += warn_of_drift_along_rows(independent_X, independent_y)
    return findings
