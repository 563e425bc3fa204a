"""Features that drift along the order of the rows, in a table whose labels stand in runs.

Rows in the order of their measurement carry whatever drifted meanwhile: an instrument, a reagent, a
hand. Where the classes were measured one after the other the drift tells them apart. The
drift is looked for within the classes, where real differences between them do not matter: it must
be the same in both, and the classes must differ as it predicts.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from chanceline._arrays import Bools, Floats
from chanceline.columns.table import AnyTable
from chanceline.tables.checks.within_classes import (
    centred_within,
    class_of_rows,
    evenly_spaced_columns,
    shuffle_pvalue,
    shuffles_within_classes,
    size_of_smaller_class,
    standardized_within_classes,
)
from chanceline.tables.dataset import Dataset, Finding

DRIFT_LEVEL = 0.002  # p-value up to which features are said to drift
N_SHUFFLES = 999
FEWEST_ROWS_OF_CLASS = 6  # fewer have too few orders
# Cosine between the differences of the classes and those that the drift predicts. Of tables of gene
# expression sorted by class, whose features often drift too, it was below 0.2.
SMALLEST_LIKENESS = 0.4
ALONG_THE_ROWS = 0.9  # correlation of ranks from which on a column is the order of the rows
RUNS_TOO_FEW = 3.0  # standard deviations below the number of runs of shuffled labels


def warn_of_drift_along_rows(X: AnyTable, y: Floats) -> list[Finding]:
    """A warning if the difference between the classes may be a drift along the rows.

    That is so if rows of one label stand together in runs, the features drift along the rows in
    both classes alike, and the classes differ as the drift predicts.

    Parameters
    ----------
    X : numbers in the order of the table, (samples, features).
    y : labels ±1 in the same order, (samples,).
    """
    if size_of_smaller_class(y) < FEWEST_ROWS_OF_CLASS or not labels_stand_in_runs(y):
        return []
    if likeness_to_drift(X, y) < SMALLEST_LIKENESS:
        return []
    pvalue = drift_pvalue(X, y)
    if pvalue > DRIFT_LEVEL:
        return []
    return [
        Finding.warning(
            "the labels stand in runs, and the features drift along the rows, in both classes "
            f"alike (p = {pvalue:.1g}) and towards the difference between the classes; if rows are "
            "in the order of their measurement, add that order as a column and set adjust=COLUMN, "
            "or runs with both classes and set blocks=COLUMN."
        )
    ]


def is_in_order_of_rows(values: NDArray[Any]) -> bool:
    """Whether the numbers of a column rise or fall along the rows, or nearly so.

    The measure is the rank correlation with the row numbers. Cells that are no numbers do not
    count.
    """
    numbers = pd.to_numeric(pd.Series(values), errors="coerce")
    ranks = numbers.rank()
    if ranks.nunique() < 2:
        return False
    correlation = ranks.corr(pd.Series(np.arange(len(ranks), dtype=np.float64)))
    return bool(abs(correlation) >= ALONG_THE_ROWS)


def order_is_allowed_for(data: Dataset) -> bool:
    """Whether the test already takes a possible drift along the rows into account: by blocks,
    pairs, or a covariate that rises or falls with the rows.
    """
    if data.blocks is not None or data.pairs is not None:
        return True
    return any(is_in_order_of_rows(values) for values in (data.covariates or {}).values())


def labels_stand_in_runs(y: Floats) -> bool:
    """Whether neighbouring rows have the same label far more often than by chance.

    y holds labels ±1, n₊ and n₋ of each class, n in all. For shuffled labels, the number of changes
    of the label from row to row has mean m = 2 n₊ n₋/n and variance m (m − 1)/(n − 1) (Wald and
    Wolfowitz). Labels stand in runs if there are `RUNS_TOO_FEW` standard deviations fewer.
    """
    n_samples = len(y)
    n_positives = int(np.sum(y > 0))
    n_changes = int(np.sum(y[1:] != y[:-1]))
    mean = 2 * n_positives * (n_samples - n_positives) / n_samples
    variance = mean * (mean - 1) / (n_samples - 1)
    return n_changes < mean - RUNS_TOO_FEW * sqrt(max(variance, 0.0))


def drift_pvalue(X: AnyTable, y: Floats) -> float:
    """The p-value of the hypothesis that features do not drift alike in both classes.

    It is a permutation test, which shuffles rows within the classes. The statistic is the product
    of a feature's slopes along the positive and along the negative rows, summed over features. Up
    to a factor it is Σ_ik t_i (x_i·x_k) t_k, with positive rows i and negative rows k, the features
    x of a row, and the place t of the row in the table, centred in the class.

    Parameters
    ----------
    X : numbers in the order of the table, (samples, features).
    y : labels ±1 in the same order, (samples,).
    """
    values = standardized_within_classes(X, y)
    is_positive = y > 0
    products = values[is_positive] @ values[~is_positive].T  # x_i·x_k, (positives, negatives)

    # The places of the rows: first as observed, then shuffled.
    observed_places = np.arange(len(y), dtype=np.float64)
    shuffled_places = observed_places[shuffles_within_classes(y, N_SHUFFLES)]
    places = np.vstack([observed_places, shuffled_places])  # (1 + shuffles, samples)
    positive_places = _centred_rows(places[:, is_positive])  # t_i, (1 + shuffles, positives)
    negative_places = _centred_rows(places[:, ~is_positive])  # t_k, (1 + shuffles, negatives)

    statistics = np.sum((positive_places @ products) * negative_places, axis=1)
    return shuffle_pvalue(float(statistics[0]), statistics[1:])


def _centred_rows(values: Floats) -> Floats:
    """A matrix whose rows have the mean 0."""
    return values - values.mean(axis=1, keepdims=True)


def likeness_to_drift(X: AnyTable, y: Floats) -> float:
    """The cosine, over features, between the observed differences of the class means and those that
    a drift along the rows predicts.

    The predicted difference is a feature's slope along the rows, within the classes, times the
    distance between the classes' mean places in the table.

    Parameters
    ----------
    X : numbers in the order of the table, (samples, features).
    y : labels ±1 in the same order, (samples,).
    """
    columns = evenly_spaced_columns(X)
    class_of_row = class_of_rows(y)
    is_positive = y > 0
    # The observed differences, in standard deviations within the classes.
    spread = centred_within(columns, class_of_row).std(axis=0)
    # Dividing by infinity turns a column that is constant within the classes into zeros.
    divisors = np.where(spread > 0, spread, np.inf)
    observed = _difference_of_means(columns, is_positive) / divisors  # (features,)

    # The predicted differences: slope times distance of the classes' mean places.
    places = np.arange(len(y), dtype=np.float64)
    places_in_class = centred_within(places[:, None], class_of_row)[:, 0]
    sum_of_squares = places_in_class @ places_in_class
    slopes = places_in_class @ (columns / divisors) / sum_of_squares  # (features,)
    distance = _difference_of_means(places, is_positive)
    predicted = slopes * distance  # (features,)

    product_of_lengths = float(np.linalg.norm(observed) * np.linalg.norm(predicted))
    if product_of_lengths == 0:
        return 0.0  # no differences, or no drift
    return float(observed @ predicted) / product_of_lengths


def _difference_of_means(values: Floats, is_positive: Bools) -> Floats:
    """The mean of the positive rows minus that of the negative ones, over the first axis."""
    return values[is_positive].mean(axis=0) - values[~is_positive].mean(axis=0)
