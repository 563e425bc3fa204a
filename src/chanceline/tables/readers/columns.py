"""Columns of numbers as a table: in memory, or where they are kept if there are very many."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from chanceline.columns.cluster_table import placed_on_cluster
from chanceline.columns.names import first_repeated_name
from chanceline.columns.source import ColumnSource
from chanceline.columns.table import ColumnTable
from chanceline.columns.wide import is_wide
from chanceline.errors import InputError
from chanceline.tables.raw_table import RawTable
from chanceline.tables.wide_features import WideFeatures


def table_of_columns(
    source: ColumnSource,
    names: Sequence[str],
    rows: Sequence[str] | None = None,
    descriptions: pd.DataFrame | None = None,
) -> RawTable:
    """Make a table of columns of numbers, which are read into memory unless there are very many.

    Very many columns stay where they are stored (`RawTable.wide`).

    Parameters
    ----------
    source : reads the columns.
    names : one name for each column.
    rows : the names of the rows; None to number them from 0.
    descriptions : columns that describe the samples, (samples, columns); None without any.
    """
    index: pd.Index = pd.RangeIndex(source.n_samples)
    if rows is not None:
        index = pd.Index(rows)
    indexed_descriptions = pd.DataFrame()
    if descriptions is not None:
        indexed_descriptions = descriptions.set_index(index)

    # Very many columns are not read: `wide` stands for them, and `values` has rows but no columns.
    if is_wide(source.n_columns):
        return RawTable(
            values=pd.DataFrame(index=index),
            descriptions=indexed_descriptions,
            wide=wide_features(source, names),
        )
    numbers = source.read(0, source.n_columns)
    values = pd.DataFrame(numbers, columns=list(names), index=index)
    return RawTable(values, descriptions=indexed_descriptions)


def wide_features(source: ColumnSource, names: Sequence[str]) -> WideFeatures:
    """Very many columns with a name for each; two with one name are an error."""
    repeated = first_repeated_name(names)
    if repeated is not None:
        raise InputError(
            f"two columns are called {repeated!r}; give every column a name of its own, or leave "
            "one of them out."
        )
    return WideFeatures(placed_on_cluster(ColumnTable(source)), names)
