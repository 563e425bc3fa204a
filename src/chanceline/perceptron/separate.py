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
    """The perceptron of largest margin on the given columns, or multipliers that refute all.

    With `signs` (+1, −1 or 0 for every column of X) the weights have them, and those that are zero
    leave the support. What rounding could decide is decided in rational arithmetic. Only on more
    than 24 columns or 20,000 numbers a margin below 1e-8 of the longest row counts as none.
    """
    problem = make_problem(X, y, intercept, allow_contradictions=True, signs=signs)
    columns = check_support(support, problem.n_features)
    if columns.size + problem.n_unpenalized == 0:
        return _rule_without_weights(problem, columns, multipliers=np.eye(problem.n_samples)[0])

    margin = margin_on(problem, columns)
    multipliers = margin.multipliers / margin.multipliers.sum()
    floating_rule = _rule_of_margin(problem, columns, margin, multipliers)
    if floating_rule.separates:
        return floating_rule

    if not is_affordable(columns.size + problem.n_unpenalized, problem.n_samples):
        # Too large for rational arithmetic: floating point has the last word.
        if margin.verdict == UNDECIDED:
            raise ConvergenceError(
                "Whether these columns separate could not be decided in floating point; "
                "remove nearly equal columns."
            )
        return floating_rule

    if is_refuted(problem, columns, margin):
        # The verdict was INSEPARABLE, and is proven: the rule has no weights.
        return floating_rule
    return _separate_exactly(problem, columns, multipliers)


def _rule_of_margin(
    problem: Problem, support: NDArray[np.int64], margin: Margin, multipliers: Floats
) -> Rule:
    """The rule that floating point found, without weights unless the verdict is SEPARABLE.

    Even then rounding may leave errors. `multipliers` are those of the margin, of sum 1.
    """
    if margin.verdict != SEPARABLE:
        return _rule_without_weights(problem, support, multipliers)
    slopes, constant = problem.split(margin.weights)
    return replace(scaled_rule(problem, support, slopes, constant), multipliers=multipliers)


def _separate_exactly(problem: Problem, support: NDArray[np.int64], multipliers: Floats) -> Rule:
    """A separating rule found in rational arithmetic; one without weights where there is none.

    The rule gets `multipliers`, (samples,), those of the largest margin in floating point: the
    exact decision keeps none.
    """
    exact = separating_rule(ExactTable(problem), support)
    if not exact.separable:
        return _rule_without_weights(problem, support, multipliers)
    if exact.rule is None:
        raise ConvergenceError(
            "These columns separate by so narrow a gap that no weights in double precision "
            "were found; round their values."
        )
    return replace(exact.rule, multipliers=multipliers)


def _rule_without_weights(
    problem: Problem, support: NDArray[np.int64], multipliers: Floats
) -> Rule:
    """The rule with weights zero, which gets every sample wrong: nothing separates."""
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
    """The largest margin on these columns and samples, the intercept last.

    Prescribed signs are kept. With `early` any separating weights will do.
    """
    nonnegative = None
    if problem.signs is not None:
        nonnegative = problem.nonnegative_on(support)
    return largest_margin(problem.rows(support, samples), early=early, nonnegative=nonnegative)


def is_refuted(problem: Problem, support: NDArray[np.int64], margin: Margin) -> bool:
    """Whether the multipliers of a margin on these columns prove that nothing separates.

    First a quick check, which allows for the largest possible rounding. If that leaves it open, an
    exact one in integers. To the multipliers λ_μ of the samples belong those of the rows e_j, one
    for each weight that must not be negative (`sign_multipliers`).
    """
    if margin.verdict != INSEPARABLE:
        return False
    rows = problem.rows(support)
    nonnegative = problem.nonnegative_on(support)
    multipliers = margin.multipliers / margin.multipliers.sum()
    sign_multipliers = _sign_multipliers(rows, nonnegative, multipliers)
    if _is_refuted_with_rounding(rows, nonnegative, multipliers, sign_multipliers):
        return True
    integers = integer_columns(problem, support)
    return _is_refuted_in_integers(integers, nonnegative, multipliers, sign_multipliers)


