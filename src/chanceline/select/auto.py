"""The best there is: OMP, all singles and pairs, message passing where many variables are needed, and swaps.

With at most e errors: swaps on the hinge that forgives e, one variable fewer at every success.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from chanceline.errors import whole_number
from chanceline.perceptron.blocks import BLOCK_ENTRIES
from chanceline.perceptron.hinge import Hinge, make_hinge, set_support
from chanceline.perceptron.hinge_fit import screening_scores
from chanceline.perceptron.margin import INSEPARABLE, largest_margin
from chanceline.perceptron.problem import Problem
from chanceline.perceptron.rule import Rule
from chanceline.select.amp import SLOWLY_FROM, pass_down
from chanceline.select.l1 import l1_candidate
from chanceline.select.outcome import Candidate, LowerBound, candidate_rule, fitted
from chanceline.select.pairs import (
    PAIRS_AT_MOST,
    PairFound,
    all_singles,
    errors_alone,
    promising_pairs,
    separating_pairs,
    separating_single,
    single_rule,
)
from chanceline.select.pareto import (
    PAIRS_TRIED,
    WIDE,
    Ranking,
    fewest_found,
    from_pool,
    is_wide,
    majority,
    pool_size,
    pooled,
    rank_columns,
)
from chanceline.select.swaps import (
    Best,
    candidate,
    cheapest,
    default_budget,
    fit_and_note,
    fit_greedily,
    make_best,
    start_from,
    step_cost,
    swap_down,
    try_out,
)

PASS_FROM = 20  # variables from which message passing pays
CACHED_ENTRIES = 2_000_000
TALL = 20_000_000  # entries of a table with more than twice as many samples as columns, above which a pool stands for all
UNCACHED = 6.0  # times as much does an entry cost that has to come from memory
MOST_WORK = 1.1e12  # of swaps beyond the cache, in multiplications
PATIENCE = 0.5  # of the default budget without success
PAIRS_A_SWAP = 2_000  # pairs that take as long as one swap
FEWEST_SWAPS = 500  # whose time the pairs may take in any case
CHUNK = 500  # swaps between two looks at the keyboard
PHASE = 10_000  # swaps with and without noise in whom to forgive, in turn
FORGIVING_NOISE = 0.3
WORK = 3.6e10  # of the default budget with errors at 128 × 128, in multiplications


def run_auto(
    problem: Problem, budget: int | None, seed: int, errors: int = 0, pool: int | None = None
) -> Iterator[Candidate | LowerBound | int]:
    """Method `auto`: the budget counts swaps; message passing and sweeps have their own fixed effort.

    In a large table a `pool` of so many columns stands for all, and one twice as large if nothing in it suffices. By default
    it is used where it is less than half of a table of more than six million entries, and has several columns for every
    variable that noise could need.
    """
    if pool is not None:
        width = whole_number(pool, "The pool, a number of columns,", at_least=1)
        is_pooled = width < problem.n_features
    else:
        width = pool_size(problem, variables_needed(problem))
        is_pooled = is_wide(problem, width, TALL if is_tall(problem) else WIDE)
    if not is_pooled:
        yield from search_all(problem, budget, seed, errors)
        return
    ranking = rank_columns(problem, problem.n_samples, errors_alone(problem))
    yield from search_pools(problem, ranking, width, budget, seed, errors)


def search_pools(
    problem: Problem, ranking: Ranking, width: int, budget: int | None, seed: int, errors: int
) -> Iterator[Candidate | LowerBound | int]:
    """`auto` on the first so many columns of a ranking; on twice as many if nothing there suffices, and so on to all."""
    may_grow = can_grow(problem, ranking, errors)
    while width < problem.n_features:
        columns = ranking.pool(width)
        suffices = False
        part = search_all(pooled(problem, columns), budget, seed, errors, gives_up=may_grow)
        for event in from_pool(part, columns):
            suffices = suffices or isinstance(event, Candidate)
            yield event
        if suffices or not may_grow:
            return
        width = 2 * columns.size
    yield from search_all(problem, budget, seed, errors)


def is_tall(problem: Problem) -> bool:
    """Whether there are so many samples that all columns together cannot separate noise (Cover)."""
    return problem.n_samples > 2 * problem.n_features


def variables_needed(problem: Problem) -> int:
    """Variables that noise may need: half as many as samples separate it as often as not, whichever they are (Cover).

    In a tall table noise is not separated at all; what can be separated there has structure, and needs few.
    """
    return 0 if is_tall(problem) else problem.n_samples // 2


def can_grow(problem: Problem, ranking: Ranking, errors: int) -> bool:
    """Whether a larger pool may suffice where a smaller one does not."""
    if ranking.path == problem.n_features and not ranking.separates:
        return False  # the path has taken all columns in vain
    if ranking.separates or errors > 0 or problem.signs is not None:
        return True
    return all_columns_separate(problem)


def all_columns_separate(problem: Problem) -> bool:
    """Whether all columns together separate, without a copy of the table: by the products of the samples with each other.

    With the Gram matrix G = V D Vᵀ the rows of V √D have the same lengths and angles as the samples, in P columns.
    """
    patterns = problem.n_samples
    gram = np.zeros((patterns, patterns))
    width = max(1, BLOCK_ENTRIES // patterns)
    for start in range(0, problem.n_features, width):
        block = np.arange(start, min(start + width, problem.n_features))
        # Without the intercept, which is added once.
        rows = problem.rows(block)[:, : block.size]
        gram += rows @ rows.T
    if problem.intercept:
        gram += np.outer(problem.y, problem.y)
    squares, directions = np.linalg.eigh(gram)
    return (
        largest_margin(directions * np.sqrt(np.maximum(squares, 0.0)), early=True).verdict
        != INSEPARABLE
    )


def search_all(
    problem: Problem, budget: int | None, seed: int, errors: int, gives_up: bool = False
) -> Iterator[Candidate | LowerBound | int]:
    """`auto` on all columns of the problem; one that gives up yields no candidate where nothing suffices."""
    if errors:
        yield from run_with_errors(problem, budget, seed, errors, gives_up)
        return
    hinge, spent, separable = fit_greedily(problem)
    best = candidate(hinge, spent)
    if not separable:
        relaxed = l1_candidate(problem)
        if relaxed is None and gives_up:
            return
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
    for event in swap_down(
        hinge, steps, seed, best.iterations, PATIENCE if budget is None else 1.0
    ):
        yield event
        if isinstance(event, Candidate) and event.support.size <= lower:
            return


def affordable_swaps(problem: Problem, size: int) -> int:
    """The default budget, but no more than is worth a minute where the columns do not fit into the processor's cache."""
    n, patterns = problem.columns.shape
    swaps = default_budget(problem, size)
    if n * patterns <= CACHED_ENTRIES:
        return swaps
    return min(
        swaps, max(200, int(MOST_WORK / (step_cost(n, patterns, size) + UNCACHED * n * patterns)))
    )


