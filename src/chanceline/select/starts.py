"""From a workspace to a candidate, and back."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from chanceline.perceptron.hinge import FULL_FIT_STEPS, fit
from chanceline.perceptron.problem import Problem
from chanceline.perceptron.workspace import Hinge, make_hinge, set_support
from chanceline.select.outcome import Candidate

SPARE_PLACES = 2  # of a workspace: a swap adds before it drops, and one in reserve


def as_candidate(
    columns: NDArray[np.int64],
    weights: NDArray[np.float64],
    *,
    n_unpenalized: int,
    iterations: int,
) -> Candidate:
    """Make a candidate of the columns of a support and their weights.

    With an intercept the first column is that of the intercept, and its weight becomes the
    candidate's `constant`. The other columns are the variables, which the candidate has in
    ascending order.

    columns, weights : (n_unpenalized + k,) for k variables.
    n_unpenalized : 1 with an intercept, else 0.
    iterations : the effort until the candidate was found.
    """
    constant = 0.0
    if n_unpenalized == 1:
        constant = float(weights[0])

    variables = columns[n_unpenalized:]
    weights_of_variables = weights[n_unpenalized:]
    order = np.argsort(variables)
    return Candidate(
        support=variables[order],
        weights=weights_of_variables[order],
        constant=constant,
        iterations=iterations,
    )


def candidate_of(workspace: Hinge, iterations: int) -> Candidate:
    """Make a candidate of a workspace's present support and weights."""
    return as_candidate(
        workspace.support,
        workspace.weights,
        n_unpenalized=workspace.data.n_unpenalized,
        iterations=iterations,
    )


def start_from(problem: Problem, candidate: Candidate) -> tuple[Hinge, bool]:
    """Make a workspace (a `Hinge`) with the support of a candidate, and fit its weights.

    A `Hinge` holds the arrays for fits of the squared hinge loss by Newton's method. With an
    intercept the first column of a support in the workspace is that of the intercept, which
    is the last column of the problem. The variables follow.

    Returns
    -------
    The workspace, and whether its weights separate all samples.
    """
    n_unpenalized = problem.n_unpenalized  # 1 with an intercept, else 0
    unpenalized = np.arange(problem.n_features, problem.n_features + n_unpenalized)
    support = np.concatenate([unpenalized, candidate.support])
    weights = np.concatenate([np.full(n_unpenalized, candidate.constant), candidate.weights])
    workspace = make_hinge(
        problem.columns,
        capacity=support.size + SPARE_PLACES,
        n_unpenalized=n_unpenalized,
        nonnegative=problem.nonnegative,
        relatives=problem.relatives,
    )
    set_support(workspace, support, weights)

    # Fit, which also computes the margins. Some weights may be required not to be negative. If a
    # Newton step would make such a weight negative, its column leaves the support, although the
    # candidate may need it. So in this case the candidate's weights are kept, by a fit that
    # computes the margins without any step. (If all weights are zero, there are none to keep.)
    max_newton = FULL_FIT_STEPS
    has_sign_conditions = problem.nonnegative.any()
    has_weights = candidate.weights.any()
    if has_sign_conditions and has_weights:
        max_newton = 0
    fit(workspace, max_newton=max_newton)

    # Here every positive margin counts. (The return value of `fit`, which is not used, demands that
    # margins are positive by more than rounding.)
    separates = bool(workspace.state.margins.min() > 0.0)
    return workspace, separates
