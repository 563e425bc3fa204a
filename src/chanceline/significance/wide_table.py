"""How a test goes through its table: as an array in memory, or by tiles of columns where there are
very many of them.

Tiles do not depend on where the columns are kept, so that an array of very many columns and a file
with the same numbers give the same result, to the last digit.
"""

from __future__ import annotations

from chanceline.columns.source import SlicedColumns
from chanceline.columns.table import AnyTable, ColumnTable
from chanceline.significance.path_columns import MAX_COLUMNS_FOR_PAIRS

# With more columns there are no pairs to look for, and nothing else needs all columns at once.
MAX_COLUMNS_IN_MEMORY = MAX_COLUMNS_FOR_PAIRS


def table_for_test(X: AnyTable, max_columns_in_memory: int = MAX_COLUMNS_IN_MEMORY) -> AnyTable:
    """The table by tiles if it has more columns than this, and otherwise as an array.

    Parameters
    ----------
    X : (samples, features) as it was read.
    max_columns_in_memory : another number than that of every test is for small examples.
    """
    is_wide = X.shape[1] > max_columns_in_memory
    if is_wide and not isinstance(X, ColumnTable):
        return ColumnTable(SlicedColumns(X))
    if not is_wide and isinstance(X, ColumnTable):
        return X[:, :]
    return X