def sweep_below(
    problem: Problem, best: Candidate, budget: int | None
) -> Iterator[Candidate | LowerBound | int]:
    """Every single variable and, where that is affordable, every pair: the smallest support if it has one or two variables."""
    n, done = problem.n_features, best.iterations
    if best.support.size < 2:
        yield LowerBound(best.support.size, 0)
        return
    single = separating_single(problem)
    if single is not None:
        found = exact_candidate(problem, np.array([single]), done, single_rule(problem, single))
        if found is None:
            # It separates in rational arithmetic, but by no rule in doubles: nothing is known to be needed.
            return
        yield found
        yield LowerBound(1, n)
        return
    yield LowerBound(2, n)
    pairs = n * (n - 1) // 2
    swaps = affordable_swaps(problem, best.support.size) if budget is None else budget
    if best.support.size < 3 or pairs > min(PAIRS_AT_MOST, PAIRS_A_SWAP * max(swaps, FEWEST_SWAPS)):
        return
    for event in separating_pairs(problem):
        if isinstance(event, PairFound):
            yield fitted(problem, event.support, done)._replace(rule=event.rule)
            yield LowerBound(2, n + pairs)
            return
        if event:
            yield LowerBound(3, n + pairs)
        yield done


def exact_candidate(
    problem: Problem, support: NDArray[np.int64], iterations: int, rule: Rule | None
) -> Candidate | None:
    """The candidate of largest margin on a support, with a rule found exactly where that margin is none; None if neither is."""
    found = fitted(problem, support, iterations)
    if candidate_rule(problem, found).separates:
        return found
    return None if rule is None else found._replace(rule=rule)


