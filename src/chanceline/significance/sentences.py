"""A rule in words, always from the side of the positive class.

A sample exactly on the threshold is not predicted to be positive, neither in words nor by `predict`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from chanceline._results import listed
from chanceline.perceptron.rule import Rule
from chanceline.prediction.rule import PredictionRule
from chanceline.prediction.worth import Scorecard
from chanceline.significance.design import Bools, Floats
from chanceline.tables.dataset import plural

FEWEST_DIGITS = 3
MOST_DIGITS = 17  # a double that is written so comes back the same
MINUS = "−"


@dataclass(frozen=True)
class Inequality:
    """A rule as it is written: the positive class where Σ_j weights_j x_j lies above the threshold, or below it.

    Attributes
    ----------
    weights, threshold : decimal numbers, the largest weight ±1 as a rule.
    sign : ">", or "<" where all weights of the rule are negative: "if glucose < 5" reads better than "if −glucose > −5".
    digits : significant digits.
    """

    weights: tuple[str, ...]
    threshold: str
    sign: str
    digits: int


def calls_positive(columns: Floats, weights: Sequence[float], threshold: float, sign: str = ">") -> Bools:
    """What a reader (or a spreadsheet) makes of the numbers written: products added from left to right, then compared.

    Parameters
    ----------
    columns : samples × features of the rule.
    """
    total = np.zeros(len(columns))
    for column, weight in zip(columns.T, weights, strict=True):
        total = total + weight * column
    return total > threshold if sign == ">" else total < threshold


def shortest_inequality(rule: Rule | PredictionRule, columns: Floats) -> Inequality:
    """The rule with as few digits (three at least) as classify every sample the same way.

    Parameters
    ----------
    columns : samples × features of the rule.
    """
    wanted = columns @ rule.weights + rule.bias > 0
    sign = "<" if np.all(rule.weights <= 0) else ">"
    turn = -1.0 if sign == "<" else 1.0
    weights = turn * rule.weights
    threshold = -turn * rule.bias
    largest = float(np.abs(weights).max())
    for digits in range(FEWEST_DIGITS, MOST_DIGITS + 1):
        written = tuple(f"{weight:z.{digits}g}" for weight in weights / largest)
        limit = f"{threshold / largest:z.{digits}g}"
        called = calls_positive(columns, [float(weight) for weight in written], float(limit), sign)
        if np.array_equal(called, wanted):
            return Inequality(written, limit, sign, digits)
    # Dividing by the largest weight costs the last digit, and here it matters.
    exact = tuple(repr(float(weight)) for weight in weights)
    return Inequality(exact, repr(float(threshold)), sign, MOST_DIGITS)


def rule_sentence(rule: Rule | PredictionRule, X: Floats, names: Sequence[str], classes: tuple[object, object]) -> str:
    """`predict ill if 0.52·g1 − 0.31·g7 > 0.0945`: always about the positive class; every other sample is of the negative one.

    Parameters
    ----------
    X : samples × all features of the table, which the sentence classifies as the rule does.
    names : of all features.
    classes : the negative and the positive one.
    """
    negative, positive = classes
    columns = X[:, rule.support].astype(float)
    if not np.any(rule.weights):
        sentence = f"predict {positive if rule.bias > 0 else negative} always"
    elif isinstance(rule, PredictionRule) and rule.dense:
        heaviest = np.argsort(-np.abs(rule.weights) * columns.std(axis=0))
        first = listed([names[rule.support[j]] for j in heaviest])
        many = f"a weighted sum of {len(rule.weights)} features"
        sentence = f"predict {positive} if {many} is large; the most weight has {first}"
    else:
        written = shortest_inequality(rule, columns)
        total = _combination(written.weights, [names[j] for j in rule.support])
        limit = written.threshold.replace("-", MINUS)
        sentence = f"predict {positive} if {total} {written.sign} {limit}"
    return sentence + _about_threshold(rule, columns)


def _about_threshold(rule: Rule | PredictionRule, columns: Floats) -> str:
    """A search counts a sample on the threshold as an error, whatever its class; where there are such, the sentence says so."""
    if isinstance(rule, PredictionRule):
        return ""
    scores = columns @ rule.weights + rule.bias
    on_threshold = int(np.count_nonzero(scores[rule.wrong] == 0))
    if on_threshold == 0:
        return ""
    return f" ({plural(on_threshold, 'sample')} exactly on the threshold, counted as errors)"


def _combination(weights: Sequence[str], names: Sequence[str]) -> str:
    """`0.52·g1 − 0.31·g7`; features that weigh nothing are left out."""
    text = ""
    for weight, name in zip(weights, names, strict=True):
        if float(weight) == 0:
            continue
        is_negative = weight.startswith("-")
        size = weight.lstrip("-").replace("-", MINUS)
        # A name that begins like a number needs its weight beside it.
        term = name if size == "1" and not name[:1].isdigit() else f"{size}·{name}"
        if text:
            text += f" {MINUS if is_negative else '+'} {term}"
        else:
            text = f"{MINUS}{term}" if is_negative else term
    return text


def card_sentence(card: Scorecard, X: Floats, names: Sequence[str], positive: object) -> str:
    """`2 points for every 1.3 of g1, −1 point for every 40 of g7; ill above 3.5 points (9 errors, 1 more than the rule)`.

    Parameters
    ----------
    X : samples × all features; the threshold has as many digits as classify them all as the scorecard does.
    positive : the class above the threshold.
    """
    parts = []
    for j, point, step in zip(card.support, card.points.tolist(), card.steps, strict=True):
        size = f"{point}".replace("-", MINUS)
        noun = "point" if abs(point) == 1 else "points"
        parts.append(f"{size} {noun} for every {step:g} of {names[j]}")
    totals = (X[:, card.support] / card.steps) @ card.points
    threshold = _shortest_threshold(totals, card.threshold).replace("-", MINUS)
    than = "as many as"
    if card.loss:
        than = f"{abs(card.loss)} {'more' if card.loss > 0 else 'fewer'} than"
    return f"{', '.join(parts)}; {positive} above {threshold} points ({plural(card.errors, 'error')}, {than} the rule)"


def _shortest_threshold(totals: Floats, threshold: float) -> str:
    """The threshold with as few digits (three at least) as leave every total on its side."""
    for digits in range(FEWEST_DIGITS, MOST_DIGITS):
        written = f"{threshold:z.{digits}g}"
        if np.array_equal(totals > float(written), totals > threshold):
            return written
    return repr(threshold)
