"""Rules in doubles from weights that rational arithmetic has found."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chanceline._arrays import Floats
from chanceline.perceptron.problem import Problem
from chanceline.perceptron.rational import Decision, ExactTable
from chanceline.perceptron.rule import Rule, exact_product, has_positive_margin, make_rule

MAX_ROUNDINGS = 64  # of rational weights to doubles that are tried
LENGTH_STEP = Fraction(1, 2**30)  # by which the length of the weights differs between them


class ExactSeparation(NamedTuple):
    """Whether some columns separate, in rational arithmetic, and a rule that does.

    rule : None where nothing separates, or where no weights that do are doubles.
    """

    separable: bool
    rule: Rule | None


def separating_rule(
    table: ExactTable, support: NDArray[np.int64], samples: NDArray[np.int64] | None = None
) -> ExactSeparation:
    """Decide exactly whether these columns separate these samples, and find a rule in doubles.

    table : the problem in rational arithmetic.
    support : indices of columns of X.
    samples : indices of rows of X; by default all.
    """
    decision = table.decide(support, samples)
    if not decision.separable:
        return ExactSeparation(separable=False, rule=None)
    rule = rule_in_doubles(table.problem, support, decision, samples)
    return ExactSeparation(separable=True, rule=rule)


def rule_in_doubles(
    problem: Problem,
    support: NDArray[np.int64],
    decision: Decision,
    samples: ArrayLike | None = None,
) -> Rule | None:
    """Round exact weights to doubles in such a way that they still separate the samples.

    If the gap between the classes is only a few units in the last place, some roundings separate
    and others do not. So the weights are multiplied by a factor before they are rounded, and up to
    MAX_ROUNDINGS slightly different factors are tried. All checks are exact. Returns None if no
    rounding separates.

    Parameters
    ----------
    support : indices of columns of X.
    decision : the exact weights: one slope, a fraction, for each column of the support, and the
        bias. They separate the samples.
    samples : indices of rows of X; by default all.
    """
    if samples is None:
        samples = np.arange(problem.n_samples)
    samples_to_separate = np.asarray(samples, dtype=np.int64)

    # Columns whose weight is zero are left out of the rule.
    has_weight = [slope != 0 for slope in decision.slopes]  # (k,)
    columns = np.asarray(support, dtype=np.int64)[has_weight]
    slopes = [slope for slope in decision.slopes if slope != 0]  # of these columns
    if not slopes and decision.bias == 0:
        # Without any weights every sample is on the threshold, which is an error.
        if samples_to_separate.size:
            return None
        return make_rule(problem.X, problem.y, columns, np.zeros(0), 0.0)

    # Round the weights, multiplied by a factor that gives them a length of about 1, and look for a
    # bias with which the rounded weights separate.
    inverse_length = _inverse_length([*slopes, decision.bias])
    entries = problem.X[np.ix_(samples_to_separate, columns)]
    labels = problem.y[samples_to_separate]
    for attempt in range(MAX_ROUNDINGS):
        factor = inverse_length * (1 + attempt * LENGTH_STEP)
        weights = np.array([float(slope * factor) for slope in slopes])
        rounded_bias = float(decision.bias * factor)
        separating_bias = _separating_bias(
            entries, labels, weights, rounded_bias, problem.intercept
        )
        if separating_bias is None:
            continue  # try another factor

        # Make the rule for all samples of the problem. Its errors, `wrong`, may be samples that
        # need not be separated. As a last check, none may be among the samples to separate.
        rule = make_rule(problem.X, problem.y, columns, weights, separating_bias)
        is_error_to_avoid = np.isin(rule.wrong, samples_to_separate)
        if not is_error_to_avoid.any():
            return rule
    return None


def _separating_bias(
    entries: Floats, labels: Floats, weights: Floats, rounded_bias: float, intercept: bool
) -> float | None:
    """A bias with which rounded weights separate the samples, exactly; None if there is none.

    The bias of the exact weights, rounded, is tried first. If it fails and the rule has an
    intercept, the bias may be any other. (Without an intercept the rounded bias is 0.) `entries`
    are the x_μ, (samples, columns).
    """
    if has_positive_margin(entries, labels, weights, rounded_bias).all():
        return rounded_bias
    if intercept:
        return _bias_between(entries, labels, weights)
    return None


def _inverse_length(weights: list[Fraction]) -> Fraction:
    """Return 1 / |w| to about double precision, however large or small the fractions are.

    The weights are divided by the largest one before they are converted to doubles, so that none is
    too large; those that become zero are negligible.
    """
    largest = max(abs(weight) for weight in weights)
    relative_weights = [float(weight / largest) for weight in weights]
    relative_length = float(np.linalg.norm(relative_weights))
    return 1 / (largest * Fraction(relative_length))


def _bias_between(entries: Floats, labels: Floats, weights: Floats) -> float | None:
    """Find a double b with y_μ(x_μ·w + b) > 0 for all samples, exactly; None if there is none.

    A sample with label 1 requires b > −x·w, one with label −1 requires b < −x·w. The result is the
    middle between the largest lower limit and the smallest upper limit, rounded to a double.
    Returns None also if there is only one class.

    entries : (samples, columns) the x_μ.
    labels : (samples,) the y_μ = ±1.
    weights : (columns,) w.
    """
    lower_limits = []
    upper_limits = []
    for row, label in zip(entries.tolist(), labels, strict=True):
        limit = -exact_product(row, weights.tolist())
        if label > 0:
            lower_limits.append(limit)
        else:
            upper_limits.append(limit)
    if not lower_limits or not upper_limits:
        return None

    lower_limit = max(lower_limits)
    upper_limit = min(upper_limits)
    if lower_limit >= upper_limit:
        return None

    # The limits are fractions: rounding to a double may move their middle outside.
    middle = float((lower_limit + upper_limit) / 2)
    if lower_limit < Fraction(middle) < upper_limit:
        return middle
    return None
