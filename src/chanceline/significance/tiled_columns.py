"""The columns of a very wide table as the forward path sees them, a tile at a time.

What `path_columns` keeps of a table that is in memory, its columns clipped, centred and of length
1, is made anew here from the table whenever it is needed. Four numbers of each column are kept: the
limits of its outliers, its mean and its length.

Labels, and what a path leaves of them, are free of blocks and covariates. So their products with a
column are the same whether or not these are taken out of the column too, and it is enough to have
the length that the column has without them.

There are no pairs, and columns are compared in single precision. What is computed of those that are
taken is in double precision.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from chanceline._arrays import Floats, Ints
from chanceline.columns.precision import single_if_exact
from chanceline.columns.table import ColumnTable, Tile
from chanceline.significance.column_pairs import ColumnPairs, no_pairs
from chanceline.significance.outliers import OutlierLimits, outlier_limits
from chanceline.significance.path_columns import (
    ColumnDesign,
    blocks_to_centre_within,
    column_lengths,
    column_residuals,
    require_some_variation,
    row_residuals,
    vary_beyond_rounding,
)
from chanceline.significance.ridges import (
    MAX_AXES,
    RidgeRegressions,
    no_ridge_regressions,
    ridge_regressions_of_gram,
)
from chanceline.significance.tile_gains import GainsByTiles

Value = TypeVar("Value")


class ColumnScaling(NamedTuple):
    """How columns become clipped, centred and of length 1: (columns,) each.

    Attributes
    ----------
    lowest, highest : the limits of outliers; −∞ and ∞ where no value lies beyond them.
    centre : the mean of the clipped values; 0 for a rule without a threshold.
    length : of what threshold, blocks and covariates leave of the clipped values; 0 if that is
        nothing but rounding.
    """

    lowest: Floats
    highest: Floats
    centre: Floats
    length: Floats

    def take(self, columns: Ints | slice) -> ColumnScaling:
        """The numbers of these columns alone."""
        return ColumnScaling(*(numbers[columns] for numbers in self))

    def apply(self, values: NDArray[Any]) -> Floats:
        """Clip and centre columns, and divide them by their lengths: (samples, columns).

        Blocks and covariates are not regressed out here. The result is in single precision.

        Parameters
        ----------
        values : (samples, columns) as the table stores them.
        """
        # Work in single precision if that holds all values exactly, else in double precision. Large
        # numbers with small differences would lose the differences before they are centred.
        numbers = single_if_exact(values)
        precision = numbers.dtype
        # The limits of columns without outliers are ±∞.
        has_outliers = np.isfinite(self.lowest).any() or np.isfinite(self.highest).any()
        if has_outliers:
            lowest = self.lowest.astype(precision)
            highest = self.highest.astype(precision)
            numbers = np.clip(numbers, lowest, highest)
        scaled = numbers - self.centre.astype(precision)
        scaled *= (1 / self.length).astype(precision)
        single_precision: Floats = scaled.astype("float32", copy=False)
        return single_precision


@dataclass(frozen=True, eq=False)
class ScaledColumns:
    """The columns of a tile that paths may take, and how they are scaled.

    Attributes
    ----------
    first : the number of the first one among all that paths may take.
    columns_in_tile : (columns,) where they are in the tile; None if they are all of it.
    scaling : of these columns.
    """

    first: int
    columns_in_tile: Ints | None
    scaling: ColumnScaling

    def scaled(self, tile: Tile) -> Floats:
        """Their values (samples, columns), of length 1, in single precision.

        They lie in memory row by row, however the tile does: products may depend on that in their
        last digits.
        """
        values = values_of_columns(tile, self.columns_in_tile)
        return np.ascontiguousarray(self.scaling.apply(values))

    @property
    def stretch(self) -> slice:
        """Where they are among all that paths may take."""
        return slice(self.first, self.first + len(self.scaling.length))


@dataclass(frozen=True, eq=False)
class TiledColumns:
    """What the path needs of a very wide table; the same questions as `PathColumns` answers.

    Attributes
    ----------
    table : all columns.
    feature_of_column : (columns,) the column of the table that each column here stands for, rising.
    scaling : of these columns.
    intercept, block_of_sample, covariate_basis : as in `PathColumns`.
    ridges : regressions on all columns.
    n_threads : tiles that are worked on at the same time.
    """

    table: ColumnTable
    feature_of_column: Ints
    scaling: ColumnScaling
    intercept: bool
    block_of_sample: Ints | None
    covariate_basis: Floats | None
    ridges: RidgeRegressions
    n_threads: int = 1
    pairs: ColumnPairs = field(default_factory=no_pairs)

    works_in_threads: ClassVar[bool] = True

    @property
    def n_columns(self) -> int:
        return len(self.feature_of_column)

    def residuals(self, rows: Floats) -> Floats:
        """What the threshold (of every block) and covariates leave of each row: (rows, samples)."""
        if not self.intercept:
            return rows
        return row_residuals(rows, self.block_of_sample, self.covariate_basis)

    def to_coordinates(self, rows: Floats) -> Floats:
        """The rows themselves: coordinates are the samples."""
        return rows

    def to_samples(self, rows: Floats) -> Floats:
        """The rows themselves: coordinates are the samples."""
        return rows

    def columns_at(self, indices: Ints) -> Floats:
        """Some columns, without blocks and covariates, of length 1: (samples, indices)."""
        distinct, place = np.unique(indices, return_inverse=True)
        scaling = self.scaling.take(distinct)
        values = self.table[:, self.feature_of_column[distinct]]
        if self.intercept:
            values = np.clip(values, scaling.lowest, scaling.highest)
            values = column_residuals(values, self.block_of_sample, self.covariate_basis)
        normalized: Floats = values / scaling.length
        return normalized[:, place]

    def coordinates_at(self, indices: Ints) -> Floats:
        """Some columns in coordinates, which are the samples: (samples, indices)."""
        return self.columns_at(indices)

    def products(self, residuals: Floats) -> Floats:
        """Products of residuals (…, samples) with all columns, in single precision: (…, columns).

        The residuals must be free of blocks and covariates.
        """
        rows = np.atleast_2d(residuals).astype(np.float32)
        products: Floats = np.empty((len(rows), self.n_columns), dtype=np.float32)
        parts = self.map_tiles(products_of_tile, rows)
        for (_, columns), part in zip(self.columns_by_tile, parts, strict=True):
            products[:, columns.stretch] = part
        return products.reshape(*residuals.shape[:-1], self.n_columns)

    def start_gains(self, labels: Floats, n_steps: int) -> GainsByTiles:
        """The gains of all columns at the start of paths of labels (labellings, samples)."""
        return GainsByTiles(
            self.table, self._placed_by_tile, labels, n_steps=n_steps, n_threads=self.n_threads
        )

    def map_tiles(self, function: Callable[..., Value], *common: Any) -> Iterator[Value]:
        """function(tile, its `ScaledColumns`, *common) of all tiles with columns that are used."""
        return self.table.map_tiles(function, self.columns_by_tile, common, self.n_threads)

    @cached_property
    def columns_by_tile(self) -> list[tuple[int, ScaledColumns]]:
        """For each tile, the columns that paths may take, with the numbers that scale them.

        A tile is some neighbouring columns of the table, not all of which are used. A column that
        is used has three numbers: its column in the table, its position in the tile, and its
        position among all used columns, by which `scaling` (how to clip, centre and scale) is
        indexed.

        Returns
        -------
        Pairs: the tile's first column in the table, and the used columns. Tiles without any are
        left out.
        """
        columns_by_tile = []
        for used in used_columns_by_tile(self.table, self.feature_of_column):
            scaled_columns = ScaledColumns(
                first=used.positions_among_used.start,
                columns_in_tile=used.columns_in_tile,
                scaling=self.scaling.take(used.positions_among_used),
            )
            columns_by_tile.append((used.tile_start, scaled_columns))
        return columns_by_tile

    @cached_property
    def _placed_by_tile(self) -> list[tuple[int, Any]]:
        """`columns_by_tile`, sent once for many passes where tiles are in other processes."""
        return [(start, self.table.place(columns)) for start, columns in self.columns_by_tile]


class UsedColumnsOfTile(NamedTuple):
    """The columns of a tile that are used.

    Attributes
    ----------
    tile_start : the first column of the tile in the table.
    columns_in_tile : (columns,) positions of the used columns in the tile; None if all are used.
    positions_among_used : their positions among the used columns of all tiles.
    """

    tile_start: int
    columns_in_tile: Ints | None
    positions_among_used: slice


def used_columns_by_tile(table: ColumnTable, features: Ints) -> Iterator[UsedColumnsOfTile]:
    """The columns of the table with these numbers, rising, for every tile that has some."""
    for start in table.tile_starts:
        stop = table.end_of_tile(start)
        first, last = np.searchsorted(features, [start, stop]).tolist()
        if last > first:
            has_all = last - first == stop - start
            columns_in_tile = None if has_all else features[first:last] - start
            yield UsedColumnsOfTile(start, columns_in_tile, positions_among_used=slice(first, last))


def values_of_columns(tile: Tile, columns_in_tile: Ints | None) -> NDArray[Any]:
    """Some of a tile's columns as they are stored; all of them, without a copy, if None."""
    return tile.values if columns_in_tile is None else tile.values[:, columns_in_tile]


