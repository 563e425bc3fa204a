"""Missing and infinite values of features that are not in memory: left out with their rows or
columns, or filled in when a column is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from chanceline._arrays import Bools, Floats
from chanceline.columns.views import FilledColumns
from chanceline.tables.checks.gap_patterns import warn_if_gaps_follow_medians
from chanceline.tables.checks.scans import scan_table
from chanceline.tables.dataset import Finding
from chanceline.tables.gaps import (
    FILLED_WITH,
    Gaps,
    note_columns_left_out,
    note_filled,
    note_rows_left_out,
    refuse_gaps,
    require_minima_from_0,
    values_to_fill,
    warn_of_uneven_gaps,
)
from chanceline.tables.wide_features import WideFeatures


@dataclass(frozen=True, eq=False)
class CompleteWideFeatures:
    """Features without gaps.

    Attributes
    ----------
    features : the features in the kept rows.
    kept_rows : (samples,).
    had_gap : (features,) which of them were filled in.
    fill_values : (features,) what fills a gap of each; None if nothing does.
    findings : what was done.
    """

    features: WideFeatures
    kept_rows: Bools
    had_gap: Bools
    fill_values: Floats | None
    findings: list[Finding]


def wide_without_gaps(
    features: WideFeatures,
    gaps: Gaps | None,
    missing: str,
    row_labels: Sequence[Any],
) -> CompleteWideFeatures:
    """Features that are not in memory without gaps (missing or infinite values), treated as
    `missing` says.

    Parameters
    ----------
    features : numbers that are not in memory, perhaps with gaps.
    gaps : the number and the places of gaps; None if there are none.
    missing : "error", "rows" or "columns" (leave out those with gaps), or a way to fill:
        "median", "min" or "half-min".
    row_labels : the names of the rows, for error messages.
    """
    if gaps is None:
        # The values to fill are needed nevertheless: new samples may have gaps.
        fill_values = None
        if missing in FILLED_WITH:
            fill_values = _column_values(features, missing)
        return _complete(features, features.table.shape[0], fill_values=fill_values)

    # An error if nobody said what to do about gaps, or nothing would be left.
    uneven_findings = warn_of_uneven_gaps(gaps)
    refuse_gaps(gaps, missing, uneven_findings, features.names, row_labels)

    # If gaps are left out, it does not matter whether they follow the classes: `uneven_findings`
    # are dropped. In filled values a test may see their pattern.
    if missing == "columns":
        return _leave_out_columns(features, gaps)
    if missing == "rows":
        return _leave_out_rows(features, gaps)
    filled = _fill(features, gaps, missing)
    return CompleteWideFeatures(
        features=filled.features,
        kept_rows=filled.kept_rows,
        had_gap=gaps.column_has_gap[~gaps.column_is_empty],
        fill_values=filled.fill_values,
        findings=[*uneven_findings, *filled.findings],
    )


def _leave_out_columns(features: WideFeatures, gaps: Gaps) -> CompleteWideFeatures:
    """The features that have no gap."""
    left_out = np.flatnonzero(gaps.column_has_gap)
    finding = note_columns_left_out(gaps, [features.names[j] for j in left_out.tolist()])
    return _complete(
        features.without_columns(left_out), features.table.shape[0], findings=[finding]
    )


def _leave_out_rows(features: WideFeatures, gaps: Gaps) -> CompleteWideFeatures:
    """All features of the rows that have no gap."""
    kept_rows = ~gaps.row_has_gap
    return CompleteWideFeatures(
        features=features.with_rows(kept_rows),
        kept_rows=kept_rows,
        had_gap=np.zeros(features.n_columns, dtype=bool),
        fill_values=None,
        findings=[note_rows_left_out(gaps)],
    )


def _complete(
    features: WideFeatures,
    n_samples: int,
    *,
    fill_values: Floats | None = None,
    findings: Sequence[Finding] = (),
) -> CompleteWideFeatures:
    """Features in which no gap had to be filled, with all samples kept."""
    return CompleteWideFeatures(
        features=features,
        kept_rows=np.ones(n_samples, dtype=bool),
        had_gap=np.zeros(features.n_columns, dtype=bool),
        fill_values=fill_values,
        findings=list(findings),
    )


def _fill(features: WideFeatures, gaps: Gaps, missing: str) -> CompleteWideFeatures:
    """The features with gaps filled in; columns without any number are left out.

    The result does not say which columns had gaps: `had_gap` is False everywhere, and set by the
    caller.

    Parameters
    ----------
    features : numbers that are not in memory.
    gaps : the number and the places of the gaps (missing and infinite values).
    missing : the way to fill: "median", "min" or "half-min".
    """
    n_samples = len(gaps.of_rows)
    is_empty = gaps.column_is_empty
    kept = features.without_columns(np.flatnonzero(is_empty))
    n_gaps = gaps.of_columns[~is_empty]  # (kept columns,)
    fill_values = _column_values(kept, missing)  # (kept columns,)

    # The median hides gaps that stand for small values: a warning. Half of a negative minimum is
    # not below it: an error.
    findings = []
    if missing == "median":
        shares_of_gaps = pd.Series(n_gaps / n_samples)
        findings += warn_if_gaps_follow_medians(pd.Series(fill_values), shares_of_gaps)
    if missing == "half-min":
        columns_with_gaps = np.flatnonzero(n_gaps)
        names = [kept.names[j] for j in columns_with_gaps.tolist()]
        require_minima_from_0(pd.Series(fill_values[columns_with_gaps], index=names))
    findings.append(note_filled(gaps, missing))

    # Nothing is filled now: the source fills gaps when a column is read.
    source = FilledColumns(kept.table.source, fill_values)
    return _complete(
        kept.with_source(source), n_samples, fill_values=fill_values, findings=findings
    )


def _column_values(features: WideFeatures, missing: str) -> Floats:
    """The value that fills the gaps of each column, (features,); `missing` is the way to fill:
    "median", "min" or "half-min".
    """
    scan = FillValueScan(missing)
    scan_table(features.table, [scan])
    return scan.fill_values


class FillValueScan:
    """Computes the value that fills the gaps of each column.

    Parameters
    ----------
    missing : the way to fill: "median", "min" or "half-min".
    """

    def __init__(self, missing: str) -> None:
        self._missing = missing
        self._parts: list[Floats] = []

    def look(self, start: int, columns: Floats) -> Floats:
        """The value that fills the gaps of each of these columns, (columns,)."""
        numbers = pd.DataFrame(columns).where(np.isfinite(columns))
        fill_values: Floats = values_to_fill(numbers, self._missing).to_numpy()
        return fill_values

    def keep(self, start: int, seen: Floats) -> None:
        self._parts.append(seen)

    @property
    def fill_values(self) -> Floats:
        """The values of all columns seen so far, (features,)."""
        return np.concatenate(self._parts)
