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
    of_rows : (samples,) how many each row has.
    of_columns : (features,) how many each column has.
    compared : how many there are in the rows in which the classes are compared, in the columns that
        have some there.
    compared_labels : ±1 of these rows, (rows,).
    first : the first gap of the first column that has one.
    kind : what they are, in words.
    """

    of_rows: Ints
    of_columns: Ints
    compared: MarkCounts
    compared_labels: Floats
    first: Place
    kind: str

    @property
    def row_has_gap(self) -> Bools:
        """Which rows have gaps, of shape (samples,)."""
        return self.of_rows > 0

    @property
    def column_has_gap(self) -> Bools:
        """Which columns have gaps, of shape (features,)."""
        return self.of_columns > 0

    @property
    def column_is_empty(self) -> Bools:
        """Which columns have nothing but gaps, of shape (features,)."""
        return self.of_columns == len(self.of_rows)

    @property
    def rows_in_words(self) -> str:
        """How many rows have gaps."""
        return plural(int(self.row_has_gap.sum()), "row")

    @property
    def columns_in_words(self) -> str:
        """How many columns have gaps."""
        return plural(int(self.column_has_gap.sum()), "column")

    def can_be_left_out(self) -> list[str]:
        """The choices of `missing` that leave something: columns, rows."""
        choices = []
        if not self.column_has_gap.all():
            choices.append("columns")
        if not self.row_has_gap.all():
            choices.append("rows")
        return choices


class GapScan:
    """Counts missing and infinite values.

    Parameters
    ----------
    labels : ±1 of shape (samples,).
    groups : rows with one value belong together, and count once where classes are compared.
    """

    def __init__(self, labels: Floats, groups: pd.Series | None = None) -> None:
        self._is_compared = first_of_each_group(groups, len(labels))
        self._compared_labels = labels[self._is_compared]
        self._compared: list[MarkCounts] = []
        self._of_rows = np.zeros(len(labels), dtype=np.int64)
        self._of_columns: list[Ints] = []
        self._first: Place | None = None
        self._has_infinite = False

    def see(self, start: int, columns: Floats) -> None:
        """Count the gaps of columns (samples, columns) whose first has the number `start`."""
        is_gap = ~np.isfinite(columns)
        n_gaps_of_columns = is_gap.sum(axis=0)
        self._of_rows += is_gap.sum(axis=1)
        self._of_columns.append(n_gaps_of_columns)
        self._compared.append(count_marks(is_gap[self._is_compared], self._compared_labels))
        if not n_gaps_of_columns.any():
            return
        self._has_infinite = self._has_infinite or bool(np.isinf(columns).any())
        if self._first is None:
            # The first True: the first of these columns that has a gap, and its first row there.
            column = int(np.argmax(n_gaps_of_columns > 0))
            row = int(np.argmax(is_gap[:, column]))
            self._first = Place(row=row, column=start + column)

    @property
    def gaps(self) -> Gaps | None:
        """The gaps of all columns seen; None if there are none."""
        if self._first is None:
            return None
        kind = "missing values"
        if self._has_infinite:
            kind = "missing or infinite values"
        return Gaps(
            of_rows=self._of_rows,
            of_columns=np.concatenate(self._of_columns),
            compared=join_counts(self._compared),
            compared_labels=self._compared_labels,
            first=self._first,
            kind=kind,
        )


@dataclass(frozen=True)
class CompleteFeatures:
    """Features without gaps.

    Attributes
    ----------
    features : of shape (rows that are kept, features).
    kept_rows : of shape (samples,).
    findings : what was done.
    """

    features: pd.DataFrame
    kept_rows: NDArray[np.bool_]
    findings: list[Finding]


def without_gaps(
    features: pd.DataFrame, labels: Floats, missing: str, groups: pd.Series | None
) -> CompleteFeatures:
    """Features without missing or infinite values, treated as `missing` says.

    Parameters
    ----------
    features : numbers of shape (samples, features).
    labels : ±1 of shape (samples,), for sentences only.
    missing : error, rows, columns, or a key of `FILLED_WITH`.
    groups : rows with one value belong together, and count once in sentences on classes.
    """
    all_rows = np.ones(len(features), dtype=bool)
    scan = GapScan(labels, groups)
    scan_table(features.to_numpy(), [scan])
    gaps = scan.gaps
    if gaps is None:
        return CompleteFeatures(features, all_rows, [])

    uneven_findings = warn_of_uneven_gaps(gaps)
    refuse_gaps(gaps, missing, uneven_findings, features.columns, features.index)

    # What is left out takes the pattern of gaps with it, so that it needs no warning.
    if missing == "columns":
        finding = note_columns_left_out(gaps, features.columns[gaps.column_has_gap])
        return CompleteFeatures(features.loc[:, ~gaps.column_has_gap], all_rows, [finding])
    if missing == "rows":
        finding = note_rows_left_out(gaps)
        return CompleteFeatures(features.loc[~gaps.row_has_gap], ~gaps.row_has_gap, [finding])
    # What is filled in keeps the pattern in the test.
    filled, findings = _fill(features, gaps, missing)
    return CompleteFeatures(filled, all_rows, [*uneven_findings, *findings])


def refuse_gaps(
    gaps: Gaps,
    missing: str,
    uneven_findings: list[Finding],
    names: Sequence[Any],
    row_labels: Sequence[Any],
) -> None:
    """Raise an error if nobody said what to do about gaps, or nothing would be left.

    Parameters
    ----------
    gaps : missing and infinite values.
    missing : what to do about them: error, rows, columns, or a way to fill.
    uneven_findings : the warning that gaps follow the classes, if they do.
    names, row_labels : what all columns and rows are called.
    """
    leaves_nothing = missing in ("rows", "columns") and missing not in gaps.can_be_left_out()
    if missing != "error" and not leaves_nothing:
        return
    name = str(names[gaps.first.column])
    place = f"column {name!r} first, in {row_name(row_labels, gaps.first.row)}"
    raise InputError(
        f"{gaps.columns_in_words} and {gaps.rows_in_words} have {gaps.kind} ({place}); "
        f"{_choices(gaps, uneven_findings)}"
    )


def note_columns_left_out(gaps: Gaps, names: Sequence[Any]) -> Finding:
    """That the columns with gaps, which are called so, are left out."""
    return Finding.prepared(f"{gaps.columns_in_words} with {gaps.kind} left out: {quoted(names)}.")


def note_rows_left_out(gaps: Gaps) -> Finding:
    """That the rows with gaps are left out."""
    return Finding.prepared(f"{gaps.rows_in_words} with {gaps.kind} left out.")


def note_filled(gaps: Gaps, missing: str) -> Finding:
    """That gaps were filled in, `missing` a key of `FILLED_WITH`."""
    return Finding.prepared(
        f"{gaps.kind} in {gaps.columns_in_words} filled with {FILLED_WITH[missing]}."
    )


def warn_of_uneven_gaps(gaps: Gaps) -> list[Finding]:
    """A warning if gaps are more frequent in one class.

    Their pattern stays in the test if they are filled in, and not if they are left out.
    """
    ways_to_leave_out = _as_settings(gaps.can_be_left_out()) or "no fill"
    return warn_if_marks_follow_classes(
        gaps.compared, gaps.compared_labels, "gaps", f"{ways_to_leave_out} keeps that out"
    )


def _choices(gaps: Gaps, uneven_findings: list[Finding]) -> str:
    """The choices of `missing`; only what keeps the pattern of gaps out, if that follows the
    classes.

    Parameters
    ----------
    uneven_findings : the warning that it does, if it does.
    """
    ways_to_leave_out = gaps.can_be_left_out()
    if uneven_findings and ways_to_leave_out:
        return uneven_findings[0].message
    return f"choose {_as_settings([*ways_to_leave_out, *FILLED_WITH])}."


def _as_settings(choices: list[str]) -> str:
    """The choices of `missing` as they are written: `missing='rows' or missing='columns'`."""
    return " or ".join(f"missing={choice!r}" for choice in choices)


def _fill(features: pd.DataFrame, gaps: Gaps, missing: str) -> tuple[pd.DataFrame, list[Finding]]:
    """The features with gaps filled in, columns without any number left out; and what was done.

    Parameters
    ----------
    features : numbers of shape (samples, features).
    gaps : their missing and infinite values.
    missing : what fills them: median, min or half-min.
    """
    is_gap = ~np.isfinite(features.to_numpy())
    is_empty = gaps.column_is_empty
    features = features.mask(is_gap).loc[:, ~is_empty]  # infinite values are gaps too
    findings = []

    fill_values = values_to_fill(features, missing)
    if missing == "median":
        findings += warn_if_gaps_follow_small_values(features)
    if missing == "half-min":
        has_gap = gaps.column_has_gap[~is_empty]  # (columns that are kept,)
        require_minima_from_0(fill_values[has_gap])
    findings.append(note_filled(gaps, missing))
    return features.fillna(fill_values), findings


def values_to_fill(features: pd.DataFrame, missing: str) -> pd.Series:
    """The value that fills the gaps of each column, by its name.

    Parameters
    ----------
    features : numbers of shape (samples, features), NaN in gaps.
    missing : a key of `FILLED_WITH`.
    """
    if missing == "median":
        return features.median()
    if missing == "min":
        return features.min()
    if missing == "half-min":
        return features.min() / 2
    raise AssertionError(missing)


def require_minima_from_0(half_minima: pd.Series) -> None:
    """Stop at a column with gaps and values below 0, half the smallest of which is larger."""
    negative = half_minima.index[half_minima < 0]
    if len(negative) > 0:
        name = str(negative[0])
        raise InputError(
            f"column {name!r} has values below 0, half of which is more; set missing='min'."
        )
