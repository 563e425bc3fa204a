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
    n_columns = rows.shape[1]
    if nonnegative:
        # A column whose weight would become negative leaves the support, so columns are added one
        # at a time.
        hinge = make_hinge(rows.T, n_columns, nonnegative=np.ones(n_columns, dtype=np.bool_))
        separable = add_greedily(hinge)
    else:
        # "Unpenalized" columns belong to every support: declared so, all are fitted at once.
        hinge = make_hinge(rows.T, n_columns, n_unpenalized=n_columns)
        separable = fit(hinge)
    # The workspace lists the weights in the order of its support; other columns have weight zero.
    weights = np.zeros(n_columns)
    weights[hinge.support] = hinge.weights
    return separable, weights


def add_greedily(hinge: Hinge) -> bool:
    """Add columns to the support one by one, each time the most promising one, and refit.

    The most promising column has the largest screening score: its product with the present slack,
    1 − margin of each active sample. The search ends when all margins are positive, when no column
    helps, or when the support is full. Returns whether all margins are positive.

    hinge : the workspace of the fit; its support and weights are changed.
    """
    separable = False
    if hinge.data.n_unpenalized:
        separable = fit(hinge)

    # A column whose weight must not be negative may leave the support in the very fit that added
    # it. The column is not tried again until another one has stayed; otherwise rounding could make
    # it come and go forever.
    has_left = np.zeros(hinge.state.position.size, dtype=np.bool_)  # (columns,)
    capacity = hinge.state.support.size
    for _ in range(MAX_ADDITIONS_PER_COLUMN * capacity):
        if separable or hinge.size == capacity:
            break
        # The score −1 keeps a column from being chosen.
        scores = np.where(has_left, np.float32(-1.0), screening_scores(hinge))
        best_column = int(np.argmax(scores))
        if scores[best_column] <= NO_CORRELATION:
            break
        separable = fit(hinge, add=best_column)
        has_stayed = hinge.state.position[best_column] >= 0  # −1 off the support
        if has_stayed:
            has_left[:] = False
        else:
            has_left[best_column] = True
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
