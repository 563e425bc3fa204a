"""Missing and infinite values: left out with their rows or columns, or filled in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from chanceline._arrays import Bools, Floats, Ints
from chanceline.errors import InputError
from chanceline.tables.checks.gap_patterns import (
    MarkCounts,
    count_marks,
    join_counts,
    warn_if_gaps_follow_small_values,
    warn_if_marks_follow_classes,
)
from chanceline.tables.checks.scans import scan_table
from chanceline.tables.dataset import Finding
from chanceline.tables.partitions import first_of_each_group
from chanceline.tables.wording import plural, quoted, row_name

FILLED_WITH = {
    "median": "the column's median",
    "min": "the column's smallest value",
    "half-min": "half the column's smallest value",
}


class Place(NamedTuple):
    """A cell of a table: the numbers of its row and its column."""

    row: int
    column: int


@dataclass(frozen=True, eq=False)
class Gaps:
    """Cells without a finite number; there is at least one.

    Attributes
    ----------
    n_in_rows : (samples,) how many each row has.
    n_in_columns : (features,) how many each column has.
    compared_counts : how many there are in the rows in which the classes are compared, in the
        columns that have some there.
    compared_labels : ±1 of these rows, (rows,).
    first_place : the first gap of the first column that has one.
    kind : what they are, in words.
    """

    n_in_rows: Ints
    n_in_columns: Ints
    compared_counts: MarkCounts
    compared_labels: Floats
    first_place: Place
    kind: str

    @property
    def row_has_gap(self) -> Bools:
        """Which rows have gaps, of shape (samples,)."""
        return self.n_in_rows > 0

    @property
    def column_has_gap(self) -> Bools:
        """Which columns have gaps, of shape (features,)."""
        return self.n_in_columns > 0

    @property
    def column_is_empty(self) -> Bools:
        """Which columns have nothing but gaps, of shape (features,)."""
        return self.n_in_columns == len(self.n_in_rows)

    @property
    def rows_in_words(self) -> str:
        """How many rows have gaps."""
        return plural(int(self.row_has_gap.sum()), "row")

    @property
    def columns_in_words(self) -> str:
        """How many columns have gaps."""
        return plural(int(self.column_has_gap.sum()), "column")

    def what_can_be_left_out(self) -> list[str]:
        """The choices of `missing` that leave something: columns, rows."""
        choices = []
        if not self.column_has_gap.all():
            choices.append("columns")
        if not self.row_has_gap.all():
            choices.append("rows")
        return choices


class GapsInColumns(NamedTuple):
    """Missing and infinite values of a stretch of columns.

    Attributes
    ----------
    n_in_rows : (samples,) how many each row has.
    n_in_columns : (columns,) how many each column has.
    compared_counts : how many there are in the rows in which the classes are compared.
    first_place : where the first column with a gap has its first; None if there is none.
    has_infinite : whether some are infinite.
    """

    n_in_rows: Ints
    n_in_columns: Ints
    compared_counts: MarkCounts
    first_place: Place | None
    has_infinite: bool


class GapScan:
    """Counts missing and infinite values.

    Parameters
    ----------
    labels : ±1 of shape (samples,).
    groups : rows with the same value belong to one subject, of which only the first row counts
        where classes are compared; None without groups.
    """

    def __init__(self, labels: Floats, groups: pd.Series | None = None) -> None:
        self._is_first_of_group = first_of_each_group(groups, len(labels))
        self._compared_labels = labels[self._is_first_of_group]
        self._compared_counts: list[MarkCounts] = []
        self._n_in_rows = np.zeros(len(labels), dtype=np.int64)
        self._n_in_columns: list[Ints] = []
        self._first_place: Place | None = None
        self._has_infinite = False

    def scan_columns(self, start: int, columns: Floats) -> GapsInColumns:
        """Count the gaps (missing and infinite values) in some columns of a table.

        They are counted in each row, in each column, and by class. By class only the first row of
        each group counts (`_is_first_of_group`), as the rows of a group are not independent.

        Parameters
        ----------
        start : the position of the first of these columns in the table.
        columns : numbers of shape (samples, columns).
        """
        is_gap = ~np.isfinite(columns)
        n_in_columns = is_gap.sum(axis=0)
        first_place = None
        has_infinite = False
        if n_in_columns.any():
            # `argmax` finds the first True: the first column with a gap, and its first gap.
            column = int(np.argmax(n_in_columns > 0))
            row = int(np.argmax(is_gap[:, column]))
            first_place = Place(row=row, column=start + column)
            has_infinite = bool(np.isinf(columns).any())

        gaps_of_independent_rows = is_gap[self._is_first_of_group]  # (independent rows, columns)
        counts_by_class = count_marks(gaps_of_independent_rows, self._compared_labels)
        return GapsInColumns(
            n_in_rows=is_gap.sum(axis=1),
            n_in_columns=n_in_columns,
            compared_counts=counts_by_class,
            first_place=first_place,
            has_infinite=has_infinite,
        )

    def keep(self, start: int, seen: GapsInColumns) -> None:
        self._n_in_rows += seen.n_in_rows
        self._n_in_columns.append(seen.n_in_columns)
        self._compared_counts.append(seen.compared_counts)
        self._first_place = self._first_place or seen.first_place
        self._has_infinite = self._has_infinite or seen.has_infinite

    @property
    def gaps(self) -> Gaps | None:
        """The gaps of all columns seen so far; None if there are none.

        They were counted in stretches of columns, whose counts are joined here.
        """
        if self._first_place is None:
            return None
        kind = "missing values"
        if self._has_infinite:
            kind = "missing or infinite values"
        return Gaps(
            n_in_rows=self._n_in_rows,
            n_in_columns=np.concatenate(self._n_in_columns),
            compared_counts=join_counts(self._compared_counts),
            compared_labels=self._compared_labels,
            first_place=self._first_place,
            kind=kind,
        )


@dataclass(frozen=True)
class CompleteFeatures:
    """Features without gaps.

    Attributes
    ----------
    features : the features in the kept rows, (kept rows, features).
    kept_rows : (samples,) which rows are kept.
    findings : what was done.
    """

    features: pd.DataFrame
    kept_rows: NDArray[np.bool_]
    findings: list[Finding]


def without_gaps(
    features: pd.DataFrame, labels: Floats, missing: str, groups: pd.Series | None
) -> CompleteFeatures:
    """Leave out or fill the gaps (missing or infinite values) of features, as `missing` says.

    Parameters
    ----------
    features : numbers of shape (samples, features), perhaps with gaps.
    labels : ±1 of shape (samples,), used only for messages.
    missing : "error", "rows" or "columns" (leave out those with gaps), or a way to fill:
        "median", "min" or "half-min".
    groups : rows with the same value belong to one subject, of which messages about the classes
        count only the first row; None without groups.
    """
    # Find the gaps.
    scan = GapScan(labels, groups)
    scan_table(features.to_numpy(), [scan])
    gaps = scan.gaps
    all_rows = np.ones(len(features), dtype=bool)  # a mask that keeps every row
    if gaps is None:
        return CompleteFeatures(features, all_rows, [])

    # Raise an error if `missing` does not say what to do about gaps, or would leave nothing.
    imbalance_warnings = warn_of_uneven_gaps(gaps)  # if gaps are more frequent in one class
    check_missing_setting(gaps, missing, imbalance_warnings, features.columns, features.index)

    # Leave gaps out with their columns or rows. In which class they are more frequent does not
    # matter then, so that `imbalance_warnings` are dropped.
    if missing == "columns":
        finding = note_columns_left_out(gaps, features.columns[gaps.column_has_gap])
        kept_columns = ~gaps.column_has_gap
        return CompleteFeatures(features.loc[:, kept_columns], all_rows, [finding])
    if missing == "rows":
        finding = note_rows_left_out(gaps)
        kept_rows = ~gaps.row_has_gap
        return CompleteFeatures(features.loc[kept_rows], kept_rows, [finding])

    # Fill gaps in. A test may then see the pattern of gaps in the filled values. So the warning
    # that they are more frequent in one class is kept.
    filled, findings = _fill(features, gaps, missing)
    return CompleteFeatures(filled, all_rows, [*imbalance_warnings, *findings])


def check_missing_setting(
    gaps: Gaps,
    missing: str,
    imbalance_warnings: list[Finding],
    names: Sequence[Any],
    row_labels: Sequence[Any],
) -> None:
    """Check that the setting `missing` can treat the gaps of a table; else raise an `InputError`.

    It cannot if it is "error", or if leaving out all rows or columns with gaps would leave nothing.

    Parameters
    ----------
    gaps : the missing and infinite values of the table; at least one.
    missing : what to do about gaps: "error", "rows" or "columns" (leave out those with gaps), or a
        way to fill: "median", "min" or "half-min".
    imbalance_warnings : the warning that gaps are more frequent in one class, or an empty list.
    names, row_labels : the names of all columns and of all rows.
    """
    leaves_out = missing in ("rows", "columns")
    leaves_nothing = leaves_out and missing not in gaps.what_can_be_left_out()
    can_be_treated = missing != "error" and not leaves_nothing
    if can_be_treated:
        return

    # The message tells the number of gaps and the first of them, and proposes other settings.
    column_name = str(names[gaps.first_place.column])
    first_row = row_name(row_labels, gaps.first_place.row)
    place = f"column {column_name!r} first, in {first_row}"
    proposal = _proposed_settings(gaps, imbalance_warnings)
    raise InputError(
        f"{gaps.columns_in_words} and {gaps.rows_in_words} have {gaps.kind} ({place}); {proposal}"
    )


def note_columns_left_out(gaps: Gaps, names: Sequence[Any]) -> Finding:
    """The note that the columns with gaps, which have these names, are left out."""
    return Finding.prepared(f"{gaps.columns_in_words} with {gaps.kind} left out: {quoted(names)}.")


def note_rows_left_out(gaps: Gaps) -> Finding:
    """The note that the rows with gaps are left out."""
    return Finding.prepared(f"{gaps.rows_in_words} with {gaps.kind} left out.")


def note_filled(gaps: Gaps, missing: str) -> Finding:
    """The note that gaps were filled in; `missing` is "median", "min" or "half-min"."""
    return Finding.prepared(
        f"{gaps.kind} in {gaps.columns_in_words} filled with {FILLED_WITH[missing]}."
    )


def warn_of_uneven_gaps(gaps: Gaps) -> list[Finding]:
    """A warning if gaps are more frequent in one class.

    Their pattern stays in the test if they are filled in, and not if they are left out.
    """
    ways_to_leave_out = _as_settings(gaps.what_can_be_left_out()) or "no fill"
    return warn_if_marks_follow_classes(
        gaps.compared_counts, gaps.compared_labels, "gaps", f"{ways_to_leave_out} keeps that out"
    )


def _proposed_settings(gaps: Gaps, imbalance_warnings: list[Finding]) -> str:
    """The part of an error message that proposes values of the setting `missing`.

    If gaps are more frequent in one class, only leaving them out is proposed, by the warning.

    Parameters
    ----------
    gaps : the missing and infinite values of the table.
    imbalance_warnings : the warning that gaps are more frequent in one class, or an empty list.
    """
    ways_to_leave_out = gaps.what_can_be_left_out()
    if imbalance_warnings and ways_to_leave_out:
        return imbalance_warnings[0].message
    return f"choose {_as_settings([*ways_to_leave_out, *FILLED_WITH])}."


def _as_settings(choices: list[str]) -> str:
    """The choices of `missing` as they are written: `missing='rows' or missing='columns'`."""
    return " or ".join(f"missing={choice!r}" for choice in choices)


def _fill(features: pd.DataFrame, gaps: Gaps, missing: str) -> tuple[pd.DataFrame, list[Finding]]:
    """Fill gaps in; returns the filled features, and findings about what was done.

    Columns without any number are left out.

    Parameters
    ----------
    features : numbers of shape (samples, features).
    gaps : the missing and infinite values of these features.
    missing : the way to fill: "median", "min" or "half-min".
    """
    is_gap = ~np.isfinite(features.to_numpy())
    features_with_nan = features.mask(is_gap)  # infinite values become NaN as well
    has_numbers = ~gaps.column_is_empty  # (columns,)
    kept_features = features_with_nan.loc[:, has_numbers]
    fill_values = values_to_fill(kept_features, missing)  # (kept columns,)

    # Gaps may stand for small values, which medians hide: a warning. Half of a negative minimum is
    # larger than the minimum, and cannot stand for a smaller value: an error.
    findings = []
    if missing == "median":
        findings += warn_if_gaps_follow_small_values(kept_features)
    if missing == "half-min":
        has_gap = gaps.column_has_gap[has_numbers]  # (kept columns,)
        require_minima_from_0(fill_values[has_gap])
    findings.append(note_filled(gaps, missing))
    return kept_features.fillna(fill_values), findings


def values_to_fill(features: pd.DataFrame, missing: str) -> pd.Series:
    """The value that fills the gaps of each column, by its name.

    Parameters
    ----------
    features : numbers of shape (samples, features), NaN in gaps.
    missing : the way to fill: "median", "min" or "half-min".
    """
    if missing == "median":
        return features.median()
    if missing == "min":
        return features.min()
    if missing == "half-min":
        return features.min() / 2
    raise AssertionError(missing)


def require_minima_from_0(half_minima: pd.Series) -> None:
    """Raise an `InputError` about the first column with a negative value to fill its gaps.

    Half of a negative smallest value is larger than that value, and not below all values.

    Parameters
    ----------
    half_minima : half the smallest value of each column with gaps, by the column's name.
    """
    negative = half_minima.index[half_minima < 0]
    if len(negative) > 0:
        name = str(negative[0])
        raise InputError(
            f"column {name!r} has values below 0, half of which is more; set missing='min'."
        )
