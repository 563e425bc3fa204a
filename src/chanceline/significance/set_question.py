"""What is asked of every set of features, whatever the outcome is: does it go with it?

`question_of_classes` asks about two classes. Another outcome brings its own `SetQuestion`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from chanceline.columns.table import AnyTable
from chanceline.significance.adjustment_words import kind_of_pvalue
from chanceline.significance.config import TestSettings
from chanceline.significance.exchange import exchange_sentence
from chanceline.significance.outcome_column import warn_of_outcome_columns
from chanceline.significance.path_columns import ColumnDesign
from chanceline.significance.plan import Plan, make_plan
from chanceline.significance.run import with_table_findings
from chanceline.significance.set_result import OutcomeWords
from chanceline.significance.set_statistics import LabelShuffles, SetShuffles
from chanceline.significance.shuffles import labelling
from chanceline.tables.dataset import Dataset, Finding


@dataclass(frozen=True, eq=False, kw_only=True)
class SetQuestion:
    """A table, its outcome, and how labellings of it are drawn.

    Attributes
    ----------
    X : (samples, features)
    feature_names : one for each column of X.
    design : its blocks and covariates are taken out of the columns.
    settings : how to test.
    draw_shuffles : makes the shuffles that all sets share, from their number.
    outcome : how sentences speak of the outcome.
    exchange : what the null hypothesis exchanges, in words.
    pvalue_kind : what the p-values are.
    findings : what is worth knowing about the table.
    """

    X: AnyTable
    feature_names: Sequence[str]
    design: ColumnDesign
    settings: TestSettings
    draw_shuffles: Callable[[int], SetShuffles]
    outcome: OutcomeWords
    exchange: str
    pvalue_kind: str
    findings: tuple[Finding, ...]


def question_of_classes(data: Dataset, settings: TestSettings) -> SetQuestion:
    """The question whether sets of features go with the two classes of a table.

    It holds all that the test of the sets needs: the table, how its labels are shuffled, and the
    words of the report.

    Parameters
    ----------
    data : the table with its two classes.
    settings : how to test.
    """
    plan = make_plan(data, features=None, settings=settings)
    plan = with_table_findings(plan)  # what checks of the table noticed
    findings = (*warn_of_outcome_columns(plan), *plan.findings)
    draw_shuffles = partial(shuffle_labels_for_sets, plan)  # a function of the number of shuffles
    return SetQuestion(
        X=data.X,
        feature_names=data.feature_names,
        design=plan.design,
        settings=settings,
        draw_shuffles=draw_shuffles,
        # For sentences: the two classes, what a shuffle exchanges, and the kind of the p-values.
        outcome=_classes_in_words(plan),
        exchange=exchange_sentence(plan),
        pvalue_kind=_kind_of_pvalues(plan),
        findings=findings,
    )


def shuffle_labels_for_sets(plan: Plan, n_shuffles: int) -> LabelShuffles:
    """Draw the shuffled labels that all sets of features share.

    Parameters
    ----------
    plan : the table, and how its labels are shuffled.
    n_shuffles : number of shuffles.
    """
    settings = plan.settings
    # Number 0 is the observed labelling. (1 + n_shuffles, samples)
    labels = [labelling(plan.design, settings.seed, number) for number in range(1 + n_shuffles)]
    return LabelShuffles(
        X=plan.data.X,
        design=plan.design,
        intercept=settings.intercept,
        largest=settings.largest,
        labels=np.array(labels),
    )


def _classes_in_words(plan: Plan) -> OutcomeWords:
    """How sentences speak of two classes."""
    negative, positive = plan.class_names
    n_positives = int(np.sum(plan.data.y > 0))
    n_negatives = len(plan.data.y) - n_positives
    return OutcomeWords(
        noun="the classes",
        sizes=f"{n_negatives} {negative}, {n_positives} {positive}",
        correlation=f"correlation with {positive}, above 0 where the feature is larger there",
    )


def _kind_of_pvalues(plan: Plan) -> str:
    """What the p-values are."""
    if plan.design.adjustment is None:
        return "Monte Carlo"
    return kind_of_pvalue(plan.design.adjustment)
