"""The number of supports that separate, counted exactly by the walk over all of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from chanceline._results import Result
from chanceline.errors import ConvergenceError, InputError
from chanceline.perceptron.problem import Problem, make_problem
from chanceline.perceptron.rational import ExactTable
from chanceline.select.support_fit import COUNTED_SUPPORTS, NODES, UNDECIDED_SUPPORTS
from chanceline.select.supports import NODES_A_CHUNK, RATIONAL_DECISIONS, answer_question
from chanceline.select.walk import ASKED, EXHAUSTED, PAUSED, walk_on
from chanceline.select.walk_state import make_walk


@dataclass(frozen=True, repr=False)
class SupportCount(Result):
    """The number of supports of `size` variables that separate, counted exactly.

    Attributes
    ----------
    gap : 0 where every decision was exact. Otherwise too many would have had to be made in rational
        arithmetic, and supports that separate by a margin of at most this are not counted (weights
        of length 1, columns scaled to mean square 1).
    """

    count: int
    size: int
    n_features: int
    n_samples: int
    nodes: int
    gap: float = 0.0

    @property
    def kind(self) -> str:  # type: ignore[override]
        """Whether every decision was exact, or some hold up to the `gap`."""
        return "exact" if self.gap == 0.0 else "numerical"

    def __int__(self) -> int:
        return self.count

    def summary(self) -> str:
        return (
            f"{self.count} supports of {self.size} of {self.n_features} variables "
            f"separate {self.n_samples} patterns"
        )


def count(
    X: ArrayLike, y: ArrayLike, size: int, intercept: bool = False, signs: ArrayLike | None = None
) -> SupportCount:
    """Count the supports of `size` variables on which some weights separate (X, y), exactly.

    This is feasible for up to about 24 variables. A compiled depth-first search, the walk, visits
    all supports that may separate, and counts those that do. Where floating point leaves a doubt,
    rational arithmetic decides.

    X : (samples, features).
    y : (samples,) labels, two values.
    intercept : whether rules have one; it does not count as a variable.
    signs : the sign that each weight must have, +1, −1 or 0 (free), for every feature or one for
        all. A weight may also be zero.
    """
    problem = make_problem(X, y, intercept, allow_contradictions=True, signs=signs)
    if not 0 <= size <= problem.n_features:
        raise InputError(
            f"The size of a support must lie between 0 and {problem.n_features}, but is {size}."
        )
    if size == 0:
        return _count_without_variables(problem)

    # Each call of `walk_on` continues the walk, and returns why it has stopped:
    #   PAUSED     NODES_A_CHUNK nodes of the search tree are done: continue;
    #   ASKED      floating point leaves a doubt: `answer_question` decides it in rational
    #              arithmetic, and stores the answer in `walk`; continue;
    #   EXHAUSTED  there is no further support.
    walk = make_walk(problem, size, counts_supports=True)
    exact_table = ExactTable(problem)
    why_stopped = PAUSED
    while why_stopped != EXHAUSTED:
        why_stopped = walk_on(walk, NODES_A_CHUNK)
        if why_stopped == ASKED:
            answer_question(walk, exact_table, RATIONAL_DECISIONS)

    # What the walk has counted is in the array `tally`, at places named by constants. Without a
    # decision on every support there is no exact count.
    tally = walk.path.tally
    n_separating = int(tally[COUNTED_SUPPORTS])
    nodes = int(tally[NODES])
    undecided = int(tally[UNDECIDED_SUPPORTS])
    if undecided:
        raise ConvergenceError(
            f"{undecided} of {nodes} supports could not be decided in floating point; "
            "rescale the columns of X or remove nearly equal ones."
        )

    # Some supports may be ruled out by floating point alone: their margin is at most this gap. It
    # is 0 if there are no such supports. (The walk keeps it in an array of one entry.)
    gap = float(walk.workspace.state.gap[0])
    return SupportCount(
        count=n_separating,
        size=size,
        n_features=problem.n_features,
        n_samples=problem.n_samples,
        nodes=nodes,
        gap=gap,
    )


def _count_without_variables(problem: Problem) -> SupportCount:
    """The number of supports of size 0 that separate: 1 if the intercept alone does, else 0.

    An intercept separates a single class.
    """
    has_one_class = bool(np.all(problem.y == problem.y[0]))
    return SupportCount(
        count=int(problem.intercept and has_one_class),
        size=0,
        n_features=problem.n_features,
        n_samples=problem.n_samples,
        nodes=1,
    )
