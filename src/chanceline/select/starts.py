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
    """The candidate of these columns, (size,), and their weights, (size,).

    Of the columns the first `n_unpenalized` (the intercept: 1 or 0) are no variables; its weight
    becomes the candidate's constant. The variables of a candidate are sorted. `iterations` is the
    effort until it was found.
    """
    constant = 0.0
    if n_unpenalized == 1:
        constant = float(weights[0])
    variables = columns[n_unpenalized:]
    order = np.argsort(variables)
    return Candidate(
        support=variables[order],
        weights=weights[n_unpenalized:][order],
        constant=constant,
        iterations=iterations,
    )


def candidate_of(hinge: Hinge, iterations: int) -> Candidate:
    """The candidate of a workspace's present support and weights, after so many iterations."""
    return as_candidate(
        hinge.support,
        hinge.weights,
        n_unpenalized=hinge.data.n_unpenalized,
        iterations=iterations,
    )


def start_from(problem: Problem, start: Candidate) -> tuple[Hinge, bool]:
    """A workspace at a candidate, fitted there, and whether its support separates.

    The columns of a support are the unpenalized one (the intercept, which is the problem's last
    column) if there is one, and then the variables; the weights likewise.
    """
    n_unpenalized = problem.n_unpenalized
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

    # Newton's first step could make nonnegative columns leave that the rule needs. Then the
    # candidate's weights, if it has any, are taken as they are: without a step the fit only
    # computes their margins.
    max_newton = FULL_FIT_STEPS
    if problem.nonnegative.any() and start.weights.any():
        max_newton = 0
    # What `fit` returns is stricter: margins must be larger than rounding could make them.
    fit(hinge, max_newton=max_newton)
    return hinge, bool(hinge.state.margins.min() > 0.0)
