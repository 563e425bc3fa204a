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

from dataclasses import dataclass, replace

import numpy as np

from chanceline._arrays import Bools, Floats, Ints
from chanceline.significance.best_pairs import BestPairs
from chanceline.significance.followed_paths import FollowedPaths
from chanceline.significance.least_squares import fewest_threshold_errors
from chanceline.significance.path_columns import ForwardColumns
from chanceline.significance.path_gains import ColumnGains
from chanceline.significance.path_steps import NO_FEATURE, orthogonal_part, squared_lengths
from chanceline.significance.ridges import RidgeRegressions


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
    """Find how well the features fit the labels, for many labellings at once, in four ways.

    A labelling is the observed labels, or shuffled ones. The arrays returned have a row for each.

    * The forward path is stepwise least squares: every step adds the feature that explains most of
      the residuals.
    * The best pair of features takes the place of the path's first two features, where the pair
      explains more.
    * The spread is the mean squared correlation with all features, or with the best of them.
    * Ridge regressions use all features.

    Parameters
    ----------
    columns : the columns of the table, centred and of length 1.
    labels : (labellings, samples) ±1.
    n_steps : number of features at the end of the path.
    with_errors : whether to count the errors of every fit, which takes longest in long tables.
    """
    target = _make_target(columns, labels)  # the labels, centred as the columns are

    # Spread and best pairs are computed from the gains at the start: how much of the labels each
    # column would explain alone. This must come before the first step of the path, because `state`
    # keeps the same object `gains`, and every step changes it.
    gains = columns.start_gains(target.coordinates, n_steps)
    spread = _spread(gains, target)
    best_pairs = gains.best_pairs(target.squared_length, target.scale)
    state = _state_before_first_step(columns, gains, target, n_steps)

    # The forward path. A path ends when every column lies in the span of the columns taken: its
    # later features stay `NO_FEATURE`.
    n_labellings = len(labels)
    n_rows_of_errors = n_labellings if with_errors else 0  # no rows if errors are not counted
    losses = np.empty((n_labellings, n_steps))
    errors = np.zeros((n_rows_of_errors, n_steps), dtype=np.int64)
    chosen = np.full((n_labellings, n_steps), NO_FEATURE, dtype=np.int64)
    for step in range(n_steps):
        # Of every labelling, its best column and whether this was taken. The step replaces
        # `state.residual`, which the losses and errors are computed from.
        best_columns, is_taken = state.take_next_column()
        residual = state.residual
        taken_columns = best_columns[is_taken]
        chosen[is_taken, step] = columns.feature_of_column[taken_columns]
        losses[:, step] = target.loss(residual)
        if with_errors:
            fit = target.fit(columns, residual)
            errors[:, step] = fewest_threshold_errors(fit, labels, columns.intercept)

    no_pairs = np.full((n_labellings, 2), NO_FEATURE, dtype=np.int64)
    paths = ForwardPaths(
        losses=losses,
        errors=errors,
        chosen=chosen,
        pair=no_pairs,
        spread=spread,
        ridge_fits=_ridge_fits(columns.ridges, target),
    )
    # A path takes one column at a time, and may miss two that explain much only together.
    if n_steps > 1 and best_pairs is not None:
        return _with_better_pairs(paths, best_pairs, columns, target)
    return paths


def _with_better_pairs(
    paths: ForwardPaths, best_pairs: BestPairs, columns: ForwardColumns, target: _Target
) -> ForwardPaths:
    """Where the best pair of features explains more than the first two of a path, take the pair.

    There is one path and one best pair for each labelling (the observed or shuffled labels). A copy
    of the paths is returned. In labellings with a better pair it has the features of the pair in
    `pair`, and the loss and the errors of the pair at two features. `chosen` and the other numbers
    of features stay those of the path.

    Parameters
    ----------
    paths : paths of at least two steps, without pairs so far. `paths.errors` has no rows if errors
        were not counted; then none are counted here.
    best_pairs : the best pair of every labelling, and its loss.
    columns : the columns of the table.
    target : the labels.
    """
    second_step = 1  # the column of `losses` and `errors` for two features
    loss_of_two_steps = paths.losses[:, second_step]
    # The rows (labellings) in which the pair explains more.
    rows = best_pairs.better_than(loss_of_two_steps)
    columns_of_pairs = best_pairs.members[rows]  # (rows, 2)

    pair = paths.pair.copy()
    pair[rows] = columns.feature_of_column[columns_of_pairs]

    losses = paths.losses.copy()
    # Rounding may make the loss of a perfect fit slightly negative.
    losses[rows, second_step] = np.maximum(best_pairs.loss[rows], 0.0)

    errors = paths.errors.copy()
    errors_were_counted = len(errors) > 0
    if errors_were_counted:
        fit = _fit_pairs(columns, target, rows, columns_of_pairs)
        labels = target.labels[rows]
        errors[rows, second_step] = fewest_threshold_errors(fit, labels, columns.intercept)
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
    """Centre the labels as the columns are centred, and express them in the columns' coordinates.

    In a table with many more samples than columns, the columns have coordinates in an orthonormal
    basis of their span, which are fewer than the samples. No column can explain the part of the
    labels outside the span. Only the squared length of this part is kept.

    Parameters
    ----------
    columns : the columns of the table.
    labels : (labellings, samples) ±1.
    """
    centred = columns.residuals(labels)  # on threshold, blocks and covariates
    coordinates = columns.to_coordinates(centred)  # (labellings, coordinates)
    squared_length = squared_lengths(centred)  # (labellings,)
    squared_length_in_span = squared_lengths(coordinates)
    return _Target(
        labels=labels,
        centred=centred,
        coordinates=coordinates,
        squared_length=squared_length,
        # Rounding may make the difference slightly negative.
        squared_length_outside_span=np.maximum(squared_length - squared_length_in_span, 0.0),
    )


