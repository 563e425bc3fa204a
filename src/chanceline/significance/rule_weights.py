"""The weights of every rule of a result as rows: features, covariates, and what is added to them.

The score of a sample is the sum of all its terms, each times its weight, and of the bias; the rule
names the positive class where the score lies above 0.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from chanceline.prediction.covariates import Category, Covariate, CovariateEncoder, QuadraticNumber
from chanceline.prediction.rule import PredictionRule
from chanceline.significance.result import SeparationTest
from chanceline.significance.separating import Separating


class RuleRole(StrEnum):
    """Which of a result's rules it is."""

    TO_USE = "rule to use"
    FEW = "few features"  # beside a rule to use on many
    SEPARATING = "separating"


class TermKind(StrEnum):
    """What a weight belongs to."""

    FEATURE = "feature"
    COVARIATE = "covariate"
    BIAS = "bias"
    BLOCK_BIAS = "bias of a block"


@dataclass(frozen=True)
class WeightRow:
    """One weight of a rule.

    Attributes
    ----------
    kind : what the weight belongs to.
    term : its name.
    weight : the weight itself.
    meaning : what the weight is multiplied with, or when it counts.
    """

    kind: TermKind
    term: str
    weight: float
    meaning: str


@dataclass(frozen=True, kw_only=True)
class WeightedRule:
    """A rule of a result, with all its weights in the units of the table.

    Attributes
    ----------
    role : which of the result's rules it is.
    features, weights : names and weights of its features.
    bias : what is added; with blocks, that of the average block.
    encoder, covariate_weights : how covariates become terms, and the weight of each term.
    block_column, block_biases : the column that tells the blocks, and the bias of each.
    """

    role: RuleRole
    features: tuple[str, ...]
    weights: tuple[float, ...]
    bias: float
    encoder: CovariateEncoder = field(default_factory=CovariateEncoder)
    covariate_weights: tuple[float, ...] = ()
    block_column: str = ""
    block_biases: dict[str, float] = field(default_factory=dict)


def weighted_rules(result: SeparationTest) -> list[WeightedRule]:
    """The rule to use and the rule on few features, if there are any; and the separating set."""
    rules = []
    if result.rule is not None:
        rules.append(_weights_of_prediction_rule(result.rule, RuleRole.TO_USE))
        if result.rule.few is not None:
            rules.append(_weights_of_prediction_rule(result.rule.few, RuleRole.FEW))
    rules.append(_weights_of_separating_set(result.separating))
    return rules


def _weights_of_prediction_rule(rule: PredictionRule, role: RuleRole) -> WeightedRule:
    """Collect the weights of a rule for new samples, to be listed as rows of a table.

    Parameters
    ----------
    rule : the rule, with weights of features and covariates, and biases of blocks.
    role : which of the result's rules it is.
    """
    return WeightedRule(
        role=role,
        features=rule.features,
        weights=tuple(rule.weights.tolist()),
        bias=rule.bias,
        encoder=rule.encoder,
        covariate_weights=tuple(rule.covariate_weights.tolist()),
        block_column=rule.block_column,
        block_biases=rule.block_biases,
    )


def _weights_of_separating_set(separating: Separating) -> WeightedRule:
    """Collect the weights of the rule on the separating set; it has features and a bias only."""
    return WeightedRule(
        role=RuleRole.SEPARATING,
        features=separating.features,
        weights=separating.weights,
        bias=separating.bias,
    )


def weight_rows(rule: WeightedRule) -> list[WeightRow]:
    """List every weight of a rule with what it is multiplied by, or when it is added.

    The order is: features, terms of covariates, the bias, and the biases of blocks. In its block,
    the bias of a block takes the place of the bias.
    """
    rows = []
    for name, weight in zip(rule.features, rule.weights, strict=True):
        rows.append(WeightRow(TermKind.FEATURE, name, weight, "the value in the table"))
    rows += covariate_rows(rule)

    bias_meaning = "added to the sum"
    if rule.block_biases:
        bias_meaning = "added to the sum for the average block"
    rows.append(WeightRow(TermKind.BIAS, "bias", rule.bias, bias_meaning))
    block_meaning = f"added instead where {block_name(rule)} has this value"
    for name, bias in rule.block_biases.items():
        rows.append(WeightRow(TermKind.BLOCK_BIAS, name, bias, block_meaning))
    return rows


def covariate_rows(rule: WeightedRule) -> list[WeightRow]:
    """A row for each covariate term: its name, its weight, and how its value is computed.

    Terms are the columns of numbers that covariates become; a covariate can have several.
    """
    # All terms, covariate after covariate, as (name, meaning).
    terms: list[tuple[str, str]] = []
    for covariate in rule.encoder.covariates:
        terms += zip(covariate.terms, term_meanings(covariate), strict=True)
    # The weights are in the same order.
    rows = []
    for (name, meaning), weight in zip(terms, rule.covariate_weights, strict=True):
        rows.append(WeightRow(TermKind.COVARIATE, name, weight, meaning))
    return rows


def term_meanings(covariate: Covariate) -> list[str]:
    """How the terms of a covariate are computed from its value, in words.

    Terms are the columns of numbers that the covariate becomes. Means and standard deviations have
    all digits, so that the terms can be computed again exactly.
    """
    name = covariate.name
    if isinstance(covariate, Category):
        # An indicator of every level but the first, for which all indicators are 0.
        return [f"1 where {name} is {level}, else 0" for level in covariate.levels[1:]]
    if isinstance(covariate, QuadraticNumber):
        # The standardized number, clipped to ±reach, and its square.
        mean = repr(covariate.mean)
        spread = repr(covariate.spread)
        reach = f"{covariate.reach:g}"
        standardized = f"({name} - {mean})/{spread}, between -{reach} and {reach}"
        return [standardized, f"the square of z({name})"]
    return ["the value in the table"]


def terms_in_words(encoder: CovariateEncoder) -> list[str]:
    """Every term of covariates with how it is computed: `z(age): (age - 61.2)/11.9, …`."""
    words = []
    for covariate in encoder.covariates:
        pairs = zip(covariate.terms, term_meanings(covariate), strict=True)
        words += [f"{term}: {meaning}" for term, meaning in pairs]
    return words


def block_name(rule: WeightedRule) -> str:
    """The column of the blocks, or what it is where it has no name."""
    return rule.block_column or "the block"
