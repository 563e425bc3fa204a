"""Columns of the table that may be the outcome itself, left in by mistake.

Such a column tells the classes apart (nearly) without error, while all other columns are far worse.
The test then asks about the column, and says what the verdict is without it.
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

# The other columns are far behind if their areas under the curve are at most this.
FAR_BEHIND_AREA = 0.95
# Area under the curve of a column that is unrelated to the labels.
UNINFORMATIVE_AREA = 0.5
# The outcome may be in the table in several versions. More columns than this that tell the classes
# apart are rather good features.
MAX_OUTCOME_COLUMNS = 3
# The area under the curve is computed of so many columns, those most correlated with the labels.
MAX_LOOKED_AT = 20
# A separating column is suspicious only if random labels have one with at most this probability.
MAX_CHANCE = 0.001


@dataclass(frozen=True, eq=False)
class OutcomeColumns:
    """Columns that may be the outcome.

    Attributes
    ----------
    columns : their indices, ascending; empty for most tables.
    next_best : the largest area under the curve of the other columns.
    """

    columns: Ints
    next_best: float


def outcome_columns(X: AnyTable, y: Floats) -> OutcomeColumns:
    """Find the columns that may be the outcome itself; there are none in most tables.

    These are one to three columns that tell the classes apart nearly without error, while all other
    columns are far worse. A column is measured by its area under the ROC curve (AUC).

    Parameters
    ----------
    X : (samples, features).
    y : (samples,) labels ±1.
    """
    no_columns = np.zeros(0, dtype=np.int64)
    is_positive = y > 0
    n_features = X.shape[1]
    # In a small study a column may separate the classes by chance: then it is not suspicious. A
    # single column has no others to compare it with.
    if n_features < 2 or not separation_is_unlikely(n_features, is_positive):
        return OutcomeColumns(no_columns, next_best=UNINFORMATIVE_AREA)

    # The AUC, or 1 − AUC if that is larger, of the columns most correlated with the labels.
    candidates = most_correlated(X, y)
    areas = np.empty(len(candidates))
    for position, column in enumerate(candidates):
        values = X[:, column].astype(float)
        areas[position] = area_either_way(values, is_positive)
    is_nearly_perfect = areas >= NEARLY_PERFECT_AREA
    n_nearly_perfect = np.count_nonzero(is_nearly_perfect)
    other_areas = areas[~is_nearly_perfect]
    next_best = float(other_areas.max(initial=UNINFORMATIVE_AREA))

    # Suspicious are one to three nearly perfect columns, if all others are far worse.
    are_few = 1 <= n_nearly_perfect <= MAX_OUTCOME_COLUMNS
    others_are_far_behind = next_best <= FAR_BEHIND_AREA
    if are_few and others_are_far_behind:
        return OutcomeColumns(np.sort(candidates[is_nearly_perfect]), next_best=next_best)
    return OutcomeColumns(no_columns, next_best=next_best)


def separation_is_unlikely(n_features: int, is_positive: Bools) -> bool:
    """Whether it is unlikely that any of N columns separates random labels of these class sizes.

    There are binomial(P, positives) labellings of P samples, and a column separates at most two of
    them. So the probability is at most 2N/binomial(P, positives).

    Parameters
    ----------
    n_features : N.
    is_positive : (samples,)
    """
    n_samples = len(is_positive)
    log_labellings = log_binomial(n_samples, int(is_positive.sum()))
    log_chance = np.log(2.0 * n_features) - log_labellings
    return bool(log_chance <= np.log(MAX_CHANCE))


def area_either_way(column: Floats, is_positive: Bools) -> float:
    """The area under the curve of a column or of its negative, whichever is larger."""
    area = area_under_curve(column, is_positive)
    return max(area, 1.0 - area)


def most_correlated(X: AnyTable, y: Floats) -> Ints:
    """The columns most correlated with the labels in absolute value, best first.

    There are `MAX_LOOKED_AT` of them, or all columns if these are fewer.
    """
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
    """Absolute correlations with the labels, up to a common factor: |Σ_i y_i x_ij|/SD(x_j).

    Parameters
    ----------
    X : (samples, columns)
    centred_labels : (samples,) y.

    Returns
    -------
    (columns,), 0 for a constant column.
    """
    spread = X.std(axis=0)
    products = centred_labels.astype(X.dtype) @ X
    return np.abs(products) / np.where(spread > 0, spread, np.inf)


def ask_about_outcome(
    plan: Plan, suspects: OutcomeColumns, result_without: SeparationTest | None
) -> Finding:
    """A warning that asks about suspicious columns, and gives the verdict without these columns.

    Parameters
    ----------
    plan : of the test of the whole table.
    suspects : the columns that may be the outcome.
    result_without : the test of the table without these columns; None if no feature is left.
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
    """A warning that asks about suspicious columns, without a verdict; empty for most tables."""
    suspects = outcome_columns(plan.data.X, plan.data.y)
    if len(suspects.columns) == 0:
        return []
    words = _suspicion_in_words(plan, suspects)
    return [Finding.warning(f"{words.question} {words.remedy}")]


class _SuspicionWords(NamedTuple):
    """Sentences about columns that may be the outcome.

    Attributes
    ----------
    question : what was observed, and the question whether the columns are the outcome.
    remedy : what to do if they are.
    pronoun : `it` for one column, `them` for several.
    """

    question: str
    remedy: str
    pronoun: str


def _suspicion_in_words(plan: Plan, suspects: OutcomeColumns) -> _SuspicionWords:
    """Sentences about the columns that may be the outcome, in the singular or the plural.

    Parameters
    ----------
    plan : of the test, with the names of the columns.
    suspects : the columns, at least one, and the largest area under the curve of other columns.
    """
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
    """The plan of the same test for the table without some columns.

    The plan makes no rule for new samples, because only its verdict is wanted.

    Parameters
    ----------
    plan : of the test of the whole table; it is not changed.
    columns : indices of the columns to leave out.

    Returns
    -------
    None if no feature is left that varies.
    """
    X = plan.data.X
    kept_columns = np.setdiff1d(np.arange(X.shape[1]), columns)
    varying_columns = np.intersect1d(kept_columns, plan.distinct_features)
    if len(varying_columns) == 0:
        return None

    # The table of all columns kept, constant ones included.
    kept_names = tuple(plan.data.feature_names[column] for column in kept_columns)
    if isinstance(X, ColumnTable):
        kept_X: AnyTable = X.select(kept_columns)
    else:
        kept_X = X[:, kept_columns]
    data = replace(plan.data, X=kept_X, feature_names=kept_names)

    settings = replace(plan.settings, expected_error=False)  # no rule for new samples
    return make_plan(data, features=None, settings=settings)
