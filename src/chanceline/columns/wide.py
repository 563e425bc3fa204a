"""From how many columns on a table stays where it is kept, and is read a tile at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chanceline.columns.source import SlicedColumns
from chanceline.columns.table import AnyTable, ColumnTable
from chanceline.errors import InputError

WIDE_FROM = 40_000  # columns; with more of them memory counts
GIGABYTE = 1e9
MEMORY_OF_MACHINE = Path("/proc/meminfo")  # of Linux


def is_wide(n_columns: int) -> bool:
    """Whether a table of so many columns is read a tile at a time."""
    return n_columns > WIDE_FROM


def in_tiles_if_wide(X: AnyTable) -> AnyTable:
    """A wide array (samples, columns) as a table of columns; anything else as it is.

    So results of a wide table do not depend on whether it is in memory.
    """
    if isinstance(X, ColumnTable) or not is_wide(X.shape[1]):
        return X
    return ColumnTable(SlicedColumns(X))


def in_memory(X: AnyTable) -> NDArray[Any]:
    """Return all columns as one array, (samples, columns), in the type in which they are stored.

    An array is returned as it is. A table that is read by tiles is read whole, for methods that
    need all columns at once.

    Raises
    ------
    InputError
        If there is not enough memory for all columns in double precision, which methods need.
    """
    if not isinstance(X, ColumnTable):
        return X
    n_samples, n_columns = X.shape
    bytes_needed = n_samples * n_columns * np.dtype(np.float64).itemsize
    bytes_available = available_memory()  # None if unknown
    if bytes_available is not None and bytes_needed > bytes_available:
        raise InputError(
            f"this needs the whole table of {n_samples:,} × {n_columns:,} in memory, at least "
            f"{bytes_needed / GIGABYTE:.1f} GB, and {bytes_available / GIGABYTE:.1f} GB are free; "
            "use fewer columns or a larger machine (only the test of two classes reads such a "
            "table by tiles)."
        )
    return X.take(np.arange(n_columns))


def available_memory() -> int | None:
    """Bytes of memory that this machine can give to processes; None where it does not say."""
    if not MEMORY_OF_MACHINE.exists():
        return None
    for line in MEMORY_OF_MACHINE.read_text(encoding="ascii").splitlines():
        name, _, size = line.partition(":")
        if name == "MemAvailable":
            return 1024 * int(size.removesuffix("kB"))
    return None
