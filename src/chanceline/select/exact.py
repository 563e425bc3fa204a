"""The proven minimum by covers, enumeration or branch and bound, and the number of separating supports of a size."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chanceline._results import Result
from chanceline.errors import ConvergenceError, InputError
from chanceline.perceptron.margin import SEPARABLE, hard_margin
from chanceline.perceptron.problem import Problem, make_problem
from chanceline.select.cover import can_cover, covers
from chanceline.select.enumeration import enumerate_supports, nodes_to_enumerate
from chanceline.select.outcome import Bound, Candidate
from chanceline.select.tree import EXHAUSTED, FOUND, PAUSED, Step, make_tree, walk

NODES_A_CHUNK = 5_000


def prove(problem: Problem, best: Candidate, budget: int) -> Iterator[Candidate | Bound | int]:
    """Refute size after size until the smallest support found is one variable larger, which is then the minimum.

    A size refuted refutes all below it, and costs a few times as much as the one before. So the last but one is left out: it
    is refuted with the last. Yields a `Bound` for every size refuted; stops when `budget` nodes are used.
    """
    nodes, refuted, smallest = 0, 0, best.support.size
    while refuted < smallest - 1:
        size = smallest - 1 if refuted >= smallest - 3 else refuted + 1
        steps = all_supports(problem, size, budget - nodes)
        verdict, spent = PAUSED, 0
        while verdict == PAUSED and nodes + spent < budget:
            verdict, spent, undecided, support = next(steps)
            yield best.iterations + nodes + spent
        nodes += spent
        if verdict == FOUND:
            smallest = support.size
            yield fitted(problem, support, best.iterations + nodes)
        elif verdict == EXHAUSTED and not undecided:
            refuted = size
            yield Bound(size + 1, nodes)
        else:
            return


def all_supports(problem: Problem, size: int, budget: int) -> Iterator[Step]:
    """The walk for a size: few ±1 variables as covers of cuts, or enumerated where that is cheap, else by the tree."""
    if can_cover(problem, size):
        return covers(problem, size)
    few = nodes_to_enumerate(problem, size) <= budget
    return enumerate_supports(problem, size) if few else branch(problem, size)


def branch(problem: Problem, size: int) -> Iterator[Step]:
    """The tree over the supports of `size` variables, a chunk of nodes at a time."""
    tree = make_tree(problem.columns, problem.kept, size, counting=False)
    while True:
        verdict = walk(tree, NODES_A_CHUNK)
        yield Step(verdict, int(tree.nodes[0]), int(tree.undecided[0]), np.flatnonzero(tree.found))


def fitted(problem: Problem, support: np.ndarray, iterations: int) -> Candidate:
    """The candidate of largest margin on a support."""
    # Not from the problem's scaled columns, which very wide tables do without.
    rows = (problem.X[:, support] - problem.centre[support]) / problem.scale[support]
    if problem.intercept:
        rows = np.column_stack([rows, np.ones(problem.n_samples)])
    weights = np.zeros(rows.shape[1])
    hard_margin(np.ascontiguousarray(rows * problem.y[:, None]), weights, np.zeros(problem.n_samples), False)
    constant = float(weights[-1]) if problem.kept else 0.0
    return Candidate(support, weights[: support.size], constant, iterations)


@dataclass(frozen=True, repr=False)
class SupportCount(Result):
    """The number of supports of `size` variables that separate, counted exactly.

    Decisions have a resolution: supports whose largest margin is below 1e-8 of the longest row count as inseparable.
    """

    count: int
    size: int
    n_features: int
    n_samples: int
    nodes: int

    kind = "exact"

    def __int__(self) -> int:
        return self.count

    def summary(self) -> str:
        return f"{self.count} supports of {self.size} of {self.n_features} variables separate {self.n_samples} patterns"

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, **asdict(self)}


def count(X: ArrayLike, y: ArrayLike, size: int, intercept: bool = False) -> SupportCount:
    """Count the supports of `size` variables on which some w separates (X, y); for N up to about 24."""
    problem = make_problem(X, y, intercept, contradictions=True)
    if not 0 <= size <= problem.n_features:
        raise InputError(f"The size of a support must lie between 0 and {problem.n_features}, but is {size}.")
    if size == 0:
        rows = np.ascontiguousarray(problem.columns[problem.n_features :].T)
        alone = problem.kept and hard_margin(rows, np.zeros(1), np.zeros(problem.n_samples), True) == SEPARABLE
        return SupportCount(int(bool(alone)), 0, problem.n_features, problem.n_samples, 1)
    tree = make_tree(problem.columns, problem.kept, size, counting=True)
    while walk(tree, NODES_A_CHUNK) != EXHAUSTED:
        pass
    if tree.undecided[0]:
        raise ConvergenceError(
            f"{tree.undecided[0]} of {tree.nodes[0]} supports could not be decided in floating point; "
            "rescale the columns of X or remove nearly equal ones."
        )
    return SupportCount(int(tree.counted[0]), size, problem.n_features, problem.n_samples, int(tree.nodes[0]))