def products_of_tile(tile: Tile, used: ScaledColumns, rows: Floats) -> Floats:
    """Products of rows (rows, samples) with the columns of a tile: (rows, columns)."""
    return rows @ used.scaled(tile)


def gram_of_tile(  # noqa: PLR0913
    tile: Tile,
    used: ScaledColumns,
    unit: float,
    intercept: bool,
    block_of_sample: Ints | None,
    covariate_basis: Floats | None,
) -> Ints:
    """Z·Zᵀ of the columns Z of a tile in whole multiples of a unit: (samples, samples).

    `intercept`, `block_of_sample` and `covariate_basis` are as in `TiledColumns`.
    """
    values = used.scaled(tile).astype(float)
    if intercept:
        values = column_residuals(values, block_of_sample, covariate_basis)
    return np.rint((values @ values.T) / unit).astype(np.int64)


def make_tiled_columns(
    table: ColumnTable,
    features: Ints,
    design: ColumnDesign,
    intercept: bool,
    n_threads: int = 1,
) -> TiledColumns:
    """Prepare the columns of a very wide table for forward paths (stepwise least squares).

    The table is read in tiles, some columns at a time, in two passes. The first measures how to
    clip, centre and scale each column. The second prepares ridge regressions of the outcome on all
    columns: it sums the products of the scaled columns over the tiles.

    Parameters
    ----------
    table : finite numbers, (samples, features).
    features : the columns to use, ascending.
    design : its blocks and covariates are regressed out of the columns.
    intercept : whether the rule has a threshold. Without it columns are only scaled.
    n_threads : number of tiles to work on at the same time.
    """
    # The first pass. A task has the number of the tile's first column, and the columns to use. The
    # table calls `measure_tile(tile, columns_in_tile, *common)`.
    tasks = []
    for used in used_columns_by_tile(table, features):
        tasks.append((used.tile_start, used.columns_in_tile))
    common = (design, intercept)
    scalings = list(table.map_tiles(measure_tile, tasks, common, n_threads))
    scaling = join_scalings(scalings)  # of all `features`

    # Drop columns of length 0: blocks and covariates explain them up to rounding.
    varies = scaling.length > 0
    block_of_sample = blocks_to_centre_within(design, intercept)
    require_some_variation(varies, block_of_sample)

    # The second pass needs the scaled columns: so they are made without ridge regressions first.
    columns_without_ridges = TiledColumns(
        table=table,
        feature_of_column=features[varies],
        scaling=scaling.take(np.flatnonzero(varies)),
        intercept=intercept,
        block_of_sample=block_of_sample,
        covariate_basis=design.covariate_basis,
        ridges=no_ridge_regressions(len(table)),
        n_threads=n_threads,
    )
    # There is no second pass, and there are no ridge regressions, if samples are too many for it.
    return with_ridges(columns_without_ridges)


