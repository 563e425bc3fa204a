"""The columns of the table as the forward path sees them: what depends on the table alone is made
once.

Outliers are pulled in (`outliers`), which costs nothing for bell-shaped columns and keeps a few
large values from hiding the rest. Then columns are centred (within blocks, where labels are
exchanged there), freed of what covariates explain, and scaled to length 1.

With them come a list of highly correlated pairs (`column_pairs`) and ridge regressions on all
columns (`ridges`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol

import numpy as np

from chanceline._arrays import Bools, Floats, Ints
from chanceline.columns.table import AnyTable
from chanceline.errors import InputError
from chanceline.perceptron.duplicates import distinct_columns
from chanceline.significance.arrays import ROUNDING_TOLERANCE, block_means
from chanceline.significance.column_pairs import (
    COLUMNS_IN_CACHE,
    ColumnPairs,
    correlated_pairs,
    no_pairs,
)
from chanceline.significance.outliers import clip_outliers
from chanceline.significance.path_gains import ColumnGains, GainsInMemory
from chanceline.significance.ridges import RidgeRegressions, make_ridge_regressions

# So many columns at a time are clipped and normalised: a copy that is small beside the table.
COLUMNS_TO_NORMALIZE = 16 * COLUMNS_IN_CACHE
# All overlaps of more columns are too many to look at. Then there are no pairs, and columns are in
# single precision altogether.
MAX_COLUMNS_FOR_PAIRS = 40_000
# Columns of a table with so many entries are compared in single precision, which takes half the
# time. What is computed of those that are taken, the losses, stays in double precision. In smaller
# tables columns may fit labels equally well, and the first of them is to be taken.
MIN_ENTRIES_FOR_SINGLE = 250_000
# A table with so many times as many samples as columns is followed within the columns' span ...
MIN_SAMPLES_PER_COLUMN = 4
# ... unless it has more columns than this, whose QR decomposition would take too long.
MAX_COLUMNS_FOR_FRAME = 1_000


class ColumnDesign(Protocol):
    """What is taken out of the columns before they are compared with an outcome.

    Attributes
    ----------
    n_blocks : number of blocks, 1 where there are none.
    block_of_sample : (samples,) numbers 0, 1, … of the blocks.
    covariate_basis : (samples, terms) orthonormal columns; None without covariates.
    """

    @property
    def n_blocks(self) -> int: ...

    @property
    def block_of_sample(self) -> Ints: ...

    @property
    def covariate_basis(self) -> Floats | None: ...


class ForwardColumns(Protocol):
    """What forward paths ask of columns: clipped, centred and of length 1.

    Attributes
    ----------
    feature_of_column : (columns,) the column of X that each column here stands for.
    intercept : whether columns and labels are centred at all.
    pairs : the most correlated pairs of columns.
    ridges : regressions on all columns.
    block_of_sample, covariate_basis : what is taken out of columns and labels, as in `PathColumns`.
    works_in_threads : whether several processors are used, or a cluster, by what is asked here.
    """

    @property
    def feature_of_column(self) -> Ints: ...

    @property
    def intercept(self) -> bool: ...

    @property
    def pairs(self) -> ColumnPairs: ...

    @property
    def ridges(self) -> RidgeRegressions: ...

    @property
    def block_of_sample(self) -> Ints | None: ...

    @property
    def covariate_basis(self) -> Floats | None: ...

    @property
    def n_columns(self) -> int: ...

    @property
    def works_in_threads(self) -> bool: ...

    def residuals(self, rows: Floats) -> Floats:
        """What the threshold (of every block) and covariates leave of each row: (rows, samples)."""

    def to_coordinates(self, rows: Floats) -> Floats:
        """(rows, samples) → (rows, coordinates)."""

    def to_samples(self, rows: Floats) -> Floats:
        """(rows, coordinates) → (rows, samples)."""

    def columns_at(self, indices: Ints) -> Floats:
        """Some columns in the samples: (samples, indices)."""

    def coordinates_at(self, indices: Ints) -> Floats:
        """Some columns in coordinates: (coordinates, indices)."""

    def products(self, residuals: Floats) -> Floats:
        """Products of residuals (…, samples) with all columns: (…, columns)."""

    def start_gains(self, labels: Floats, n_steps: int) -> ColumnGains:
        """The gains of all columns at the start of paths.

        Parameters
        ----------
        labels : (labellings, coordinates)
        n_steps : of the paths.
        """


@dataclass(frozen=True, eq=False)
class SpanFrame:
    """The columns of a long table in coordinates of their own span: normalized = axes·coordinates.

    All products of columns with each other, and with labels, are the same there, in fewer
    coordinates.

    Attributes
    ----------
    axes : (samples, columns) orthonormal.
    coordinates : (columns, columns).
    """

    axes: Floats
    coordinates: Floats


@dataclass(frozen=True, eq=False)
class PathColumns:
    """What the path needs of the table.

    Attributes
    ----------
    feature_of_column : (columns,) the column of X that each column here stands for (equal columns
        once, constants left out).
    normalized : (samples, columns) clipped, centred and of length 1.
    intercept : whether columns and labels are centred at all.
    pairs : the most correlated pairs of columns.
    ridges : regressions on all columns, in the coordinates of the frame if there is one.
    block_of_sample : (samples,) the blocks within which columns and labels are centred; None if
        there is one block or no centring.
    covariate_basis : (samples, terms) orthonormal columns that span what covariates explain, which
        is taken out of columns and labels; None without any.
    frame : of a long table; None for others.
    single : (coordinates, columns) the coordinates in single precision, where these are used to
        compare columns; None where they are not.
    """

    feature_of_column: Ints
    normalized: Floats
    intercept: bool
    pairs: ColumnPairs
    ridges: RidgeRegressions
    block_of_sample: Ints | None = None
    covariate_basis: Floats | None = None
    frame: SpanFrame | None = None
    single: Floats | None = None

    works_in_threads: ClassVar[bool] = False

    @property
    def n_columns(self) -> int:
        return len(self.feature_of_column)

    def residuals(self, rows: Floats) -> Floats:
        """What the threshold (of every block) and covariates leave of each row: (rows, samples)."""
        if not self.intercept:
            return rows
        return row_residuals(rows, self.block_of_sample, self.covariate_basis)

    def columns_at(self, indices: Ints) -> Floats:
        """Some columns in the samples: (samples, indices)."""
        return self.normalized[:, indices]

    def coordinates_at(self, indices: Ints) -> Floats:
        """Some columns in coordinates: (coordinates, indices)."""
        return self.coordinates[:, indices]

    def products(self, residuals: Floats) -> Floats:
        """Products of residuals (…, samples) with all columns: (…, columns)."""
        return residuals.astype(self.normalized.dtype) @ self.normalized

    def start_gains(self, labels: Floats, n_steps: int) -> ColumnGains:
        """The gains of all columns at the start of paths of labels (labellings, coordinates)."""
        products = labels.astype(self.coordinates.dtype) @ self.coordinates
        return GainsInMemory(products, self.ranking, self.pairs)

    @property
    def coordinates(self) -> Floats:
        """(coordinates, columns) the columns in the frame; without one, in the samples."""
        if self.frame is None:
            return self.normalized
        return self.frame.coordinates

    @property
    def ranking(self) -> Floats:
        """(coordinates, columns) the same in the precision in which columns are compared."""
        if self.single is None:
            return self.coordinates
        return self.single

    def to_coordinates(self, rows: Floats) -> Floats:
        """(rows, samples) → (rows, coordinates): the part of each row in the columns' span."""
        if self.frame is None:
            return rows
        return rows @ self.frame.axes

    def to_samples(self, rows: Floats) -> Floats:
        """(rows, coordinates) → (rows, samples)."""
        if self.frame is None:
            return rows
        return rows @ self.frame.axes.T


