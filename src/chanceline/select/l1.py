"""Convex relaxation: min Σ c_j|w_j| subject to a_μ·w ≥ 1, once (L1) or with weights that favour small supports."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from chanceline.perceptron.hinge import SWAP_FIT_STEPS, fit
from chanceline.perceptron.problem import Problem
from chanceline.perceptron.workspace import Hinge, set_support
from chanceline.select.outcome import NO_CANDIDATE, Candidate
from chanceline.select.starts import candidate_of, start_from

ROUNDS = 8


def l1_weights(
    problem: Problem, costs: NDArray[np.float64], columns: NDArray[np.int64]
) -> NDArray[np.float64] | None:
    """The LP on some columns (the intercept is free of cost); None if it has no solution: not separable."""
    from scipy.optimize import linprog

    rows, free = problem.columns[columns].T, problem.columns[problem.n_features :].T
    objective = np.concatenate([costs, costs, np.zeros(2 * problem.kept)])
    # A weight that must not be negative has no negative part.
    most = np.where(
        np.append(np.zeros(columns.size, dtype=np.bool_), problem.signed[columns]), 0.0, np.inf
    )
    bounds = [(0.0, bound) for bound in np.append(most, np.full(2 * problem.kept, np.inf))]
    result = linprog(
        objective,
        A_ub=-np.hstack([rows, -rows, free, -free]),
        b_ub=-np.ones(problem.n_samples),
        bounds=bounds,
        method="highs",
    )
    if result.x is None:
        return None
    positive, negative = result.x[: 2 * columns.size].reshape(2, -1)
    constants = result.x[2 * columns.size :]
    return np.append(positive - negative, constants[: problem.kept] - constants[problem.kept :])


def _as_candidate(
    problem: Problem, columns: NDArray, weights: NDArray, iterations: int
) -> Candidate:
    slopes = weights[: columns.size]
    used = np.abs(slopes) > 1e-9 * max(1e-300, float(np.abs(slopes).max(initial=0.0)))
    return Candidate(
        columns[used], slopes[used], float(weights[-1]) if problem.intercept else 0.0, iterations
    )


def eliminate(problem: Problem, start: Candidate, iterations: int) -> Iterator[Candidate | int]:
    """Drop variables one by one, the cheapest first, as long as the rest separates; stop when none can go."""
    hinge, separable = start_from(
        problem, start._replace(weights=np.zeros(start.support.size), constant=0.0)
    )
    if not separable:
        return
    yield candidate_of(hinge, iterations)
    while hinge.n_selected > 1 and drop_any(hinge):
        iterations += 1
        yield candidate_of(hinge, iterations)


def drop_any(hinge: Hinge) -> bool:
    """Drop the cheapest variable without which the rest still separates; the support is unchanged if there is none."""
    size, kept = hinge.size, hinge.data.n_unpenalized
    support, weights = hinge.support.copy(), hinge.weights.copy()
    costs = weights[kept:] ** 2 / np.diag(hinge.state.inverse)[kept:size]
    for place in kept + np.argsort(costs, kind="stable"):
        if fit(hinge, drop=int(place), max_newton=SWAP_FIT_STEPS):
            return True
        set_support(hinge, support, weights)
    return False


def l1_candidate(problem: Problem) -> Candidate | None:
    """The support of the L1 minimum, None if the problem is not separable at all."""
    columns = np.arange(problem.n_features)
    weights = l1_weights(problem, np.ones(columns.size), columns)
    return None if weights is None else _as_candidate(problem, columns, weights, 1)


def run_l1(problem: Problem, budget: int | None, seed: int) -> Iterator[Candidate | int]:
    """Method `l1`: the LP alone."""
    yield l1_candidate(problem) or NO_CANDIDATE


def run_reweighted_l1(
    problem: Problem, budget: int | None, seed: int, rounds: int = ROUNDS
) -> Iterator[Candidate | int]:
    """Method `reweighted-l1`: costs 1/(|w_j| + δ) from the round before, then backward elimination."""
    best = l1_candidate(problem)
    if best is None:
        yield NO_CANDIDATE
        return
    yield best
    for turn in range(2, rounds + 1):
        # Columns that an earlier round left out stay out: their cost would be the largest.
        columns, sizes = best.support, np.abs(best.weights)
        if sizes.size == 0:
            break
        weights = l1_weights(problem, 1.0 / (sizes / sizes.max() + 1e-3), columns)
        if weights is None:
            break
        current = _as_candidate(problem, columns, weights, turn)
        if current.support.size >= best.support.size:
            break
        best = current
        yield best
    yield from eliminate(problem, best, rounds)
