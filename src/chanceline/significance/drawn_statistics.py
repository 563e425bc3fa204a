"""The statistics of the test, drawn without drawing tables: for independent Gaussian features.

A centred and normalised column of noise is a random point of a sphere. What the statistics see of
it is its coordinate along the labels and, at every step of the path, its coordinate along the
direction that the step adds. These coordinates are drawn instead of whole columns: the labels'
first, and one more for every column whenever a step has chosen its column. A difference d between
the class means moves the coordinate along the labels, before the column is normalised, by

    d·√(n₊n₋/P),

and the others not at all. Path and spreads have exactly the distribution that tables give, but for
two things that hardly matter here: outliers of noise are not pulled in (those that an effect makes
are), and no list of correlated pairs is looked at. Ridge regressions follow from the columns'
coordinates along the labels and from the spectrum of a random table (`RidgeModel`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import ceil, sqrt

import numpy as np
from scipy.linalg import eigh_tridiagonal

from chanceline._arrays import Floats
from chanceline.significance.members import MemberArrays, join_labellings
from chanceline.significance.outliers import clip_outliers
from chanceline.significance.path_steps import SPREAD_SHARES
from chanceline.significance.ridges import MAX_AXES, RIDGE_SHARES, ridge_of_share

# The path takes columns among those that go best with the labels by themselves: others hardly ever
# have a turn.
MAX_PATH_COLUMNS = 500
# So many coordinates are drawn at a time.
COORDINATES_AT_ONCE = 2_000_000
# Columns with an effect are drawn sample by sample where these are at most so many values a table.
MAX_VALUES_WITH_EFFECT = 5_000
# A mean spectrum is that of tables with so many eigenvalues together.
EIGENVALUES_TO_AVERAGE = 4000
SMALLEST_EIGENVALUE = 1e-9  # smaller ones are rounding
# Added to squared lengths, so that the gain of a column that was taken is no division by nothing.
SMALLEST_SQUARED_LENGTH = 1e-6


@dataclass(frozen=True)
class EffectDesign:
    """A study of independent Gaussian features, some of which differ between the classes.

    Attributes
    ----------
    n_samples, positives : P, and n₊ of one class.
    n_features : N.
    effect : d, the distance of the class means in standard deviations within classes.
    features_with_effect : how many features have it.
    """

    n_samples: int
    positives: int
    n_features: int
    effect: float
    features_with_effect: int

    @property
    def shift(self) -> float:
        """d·√(n₊n₋/P): by how much an effect moves a column along the labels."""
        negatives = self.n_samples - self.positives
        return self.effect * sqrt(self.positives * negatives / self.n_samples)

    @property
    def n_dimensions(self) -> int:
        """P − 1: of the space of centred columns."""
        return self.n_samples - 1

    def without_effect(self) -> EffectDesign:
        """Pure noise of the same size."""
        return replace(self, effect=0.0)


def draw_member_losses(
    design: EffectDesign,
    ridge_model: RidgeModel,
    n_draws: int,
    n_steps: int,
    rng: np.random.Generator,
) -> MemberArrays:
    """The statistics of so many tables of a design, as losses: small where labels are fitted well.

    They are what the test combines: of the forward path what is left of the labels at every step,
    of spreads and ridge regressions how well they fit, with the sign changed.

    Parameters
    ----------
    design : of the tables; without an effect they are pure noise.
    ridge_model : of tables of this size.
    n_draws : number of tables.
    n_steps : number of features at the end of the path.
    rng : random numbers.

    Returns
    -------
    (draws, columns) of every member of the combination.
    """
    batches = []
    for n_in_batch in _batch_sizes(n_draws, design.n_features):
        correlations = draw_correlations(design, n_in_batch, rng)  # (draws, features)
        squares = correlations**2
        path_losses = draw_path_losses(correlations, design.n_dimensions, n_steps, rng)
        ridge_fits = ridge_model.draw_fits(squares.sum(axis=1), rng)  # (draws, ridges)

        # The first spread is that over all features, the others are over the best of them.
        spreads = _spreads(squares, design.n_samples)
        fits_of_all_features = np.hstack([spreads[:, :1], ridge_fits])
        batch = MemberArrays(
            path=path_losses,
            all_features=-fits_of_all_features,
            best_features=-spreads[:, 1:],
        )
        batches.append(batch)
    return join_labellings(batches)


def _batch_sizes(n_draws: int, n_features: int) -> Iterator[int]:
    """Numbers of draws, as many at a time as fit into memory."""
    largest_batch = max(1, COORDINATES_AT_ONCE // n_features)
    for start in range(0, n_draws, largest_batch):
        yield min(largest_batch, n_draws - start)


def draw_correlations(design: EffectDesign, n_draws: int, rng: np.random.Generator) -> Floats:
    """The correlations of all columns with the labels: (draws, features).

    Before it is normalised, a column has a Gaussian coordinate g along the labels, moved by the
    effect if it has one, and P − 2 further ones. So the correlation is

        g/√(g² + χ²),

    χ² the sum of the P − 2 squares. Columns with an effect are drawn sample by sample instead, as
    long as they are short: where a large effect sits in a few samples, these stand out, and the
    test pulls them in.
    """
    shape = (n_draws, design.n_features)
    along_labels = rng.standard_normal(shape)
    along_labels[:, : design.features_with_effect] += design.shift
    other_squares = rng.chisquare(design.n_dimensions - 1, shape)
    correlations: Floats = along_labels / np.sqrt(along_labels**2 + other_squares)

    n_values = design.n_samples * design.features_with_effect
    if design.effect != 0 and n_values <= MAX_VALUES_WITH_EFFECT:
        for feature in range(design.features_with_effect):
            correlations[:, feature] = _correlations_of_samples(design, n_draws, rng)
    return correlations


def _correlations_of_samples(
    design: EffectDesign, n_draws: int, rng: np.random.Generator
) -> Floats:
    """The correlation of one column with the labels in every draw, outliers pulled in: (draws,)."""
    is_positive = np.arange(design.n_samples) < design.positives
    values = rng.standard_normal((design.n_samples, n_draws))
    values[is_positive] += design.effect
    columns = clip_outliers(values)
    columns -= columns.mean(axis=0)
    centred_labels = is_positive - is_positive.mean()
    lengths = np.linalg.norm(columns, axis=0) * np.linalg.norm(centred_labels)
    correlations: Floats = centred_labels @ columns / lengths
    return correlations


def _spreads(squared_correlations: Floats, n_samples: int) -> Floats:
    """The mean squared correlation of each share of the columns, those that fit best, times P − 1.

    Parameters
    ----------
    squared_correlations : (draws, features)
    n_samples : P.

    Returns
    -------
    (draws, SPREAD_SHARES)
    """
    n_features = squared_correlations.shape[1]
    starts = [n_features - max(1, round(share * n_features)) for share in SPREAD_SHARES]
    ranked = np.partition(squared_correlations, starts, axis=1)
    means = [ranked[:, start:].mean(axis=1) for start in starts]
    return (n_samples - 1) * np.column_stack(means)


def draw_path_losses(
    correlations: Floats, n_dimensions: int, n_steps: int, rng: np.random.Generator
) -> Floats:
    """The share of the labels that forward stepwise least squares leaves: (draws, steps).

    Columns and residual are known by their coordinates in a frame that grows: its first axis are
    the labels, and every step adds the axis along which the column that it takes leaves the frame.
    All other columns have a random coordinate there.

    Parameters
    ----------
    correlations : (draws, features) of the columns with the labels.
    n_dimensions : of the space of columns.
    n_steps : number of columns to take.
    rng : random numbers.
    """
    state = _FramePath(_best_columns(correlations), n_dimensions, n_steps)
    losses = np.empty((len(correlations), n_steps))
    for step in range(n_steps):
        losses[:, step] = state.take_next_column(rng)
    return losses


def _best_columns(correlations: Floats) -> Floats:
    """The `MAX_PATH_COLUMNS` correlations of largest absolute value in every draw."""
    n_left_out = correlations.shape[1] - MAX_PATH_COLUMNS
    if n_left_out <= 0:
        return correlations
    order = np.argpartition(np.abs(correlations), n_left_out, axis=1)
    return np.take_along_axis(correlations, order[:, n_left_out:], axis=1)


class _FramePath:
    """Forward paths of many draws at once, in the coordinates of their frames.

    Attributes
    ----------
    coordinates : (draws, columns, axes) of the columns along the axes of the frame; zero along
        axes that are not there yet.
    squares_outside_frame : (draws, columns) squared lengths of the columns outside the frame.
    products : (draws, columns) C, of the columns with the residual of the labels.
    squares_outside_span : (draws, columns) L, squared lengths of the columns outside the span of
        those taken.
    taken_directions : (draws, steps, axes) the orthonormal directions taken.
    loss : (draws,) what is left of the labels, whose length is 1.
    """

    def __init__(self, correlations: Floats, n_dimensions: int, n_steps: int) -> None:
        """Start with the labels as the only axis of the frame, and no column taken.

        Parameters
        ----------
        correlations : (draws, columns) of columns of length 1 with the labels, of length 1 too.
        n_dimensions : of the space of columns.
        n_steps : number of columns that will be taken.
        """
        n_draws, n_columns = correlations.shape
        self.n_dimensions = n_dimensions
        self.n_taken = 0

        # The frame: axis 0 are the labels, and every step will add an axis.
        n_axes = 1 + n_steps
        self.coordinates = np.zeros((n_draws, n_columns, n_axes))
        self.coordinates[:, :, 0] = correlations
        self.squares_outside_frame = 1 - correlations**2

        # The path: all of the labels is left, and columns have their full length, 1. The margin
        # keeps gains finite when a column is taken and nothing of it is left.
        self.loss = np.ones(n_draws)
        self.products = correlations.copy()
        self.squares_outside_span = np.full((n_draws, n_columns), 1 + SMALLEST_SQUARED_LENGTH)
        self.taken_directions = np.zeros((n_draws, n_steps, n_axes))

    def take_next_column(self, rng: np.random.Generator) -> Floats:
        """Take the column of largest gain in every draw; (draws,) the loss that is left."""
        # The gain is C²/L: C of a column with the residual, L its squared length outside the span.
        gains = self.products**2 / self.squares_outside_span
        best = gains.argmax(axis=1)

        # The direction that these columns add; the frame is made to hold it.
        self._add_axis(best, rng)
        draws = np.arange(len(best))
        taken_columns = self.coordinates[draws, best]  # (draws, axes)
        direction = self._direction_of(taken_columns)

        # The residual has no part along the directions taken before. So C of a column taken is its
        # length along the new direction times d, the part of the residual along that direction.
        length_along_direction = np.einsum("da,da->d", taken_columns, direction)
        residual_part = self.products[draws, best] / length_along_direction  # d, (draws,)

        # Take the direction out of the residual and of all columns, whose parts along it are V.
        column_parts = np.einsum("dca,da->dc", self.coordinates, direction)  # V, (draws, columns)
        self.products -= residual_part[:, None] * column_parts  # C ← C − dV
        self.squares_outside_span -= column_parts**2  # L ← L − V²
        self.loss = self.loss - residual_part**2
        self.taken_directions[:, self.n_taken] = direction
        self.n_taken += 1
        return self.loss

    def _add_axis(self, best: np.ndarray, rng: np.random.Generator) -> None:
        """Add an axis to the frame, in every draw along what its best column has outside.

        This fills in the coordinates of all columns along the axis, and lowers what they have
        outside the frame.

        Parameters
        ----------
        best : (draws,) the columns that are taken now.
        """
        draws = np.arange(len(best))
        new_axis = 1 + self.n_taken  # as many axes as there are by now have the numbers before
        n_dimensions_left = self.n_dimensions - new_axis

        # What a column has outside the frame has a random direction in the dimensions left: that of
        # a vector of Gaussians, g along the axis and others with the sum of squares χ². Of its
        # length outside the frame the share g/√(g² + χ²) lies along the axis.
        gaussians = rng.standard_normal(self.squares_outside_frame.shape)
        other_squares = rng.chisquare(n_dimensions_left - 1, self.squares_outside_frame.shape)
        along_axis = gaussians * np.sqrt(
            self.squares_outside_frame / (gaussians**2 + other_squares)
        )
        # The best columns made the axis: they have all of that length along it.
        along_axis[draws, best] = np.sqrt(self.squares_outside_frame[draws, best])

        self.coordinates[:, :, new_axis] = along_axis
        # Rounding may leave less than nothing.
        self.squares_outside_frame = np.maximum(self.squares_outside_frame - along_axis**2, 0.0)

    def _direction_of(self, columns: Floats) -> Floats:
        """The part of one column a draw outside the directions taken, scaled to length 1.

        Parameters
        ----------
        columns : (draws, axes)
        """
        components = np.einsum("da,dsa->ds", columns, self.taken_directions)
        outside = columns - np.einsum("ds,dsa->da", components, self.taken_directions)
        length = np.sqrt(np.einsum("da,da->d", outside, outside))
        direction: Floats = outside / length[:, None]
        return direction


@dataclass(frozen=True, eq=False)
class RidgeModel:
    """Ridge regressions on the columns of a random table, as the labels see them.

    With the labels as first axis, the first row of the table Z is c, the columns' correlations with
    the labels, and Z′ the rest. Inverting ZZᵀ + λ by blocks, the share of the labels that a ridge λ
    fits is

        s/(λ + s),   s = |c|²(1 − h),   h = cᵀH′c/|c|²,   H′ = Z′ᵀ(Z′Z′ᵀ + λ)⁻¹Z′.

    The axes of Z′ have no preferred direction among the columns. So h is a mean of the eigenvalues
    of H′ with random weights, the squares of a random unit vector of N coordinates, whatever c is.

    Attributes
    ----------
    ridges : (ridges,) λ.
    shrinkages : (axes, ridges) the eigenvalues of H′ that are not zero.
    n_parameters : (ridges,) tr H of the whole table.
    n_features : N.
    n_dimensions : P − 1.
    """

    ridges: Floats
    shrinkages: Floats
    n_parameters: Floats
    n_features: int
    n_dimensions: int

    def draw_fits(self, squared_length: Floats, rng: np.random.Generator) -> Floats:
        """How much of the labels each ridge fits, relative to chance: (draws, ridges).

        A ridge λ fits the share s/(λ + s) of the labels, s = |c|²(1 − h), where c are the
        correlations of the columns with the labels, and h is a mean of N shrinkages with random
        weights.

        Parameters
        ----------
        squared_length : (draws,) |c|².
        rng : random numbers.
        """
        n_draws = len(squared_length)
        n_axes = len(self.shrinkages)
        # Weights are squares of N Gaussians. Behind the first axes shrinkages are zero: weights
        # there add nothing to the mean but their sum, by which all is divided.
        weights = rng.standard_normal((n_draws, n_axes)) ** 2
        weight_of_zeros = np.zeros(n_draws)
        if self.n_features > n_axes:
            weight_of_zeros = rng.chisquare(self.n_features - n_axes, n_draws)
        total_weight = weights.sum(axis=1) + weight_of_zeros
        h = (weights @ self.shrinkages) / total_weight[:, None]  # (draws, ridges)

        # By chance each free parameter fits the share 1/(P − 1).
        s = squared_length[:, None] * (1 - h)
        fitted = s / (self.ridges + s)
        relative_to_chance: Floats = self.n_dimensions * fitted / self.n_parameters
        return relative_to_chance


def make_ridge_model(n_dimensions: int, n_features: int, rng: np.random.Generator) -> RidgeModel:
    """The ridge regressions of tables of a size; none where the test makes none.

    Parameters
    ----------
    n_dimensions : P − 1, of the space of columns; one of them are the labels.
    n_features : N.
    rng : random numbers.
    """
    n_samples = n_dimensions + 1
    if min(n_samples, n_features) > MAX_AXES:
        return _no_ridges(n_dimensions, n_features)

    # The spectrum of the whole table Z gives the ridges, as the test chooses them. Columns have
    # length 1, of which every dimension has its share.
    share_of_dimension = 1 / n_dimensions
    eigenvalues = share_of_dimension * mean_spectrum(n_dimensions, n_features, rng)
    ridges = np.array([ridge_of_share(eigenvalues, share) for share in RIDGE_SHARES])

    # Fits are drawn by the spectrum of the table without its dimension along the labels, Z′.
    eigenvalues_of_rest = share_of_dimension * mean_spectrum(n_dimensions - 1, n_features, rng)
    return RidgeModel(
        ridges=ridges,
        shrinkages=_shrinkages(eigenvalues_of_rest, ridges),
        n_parameters=_shrinkages(eigenvalues, ridges).sum(axis=0),
        n_features=n_features,
        n_dimensions=n_dimensions,
    )


def _no_ridges(n_dimensions: int, n_features: int) -> RidgeModel:
    return RidgeModel(
        ridges=np.zeros(0),
        shrinkages=np.zeros((0, 0)),
        n_parameters=np.zeros(0),
        n_features=n_features,
        n_dimensions=n_dimensions,
    )


def _shrinkages(eigenvalues: Floats, ridges: Floats) -> Floats:
    """d/(d + λ) for every eigenvalue d and ridge λ: (axes, ridges)."""
    shrinkages: Floats = eigenvalues[:, None] / (eigenvalues[:, None] + ridges)
    return shrinkages


def mean_spectrum(n_rows: int, n_columns: int, rng: np.random.Generator) -> Floats:
    """`random_spectrum`, ascending, averaged over so many tables that it hardly scatters."""
    n_eigenvalues = min(n_rows, n_columns)
    n_tables = ceil(EIGENVALUES_TO_AVERAGE / n_eigenvalues)
    spectra = [random_spectrum(n_rows, n_columns, rng) for _ in range(n_tables)]
    mean: Floats = np.mean(spectra, axis=0)
    # The sum is known: of so many squares.
    return mean * (n_rows * n_columns / mean.sum())


def random_spectrum(n_rows: int, n_columns: int, rng: np.random.Generator) -> Floats:
    """The eigenvalues of ZZᵀ that are not zero, ascending, Z having n_rows × n_columns Gaussians.

    They are those of BBᵀ, where B is bidiagonal with independent entries √χ² (Dumitriu and Edelman
    2002): with m the smaller and n the larger side, of n, n − 1, … degrees of freedom on the
    diagonal, and m − 1, m − 2, … below it.
    """
    smaller = min(n_rows, n_columns)
    larger = max(n_rows, n_columns)
    diagonal = np.sqrt(rng.chisquare(larger - np.arange(smaller)))
    below = np.sqrt(rng.chisquare(smaller - 1 - np.arange(smaller - 1)))
    squares = diagonal**2
    squares[1:] += below**2
    eigenvalues: Floats = eigh_tridiagonal(
        squares, diagonal[:-1] * below, eigvals_only=True, check_finite=False
    )
    return np.maximum(eigenvalues, SMALLEST_EIGENVALUE)
