"""Very wide tables: a pool of promising columns, so that the search keeps copies of these alone.

Columns are priced by their product with the slack, |a_jᵀ r| / |r|, along a greedy path: all of them at every step, from X itself.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from chanceline.perceptron.problem import Problem
from chanceline.select.front_line import all_singles
from chanceline.select.front_trimmed import NEWTON, fit_trimmed, make_trimmed, put_in
from chanceline.select.methods.tabu import random_state
from chanceline.select.outcome import Bound, Candidate

WIDE = 6_000_000  # entries of X above which a pool stands for all columns
POOL_ENTRIES = 2_000_000  # of the columns in the pool
BLOCK_ENTRIES = 1_000_000  # of the columns scaled at a time
SINGLES_KEPT = 100


def is_wide(problem: Problem) -> bool:
    """Whether X is so large, and so much wider than long, that a pool has to do."""
    return problem.X.size > WIDE and pool_size(problem) < problem.n_features // 2


def pool_size(problem: Problem) -> int:
    return max(1000, POOL_ENTRIES // problem.n_samples)


def pool_of_columns(problem: Problem, steps: int) -> NDArray[np.int64]:
    """Sorted indices of the promising columns: the best alone, and those of largest price along a greedy path."""
    n, patterns = problem.n_features, problem.n_samples
    steps = min(steps, patterns, n)
    buffer = np.zeros((steps + problem.kept, patterns))
    if problem.kept:
        buffer[-1] = problem.y
    state = make_trimmed(buffer, problem.kept, steps)
    chosen: list[int] = []
    highest = np.zeros(n)
    slack = np.ones(patterns)
    for step in range(steps):
        prices = column_prices(problem, slack)
        np.maximum(highest, prices / max(float(np.linalg.norm(slack)), 1e-300), out=highest)
        prices[chosen] = -1.0
        chosen.append(int(np.argmax(prices)))
        buffer[step] = scaled_block(problem, np.array(chosen[-1:]))[0]
        put_in(state, step)
        if fit_trimmed(state, 0, NEWTON):
            break
        slack = state.active * (1.0 - state.margins)
    highest[chosen] = np.inf
    highest[best_singles(problem)] = np.inf
    return np.sort(np.argpartition(-highest, pool_size(problem))[: pool_size(problem)])


def column_prices(problem: Problem, slack: NDArray[np.float64]) -> NDArray[np.float64]:
    """|a_jᵀ r| for every column, without a scaled copy of X."""
    signed = problem.y * slack
    return np.abs((signed @ problem.X - signed.sum() * problem.centre) / problem.scale)


def scaled_block(problem: Problem, columns: NDArray[np.int64]) -> NDArray[np.float64]:
    """The scaled columns a_j of some variables, as rows."""
    return ((problem.X[:, columns] - problem.centre[columns]) / problem.scale[columns]).T * problem.y


def best_singles(problem: Problem) -> NDArray[np.int64]:
    """The columns with the fewest errors alone, a block of columns at a time."""
    random = random_state(0)
    width = max(1, BLOCK_ENTRIES // problem.n_samples)
    errors = np.zeros(problem.n_features, dtype=np.int64)
    for start in range(0, problem.n_features, width):
        block = np.arange(start, min(start + width, problem.n_features))
        columns = np.empty((block.size + problem.kept, problem.n_samples))
        columns[: block.size] = scaled_block(problem, block)
        columns[block.size :] = problem.y
        errors[block] = all_singles(columns, problem.kept, random)[0]
    return np.argsort(errors, kind="stable")[:SINGLES_KEPT]


def pooled(problem: Problem, pool: NDArray[np.int64]) -> Problem:
    """The problem on the pool's columns alone."""
    return Problem(X=np.ascontiguousarray(problem.X[:, pool]), y=problem.y, intercept=problem.intercept)


def from_pool(events: Iterator[Candidate | Bound | int], pool: NDArray[np.int64]) -> Iterator[Candidate | Bound | int]:
    """Events of a search in the pool, in the table's own columns; what was proven of the pool is not proven of the table."""
    for event in events:
        if isinstance(event, Candidate):
            yield event._replace(support=pool[event.support])
        elif not isinstance(event, Bound):
            yield event
