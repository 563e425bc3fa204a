"""A greedy path for many labellings at once: how well do the best K features found fit the labels,
K = 1, 2, …?

Forward stepwise least squares. At every step the column that lowers the squared residual of the
centred labels most is taken, and everything is made orthogonal to it. The labels of many draws are
rows of one matrix, so that a step is one matrix product

    V = QZ        (draws × coordinates)·(coordinates × columns)

with Z the normalised columns and Q the direction that each draw took last. From V follow the
products of all columns with the residuals and the squared lengths of the columns outside the chosen
span,

    C ← C − dV,   L ← L − V²,

d the part of the labels along Q; the gain of a column is C²/L.

Two things are compared beside the path. The best *pair* of a list of highly correlated columns
takes the place of the first two steps where it is better. The *spread* is the mean of the squared
products of the first step over all columns, over the tenth and over the hundredth that fit best; it
sees what is spread over many columns, each too weak to be found. Beside the spread over all columns
stand *ridge regressions* on them (`ridges`), which see what many columns hold only together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from chanceline._arrays import Bools, Floats, Ints
from chanceline.significance.best_pairs import BestPairs, find_best_pairs
from chanceline.significance.column_pairs import COLUMNS_IN_CACHE, ColumnPairs
from chanceline.significance.followed_paths import FollowedPaths
from chanceline.significance.least_squares import fewest_threshold_errors
from chanceline.significance.path_columns import ForwardColumns, column_chunks
from chanceline.significance.path_steps import (
    LENGTH_MARGIN,
    NO_FEATURE,
    SPREAD_SHARES,
    RowMaxima,
    largest_in_chunk,
    largest_of_maxima,
    orthogonal_part,
    squared_lengths,
)
from chanceline.significance.ridges import RidgeRegressions

# Squared products that are ranked at a time: 24 MB in single precision. Those of a batch of
# labellings for 40,000 columns are fewer.
ENTRIES_TO_RANK = 6_000_000


@dataclass(frozen=True, eq=False, kw_only=True)
class ForwardPaths(FollowedPaths):
    """What the path of every labelling finds, and the errors it makes.

    Attributes
    ----------
    errors : (labellings, steps) samples on the wrong side of the best threshold of the fit whose
        loss is in `losses`: least squares on exactly K features (and blocks and covariates). No
        rows if errors were not asked for.
    """

    errors: Ints


def follow_paths(
    columns: ForwardColumns, labels: Floats, n_steps: int, *, with_errors: bool = True
) -> ForwardPaths:
    """The path of every labelling, its best pair, its spread and its ridge regressions.

    Parameters
    ----------
    columns : of the table.
    labels : (labellings, samples) ±1.
    n_steps : number of features at the end of the path.
    with_errors : whether errors are counted, which takes longest in long tables.
    """
    target = _make_target(columns, labels)
    # Of all columns with the labels themselves: (labellings, columns).
    products = columns.products_in_coordinates(target.coordinates)
    spread = _spread(products, target)
    best_pairs = find_best_pairs(
        columns.pairs,
        _pair_gains(columns.pairs, products),
        squared_length=target.squared_length,
        scale=target.scale,
    )
    state = _state_before_first_step(columns, target, products, n_steps)

    n_labellings = len(labels)
    n_counted = n_labellings if with_errors else 0
    losses = np.empty((n_labellings, n_steps))
    errors = np.zeros((n_counted, n_steps), dtype=np.int64)
    chosen = np.full((n_labellings, n_steps), NO_FEATURE, dtype=np.int64)
    for step in range(n_steps):
        # This changes `state.residual`, from which losses and errors of this step follow.
        best_columns, is_taken = state.take_next_column()  # (labellings,) each
        chosen[is_taken, step] = columns.feature_of_column[best_columns[is_taken]]
        losses[:, step] = target.loss(state.residual)
        if with_errors:
            fit = target.fit(columns, state.residual)
            errors[:, step] = fewest_threshold_errors(fit, labels, columns.intercept)

    no_pair = np.full((n_labellings, 2), NO_FEATURE, dtype=np.int64)
    paths = ForwardPaths(
        losses=losses,
        errors=errors,
        chosen=chosen,
        pair=no_pair,
        spread=spread,
        ridge_fits=_ridge_fits(columns.ridges, target),
    )
    if n_steps > 1 and best_pairs is not None:
        return _with_better_pairs(paths, best_pairs, columns, target)
    return paths


def _with_better_pairs(
    paths: ForwardPaths, best_pairs: BestPairs, columns: ForwardColumns, target: _Target
) -> ForwardPaths:
    """The paths, with the best pair in the place of the first two steps where it explains more.

    Parameters
    ----------
    paths : of two steps or more, without pairs.
    best_pairs : of every labelling.
    columns : of the table.
    target : the labels.
    """
    second_step = 1  # where losses and errors of K = 2 features are
    loss_of_two_steps = paths.losses[:, second_step]
    improved = best_pairs.better_than(loss_of_two_steps)
    pair_columns = best_pairs.members[improved]  # (improved, 2)

    pair = paths.pair.copy()
    pair[improved] = columns.feature_of_column[pair_columns]
    losses = paths.losses.copy()
    losses[improved, second_step] = np.maximum(best_pairs.loss[improved], 0.0)
    errors = paths.errors.copy()
    errors_were_counted = len(errors) > 0
    if errors_were_counted:
        fit = _fit_pairs(columns, target, improved, pair_columns)
        labels = target.labels[improved]
        errors[improved, second_step] = fewest_threshold_errors(fit, labels, columns.intercept)
    return replace(paths, pair=pair, losses=losses, errors=errors)


@dataclass(frozen=True, eq=False)
class _Target:
    """The labels that the columns are to explain.

    Attributes
    ----------
    labels : (labellings, samples) ±1.
    centred : (labellings, samples) what threshold, blocks and covariates leave of the labels.
    coordinates : (labellings, coordinates) the same in the coordinates of the path.
    squared_length : (labellings,) Σ centred².
    squared_length_outside_span : (labellings,) the part of it outside the columns' span, which no
        path explains.
    """

    labels: Floats
    centred: Floats
    coordinates: Floats
    squared_length: Floats
    squared_length_outside_span: Floats

    @property
    def scale(self) -> Floats:
        """The squared length, and 1 for labels that the threshold explains, which have none."""
        return np.where(self.squared_length > 0, self.squared_length, 1.0)

    def loss(self, residual: Floats) -> Floats:
        """The share of the squared length that a residual in coordinates leaves: (labellings,)."""
        return (self.squared_length_outside_span + squared_lengths(residual)) / self.scale

    def fit(self, columns: ForwardColumns, residual: Floats) -> Floats:
        """The labels as threshold, blocks, covariates and the columns taken fit them:
        (labellings, samples).
        """
        explained_by_columns = columns.to_samples(self.coordinates - residual)
        return self.labels - self.centred + explained_by_columns


def _make_target(columns: ForwardColumns, labels: Floats) -> _Target:
    """Centre the labels as the columns are, and take them to the columns' coordinates.

    In a long table these are coordinates of the columns' span: what lies outside the span is in
    none of them, and only its squared length is kept.

    Parameters
    ----------
    columns : of the table.
    labels : (labellings, samples) ±1.
    """
    centred = columns.residuals(labels)
    coordinates = columns.to_coordinates(centred)
    squared_length = squared_lengths(centred)
    squared_length_in_span = squared_lengths(coordinates)
    return _Target(
        labels=labels,
        centred=centred,
        coordinates=coordinates,
        squared_length=squared_length,
        # Rounding may leave a little less than nothing.
        squared_length_outside_span=np.maximum(squared_length - squared_length_in_span, 0.0),
    )


@dataclass(eq=False)
class _PathState:
    """The paths of all labellings between two steps.

    Attributes
    ----------
    columns : Z, of length 1.
    residual : (labellings, coordinates) what the columns taken leave of the labels.
    products : (labellings, columns) C, of the columns with the residual, one direction behind; in
        the precision in which columns are compared, single in large tables.
    squared_lengths : (labellings, columns) L, of the columns outside the span, one direction
        behind.
    directions : (labellings, steps, coordinates) the orthonormal directions taken; zero from where
        a path has ended.
    last_direction : (labellings, coordinates) Q, the direction taken last, in the precision of
        `products`.
    last_coefficient : (labellings, 1) d, the labels' part along it.
    n_taken : number of steps done.
    """

    columns: ForwardColumns
    residual: Floats
    products: Floats
    squared_lengths: Floats
    directions: Floats
    last_direction: Floats
    last_coefficient: Floats
    n_taken: int = 0

    def take_next_column(self) -> tuple[Ints, Bools]:
        """Take the column of largest gain in every labelling.

        This changes the state. First products and squared lengths are brought up to date with the
        direction of the step before. Then the column's part outside the directions taken so far
        becomes the next direction, and the residual loses its part along it.

        Returns
        -------
        (labellings,) the columns, and (labellings,) whether anything of them was left to take.
        """
        best, _ = largest_of_maxima(self._best_of_chunks(), n_rows=len(self.residual))

        # The part of each column outside the directions taken before, of length 1.
        candidates = self.columns.coordinates_at(best).T.astype(float)  # (labellings, coordinates)
        direction, is_taken = orthogonal_part(candidates, self.directions[:, : self.n_taken])
        coefficient = np.einsum("ij,ij->i", direction, self.residual)[:, None]
        self.residual = self.residual - coefficient * direction

        # Kept for the next step, whose update takes this direction out of all columns.
        self.directions[:, self.n_taken] = direction
        self.last_direction = direction.astype(self.products.dtype)
        self.last_coefficient = coefficient.astype(self.products.dtype)
        self.n_taken += 1
        return best, is_taken

    def _best_of_chunks(self) -> Iterator[RowMaxima]:
        """The column of largest gain in each chunk of columns, for every labelling.

        Behind the first step, C and L of a chunk are brought up to date just before.
        """
        if self.n_taken > 0:
            yield from self.columns.map_chunks(self._update_chunk)
        else:
            for chunk in column_chunks(self.columns.n_columns):
                yield self._best_of_chunk(chunk)

    def _update_chunk(self, chunk: slice, values: Floats) -> RowMaxima:
        """Bring C and L of a chunk up to date, and find its largest gains while it is in the cache.

        Parameters
        ----------
        chunk : the place of the columns.
        values : (coordinates, chunk) the columns.
        """
        self._take_out_last_direction(chunk, values)
        return self._best_of_chunk(chunk)

    def _best_of_chunk(self, chunk: slice) -> RowMaxima:
        """The largest gain C²/L of every labelling in a chunk of columns."""
        gains = self.products[:, chunk] ** 2 / self.squared_lengths[:, chunk]
        return largest_in_chunk(chunk.start, gains)

    def _take_out_last_direction(self, chunk: slice, values: Floats) -> None:
        """C ← C − dV and L ← L − V² with V = QZ, for a chunk of columns.

        L is never less than its margin, which is all that is left of a column that the span has
        used up: rounding may take more, and then the gain C²/L would be anything.
        """
        overlap = self.last_direction @ values
        self.products[:, chunk] -= overlap * self.last_coefficient
        squared_lengths = self.squared_lengths[:, chunk]  # a view
        squared_lengths -= np.square(overlap, out=overlap)
        np.maximum(squared_lengths, LENGTH_MARGIN[overlap.dtype], out=squared_lengths)


def _state_before_first_step(
    columns: ForwardColumns, target: _Target, products: Floats, n_steps: int
) -> _PathState:
    """The state before the first step: nothing taken, the residual is the labels themselves.

    What has an entry for every column is in the precision in which columns are compared. Residual
    and directions stay in double precision: losses are computed from them.

    Parameters
    ----------
    columns : of the table.
    target : the labels.
    products : (labellings, columns) of the columns with the labels.
    n_steps : number of features at the end of the path.
    """
    label_coordinates = target.coordinates
    n_labellings, n_coordinates = label_coordinates.shape
    dtype = columns.ranking_dtype
    # Columns have length 1; the margin keeps their gains finite once the span has used them up.
    squared_length = 1 + LENGTH_MARGIN[dtype]
    return _PathState(
        columns=columns,
        residual=label_coordinates,
        products=products.astype(dtype, copy=False),
        squared_lengths=np.full(products.shape, squared_length, dtype=dtype),
        directions=np.zeros((n_labellings, n_steps, n_coordinates)),
        last_direction=np.zeros((n_labellings, n_coordinates), dtype=dtype),
        last_coefficient=np.zeros((n_labellings, 1), dtype=dtype),
    )


def _spread(products: Floats, target: _Target) -> Floats:
    """The mean squared correlation of the best columns with the labels, times samples − 1.

    There is a mean for each share in `SPREAD_SHARES`: over all columns, and over the best tenth and
    hundredth of them.

    Parameters
    ----------
    products : (labellings, columns) of the normalised columns with the centred labels.
    target : the labels.

    Returns
    -------
    (labellings, SPREAD_SHARES)
    """
    n_samples = target.labels.shape[1]
    n_columns = products.shape[1]
    # In ascending order the columns of a share begin here.
    starts = [n_columns - columns_in_share(share, n_columns) for share in SPREAD_SHARES]
    means = np.empty((len(products), len(starts)))
    # So many labellings at a time that copies stay small.
    n_at_a_time = max(1, ENTRIES_TO_RANK // n_columns)
    for first in range(0, len(products), n_at_a_time):
        rows = slice(first, first + n_at_a_time)
        # A partial sort: no square before a start is larger than those from there on.
        partitioned = np.partition(products[rows] ** 2, starts, axis=1)
        for share_number, start in enumerate(starts):
            means[rows, share_number] = partitioned[:, start:].mean(axis=1, dtype=float)
    return (n_samples - 1) * (means / target.scale[:, None])


def longest_path(largest: int, n_columns: int, n_samples: int) -> int:
    """Steps of a path: as many as asked for, where there are so many columns and samples."""
    # With one feature for every sample but two, least squares fits any labels.
    return max(1, min(largest, n_columns, n_samples - 2))


def columns_in_share(share: float, n_columns: int) -> int:
    """How many columns a share of them is, at least one."""
    return max(1, round(share * n_columns))


def _ridge_fits(ridges: RidgeRegressions, target: _Target) -> Floats:
    """yᵀHy/(|y|²·tr H), times samples − 1: (labellings, ridges).

    Labels that are permuted freely have a squared length of |y|²/(samples − 1) along every axis on
    average, so that yᵀHy is |y|²·tr H/(samples − 1). For large ridges this becomes the spread over
    all columns.
    """
    n_samples = target.labels.shape[1]
    fitted = ridges.fitted_squares(target.coordinates)
    return (n_samples - 1) * fitted / (target.scale[:, None] * ridges.n_parameters)


def _pair_gains(pairs: ColumnPairs, products: Floats) -> Iterator[tuple[int, Floats]]:
    """How much each pair (i, j) explains: (c_i² + c_j² − 2 g c_i c_j)/(1 − g²), g the overlap.

    Parameters
    ----------
    pairs : the list of pairs.
    products : (labellings, columns) c, the products of the columns with the labels.

    Yields
    ------
    The start of every chunk of pairs, and (labellings, chunk) the gains.
    """
    for start in range(0, len(pairs), COLUMNS_IN_CACHE):
        chunk = slice(start, start + COLUMNS_IN_CACHE)
        overlap = pairs.overlap[chunk]
        c_i = products.take(pairs.first[chunk], axis=1)
        c_j = products.take(pairs.second[chunk], axis=1)
        yield start, (c_j * (c_j - 2 * overlap * c_i) + c_i**2) / (1 - overlap**2)


def _fit_pairs(columns: ForwardColumns, target: _Target, rows: Ints, members: Ints) -> Floats:
    """The labels of some labellings as least squares on their pairs fits them.

    Parameters
    ----------
    columns : of the table.
    target : the labels.
    rows : the labellings.
    members : (rows, 2) columns of each labelling's pair.

    Returns
    -------
    (rows, samples)
    """
    fit = np.empty((len(rows), target.labels.shape[1]))
    for k, row in enumerate(rows):
        predictors = columns.columns_at(members[k])
        centred = target.centred[row]
        weights = np.linalg.lstsq(predictors, centred, rcond=None)[0]
        fit[k] = target.labels[row] - (centred - predictors @ weights)
    return fit
