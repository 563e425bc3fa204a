"""What to expect on new samples: cross-validated, with every choice inside."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from chanceline._arrays import Floats, Ints
from chanceline._parallel import run_ordered
from chanceline.prediction.folds import N_OUTER_FOLDS, Stream
from chanceline.prediction.repeats import N_OUTER_REPEATS
from chanceline.significance.outcomes.held_out_fits import HeldOutPredictions
from chanceline.significance.outcomes.rule_samples import RuleSamples
from chanceline.significance.outcomes.score_rule import ScoreRule, train_score_rule

# Units without which nothing is cross-validated.
MIN_UNITS_TO_VALIDATE = 10


class ValidationFold(NamedTuple):
    """One of the folds of one of the repeats."""

    repeat: int
    fold: int


class FoldPredictions(NamedTuple):
    """Predictions of the samples of one fold.

    Attributes
    ----------
    predicted : (held out, columns) by the rule.
    guessed : (held out, targets) without any feature.
    n_features : of the rule.
    """

    predicted: Floats
    guessed: Floats
    n_features: int


def hold_out_predictions(
    samples: RuleSamples, seed: int, *, n_repeats: int = N_OUTER_REPEATS, n_jobs: int | None = 1
) -> HeldOutPredictions:
    """Predictions of every sample by rules that were trained without its fold.

    Parameters
    ----------
    samples : all of them.
    seed : the user's.
    n_repeats : how often the samples are dealt to folds.
    n_jobs : as in joblib.
    """
    # Deal the samples to folds, anew in every repeat.
    deals = []
    for repeat in range(n_repeats):
        deals.append(
            samples.outcome.deal_to_folds(
                samples.unit_of_sample,
                n_folds=N_OUTER_FOLDS,
                seed=[seed, Stream.OUTER_FOLDS, repeat],
            )
        )
    fold_of_sample = np.stack(deals)  # (repeats, samples)

    # Train without each fold of each repeat, and predict its samples.
    n_folds = int(fold_of_sample.max()) + 1
    tasks = [ValidationFold(repeat, fold) for repeat in range(n_repeats) for fold in range(n_folds)]
    common = (samples, fold_of_sample, seed)
    by_fold = list(run_ordered(predict_fold, tasks, common=common, n_jobs=n_jobs))

    # Put the predictions in the order of the samples: (repeats, samples, columns).
    predicted = np.empty((*fold_of_sample.shape, by_fold[0].predicted.shape[1]))
    guessed = np.empty((*fold_of_sample.shape, by_fold[0].guessed.shape[1]))
    for task, of_fold in zip(tasks, by_fold, strict=True):
        is_held_out = fold_of_sample[task.repeat] == task.fold
        predicted[task.repeat, is_held_out] = of_fold.predicted
        guessed[task.repeat, is_held_out] = of_fold.guessed
    return HeldOutPredictions(
        predicted=predicted,
        guessed=guessed,
        fold_of_sample=fold_of_sample,
        unit_of_sample=samples.unit_of_sample,
        n_features=tuple(of_fold.n_features for of_fold in by_fold),
    )


def predict_fold(
    task: ValidationFold, samples: RuleSamples, fold_of_sample: Ints, seed: int
) -> FoldPredictions:
    """Train without a fold, and predict its samples.

    Parameters
    ----------
    task : the fold.
    samples : all of them.
    fold_of_sample : (repeats, samples)
    seed : the user's.
    """
    is_held_out = fold_of_sample[task.repeat] == task.fold
    training_seed = [seed, Stream.OUTER_TRAINING, task.repeat, task.fold]
    rule = train_score_rule(samples, ~is_held_out, training_seed)
    training = samples.take(~is_held_out)
    held_out = samples.take(is_held_out)
    return FoldPredictions(
        predicted=predict_samples(rule, held_out, training),
        guessed=rule.guesses(held_out),
        n_features=len(rule.support),
    )


def predict_samples(rule: ScoreRule, samples: RuleSamples, training: RuleSamples) -> Floats:
    """What a rule predicts: (samples, columns of predictions).

    Parameters
    ----------
    rule : made from the training samples.
    samples : to predict.
    training : the samples that the rule was made from.
    """
    outcome = training.outcome
    return outcome.predictions(rule.fits(samples), rule.training_fits, outcome)
