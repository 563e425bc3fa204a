"""Parquet files: read in parts of many columns, or of very many columns only those that hold no
numbers.
"""

from __future__ import annotations

from pathlib import Path
from typing import IO, Any

import pandas as pd

from chanceline.columns.names import PackedNames
from chanceline.columns.parquet import ParquetColumns
from chanceline.columns.wide import is_wide
from chanceline.tables.raw_table import RawTable
from chanceline.tables.readers.columns import wide_features
from chanceline.tables.readers.exact import inexact_columns
from chanceline.tables.readers.grid import CellGrid

COLUMNS_AT_ONCE = 4096  # so that any number of columns fits into memory
# What pandas calls an index without a name; it comes first here, as in a text file.
UNNAMED_INDEX = "__index_level_0__"


def read_parquet(file: IO[bytes]) -> CellGrid:
    """The names and cells of all columns of a Parquet file, in the order of the file.

    An index without a name, which pandas writes behind the columns, comes first and is called
    `row name`.
    """
    from pyarrow import parquet

    # A few thousand columns are read at a time: reading all at once would take too much memory.
    parts = []
    with parquet.ParquetFile(file) as table:
        names = list(table.schema_arrow.names)
        for begin in range(0, len(names), COLUMNS_AT_ONCE):
            names_of_part = names[begin : begin + COLUMNS_AT_ONCE]
            part = table.read(columns=names_of_part, use_threads=False)
            parts.append(_to_pandas(part))
    # Put an index without a name first.
    if UNNAMED_INDEX in names:
        names.remove(UNNAMED_INDEX)
        names.insert(0, UNNAMED_INDEX)
    cells = pd.concat(parts, axis=1)[names]
    cells = cells.rename(columns={UNNAMED_INDEX: "row name"})
    return CellGrid(list(cells.columns), cells)


def has_many_numbers(path: Path) -> bool:
    """Whether a file has so many columns of numbers that they stay where they are."""
    from pyarrow import parquet

    with parquet.ParquetFile(path) as table:
        return is_wide(len(_number_columns(table.schema_arrow)))


def read_wide_parquet(path: Path) -> RawTable:
    """The table of a Parquet file with very many columns of numbers, which stay in the file.

    All other columns are read into `values`.
    """
    from pyarrow import parquet

    with parquet.ParquetFile(path) as table:
        number_names = _number_columns(table.schema_arrow)
        number_name_set = set(number_names)  # for a fast search
        other_names = [name for name in table.schema_arrow.names if name not in number_name_set]
        # If there is no other column, `values` must still have the right number of rows.
        other_columns = pd.DataFrame(index=pd.RangeIndex(table.metadata.num_rows))
        if other_names:
            other_columns = _to_pandas(table.read(columns=other_names, use_threads=False))
    number_columns = ParquetColumns(path, number_names)
    return RawTable(
        other_columns.rename(columns={UNNAMED_INDEX: "row name"}),
        wide=wide_features(number_columns, PackedNames(number_names)),
    )


def _number_columns(schema: Any) -> list[str]:
    """The names of the columns of an Arrow schema that hold numbers or truth values.

    An index without a name is no such column.
    """
    from pyarrow import types

    names = []
    for field in schema:
        is_number = types.is_integer(field.type) or types.is_floating(field.type)
        is_truth_value = types.is_boolean(field.type)
        if field.name != UNNAMED_INDEX and (is_number or is_truth_value):
            names.append(field.name)
    return names


def _to_pandas(part: Any) -> pd.DataFrame:
    """A part of an Arrow table as a DataFrame, long whole numbers beside gaps as they are."""
    from pyarrow import types

    table = part.to_pandas(ignore_metadata=True)
    for column in inexact_columns(table):
        if types.is_integer(part.schema.field(column).type):
            table.isetitem(column, part.column(column).to_pandas(integer_object_nulls=True))
    return table
