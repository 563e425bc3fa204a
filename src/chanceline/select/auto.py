"""The best there is: OMP, all singles and pairs, message passing where many variables are needed, and swaps."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from chanceline.perceptron.problem import Problem
from chanceline.select.amp import SLOWLY_FROM, pass_down
from chanceline.select.errors import run_with_errors
from chanceline.select.l1 import l1_candidate
from chanceline.select.outcome import Candidate, LowerBound, fitted
from chanceline.select.pairs import separating_pairs, separating_single
from chanceline.select.pareto import fewest_found, from_pool, is_wide, pool_of_columns, pooled
from chanceline.select.swaps import candidate, default_budget, fit_greedily, start_from, step_cost, swap_down

PASS_FROM = 20  # variables from which message passing pays
CACHED_ENTRIES = 2_000_000
UNCACHED = 6.0  # times as much does an entry cost that has to come from memory
MOST_WORK = 1.1e12  # of swaps beyond the cache, in multiplications
PATIENCE = 0.5  # of the default budget without success
PAIRS_AT_MOST = 100_000_000
PAIRS_A_SWAP = 2_000  # pairs that take as long as one swap
FEWEST_SWAPS = 500  # whose time the pairs may take in any case


def run_auto(problem: Problem, budget: int | None, seed: int, errors: int = 0) -> Iterator[Candidate | LowerBound | int]:
    """Method `auto`: the budget counts swaps; message passing and sweeps have their own fixed effort."""
    if is_wide(problem):
        pool = pool_of_columns(problem, problem.n_samples)
        yield from from_pool(run_auto(pooled(problem, pool), budget, seed, errors), pool)
        return
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
        hinge, _ = start_from(problem, best)
    yield best
    lower = 1
    for event in sweep_below(problem, best, budget):
        if isinstance(event, Candidate):
            best = event
        elif isinstance(event, LowerBound):
            lower = event.smallest
        yield event
    if best.support.size <= lower:
        return
    if best.support.size >= PASS_FROM:
        tries = 3 if problem.n_samples >= SLOWLY_FROM else 2
        for event in pass_down(hinge, best.support.size, seed, tries, spent):
            if isinstance(event, Candidate):
                best = event
            yield event
        hinge, _ = start_from(problem, best)
    steps = affordable_swaps(problem, best.support.size) if budget is None else budget
    for event in swap_down(hinge, steps, seed, best.iterations, PATIENCE if budget is None else 1.0):
        yield event
        if isinstance(event, Candidate) and event.support.size <= lower:
            return


def affordable_swaps(problem: Problem, size: int) -> int:
    """The default budget, but no more than is worth a minute where the columns do not fit into the processor's cache."""
    n, patterns = problem.columns.shape
    swaps = default_budget(problem, size)
    if n * patterns <= CACHED_ENTRIES:
        return swaps
    return min(swaps, max(200, int(MOST_WORK / (step_cost(n, patterns, size) + UNCACHED * n * patterns))))


def sweep_below(problem: Problem, best: Candidate, budget: int | None) -> Iterator[Candidate | LowerBound | int]:
    """Every single variable and, where that is affordable, every pair: the smallest support if it has one or two variables."""
    n, done = problem.n_features, best.iterations
    if best.support.size < 2:
        yield LowerBound(best.support.size, 0)
        return
    single = separating_single(problem)
    if single is not None:
        yield fitted(problem, np.array([single]), done)
        yield LowerBound(1, n)
        return
    yield LowerBound(2, n)
    pairs = n * (n - 1) // 2
    swaps = affordable_swaps(problem, best.support.size) if budget is None else budget
    if best.support.size < 3 or pairs > min(PAIRS_AT_MOST, PAIRS_A_SWAP * max(swaps, FEWEST_SWAPS)):
        return
    for pair in separating_pairs(problem):
        if pair is not None:
            yield fitted(problem, np.array(pair), done)
            yield LowerBound(2, n + pairs)
            return
        yield done
    yield LowerBound(3, n + pairs)
