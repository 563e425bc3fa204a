"""Where the numbers of a table are kept: an array that nobody else writes to, or all in memory."""

from __future__ import annotations

from dataclasses import replace

from chanceline.columns.table import AnyTable, ColumnTable
from chanceline.columns.wide import in_memory
from chanceline.tables.dataset import Dataset


def make_read_only(X: AnyTable) -> None:
    """Let nobody write to an array, so that it need not be copied; a table of columns has nothing
    to write to.
    """
    if not isinstance(X, ColumnTable):
        X.flags.writeable = False


def with_array(dataset: Dataset) -> Dataset:
    """The same table with all its columns in one array, for what needs them at once."""
    return replace(dataset, X=in_memory(dataset.X), feature_names=tuple(dataset.feature_names))
