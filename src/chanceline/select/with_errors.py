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
    """Return the default number of swaps for a start with so many variables.

    The work of the whole search grows with the table's `length`, the side of a square table with as
    many entries; it is divided by the work of one swap. In all a search takes about 3 s with 64
    columns and samples, 8 s with 128, 20 s with 256.
    """
    n_columns, n_samples = problem.columns.shape
    n_counted_columns = min(n_columns, COLUMNS_PER_SAMPLE * n_samples)
    length = math.sqrt(n_samples * n_counted_columns)
    work = WORK_WITH_ERRORS * length / 128
    gradient_work = n_columns * n_samples
    fit_work = FIT_WORK_WITH_ERRORS * n_samples * (n_variables + 1) ** 2
    work_per_swap = OVERHEAD_WITH_ERRORS + gradient_work + fit_work
    return max(MIN_SWAPS_WITH_ERRORS, int(work / work_per_swap))


def search_with_errors(
    problem: Problem, budget: int | None, seed: int, max_errors: int, *, gives_up: bool = False
) -> Iterator[Event]:
    """Search for as few variables as possible whose rule makes at most `max_errors` errors.

    Supports are tried from small to large: no variable, one (all of them), two (promising pairs),
    then a support that grows greedily until it makes few enough errors, and shrinks by swaps.

    Parameters
    ----------
    budget : largest number of swaps; None for a default.
    seed : of the random numbers.
    gives_up : what to do if nothing makes few enough errors: yield no candidate at all, or else the
        rule of fewest errors that can be found.

    Yields
    ------
    Candidates, the smallest last; a `LowerBound`, proven by trying all single variables; and the
    iterations spent, as a chance to interrupt.
    """
    # No variable: the rule that puts all samples into the larger class.
    majority = majority_rule(problem)
    if majority.errors <= max_errors:
        no_variable = np.zeros(0, dtype=np.int64)
        yield Candidate(no_variable, np.zeros(0), majority.constant, iterations=0)
        return

    # One variable: the errors of all columns are counted exactly, which proves the lower bound.
    search = _ErrorSearch(problem, max_errors, seed)
    errors_of_singles = single_errors(problem)
    best_single = int(np.argmin(errors_of_singles))
    single_suffices = errors_of_singles[best_single] <= max_errors
    proof = LowerBound(2, nodes=problem.n_features)  # one variable is too few
    if single_suffices:
        proof = LowerBound(1, nodes=problem.n_features)  # no variable at all is too few
        candidate = search.single_candidate(best_single)
        if candidate is not None:
            yield candidate
            yield proof
            return
        # Without a candidate the count of errors, which is exact, allows a rule on this column, but
        # no rule with weights in doubles makes so few errors. So the search goes on to supports of
        # more variables, while the lower bound stays at 1.

    # Two variables: promising pairs only.
    if search.try_pairs():
        yield search.candidate(iterations=0)
        yield proof
        return

    yield from _grow_and_shrink(search, budget, seed, proof, gives_up=gives_up)


def _grow_and_shrink(
    search: _ErrorSearch, budget: int | None, seed: int, proof: LowerBound, *, gives_up: bool
) -> Iterator[Event]:
    """Search supports of many variables, then of fewer; the last part of `search_with_errors`.

    The support grows greedily until the rule on it makes few enough errors, and then shrinks by
    swaps. If errors are never few enough, a search for the rule of fewest errors follows.

    search : the search, whose support may be any; changed.
    budget : largest number of swaps; None for a default.
    proof : what is known of small supports; yielded after the first candidate, if there is one.
    gives_up : if errors are never few enough, yield no candidate at all.
    """
    suffices = search.grow()
    n_added = search.workspace.n_selected
    if suffices:
        yield search.candidate(iterations=n_added)
        yield proof
        if budget is None:
            budget = default_swaps_with_errors(search.problem, n_added)
        yield from search.shrink(budget)
        return

    yield proof
    if not gives_up:
        yield from search_fewest_errors(
            search.problem,
            budget,
            seed,
            earlier_iterations=n_added,
            max_errors=search.max_errors,
        )


