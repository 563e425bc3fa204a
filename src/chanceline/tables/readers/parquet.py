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
    """The names and cells of all columns in the file's order, an index without a name first."""
    from pyarrow import parquet

    parts = []  # so many columns at once as memory holds
    with parquet.ParquetFile(file) as table:
        names = list(table.schema_arrow.names)
        for begin in range(0, len(names), COLUMNS_AT_ONCE):
            part = table.read(columns=names[begin : begin + COLUMNS_AT_ONCE], use_threads=False)
            parts.append(_to_pandas(part))
    # pandas writes an index behind the columns.
    if UNNAMED_INDEX in names:
        names.remove(UNNAMED_INDEX)
        names.insert(0, UNNAMED_INDEX)
    cells = pd.concat(parts, axis=1)[names].rename(columns={UNNAMED_INDEX: "row name"})
    return CellGrid(list(cells.columns), cells)


def has_many_numbers(path: Path) -> bool:
    """Whether a file has so many columns of numbers that they stay where they are."""
    from pyarrow import parquet

    with parquet.ParquetFile(path) as table:
        return is_wide(len(_number_columns(table.schema_arrow)))


def read_wide_parquet(path: Path) -> RawTable:
    """The columns of numbers where they are kept, and the others in memory."""
    from pyarrow import parquet

    with parquet.ParquetFile(path) as table:
        numbers = _number_columns(table.schema_arrow)
        are_numbers = set(numbers)
        others = [name for name in table.schema_arrow.names if name not in are_numbers]
        # Without any columns the rows would be lost.
        values = pd.DataFrame(index=pd.RangeIndex(table.metadata.num_rows))
        if others:
            values = _to_pandas(table.read(columns=others, use_threads=False))
    return RawTable(
        values.rename(columns={UNNAMED_INDEX: "row name"}),
        wide=wide_features(ParquetColumns(path, numbers), PackedNames(numbers)),
    )


def _number_columns(schema: Any) -> list[str]:
    """The names of the columns of numbers and truth values; an index is none of them."""
    from pyarrow import types

    return [
        field.name
        for field in schema
        if field.name != UNNAMED_INDEX
        and (
            types.is_integer(field.type)
            or types.is_floating(field.type)
            or types.is_boolean(field.type)
        )
    ]


def _to_pandas(part: Any) -> pd.DataFrame:
    """A part of an Arrow table as a DataFrame, long whole numbers beside gaps as they are."""
    from pyarrow import types

    table = part.to_pandas(ignore_metadata=True)
    for column in inexact_columns(table):
        if types.is_integer(part.schema.field(column).type):
            table.isetitem(column, part.column(column).to_pandas(integer_object_nulls=True))
    return table
