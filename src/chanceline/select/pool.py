"""Very wide tables: a pool of promising columns, so that the search keeps copies of these alone.

Columns are ranked by their product with the slack, |a_jᵀ r| / |r|, along a greedy path: all of them at every step, from X itself.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from chanceline.perceptron.hinge import NEWTON, fit, make_hinge, random_state
from chanceline.perceptron.problem import Problem
from chanceline.select.outcome import Candidate, LowerBound
from chanceline.select.pairs import all_singles

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
    """Sorted indices of the promising columns: the best alone, and those of largest product with the slack on a greedy path."""
    n, patterns = problem.n_features, problem.n_samples
    steps = min(steps, patterns, n)
    columns = np.zeros((steps + problem.kept, patterns))
    columns[steps:] = problem.y
    hinge = make_hinge(columns, steps + problem.kept, problem.kept)
    chosen: list[int] = []
    highest = np.zeros(n)
    slack = np.ones(patterns)
    for step in range(steps):
        # |a_jᵀ r| without a scaled copy of X.
        signed = problem.y * slack
        products = np.abs((signed @ problem.X - signed.sum() * problem.centre) / problem.scale)
        np.maximum(highest, products / max(float(np.linalg.norm(slack)), 1e-300), out=highest)
        products[chosen] = -1.0
        chosen.append(int(np.argmax(products)))
        hinge.columns[step] = hinge.rows[:, step] = problem.rows(np.array(chosen[-1:]))[:, 0]
        if fit(hinge, add=step, newton=NEWTON):
            break
        slack = hinge.active * (1.0 - hinge.margins)
    highest[chosen] = np.inf
    highest[best_singles(problem)] = np.inf
    return np.sort(np.argpartition(-highest, pool_size(problem))[: pool_size(problem)])


def best_singles(problem: Problem) -> NDArray[np.int64]:
    """The columns with the fewest errors alone, a block of columns at a time."""
    random = random_state(0)
    width = max(1, BLOCK_ENTRIES // problem.n_samples)
    errors = np.zeros(problem.n_features, dtype=np.int64)
    for start in range(0, problem.n_features, width):
        block = np.arange(start, min(start + width, problem.n_features))
        errors[block] = all_singles(np.ascontiguousarray(problem.rows(block).T), problem.kept, random)[0]
    return np.argsort(errors, kind="stable")[:SINGLES_KEPT]


def pooled(problem: Problem, pool: NDArray[np.int64]) -> Problem:
    """The problem on the pool's columns alone."""
    return Problem(X=np.ascontiguousarray(problem.X[:, pool]), y=problem.y, intercept=problem.intercept)


def from_pool(events: Iterator[Candidate | LowerBound | int], pool: NDArray[np.int64]) -> Iterator[Candidate | LowerBound | int]:
    """Events of a search in the pool, in the table's own columns; what was proven of the pool is not proven of the table."""
    for event in events:
        if isinstance(event, Candidate):
            yield event._replace(support=pool[event.support])
        elif not isinstance(event, LowerBound):
            yield event
