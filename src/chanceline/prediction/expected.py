"""What to expect of the rule on new samples: cross-validation with everything inside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv

from chanceline._parallel import run_ordered
from chanceline._results import Result
from chanceline.perceptron.problem import find_features
from chanceline.prediction.rule import Trained, train
from chanceline.prediction.samples import OUTER_FOLDS, Bools, Floats, Ints, Samples, make_samples

CONFIDENCE = 0.95
# Of the units' number; see `benchmarks/expected.py`.
EFFECTIVE = 0.4
# With fewer numbers than this, starting processes takes longer than the folds.
WORTH_PROCESSES = 200_000


@dataclass(frozen=True, eq=False, repr=False)
class ExpectedError(Result):
    """Cross-validated error of the rule that `fit_rule` gives.

    Attributes
    ----------
    rate : share of samples classified wrongly by a rule that they had no part in.
    interval : 95 % interval for the true error of the rule made from all samples: Clopper and Pearson's for four tenths as many
        independent samples (or groups, or small blocks) as there are. The rest pays for rules that differ from fold to fold and
        from the one made of all samples; the coverage is measured (`python benchmarks/expected.py`).
    guess : error of always naming the larger class.
    auc : area under the curve of the scores left out, within folds.
    sensitivity, specificity : share of the positive and of the negative samples classified rightly.
    predictions : score of every sample from the rule that it had no part in.
    n_features : number of features in every fold.
    covariates_rate : the error of covariates alone, None without covariates.
    """

    rate: float
    interval: tuple[float, float]
    guess: float
    auc: float
    sensitivity: float
    specificity: float
    n_folds: int
    predictions: Floats
    n_features: tuple[int, ...]
    covariates_rate: float | None = None

    kind = "cross-validated"
    _derived = ("no_better_than_guessing",)
    _hidden = ("predictions",)

    @property
    def no_better_than_guessing(self) -> bool:
        """Whether the interval reaches the error of guessing."""
        return self.interval[1] >= self.guess

    def summary(self) -> str:
        low, high = (round(100 * end) for end in self.interval)
        return f"CV error {100 * self.rate:.0f} % (95 % CI {low}–{high}), majority class {100 * self.guess:.0f} %"


def expected_error(
    X: ArrayLike,
    y: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    blocks: ArrayLike | None = None,
    covariates: ArrayLike | None = None,
    features: Sequence[int] | None = None,
    max_features: int | None = None,
    seed: int = 0,
    n_jobs: int | None = 1,
) -> ExpectedError | None:
    """Cross-validate `fit_rule`, whose parameters these are; None if a class has fewer than two units, so that no fold can
    spare one.
    """
    samples = make_samples(X, y, groups, blocks, covariates)
    units = [len(np.unique(samples.unit_of[samples.y == label])) for label in (-1.0, 1.0)]
    if min(units) < 2:
        return None
    named = None if features is None else find_features(features, [""] * samples.X.shape[1])
    fold_of = samples.fold_of(OUTER_FOLDS, [seed, 2])
    folds = list(range(int(fold_of.max()) + 1))
    jobs = n_jobs if samples.X.size > WORTH_PROCESSES else 1
    trained = list(run_ordered(one_fold, folds, common=(samples, fold_of, named, max_features, seed), n_jobs=jobs))
    scores = left_out(trained, samples, fold_of)
    wrong = error_of(scores, samples.y)
    positive = samples.y > 0
    none = np.zeros(0, dtype=np.int64)
    alone = [one_fold(fold, samples, fold_of, none, max_features, seed) for fold in folds if covariates is not None]
    beside = error_of(left_out(alone, samples, fold_of), samples.y).mean() if alone else None
    rate, count = float(wrong.mean()), EFFECTIVE * len(np.unique(samples.unit_of))
    return ExpectedError(
        rate=rate,
        interval=clopper_pearson(rate * count, count),
        guess=float(min(positive.mean(), 1 - positive.mean())),
        auc=area(scores, positive, fold_of),
        sensitivity=float(1 - wrong[positive].mean()),
        specificity=float(1 - wrong[~positive].mean()),
        n_folds=len(folds),
        predictions=scores,
        n_features=tuple(len(rule.support) for rule in trained),
        covariates_rate=None if beside is None else float(beside),
    )


def one_fold(fold: int, samples: Samples, fold_of: Ints, named: Ints | None, most: int | None, seed: int) -> Trained:
    """The rule made without one fold."""
    return train(samples, fold_of != fold, named, most, [seed, 3, fold])


def left_out(trained: list[Trained], samples: Samples, fold_of: Ints) -> Floats:
    """The score of every sample by the rule that was made without it."""
    every = [rule.scale.design(samples, rule.support) @ rule.weights for rule in trained]
    return np.stack(every)[fold_of, np.arange(len(fold_of))]


def error_of(scores: Floats, y: Floats) -> Floats:
    """1 on the wrong side, one half on the threshold."""
    return 0.5 - 0.5 * np.sign(y * scores)


def area(scores: Floats, positive: Bools, fold_of: Ints) -> float:
    """Area under the curve: the share of pairs of a positive and a negative sample of one fold in the right order."""
    sides = [(scores[positive & (fold_of == fold)], scores[~positive & (fold_of == fold)]) for fold in range(fold_of.max() + 1)]
    pairs = np.concatenate([0.5 + 0.5 * np.sign(np.subtract.outer(*pair)).ravel() for pair in sides])
    return float(pairs.mean()) if len(pairs) else float("nan")


def clopper_pearson(successes: float, trials: float) -> tuple[float, float]:
    """Clopper and Pearson's (1934) interval for a share among independent trials, whose number need not be whole."""
    tail = (1 - CONFIDENCE) / 2
    low = float(betaincinv(successes, trials - successes + 1, tail)) if successes > 0 else 0.0
    return low, float(betaincinv(successes + 1, trials - successes, 1 - tail)) if successes < trials else 1.0