def rules_with_few_errors(problem: Problem, max_variables: int, max_errors: int) -> BestRules:
    """Allocate best rules of which only those with at most `max_errors` errors are stored.

    The rules have 0 … `max_variables` variables.

    A rule is stored if it makes fewer errors than the one stored before, or if none is (its first
    column is −1). Here every size begins with a fictitious rule on column 0 that makes one error
    too many, so that rules with more than `max_errors` errors are never stored.
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
    n_total : number of swaps at the beginning.
    n_remaining : number of swaps that may still be made. Swaps that are given up, as few variables
        need few, count as done.
    earlier_iterations : those of the search before its first swap.
    """

    n_total: int
    n_remaining: int
    earlier_iterations: int

    @property
    def n_done(self) -> int:
        """Number of swaps done or given up."""
        return self.n_total - self.n_remaining

    @property
    def iterations(self) -> int:
        """Iterations of the search so far."""
        return self.earlier_iterations + self.n_done


class _ErrorSearch:
    """A support that grows until it makes few enough errors, and then shrinks.

    Attributes
    ----------
    problem, max_errors : the task.
    workspace : the fit, and its present support.
    best : the best rules found, of every size; only those with few enough errors are kept.
    singles : the rules on every single column.
    """

    def __init__(self, problem: Problem, max_errors: int, seed: int) -> None:
        """Allocate the workspace and the best rules, and find the best rule on every column.

        max_errors : number of samples that may be misclassified.
        seed : of the random numbers.
        """
        self.problem = problem
        self.max_errors = max_errors
        # A swap adds a variable before it removes one, so there must be room for one more than a
        # support ever has.
        max_variables = min(problem.n_features, problem.n_samples) + 1
        self.workspace = make_hinge(
            problem.columns,
            capacity=max_variables + problem.n_unpenalized,
            n_unpenalized=problem.n_unpenalized,
            nonnegative=problem.nonnegative,
            relatives=problem.relatives,  # for each column, others strongly correlated with it
            seed=seed,
        )
        self.best = rules_with_few_errors(problem, max_variables, max_errors)
        # The line searches draw from the random numbers of the workspace and so advance their
        # state: results change if this line is moved behind a later draw.
        random_numbers = self.workspace.state.random
        self.singles = search_singles(problem, random_numbers)

    def single_candidate(self, column: int) -> Candidate | None:
        """Return a rule on one column that makes few enough errors; None if none in doubles does.

        `search_singles` has found a rule by a line search, which skips thresholds between nearly
        equal values. If this rule is not good enough, `best_single_rule` is tried, which skips
        nothing.
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
        """Try promising pairs of variables until one makes few enough errors; whether one does."""
        for pair in screen_pairs(self.problem, PAIRS_TRIED):
            self._fit_variables(pair)
            if self._is_good_enough():
                return True
        return False

    def grow(self) -> bool:
        """Add columns one by one until few enough errors are left; return whether that succeeds.

        Each time the column of largest screening score is added, and the weights are fitted with
        `max_errors` samples trimmed (left out as errors). Good rules are stored in `self.best`.
        """
        workspace = self.workspace
        self._fit_variables(np.zeros(0, dtype=np.int64))  # start without variables
        capacity = workspace.state.support.size
        # A fit may remove columns whose weight would get a forbidden sign. So more additions than
        # places may be needed.
        for _ in range(2 * capacity):
            scores = screening_scores(workspace)
            can_any_enter = scores.max() >= 0  # the score of columns that cannot is −1
            if workspace.size == capacity or not can_any_enter:
                return False
            try_change(workspace, self.best, add=int(scores.argmax()), n_trimmed=self.max_errors)
            if self._is_good_enough():
                return True
        return False

    def shrink(self, budget: int) -> Iterator[Candidate | int]:
        """Go from a support that makes few enough errors to smaller ones, by `budget` swaps.

        The cheapest variable is removed. If the rule then makes too many errors, variables are
        swapped at that size until the errors are few enough again. Then the next one is removed.

        Sizes count the columns of the support, the variables and the intercept; the workspace's
        `n_selected` counts the variables only.

        Yields a candidate at every success, and between them the number of iterations, as a chance
        to interrupt.
        """
        workspace = self.workspace
        # Each variable that `grow` has added counts as one iteration.
        n_added = workspace.n_selected
        swap_budget = _SwapBudget(n_total=budget, n_remaining=budget, earlier_iterations=n_added)
        target_size = workspace.size
        # Go down to two variables, since rules on a single one were tried before.
        while workspace.n_selected > 2:
            # Few variables need few swaps: give up most of the remaining ones.
            if workspace.n_selected <= FEW_VARIABLES:
                n_enough = swap_budget.n_total // FEW_VARIABLES_DIVISOR
                swap_budget.n_remaining = min(swap_budget.n_remaining, n_enough)

            # Remove a variable. The support may be smaller than the last target already, because
            # fits remove columns whose weight would get a forbidden sign.
            target_size = min(target_size, workspace.size) - 1
            self._drop_cheapest()
            if self._is_good_enough():
                yield self.candidate(swap_budget.iterations)
            else:
                # This yields events of its own, and takes the swaps made off `swap_budget`.
                is_good_enough = yield from self._swap_until_good(target_size, swap_budget)
                if not is_good_enough:
                    return  # no swaps are left

    def _swap_until_good(
        self, size: int, swap_budget: _SwapBudget
    ) -> Generator[Candidate | int, None, bool]:
        """Swap variables at a fixed size until errors are few enough; False if no swaps are left.

        Yields the candidate of a success, and before it the number of iterations after every chunk
        of swaps.
        """
        while swap_budget.n_remaining > 0:
            max_swaps = min(SWAPS_PER_CHUNK, swap_budget.n_remaining)
            swap_budget.n_remaining -= self._swap(size, max_swaps, n_done=swap_budget.n_done)
            if self.workspace.size <= size and self._is_good_enough():
                yield self.candidate(swap_budget.iterations)
                return True
            yield swap_budget.iterations
        return False

    def _drop_cheapest(self) -> None:
        """Remove the cheapest variable of the present support, refit, and store the rule."""
        place = cheapest_place(self.workspace)
        try_change(self.workspace, self.best, drop=place, n_trimmed=self.max_errors)

    def candidate(self, iterations: int) -> Candidate:
        """Return the best rule with as many variables as the present support has."""
        return self.best.candidate(
            self.workspace.n_selected, self.problem.n_unpenalized, iterations
        )

    def _swap(self, size: int, max_swaps: int, n_done: int) -> int:
        """Swap columns at a fixed size until errors are few enough; return the number of swaps.

        The fits trim samples: they leave those of smallest margin out, as errors. The swaps are
        divided into phases of SWAPS_PER_PHASE, and in every second phase samples are trimmed with
        noise, for variety.

        size : number of columns, including the intercept.
        max_swaps : largest number of swaps.
        n_done : number of swaps done before, which determines the phase.
        """
        phase = n_done // SWAPS_PER_PHASE
        trim_noise = 0.0
        if phase % 2 == 1:
            trim_noise = TRIM_NOISE
        self._descend_once_more()  # a descent is random, so another one may find fewer errors
        return swap_for_errors(
            self.workspace,
            self.best,
            size=size,
            max_swaps=max_swaps,
            target_errors=self.max_errors,
            trim_noise=trim_noise,
        )

    def _descend_once_more(self) -> None:
        """Improve the present rule by a descent on its errors, if it is among the best.

        Support and fit are not changed. The descent is random, so that another one may find more.
        """
        try_change(self.workspace, self.best, max_newton=NO_NEWTON_STEPS)

    def _fit_variables(self, variables: NDArray[np.int64]) -> None:
        """Make these columns, and the intercept, the support; fit it and store the rule."""
        n_features = self.problem.n_features
        intercept = np.arange(n_features, n_features + self.problem.n_unpenalized)
        set_support(self.workspace, np.append(intercept, variables))
        try_change(self.workspace, self.best, n_trimmed=self.max_errors)

    def _is_good_enough(self) -> bool:
        """Whether a rule of the present size is known that makes few enough errors."""
        return bool(self.best.errors[self.workspace.n_selected] <= self.max_errors)
