"""One pass over the columns of a table, for several checks at once.

A scan sees a stretch of columns after the other and keeps what it needs of them: a number for every
column or row, or the few columns that are conspicuous.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from chanceline._arrays import Floats, Ints
from chanceline.columns.table import AnyTable, ColumnTable
from chanceline.perceptron.blocks import column_blocks


class ColumnScan(Protocol):
    """A check that looks at every column once."""

    def see(self, start: int, columns: Floats) -> None:
        """Look at the columns (samples, columns) of which the first has the number `start`."""


def scan_table(X: AnyTable, scans: Sequence[ColumnScan]) -> None:
    """Show all columns of a table (samples, features) to every scan, a few of them at a time.

    So a table need not fit into memory, and copies that scans make of columns stay small.
    """
    if isinstance(X, ColumnTable):
        for tile in X.tiles():
            numbers = tile.numbers
            for scan in scans:
                scan.see(tile.start, numbers)
        return
    for block in column_blocks(X):
        for scan in scans:
            scan.see(block.start, X[:, block])


class FoundColumns:
    """The numbers of columns that a scan found, stretch by stretch."""

    def __init__(self) -> None:
        self._parts: list[Ints] = [np.zeros(0, dtype=np.int64)]

    def add(self, start: int, places: Ints) -> None:
        """Places among the columns that begin with the number `start`."""
        self._parts.append(start + places)

    @property
    def numbers(self) -> Ints:
        """Of all columns found, rising."""
        return np.concatenate(self._parts)
