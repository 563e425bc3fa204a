"""Columns that may be the outcome itself: one that tells the classes apart (nearly) without error while others are far behind."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from chanceline.chance.counts import log_binomial
from chanceline.prediction.worth import effect
from chanceline.significance.design import Floats, Ints
from chanceline.significance.plan import Plan, make_plan
from chanceline.significance.result import SeparationTest
from chanceline.tables.dataset import Finding, quoted

# Area under the curve from which on a column nearly determines the classes, and below which the others are far behind.
NEARLY_PERFECT = 0.98
FAR_BEHIND = 0.95
# The outcome may be there in several versions; more columns than this are many good features.
MOST_VERSIONS = 3
# Of the columns most correlated with the labels so many are looked at.
LOOKED_AT = 20
# Random labels have a column that separates them less often than this.
BY_CHANCE = 0.001


def outcome_columns(X: Floats, y: Floats) -> tuple[Ints, float]:
    """The columns that may be the outcome, and the largest area under the curve of the others; none in most tables.

    Parameters
    ----------
    X : (samples, features).
    y : (samples,) labels ±1.
    """
    nothing = np.zeros(0, dtype=np.int64)
    positive = y > 0
    # One column separates at most two labellings of these class sizes.
    log_chance = np.log(2.0 * X.shape[1]) - log_binomial(len(y), int(positive.sum()))
    if X.shape[1] < 2 or log_chance > np.log(BY_CHANCE):
        return nothing, 0.5

    likely = most_correlated(X, y)
    areas = np.array([effect(X[:, column].astype(float), positive)[1] for column in likely])
    areas = np.maximum(areas, 1.0 - areas)
    outcome = areas >= NEARLY_PERFECT
    next_best = float(areas[~outcome].max(initial=0.5))
    if not 1 <= np.count_nonzero(outcome) <= MOST_VERSIONS or next_best > FAR_BEHIND:
        return nothing, next_best
    return np.sort(likely[outcome]), next_best


def most_correlated(X: Floats, y: Floats) -> Ints:
    """The columns whose correlation with the labels is largest, at most `LOOKED_AT`."""
    labels = (y - y.mean()).astype(X.dtype)
    spread = X.std(axis=0)
    correlation = np.abs(labels @ X) / np.where(spread > 0, spread, np.inf)
    return np.argsort(-correlation, kind="stable")[:LOOKED_AT]


def ask_about_outcome(plan: Plan, without: SeparationTest | None, columns: Ints, next_best: float) -> Finding:
    """The question, and what the verdict is without these columns (`without` None: nothing else is left)."""
    names = [plan.data.feature_names[column] for column in columns]
    if len(names) == 1:
        who = f"column {names[0]!r} alone tells"
        question = "is it the outcome itself, or made from it?"
        leave_out = "it"
    else:
        who = f"each of the columns {quoted(names)} alone tells"
        question = "are they the outcome itself, or made from it?"
        leave_out = "them"
    rest = f"Without {leave_out} no feature is left"
    if without is not None:
        rest = f"Without {leave_out}: {without.verdict.upper()}, {without.in_p()}"
    return Finding(
        "warning",
        f"{who} the classes apart (nearly) without error, and the others are far behind (area under the curve "
        f"{next_best:.2f} at most): {question} {rest}. If so, leave {leave_out} out (drop={','.join(names)!r}).",
    )


def plan_without(plan: Plan, columns: Ints) -> Plan | None:
    """The same plan for the table without some columns, without a rule to use; None if nothing is left."""
    kept = np.setdiff1d(np.arange(plan.data.X.shape[1]), columns)
    if len(np.intersect1d(kept, plan.distinct)) == 0:
        return None
    names = tuple(plan.data.feature_names[column] for column in kept)
    data = replace(plan.data, X=plan.data.X[:, kept], feature_names=names)
    return make_plan(data, None, replace(plan.settings, expected_error=False))
