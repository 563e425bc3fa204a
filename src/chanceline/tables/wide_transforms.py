"""Other units of features that are not in memory, made when a column is read.

What depends on whole rows (totals, means) is found in one pass beforehand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chanceline._arrays import Floats
from chanceline.columns.source import ColumnSource
from chanceline.tables.checks.scans import scan_table
from chanceline.tables.dataset import Finding
from chanceline.tables.recipe import ROW_TRANSFORMS
from chanceline.tables.transforms import (
    ADDED_TO_ZEROS,
    NEED_VALUES_FROM_0,
    TRANSFORMS_IN_WORDS,
    apply_transform,
    negative_values_error,
    require_totals,
)
from chanceline.tables.wide_features import WideFeatures


@dataclass(frozen=True, eq=False)
class ColumnUnits:
    """How a stretch of columns is put into other units.

    Attributes
    ----------
    transform : "cpm", "log", "clr", "centre" or "rank" (`TRANSFORMS_IN_WORDS`).
    added : to every value before logarithms.
    of_rows : (samples,) what every row is divided by, or what is taken from it; None for what looks
        at no rows.
    """

    transform: str
    added: float = 0.0
    of_rows: Floats | None = None

    def before_rows(self, columns: Floats) -> Floats:
        """The columns (samples, columns), as far as no whole rows are needed."""
        if self.transform == "clr":
            return np.log(columns + self.added)
        return columns

    def apply(self, columns: Floats) -> Floats:
        """The columns (samples, columns) in other units."""
        if self.of_rows is None:
            # Nothing but "log" and "rank", and no name is needed: what is refused was looked for.
            return apply_transform(columns, self.transform, names=(), added=self.added)
        if self.transform == "cpm":
            return 1e6 * columns / self.of_rows[:, None]
        return self.before_rows(columns) - self.of_rows[:, None]


class TransformedColumns:
    """The columns of another source in other units.

    Parameters
    ----------
    source : the columns as they were measured.
    units : what they become.
    """

    def __init__(self, source: ColumnSource, units: ColumnUnits) -> None:
        self._source = source
        self._units = units

    @property
    def n_samples(self) -> int:
        return self._source.n_samples

    @property
    def n_columns(self) -> int:
        return self._source.n_columns

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(np.float64)

    @property
    def files(self) -> tuple[Path, ...]:
        return self._source.files

    def read(self, start: int, stop: int) -> NDArray[Any]:
        return self._units.apply(self._source.read(start, stop).astype(np.float64))


class RangeScan:
    """Whether a table has zeros, and which column is the first with values below 0."""

    def __init__(self) -> None:
        self.has_zeros = False
        self.first_negative: int | None = None

    def look(self, start: int, columns: Floats) -> tuple[int | None, bool]:
        """The first of these columns with values below 0, and whether there are zeros."""
        is_negative = columns.min(axis=0) < 0
        first_negative = start + int(np.argmax(is_negative)) if is_negative.any() else None
        return first_negative, bool((columns == 0).any())

    def keep(self, start: int, seen: tuple[int | None, bool]) -> None:
        first_negative, has_zeros = seen
        if self.first_negative is None:
            self.first_negative = first_negative
        self.has_zeros = self.has_zeros or has_zeros


class RowSumScan:
    """The sum of every row, over all columns.

    Parameters
    ----------
    n_samples : rows.
    units : what the numbers become before they are summed.
    """

    def __init__(self, n_samples: int, units: ColumnUnits) -> None:
        self.sums: Floats = np.zeros(n_samples)
        self._units = units

    def look(self, start: int, columns: Floats) -> Floats:
        """The sum of every row over these columns, (samples,)."""
        sums: Floats = self._units.before_rows(columns).sum(axis=1)
        return sums

    def keep(self, start: int, seen: Floats) -> None:
        self.sums += seen


class TransformedFeatures(NamedTuple):
    """Features in other units.

    Attributes
    ----------
    features : as the test sees them.
    added : to every value before logarithms.
    findings : what was done.
    """

    features: WideFeatures
    added: float = 0.0
    findings: Sequence[Finding] = ()


def transform_wide_features(features: WideFeatures, transform: str) -> TransformedFeatures:
    """The features in the units that the setting `transform` names, and a finding about it.

    The numbers are transformed when a column is read. Only totals or means of rows, if the
    transform needs them, are computed now.
    """
    if transform == "none":
        return TransformedFeatures(features)
    units = _units_of_table(features, transform)
    source = TransformedColumns(features.table.source, units)
    return TransformedFeatures(
        features=features.with_source(source),
        added=units.added,
        findings=[Finding.prepared(f"{TRANSFORMS_IN_WORDS[transform]}.")],
    )


def _units_of_table(features: WideFeatures, transform: str) -> ColumnUnits:
    """What a transform must know about the whole table before it can transform single columns.

    That is the number that it adds before logarithms, and the total or the mean of each row.

    Parameters
    ----------
    features : the features in the units of the table.
    transform : "cpm", "log", "clr", "centre" or "rank".
    """
    added = 0.0
    if transform in NEED_VALUES_FROM_0:
        added = _amount_added(features, transform)
    units = ColumnUnits(transform, added)
    if transform not in ROW_TRANSFORMS:
        return units

    # One pass over all columns sums the rows; for "clr" it sums logarithms.
    row_sums = RowSumScan(len(features.table), units)
    scan_table(features.table, [row_sums])
    if transform == "cpm":
        require_totals(row_sums.sums)
        return replace(units, of_rows=row_sums.sums)
    row_means = row_sums.sums / features.n_columns
    return replace(units, of_rows=row_means)


def _amount_added(features: WideFeatures, transform: str) -> float:
    """What is added to all values before logarithms; a value below 0 is an error.

    `transform` is "cpm" (for which nothing is added), "log" or "clr".
    """
    scan = RangeScan()
    scan_table(features.table, [scan])
    if scan.first_negative is not None:
        raise negative_values_error(transform, features.names[scan.first_negative])
    if not scan.has_zeros:
        return 0.0
    return ADDED_TO_ZEROS.get(transform, 0.0)