def row_residuals(
    rows: Floats, block_of_sample: Ints | None, covariate_basis: Floats | None
) -> Floats:
    """What a threshold (of every block) and covariates leave of rows: (rows, samples).

    `column_residuals` does the same to columns.
    """
    if covariate_basis is not None:
        rows = rows - (rows @ covariate_basis) @ covariate_basis.T
    if block_of_sample is None:
        return rows - rows.mean(axis=1, keepdims=True)
    return rows - block_means(rows.T, block_of_sample).T


def make_path_columns(
    X: AnyTable,
    design: ColumnDesign,
    intercept: bool,
    features: Ints | None = None,
    max_columns_for_pairs: int = MAX_COLUMNS_FOR_PAIRS,
) -> PathColumns:
    """Prepare the columns of a table for forward paths (stepwise least squares).

    Columns are clipped at outliers, centred and scaled to length 1. With them come a list of highly
    correlated pairs, and ridge regressions on all columns.

    The result has the columns in up to three forms:

    * `normalized`, with one entry for each sample;
    * in coordinates of a `frame`, an orthonormal basis of the columns' span. There are fewer of
      them than samples. Only a table with many more samples than columns has a frame; in any other
      table the coordinates are `normalized` itself.
    * `single`, the coordinates in single precision, in which columns are compared. A small table,
      or one in single precision altogether, does not have this copy.

    Parameters
    ----------
    X : (samples, features) finite numbers.
    design : its blocks and covariates are regressed out of the columns.
    intercept : whether the rule has a threshold. Without it columns are only scaled.
    features : columns of X to use, by default all distinct ones.
    max_columns_for_pairs : with more columns there are no pairs, and single precision is used.
    """
    # The columns of X, normalised. A column that blocks and covariates explain altogether is
    # constant up to rounding then, and is dropped.
    if features is None:
        features = distinct_columns(X, intercept)
    has_pairs = len(features) <= max_columns_for_pairs
    dtype = float if has_pairs else np.float32
    normalized, varies = _normalized_columns(X, features, design, intercept, dtype)
    block_of_sample = blocks_to_centre_within(design, intercept)
    require_some_variation(varies, block_of_sample)
    if not varies.all():
        features = features[varies]
        normalized = np.ascontiguousarray(normalized[:, varies])

    # Their coordinates.
    frame = _make_frame(normalized)
    coordinates = normalized if frame is None else frame.coordinates

    # Pairs only need products of columns, which are the same for `normalized` and coordinates.
    # Ridge regressions fit labels in coordinates.
    pairs = correlated_pairs(normalized) if has_pairs else no_pairs()
    ridges = make_ridge_regressions(coordinates)
    return PathColumns(
        feature_of_column=features,
        normalized=normalized,
        intercept=intercept,
        pairs=pairs,
        ridges=ridges,
        block_of_sample=block_of_sample,
        covariate_basis=design.covariate_basis,
        frame=frame,
        single=_in_single_precision(coordinates),
    )


