"""Rules that make few errors on given features, where these do not separate."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chanceline._arrays import Floats
from chanceline.columns.table import AnyTable
from chanceline.errors import ConvergenceError
from chanceline.perceptron.duplicates import consistent_rows
from chanceline.perceptron.hinge_fit import fit_hinge
from chanceline.perceptron.margin import SEPARABLE, largest_margin
from chanceline.perceptron.problem import make_problem
from chanceline.perceptron.rule import Rule, constant_rule, make_rule, scaled_rule
from chanceline.perceptron.separate import separate
from chanceline.perceptron.validation import check_support


def fewest_errors(X: ArrayLike, y: ArrayLike, support: ArrayLike, intercept: bool = False) -> Rule:
    """Few errors on the given columns, by a heuristic: give up the worst samples, then retry them.

    The squared hinge is fitted, the sample of smallest margin given up, and so on until the rest
    separates. Then every sample given up is tried again, those nearest to being right first, and
    taken back if all still separate.
    """
    problem = make_problem(X, y, intercept, allow_contradictions=True)
    columns = check_support(support, problem.n_features)
    has_weights = columns.size + problem.n_unpenalized > 0  # of columns, or of the intercept
    if not has_weights:
        return make_rule(problem.X, problem.y, columns, np.zeros(0), 0.0)

    # Give up samples until the rest separates.
    rows = problem.rows(columns)
    right = np.arange(problem.n_samples)
    given_up: list[int] = []
    separable, weights = fit_hinge(rows)
    while not separable and right.size > 1:
        worst = int(right[np.argmin(rows[right] @ weights)])
        given_up.append(worst)
        right = right[right != worst]
        separable, weights = fit_hinge(rows[right])

    # Take back what fits, those of largest margin first.
    given_up.sort(key=lambda sample: -float(rows[sample] @ weights))
    for sample in given_up:
        trial = np.sort(np.append(right, sample))
        # Only the verdict counts: `early` ends at any separating weights.
        if largest_margin(rows[trial], early=True).verdict == SEPARABLE:
            right = trial

    slopes, constant = problem.split(largest_margin(rows[right]).weights)
    return scaled_rule(problem, columns, slopes, constant)


def rule_on(X: AnyTable, y: Floats, support: NDArray[np.int64], intercept: bool) -> Rule:
    """The rule of largest margin on these features if they separate, else one of few errors.

    X is (samples, features), y = ±1. Rows that contradict a majority of equal rows do not take part
    in the fit, but count as errors.
    """
    support = np.asarray(support, dtype=np.int64)
    columns = X[:, support]
    rows = consistent_rows(columns, y)
    has_one_class = bool(np.all(y[rows] == y[rows[0]]))
    if intercept and (len(support) == 0 or has_one_class):
        return constant_rule(X, y, support)
    if len(support) == 0:
        return make_rule(X, y, support, np.zeros(0), 0.0)

    every_column = np.arange(len(support))
    try:
        rule = separate(columns[rows], y[rows], every_column, intercept)
        separates = rule.separates
    except ConvergenceError:
        # Floating point could not decide. A rule of few errors will do: `make_rule` counts its
        # errors exactly, and finds none if it separates after all.
        separates = False
    if not separates:
        rule = fewest_errors(columns[rows], y[rows], every_column, intercept)
    return make_rule(X, y, support, rule.weights, rule.bias)
