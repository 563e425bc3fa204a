"""Parquet files, read in parts of many columns."""

from __future__ import annotations

from typing import IO, Any

import pandas as pd

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


def _to_pandas(part: Any) -> pd.DataFrame:
    """A part of an Arrow table as a DataFrame, long whole numbers beside gaps as they are."""
    from pyarrow import types

    table = part.to_pandas(ignore_metadata=True)
    for column in inexact_columns(table):
        if types.is_integer(part.schema.field(column).type):
            table.isetitem(column, part.column(column).to_pandas(integer_object_nulls=True))
    return table
