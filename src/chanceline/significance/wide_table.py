"""How a test goes through its table: as an array in memory, or by tiles of columns where there are
very many of them.

Tiles do not depend on where the columns are kept, so that an array of very many columns and a file
with the same numbers give the same result, to the last digit.
"""

from __future__ import annotations

from chanceline._arrays import Floats
from chanceline.columns.precision import single_if_exact
from chanceline.columns.source import SlicedColumns
from chanceline.columns.table import AnyTable, ColumnTable
from chanceline.columns.wide import in_memory


def table_for_test(X: AnyTable, max_columns_in_memory: int) -> AnyTable:
    """The table by tiles if it has more columns than this, and otherwise as an array.

    Parameters
    ----------
    X : (samples, features) as it was read.
    max_columns_in_memory : `WIDE_FROM` in every test, and fewer in small examples.
    """
    is_wide = X.shape[1] > max_columns_in_memory
    if is_wide and not isinstance(X, ColumnTable):
        return ColumnTable(SlicedColumns(X))
    if not is_wide and isinstance(X, ColumnTable):
        return X[:, :]
    return X


def array_for_search(X: AnyTable) -> Floats:
    """The whole table as an array (samples, features), for a search of the user's own."""
    if isinstance(X, ColumnTable):
        return single_if_exact(in_memory(X))
    return X
