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
from chanceline.tables.checks.within_classes import columns_in_steps
from chanceline.tables.dataset import Finding

FEWEST_COLUMNS_A_ROW = 2  # of fewer columns rows are combined to nearly nothing by accident
MOST_ROWS = 500  # of a table that is looked at
MOST_BATCHES = 10
FEWEST_ROWS_A_BATCH = 4  # on average
VARIANCE_TOO_SMALL = 0.3  # of a combination, as a share of the next larger one
# Rows of one batch and class have one weight. Its twin must be so much nearer to a row than the
# nearest row of the other class, …
TWIN_DISTANCE = 0.3
# … for so many rows.
SHARE_WITH_TWIN = 0.9


def warn_of_corrected_batches(X: AnyTable, y: Floats) -> list[Finding]:
    """A warning if the features seem to have been corrected for batches by a method that preserved
    the labels.

    Such a correction regresses every feature on batches and labels, and subtracts the part of the
    batches. If a corrected feature were regressed in the same way again, its part of the batches
    would be 0. That is one linear equation in its samples for each difference between two batches,
    and b batches have b − 1 independent differences. So some combinations of rows (weighted sums of
    them) hardly vary over the features, one fewer than there were batches. If the labels were used,
    the weight of a row depends on its class, and not on its batch alone.

    Parameters
    ----------
    X : numbers of shape (samples, features).
    y : labels ±1 of shape (samples,).
    """
    # Only tables with more columns than rows show this trace: with few columns, some combinations
    # of rows hardly vary by chance. Very many rows would take too long.
    n_samples, n_columns = X.shape
    if n_samples > MOST_ROWS or n_columns < FEWEST_COLUMNS_A_ROW * n_samples:
        return []

    weights = vanishing_combinations(X)  # of each row in each combination, (samples, combinations)
    n_combinations = weights.shape[1]
    if n_combinations == 0 or not weights_depend_on_class(weights, y):
        return []
    return [
        Finding.warning(
            f"the features look as if {n_combinations + 1} batches had been taken out with the "
            "labels kept, which makes noise look like structure; give the table before that, with "
            "the batches as blocks=COLUMN or adjust=COLUMN."
        )
    ]


def vanishing_combinations(X: AnyTable) -> Floats:
    """The weights of combinations of rows that hardly vary over the features, of shape (samples,
    combinations); no combinations if there is no gap in the variances.

    The combinations are eigenvectors of XXᵀ, where the features X are standardized. The eigenvalue
    is the sum of squares of the combination over the features, here called its variance. Only the
    combinations whose variances lie below a gap in the ordered variances are returned.
    """
    n_samples = len(X)
    columns = columns_in_steps(X)
    centred = columns - columns.mean(axis=0)
    spread = centred.std(axis=0)
    varies = spread > 0
    standardized = centred[:, varies] / spread[varies]
    products = standardized @ standardized.T  # XXᵀ, (samples, samples)
    total_variance = float(np.trace(products))  # the sum of all eigenvalues

    # The columns have mean 0, so the sum of all rows is 0 in every table and must not count. Adding
    # total_variance/n to all products changes its eigenvalue from 0 to the total variance, which is
    # the largest possible, and changes no other eigenvalue.
    variances, weights = np.linalg.eigh(products + total_variance / n_samples)  # ascending

    # Variances below this are rounding errors, and ratios of them would be no gaps.
    rounding = np.finfo(float).eps * n_samples * total_variance
    most_combinations = min(MOST_BATCHES - 1, n_samples // FEWEST_ROWS_A_BATCH)
    # One more variance than combinations: the gap may lie just above the last combination.
    smallest_variances = np.maximum(variances[: most_combinations + 1], rounding)
    n_combinations = _n_below_last_gap(smallest_variances)
    return weights[:, :n_combinations]


def _n_below_last_gap(variances: Floats) -> int:
    """How many of the ascending variances lie below the last gap; 0 if there is no gap.

    A gap is where a variance is at most `VARIANCE_TOO_SMALL` times the next one.
    """
    is_gap = variances[:-1] <= VARIANCE_TOO_SMALL * variances[1:]
    if not is_gap.any():
        return 0
    return int(np.flatnonzero(is_gap)[-1]) + 1


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
