"""The forward path for outcomes of several columns of scores, for many permutations at once.

As `chanceline.significance.path`, with q columns of scores z_1, …, z_q in the place of the labels.
At every step the column of the table is taken that lowers Σ_c |what is left of z_c|² most: with
C_c the products of all columns with what is left of z_c, and L the squared lengths of the columns
outside the chosen span, the gain of a column is

    Σ_c C_c²/L.

The spread over columns has Σ_c (x_j·z_c)² in the place of (x_j·y)², and a ridge regression fits
Σ_c z_cᵀHz_c. For two classes, q = 1 and scores ±1, all of this is the path of the labels.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from chanceline._arrays import Bools, Floats, Ints
from chanceline.significance.best_pairs import BestPairs, find_best_pairs
from chanceline.significance.column_pairs import COLUMNS_IN_CACHE, ColumnPairs
from chanceline.significance.followed_paths import FollowedPaths
from chanceline.significance.path_columns import PathColumns
from chanceline.significance.path_steps import (
    LENGTH_MARGIN,
    NO_FEATURE,
    SPREAD_SHARES,
    largest_of_rows,
    orthogonal_part,
)

SECOND_STEP = 1  # the column of losses that two features have


@dataclass(frozen=True, eq=False)
class ScoreTarget:
    """The scores that the columns are to explain.

    Attributes
    ----------
    coordinates : (permutations, q, coordinates) what blocks and covariates leave of the scores, in
        the coordinates of the columns.
    squared_length : (permutations,) Σ_c |z_c|² of what is left.
    squared_length_outside_span : (permutations,) the part of it that no column explains.
    n_samples : number of samples.
    """

    coordinates: Floats
    squared_length: Floats
    squared_length_outside_span: Floats
    n_samples: int

    @property
    def scale(self) -> Floats:
        """The squared length, and 1 for scores of which nothing is left."""
        return np.where(self.squared_length > 0, self.squared_length, 1.0)

    def loss(self, residual: Floats) -> Floats:
        """The share of the squared length that a residual leaves: (permutations,)."""
        return (self.squared_length_outside_span + _total_squares(residual)) / self.scale


def follow_score_paths(columns: PathColumns, scores: Floats, n_steps: int) -> FollowedPaths:
    """Measure in four ways how well the features explain the scores of every permutation.

    The ways are: the forward path, least squares that adds the feature which explains most at every
    step; the best pair of features; the spread, the mean squared correlation with all or with the
    best features; and ridge regressions on all features.

    Parameters
    ----------
    columns : the columns of the table, centred and of length 1.
    scores : (permutations, q, samples) the q numbers that stand for a sample's outcome.
    n_steps : number of features at the end of the path.
    """
    # Columns and scores as vectors of coordinates, in one orthonormal basis.
    target = make_score_target(columns, scores)
    state = start_score_path(columns.coordinates, target.coordinates, n_steps)

    # Spread and pairs need the products of the columns with the scores themselves. They must come
    # before the steps, which replace `state.products` by products with the residuals.
    spread = _score_spread(state.products, target)
    best_pairs = find_best_pairs(
        columns.pairs,
        _score_pair_gains(columns.pairs, state.products),
        squared_length=target.squared_length,
        scale=target.scale,
    )

    # The forward paths. This changes `state`.
    losses, feature_of_step = _take_all_steps(state, target, columns.feature_of_column, n_steps)
    n_permutations = len(scores)
    no_pairs = np.full((n_permutations, 2), NO_FEATURE, dtype=np.int64)
    paths = FollowedPaths(
        losses=losses,
        chosen=feature_of_step,
        pair=no_pairs,
        spread=spread,
        ridge_fits=_score_ridge_fits(columns, target),
    )
    # A path takes one column at a time, and may miss two that explain much only together. Where the
    # best pair explains more than the first two steps, keep this pair and its loss.
    if n_steps > 1 and best_pairs is not None:
        return _with_better_score_pairs(paths, best_pairs, columns.feature_of_column)
    return paths


def _take_all_steps(
    state: ScorePathState, target: ScoreTarget, feature_of_column: Ints, n_steps: int
) -> tuple[Floats, Ints]:
    """Run the forward paths of all permutations, which changes `state` in place.

    Parameters
    ----------
    state : of the paths before their first step.
    target : the scores that the columns explain.
    feature_of_column : (columns,) the feature in each column.
    n_steps : number of steps.

    Returns
    -------
    losses : (permutations, steps) the share of the scores' squares that is left after each step.
    feature_of_step : (permutations, steps) the feature taken at each step; `NO_FEATURE` from where
        a path has ended, because no column has a part outside the span of the columns taken.
    """
    n_permutations = len(state.residual)
    losses = np.empty((n_permutations, n_steps))
    feature_of_step = np.full((n_permutations, n_steps), NO_FEATURE, dtype=np.int64)
    for step in range(n_steps):
        best_columns, is_taken = state.take_next_column()  # (permutations,) each
        taken_columns = best_columns[is_taken]
        feature_of_step[is_taken, step] = feature_of_column[taken_columns]
        losses[:, step] = target.loss(state.residual)
    return losses, feature_of_step


def make_score_target(columns: PathColumns, scores: Floats) -> ScoreTarget:
    """Prepare the scores as the response of least squares: adjust them, and change their basis.

    The scores are adjusted for blocks and covariates by regression. Then they are written in an
    orthonormal basis, the same as that of the columns. In a long table this basis spans the columns
    only, and so has fewer coordinates than there are samples. The part of the scores outside that
    span can't be explained by any column: only its squared length is kept.

    Parameters
    ----------
    columns : the columns of the table, centred and of length 1.
    scores : (permutations, q, samples) the q numbers that stand for a sample's outcome.
    """
    n_permutations, n_scores, n_samples = scores.shape
    # `columns` takes vectors as rows: here (permutations · q, samples).
    score_rows = scores.reshape(-1, n_samples)
    residual_rows = columns.residuals(score_rows)  # on blocks and covariates
    coordinate_rows = columns.to_coordinates(residual_rows)  # (permutations · q, coordinates)
    coordinates = coordinate_rows.reshape(n_permutations, n_scores, -1)

    # Sums of squares over all q scores: (permutations,).
    squared_length = _total_squares(residual_rows.reshape(scores.shape))
    squared_length_in_span = _total_squares(coordinates)
    squared_length_outside_span = squared_length - squared_length_in_span
    return ScoreTarget(
        coordinates=coordinates,
        squared_length=squared_length,
        # Rounding may make the difference slightly negative.
        squared_length_outside_span=np.maximum(squared_length_outside_span, 0.0),
        n_samples=n_samples,
    )


@dataclass(eq=False)
class ScorePathState:
    """The paths of all permutations between two steps.

    Attributes
    ----------
    columns : (coordinates, columns) of length 1.
    residual : (permutations, q, coordinates) what the columns taken leave of the scores.
    products : (permutations, q, columns) of the columns with the residual, one direction behind.
    squared_lengths : (permutations, columns) of the columns outside the span, one direction behind.
    directions : (permutations, steps, coordinates) the orthonormal directions taken; zero from
        where a path has ended.
    last_coefficients : (permutations, q, 1) the scores' parts along the direction taken last.
    n_taken : number of steps done.
    """

    columns: Floats
    residual: Floats
    products: Floats
    squared_lengths: Floats
    directions: Floats
    last_coefficients: Floats
    n_taken: int = 0

    def take_next_column(self) -> tuple[Ints, Bools]:
        """In every permutation, add to the model the column that explains most of the residual.

        This changes the state in place. The column's part outside the span of the columns taken
        before becomes a new direction, along which the residual is projected out.

        Returns
        -------
        (permutations,) the number of the best column, and (permutations,) whether it was taken: not
        if it lies within the span, so that its direction is zero.
        """
        # The column of largest gain, which is the reduction of the squared residual. Gains follow
        # from `products` and `squared_lengths`. These two are not updated at the end of a step, but
        # at the beginning of the next one: while `largest_of_rows` consumes the gains, the
        # generator projects the previous direction out of both, chunk by chunk.
        gains_of_chunks = self._update_and_yield_gains()
        best_columns, _ = largest_of_rows(gains_of_chunks, n_rows=len(self.residual))

        # The part of each best column outside the directions taken before, scaled to length 1:
        # (permutations, coordinates).
        best_vectors = self.columns[:, best_columns].T.astype(float)
        earlier_directions = self.directions[:, : self.n_taken]
        direction, is_taken = orthogonal_part(best_vectors, earlier_directions)

        # Project the new direction out of the residual, (permutations, q, coordinates).
        coefficients = np.matmul(self.residual, direction[:, :, None])  # (permutations, q, 1)
        self.residual = self.residual - coefficients * direction[:, None, :]

        # Keep direction and coefficients: from these and `n_taken` the next step updates products
        # and lengths.
        self.directions[:, self.n_taken] = direction
        self.last_coefficients = coefficients.astype(self.columns.dtype)
        self.n_taken += 1
        return best_columns, is_taken

    def _update_and_yield_gains(self) -> Iterator[tuple[int, Floats]]:
        """Bring products and lengths up to date chunk by chunk, and yield the gains.

        Yields
        ------
        The index at which the chunk starts, and (permutations, chunk) its gains.
        """
        for start in range(0, self.columns.shape[1], COLUMNS_IN_CACHE):
            chunk = slice(start, start + COLUMNS_IN_CACHE)
            if self.n_taken > 0:
                self._take_out_last_direction(chunk)
            # Σ_c C_c²/L
            yield start, _squares_of_scores(self.products, chunk) / self.squared_lengths[:, chunk]

    def _take_out_last_direction(self, chunk: slice) -> None:
        """C_c ← C_c − d_c V and L ← L − V², V the products of the last direction with columns."""
        last_direction = self.directions[:, self.n_taken - 1].astype(self.columns.dtype)
        overlap = last_direction @ self.columns[:, chunk]
        self.products[:, :, chunk] -= overlap[:, None, :] * self.last_coefficients
        self.squared_lengths[:, chunk] -= overlap**2


def start_score_path(columns: Floats, scores: Floats, n_steps: int) -> ScorePathState:
    """The state of a forward path before its first step: no column is taken.

    Parameters
    ----------
    columns : (coordinates, columns) of length 1, in single or double precision.
    scores : (permutations, q, coordinates) what the columns are to explain.
    n_steps : the largest number of steps that will be taken.
    """
    n_permutations, n_scores, n_coordinates = scores.shape
    n_columns = columns.shape[1]
    dtype = columns.dtype
    # The squared length of the part of a column outside the span of the columns taken: 1 at first.
    # Gains are divided by it. The margin prevents a division by 0 for a column in the span.
    first_squared_length = 1 + LENGTH_MARGIN[dtype]
    score_rows = scores.reshape(-1, n_coordinates).astype(dtype)  # (permutations · q, coordinates)
    products = (score_rows @ columns).reshape(n_permutations, n_scores, n_columns)
    return ScorePathState(
        columns=columns,
        residual=scores,  # nothing is explained yet
        products=products,
        squared_lengths=np.full((n_permutations, n_columns), first_squared_length, dtype=dtype),
        directions=np.zeros((n_permutations, n_steps, n_coordinates)),
        last_coefficients=np.zeros((n_permutations, n_scores, 1), dtype=dtype),
    )


def _total_squares(scores: Floats) -> Floats:
    """Σ of the squares of all scores of each permutation: (permutations,)."""
    totals: Floats = np.einsum("pqn,pqn->p", scores, scores)
    return totals


def _squares_of_scores(products: Floats, chunk: slice) -> Floats:
    """Σ_c C_c² for a chunk of columns: (permutations, chunk)."""
    squares: Floats = products[:, 0, chunk] ** 2
    for score in range(1, products.shape[1]):
        squares += products[:, score, chunk] ** 2
    return squares


def _score_spread(products: Floats, target: ScoreTarget) -> Floats:
    """The mean of Σ_c (x_j·z_c)² over each share of the columns, relative to chance.

    Returns
    -------
    (permutations, SPREAD_SHARES)
    """
    n_columns = products.shape[2]
    starts = [n_columns - max(1, round(share * n_columns)) for share in SPREAD_SHARES]
    # From each start on are the columns that fit best.
    ranked = np.partition(_squares_of_scores(products, slice(None)), starts, axis=1)
    means = [ranked[:, start:].mean(axis=1, dtype=float) / target.scale for start in starts]
    return (target.n_samples - 1) * np.column_stack(means)


def _score_ridge_fits(columns: PathColumns, target: ScoreTarget) -> Floats:
    """Σ_c z_cᵀHz_c/(Σ_c |z_c|²·tr H), times samples − 1: (permutations, ridges)."""
    n_permutations, n_scores, n_coordinates = target.coordinates.shape
    ridges = columns.ridges
    fitted_scores = ridges.fitted_squares(target.coordinates.reshape(-1, n_coordinates))
    fitted = fitted_scores.reshape(n_permutations, n_scores, -1).sum(axis=1)
    return (target.n_samples - 1) * fitted / (target.scale[:, None] * ridges.n_parameters)


def _score_pair_gains(pairs: ColumnPairs, products: Floats) -> Iterator[tuple[int, Floats]]:
    """How much each pair explains: Σ_c (c_i² + c_j² − 2 g c_i c_j)/(1 − g²), g the overlap.

    Parameters
    ----------
    pairs : the list of pairs (i, j).
    products : (permutations, q, columns) of the columns with each column of scores.

    Yields
    ------
    The start of every chunk of pairs, and (permutations, chunk) the gains.
    """
    for start in range(0, len(pairs), COLUMNS_IN_CACHE):
        chunk = slice(start, start + COLUMNS_IN_CACHE)
        overlap = pairs.overlap[chunk]
        c_i = products.take(pairs.first[chunk], axis=2)
        c_j = products.take(pairs.second[chunk], axis=2)
        gains = (c_j * (c_j - 2 * overlap * c_i) + c_i**2) / (1 - overlap**2)
        yield start, gains.sum(axis=1)


def _with_better_score_pairs(
    paths: FollowedPaths, best_pairs: BestPairs, feature_of_column: Ints
) -> FollowedPaths:
    """The paths, with the best pair in the place of the first two steps where it explains more."""
    improved = best_pairs.better_than(paths.losses[:, SECOND_STEP])
    pair = paths.pair.copy()
    pair[improved] = feature_of_column[best_pairs.members[improved]]
    losses = paths.losses.copy()
    losses[improved, SECOND_STEP] = np.maximum(best_pairs.loss[improved], 0.0)
    return replace(paths, pair=pair, losses=losses)
