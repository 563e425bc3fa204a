"""Rules rounded for writing: as few digits as classify every sample of the table the same way.

A rule calls a sample positive where Σ_j w_j x_j > threshold. Weights and threshold are divided by
the largest weight and rounded to 3, 4, … significant digits until the rounded inequality calls the
same samples positive. A sample exactly on the threshold is not called positive, as by `predict`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from chanceline._arrays import Bools, Floats
from chanceline.perceptron.rule import Rule
from chanceline.prediction.rule import PredictionRule

MIN_DIGITS = 3  # fewer would look like a guess
MAX_DIGITS = 17  # a double that is written so comes back the same


@dataclass(frozen=True)
class Inequality:
    """A rule as it is written: positive where Σ_j weights_j x_j lies above or below the threshold.

    Attributes
    ----------
    weights, threshold : decimal numbers, the largest weight ±1 as a rule.
    sign : ">", or "<" where all weights of the rule are negative: "if glucose < 5" reads better
        than "if −glucose > −5".
    digits : significant digits.
    """

    weights: tuple[str, ...]
    threshold: str
    sign: str
    digits: int

    def calls_positive(self, columns: Floats) -> Bools:
        """What a reader (or a spreadsheet) makes of the numbers written, of shape (samples,).

        Products are added from left to right, then compared.

        Parameters
        ----------
        columns : (samples, features of the rule).
        """
        total = np.zeros(len(columns))
        for column, weight in zip(columns.T, self.weights, strict=True):
            total = total + float(weight) * column
        if self.sign == ">":
            return total > float(self.threshold)
        return total < float(self.threshold)


def shortest_inequality(rule: Rule | PredictionRule, columns: Floats) -> Inequality:
    """Write a rule as an inequality w·x > t, in as few digits as classify every sample the same.

    There are at least `MIN_DIGITS` significant digits. The inequality is divided by the largest
    weight, which so becomes ±1.

    Parameters
    ----------
    rule : a linear rule with at least one weight other than zero; positive where w·x + bias > 0.
    columns : (samples, features of the rule) the samples to classify.
    """
    is_positive = columns @ rule.weights + rule.bias > 0  # (samples,)
    weights = rule.weights
    threshold = -rule.bias
    sign = ">"
    if np.all(rule.weights <= 0):
        # No weight is positive: multiply both sides by −1, which turns the sign around.
        weights = -weights
        threshold = -threshold
        sign = "<"

    largest_weight = float(np.abs(weights).max())
    divided_weights = weights / largest_weight
    divided_threshold = threshold / largest_weight
    for digits in range(MIN_DIGITS, MAX_DIGITS + 1):
        # In the format specification, `z` writes −0 as 0, and `g` gives the significant digits.
        inequality = Inequality(
            weights=tuple(f"{weight:z.{digits}g}" for weight in divided_weights),
            threshold=f"{divided_threshold:z.{digits}g}",
            sign=sign,
            digits=digits,
        )
        if np.array_equal(inequality.calls_positive(columns), is_positive):
            return inequality

    # Even with all digits some sample is classified differently, because the division by the
    # largest weight rounds, too: write the weights undivided.
    return Inequality(
        weights=tuple(repr(float(weight)) for weight in weights),
        threshold=repr(float(threshold)),
        sign=sign,
        digits=MAX_DIGITS,
    )


def shortest_threshold(totals: Floats, threshold: float) -> str:
    """The threshold with as few digits (three at least) as leave every total on its side.

    Parameters
    ----------
    totals : (samples,), what is compared with the threshold.
    """
    for digits in range(MIN_DIGITS, MAX_DIGITS):
        rounded = f"{threshold:z.{digits}g}"
        if np.array_equal(totals > float(rounded), totals > threshold):
            return rounded
    return repr(threshold)


def names_with_weights(inequality: Inequality, names: Sequence[str]) -> list[tuple[str, str]]:
    """(name, written weight) of the features that weigh anything after rounding."""
    pairs = zip(names, inequality.weights, strict=True)
    return [(name, weight) for name, weight in pairs if float(weight) != 0]