def join_scalings(parts: Sequence[ColumnScaling]) -> ColumnScaling:
    """The scaling of the columns of all parts, one part after the other."""
    return ColumnScaling(
        lowest=np.concatenate([part.lowest for part in parts]),
        highest=np.concatenate([part.highest for part in parts]),
        centre=np.concatenate([part.centre for part in parts]),
        length=np.concatenate([part.length for part in parts]),
    )


def measure_tile(
    tile: Tile, columns_in_tile: Ints | None, design: ColumnDesign, intercept: bool
) -> ColumnScaling:
    """The scaling of the columns of a tile that are used."""
    values = values_of_columns(tile, columns_in_tile)
    return measure_columns(np.ascontiguousarray(values, dtype=float), design, intercept)


def measure_columns(values: Floats, design: ColumnDesign, intercept: bool) -> ColumnScaling:
    """Measure how to clip, centre and scale columns; the columns themselves stay as they are.

    Parameters
    ----------
    values : (samples, columns)
    design : its blocks and covariates are regressed out before lengths are measured.
    intercept : whether the rule has a threshold. Without it columns are neither clipped nor
        centred.

    Returns
    -------
    The limits of outliers, the centre and the length of every column, each (columns,).
    """
    n_columns = values.shape[1]
    if intercept:
        # Clip outliers before anything else is measured.
        limits = clipping_limits(values)
        clipped = np.clip(values, limits.lowest, limits.highest)
        centre = clipped.mean(axis=0)
        # Lengths are those of the residuals on blocks and covariates.
        block_of_sample = blocks_to_centre_within(design, intercept)
        residuals = column_residuals(clipped, block_of_sample, design.covariate_basis)
    else:
        no_limit = np.full(n_columns, np.inf)
        limits = OutlierLimits(lowest=-no_limit, highest=no_limit)
        clipped = values
        centre = np.zeros(n_columns)
        residuals = values

    # The length 0 marks a column that is constant up to rounding, given blocks and covariates.
    lengths = column_lengths(residuals)
    varies = vary_beyond_rounding(lengths, clipped)
    lengths_or_zero = np.where(varies, lengths, 0.0)
    return ColumnScaling(limits.lowest, limits.highest, centre, lengths_or_zero)


