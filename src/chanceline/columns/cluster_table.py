"""A table whose tiles of columns lie on the workers of a Dask cluster.

What is asked of a tile is done where it lies: labels go there, sums and the best columns come back.
A tile that dies with its worker is made again from the table's files, by the graph of the
`dask.array` or, where the table is in the memory of this process, from there. What workers have no
room for Dask puts on their disks.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from chanceline._arrays import Ints
from chanceline._cluster import (
    WorkersLostError,
    active_client,
    default_client,
    lost_scheduler_is_told,
    run_on_every_worker,
    send_to_worker,
)
from chanceline._parallel import map_on_cluster, refuse_other_versions
from chanceline.columns.source import ColumnSource
from chanceline.columns.table import ColumnTable, Tile

Value = TypeVar("Value")
Future = Any  # of Dask, which need not be installed

# Of one worker, in one call: a call costs scheduler and client as much as a small tile takes.
TILES_IN_ONE_CALL = 4
BYTES_IN_ONE_CALL = 64_000_000
BYTES_IN_ONE_SUM = 256_000_000  # of tiles that a worker sums up before it sends the sum
LOST_STATES = ("cancelled", "lost")  # of a future whose value nobody can make again but us


def placed_on_cluster(table: ColumnTable, n_jobs: int | None = None) -> ColumnTable:
    """Put the tiles of a table on the Dask cluster in use; without a cluster return the table.

    A tile is a block of neighbouring columns that is processed at once.

    Parameters
    ----------
    table : all columns.
    n_jobs : 1 to use this process alone; None if the number of jobs is not known.
    """
    # One job means this process, so a table on the cluster is read here again. An exception is a
    # `dask.array`, which is always computed on the cluster of its Dask client.
    is_dask_array = _dask_array_of(table.source) is not None
    is_for_this_process = n_jobs == 1 and not is_dask_array
    if isinstance(table, TableOnCluster):
        if is_for_this_process:
            return table.local_table
        return table  # its tiles are on the cluster already
    if is_for_this_process:
        return table

    # Put the tiles on the workers of the cluster, if one is in use.
    client = _client_to_use(n_jobs, is_dask_array)
    if client is None:
        return table
    refuse_other_versions(client)  # workers must have the same version of this package
    return TableOnCluster(table, TilesOnCluster(client, table))


def _client_to_use(n_jobs: int | None, is_dask_array: bool) -> Any | None:
    """The client of the cluster that joblib was told to use, or else, for a `dask.array`, of Dask.

    None without a cluster. One job does not ask joblib.
    """
    client = None if n_jobs == 1 else active_client()
    if client is None and is_dask_array:
        client = default_client()
    return client


class TilesOnCluster:
    """The tiles of a table as futures of Dask.

    Parameters
    ----------
    client : Dask's.
    table : where the columns are kept, and how many are in a tile.

    Attributes
    ----------
    client : the same.
    is_lost : whether workers died again and again, or the scheduler is gone.
    """

    def __init__(self, client: Any, table: ColumnTable) -> None:
        """Start to make the tiles on the workers: from a `dask.array`, or from files they can read.

        `_futures` maps the first column of each tile to the tile's Dask future. If the workers
        cannot make the tiles, the mapping starts empty, and this process sends a tile to a worker
        when it is first needed.
        """
        self.client = client
        self.is_lost = False
        self._table = table
        source = table.source
        dask_array = _dask_array_of(source)
        with lost_scheduler_is_told(client):  # if the scheduler is gone, the error says so
            if dask_array is not None:
                self._futures = self._from_graph(dask_array)
            elif source.files and _workers_see(client, source.files):
                self._futures = self._from_files(source)
            else:
                self._futures = {}

    def future_of(self, start: int) -> Future:
        """The values of the tile that begins with this column, on a worker."""
        future = self._futures.get(start)
        if future is None or future.status in LOST_STATES:
            future = send_to_worker(self.client, self._table.tile(start).values)
            self._futures[start] = future
        return future

    @property
    def can_be_read_here_only(self) -> bool:
        """Whether the cluster is lost, or was left on purpose, and the columns are not."""
        is_left = self.is_lost or self.client.status == "closed"
        return is_left and _dask_array_of(self._table.source) is None

    def groups_by_worker(self, starts: Sequence[int], max_tiles: int) -> list[list[int]]:
        """Group tiles (blocks of columns) by the worker that holds them, as far as this is known.

        Parameters
        ----------
        starts : the first columns of the tiles.
        max_tiles : the largest number of tiles in a group.

        Returns
        -------
        The groups, each a list of the first columns of its tiles.
        """
        # Ask the scheduler which workers hold each tile: key of the future → workers' addresses.
        futures = {start: self.future_of(start) for start in starts}
        with self._loss_is_noted(), lost_scheduler_is_told(self.client):
            workers_of_key = self.client.who_has(list(futures.values()))

        # If several workers hold a tile, it counts for the one whose address comes first. Tiles
        # that have not been made yet are collected under the empty address.
        starts_of_worker: dict[str, list[int]] = {}
        for start, future in futures.items():
            worker = min(workers_of_key[future.key], default="")
            starts_of_worker.setdefault(worker, []).append(start)

        # Cut the tiles of each worker into groups of at most `max_tiles`.
        groups = []
        for starts_on_worker in starts_of_worker.values():
            for first in range(0, len(starts_on_worker), max_tiles):
                groups.append(starts_on_worker[first : first + max_tiles])
        return groups

    def map(
        self,
        function: Callable[..., Value],
        items_after: Callable[[int], Iterable[Any]],
        common: Sequence[Any],
    ) -> Iterator[Value]:
        """Yield what workers make of tiles, as `map_on_cluster` does."""
        with self._loss_is_noted():
            yield from map_on_cluster(self.client, function, items_after, common)

    def keep(self, value: Any) -> Future:
        """A value on the cluster, as `keep_there` does it."""
        with self._loss_is_noted():
            return keep_there(self.client, value)

    @contextmanager
    def _loss_is_noted(self) -> Iterator[None]:
        try:
            yield
        except WorkersLostError:
            self.is_lost = True
            raise

    def _from_files(self, source: ColumnSource) -> dict[int, Future]:
        """Each worker reads tiles of its own."""
        source_there = keep_there(self.client, source)
        futures = {}
        for start in self._table.tile_starts:
            stop = self._table.end_of_tile(start)
            futures[start] = self.client.submit(_read, source_there, start, stop, pure=False)
        return futures

    def _from_graph(self, array: Any) -> dict[int, Future]:
        """What the graph of a `dask.array` makes."""
        starts = self._table.tile_starts
        tiles = [array[:, start : self._table.end_of_tile(start)] for start in starts]
        # All in one call, so that a block that two tiles share is made once.
        return dict(zip(starts, self.client.compute(tiles), strict=True))


class Piece(NamedTuple):
    """Some columns of a tile of the whole table.

    Attributes
    ----------
    start : the first column of the tile.
    columns : (columns,) places in the tile; None for all of them.
    """

    start: int
    columns: Ints | None = None


class TableOnCluster(ColumnTable):
    """A table of columns, or some rows and columns of it, whose tiles lie on workers.

    When the cluster is lost or left, this process reads the columns itself, so that what is there
    already can be told.

    Parameters
    ----------
    table : the same columns as this process reads them.
    tiles : those of the whole table.
    features : (columns here,) their numbers in the whole table, rising; None if they are all.
    samples : (samples here,) their numbers there; None if they are all.

    Attributes
    ----------
    local_table : `table`.
    """

    def __init__(
        self,
        table: ColumnTable,
        tiles: TilesOnCluster,
        features: Ints | None = None,
        samples: Ints | None = None,
    ) -> None:
        super().__init__(table.source, table.tile_width)
        self.local_table = table
        self._worker_tiles = tiles
        self._features = features
        self._samples = samples

    def rows(self, indices: Ints) -> TableOnCluster:
        samples = indices if self._samples is None else self._samples[indices]
        return TableOnCluster(
            self.local_table.rows(indices), self._worker_tiles, self._features, samples
        )

    def select(self, indices: Ints) -> TableOnCluster:
        features = self._columns_of_whole(indices)
        return TableOnCluster(
            self.local_table.select(indices), self._worker_tiles, features, self._samples
        )

    def stretch(self, start: int, stop: int) -> NDArray[Any]:
        return self.take(np.arange(start, stop))

    def map_tiles(
        self,
        function: Callable[..., Value],
        arguments: Iterable[tuple[int, Any]] | None = None,
        common: Sequence[Any] = (),
        n_threads: int = 1,
    ) -> Iterator[Value]:
        """Yield function(tile, argument, *common) for tiles in their order, called by the workers.

        A tile is a block of neighbouring columns. Each worker calls the function for tiles that it
        holds. If the cluster is lost, this process reads the tiles itself, `n_threads` at a time.

        Parameters
        ----------
        function : from the top level of a module.
        arguments : pairs of a tile's first column and the tile's own argument; by default all
            tiles, with None.
        common : arguments that all tiles share.
        """
        if self._worker_tiles.can_be_read_here_only:
            yield from self.local_table.map_tiles(function, arguments, common, n_threads)
            return

        # Form groups of tiles that one worker holds: a call for a group costs less than a call for
        # each tile. A tile is named by its first column, `start`.
        if arguments is None:
            arguments = self.without_arguments()
        argument_of = dict(arguments)  # start → argument
        starts = list(argument_of)
        max_tiles = min(TILES_IN_ONE_CALL, self._tiles_of_bytes(BYTES_IN_ONE_CALL))
        groups = sorted(self._groups_on_one_worker(starts, max_tiles))

        def items_after(n_done: int) -> Iterator[Any]:
            """For each group but the first `n_done`, which are done, the items for `_on_tiles`."""
            for group in groups[n_done:]:
                yield [self._item_of_tile(start, argument_of[start]) for start in group]

        # One list of values for each group, in the order of `groups`. `map` first calls
        # items_after(0), and calls it again for the groups that remain when a worker has died.
        values_of_groups = self._worker_tiles.map(_on_tiles, items_after, (function, *common))

        # The values arrive group by group, but are yielded in the order of the tiles. The tiles of
        # a group need not follow each other, so a value waits until it is its tile's turn.
        waiting_values: dict[int, Value] = {}  # start → value
        for group, values in zip(groups, values_of_groups, strict=True):
            waiting_values.update(zip(group, values, strict=True))
            while starts and starts[0] in waiting_values:
                next_start = starts.pop(0)
                yield waiting_values.pop(next_start)

    def sum_over_tiles(
        self,
        function: Callable[..., Ints],
        arguments: Sequence[tuple[int, Any]],
        common: Sequence[Any] = (),
        n_threads: int = 1,
    ) -> Ints:
        """Sum function(tile, argument, *common), arrays of integers, over tiles.

        A tile is a block of neighbouring columns. Every worker sums up the values of the tiles that
        it holds. If the cluster is lost, this process reads the tiles itself, `n_threads` at a
        time. The parameters are those of `map_tiles`.
        """
        if self._worker_tiles.can_be_read_here_only:
            return self.local_table.sum_over_tiles(function, arguments, common, n_threads)

        # Form groups of tiles that one worker holds; the worker sends back their sum. A tile is
        # named by its first column, `start`.
        argument_of = dict(arguments)  # start → argument
        max_tiles = self._tiles_of_bytes(BYTES_IN_ONE_SUM)
        groups = self._groups_on_one_worker(list(argument_of), max_tiles)

        def items_after(n_done: int) -> Iterator[Any]:
            """For each group but the first `n_done`, the items for `_sum_of_tiles`.

            `map` calls this with 0, and again for the groups that remain when a worker has died.
            """
            for group in groups[n_done:]:
                yield [self._item_of_tile(start, argument_of[start]) for start in group]

        # Add up the sums of the groups in this process.
        sums_of_groups = self._worker_tiles.map(_sum_of_tiles, items_after, (function, *common))
        total = np.array(next(sums_of_groups))  # a copy, which may be changed in place
        for sum_of_group in sums_of_groups:
            total += sum_of_group
        return total

    def place(self, value: Any) -> Any:
        return self._worker_tiles.keep(value)

    def take(self, indices: Ints) -> NDArray[Any]:
        """Get these columns from the workers, in the order of `indices`: (samples, indices).

        The values have the type in which they are stored. If the cluster is lost, this process
        reads the columns itself.
        """
        if self._worker_tiles.can_be_read_here_only:
            return self.local_table.take(indices)

        # This table may be a part of a larger one, and the tiles on the workers are those of the
        # larger table: convert the indices. Each column is sent once, even if it occurs again.
        columns = self._columns_of_whole(indices)
        distinct_columns, place_of_index = np.unique(columns, return_inverse=True)
        # A piece is the columns wanted of one tile, with the tile's first column as its `start`.
        pieces = self._pieces(distinct_columns)

        def items_after(n_done: int) -> Iterator[Any]:
            """For each piece but the first `n_done`, the item for `_on_tile`.

            `map` calls this with 0, and again for the pieces that remain when a worker has died.
            """
            for piece in pieces[n_done:]:
                # `_values_of` returns the tile's values and needs no argument.
                yield self._item(piece.start, [piece], argument=None)

        # One array for each piece, (samples, columns of the piece), in the order of the pieces.
        parts = list(self._worker_tiles.map(_on_tile, items_after, (_values_of,)))
        if not parts:
            return np.zeros((len(self), 0), dtype=self.dtype)
        values = np.concatenate(parts, axis=1)  # of `distinct_columns`
        return values[:, place_of_index]

    def _groups_on_one_worker(self, starts: Sequence[int], max_tiles: int) -> list[list[int]]:
        """Tiles, by their first columns, in groups that one worker has: all, or the first parts."""
        tile_here = {self._pieces_of_tile(start)[0].start: start for start in starts}
        groups = self._worker_tiles.groups_by_worker(list(tile_here), max_tiles)
        return [[tile_here[start] for start in group] for group in groups]

    def _tiles_of_bytes(self, n_bytes: int) -> int:
        """The number of tiles that have so many bytes together; at least one."""
        tile_bytes = len(self) * self.tile_width * self.dtype.itemsize
        return max(1, n_bytes // tile_bytes)

    def _columns_of_whole(self, columns: Ints) -> Ints:
        """The numbers in the whole table, whose tiles lie on workers, of some columns here."""
        return columns if self._features is None else self._features[columns]

    def _item_of_tile(self, start: int, argument: Any) -> tuple[Any, ...]:
        """What `_on_tile` is told of the tile that begins with this column."""
        return self._item(start, self._pieces_of_tile(start), argument)

    def _item(self, start: int, pieces: Sequence[Piece], argument: Any) -> tuple[Any, ...]:
        """What `_on_tile` is told of the tile that is joined from these pieces."""
        return start, self._on_workers(pieces), self._samples, argument

    def _pieces_of_tile(self, start: int) -> list[Piece]:
        """What the tile that begins with this column is joined from."""
        if self._features is None:
            return [Piece(start)]
        return self._pieces(self._features[start : self.end_of_tile(start)])

    def _pieces(self, numbers: Ints) -> list[Piece]:
        """What columns are joined from, by their numbers (columns,) in the whole table, rising."""
        starts = numbers // self.tile_width * self.tile_width
        return [
            Piece(start, numbers[starts == start] - start) for start in np.unique(starts).tolist()
        ]

    def _on_workers(self, pieces: Sequence[Piece]) -> list[tuple[Future, Ints | None]]:
        """The tiles that pieces are of, and their places there."""
        return [(self._worker_tiles.future_of(piece.start), piece.columns) for piece in pieces]


def keep_there(client: Any, value: Any) -> Future:
    """A value on the cluster, which the scheduler can have made again when its worker dies."""
    with lost_scheduler_is_told(client), warnings.catch_warnings():
        # A value of some MB is no mistake.
        warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
        return client.submit(_same, value, pure=False)


def _dask_array_of(source: ColumnSource) -> Any | None:
    """The `dask.array` that a source slices; None if it is another."""
    array = getattr(source, "array", None)
    return array if hasattr(array, "__dask_graph__") else None


def _workers_see(client: Any, files: Sequence[Path]) -> bool:
    """Whether every worker finds the same files where this process does."""
    here = _marks_of_files(files)
    return all(there == here for there in run_on_every_worker(client, _marks_of_files, files))


def _marks_of_files(files: Sequence[Path]) -> list[tuple[int, int] | None]:
    """Describe every file by its size in bytes and the time it was last written, in nanoseconds.

    The description is None if the file cannot be found. Two computers that see the same file
    describe it in the same way.
    """
    marks: list[tuple[int, int] | None] = []
    for path in files:
        try:
            status = path.stat()
        except OSError:
            marks.append(None)
        else:
            marks.append((status.st_size, status.st_mtime_ns))
    return marks


def _same(value: Value) -> Value:
    return value


def _read(source: ColumnSource, start: int, stop: int) -> NDArray[Any]:
    """What a worker does to have a tile."""
    return source.read(start, stop)


def _values_of(tile: Tile, _argument: None) -> NDArray[Any]:
    return tile.values


def _on_tile(item: Any, function: Callable[..., Value], *common: Any) -> Value:
    """What a worker does with a tile, which is joined from pieces of those that lie there.

    Parameters
    ----------
    item : the first column, tiles of the whole table with the places of columns in them, the rows
        that are meant, and the tile's own argument.
    function, common : as in `ColumnTable.map_tiles`.
    """
    start, pieces, samples, argument = item
    parts = [values if columns is None else values[:, columns] for values, columns in pieces]
    values = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
    if samples is not None:
        values = values[samples]
    return function(Tile(start, values), argument, *common)


def _on_tiles(items: Sequence[Any], function: Callable[..., Value], *common: Any) -> list[Value]:
    """What `_on_tile` gives for each of several tiles."""
    return [_on_tile(item, function, *common) for item in items]


def _sum_of_tiles(items: Sequence[Any], function: Callable[..., Ints], *common: Any) -> Ints:
    """The sum of what `_on_tile` gives for several tiles."""
    total = np.array(_on_tile(items[0], function, *common))
    for item in items[1:]:
        total += _on_tile(item, function, *common)
    return total
