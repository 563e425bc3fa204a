"""The gains of columns that are read by tiles: what is kept of a tile stays where the tile is.

Labels, and the directions that paths take, go to the tiles; what comes back is the best column of
every labelling, and how many columns have squared products of each size. Products of all columns
with all labellings are in no process together, unless all tiles are.

What a process has no longer, because a worker died or has no room, it makes again from the tile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol
from uuid import uuid4

import numpy as np

from chanceline._arrays import Bools, Floats, Ints
from chanceline._cluster import memory_of_this_worker
from chanceline.columns.table import ColumnTable, Tile
from chanceline.significance.path_gains import columns_in_share, lengths_at_start, take_out_of
from chanceline.significance.path_steps import (
    SPREAD_SHARES,
    RowMaxima,
    largest_in_chunk,
    largest_of_maxima,
)

# What tiles keep may take this share of a worker's memory.
SHARE_OF_WORKER = 0.2
# The leading bits of a float tell its size: so many of the 23 of its fraction are cut off, and
# three are left, for eight sizes in every doubling.
BITS_CUT_OFF = 20
# Squared products of a column of length 1 with labels ±1 are about 1 by chance, and at most the
# number of samples. What is below or above these has the first or the last of all sizes.
SMALLEST_SQUARE = 2.0**-4
LARGEST_SQUARE = 2.0**14


def size_of_squares(squares: Floats) -> Ints:
    """A number for the size of each square, larger for larger ones, from 0 on.

    Parameters
    ----------
    squares : in single precision, of any shape.
    """
    leading_bits = squares.view(np.int32) >> BITS_CUT_OFF
    sizes: Ints = np.clip(leading_bits - _SMALLEST_BITS, 0, N_SIZES - 1)
    return sizes


def _leading_bits(number: float) -> int:
    return int(np.float32(number).view(np.int32)) >> BITS_CUT_OFF


_SMALLEST_BITS = _leading_bits(SMALLEST_SQUARE)
N_SIZES = 1 + _leading_bits(LARGEST_SQUARE) - _SMALLEST_BITS


class UsedColumns(Protocol):
    """The columns of a tile that paths may take.

    Attributes
    ----------
    first : the number of the first one among all that paths may take.
    """

    @property
    def first(self) -> int: ...

    def scaled(self, tile: Tile) -> Floats:
        """Their values (samples, columns), of length 1, in single precision."""


class PathSoFar(NamedTuple):
    """What a tile is told of the paths.

    Attributes
    ----------
    used : its columns.
    labels : (labellings, samples) what threshold, blocks and covariates leave of the labels.
    taken : directions (labellings, samples), and the labels' parts along them (labellings, 1).
    """

    used: UsedColumns
    labels: Floats
    taken: Sequence[tuple[Floats, Floats]]


class StateOfTile(NamedTuple):
    """C and L of a tile's columns (labellings, columns) without so many directions."""

    products: Floats
    squared_lengths: Floats
    n_taken: int

    @property
    def n_bytes(self) -> int:
        return self.products.nbytes + self.squared_lengths.nbytes


class KeptStates:
    """What the tiles in this process keep from one step of the paths to the next.

    In another process it stands for what the tiles there keep.

    Parameters
    ----------
    paths : a name for these paths, unlike that of any others.
    """

    def __init__(self, paths: str) -> None:
        self._paths = paths
        self._state_of_tile: dict[int, StateOfTile] = {}

    def __reduce__(self) -> tuple[Callable[[str], KeptStates], tuple[str]]:
        return _kept_in_this_process, (self._paths,)

    def state_after(self, tile: Tile, so_far: PathSoFar) -> StateOfTile:
        """The state of a tile after all directions taken.

        It is made of the state that was kept, which is not kept any more, or else anew.
        """
        state = self._state_of_tile.pop(tile.start, None)
        n_taken = len(so_far.taken)
        if state is not None and state.n_taken == n_taken:
            return state

        values = so_far.used.scaled(tile)
        # A state with more directions than were taken cannot be led back.
        if state is None or state.n_taken > n_taken:
            products = so_far.labels @ values
            state = StateOfTile(products, lengths_at_start(products), n_taken=0)
        for direction, coefficient in so_far.taken[state.n_taken :]:
            take_out_of(state.products, state.squared_lengths, values, direction, coefficient)
        return state._replace(n_taken=n_taken)

    def keep(self, tile: Tile, state: StateOfTile) -> None:
        """Keep the state of a tile for the next step, if there is room."""
        memory = memory_of_this_worker()
        n_bytes = sum(kept.n_bytes for kept in [state, *self._state_of_tile.values()])
        if memory is None or n_bytes <= SHARE_OF_WORKER * memory:
            self._state_of_tile[tile.start] = state


