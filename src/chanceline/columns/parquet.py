"""The columns of a Parquet file, which keeps every column by itself."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chanceline.columns.source import NUMERIC_KINDS
from chanceline.errors import InputError


class ParquetColumns:
    """Columns of numbers of a Parquet file.

    Parameters
    ----------
    path : of the file.
    names : the columns to use, in this order; by default all of them.
    """

    def __init__(self, path: Path, names: Sequence[str] | None = None) -> None:
        """Open the file and check that it has the named columns; no values are read yet."""
        from pyarrow import parquet

        self._path = path
        self._file = parquet.ParquetFile(path)
        stored_names = self._file.schema_arrow.names
        if names is None:
            names = stored_names
        self.names = list(names)
        missing_names = [name for name in self.names if name not in set(stored_names)]
        if missing_names:
            raise InputError(f"{path.name} has no column {missing_names[0]!r}.")

    @property
    def n_samples(self) -> int:
        return int(self._file.metadata.num_rows)

    @property
    def n_columns(self) -> int:
        return len(self.names)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The smallest type that holds the values of all columns."""
        schema = self._file.schema_arrow
        stored_types = {schema.field(name).type for name in self.names}
        return np.result_type(*(stored.to_pandas_dtype() for stored in stored_types))

    @property
    def files(self) -> tuple[Path, ...]:
        return (self._path,)

    def __reduce__(self) -> tuple[Any, ...]:
        # An open file cannot be sent.
        return ParquetColumns, (self._path.absolute(), self.names)

    def read(self, start: int, stop: int) -> NDArray[Any]:
        names = self.names[start:stop]
        table = self._file.read(columns=names, use_threads=False)
        # The file gives columns in its own order.
        return np.column_stack([self._numbers(table.column(name), name) for name in names])

    def _numbers(self, column: Any, name: str) -> NDArray[Any]:
        """Convert a column of PyArrow to an array, (samples,), with NaN for missing values.

        `name` is the name of the column, for the message if it does not hold numbers.
        """
        from pyarrow import types

        # Truth values become 0 and 1. PyArrow would convert truth values with gaps to Python
        # objects, but integers with gaps to floating-point numbers.
        if types.is_boolean(column.type):
            column = column.cast("int8")
        values: NDArray[Any] = column.to_numpy()
        if values.dtype.kind not in NUMERIC_KINDS:
            raise InputError(
                f"column {name!r} of {self._path.name} holds no numbers; leave it out."
            )
        return values
