"""Scores of samples by rules that they had no part in: repeated ten-fold cross-validation.

Everything that looks at labels is done anew without each fold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from chanceline._arrays import Floats, Ints
from chanceline._parallel import run_ordered
from chanceline.prediction.folds import N_OUTER_FOLDS, Stream
from chanceline.prediction.repeats import N_OUTER_REPEATS, n_fold_repeats
from chanceline.prediction.samples import Samples
from chanceline.prediction.train import FeatureChoice, TrainedRule, train


class OuterFold(NamedTuple):
    """One of the folds of one of the repeats."""

    repeat: int
    fold: int


@dataclass(frozen=True, eq=False)
class FoldScores:
    """What the rules made without a fold say of its samples.

    Attributes
    ----------
    to_use : scores of the rule that the procedure takes, (held out,)
    few, many : those of the rules on few and on many features; None where there are none.
    n_features : of the rule that the procedure takes.
    """

    to_use: Floats
    few: Floats | None
    many: Floats | None
    n_features: int


@dataclass(frozen=True, eq=False)
class HeldOutScores:
    """Scores of all samples, by repeats of the cross-validation.

    Attributes
    ----------
    fold_of_sample : the fold that each sample was held out in, (repeats, samples)
    to_use : scores of the rules that the procedure takes, (repeats, samples)
    few, many : those of rules on few and on many features; None where some fold has none.
    n_features : of the rules of all folds of all repeats, (repeats × folds,)
    """

    fold_of_sample: Ints
    to_use: Floats
    few: Floats | None
    many: Floats | None
    n_features: tuple[int, ...]

    @property
    def n_repeats(self) -> int:
        return len(self.fold_of_sample)

    @property
    def n_folds(self) -> int:
        return int(self.fold_of_sample.max()) + 1


def score_held_out_samples(
    samples: Samples,
    choice: FeatureChoice,
    seed: int,
    *,
    n_repeats: int = N_OUTER_REPEATS,
    n_jobs: int | None = 1,
) -> HeldOutScores:
    """Score every sample by rules made without it, by repeated cross-validation.

    Parameters
    ----------
    samples : all of them
    choice : which features the rules may have
    seed : of all random numbers
    n_repeats : how often the samples are dealt to folds
    n_jobs : number of processes, as in joblib
    """
    fold_of_sample = deal_outer_folds(samples, seed, n_repeats)  # (repeats, samples)

    # One task for each fold of each repeat; `common` are further arguments of `score_fold`, the
    # same for all tasks.
    folds = outer_folds(fold_of_sample)
    scores_of_folds = run_ordered(
        score_fold,
        folds,
        common=(samples, fold_of_sample, choice, seed),
        n_jobs=n_jobs,
    )
    scores_by_fold = dict(zip(folds, scores_of_folds, strict=True))
    return collect_folds(fold_of_sample, scores_by_fold)


def deal_outer_folds(samples: Samples, seed: int, n_repeats: int = N_OUTER_REPEATS) -> Ints:
    """The fold that each sample is held out in, (repeats, samples).

    Parameters as in `score_held_out_samples`.
    """
    return np.stack(
        [
            samples.assign_folds(N_OUTER_FOLDS, [seed, Stream.OUTER_FOLDS, repeat])
            for repeat in range(n_repeats)
        ]
    )


def outer_folds(fold_of_sample: Ints) -> list[OuterFold]:
    """The folds of all repeats, from the fold of each sample, (repeats, samples)."""
    n_repeats = len(fold_of_sample)
    n_folds = int(fold_of_sample.max()) + 1
    return [OuterFold(repeat, fold) for repeat in range(n_repeats) for fold in range(n_folds)]


def score_fold(
    task: OuterFold, samples: Samples, fold_of_sample: Ints, choice: FeatureChoice, seed: int
) -> FoldScores:
    """Train rules on all samples but those of one fold, and score the samples of this fold.

    Parameters
    ----------
    task : the fold, and the repeat that it belongs to
    samples : all of them
    fold_of_sample : the fold of every sample in every repeat, (repeats, samples)
    choice : which features the rules may have
    seed : of all random numbers; every fold of every repeat makes its own seed from it
    """
    is_held_out = fold_of_sample[task.repeat] == task.fold
    rules = train(
        samples,
        training=~is_held_out,
        features=choice,
        seed=[seed, Stream.OUTER_TRAINING, task.repeat, task.fold],
        n_repeats=n_fold_repeats(samples.X.size),
    )
    samples_held_out = samples.take(is_held_out)

    def scores_of(rule: TrainedRule | None) -> Floats | None:
        """Scores of the samples held out, by a rule that may not exist."""
        if rule is None:
            return None
        return rule.scores(samples_held_out)

    return FoldScores(
        to_use=rules.to_use.scores(samples_held_out),
        few=scores_of(rules.few),
        many=scores_of(rules.many),
        n_features=len(rules.to_use.support),
    )


def collect_folds(
    fold_of_sample: Ints, scores_by_fold: dict[OuterFold, FoldScores]
) -> HeldOutScores:
    """Put the scores of all folds in the order of the samples, (repeats, samples).

    There are scores of up to three rules: the rule that the procedure takes (`to_use`), and those
    on few and on many features. The latter two are None unless every fold has such a rule.

    Parameters
    ----------
    fold_of_sample : the fold of every sample in every repeat, (repeats, samples)
    scores_by_fold : for every fold of every repeat the scores of the samples held out in it
    """
    to_use_by_fold = {}
    few_by_fold = {}
    many_by_fold = {}
    for fold, scores in scores_by_fold.items():
        to_use_by_fold[fold] = scores.to_use
        if scores.few is not None:
            few_by_fold[fold] = scores.few
        if scores.many is not None:
            many_by_fold[fold] = scores.many

    scores_of_few = None
    if len(few_by_fold) == len(scores_by_fold):
        scores_of_few = _in_order_of_samples(fold_of_sample, few_by_fold)
    scores_of_many = None
    if len(many_by_fold) == len(scores_by_fold):
        scores_of_many = _in_order_of_samples(fold_of_sample, many_by_fold)
    return HeldOutScores(
        fold_of_sample=fold_of_sample,
        to_use=_in_order_of_samples(fold_of_sample, to_use_by_fold),
        few=scores_of_few,
        many=scores_of_many,
        n_features=tuple(scores.n_features for scores in scores_by_fold.values()),
    )


def _in_order_of_samples(
    fold_of_sample: Ints, scores_of_fold: Mapping[OuterFold, Floats]
) -> Floats:
    """The scores of the samples held out in each fold, as one array (repeats, samples).

    Parameters
    ----------
    fold_of_sample : (repeats, samples)
    scores_of_fold : (held out,) for every fold; a sample of a fold that is missing would be NaN.
    """
    scores = np.full(fold_of_sample.shape, np.nan)
    for task, held_out_scores in scores_of_fold.items():
        is_held_out = fold_of_sample[task.repeat] == task.fold
        scores[task.repeat, is_held_out] = held_out_scores
    return scores
