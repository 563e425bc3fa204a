"""Random draws of the test's statistics for independent Gaussian features, without drawing tables.

The statistics are the losses of a forward stepwise path, the spreads (mean squared correlations
with the labels, of all features and of the best of them), and the fits of ridge regressions.

A centred and normalised column of noise is a random point of a sphere. The statistics depend only
on its coordinate along the labels and, at every step of the path, on its coordinate along the
direction that the step adds. These coordinates are drawn instead of whole columns: first those
along the labels, then one more for every column at every step. A difference d between the class
means shifts the coordinate along the labels, before the column is normalised, by

    d·√(n₊n₋/P),

where n₊ and n₋ are the class sizes and P = n₊ + n₋. The other coordinates do not change. Path and
spreads have exactly the distribution that tables give, except for two things that hardly matter
here: outliers of noise are not clipped (those made by an effect are), and no list of correlated
pairs is searched. Ridge regressions follow from the columns' coordinates along the labels and from
the spectrum of a random table (`RidgeModel`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import ceil, sqrt

import numpy as np
from scipy.linalg import eigh_tridiagonal

from chanceline._arrays import Floats, Ints
from chanceline.significance.members import MemberArrays, join_labellings
from chanceline.significance.outliers import clip_outliers
from chanceline.significance.path_steps import SPREAD_SHARES
from chanceline.significance.ridges import MAX_AXES, RIDGE_SHARES, ridge_of_share

# The path chooses among so many columns, those most correlated with the labels: others are hardly
# ever chosen.
MAX_PATH_COLUMNS = 500
# So many coordinates are drawn at a time.
COORDINATES_AT_ONCE = 2_000_000
# Columns with an effect are drawn sample by sample if they have at most so many values in a table.
MAX_VALUES_WITH_EFFECT = 5_000
# Spectra are averaged over so many tables that these have this many eigenvalues together.
EIGENVALUES_TO_AVERAGE = 4000
SMALLEST_EIGENVALUE = 1e-9  # smaller ones are rounding errors
# Added to squared lengths, so that the gain of a column that was taken is not a division by zero.
SMALLEST_SQUARED_LENGTH = 1e-6


@dataclass(frozen=True)
class EffectDesign:
    """A study of independent Gaussian features, some of which differ between the classes.

    Attributes
    ----------
    n_samples, positives : P, and the size n₊ of one class.
    n_features : N.
    effect : d, the distance of the class means in standard deviations within classes.
    features_with_effect : how many features have the effect; in arrays these come first.
    """

    n_samples: int
    positives: int
    n_features: int
    effect: float
    features_with_effect: int

    @property
    def shift(self) -> float:
        """d·√(n₊n₋/P): how far the effect shifts a column along the labels."""
        negatives = self.n_samples - self.positives
        return self.effect * sqrt(self.positives * negatives / self.n_samples)

    @property
    def n_dimensions(self) -> int:
        """P − 1, the dimension of the space of centred columns."""
        return self.n_samples - 1

    def without_effect(self) -> EffectDesign:
        """The design of pure noise of the same size."""
        return replace(self, effect=0.0)


def draw_member_losses(
    design: EffectDesign,
    ridge_model: RidgeModel,
    n_draws: int,
    n_steps: int,
    rng: np.random.Generator,
) -> MemberArrays:
    """Draw the statistics of random tables, as losses: small if the features fit the labels well.

    The test combines three families of losses, called its members. A spread is a mean squared
    correlation of features with the labels. Spreads and fits of ridge regressions are large if the
    features fit well; a minus sign makes them losses. The members are

    * `path`: the unexplained share of the labels at every step of the forward stepwise path;
    * `all_features`: minus the spread over all features, and minus the fits of ridge regressions
      on all features;
    * `best_features`: minus the spreads over the features most correlated with the labels.

    All of them are computed from the correlations of the features with the labels, and from random
    numbers in place of what else depends on the table: `draw_path_losses` draws the coordinates
    that the path needs, and `RidgeModel` the directions of the table's principal axes. The ridge
    fits depend on the correlations only by their sum of squares.

    Parameters
    ----------
    design : of the tables; without an effect they are pure noise.
    ridge_model : the ridge regressions on tables of this size.
    n_draws : number of tables.
    n_steps : number of steps of the path.
    rng : random numbers; its state advances.

    Returns
    -------
    An array of shape (draws, columns) for each member.
    """
    batches = []
    for n_in_batch in _batch_sizes(n_draws, design.n_features):
        # The order of these draws matters: they share the random numbers.
        correlations = draw_correlations(design, n_in_batch, rng)  # (draws, features)
        path_losses = draw_path_losses(correlations, design.n_dimensions, n_steps, rng)
        squared_correlations = correlations**2
        sums_of_squares = squared_correlations.sum(axis=1)  # (draws,)
        ridge_fits = ridge_model.draw_fits(sums_of_squares, rng)  # (draws, ridges)

        # Column 0 is the spread over all features, the later columns are those over the best ones.
        spreads = _spreads(squared_correlations, design.n_samples)
        spread_over_all = spreads[:, :1]
        spreads_over_best = spreads[:, 1:]

        fits_of_all = np.hstack([spread_over_all, ridge_fits])
        batch = MemberArrays(
            path=path_losses,
            all_features=-fits_of_all,
            best_features=-spreads_over_best,
        )
        batches.append(batch)
    return join_labellings(batches)


def _batch_sizes(n_draws: int, n_features: int) -> Iterator[int]:
    """Sizes of batches that make `n_draws` together, each as large as memory allows."""
    largest_batch = max(1, COORDINATES_AT_ONCE // n_features)
    for start in range(0, n_draws, largest_batch):
        yield min(largest_batch, n_draws - start)


def draw_correlations(design: EffectDesign, n_draws: int, rng: np.random.Generator) -> Floats:
    """Draw the correlations of all features with the labels: (draws, features).

    There are two ways. The quick one (`_correlations_by_formula`) draws two random numbers for each
    feature, and is exact except that it does not clip outliers, as the test does. A large effect in
    a small class makes outliers. So features with an effect are drawn sample by sample instead,
    unless there are too many values.

    Parameters
    ----------
    design : of the tables; the features with an effect come first.
    n_draws : number of tables.
    rng : random numbers; its state advances.
    """
    # All features, also those that are drawn again below.
    correlations = _correlations_by_formula(design, n_draws, rng)

    n_values_with_effect = design.n_samples * design.features_with_effect
    has_few_values = n_values_with_effect <= MAX_VALUES_WITH_EFFECT
    if design.effect != 0 and has_few_values:
        for feature in range(design.features_with_effect):
            correlations[:, feature] = _correlations_of_samples(design, n_draws, rng)
    return correlations


def _correlations_by_formula(
    design: EffectDesign, n_draws: int, rng: np.random.Generator
) -> Floats:
    """Draw the correlations of Gaussian features with the labels: (draws, features).

    Before it is normalised, a centred column of P samples has P − 1 Gaussian coordinates: g along
    the labels, shifted if the feature has an effect, and P − 2 orthogonal to the labels. The sum of
    squares of these P − 2 coordinates is a χ² variable with P − 2 degrees of freedom. The
    correlation is

        g/√(g² + χ²).

    Parameters
    ----------
    design : of the tables; the features with an effect come first.
    n_draws : number of tables.
    rng : random numbers; its state advances.
    """
    shape = (n_draws, design.n_features)
    along_labels = rng.standard_normal(shape)  # g
    along_labels[:, : design.features_with_effect] += design.shift
    n_orthogonal = design.n_dimensions - 1  # P − 2
    orthogonal_squares = rng.chisquare(n_orthogonal, shape)  # χ²
    squared_lengths = along_labels**2 + orthogonal_squares
    correlations: Floats = along_labels / np.sqrt(squared_lengths)
    return correlations


def _correlations_of_samples(
    design: EffectDesign, n_draws: int, rng: np.random.Generator
) -> Floats:
    """Draw the correlation of one feature with the labels from its values in the samples: (draws,).

    The feature has the effect of the design. Its outliers are clipped, as the test does.
    """
    is_positive = np.arange(design.n_samples) < design.positives  # the first samples
    values = rng.standard_normal((design.n_samples, n_draws))
    values[is_positive] += design.effect
    columns = clip_outliers(values)  # (samples, draws): a column for each draw
    columns -= columns.mean(axis=0)

    # Pearson correlation: the scalar product of a centred column with the centred labels, divided
    # by the product of their lengths.
    centred_labels = is_positive - is_positive.mean()
    lengths = np.linalg.norm(columns, axis=0)  # (draws,)
    products_of_lengths = lengths * np.linalg.norm(centred_labels)
    correlations: Floats = centred_labels @ columns / products_of_lengths
    return correlations


def _spreads(squared_correlations: Floats, n_samples: int) -> Floats:
    """The mean squared correlation over the best features, times P − 1, for each share of them.

    The factor makes the mean over all features 1 on average in noise.

    Parameters
    ----------
    squared_correlations : (draws, features)
    n_samples : P.

    Returns
    -------
    (draws, shares) for each of `SPREAD_SHARES`: all features, the best tenth, the best hundredth.
    """
    n_features = squared_correlations.shape[1]
    # In ascending order a share of best features starts here. `partition` puts in their place the
    # entries at these starts; the larger ones come after each.
    starts = [n_features - max(1, round(share * n_features)) for share in SPREAD_SHARES]
    ranked = np.partition(squared_correlations, starts, axis=1)
    means = [ranked[:, start:].mean(axis=1) for start in starts]
    return (n_samples - 1) * np.column_stack(means)


def draw_path_losses(
    correlations: Floats, n_dimensions: int, n_steps: int, rng: np.random.Generator
) -> Floats:
    """The share of the labels' squares that forward stepwise least squares leaves: (draws, steps).

    Columns and residual are represented by coordinates in an orthonormal frame that grows. Its
    first axis is the labels. Every step takes the column of largest gain, and adds an axis along
    the part of this column outside the frame. The other columns get a random coordinate along the
    new axis.

    Parameters
    ----------
    correlations : (draws, features) of the features with the labels.
    n_dimensions : of the space of centred columns.
    n_steps : number of columns to take.
    rng : random numbers; its state advances.
    """
    state = _FramePath(_best_columns(correlations), n_dimensions, n_steps)
    losses = np.empty((len(correlations), n_steps))
    for step in range(n_steps):
        losses[:, step] = state.take_next_column(rng)
    return losses


def _best_columns(correlations: Floats) -> Floats:
    """The correlations of largest absolute value in every draw: (draws, ≤ `MAX_PATH_COLUMNS`)."""
    n_left_out = correlations.shape[1] - MAX_PATH_COLUMNS
    if n_left_out <= 0:
        return correlations
    order = np.argpartition(np.abs(correlations), n_left_out, axis=1)
    return np.take_along_axis(correlations, order[:, n_left_out:], axis=1)


class _FramePath:
    """The state of forward paths of many draws at once, in the coordinates of their frames.

    Every draw has a frame, orthonormal axes that grow in number: axis 0 is the labels, and step k
    adds axis k. All columns and the labels have length 1.

    Attributes
    ----------
    n_dimensions : of the space in which the columns lie.
    n_taken : number of columns taken so far.
    coordinates : (draws, columns, axes) of the columns along the axes of the frame; zero along
        axes that have not been added yet.
    squares_outside_frame : (draws, columns) squared lengths of the columns' parts outside the
        frame.
    residual_products : (draws, columns) C, scalar products of the columns with the residual of the
        labels.
    squares_outside_taken : (draws, columns) L, squared lengths of the columns' parts outside the
        span of the columns taken (plus a small margin).
    taken_directions : (draws, steps, axes) orthonormal basis of the span of the columns taken; zero
        for steps to come.
    loss : (draws,) squared length of the residual of the labels.
    """

    def __init__(self, correlations: Floats, n_dimensions: int, n_steps: int) -> None:
        """Start forward selection in every draw: no column is taken yet.

        A column is a feature, centred and scaled to length 1. It is known by its coordinates in a
        frame: orthonormal axes, which differ from draw to draw. Axis 0 is the labels, and each step
        of the selection will add one axis. All other directions are outside the frame.

        Parameters
        ----------
        correlations : (draws, columns) of the columns with the labels. They are the scalar products
            of vectors of length 1, and so the coordinates along axis 0.
        n_dimensions : of the space in which the columns lie.
        n_steps : number of columns that will be taken.
        """
        n_draws, n_columns = correlations.shape
        self.n_dimensions = n_dimensions
        self.n_taken = 0

        # The columns in the frame, and the squared length of the part of each outside the frame.
        n_axes = 1 + n_steps
        self.coordinates = np.zeros((n_draws, n_columns, n_axes))
        self.coordinates[:, :, 0] = correlations
        self.squares_outside_frame = 1 - correlations**2

        # The residual of the labels: all of the labels, whose length is 1. The scalar products of
        # the columns with it are the correlations.
        self.loss = np.ones(n_draws)
        self.residual_products = correlations.copy()

        # The span of the columns taken: still empty, so that all of a column, of length 1, lies
        # outside. This squared length falls to 0 when the column is taken, and later steps divide
        # by it; the margin keeps it above 0.
        squared_length = 1 + SMALLEST_SQUARED_LENGTH
        self.squares_outside_taken = np.full((n_draws, n_columns), squared_length)
        self.taken_directions = np.zeros((n_draws, n_steps, n_axes))

    def take_next_column(self, rng: np.random.Generator) -> Floats:
        """One step of forward selection in every draw: take the column of largest gain.

        The residual r is the part of the labels that the columns taken before do not explain. For
        every column z the state has

            C = r·z (`residual_products`);
            L (`squares_outside_taken`), the squared length of the part of z outside the span of the
            columns taken before, plus a small margin, which keeps L above 0.

        Taking z lowers the loss |r|² by the gain C²/L. The column taken adds a direction u, of
        length 1, to the span. With V = z·u and ρ = r·u, projecting u out of r and of every column z
        changes

            C by −ρV,   L by −V²,   the loss by −ρ².

        The state is updated in place. All vectors are coordinates in the draw's frame, a set of
        orthonormal axes; `_add_axis` adds one axis, so that the frame contains u.

        In `einsum`, d counts draws, c columns and a axes of the frame.

        Returns
        -------
        (draws,) the loss after this step.
        """
        gains = self.residual_products**2 / self.squares_outside_taken
        best_columns = gains.argmax(axis=1)  # (draws,) the column that each draw takes

        # The new direction u. This comes after `_add_axis`, which changes `coordinates`.
        self._add_axis(best_columns, rng)
        draws = np.arange(len(best_columns))
        taken_columns = self.coordinates[draws, best_columns]  # (draws, axes)
        direction = self._direction_of(taken_columns)  # u, (draws, axes)

        # ρ = r·u, from C of the column taken. This column is z = V·u + a part along the directions
        # taken before. The residual r is orthogonal to those, so that C = r·z = V·ρ. V is not 0,
        # because a column with V = 0 has C = 0, so that it has no gain and is not the best.
        products_of_taken = self.residual_products[draws, best_columns]  # C, (draws,)
        parts_of_taken = np.einsum("da,da->d", taken_columns, direction)  # V, (draws,)
        residual_parts = products_of_taken / parts_of_taken  # ρ, (draws,)

        # Project u out of the residual and all columns.
        column_parts = np.einsum("dca,da->dc", self.coordinates, direction)  # V, (draws, columns)
        self.residual_products -= residual_parts[:, None] * column_parts  # C ← C − ρV
        self.squares_outside_taken -= column_parts**2  # L ← L − V²
        self.loss = self.loss - residual_parts**2
        self.taken_directions[:, self.n_taken] = direction
        self.n_taken += 1
        return self.loss

    def _add_axis(self, best_columns: Ints, rng: np.random.Generator) -> None:
        """Add an axis to every draw's frame, so that the frame contains the draw's best column.

        A frame is a set of orthonormal axes in which columns have coordinates: axis 0 is the
        labels, and each step adds one axis. The new axis points along the part of the best column
        outside the frame. So the length of this part is the column's coordinate on the new axis.

        The coordinates of all other columns are random. The part of such a column outside the frame
        has the known squared length s, and a direction that is uniform in the dimensions outside
        the frame. A vector of independent Gaussians has a uniform direction. If its entry along the
        new axis is g, and the squares of its other entries add up to χ², the share of its length
        along the axis is g/√(g² + χ²). So the coordinate is

            √s·g/√(g² + χ²) = g·√(s/(g² + χ²)).

        `coordinates` and `squares_outside_frame` (s) are updated.

        Parameters
        ----------
        best_columns : (draws,) index of the column that each draw takes now.
        rng : random numbers; its state advances.
        """
        draws = np.arange(len(best_columns))
        n_axes = 1 + self.n_taken  # of the frame so far: the labels, and one for each step
        new_axis = n_axes  # index of the next axis, as axes are counted from 0
        n_dimensions_outside = self.n_dimensions - n_axes

        # The other columns. (Random numbers are drawn for all columns, and not used for the best.)
        squares_outside = self.squares_outside_frame  # s, (draws, columns)
        gaussians = rng.standard_normal(squares_outside.shape)  # g
        other_squares = rng.chisquare(n_dimensions_outside - 1, squares_outside.shape)  # χ²
        total_squares = gaussians**2 + other_squares
        along_axis = gaussians * np.sqrt(squares_outside / total_squares)
        # The best column.
        squares_of_best = squares_outside[draws, best_columns]
        along_axis[draws, best_columns] = np.sqrt(squares_of_best)

        self.coordinates[:, :, new_axis] = along_axis
        # Rounding may make the difference negative.
        squares_left = squares_outside - along_axis**2
        self.squares_outside_frame = np.maximum(squares_left, 0.0)

    def _direction_of(self, columns: Floats) -> Floats:
        """In every draw, the part of one column outside the directions taken, scaled to length 1.

        Parameters
        ----------
        columns : (draws, axes) coordinates of one column in every draw.

        Returns
        -------
        (draws, axes)
        """
        components = np.einsum("da,dsa->ds", columns, self.taken_directions)
        outside = columns - np.einsum("ds,dsa->da", components, self.taken_directions)
        length = np.sqrt(np.einsum("da,da->d", outside, outside))
        direction: Floats = outside / length[:, None]
        return direction


@dataclass(frozen=True, eq=False)
class RidgeModel:
    """A model from which the fits of ridge regressions on random tables are drawn.

    Let Z be a table of N normalised columns in coordinates whose first axis is the labels. Its
    first row is c, the correlations of the columns with the labels; Z′ is the other rows. By
    inverting ZZᵀ + λ in blocks, the share of the labels that a ridge regression with penalty λ fits
    is

        s/(λ + s),   s = |c|²(1 − h),   h = cᵀH′c/|c|²,   H′ = Z′ᵀ(Z′Z′ᵀ + λ)⁻¹Z′.

    The principal axes of Z′ have random directions, independent of c. So h is a weighted mean of
    the eigenvalues of H′. The weights are the squared coordinates of a random unit vector in N
    dimensions, whatever c is.

    Attributes
    ----------
    ridges : (ridges,) the penalties λ.
    shrinkages : (axes, ridges) the eigenvalues of H′ that are not zero.
    n_parameters : (ridges,) tr H of the whole table, the effective number of free parameters.
    n_features : N.
    n_dimensions : P − 1 for P samples.
    """

    ridges: Floats
    shrinkages: Floats
    n_parameters: Floats
    n_features: int
    n_dimensions: int

    def draw_fits(self, squared_length: Floats, rng: np.random.Generator) -> Floats:
        """Draw how much of the labels each ridge regression fits, relative to chance.

        A ridge regression with penalty λ fits the share

            s/(λ + s),   s = |c|²(1 − h),

        of the labels' squares; the docstring of the class says where this follows from. Here
        |c|² is the sum of the squared correlations of the features with the labels, and h a mean of
        N eigenvalues (as many as features) with random weights: the squares of N independent
        Gaussians, divided by their sum. Of these eigenvalues, `shrinkages` has those that are not
        0, for each λ.

        By chance, each of the regression's free parameters fits the share 1/(P − 1) for P samples.

        Parameters
        ----------
        squared_length : (draws,) |c|².
        rng : random numbers; its state advances.

        Returns
        -------
        (draws, ridges) the share, divided by the share that is expected by chance.
        """
        # The squares of N Gaussians. Those of eigenvalues that are 0 count only in the sum of all:
        # draw their sum at once, which is a χ² variable.
        n_draws = len(squared_length)
        n_nonzero = len(self.shrinkages)  # eigenvalues that are not 0
        n_zero = self.n_features - n_nonzero
        squares = rng.standard_normal((n_draws, n_nonzero)) ** 2
        sum_for_zeros = np.zeros(n_draws)
        if n_zero > 0:
            sum_for_zeros = rng.chisquare(n_zero, n_draws)
        sum_of_squares = squares.sum(axis=1) + sum_for_zeros

        # The weighted mean of the eigenvalues, and from it the share of the labels that is fitted.
        h = (squares @ self.shrinkages) / sum_of_squares[:, None]  # (draws, ridges)
        s = squared_length[:, None] * (1 - h)
        fitted_share = s / (self.ridges + s)  # `ridges` are the penalties λ

        # Divided by the share by chance: n_parameters/n_dimensions, with n_dimensions = P − 1.
        relative_to_chance: Floats = self.n_dimensions * fitted_share / self.n_parameters
        return relative_to_chance


def make_ridge_model(n_dimensions: int, n_features: int, rng: np.random.Generator) -> RidgeModel:
    """The model from which the fits of ridge regressions on random tables Z are drawn.

    Z has N columns of length 1 in P − 1 dimensions: columns of P samples that are centred. A ridge
    regression with penalty λ shrinks the labels' part along an axis with the eigenvalue d of ZZᵀ by
    the factor d/(d + λ). The sum of these factors over all axes is the effective number of free
    parameters.

    `RidgeModel` needs two sets of such factors. Those of Z give the numbers of parameters. Those of
    Z′, which is Z without its row along the labels and so has P − 2 dimensions, are the eigenvalues
    that `RidgeModel.draw_fits` averages.

    For a table that is too large the test makes no ridge regressions, and the model has none.

    Parameters
    ----------
    n_dimensions : P − 1, the dimensions of centred columns of P samples; the labels are one axis.
    n_features : N.
    rng : random numbers; its state advances.
    """
    n_samples = n_dimensions + 1
    if min(n_samples, n_features) > MAX_AXES:
        return _no_ridges(n_dimensions, n_features)

    # The eigenvalues of ZZᵀ and Z′Z′ᵀ. `mean_spectrum` is for entries of variance 1; those of a
    # column of length 1 have the variance 1/(P − 1).
    variance = 1 / n_dimensions
    eigenvalues = variance * mean_spectrum(n_dimensions, n_features, rng)
    eigenvalues_without_labels = variance * mean_spectrum(n_dimensions - 1, n_features, rng)

    # The penalties, as in the test: each leaves the regression a given share of the free parameters
    # of least squares.
    ridges = np.array([ridge_of_share(eigenvalues, share) for share in RIDGE_SHARES])
    shrinkages = _shrinkages(eigenvalues, ridges)  # (axes, ridges)
    return RidgeModel(
        ridges=ridges,
        shrinkages=_shrinkages(eigenvalues_without_labels, ridges),
        n_parameters=shrinkages.sum(axis=0),
        n_features=n_features,
        n_dimensions=n_dimensions,
    )


def _no_ridges(n_dimensions: int, n_features: int) -> RidgeModel:
    """A model without any ridge regression."""
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
    """The mean of `random_spectrum`, ascending, over enough tables to make its noise small."""
    n_eigenvalues = min(n_rows, n_columns)
    n_tables = ceil(EIGENVALUES_TO_AVERAGE / n_eigenvalues)
    spectra = [random_spectrum(n_rows, n_columns, rng) for _ in range(n_tables)]
    mean: Floats = np.mean(spectra, axis=0)
    # Their expected sum is known: that of all squared entries, each 1 on average.
    return mean * (n_rows * n_columns / mean.sum())


def random_spectrum(n_rows: int, n_columns: int, rng: np.random.Generator) -> Floats:
    """Draw the nonzero eigenvalues of ZZᵀ, where Z has n_rows × n_columns standard Gaussians.

    They have the same distribution as the eigenvalues of BBᵀ with a bidiagonal matrix B of
    independent entries (Dumitriu and Edelman 2002). Let m = min(n_rows, n_columns) and n the larger
    side. The entries of B are square roots of χ² variables with

        n, n − 1, …, n − m + 1 degrees of freedom on the diagonal, and
        m − 1, m − 2, …, 1 degrees of freedom below the diagonal.

    Returns
    -------
    (m,) ascending.
    """
    m = min(n_rows, n_columns)
    n = max(n_rows, n_columns)
    freedom_on_diagonal = n - np.arange(m)
    freedom_below_diagonal = m - 1 - np.arange(m - 1)
    diagonal = np.sqrt(rng.chisquare(freedom_on_diagonal))
    below_diagonal = np.sqrt(rng.chisquare(freedom_below_diagonal))

    # BBᵀ is tridiagonal.
    diagonal_of_product = diagonal**2
    diagonal_of_product[1:] += below_diagonal**2
    off_diagonal_of_product = diagonal[:-1] * below_diagonal
    eigenvalues: Floats = eigh_tridiagonal(
        diagonal_of_product, off_diagonal_of_product, eigvals_only=True, check_finite=False
    )
    return np.maximum(eigenvalues, SMALLEST_EIGENVALUE)
