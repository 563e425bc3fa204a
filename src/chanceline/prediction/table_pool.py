"""Samples with the columns of a very wide table that training looks at: a pool in memory.

A rule is made from the columns with the largest screening scores of its training samples
(`screening`). In cross-validation every fold has training samples of its own. The pool holds the
columns of all folds, from one pass over the table; each fold then screens the pool by its own
training samples, and finds there what it would have found in the table. So nothing of the samples
held out has a part in the choice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from chanceline._arrays import Bools, Floats, Ints
from chanceline.columns.precision import single_if_exact
from chanceline.columns.table import ColumnTable, Tile
from chanceline.perceptron.validation import check_labels
from chanceline.prediction.covariates import CovariateEncoder
from chanceline.prediction.samples import Samples, make_samples, samples_from_checked_values
from chanceline.prediction.screening import ScreeningLimits, label_residuals
from chanceline.prediction.train import FeatureChoice, TrainedRules, check_numbers_of_features

# A column of which the spread is less than this share of its size is constant but for rounding.
SMALLEST_SPREAD_SHARE = 1e-6

TrainingSets = Callable[[Samples], Sequence[Bools]]


class PooledSamples(NamedTuple):
    """Samples, and which columns of the table they have.

    Attributes
    ----------
    samples : with the pool's columns.
    n_features : number of columns of the table.
    pool : (pooled columns,) their numbers in the table, rising; None if they are all.
    screening : when a training set leaves out columns of the pool.
    """

    samples: Samples
    n_features: int
    pool: Ints | None = None
    screening: ScreeningLimits = ScreeningLimits()

    def choice_in_pool(self, choice: FeatureChoice) -> FeatureChoice:
        """A choice of features of the table as one of columns of the pool."""
        if self.pool is None:
            return choice
        choice = replace(choice, screening=self.screening)
        if choice.named is None:
            return choice
        return replace(choice, named=np.searchsorted(self.pool, choice.named))

    def rules_of_table(self, rules: TrainedRules) -> TrainedRules:
        """Rules on columns of the pool as rules on columns of the table."""
        if self.pool is None:
            return rules
        return rules.in_columns(self.pool)


def all_samples_alone(samples: Samples) -> list[Bools]:
    """One training set: all samples."""
    return [samples.all_rows]


def pool_samples(  # noqa: PLR0913
    X: ArrayLike | ColumnTable,
    y: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    blocks: ArrayLike | None = None,
    covariates: Any = None,
    encoder: CovariateEncoder | None = None,
    features: Sequence[int] | None = None,
    required: Ints | None = None,
    deal_training_sets: TrainingSets = all_samples_alone,
    n_threads: int = 1,
) -> PooledSamples:
    """Check the samples; of a very wide table take only a pool of columns into memory.

    A `ColumnTable` is read in tiles of columns, because it may be too large for memory. The pool
    holds every column that training on one of the training sets may look at.

    Parameters
    ----------
    X, y, groups, blocks, covariates, encoder : as in `make_samples`; X may be a `ColumnTable`, of
        numbers that were checked when it was read.
    features : columns that are named beforehand: they are the pool.
    required : columns that belong to the pool whatever their scores.
    deal_training_sets : function of the samples (their labels and design, without columns) that
        returns the training sets, as a list of masks, (samples,) each. By default all samples are
        one training set.
    n_threads : tiles that are worked on at the same time.
    """
    # An array is in memory already: no pool is needed.
    design = {"groups": groups, "blocks": blocks, "covariates": covariates, "encoder": encoder}
    if not isinstance(X, ColumnTable):
        samples = make_samples(X, y, **design)
        return PooledSamples(samples, n_features=samples.n_features)

    # Labels and design, without columns: these suffice to deal the samples to training sets.
    n_samples, n_features = X.shape
    labels = check_labels(y, X.shape, min_classes=2)
    no_columns = np.zeros((n_samples, 0))
    without_columns = samples_from_checked_values(no_columns, labels, **design)

    # Training looks at the `n_screened` columns with the largest scores in its training set. If
    # there are several training sets, the pool holds the best columns of all of them, and so more
    # than `n_screened`. Therefore training is told to screen every pool that is larger.
    n_screened = ScreeningLimits().n_screened
    limits = ScreeningLimits(max_unscreened=n_screened, n_screened=n_screened)

    # The pool: the columns named; or all columns if they are no more than one training set looks
    # at; or else the best columns of each training set. (Columns are numbers in the table.)
    if features is not None:
        pool = check_numbers_of_features(features, n_features)
    elif n_features <= n_screened:
        pool = np.arange(n_features)
    else:
        training_sets = deal_training_sets(without_columns)
        pool = best_of_training_sets(X, without_columns, training_sets, n_screened, n_threads)
    if required is not None:
        pool = np.union1d(pool, required)

    # Read the columns of the pool.
    values = values_in_memory(X, pool, limits)
    return PooledSamples(
        samples=replace(without_columns, X=values),
        n_features=n_features,
        pool=pool,
        screening=limits,
    )


def values_in_memory(table: ColumnTable, pool: Ints, limits: ScreeningLimits) -> Floats:
    """The columns of the pool: (samples, pool).

    In double precision where all of them may be trained on; a pool of which a part is taken each
    time has single precision if that holds its numbers exactly.
    """
    values = table.take(pool)
    if len(pool) > limits.max_unscreened:
        return np.ascontiguousarray(single_if_exact(values))
    return np.ascontiguousarray(values, dtype=float)


def best_of_training_sets(
    table: ColumnTable,
    samples: Samples,
    training_sets: Sequence[Bools],
    n_best: int,
    n_threads: int,
) -> Ints:
    """The columns that are among the `n_best` of at least one training set, ascending.

    Columns are compared by their screening scores: how strongly they go with the labels.

    Parameters
    ----------
    table : all columns.
    samples : labels and design, without columns.
    training_sets : which samples belong to each training set, (samples,) each.
    n_best : how many columns to take from every training set.
    n_threads : tiles (of columns) that are worked on at the same time.
    """
    # The residuals of the labels in each training set; 0 for samples outside of it.
    is_training = np.array(training_sets, dtype=float)  # (sets, samples)
    targets = np.zeros(is_training.shape)
    for set_number, training in enumerate(training_sets):
        targets[set_number, training] = label_residuals(samples, training)

    # The scores of all columns, tile by tile, in one pass over the table.
    scores_of_tiles = table.map_tiles(
        scores_of_sets, common=(is_training, targets), n_threads=n_threads
    )
    scores = np.hstack(list(scores_of_tiles))  # (sets, columns)

    # The best columns of each set; a column that is among the best of several sets counts once.
    best_columns_of_sets = []
    for scores_of_set in scores:
        best_first = np.argsort(-scores_of_set, kind="stable")
        best_columns_of_sets.append(best_first[:n_best])
    return np.unique(np.concatenate(best_columns_of_sets))


def scores_of_sets(tile: Tile, _argument: None, is_training: Floats, targets: Floats) -> Floats:
    """Screening scores |Σ_i t_i x_ij|/SD(x_j) of the columns x_j of a tile in every training set.

    Parameters
    ----------
    tile : some columns of the table, (samples, columns).
    _argument : not used; `ColumnTable.map_tiles` gives every function one.
    is_training : (sets, samples) 1 for the samples of a training set, 0 for the others.
    targets : (sets, samples) t, whose sum is 0 in each training set; 0 for other samples.

    Returns
    -------
    scores : (sets, columns) in single precision
    """
    # Subtract the first sample: if a column has a large mean, the differences are small numbers
    # that lose fewer digits. As the t_i add up to 0, this changes no score.
    values = tile.numbers
    values = values - values[0]

    # Means and variances of the columns in every training set, (sets, columns).
    shares = is_training / is_training.sum(axis=1, keepdims=True)  # (sets, samples)
    means = shares @ values
    mean_squares = shares @ values**2
    variances = np.maximum(mean_squares - means**2, 0.0)  # rounding may make them negative

    # A column that is constant in a training set has a spread and a product that are rounding. The
    # floor of the spread keeps the score of such a column small.
    least_spreads = np.maximum(SMALLEST_SPREAD_SHARE * np.sqrt(mean_squares), np.finfo(float).tiny)
    spreads = np.maximum(np.sqrt(variances), least_spreads)
    products = np.abs(targets @ values)  # |Σ_i t_i x_ij|
    scores: Floats = (products / spreads).astype("float32")
    return scores
