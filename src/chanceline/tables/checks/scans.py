"""One pass over the columns of a table, for several checks at once.

A scan looks at a stretch of columns after the other and keeps what it needs of them: a number for
every column or row, or the few columns that are conspicuous. Looking changes nothing, so that it
can be done where the columns are, on a worker of a cluster.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from chanceline._arrays import Floats, Ints
from chanceline.columns.table import AnyTable, ColumnTable, Tile
from chanceline.perceptron.blocks import column_blocks


class ColumnScan(Protocol):
    """A check that looks at every column once."""

    def scan_columns(self, start: int, columns: Floats) -> Any:
        """What is needed of the columns (samples, columns) of which the first has the number
        `start`.
        """

    def keep(self, start: int, seen: Any) -> None:
        """Keep what `scan_columns` gave, for one stretch after the other."""


def scan_table(X: AnyTable, scans: Sequence[ColumnScan]) -> None:
    """Pass all columns of a table (samples, features) through every scan, a few columns at a time.

    The table need not fit into memory, and copies that scans make of columns stay small. For every
    few columns, `scan.scan_columns` returns what the scan needs of them, and `scan.keep` adds it to
    the results inside the scan. Both are told the position in the table of the first of these
    columns.
    """
    if isinstance(X, ColumnTable):
        # The table is not in memory. Its tiles (a few columns each) may be read and looked at
        # elsewhere, on workers of a cluster; what the scans have seen there is kept here.
        seen_in_tiles = X.map_tiles(_look_at_tile, common=(scans,))
        for start, seen_by_scans in zip(X.tile_starts, seen_in_tiles, strict=True):
            for scan, seen in zip(scans, seen_by_scans, strict=True):
                scan.keep(start, seen)
        return
    for block in column_blocks(X):
        columns = X[:, block]
        for scan in scans:
            seen = scan.scan_columns(block.start, columns)
            scan.keep(block.start, seen)


def _look_at_tile(tile: Tile, _argument: None, scans: Sequence[ColumnScan]) -> list[Any]:
    """What each scan returns for the columns of a tile, in the order of the scans."""
    numbers = tile.numbers
    return [scan.scan_columns(tile.start, numbers) for scan in scans]


class FoundColumns:
    """The numbers of columns that a scan found, stretch by stretch."""

    def __init__(self) -> None:
        self._parts: list[Ints] = [np.zeros(0, dtype=np.int64)]

    def add(self, start: int, places: Ints) -> None:
        """Add columns by their positions within a stretch that starts at column `start`."""
        self._parts.append(start + places)

    @property
    def numbers(self) -> Ints:
        """The positions of all columns found, in rising order."""
        return np.concatenate(self._parts)
