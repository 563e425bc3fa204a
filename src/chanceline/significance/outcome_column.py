"""Columns that may be the outcome itself.

Such a column tells the classes apart (nearly) without error while all others are far behind. The
test then asks about it, and says what the verdict is without it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from chanceline._arrays import Bools, Floats, Ints
from chanceline.chance.binomial import log_binomial
from chanceline.columns.table import AnyTable, ColumnTable, Tile
from chanceline.prediction.metrics import area_under_curve
from chanceline.significance.plan import Plan, make_plan
from chanceline.significance.result import SeparationTest
from chanceline.tables.checks.lone_columns import NEARLY_PERFECT_AREA
from chanceline.tables.dataset import Finding, Severity
from chanceline.tables.wording import quoted

# Area under the curve below which the others are far behind.
FAR_BEHIND_AREA = 0.95
# Area under the curve of a column that tells nothing.
UNINFORMATIVE_AREA = 0.5
# The outcome may be there in several versions; more columns than this are many good features.
MAX_OUTCOME_COLUMNS = 3
# How many of the columns most correlated with the labels are looked at.
MAX_LOOKED_AT = 20
# Random labels have a column that separates them less often than this.
MAX_CHANCE = 0.001


@dataclass(frozen=True, eq=False)
class OutcomeColumns:
    """Columns that may be the outcome.

    Attributes
    ----------
    columns : their indices, ascending; none in most tables.
    next_best : the largest area under the curve of the other columns.
    """

    columns: Ints
    next_best: float


def outcome_columns(X: AnyTable, y: Floats) -> OutcomeColumns:
    """The columns that may be the outcome itself; none in most tables.

    They are one to three columns that tell the classes apart nearly without error, while all others
    are far behind.

    Parameters
    ----------
    X : (samples, features).
    y : (samples,) labels ±1.
    """
    no_columns = np.zeros(0, dtype=np.int64)
    is_positive = y > 0
    # In a small study some column may separate by chance, which is no reason to suspect it.
    if X.shape[1] < 2 or not separation_is_unlikely(X.shape[1], is_positive):
        return OutcomeColumns(no_columns, UNINFORMATIVE_AREA)

    # Areas under the curve (of 0.5 or more) of the columns most correlated with the labels.
    candidates = most_correlated(X, y)
    areas = np.array([area_either_way(X[:, j].astype(float), is_positive) for j in candidates])
    is_nearly_perfect = areas >= NEARLY_PERFECT_AREA
    n_nearly_perfect = np.count_nonzero(is_nearly_perfect)
    next_best = float(areas[~is_nearly_perfect].max(initial=UNINFORMATIVE_AREA))

    are_few = 1 <= n_nearly_perfect <= MAX_OUTCOME_COLUMNS
    others_are_far_behind = next_best <= FAR_BEHIND_AREA
    if are_few and others_are_far_behind:
        return OutcomeColumns(np.sort(candidates[is_nearly_perfect]), next_best)
    return OutcomeColumns(no_columns, next_best)


def separation_is_unlikely(n_features: int, is_positive: Bools) -> bool:
    """Whether hardly ever one of the columns would separate random labels of these class sizes.

    A column separates at most two labellings, so that the probability is at most
    2N/binomial(P, positives).
    """
    n_samples = len(is_positive)
    log_labellings = log_binomial(n_samples, int(is_positive.sum()))
    log_chance = np.log(2.0 * n_features) - log_labellings
    return bool(log_chance <= np.log(MAX_CHANCE))


def area_either_way(column: Floats, is_positive: Bools) -> float:
    """Area under the curve of a column, or of its negative if that is larger."""
    area = area_under_curve(column, is_positive)
    return max(area, 1.0 - area)


def most_correlated(X: AnyTable, y: Floats) -> Ints:
    """The columns whose correlation with the labels is largest, at most `MAX_LOOKED_AT`."""
    labels = y - y.mean()
    if isinstance(X, ColumnTable):
        correlations = np.concatenate(list(X.map_tiles(correlations_of_tile, common=(labels,))))
    else:
        correlations = correlation_sizes(X, labels)
    return np.argsort(-correlations, kind="stable")[:MAX_LOOKED_AT]


def correlations_of_tile(tile: Tile, _argument: None, centred_labels: Floats) -> Floats:
    """`correlation_sizes` of the columns of a tile: (columns,)."""
    return correlation_sizes(tile.numbers, centred_labels)


def correlation_sizes(X: Floats, centred_labels: Floats) -> Floats:
    """|Σ_i y_i x_ij|/SD(x_j) of every column of X (samples, columns), 0 for constant ones."""
    spread = X.std(axis=0)
    products = centred_labels.astype(X.dtype) @ X
    return np.abs(products) / np.where(spread > 0, spread, np.inf)


def ask_about_outcome(
    plan: Plan, suspects: OutcomeColumns, result_without: SeparationTest | None
) -> Finding:
    """The question, and what the verdict is without these columns.

    Parameters
    ----------
    result_without : the test of the table without them; None if nothing else is left.
    """
    words = _suspicion_in_words(plan, suspects)
    if result_without is None:
        verdict_without = f"Without {words.pronoun} no feature is left."
    else:
        verdict = f"{result_without.verdict.upper()}, {result_without.in_p()}"
        verdict_without = f"Without {words.pronoun}: {verdict}."
    message = f"{words.question} {verdict_without} {words.remedy}"
    return Finding(Severity.WARNING, message)


def warn_of_outcome_columns(plan: Plan) -> list[Finding]:
    """The question alone, where sets of features are tested; nothing in most tables."""
    suspects = outcome_columns(plan.data.X, plan.data.y)
    if len(suspects.columns) == 0:
        return []
    words = _suspicion_in_words(plan, suspects)
    return [Finding.warning(f"{words.question} {words.remedy}")]


class _SuspicionWords(NamedTuple):
    """What is said about columns that may be the outcome.

    Attributes
    ----------
    question : what was seen, and whether they are the outcome.
    remedy : what to do if so.
    pronoun : `it` or `them`.
    """

    question: str
    remedy: str
    pronoun: str


def _suspicion_in_words(plan: Plan, suspects: OutcomeColumns) -> _SuspicionWords:
    """The sentences about one column or several that may be the outcome."""
    names = [plan.data.feature_names[column] for column in suspects.columns]
    if len(names) == 1:
        subject = f"column {names[0]!r} alone tells"
        question = "is it the outcome itself, or made from it?"
        pronoun = "it"
    else:
        subject = f"each of the columns {quoted(names)} alone tells"
        question = "are they the outcome itself, or made from it?"
        pronoun = "them"
    observation = (
        f"{subject} the classes apart (nearly) without error, and the others are far behind "
        f"(area under the curve {suspects.next_best:.2f} at most)"
    )
    return _SuspicionWords(
        question=f"{observation}: {question}",
        remedy=f"If so, leave {pronoun} out (drop={','.join(names)!r}).",
        pronoun=pronoun,
    )


def plan_without(plan: Plan, columns: Ints) -> Plan | None:
    """The same plan for the table without these columns; None if no feature that varies is left.

    The plan makes no rule for new samples, because only its verdict is wanted.
    """
    remaining = np.setdiff1d(np.arange(plan.data.X.shape[1]), columns)
    if len(np.intersect1d(remaining, plan.distinct_features)) == 0:
        return None
    names = tuple(plan.data.feature_names[column] for column in remaining)
    X = plan.data.X
    if isinstance(X, ColumnTable):
        remaining_X: AnyTable = X.select(remaining)
    else:
        remaining_X = X[:, remaining]
    data = replace(plan.data, X=remaining_X, feature_names=names)
    return make_plan(data, None, replace(plan.settings, expected_error=False))
