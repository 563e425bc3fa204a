"""Method `auto`, the best there is.

A greedy support, all singles and pairs, message passing where many variables are needed, and swaps.
Where errors are allowed, `with_errors` searches.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from chanceline.perceptron.blocks import column_blocks
from chanceline.perceptron.margin import INSEPARABLE, largest_margin
from chanceline.perceptron.problem import Problem
from chanceline.perceptron.workspace import Hinge
from chanceline.select.amp import SLOWLY_FROM, shrink_by_message_passing
from chanceline.select.column_pool import (
    MIN_POOLED_ENTRIES,
    Ranking,
    events_of_pool,
    pool_width,
    pooled_problem,
    rank_columns,
)
from chanceline.select.front_search import search_fewest_errors
from chanceline.select.greedy import fit_greedily
from chanceline.select.l1 import l1_candidate
from chanceline.select.outcome import Candidate, Event, LowerBound
from chanceline.select.pairs import MAX_PAIRS
from chanceline.select.singles import single_errors
from chanceline.select.small_supports import sweep_small_supports
from chanceline.select.starts import candidate_of, start_from
from chanceline.select.tabu import Patience, default_swaps, swap_down, swap_work
from chanceline.select.with_errors import search_with_errors

MIN_POOLED_ENTRIES_IF_TALL = 20_000_000  # of X: below, all columns of a tall table are searched
MESSAGE_PASSING_FROM = 20  # variables; with fewer, swaps get as far
FAILURES_ALLOWED = 2  # of message passing, before it ends
FAILURES_ALLOWED_SLOWLY = 3  # the same where it goes at a slow pace
PATIENCE = 0.5  # share of the default budget without success after which swaps end
PATIENCE_ABOVE_WANTED = 0.125  # the same for a size that is larger than what would be of use

# What swaps may cost beyond the processor's cache.
CACHED_ENTRIES = 2_000_000  # of the columns that fit into it
UNCACHED_COST = 6.0  # multiplications that an entry costs which has to come from memory
MAX_UNCACHED_WORK = 1.1e12  # multiplications, a minute
MIN_UNCACHED_SWAPS = 200

# What a sweep of all pairs may cost, compared with the swaps.
PAIRS_PER_SWAP = 2_000  # take as long as one swap
MIN_SWAPS_FOR_PAIRS = 500  # whose time the pairs may take in any case


class AutoSettings(NamedTuple):
    """What the user has asked for.

    Attributes
    ----------
    budget : swaps; by default as many as the table is worth.
    seed : of the random numbers.
    max_errors : that a rule may make.
    wanted : the largest number of variables that would be of use; None: the fewer, the better.
    """

    budget: int | None
    seed: int
    max_errors: int
    wanted: int | None = None


def run_auto(  # noqa: PLR0913
    problem: Problem,
    budget: int | None,
    seed: int,
    errors: int = 0,
    pool: int | None = None,
    wanted: int | None = None,
) -> Iterator[Event]:
    """Method `auto`: search all columns, or in a very large table the most promising ones.

    The selection of promising columns is called a pool.

    Parameters
    ----------
    budget : largest number of swaps; None for as many as the table is worth. Message passing and
        sweeps have a fixed effort.
    seed : of the random numbers.
    errors : number of errors that a rule may make.
    pool : number of columns of the pool; it is doubled if no rule in the pool makes few enough
        errors. By default only large tables have a pool, and only if it is less than half as wide
        as the table.
    wanted : the largest number of variables that would be of use to the user; None: the fewer, the
        better. Larger supports are searched with less patience, so that a search which stays far
        above this number ends soon.
    """
    settings = AutoSettings(budget=budget, seed=seed, max_errors=errors, wanted=wanted)

    # By default tables with fewer than `min_entries` entries have no pool.
    min_entries = MIN_POOLED_ENTRIES
    if is_tall(problem):
        min_entries = MIN_POOLED_ENTRIES_IF_TALL

    # The number of columns of the pool: by default several for each variable that a rule would need
    # if the labels were noise.
    n_variables_for_noise = variables_needed(problem)
    width = pool_width(problem, pool, n_variables_for_noise, min_entries)
    if width is None:  # no pool
        yield from search_all(problem, settings)
        return

    # Rank the columns: first those that a greedy search adds one after the other, then those that
    # make the fewest errors by themselves, then all others. A pool is the beginning of the ranking.
    errors_of_singles = single_errors(problem)
    max_greedy_steps = problem.n_samples
    ranking = rank_columns(problem, max_greedy_steps, errors_of_singles)
    yield from search_pools(problem, ranking, width, settings)


def is_tall(problem: Problem) -> bool:
    """Whether there are so many samples that even all columns cannot separate random labels.

    By Cover's theorem this is so for more than two samples for each column.
    """
    return problem.n_samples > 2 * problem.n_features


def variables_needed(problem: Problem) -> int:
    """Return the number of variables that a rule may need if the labels are noise.

    By Cover's theorem half as many variables as samples separate random labels with probability ½,
    whichever they are. In a tall table noise cannot be separated at all; what can be separated
    there has structure and needs few variables: 0 is returned.
    """
    if is_tall(problem):
        return 0
    return problem.n_samples // 2


def search_pools(
    problem: Problem, ranking: Ranking, width: int, settings: AutoSettings
) -> Iterator[Event]:
    """Search a pool, the first columns of a ranking, and larger pools as long as nothing suffices.

    A pool suffices if a rule on its columns makes few enough errors. The first pool has `width`
    columns, each next one twice as many, and the last search is that of all columns. If a larger
    pool cannot help, only the first one is searched, and the result is the rule of fewest errors.

    Yields the events of all these searches: candidates and numbers of iterations; lower bounds only
    of the search of all columns, as what is proven for a pool is not proven for the whole table.

    ranking : all columns, the most promising first.
    width : number of columns of the first pool.
    """
    larger_pools_may_help = can_grow(problem, ranking, settings.max_errors)
    while width < problem.n_features:
        pool = ranking.pool(width)
        if not larger_pools_may_help:
            yield from search_pool(problem, pool, settings)
            return

        pool_suffices = yield from _search_pool_or_give_up(problem, pool, settings)
        if pool_suffices:
            return
        # A pool may have more than `width` columns, because it contains a greedy path that
        # separates as a whole.
        width = 2 * pool.size
    yield from search_all(problem, settings)


def _search_pool_or_give_up(
    problem: Problem, pool: NDArray[np.int64], settings: AutoSettings
) -> Generator[Event, None, bool]:
    """Search the columns `pool`, and yield the events; return whether the pool suffices.

    With `gives_up` a search yields no candidate at all if no rule makes few enough errors. So any
    candidate means that the pool suffices.
    """
    pool_suffices = False
    for event in search_pool(problem, pool, settings, gives_up=True):
        if isinstance(event, Candidate):
            pool_suffices = True
        yield event
    return pool_suffices


def search_pool(
    problem: Problem, pool: NDArray[np.int64], settings: AutoSettings, *, gives_up: bool = False
) -> Iterator[Event]:
    """Search the columns `pool`; the events yielded name columns of the whole table.

    gives_up : if nothing suffices, yield no candidate at all instead of the best rule found.
    """
    events = search_all(pooled_problem(problem, pool), settings, gives_up=gives_up)
    return events_of_pool(events, pool)


def can_grow(problem: Problem, ranking: Ranking, max_errors: int) -> bool:
    """Whether a larger pool may suffice where a smaller one does not.

    ranking : all columns, beginning with those of a greedy path.
    max_errors : number of errors that a rule may make.
    """
    if ranking.separates:
        return True
    if ranking.path_length == problem.n_features:
        return False  # the path contains all columns and does not separate
    # With errors or signs it is not known whether all columns suffice; otherwise it is computed.
    if max_errors > 0 or problem.signs is not None:
        return True
    return all_columns_separate(problem)


def all_columns_separate(problem: Problem) -> bool:
    """Whether all columns together separate, with weights of any sign.

    True also if rounding leaves this undecided: then a larger pool is worth a try.

    Separability depends only on the dot products of the P samples with each other, their Gram
    matrix G, (P, P). If G = V D Vᵀ with orthogonal V and diagonal D, the P rows of V √D have the
    same dot products as the samples, but only P columns. So these rows are tested, and no scaled
    copy of the large table is needed.
    """
    # G, summed over blocks of columns, so that only one block is scaled at a time. The rows of
    # `problem` are samples times their labels y = ±1. So the column of the intercept, a constant 1,
    # has become y. It is left out of every block and added once, at the end.
    n_samples = problem.n_samples
    gram = np.zeros((n_samples, n_samples))
    for block in column_blocks(problem.X):
        columns = np.arange(block.start, block.stop)
        rows_with_intercept = problem.rows(columns)  # (P, columns [+ 1]), the intercept is last
        rows = rows_with_intercept[:, : columns.size]
        gram += rows @ rows.T
    if problem.intercept:
        gram += np.outer(problem.y, problem.y)

    # The rows of V √D. Rounding may make an eigenvalue slightly negative instead of zero.
    eigenvalues, eigenvectors = np.linalg.eigh(gram)
    rotated_rows = eigenvectors * np.sqrt(np.maximum(eigenvalues, 0.0))
    margin = largest_margin(rotated_rows, early=True)  # any separating weights will do
    return margin.verdict != INSEPARABLE


def search_all(
    problem: Problem, settings: AutoSettings, *, gives_up: bool = False
) -> Iterator[Event]:
    """Search all columns of the problem.

    gives_up : if nothing suffices, yield no candidate at all instead of the best rule found.
    """
    if settings.max_errors:
        yield from search_with_errors(
            problem, settings.budget, settings.seed, settings.max_errors, gives_up=gives_up
        )
    else:
        yield from search_separating(problem, settings, gives_up=gives_up)


def search_separating(
    problem: Problem, settings: AutoSettings, *, gives_up: bool = False
) -> Iterator[Event]:
    """Search for few variables that separate all samples.

    1. Start from a support that separates.
    2. Try one and two variables exhaustively, if that takes no longer than the swaps.
    3. If many variables are needed, reduce their number by message passing, which estimates the
       probability that each weight is nonzero.
    4. Reduce it further by swaps of one variable for another.

    gives_up : if nothing separates, yield no candidate at all instead of the best rule found.
    """
    # Step 1. If nothing separates, search for the fewest errors instead.
    start = find_start(problem)
    if not start.separates:
        if not gives_up:
            yield from _search_inseparable(problem, settings, start)
        return
    yield start.candidate

    # Step 2. `best_so_far.remember` passes all events on, and keeps the last candidate and the last
    # lower bound among them. So after each step `best_so_far.candidate` is the best candidate.
    best_so_far = _BestSoFar(start.candidate)
    max_pairs = affordable_pairs(problem, best_so_far.size(), settings.budget)
    sweep_events = sweep_small_supports(problem, start.candidate, max_pairs)
    yield from best_so_far.remember(sweep_events)
    if best_so_far.is_minimal():
        return

    # Step 3. Message passing changes the support of its workspace. So the swaps get a new workspace
    # with the best support so far.
    workspace = start.workspace
    if best_so_far.size() >= MESSAGE_PASSING_FROM:
        message_events = pass_messages(
            start.workspace,
            best_so_far.size(),
            settings.seed,
            earlier_iterations=start.n_greedy_steps,
        )
        yield from best_so_far.remember(message_events)
        workspace, _separates = start_from(problem, best_so_far.candidate)

    # Step 4. The swaps end when the size is proven to be the minimum.
    swap_events = swap_from(problem, workspace, best_so_far.candidate, settings)
    for event in best_so_far.remember(swap_events):
        yield event
        if best_so_far.is_minimal():
            return


def _search_inseparable(
    problem: Problem, settings: AutoSettings, start: SeparatingStart
) -> Iterator[Event]:
    """Search for the rule of fewest errors, where nothing separates.

    The greedy search has ended with a poor rule, that of `start`, which is yielded first.
    """
    yield start.candidate
    yield from search_fewest_errors(
        problem, settings.budget, settings.seed, earlier_iterations=start.n_greedy_steps
    )


class SeparatingStart(NamedTuple):
    """The support that `search_separating` starts from.

    Attributes
    ----------
    candidate : the rule on it.
    workspace : a fit on the same support (a `Hinge`).
    separates : whether it does; else nothing does.
    n_greedy_steps : variables that the greedy search has added. These are the iterations spent,
        whichever search the candidate is from.
    """

    candidate: Candidate
    workspace: Hinge
    separates: bool
    n_greedy_steps: int


def find_start(problem: Problem) -> SeparatingStart:
    """Find a support that separates: greedily, or else by a linear program.

    The greedy search may fail although some support separates; the linear program never does. If
    nothing separates, the support at which the greedy search ended is returned.
    """
    greedy_workspace, greedy_separates = fit_greedily(problem)
    n_greedy_steps = greedy_workspace.n_selected
    greedy_start = SeparatingStart(
        candidate=candidate_of(greedy_workspace, n_greedy_steps),
        workspace=greedy_workspace,
        separates=greedy_separates,
        n_greedy_steps=n_greedy_steps,
    )
    if greedy_separates:
        return greedy_start

    # The weights of smallest L1 norm, by a linear program; None if nothing separates.
    l1_start = l1_candidate(problem)
    if l1_start is None:
        return greedy_start
    # It does not matter whether the refit in the workspace separates, because the weights of the
    # linear program do.
    l1_workspace, _refit_separates = start_from(problem, l1_start)
    return SeparatingStart(
        candidate=l1_start,
        workspace=l1_workspace,
        separates=True,
        n_greedy_steps=n_greedy_steps,
    )


class _BestSoFar:
    """The last candidate of a search, and the smallest size that is not refuted."""

    def __init__(self, candidate: Candidate) -> None:
        """Start from a candidate, with nothing proven: at least one variable is needed."""
        self.candidate = candidate
        self.lower_bound = 1

    def size(self) -> int:
        """Number of variables of the candidate."""
        return int(self.candidate.support.size)

    def is_minimal(self) -> bool:
        """Whether it is proven that fewer variables do not suffice."""
        return self.size() <= self.lower_bound

    def remember(self, events: Iterator[Event]) -> Iterator[Event]:
        """Pass events on, and keep the last candidate and the last proof among them.

        Each event is kept at the moment it is passed on, so the result must be iterated over.
        """
        for event in events:
            if isinstance(event, Candidate):
                self.candidate = event
            elif isinstance(event, LowerBound):
                self.lower_bound = event.smallest
            yield event


def pass_messages(
    workspace: Hinge, n_selected: int, seed: int, earlier_iterations: int
) -> Iterator[Candidate | int]:
    """Search for fewer than `n_selected` variables by message passing.

    In tables of many samples message passing goes slowly, and more failures are allowed before it
    ends.

    workspace : table, support and weights (a `Hinge`); its support is changed.
    earlier_iterations : those of searches before this one.
    """
    max_failures = FAILURES_ALLOWED
    if workspace.state.margins.size >= SLOWLY_FROM:
        max_failures = FAILURES_ALLOWED_SLOWLY
    return shrink_by_message_passing(workspace, n_selected, seed, max_failures, earlier_iterations)


def swap_from(
    problem: Problem, workspace: Hinge, start: Candidate, settings: AutoSettings
) -> Iterator[Candidate | int]:
    """Search for fewer variables by swaps, from a candidate.

    If the user has set a budget it is used up; with the default one the search ends early if it has
    no success for long.

    workspace : a fit on the candidate's support (a `Hinge`).
    start : the candidate.
    """
    budget = settings.budget
    patience = Patience()
    if budget is None:
        budget = affordable_swaps(problem, start.support.size)
        patience = Patience(PATIENCE, PATIENCE_ABOVE_WANTED, settings.wanted)
    return swap_down(
        workspace, budget, settings.seed, earlier_iterations=start.iterations, patience=patience
    )


def affordable_swaps(problem: Problem, n_variables: int) -> int:
    """Return the default number of swaps, from a start of so many variables.

    If the columns do not fit into the processor's cache, no more than about a minute's worth.
    """
    n_columns, n_samples = problem.columns.shape
    n_swaps = default_swaps(problem, n_variables)
    n_entries = n_columns * n_samples
    if n_entries <= CACHED_ENTRIES:
        return n_swaps
    work_per_swap = swap_work(n_columns, n_samples, n_variables) + UNCACHED_COST * n_entries
    n_in_a_minute = int(MAX_UNCACHED_WORK / work_per_swap)
    return min(n_swaps, max(MIN_UNCACHED_SWAPS, n_in_a_minute))


def affordable_pairs(problem: Problem, n_variables: int, budget: int | None) -> int:
    """Return how many pairs may be tried: as many as take no longer than the swaps.

    budget : number of swaps; None for the default from a start of `n_variables`. Pairs may take the
        time of MIN_SWAPS_FOR_PAIRS swaps in any case.
    """
    n_swaps = budget
    if n_swaps is None:
        n_swaps = affordable_swaps(problem, n_variables)
    return min(MAX_PAIRS, PAIRS_PER_SWAP * max(n_swaps, MIN_SWAPS_FOR_PAIRS))
