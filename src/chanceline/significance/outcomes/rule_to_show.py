"""The rule for new samples: its features, its weights, its words, and what it predicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chanceline._arrays import Floats, Ints
from chanceline._results import Result, listed
from chanceline.errors import InputError
from chanceline.prediction.columns import as_table, columns_of
from chanceline.significance.outcomes.cross_validate import predict_samples
from chanceline.significance.outcomes.outcome import LinearOutputs, Outcome
from chanceline.significance.outcomes.rule_samples import RuleSamples
from chanceline.significance.outcomes.score_rule import ScoreRule
from chanceline.tables.wording import plural

# A rule on more features is not written out.
MAX_FEATURES_IN_WORDS = 6


@dataclass(frozen=True, eq=False, repr=False)
class OutcomeRule(Result):
    """A linear rule for new samples.

    Attributes
    ----------
    features : their names; none if no feature improves on guessing.
    weights : (features, targets) for the values as they are; a target is the number, the indicator
        of a class, or the score of a time.
    intercepts : (targets,)
    text : the rule in words.
    score_rule, training : what it was made from.
    n_columns : of the table.
    """

    features: tuple[str, ...]
    weights: Floats
    intercepts: Floats
    text: str
    score_rule: ScoreRule
    training: RuleSamples
    n_columns: int
    kind = "least squares"
    _hidden = ("score_rule", "training", "n_columns")

    def summary(self) -> str:
        return self.text

    def predict(self, X: Any) -> NDArray[Any]:
        """What the outcome of the rows of X is expected to be; see `OutcomeTest.predict`."""
        training = self.training
        if training.block_of_sample.max() > 0 or training.terms.shape[1] > 0:
            raise InputError(
                "the rule knows blocks or covariates, and speaks of the samples of the table only."
            )
        columns = columns_of(as_table(X), self.support, self.features, self.n_columns)
        n_rows = len(columns)
        # The rule takes its own columns alone.
        values = np.zeros((n_rows, self.n_columns))
        values[:, self.support] = columns
        samples = RuleSamples(
            X=values,
            outcome=training.outcome,
            terms=np.zeros((n_rows, 0)),
            unit_of_sample=np.arange(n_rows),
            block_of_sample=np.zeros(n_rows, dtype=np.int64),
        )
        return training.outcome.named(predict_samples(self.score_rule, samples, training))

    def linear_outputs(self) -> LinearOutputs:
        """What is predicted as sums over features; with blocks, of the average one."""
        return self.training.outcome.linear_outputs(
            self.weights, self.intercepts, self.score_rule.training_fits
        )

    @property
    def support(self) -> Ints:
        """(features,) columns of the table."""
        return self.score_rule.support


def make_outcome_rule(
    score_rule: ScoreRule, training: RuleSamples, feature_names: tuple[str, ...]
) -> OutcomeRule:
    """The rule with names and words.

    Parameters
    ----------
    score_rule : made from all samples.
    training : these samples.
    feature_names : of all columns.
    """
    names = tuple(feature_names[column] for column in score_rule.support)
    # Of the average block, and at the mean of the covariates.
    mean_scores = score_rule.target_background.block_means.mean(axis=0)
    mean_columns = score_rule.column_background.block_means.mean(axis=0)
    intercepts = mean_scores - mean_columns @ score_rule.weights
    return OutcomeRule(
        features=names,
        weights=score_rule.weights,
        intercepts=intercepts,
        text=rule_in_words(training.outcome, names, score_rule.weights, intercepts),
        score_rule=score_rule,
        training=training,
        n_columns=len(feature_names),
    )


def rule_in_words(
    outcome: Outcome, names: tuple[str, ...], weights: Floats, intercepts: Floats
) -> str:
    """The rule: a formula where it has one target and few features, else its features.

    Parameters
    ----------
    outcome : that is predicted.
    names : of the features.
    weights, intercepts : (features, targets) and (targets,).
    """
    if not names:
        return "no feature: none clearly improves on guessing"
    if len(names) > MAX_FEATURES_IN_WORDS:
        return f"ridge regression on {plural(len(names), 'feature')}"
    if weights.shape[1] > 1:
        return f"multinomial regression on {listed(names, MAX_FEATURES_IN_WORDS)}"
    formula = f"{outcome.predicted_name} = {intercepts[0]:.4g}"
    for name, weight in zip(names, weights[:, 0].tolist(), strict=True):
        sign = "+" if weight >= 0 else "−"
        formula += f" {sign} {abs(weight):.4g}·{name}"
    return formula
