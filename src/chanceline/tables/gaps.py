"""Missing and infinite values: left out with their rows or columns, or filled in."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from chanceline.errors import InputError
from chanceline.perceptron.problem import Floats
from chanceline.tables.checks.gap_patterns import gaps_follow_classes, gaps_follow_small_values
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
    def rows(self) -> NDArray[np.bool_]:
        """The rows with gaps, of shape (samples,)."""
        return np.any(self.cells, axis=1)

    @cached_property
    def columns(self) -> NDArray[np.bool_]:
        """The columns with gaps, of shape (features,)."""
        return np.any(self.cells, axis=0)

    @property
    def rows_in_words(self) -> str:
        """How many rows have gaps."""
        return plural(int(self.rows.sum()), "row")

    @property
    def columns_in_words(self) -> str:
        """How many columns have gaps."""
        return plural(int(self.columns.sum()), "column")

    def can_be_left_out(self) -> list[str]:
        """The choices of `missing` that leave something: columns, rows."""
        choices = []
        if not self.columns.all():
            choices.append("columns")
        if not self.rows.all():
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
    is_gap = ~np.isfinite(features.to_numpy())
    if not is_gap.any():
        return CompleteFeatures(features, all_rows, [])
    has_infinite = np.isinf(features.to_numpy()).any()
    gaps = Gaps(is_gap, "missing or infinite values" if has_infinite else "missing values")

    # Leaving gaps out keeps their pattern out of the test, which may follow the classes; filling
    # them in does not.
    left_out_by = [f"missing={choice!r}" for choice in gaps.can_be_left_out()]
    remedy = f"{' or '.join(left_out_by) or 'no fill'} keeps that out"
    uneven_gaps = gaps_follow_classes(gaps.cells, labels, "gaps", remedy)
    nothing_left = missing in ("rows", "columns") and missing not in gaps.can_be_left_out()
    if missing == "error" or nothing_left:
        filled_by = [f"missing={choice!r}" for choice in FILLED_WITH]
        hint = f"choose {' or '.join([*left_out_by, *filled_by])}."
        if uneven_gaps and left_out_by:
            hint = uneven_gaps[0].message
        raise InputError(f"{_first_gap(features, gaps)}; {hint}")

    if missing == "columns":
        names = quoted(features.columns[gaps.columns])
        finding = Finding.prepared(f"{gaps.columns_in_words} with {gaps.kind} left out: {names}.")
        return CompleteFeatures(features.loc[:, ~gaps.columns], all_rows, [finding])
    if missing == "rows":
        finding = Finding.prepared(f"{gaps.rows_in_words} with {gaps.kind} left out.")
        return CompleteFeatures(features.loc[~gaps.rows], ~gaps.rows, [finding])
    filled, findings = _fill(features, gaps, missing)
    return CompleteFeatures(filled, all_rows, [*uneven_gaps, *findings])


def _first_gap(features: pd.DataFrame, gaps: Gaps) -> str:
    """How many gaps there are, and where the first one is."""
    column = int(np.argmax(gaps.columns))
    row = int(np.argmax(gaps.cells[:, column]))
    name = str(features.columns[column])
    place = f"column {name!r} first, in {row_name(features.index, row)}"
    return f"{gaps.columns_in_words} and {gaps.rows_in_words} have {gaps.kind} ({place})"


def _fill(features: pd.DataFrame, gaps: Gaps, missing: str) -> tuple[pd.DataFrame, list[Finding]]:
    """The features with gaps filled in, columns without any number left out; and what was done."""
    is_empty = gaps.cells.all(axis=0)
    features = features.mask(gaps.cells).loc[:, ~is_empty]
    findings = []
    if missing == "median":
        fill = features.median()
        findings += gaps_follow_small_values(features)
    elif missing == "min":
        fill = features.min()
    else:
        fill = features.min() / 2
        _require_minima_from_0(fill[gaps.columns[~is_empty]])
    findings.append(
        Finding.prepared(
            f"{gaps.kind} in {gaps.columns_in_words} filled with {FILLED_WITH[missing]}."
        )
    )
    return features.fillna(fill), findings


def _require_minima_from_0(half_minima: pd.Series) -> None:
    """Stop at a column with gaps and values below 0, half the smallest of which is larger."""
    negative = half_minima.index[half_minima < 0]
    if len(negative) > 0:
        name = str(negative[0])
        raise InputError(
            f"column {name!r} has values below 0, half of which is more; set missing='min'."
        )
