"""As few variables as possible that make at most so many errors: part of method `auto`.

First no variable, one, and promising pairs; then a greedy support that makes few enough errors, and
swaps on the hinge that trims so many samples, one variable fewer at every success.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chanceline.perceptron.hinge_fit import screening_scores
from chanceline.perceptron.problem import Problem
from chanceline.perceptron.workspace import make_hinge, set_support
from chanceline.select.best_rules import (
    NO_NEWTON_STEPS,
    BestRules,
    make_best_rules,
    swap_for_errors,
    try_change,
)
from chanceline.select.front_search import PAIRS_TRIED, search_fewest_errors
from chanceline.select.greedy import cheapest_place
from chanceline.select.outcome import Candidate, Event, LowerBound, candidate_rule
from chanceline.select.pair_screening import screen_pairs
from chanceline.select.singles import (
    best_single_rule,
    majority_rule,
    search_singles,
    single_errors,
)
from chanceline.select.tabu import COLUMNS_PER_SAMPLE

SWAPS_PER_CHUNK = 500  # between two looks at the keyboard
SWAPS_PER_PHASE = 10_000  # with and without noise in which samples are trimmed, in turn
TRIM_NOISE = 0.3  # of margins, whose goal is 1
FEW_VARIABLES = 3  # from here on singles are refuted, and the promising ones of the pairs:
FEW_VARIABLES_DIVISOR = 10  # a tenth of the budget is enough

# The default budget at 128 × 128, in multiplications, and what a swap takes.
WORK_WITH_ERRORS = 3.6e10
OVERHEAD_WITH_ERRORS = 40_000
FIT_WORK_WITH_ERRORS = 4  # for every sample and entry of the inverse Hessian
MIN_SWAPS_WITH_ERRORS = 200


def default_swaps_with_errors(problem: Problem, n_variables: int) -> int:
    """The budget for a start of so many variables, in swaps.

    About 3 s with N = P = 64 columns and samples, 8 s with 128, 20 s with 256. The work of the
    whole search grows with the table's `length`, the side of a square table of as many entries.
    """
    n_columns, n_samples = problem.columns.shape
    length = math.sqrt(n_samples * min(n_columns, COLUMNS_PER_SAMPLE * n_samples))
    work = WORK_WITH_ERRORS * length / 128
    gradient_work = n_columns * n_samples
    fit_work = FIT_WORK_WITH_ERRORS * n_samples * (n_variables + 1) ** 2
    work_per_swap = OVERHEAD_WITH_ERRORS + gradient_work + fit_work
    return max(MIN_SWAPS_WITH_ERRORS, int(work / work_per_swap))


def search_with_errors(
    problem: Problem, budget: int | None, seed: int, max_errors: int, *, gives_up: bool = False
) -> Iterator[Event]:
    """Search for few variables that make at most `max_errors`, from none to many.

    The budget counts swaps. A `LowerBound` says how many variables are needed at least, by
    exhaustion of the singles. Where nothing suffices, a search that `gives_up` yields no candidate;
    another the rule of fewest errors it can find.
    """
    # No variable: the larger class for everybody.
    majority = majority_rule(problem)
    if majority.errors <= max_errors:
        no_variable = np.zeros(0, dtype=np.int64)
        yield Candidate(no_variable, np.zeros(0), majority.constant, iterations=0)
        return

    # One variable, in exact arithmetic.
    search = _ErrorSearch(problem, max_errors, seed)
    errors_of_singles = single_errors(problem)
    best_single = int(np.argmin(errors_of_singles))
    if errors_of_singles[best_single] <= max_errors:
        # One suffices. Yet it may be that no rule in floating-point numbers is as good: then the
        # search goes on, and all that is proven is that none is too few.
        proof = LowerBound(1, nodes=problem.n_features)
        candidate = search.single_candidate(best_single)
        if candidate is not None:
            yield candidate
            yield proof
            return
    else:
        proof = LowerBound(2, nodes=problem.n_features)

    # Two variables, promising pairs only.
    if search.try_pairs():
        yield search.candidate(iterations=0)
        yield proof
        return

    # Many variables, then fewer and fewer. The proof comes after the first candidate, if any.
    suffices = search.grow()
    n_added = search.hinge.n_selected
    if suffices:
        yield search.candidate(iterations=n_added)
        yield proof
        if budget is None:
            budget = default_swaps_with_errors(problem, n_added)
        yield from search.shrink(budget)
        return

    yield proof
    if not gives_up:
        yield from search_fewest_errors(problem, budget, seed, spent=n_added, max_errors=max_errors)


def rules_with_few_errors(problem: Problem, max_variables: int, max_errors: int) -> BestRules:
    """Make room for the best rules of 0 … `max_variables` variables with at most `max_errors`.

    A rule is stored if it makes fewer errors than the one that is there, or if none is there, which
    a first column of −1 says. So every size begins with a stand-in that makes one error too many,
    on column 0: rules with more than `max_errors` are not stored.
    """
    best = make_best_rules(max_variables, problem.n_unpenalized, problem.n_samples)
    best.errors[:] = max_errors + 1
    best.supports[:] = 0
    return best


@dataclass
class _SwapBudget:
    """Swaps that a search may make.

    Attributes
    ----------
    total : at the beginning.
    left : now. Those that are given up, since few variables are left, count as done.
    spent_before : iterations of the search before its first swap.
    """

    total: int
    left: int
    spent_before: int

    @property
    def done(self) -> int:
        """Swaps done or given up."""
        return self.total - self.left

    @property
    def iterations(self) -> int:
        """Iterations of the search so far."""
        return self.spent_before + self.done


class _ErrorSearch:
    """A support that grows until it makes few enough errors, and then shrinks.

    Attributes
    ----------
    problem, max_errors : the task.
    hinge : the fit, and its present support.
    best : the best rules found, of every size; only those with few enough errors are kept.
    singles : the rules on every single column.
    """

    def __init__(self, problem: Problem, max_errors: int, seed: int) -> None:
        self.problem = problem
        self.max_errors = max_errors
        max_variables = min(problem.n_features, problem.n_samples)
        self.hinge = make_hinge(
            problem.columns,
            capacity=max_variables + 1 + problem.n_unpenalized,  # a swap adds before it drops
            n_unpenalized=problem.n_unpenalized,
            nonnegative=problem.nonnegative,
            relatives=problem.relatives,
            seed=seed,
        )
        # The size more is for the rule in the middle of a swap.
        self.best = rules_with_few_errors(problem, max_variables + 1, max_errors)
        # The line searches draw from the workspace's random numbers, as all of this search does.
        self.singles = search_singles(problem, self.hinge.state.random)

    def single_candidate(self, column: int) -> Candidate | None:
        """A rule on one column that makes few enough errors; None if no floating-point rule does.

        The line search on scaled columns has a tolerance. Where its rule is not good enough, that
        of `best_single_rule` is tried, which sorts the values of X and needs no tolerance.
        """
        candidate = Candidate(
            support=np.array([column]),
            weights=self.singles.weights[[column]],
            constant=float(self.singles.constants[column]),
            iterations=0,
        )
        if candidate_rule(self.problem, candidate).errors <= self.max_errors:
            return candidate

        exact_rule = best_single_rule(self.problem, column)
        if exact_rule is not None and exact_rule.errors <= self.max_errors:
            return candidate._replace(rule=exact_rule)
        return None

    def try_pairs(self) -> bool:
        """Try promising pairs until one makes few enough errors; whether one does."""
        for pair in screen_pairs(self.problem, PAIRS_TRIED):
            self._fit_variables(pair)
            if self._is_good_enough():
                return True
        return False

    def grow(self) -> bool:
        """Add columns until few enough errors are left; False if all that fit do not suffice.

        Each is the column of largest screening score.
        """
        hinge = self.hinge
        self._fit_variables(np.zeros(0, dtype=np.int64))
        capacity = hinge.state.support.size
        # Columns of a given sign may leave again, so that additions may be more than there is room.
        for _ in range(2 * capacity):
            scores = screening_scores(hinge)
            can_any_enter = scores.max() >= 0  # the score of columns that cannot is −1
            if hinge.size == capacity or not can_any_enter:
                return False
            try_change(hinge, self.best, add=int(scores.argmax()), n_trimmed=self.max_errors)
            if self._is_good_enough():
                return True
        return False

    def shrink(self, budget: int) -> Iterator[Candidate | int]:
        """From a support that makes few enough errors to smaller ones, by so many swaps at most.

        Yields a candidate at every success, and the iterations done at every other chance to
        interrupt.
        """
        swaps = _SwapBudget(total=budget, left=budget, spent_before=self.hinge.n_selected)
        # The size to reach: columns of the support, the intercept included. The support itself may
        # be smaller where variables left it for their sign.
        size = self.hinge.size
        is_good_enough = True
        while is_good_enough:
            next_size = yield from self._drop_while_good(size, swaps)
            if next_size is None:
                return
            size = next_size
            is_good_enough = yield from self._swap_until_good(size, swaps)

    def _drop_while_good(
        self, size: int, swaps: _SwapBudget
    ) -> Generator[Candidate, None, int | None]:
        """Drop the cheapest variable as long as errors stay few enough, which they are now.

        Yields a candidate after every success. Returns the `size` at which errors are too many;
        None if there is none: rules on one variable were refuted, or found, before. Few variables
        need few swaps: from there on most of them are given up.
        """
        hinge = self.hinge
        while True:
            if hinge.n_selected <= FEW_VARIABLES:
                swaps.left = min(swaps.left, swaps.total // FEW_VARIABLES_DIVISOR)
            if hinge.n_selected <= 2:
                return None
            size = min(size, hinge.size) - 1
            self._drop_cheapest()
            if not self._is_good_enough():
                return size
            yield self.candidate(swaps.iterations)

    def _swap_until_good(
        self, size: int, swaps: _SwapBudget
    ) -> Generator[Candidate | int, None, bool]:
        """Swap variables at a size until errors are few enough; False if no swaps are left for it.

        Yields the candidate then, and before it the iterations after every chunk of swaps.
        """
        while swaps.left > 0:
            max_swaps = min(SWAPS_PER_CHUNK, swaps.left)
            swaps.left -= self._swap(size, max_swaps, n_done=swaps.done)
            if self.hinge.size <= size and self._is_good_enough():
                yield self.candidate(swaps.iterations)
                return True
            yield swaps.iterations
        return False

    def _drop_cheapest(self) -> None:
        """Drop the cheapest variable of the present support, fit the others and note the rule."""
        place = cheapest_place(self.hinge)
        try_change(self.hinge, self.best, drop=place, n_trimmed=self.max_errors)

    def candidate(self, iterations: int) -> Candidate:
        """The best rule of as many variables as the present support has."""
        return self.best.candidate(self.hinge.n_selected, self.problem.n_unpenalized, iterations)

    def _swap(self, size: int, max_swaps: int, n_done: int) -> int:
        """Swap columns at a size, the intercept included, until errors are few enough.

        Returns the swaps done, at most `max_swaps`. `n_done` were done before: they tell the phase,
        and in every second phase samples are trimmed with noise.
        """
        phase = n_done // SWAPS_PER_PHASE
        trim_noise = 0.0
        if phase % 2 == 1:
            trim_noise = TRIM_NOISE
        self._descend_once_more()
        return swap_for_errors(
            self.hinge,
            self.best,
            size=size,
            max_swaps=max_swaps,
            target_errors=self.max_errors,
            trim_noise=trim_noise,
        )

    def _descend_once_more(self) -> None:
        """Let the present rule descend on its errors if it is as good as the best of its size.

        It is neither changed nor fitted again. The descent has random numbers in it, so another
        one may find more.
        """
        try_change(self.hinge, self.best, max_newton=NO_NEWTON_STEPS)

    def _fit_variables(self, variables: NDArray[np.int64]) -> None:
        """Load these columns, and the intercept if there is one; fit them and note the rule."""
        n_features = self.problem.n_features
        intercept = np.arange(n_features, n_features + self.problem.n_unpenalized)
        set_support(self.hinge, np.append(intercept, variables))
        try_change(self.hinge, self.best, n_trimmed=self.max_errors)

    def _is_good_enough(self) -> bool:
        """Whether a rule of the present size has been found that makes few enough errors."""
        return bool(self.best.errors[self.hinge.n_selected] <= self.max_errors)
