"""From weights that make few errors to a rule: as far as possible from the samples it has right, errors counted exactly."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from chanceline.perceptron.margin import hard_margin
from chanceline.perceptron.problem import Problem
from chanceline.perceptron.rule import Rule, make_rule


def widest_rule(problem: Problem, support: NDArray[np.int64], weights: NDArray[np.float64], constant: float) -> Rule:
    """The rule of scaled weights in the units of X, or that of largest margin on the samples it has right if no worse."""
    order = np.argsort(support)
    support = support[order].astype(np.int64)
    rule = _rule(problem, support, weights[order], constant)
    right = np.setdiff1d(np.arange(problem.n_samples), rule.wrong)
    if support.size == 0 or right.size == 0:
        return rule
    rows = (problem.X[np.ix_(right, support)] - problem.centre[support]) / problem.scale[support]
    if problem.intercept:
        rows = np.column_stack([rows, np.ones(right.size)])
    rows *= problem.y[right, None]
    widest = np.zeros(rows.shape[1])
    hard_margin(np.ascontiguousarray(rows), widest, np.zeros(right.size), False)
    wide = _rule(problem, support, widest[: support.size], float(widest[-1]) if problem.kept else 0.0)
    return wide if wide.errors <= rule.errors else rule


def _rule(problem: Problem, support: NDArray[np.int64], weights: NDArray[np.float64], constant: float) -> Rule:
    slopes, bias = problem.original(support, weights, constant)
    return make_rule(problem.X, problem.y, support, slopes, bias)
