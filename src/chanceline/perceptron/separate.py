"""The rule of largest margin on given features, or a proof that nothing separates there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chanceline._arrays import Floats
from chanceline.errors import ConvergenceError
from chanceline.perceptron.conflicts import (
    NEGLIGIBLE_MULTIPLIER,
    Conflict,
    IntegerConflict,
    conflict_is_certain,
    conflict_is_exact,
)
from chanceline.perceptron.integers import integer_columns
from chanceline.perceptron.margin import (
    INSEPARABLE,
    SEPARABLE,
    UNDECIDED,
    Margin,
    largest_margin,
)
from chanceline.perceptron.problem import Problem, make_problem
from chanceline.perceptron.rational import ExactTable, is_affordable
from chanceline.perceptron.rounded_rule import separating_rule
from chanceline.perceptron.rule import Rule, scaled_rule
from chanceline.perceptron.validation import check_support


def separate(
    X: ArrayLike,
    y: ArrayLike,
    support: ArrayLike,
    intercept: bool = False,
    signs: ArrayLike | None = None,
) -> Rule:
    """Find the rule of largest margin on given columns, or multipliers that prove there is none.

    The largest margin is first computed in floating point, and the errors of its rule are counted
    exactly. If the rule has errors and rounding could be the reason, rational arithmetic decides.
    On more than 24 columns, or more than 20,000 numbers, this would take too long; there a margin
    below 1e-8 of the longest row counts as none.

    Parameters
    ----------
    X : (samples, features).
    y : (samples,) labels, two values.
    support : (k,) indices of features.
    intercept : whether the rule has one.
    signs : the sign that each weight must have, +1, −1 or 0 (free), for every feature or one for
        all. Features whose weight is then zero leave the support.

    Returns
    -------
    The rule, without errors if the columns separate. Otherwise its weights are zero, and its
    multipliers prove that nothing separates.
    """
    problem = make_problem(X, y, intercept, allow_contradictions=True, signs=signs)
    columns = check_support(support, problem.n_features)
    n_weights = columns.size + problem.n_unpenalized  # with that of the intercept
    if n_weights == 0:
        # All rows are empty, so that any multipliers prove that nothing separates: a 1 for the
        # first sample will do.
        any_multipliers = np.zeros(problem.n_samples)
        any_multipliers[0] = 1.0
        return _rule_without_weights(problem, columns, any_multipliers)

    # The largest margin in floating point, with multipliers scaled to sum 1. The rule has weights
    # only if the verdict is SEPARABLE, and its errors are counted exactly.
    margin = margin_on(problem, columns)
    multipliers = margin.multipliers / margin.multipliers.sum()
    floating_rule = _rule_of_margin(problem, columns, margin, multipliers)
    if floating_rule.separates:
        return floating_rule

    if not is_affordable(n_weights, problem.n_samples):
        # Too large for rational arithmetic: floating point decides, if it came to a verdict.
        if margin.verdict == UNDECIDED:
            raise ConvergenceError(
                "Whether these columns separate could not be decided in floating point; "
                "remove nearly equal columns."
            )
        return floating_rule

    # Floating point has found no rule without errors. If its multipliers prove that there is none,
    # `floating_rule` is the answer: the verdict is INSEPARABLE then, so that the rule has no
    # weights but these multipliers. Without such a proof rational arithmetic decides.
    if is_refuted(problem, columns, margin):
        return floating_rule
    return _separate_exactly(problem, columns, multipliers)


def _rule_of_margin(
    problem: Problem, support: NDArray[np.int64], margin: Margin, multipliers: Floats
) -> Rule:
    """Make a rule of the largest margin that floating point has found.

    The rule has no weights unless the verdict is SEPARABLE. Even then it may have errors, by
    rounding.

    support : (k,) indices of features.
    margin : the weights and the verdict.
    multipliers : (samples,) the multipliers of the margin, scaled to sum 1.
    """
    if margin.verdict != SEPARABLE:
        return _rule_without_weights(problem, support, multipliers)
    slopes, constant = problem.split(margin.weights)
    return replace(scaled_rule(problem, support, slopes, constant), multipliers=multipliers)


def _separate_exactly(problem: Problem, support: NDArray[np.int64], multipliers: Floats) -> Rule:
    """Decide in rational arithmetic whether a rule separates on these columns, and return it.

    If no rule separates, the rule returned has only zero weights. The exact weights are fractions,
    and are rounded to doubles such that they still separate. If no rounding does, ConvergenceError
    is raised.

    support : (k,) indices of features.
    multipliers : (samples,) those of the largest margin in floating point. They are stored in the
        rule as they are, because the exact decision returns no multipliers.
    """
    separation = separating_rule(ExactTable(problem), support)
    if not separation.separable:
        return _rule_without_weights(problem, support, multipliers)

    rule_in_doubles = separation.rule
    if rule_in_doubles is None:
        raise ConvergenceError(
            "These columns separate by so narrow a gap that no weights in double precision "
            "were found; round their values."
        )
    return replace(rule_in_doubles, multipliers=multipliers)


def _rule_without_weights(
    problem: Problem, support: NDArray[np.int64], multipliers: Floats
) -> Rule:
    """Return the rule with all weights zero, which misclassifies every sample."""
    return Rule(
        support=support,
        weights=np.zeros(support.size),
        bias=0.0,
        wrong=np.arange(problem.n_samples),
        margin=0.0,
        multipliers=multipliers,
    )


def margin_on(
    problem: Problem,
    support: NDArray[np.int64],
    samples: NDArray[np.int64] | slice = slice(None),
    early: bool = False,
) -> Margin:
    """Compute the largest margin in floating point on some columns and samples.

    The weights found are those of the scaled columns, with the intercept's last, and keep
    prescribed signs.

    support : (k,) indices of features.
    samples : indices of rows; by default all.
    early : stop at any separating weights, rather than at the largest margin.
    """
    nonnegative = None
    if problem.signs is not None:
        nonnegative = problem.nonnegative_on(support)
    return largest_margin(problem.rows(support, samples), early=early, nonnegative=nonnegative)


def is_refuted(problem: Problem, support: NDArray[np.int64], margin: Margin) -> bool:
    """Whether the multipliers of a fit prove that no weights separate on these columns.

    Weights w separate if a_μ·w > 0 for all rows a_μ = y_μ x_μ (labels times samples), and w_j ≥ 0
    for the weights that must not be negative. The proof consists of multipliers for which

        Σ_μ λ_μ a_μ + Σ_j κ_j e_j = 0,   with all λ_μ ≥ 0, κ_j ≥ 0, and Σ_μ λ_μ = 1.

    Here e_j is the unit vector of a weight that must not be negative. Multiplied by weights w that
    separate, the first sum would be positive, and the second one is Σ_j κ_j w_j ≥ 0: they could not
    add up to 0. So there are no such weights.

    The fit knows the λ_μ and κ_j only up to rounding, and they are not taken on trust. Two checks
    are tried, each of which is a proof if it succeeds:

    1. The exact multipliers of the same rows are within error bounds of the computed ones, and
       positive within these bounds (`conflict_is_certain`).
    2. The exact multipliers, computed in integers, are positive (`conflict_is_exact`). This takes
       longer, and needs columns that can be written in small integers.

    support : (k,) indices of features.
    margin : result of the fit: its verdict, and multipliers proportional to the λ_μ.
    """
    if margin.verdict != INSEPARABLE:
        return False

    # The multipliers λ_μ and κ_j.
    rows = problem.rows(support)
    nonnegative = problem.nonnegative_on(support)
    multipliers = margin.multipliers / margin.multipliers.sum()
    sign_multipliers = _sign_multipliers(rows, nonnegative, multipliers)

    # The first check.
    is_proven_with_rounding = _is_refuted_with_rounding(
        rows,
        nonnegative=nonnegative,
        multipliers=multipliers,
        sign_multipliers=sign_multipliers,
    )
    if is_proven_with_rounding:
        return True

    # The second check.
    integers = integer_columns(problem, support)
    return _is_refuted_in_integers(
        integers,
        nonnegative=nonnegative,
        multipliers=multipliers,
        sign_multipliers=sign_multipliers,
    )


def _sign_multipliers(rows: Floats, nonnegative: NDArray[np.bool_], multipliers: Floats) -> Floats:
    """Return the multipliers κ_j of the rows e_j, one for each weight j that must not be negative.

    For such a column Σ λ_μ a_μj ≤ 0 proves as much as Σ λ_μ a_μj = 0. If the sum is negative, the
    multiplier of the unit vector e_j is its absolute value, so that the sum over all rows becomes
    zero. Values that could be rounding errors are set to zero. So the result must still be checked.

    Parameters
    ----------
    rows : (samples, columns) the a_μ.
    nonnegative : (columns,) whether a weight must not be negative.
    multipliers : (samples,) the λ_μ, of sum 1.
    """
    column_sums = multipliers @ rows  # Σ λ_μ a_μj of every column j
    sign_multipliers = np.maximum(-column_sums[nonnegative], 0.0)
    negligible = NEGLIGIBLE_MULTIPLIER * np.abs(rows).max()
    sign_multipliers[sign_multipliers <= negligible] = 0.0
    return sign_multipliers


def _is_refuted_with_rounding(
    rows: Floats,
    nonnegative: NDArray[np.bool_],
    multipliers: Floats,
    sign_multipliers: Floats,
) -> bool:
    """Whether multipliers prove that nothing separates, with bounds of all rounding errors.

    The proof is a conflict: Σ_μ λ_μ a_μ + Σ_j κ_j e_j = 0 with λ_μ ≥ 0 and κ_j ≥ 0, not all zero.
    `conflict_is_certain` takes the rows with positive multipliers, and bounds how far their exact
    multipliers, the solution of a linear system, can be from the solution computed. The conflict is
    proven if all exact multipliers must be positive.

    Parameters
    ----------
    rows : (samples, columns) the a_μ = y_μ x_μ.
    nonnegative : (columns,) whether a weight must not be negative; each such weight j adds a row,
        the unit vector e_j.
    multipliers : (samples,) the λ_μ of the rows a_μ, of sum 1.
    sign_multipliers : (nonnegative weights,) the κ_j of the rows e_j.
    """
    n_patterns, n_columns = rows.shape
    sign_rows = np.eye(n_columns)[nonnegative]  # the e_j
    conflict = Conflict(
        rows=np.vstack([rows, sign_rows]),
        multipliers=np.append(multipliers, sign_multipliers),
        n_patterns=n_patterns,
        n_columns=n_columns,
    )
    # Scratch for the matrix of the linear system and its inverse. There are columns + 1 equations:
    # the conflict in every column, and the sum of the multipliers.
    basis = np.zeros((n_columns + 1, n_columns + 1))
    inverse = np.zeros_like(basis)
    return bool(conflict_is_certain(conflict, basis, inverse))


def _is_refuted_in_integers(
    integers: Floats,
    nonnegative: NDArray[np.bool_],
    multipliers: Floats,
    sign_multipliers: Floats,
) -> bool:
    """Whether the multipliers prove that nothing separates, in exact integer arithmetic.

    The proof is a conflict: Σ_μ λ_μ a_μ + Σ_j κ_j e_j = 0 with rows a_μ = y_μ x_μ of samples, unit
    vectors e_j of weights that must not be negative, λ_μ > 0 and κ_j > 0. The given multipliers
    only tell which rows to take; `conflict_is_exact` computes the exact ones.

    Parameters
    ----------
    integers : (columns, samples) y_μ x_μ in small integers, from `integer_columns`. A column that
        cannot be written in small integers is NaN; then `conflict_is_exact` returns False.
    nonnegative : (columns,) whether a weight must not be negative.
    multipliers : (samples,) approximate λ_μ, of sum 1.
    sign_multipliers : (nonnegative weights,) approximate κ_j; negligible ones are exactly zero.
    """
    # Which rows seem to be in conflict: the samples μ, and the columns j of the unit vectors e_j.
    samples_in_conflict = np.flatnonzero(multipliers > NEGLIGIBLE_MULTIPLIER)
    nonnegative_columns = np.flatnonzero(nonnegative)
    unit_vectors_in_conflict = nonnegative_columns[sign_multipliers > 0]

    # Compute exact multipliers of these rows: if all are positive, the rows are in conflict.
    n_columns = len(integers)
    conflict = IntegerConflict(
        integer_values=integers,
        used_columns=np.arange(n_columns),  # all of them
        n_columns=n_columns,
        patterns=samples_in_conflict,
        unit_places=unit_vectors_in_conflict,
    )
    # Scratch for the matrix whose columns are the rows in conflict.
    n_rows_in_conflict = samples_in_conflict.size + unit_vectors_in_conflict.size
    scratch = np.zeros((n_columns, n_rows_in_conflict), dtype=np.int64)
    return bool(conflict_is_exact(conflict, scratch))


def widest_rule(
    problem: Problem, support: NDArray[np.int64], weights: Floats, constant: float
) -> Rule:
    """Find the rule of largest margin on the samples that given weights classify correctly.

    If the new rule makes more errors on all samples than the given weights, the given weights are
    returned as the rule instead.

    support : (k,) indices of features, in any order.
    weights : (k,) weights on the scaled columns.
    constant : weight of the intercept.
    """
    ascending = np.argsort(support)  # a rule lists its features in ascending order
    support = support[ascending].astype(np.int64)
    rule = scaled_rule(problem, support, weights[ascending], constant)
    right_samples = np.setdiff1d(np.arange(problem.n_samples), rule.wrong)
    if support.size == 0 or right_samples.size == 0:
        return rule  # there is nothing to fit

    margin = margin_on(problem, support, right_samples)
    wide_weights, wide_constant = problem.split(margin.weights)
    wide_rule = scaled_rule(problem, support, wide_weights, wide_constant)
    if wide_rule.errors <= rule.errors:
        return wide_rule
    return rule