def clipping_limits(values: Floats) -> OutlierLimits:
    """The limits of outliers of columns, infinite where no value lies beyond them.

    Then tiles without outliers need not be clipped, as those of genotypes.
    """
    limits = outlier_limits(values)
    is_beyond_lowest = values.min(axis=0) < limits.lowest
    is_beyond_highest = values.max(axis=0) > limits.highest
    return OutlierLimits(
        lowest=np.where(is_beyond_lowest, limits.lowest, -np.inf),
        highest=np.where(is_beyond_highest, limits.highest, np.inf),
    )


def with_ridges(columns: TiledColumns) -> TiledColumns:
    """The columns with ridge regressions on all of them, where there are not too many samples."""
    if len(columns.table) > MAX_AXES:
        return columns
    return replace(columns, ridges=ridge_regressions_of_gram(gram_of_columns(columns)))


def gram_of_columns(columns: TiledColumns) -> Floats:
    """Z·Zᵀ of all columns Z, without blocks and covariates: (samples, samples).

    It is summed up in whole multiples of a unit that is far below rounding, so that the order of
    the tiles does not matter.
    """
    # Columns have length 1, so that no entry is larger than their number: 60 bits hold all.
    unit = 2.0 ** (columns.n_columns.bit_length() - 60)
    design = (columns.intercept, columns.block_of_sample, columns.covariate_basis)
    whole = columns.table.sum_over_tiles(
        gram_of_tile, columns.columns_by_tile, (unit, *design), columns.n_threads
    )
    return whole.astype(float) * unit
