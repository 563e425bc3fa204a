"""What bears on a verdict about a table whose columns are read a tile at a time.

The questions are those of `advice`. All that needs every column is answered in one pass, and the
rest by evenly spaced columns.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from chanceline._arrays import Floats, Ints
from chanceline.columns.table import ColumnTable
from chanceline.tables.checks.class_fills import ClassFillScan
from chanceline.tables.checks.corrected import warn_of_corrected_batches
from chanceline.tables.checks.correlations import CorrelationScan
from chanceline.tables.checks.equal_rows import warn_of_contradictions
from chanceline.tables.checks.filtered import warn_of_filtered_table
from chanceline.tables.checks.label_copies import LabelCopyScan
from chanceline.tables.checks.lone_columns import MOST_RANKED, question_lone_columns
from chanceline.tables.checks.near_rows import warn_of_near_rows
from chanceline.tables.checks.row_order import order_is_allowed_for, warn_of_drift_along_rows
from chanceline.tables.checks.scans import ColumnScan, scan_table
from chanceline.tables.checks.within_classes import evenly_spaced_columns
from chanceline.tables.dataset import Dataset, Finding
from chanceline.tables.identifiers import IdentifierScan
from chanceline.tables.partitions import first_of_each_group


class _TableScans:
    """One pass over all columns of a table, for several checks.

    Parameters
    ----------
    data : the table.
    X : the columns of the table, (samples, features), read a tile at a time.
    independent_rows : (rows,) the position of one row of each group.
    """

    def __init__(self, data: Dataset, X: ColumnTable, independent_rows: Ints) -> None:
        """Make the scans, and pass all columns of X through those that are needed.

        A scan looks for one thing in all columns, such as copies of the label. Each keeps its
        results, which the methods of this class ask for.
        """
        self._names = data.feature_names
        self.correlations = CorrelationScan(data.y[independent_rows], independent_rows)
        self._label_copies = LabelCopyScan(data.y)
        self._class_fills = ClassFillScan(data.y)
        self._identifiers = IdentifierScan(data.feature_names)

        scans: list[ColumnScan] = [self.correlations, self._label_copies]
        # If the columns were checked when the table was read, gaps filled class by class and
        # identifiers were looked for then. A scan that is not run here finds nothing.
        if not data.columns_checked:
            scans += [self._class_fills, self._identifiers]
        scan_table(X, scans)

    def class_fill_findings(self) -> list[Finding]:
        """The warning about columns that were filled class by class, if there are some."""
        return self._class_fills.findings(self._names)

    def column_findings(self) -> list[Finding]:
        """Warnings about columns that name the rows, or are the label over again."""
        return [*self._identifiers.findings(), *self._label_copies.findings(self._names)]


class _IndependentRows(NamedTuple):
    """One row of each group: tests of columns need rows that do not depend on each other."""

    y: Floats  # their labels, (rows,)
    X: ColumnTable  # all columns, (rows, features); read when they are asked for
    some_columns: Floats  # evenly spaced columns, (rows, some features)


def examine_wide_table(
    data: Dataset, X: ColumnTable, group_of_row: Ints, *, ask_if_selected: bool
) -> list[Finding]:
    """Warnings about the numbers and labels of a table that is not in memory, in the order of the
    report.

    Parameters
    ----------
    data : the table.
    X : the columns of the table, (samples, features), read a tile at a time.
    group_of_row : (samples,) rows with the same number belong together, such as those of one
        subject.
    ask_if_selected : whether to look for signs that the features were selected by the labels;
        False if it is known that they are a selection.
    """
    y = data.y
    row_names = data.rows or range(1, len(y) + 1)

    # Tests of columns need independent rows: the first of each group.
    first_rows = np.flatnonzero(first_of_each_group(data.groups, len(y)))
    # One pass over all columns, for several checks whose results are asked for below.
    scans = _TableScans(data, X, first_rows)
    # Evenly spaced columns: enough to see what affects many columns, and few enough for memory.
    some_columns = evenly_spaced_columns(X)  # (samples, some features)
    independent_rows = _IndependentRows(
        y=y[first_rows],
        X=X.rows(first_rows),
        some_columns=some_columns[first_rows],
    )

    return [
        # Rows that are too similar.
        *warn_of_near_rows(X, y, group_of_row, row_names),
        # Features that were made or selected with the labels.
        *warn_of_corrected_batches(some_columns, y),
        *scans.class_fill_findings(),  # gaps filled with the mean or median of their class
        *_examine_independent_rows(data, independent_rows, scans.correlations, ask_if_selected),
        # Equal rows of opposite classes.
        *warn_of_contradictions(X, y, row_names),
        # Columns that name the rows or copy the label.
        *scans.column_findings(),
    ]


def _examine_independent_rows(
    data: Dataset,
    rows: _IndependentRows,
    correlation_scan: CorrelationScan,
    ask_if_selected: bool,
) -> list[Finding]:
    """Warnings about columns that alone tell the classes apart, features that were selected by the
    labels, and a drift along the rows.

    Parameters
    ----------
    data : the table.
    rows : one row of each group, with their labels.
    correlation_scan : holds the correlations of all columns with the labels, in these rows.
    ask_if_selected : whether to look for signs that the features were selected by the labels;
        False if it is known that they are a selection.
    """
    candidates = correlation_scan.most_correlated(MOST_RANKED)  # positions of columns
    candidate_values = rows.X[:, candidates]
    findings = question_lone_columns(
        candidates, candidate_values, y=rows.y, names=data.feature_names
    )
    if ask_if_selected:
        findings += warn_of_filtered_table(rows.X, rows.y, correlation_scan.correlations)
    if not order_is_allowed_for(data):
        findings += warn_of_drift_along_rows(rows.some_columns, rows.y)
    return findings
