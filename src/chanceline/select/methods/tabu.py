"""Tabu search by swaps on the squared hinge: swap at a fixed number of variables until they separate, drop one."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chanceline.perceptron.compiled import kernel
from chanceline.perceptron.hinge import (
    Hinge,
    add_column,
    drop_column,
    find_pulls,
    next_random,
    refit,
)
from chanceline.perceptron.linalg import counter
from chanceline.perceptron.problem import Problem
from chanceline.select.choice import NOISE, choose_removal, most_correlated
from chanceline.select.methods.omp import candidate, fit_greedily
from chanceline.select.outcome import Candidate

NEWTON_AFTER_REMOVAL = counter(30)
# After an addition two Newton steps rank the removals as well as the exact minimum does, in half the time.
NEWTON_AFTER_ADDITION = counter(2)
CHUNK_WORK = 5e8  # work between two looks at the keyboard


@kernel()
def tabu_steps(hinge: Any, until: NDArray, clock: NDArray, state: NDArray, steps: int) -> tuple[int, bool]:
    """Up to `steps` swaps (add one, refit, drop one, refit); stops early when the support separates."""
    for step in range(steps):
        clock[0] += 1
        find_pulls(hinge)
        addition = most_correlated(hinge, until, clock[0], state)
        if addition >= 0:
            add_column(hinge, addition)
            until[addition] = clock[0] + 2 + int(6 * next_random(state))
            refit(hinge, NEWTON_AFTER_ADDITION)
        removal = choose_removal(hinge, until, clock[0], state)
        if removal >= 0 and (addition >= 0 or hinge.k[0] > hinge.kept + 1):
            until[hinge.support[removal]] = clock[0] + 4 + int(6 * next_random(state))
            drop_column(hinge, removal)
            if refit(hinge, NEWTON_AFTER_REMOVAL):
                return step + 1, True
        elif addition >= 0:
            drop_column(hinge, hinge.k[0] - 1)
            refit(hinge, NEWTON_AFTER_REMOVAL)
    return steps, False


def drop_place(hinge: Hinge, place: int) -> bool:
    """Drop the variable at this place; whether the rest still separates."""
    drop_column(hinge, place)
    return bool(refit(hinge, NEWTON_AFTER_REMOVAL))


def drop_cheapest(hinge: Hinge, state: NDArray) -> bool:
    """Drop the variable of least cost as in `choose_removal`, whatever its tabu; whether the rest still separates."""
    chosen = slice(hinge.kept, hinge.size)
    noise = np.array([1.0 + NOISE * (2.0 * next_random(state) - 1.0) for _ in range(hinge.size - hinge.kept)])
    costs = hinge.weights[chosen] ** 2 / np.diag(hinge.inverse)[chosen] * noise
    return drop_place(hinge, hinge.kept + int(np.argmin(costs)))


def random_state(seed: int) -> NDArray[np.uint64]:
    """State of the kernels' generator."""
    return np.random.SeedSequence(seed).generate_state(1, dtype=np.uint64).astype(np.uint64)


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
    until = np.zeros(n, dtype=np.int64)
    clock = np.zeros(1, dtype=np.int64)
    state = random_state(seed)
    left, separable = budget, True
    while True:
        while separable:
            yield candidate(hinge, spent + budget - left)
            if hinge.k[0] - hinge.kept <= 1:
                return
            separable = drop_cheapest(hinge, state)
        if left <= 0:
            return
        chunk = int(max(1.0, CHUNK_WORK / step_cost(n, patterns, float(hinge.k[0]))))
        steps, separable = tabu_steps(hinge, until, clock, state, min(chunk, left))
        left -= steps
        if not separable:
            yield spent + budget - left


def run_tabu(problem: Problem, budget: int | None, seed: int) -> Iterator[Candidate | int]:
    """Method `tabu`: OMP's support, then swaps."""
    hinge, added, separable = fit_greedily(problem)
    if not separable:
        yield candidate(hinge, added)
        return
    steps = default_budget(problem, added) if budget is None else budget
    yield from swap_down(hinge, steps, seed, spent=added)
