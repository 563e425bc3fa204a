"""What a whole table is asked for, a tile of its columns at a time: products, columns, moments and
the products of rows.

Tiles begin at multiples of a fixed width, however the table is stored. So a sum is made in the same
order from a file, a cluster or an array in memory, and the result is the same to the last digit.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chanceline._arrays import Floats, Ints
from chanceline.columns.source import ColumnSource

# Columns of a tile: 80 MB in double precision with 2,500 samples.
TILE_WIDTH = 4_096


class Tile(NamedTuple):
    """Some columns of a table.

    Attributes
    ----------
    start : the number of the first one.
    values : (samples, columns), in double precision.
    """

    start: int
    values: Floats

    @property
    def stop(self) -> int:
        """The number behind that of the last column."""
        return self.start + self.values.shape[1]


class ColumnMoments(NamedTuple):
    """The mean of every column, and its length about the mean: (columns,) each."""

    means: Floats
    lengths: Floats


class ColumnTable:
    """A table of which a tile of columns is in memory at a time."""

    def __init__(self, source: ColumnSource) -> None:
        self.source = source

    @property
    def shape(self) -> tuple[int, int]:
        """(samples, columns)."""
        return self.source.n_samples, self.source.n_columns

    def tiles(self) -> Iterator[Tile]:
        """All columns, one tile after the other."""
        _, n_columns = self.shape
        for start in range(0, n_columns, TILE_WIDTH):
            yield self._tile(start)

    def _tile(self, start: int) -> Tile:
        """The tile that begins with this column."""
        _, n_columns = self.shape
        stop = min(start + TILE_WIDTH, n_columns)
        values = np.ascontiguousarray(self.source.read(start, stop), dtype=np.float64)
        return Tile(start, values)

    def products(self, vectors: Floats) -> Floats:
        """Products of vectors (vectors, samples) with all columns: (vectors, columns)."""
        _, n_columns = self.shape
        products = np.empty((len(vectors), n_columns))
        for tile in self.tiles():
            products[:, tile.start : tile.stop] = vectors @ tile.values
        return products

    def columns(self, indices: Ints) -> NDArray[Any]:
        """These columns in their order, in the type in which they are stored: (samples, indices).

        Every tile that has some of them is read once.
        """
        n_samples, n_columns = self.shape
        tile_of_index = indices // TILE_WIDTH
        parts: list[NDArray[Any]] = []
        places: list[Ints] = []
        for tile in np.unique(tile_of_index):
            start = int(tile) * TILE_WIDTH
            values = self.source.read(start, min(start + TILE_WIDTH, n_columns))
            place = np.flatnonzero(tile_of_index == tile)
            parts.append(values[:, indices[place] - start])
            places.append(place)
        if not parts:
            return np.zeros((n_samples, 0))
        columns = np.concatenate(parts, axis=1)
        # The parts stand in the order of the tiles; back to that of the indices.
        order = np.argsort(np.concatenate(places))
        return columns[:, order]

    def gram(self) -> Floats:
        """The products of all rows with each other, X·Xᵀ: (samples, samples)."""
        n_samples, _ = self.shape
        gram = np.zeros((n_samples, n_samples))
        for tile in self.tiles():
            gram += tile.values @ tile.values.T
        return gram

    def moments(self) -> ColumnMoments:
        """The mean of every column, and its length about the mean."""
        _, n_columns = self.shape
        means = np.empty(n_columns)
        lengths = np.empty(n_columns)
        for tile in self.tiles():
            tile_means = tile.values.mean(axis=0)
            centred = tile.values - tile_means
            means[tile.start : tile.stop] = tile_means
            lengths[tile.start : tile.stop] = np.sqrt(np.einsum("ij,ij->j", centred, centred))
        return ColumnMoments(means, lengths)
