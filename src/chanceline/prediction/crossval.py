"""What to expect of a rule on new samples: its error, cross-validated with everything inside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from chanceline._arrays import Floats, Ints
from chanceline._parallel import run_ordered
from chanceline._results import Result
from chanceline.prediction.covariates import CovariateEncoder
from chanceline.prediction.folds import N_OUTER_FOLDS, Stream
from chanceline.prediction.interval import UPPER_QUANTILE, clopper_pearson, independent_samples
from chanceline.prediction.metrics import area_within_folds, error_indicators
from chanceline.prediction.ridge_logistic import sigmoid
from chanceline.prediction.samples import Samples, make_samples
from chanceline.prediction.train import FeatureChoice, TrainedRule, check_feature_choice, train

# Samples that the interval counts, as a share of the independent ones: the rest pays for rules that
# differ from fold to fold. Measured by `benchmarks/expected.py`.
EFFECTIVE_SHARE = 0.4
# Units without which nothing is cross-validated: one to hold out, two to tune with.
MIN_UNITS = 3
# For tables with fewer numbers, starting processes takes longer than the folds.
MIN_SIZE_FOR_PROCESSES = 200_000


@dataclass(frozen=True, eq=False, repr=False)
class ExpectedError(Result):
    """Cross-validated error of the rule that `fit_rule` gives.

    Attributes
    ----------
    rate : share of samples classified wrongly by a rule that they had no part in.
    interval : 95 % interval for the true error of the rule made from all samples: Clopper and
        Pearson's for four tenths as many independent samples as there are. The rest pays for rules
        that differ from fold to fold and from the one made of all samples; the coverage is measured
        (`python benchmarks/expected.py`). Samples of one unit (a group, or a block that is held out
        whole) count as far as they tell different things (`independent_samples`).
    majority_error : error of always naming the larger class.
    auc : area under the curve of the out-of-fold scores, within folds.
    sensitivity, specificity : share of the positive and of the negative samples classified rightly.
    n_folds : number of folds.
    predictions : score of every sample from the rule that it had no part in, (samples,)
    n_features : number of features in every fold.
    n_effective : the independent samples that the interval stands for, four tenths included.
    covariates_rate : the error of covariates alone, None without covariates.
    """

    rate: float
    interval: tuple[float, float]
    majority_error: float
    auc: float
    sensitivity: float
    specificity: float
    n_folds: int
    predictions: Floats
    n_features: tuple[int, ...]
    n_effective: float
    covariates_rate: float | None = None

    kind = "cross-validated"
    _derived = ("no_better_than_guessing", "ranks_better_than_guessing")
    _hidden = ("predictions",)
    _former = MappingProxyType({"guess": "majority_error"})

    @property
    def no_better_than_guessing(self) -> bool:
        """Whether the interval reaches the error of guessing."""
        return self.interval[1] >= self.majority_error

    @property
    def ranks_better_than_guessing(self) -> bool:
        """Whether the area under the curve lies farther above one half than chance takes it.

        That of scores that tell nothing has variance (n₁ + n₂ + 1)/(12 n₁n₂) (Mann and Whitney
        1947), n₁ + n₂ being the independent samples that the interval stands for. A rule may rank
        the samples of classes of unequal size well and yet err as often as guessing.
        """
        n_smaller = self.majority_error * self.n_effective
        n_larger = self.n_effective - n_smaller
        deviation = sqrt((n_smaller + n_larger + 1) / (12 * n_smaller * n_larger))
        return self.auc - 0.5 > float(ndtri(UPPER_QUANTILE)) * deviation

    def summary(self) -> str:
        low, high = (round(100 * end) for end in self.interval)
        error = f"CV error {100 * self.rate:.0f} % (95 % CI {low}–{high})"
        return f"{error}, majority class {100 * self.majority_error:.0f} %"


def expected_error(  # noqa: PLR0913
    X: ArrayLike,
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

    The parameters are those of `fit_rule`, and `n_jobs` as in joblib.

    Too little can be held out if a class has fewer than two units, so that no fold can spare one;
    and if there are two units in all (small blocks of both classes), because a rule made from one
    of them could not be tuned.
    """
    samples = make_samples(
        X, y, groups=groups, blocks=blocks, covariates=covariates, encoder=encoder
    )
    if not has_enough_units(samples):
        return None
    choice = check_feature_choice(samples.n_features, features, max_features)
    fold_of_sample = samples.assign_folds(N_OUTER_FOLDS, [seed, Stream.OUTER_FOLDS])
    folds = OuterFolds(samples, fold_of_sample, seed)

    if samples.X.size <= MIN_SIZE_FOR_PROCESSES:
        n_jobs = 1  # starting processes would take longer than the work
    trained = folds.train_rules(choice, n_jobs)
    covariates_rate = None
    if covariates is not None:
        covariates_rate = error_rate_of_covariates(folds)
    return summarize_folds(folds, trained, covariates_rate)


