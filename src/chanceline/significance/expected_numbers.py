"""What cross-validation says of the rule for new samples, as rows of name, value and meaning."""

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


def expected_numbers(
    expected_error: ExpectedError, classes: tuple[str, str]
) -> list[ExpectedNumber]:
    """What to expect of a rule on new samples, as rows of a table.

    Each row has a name, a value in words and its meaning. The rows are the error, the comparison
    with the larger class, errors by class, the area under the curve, and the errors of other rules.

    Parameters
    ----------
    expected_error : the result of cross-validation; its rates are shares from 0 to 1.
    classes : names of the negative and of the positive class.
    """
    rows = [
        ExpectedNumber(
            "error",
            f"{_percent(expected_error.rate)} (95 % CI {_percent_range(expected_error.interval)})",
            "share of new samples that the rule takes for the other class",
        ),
        *_against_majority(expected_error),
        *_by_class(expected_error, classes),
        ExpectedNumber(
            "area under the curve",
            _area(expected_error),
            "share of pairs of one sample of each class that the scores put in the right order, "
            "within folds; 0.5 is guessing",
        ),
    ]
    return rows + _errors_of_other_rules(expected_error)


def _against_majority(expected_error: ExpectedError) -> list[ExpectedNumber]:
    """Two rows of the report that compare the rule with always naming the larger class.

    The rule wins a sample if it is right and the larger class is wrong. It loses a sample if it is
    wrong and the larger class is right.
    """
    comparison = expected_error.against_majority
    standing = "clearly better" if comparison.better else "not clearly better"
    counts = f"{round(comparison.won)} won, {round(comparison.lost)} lost"
    # `format_p` takes log₁₀ p. A p-value of 0 has no logarithm: take the smallest float instead.
    positive_pvalue = max(comparison.pvalue, float_info.min)
    pvalue_in_words = format_p(log10(positive_pvalue))
    return [
        ExpectedNumber(
            "error of the larger class",
            _percent(expected_error.majority_error),
            "always naming the larger class; of equal ones, guessing",
        ),
        ExpectedNumber(
            "won and lost against it",
            f"{counts}: {standing}",
            "samples that only the rule, or only the larger class, has right "
            f"(sign test p = {pvalue_in_words})",
        ),
    ]


def _by_class(expected_error: ExpectedError, classes: tuple[str, str]) -> list[ExpectedNumber]:
    """Rows of sensitivity, specificity, and the mean error of the two classes."""
    negative, positive = classes
    return [
        ExpectedNumber(
            "sensitivity", _percent(expected_error.sensitivity), f"share of {positive} found"
        ),
        ExpectedNumber(
            "specificity", _percent(expected_error.specificity), f"share of {negative} found"
        ),
        ExpectedNumber(
            "balanced error",
            _percent(expected_error.balanced_rate),
            "mean of the errors of the two classes",
        ),
    ]


def _errors_of_other_rules(expected_error: ExpectedError) -> list[ExpectedNumber]:
    """Rows of the error rates of other kinds of rules, as far as these were cross-validated.

    Other kinds are rules on few features, rules on many features, and rules on covariates alone.
    The rate of a kind that was not cross-validated is None; it has no row.
    """
    rows = []
    if expected_error.few_rate is not None:
        value = _percent(expected_error.few_rate)
        meaning = "if rules on few features alone are made"
        rows.append(ExpectedNumber("error with few features", value, meaning))
    if expected_error.many_rate is not None:
        value = _percent(expected_error.many_rate)
        meaning = "if rules on many features alone are made"
        rows.append(ExpectedNumber("error with many features", value, meaning))
    if expected_error.covariates_rate is not None:
        value = _percent(expected_error.covariates_rate)
        meaning = "without any feature"
        rows.append(ExpectedNumber("error of covariates alone", value, meaning))
    return rows


def _area(expected_error: ExpectedError) -> str:
    """`0.85 (95 % CI 0.70–0.92)`, or why there is none."""
    if isnan(expected_error.auc):
        return "none, as no fold has both classes"
    low, high = expected_error.auc_interval
    return f"{expected_error.auc:.2f} (95 % CI {low:.2f}–{high:.2f})"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _percent_range(interval: tuple[float, float]) -> str:
    """An interval of shares in per cent: `6–28`."""
    low, high = interval
    return f"{round(100 * low)}–{round(100 * high)}"
