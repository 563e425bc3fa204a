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
    """Cross-validate: predict every sample by rules that were trained without the sample's fold.

    Samples of a unit (for example a patient) always share a fold.

    Parameters
    ----------
    samples : all samples of the table.
    seed : the user's seed, from which the seeds of folds and of training are derived.
    n_repeats : number of repeats; each deals the samples to new folds.
    n_jobs : number of processes, as in joblib.
    """
    # Deal the samples to folds, anew in every repeat.
    folds_of_repeats = []
    for repeat in range(n_repeats):
        folds = samples.outcome.deal_to_folds(
            samples.unit_of_sample,
            n_folds=N_OUTER_FOLDS,
            seed=[seed, Stream.OUTER_FOLDS, repeat],
        )
        folds_of_repeats.append(folds)
    fold_of_sample = np.stack(folds_of_repeats)  # (repeats, samples)

    # For each fold of each repeat: train on the other folds, and predict the samples of this one.
    # The runner calls `predict_fold(task, *common)` for every task.
    n_folds = int(fold_of_sample.max()) + 1
    tasks = [ValidationFold(repeat, fold) for repeat in range(n_repeats) for fold in range(n_folds)]
    common = (samples, fold_of_sample, seed)
    predictions_of_folds = list(run_ordered(predict_fold, tasks, common=common, n_jobs=n_jobs))

    # Put the predictions in the order of the samples. `predicted` is by the rules, `guessed` by
    # blocks and covariates alone, without features.
    n_predicted_columns = predictions_of_folds[0].predicted.shape[1]
    n_targets = predictions_of_folds[0].guessed.shape[1]
    predicted = np.empty((*fold_of_sample.shape, n_predicted_columns))  # (repeats, samples, …)
    guessed = np.empty((*fold_of_sample.shape, n_targets))
    for task, fold_predictions in zip(tasks, predictions_of_folds, strict=True):
        is_held_out = fold_of_sample[task.repeat] == task.fold
        predicted[task.repeat, is_held_out] = fold_predictions.predicted
        guessed[task.repeat, is_held_out] = fold_predictions.guessed
    return HeldOutPredictions(
        predicted=predicted,
        guessed=guessed,
        fold_of_sample=fold_of_sample,
        unit_of_sample=samples.unit_of_sample,
        n_features=tuple(predictions.n_features for predictions in predictions_of_folds),
    )


def predict_fold(
    task: ValidationFold, samples: RuleSamples, fold_of_sample: Ints, seed: int
) -> FoldPredictions:
    """Train a rule on all samples outside one fold, and predict the samples of the fold.

    Parameters
    ----------
    task : the number of the repeat, and that of the fold to hold out.
    samples : all samples, of the fold and outside.
    fold_of_sample : (repeats, samples) the number of each sample's fold.
    seed : the user's seed.

    Returns
    -------
    Predictions of the held-out samples in their order: by the rule, and (`guessed`) by what blocks
    and covariates say without features.
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
