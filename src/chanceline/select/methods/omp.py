"""Orthogonal matching pursuit on the squared hinge: add the column most correlated with the residual, refit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numba import njit

from chanceline.perceptron.hinge import Hinge, add_column, make_hinge, refit, slacks
from chanceline.perceptron.linalg import NONE, counter, dot
from chanceline.perceptron.problem import Problem
from chanceline.select.outcome import Candidate

MAX_NEWTON = counter(60)


@njit(cache=True)
def omp_steps(hinge: Any, slack: Any, steps: int) -> tuple[int, bool]:
    """Add up to `steps` columns: argmax_j |a_jᵀ r| with r = (1 − Aw)₊; (columns added, separable)."""
    for step in range(steps):
        slacks(hinge, slack)
        best, largest = NONE, 1e-7
        for j in range(hinge.position.size):
            if hinge.position[j] < 0:
                size = abs(dot(hinge.narrow[j], slack))
                if size > largest:
                    best, largest = j, size
        if best < 0 or hinge.size[0] == hinge.support.size:
            return step, False
        add_column(hinge, best)
        if refit(hinge, MAX_NEWTON):
            return step + 1, True
    return steps, False


def candidate(hinge: Hinge, iterations: int) -> Candidate:
    """The present support and weights of a workspace."""
    size, kept = int(hinge.size[0]), int(hinge.size[1])
    order = np.argsort(hinge.support[kept:size])
    return Candidate(
        support=hinge.support[kept:size][order].copy(),
        weights=hinge.weights[kept:size][order].copy(),
        constant=float(hinge.weights[0]) if kept else 0.0,
        iterations=iterations,
    )


def fit_greedily(problem: Problem, spare: int = 2) -> tuple[Hinge, int, bool]:
    """Run OMP to its end: (workspace with room for `spare` more columns, columns added, separable)."""
    most = min(problem.n_features, problem.n_samples) + problem.kept
    hinge = make_hinge(problem.columns, most + spare, problem.kept)
    slack = np.zeros(problem.n_samples, dtype=np.float32)
    separable = bool(problem.kept and refit(hinge, MAX_NEWTON))
    added = 0
    while not separable:
        steps, separable = omp_steps(hinge, slack, 16)
        added += steps
        if steps < 16:
            break
    return hinge, added, separable


def run_omp(problem: Problem, budget: int | None, seed: int) -> Iterator[Candidate]:
    """Method `omp`: one run, no randomness; the budget is not needed."""
    hinge, added, _ = fit_greedily(problem)
    yield candidate(hinge, added)
