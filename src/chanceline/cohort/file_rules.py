"""Rules and encoders of covariates as plain values, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from chanceline._results import plain
from chanceline.cohort.file_record import FileRecord
from chanceline.cohort.saved_rule import RuleChoice, SavedRule
from chanceline.prediction.covariates import (
    Category,
    Covariate,
    CovariateEncoder,
    Number,
    QuadraticNumber,
)

# How each kind of covariate is called in a file.
CATEGORY = "category"
NUMBER = "number"
QUADRATIC = "quadratic"


def rule_to_record(rule: SavedRule) -> dict[str, Any]:
    """A rule as plain values for JSON, with all digits; `rule_from_record` reads them."""
    return {
        "rule": rule.choice.value,
        "text": rule.text,
        "features": list(rule.features),
        "weights": plain(rule.weights),
        "bias": rule.bias,
        "covariates": [covariate_to_record(item) for item in rule.encoder.covariates],
        "covariate_weights": plain(rule.covariate_weights),
        "block_biases": plain(rule.block_biases),
        "gives_probabilities": rule.gives_probabilities,
    }


def rule_from_record(record: FileRecord) -> SavedRule:
    """Read the rule that `rule_to_record` wrote; values of a wrong type or length are refused.

    The methods of `record` read a value by its key: `text` and `texts` one text or several,
    `number` and `numbers` likewise, `truth` a truth value, and `record` a record within this one.
    """
    features = record.texts("features")
    covariates = [covariate_from_record(item) for item in record.records("covariates")]
    encoder = CovariateEncoder(tuple(covariates))
    block_record = record.record("block_biases")  # block → its bias

    # Which of the rules of a result this is: the rule to use, say, or the one on few features.
    rule_names = [choice.value for choice in RuleChoice]
    rule_name = record.choice("rule", rule_names)
    text = record.text("text")

    # A weight for every feature, and for every term of the covariates; and the biases.
    weights = record.numbers("weights", length=len(features))
    bias = record.number("bias")
    covariate_weights = record.numbers("covariate_weights", length=len(encoder.terms))
    block_biases = {name: block_record.number(name) for name in block_record.names()}
    return SavedRule(
        choice=RuleChoice(rule_name),
        text=text,
        features=features,
        weights=np.array(weights),
        bias=bias,
        encoder=encoder,
        covariate_weights=np.array(covariate_weights),
        block_biases=block_biases,
        gives_probabilities=record.truth("gives_probabilities"),
    )


def covariate_to_record(covariate: Covariate) -> dict[str, Any]:
    """How a covariate becomes terms, as plain values."""
    if isinstance(covariate, Category):
        kind = CATEGORY
    elif isinstance(covariate, QuadraticNumber):
        kind = QUADRATIC
    else:
        kind = NUMBER
    return {"kind": kind, **plain(covariate)}


def covariate_from_record(record: FileRecord) -> Covariate:
    """Read a covariate that `covariate_to_record` wrote.

    There are three kinds: categories, numbers as they are, and numbers with a quadratic term. What
    would not work (no levels, or a spread that cannot be divided by) is refused.
    """
    kind = record.choice("kind", [CATEGORY, NUMBER, QUADRATIC])
    name = record.text("name")
    if kind == CATEGORY:
        levels = record.texts("levels")
        if not levels:
            record.refuse(f"covariate {name!r} has no levels")
        return Category(name, levels)
    if kind == NUMBER:
        return Number(name)
    spread = record.number("spread")
    if spread <= 0:
        record.refuse(f"the spread of covariate {name!r} must be above 0")
    return QuadraticNumber(
        name, mean=record.number("mean"), spread=spread, reach=record.number("reach")
    )
