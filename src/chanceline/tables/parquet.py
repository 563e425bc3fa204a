"""Parquet with any number of columns: read a part at a time into one block of numbers."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd

from chanceline.errors import InputError

COLUMNS_AT_ONCE = 4096
# What pandas calls an index without a name; it comes first here, as in a text file.
INDEX = "__index_level_0__"


def read_parquet(path: Path) -> pd.DataFrame:
    """Numbers as one block of floats, everything else as pandas has it; columns in the file's order."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise InputError("Parquet files need pyarrow; install chanceline[parquet] or save the table as CSV.") from None

    def is_number(kind: pa.DataType) -> bool:
        return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)

    with parquet.ParquetFile(path) as file:
        schema = file.schema_arrow
        names = list(schema.names)
        if len(set(names)) < len(names):
            repeated = next(name for name, count in Counter(names).items() if count > 1)
            raise InputError(f"{path.name} has two columns named {repeated!r}; give them different names.")
        numeric = [j for j, kind in enumerate(schema.types) if is_number(kind)]
        place = {names[j]: k for k, j in enumerate(numeric)}
        numbers = np.empty((file.metadata.num_rows, len(numeric)))
        others: dict[str, pd.Series] = {}
        for start in range(0, len(names), COLUMNS_AT_ONCE):
            wanted = names[start : start + COLUMNS_AT_ONCE]
            part = file.read(columns=wanted, use_threads=False)
            for name in wanted:
                column = part.column(name)
                if name in place:
                    numbers[:, place[name]] = column.cast(pa.float64(), safe=False).to_numpy()
                else:
                    others[name] = column.to_pandas()
    table = pd.DataFrame(numbers, columns=[names[j] for j in numeric], copy=False)
    if not others:
        return table
    order = sorted(names, key=lambda name: name != INDEX)
    return pd.concat([table, pd.DataFrame(others)], axis=1)[order].rename(columns={INDEX: "row name"})
