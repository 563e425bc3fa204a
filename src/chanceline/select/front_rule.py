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
    chosen = np.append(support, np.arange(problem.n_features, problem.n_features + problem.kept))
    widest = np.zeros(chosen.size)
    hard_margin(np.ascontiguousarray(problem.columns[chosen][:, right].T), widest, np.zeros(right.size), False)
    wide = _rule(problem, support, widest[: support.size], float(widest[-1]) if problem.kept else 0.0)
    return wide if wide.errors <= rule.errors else rule


def _rule(problem: Problem, support: NDArray[np.int64], weights: NDArray[np.float64], constant: float) -> Rule:
    slopes, bias = problem.original(support, weights, constant)
    return make_rule(problem.X, problem.y, support, slopes, bias)
