"""From how many columns on a table stays where it is kept, and is read a tile at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from chanceline.columns.source import SlicedColumns
from chanceline.columns.table import AnyTable, ColumnTable

WIDE_FROM = 40_000  # columns; with more of them memory counts


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
    """All columns as one array (samples, columns), for what needs them at once: in the type in
    which they are stored.
    """
    if not isinstance(X, ColumnTable):
        return X
    _, n_columns = X.shape
    return X.take(np.arange(n_columns))
