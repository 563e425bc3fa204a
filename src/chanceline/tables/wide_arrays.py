"""Arrays of very many columns, as they are given to `separation_test`: in memory, a memory map, an
array of Zarr or Dask, a sparse matrix. They are checked a tile at a time, and never copied.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from chanceline._arrays import Floats
from chanceline.columns.cluster_table import placed_on_cluster
from chanceline.columns.names import NumberedNames
from chanceline.columns.source import NUMERIC_KINDS, ColumnSource, SlicedColumns
from chanceline.columns.table import ColumnTable
from chanceline.columns.views import SparseColumns
from chanceline.columns.wide import is_wide
from chanceline.columns.zarr_store import ZarrColumns, is_zarr_array
from chanceline.errors import InputError
from chanceline.perceptron.validation import check_labels, check_magnitudes
from chanceline.tables.checks.scans import scan_table
from chanceline.tables.gaps import GapScan
from chanceline.tables.identifiers import IdentifierScan
from chanceline.tables.wide_features import WideFeatures
from chanceline.tables.wide_identifiers import find_non_feature_columns


class CheckedWideArrays(NamedTuple):
    """A table and labels with which nothing is wrong.

    Attributes
    ----------
    features : finite numbers.
    labels : (samples,) ±1, with 1 for the larger of the two values of y.
    whole_numbers : (samples, columns) the columns that may say which rows belong together.
    """

    features: WideFeatures
    labels: Floats
    whole_numbers: pd.DataFrame


class MagnitudeScan:
    """Raises an error about numbers so large that their squares overflow.

    Parameters
    ----------
    names : the names of the features.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names

    def scan_columns(self, start: int, columns: Floats) -> None:
        names = self._names[start : start + columns.shape[1]]
        check_magnitudes(columns, names)

    def keep(self, start: int, seen: None) -> None:
        """Nothing is left of columns with which nothing is wrong."""


def column_reader_if_wide(X: Any) -> ColumnSource | None:
    """A reader of the columns of a very wide array of numbers; None for anything else.

    Data frames, and arrays that are not very wide, give None, too.

    Parameters
    ----------
    X : whatever the user gave as features.
    """
    if isinstance(X, ColumnTable):
        return X.source

    # X may be an array of any package, and is recognized by its attributes.
    shape: tuple[int, ...] = getattr(X, "shape", ())
    is_data_frame = hasattr(X, "columns")
    if len(shape) != 2 or not is_wide(shape[1]) or is_data_frame:
        return None
    dtype = getattr(X, "dtype", None)
    has_numbers = getattr(dtype, "kind", "") in NUMERIC_KINDS
    if not has_numbers or isinstance(X, np.ma.MaskedArray):
        return None

    if is_zarr_array(X):
        return ZarrColumns(X, "X")
    is_sparse = hasattr(X, "tocsc")
    if is_sparse:
        return SparseColumns(X)
    return SlicedColumns(X, "X")


def check_wide_arrays(
    source: ColumnSource, y: ArrayLike, feature_names: Sequence[str] | None
) -> CheckedWideArrays:
    """Check a table of very many columns and the two classes of its samples; raise an `InputError`
    if something is wrong.

    Parameters
    ----------
    source : reads the columns of the table.
    y : (samples,) the class of each sample, two different ones.
    feature_names : one for each column; None for x0, x1, …
    """
    names = feature_names
    if names is None:
        names = NumberedNames(source.n_columns)
    if len(names) != source.n_columns:
        raise InputError(
            f"there are {len(names)} feature names for {source.n_columns} columns of X."
        )
    labels = check_labels(y, (source.n_samples, source.n_columns), min_classes=2)

    # One pass over all columns, for gaps, for numbers that are too large, and for identifiers.
    features = WideFeatures(placed_on_cluster(ColumnTable(source)), names)
    gap_scan = GapScan(labels)
    identifier_scan = IdentifierScan(names)
    scan_table(features.table, [gap_scan, MagnitudeScan(names), identifier_scan])
    if gap_scan.gaps is not None:
        row, column = gap_scan.gaps.first_place
        raise InputError(
            f"X has a missing or infinite value in row {row + 1}, column {names[column]!r}; "
            "fill or drop it."
        )

    # The columns that may hold subjects, in memory.
    row_numbers = pd.RangeIndex(source.n_samples)
    non_feature_columns = find_non_feature_columns(features, identifier_scan, row_numbers)
    return CheckedWideArrays(
        features=features,
        labels=labels,
        whole_numbers=features.frame(non_feature_columns.subject_candidates, row_numbers),
    )
