"""What a whole table is asked for, a tile of its columns at a time: products, columns, moments and
the products of rows.

Tiles begin at multiples of a fixed width, however the table is stored. So a sum is made in the same
order from a file, a cluster or an array in memory, and the result is the same to the last digit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from chanceline._arrays import Floats, Ints
from chanceline._parallel import map_in_threads
from chanceline.columns.source import ColumnSource, RowsOfSource
from chanceline.columns.views import ChosenColumns

Value = TypeVar("Value")

# Columns of a tile: 80 MB in double precision with 2,500 samples.
TILE_WIDTH = 4_096


class Tile(NamedTuple):
    """Some columns of a table.

    Attributes
    ----------
    start : the number of the first one.
    values : (samples, columns), in the type in which they are stored.
    """

    start: int
    values: NDArray[Any]

    @property
    def stop(self) -> int:
        """The number behind that of the last column."""
        return self.start + self.values.shape[1]

    @property
    def numbers(self) -> Floats:
        """The values in double precision: (samples, columns)."""
        return np.ascontiguousarray(self.values, dtype=np.float64)


class ColumnMoments(NamedTuple):
    """The mean of every column, and its length about the mean: (columns,) each."""

    means: Floats
    lengths: Floats


class ColumnTable:
    """A table of which a tile of columns is in memory at a time.

    Like an array it has `shape`, `ndim`, `dtype` and a length, and `table[:, indices]` are some of
    its columns in memory, as numbers to compute with; `take(indices)` has them as they are stored.
    It is never turned into an array as a whole.

    Parameters
    ----------
    source : where the columns are kept.
    tile_width : columns of a tile. Sums of the last digit may depend on it, so that two tables are
        compared with the same width.
    """

    ndim = 2

    def __init__(self, source: ColumnSource, tile_width: int | None = None) -> None:
        self.source = source
        self.tile_width = TILE_WIDTH if tile_width is None else tile_width

    @property
    def shape(self) -> tuple[int, int]:
        """(samples, columns)."""
        return self.source.n_samples, self.source.n_columns

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type in which the columns are stored."""
        return self.source.dtype

    def __len__(self) -> int:
        """The number of samples."""
        return self.source.n_samples

    def __getitem__(self, key: Any) -> Floats:
        """`table[:, indices]`: some columns as an array in memory, in double precision.

        The indices are an array or a list of column numbers, an array of booleans, one for every
        column, or a slice: the result has the shape (samples, columns). A single number gives one
        column of the shape (samples,).
        """
        is_pair = isinstance(key, tuple) and len(key) == 2
        if not is_pair or key[0] != slice(None):
            raise TypeError(
                "a table of columns is indexed by its columns alone: table[:, indices]; some of "
                "its samples are table.rows(indices)."
            )
        _, columns = key
        _, n_columns = self.shape

        # A slice of step 1 is a contiguous range of columns, which is read at once.
        if isinstance(columns, slice):
            numbers = range(n_columns)[columns]
            if numbers.step == 1 and len(numbers) > 0:
                return self.stretch(numbers.start, numbers.stop).astype(float)

        # By indexing 0, 1, 2, … NumPy turns every other kind of index into column numbers.
        indices = np.arange(n_columns)[columns]
        is_one_column = indices.ndim == 0
        if is_one_column:
            return self.take(indices[None])[:, 0].astype(float)
        return self.take(indices).astype(float)

    def __array__(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        """Refused: a table may be larger than the memory."""
        raise TypeError("a table of columns is not turned into one array; take table[:, indices].")

    def rows(self, indices: Ints) -> ColumnTable:
        """The table of these samples; nothing is read or copied."""
        return ColumnTable(RowsOfSource(self.source, indices), self.tile_width)

    def select(self, indices: Ints) -> ColumnTable:
        """The table of these columns, in rising order; nothing is read or copied."""
        return ColumnTable(ChosenColumns(self.source, indices), self.tile_width)

    @property
    def tile_starts(self) -> range:
        """The first column of every tile."""
        _, n_columns = self.shape
        return range(0, n_columns, self.tile_width)

    def end_of_tile(self, start: int) -> int:
        """The number behind that of the last column of the tile that begins with this one."""
        _, n_columns = self.shape
        return min(start + self.tile_width, n_columns)

    def stretch(self, start: int, stop: int) -> NDArray[Any]:
        """The columns from `start` up to `stop` as they are stored: (samples, stop − start)."""
        return self.source.read(start, stop)

    def tile(self, start: int) -> Tile:
        """The tile that begins with this column."""
        return Tile(start, self.stretch(start, self.end_of_tile(start)))

    def tiles(self) -> Iterator[Tile]:
        """All columns, one tile after the other."""
        for start in self.tile_starts:
            yield self.tile(start)

    def map_tiles(
        self,
        function: Callable[..., Value],
        arguments: Iterable[tuple[int, Any]] | None = None,
        common: Sequence[Any] = (),
        n_threads: int = 1,
    ) -> Iterator[Value]:
        """Yield function(tile, argument, *common) for tiles in their order, where the tiles are.

        Parameters
        ----------
        function : from the top level of a module; it gives little beside the tile.
        arguments : pairs of a tile's first column and an argument of its own; by default all
            tiles, with None.
        common : arguments that all tiles share.
        n_threads : tiles that are worked on at the same time, where they are in this process.
        """
        if arguments is None:
            arguments = self.without_arguments()

        def call(of_tile: tuple[int, Any]) -> Value:
            start, argument = of_tile
            return function(self.tile(start), argument, *common)

        yield from map_in_threads(call, arguments, n_threads)

    def sum_over_tiles(
        self,
        function: Callable[..., Ints],
        arguments: Sequence[tuple[int, Any]],
        common: Sequence[Any] = (),
        n_threads: int = 1,
    ) -> Ints:
        """The sum of what a function of tiles gives, arrays of one shape.

        They hold whole numbers, whose sum does not depend on the order: where tiles are in other
        processes, each of these sums up its own. The parameters are those of `map_tiles`.
        """
        parts = self.map_tiles(function, arguments, common, n_threads)
        total = np.array(next(parts))
        for part in parts:
            total += part
        return total

    def without_arguments(self) -> list[tuple[int, Any]]:
        """All tiles by their first columns, each with None."""
        return [(start, None) for start in self.tile_starts]

    def place(self, value: Any) -> Any:
        """What stands for a value in the arguments of `map_tiles`, again and again.

        Where tiles are in other processes, it is sent there once.
        """
        return value

    def products(self, vectors: Floats) -> Floats:
        """Products of vectors (vectors, samples) with all columns: (vectors, columns)."""
        _, n_columns = self.shape
        products = np.empty((len(vectors), n_columns))
        for tile in self.tiles():
            products[:, tile.start : tile.stop] = vectors @ tile.numbers
        return products

    def take(self, indices: Ints) -> NDArray[Any]:
        """Read columns in the order of `indices`, in the type as stored: (samples, indices).

        The table is read tile by tile (a tile is a block of `tile_width` columns): of each tile
        once, and only from the first to the last column that is wanted.
        """
        tile_of_index = indices // self.tile_width
        parts: list[NDArray[Any]] = []  # for each tile its wanted columns
        positions_of_parts: list[Ints] = []  # and the positions in `indices` that ask for them
        for tile_number in np.unique(tile_of_index):
            positions = np.flatnonzero(tile_of_index == tile_number)
            wanted_columns = indices[positions]
            first = int(wanted_columns.min())
            last = int(wanted_columns.max())
            values = self.source.read(first, last + 1)
            # Indexing makes a copy, which is not needed if all columns read are wanted in order.
            places = wanted_columns - first  # among the columns read
            are_all_wanted_in_order = np.array_equal(places, np.arange(values.shape[1]))
            if not are_all_wanted_in_order:
                values = values[:, places]
            parts.append(values)
            positions_of_parts.append(positions)
        if not parts:
            return np.zeros((len(self), 0), dtype=self.dtype)

        # The parts are in the order of the tiles. Bring the columns into the order of the indices.
        columns = np.concatenate(parts, axis=1)
        order = np.argsort(np.concatenate(positions_of_parts))
        is_in_order = np.array_equal(order, np.arange(len(order)))
        if is_in_order:
            return columns
        return columns[:, order]

    def gram(self) -> Floats:
        """The products of all rows with each other, X·Xᵀ: (samples, samples)."""
        n_samples = len(self)
        gram = np.zeros((n_samples, n_samples))
        for tile in self.tiles():
            values = tile.numbers
            gram += values @ values.T
        return gram

    def moments(self) -> ColumnMoments:
        """The mean of every column, and its length about the mean, √Σ(x − mean)².

        Both are arrays of shape (columns,). The table is read a tile (a block of columns) at a
        time.
        """
        _, n_columns = self.shape
        means = np.empty(n_columns)
        lengths = np.empty(n_columns)
        for tile in self.tiles():
            values = tile.numbers
            tile_means = values.mean(axis=0)
            centred = values - tile_means
            means[tile.start : tile.stop] = tile_means
            squared_lengths = np.einsum("ij,ij->j", centred, centred)  # Σ over samples
            lengths[tile.start : tile.stop] = np.sqrt(squared_lengths)
        return ColumnMoments(means, lengths)


# What is asked for columns only may be either.
AnyTable = Floats | ColumnTable
