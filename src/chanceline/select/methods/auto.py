"""The best there is: OMP, message passing where many variables are needed, swaps, and sweeps where few are."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from chanceline.perceptron.hinge import Hinge, make_hinge, refit, set_support
from chanceline.perceptron.problem import Problem
from chanceline.select.exact import fitted, prove
from chanceline.select.front import FrontSearch
from chanceline.select.front import default_budget as front_budget
from chanceline.select.front_errors import run_with_errors
from chanceline.select.methods.amp import pass_down
from chanceline.select.methods.l1 import l1_candidate
from chanceline.select.methods.omp import candidate, fit_greedily
from chanceline.select.methods.tabu import default_budget, random_state, swap_down
from chanceline.select.outcome import Bound, Candidate
from chanceline.select.singles_and_pairs import constraints, sweep_pairs, sweep_singles

PASS_FROM = 20  # variables from which message passing pays
PAIRS_AT_MOST = 40_000_000
EXACT_NODES = 20_000_000
MAX_NEWTON = 200
FRONT_AT_MOST = 12  # variables of the rule of fewest errors, where nothing separates


def start_from(problem: Problem, found: Candidate) -> Hinge:
    """A workspace at a separating candidate."""
    support = np.concatenate([np.arange(problem.n_features, problem.n_features + problem.kept), found.support])
    hinge = make_hinge(problem.columns, support.size + 2, problem.kept)
    weights = np.concatenate([np.full(problem.kept, found.constant), found.weights])
    set_support(hinge, support, weights)
    refit(hinge, MAX_NEWTON)
    return hinge


def run_auto(problem: Problem, budget: int | None, seed: int, errors: int = 0) -> Iterator[Candidate | Bound | int]:
    """Method `auto`: the budget counts swaps; message passing and sweeps have their own fixed effort."""
    if errors:
        yield from run_with_errors(problem, budget, seed, errors)
        return
    hinge, spent, separable = fit_greedily(problem)
    best = candidate(hinge, spent)
    if not separable:
        relaxed = l1_candidate(problem)
        if relaxed is None:
            # Nothing separates. What the greedy search ended with is a poor rule; the front has better ones.
            yield best
            yield from fewest_found(problem, budget, seed, spent)
            return
        best = relaxed
        hinge = start_from(problem, best)
    yield best
    if best.support.size >= PASS_FROM:
        for event in pass_down(hinge, best.support.size, random_state(seed), tries=2, spent=spent):
            if isinstance(event, Candidate):
                best = event
            yield event
        hinge = start_from(problem, best)
    steps = default_budget(problem, best.support.size) if budget is None else budget
    for event in swap_down(hinge, steps, seed, spent=best.iterations):
        if isinstance(event, Candidate):
            best = event
        yield event
    yield from sweep_below(problem, best)


def fewest_found(problem: Problem, budget: int | None, seed: int, spent: int) -> Iterator[Candidate | int]:
    """Where nothing separates: the rule of fewest errors on up to `FRONT_AT_MOST` variables."""
    walk = FrontSearch(problem, min(problem.n_features, FRONT_AT_MOST), seed)
    for done in walk.run(front_budget(problem, walk.most) if budget is None else budget):
        yield spent + done
    yield walk.candidate(int(np.argmin(walk.best.errors[: walk.most + 1])), spent + walk.done)


def sweep_below(problem: Problem, best: Candidate) -> Iterator[Candidate | Bound | int]:
    """Try every single variable and every pair, when that is affordable and could improve on `best` or prove it."""
    n, size, done = problem.n_features, best.support.size, best.iterations
    if size < 2 or size > 4 or (problem.intercept and len(np.unique(problem.y)) < 2):
        return
    values, first, second = constraints(problem)
    single = sweep_singles(values, first, second)
    if single >= 0:
        yield fitted(problem, np.array([single]), done)
        yield Bound(1, n)
        return
    yield Bound(2, n)
    pairs = n * (n - 1) // 2
    if size < 3 or pairs > PAIRS_AT_MOST:
        return
    for start in range(0, n, 64):
        i, j = sweep_pairs(values, first, second, start, min(start + 64, n))
        if i >= 0:
            yield fitted(problem, np.array([i, j]), done)
            return
        yield done
    yield Bound(3, n + pairs)


def run_exact(problem: Problem, budget: int | None, seed: int) -> Iterator[Candidate | Bound | int]:
    """Method `exact`: a good support first, then size by size from below until one separates or all are refuted.

    The budget counts nodes of the proof. When it ends, the outcome holds the best support and the bound so far.
    """
    best: Candidate | None = None
    for event in run_auto(problem, None if budget is None else min(budget, 20_000), seed):
        if isinstance(event, Candidate) and (best is None or event.support.size < best.support.size):
            best = event
        yield event
    if best is not None:
        yield from prove(problem, best, EXACT_NODES if budget is None else budget)