def has_enough_units(samples: Samples) -> bool:
    """Whether there are enough units in all and in each class to hold some out."""
    n_units = len(np.unique(samples.unit_of_sample))
    n_positive_units = len(np.unique(samples.unit_of_sample[samples.positive]))
    n_negative_units = len(np.unique(samples.unit_of_sample[~samples.positive]))
    return n_units >= MIN_UNITS and min(n_positive_units, n_negative_units) >= 2


@dataclass(frozen=True, eq=False)
class OuterFolds:
    """Samples dealt to folds, each of which is held out once.

    Attributes
    ----------
    samples : all of them.
    fold_of_sample : the fold that each is held out in, (samples,)
    seed : the user's.
    """

    samples: Samples
    fold_of_sample: Ints
    seed: int

    @property
    def n_folds(self) -> int:
        return int(self.fold_of_sample.max()) + 1

    def train_rules(self, choice: FeatureChoice, n_jobs: int | None = 1) -> list[TrainedRule]:
        """The rules made without each of the folds."""
        rules = run_ordered(
            train_without_fold,
            range(self.n_folds),
            common=(self, choice),
            n_jobs=n_jobs,
        )
        return list(rules)

    def out_of_fold_scores(self, trained: list[TrainedRule]) -> Floats:
        """The score of every sample by the rule that it had no part in, (samples,)."""
        # (folds, samples)
        scores = np.stack([rule.scores(self.samples) for rule in trained])
        return scores[self.fold_of_sample, np.arange(self.samples.n_samples)]


def train_without_fold(fold: int, folds: OuterFolds, choice: FeatureChoice) -> TrainedRule:
    """The rule made from the samples outside one fold."""
    training = folds.fold_of_sample != fold
    return train(folds.samples, training, choice, [folds.seed, Stream.OUTER_TRAINING, fold])


def error_rate_of_covariates(folds: OuterFolds) -> float:
    """The cross-validated error of rules on covariates alone."""
    no_features = FeatureChoice(named=np.zeros(0, dtype=np.int64))
    scores = folds.out_of_fold_scores(folds.train_rules(no_features))
    return float(error_indicators(scores, folds.samples.y).mean())


def summarize_folds(
    folds: OuterFolds,
    trained: list[TrainedRule],
    covariates_rate: float | None,
) -> ExpectedError:
    """Error, interval and the like from the rules of all folds.

    Parameters
    ----------
    folds : the samples and their folds
    trained : the rules made without each of the folds
    covariates_rate : the error of covariates alone, if there are any
    """
    samples = folds.samples
    positive = samples.positive
    scores = folds.out_of_fold_scores(trained)
    errors = error_indicators(scores, samples.y)
    rate = float(errors.mean())

    wrong_probabilities = sigmoid(-samples.y * scores)
    n_independent = independent_samples(wrong_probabilities, samples.unit_of_sample)
    n_effective = EFFECTIVE_SHARE * n_independent  # rules differ from fold to fold

    return ExpectedError(
        rate=rate,
        interval=clopper_pearson(rate * n_effective, n_effective),
        majority_error=float(min(positive.mean(), 1 - positive.mean())),
        auc=area_within_folds(scores, positive, folds.fold_of_sample),
        sensitivity=float(1 - errors[positive].mean()),
        specificity=float(1 - errors[~positive].mean()),
        n_folds=folds.n_folds,
        predictions=scores,
        n_features=tuple(len(rule.support) for rule in trained),
        n_effective=n_effective,
        covariates_rate=covariates_rate,
    )
