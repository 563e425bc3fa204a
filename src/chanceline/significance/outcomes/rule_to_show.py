"""The rule for new samples: its features, its weights, its words, and what it predicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chanceline._arrays import Floats, Ints
from chanceline._results import Result, listed
from chanceline.errors import InputError
from chanceline.prediction.columns import as_table, columns_of
from chanceline.significance.outcomes.outcome import LinearOutputs, Outcome
from chanceline.significance.outcomes.rule_roles import RuleRoles, Stratum, roles_of_new_samples
from chanceline.significance.outcomes.rule_samples import RuleSamples
from chanceline.significance.outcomes.rule_sums import RuleSums, sums_of_guesses, sums_of_rule
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
    intercepts : (targets,) of samples whose block has the means of all samples, at the mean of
        covariates.
    text : the rule in words.
    score_rule, training : what it was made from.
    n_columns : of the table.
    roles : the blocks and covariates that it knows.
    sums, guess_sums : how it fits the targets of new samples, and what it would guess without
        features.
    """

    features: tuple[str, ...]
    weights: Floats
    intercepts: Floats
    text: str
    score_rule: ScoreRule
    training: RuleSamples
    n_columns: int
    roles: RuleRoles
    sums: RuleSums
    guess_sums: RuleSums
    kind = "least squares"
    _hidden = ("score_rule", "training", "n_columns", "roles", "sums", "guess_sums")

    def summary(self) -> str:
        return self.text

    def predict(
        self, X: Any, *, blocks: ArrayLike | None = None, covariates: Any = None
    ) -> NDArray[Any]:
        """What the outcome of the rows of X is expected to be; see `OutcomeTest.predict`."""
        table = as_table(X)
        columns = columns_of(table, self.support, self.features, self.n_columns)
        samples = roles_of_new_samples(self.roles, table, blocks, covariates)
        self._refuse_unknown(samples.strata)
        fitted = self.sums.fits(columns, samples.terms, samples.strata, self.training_means)
        outcome = self.training.outcome
        return outcome.named(outcome.predictions(fitted, self.score_rule.training_fits, outcome))

    def _refuse_unknown(self, strata: Sequence[Stratum] | None) -> None:
        """Stop at samples of a block that the table tested did not have."""
        unknown = sorted(set(strata or ()) - set(self.sums.stratum_intercepts))
        if not unknown:
            return
        remedy = "leave such rows out"
        if self.roles.has_blocks:
            remedy += ", or the blocks of all new samples"
        raise InputError(f"the rule knows no {self.roles.in_words(unknown[0])}; {remedy}.")

    def linear_outputs(self) -> LinearOutputs:
        """The rule as weighted sums of features and covariates, one sum for each output.

        Two kinds of numbers are predicted. A target is a column of numbers to which the rule was
        fitted, such as an indicator of a class. An output is what users want to know: a number, a
        risk, or the log odds of a class. Here the weights for targets become weights for outputs.

        Returns
        -------
        The names of the outputs; weights (features + terms, outputs), with the features first and
        then the terms, which are covariates as columns of numbers; and intercepts
        (1 + blocks, outputs), with the average block first and then each block that the rule knows.
        """
        # The weights and intercepts for the targets.
        sums = self.sums
        target_weights = np.vstack([sums.weights, sums.term_weights])  # (features + terms, targets)
        rows_of_intercepts = [sums.intercepts]  # of the average block
        rule_knows_blocks = bool(self.roles.stratum_columns)
        if rule_knows_blocks:
            rows_of_intercepts += sums.stratum_intercepts.values()
        target_intercepts = np.vstack(rows_of_intercepts)  # (1 + blocks, targets)

        # The outcome turns weights for targets into weights for its outputs. For the log odds of
        # classes it regresses the classes on the fitted targets of the training samples.
        fitted_targets = self.score_rule.training_fits
        return self.training.outcome.linear_outputs(
            target_weights, target_intercepts, fitted_targets
        )

    @property
    def training_means(self) -> Floats:
        """(features,) of the samples that the rule was made from."""
        means: Floats = self.training.X[:, self.support].mean(axis=0)
        return means

    @property
    def support(self) -> Ints:
        """(features,) columns of the table."""
        return self.score_rule.support


def make_outcome_rule(
    score_rule: ScoreRule,
    training: RuleSamples,
    feature_names: tuple[str, ...],
    roles: RuleRoles,
    strata: Sequence[Stratum],
) -> OutcomeRule:
    """Make the rule that users get from a fitted rule: with names, a formula, and plain sums.

    Parameters
    ----------
    score_rule : the fitted rule, made from all samples. Its `support` holds columns of the table.
    training : all samples.
    feature_names : the names of all columns of the table.
    roles : which blocks and covariates new samples need, and what their columns are called.
    strata : the name of every block, in the order of the blocks' numbers.
    """
    names = tuple(feature_names[column] for column in score_rule.support)
    # Predictions as plain sums over features and covariates, for new samples of every block. The
    # intercepts `sums.intercepts` are those of the average block, at covariates 0.
    sums = sums_of_rule(score_rule, training, strata)
    sums_without_features = sums_of_guesses(score_rule.target_background, training, strata)

    # The formula in the text has features only. Its intercepts are those of the average block, at
    # mean covariates.
    mean_terms = training.terms.mean(axis=0)  # covariates as columns of numbers
    formula_intercepts = sums.intercepts + mean_terms @ sums.term_weights
    return OutcomeRule(
        features=names,
        weights=score_rule.weights,
        intercepts=formula_intercepts,
        text=rule_in_words(training.outcome, names, score_rule.weights, formula_intercepts),
        score_rule=score_rule,
        training=training,
        n_columns=len(feature_names),
        roles=roles,
        sums=sums,
        guess_sums=sums_without_features,
    )


def rule_in_words(
    outcome: Outcome, names: tuple[str, ...], weights: Floats, intercepts: Floats
) -> str:
    """The rule in words: `y = 0.3 + 1.2·g1 − 0.5·g7`, or only its kind and its features.

    There is a formula if the rule has few features and one target, which is the column of numbers
    that it fits.

    Parameters
    ----------
    outcome : the outcome that is predicted.
    names : the names of the rule's features.
    weights : (features, targets)
    intercepts : (targets,)
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
