"""A rule that was fixed beforehand, applied to new samples.

A block (a site, a pair) that the table tested knew has its own bias there. The columns of another
one are measured from the mean of its new samples, as they are in the cross-validation of the table
tested: with the features' means m̄ there and m here, its bias is b + (m̄ − m)·w, where b is the bias
of the average block.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chanceline._arrays import Floats
from chanceline.prediction.covariates import CovariateEncoder
from chanceline.prediction.ridge_logistic import sigmoid
from chanceline.prediction.rule import PredictionRule
from chanceline.prediction.scorecard import Scorecard
from chanceline.significance.result import SeparationTest
from chanceline.significance.rule_to_use import RuleToUse
from chanceline.significance.separating import Separating

# One new sample of a block says nothing about where the block's other samples lie.
MIN_SAMPLES_OF_NEW_BLOCK = 2


class RuleChoice(StrEnum):
    """Which of a result's rules is meant."""

    RULE = "rule"  # the rule to use
    FEW = "few"  # that on few features, beside a rule to use on many
    POINTS = "points"  # the rule to use in whole points
    SEPARATING = "separating"  # the rule of the separating set


@dataclass(frozen=True, eq=False, kw_only=True)
class SavedRule:
    """Positive where x·w + b > 0.

    Attributes
    ----------
    choice : which of the result's rules it is.
    features : names of its features.
    weights : of the features, (features,).
    bias : b, with blocks that of the average block.
    encoder, covariate_weights : how covariates become terms, and the weight of each term.
    block_biases : the bias of every block of the table tested, by name.
    gives_probabilities : whether 1/(1 + e^−score) is the probability of the positive class.
    text : the rule in words.
    """

    choice: RuleChoice
    features: tuple[str, ...]
    weights: Floats
    bias: float
    encoder: CovariateEncoder = field(default_factory=CovariateEncoder)
    covariate_weights: Floats = field(default_factory=lambda: np.zeros(0))
    block_biases: dict[str, float] = field(default_factory=dict)
    gives_probabilities: bool = True
    text: str = ""

    @property
    def block_names(self) -> Collection[str]:
        """The blocks that it knows; empty if it has none."""
        return self.block_biases.keys()

    @property
    def block_noun(self) -> str:
        """What it has of its own for every block."""
        return "a threshold"

    def scores(
        self,
        columns: Floats,
        covariates: Mapping[str, NDArray[Any]],
        blocks: NDArray[np.str_] | None,
        means: Floats,
    ) -> Floats:
        """x·w + b of every new sample, (samples,).

        Parameters
        ----------
        columns : the features of the rule, (samples, features).
        covariates : one value for each sample, by name.
        blocks : the block of every sample; None if nothing is known about them.
        means : the means of the features in the table tested, (features,).
        """
        scores = columns @ self.weights
        if self.encoder.covariates:
            terms = self.encoder.transform(covariates, len(scores))
            scores = scores + terms @ self.covariate_weights
        if blocks is None or not self.block_biases:
            return scores + self.bias
        return scores + self._biases(columns, blocks, means)

    def _biases(self, columns: Floats, blocks: NDArray[np.str_], means: Floats) -> Floats:
        """The bias that every sample has by its block (site or pair), (samples,).

        A block of the table tested has a bias of its own. The bias of a new block is
        b + (m̄ − m)·w, where b is the bias of the average block, m the mean features of the new
        block's samples, m̄ the means in the table tested, and w the weights. So samples of a new
        block are measured from their own mean. A single sample says nothing about the mean of its
        block, and has the bias b. Parameters as in `scores`.
        """
        biases = np.full(len(columns), self.bias)
        for block in np.unique(blocks):
            in_block = blocks == block
            if block in self.block_biases:
                biases[in_block] = self.block_biases[block]
            elif np.count_nonzero(in_block) >= MIN_SAMPLES_OF_NEW_BLOCK:
                block_means = columns[in_block].mean(axis=0)  # m
                shift = means - block_means
                biases[in_block] = self.bias + shift @ self.weights
        return biases

    def probabilities(self, scores: Floats) -> Floats | None:
        """The probability of the positive class, (samples,); None where scores give none."""
        if not self.gives_probabilities:
            return None
        return sigmoid(scores)


def rules_of_result(result: SeparationTest) -> tuple[SavedRule, ...]:
    """All rules of a result, the one to use first; that of the separating set last."""
    rules = []
    if result.rule is not None:
        rules += _rules_for_new_samples(result.rule)
    rules.append(_from_separating_set(result.separating))
    return tuple(rules)


def _rules_for_new_samples(rule: RuleToUse) -> list[SavedRule]:
    """The rule to use; that on few features, and its whole points, where there are such."""
    rules = [_saved_prediction_rule(rule, RuleChoice.RULE, rule.text)]
    if rule.few is not None:
        rules.append(_saved_prediction_rule(rule.few, RuleChoice.FEW, rule.few_text))
    if rule.scorecard is not None:
        name_of_column = dict(zip(rule.support.tolist(), rule.features, strict=True))
        rules.append(_from_scorecard(rule.scorecard, name_of_column, rule.card_text))
    return rules


def _saved_prediction_rule(rule: PredictionRule, choice: RuleChoice, text: str) -> SavedRule:
    """Take what is saved from a rule by logistic regression, which gives probabilities.

    Parameters
    ----------
    rule : the rule, on named features.
    choice : which of the result's rules it is.
    text : the rule in words.
    """
    return SavedRule(
        choice=choice,
        features=rule.features,
        weights=rule.weights,
        bias=rule.bias,
        encoder=rule.encoder,
        covariate_weights=rule.covariate_weights,
        block_biases=rule.block_biases,
        text=text,
    )


def _from_scorecard(card: Scorecard, name_of_column: Mapping[int, str], text: str) -> SavedRule:
    """A rule in whole points: a step of a feature is worth its points."""
    return SavedRule(
        choice=RuleChoice.POINTS,
        features=tuple(name_of_column[column] for column in card.support.tolist()),
        weights=card.points / card.steps,
        bias=-card.threshold,
        gives_probabilities=False,
        text=text,
    )


def _from_separating_set(separating: Separating) -> SavedRule:
    """The rule of the set that separates, with a margin and no probabilities."""
    return SavedRule(
        choice=RuleChoice.SEPARATING,
        features=separating.features,
        weights=np.array(separating.weights),
        bias=separating.bias,
        gives_probabilities=False,
        text=separating.text,
    )
