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
    """Find a rule with few errors on given columns that need not separate the samples.

    This is a heuristic. First fit the squared hinge, give up the sample of smallest margin, and
    repeat until the samples kept are separable. Then try to take back each sample that was given
    up, those of largest margin first: a sample is kept if all kept samples are still separable. The
    rule has the largest margin on the samples kept; samples that stay given up may be errors.

    X : (samples, features).
    y : (samples,) labels, two values.
    support : (k,) indices of features.
    intercept : whether the rule has one.
    """
    problem = make_problem(X, y, intercept, allow_contradictions=True)
    columns = check_support(support, problem.n_features)
    has_weights = columns.size + problem.n_unpenalized > 0  # of columns, or of the intercept
    if not has_weights:
        # Nothing can be fitted: every sample is on the threshold.
        return make_rule(problem.X, problem.y, columns, np.zeros(0), 0.0)

    # Give up samples until the others are separable.
    rows = problem.rows(columns)  # y_μ x_μ scaled, (samples, columns [+ 1 with an intercept])
    kept_samples = np.arange(problem.n_samples)
    given_up: list[int] = []
    separable, weights = fit_hinge(rows)  # weights of the scaled columns
    while not separable and kept_samples.size > 1:
        margins = rows[kept_samples] @ weights
        worst_sample = int(kept_samples[np.argmin(margins)])
        given_up.append(worst_sample)
        kept_samples = kept_samples[kept_samples != worst_sample]
        separable, weights = fit_hinge(rows[kept_samples])

    # Take samples back, those of largest margin under the last fit first.
    given_up.sort(key=lambda sample: -float(rows[sample] @ weights))
    for sample in given_up:
        with_sample = np.sort(np.append(kept_samples, sample))
        # Only the verdict is needed, so any separating weights will do (`early`).
        trial_fit = largest_margin(rows[with_sample], early=True)
        if trial_fit.verdict == SEPARABLE:
            kept_samples = with_sample

    # The rule of largest margin on the kept samples, converted into the units of X.
    final_fit = largest_margin(rows[kept_samples])
    slopes, constant = problem.split(final_fit.weights)
    return scaled_rule(problem, columns, slopes, constant)


def rule_on(X: AnyTable, y: Floats, support: NDArray[np.int64], intercept: bool) -> Rule:
    """Fit a rule on given features: of largest margin if they separate, else one of few errors.

    "Separate" means that some rule on these features makes no errors. Equal rows of X may have
    different labels. Then the rows with the less frequent label do not take part in the fit, but
    are counted among the errors of the rule.

    X : (samples, features).
    y : (samples,) labels ±1.
    support : (k,) indices of features.
    intercept : whether the rule has one.
    """
    support = np.asarray(support, dtype=np.int64)
    columns = X[:, support]
    fitted_samples = consistent_rows(columns, y)  # indices, (fitted samples,)
    fitted_columns = columns[fitted_samples]
    fitted_labels = y[fitted_samples]

    # Cases that need no fit. Without features and without an intercept the rule has no weights at
    # all. If the rule has an intercept, this decides alone if there are no features or only one
    # class. (One class without an intercept is fitted like two: the weights must find the sign.)
    has_no_features = len(support) == 0
    has_one_class = bool(np.all(fitted_labels == fitted_labels[0]))
    if has_no_features and not intercept:
        no_weights = np.zeros(0)
        return make_rule(X, y, support, weights=no_weights, bias=0.0)
    if intercept and (has_no_features or has_one_class):
        return constant_rule(X, y, support)

    # `separate` returns the rule of largest margin, or one with errors if nothing separates.
    every_column = np.arange(len(support))
    try:
        rule = separate(fitted_columns, fitted_labels, every_column, intercept)
        separates = rule.separates
    except ConvergenceError:
        # Whether the columns separate could not be decided. The search for few errors needs no
        # decision: if its rule separates after all, no errors will be counted below.
        separates = False
    if not separates:
        rule = fewest_errors(fitted_columns, fitted_labels, every_column, intercept)

    # The same weights as a rule with the original indices of the features, whose errors are counted
    # among all samples.
    return make_rule(X, y, support, rule.weights, rule.bias)
