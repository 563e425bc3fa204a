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
    """Fit the least squared hinge on all columns of the rows a_μ, (patterns, columns).

    Returns whether every margin is positive, and the weights (columns,), none of them negative if
    `nonnegative`.
    """
    n_columns = rows.shape[1]
    if nonnegative:
        # A column that would get a negative weight leaves, so columns are added one at a time.
        hinge = make_hinge(rows.T, n_columns, nonnegative=np.ones(n_columns, dtype=np.bool_))
        separable = add_greedily(hinge)
    else:
        # Unpenalized columns belong to every support: all of them are fitted at once.
        hinge = make_hinge(rows.T, n_columns, n_unpenalized=n_columns)
        separable = fit(hinge)
    weights = np.zeros(n_columns)
    weights[hinge.support] = hinge.weights
    return separable, weights


def add_greedily(hinge: Hinge) -> bool:
    """Add the column of largest screening score and refit, until no column helps.

    Returns whether all margins are positive, which ends it too.
    """
    separable = False
    if hinge.data.n_unpenalized:
        separable = fit(hinge)

    # A column that left at once is not tried again until another has stayed: rounding could send
    # one to and fro.
    has_left = np.zeros(hinge.state.position.size, dtype=np.bool_)
    capacity = hinge.state.support.size
    for _ in range(MAX_ADDITIONS_PER_COLUMN * capacity):
        if separable or hinge.size == capacity:
            break
        scores = np.where(has_left, np.float32(-1.0), screening_scores(hinge))
        best = int(np.argmax(scores))
        if scores[best] <= NO_CORRELATION:
            break
        separable = fit(hinge, add=best)
        has_stayed = hinge.state.position[best] >= 0
        if has_stayed:
            has_left[:] = False
        else:
            has_left[best] = True
    return separable


def screening_scores(hinge: Hinge) -> NDArray[np.float32]:
    """|a_jᵀr| of every column that could enter the support; −1 for the others; shape (columns,).

    r is the slack 1 − a_μ·w of the active patterns. A nonnegative column can only enter with
    a_jᵀr > 0.
    """
    slack = hinge.state.active * (1.0 - hinge.state.margins)
    products = hinge.data.columns_float32 @ slack.astype(np.float32)
    can_enter = (hinge.state.position < 0) & ((products > 0) | ~hinge.data.nonnegative)
    return np.where(can_enter, np.abs(products), np.float32(-1.0))
