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
    """Make a candidate of columns, (size,), and their weights, (size,).

    The first `n_unpenalized` columns (1 with an intercept, else 0) are no variables; the weight of
    the intercept becomes the candidate's constant. The variables are sorted. `iterations` is the
    effort until the candidate was found.
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


def candidate_of(hinge: Hinge, iterations: int) -> Candidate:
    """Make a candidate of a workspace's present support and weights."""
    return as_candidate(
        hinge.support,
        hinge.weights,
        n_unpenalized=hinge.data.n_unpenalized,
        iterations=iterations,
    )


def start_from(problem: Problem, start: Candidate) -> tuple[Hinge, bool]:
    """Make a workspace with the support of a candidate, and fit it; whether that separates.

    In the workspace the support begins with the intercept, if there is one, which is the last
    column of the problem; the variables follow.
    """
    n_unpenalized = problem.n_unpenalized  # 1 with an intercept, else 0
    unpenalized = np.arange(problem.n_features, problem.n_features + n_unpenalized)
    support = np.concatenate([unpenalized, start.support])
    weights = np.concatenate([np.full(n_unpenalized, start.constant), start.weights])
    hinge = make_hinge(
        problem.columns,
        capacity=support.size + SPARE_PLACES,
        n_unpenalized=n_unpenalized,
        nonnegative=problem.nonnegative,
        relatives=problem.relatives,
    )
    set_support(hinge, support, weights)

    # Fit, which leaves the margins in the workspace. A Newton step may make weights negative that
    # must not be; then their columns leave the support. The rule of the candidate may need them. So
    # it is taken as it is, without a step, unless all weights are zero: that is no rule yet.
    max_newton = FULL_FIT_STEPS
    if problem.nonnegative.any() and start.weights.any():
        max_newton = 0
    fit(hinge, max_newton=max_newton)

    # Every positive margin counts. (The return value of `fit` demands more than rounding.)
    separates = bool(hinge.state.margins.min() > 0.0)
    return hinge, separates
