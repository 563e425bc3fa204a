"""What cross-validation says of the rule to use, as rows of a table: number, value, meaning."""

from __future__ import annotations

from math import isnan, log10
from sys import float_info
from typing import NamedTuple

from chanceline.chance.bound import format_p
from chanceline.prediction.crossval import ExpectedError


class ExpectedNumber(NamedTuple):
    """One number that cross-validation gave, in words for a reader."""

    name: str
    value: str
    meaning: str


def expected_numbers(expected: ExpectedError, classes: tuple[str, str]) -> list[ExpectedNumber]:
    """What to expect of a rule on new samples, as rows of a name, a number and its meaning.

    Errors, shares of both classes found, and the area under the curve.

    Parameters
    ----------
    expected : what cross-validation gave.
    classes : the negative and the positive one.
    """
    rows = [
        ExpectedNumber(
            "error",
            f"{_percent(expected.rate)} (95 % CI {_percent_range(expected.interval)})",
            "share of new samples that the rule takes for the other class",
        ),
        *_against_majority(expected),
        *_by_class(expected, classes),
        ExpectedNumber(
            "area under the curve",
            _area(expected),
            "share of pairs of one sample of each class that the scores put in the right order, "
            "within folds; 0.5 is guessing",
        ),
    ]
    return rows + _other_rules(expected)


def _against_majority(expected: ExpectedError) -> list[ExpectedNumber]:
    """The error of the larger class, and which samples the rule wins and loses against it."""
    comparison = expected.against_majority
    standing = "clearly better" if comparison.better else "not clearly better"
    pvalue = max(comparison.pvalue, float_info.min)  # one too small to be written has a logarithm
    return [
        ExpectedNumber(
            "error of the larger class",
            _percent(expected.majority_error),
            "always naming the larger class; of equal ones, guessing",
        ),
        ExpectedNumber(
            "won and lost against it",
            f"{round(comparison.won)} won, {round(comparison.lost)} lost: {standing}",
            "samples that only the rule, or only the larger class, has right "
            f"(sign test p = {format_p(log10(pvalue))})",
        ),
    ]


def _by_class(expected: ExpectedError, classes: tuple[str, str]) -> list[ExpectedNumber]:
    """How often samples of each class are found."""
    negative, positive = classes
    return [
        ExpectedNumber("sensitivity", _percent(expected.sensitivity), f"share of {positive} found"),
        ExpectedNumber("specificity", _percent(expected.specificity), f"share of {negative} found"),
        ExpectedNumber(
            "balanced error",
            _percent(expected.balanced_rate),
            "mean of the errors of the two classes",
        ),
    ]


def _other_rules(expected: ExpectedError) -> list[ExpectedNumber]:
    """The errors of other kinds of rules; only of those that were compared."""
    # Name → (error, meaning).
    compared = {
        "error with few features": (expected.few_rate, "if rules on few features alone are made"),
        "error with many features": (
            expected.many_rate,
            "if rules on many features alone are made",
        ),
        "error of covariates alone": (expected.covariates_rate, "without any feature"),
    }
    rows = []
    for name, (rate, meaning) in compared.items():
        if rate is not None:
            rows.append(ExpectedNumber(name, _percent(rate), meaning))
    return rows


def _area(expected: ExpectedError) -> str:
    """`0.85 (95 % CI 0.70–0.92)`, or why there is none."""
    if isnan(expected.auc):
        return "none, as no fold has both classes"
    low, high = expected.auc_interval
    return f"{expected.auc:.2f} (95 % CI {low:.2f}–{high:.2f})"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _percent_range(interval: tuple[float, float]) -> str:
    """`6–28`, rounded as everywhere."""
    low, high = interval
    return f"{round(100 * low)}–{round(100 * high)}"
