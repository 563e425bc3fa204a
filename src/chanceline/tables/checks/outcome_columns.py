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
    MOST_LARGE,
    N_SHUFFLES,
    SMALLEST_QUARTILE,
    UPPER_END,
)
from chanceline.tables.checks.lone_columns import LARGEST_CHANCE, MOST_SUSPECTS
from chanceline.tables.checks.score_links import ScoreLinks
from chanceline.tables.checks.within_classes import columns_in_steps, shuffle_pvalue
from chanceline.tables.dataset import Finding
from chanceline.tables.wording import quoted

# R² from which on a column may be made from the outcome, if it is so much larger than those of all
# others. An area under the curve of 0.9 beside 0.75, as for two classes, is 0.45 beside 0.18, but
# good markers of a number reach a half and more.
SUSPECT_EXPLAINED = 0.7
FAR_ABOVE_EXPLAINED = 0.3


def warn_of_lone_outcome_columns(
    X: Floats, names: Sequence[str], links: ScoreLinks
) -> list[Finding]:
    """A question about the columns that go with the outcome far better than all others.

    Parameters
    ----------
    X : (rows, features)
    names : of the features.
    links : how far columns go with the outcome's scores.
    """
    r_squared = links.explained(X)  # (features,)
    best_first = np.argsort(-r_squared, kind="stable")
    falling = r_squared[best_first]
    n_lone = _n_lone(falling)  # fewer than there are columns
    if n_lone == 0:
        return []
    weakest_lone = float(falling[n_lone - 1])
    best_other = float(falling[n_lone])

    # So large an R² may be an accident among many columns (Bonferroni).
    pvalue_of_weakest = float(links.normal_pvalues(np.array([weakest_lone]))[0])
    if len(falling) * pvalue_of_weakest > LARGEST_CHANCE:
        return []
    lone_names = [str(names[column]) for column in best_first[:n_lone].tolist()]
    return [_lone_columns_warning(lone_names, weakest_lone, best_other)]


def _lone_columns_warning(names: list[str], weakest: float, best_other: float) -> Finding:
    """The question about columns that alone go with the outcome.

    Parameters
    ----------
    names : of these columns.
    weakest : the smallest of their R².
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


def _n_lone(falling: Floats) -> int:
    """How many of the largest R² are far above the next one; 0 if none are.

    falling : R² of all columns, largest first, (features,). At least one of them is not lone.
    """
    most_lone = min(MOST_SUSPECTS, len(falling) - 1)
    for n_lone in range(1, most_lone + 1):
        weakest_lone = falling[n_lone - 1]
        best_other = falling[n_lone]
        is_gap = best_other <= weakest_lone - FAR_ABOVE_EXPLAINED
        if weakest_lone >= SUSPECT_EXPLAINED and is_gap:
            return n_lone
    return 0


def warn_of_columns_filtered_by_outcome(X: Floats, links: ScoreLinks) -> list[Finding]:
    """The question whether features were chosen by the outcome.

    It is asked if no column looks like noise, and the columns' p-values fill a range up to a limit.

    Parameters
    ----------
    X : (rows, features)
    links : how far columns go with the outcome's scores.
    """
    varies = np.ptp(X, axis=0) > 0
    columns = columns_in_steps(X[:, varies])
    n_rows, n_columns = columns.shape
    if n_columns < FEWEST_COLUMNS or n_rows < FEWEST_ROWS:
        return []

    # Noise has large p-values. Of unchosen columns some are noise.
    pvalues = links.normal_pvalues(links.explained(columns))  # (columns,)
    share_of_large = float(np.mean(pvalues > LARGE_PVALUE))
    if share_of_large > MOST_LARGE:
        return []

    # The upper quartile of chosen columns is at 3/4 of a limit. Features that are good by
    # themselves differ by orders of magnitude, and their quartile is a small share of the largest.
    upper_quartile, limit = np.quantile(pvalues, [0.75, UPPER_END])
    if upper_quartile < SMALLEST_QUARTILE * limit:
        return []
    if _chance_of_no_noise(columns, links) > FILTER_LEVEL:
        return []
    return [
        Finding.warning(
            f"hardly any of the {n_columns} columns looks like noise: {100 * UPPER_END:.0f} % of "
            f"their p-values, one by one, are below {limit:.2g} and fill the range up to it, as "
            "those of features that were chosen by this outcome; if they were, give all features."
        )
    ]


def _chance_of_no_noise(columns: Floats, links: ScoreLinks) -> float:
    """The p-value of the R² that all but a few columns exceed, by shuffled scores.

    Parameters
    ----------
    columns : (rows, columns)
    links : to the outcome's scores.
    """
    explained = links.shuffled_explained(columns, N_SHUFFLES)
    weakest = np.quantile(explained, MOST_LARGE, axis=1)
    return shuffle_pvalue(float(weakest[0]), weakest[1:])
