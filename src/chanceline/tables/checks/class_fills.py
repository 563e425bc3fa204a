"""Gaps that were filled class by class: the mean of a class again and again, there only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chanceline._arrays import Bools, Floats, Ints
from chanceline.columns.table import AnyTable
from chanceline.tables.checks.scans import FoundColumns, scan_table
from chanceline.tables.checks.within_classes import size_of_smaller_class
from chanceline.tables.dataset import Finding
from chanceline.tables.wording import plural, quoted

FEWEST_REPEATS = 3  # of a value in its class
CLOSE_TO_CENTRE = 0.002  # standard deviations, as tables are rounded
FEWEST_FILLED_COLUMNS = 2
NAMES_SHOWN = 3
FIRST_ROWS = 20  # of a class tell most columns of few values


def warn_of_class_fills(X: AnyTable, y: Floats, names: Sequence[Any]) -> list[Finding]:
    """A warning if gaps seem to have been filled class by class.

    Such columns hold the mean or the median of a class several times, and only in that class.

    Parameters
    ----------
    X : numbers of shape (samples, features).
    y : labels ±1 of shape (samples,).
    names : the names of the features.
    """
    scan = ClassFillScan(y)
    scan_table(X, [scan])
    return scan.findings(names)


class ClassFillScan:
    """Looks for columns that were filled class by class.

    Parameters
    ----------
    y : labels ±1 of shape (samples,).
    filled_without_labels : (features,) columns to skip, because their gaps are known to have been
        filled without the labels; None to skip no column.
    """

    def __init__(self, y: Floats, filled_without_labels: Bools | None = None) -> None:
        self._is_positive = y > 0
        self._has_enough_rows = size_of_smaller_class(y) >= FEWEST_REPEATS
        self._filled_without_labels = filled_without_labels
        self._found = FoundColumns()

    def scan_columns(self, start: int, columns: Floats) -> Ints:
        """Positions, among these columns, of those that look filled class by class.

        `start` is the position of the first of them in the table.
        """
        if not self._has_enough_rows:
            return np.zeros(0, dtype=np.int64)
        positions = columns_filled_by_class(columns, self._is_positive)
        if self._filled_without_labels is not None:
            is_skipped = self._filled_without_labels[start + positions]
            positions = positions[~is_skipped]
        return positions

    def keep(self, start: int, seen: Ints) -> None:
        self._found.add(start, seen)

    def findings(self, names: Sequence[Any]) -> list[Finding]:
        """The warning about the columns found, if there are enough of them.

        `names` are the names of all features.
        """
        columns = self._found.numbers
        n_columns = len(columns)
        if n_columns < FEWEST_FILLED_COLUMNS:
            return []
        shown = quoted([names[column] for column in columns.tolist()], NAMES_SHOWN)
        return [
            Finding.warning(
                f"in {plural(n_columns, 'column')} ({shown}) the mean or median of a class stands "
                "again and again, in that class alone, as if gaps had been filled class by class; "
                "leave them empty, and choose missing='median' or missing='columns'."
            )
        ]


def columns_filled_by_class(X: Floats, is_positive: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Positions of the columns whose gaps look filled with the mean or median of a class.

    Parameters
    ----------
    X : numbers of shape (samples, features).
    is_positive : (samples,) True in the rows of the positive class.
    """
    is_negative = ~is_positive
    has_positive_mean = _look_filled_with(X, is_positive, np.mean)
    has_negative_mean = _look_filled_with(X, is_negative, np.mean)

    # A median is one of the measured values, which may repeat by accident in one class but hardly
    # in both. So both classes must be filled with theirs. Medians are slow: the negative class is
    # examined only in the columns whose positive class looks filled.
    has_positive_median = _look_filled_with(X, is_positive, np.median)
    candidates = np.flatnonzero(has_positive_median)
    has_both_medians = np.zeros(X.shape[1], dtype=np.bool_)
    has_both_medians[candidates] = _look_filled_with(X[:, candidates], is_negative, np.median)

    # A fill with the mean or median of all rows does not use the labels, but may be near the mean
    # of a class and occur only there by chance. Such columns are no suspects.
    suspects = np.flatnonzero(has_positive_mean | has_negative_mean | has_both_medians)
    suspect_columns = X[:, suspects]
    all_rows = np.ones(len(X), dtype=np.bool_)
    has_overall_mean = _look_filled_with(suspect_columns, all_rows, np.mean)
    has_overall_median = _look_filled_with(suspect_columns, all_rows, np.median)
    return suspects[~(has_overall_mean | has_overall_median)]


