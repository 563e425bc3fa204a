"""Numbers for figures of how good a rule is, from scores of samples by rules not trained on them.

There are the scores of all samples, the ROC curve (sensitivity against false alarms), and the
calibration (predicted probabilities against observed shares).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from chanceline._arrays import Bools, Floats
from chanceline.prediction.crossval import ExpectedError
from chanceline.prediction.interval import clopper_pearson
from chanceline.prediction.ridge_logistic import sigmoid
from chanceline.significance.result import SeparationTest

MAX_CALIBRATION_BINS = 10
# With fewer samples in a bin, their share of positives would be too uncertain.
MIN_SAMPLES_PER_BIN = 10


class ScoreKind(StrEnum):
    """Where the scores of samples come from."""

    CROSS_VALIDATED = "cross-validated"  # from rules that the sample had no part in
    TRAINING = "training"  # from the rule that the sample helped to make


@dataclass(frozen=True, eq=False)
class SamplesAlongRule:
    """The scores of all samples by a rule.

    Attributes
    ----------
    values : (samples,) scores; cross-validated ones are means over repeats.
    is_wrong : (samples,) whether the score is on the wrong side of the threshold 0.
    kind : where the scores come from.
    """

    values: Floats
    is_wrong: Bools
    kind: ScoreKind


def samples_along_rule(result: SeparationTest) -> SamplesAlongRule:
    """The samples' cross-validated scores; without cross-validation, those of training."""
    values = result.scores
    kind = ScoreKind.TRAINING
    if result.rule is not None and result.rule.expected_error is not None:
        values = result.rule.expected_error.predictions.mean(axis=0)
        kind = ScoreKind.CROSS_VALIDATED
    # A sample on the threshold is not predicted to be positive.
    is_wrong = (values > 0) != (result.labels > 0)
    return SamplesAlongRule(values, is_wrong, kind)


class RocCurve(NamedTuple):
    """Shares called positive as the threshold falls, from (0, 0) to (1, 1).

    Attributes
    ----------
    false_alarms : share of the negatives called positive, (thresholds,)
    sensitivities : share of the positives called positive, (thresholds,)
    sensitivity_of_rule, specificity_of_rule : at the rule's own threshold.
    """

    false_alarms: Floats
    sensitivities: Floats
    sensitivity_of_rule: float
    specificity_of_rule: float


def pooled_roc(expected_error: ExpectedError, positive: Bools) -> RocCurve:
    """The ROC curve of the cross-validated scores, pooled over all folds and repeats.

    At the threshold 0 the curve goes through the cross-validated sensitivity and specificity. The
    area below the curve differs from `expected_error.auc`: the latter compares only samples of the
    same fold, because scores of different folds come from different rules.

    Parameters
    ----------
    expected_error : result of cross-validation; its `predictions` are the scores, of shape
        (repeats, samples).
    positive : (samples,) whether each sample is of the positive class.
    """
    # Sort the scores of all repeats from the highest to the lowest. With the threshold just below
    # a score, the samples at and above it are called positive.
    n_repeats = len(expected_error.predictions)
    scores = expected_error.predictions.ravel()  # (repeats · samples,)
    is_positive = np.tile(positive, n_repeats)
    highest_first = np.argsort(-scores, kind="stable")
    ranked_scores = scores[highest_first]
    true_positives = np.cumsum(is_positive[highest_first])
    called_positive = np.arange(1, len(scores) + 1)

    # No threshold lies between equal scores: keep one point of the curve, after the last of them.
    is_last_of_equals = np.append(np.diff(ranked_scores) != 0, True)
    true_positives = true_positives[is_last_of_equals]
    false_positives = called_positive[is_last_of_equals] - true_positives

    # The curve begins at (0, 0), with the threshold above all scores.
    n_positive = np.count_nonzero(is_positive)
    n_negative = len(scores) - n_positive
    return RocCurve(
        false_alarms=np.append(0.0, false_positives / n_negative),
        sensitivities=np.append(0.0, true_positives / n_positive),
        sensitivity_of_rule=expected_error.sensitivity,
        specificity_of_rule=expected_error.specificity,
    )


@dataclass(frozen=True)
class CalibrationBin:
    """Samples of similar predicted probability.

    Attributes
    ----------
    n_samples : how many.
    predicted : their mean predicted probability of the positive class.
    observed : their share of positives.
    low, high : 95 % interval of that share.
    """

    n_samples: int
    predicted: float
    observed: float
    low: float
    high: float


def calibration_bins(expected_error: ExpectedError, positive: Bools) -> list[CalibrationBin]:
    """Predicted probabilities against observed shares, in up to ten bins of about equal size.

    Cross-validated predictions are not independent: the predictions of all samples are worth
    `expected_error.n_effective` independent ones. For the confidence intervals of the observed
    shares (Clopper and Pearson) the number of samples in every bin is reduced in this proportion.

    Parameters
    ----------
    expected_error : result of cross-validation; its `predictions` are log-odds, of shape
        (repeats, samples).
    positive : (samples,) whether each sample is of the positive class.

    Returns
    -------
    The bins that have samples, by ascending probability.
    """
    probabilities = sigmoid(expected_error.predictions).mean(axis=0)  # (samples,)
    n_samples = len(probabilities)
    independent_share = expected_error.n_effective / n_samples

    # Bins between quantiles of the probabilities. Equal probabilities fall into the same bin, so
    # that some bins may be empty.
    n_bins = min(MAX_CALIBRATION_BINS, max(1, n_samples // MIN_SAMPLES_PER_BIN))
    inner_edges = np.quantile(probabilities, np.arange(1, n_bins) / n_bins)
    bin_of_sample = np.searchsorted(inner_edges, probabilities, side="right")
    bins = []
    for bin_number in np.unique(bin_of_sample):
        is_in_bin = bin_of_sample == bin_number
        calibration_bin = _calibration_bin(
            probabilities=probabilities[is_in_bin],
            positive=positive[is_in_bin],
            independent_share=independent_share,
        )
        bins.append(calibration_bin)
    return bins


def _calibration_bin(
    probabilities: Floats, positive: Bools, independent_share: float
) -> CalibrationBin:
    """One bin: the mean predicted probability, and the observed share with its interval.

    Parameters
    ----------
    probabilities : (samples in the bin,) predicted probabilities of the positive class.
    positive : (samples in the bin,) whether each sample is of the positive class.
    independent_share : how many independent samples one sample counts for, at most 1.
    """
    n_samples = len(positive)
    n_positive = int(np.count_nonzero(positive))
    n_independent = n_samples * independent_share
    n_independent_positive = n_positive * independent_share
    low, high = clopper_pearson(n_independent_positive, n_independent)
    return CalibrationBin(
        n_samples=n_samples,
        predicted=float(probabilities.mean()),
        observed=n_positive / n_samples,
        low=low,
        high=high,
    )
