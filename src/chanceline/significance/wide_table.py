"""How a test goes through its table: as an array in memory, or by tiles of columns where there are
very many of them.

Tiles do not depend on where the columns are kept, so that an array of very many columns and a file
with the same numbers give the same result, to the last digit.
"""

from __future__ import annotations

from chanceline._arrays import Floats
from chanceline.columns.cluster_table import placed_on_cluster
from chanceline.columns.precision import single_if_exact
from chanceline.columns.source import SlicedColumns
from chanceline.columns.table import AnyTable, ColumnTable
from chanceline.columns.wide import in_memory


def table_for_test(X: AnyTable, max_columns_in_memory: int, n_jobs: int | None = 1) -> AnyTable:
    """The table by tiles if it has more columns than this, and otherwise as an array.

    Parameters
    ----------
    X : (samples, features) as it was read.
    max_columns_in_memory : `WIDE_FROM` in every test, and fewer in small examples.
    n_jobs : 1 for this process alone; with others tiles are on the cluster, if there is one.
    """
    is_wide = X.shape[1] > max_columns_in_memory
    if not is_wide:
        return X[:, :] if isinstance(X, ColumnTable) else X
    table = X if isinstance(X, ColumnTable) else ColumnTable(SlicedColumns(X))
    return placed_on_cluster(table, n_jobs)


def array_for_search(X: AnyTable) -> Floats:
    """The whole table as an array (samples, features), for a search of the user's own."""
    if isinstance(X, ColumnTable):
        return single_if_exact(in_memory(X))
    return X
