"""Rules in doubles from weights that rational arithmetic has found."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chanceline._arrays import Floats
from chanceline.perceptron.problem import Problem
from chanceline.perceptron.rational import Decision, ExactTable
from chanceline.perceptron.rule import Rule, exact_product, make_rule, strictly_right

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
    """Decide exactly whether these columns separate these samples (by default all)."""
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
    """The rule of a decision's weights, rounded to doubles so that it separates these samples.

    Where the gap is a few units in the last place, not every rounding separates. So weights of
    slightly different lengths are rounded, and with an intercept the bias is placed in the middle
    of what the rounded weights leave for it. None if no rounding separates.

    support : columns of X.
    decision : has one slope, a fraction, for each column of the support, and the bias; they
        separate the samples exactly.
    samples : indices of rows, by default all.
    """
    if samples is None:
        samples = np.arange(problem.n_samples)
    rows = np.asarray(samples, dtype=np.int64)

    # Columns whose weight is zero are left out of the rule.
    is_used = [slope != 0 for slope in decision.slopes]
    columns = np.asarray(support, dtype=np.int64)[is_used]
    slopes = [slope for slope in decision.slopes if slope != 0]
    if not slopes and decision.bias == 0:
        # No weights at all: every sample is on the threshold, and wrong.
        if rows.size:
            return None
        return make_rule(problem.X, problem.y, columns, np.zeros(0), 0.0)

    inverse_length = _inverse_length([*slopes, decision.bias])
    entries = problem.X[np.ix_(rows, columns)]
    labels = problem.y[rows]
    for attempt in range(MAX_ROUNDINGS):
        factor = inverse_length * (1 + attempt * LENGTH_STEP)  # weights of length about 1
        weights = np.array([float(slope * factor) for slope in slopes])
        rounded_bias = float(decision.bias * factor)
        if strictly_right(entries, labels, weights, rounded_bias).all():
            bias: float | None = rounded_bias
        elif problem.intercept:
            bias = _bias_between(entries, labels, weights)
        else:
            bias = None

        # Errors are counted exactly, as the rule is applied: no sample in question may be wrong.
        if bias is not None:
            rule = make_rule(problem.X, problem.y, columns, weights, bias)
            if not np.isin(rule.wrong, rows).any():
                return rule
    return None


def _inverse_length(weights: list[Fraction]) -> Fraction:
    """1 / |w|, right to about a double's precision, whatever the size of the fractions.

    Relative to the largest weight no fraction is too large for a double; those too small do not
    count.
    """
    largest = max(abs(weight) for weight in weights)
    relative = [float(weight / largest) for weight in weights]
    return 1 / (largest * Fraction(float(np.linalg.norm(relative))))


def _bias_between(entries: Floats, labels: Floats, weights: Floats) -> float | None:
    """A double b with y_μ(x_μ·w + b) > 0 for all μ, exactly, in the middle of where it must lie.

    A sample of label y = 1 asks b > −x·w, one of label −1 asks b < −x·w. None if no double lies
    between these limits, or there is only one class.

    entries : (samples, columns), the x_μ.
    labels : (samples,), the y_μ = ±1.
    weights : (columns,), w.
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

    lower = max(lower_limits)
    upper = min(upper_limits)
    if lower >= upper:
        return None

    # The limits are fractions: rounding may take their middle beyond one of them.
    middle = float((lower + upper) / 2)
    if lower < Fraction(middle) < upper:
        return middle
    return None