# Of the paths that a worker was asked about last.
_kept_by_paths: dict[str, KeptStates] = {}


def _kept_in_this_process(paths: str) -> KeptStates:
    """What tiles in this process keep of these paths; what they kept of others is forgotten."""
    for others in [name for name in _kept_by_paths if name != paths]:
        _kept_by_paths.pop(others, None)
    return _kept_by_paths.setdefault(paths, KeptStates(paths))


class FirstLook(NamedTuple):
    """What a tile tells before anything is taken out.

    Attributes
    ----------
    n_of_size : (labellings, sizes) how many columns have squared products of each size.
    sum_of_squares : (labellings,)
    best : the column of largest gain for every labelling.
    """

    n_of_size: Ints
    sum_of_squares: Floats
    best: RowMaxima


class LargeSquares(NamedTuple):
    """The largest squared products of a tile, for every labelling and some shares of the columns.

    A share ends among the squares of one size, its smallest.

    Attributes
    ----------
    sum_of_larger : (labellings, shares) the sum of the squares of larger sizes.
    n_smallest : (labellings, shares) how many have the smallest size.
    smallest : for each share these squares, those of the first labelling before the others.
    """

    sum_of_larger: Floats
    n_smallest: Ints
    smallest: list[Floats]


class EndOfShare(NamedTuple):
    """Where a share of the columns ends, those with the largest squares: (labellings,).

    Attributes
    ----------
    size : the smallest size of squares in it.
    n_of_size : how many squares of this size are in it.
    """

    size: Ints
    n_of_size: Ints


class GainsByTiles:
    """The gains of all columns of a table that is read by tiles.

    Parameters
    ----------
    table : all columns.
    used : pairs of a tile's first column and the `UsedColumns` of the tile, placed in the table.
    labels : (labellings, samples) what threshold, blocks and covariates leave of the labels.
    n_steps : of the paths.
    n_threads : tiles that are worked on at the same time.
    """

    def __init__(
        self,
        table: ColumnTable,
        used: Sequence[tuple[int, Any]],
        labels: Floats,
        *,
        n_steps: int,
        n_threads: int,
    ) -> None:
        self._table = table
        self._used = used
        # Placed where the tiles are, so that labels are sent there once for all steps.
        self._labels = table.place(labels.astype(np.float32))
        self._n_labellings = len(labels)
        self._n_steps = n_steps
        self._n_threads = n_threads
        self._taken: list[Any] = []  # as in `PathSoFar`, and placed as well
        self._kept = KeptStates(uuid4().hex)  # a name that no other paths have
        self._first_looks = list(self._map(look_first))

    def best_pairs(self, squared_length: Floats, scale: Floats) -> None:
        """None: too many columns for a list of pairs."""

    def mean_squares(self) -> Floats:
        """The mean squared product of each share of the columns: (labellings, SPREAD_SHARES).

        No process has the squares of all columns, to take the largest. So every tile first tells
        how many squares it has of each size (`size_of_squares`), which shows the size at which a
        share ends. Then it gives the sum of its larger squares, and those of that size one by one.
        """
        n_of_size = np.sum([look.n_of_size for look in self._first_looks], axis=0)
        n_columns = int(n_of_size[0].sum())
        means = np.empty((self._n_labellings, len(SPREAD_SHARES)))
        # The first share is all columns.
        means[:, 0] = sum(look.sum_of_squares for look in self._first_looks) / n_columns

        # Of the others the tiles are asked for their largest squares.
        n_best_of_share = [columns_in_share(share, n_columns) for share in SPREAD_SHARES[1:]]
        ends = [end_of_share(n_of_size, n_best) for n_best in n_best_of_share]
        smallest_sizes = np.column_stack([end.size for end in ends])  # (labellings, shares)
        tiles = list(self._map(large_squares, smallest_sizes, is_last=self._n_steps == 1))
        for share, (end, n_best) in enumerate(zip(ends, n_best_of_share, strict=True)):
            totals = sum(tile.sum_of_larger[:, share] for tile in tiles)  # (labellings,)
            for labelling, squares in enumerate(_joined_by_labelling(tiles, share)):
                # Of the smallest size only the largest squares are in the share.
                n_left_out = len(squares) - end.n_of_size[labelling]
                in_share = np.sort(squares)[n_left_out:]
                totals[labelling] += in_share.sum(dtype=float)
            means[:, 1 + share] = totals / n_best
        return means

    def best_columns(self) -> Ints:
        if self._taken:
            is_last = len(self._taken) == self._n_steps - 1
            maxima: Iterator[RowMaxima] = self._map(best_of_tile, is_last=is_last)
        else:
            maxima = (look.best for look in self._first_looks)
        best, _ = largest_of_maxima(maxima, n_rows=self._n_labellings)
        return best

    def take_out(self, direction: Floats, coefficient: Floats) -> None:
        taken = (direction.astype(np.float32), coefficient.astype(np.float32))
        self._taken.append(self._table.place(taken))

    def _map(
        self, function: Callable[..., Any], *common: Any, is_last: bool = False
    ) -> Iterator[Any]:
        """What a function of a tile and the paths so far gives for each tile, in their order.

        `is_last` : whether nothing is asked of the tiles after that.
        """
        taken = list(self._taken)
        arguments = [(start, (used, self._labels, taken)) for start, used in self._used]
        common = (function, self._kept, is_last, *common)
        return self._table.map_tiles(_of_tile, arguments, common, self._n_threads)


