"""The gains of columns that are read by tiles: what is kept of a tile stays where the tile is.

Labels, and the directions that paths take, go to the tiles; what comes back is the best column of
every labelling, and a histogram of its squared products. Products of all columns
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
# The leading bits of a float tell its magnitude: so many of the 23 of its fraction are cut off, and
# three are left, for eight bins in every doubling.
BITS_CUT_OFF = 20
# Squared products of a column of length 1 with labels ±1 are about 1 by chance, and at most the
# number of samples. What is below or above these is in the first or the last of all bins.
SMALLEST_SQUARE = 2.0**-4
LARGEST_SQUARE = 2.0**14


def bins_of_squares(squares: Floats) -> Ints:
    """The histogram bin of each square, a whole number from 0 on, higher for larger squares.

    Parameters
    ----------
    squares : in single precision, of any shape.
    """
    leading_bits = squares.view(np.int32) >> BITS_CUT_OFF
    bins: Ints = np.clip(leading_bits - _SMALLEST_BITS, 0, N_BINS - 1)
    return bins


def _leading_bits(number: float) -> int:
    return int(np.float32(number).view(np.int32)) >> BITS_CUT_OFF


_SMALLEST_BITS = _leading_bits(SMALLEST_SQUARE)
N_BINS = 1 + _leading_bits(LARGEST_SQUARE) - _SMALLEST_BITS


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


class PathsForTile(NamedTuple):
    """What a tile is told of the paths.

    Attributes
    ----------
    columns : the columns of the tile.
    labels : (labellings, samples) what threshold, blocks and covariates leave of the labels.
    steps : for each step of the paths the direction taken, (labellings, samples), and the labels'
        coefficients along it, (labellings, 1).
    """

    columns: UsedColumns
    labels: Floats
    steps: Sequence[tuple[Floats, Floats]]


class StateOfTile(NamedTuple):
    """What is known of the columns of a tile after some steps of the paths.

    Attributes
    ----------
    products : C, (labellings, columns) products of the columns with the labels' residuals.
    squared_lengths : L, (labellings, columns) of the columns outside the directions taken.
    n_steps_done : number of steps.
    """

    products: Floats
    squared_lengths: Floats
    n_steps_done: int

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

    def state_after(self, tile: Tile, paths_so_far: PathsForTile) -> StateOfTile:
        """The state of a tile (some columns of the table) after all steps of the paths so far.

        The state holds the products of the columns with the labels' residuals, and the squared
        lengths of the columns outside the directions taken. It is brought up to date from the state
        that was kept after an earlier step, or computed from the tile if there is none.

        The kept state is removed from this object, because its arrays are changed in place; the
        caller hands the new one to `keep`.

        Parameters
        ----------
        tile : the columns.
        paths_so_far : the labels, and the steps of the paths.
        """
        n_steps = len(paths_so_far.steps)
        state = self._state_of_tile.pop(tile.start, None)
        if state is not None and state.n_steps_done == n_steps:
            return state

        values = paths_so_far.columns.scaled(tile)  # (samples, columns)
        # Begin anew if nothing was kept, or if the kept state is of a later step: a direction that
        # was projected out cannot be put back.
        if state is None or state.n_steps_done > n_steps:
            products = paths_so_far.labels @ values
            state = StateOfTile(products, lengths_at_start(products), n_steps_done=0)
        # Do the steps that are missing: project their directions out of both arrays, in place.
        missing_steps = paths_so_far.steps[state.n_steps_done :]
        for direction, coefficient in missing_steps:
            take_out_of(state.products, state.squared_lengths, values, direction, coefficient)
        return state._replace(n_steps_done=n_steps)

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


class FirstPass(NamedTuple):
    """What a tile tells in the first pass over all tiles, before the first step of the paths.

    Attributes
    ----------
    bin_counts : (labellings, bins) a histogram of the squared products (`bins_of_squares`).
    sum_of_squares : (labellings,)
    best : the column of largest gain for every labelling.
    """

    bin_counts: Ints
    sum_of_squares: Floats
    best: RowMaxima


class EndOfShare(NamedTuple):
    """Where a share of the columns ends, which are those with the largest squares: (labellings,).

    Attributes
    ----------
    lowest_bin : the lowest bin with squares in the share.
    n_from_lowest_bin : how many squares of this bin, its largest, are in the share.
    """

    lowest_bin: Ints
    n_from_lowest_bin: Ints


class LargestSquaresOfTile(NamedTuple):
    """The squared products of a tile that may be in a share of the largest squares.

    Attributes
    ----------
    sum_of_higher_bins : (labellings,) the sum of the squares above the share's lowest bin.
    n_in_lowest_bin : (labellings,) how many squares the tile has in that bin.
    lowest_bin_squares : (all of them,) these squares, one labelling after the other.
    """

    sum_of_higher_bins: Floats
    n_in_lowest_bin: Ints
    lowest_bin_squares: Floats


class GainsByTiles:
    """The gains of all columns of a table that is read by tiles.

    Parameters
    ----------
    table : all columns.
    columns_by_tile : pairs of a tile's first column and the `UsedColumns` of the tile, placed in
        the table.
    labels : (labellings, samples) what threshold, blocks and covariates leave of the labels.
    n_steps : of the paths.
    n_threads : tiles that are worked on at the same time.
    """

    def __init__(
        self,
        table: ColumnTable,
        columns_by_tile: Sequence[tuple[int, Any]],
        labels: Floats,
        *,
        n_steps: int,
        n_threads: int,
    ) -> None:
        """Send the labels to the processes that hold the tiles, and make a first pass over these.

        A tile is a part of the table's columns. Parameters are described with the class.
        """
        self._table = table
        self._columns_by_tile = columns_by_tile
        # `place` sends the labels, (labellings, samples), to all processes, once for all steps. It
        # returns what stands for them in later calls.
        self._labels = table.place(labels.astype(np.float32))
        self._n_labellings = len(labels)
        self._n_steps = n_steps
        self._n_threads = n_threads
        # For each step of the paths so far, (direction, coefficients of the labels along it).
        self._steps_done: list[Any] = []
        # Processes keep the products of their tiles between steps, under a unique name.
        self._kept = KeptStates(uuid4().hex)

        # A first pass over all tiles: what each of them tells before the first step. This must come
        # last, because `_map_tiles` uses the attributes above.
        self._first_pass: list[FirstPass] = list(self._map_tiles(first_pass_of_tile))

    def best_pairs(self, squared_length: Floats, scale: Floats) -> None:
        """None: too many columns for a list of pairs."""

    def mean_squares(self) -> Floats:
        """The mean squared product of columns with the labels: over all and over the best.

        There is a mean for each of `SPREAD_SHARES`: 1 stands for all columns, 0.1 for the tenth of
        the columns with the largest squares, which can be other columns for each labelling.

        Returns
        -------
        (labellings, shares)
        """
        # All columns. In the first pass each tile returned the sum of its squares, and a histogram
        # of them, in which every labelling has one square for each column.
        sums_of_tiles = [tile.sum_of_squares for tile in self._first_pass]  # (labellings,) each
        histogram = np.sum([tile.bin_counts for tile in self._first_pass], axis=0)
        n_columns = int(histogram[0].sum())
        mean_over_all = sum(sums_of_tiles) / n_columns

        # The columns with the largest squares, for each smaller share.
        smaller_shares = SPREAD_SHARES[1:]
        n_in_shares = [columns_in_share(share, n_columns) for share in smaller_shares]
        sums_of_shares = self._sums_of_largest_squares(histogram, n_in_shares)
        means = [mean_over_all]
        for sum_of_squares, n_in_share in zip(sums_of_shares, n_in_shares, strict=True):
            means.append(sum_of_squares / n_in_share)
        return np.column_stack(means)

    def _sums_of_largest_squares(self, histogram: Ints, n_in_shares: list[int]) -> list[Floats]:
        """For each labelling, the sum of the n largest squared products, for several numbers n.

        The squares are in tiles, in several processes, and no process has all of them to sort. But
        the histogram tells the bin in which the n-th largest square lies, the lowest bin of the n
        largest. All squares in higher bins are among the n largest: each tile sends their sum. In
        the lowest bin only some are: each tile sends these squares one by one, and they are sorted
        here.

        Parameters
        ----------
        histogram : (labellings, bins) how many squares all tiles together have in each bin.
        n_in_shares : the numbers n of largest squares to be summed.

        Returns
        -------
        For each n the sums, (labellings,).
        """
        ends_of_shares = [end_of_share(histogram, n_in_share) for n_in_share in n_in_shares]
        lowest_bins = np.array([end.lowest_bin for end in ends_of_shares])  # (shares, labellings)

        # A pass over all tiles, each of which returns a list with an item for each share. If the
        # paths have a single step, it is the last pass: then tiles need not keep their products.
        is_last_pass = self._n_steps == 1
        lists_of_tiles = list(self._map_tiles(largest_squares, lowest_bins, is_last=is_last_pass))

        # Regroup by share: what all tiles returned for it.
        sums = []
        for share_number, end in enumerate(ends_of_shares):
            squares_of_tiles = [tile_list[share_number] for tile_list in lists_of_tiles]
            sums.append(sum_of_share(squares_of_tiles, end))
        return sums

    def best_columns(self) -> Ints:
        if self._steps_done:
            is_last = len(self._steps_done) == self._n_steps - 1
            maxima: Iterator[RowMaxima] = self._map_tiles(best_of_tile, is_last=is_last)
        else:
            maxima = (tile.best for tile in self._first_pass)
        best, _ = largest_of_maxima(maxima, n_rows=self._n_labellings)
        return best

    def take_out(self, direction: Floats, coefficient: Floats) -> None:
        step = (direction.astype(np.float32), coefficient.astype(np.float32))
        self._steps_done.append(self._table.place(step))

    def _map_tiles(
        self, function: Callable[..., Any], *common: Any, is_last: bool = False
    ) -> Iterator[Any]:
        """What a function of a tile and the paths so far gives for each tile, in their order.

        `is_last` : whether nothing is asked of the tiles after that.
        """
        steps = list(self._steps_done)
        arguments = [
            (start, (columns, self._labels, steps)) for start, columns in self._columns_by_tile
        ]
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
    paths_so_far = PathsForTile(*argument)
    state = kept.state_after(tile, paths_so_far)
    result = function(state, paths_so_far.columns.first, *common)
    if not is_last:
        kept.keep(tile, state)
    return result


def first_pass_of_tile(state: StateOfTile, first: int) -> FirstPass:
    """What a tile tells before the first step; its columns begin with number `first`."""
    squares = state.products**2
    bins = bins_of_squares(squares)
    return FirstPass(
        bin_counts=np.array([np.bincount(row, minlength=N_BINS) for row in bins], dtype=np.int32),
        sum_of_squares=squares.sum(axis=1, dtype=float),
        best=best_of_tile(state, first),
    )


def best_of_tile(state: StateOfTile, first: int) -> RowMaxima:
    """The column of largest gain C²/L for every labelling; columns begin with number `first`."""
    return largest_in_chunk(first, state.products**2 / state.squared_lengths)


def largest_squares(
    state: StateOfTile, _first: int, lowest_bins: Ints
) -> list[LargestSquaresOfTile]:
    """The squared products of a tile that may be among the largest: an item for each share.

    Parameters
    ----------
    state : with nothing taken out.
    lowest_bins : (shares, labellings) the lowest bin with squares in the share.
    """
    squares = state.products**2
    bins = bins_of_squares(squares)
    return [_squares_for_share(squares, bins, lowest_bin) for lowest_bin in lowest_bins]


def _squares_for_share(squares: Floats, bins: Ints, lowest_bin: Ints) -> LargestSquaresOfTile:
    """The squares of a tile that may be in a share, which ends in the lowest bin.

    Squares of higher bins are in it, and are summed up. Of the lowest bin some may be in it, so
    that these squares are given one by one.

    Parameters
    ----------
    squares, bins : (labellings, columns) the squares of the tile, and the bin of each.
    lowest_bin : (labellings,)
    """
    is_higher = bins > lowest_bin[:, None]
    is_lowest: Bools = bins == lowest_bin[:, None]
    return LargestSquaresOfTile(
        sum_of_higher_bins=np.where(is_higher, squares, 0).sum(axis=1, dtype=float),
        n_in_lowest_bin=is_lowest.sum(axis=1),
        lowest_bin_squares=squares[is_lowest],
    )


def end_of_share(bin_counts: Ints, n_in_share: int) -> EndOfShare:
    """Where the `n_in_share` largest squares end.

    Parameters
    ----------
    bin_counts : (labellings, bins) how many squares there are in each bin.
    """
    # Squares in each bin and all higher ones: (labellings, bins), falling from bin 0 on.
    n_from_bin_on = np.cumsum(bin_counts[:, ::-1], axis=1)[:, ::-1]
    # The highest bin from which on there are squares enough.
    lowest_bin = np.count_nonzero(n_from_bin_on >= n_in_share, axis=1) - 1
    labellings = np.arange(len(bin_counts))
    n_higher = n_from_bin_on[labellings, lowest_bin] - bin_counts[labellings, lowest_bin]
    return EndOfShare(lowest_bin, n_in_share - n_higher)


def sum_of_share(tiles: Sequence[LargestSquaresOfTile], end: EndOfShare) -> Floats:
    """The sum of the squares in a share: (labellings,).

    Parameters
    ----------
    tiles : the squares of every tile that may be in it.
    end : where the share ends.
    """
    totals = np.zeros(len(end.lowest_bin))
    for tile in tiles:
        totals += tile.sum_of_higher_bins
    # Of the lowest bin only the largest squares are in the share.
    for labelling, squares in enumerate(_join_squares_of_tiles(tiles)):
        n_outside = len(squares) - end.n_from_lowest_bin[labelling]
        totals[labelling] += np.sort(squares)[n_outside:].sum(dtype=float)
    return totals


def _join_squares_of_tiles(tiles: Sequence[LargestSquaresOfTile]) -> list[Floats]:
    """Regroup numbers that come by tile: for each labelling, the numbers of all tiles in one array.

    A labelling is the observed labels or a shuffle of them; a tile is a part of the table's
    columns. The numbers are the squared products in one bin of a histogram, the lowest bin that has
    some of the largest squares. A tile brings them in a single array, labelling after labelling,
    and tells how many there are for each labelling.

    Returns
    -------
    An array of squares for every labelling.
    """
    counts = np.array([tile.n_in_lowest_bin for tile in tiles])  # (tiles, labellings)
    n_labellings = counts.shape[1]

    # The squares of all tiles in one array, and the labelling of each square.
    squares = np.concatenate([tile.lowest_bin_squares for tile in tiles])
    labelling_numbers = np.arange(n_labellings)
    labellings_by_tile = [np.repeat(labelling_numbers, counts_of_tile) for counts_of_tile in counts]
    labelling_of_square = np.concatenate(labellings_by_tile)

    # Sort by labelling, and cut where the next labelling begins.
    order = np.argsort(labelling_of_square, kind="stable")
    counts_of_labellings = counts.sum(axis=0)
    ends_of_labellings = np.cumsum(counts_of_labellings)
    return np.split(squares[order], ends_of_labellings[:-1])
