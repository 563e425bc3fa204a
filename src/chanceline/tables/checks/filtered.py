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
    columns_in_steps,
    shuffle_pvalue,
)
from chanceline.tables.dataset import Finding

FEWEST_COLUMNS = 20  # fewer may all be good ones
FEWEST_ROWS = 8
LARGE_PVALUE = 0.5
MOST_LARGE = 0.02  # share of the columns with large p-values up to which none looks like noise
# Of evenly spread numbers below a limit the quartile is 3/4 of it. Those of features that are good
# by themselves differ by orders of magnitude, and few are near the largest.
SMALLEST_QUARTILE = 0.3  # of the upper end
UPPER_END = 0.95  # the quantile that is taken for the limit
FILTER_LEVEL = 0.01  # p-value up to which the lack of large p-values is no accident
N_SHUFFLES = 199


class SpreadOfPvalues(NamedTuple):
    """The p-values of the columns, one by one.

    Attributes
    ----------
    share_large : share of them above `LARGE_PVALUE`.
    upper_quartile, upper_end : quantiles 0.75 and 0.95.
    """

    share_large: float
    upper_quartile: float
    upper_end: float


def warn_of_filtered_features(X: Floats, y: Floats) -> list[Finding]:
    """A question, if no column looks like noise and the p-values fill a range up to a limit.

    Parameters
    ----------
    X, y : numbers of shape (samples, features), and labels ±1 of shape (samples,).
    """
    values = _unit_columns(X)  # (samples, columns that vary)
    correlations = _correlations(values, y)
    spread = _spread_if_filtered(correlations, len(y))
    if spread is None or _chance_of_few_large(values, y) > FILTER_LEVEL:
        return []
    return [_question_of_filter(spread, n_columns=len(correlations))]


def warn_of_filtered_table(X: ColumnTable, y: Floats, correlations: Floats) -> list[Finding]:
    """The same question about a table that is not in memory; some of its columns are shuffled.

    Parameters
    ----------
    X, y : numbers of shape (samples, features), and labels ±1 of shape (samples,).
    correlations : of the columns that vary with the labels, of shape (varying columns,).
    """
    spread = _spread_if_filtered(correlations, len(y))
    if spread is None:
        return []
    some_columns = _unit_columns(columns_in_steps(X))
    if _chance_of_few_large(some_columns, y) > FILTER_LEVEL:
        return []
    return [_question_of_filter(spread, n_columns=len(correlations))]


def _spread_if_filtered(correlations: Floats, n_samples: int) -> SpreadOfPvalues | None:
    """How the p-values of the columns are spread, if none of them looks like noise; else None.

    Parameters
    ----------
    correlations : of the columns that vary with the labels, of shape (varying columns,).
    n_samples : labels.
    """
    if len(correlations) < FEWEST_COLUMNS or n_samples < FEWEST_ROWS:
        return None
    spread = _spread_of_pvalues(correlations, n_samples)
    if spread.share_large > MOST_LARGE:
        return None
    if spread.upper_quartile < SMALLEST_QUARTILE * spread.upper_end:
        return None
    return spread


def _question_of_filter(spread: SpreadOfPvalues, n_columns: int) -> Finding:
    """Whether the features were chosen by the labels."""
    return Finding.warning(
        f"hardly any of the {n_columns} columns looks like noise: 95 % of their p-values, one "
        f"by one, are below {spread.upper_end:.2g} and fill the range up to it, as those of "
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
    y : labels of shape (samples,) or (labellings, samples), equally many positives in each.
    """
    length_of_labels = np.sqrt(y.shape[-1]) * y.std()
    return y @ values / length_of_labels


def _spread_of_pvalues(correlations: Floats, n_samples: int) -> SpreadOfPvalues:
    """How the two-sided p-values of t tests of the columns are spread.

    Over n samples, the correlation r of a column with the labels gives t = r √(n − 2)/√(1 − r²).

    Parameters
    ----------
    correlations : r, of shape (columns,).
    n_samples : n.
    """
    degrees_of_freedom = n_samples - 2
    magnitudes = np.abs(correlations)
    # 1 − r², and no less than a number that stands for rounding, so that nothing is divided by 0.
    unexplained = np.maximum(1 - magnitudes**2, np.finfo(float).eps ** 2)
    t_statistics = magnitudes * np.sqrt(degrees_of_freedom / unexplained)
    pvalues = 2 * stdtr(degrees_of_freedom, -t_statistics)
    upper_quartile, upper_end = np.quantile(pvalues, [0.75, UPPER_END])
    return SpreadOfPvalues(
        share_large=float(np.mean(pvalues > LARGE_PVALUE)),
        upper_quartile=float(upper_quartile),
        upper_end=float(upper_end),
    )


def _chance_of_few_large(values: Floats, y: Floats) -> float:
    """The p-value of the typical correlation, by shuffled labels; columns may depend on each other.

    The statistic is the correlation that all but a few columns (`MOST_LARGE`) exceed.
    """
    rng = np.random.default_rng(SHUFFLE_SEED)
    shuffled = rng.permuted(np.tile(y, (N_SHUFFLES, 1)), axis=1)
    labellings = np.vstack([y, shuffled])
    correlations = np.abs(_correlations(values, labellings))  # (labellings, columns)
    weakest = np.quantile(correlations, MOST_LARGE, axis=1)
    return shuffle_pvalue(float(weakest[0]), weakest[1:])
