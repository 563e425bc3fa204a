"""A table whose tiles of columns lie on the workers of a Dask cluster.

What is asked of a tile is done where it lies: labels go there, sums and the best columns come back.
A tile that dies with its worker is made again from the table's files, by the graph of the
`dask.array` or, where the table is in the memory of this process, from there. What workers have no
room for Dask puts on their disks.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
    """Return a table whose tiles lie on the Dask cluster in use, or else one read by this process.

    A tile is a block of neighbouring columns that is processed at once. The result is a
    `TableOnCluster` if a cluster is in use. If there is no cluster, or if the caller asks for one
    job, the result is the table that this process reads.

    Parameters
    ----------
    table : all columns; on the cluster already, or not.
    n_jobs : 1 to use this process alone; None if the number of jobs is not known.
    """
    # One job means this process, with an exception: a `dask.array` is always computed on the
    # cluster of its Dask client.
    is_dask_array = _dask_array_of(table.source) is not None
    must_stay_local = n_jobs == 1 and not is_dask_array
    if isinstance(table, TableOnCluster):
        if must_stay_local:
            return table.local_table
        return table  # its tiles are on the cluster already
    if must_stay_local:
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
        """Let the workers start to make the tiles, if they can."""
        self.client = client
        self.is_lost = False
        self._table = table
        # The Dask future of each tile's values, by the tile's first column. A tile that has none
        # yet gets one in `future_of`, which sends the values from this process to a worker.
        self._futures: dict[int, Future] = self._start_on_workers()

    def _start_on_workers(self) -> dict[int, Future]:
        """Start to make the tiles on the workers, and return their futures by their first columns.

        The workers can make the tiles if the source of the table is a `dask.array`, or consists of
        files that every worker can read. Otherwise no futures are returned.
        """
        source = self._table.source
        dask_array = _dask_array_of(source)
        # If the scheduler cannot be reached, this raises a `WorkersLostError`.
        with lost_scheduler_is_told(self.client):
            if dask_array is not None:
                return self._futures_from_graph(dask_array)
            if source.files and _workers_see(self.client, source.files):
                return self._futures_from_files(source)
        return {}

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

    def _futures_from_files(self, source: ColumnSource) -> dict[int, Future]:
        """Each worker reads tiles of its own."""
        source_there = keep_there(self.client, source)
        futures = {}
        for start in self._table.tile_starts:
            stop = self._table.end_of_tile(start)
            futures[start] = self.client.submit(_read, source_there, start, stop, pure=False)
        return futures

    def _futures_from_graph(self, array: Any) -> dict[int, Future]:
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

        # A tile is named by its first column, `start`.
        if arguments is None:
            arguments = self.without_arguments()
        argument_of_tile = dict(arguments)  # start → argument
        starts = list(argument_of_tile)

        # Form groups of tiles that one worker holds: a call for a group costs less than a call for
        # each tile. Sorted by their first tiles, the groups are nearly in the order of the tiles.
        max_tiles = min(TILES_IN_ONE_CALL, self._tiles_of_bytes(BYTES_IN_ONE_CALL))
        groups = sorted(self._groups_on_one_worker(starts, max_tiles))

        # The workers return one list of values for each group, in the order of `groups`.
        values_of_groups = self._call_for_each_group(
            _call_on_tiles, groups, argument_of_tile, (function, *common)
        )
        yield from _values_in_order(starts, groups, values_of_groups)

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

        # Form groups of tiles that one worker holds. A tile is named by its first column, `start`.
        argument_of_tile = dict(arguments)  # start → argument
        max_tiles = self._tiles_of_bytes(BYTES_IN_ONE_SUM)
        groups = self._groups_on_one_worker(list(argument_of_tile), max_tiles)

        # The workers return one sum for each group; these are added up in this process.
        sums_of_groups = self._call_for_each_group(
            _sum_over_tiles_of_group, groups, argument_of_tile, (function, *common)
        )
        total = np.array(next(sums_of_groups))  # a copy, which may be changed in place
        for sum_of_group in sums_of_groups:
            total += sum_of_group
        return total

    def _call_for_each_group(
        self,
        call_for_group: Callable[..., Any],
        groups: Sequence[Sequence[int]],
        argument_of_tile: Mapping[int, Any],
        function_and_common: tuple[Any, ...],
    ) -> Iterator[Any]:
        """Call a function on the workers, once for each group of tiles, and yield the results.

        Parameters
        ----------
        call_for_group : `_call_on_tiles` or `_sum_over_tiles_of_group`.
        groups : lists of tiles, each named by its first column. The results have this order.
        argument_of_tile : first column of a tile → the tile's own argument.
        function_and_common : further arguments of `call_for_group`: the function to call for each
            tile, and the arguments that all tiles share.
        """

        def work_without_first(n_done: int) -> Iterator[Any]:
            """Yield the first argument of `call_for_group` for each group but the first `n_done`.

            `map` calls this with 0. When a worker has died, `map` calls it again, with the number
            of groups that have results, to submit the other groups anew.
            """
            for group in groups[n_done:]:
                yield [self._work_item_of_tile(start, argument_of_tile[start]) for start in group]

        return self._worker_tiles.map(call_for_group, work_without_first, function_and_common)

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
        columns_in_whole = self._columns_of_whole(indices)
        distinct_columns, place_of_index = np.unique(columns_in_whole, return_inverse=True)
        # A piece is the columns wanted of one tile, with the tile's first column as its `start`.
        pieces = self._pieces(distinct_columns)

        def work_without_first(n_done: int) -> Iterator[Any]:
            """Yield what to do for each piece but the first `n_done`.

            `map` calls this with 0. When a worker has died, `map` calls it again, with the number
            of pieces that have arrived, to ask for the other pieces anew.
            """
            for piece in pieces[n_done:]:
                yield self._work_item(piece.start, [piece], argument=None)

        # The worker that holds a tile returns the values of the piece: `_call_on_tile` selects the
        # columns of the piece and the samples, and calls `_stored_values`, which needs no argument.
        arrays_of_pieces = list(
            self._worker_tiles.map(_call_on_tile, work_without_first, (_stored_values,))
        )
        if not arrays_of_pieces:
            return np.zeros((len(self), 0), dtype=self.dtype)
        # The pieces are in the order of `distinct_columns`: back to the order of `indices`.
        values = np.concatenate(arrays_of_pieces, axis=1)  # (samples, distinct columns)
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

    def _work_item_of_tile(self, start: int, argument: Any) -> tuple[Any, ...]:
        """What `_call_on_tile` is told of the tile that begins with this column."""
        return self._work_item(start, self._pieces_of_tile(start), argument)

    def _work_item(self, start: int, pieces: Sequence[Piece], argument: Any) -> tuple[Any, ...]:
        """What `_call_on_tile` is told of the tile that is joined from these pieces."""
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


def _values_in_order(
    starts: Sequence[int],
    groups: Sequence[Sequence[int]],
    values_of_groups: Iterable[Sequence[Value]],
) -> Iterator[Value]:
    """Yield one value for each tile, in the order of `starts`, as soon as possible.

    The values arrive group by group. The tiles of a group need not follow each other, so a value
    waits until the values of all tiles before its own have been yielded.

    Parameters
    ----------
    starts : the first columns of the tiles, by which they are named.
    groups : the same first columns, in groups.
    values_of_groups : the values of the tiles of each group, in the order of `groups`.
    """
    value_of_tile: dict[int, Value] = {}  # start → value, of those that have arrived and wait
    n_yielded = 0
    for group, values in zip(groups, values_of_groups, strict=True):
        value_of_tile.update(zip(group, values, strict=True))
        while n_yielded < len(starts) and starts[n_yielded] in value_of_tile:
            yield value_of_tile.pop(starts[n_yielded])
            n_yielded += 1


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


def _stored_values(tile: Tile, _argument: None) -> NDArray[Any]:
    return tile.values


def _call_on_tile(item: Any, function: Callable[..., Value], *common: Any) -> Value:
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


def _call_on_tiles(
    items: Sequence[Any], function: Callable[..., Value], *common: Any
) -> list[Value]:
    """What `_call_on_tile` gives for each of several tiles."""
    return [_call_on_tile(item, function, *common) for item in items]


def _sum_over_tiles_of_group(
    items: Sequence[Any], function: Callable[..., Ints], *common: Any
) -> Ints:
    """The sum of what `_call_on_tile` gives for several tiles."""
    total = np.array(_call_on_tile(items[0], function, *common))
    for item in items[1:]:
        total += _call_on_tile(item, function, *common)
    return total