def run_with_errors(
    problem: Problem, budget: int | None, seed: int, errors: int, gives_up: bool = False
) -> Iterator[Candidate | LowerBound | int]:
    """Singles, exhaustively; promising pairs; greedy additions until few errors are left; then swaps at one fewer and so on.

    The budget counts swaps. A `LowerBound` says how many variables are needed at least, by exhaustion of the singles.
    """
    n, kept = problem.n_features, problem.kept
    without, constant = majority(problem)
    if without <= errors:
        yield Candidate(np.zeros(0, dtype=np.int64), np.zeros(0), constant, 0)
        return
    most = min(n, problem.n_samples)
    hinge = make_hinge(problem.columns, most + 1 + kept, kept, seed=seed, signed=problem.signed)
    best = make_best(most + 1, kept, problem.n_samples)
    # Only rules with few enough errors are worth keeping.
    best.errors[:], best.supports[:] = errors + 1, 0
    # The line search on scaled columns has a tolerance; sorting the values of X has none.
    _, rules = all_singles(problem.columns, problem.signed, kept, hinge.random)
    fewest_alone = errors_alone(problem)
    single = int(np.argmin(fewest_alone))
    needed = 1
    if fewest_alone[single] > errors:
        needed = 2
    else:
        found = Candidate(np.array([single]), rules[single, 1:], float(rules[single, 0]), 0)
        if candidate_rule(problem, found).errors > errors:
            found = found._replace(rule=single_rule(problem, single))
        if candidate_rule(problem, found).errors <= errors:
            yield found
            yield LowerBound(1, n)
            return
    pairs = promising_pairs(problem, PAIRS_TRIED)
    if any(_suffices(hinge, best, errors, pair) for pair in pairs):
        yield best.candidate(2, kept, 0)
        yield LowerBound(needed, n)
        return
    reached = _grow(hinge, best, errors)
    size = hinge.selected
    if reached:
        yield best.candidate(size, kept, size)
    yield LowerBound(needed, n)
    if reached:
        yield from _shrink(
            hinge,
            best,
            default_budget_with_errors(problem, size) if budget is None else budget,
            errors,
        )
    elif not gives_up:
        yield from fewest_found(problem, budget, seed, size, errors)


def _suffices(hinge: Hinge, best: Best, errors: int, start: np.ndarray) -> bool:
    """Whether a fit from these variables, or a descent from there, makes few enough errors."""
    n = hinge.columns.shape[0]
    set_support(hinge, np.append(np.arange(n - hinge.kept, n), start))
    try_out(hinge, best, allowed=errors)
    return bool(best.errors[hinge.selected] <= errors)


def _grow(hinge: Hinge, best: Best, errors: int) -> bool:
    """Add columns until few enough errors are left; False if all that fit do not suffice."""
    _suffices(hinge, best, errors, np.zeros(0, dtype=np.int64))
    # Signed columns may leave again.
    for _ in range(2 * hinge.support.size):
        sizes = screening_scores(hinge)
        if hinge.size == hinge.support.size or sizes.max() < 0:
            break
        try_out(hinge, best, int(sizes.argmax()), allowed=errors)
        if best.errors[hinge.selected] <= errors:
            return True
    return False


def _shrink(hinge: Hinge, best: Best, budget: int, errors: int) -> Iterator[Candidate | int]:
    """From a support that makes few enough errors to smaller ones, until `budget` swaps are done."""
    spent = hinge.selected
    left, enough, size = budget, True, hinge.size
    while True:
        while enough:
            if hinge.selected <= 3:
                # Singles are refuted, and of the pairs the promising ones.
                left = min(left, budget // 10)
            if hinge.selected <= 2:
                return
            size = min(size, hinge.size) - 1
            try_out(hinge, best, drop=cheapest(hinge), allowed=errors)
            enough = bool(best.errors[hinge.selected] <= errors)
            if enough:
                yield best.candidate(hinge.selected, hinge.kept, spent + budget - left)
        if left <= 0:
            return
        noise = FORGIVING_NOISE if (budget - left) // PHASE % 2 else 0.0
        left -= int(
            fit_and_note(hinge, best, -1, -1, 0, 0, 1.0, 0, noise, errors, min(CHUNK, left), size)[
                1
            ]
        )
        enough = hinge.size <= size and bool(best.errors[hinge.selected] <= errors)
        done = spent + budget - left
        yield best.candidate(hinge.selected, hinge.kept, done) if enough else done


def default_budget_with_errors(problem: Problem, size: int) -> int:
    """Swaps for a start of `size` variables: about 3 s at N = P = 64, 8 s at 128, 20 s at 256."""
    n, patterns = problem.columns.shape
    work = WORK * math.sqrt(patterns * min(n, 4 * patterns)) / 128
    swap = 40_000 + n * patterns + 4 * patterns * (size + 1) ** 2
    return max(200, int(work / swap))
