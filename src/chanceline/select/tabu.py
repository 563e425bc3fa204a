"""Orthogonal matching pursuit, and tabu search: swap at a fixed number of variables until they separate, drop one."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from chanceline.perceptron.hinge import Hinge, fit, fit_and_swap, make_hinge, random_state, set_support
from chanceline.perceptron.problem import Problem
from chanceline.select.outcome import Candidate
from chanceline.select.swaps import candidate, drop_cheapest

NO_CORRELATION = 1e-7  # a residual that no column has more of is left over
CHUNK_WORK = 5e8  # work between two looks at the keyboard


def fit_greedily(problem: Problem) -> tuple[Hinge, int, bool]:
    """Add argmax_j |a_jᵀ r|, r = (1 − Aw)₊, and refit, until they separate: (workspace, columns added, separable)."""
    most = min(problem.n_features, problem.n_samples) + problem.kept
    hinge = make_hinge(problem.columns, most + 2, problem.kept)
    separable = bool(problem.kept) and fit(hinge)
    while not separable:
        slack = np.maximum(1.0 - hinge.margins, 0.0).astype(np.float32)
        sizes = np.where(hinge.position < 0, np.abs(hinge.narrow @ slack), 0.0)
        best = int(np.argmax(sizes))
        if sizes[best] <= NO_CORRELATION or hinge.size == hinge.support.size:
            break
        separable = fit(hinge, add=best)
    return hinge, hinge.selected, separable


def run_omp(problem: Problem, budget: int | None, seed: int) -> Iterator[Candidate]:
    """Method `omp`: one run, no randomness; the budget is not needed."""
    hinge, added, _ = fit_greedily(problem)
    yield candidate(hinge, added)


def start_from(problem: Problem, found: Candidate) -> tuple[Hinge, bool]:
    """A workspace at a candidate, and whether its support separates."""
    support = np.concatenate([np.arange(problem.n_features, problem.n_features + problem.kept), found.support])
    hinge = make_hinge(problem.columns, support.size + 2, problem.kept)
    set_support(hinge, support, np.concatenate([np.full(problem.kept, found.constant), found.weights]))
    return hinge, fit(hinge)


def default_budget(problem: Problem, size: int) -> int:
    """Swaps for a start of `size` variables.

    In all about 0.4 s at N = P = 64, 4 s at 256, 40 s at 1024, and a second or two on gene-expression data.
    """
    n, patterns = problem.columns.shape
    length = math.sqrt(patterns * min(n, 4 * patterns))
    work = 3.3e9 * (length / 64) ** 1.88 * min(1.0, (256 / length) ** 0.38)
    return max(200, int(work / (40_000 + step_cost(n, patterns, size))))


def step_cost(n: int, patterns: int, size: float) -> float:
    """Rough number of operations in one swap: the gradient, a few Newton steps, and the flips they cause."""
    return n * patterns + 30 * patterns * size + 0.3 * patterns * size * size


def swap_down(hinge: Hinge, budget: int, seed: int, spent: int = 0) -> Iterator[Candidate | int]:
    """From a separating support, fewer and fewer variables, until `budget` swaps are done.

    Yields a candidate at every improvement and the iterations spent at every other chance to interrupt.
    """
    n, patterns = hinge.columns.shape
    hinge.random[:] = random_state(seed)
    left, separable = budget, True
    while True:
        while separable:
            yield candidate(hinge, spent + budget - left)
            if hinge.selected <= 1:
                return
            separable = drop_cheapest(hinge)
        if left <= 0:
            return
        chunk = int(max(1.0, CHUNK_WORK / step_cost(n, patterns, float(hinge.size))))
        steps, separable = fit_and_swap(hinge, -1, -1, 0, 0, min(chunk, left))
        left -= steps
        if not separable:
            yield spent + budget - left


def run_tabu(problem: Problem, budget: int | None, seed: int) -> Iterator[Candidate | int]:
    """Method `tabu`: OMP's support, then swaps."""
    hinge, added, separable = fit_greedily(problem)
    if not separable:
        yield candidate(hinge, added)
        return
    yield from swap_down(hinge, default_budget(problem, added) if budget is None else budget, seed, added)