def _sign_multipliers(rows: Floats, nonnegative: NDArray[np.bool_], multipliers: Floats) -> Floats:
    """Multipliers of the rows e_j, one for each column j whose weight must not be negative.

    There Σ λ_μ a_μj ≤ 0 refutes as much as Σ λ_μ a_μj = 0: the multiplier of e_j makes up for a
    negative sum. It is rounded, and what could be rounding alone becomes zero, so that what these
    multipliers prove has to be checked.

    Parameters
    ----------
    rows : (samples, columns), the a_μ.
    nonnegative : (columns,), the columns j.
    multipliers : (samples,), the λ_μ, of sum 1.
    """
    sums = (multipliers @ rows)[nonnegative]
    sign_multipliers = np.maximum(-sums, 0.0)
    negligible = NEGLIGIBLE_MULTIPLIER * np.abs(rows).max()
    sign_multipliers[sign_multipliers <= negligible] = 0.0
    return sign_multipliers


def _is_refuted_with_rounding(
    rows: Floats,
    nonnegative: NDArray[np.bool_],
    multipliers: Floats,
    sign_multipliers: Floats,
) -> bool:
    """Whether the multipliers prove the conflict with all rounding in the account.

    Parameters
    ----------
    rows : (samples, columns), the a_μ.
    nonnegative : (columns,), whether a weight must not be negative: one more row e_j.
    multipliers : (samples,), the λ_μ, of sum 1.
    sign_multipliers : one for each nonnegative weight, those of the e_j.
    """
    n_patterns, n_columns = rows.shape
    conflict = Conflict(
        rows=np.vstack([rows, np.eye(n_columns)[nonnegative]]),
        multipliers=np.append(multipliers, sign_multipliers),
        n_patterns=n_patterns,
        n_columns=n_columns,
    )
    # Square, for the columns + 1 rows of a minimal conflict.
    basis = np.zeros((n_columns + 1, n_columns + 1))
    inverse = np.zeros_like(basis)
    return bool(conflict_is_certain(conflict, basis, inverse))


def _is_refuted_in_integers(
    integers: Floats,
    nonnegative: NDArray[np.bool_],
    multipliers: Floats,
    sign_multipliers: Floats,
) -> bool:
    """Whether samples and signs whose multipliers are not negligible are in conflict, in integers.

    Parameters
    ----------
    integers : (columns, samples), those of `integer_columns`; NaN refutes nothing.
    nonnegative : (columns,), whether a weight must not be negative.
    multipliers : (samples,), of sum 1.
    sign_multipliers : one for each nonnegative weight; negligible ones are zero already.
    """
    n_columns = len(integers)
    conflict = IntegerConflict(
        integer_values=integers,
        used_columns=np.arange(n_columns),
        n_columns=n_columns,
        patterns=np.flatnonzero(multipliers > NEGLIGIBLE_MULTIPLIER),
        unit_places=np.flatnonzero(nonnegative)[sign_multipliers > 0],
    )
    n_members = conflict.patterns.size + conflict.unit_places.size
    work = np.zeros((n_columns, n_members), dtype=np.int64)
    return bool(conflict_is_exact(conflict, work))


def widest_rule(
    problem: Problem, support: NDArray[np.int64], weights: Floats, constant: float
) -> Rule:
    """The rule of largest margin on the samples that weights on scaled columns have right.

    Where that makes more errors, the rule of the weights themselves. `constant` is the intercept's
    weight; the support need not be sorted.
    """
    order = np.argsort(support)
    support = support[order].astype(np.int64)
    rule = scaled_rule(problem, support, weights[order], constant)
    right_samples = np.setdiff1d(np.arange(problem.n_samples), rule.wrong)
    if support.size == 0 or right_samples.size == 0:
        return rule

    margin = margin_on(problem, support, right_samples)
    wide_weights, wide_constant = problem.split(margin.weights)
    wide_rule = scaled_rule(problem, support, wide_weights, wide_constant)
    if wide_rule.errors <= rule.errors:
        return wide_rule
    return rule
