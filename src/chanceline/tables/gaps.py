"""Missing and infinite values: left out with their rows or columns, or filled in."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from chanceline._arrays import Floats
from chanceline.errors import InputError
from chanceline.tables.checks.gap_patterns import (
    warn_if_gaps_follow_classes,
    warn_if_gaps_follow_small_values,
)
from chanceline.tables.dataset import Finding
from chanceline.tables.wording import plural, quoted, row_name

FILLED_WITH = {
    "median": "the column's median",
    "min": "the column's smallest value",
    "half-min": "half the column's smallest value",
}


@dataclass(frozen=True)
class Gaps:
    """Cells without a finite number.

    Attributes
    ----------
    cells : of shape (samples, features).
    kind : what they are, in words.
    """

    cells: NDArray[np.bool_]
    kind: str

    @cached_property
    def row_has_gap(self) -> NDArray[np.bool_]:
        """Which rows have gaps, of shape (samples,)."""
        return np.any(self.cells, axis=1)

    @cached_property
    def column_has_gap(self) -> NDArray[np.bool_]:
        """Which columns have gaps, of shape (features,)."""
        return np.any(self.cells, axis=0)

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


def without_gaps(features: pd.DataFrame, labels: Floats, missing: str) -> CompleteFeatures:
    """Features without missing or infinite values, treated as `missing` says.

    Parameters
    ----------
    features : numbers of shape (samples, features).
    labels : ±1 of shape (samples,), for sentences only.
    missing : error, rows, columns, or a key of `FILLED_WITH`.
    """
    all_rows = np.ones(len(features), dtype=bool)
    gaps = _find_gaps(features)
    if gaps is None:
        return CompleteFeatures(features, all_rows, [])

    uneven_findings = _warn_of_uneven_gaps(gaps, labels)
    leaves_nothing = missing in ("rows", "columns") and missing not in gaps.can_be_left_out()
    if missing == "error" or leaves_nothing:
        raise InputError(f"{_first_gap(features, gaps)}; {_choices(gaps, uneven_findings)}")

    # What is left out takes the pattern of gaps with it, so that it needs no warning.
    if missing == "columns":
        names = quoted(features.columns[gaps.column_has_gap])
        finding = Finding.prepared(f"{gaps.columns_in_words} with {gaps.kind} left out: {names}.")
        return CompleteFeatures(features.loc[:, ~gaps.column_has_gap], all_rows, [finding])
    if missing == "rows":
        finding = Finding.prepared(f"{gaps.rows_in_words} with {gaps.kind} left out.")
        return CompleteFeatures(features.loc[~gaps.row_has_gap], ~gaps.row_has_gap, [finding])
    # What is filled in keeps the pattern in the test.
    filled, findings = _fill(features, gaps, missing)
    return CompleteFeatures(filled, all_rows, [*uneven_findings, *findings])


def _find_gaps(features: pd.DataFrame) -> Gaps | None:
    """The cells without a finite number; None if there are none."""
    values = features.to_numpy()
    is_gap = ~np.isfinite(values)
    if not is_gap.any():
        return None
    if np.isinf(values).any():
        return Gaps(is_gap, kind="missing or infinite values")
    return Gaps(is_gap, kind="missing values")


def _warn_of_uneven_gaps(gaps: Gaps, labels: Floats) -> list[Finding]:
    """A warning if gaps are more frequent in one class.

    Their pattern stays in the test if they are filled in, and not if they are left out.
    """
    ways_to_leave_out = _as_settings(gaps.can_be_left_out()) or "no fill"
    return warn_if_gaps_follow_classes(
        gaps.cells, labels, "gaps", f"{ways_to_leave_out} keeps that out"
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


def _first_gap(features: pd.DataFrame, gaps: Gaps) -> str:
    """How many gaps there are, and where the first one is."""
    column = int(np.argmax(gaps.column_has_gap))
    row = int(np.argmax(gaps.cells[:, column]))
    name = str(features.columns[column])
    place = f"column {name!r} first, in {row_name(features.index, row)}"
    return f"{gaps.columns_in_words} and {gaps.rows_in_words} have {gaps.kind} ({place})"


def _fill(features: pd.DataFrame, gaps: Gaps, missing: str) -> tuple[pd.DataFrame, list[Finding]]:
    """The features with gaps filled in, columns without any number left out; and what was done.

    Parameters
    ----------
    features, gaps : numbers of shape (samples, features), and their gaps.
    missing : a key of `FILLED_WITH`.
    """
    is_empty = gaps.cells.all(axis=0)
    features = features.mask(gaps.cells).loc[:, ~is_empty]  # infinite values are gaps too
    findings = []

    fill_values = values_to_fill(features, missing)
    if missing == "median":
        findings += warn_if_gaps_follow_small_values(features)
    if missing == "half-min":
        has_gap = gaps.column_has_gap[~is_empty]  # (columns that are kept,)
        _require_minima_from_0(fill_values[has_gap])
    findings.append(
        Finding.prepared(
            f"{gaps.kind} in {gaps.columns_in_words} filled with {FILLED_WITH[missing]}."
        )
    )
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


def _require_minima_from_0(half_minima: pd.Series) -> None:
    """Stop at a column with gaps and values below 0, half the smallest of which is larger."""
    negative = half_minima.index[half_minima < 0]
    if len(negative) > 0:
        name = str(negative[0])
        raise InputError(
            f"column {name!r} has values below 0, half of which is more; set missing='min'."
        )
