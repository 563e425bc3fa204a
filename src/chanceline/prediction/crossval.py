"""What to expect of a rule on new samples: cross-validated with everything inside.

Two questions are kept apart. Does the rule know anything? The area under the curve answers,
whatever the class sizes. Is it worth using? Its error tells, against that of always naming the
larger class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from chanceline._arrays import Bools, Floats
from chanceline._parallel import number_of_threads
from chanceline._results import Result
from chanceline.columns.table import ColumnTable
from chanceline.prediction.against_majority import MajorityComparison, compare_with_majority
from chanceline.prediction.area import cross_validated_area_interval
from chanceline.prediction.covariates import CovariateEncoder
from chanceline.prediction.held_out import (
    HeldOutScores,
    deal_outer_folds,
    outer_folds,
    score_held_out_samples,
)
from chanceline.prediction.interval import cross_validated_interval, independent_samples
from chanceline.prediction.losses import LossDifference, paired_difference
from chanceline.prediction.metrics import area_within_folds, error_indicators
from chanceline.prediction.ridge_logistic import sigmoid
from chanceline.prediction.samples import Samples
from chanceline.prediction.table_pool import pool_samples
from chanceline.prediction.train import FeatureChoice, check_feature_choice

# Samples that the intervals of the error and of the area under the curve count, as shares of the
# independent ones: the rest pays for rules that differ from fold to fold. Chosen on other designs
# than those of `benchmarks/expected.py`, which measures the coverage.
EFFECTIVE_SHARE = 0.76
EFFECTIVE_SHARE_FOR_AREA = 0.5
# Units without which nothing is cross-validated: one to hold out, two to tune with.
MIN_UNITS = 3
# For tables with fewer numbers, starting processes takes longer than the folds.
MIN_SIZE_FOR_PROCESSES = 200_000


@dataclass(frozen=True, eq=False, repr=False)
class ExpectedError(Result):
    """What cross-validation says of the rule that `fit_rule` gives.

    The samples are dealt to ten folds three times; every number is a mean over the three.

    Attributes
    ----------
    rate : share of samples classified wrongly by a rule that they had no part in.
    interval : 95 % interval for the true error of the rule made from all samples: Clopper and
        Pearson's for 76 % as many independent samples as there are. The rest pays for rules that
        differ from fold to fold and from the one made of all samples; the coverage is measured
        (`python benchmarks/expected.py`). Samples of one unit (a group, or a block that is held out
        whole) count as far as they tell different things (`independent_samples`).
    majority_error : error of always naming the larger class.
    against_majority : the rule against the larger class, sample by sample.
    balanced_rate : mean of the errors of the two classes.
    sensitivity, specificity : share of the positive and of the negative samples classified rightly.
    auc : area under the curve of the out-of-fold scores, within folds.
    auc_interval : 95 % interval of the area (`chanceline.prediction.area`), for half as many
        independent samples as there are, with 4 % below it and 1 % above.
    n_folds, n_repeats : number of folds, and how often the samples were dealt to them.
    predictions : score of every sample by rules that it had no part in, (repeats, samples)
    n_features : number of features in every fold of every repeat.
    n_effective : the independent samples that the interval of the error stands for, these 76 %
        included.
    few_rate, many_rate : the error if small sets alone, or rules on many features alone, are
        candidates; None where they were not compared.
    few_minus_many : the difference of these two, and its standard error sample by sample.
    covariates_rate : the error of covariates alone, None without covariates.
    """

    rate: float
    interval: tuple[float, float]
    majority_error: float
    against_majority: MajorityComparison
    balanced_rate: float
    sensitivity: float
    specificity: float
    auc: float
    auc_interval: tuple[float, float]
    n_folds: int
    n_repeats: int
    predictions: Floats
    n_features: tuple[int, ...]
    n_effective: float
    few_rate: float | None = None
    many_rate: float | None = None
    few_minus_many: LossDifference | None = None
    covariates_rate: float | None = None

    kind = "cross-validated"
    _derived = ("knows_something", "better_than_majority")
    _hidden = ("predictions",)
    _former = MappingProxyType({"guess": "majority_error"})

    @property
    def knows_something(self) -> bool:
        """Whether the whole interval of the area under the curve lies above one half.

        A rule may rank the samples of classes of unequal size well and yet err as often as the
        larger class.
        """
        return self.auc_interval[0] > 0.5

    @property
    def better_than_majority(self) -> bool:
        """Whether the error is clearly below that of the larger class, sample by sample.

        A rule of which it is not clear that it knows anything is not called better, either.
        """
        return self.against_majority.better and self.knows_something

    def summary(self) -> str:
        low, high = (round(100 * end) for end in self.interval)
        error = f"CV error {100 * self.rate:.0f} % (95 % CI {low}–{high})"
        return f"{error}, majority class {100 * self.majority_error:.0f} %"


def expected_error(  # noqa: PLR0913
    X: ArrayLike | ColumnTable,
    y: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    blocks: ArrayLike | None = None,
    covariates: Any = None,
    encoder: CovariateEncoder | None = None,
    features: Sequence[int] | None = None,
    max_features: int | None = None,
    seed: int = 0,
    n_jobs: int | None = 1,
) -> ExpectedError | None:
    """Cross-validate `fit_rule`; None where too little can be held out.

    The parameters are those of `fit_rule`, and `n_jobs` as in joblib; X may be a `ColumnTable`,
    too.

    A unit (a group, a small block, or else a single sample) is never split between folds. Too
    little can be held out if a class has fewer than two units, so that no fold can spare one; and
    if there are two units in all (small blocks of both classes), because a rule made from one of
    them could not be tuned.
    """
    # Take the samples into memory; of a very wide table only a pool of columns, those that some
    # fold looks at.
    pooled = pool_samples(
        X,
        y,
        groups=groups,
        blocks=blocks,
        covariates=covariates,
        encoder=encoder,
        features=features,
        deal_training_sets=partial(training_sets_of_folds, seed=seed),
        n_threads=number_of_threads(n_jobs),
    )
    samples = pooled.samples
    if not has_enough_units(samples):
        return None

    # Which features the rules may have. The user numbers features as columns of the table, and
    # `samples` as columns of the pool: convert the numbers.
    choice_by_table_columns = check_feature_choice(pooled.n_features, features, max_features)
    choice_by_pool_columns = pooled.choice_in_pool(choice_by_table_columns)

    # Scores of all samples by rules made without them.
    if samples.X.size <= MIN_SIZE_FOR_PROCESSES:
        n_jobs = 1  # starting processes would take longer than the work
    held_out = score_held_out_samples(samples, choice_by_pool_columns, seed, n_jobs=n_jobs)

    # The error of rules on covariates alone, to compare with.
    covariates_rate = None
    if covariates is not None:
        covariates_rate = error_rate_of_covariates(samples, seed)
    return summarize_scores(samples, held_out, covariates_rate)


def training_sets_of_folds(samples: Samples, seed: int) -> list[Bools]:
    """The training samples of every fold; of samples that are not cross-validated all of them."""
    if not has_enough_units(samples):
        return [samples.all_rows]
    fold_of_sample = deal_outer_folds(samples, seed)
    return [fold_of_sample[task.repeat] != task.fold for task in outer_folds(fold_of_sample)]


def has_enough_units(samples: Samples) -> bool:
    """Whether there are enough units in all and in each class to hold some out."""
    n_units = len(np.unique(samples.unit_of_sample))
    n_positive_units = len(np.unique(samples.unit_of_sample[samples.positive]))
    n_negative_units = len(np.unique(samples.unit_of_sample[~samples.positive]))
    return n_units >= MIN_UNITS and min(n_positive_units, n_negative_units) >= 2


def error_rate_of_covariates(samples: Samples, seed: int) -> float:
    """The cross-validated error of rules on covariates alone."""
    no_features = FeatureChoice(named=np.zeros(0, dtype=np.int64))
    held_out = score_held_out_samples(samples, no_features, seed)
    return float(mean_errors(held_out.to_use, samples).mean())


def summarize_scores(
    samples: Samples, held_out: HeldOutScores, covariates_rate: float | None
) -> ExpectedError:
    """Estimate the error and the area under the curve, with intervals, from held-out scores.

    The intervals count fewer samples than there are, for two reasons. The samples of one unit (a
    group, say) are not independent: all samples together are worth `n_independent` independent
    ones. And every fold has another rule: so only a fixed share of the independent samples is
    counted, one share for the error and a smaller one for the area.

    Parameters
    ----------
    samples : all of them
    held_out : scores of every sample by rules that it had no part in. `held_out.to_use` are the
        scores of the rules that the procedure takes; there are also those of the best rules on few
        and on many features.
    covariates_rate : the error of rules on covariates alone; None without covariates
    """
    n_samples = samples.n_samples
    positive = samples.positive
    n_positive = int(np.count_nonzero(positive))
    n_negative = n_samples - n_positive
    scores = held_out.to_use  # (repeats, samples)
    n_independent = count_independent(samples, scores)

    # The error, in all and in each class.
    errors = mean_errors(scores, samples)  # (samples,), from 0 to 1
    rate = float(errors.mean())
    sensitivity = float(1 - errors[positive].mean())
    specificity = float(1 - errors[~positive].mean())

    # The interval of the error, and the rule against always naming the larger class.
    n_effective = EFFECTIVE_SHARE * n_independent
    interval = cross_validated_interval(rate, n_effective)
    against_majority = compare_with_majority(
        errors, positive, independent_share=n_effective / n_samples
    )

    # The area under the curve, and its interval. The same share of both classes is counted.
    auc = mean_area(held_out, positive)
    counted_share = EFFECTIVE_SHARE_FOR_AREA * n_independent / n_samples
    auc_interval = cross_validated_area_interval(
        auc, n_positive=counted_share * n_positive, n_negative=counted_share * n_negative
    )

    few_and_many = compare_few_with_many(held_out, samples)
    return ExpectedError(
        rate=rate,
        interval=interval,
        majority_error=min(n_positive, n_negative) / n_samples,
        against_majority=against_majority,
        balanced_rate=1 - (sensitivity + specificity) / 2,
        sensitivity=sensitivity,
        specificity=specificity,
        auc=auc,
        auc_interval=auc_interval,
        n_folds=held_out.n_folds,
        n_repeats=held_out.n_repeats,
        predictions=scores,
        n_features=held_out.n_features,
        n_effective=n_effective,
        few_rate=few_and_many.few_rate,
        many_rate=few_and_many.many_rate,
        few_minus_many=few_and_many.difference,
        covariates_rate=covariates_rate,
    )


class FewAndMany(NamedTuple):
    """Rules on few features beside rules on many.

    Attributes
    ----------
    few_rate, many_rate : their errors; None where a fold had no such rule.
    difference : of the two errors, few less many; None unless both are known.
    """

    few_rate: float | None = None
    many_rate: float | None = None
    difference: LossDifference | None = None


def compare_few_with_many(held_out: HeldOutScores, samples: Samples) -> FewAndMany:
    """Compare the errors of rules on few features with those of rules on many.

    In each fold of the cross-validation, which is repeated several times, the procedure may make
    one rule of either kind. A kind is judged only if every fold has such a rule; else its scores
    are None in `held_out`, and its error is None in the result. So is the mean difference of the
    errors unless both kinds are judged. Its standard error treats the samples of one unit (a
    patient, say) as dependent.
    """
    few_errors = None  # share of the repeats in which each sample is classified wrongly, (samples,)
    few_rate = None
    if held_out.few is not None:
        few_errors = mean_errors(held_out.few, samples)
        few_rate = float(few_errors.mean())

    many_errors = None
    many_rate = None
    if held_out.many is not None:
        many_errors = mean_errors(held_out.many, samples)
        many_rate = float(many_errors.mean())

    difference = None
    if few_errors is not None and many_errors is not None:
        difference = paired_difference(few_errors, many_errors, samples.unit_of_sample)
    return FewAndMany(few_rate, many_rate, difference)


def mean_errors(scores: Floats, samples: Samples) -> Floats:
    """In which share of the repeats each sample is classified wrongly, (samples,).

    `scores` are (repeats, samples).
    """
    return error_indicators(scores, samples.y).mean(axis=0)


def count_independent(samples: Samples, scores: Floats) -> float:
    """How many independent samples the samples are worth, where their errors are averaged.

    `scores` are (repeats, samples).
    """
    wrong_probabilities = sigmoid(-samples.y * scores).mean(axis=0)
    return independent_samples(wrong_probabilities, samples.unit_of_sample)


def mean_area(held_out: HeldOutScores, positive: Bools) -> float:
    """The area under the curve within folds, mean over repeats."""
    areas = [
        area_within_folds(scores, positive, fold_of_sample)
        for scores, fold_of_sample in zip(held_out.to_use, held_out.fold_of_sample, strict=True)
    ]
    return float(np.mean(areas))
