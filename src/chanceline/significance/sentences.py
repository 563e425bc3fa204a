"""A rule in words, always from the side of the positive class.

A sample exactly on the threshold is not predicted to be positive, neither in words nor by
`predict`. How many digits are written: `rounding`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from chanceline._arrays import Floats
from chanceline._results import listed
from chanceline.columns.table import AnyTable
from chanceline.perceptron.rule import Rule
from chanceline.prediction.rule import PredictionRule
from chanceline.prediction.scorecard import Scorecard
from chanceline.significance.rounding import (
    names_with_weights,
    shortest_inequality,
    shortest_threshold,
)
from chanceline.tables.wording import plural

MINUS = "−"


def rule_sentence(
    rule: Rule | PredictionRule,
    X: AnyTable,
    names: Sequence[str],
    classes: tuple[object, object],
) -> str:
    """A rule as a sentence: `predict ill if 0.52·g1 − 0.31·g7 > 0.0945`.

    The sentence says when the positive class is predicted; otherwise it is the negative one.

    Parameters
    ----------
    rule : a linear rule, found by a search or made for new samples.
    X : (samples, all features of the table). Numbers are rounded only so far that the sentence
        classifies these samples as the rule does.
    names : names of all features of the table.
    classes : the names of the negative and the positive class, in this order.
    """
    negative, positive = classes
    columns = X[:, rule.support].astype(float)  # (samples, features of the rule)
    names_in_rule = [names[column] for column in rule.support]
    if not np.any(rule.weights):
        # Without weights the same class is predicted for every sample.
        constant = positive if rule.bias > 0 else negative
        sentence = f"predict {constant} always"
    elif isinstance(rule, PredictionRule) and rule.dense:
        # A rule on all features: the sentence names only those with the largest weights.
        sentence = f"predict {positive} if {_dense_condition(rule, columns, names_in_rule)}"
    else:
        sentence = f"predict {positive} if {_sparse_condition(rule, columns, names_in_rule)}"
    return sentence + _samples_on_threshold(rule, columns)


def _dense_condition(rule: PredictionRule, columns: Floats, names: Sequence[str]) -> str:
    """`a weighted sum of 512 features is large; the most weight has g1, g7, g4, g9, …`."""
    weight_of_one_sd = np.abs(rule.weights) * columns.std(axis=0)
    heaviest_first = np.argsort(-weight_of_one_sd)
    heaviest = listed([names[j] for j in heaviest_first])
    total = f"a weighted sum of {len(rule.weights)} features"
    return f"{total} is large; the most weight has {heaviest}"


def _sparse_condition(rule: Rule | PredictionRule, columns: Floats, names: Sequence[str]) -> str:
    """The condition of a rule: `0.52·g1 − 0.31·g7 > 0.0945`.

    Features whose weight rounds to 0 are left out. Minus signs are typographic ones (`−`).

    Parameters
    ----------
    rule : a linear rule with a weight other than zero.
    columns : (samples, features of the rule) by which numbers are rounded.
    names : names of the rule's features.
    """
    inequality = shortest_inequality(rule, columns)
    total = ""
    for name, weight in names_with_weights(inequality, names):
        # Weights are decimal numbers as text.
        is_negative = weight.startswith("-")
        term = _term(weight.lstrip("-"), name)
        is_first = not total
        if is_first:
            total = f"{MINUS}{term}" if is_negative else term
        else:
            operator = MINUS if is_negative else "+"
            total += f" {operator} {term}"
    threshold = inequality.threshold.replace("-", MINUS)
    return f"{total} {inequality.sign} {threshold}"


def _term(size: str, name: str) -> str:
    """`0.52·g1`, or `g1` alone if its weight is 1."""
    # "1·2-butanol": a name that begins like a number needs its weight beside it.
    if size == "1" and not name[:1].isdigit():
        return name
    exponent_with_minus = size.replace("-", MINUS)
    return f"{exponent_with_minus}·{name}"


def _samples_on_threshold(rule: Rule | PredictionRule, columns: Floats) -> str:
    """How many samples lie on the threshold of a searched rule; empty where there is none.

    A search counts a sample on the threshold as an error, whatever its class.
    """
    if isinstance(rule, PredictionRule):
        return ""
    scores = columns @ rule.weights + rule.bias
    on_threshold = int(np.count_nonzero(scores[rule.wrong] == 0))
    if on_threshold == 0:
        return ""
    return f" ({plural(on_threshold, 'sample')} exactly on the threshold, counted as errors)"


def card_sentence(card: Scorecard, X: AnyTable, names: Sequence[str], positive: object) -> str:
    """A scorecard, a rule with small whole points, as a sentence.

    `2 points for every 1.3 of g1, −1 point for every 40 of g7; ill above 3.5 points (9 errors, 1
    more than the rule)`.

    Parameters
    ----------
    card : the scorecard. A feature gives its points once for every `step` of its value.
    X : (samples, all features). The threshold has only as many digits as it takes to classify
        these samples as the scorecard does.
    names : names of all features of the table.
    positive : the class above the threshold.
    """
    # The points of every feature.
    clauses = []
    for column, points, step in zip(card.support, card.points.tolist(), card.steps, strict=True):
        number = f"{points}".replace("-", MINUS)
        noun = "point" if abs(points) == 1 else "points"
        clauses.append(f"{number} {noun} for every {step:g} of {names[column]}")

    # The threshold, and the errors compared with those of the rule.
    totals = (X[:, card.support] / card.steps) @ card.points  # (samples,)
    threshold = shortest_threshold(totals, card.threshold).replace("-", MINUS)
    additional_errors = card.loss  # errors of the scorecard minus errors of the rule
    comparison = f"{_compared_with_rule(additional_errors)} the rule"
    errors = f"{plural(card.errors, 'error')}, {comparison}"
    return f"{', '.join(clauses)}; {positive} above {threshold} points ({errors})"


def _compared_with_rule(additional_errors: int) -> str:
    """`1 more than`, `2 fewer than` or `as many as`."""
    if additional_errors > 0:
        return f"{additional_errors} more than"
    if additional_errors < 0:
        return f"{-additional_errors} fewer than"
    return "as many as"
