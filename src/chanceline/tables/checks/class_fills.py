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
    """A warning if columns hold the mean or the median of a class again and again, in that class
    alone.

    Parameters
    ----------
    X, y : numbers of shape (samples, features), and labels ±1 of shape (samples,).
    names : of the features.
    """
    scan = ClassFillScan(y)
    scan_table(X, [scan])
    return scan.findings(names)


class ClassFillScan:
    """Looks for columns that were filled class by class.

    Parameters
    ----------
    y : labels ±1 of shape (samples,).
    is_known_blind : (features,) columns that are passed over, as what fills them is known not to
        look at the labels; None for none of them.
    """

    def __init__(self, y: Floats, is_known_blind: Bools | None = None) -> None:
        self._is_positive = y > 0
        self._has_enough_rows = size_of_smaller_class(y) >= FEWEST_REPEATS
        self._is_known_blind = is_known_blind
        self._found = FoundColumns()

    def look(self, start: int, columns: Floats) -> Ints:
        """Places of the columns that look filled."""
        if not self._has_enough_rows:
            return np.zeros(0, dtype=np.int64)
        places = columns_filled_by_class(columns, self._is_positive)
        if self._is_known_blind is not None:
            places = places[~self._is_known_blind[start + places]]
        return places

    def keep(self, start: int, seen: Ints) -> None:
        self._found.add(start, seen)

    def findings(self, names: Sequence[Any]) -> list[Finding]:
        """The warning about the columns found, if there are enough; `names` of all features."""
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
    is_positive : the rows of one class, of shape (samples,).
    """
    is_negative = ~is_positive
    has_mean = _is_filled(X, is_positive, np.mean) | _is_filled(X, is_negative, np.mean)

    # A median is one of the values and may recur by accident, but hardly in both classes. As
    # medians take longer, the second class is looked at only in columns that fit in the first.
    has_medians = _is_filled(X, is_positive, np.median)
    fit_in_first = np.flatnonzero(has_medians)
    has_medians[fit_in_first] = _is_filled(X[:, fit_in_first], is_negative, np.median)

    # Leave out fills with the mean or median of all rows, which do not look at the labels: they may
    # happen to be near the mean of a class, and in that class alone.
    suspects = np.flatnonzero(has_mean | has_medians)
    suspect_columns = X[:, suspects]
    all_rows = np.ones(len(X), dtype=np.bool_)
    has_overall_mean = _is_filled(suspect_columns, all_rows, np.mean)
    has_overall_median = _is_filled(suspect_columns, all_rows, np.median)
    return suspects[~(has_overall_mean | has_overall_median)]


def _is_filled(
    X: Floats, in_class: NDArray[np.bool_], centre: Callable[..., Any]
) -> NDArray[np.bool_]:
    """Which columns have a value near the centre several times in a class, and never outside; of
    shape (features,).

    The smallest and the largest value of a column may repeat for other reasons (limits), and where
    other values repeat too, the column is a coarse one.

    Parameters
    ----------
    X : numbers of shape (samples, features).
    in_class : the rows of the class, or all of them, of shape (samples,).
    centre : the mean or the median, a function of an array and an axis.
    """
    is_filled = np.zeros(X.shape[1], dtype=np.bool_)
    # The first rows tell coarse columns, of which there may be very many.
    fine = np.flatnonzero(_n_values_that_repeat(X[in_class][:FIRST_ROWS]) <= 1)
    is_filled[fine] = _are_filled_with_centre(X[:, fine], in_class, centre)
    return is_filled


def _n_values_that_repeat(values: Floats) -> Ints:
    """How many different values of each column (rows, columns) occur more than once: (columns,)."""
    ordered = np.sort(values, axis=0)
    is_tie = ordered[1:] == ordered[:-1]
    begins_run = is_tie.copy()
    begins_run[1:] &= ~is_tie[:-1]
    return begins_run.sum(axis=0)


def _are_filled_with_centre(X: Floats, in_class: Bools, centre: Callable[..., Any]) -> Bools:
    """Which columns look filled with the centre of a class: one value near it repeats, no other
    value does, and it is neither found outside the class nor an extreme of the column.

    Parameters
    ----------
    X : numbers of shape (samples, features).
    in_class : the rows of the class, or all of them, of shape (samples,).
    centre : np.mean or np.median.
    """
    rows_in_class = X[in_class]
    rows_outside = X[~in_class]

    # The value nearest to the centre is the fill, if there is one.
    centres = centre(rows_in_class, axis=0)  # like all arrays below: (features,)
    nearest_row = np.argmin(np.abs(rows_in_class - centres), axis=0)
    fill = rows_in_class[nearest_row, np.arange(X.shape[1])]
    is_near = np.abs(fill - centres) <= CLOSE_TO_CENTRE * X.std(axis=0)
    n_repeats = np.sum(rows_in_class == fill, axis=0)
    occurs_outside = np.any(rows_outside == fill, axis=0)
    is_extreme = (fill == X.min(axis=0)) | (fill == X.max(axis=0))
    is_filled = is_near & (n_repeats >= FEWEST_REPEATS) & ~occurs_outside & ~is_extreme

    # Counting ties takes longer: it is left for the few columns that are candidates.
    candidates = np.flatnonzero(is_filled)
    n_ties = _count_ties(rows_in_class[:, candidates])
    n_ties_of_fill = n_repeats[candidates] - 1
    is_filled[candidates] = n_ties == n_ties_of_fill
    return is_filled


def _count_ties(columns: Floats) -> NDArray[np.int64]:
    """How many values of each column equal the one before in order: n − 1 for n equal values."""
    ordered = np.sort(columns, axis=0)
    return np.sum(ordered[1:] == ordered[:-1], axis=0)