def _look_filled_with(
    X: Floats, in_class: NDArray[np.bool_], centre: Callable[..., Any]
) -> NDArray[np.bool_]:
    """Which columns look filled with the mean or median of a class, of shape (features,).

    Columns in which several values repeat already in the first rows are coarse measurements. There
    may be very many, and they are ruled out quickly, before the full test.

    Parameters
    ----------
    X : numbers of shape (samples, features).
    in_class : (samples,) True in the rows of the class; True everywhere for the whole table.
    centre : np.mean or np.median.
    """
    is_filled = np.zeros(X.shape[1], dtype=np.bool_)
    first_rows_of_class = X[in_class][:FIRST_ROWS]
    # One value may repeat: the fill.
    not_coarse = np.flatnonzero(_n_values_that_repeat(first_rows_of_class) <= 1)
    is_filled[not_coarse] = _only_centre_repeats(X[:, not_coarse], in_class, centre)
    return is_filled


def _n_values_that_repeat(values: Floats) -> Ints:
    """How many different values of each column (rows, columns) occur more than once: (columns,)."""
    ordered = np.sort(values, axis=0)
    is_tie = ordered[1:] == ordered[:-1]
    # Each run of ties is one repeated value, and is counted at its first tie.
    begins_run = is_tie.copy()
    begins_run[1:] &= ~is_tie[:-1]
    return begins_run.sum(axis=0)


def _only_centre_repeats(X: Floats, in_class: Bools, centre: Callable[..., Any]) -> Bools:
    """Which columns look filled with the centre (mean or median) of a class, of shape (features,).

    In such a column one value near the centre, the fill, repeats in the class, and no other value
    does. The fill does not occur outside the class. It is not the smallest or largest value of the
    column, which may repeat because of a limit of detection.

    Parameters
    ----------
    X : numbers of shape (samples, features).
    in_class : (samples,) True in the rows of the class; True everywhere for the whole table.
    centre : np.mean or np.median.
    """
    rows_in_class = X[in_class]
    rows_outside = X[~in_class]

    # If a column was filled, the value of the class nearest to the centre is the fill. It is not
    # exactly the centre if the table was rounded. The arrays from here on have one entry for each
    # column: (features,).
    centres = centre(rows_in_class, axis=0)
    nearest_row = np.argmin(np.abs(rows_in_class - centres), axis=0)
    fills = rows_in_class[nearest_row, np.arange(X.shape[1])]

    is_near = np.abs(fills - centres) <= CLOSE_TO_CENTRE * X.std(axis=0)
    n_occurrences = np.sum(rows_in_class == fills, axis=0)
    repeats = n_occurrences >= FEWEST_REPEATS
    occurs_outside = np.any(rows_outside == fills, axis=0)
    is_extreme = (fills == X.min(axis=0)) | (fills == X.max(axis=0))
    is_filled = is_near & repeats & ~occurs_outside & ~is_extreme

    # No other value may repeat: then the values of the class are all different, except that the
    # fill occurs n times in place of once. This is slow to count, so that only the columns that
    # passed all other tests are counted.
    candidates = np.flatnonzero(is_filled)
    n_repetitions = _n_repetitions(rows_in_class[:, candidates])
    n_repetitions_of_fill = n_occurrences[candidates] - 1
    is_filled[candidates] = n_repetitions == n_repetitions_of_fill
    return is_filled


def _n_repetitions(columns: Floats) -> NDArray[np.int64]:
    """How many rows of each column repeat a value of another row: n − 1 for a value in n rows."""
    ordered = np.sort(columns, axis=0)
    return np.sum(ordered[1:] == ordered[:-1], axis=0)
