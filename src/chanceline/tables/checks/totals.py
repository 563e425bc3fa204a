"""Tables of counts, and whether the totals of their rows tell the classes apart."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from chanceline._arrays import Floats
from chanceline.columns.table import AnyTable, ColumnTable
from chanceline.perceptron.blocks import column_blocks
from chanceline.tables.checks.ranks import mann_whitney, warn_if_small
from chanceline.tables.checks.scans import scan_table
from chanceline.tables.dataset import Finding

# A table of counts has enough columns with enough different large values. Answers of a survey are
# small codes, perhaps with 77, 88 and 99 for none, and an age or two stands beside them.
FEWEST_COUNTED_COLUMNS = 10
FEWEST_LARGE_VALUES = 4
SMALLEST_LARGE_VALUE = 10
STEP_OF_SCALES = 5  # of scales from 0 to 100, which are no counts


def warn_if_totals_follow_classes(X: AnyTable, labels: Floats) -> list[Finding]:
    """A warning if X (samples, features) holds counts, and the totals of its rows tell the classes
    apart. `labels` are ±1 of shape (samples,).
    """
    # A table that is not in memory is read once, for both questions.
    if isinstance(X, ColumnTable):
        scan = CountScan(len(X))
        scan_table(X, [scan])
        if not scan.are_counts:
            return []
        return warn_of_totals(scan.row_totals, labels)
    if not are_counts(X):
        return []
    return warn_of_totals(X.sum(axis=1), labels)


def warn_of_totals(totals: Floats, labels: Floats) -> list[Finding]:
    """A warning if totals of counts (samples,) tell the classes apart; `labels` are ±1."""
    area, pvalue = mann_whitney(totals, labels)
    return warn_if_small(
        pvalue,
        "the table holds counts, and the totals of its rows alone tell the classes apart (area "
        f"under the curve {max(area, 1 - area):.2f}, p = {pvalue:.2g}), so that depth looks like "
        "structure; transform='clr' or transform='cpm' takes it out, transform='none' says that "
        "totals are meant.",
    )


def are_counts(X: Floats) -> bool:
    """Whether a table of shape (samples, features) holds counts.

    All its numbers are whole and not negative, and enough columns take several large values, not
    all of which are steps of a scale from 0 to 100.
    """
    # One row tells most other tables from counts.
    if not _are_natural_numbers(X[0]):
        return False
    # A block of columns at a time, as each comparison copies the columns.
    if not all(_are_natural_numbers(X[:, block]) for block in column_blocks(X)):
        return False
    return _n_count_columns(X, FEWEST_COUNTED_COLUMNS) >= FEWEST_COUNTED_COLUMNS


class CountsInColumns(NamedTuple):
    """What shows whether a stretch of columns holds counts.

    Attributes
    ----------
    row_totals : (samples,) the sum of each row over these columns.
    are_natural_numbers : whether all numbers are whole and not negative.
    n_count_columns : the number of columns with several large values; counting stops when there are
        enough. 0 if the numbers are not all whole and not negative.
    """

    row_totals: Floats
    are_natural_numbers: bool = False
    n_count_columns: int = 0


class CountScan:
    """Whether a table holds counts, and the totals of its rows.

    Parameters
    ----------
    n_samples : rows of the table.
    """

    def __init__(self, n_samples: int) -> None:
        self.row_totals: Floats = np.zeros(n_samples)
        self._are_natural_numbers = True
        self._n_count_columns = 0

    @property
    def are_counts(self) -> bool:
        """Whether the columns seen so far are counts: whole, not negative, often large."""
        return self._are_natural_numbers and self._n_count_columns >= FEWEST_COUNTED_COLUMNS

    def scan_columns(self, start: int, columns: Floats) -> CountsInColumns:
        """The row totals of these columns, and whether they look like counts.

        Parameters
        ----------
        start : the position of the first column in the table. All scans get it; this one does not
            need it.
        columns : numbers of shape (samples, columns).
        """
        row_totals = columns.sum(axis=1)
        # The first row rules most tables without counts out quickly.
        are_natural_numbers = _are_natural_numbers(columns[0]) and _are_natural_numbers(columns)
        if not are_natural_numbers:
            return CountsInColumns(row_totals, are_natural_numbers=False)
        return CountsInColumns(
            row_totals,
            are_natural_numbers=True,
            n_count_columns=_n_count_columns(columns, FEWEST_COUNTED_COLUMNS),
        )

    def keep(self, start: int, seen: CountsInColumns) -> None:
        self.row_totals += seen.row_totals
        self._are_natural_numbers = self._are_natural_numbers and seen.are_natural_numbers
        self._n_count_columns += seen.n_count_columns


def _n_count_columns(values: Floats, at_most: int) -> int:
    """How many columns look like counts, rather than codes or scores on a scale.

    Such a column takes several different large values, not all of which are steps of a scale
    (10, 25, 50, …).

    Parameters
    ----------
    values : whole numbers of shape (samples, columns).
    at_most : counting stops at this number, to save time.
    """
    n_count_columns = 0
    # Only columns with a large number are looked at one by one.
    has_large_value = values.max(axis=0) >= SMALLEST_LARGE_VALUE
    for position in np.flatnonzero(has_large_value):
        if n_count_columns >= at_most:
            break
        column = values[:, position]
        large_values = np.unique(column[column >= SMALLEST_LARGE_VALUE])
        has_several = len(large_values) >= FEWEST_LARGE_VALUES
        is_scale = np.all(large_values % STEP_OF_SCALES == 0)
        if has_several and not is_scale:
            n_count_columns += 1
    return n_count_columns


def _are_natural_numbers(values: Floats) -> bool:
    """Whether all numbers are whole and not negative."""
    return bool(np.all((values >= 0) & (np.round(values) == values)))