def _of_tile(
    tile: Tile,
    argument: tuple[UsedColumns, Floats, Sequence[tuple[Floats, Floats]]],
    function: Callable[..., Any],
    kept: KeptStates,
    is_last: bool,
    *common: Any,
) -> Any:
    """function(state, first, *common) of the tile's state, and where its columns begin.

    The state is kept unless nothing more is asked.
    """
    so_far = PathSoFar(*argument)
    state = kept.state_after(tile, so_far)
    result = function(state, so_far.used.first, *common)
    if not is_last:
        kept.keep(tile, state)
    return result


def look_first(state: StateOfTile, first: int) -> FirstLook:
    """What a tile tells before anything is taken out; its columns begin with number `first`."""
    squares = state.products**2
    sizes = size_of_squares(squares)
    return FirstLook(
        n_of_size=np.array([np.bincount(row, minlength=N_SIZES) for row in sizes], dtype=np.int32),
        sum_of_squares=squares.sum(axis=1, dtype=float),
        best=best_of_tile(state, first),
    )


def best_of_tile(state: StateOfTile, first: int) -> RowMaxima:
    """The column of largest gain C²/L for every labelling; columns begin with number `first`."""
    return largest_in_chunk(first, state.products**2 / state.squared_lengths)


def large_squares(state: StateOfTile, _first: int, smallest_sizes: Ints) -> LargeSquares:
    """The squared products of a tile that may be among the largest of all columns.

    Squares are sorted by their size, a small whole number (`size_of_squares`). Those of a larger
    size than the smallest in a share are all in it, and summed up. Those of the smallest size may
    be in it or not, and are given one by one.

    Parameters
    ----------
    state : with nothing taken out.
    smallest_sizes : (labellings, shares) the smallest size of squares in every share.
    """
    squares = state.products**2  # (labellings, columns)
    sizes = size_of_squares(squares)
    sum_of_larger = np.empty(smallest_sizes.shape)
    n_smallest = np.empty(smallest_sizes.shape, dtype=np.int64)
    smallest = []
    for share in range(smallest_sizes.shape[1]):
        smallest_size = smallest_sizes[:, share, None]  # (labellings, 1)
        larger_squares = np.where(sizes > smallest_size, squares, 0)
        sum_of_larger[:, share] = larger_squares.sum(axis=1, dtype=float)
        is_smallest: Bools = sizes == smallest_size
        n_smallest[:, share] = is_smallest.sum(axis=1)
        smallest.append(squares[is_smallest])
    return LargeSquares(sum_of_larger, n_smallest, smallest)


def end_of_share(n_of_size: Ints, n_best: int) -> EndOfShare:
    """Where the `n_best` largest squares end.

    Parameters
    ----------
    n_of_size : (labellings, sizes) how many squares there are of each size.
    """
    # Of this size or a larger one: (labellings, sizes), falling.
    n_up_to = np.cumsum(n_of_size[:, ::-1], axis=1)[:, ::-1]
    size = np.count_nonzero(n_up_to >= n_best, axis=1) - 1
    rows = np.arange(len(n_of_size))
    n_larger = n_up_to[rows, size] - n_of_size[rows, size]
    return EndOfShare(size, n_best - n_larger)


def _joined_by_labelling(parts: Sequence[LargeSquares], share: int) -> list[Floats]:
    """The squares of the smallest size in a share, of all tiles: an array for every labelling."""
    counts = np.array([part.n_smallest[:, share] for part in parts])  # (tiles, labellings)
    n_labellings = counts.shape[1]
    squares = np.concatenate([part.smallest[share] for part in parts])
    labelling = np.concatenate([np.repeat(np.arange(n_labellings), row) for row in counts])
    order = np.argsort(labelling, kind="stable")
    return np.split(squares[order], np.cumsum(counts.sum(axis=0))[:-1])