def require_some_variation(varies: Bools, block_of_sample: Ints | None) -> None:
    """Stop if no column varies.

    Parameters
    ----------
    varies : (columns,)
    block_of_sample : (samples,) the blocks within which columns are centred; None for no blocks.
    """
    if varies.any():
        return
    where = "constant" if block_of_sample is None else "constant within every block"
    raise InputError(
        f"every feature is {where} up to rounding, so that there is nothing to separate with."
    )


def _in_single_precision(coordinates: Floats) -> Floats | None:
    """The coordinates in single precision; None where the table is small, or they are already."""
    if coordinates.dtype == np.float32 or coordinates.size < MIN_ENTRIES_FOR_SINGLE:
        return None
    return coordinates.astype(np.float32)


def blocks_to_centre_within(design: ColumnDesign, intercept: bool) -> Ints | None:
    """(samples,) the block of every sample; None if there is one block or no centring."""
    if intercept and design.n_blocks > 1:
        return design.block_of_sample
    return None


def _normalized_columns(
    X: AnyTable, features: Ints, design: ColumnDesign, intercept: bool, dtype: type
) -> tuple[Floats, Bools]:
    """Some columns of X clipped, centred and scaled to length 1; without a threshold only scaled.

    To take a mean, a block or a covariate out of a column is to let the rule have its own threshold
    for it: a rule without a threshold has none of them.

    Parameters
    ----------
    X : (samples, features)
    features : columns of X.
    design : its blocks and covariates are taken out of the columns.
    intercept : whether the rule has a threshold.
    dtype : precision of the result.

    Returns
    -------
    (samples, columns) the columns, and (columns,) which of them vary by more than rounding.
    """
    normalized: Floats = np.empty((len(X), len(features)), dtype=dtype)
    varies = np.ones(len(features), dtype=bool)
    for chunk, columns in _normalized_chunks(X, features, design, intercept):
        normalized[:, chunk] = columns.normalized
        varies[chunk] = columns.varies
    return normalized, varies


