"""Missing and infinite values of features that are not in memory: left out with their rows or
columns, or filled in when a column is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
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
    check_missing_setting,
    note_columns_left_out,
    note_filled,
    note_rows_left_out,
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
    was_filled : (features,) which of them had gaps that are filled in.
    fill_values : (features,) what fills a gap of each; None if nothing does.
    findings : what was done.
    """

    features: WideFeatures
    kept_rows: Bools
    was_filled: Bools
    fill_values: Floats | None
    findings: list[Finding]


def wide_without_gaps(
    features: WideFeatures,
    gaps: Gaps | None,
    missing: str,
    row_labels: Sequence[Any],
) -> CompleteWideFeatures:
    """Leave out or fill the gaps of features that are not in memory, as `missing` says.

    Gaps are missing or infinite values.

    Parameters
    ----------
    features : numbers that are not in memory, perhaps with gaps.
    gaps : the number and the places of gaps; None if there are none.
    missing : "error", "rows" or "columns" (leave out those with gaps), or a way to fill:
        "median", "min" or "half-min".
    row_labels : the names of the rows, for error messages.
    """
    if gaps is None:
        # The values that would fill gaps are needed nevertheless: new samples may have gaps.
        fill_values = None
        if missing in FILLED_WITH:
            fill_values = _column_values(features, missing)
        n_samples = features.table.shape[0]
        return _with_nothing_filled(features, n_samples, fill_values=fill_values)

    # Gaps that are more frequent in one class give a warning. It serves twice: as the remedy in an
    # error message, and as a finding if gaps are filled.
    imbalance_warnings = warn_of_uneven_gaps(gaps)

    # Raise an error if `missing` does not say what to do about gaps, or would leave nothing.
    check_missing_setting(gaps, missing, imbalance_warnings, features.names, row_labels)

    # If gaps are left out, it does not matter in which class they are more frequent, so that the
    # warnings are dropped. In filled values a test may see the pattern of gaps.
    if missing == "columns":
        return _leave_out_columns(features, gaps)
    if missing == "rows":
        return _leave_out_rows(features, gaps)
    filled = _fill(features, gaps, missing)
    return replace(filled, findings=[*imbalance_warnings, *filled.findings])


def _leave_out_columns(features: WideFeatures, gaps: Gaps) -> CompleteWideFeatures:
    """The features that have no gap."""
    left_out = np.flatnonzero(gaps.column_has_gap)
    finding = note_columns_left_out(gaps, [features.names[j] for j in left_out.tolist()])
    return _with_nothing_filled(
        features.without_columns(left_out), features.table.shape[0], findings=[finding]
    )


def _leave_out_rows(features: WideFeatures, gaps: Gaps) -> CompleteWideFeatures:
    """All features of the rows that have no gap."""
    kept_rows = ~gaps.row_has_gap
    return CompleteWideFeatures(
        features=features.with_rows(kept_rows),
        kept_rows=kept_rows,
        was_filled=np.zeros(features.n_columns, dtype=bool),
        fill_values=None,
        findings=[note_rows_left_out(gaps)],
    )


def _with_nothing_filled(
    features: WideFeatures,
    n_samples: int,
    *,
    fill_values: Floats | None = None,
    findings: Sequence[Finding] = (),
) -> CompleteWideFeatures:
    """Features in which no gap had to be filled, with all samples kept.

    `fill_values` is what would fill gaps of new samples; None if gaps are not filled.
    """
    return CompleteWideFeatures(
        features=features,
        kept_rows=np.ones(n_samples, dtype=bool),
        was_filled=np.zeros(features.n_columns, dtype=bool),
        fill_values=fill_values,
        findings=list(findings),
    )


def _fill(features: WideFeatures, gaps: Gaps, missing: str) -> CompleteWideFeatures:
    """Fill gaps in; columns without any number are left out.

    Only the values to fill are computed now; gaps are filled whenever a column is read.

    Parameters
    ----------
    features : numbers that are not in memory.
    gaps : the number and the places of the gaps (missing and infinite values).
    missing : the way to fill: "median", "min" or "half-min".
    """
    n_samples = len(gaps.n_in_rows)
    is_empty = gaps.column_is_empty  # (columns,)
    kept_features = features.without_columns(np.flatnonzero(is_empty))
    n_gaps = gaps.n_in_columns[~is_empty]  # (kept columns,)
    fill_values = _column_values(kept_features, missing)  # (kept columns,)

    # Gaps may stand for small values, which medians hide: a warning. Half of a negative minimum is
    # larger than the minimum, and cannot stand for a smaller value: an error.
    findings = []
    if missing == "median":
        shares_of_gaps = pd.Series(n_gaps / n_samples)
        findings += warn_if_gaps_follow_medians(pd.Series(fill_values), shares_of_gaps)
    if missing == "half-min":
        columns_with_gaps = np.flatnonzero(n_gaps)
        names = [kept_features.names[j] for j in columns_with_gaps.tolist()]
        half_minima = pd.Series(fill_values[columns_with_gaps], index=names)
        require_minima_from_0(half_minima)
    findings.append(note_filled(gaps, missing))

    filled_columns = FilledColumns(kept_features.table.source, fill_values)
    return CompleteWideFeatures(
        features=kept_features.with_source(filled_columns),
        kept_rows=np.ones(n_samples, dtype=bool),
        was_filled=n_gaps > 0,
        fill_values=fill_values,
        findings=findings,
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

    def scan_columns(self, start: int, columns: Floats) -> Floats:
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
