"""The walk that makes the front: the best rule of every size, improved by swaps in turn.

It starts with single variables, greedy paths and promising pairs. Then every size is visited again
and again: from its best rule, from that of one variable more or fewer, or from where the last visit
ended; with fits that aim at fewer errors, or at a smoother loss.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from copy import deepcopy
from enum import Enum
from itertools import count
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from chanceline._arrays import Floats
from chanceline.perceptron.hinge_fit import screening_scores
from chanceline.perceptron.problem import Problem
from chanceline.perceptron.rule import Rule
from chanceline.perceptron.separate import widest_rule
from chanceline.perceptron.workspace import make_hinge, set_support
from chanceline.select.best_rules import (
    NO_DESCENT,
    NO_NEWTON_STEPS,
    BestRules,
    make_best_rules,
    swap_for_errors,
    try_change,
)
from chanceline.select.front_result import FrontPoint
from chanceline.select.outcome import Candidate
from chanceline.select.pair_screening import screen_pairs
from chanceline.select.singles import majority_rule, search_singles
from chanceline.select.starts import SPARE_PLACES

SINGLES_TRIED = 300  # the best by themselves
PAIRS_TRIED = 300
ADDITIONS_TRIED = 60  # on the best rule of one variable fewer
SWAPS_PER_VISIT = 100  # at one size before the next has its turn
MAX_WALKS = 3  # from the same beginning; the last begins at the best rules of all before
MIN_SWAPS_PER_WALK = 6000  # about one visit of every kind to ten sizes
DESCENT_GAP = 2  # errors above the best of its size up to which a rule descends on the errors
# After a fit to a smoother loss the descent is worth while within a fifth of the fewest errors.
SMOOTH_GAP_DIVISOR = 5
MAX_FRONT_VARIABLES = 12  # of a rule of few errors, where a search for none or fewer has failed

# The default budget, in multiplications, and what a swap takes.
FRONT_WORK = 2e10
MANY_COLUMNS = 2000
EXTRA_WORK = 2  # times FRONT_WORK, that so many columns or more add to the budget
FRONT_SWAP_OVERHEAD = 60_000
FRONT_FIT_WORK = 40  # for every sample and column of the support: fits and line searches
SUPPORT_OVERHEAD = 4  # columns of the support that the work for each sample amounts to besides
REFERENCE_VARIABLES = 10  # of the front for which FRONT_WORK was measured
MIN_DEFAULT_SWAPS = 1000
SWAPS_PER_SUPPORT = 20  # are enough where there are few supports


class VisitStart(Enum):
    """Where a visit to a size begins."""

    BEST = "the best rule of the size"
    ABOVE = "the best rule of one variable more, one of which is dropped"
    BELOW = "the best rule of one variable fewer, to which one is added"
    LAST_END = "where the last visit of the same kind ended"


class Visit(NamedTuple):
    """A kind of visit to a size.

    Attributes
    ----------
    start : where it begins.
    trim_share : fits trim this share of one error fewer than the best rule of the size makes. With
        1 they aim at a better rule; with 0 the loss is the plain squared hinge, which is smoother.
    """

    start: VisitStart
    trim_share: float


# One kind after the other.
VISITS = (
    Visit(VisitStart.BEST, 1.0),
    Visit(VisitStart.LAST_END, 0.0),
    Visit(VisitStart.ABOVE, 1.0),
    Visit(VisitStart.LAST_END, 0.5),
    Visit(VisitStart.LAST_END, 0.0),
    Visit(VisitStart.BELOW, 1.0),
)


def default_front_swaps(problem: Problem, max_variables: int) -> int:
    """Return the default number of swaps: about five to ten seconds on gene-expression data.

    A total amount of work is divided by the work of one swap; both are estimated in
    multiplications. The total grows with the square root of `max_variables`, the number of sizes to
    search. If there are only few supports (sets of variables), few swaps are enough.
    """
    # The work of a swap: the gradient for all columns, and fits on a support.
    n_columns, n_samples = problem.columns.shape
    gradient_work = n_columns * n_samples
    fit_work = FRONT_FIT_WORK * n_samples * (max_variables + SUPPORT_OVERHEAD)
    work_per_swap = FRONT_SWAP_OVERHEAD + gradient_work + fit_work

    # The total work. Among thousands of columns there are more good supports, and they are harder
    # to find, so there is extra work, up to EXTRA_WORK times as much.
    share_of_extra_work = min(1.0, n_columns / MANY_COLUMNS)
    total_work = FRONT_WORK * (1 + EXTRA_WORK * share_of_extra_work)

    # How many swaps it allows. FRONT_WORK is meant for REFERENCE_VARIABLES sizes.
    sizes_factor = math.sqrt(max(max_variables, 1) / REFERENCE_VARIABLES)
    n_affordable_swaps = int(total_work / work_per_swap * sizes_factor)

    # A few swaps for every support of 1 … max_variables variables are enough. (There is no support
    # of more variables than features: `comb` is 0.)
    n_supports = sum(math.comb(problem.n_features, k) for k in range(1, max_variables + 1))
    n_swaps_enough = SWAPS_PER_SUPPORT * n_supports
    return max(MIN_DEFAULT_SWAPS, min(n_affordable_swaps, n_swaps_enough))


def search_fewest_errors(
    problem: Problem, budget: int | None, seed: int, *, earlier_iterations: int, max_errors: int = 0
) -> Iterator[Candidate | int]:
    """Search for the rule of fewest errors, after another search found none that is good enough.

    The best rules of 0, 1, … variables are searched. Yields the number of iterations
    (`earlier_iterations` and those of this search) as it goes. At the end it yields one candidate:
    the rule of fewest variables with at most `max_errors` errors; or, if there is none, that with
    the fewest errors.

    budget : number of swaps; None for `default_front_swaps`.
    earlier_iterations : those of the search before this one.
    """
    search = FrontSearch(problem, min(problem.n_features, MAX_FRONT_VARIABLES), seed)
    if budget is None:
        budget = default_front_swaps(problem, search.max_variables)
    for n_swaps in search.run(budget):
        yield earlier_iterations + n_swaps

    # The candidate is that of the first size with at most `goal` errors: the number allowed, or,
    # if all sizes make more errors, the fewest of all sizes.
    errors = search.best.errors[: search.max_variables + 1]
    goal = max(max_errors, int(errors.min()))
    n_variables = int(np.flatnonzero(errors <= goal)[0])
    yield search.best.candidate(
        n_variables, problem.n_unpenalized, earlier_iterations + search.n_swaps
    )


class FrontSearch:
    """A search for the fewest errors with 0, 1, … variables.

    Attributes
    ----------
    problem : the table.
    max_variables : the largest size.
    workspace : the fit, and its present support.
    best : the best rules so far, with one size more than wanted: a swap adds before it drops.
    last_variables : (number of variables k, `trim_share`) → the variables, (k,), with which the
        last visit to this size with this share ended.
    n_swaps : granted to visits so far; a visit whose swaps end early counts in full.
    """

    def __init__(self, problem: Problem, max_variables: int, seed: int) -> None:
        """Allocate the workspace and the best rules; no rule is known yet.

        problem : the table in which rules are searched.
        max_variables : largest number of variables of a rule.
        seed : of the random numbers.
        """
        self.problem = problem
        self.max_variables = max_variables

        # The workspace of all fits (by the squared hinge loss): the table, and the support in use
        # with its weights. The support needs places for the variables and the intercept, for the
        # variable that a swap adds before it drops one, and one in reserve (SPARE_PLACES).
        self.workspace = make_hinge(
            problem.columns,
            capacity=max_variables + SPARE_PLACES + problem.n_unpenalized,
            n_unpenalized=problem.n_unpenalized,  # 1 with an intercept, else 0
            nonnegative=problem.nonnegative,  # columns whose weight must not be negative
            relatives=problem.relatives,  # pairs of strongly correlated columns, for the swaps
            seed=seed,
        )

        # The best rules of 0 … max_variables + 1 variables: one size more than wanted, as a swap
        # adds a variable before it drops one.
        largest_size = max_variables + 1
        self.best = make_best_rules(largest_size, problem.n_unpenalized, problem.n_samples)

        # The variables with which visits have ended, so that later visits may start from them. A
        # key is (number of variables k, `trim_share` of the visit).
        self.last_variables: dict[tuple[int, float], NDArray[np.int64]] = {}
        self.n_swaps = 0  # granted to visits so far

    def run(self, budget: int) -> Iterator[int]:
        """Search until `budget` swaps are granted; the best rules found are in `self.best`.

        First rules are tried on no variable, on one, along greedy paths, and on promising pairs.
        Then up to MAX_WALKS walks improve these rules. A walk visits all sizes (numbers of
        variables) again and again, and swaps variables at each; the walks share the budget equally.

        Every rule that is tried is stored in `self.best` if it is the best of its size so far.

        Yields the number of swaps granted so far, as a chance to interrupt.
        """
        self._set_majority_rule()
        if self.max_variables == 0:
            return

        # The rules that the walks start from.
        self._try_singles()
        yield 0
        self._grow(trim_share=0.0)
        self._grow(trim_share=1.0)
        yield 0
        if self.max_variables >= 2 and budget > 0:
            self._try_pairs()
        yield 0

        # A walk improves `self.best` in place. All walks but the last start from the same rules,
        # so `self.best` is set back before each; the best rules that walks find are kept apart.
        first_rules = deepcopy(self.best)
        best_of_walks = deepcopy(self.best)
        n_walks = max(1, min(MAX_WALKS, budget // MIN_SWAPS_PER_WALK))
        for walk_number in range(1, n_walks):
            self._restart_from(first_rules, best_of_walks)
            # Of n walks the first ends at 1/n of the budget, the second at 2/n, and so on.
            n_swaps_at_end = walk_number * budget // n_walks
            yield from self._walk_until(n_swaps_at_end)

            has_fewer_errors = self.best.errors < best_of_walks.errors  # a mask over the sizes
            best_of_walks.take_where(has_fewer_errors, self.best)

        # The last walk starts from the best rules of all walks, so that `self.best` is the result.
        self._restart_from(best_of_walks, best_of_walks)
        yield from self._walk_until(budget)

    def _restart_from(self, start_rules: BestRules, best_of_walks: BestRules) -> None:
        """Set `self.best` to the rules that a walk starts from, and forget former visits.

        Sizes at which `best_of_walks` has a rule without errors are not set back: there is nothing
        to find.
        """
        has_errors_left = best_of_walks.errors > 0  # a mask over the sizes
        self.best.take_where(has_errors_left, start_rules)
        self.last_variables.clear()

    def points(self, problem: Problem, pool: NDArray[np.int64] | None) -> list[FrontPoint]:
        """Return the points of the front, k = 0, 1, … variables, up to the first without errors.

        Point k has the best rule of at most k variables. Its errors are counted exactly, on the
        rule in units of X. The search has counted errors with a tolerance (`self.best.errors`).

        problem : the whole table.
        pool : indices of its columns that were searched; None if all were.
        """
        best_rule = self._rule(0, problem, pool)
        points = [FrontPoint(k=0, errors=best_rule.errors, rule=best_rule)]
        for k in range(1, self.max_variables + 1):
            if best_rule.errors == 0:
                break
            # If k variables are not better than fewer, point k has the rule of fewer variables.
            errors_with_tolerance = self.best.errors[k]
            is_promising = errors_with_tolerance < best_rule.errors
            if is_promising:
                rule = self._rule(k, problem, pool)
                if rule.errors < best_rule.errors:
                    best_rule = rule
            points.append(FrontPoint(k=k, errors=best_rule.errors, rule=best_rule))
        return points

    def _rule(self, k: int, problem: Problem, pool: NDArray[np.int64] | None) -> Rule:
        """The best rule of k variables, on the columns of the whole table."""
        candidate = self.best.candidate(k, problem.n_unpenalized, self.n_swaps)
        support = candidate.support
        if pool is not None:
            support = pool[support]
        return widest_rule(problem, support, candidate.weights, candidate.constant)

    def _set_majority_rule(self) -> None:
        """Enter the best rule without variables: the intercept alone, or nothing."""
        rule = majority_rule(self.problem)
        self.best.errors[0] = rule.errors
        self.best.supports[0, 0] = self.problem.n_features  # the column of the intercept
        self.best.weights[0, 0] = rule.constant

    def _try_singles(self) -> None:
        """Enter the best rules on one variable, as the line searches found them."""
        rules = search_singles(self.problem, self.workspace.state.random)
        for column in np.argsort(rules.errors, kind="stable")[:SINGLES_TRIED]:
            weights = rules.weights[[column]]
            if self.problem.intercept:
                weights = np.append(rules.constants[column], weights)
            self._set_variables(np.array([column]), weights)
            try_change(self.workspace, self.best, max_newton=NO_NEWTON_STEPS)

    def _try_pairs(self) -> None:
        """Try promising pairs of variables, with both kinds of loss."""
        for pair in screen_pairs(self.problem, PAIRS_TRIED):
            self._set_variables(pair)
            self._fit(2, trim_share=0.0)
            self._fit(2, trim_share=1.0)

    def _grow(self, trim_share: float) -> None:
        """Add the column of largest screening score, from nothing, as long as there is room.

        `best` has one size more than `max_variables`. Fits trim `trim_share` of one error fewer
        than the best rule of the size makes.
        """
        self._set_variables(np.zeros(0, dtype=np.int64))
        self._fit(0, trim_share)
        for k in range(1, self.max_variables + 2):
            scores = screening_scores(self.workspace)
            # Scores of columns that cannot enter are −1.
            if scores.max() < 0:
                return
            self._fit(k, trim_share, add=int(scores.argmax()))

    def _walk_until(self, n_swaps_at_end: int) -> Iterator[int]:
        """Visit every size in turn, up and down, until `n_swaps_at_end` swaps are granted in all.

        The size is the number of variables. A round visits all sizes once, with visits of one kind:
        where they start, and how their fits trim samples. The next round has the next kind.

        n_swaps_at_end : includes the swaps of earlier walks.

        Yields the number of swaps granted so far after every visit.
        """
        for round_number in count():
            # Even rounds go from small to large sizes, odd ones back.
            visit = VISITS[round_number % len(VISITS)]
            sizes = self._sizes_to_visit()
            if round_number % 2 == 1:
                sizes.reverse()

            swaps_before_round = self.n_swaps
            for k in sizes:
                n_swaps_to_grant = n_swaps_at_end - self.n_swaps
                if n_swaps_to_grant > 0:
                    self._swap_at_size(k, visit, min(SWAPS_PER_VISIT, n_swaps_to_grant))
                    yield self.n_swaps
            # If no visit took swaps, further rounds will not either: the budget is spent, no size
            # has anything to win, or no size has a support to start from.
            if self.n_swaps == swaps_before_round:
                return

    def _sizes_to_visit(self) -> list[int]:
        """Numbers k of variables with which fewer errors than known may be found, ascending.

        A size has nothing to win where k − 1 variables make no errors already: `best.errors[k − 1]`
        is 0. All single variables were tried before the walk, so that k begins with 2.
        """
        sizes = []
        for k in range(2, self.max_variables + 1):
            errors_with_one_less = self.best.errors[k - 1]
            if errors_with_one_less > 0:
                sizes.append(k)
        return sizes

    def _swap_at_size(self, k: int, visit: Visit, max_swaps: int) -> None:
        """Visit size k: swap variables in supports of k variables, and store the best rules.

        A swap adds one variable and removes another; after each of these changes the weights are
        fitted. Every rule that is better than the best of its size in `self.best` replaces it. If
        nothing can be swapped, because there is no support of k variables to start from, the visit
        ends at once and counts no swaps.

        visit : where the swaps start, and how many samples the fits trim (leave out as errors).
        max_swaps : number of swaps granted. All of them are added to `self.n_swaps`, even if the
            swaps end early.
        """
        workspace = self.workspace
        # Swaps make columns tabu until a later swap, by number. At the beginning of a visit swaps
        # are numbered anew, and no column is tabu.
        workspace.state.tabu_until[:] = 0
        workspace.state.iteration[0] = 0

        # A rule that makes at most `descent_gap` errors more than the best rule of k variables is
        # improved by a descent on its errors. This number depends on the errors of the best rule
        # before the visit. So it is computed first: loading the start tries rules, and may find a
        # better one.
        descent_gap = self._descent_gap(k, visit)

        # Load the support to start from.
        self._load_start(k, visit)

        # The support has fewer than k variables if no column could be added. Then there is nothing
        # to swap. With prescribed signs it may also be too small because columns have left it,
        # whose weights would get a forbidden sign; then the swaps fill it up again.
        can_swap = workspace.n_selected == k or self.problem.signs is not None
        if not can_swap:
            return

        # Fit the start itself, then swap. The number of samples to trim depends on the errors of
        # the best rule as it is now, after the start is loaded.
        n_trimmed = self._errors_to_trim(k, visit.trim_share)
        try_change(workspace, self.best, n_trimmed=n_trimmed, descent_gap=descent_gap)
        swap_for_errors(
            workspace,
            self.best,
            size=k + self.problem.n_unpenalized,
            max_swaps=max_swaps,
            n_trimmed_at_first=n_trimmed,
            trim_share=visit.trim_share,
            descent_gap=descent_gap,
        )
        self.n_swaps += max_swaps

        # Remember the variables: a later visit with the same `trim_share` may start from them.
        variables = workspace.support[self.problem.n_unpenalized :].copy()
        self.last_variables[k, visit.trim_share] = variables

    def _descent_gap(self, k: int, visit: Visit) -> int:
        """How many errors more than the best of k variables a rule may make and still descend.

        With fewer samples trimmed the loss is smoother, but farther from the number of errors. So
        more rules are worth a descent on the errors.
        """
        if visit.trim_share < 1.0:
            return DESCENT_GAP + int(self.best.errors[k]) // SMOOTH_GAP_DIVISOR
        return DESCENT_GAP

    def _load_start(self, k: int, visit: Visit) -> None:
        """Load the support of k variables where a visit begins.

        That is the best rule of k variables, the variables at the end of an earlier visit, or the
        best rule of one variable fewer or more, to which one is added or of which one is dropped;
        `_choose_start` says which.
        """
        start = self._choose_start(k, visit)
        if start is VisitStart.LAST_END:
            self._set_variables(self.last_variables[k, visit.trim_share])
        elif start is VisitStart.BELOW:
            self._add_best_variable(k - 1)
        elif start is VisitStart.ABOVE:
            self._drop_best_variable(k + 1)
        else:
            self._load_best(k)

    def _choose_start(self, k: int, visit: Visit) -> VisitStart:
        """Choose where a visit to k variables begins: at `visit.start`, if that is possible.

        The starts, in the order in which they replace each other, are

            LAST_END   the variables with which the last visit of the same `trim_share` ended; it is
                       replaced by BEST if there was no such visit
            ABOVE      the best rule of k + 1 variables, without one of them; it is replaced by BEST
                       if there is no such rule
            BEST       the best rule of k variables
            BELOW      the best rule of k − 1 variables (or fewer), and one variable more; this is
                       always possible

        If no rule of k variables is known, or none that is better than the best of k − 1, neither
        BEST nor ABOVE is worth a visit: BELOW replaces both.
        """
        # A start that does not exist.
        start = visit.start
        has_last_end = (k, visit.trim_share) in self.last_variables
        if start is VisitStart.LAST_END and not has_last_end:
            start = VisitStart.BEST
        if start is VisitStart.ABOVE and not self._has_rule(k + 1):
            start = VisitStart.BEST

        # A start that is not worth a visit.
        is_better_than_fewer = self.best.errors[k] < self.best.errors[k - 1]
        has_good_rule = self._has_rule(k) and is_better_than_fewer
        if start in (VisitStart.BEST, VisitStart.ABOVE) and not has_good_rule:
            start = VisitStart.BELOW
        return start

    def _has_rule(self, k: int) -> bool:
        """Whether a rule of k variables is known: else the first column of its support is −1."""
        return bool(self.best.supports[k, 0] >= 0)

    def _set_variables(self, variables: NDArray[np.int64], weights: Floats | float = 0.0) -> None:
        """Load the support of these variables, (k,), and of the intercept, if there is one.

        `weights` are one for all, or (k [+ 1],), that of the intercept first.
        """
        n_features = self.problem.n_features
        intercept = np.arange(n_features, n_features + self.problem.n_unpenalized)
        set_support(self.workspace, np.concatenate([intercept, variables]), weights)

    def _load_best(self, k: int) -> None:
        """Load the best rule of k variables; or of fewer, if signs left no rule of k variables.

        The rule without variables always exists.
        """
        while not self._has_rule(k):
            k -= 1
        size = k + self.problem.n_unpenalized
        set_support(self.workspace, self.best.supports[k, :size], self.best.weights[k, :size])

    def _errors_to_trim(self, k: int, trim_share: float) -> int:
        """This share of one error fewer than the best rule of k variables makes."""
        return int(trim_share * max(int(self.best.errors[k]) - 1, 0))

    def _fit(self, k: int, trim_share: float = 1.0, add: int = -1, drop: int = -1) -> int:
        """Change the support, fit it for fewer errors than the best of k variables, and note it.

        `add` is a column and `drop` a place in the support; −1: none. Returns the errors.
        """
        return try_change(
            self.workspace,
            self.best,
            add=add,
            drop=drop,
            n_trimmed=self._errors_to_trim(k, trim_share),
            descent_gap=DESCENT_GAP,
        )

    def _change_without_fit(self, add: int = -1, drop: int = -1) -> None:
        """Take a column in, or out by its place in the support; weights are not fitted again."""
        try_change(
            self.workspace,
            self.best,
            add=add,
            drop=drop,
            max_newton=NO_NEWTON_STEPS,
            descent_gap=NO_DESCENT,
        )

    def _drop_best_variable(self, k: int) -> None:
        """Drop the variable that the best rule of k variables can do without at fewest errors.

        Each variable is dropped on trial, and the others are fitted. At the end the k − 1 variables
        that win are loaded without a fit, which the visit makes.
        """
        first_place = self.problem.n_unpenalized
        errors = []
        for place in range(first_place, first_place + k):
            self._load_best(k)  # the trial before has changed the support
            errors.append(self._fit(k - 1, drop=place))

        self._load_best(k)
        self._change_without_fit(drop=first_place + int(np.argmin(errors)))

    def _add_best_variable(self, k: int) -> None:
        """Load the best rule of k variables, and add the variable that leaves the fewest errors.

        The most promising columns are tried, each with a fit, which changes the support of the
        workspace. At the end the workspace has the k variables of the best rule and the column that
        won. Their weights are not fitted again: the visit that starts from them does so. If no
        column can be added, the workspace has the k variables alone.
        """
        columns = self._promising_additions(k)
        errors_with_column = [self._errors_with(column, k) for column in columns]

        # The trials have changed the support, so load the best rule of k variables again.
        self._load_best(k)
        if columns.size == 0:
            return
        best_column = int(columns[np.argmin(errors_with_column)])

        # The fits of the trials may have improved the rule that is loaded: then it may contain the
        # best column already.
        if not self._is_in_support(best_column):
            self._change_without_fit(add=best_column)

    def _errors_with(self, column: int, k: int) -> int:
        """Load the best rule of k variables, add a column, fit, and return the errors.

        More errors than there can be if the rule has that column already: trials of other columns
        may have improved it.
        """
        self._load_best(k)
        if self._is_in_support(column):
            return self.problem.n_samples + 1
        return self._fit(k + 1, add=int(column))

    def _promising_additions(self, k: int) -> NDArray[np.int64]:
        """The columns of largest screening score after a fit of the best rule of k variables.

        One that left the support during the fit, for its sign, may be among them. Columns that
        cannot enter have score −1.
        """
        self._load_best(k)
        self._fit(k + 1)
        scores = screening_scores(self.workspace)
        n_tried = min(ADDITIONS_TRIED, int(np.count_nonzero(scores >= 0)))
        return np.argsort(-scores, kind="stable")[:n_tried]

    def _is_in_support(self, column: int) -> bool:
        """Whether the workspace has this column in its present support."""
        return bool(self.workspace.state.position[column] >= 0)
