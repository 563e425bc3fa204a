"""What to expect on new samples: cross-validated, with every choice inside."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from chanceline._arrays import Floats, Ints
from chanceline._parallel import run_ordered
from chanceline.prediction.folds import N_OUTER_FOLDS, Stream
from chanceline.prediction.repeats import N_OUTER_REPEATS
from chanceline.significance.outcomes.deal import deal_in_order
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
    """Cross-validate the training of a rule.

    Parameters
    ----------
    samples : all of them.
    seed : the user's.
    n_repeats : how often the samples are dealt to folds.
    n_jobs : as in joblib.
    """
    folds = []
    for repeat in range(n_repeats):
        folds.append(
            deal_in_order(
                samples.outcome.fold_order,
                samples.unit_of_sample,
                n_folds=N_OUTER_FOLDS,
                seed=[seed, Stream.OUTER_FOLDS, repeat],
            )
        )
    fold_of_sample = np.stack(folds)
    n_folds = int(fold_of_sample.max()) + 1
    tasks = [ValidationFold(repeat, fold) for repeat in range(n_repeats) for fold in range(n_folds)]
    common = (samples, fold_of_sample, seed)
    found = list(run_ordered(predict_fold, tasks, common=common, n_jobs=n_jobs))
    predicted = np.empty((*fold_of_sample.shape, found[0].predicted.shape[1]))
    guessed = np.empty((*fold_of_sample.shape, found[0].guessed.shape[1]))
    for task, predictions in zip(tasks, found, strict=True):
        is_held_out = fold_of_sample[task.repeat] == task.fold
        predicted[task.repeat, is_held_out] = predictions.predicted
        guessed[task.repeat, is_held_out] = predictions.guessed
    return HeldOutPredictions(
        predicted=predicted,
        guessed=guessed,
        fold_of_sample=fold_of_sample,
        unit_of_sample=samples.unit_of_sample,
        n_features=tuple(predictions.n_features for predictions in found),
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
