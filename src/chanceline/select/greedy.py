"""Greedy additions (orthogonal matching pursuit), and greedy removals."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from chanceline.kernels.random import next_random
from chanceline.perceptron.hinge import SWAP_FIT_STEPS, fit
from chanceline.perceptron.hinge_fit import add_greedily
from chanceline.perceptron.problem import Problem
from chanceline.perceptron.workspace import Hinge, make_hinge
from chanceline.select.outcome import Candidate
from chanceline.select.starts import SPARE_PLACES, candidate_of

SWAP_NOISE = 0.2  # relative, in which column is added and which variable is dropped


def fit_greedily(problem: Problem) -> tuple[Hinge, bool]:
    """A workspace whose support was grown greedily, and whether that separates.

    Column after column comes in, each followed by a refit, until all margins are positive: the
    column a_j of largest |a_j·r|, where r is the slack (1 − margin of the sample, or 0 where that
    is negative).
    """
    max_variables = min(problem.n_features, problem.n_samples)
    hinge = make_hinge(
        problem.columns,
        capacity=max_variables + problem.n_unpenalized + SPARE_PLACES,
        n_unpenalized=problem.n_unpenalized,
        nonnegative=problem.nonnegative,
        relatives=problem.relatives,
    )
    separates = add_greedily(hinge)
    return hinge, separates


def run_omp(problem: Problem, budget: int | None, seed: int) -> Iterator[Candidate]:
    """Method `omp`: one greedy run without randomness; neither budget nor seed is needed."""
    hinge, _ = fit_greedily(problem)
    yield candidate_of(hinge, hinge.n_selected)


def cheapest_place(hinge: Hinge) -> int:
    """The place in the support of the variable that costs least to drop, whatever its tabu.

    To drop variable i raises the loss by w_i² / 2[H⁻¹]_ii, with its weight w_i and the inverse
    Hessian H⁻¹; the factor ½ does not matter. Each cost is multiplied by 1 + 0.2u, u ~ U(−1, 1).
    Unpenalized columns have the first places and always stay.
    """
    n_unpenalized = hinge.data.n_unpenalized
    draws = np.array([next_random(hinge.state.random) for _ in range(hinge.n_selected)])
    noise = 1.0 + SWAP_NOISE * (2.0 * draws - 1.0)
    inverse_diagonal = np.diag(hinge.state.inverse)[n_unpenalized : hinge.size]
    costs = hinge.weights[n_unpenalized:] ** 2 / inverse_diagonal * noise
    return n_unpenalized + int(np.argmin(costs))


def drop_cheapest(hinge: Hinge) -> bool:
    """Drop the cheapest variable and refit; whether the rest still separates."""
    return fit(hinge, drop=cheapest_place(hinge), max_newton=SWAP_FIT_STEPS)
