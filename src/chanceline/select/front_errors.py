"""As few variables as possible with at most e errors: swaps on the trimmed squared hinge, one variable fewer at every success."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chanceline.perceptron.compiled import kernel
from chanceline.perceptron.hinge import next_random
from chanceline.perceptron.linalg import combine
from chanceline.perceptron.problem import Problem
from chanceline.select.choice import choose_removal
from chanceline.select.front import fewest_found
from chanceline.select.front_line import all_singles, count_errors, descend
from chanceline.select.front_pairs import promising_pairs
from chanceline.select.front_swaps import IDLE_ROUNDS, NEWTON_AFTER_ADDITION, choose_addition
from chanceline.select.front_trimmed import (
    NEWTON,
    Trimmed,
    fit_trimmed,
    make_trimmed,
    put_in,
    smallest_first,
    solve_active,
    take_out,
    use,
)
from chanceline.select.methods.tabu import random_state
from chanceline.select.outcome import Bound, Candidate

PAIRS_TRIED = 300
CHUNK = 500  # swaps between two looks at the keyboard
PHASE = 10_000  # swaps with and without noise in whom to forgive, in turn
FORGIVING_NOISE = 0.3
WORK = 3.6e10  # of the default budget at 128 × 128, in multiplications


@kernel()
def few_enough(state: Any, allowed: int, near: int, random: NDArray, trial: NDArray, margins: NDArray, breaks: NDArray) -> bool:
    """Whether the present support makes at most `allowed` errors; within `near` of that, after a descent on the errors."""
    errors = count_errors(state.margins)
    if errors <= allowed:
        return True
    if errors > allowed + near:
        return False
    k = state.k[0]
    for i in range(k):
        trial[i] = state.weights[i]
    for pattern in range(margins.size):
        margins[pattern] = state.margins[pattern]
    if descend(state.columns, state.support, k, trial, margins, breaks, random, IDLE_ROUNDS) > allowed:
        return False
    for i in range(k):
        state.weights[i] = trial[i]
    for pattern in range(margins.size):
        state.margins[pattern] = margins[pattern]
    return True


@kernel()
def forgive_others(state: Any, allowed: int, noise: float, random: NDArray) -> None:
    """One Newton step with the patterns to forgive ranked by margin + noise·u, u ~ U(−1, 1): out of a poor choice of them."""
    k = state.k[0]
    combine(state.columns, state.support, state.weights, k, state.margins)
    for pattern in range(state.margins.size):
        state.shift[pattern] = state.margins[pattern] + noise * (2.0 * next_random(random) - 1.0)
        state.work[pattern] = state.shift[pattern]
    smallest_first(state.work, allowed)
    level = -np.inf
    for place in range(allowed):
        level = max(level, state.work[place])
    for pattern in range(state.margins.size):
        state.active[pattern] = 1.0 if state.margins[pattern] < 1.0 and state.shift[pattern] > level else 0.0
    solve_active(state)
    for i in range(k):
        state.weights[i] += state.trial[i]


@kernel()
def swaps_forgiving(
    state: Any, allowed: int, near: int, noise: float, until: NDArray, clock: NDArray, random: NDArray,
    room: Any, steps: int,
) -> tuple[int, bool]:  # fmt: skip
    """Up to `steps` swaps at the present size; stops early when at most `allowed` errors are made."""
    trial, margins, breaks = room
    for step in range(steps):
        clock[0] += 1
        addition = choose_addition(state, until, clock[0], random)
        if addition < 0:
            # Everything else is tabu: few variables. Forget the tabus.
            for j in range(until.size):
                until[j] = 0
            addition = choose_addition(state, until, clock[0], random)
        if addition < 0:
            return steps, False
        put_in(state, addition)
        until[addition] = clock[0] + 2 + int(6 * next_random(random))
        if noise > 0.0:
            forgive_others(state, allowed, noise, random)
        fit_trimmed(state, allowed, NEWTON_AFTER_ADDITION)
        removal = choose_removal(state, until, clock[0], random)
        if removal < 0:
            removal = state.k[0] - 1
        until[state.support[removal]] = clock[0] + 4 + int(6 * next_random(random))
        take_out(state, removal)
        if fit_trimmed(state, allowed, NEWTON) or few_enough(state, allowed, near, random, trial, margins, breaks):
            return step + 1, True
    return steps, False


def run_with_errors(problem: Problem, budget: int | None, seed: int, errors: int) -> Iterator[Candidate | Bound | int]:
    """Singles, exhaustively; promising pairs; greedy additions until few errors are left; then swaps at one fewer and so on.

    The budget counts swaps. A `Bound` says how many variables are needed at least, by exhaustion of the singles.
    """
    search = _Forgiving(problem, errors, seed)
    if search.constant_errors() <= errors:
        yield Candidate(np.zeros(0, dtype=np.int64), np.zeros(0), search.majority(), 0)
        return
    single, rule = search.best_single()
    if single is not None:
        yield Candidate(np.array([single]), rule[1:], float(rule[0]), 0)
        yield Bound(1, problem.n_features)
        return
    if search.find_pair():
        yield search.candidate(0)
        yield Bound(2, problem.n_features)
        return
    reached = search.grow()
    yield search.candidate(search.size)
    yield Bound(2, problem.n_features)
    if not reached:
        yield from fewest_found(problem, budget, seed, search.size, errors)
        return
    total = default_budget(problem, search.size) if budget is None else budget
    yield from search.shrink(total)


def default_budget(problem: Problem, size: int) -> int:
    """Swaps for a start of `size` variables: about 3 s at N = P = 64, 8 s at 128, 20 s at 256."""
    n, patterns = problem.columns.shape
    work = WORK * math.sqrt(patterns * min(n, 4 * patterns)) / 128
    swap = 40_000 + n * patterns + 4 * patterns * (size + 1) ** 2
    return max(200, int(work / swap))


class _Forgiving:
    """Workspace of one search for few variables with at most `allowed` errors."""

    def __init__(self, problem: Problem, allowed: int, seed: int) -> None:
        n, patterns = problem.columns.shape
        self.problem = problem
        self.allowed = allowed
        self.near = 1
        self.random = random_state(seed)
        most = min(problem.n_features, problem.n_samples)
        self.state: Trimmed = make_trimmed(problem.columns, problem.kept, most + 1)
        self.until = np.zeros(n, dtype=np.int64)
        self.clock = np.zeros(1, dtype=np.int64)
        self.room = (np.zeros(most + problem.kept + 1), np.zeros(patterns), np.zeros(patterns))

    @property
    def size(self) -> int:
        return int(self.state.k[0]) - self.problem.kept

    def constant_errors(self) -> int:
        """Errors without any variable."""
        if not self.problem.intercept:
            return self.problem.n_samples
        return int(min(np.sum(self.problem.y > 0), np.sum(self.problem.y < 0)))

    def majority(self) -> float:
        """Weight of the threshold that puts everybody in the larger class."""
        return 0.0 if not self.problem.intercept else float(np.sign(self.problem.y.sum()) or 1.0)

    def best_single(self) -> tuple[int | None, NDArray[np.float64]]:
        """The variable with few enough errors alone, or None, and its rule."""
        errors, rules = all_singles(self.problem.columns, self.problem.kept, self.random)
        best = int(np.argmin(errors))
        return (best if errors[best] <= self.allowed else None), rules[best]

    def find_pair(self) -> bool:
        """Whether one of the promising pairs has few enough errors."""
        for pair in promising_pairs(self.problem, PAIRS_TRIED):
            self._start(pair)
            if fit_trimmed(self.state, self.allowed, NEWTON) or few_enough(
                self.state, self.allowed, self.near, self.random, *self.room
            ):
                return True
        return False

    def _start(self, support: NDArray[np.int64]) -> None:
        n, kept = self.problem.n_features, self.problem.kept
        use(self.state, np.append(np.arange(n, n + kept), support), np.zeros(support.size + kept))

    def grow(self) -> bool:
        """Add columns until few enough errors are left; False if all that fit do not suffice."""
        self._start(np.zeros(0, dtype=np.int64))
        fit_trimmed(self.state, self.allowed, NEWTON)
        while self.state.k[0] < self.state.support.size:
            addition = choose_addition(self.state, self.until, 0, self.random)
            if addition < 0:
                break
            put_in(self.state, addition)
            if fit_trimmed(self.state, self.allowed, NEWTON) or few_enough(
                self.state, self.allowed, self.near, self.random, *self.room
            ):
                return True
        return False

    def shrink(self, budget: int) -> Iterator[Candidate | int]:
        """From a support that makes few enough errors to smaller ones, until `budget` swaps are done."""
        spent = self.size
        left, enough = budget, True
        while True:
            while enough:
                if self.size <= 3:
                    # Singles are refuted, and of the pairs the promising ones.
                    left = min(left, budget // 10)
                if self.size <= 2:
                    return
                place = choose_removal(self.state, self.until, np.iinfo(np.int64).max, self.random)
                take_out(self.state, place)
                enough = bool(fit_trimmed(self.state, self.allowed, NEWTON)) or bool(
                    few_enough(self.state, self.allowed, self.near, self.random, *self.room)
                )
                if enough:
                    yield self.candidate(spent + budget - left)
            if left <= 0:
                return
            noise = FORGIVING_NOISE if (budget - left) // PHASE % 2 else 0.0
            done, enough = swaps_forgiving(
                self.state, self.allowed, self.near, noise, self.until, self.clock, self.random, self.room,
                min(CHUNK, left),
            )  # fmt: skip
            left -= done
            yield self.candidate(spent + budget - left) if enough else spent + budget - left

    def candidate(self, iterations: int) -> Candidate:
        """The present support and weights."""
        kept, k = self.problem.kept, int(self.state.k[0])
        order = np.argsort(self.state.support[kept:k])
        return Candidate(
            support=self.state.support[kept:k][order].copy(),
            weights=self.state.weights[kept:k][order].copy(),
            constant=float(self.state.weights[0]) if kept else 0.0,
            iterations=iterations,
        )
