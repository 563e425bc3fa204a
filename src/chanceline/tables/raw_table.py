"""A table as it was read, before anything is decided about its columns."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from chanceline.tables.dataset import Finding
from chanceline.tables.variants import VariantPlaces
from chanceline.tables.wide_features import WideFeatures

COLUMN_NUMBER = re.compile(r"-?\d+")
CLOSE_NAMES = 3  # at most so many are proposed for a name that is not there


@dataclass(frozen=True)
class RawTable:
    """A table with samples in rows.

    Attributes
    ----------
    values : columns that may be features, the label, blocks or groups, of shape (samples,
        columns); its index is what the user's program calls the rows.
    descriptions : columns that describe the samples and are never features, from a second file or a
        header, of shape (samples, columns), or without rows where there are none.
    header_ids : names of the samples, where they are no column but stood in the header of a
        transposed table, or in a file that belongs to it.
    names_stand_in : where `header_ids` stood, as a sentence says it.
    index_name : what to call the index of `values` where it holds names of samples that are no
        column; else empty.
    findings : what was noticed while reading.
    undeclared : why a test stops unless something is said about the design; else empty.
    wide : columns of numbers that are not in memory, as there are very many; they stand behind
        `values`. None where all columns are in `values`.
    variants : where the columns stand that are variants of a file of genotypes; else None.
    """

    values: pd.DataFrame
    descriptions: pd.DataFrame = field(default_factory=pd.DataFrame)
    header_ids: list[str] | None = None
    names_stand_in: str = "the header"
    index_name: str = ""
    findings: tuple[Finding, ...] = ()
    undeclared: str = ""
    wide: WideFeatures | None = None
    variants: VariantPlaces | None = None

    @property
    def sample_names(self) -> pd.Series | None:
        """The names of the samples that are no column: a header, or the index of a data frame."""
        if not self.index_name:
            return None
        index = self.values.index
        return pd.Series([str(name) for name in index], index=index, name=self.index_name)

    @property
    def column_names(self) -> list[str]:
        """The names of all columns in memory, first of those about the samples."""
        return [str(name) for part in (self.descriptions, self.values) for name in part.columns]

    def with_rows(self, is_kept: NDArray[np.bool_]) -> RawTable:
        """The table with only the rows that are marked, `is_kept` of shape (samples,)."""
        if is_kept.all():
            return self
        descriptions = self.descriptions
        if len(descriptions) > 0:
            descriptions = descriptions.loc[is_kept]
        wide = None if self.wide is None else self.wide.with_rows(is_kept)
        return replace(self, values=self.values.loc[is_kept], descriptions=descriptions, wide=wide)

    def in_memory(self, wanted: Collection[str] | None = None) -> RawTable:
        """The table with all its columns in `values`, or of those that are not there yet only the
        ones with these names.
        """
        if self.wide is None:
            return self
        numbers = self.wide.in_memory(self.values.index, wanted)
        return replace(self, values=pd.concat([self.values, numbers], axis=1), wide=None)

    @property
    def names_place(self) -> str:
        """Where names of samples stand that are no column, as a sentence says it."""
        if self.header_ids is None:
            return "the index"
        return self.names_stand_in

    def without_columns(self, names: Sequence[Any]) -> RawTable:
        """The table without these columns, as far as it has them; without the samples' names, if
        they are among these.
        """
        wide = None if self.wide is None else self.wide.without_names(names)
        return replace(
            self,
            wide=wide,
            values=self.values.drop(columns=names, errors="ignore"),
            descriptions=self.descriptions.drop(columns=names, errors="ignore"),
            index_name="" if self.index_name in names else self.index_name,
        )

    def column(self, name: str) -> pd.Series | None:
        """The column with this name (in upper or lower case) or this number; None if there is none.

        Numbers count from 0, or backwards from −1 for the last column. The search goes through the
        columns that describe the samples, the other columns in memory, the names of the samples,
        and the columns that are not in memory.
        """
        for frame in (self.descriptions, self.values):
            column = _column_of_frame(frame, name)
            if column is not None:
                return column

        sample_names = self.sample_names
        lowercase_name = name.strip().lower()
        if sample_names is not None and lowercase_name == str(sample_names.name).lower():
            return sample_names
        if self.wide is None:
            return None
        return self.wide.column(name, self.values.index)

    def close_names(self, name: str) -> list[str]:
        """Names of columns that are spelled much like this one."""
        return difflib.get_close_matches(name, self.column_names, n=CLOSE_NAMES)


def _column_of_frame(frame: pd.DataFrame, name: str) -> pd.Series | None:
    """The column of a data frame that a name or a number means; None if there is none.

    First choice is the only column with exactly this name, then the only column with this name in
    upper or lower case, then the column with this number (from 0, or −1 for the last).
    """
    column_names = [str(column) for column in frame.columns]
    positions = [j for j, column in enumerate(column_names) if column == name]
    if not positions:
        lowercase_name = name.strip().lower()
        positions = [j for j, column in enumerate(column_names) if column.lower() == lowercase_name]
    if len(positions) == 1:
        return frame.iloc[:, positions[0]]

    if COLUMN_NUMBER.fullmatch(name) is None:
        return None
    number = int(name)
    n_columns = len(column_names)
    if -n_columns <= number < n_columns:
        return frame.iloc[:, number]
    return None


def numeric_columns(table: pd.DataFrame) -> NDArray[np.bool_]:
    """Which columns hold numbers, of shape (columns,)."""
    # A wide table has few types, and each is asked once.
    dtypes = table.dtypes
    is_numeric = {dtype: pd.api.types.is_numeric_dtype(dtype) for dtype in dtypes.unique()}
    return np.array([is_numeric[dtype] for dtype in dtypes], dtype=np.bool_)


def named_index(table: Any) -> pd.Series | None:
    """The index of a data frame as a column, if all its entries are text; else None.

    The column is called like the index. It is called `index` if the index has no name, or a column
    of the data frame has the same name.

    Parameters
    ----------
    table : a data frame; anything without an index gives None.
    """
    index = getattr(table, "index", None)
    if not isinstance(index, pd.Index) or isinstance(index, pd.MultiIndex):
        return None
    if not all(isinstance(name, str) for name in index):
        return None
    column_name = "index"
    if index.name is not None:
        names_of_columns = {str(column) for column in table.columns}
        if str(index.name) not in names_of_columns:
            column_name = str(index.name)
    return pd.Series(index.tolist(), name=column_name, dtype=object)
