"""Columns that were made from an outcome, or chosen by it: a lone one that explains nearly all, or
a table in which no column looks like noise.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from chanceline._arrays import Floats
from chanceline.tables.checks.filtered import (
    FEWEST_COLUMNS,
    FEWEST_ROWS,
    FILTER_LEVEL,
    LARGE_PVALUE,
    LARGEST_NOISE_SHARE,
    LIMIT_QUANTILE,
    N_SHUFFLES,
    SMALLEST_QUARTILE_SHARE,
)
from chanceline.tables.checks.lone_columns import LARGEST_CHANCE, MOST_SUSPECTS
from chanceline.tables.checks.outcome_association import OutcomeAssociation
from chanceline.tables.checks.within_classes import evenly_spaced_columns, shuffle_pvalue
from chanceline.tables.dataset import Finding
from chanceline.tables.wording import quoted

# R² from which on a column may be made from the outcome, if it is so much larger than those of all
# others. An area under the curve of 0.9 beside 0.75, as for two classes, is 0.45 beside 0.18, but
# good markers of a number reach a half and more.
SUSPECT_EXPLAINED = 0.7
FAR_ABOVE_EXPLAINED = 0.3


def warn_of_lone_outcome_columns(
    X: Floats, names: Sequence[str], association: OutcomeAssociation
) -> list[Finding]:
    """Ask whether columns that predict the outcome far better than all others are made from it.

    The question is a warning about one to three columns; there is none if no column stands out.

    Parameters
    ----------
    X : (rows, features)
    names : the names of the features.
    association : R² and tests of columns against the outcome's scores, which are orthonormal
        columns (rows, scores) that stand for the outcome.
    """
    r_squared = association.r_squared(X)  # (features,)
    best_first = np.argsort(-r_squared, kind="stable")
    sorted_r_squared = r_squared[best_first]  # the largest first

    # The first `n_lone` columns stand out. At least one more column follows them.
    n_lone = _n_lone_columns(sorted_r_squared)
    if n_lone == 0:
        return []
    weakest_lone = float(sorted_r_squared[n_lone - 1])
    best_other = float(sorted_r_squared[n_lone])

    # Among many columns, one with so large an R² may be there by chance (Bonferroni).
    pvalue_of_weakest = float(association.normal_pvalues(np.array([weakest_lone]))[0])
    corrected_pvalue = len(sorted_r_squared) * pvalue_of_weakest
    if corrected_pvalue > LARGEST_CHANCE:
        return []
    lone_names = [str(names[column]) for column in best_first[:n_lone].tolist()]
    return [_lone_columns_warning(lone_names, weakest_lone, best_other)]


def _lone_columns_warning(names: list[str], weakest: float, best_other: float) -> Finding:
    """The question about columns that alone go with the outcome.

    Parameters
    ----------
    names : the names of these columns.
    weakest : the smallest R² of these columns.
    best_other : the largest R² of all others.
    """
    subject = f"column {quoted(names)} alone goes"
    if len(names) > 1:
        subject = f"each of the columns {quoted(names)} alone goes"
    return Finding.warning(
        f"{subject} with the outcome (R² {weakest:.2f}), and all others are far "
        f"behind ({best_other:.2f} at most): made from the outcome, or known only after "
        f"it? If so, leave that out (drop={','.join(names)!r})."
    )


def _n_lone_columns(sorted_r_squared: Floats) -> int:
    """How many columns have an R² far above those of all others; 0 if none do.

    `sorted_r_squared` holds the R² of all columns, the largest first: (features,). At least one
    column is not counted.
    """
    most_lone = min(MOST_SUSPECTS, len(sorted_r_squared) - 1)
    for n_lone in range(1, most_lone + 1):
        weakest_lone = sorted_r_squared[n_lone - 1]
        best_other = sorted_r_squared[n_lone]
        is_gap = best_other <= weakest_lone - FAR_ABOVE_EXPLAINED
        if weakest_lone >= SUSPECT_EXPLAINED and is_gap:
            return n_lone
    return 0


def warn_of_columns_filtered_by_outcome(
    X: Floats, association: OutcomeAssociation
) -> list[Finding]:
    """A warning if the features look as if they had been selected by the outcome.

    Each column has a p-value: that of its association with the outcome. Selected columns are those
    whose p-values lie below a limit. So there is a warning if
    1. hardly any column has a large p-value,
    2. the p-values are spread evenly below a limit,
    3. so few columns with large p-values are not there by chance.

    Parameters
    ----------
    X : numbers, (rows, features).
    association : R² and tests of columns against the outcome's scores, which are orthonormal
        columns (rows, scores) that stand for the outcome.
    """
    varies = np.ptp(X, axis=0) > 0
    columns = evenly_spaced_columns(X[:, varies])
    n_rows, n_columns = columns.shape
    if n_columns < FEWEST_COLUMNS or n_rows < FEWEST_ROWS:
        return []

    # 1. Among columns that were not selected some are noise, and about half of these have p-values
    # above `LARGE_PVALUE`, which is 0.5.
    pvalues = association.normal_pvalues(association.r_squared(columns))  # (columns,)
    share_of_large = float(np.mean(pvalues > LARGE_PVALUE))
    if share_of_large > LARGEST_NOISE_SHARE:
        return []

    # 2. The p-values of selected columns are spread evenly below a limit, so that their upper
    # quartile is about 3/4 of it. The p-values of features that are good by themselves differ by
    # orders of magnitude: then the quartile is a small share of the limit. A high quantile is taken
    # for the limit.
    upper_quartile, limit = np.quantile(pvalues, [0.75, LIMIT_QUANTILE])
    if upper_quartile < SMALLEST_QUARTILE_SHARE * limit:
        return []

    # 3. Could so few columns look like noise by chance?
    if _chance_of_no_noise(columns, association) > FILTER_LEVEL:
        return []
    percent_below = 100 * LIMIT_QUANTILE
    return [
        Finding.warning(
            f"hardly any of the {n_columns} columns looks like noise: {percent_below:.0f} % of "
            f"their p-values, one by one, are below {limit:.2g} and fill the range up to it, as "
            "those of features that were chosen by this outcome; if they were, give all features."
        )
    ]


def _chance_of_no_noise(columns: Floats, association: OutcomeAssociation) -> float:
    """The p-value of the lack of columns that look like noise, by a permutation test.

    The statistic is the R² that all but a few columns, a share of `LARGEST_NOISE_SHARE`, exceed.

    Parameters
    ----------
    columns : numbers, (rows, columns).
    association : R² and tests of columns against the outcome's scores, which are orthonormal
        columns (rows, scores) that stand for the outcome.
    """
    r_squared = association.shuffled_r_squared(columns, N_SHUFFLES)  # (1 + shuffles, columns)
    weakest = np.quantile(r_squared, LARGEST_NOISE_SHARE, axis=1)  # first of the observed scores
    return shuffle_pvalue(float(weakest[0]), weakest[1:])
