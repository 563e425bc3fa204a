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

    * The forward path is stepwise least squares: every step adds the feature that explains most of
      the residuals.
    * The best pair of features takes the place of the path's first two features, where the pair
      explains more.
    * The spread is the mean squared correlation with all features, or with the best of them.
    * Ridge regressions use all features.

    Parameters
    ----------
    columns : the columns of the table, centred and of length 1.
    labels : (labellings, samples) ±1; the observed labels, or shuffled ones.
    n_steps : number of features at the end of the path.
    with_errors : whether to count the errors of every fit, which takes longest in long tables.
    """
    target = _make_target(columns, labels)  # the labels, centred as the columns are

    # The gain of a column is what it would explain of the residuals. Spread and pairs come first,
    # because the steps of the path change the gains in place (`state` holds them, too).
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
        # This updates `state.residual`, from which the losses and errors of the step follow.
        best_columns, is_taken = state.take_next_column()  # (labellings,) each
        taken_columns = best_columns[is_taken]
        chosen[is_taken, step] = columns.feature_of_column[taken_columns]
        losses[:, step] = target.loss(state.residual)
        if with_errors:
            fit = target.fit(columns, state.residual)
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
    """Replace the first two features of a path by the best pair, where the pair explains more.

    A copy of the paths is returned. Where the pair explains more, the copy has the features, the
    loss and the errors of the pair at K = 2.

    Parameters
    ----------
    paths : paths of at least two steps, without pairs so far.
    best_pairs : the best pair of every labelling, and its loss.
    columns : the columns of the table.
    target : the labels.
    """
    second_step = 1  # the column of `losses` and `errors` for K = 2 features
    loss_of_two_steps = paths.losses[:, second_step]
    improved = best_pairs.better_than(loss_of_two_steps)  # indices of labellings
    pair_columns = best_pairs.members[improved]  # (improved, 2)

    pair = paths.pair.copy()
    pair[improved] = columns.feature_of_column[pair_columns]
    losses = paths.losses.copy()
    # Rounding may make the loss of a perfect fit slightly negative.
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
        """For every labelling, add to the model the column that explains most of the residual.

        This changes the state in place. The column's part outside the span of the columns taken
        before becomes a new direction, along which the residual is projected out.

        Returns
        -------
        (labellings,) the index of the best column, and (labellings,) whether it was taken. It is
        not taken if it lies within the span: its direction is then zero, and the path stays as it
        is.
        """
        # The gain of a column is the reduction of the squared residual.
        best = self.gains.best_columns()

        # The part of each best column outside the directions taken before, scaled to length 1.
        coordinates = self.columns.coordinates_at(best).T.astype(float)  # (labellings, coordinates)
        direction, is_taken = orthogonal_part(coordinates, self.directions[:, : self.n_taken])

        # Project the new direction out of the residual, (labellings, coordinates).
        products = np.einsum("ij,ij->i", direction, self.residual)  # (labellings,)
        coefficient = products[:, None]  # (labellings, 1)
        self.residual = self.residual - coefficient * direction

        # Keep the direction for the next step, and project it out of the gains of all columns.
        self.directions[:, self.n_taken] = direction
        self.gains.take_out(direction, coefficient)
        self.n_taken += 1
        return best, is_taken


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
