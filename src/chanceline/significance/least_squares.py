"""Least squares of the labels on a few columns, together with blocks and covariates, and the errors
of this fit at the best threshold.
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
    """The fewest errors of the rule "positive if the score is above a threshold", for every row.

    Each row is a data set of its own, with its own threshold.

    Parameters
    ----------
    scores : (rows, samples)
    labels : (rows, samples) ±1.
    intercept : whether the threshold is free; it is 0 otherwise, and a score of 0 is an error.

    Returns
    -------
    (rows,)
    """
    # Scores that differ by no more than this are equal, up to rounding.
    tolerance = ROUNDING_TOLERANCE * np.abs(scores).max(axis=1, initial=0.0, keepdims=True)
    if not intercept:
        is_wrong = labels * scores <= tolerance
        return np.count_nonzero(is_wrong, axis=1)

    # errors[:, i] is the number of errors with the threshold just above the i smallest scores, for
    # i = 0 … samples: (rows, samples + 1).
    sorted_scores, errors = sweep_thresholds(scores, labels)
    # No threshold lies between two equal scores. There the errors are set to more than the number
    # of samples, so that they are never the fewest.
    n_samples = scores.shape[1]
    is_tied = np.diff(sorted_scores, axis=1) <= tolerance  # (rows, samples − 1)
    errors_between_scores = errors[:, 1:-1]  # a view, without thresholds below or above all scores
    errors_between_scores[is_tied] = n_samples + 1
    fewest: Ints = errors.min(axis=1)
    return fewest


def least_squares_weights(columns: ForwardColumns, X: AnyTable, y: Floats, support: Ints) -> Floats:
    """Least squares weights of the labels on some columns of X, fitted as in the forward path.

    Outliers of the columns are clipped (if there is an intercept), and blocks and covariates are
    projected out of columns and labels.

    Parameters
    ----------
    columns : the path's columns; its `residuals` projects out blocks and covariates.
    X : (samples, features)
    y : (samples,) labels ±1.
    support : indices of columns of X.

    Returns
    -------
    (columns of the support,) for columns in the units of X.
    """
    values = X[:, support].astype(float)
    if columns.intercept:
        values = clip_outliers(values)
    predictors = columns.residuals(values.T).T
    target = columns.residuals(y[None])[0]
    return np.linalg.lstsq(predictors, target, rcond=None)[0]


def errors_with_design(columns: ForwardColumns, X: AnyTable, y: Floats, support: Ints) -> int:
    """Errors of least squares on some columns of X together with blocks and covariates.

    The score of a sample is the fit by blocks and covariates, plus the columns times their weights
    (`least_squares_weights`). The columns are not clipped here, because a rule has to classify the
    samples as they are. The threshold is the one with the fewest errors.

    Parameters
    ----------
    columns : the path's columns; its `residuals` projects out blocks and covariates.
    X : (samples, features)
    y : (samples,) labels ±1.
    support : indices of columns of X.
    """
    weights = least_squares_weights(columns, X, y, support)
    predictors = columns.residuals(X[:, support].T.astype(float)).T
    explained_by_design = y - columns.residuals(y[None])[0]
    scores = explained_by_design + predictors @ weights
    return int(fewest_threshold_errors(scores[None], y[None], columns.intercept)[0])
