"""Sets of features and an outcome other than two classes: do they go together?

The shuffles permute the rows of the outcome's scores; everything else is as for two classes
(`chanceline.significance.set_run`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from chanceline._arrays import Floats
from chanceline.errors import InputError
from chanceline.significance.config import TestSettings
from chanceline.significance.declared_roles import DeclaredRoles
from chanceline.significance.followed_paths import FollowedPaths
from chanceline.significance.outcomes.make_outcome import outcome_of_table
from chanceline.significance.outcomes.outcome import Outcome
from chanceline.significance.outcomes.run import refuse_settings_of_two_classes
from chanceline.significance.outcomes.score_design import (
    ScoreDesign,
    exchange_in_words,
    make_score_design,
)
from chanceline.significance.outcomes.score_paths import follow_score_paths
from chanceline.significance.path_columns import PathColumns
from chanceline.significance.set_question import SetQuestion
from chanceline.significance.set_result import OutcomeWords
from chanceline.significance.set_statistics import SetShuffles
from chanceline.significance.step_down import OBSERVED_LABELLING
from chanceline.tables.outcome_table import OutcomeTable


@dataclass(frozen=True, eq=False, kw_only=True)
class ScoreShuffles(SetShuffles):
    """Permuted scores of an outcome.

    Attributes
    ----------
    scores : (permutations, q, samples) orthonormal over the units, the observed ones first.
    observed_scores : (q, samples) as the outcome has them, which give correlations their sign.
    """

    scores: Floats
    observed_scores: Floats

    @property
    def n_labellings(self) -> int:
        return len(self.scores)

    def follow(self, columns: PathColumns, batch: slice, n_steps: int) -> FollowedPaths:
        return follow_score_paths(columns, self.scores[batch], n_steps)

    def correlations(self, columns: PathColumns) -> Floats:
        """With several columns of scores the multiple correlation, which has no sign."""
        products = self.scores[OBSERVED_LABELLING] @ columns.normalized  # (q, columns)
        lengths = np.linalg.norm(self.scores[OBSERVED_LABELLING], axis=1, keepdims=True)
        sizes: Floats = np.linalg.norm(products / lengths, axis=0)
        if len(self.observed_scores) > 1:
            return sizes
        return sizes * np.sign(self.observed_scores[0] @ columns.normalized)


def question_of_outcome(table: OutcomeTable, settings: TestSettings) -> SetQuestion:
    """The question whether sets of features go with the outcome of a table.

    It is for outcomes other than two classes. The result holds the table, the design of the
    permutations, a function that draws them, and the words of the report.

    Parameters
    ----------
    table : the table, with its outcome as the file or the user has it.
    settings : how to test.
    """
    # A message, if a column looks like blocks or groups that the user did not declare.
    if table.undeclared:
        raise InputError(table.undeclared)
    refuse_settings_of_two_classes(features=None, settings=settings)
    outcome = outcome_of_table(table)
    declared = DeclaredRoles(
        blocks=table.blocks, groups=table.groups, pairs=table.pairs, covariates=table.covariates
    )
    design = make_score_design(outcome, declared)
    return SetQuestion(
        X=table.X,
        feature_names=table.feature_names,
        design=design,
        settings=settings,
        # A function of the number of shuffles.
        draw_shuffles=partial(_permute_scores, table.X, outcome, design, settings),
        outcome=_outcome_in_words(outcome),
        exchange=exchange_in_words(outcome, design, declared),
        pvalue_kind=design.kind,
        findings=table.findings,
    )


def _permute_scores(
    X: Floats, outcome: Outcome, design: ScoreDesign, settings: TestSettings, n_shuffles: int
) -> ScoreShuffles:
    """Draw permutations of the scores, the q numbers that stand for the outcome of a sample.

    (q = 1 if the outcome is a number.) The permuted scores are those adjusted for blocks and
    covariates, as q orthonormal columns.

    Parameters
    ----------
    X : (samples, features) the table.
    outcome : the outcome, whose scores before adjustment, (samples, q), tell the direction in which
        a feature goes with the outcome.
    design : the adjusted scores, and how they are permuted.
    settings : the seed, and the largest number of features of a stepwise path.
    n_shuffles : number of permutations.
    """
    # A matrix (q, samples) for every number: 0 for the observed scores, 1, 2, … for permutations.
    matrices = []
    for draw_number in range(1 + n_shuffles):
        matrices.append(design.permuted_scores(settings.seed, draw_number))
    return ScoreShuffles(
        X=X,
        design=design,
        intercept=True,
        largest=settings.largest,
        scores=np.array(matrices),  # (1 + n_shuffles, q, samples)
        observed_scores=outcome.scores.T,
    )


def _outcome_in_words(outcome: Outcome) -> OutcomeWords:
    """How sentences speak of an outcome."""
    correlation = f"correlation with {outcome.predicted_name}"
    has_sign = outcome.scores.shape[1] == 1
    if not has_sign:
        correlation = f"multiple correlation with {outcome.name}, which has no sign"
    return OutcomeWords(
        noun=repr(outcome.name), sizes="", correlation=correlation, taken_for=outcome.taken_for()
    )
