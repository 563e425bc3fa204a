"""Convex relaxation: min Σ_j c_j|w_j| subject to a_μ·w ≥ 1, once or with costs that favour few.

With equal costs it is the L1 norm. Costs of 1/|w_j| from the round before push small weights to
zero.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from chanceline.perceptron.hinge import SWAP_FIT_STEPS, fit
from chanceline.perceptron.problem import Problem
from chanceline.perceptron.workspace import Hinge, set_support
from chanceline.select.outcome import NO_CANDIDATE, Candidate
from chanceline.select.starts import candidate_of, start_from

REWEIGHTED_ROUNDS = 8  # at most; the support as a rule stops shrinking earlier
RELATIVE_ZERO = 1e-9  # times the largest weight: the simplex ends at zeros up to rounding
SMALLEST_SCALE = 1e-300  # instead of the largest weight where all are zero: none is above this
COST_OFFSET = 1e-3  # δ in the costs 1/(|w_j| + δ), the largest |w_j| being 1


def l1_weights(
    problem: Problem, costs: NDArray[np.float64], columns: NDArray[np.int64]
) -> NDArray[np.float64] | None:
    """Find weights of least (weighted) L1 norm with margins of at least 1, by a linear program.

    The problem is

        minimise Σ_j c_j|w_j|   subject to   a_μ·w + y_μ b ≥ 1 for all samples μ,

    where a_μ = y_μ x_μ on the given columns, y = ±1 are the labels and b is the intercept. To make
    it linear, every weight is the difference of two nonnegative parts, w = w⁺ − w⁻, each with the
    cost c_j, and likewise b. The variables of the program are (w⁺, w⁻, b⁺, b⁻), in this order.

    Parameters
    ----------
    costs : (k,) the c_j; the intercept has no cost.
    columns : (k,) indices of columns.

    Returns
    -------
    (k,) weights, followed by that of the intercept if there is one; None if there is no solution,
    that is if nothing separates.
    """
    from scipy.optimize import linprog

    n_columns = columns.size
    n_unpenalized = problem.n_unpenalized  # 1 with an intercept, else 0
    rows = problem.columns[columns].T  # (samples, k), the a_μ
    unpenalized_rows = problem.columns[problem.n_features :].T  # (samples, 1 or 0), the y_μ
    constraints = np.hstack([rows, -rows, unpenalized_rows, -unpenalized_rows])
    objective = np.concatenate([costs, costs, np.zeros(2 * n_unpenalized)])

    # A weight that must not be negative has no negative part: the upper bound of w⁻ is 0.
    upper_of_positive_parts = np.full(n_columns, np.inf)
    upper_of_negative_parts = np.where(problem.nonnegative[columns], 0.0, np.inf)
    upper_of_intercept = np.full(2 * n_unpenalized, np.inf)
    upper_bounds = np.concatenate(
        [upper_of_positive_parts, upper_of_negative_parts, upper_of_intercept]
    )
    result = linprog(
        objective,
        A_ub=-constraints,
        b_ub=-np.ones(problem.n_samples),
        bounds=[(0.0, upper_bound) for upper_bound in upper_bounds],
        method="highs",
    )
    # The objective is bounded from below. So if there is no solution, no weights meet the
    # constraints. (Or the solver has failed; then there are no weights to continue with either.)
    if result.x is None:
        return None

    # w = w⁺ − w⁻, and b = b⁺ − b⁻.
    parts_of_weights = result.x[: 2 * n_columns].reshape(2, n_columns)
    parts_of_bias = result.x[2 * n_columns :].reshape(2, n_unpenalized)
    weights = parts_of_weights[0] - parts_of_weights[1]
    bias = parts_of_bias[0] - parts_of_bias[1]  # (1,), or (0,) without an intercept
    return np.append(weights, bias)


def candidate_of_nonzero_weights(
    problem: Problem,
    columns: NDArray[np.int64],
    weights: NDArray[np.float64],
    iterations: int,
) -> Candidate:
    """Make a candidate of the columns whose weight is not zero, up to rounding.

    A weight counts as zero if it is at most RELATIVE_ZERO times the largest one.

    columns : (k,) indices of columns.
    weights : (k [+ 1],) their weights, followed by that of the intercept if there is one.
    iterations : the effort so far.
    """
    weights_of_columns = weights[: columns.size]
    # If all weights are zero, SMALLEST_SCALE stands for the largest one.
    absolute_weights = np.abs(weights_of_columns)
    largest = max(SMALLEST_SCALE, float(absolute_weights.max(initial=0.0)))
    is_used = absolute_weights > RELATIVE_ZERO * largest
    constant = 0.0
    if problem.intercept:
        constant = float(weights[-1])
    return Candidate(
        support=columns[is_used],
        weights=weights_of_columns[is_used],
        constant=constant,
        iterations=iterations,
    )


def l1_candidate(problem: Problem) -> Candidate | None:
    """Return the candidate of smallest L1 norm; None if the problem is not separable."""
    columns = np.arange(problem.n_features)
    weights = l1_weights(problem, np.ones(columns.size), columns)
    if weights is None:
        return None
    return candidate_of_nonzero_weights(problem, columns, weights, iterations=1)


def drop_cheapest_unneeded(workspace: Hinge) -> bool:
    """Remove the cheapest variable without which the support still separates, if there is one.

    Variables are tried in the order of their costs w_i² / [H⁻¹]_ii, where w_i is the weight and H⁻¹
    the inverse Hessian of the workspace. Half the cost is, to second order, how much the loss rises
    if variable i is removed. Unpenalized columns (the intercept) have the first places of the
    support and always stay.

    workspace : a fitted `Hinge` whose support separates; changed.

    Returns
    -------
    True if a variable was removed; the workspace is then fitted without it. False if every variable
    is needed; the workspace then has its former support and weights, and the next fit computes its
    margins and inverse Hessian.
    """
    n_unpenalized = workspace.data.n_unpenalized
    former_support = workspace.support.copy()
    former_weights = workspace.weights.copy()

    # The costs of the variables, which have the places n_unpenalized, n_unpenalized + 1, …
    inverse_diagonal = np.diag(workspace.state.inverse)[n_unpenalized : workspace.size]
    costs = former_weights[n_unpenalized:] ** 2 / inverse_diagonal
    places_by_cost = n_unpenalized + np.argsort(costs, kind="stable")

    for place in places_by_cost:
        # Remove the variable from the support of the workspace, and fit the others.
        others_separate = fit(workspace, drop=int(place), max_newton=SWAP_FIT_STEPS)
        if others_separate:
            return True
        # It is needed: restore the support, which `fit` has changed, and try the next variable. All
        # costs are those of the full support, computed before the first trial.
        set_support(workspace, former_support, former_weights)
    return False


def eliminate(problem: Problem, start: Candidate, iterations: int) -> Iterator[Candidate | int]:
    """Remove variables one by one, the cheapest first, as long as the others separate.

    The fit begins with the support of the candidate `start` and weights of zero. Yields a candidate
    for that support and after every removal; nothing if it does not separate. `iterations` are
    those spent before, and each removal is one more.
    """
    at_zero = start._replace(weights=np.zeros(start.support.size), constant=0.0)
    workspace, separates = start_from(problem, at_zero)
    if not separates:
        return
    yield candidate_of(workspace, iterations)
    while workspace.n_selected > 1 and drop_cheapest_unneeded(workspace):
        iterations += 1
        yield candidate_of(workspace, iterations)


def run_l1(problem: Problem, budget: int | None, seed: int) -> Iterator[Candidate | int]:
    """Method `l1`: one linear program; neither budget nor seed is needed."""
    yield l1_candidate(problem) or NO_CANDIDATE


def run_reweighted_l1(
    problem: Problem, budget: int | None, seed: int, rounds: int = REWEIGHTED_ROUNDS
) -> Iterator[Candidate | int]:
    """Method `reweighted-l1`: repeated linear programs that favour few variables, then elimination.

    Every round minimises Σ_j cost_j |w_j| over the weights that separate with margins of at least
    1. In the first round all costs are equal. In later rounds they are 1/(|w_j| + δ), with w_j from
    the round before and scaled so that the largest |w_j| is 1: small weights become zero. The
    rounds end when the support does not shrink any more. Then variables are removed one by one, as
    long as the others separate. Neither budget nor seed is needed.
    """
    best = l1_candidate(problem)
    if best is None:
        yield NO_CANDIDATE
        return
    yield best

    # The first round was that of `l1_candidate`, with equal costs.
    for round_number in range(2, rounds + 1):
        if best.support.size == 0:
            break
        # Only the columns of the support go on. All others have weight zero, so that their cost
        # would be the largest, and are left out for good.
        absolute_weights = np.abs(best.weights)
        relative_weights = absolute_weights / absolute_weights.max()
        costs = 1.0 / (relative_weights + COST_OFFSET)
        weights = l1_weights(problem, costs, best.support)
        if weights is None:
            break
        current = candidate_of_nonzero_weights(
            problem, best.support, weights, iterations=round_number
        )
        if current.support.size >= best.support.size:
            break
        best = current
        yield best
    yield from eliminate(problem, best, iterations=rounds)
