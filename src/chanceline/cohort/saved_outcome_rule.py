"""The rule of an outcome other than two classes, fixed beforehand: from features to predictions."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chanceline._arrays import Floats
from chanceline.cohort.new_samples import NewSamples
from chanceline.errors import InputError
from chanceline.prediction.covariates import CovariateEncoder
from chanceline.significance.outcomes.number import NumberOutcome
from chanceline.significance.outcomes.outcome import Outcome
from chanceline.significance.outcomes.rule_roles import RuleRoles, Stratum
from chanceline.significance.outcomes.rule_sums import RuleSums
from chanceline.significance.outcomes.rule_to_show import OutcomeRule
from chanceline.significance.outcomes.several_classes import (
    ClassesOutcome,
    MultinomialRegression,
    fit_multinomial,
)
from chanceline.significance.outcomes.survival import SurvivalOutcome
from chanceline.tables.dataset import Finding
from chanceline.tables.wording import plural


class SavedKind(StrEnum):
    """What the outcome is."""

    NUMBER = NumberOutcome.kind
    CLASSES = ClassesOutcome.kind
    SURVIVAL = SurvivalOutcome.kind


@dataclass(frozen=True, eq=False, kw_only=True)
class SavedOutcomeRule:
    """Fitted targets as sums over features and covariates, and of classes probabilities from these.

    Attributes
    ----------
    features : names of its features.
    sums : the fitted targets.
    guess_sums : what is predicted without any feature: what blocks and covariates say, else the
        mean of the table tested.
    roles : the blocks and covariates that it knows.
    class_names : of the classes; empty for other outcomes.
    regression : from fitted indicators to the probabilities of all classes; None for other
        outcomes.
    text : the rule in words.
    """

    features: tuple[str, ...]
    sums: RuleSums
    guess_sums: RuleSums
    roles: RuleRoles
    class_names: tuple[str, ...]
    regression: MultinomialRegression | None
    text: str

    @property
    def encoder(self) -> CovariateEncoder:
        """How covariates become terms."""
        return self.roles.encoder

    @property
    def block_names(self) -> Collection[str]:
        """The blocks that it knows; empty if it has none."""
        if not self.roles.has_blocks:
            return ()
        # The name of the block comes first.
        return {stratum[0] for stratum in self.sums.stratum_intercepts}

    @property
    def block_noun(self) -> str:
        """What it has of its own for every block."""
        return "an intercept"

    def predict(self, samples: NewSamples, training_means: Floats) -> RulePredictions:
        """What the rule predicts of new samples, and what would be guessed without its features.

        Parameters
        ----------
        samples : the new samples, with their features, covariates and blocks.
        training_means : the means of the features in the table tested, (features,).
        """
        n_samples = len(samples.columns)

        # Covariates as numbers, (samples, terms). The stratum of a sample is its combination of a
        # block and levels of categories; each stratum has an intercept of its own.
        terms = self.roles.terms(samples.covariates, n_samples)
        strata = self.roles.strata(samples.blocks, samples.covariates, n_samples)

        # features·weights + terms·weights + intercept, (samples, targets).
        fitted = self.sums.fits(samples.columns, terms, strata, training_means)

        # The guess is a sum of the same form without features: columns and means are empty arrays.
        no_columns = np.empty((n_samples, 0))
        no_means = np.empty(0)
        guesses = self.guess_sums.fits(no_columns, terms, strata, no_means)

        return RulePredictions(
            predictions=self._in_units_of_outcome(fitted),
            guesses=guesses,
            findings=self._note_new_combinations(strata),
        )

    def _in_units_of_outcome(self, fitted: Floats) -> Floats:
        """A number, probabilities of the classes, or a risk: (samples, columns of predictions).

        Parameters
        ----------
        fitted : (samples, targets)
        """
        if self.regression is None:
            return fitted
        return self.regression.probabilities(fitted)

    def _note_new_combinations(self, strata: Sequence[Stratum] | None) -> tuple[Finding, ...]:
        """A note on new combinations of a known block with levels of categories, if there are any.

        Parameters
        ----------
        strata : for each sample the names of its block (first, if the rule has blocks) and of its
            levels; None if the blocks are not known.
        """
        known_blocks = self.block_names
        new_combinations = set()
        for stratum in strata or ():
            # A block that is new itself has a note of its own already.
            is_of_new_block = self.roles.has_blocks and stratum[0] not in known_blocks
            is_known = stratum in self.sums.stratum_intercepts
            if not is_known and not is_of_new_block:
                new_combinations.add(stratum)
        if not new_combinations:
            return ()
        n_new = plural(len(new_combinations), "combination")
        columns = " and ".join(self.roles.stratum_columns)
        note = (
            f"{n_new} of {columns} not in the table tested: their samples are measured from their "
            "own mean (a single sample from the average)."
        )
        return (Finding.note(note),)

    def named(self, predictions: Floats) -> NDArray[Any]:
        """Predictions as a user sees them, (samples,): numbers, or names of classes."""
        if self.regression is None:
            return predictions[:, 0]
        return np.array(self.class_names, dtype=object)[predictions.argmax(axis=1)]


class RulePredictions(NamedTuple):
    """What a rule says of new samples.

    Attributes
    ----------
    predictions : (samples, columns of predictions)
    guesses : (samples, targets) without any feature.
    findings : what is worth knowing about them.
    """

    predictions: Floats
    guesses: Floats
    findings: tuple[Finding, ...]


def saved_outcome_rule(rule: OutcomeRule) -> SavedOutcomeRule:
    """What is needed of a test's rule to predict new samples, without its training samples.

    A rule without features is an error.
    """
    if not rule.features:
        raise InputError("no feature clearly improves on guessing, so there is no rule to save.")
    outcome: Outcome = rule.training.outcome
    class_names: tuple[str, ...] = ()
    regression = None
    if isinstance(outcome, ClassesOutcome):
        class_names = outcome.class_names
        # From fitted targets to the probabilities of the classes. Every class has training samples,
        # so that the regression knows all of them.
        regression = fit_multinomial(rule.score_rule.training_fits, outcome.codes)
    return SavedOutcomeRule(
        features=rule.features,
        sums=rule.sums,
        guess_sums=rule.guess_sums,
        roles=rule.roles,
        class_names=class_names,
        regression=regression,
        text=rule.text,
    )
