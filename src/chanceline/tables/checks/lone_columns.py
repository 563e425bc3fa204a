"""Columns that tell the classes apart far better than all others: perhaps made from the outcome."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from chanceline._arrays import Floats, Ints
from chanceline.tables.checks.ranks import RankTest, mann_whitney
from chanceline.tables.dataset import Finding
from chanceline.tables.wording import quoted

# Area under the curve from which on a column nearly determines the classes. The test asks about
# such columns itself, and says what the verdict is without them.
NEARLY_PERFECT_AREA = 0.98
SUSPECT_AREA = 0.9  # area from which on a column may be made from the outcome, …
FAR_ABOVE = 0.15  # … if it is so much larger than those of all others
MOST_SUSPECTS = 3  # the outcome may be there in several versions; more are good features
MOST_RANKED = 20  # of the columns most correlated with the labels
LARGEST_CHANCE = 0.001  # p-value, of all columns, up to which an area is no accident


def warn_of_lone_columns(X: Floats, y: Floats, names: Sequence[Any]) -> list[Finding]:
    """Ask whether columns that tell the classes apart far better than all others are made from the
    outcome.

    Parameters
    ----------
    X : numbers of shape (samples, features).
    y : labels ±1 of shape (samples,).
    names : the names of the features.
    """
    candidates = _most_correlated_columns(X, y)
    return question_lone_columns(candidates, X[:, candidates], y, names)


def question_lone_columns(
    candidates: Ints, values: Floats, y: Floats, names: Sequence[Any]
) -> list[Finding]:
    """Ask whether columns that tell the classes apart far better than all others are made from the
    outcome.

    The question is a warning about one to three columns; there is none if no column stands out.

    Parameters
    ----------
    candidates : the positions of the columns most correlated with the labels, the most correlated
        first, of shape (candidates,).
    values : the columns themselves, of shape (samples, candidates).
    y : labels ±1 of shape (samples,).
    names : the names of all features.
    """
    # Rank the candidates by the area under the ROC curve of each. An area below 1/2 is that of a
    # column which is smaller in positive rows; then 1 − area counts.
    tests = [mann_whitney(column, y) for column in values.T]
    areas = np.array([max(test.area, 1 - test.area) for test in tests])
    best_first = np.argsort(-areas, kind="stable")
    sorted_areas = areas[best_first]  # the largest first

    # The first `n_lone` stand out. At least one more follows them, `sorted_areas[n_lone]`.
    n_lone = _n_far_above(sorted_areas)
    if n_lone == 0:
        return []

    # The separation test itself asks about columns that nearly determine the classes.
    if sorted_areas[0] >= NEARLY_PERFECT_AREA:
        return []
    # Among many columns, one may separate the classes so well by chance.
    weakest_lone = tests[best_first[n_lone - 1]]
    if not _is_no_accident(weakest_lone, len(names)):
        return []

    lone_columns = candidates[best_first[:n_lone]]
    question = _question_if_made_from_outcome(
        [str(names[column]) for column in lone_columns.tolist()],
        smallest_area=sorted_areas[n_lone - 1],
        next_area=sorted_areas[n_lone],
    )
    return [question]


def _question_if_made_from_outcome(
    names: list[str], *, smallest_area: float, next_area: float
) -> Finding:
    """The question whether columns are made from the outcome.

    Parameters
    ----------
    names : the names of these columns, at least one.
    smallest_area : the smallest area under the ROC curve of these columns.
    next_area : the largest area of all other columns.
    """
    subject = f"column {names[0]!r} alone tells"
    question = "is it made from the outcome, or known only after it? If so, leave it out"
    if len(names) > 1:
        subject = f"each of the columns {quoted(names)} alone tells"
        question = "are they made from the outcome, or known only after it? If so, leave them out"
    return Finding.warning(
        f"{subject} the classes apart (area under the curve {smallest_area:.2f}), and all others "
        f"are far behind ({next_area:.2f} at most): {question} (drop={','.join(names)!r})."
    )


def _most_correlated_columns(X: Floats, y: Floats) -> Ints:
    """Positions of the columns most correlated with the labels, at most `MOST_RANKED`."""
    spread = X.std(axis=0)
    covariances = np.abs((y - y.mean()) @ X)
    correlations = covariances / np.where(spread > 0, spread, np.inf)
    return np.argsort(-correlations, kind="stable")[:MOST_RANKED]


def _n_far_above(sorted_areas: Floats) -> int:
    """How many of the largest areas are far above all others; 0 if none are.

    `sorted_areas` has the largest area first. At least one of them is not counted.
    """
    most_lone = min(MOST_SUSPECTS, len(sorted_areas) - 1)
    for n_lone in range(1, most_lone + 1):
        smallest_lone = sorted_areas[n_lone - 1]
        largest_other = sorted_areas[n_lone]
        is_gap = largest_other <= smallest_lone - FAR_ABOVE
        if smallest_lone >= SUSPECT_AREA and is_gap:
            return n_lone
    return 0


def _is_no_accident(test: RankTest, n_columns: int) -> bool:
    """Whether the best of so many columns hardly goes so well with shuffled labels (Bonferroni)."""
    return n_columns * test.pvalue <= LARGEST_CHANCE
