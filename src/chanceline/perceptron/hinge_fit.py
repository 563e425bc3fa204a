"""Fits of the squared hinge on all columns, or on those that a greedy choice adds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from chanceline.perceptron.hinge import fit
from chanceline.perceptron.workspace import Hinge, make_hinge

NO_CORRELATION = 1e-7  # screening scores up to this: no column explains what is left over
MAX_ADDITIONS_PER_COLUMN = 4  # nonnegative columns may leave and come back


def fit_hinge(
    rows: NDArray[np.float64], nonnegative: bool = False
) -> tuple[bool, NDArray[np.float64]]:
    """Fit the squared hinge on all columns of the rows a_μ = y_μ x_μ, (patterns, columns).

    Returns whether every margin a_μ·w is positive, and the weights w, (columns,). With
    `nonnegative` the fit keeps all weights from being negative.
    """
    # `make_hinge` allocates a workspace, and the fit leaves its result there: the support (the list
    # of columns in use), and the weights of these columns. Both kinds of fit return whether all
    # margins are positive.
    n_columns = rows.shape[1]
    if nonnegative:
        # Start with an empty support and add columns one at a time. A column whose weight would
        # become negative leaves the support again.
        every_column = np.ones(n_columns, dtype=np.bool_)
        hinge = make_hinge(rows.T, n_columns, nonnegative=every_column)
        separable = add_greedily(hinge)
    else:
        # Fit all columns at once. For this all are declared to be "unpenalized", which means only
        # that they belong to the support from the start.
        hinge = make_hinge(rows.T, n_columns, n_unpenalized=n_columns)
        separable = fit(hinge)

    # From the order of the support to that of the columns; columns not in use have weight zero.
    weights = np.zeros(n_columns)
    weights[hinge.support] = hinge.weights
    return separable, weights


def add_greedily(hinge: Hinge) -> bool:
    """Add columns to the support one by one, each time the most promising one, and refit.

    The support is the list of columns that have weights in the fit. The most promising column is
    the one along which the loss falls fastest: it has the largest screening score |Σ_μ a_μj r_μ|,
    where r_μ = 1 − margin for samples whose margin is below 1, and 0 for the others. (The score of
    columns in the support is −1, so that they are not chosen.)

    The search ends when all margins are positive, when no column promises anything, or when the
    support is full. Returns whether all margins are positive.

    hinge : the workspace of the fit; its support and weights are changed.
    """
    separable = False
    if hinge.data.n_unpenalized:
        separable = fit(hinge)  # on the columns that belong to every support

    # A column whose weight must not be negative may leave the support in the very fit that added
    # it. Such a column is excluded until another one has stayed; otherwise rounding could make it
    # come and go forever.
    n_columns = hinge.state.position.size
    is_excluded = np.zeros(n_columns, dtype=np.bool_)
    capacity = hinge.state.support.size
    for _ in range(MAX_ADDITIONS_PER_COLUMN * capacity):
        if separable or hinge.size == capacity:
            break

        # Choose a column.
        scores = np.where(is_excluded, np.float32(-1.0), screening_scores(hinge))
        best_column = int(np.argmax(scores))
        if scores[best_column] <= NO_CORRELATION:
            break

        # Add the column to the support, and fit the weights of all columns of the support.
        separable = fit(hinge, add=best_column)
        is_in_support = hinge.state.position[best_column] >= 0  # else −1
        if is_in_support:
            is_excluded[:] = False
        else:
            is_excluded[best_column] = True
    return separable


def screening_scores(hinge: Hinge) -> NDArray[np.float32]:
    """Score every column by |a_j·r|, its product with the slack r; shape (columns,).

    The slack is 1 − margin for active samples and 0 for the others; the loss falls fastest along
    the column of largest score. Columns in the support score −1, and so do nonnegative columns with
    a_j·r ≤ 0, whose weight would become negative. Scores are in single precision.
    """
    slack = hinge.state.active * (1.0 - hinge.state.margins)
    products = hinge.data.columns_float32 @ slack.astype(np.float32)
    is_outside = hinge.state.position < 0  # it has no position in the support
    has_allowed_sign = (products > 0) | ~hinge.data.nonnegative
    return np.where(is_outside & has_allowed_sign, np.abs(products), np.float32(-1.0))
