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
class ColumnTransform:
    """A transform, with what it must know of the whole table to transform a stretch of columns.

    Attributes
    ----------
    name : "cpm", "log", "clr", "centre" or "rank" (`TRANSFORMS_IN_WORDS`).
    added : what is added to every value before logarithms.
    row_totals_or_means : (samples,) the total of every row ("cpm"), by which it is divided, or its
        mean ("clr": of logarithms; "centre"), which is subtracted; None for "log" and "rank".
    """

    name: str
    added: float = 0.0
    row_totals_or_means: Floats | None = None

    def without_row_step(self, columns: Floats) -> Floats:
        """The columns before the step that needs whole rows: for "clr" their logarithms."""
        if self.name == "clr":
            return np.log(columns + self.added)
        return columns

    def apply(self, columns: Floats) -> Floats:
        """Transform some columns of the table, (samples, columns)."""
        if self.row_totals_or_means is None:
            # "log" or "rank". The names of columns are needed only for errors about values, and
            # those were looked for when the transform was learned.
            return apply_transform(columns, self.name, names=(), added=self.added)
        if self.name == "cpm":
            return 1e6 * columns / self.row_totals_or_means[:, None]
        return self.without_row_step(columns) - self.row_totals_or_means[:, None]


class TransformedColumns:
    """The columns of another source in other units.

    Parameters
    ----------
    source : the columns as they were measured.
    transform : puts the columns into other units.
    """

    def __init__(self, source: ColumnSource, transform: ColumnTransform) -> None:
        self._source = source
        self._transform = transform

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
        return self._transform.apply(self._source.read(start, stop).astype(np.float64))


class RangeScan:
    """Whether a table has zeros, and which column is the first with values below 0."""

    def __init__(self) -> None:
        self.has_zeros = False
        self.first_negative: int | None = None

    def scan_columns(self, start: int, columns: Floats) -> tuple[int | None, bool]:
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
    n_samples : the number of rows.
    transform : its part that needs no whole rows is applied before the numbers are summed.
    """

    def __init__(self, n_samples: int, transform: ColumnTransform) -> None:
        self.sums: Floats = np.zeros(n_samples)
        self._transform = transform

    def scan_columns(self, start: int, columns: Floats) -> Floats:
        """The sum of every row over these columns, (samples,)."""
        sums: Floats = self._transform.without_row_step(columns).sum(axis=1)
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
    """Put features into the units that `transform` names ("log", say); "none" changes nothing.

    The numbers are transformed whenever a column is read. Only what the transform must know of the
    whole table is computed now: the number added before logarithms, totals or means of rows.
    """
    if transform == "none":
        return TransformedFeatures(features)
    column_transform = _learn_transform(features, transform)
    source = TransformedColumns(features.table.source, column_transform)
    finding = Finding.prepared(f"{TRANSFORMS_IN_WORDS[transform]}.")
    return TransformedFeatures(
        features=features.with_source(source),
        added=column_transform.added,
        findings=[finding],
    )


def _learn_transform(features: WideFeatures, transform: str) -> ColumnTransform:
    """Compute what a transform must know of the whole table to transform single columns.

    This is the number that is added before logarithms, and for "cpm", "clr" and "centre" the total
    or the mean of each row.

    Parameters
    ----------
    features : the features before the transform.
    transform : "cpm", "log", "clr", "centre" or "rank".
    """
    added = 0.0
    if transform in NEED_VALUES_FROM_0:
        added = _amount_added(features, transform)
    column_transform = ColumnTransform(transform, added)
    if transform not in ROW_TRANSFORMS:
        return column_transform

    # One pass over all columns sums the rows; for "clr" it sums logarithms.
    scan = RowSumScan(len(features.table), column_transform)
    scan_table(features.table, [scan])
    row_totals = scan.sums  # (samples,)
    if transform == "cpm":
        require_totals(row_totals)
        return replace(column_transform, row_totals_or_means=row_totals)
    row_means = row_totals / features.n_columns
    return replace(column_transform, row_totals_or_means=row_means)


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
