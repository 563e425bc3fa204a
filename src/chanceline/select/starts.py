"""From a workspace to a candidate, and back."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from chanceline.perceptron.hinge import FULL_FIT_STEPS, fit
from chanceline.perceptron.problem import Problem
from chanceline.perceptron.workspace import Hinge, make_hinge, set_support
from chanceline.select.outcome import Candidate


def as_candidate(
    columns: NDArray[np.int64],
    weights: NDArray[np.float64],
    *,
    n_unpenalized: int,
    iterations: int,
) -> Candidate:
    """The candidate of these columns, the unpenalized ones first, and their weights.

    The columns of a candidate are sorted; an intercept becomes its constant.
    """
    constant = 0.0
    if n_unpenalized:
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
    """A workspace at a candidate, fitted there, and whether its support separates."""
    n_unpenalized = problem.n_unpenalized
    unpenalized = np.arange(problem.n_features, problem.n_features + n_unpenalized)
    support = np.concatenate([unpenalized, start.support])
    weights = np.concatenate([np.full(n_unpenalized, start.constant), start.weights])
    hinge = make_hinge(
        problem.columns,
        support.size + 2,
        n_unpenalized=n_unpenalized,
        nonnegative=problem.nonnegative,
    )
    set_support(hinge, support, weights)

    # Newton's first step could turn away nonnegative weights that the rule needs: they stay.
    max_newton = FULL_FIT_STEPS
    if problem.nonnegative.any() and start.weights.any():
        max_newton = 0
    separates = fit(hinge, max_newton=max_newton) or bool(hinge.state.margins.min() > 0.0)
    return hinge, separates
