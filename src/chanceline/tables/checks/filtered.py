"""Features that were chosen by the labels beforehand: none of them looks like noise.

The p-values of single features that have nothing to do with the labels are spread evenly from 0 to
1. Those of the best of many fill the range up to a limit, and above it there are none.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import stdtr

from chanceline._arrays import Floats
from chanceline.columns.table import ColumnTable
from chanceline.tables.checks.within_classes import (
    SHUFFLE_SEED,
    evenly_spaced_columns,
    shuffle_pvalue,
)
from chanceline.tables.dataset import Finding

FEWEST_COLUMNS = 20  # fewer may all be good ones
FEWEST_ROWS = 8
LARGE_PVALUE = 0.5
# Columns that look like noise have large p-values. Up to this share of all columns, they are so few
# that the columns look selected.
LARGEST_NOISE_SHARE = 0.02
# Of evenly spread numbers below a limit the quartile is 3/4 of it. Those of features that are good
# by themselves differ by orders of magnitude, and few are near the largest.
SMALLEST_QUARTILE_SHARE = 0.3  # of the limit
LIMIT_QUANTILE = 0.95  # the quantile that is taken for the limit
FILTER_LEVEL = 0.01  # p-value up to which the lack of large p-values is no accident
N_SHUFFLES = 199


class SpreadOfPvalues(NamedTuple):
    """The p-values of the columns, one by one.

    Attributes
    ----------
    share_of_large : share of them above `LARGE_PVALUE`.
    upper_quartile : their quantile 0.75.
    limit : their quantile 0.95, up to which p-values of selected columns are spread evenly.
    """

    share_of_large: float
    upper_quartile: float
    limit: float


def warn_of_filtered_features(X: Floats, y: Floats) -> list[Finding]:
    """Ask whether the features were selected by the labels, if that is what they look like.

    The question is a warning. It is asked if hardly any column looks like noise, and the columns'
    p-values fill a range up to a limit.

    Parameters
    ----------
    X : numbers of shape (samples, features).
    y : labels ±1 of shape (samples,).
    """
    values = _unit_columns(X)  # (samples, columns that vary)
    correlations = _correlations(values, y)
    spread = _spread_if_columns_look_selected(correlations, len(y))
    if spread is None or _chance_of_no_noise(values, y) > FILTER_LEVEL:
        return []
    return [_question_of_filter(spread, n_columns=len(correlations))]


def warn_of_filtered_table(X: ColumnTable, y: Floats, correlations: Floats) -> list[Finding]:
    """Ask whether the features of a table that is not in memory were selected by the labels.

    The question is a warning. All columns are judged by their correlations, and some of them are
    read for a permutation test.

    Parameters
    ----------
    X : numbers of shape (samples, features).
    y : labels ±1 of shape (samples,).
    correlations : the correlation with the labels of each column that is not constant, (columns,).
    """
    spread = _spread_if_columns_look_selected(correlations, len(y))
    if spread is None:
        return []
    some_columns = _unit_columns(evenly_spaced_columns(X))
    if _chance_of_no_noise(some_columns, y) > FILTER_LEVEL:
        return []
    return [_question_of_filter(spread, n_columns=len(correlations))]


def _spread_if_columns_look_selected(
    correlations: Floats, n_samples: int
) -> SpreadOfPvalues | None:
    """How the columns' p-values are spread, if the columns look selected; None if they do not.

    Columns that were selected by the labels have p-values spread evenly from 0 to a limit, and
    hardly any above it.

    Parameters
    ----------
    correlations : the correlation with the labels of each column that is not constant, (columns,).
    n_samples : the number of samples.
    """
    if len(correlations) < FEWEST_COLUMNS or n_samples < FEWEST_ROWS:
        return None
    spread = _spread_of_pvalues(correlations, n_samples)

    # With more than a few large p-values, some columns look like noise: nothing was selected.
    if spread.share_of_large > LARGEST_NOISE_SHARE:
        return None

    # If p-values are spread evenly up to the limit, their upper quartile is about 3/4 of it. A much
    # smaller quartile means that most p-values are tiny, as those of features that are good by
    # themselves.
    if spread.upper_quartile < SMALLEST_QUARTILE_SHARE * spread.limit:
        return None
    return spread


def _question_of_filter(spread: SpreadOfPvalues, n_columns: int) -> Finding:
    """The question whether the features were chosen by the labels.

    Parameters
    ----------
    spread : the p-values of the columns.
    n_columns : the number of columns that are not constant.
    """
    return Finding.warning(
        f"hardly any of the {n_columns} columns looks like noise: 95 % of their p-values, one "
        f"by one, are below {spread.limit:.2g} and fill the range up to it, as those of "
        "features that were chosen by these labels; if they were, give all features, or say "
        "from how many they were chosen with candidates=NUMBER."
    )


def _unit_columns(X: Floats) -> Floats:
    """The columns that vary, of mean 0 and length 1."""
    centred = X - X.mean(axis=0)
    lengths = np.sqrt(np.einsum("ij,ij->j", centred, centred))
    varies = lengths > 0
    return centred[:, varies] / lengths[varies]


def _correlations(values: Floats, y: Floats) -> Floats:
    """Correlations of the columns with labels, of shape (columns,), or (labellings, columns).

    Parameters
    ----------
    values : columns of mean 0 and length 1, of shape (samples, columns).
    y : labels ±1 of shape (samples,), or several labellings of shape (labellings, samples) with the
        same number of positives in each.
    """
    # The length of the centred labels, √n times their standard deviation, is the same for all
    # labellings. The labels need not be centred, as the columns are.
    length_of_labels = np.sqrt(y.shape[-1]) * y.std()
    return y @ values / length_of_labels


def _spread_of_pvalues(correlations: Floats, n_samples: int) -> SpreadOfPvalues:
    """How the columns' p-values are spread, of two-sided t tests of each column with the labels.

    With n samples, the correlation r of a column with the labels gives the statistic
    t = |r| √(n − 2)/√(1 − r²) with n − 2 degrees of freedom.

    Parameters
    ----------
    correlations : r, of shape (columns,).
    n_samples : n.
    """
    degrees_of_freedom = n_samples - 2
    magnitudes = np.abs(correlations)
    # 1 − r², kept above 0 because the next line divides by it.
    unexplained = np.maximum(1 - magnitudes**2, np.finfo(float).eps ** 2)
    t_statistics = magnitudes * np.sqrt(degrees_of_freedom / unexplained)
    pvalues = 2 * stdtr(degrees_of_freedom, -t_statistics)
    upper_quartile, limit = np.quantile(pvalues, [0.75, LIMIT_QUANTILE])
    return SpreadOfPvalues(
        share_of_large=float(np.mean(pvalues > LARGE_PVALUE)),
        upper_quartile=float(upper_quartile),
        limit=float(limit),
    )


def _chance_of_no_noise(values: Floats, y: Floats) -> float:
    """The p-value of the lack of columns that look like noise, by a permutation test.

    Shuffling the labels takes into account that columns depend on each other. The statistic is the
    correlation (without its sign) that all but a few columns exceed, a share of
    `LARGEST_NOISE_SHARE`.

    Parameters
    ----------
    values : columns of mean 0 and length 1, of shape (samples, columns).
    y : labels ±1 of shape (samples,).
    """
    rng = np.random.default_rng(SHUFFLE_SEED)
    shuffled = rng.permuted(np.tile(y, (N_SHUFFLES, 1)), axis=1)
    labellings = np.vstack([y, shuffled])  # (1 + shuffles, samples), the observed labels first
    correlations = np.abs(_correlations(values, labellings))  # (1 + shuffles, columns)
    weakest_correlations = np.quantile(correlations, LARGEST_NOISE_SHARE, axis=1)
    return shuffle_pvalue(float(weakest_correlations[0]), weakest_correlations[1:])
