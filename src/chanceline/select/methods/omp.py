"""Orthogonal matching pursuit on the squared hinge: add the column most correlated with the residual, refit."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from chanceline.perceptron.hinge import MAX_NEWTON, Hinge, add_column, make_hinge, refit
from chanceline.perceptron.problem import Problem
from chanceline.select.outcome import Candidate

NO_CORRELATION = 1e-7  # a residual that no column has more of is left over


def omp_steps(hinge: Hinge, steps: int) -> tuple[int, bool]:
    """Add up to `steps` columns: argmax_j |a_jᵀ r| with r = (1 − Aw)₊; (columns added, separable)."""
    for step in range(steps):
        slack = np.maximum(1.0 - hinge.margins, 0.0).astype(np.float32)
        sizes = np.where(hinge.position < 0, np.abs(hinge.narrow @ slack), 0.0)
        best = int(np.argmax(sizes))
        if sizes[best] <= NO_CORRELATION or hinge.size == hinge.support.size:
            return step, False
        add_column(hinge, best)
        if refit(hinge, MAX_NEWTON):
            return step + 1, True
    return steps, False


def candidate(hinge: Hinge, iterations: int) -> Candidate:
    """The present support and weights of a workspace."""
    size, kept = hinge.size, hinge.kept
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
    separable = bool(problem.kept and refit(hinge, MAX_NEWTON))
    added = 0
    while not separable:
        steps, separable = omp_steps(hinge, 16)
        added += steps
        if steps < 16:
            break
    return hinge, added, separable


def run_omp(problem: Problem, budget: int | None, seed: int) -> Iterator[Candidate]:
    """Method `omp`: one run, no randomness; the budget is not needed."""
    hinge, added, _ = fit_greedily(problem)
    yield candidate(hinge, added)
