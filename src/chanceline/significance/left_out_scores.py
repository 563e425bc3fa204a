"""Scores of samples by rules that they had no part in, for pictures of a rule's worth.

The samples along the rule, the curve of sensitivity against false alarms, and whether predicted
probabilities are the shares observed.
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
# Fewer samples in a bin say too little about their share of positives.
MIN_SAMPLES_PER_BIN = 10


class ScoreKind(StrEnum):
    """Where the scores of samples come from."""

    CROSS_VALIDATED = "cross-validated"  # from rules that the sample had no part in
    TRAINING = "training"  # from the rule that the sample helped to make


@dataclass(frozen=True, eq=False)
class SamplesAlongRule:
    """The samples along a rule.

    Attributes
    ----------
    values : score of every sample, (samples,); the mean over repeats where cross-validated.
    is_wrong : whether each sample lies on the wrong side of 0, (samples,).
    kind : where the scores come from.
    """

    values: Floats
    is_wrong: Bools
    kind: ScoreKind


def samples_along_rule(result: SeparationTest) -> SamplesAlongRule:
    """Cross-validated scores of the rule to use; without any, those of training."""
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


def pooled_roc(expected: ExpectedError, positive: Bools) -> RocCurve:
    """The ROC curve of all cross-validated scores together, of every fold and every repeat.

    At the threshold 0 it goes through the cross-validated sensitivity and specificity. The area
    below it is not `expected.auc`, which compares samples of one fold alone: scores of different
    folds come from different rules.

    Parameters
    ----------
    expected : its predictions are the scores, (repeats, samples).
    positive : (samples,) whether each sample is of the positive class.
    """
    # Scores from the highest to the lowest; after each, how many positives lie at or above it.
    n_repeats = len(expected.predictions)
    scores = expected.predictions.ravel()  # (repeats · samples,)
    is_positive = np.tile(positive, n_repeats)
    highest_first = np.argsort(-scores, kind="stable")
    ranked_scores = scores[highest_first]
    n_positives_above = np.cumsum(is_positive[highest_first])
    n_above = np.arange(1, len(scores) + 1)

    # Equal scores are called positive together: the curve has one point, after the last of them.
    is_last_of_equals = np.append(np.diff(ranked_scores) != 0, True)
    n_true = n_positives_above[is_last_of_equals]
    n_false = n_above[is_last_of_equals] - n_true
    n_positive = np.count_nonzero(is_positive)
    n_negative = len(scores) - n_positive
    return RocCurve(
        false_alarms=np.append(0.0, n_false / n_negative),
        sensitivities=np.append(0.0, n_true / n_positive),
        sensitivity_of_rule=expected.sensitivity,
        specificity_of_rule=expected.specificity,
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


def calibration_bins(expected: ExpectedError, positive: Bools) -> list[CalibrationBin]:
    """Predicted probabilities against observed shares, in up to ten bins of about equal size.

    The probability of a sample is the mean over repeats. Intervals of the shares are Clopper and
    Pearson's, for as many independent samples as the interval of the error counts.

    Parameters
    ----------
    expected : its predictions are the scores, (repeats, samples).
    positive : (samples,) whether each sample is of the positive class.
    """
    probabilities = sigmoid(expected.predictions).mean(axis=0)  # (samples,)
    n_samples = len(probabilities)
    independent_share = expected.n_effective / n_samples

    # Bins between quantiles. Equal probabilities share a bin, so that some bins may be empty.
    n_bins = min(MAX_CALIBRATION_BINS, max(1, n_samples // MIN_SAMPLES_PER_BIN))
    inner_edges = np.quantile(probabilities, np.arange(1, n_bins) / n_bins)
    bin_of_sample = np.searchsorted(inner_edges, probabilities, side="right")
    bins = []
    for bin_number in np.unique(bin_of_sample):
        is_in_bin = bin_of_sample == bin_number
        bins.append(
            _calibration_bin(probabilities[is_in_bin], positive[is_in_bin], independent_share)
        )
    return bins


def _calibration_bin(
    probabilities: Floats, positive: Bools, independent_share: float
) -> CalibrationBin:
    """One bin: the mean predicted probability, and the observed share with its interval.

    Parameters
    ----------
    probabilities, positive : of the samples in the bin, (samples in the bin,) each.
    independent_share : how many independent samples each sample counts for, at most 1.
    """
    n_samples = len(positive)
    n_positive = int(np.count_nonzero(positive))
    low, high = clopper_pearson(n_positive * independent_share, n_samples * independent_share)
    return CalibrationBin(
        n_samples=n_samples,
        predicted=float(probabilities.mean()),
        observed=n_positive / n_samples,
        low=low,
        high=high,
    )
