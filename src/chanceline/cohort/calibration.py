"""Whether the probabilities of a rule hold on new samples.

Three readings. *In the large*: as many positive samples as the probabilities add up to? If they
hold, that number follows the Poisson-binomial law, which gives an exact p-value. *The slope* of a
logistic regression of the classes on the scores (Cox 1958): 1 if probabilities are as far from one
half as they should be, less if they are too sure. *Brier's score*: the mean of (probability −
class)², beside that of always saying the share of positives.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple

import numpy as np

from chanceline._arrays import Bools, Floats
from chanceline.chance.poisson_binomial import poisson_binomial_law
from chanceline.prediction.interval import NORMAL_QUANTILE
from chanceline.prediction.ridge_logistic import sigmoid

MAX_SLOPE_STEPS = 100
# A step that changes both coefficients by less is the last one.
SMALLEST_STEP = 1e-10
# Newton's steps are shortened to this size, so that none overshoots.
LARGEST_STEP = 2.0


class CalibrationSlope(NamedTuple):
    """The slope of the classes on the scores, 1 if probabilities hold.

    Attributes
    ----------
    value : its estimate by maximum likelihood.
    interval : 95 %, by Wald.
    """

    value: float
    interval: tuple[float, float]


@dataclass(frozen=True)
class Calibration:
    """Probabilities beside what happened.

    Attributes
    ----------
    n_positive : positive samples.
    expected_positive : the sum of the probabilities.
    pvalue : two-sided and exact, of so many positive samples if the probabilities hold.
    slope : of the classes on the scores; None where scores separate the classes or are all equal.
    brier, brier_of_share : Brier's score of the probabilities, and of the share of positives.
    """

    n_positive: int
    expected_positive: float
    pvalue: float
    slope: CalibrationSlope | None
    brier: float
    brier_of_share: float


def calibrate(scores: Floats, is_positive: Bools) -> Calibration:
    """Compare the probabilities that a rule gives to the positive class with what happened.

    Parameters
    ----------
    scores : the rule's scores η, (samples,); the probabilities are 1/(1 + e^−η)
    is_positive : which samples are positive, (samples,)
    """
    probabilities = sigmoid(scores)
    n_positive = int(np.count_nonzero(is_positive))
    # Brier's score is the mean of (probability − class)², with the classes 1 and 0. If every sample
    # gets the share of positives as its probability, Brier's score is share·(1 − share).
    brier = float(np.mean((probabilities - is_positive) ** 2))
    share = n_positive / len(is_positive)
    brier_of_share = share * (1 - share)
    return Calibration(
        n_positive=n_positive,
        expected_positive=float(probabilities.sum()),
        pvalue=count_pvalue(probabilities, n_positive),
        slope=calibration_slope(scores, is_positive),
        brier=brier,
        brier_of_share=brier_of_share,
    )


def count_pvalue(probabilities: Floats, n_positive: int) -> float:
    """Twice the smaller tail of the number of positive samples, at most 1.

    Parameters
    ----------
    probabilities : that a sample is positive, for every sample, (samples,)
    n_positive : how many samples are positive
    """
    law = poisson_binomial_law(probabilities)
    at_most = float(law[: n_positive + 1].sum())
    at_least = float(law[n_positive:].sum())
    return min(1.0, 2 * min(at_most, at_least))


def calibration_slope(scores: Floats, is_positive: Bools) -> CalibrationSlope | None:
    """The slope b of logit P(positive) = a + b·score by maximum likelihood, and its 95 % interval.

    None if the scores of the two classes do not overlap: then the likelihood has no maximum.

    Parameters
    ----------
    scores : the rule's score of every sample, (samples,)
    is_positive : which samples are positive, (samples,)
    """
    if not scores_overlap(scores, is_positive):
        return None

    # Standardize the scores, which may be of any size if new samples have other units.
    spread = float(scores.std())
    standardized = (scores - scores.mean()) / spread
    design = np.column_stack([np.ones(len(scores)), standardized])

    coefficients, information = _fit_by_maximum_likelihood(design, is_positive)
    covariance = np.linalg.inv(information)  # of the coefficients: intercept, slope

    # Back to the scores' own units, with Wald's interval around the slope.
    slope = float(coefficients[1]) / spread
    slope_variance = float(covariance[1, 1])  # of the slope on standardized scores
    standard_error = sqrt(slope_variance) / spread
    margin = NORMAL_QUANTILE * standard_error
    return CalibrationSlope(slope, (slope - margin, slope + margin))


def _fit_by_maximum_likelihood(design: Floats, is_positive: Bools) -> tuple[Floats, Floats]:
    """Logistic regression without a penalty, by Newton's method with steps of limited size.

    Parameters
    ----------
    design : (samples, terms)
    is_positive : which samples are positive, (samples,)

    Returns
    -------
    coefficients : (terms,)
    information : Fisher's information matrix at the coefficients before the last, tiny step,
        (terms, terms)
    """
    coefficients = np.zeros(design.shape[1])
    for _ in range(MAX_SLOPE_STEPS):
        probabilities = sigmoid(design @ coefficients)
        gradient = design.T @ (is_positive - probabilities)  # of the log-likelihood
        variances = probabilities * (1 - probabilities)
        information = design.T @ (design * variances[:, None])
        step = np.linalg.solve(information, gradient)

        # Shorten a step that is larger than LARGEST_STEP, so that it does not overshoot.
        step_size = float(np.abs(step).max())
        factor = min(1.0, LARGEST_STEP / max(step_size, SMALLEST_STEP))
        coefficients += step * factor
        if step_size < SMALLEST_STEP:
            break
    return coefficients, information


def scores_overlap(scores: Floats, is_positive: Bools) -> bool:
    """Whether no threshold separates the classes, in either order, samples on it left aside."""
    if is_positive.all() or not is_positive.any():
        return False
    positive_scores = scores[is_positive]
    negative_scores = scores[~is_positive]
    some_above = positive_scores.max() > negative_scores.min()
    some_below = positive_scores.min() < negative_scores.max()
    return bool(some_above and some_below)
