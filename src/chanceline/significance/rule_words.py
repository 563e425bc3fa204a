"""A linear rule as a sentence: predict CASE if 0.52·g1 − 0.31·g7 > 1.4."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from chanceline.perceptron.rule import Rule

Floats = NDArray[np.float64]
FEWEST_DIGITS = 3
MOST_DIGITS = 17


def predicted_positive(X: Floats, support: Sequence[int], weights: Sequence[float], bias: float) -> NDArray[np.bool_]:
    """Which samples the rule calls positive; one on the threshold is not."""
    positive: NDArray[np.bool_] = X[:, list(support)] @ np.asarray(weights, dtype=float) > -bias
    return positive


def scaled(weights: Sequence[float] | Floats, bias: float) -> tuple[Floats, float]:
    """Weights and threshold as the sentence has them: divided by the largest weight, unless all are zero."""
    values = np.asarray(weights, dtype=float)
    largest = float(np.abs(values).max(initial=0.0)) or 1.0
    return values / largest, -bias / largest


def rule_sentence(rule: Rule, X: Floats, names: Sequence[str], positive: object) -> str:
    """The rule with as few digits as classify every sample of X the same way (three at least)."""
    if not np.any(rule.weights):
        return f"predict {positive} always" if rule.bias > 0 else f"predict {positive} never"
    weights, threshold = scaled(rule.weights, rule.bias)
    wanted = predicted_positive(X, rule.support.tolist(), rule.weights.tolist(), rule.bias)
    for digits in range(FEWEST_DIGITS, MOST_DIGITS + 1):
        shown, limit = [_rounded(weight, digits) for weight in weights], _rounded(threshold, digits)
        if np.array_equal(predicted_positive(X, rule.support.tolist(), [float(w) for w in shown], -float(limit)), wanted):
            break
    else:
        # Dividing by the largest weight costs the last digit, and here it matters.
        shown, limit = [repr(float(weight)) for weight in rule.weights], repr(float(-rule.bias))
    return f"predict {positive} if {_combination(shown, [names[j] for j in rule.support])} > {limit.replace('-', '−')}"


def _rounded(value: float, digits: int) -> str:
    text = f"{value:.{digits}g}"
    return "0" if float(text) == 0 else text


def _combination(weights: Sequence[str], names: Sequence[str]) -> str:
    """`0.52·g1 − 0.31·g7`; features that weigh nothing are left out."""
    text = ""
    for weight, name in zip(weights, names, strict=True):
        if float(weight) == 0:
            continue
        sign = "−" if weight.startswith("-") else "+"
        size = weight.lstrip("-").replace("-", "−")
        # A name that begins like a number needs its weight beside it.
        term = name if size == "1" and not name[:1].isdigit() else f"{size}·{name}"
        text += f" {sign} {term}" if text else f"−{term}" if sign == "−" else term
    return text
