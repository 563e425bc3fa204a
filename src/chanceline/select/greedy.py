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
    """Grow a support greedily; return the workspace, and whether the support separates.

    Columns are added one by one, each followed by a refit of all weights, until all margins are
    positive. The next column is the a_j of largest |a_j·r|, where r, (samples,), is the slack:
    1 − margin of each sample, or 0 if that is negative.
    """
    max_variables = min(problem.n_features, problem.n_samples)
    workspace = make_hinge(
        problem.columns,
        capacity=max_variables + problem.n_unpenalized + SPARE_PLACES,
        n_unpenalized=problem.n_unpenalized,  # 1 with an intercept, else 0
        nonnegative=problem.nonnegative,
        relatives=problem.relatives,  # strongly correlated columns, for later swaps
    )
    separates = add_greedily(workspace)
    return workspace, separates


def run_omp(problem: Problem, budget: int | None, seed: int) -> Iterator[Candidate]:
    """Method `omp`: one greedy run (orthogonal matching pursuit), without budget or randomness."""
    workspace, _ = fit_greedily(problem)
    yield candidate_of(workspace, workspace.n_selected)


def cheapest_place(workspace: Hinge) -> int:
    """Choose the variable that costs least to remove; return its place in the support.

    Removing variable i raises the loss by about w_i² / 2[H⁻¹]_ii, where w_i is its weight and H⁻¹
    the inverse Hessian; the factor ½ is left out. Each cost is multiplied by 1 + SWAP_NOISE·u, with
    a random u in (−1, 1). Unpenalized columns have the first places of the support and always stay.
    """
    n_unpenalized = workspace.data.n_unpenalized
    draws = np.array([next_random(workspace.state.random) for _ in range(workspace.n_selected)])
    noise = 1.0 + SWAP_NOISE * (2.0 * draws - 1.0)
    inverse_diagonal = np.diag(workspace.state.inverse)[n_unpenalized : workspace.size]
    squared_weights = workspace.weights[n_unpenalized:] ** 2
    costs = squared_weights / inverse_diagonal * noise
    return n_unpenalized + int(np.argmin(costs))


def drop_cheapest(workspace: Hinge) -> bool:
    """Remove the variable that costs least and refit; whether the others still separate."""
    return fit(workspace, drop=cheapest_place(workspace), max_newton=SWAP_FIT_STEPS)
