"""Which candidate to take: no feature, a small set, or a dense rule on many features.

Candidates are compared by the Brier score of samples that had no part in the fit, in five folds
within the samples at hand. The folds are dealt several times and losses averaged, so that the
choice depends little on the luck of one deal. Differences are measured in standard errors of the
*difference*, sample by sample, and of units (groups, say) where samples belong together. In this
order:

1. No feature, if that lies within one standard error of the best candidate.
2. Many features, if the best dense rule is better than the small set of step 3, and better than the
   *typical* small set by more than three quarters of a standard error. The typical one is a
   weighted mean over sizes: with the best set alone the choice would hang on which size happens to
   win. The rule is the mean of the dense rules that are nearly as good as the best, and of the one
   on all features.
3. Else few. Sizes are weighted by how near they come to the best, and the lower quartile of the
   weighted sizes is taken: a small set, but no smaller one that did well by accident.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from chanceline._arrays import Bools, Floats, Ints
from chanceline.prediction.candidates import (
    MAX_SMALL_FEATURES,
    DenseCandidate,
    Family,
    RuleCandidate,
    ScoredCandidates,
)
from chanceline.prediction.dense import score_dense_rules
from chanceline.prediction.folds import N_INNER_FOLDS, Seed, Stream
from chanceline.prediction.inner_folds import InnerFolds
from chanceline.prediction.losses import LossTable, mean_loss_table
from chanceline.prediction.samples import Samples
from chanceline.prediction.small import score_named_set, score_small_sets

# The ridge where there are too few samples to tune it.
UNTUNED_PENALTY = 3.0
# So many samples are enough to choose a candidate.
MAX_TUNING_SAMPLES = 2000

# The constants below were chosen on thirteen published tables (sizes over seeds and over subsamples
# of 90 %) and ten simulated designs (errors on new samples); `benchmarks/rules.py` and
# `benchmarks/expected.py` check them on others.

# No feature is taken if the best candidate is not better by more standard errors than this.
EMPTY_MODEL_SE = 1.0
# Many features are taken if they are better by more standard errors than the typical small set.
MANY_FEATURES_SE = 0.75
# How far from the best a size may be, in standard errors, to count for the typical loss of small
# sets, and for the number of features that is taken.
TYPICAL_LOSS_WIDTH = 2.0
TYPICAL_SIZE_WIDTH = 0.5
# The quantile of the weighted sizes that is taken.
SIZE_QUANTILE = 0.25
# Dense rules that lose no more standard errors than this against the best of them are averaged: the
# mean of many is better than the best of them.
AVERAGED_SE = 2.0


class Extent(Enum):
    """How many features a rule has."""

    NONE = "none"
    FEW = "few"
    MANY = "many"


@dataclass(frozen=True, eq=False)
class Choice:
    """The candidates to take for each extent, and the extent to take.

    Attributes
    ----------
    extent : the one to take.
    none : the candidate without features.
    few : the small set; None if no path has one.
    many : the dense rules to be averaged, of ascending size; none if they were no candidates.
    """

    extent: Extent
    none: RuleCandidate
    few: RuleCandidate | None = None
    many: tuple[DenseCandidate, ...] = ()


def choose_candidates(
    samples: Samples,
    max_features: int | None,
    seed: Seed,
    *,
    n_repeats: int = 1,
    max_samples: int = MAX_TUNING_SAMPLES,
) -> Choice:
    """Choose how to make a rule: on no, few or many features, by repeated cross-validation.

    Every candidate (a way to select features, their number, and a ridge on their weights) predicts
    samples that it was not fitted to. The choice compares the losses of these predictions.

    Parameters
    ----------
    samples : the training samples
    max_features : largest number of features. If None, small sets have at most thirty, and rules on
        many features (dense rules) are candidates too.
    seed : seed of the folds
    n_repeats : how often the samples are dealt to folds
    max_samples : if there are more samples, about this many are drawn from them
    """
    tuning_samples = samples.subsample(max_samples, [*seed, Stream.TUNING_SUBSAMPLE])

    # The candidates and their predictions, for each deal of the samples to folds.
    scored_repeats = []
    for repeat in range(n_repeats):
        folds = deal_inner_folds(tuning_samples, [*seed, Stream.INNER_FOLDS, repeat])
        if folds.n_folds == 1:
            # All samples belong together, so none can be held out: without losses to compare, the
            # rule has no features.
            no_features = RuleCandidate(Family.LEAST_ANGLE, n_features=0, penalty=UNTUNED_PENALTY)
            return Choice(extent=Extent.NONE, none=no_features)
        scored_repeats.append(score_candidates(folds, max_features))
    table = mean_loss_table(scored_repeats, tuning_samples.positive, tuning_samples.unit_of_sample)
    return choose_from(table)


def score_candidates(folds: InnerFolds, max_features: int | None) -> ScoredCandidates:
    """Small sets, and unless the number of features is limited dense rules too, scored."""
    if max_features is not None:
        return score_small_sets(folds, max_features)
    small = score_small_sets(folds, MAX_SMALL_FEATURES)
    dense = score_dense_rules(folds)
    return ScoredCandidates(
        candidates=small.candidates + dense.candidates,
        probabilities=np.vstack([small.probabilities, dense.probabilities]),
    )


def choose_from(table: LossTable) -> Choice:
    """Choose between no features, a small set, and a dense rule on many features, by their losses.

    The extent of a rule says whether it has no, few or many features. Within each extent the
    candidate is chosen first. Then the extent is chosen:

    - none, unless the best of all candidates is better than the best one without features, by more
      than one standard error of the difference (`EMPTY_MODEL_SE`);
    - else many, if rules on many features are clearly better (`needs_many_features`);
    - else few.

    The `Choice` holds this extent and the candidates chosen within each of the three. For many
    features these are several rules, of which the mean is taken.
    """
    # Of which extent each candidate is, (candidates,).
    is_dense = table.is_of(Family.DENSE)
    is_empty = ~is_dense & (table.n_features == 0)
    is_small = ~is_dense & (table.n_features > 0)

    # The candidates within each extent; candidates are named by their rows in the table.
    empty_row = table.best_among(is_empty)
    if not is_small.any():
        return Choice(extent=Extent.NONE, none=table.candidates[empty_row])
    small_set_row = typical_small_set(table, is_small)
    dense_candidates = averaged_dense_rules(table, is_dense)  # () if there are no dense rules

    # Whether any features, and whether many features, are worth having.
    best_row = int(table.mean_losses.argmin())
    excess_of_empty = table.difference(empty_row, best_row)  # how much more it loses than the best
    features_help = excess_of_empty.exceeds(EMPTY_MODEL_SE)
    extent = Extent.FEW
    if not features_help:
        extent = Extent.NONE
    elif dense_candidates:
        many_are_needed = needs_many_features(
            table, is_small=is_small, is_dense=is_dense, small_set=small_set_row
        )
        if many_are_needed:
            extent = Extent.MANY
    return Choice(
        extent=extent,
        none=table.candidates[empty_row],
        few=table.candidates[small_set_row],
        many=dense_candidates,
    )


def typical_small_set(table: LossTable, is_small: Bools) -> int:
    """The row of the small set to take, if a small set is taken.

    Its size is a quantile of the sizes, weighted by how near the best set of each size comes to the
    best of all; the set is the best one of that size.
    """
    best_of_sizes = table.best_of_each_size(is_small)
    weights = table.closeness_to_best(best_of_sizes, TYPICAL_SIZE_WIDTH)
    share_up_to_size = np.cumsum(weights) / weights.sum()
    # The first size with which the share is reached.
    position = int(np.searchsorted(share_up_to_size, SIZE_QUANTILE))
    return int(best_of_sizes[position])


def needs_many_features(table: LossTable, is_small: Bools, is_dense: Bools, small_set: int) -> bool:
    """Whether a rule on many features is needed, because small sets predict worse.

    The best dense rule must lose less than the small set to take, and clearly less than a typical
    small set: a weighted mean over sizes. The typical set is of one path only, least angle
    regression, because the more sets there are, the sooner one does well by chance.

    Parameters
    ----------
    table : losses of all candidates
    is_small, is_dense : which candidates are small sets and dense rules, (candidates,)
    small_set : row of the small set to take, if a small set is taken
    """
    best_dense = table.best_among(is_dense)
    if table.mean_losses[small_set] <= table.mean_losses[best_dense]:
        return False
    on_path = is_small & table.is_of(Family.LEAST_ANGLE)
    typical_losses = losses_of_typical_set(table, table.best_of_each_size(on_path))
    return table.difference_of(typical_losses, table.losses[best_dense]).exceeds(MANY_FEATURES_SE)


def losses_of_typical_set(table: LossTable, best_of_sizes: Ints) -> Floats:
    """Losses averaged over sizes, (samples,); sizes that do better have more weight."""
    weights = table.closeness_to_best(best_of_sizes, TYPICAL_LOSS_WIDTH)
    return weights @ table.losses[best_of_sizes] / weights.sum()


def averaged_dense_rules(table: LossTable, is_dense: Bools) -> tuple[DenseCandidate, ...]:
    """The dense rules to average: those nearly as good as the best, and the one on most features.

    They are in ascending order of size. The rule on most features is always included, so that the
    number of features of the mean does not depend on which rules happen to be near the best.
    """
    if not is_dense.any():
        return ()
    best = table.best_among(is_dense)
    competing = table.competing_with(best, is_dense, AVERAGED_SE)
    on_most_features = table.best_of_each_size(is_dense)[-1]
    taken = np.union1d(competing, [on_most_features])
    candidates = [table.candidates[index] for index in taken]
    return tuple(candidate for candidate in candidates if isinstance(candidate, DenseCandidate))


def choose_penalty(
    samples: Samples,
    support: Ints,
    seed: Seed,
    *,
    n_repeats: int = 1,
    max_samples: int = MAX_TUNING_SAMPLES,
) -> RuleCandidate:
    """Choose the ridge penalty for features named beforehand, by repeated cross-validation.

    The penalty with the smallest mean loss is taken; it is returned as a candidate, which says how
    a rule is made.

    Parameters
    ----------
    samples : the training samples
    support : columns of these features, (support,)
    seed : seed of the folds
    n_repeats : how often the samples are dealt to folds
    max_samples : if there are more samples, about this many are drawn from them
    """
    tuning_samples = samples.subsample(max_samples, [*seed, Stream.TUNING_SUBSAMPLE])

    # A candidate for each penalty and its predictions, for each deal of the samples to folds.
    scored_repeats = []
    for repeat in range(n_repeats):
        folds = deal_inner_folds(tuning_samples, [*seed, Stream.INNER_FOLDS, repeat])
        if folds.n_folds == 1:
            # All samples belong together, so none can be held out. The number of features counts
            # selected ones only, of which a rule on named features has none.
            return RuleCandidate(Family.NAMED, n_features=0, penalty=UNTUNED_PENALTY)
        scored_repeats.append(score_named_set(folds, support))

    table = mean_loss_table(scored_repeats, tuning_samples.positive, tuning_samples.unit_of_sample)
    best = int(table.mean_losses.argmin())
    return table.candidates[best]


def deal_inner_folds(samples: Samples, seed: Seed) -> InnerFolds:
    """Samples dealt to the inner folds."""
    return InnerFolds(samples, samples.assign_folds(N_INNER_FOLDS, seed))
