"""Batches that were taken out of the features by a method that kept the labels.

Taking out the means of batches in a regression on batches and labels makes the labels look better
than they are, where batches and labels go together. It leaves a trace in tables of more features
than rows: a few combinations of rows, one fewer than there were batches, are (nearly) the same in
all features. The weights of such a combination depend on the batch and on the class of a row alone.
Where the labels were not used they depend on the batch alone.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from chanceline._arrays import Floats
from chanceline.columns.table import AnyTable
from chanceline.tables.checks.within_classes import evenly_spaced_columns
from chanceline.tables.dataset import Finding

FEWEST_COLUMNS_A_ROW = 2  # of fewer columns rows are combined to nearly nothing by accident
MOST_ROWS = 500  # of a table that is looked at
MOST_BATCHES = 10
FEWEST_ROWS_A_BATCH = 4  # on average
SMALL_EIGENVALUE_SHARE = 0.3  # of the next larger eigenvalue
# Rows of one batch and class have one weight. Its twin must be so much nearer to a row than the
# nearest row of the other class, …
TWIN_DISTANCE = 0.3
# … for so many rows.
SHARE_WITH_TWIN = 0.9


def warn_of_corrected_batches(X: AnyTable, y: Floats) -> list[Finding]:
    """A warning if the features seem to have been corrected for batches by a method that preserved
    the labels.

    Such a correction regresses every feature on the batches and the labels, and subtracts the
    estimated effects of the batches. It leaves a trace. In a second regression these estimates
    would be 0. Each estimate is a weighted sum of the rows, with the same weights for all features.
    With b batches there are b − 1 independent estimates, so that b − 1 weighted sums of the rows
    are nearly 0 in all features. If the labels were used, the weight of a row depends on its class,
    and not on its batch alone.

    Parameters
    ----------
    X : numbers of shape (samples, features).
    y : labels ±1 of shape (samples,).
    """
    # The trace shows only in tables with more columns than rows: with few columns, some weighted
    # sums of rows hardly vary by chance. Very many rows would take too long.
    n_samples, n_columns = X.shape
    if n_samples > MOST_ROWS or n_columns < FEWEST_COLUMNS_A_ROW * n_samples:
        return []

    # The weights of the rows in each sum, (samples, sums).
    weights = low_variance_combinations(X)
    n_sums = weights.shape[1]
    if n_sums == 0 or not weights_depend_on_class(weights, y):
        return []
    n_batches = n_sums + 1
    return [
        Finding.warning(
            f"the features look as if {n_batches} batches had been taken out with the "
            "labels kept, which makes noise look like structure; give the table before that, with "
            "the batches as blocks=COLUMN or adjust=COLUMN."
        )
    ]


def low_variance_combinations(X: AnyTable) -> Floats:
    """The weights of weighted sums of rows (combinations) that hardly vary over the features.

    The weights are eigenvectors v of XXᵀ, where the features X are standardized. A weighted sum
    vᵀX has one value for each feature, and its sum of squares is the eigenvalue vᵀXXᵀv. Where the
    eigenvalues, in rising order, jump to a much larger one, all below the jump count as small.

    Returns
    -------
    (samples, combinations) the eigenvectors of the small eigenvalues; no columns if none are small.
    """
    n_samples = len(X)
    columns = evenly_spaced_columns(X)
    centred = columns - columns.mean(axis=0)
    spread = centred.std(axis=0)
    varies = spread > 0
    standardized = centred[:, varies] / spread[varies]
    products = standardized @ standardized.T  # XXᵀ, (samples, samples)
    trace = float(np.trace(products))  # the sum of all eigenvalues

    # The columns have mean 0, so that the sum of all rows is 0 in every table: the vector
    # (1, …, 1) is an eigenvector with eigenvalue 0, and no sign of a correction. Adding trace/n to
    # all entries of the matrix raises this eigenvalue to the trace, the largest possible, and
    # changes no other.
    eigenvalues, eigenvectors = np.linalg.eigh(products + trace / n_samples)  # in rising order

    # Smaller eigenvalues are rounding errors: raised to this bound, they show no jumps among
    # themselves.
    rounding = np.finfo(float).eps * n_samples * trace
    most_combinations = min(MOST_BATCHES - 1, n_samples // FEWEST_ROWS_A_BATCH)
    # One eigenvalue more than combinations: the jump may lie just above the last combination.
    smallest_eigenvalues = np.maximum(eigenvalues[: most_combinations + 1], rounding)
    n_combinations = _n_below_last_jump(smallest_eigenvalues)
    return eigenvectors[:, :n_combinations]


def _n_below_last_jump(eigenvalues: Floats) -> int:
    """How many of the eigenvalues, in rising order, lie below the last jump; 0 without a jump.

    A jump is where an eigenvalue is at most `SMALL_EIGENVALUE_SHARE` times the next one.
    """
    is_jump = eigenvalues[:-1] <= SMALL_EIGENVALUE_SHARE * eigenvalues[1:]
    if not is_jump.any():
        return 0
    return int(np.flatnonzero(is_jump)[-1]) + 1


def weights_depend_on_class(weights: Floats, y: Floats) -> bool:
    """Whether the weights of rows in the combinations depend on the class of the row.

    That is so if nearly every row has a twin: another row of its own class whose weights are much
    nearer than those of any row of the other class.

    Parameters
    ----------
    weights : the weight of each row in each combination, of shape (samples, combinations).
    y : labels ±1 of shape (samples,).
    """
    differences = weights[:, None, :] - weights[None, :, :]  # (samples, samples, combinations)
    distances = np.linalg.norm(differences, axis=2)  # (samples, samples)
    np.fill_diagonal(distances, np.inf)  # no row is its own twin
    is_same_class = y[:, None] == y[None, :]
    to_own_class = _nearest(distances, is_same_class)
    to_other_class = _nearest(distances, ~is_same_class)
    has_twin = to_own_class < TWIN_DISTANCE * to_other_class
    return float(np.mean(has_twin)) >= SHARE_WITH_TWIN


def _nearest(distances: Floats, is_candidate: NDArray[np.bool_]) -> Floats:
    """The distance of each row to the nearest candidate, of shape (samples,)."""
    return np.where(is_candidate, distances, np.inf).min(axis=1)
