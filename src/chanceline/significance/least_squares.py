"""Least squares of the labels on a few columns, beside what blocks and covariates explain; and the
errors of its fit at the best threshold.
"""

from __future__ import annotations

import numpy as np

from chanceline._arrays import Floats, Ints
from chanceline.columns.table import AnyTable
from chanceline.select.thresholds import sweep_thresholds
from chanceline.significance.arrays import ROUNDING_TOLERANCE
from chanceline.significance.outliers import clip_outliers
from chanceline.significance.path_columns import ForwardColumns


def fewest_threshold_errors(scores: Floats, labels: Floats, intercept: bool) -> Ints:
    """The fewest errors of "positive if the score is above a threshold", for every row: (rows,).

    Parameters
    ----------
    scores : (rows, samples)
    labels : (rows, samples) ±1.
    intercept : whether the threshold is free; it is 0 otherwise.
    """
    tolerance = ROUNDING_TOLERANCE * np.abs(scores).max(axis=1, initial=0.0, keepdims=True)
    if not intercept:
        return np.count_nonzero(labels * scores <= tolerance, axis=1)
    # errors[:, i] are those of a threshold above the i smallest scores: (rows, samples + 1).
    sorted_scores, errors = sweep_thresholds(scores, labels)
    # No threshold lies between equal scores. These get more errors than there are samples, so that
    # they are never the fewest.
    is_tied = np.diff(sorted_scores, axis=1) <= tolerance
    errors_between_scores = errors[:, 1:-1]  # a view; without those below and above all scores
    errors_between_scores[is_tied] = scores.shape[1] + 1
    fewest: Ints = errors.min(axis=1)
    return fewest


def least_squares_weights(columns: ForwardColumns, X: AnyTable, y: Floats, support: Ints) -> Floats:
    """Weights of the labels' least squares fit on some columns of X, clipped as the path sees them.

    Parameters
    ----------
    columns : the path's columns, which know blocks and covariates.
    X, y : (samples, features) and the labels ±1 of the samples.
    support : indices of columns of X.

    Returns
    -------
    (columns of the support,) in the units of X.
    """
    values = X[:, support].astype(float)
    if columns.intercept:
        values = clip_outliers(values)
    predictors = columns.residuals(values.T).T
    target = columns.residuals(y[None])[0]
    return np.linalg.lstsq(predictors, target, rcond=None)[0]


def errors_with_design(columns: ForwardColumns, X: AnyTable, y: Floats, support: Ints) -> int:
    """Errors of least squares on some columns of X together with the blocks and covariates.

    The columns have the weights of `least_squares_weights` but are not clipped, and the threshold
    is the best one.
    """
    weights = least_squares_weights(columns, X, y, support)
    predictors = columns.residuals(X[:, support].T.astype(float)).T
    explained_by_design = y - columns.residuals(y[None])[0]
    scores = explained_by_design + predictors @ weights
    return int(fewest_threshold_errors(scores[None], y[None], columns.intercept)[0])