def columns_that_vary(X: AnyTable, design: ColumnDesign, intercept: bool) -> Bools:
    """Which columns of X vary once blocks and covariates are taken out: (features,).

    Parameters
    ----------
    X : (samples, features)
    design : its blocks and covariates.
    intercept : whether the rule has a threshold.
    """
    n_features = X.shape[1]
    varies = np.ones(n_features, dtype=bool)
    for chunk, columns in _normalized_chunks(X, np.arange(n_features), design, intercept):
        varies[chunk] = columns.varies
    return varies


class _NormalizedChunk(NamedTuple):
    """(samples, columns) some columns of length 1, and (columns,) which vary beyond rounding."""

    normalized: Floats
    varies: Bools


def _normalized_chunks(
    X: AnyTable, features: Ints, design: ColumnDesign, intercept: bool
) -> Iterator[tuple[slice, _NormalizedChunk]]:
    """Clip, centre and scale columns of X, in chunks so small that copies take little memory.

    Parameters
    ----------
    X : (samples, features)
    features : the columns of X to normalise.
    design : its blocks and covariates are regressed out of the columns.
    intercept : whether the rule has a threshold. Without it columns are only scaled.

    Yields
    ------
    The slice of `features` that the chunk covers; and the chunk: (samples, columns) of length 1,
    and (columns,) which columns vary by more than rounding.
    """
    block_of_sample = blocks_to_centre_within(design, intercept)
    for start in range(0, len(features), COLUMNS_TO_NORMALIZE):
        chunk = slice(start, start + COLUMNS_TO_NORMALIZE)
        values = X[:, features[chunk]].astype(float)
        if intercept:
            values = clip_outliers(values)
            residuals = column_residuals(values, block_of_sample, design.covariate_basis)
        else:
            residuals = values
        # Residuals that are as small as the rounding errors of `values` count as constant.
        yield chunk, _normalize(residuals, values)


def column_residuals(
    values: Floats, block_of_sample: Ints | None, covariate_basis: Floats | None
) -> Floats:
    """What a threshold (of every block) and covariates leave of columns: (samples, columns).

    `row_residuals` does the same to rows.
    """
    if block_of_sample is None:
        residuals = values - values.mean(axis=0)
    else:
        residuals = values - block_means(values, block_of_sample)
    if covariate_basis is not None:
        residuals = residuals - covariate_basis @ (covariate_basis.T @ residuals)
    return residuals


def _normalize(residuals: Floats, values: Floats) -> _NormalizedChunk:
    """The residuals scaled to length 1, and which columns vary by more than rounding.

    Parameters
    ----------
    residuals : (samples, columns) what is left of `values`. Within blocks, or given covariates,
        nothing may be left of a column that is not constant.
    values : (samples, columns) in comparison with which lengths are rounding.
    """
    lengths = column_lengths(residuals)
    varies = vary_beyond_rounding(lengths, values)
    return _NormalizedChunk(residuals / np.where(varies, lengths, 1.0), varies)


def column_lengths(values: Floats) -> Floats:
    """The length of every column of (samples, columns)."""
    lengths: Floats = np.sqrt(np.einsum("ij,ij->j", values, values))
    return lengths


def vary_beyond_rounding(lengths: Floats, values: Floats) -> Bools:
    """Whether what is left of columns, of these lengths, is more than the rounding of their values.

    Parameters
    ----------
    lengths : (columns,)
    values : (samples, columns)
    """
    sizes = np.maximum(np.abs(values).max(axis=0), np.finfo(float).tiny)
    return lengths > ROUNDING_TOLERANCE * sizes


def _make_frame(normalized: Floats) -> SpanFrame | None:
    """A frame of the columns' span if the table is long enough for that to pay."""
    n_samples, n_columns = normalized.shape
    is_long = n_samples >= MIN_SAMPLES_PER_COLUMN * n_columns
    if not is_long or n_columns > MAX_COLUMNS_FOR_FRAME:
        return None
    axes, coordinates = np.linalg.qr(normalized)
    return SpanFrame(axes, coordinates)
