"""How stable the choice of a rule's features is.

For every feature: how often halves of the samples select it too, how far the classes differ in it,
and which other columns could stand in its place; and other sets that make no more errors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chanceline._arrays import Floats, Ints
from chanceline._parallel import one_thread
from chanceline._results import Result
from chanceline.columns.table import ColumnTable
from chanceline.prediction.best_column import best_single_column
from chanceline.prediction.candidates import PATHS, Family
from chanceline.prediction.choose import UNTUNED_PENALTY
from chanceline.prediction.covariates import CovariateEncoder
from chanceline.prediction.folds import Stream
from chanceline.prediction.metrics import area_under_curve, standardized_difference
from chanceline.prediction.paths import least_angle_path
from chanceline.prediction.ranking import samples_for_ranking
from chanceline.prediction.samples import Samples
from chanceline.prediction.scaling import fit_scale, residualize
from chanceline.prediction.screening import ScreeningLimits, screen_columns
from chanceline.prediction.surrogates import TrainingFit
from chanceline.prediction.table_pool import pool_samples

# How halves of the samples select features, by the family of the set.
HALF_PATHS = {**PATHS, Family.SINGLE: best_single_column}
# How often the samples are split into two halves.
N_SPLITS = 25
# Errors that a surrogate may make beyond those of the feature it replaces.
SURROGATE_ERRORS = 1
# Features of a dense rule that are looked at, those with the largest weights.
N_LARGEST_WEIGHTS = 10


@dataclass(frozen=True)
class FeatureReading:
    """One feature of a set.

    Attributes
    ----------
    feature : its column.
    selected : share of the halves of the samples (drawn at random, groups kept whole) in which the
        path's set of the same size has it.
    difference : of the class means, positive less negative, in standard deviations within the
        classes.
    auc : area under the curve of the column alone; below one half if it is smaller in the positive
        class.
    surrogates : columns that replace it with at most one error more, fewest errors first.
    """

    feature: int
    selected: float
    difference: float
    auc: float
    surrogates: tuple[int, ...]


@dataclass(frozen=True, eq=False, repr=False)
class SelectionStability(Result):
    """All features of a set.

    Attributes
    ----------
    errors : of the set, on the samples themselves, by the fit of the rule with this ridge.
    readings : one for each feature, in the order of their columns.
    alternatives : sets of the same size with no more errors, by exchange of one feature for one of
        the thirty that promise most; there may be more.
    """

    errors: int
    readings: tuple[FeatureReading, ...]
    alternatives: tuple[tuple[int, ...], ...]

    kind = "resampling"

    def in_columns(self, columns: Ints) -> SelectionStability:
        """The same result with other numbers for its features: feature j becomes columns[j].

        `columns`, (pooled columns,), are the columns of the table that are in the pool.
        """

        def numbers_in_table(features: tuple[int, ...]) -> tuple[int, ...]:
            """The numbers in the table of features numbered within the pool."""
            return tuple(columns[list(features)].tolist())

        readings = []
        for reading in self.readings:
            feature = int(columns[reading.feature])
            surrogates = numbers_in_table(reading.surrogates)
            readings.append(replace(reading, feature=feature, surrogates=surrogates))
        alternatives = [numbers_in_table(features) for features in self.alternatives]
        return replace(self, readings=tuple(readings), alternatives=tuple(alternatives))

    def summary(self) -> str:
        others = f"{len(self.alternatives)} other sets that make no more"
        return f"{len(self.readings)} features, {self.errors} errors, {others}"


@one_thread()
def selection_stability(  # noqa: PLR0913
    X: ArrayLike | ColumnTable,
    y: ArrayLike,
    support: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    blocks: ArrayLike | None = None,
    covariates: Any = None,
    encoder: CovariateEncoder | None = None,
    penalty: float = UNTUNED_PENALTY,
    family: Family = Family.LEAST_ANGLE,
    prepare: Callable[[Floats], Floats] | None = None,
    seed: int = 0,
) -> SelectionStability:
    """How often halves of the samples select each feature of a set, and what could replace it.

    Parameters
    ----------
    X, y, groups, blocks, covariates, encoder, seed : as in `fit_rule`; X may be a `ColumnTable`,
        too.
    support : columns of the set
    penalty, family : those of the rule; for a dense rule, whose ridge has other units, the penalty
        is that of rules that are not tuned.
    prepare : a function applied to the columns (samples, columns) first, such as one that clips
        outliers; by default columns stay as they are.
    """
    # Of a very wide table only a pool of columns is in memory, here with the columns of the set.
    support_in_table = np.sort(np.asarray(support, dtype=np.int64))
    pooled = pool_samples(
        X,
        y,
        groups=groups,
        blocks=blocks,
        covariates=covariates,
        encoder=encoder,
        required=support_in_table,
    )
    if prepare is not None:
        prepared = replace(pooled.samples, X=prepare(pooled.samples.X))
        pooled = pooled._replace(samples=prepared)
    if family is Family.DENSE:
        penalty = UNTUNED_PENALTY

    # Without a pool the samples have all columns of the table, by the same numbers.
    if pooled.pool is None:
        return stability_of_support(
            pooled.samples, support_in_table, penalty=penalty, family=family, seed=seed
        )

    # With a pool, number the features by their places in it, and in the result as in the table
    # again. (`pooled.pool` lists the numbers in the table, ascending.)
    support_in_pool = np.searchsorted(pooled.pool, support_in_table)
    stability_in_pool = stability_of_support(
        pooled.samples,
        support_in_pool,
        penalty=penalty,
        family=family,
        seed=seed,
    )
    return stability_in_pool.in_columns(pooled.pool)


def stability_of_support(  # noqa: PLR0913
    samples: Samples,
    support: Ints,
    *,
    penalty: float,
    family: Family,
    seed: int,
    screening: ScreeningLimits | None = None,
) -> SelectionStability:
    """How often halves of the samples select each feature of a set, and what could replace it.

    The samples are checked already. A *replacement* is a column tried in the place of a feature. It
    is a *surrogate* if the set then makes at most one error more; with no error more, the set with
    it is an *alternative*.

    Parameters
    ----------
    samples : all of them
    support : columns of the set, ascending, (support,)
    penalty : the ridge of logistic regression on the set
    family : where the rule's features come from; halves of the samples select theirs on its path
    seed : seed of the splits into halves
    screening : when columns of a very wide table are left out beforehand
    """
    # Of very many columns screening leaves those that go best with the labels, and the set. So
    # columns have two numbers: one in `samples`, and one among the screened columns. The array
    # `number_in_samples` converts: screened column k is column number_in_samples[k] (ascending).
    screened_samples, number_in_samples = screen_columns(
        samples, samples.all_rows, support, screening
    )
    screened_support = np.searchsorted(number_in_samples, support)

    # A fit with the set, and its errors on all samples.
    scale = fit_scale(screened_samples, screened_samples.all_rows)
    scaled_columns = scale.transform(screened_samples.X, screened_samples.block_of_sample)
    fit = TrainingFit(samples=screened_samples, columns=scaled_columns, penalty=penalty)
    one_support = screened_support[None]  # (supports, columns): a single support
    errors = int(fit.training_errors(one_support)[0])

    # How often halves of the samples select each of the screened columns, (screened columns,).
    ranked_samples = samples_for_ranking(screened_samples, scale)
    selected_shares = selection_shares(ranked_samples, len(support), family, seed)

    # Describe each feature of the set, and list the sets in which a replacement stands for it.
    readings = []
    alternatives: list[tuple[int, ...]] = []
    for screened_feature, feature in zip(screened_support, support.tolist(), strict=True):
        screened_replacements, replacement_errors = fit.replacements(
            screened_support, screened_feature
        )
        replacements = number_in_samples[screened_replacements]
        surrogates = replacements[replacement_errors <= errors + SURROGATE_ERRORS]
        without_more_errors = replacements[replacement_errors <= errors]
        alternatives += exchanged_sets(support, feature, without_more_errors)

        values = scaled_columns[:, screened_feature]  # (samples,)
        reading = FeatureReading(
            feature=feature,
            selected=float(selected_shares[screened_feature]),
            difference=standardized_difference(values, screened_samples.positive),
            auc=area_under_curve(values, screened_samples.positive),
            surrogates=tuple(surrogates.tolist()),
        )
        readings.append(reading)

    # The same set may come from exchanging either of two features.
    distinct_alternatives = tuple(dict.fromkeys(alternatives))
    return SelectionStability(
        errors=errors, readings=tuple(readings), alternatives=distinct_alternatives
    )


def exchanged_sets(support: Ints, column: int, replacements: Ints) -> list[tuple[int, ...]]:
    """The set with each of the replacements in the place of one of its columns, ascending."""
    remaining = support[support != column]
    return [tuple(np.sort(np.append(remaining, other)).tolist()) for other in replacements]


def selection_shares(samples: Samples, n_features: int, family: Family, seed: int) -> Floats:
    """For every column the share of halves of the samples that select it, (features,).

    The samples are split into two halves `N_SPLITS` times. A path adds features one by one; a half
    selects the first `n_features` columns of the path.

    Parameters
    ----------
    samples : all of them
    n_features : how many columns every half selects
    family : which path to follow; for families without a path, that of least angle regression
    seed : seed of the splits
    """
    follow_path = HALF_PATHS.get(family, least_angle_path)
    times_selected = np.zeros(samples.n_features)
    n_halves = 0
    for split in range(N_SPLITS):
        half_of_sample = samples.assign_folds(2, [seed, Stream.HALVES, split])
        # Usually the halves 0 and 1; if all samples belong together, there is only one.
        for half in np.unique(half_of_sample):
            in_half = half_of_sample == half
            scale = fit_scale(samples, training=in_half)
            residualized = residualize(samples.take(in_half), scale)
            path = follow_path(residualized.columns, residualized.target, n_features)
            # The last set of the path is the longest one; it has fewer columns than asked if the
            # path ends early.
            selected_columns = path[-1]
            times_selected[selected_columns] += 1
            n_halves += 1
    return times_selected / n_halves
