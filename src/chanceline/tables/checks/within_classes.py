"""Features without the difference between the classes, and shuffles that keep the classes.

What is left within the classes shows what else the features follow: batches, the order of the rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from chanceline._arrays import Floats
from chanceline.columns.table import AnyTable

MOST_COLUMNS_USED = 3000  # of wider tables, evenly spaced
LARGEST_DEVIATION = 3.0  # standard deviations; what lies beyond counts as if it lay there
SMALLEST_RELATIVE_SPREAD = 1e-9  # of a column's largest value; less is rounding
SHUFFLE_SEED = 0  # the same table gets the same warnings


def evenly_spaced_columns(X: AnyTable, most_columns: int = MOST_COLUMNS_USED) -> Floats:
    """Every k-th column of X (samples, features), with the smallest k that leaves at most
    `most_columns`.
    """
    step = -(-X.shape[1] // most_columns)  # rounded up
    return X[:, ::step]


def centred_within(X: Floats, part_of_row: NDArray[np.int64]) -> Floats:
    """The columns centred within parts of the rows (classes or blocks), of the shape of X.

    The rows of a part lose the mean of their column over these rows.

    Parameters
    ----------
    X : numbers of shape (samples, features).
    part_of_row : (samples,) the part that each row belongs to, numbered 0, 1, …
    """
    centred = np.array(X, dtype=np.float64)
    for part in np.unique(part_of_row):
        in_part = part_of_row == part
        centred[in_part] -= centred[in_part].mean(axis=0)
    return centred


def size_of_smaller_class(y: Floats) -> int:
    """The number of samples in the smaller class, of labels ±1 of shape (samples,)."""
    n_positives = int(np.sum(y > 0))
    return min(n_positives, len(y) - n_positives)


def class_of_rows(y: Floats) -> NDArray[np.int64]:
    """The classes numbered 0 and 1, of labels ±1 of shape (samples,)."""
    return (y > 0).astype(np.int64)


def standardized_within_classes(X: AnyTable, y: Floats) -> Floats:
    """Features without the difference between the classes, standardized: (samples, columns).

    They have mean 0 in each class, and variance 1 before extreme values are clipped. Columns that
    are constant within the classes are left out, and of very wide tables evenly spaced columns
    are taken.

    Parameters
    ----------
    X : numbers of shape (samples, features).
    y : labels ±1 of shape (samples,).
    """
    some_columns = evenly_spaced_columns(X)
    class_of_row = class_of_rows(y)
    centred = centred_within(some_columns, class_of_row)
    spread = centred.std(axis=0)
    # A spread that is tiny beside the values of the column is rounding.
    largest_magnitudes = np.abs(some_columns).max(axis=0, initial=0.0)
    varies = spread > SMALLEST_RELATIVE_SPREAD * largest_magnitudes
    scaled = centred[:, varies] / spread[varies]
    clipped = np.clip(scaled, -LARGEST_DEVIATION, LARGEST_DEVIATION)
    # Clipping has moved the class means a little away from 0, so they are subtracted again.
    return centred_within(clipped, class_of_row)


def shuffles_within_classes(y: Floats, n_shuffles: int) -> NDArray[np.int64]:
    """Permutations of the row numbers that shuffle rows only within the classes y = ±1: (shuffles,
    samples).
    """
    rng = np.random.default_rng(SHUFFLE_SEED)
    orders = np.tile(np.arange(len(y)), (n_shuffles, 1))
    for sign in (-1.0, 1.0):
        places = np.flatnonzero(y == sign)
        orders[:, places] = rng.permuted(orders[:, places], axis=1)
    return orders


def shuffle_pvalue(observed: float, shuffled: Floats) -> float:
    """The p-value of a permutation test: the share of statistics at least as large as the observed
    one, which is counted among them.
    """
    n_as_large = int(np.sum(shuffled >= observed))
    return (1 + n_as_large) / (1 + len(shuffled))