@dataclass(eq=False)
class _PathState:
    """The paths of all labellings between two steps.

    Attributes
    ----------
    columns : Z, of length 1.
    gains : how much each column would add.
    residual : (labellings, coordinates) what the columns taken leave of the labels.
    directions : (labellings, steps, coordinates) the orthonormal directions taken; zero from where
        a path has ended.
    n_taken : number of steps done.
    """

    columns: ForwardColumns
    gains: ColumnGains
    residual: Floats
    directions: Floats
    n_taken: int = 0

    def take_next_column(self) -> tuple[Ints, Bools]:
        """One step of the path of every labelling: take the column that explains most.

        This changes the state in place. The column's part outside the span of the columns taken
        before becomes a new direction of length 1. It is projected out of the residual (what the
        columns taken leave of the labels) and of the gains (how much each column would explain).

        If the best column of a labelling lies within the span, its path has ended. The step is
        counted all the same, as all labellings take their steps together, but the direction of this
        labelling is zero. So its residual and its gains stay as they are, in this step and in all
        later ones.

        Returns
        -------
        (labellings,) the index of the best column, and (labellings,) whether it was taken: false
        where the path has ended.
        """
        best_columns = self.gains.best_columns()

        # The part of each best column outside the directions taken before, scaled to length 1.
        coordinates = self.columns.coordinates_at(best_columns).T  # (labellings, coordinates)
        directions_before = self.directions[:, : self.n_taken]
        direction, is_taken = orthogonal_part(coordinates.astype(float), directions_before)

        # Project the new direction out of the residual, (labellings, coordinates).
        products = np.einsum("ij,ij->i", direction, self.residual)  # (labellings,)
        coefficient = products[:, None]  # (labellings, 1)
        self.residual = self.residual - coefficient * direction

        # Keep the direction for the next step, and project it out of the gains of all columns.
        self.directions[:, self.n_taken] = direction
        self.gains.take_out(direction, coefficient)
        self.n_taken += 1
        return best_columns, is_taken


def _state_before_first_step(
    columns: ForwardColumns, gains: ColumnGains, target: _Target, n_steps: int
) -> _PathState:
    """The state before the first step: nothing taken, the residual is the labels themselves.

    Residual and directions are in double precision: losses are computed from them.

    Parameters
    ----------
    columns : of the table.
    gains : of the columns, with nothing taken out.
    target : the labels.
    n_steps : number of features at the end of the path.
    """
    n_labellings, n_coordinates = target.coordinates.shape
    return _PathState(
        columns=columns,
        gains=gains,
        residual=target.coordinates,
        directions=np.zeros((n_labellings, n_steps, n_coordinates)),
    )


def _spread(gains: ColumnGains, target: _Target) -> Floats:
    """The mean squared correlation of the best columns with the labels, times samples − 1.

    There is a mean for each share in `SPREAD_SHARES`: over all columns, and over the best tenth and
    hundredth of them.

    Returns
    -------
    (labellings, SPREAD_SHARES)
    """
    n_samples = target.labels.shape[1]
    return (n_samples - 1) * (gains.mean_squares() / target.scale[:, None])


def longest_path(largest: int, n_columns: int, n_samples: int) -> int:
    """Steps of a path: as many as asked for, where there are so many columns and samples."""
    # With one feature for every sample but two, least squares fits any labels.
    return max(1, min(largest, n_columns, n_samples - 2))


def _ridge_fits(ridges: RidgeRegressions, target: _Target) -> Floats:
    """yᵀHy/(|y|²·tr H), times samples − 1: (labellings, ridges).

    Labels that are permuted freely have a squared length of |y|²/(samples − 1) along every axis on
    average, so that yᵀHy is |y|²·tr H/(samples − 1). For large ridges this becomes the spread over
    all columns.
    """
    n_samples = target.labels.shape[1]
    fitted = ridges.fitted_squares(target.coordinates)
    return (n_samples - 1) * fitted / (target.scale[:, None] * ridges.n_parameters)


def _fit_pairs(
    columns: ForwardColumns, target: _Target, labellings: Ints, columns_of_pairs: Ints
) -> Floats:
    """The labels of some labellings as least squares on their pairs fits them.

    Parameters
    ----------
    columns : of the table.
    target : the labels.
    labellings : (rows,) indices of the labellings.
    columns_of_pairs : (rows, 2) the columns of each labelling's pair.

    Returns
    -------
    (rows, samples)
    """
    fit = np.empty((len(labellings), target.labels.shape[1]))
    for row, labelling in enumerate(labellings):
        predictors = columns.columns_at(columns_of_pairs[row])
        centred = target.centred[labelling]
        weights = np.linalg.lstsq(predictors, centred, rcond=None)[0]
        fit[row] = target.labels[labelling] - (centred - predictors @ weights)
    return fit
