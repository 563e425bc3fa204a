"""The rule of an outcome other than two classes, fixed beforehand: from features to predictions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chanceline._arrays import Floats
from chanceline.errors import InputError
from chanceline.prediction.covariates import CovariateEncoder
from chanceline.significance.outcomes.number import NumberOutcome
from chanceline.significance.outcomes.outcome import Outcome
from chanceline.significance.outcomes.rule_to_show import OutcomeRule
from chanceline.significance.outcomes.several_classes import (
    ClassesOutcome,
    MultinomialRegression,
    fit_multinomial,
)
from chanceline.significance.outcomes.survival import SurvivalOutcome


class SavedKind(StrEnum):
    """What the outcome is."""

    NUMBER = NumberOutcome.kind
    CLASSES = ClassesOutcome.kind
    SURVIVAL = SurvivalOutcome.kind


@dataclass(frozen=True, eq=False, kw_only=True)
class SavedOutcomeRule:
    """Fitted targets = x·weights + intercepts, and of classes probabilities from these.

    Attributes
    ----------
    features : names of its features.
    weights : (features, targets)
    intercepts : (targets,)
    guesses : (targets,) what is predicted without any feature: the mean of the table tested.
    class_names : of the classes; empty for other outcomes.
    regression : from fitted indicators to the probabilities of all classes; None for other
        outcomes.
    text : the rule in words.
    """

    features: tuple[str, ...]
    weights: Floats
    intercepts: Floats
    guesses: Floats
    class_names: tuple[str, ...]
    regression: MultinomialRegression | None
    text: str

    @property
    def encoder(self) -> CovariateEncoder:
        """How covariates become terms: it has none."""
        return CovariateEncoder(())

    @property
    def block_biases(self) -> Mapping[str, float]:
        """Thresholds of blocks: it has none."""
        return {}

    def predictions(self, columns: Floats) -> Floats:
        """A number, probabilities of the classes, or a risk: (samples, columns of predictions).

        Parameters
        ----------
        columns : (samples, features)
        """
        fitted = columns @ self.weights + self.intercepts
        if self.regression is None:
            return fitted
        return self.regression.probabilities(fitted)

    def named(self, predictions: Floats) -> NDArray[Any]:
        """Predictions as a user sees them, (samples,): numbers, or names of classes."""
        if self.regression is None:
            return predictions[:, 0]
        return np.array(self.class_names, dtype=object)[predictions.argmax(axis=1)]


def saved_outcome_rule(rule: OutcomeRule) -> SavedOutcomeRule:
    """The rule without the samples that it was made from; one sentence if it needs them.

    Parameters
    ----------
    rule : of a test.
    """
    training = rule.training
    if training.block_of_sample.max() > 0 or training.terms.shape[1] > 0:
        raise InputError(
            "the rule knows blocks or covariates, which a saved rule of this outcome cannot take; "
            "test without them to save it."
        )
    if not rule.features:
        raise InputError("no feature clearly improves on guessing, so there is no rule to save.")
    outcome: Outcome = training.outcome
    class_names: tuple[str, ...] = ()
    regression = None
    if isinstance(outcome, ClassesOutcome):
        class_names = outcome.class_names
        # Every class has samples, so that the regression knows all of them.
        regression = fit_multinomial(rule.score_rule.training_fits, outcome.codes)
    return SavedOutcomeRule(
        features=rule.features,
        weights=rule.weights,
        intercepts=rule.intercepts,
        guesses=outcome.targets.mean(axis=0),
        class_names=class_names,
        regression=regression,
        text=rule.text,
    )
