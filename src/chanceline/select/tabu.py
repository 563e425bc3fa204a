"""Tabu search: swaps of one column for another at a fixed size, and one variable fewer at success.

A swap adds the column of largest gradient, refits, drops the variable that costs least, and refits.
A relative of the support, a column that is strongly correlated with one in it, counts with the
gradient of what it has of its own: else the differences of relatives would never come.
A column is tabu for a few swaps after it came or went. Noise keeps the walk from going in circles.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from chanceline.kernels.compile import NONE, ZERO, counter, kernel, leaf_kernel
from chanceline.kernels.random import next_random, random_state
from chanceline.kernels.vectors import combine
from chanceline.perceptron.hinge import SWAP_FIT_STEPS, TABU_AFTER_REMOVAL, refit, tabu_wait
from chanceline.perceptron.problem import Problem
from chanceline.perceptron.workspace import Hinge
from chanceline.select.greedy import SWAP_NOISE, drop_cheapest, fit_greedily
from chanceline.select.outcome import Candidate
from chanceline.select.starts import candidate_of

# After an addition two of Newton's steps rank the removals as well as the exact minimum does, in
# half the time.
ADDITION_FIT_STEPS = counter(2)
TABU_AFTER_ADDITION = counter(2)  # swaps at least that a column which came must stay
WORK_PER_CHUNK = 5e8  # multiplications between two looks at the keyboard

# The default budget: multiplications for a square table of L × L entries, as a power of L. From
# L = 256 on the power is smaller, so that large tables do not take minutes.
WORK_AT_64 = 3.3e9
WORK_EXPONENT = 1.88
LARGE_LENGTH = 256
EXPONENT_REDUCTION = 0.38
COLUMNS_PER_SAMPLE = 4  # more columns than this for every sample add nothing to the budget
WORK_PER_SWAP = 40_000  # multiplications, whatever the table: overhead
FEWEST_DEFAULT_SWAPS = 200

# Multiplications in a swap, fitted to run times: for every sample and column of the support, and
# for every sample and entry of the inverse Hessian.
FIT_WORK = 30
FLIP_WORK = 0.3


@leaf_kernel()
def find_gradient(workspace: Any) -> None:
    """Compute the negative gradient of the squared hinge loss by the weight of every column.

    A row a_μ is sample μ times its label y_μ = ±1, so that its margin m_μ = a_μ·w should be large.
    The loss is ½ Σ_μ (1 − m_μ)² over the active samples μ: those whose margin is below 1 and that
    are not trimmed (left out as errors). For column j the negative gradient is

        Σ_μ a_μj (1 − m_μ)   over the active samples.

    It is positive where a larger weight would lower the loss. The result is written to
    `scratch.gradient`, (columns,).

    workspace : a fitted `Hinge`; its `active` is 1.0 or 0.0 for every sample.
    """
    margins = workspace.state.margins  # (samples,)
    is_active = workspace.state.active  # (samples,)
    rows = workspace.data.rows  # (samples, columns) the a_μ
    active_samples = workspace.scratch.samples  # (samples,) for their indices
    slack = workspace.scratch.slack  # (samples,) for their 1 − m_μ
    negative_gradient = workspace.scratch.gradient

    # Few samples are active: list them with their slack 1 − m_μ.
    n_active = ZERO  # the number 0 as a 64-bit integer, the type of all compiled counts
    for sample in range(margins.size):
        if is_active[sample] > 0.5:
            active_samples[n_active] = sample
            slack[n_active] = 1.0 - margins[sample]
            n_active += 1

    # negative gradient = Σ_active slack · row
    combine(
        vectors=rows, chosen=active_samples, factors=slack, count=n_active, out=negative_gradient
    )


@leaf_kernel()
def find_own_lengths(workspace: Any) -> None:
    """Compute for every column how much of its length is not explained by the support.

    This is its own length: √(1 − r²) for a column of length 1 that has the correlation r with a
    column in the support. Only strongly correlated columns, called relatives, count. If a column
    has several relatives in the support, the one with the largest |r| counts, which is nearly as
    good as all of them together. If it has none, its own length is 1.

    The lists of relatives are stored one after the other: that of column i has the entries
    first_entry[i] … first_entry[i + 1] − 1, each a relative and its own length beside column i.

    workspace : a `Hinge`. The result is written to `scratch.own_length`, (columns,).
    """
    first_entry = workspace.data.relatives.first
    relative_of_entry = workspace.data.relatives.column
    own_length_of_entry = workspace.data.relatives.own_length
    support = workspace.state.support
    size = workspace.state.n_used[0]
    own_length = workspace.scratch.own_length

    for column in range(own_length.size):
        own_length[column] = 1.0
    for place in range(size):
        used_column = support[place]
        for entry in range(first_entry[used_column], first_entry[used_column + 1]):
            relative = relative_of_entry[entry]
            own_length[relative] = min(own_length[relative], own_length_of_entry[entry])


@leaf_kernel()
def choose_addition(workspace: Any) -> int:
    """Choose the column to add in a swap, the most attractive one; return it, or NONE.

    The attraction of a column is |g| / ℓ, times a random factor 1 + SWAP_NOISE·u with u in (−1, 1).
    Here g is the negative gradient of the loss by the weight of the column, and ℓ the part of the
    column's length that the columns in use do not explain. Adding the column lowers the loss by
    about g² / 2ℓ²h, with about the same h for all columns.

    A column can be chosen if it is

    - outside the support;
    - of the right sign: if its weight must not be negative, g must be positive;
    - not tabu: it has not come or gone in the last few swaps. `tabu_until` is the number of the
      swap from which a column may be chosen again.

    If there is no such column, the tabus of all columns are cleared, and one is chosen in a second
    pass. The column chosen becomes tabu.

    workspace : a fitted `Hinge`, in whose `scratch.gradient` `find_gradient` has written g for its
        present weights. Its tabus and random numbers are changed.
    """
    nonnegative = workspace.data.nonnegative  # (columns,)
    position = workspace.state.position  # (columns,) place in the support, −1 outside
    tabu_until = workspace.state.tabu_until  # (columns,) number of a swap
    random = workspace.state.random
    swap_number = workspace.state.iteration[0]
    negative_gradient = workspace.scratch.gradient  # (columns,) g
    own_length = workspace.scratch.own_length  # (columns,) ℓ

    find_own_lengths(workspace)
    best = NONE
    largest = -1.0  # below every attraction
    for attempt in range(2):
        is_second_pass = attempt == 1
        for column in range(position.size):
            if is_second_pass:
                tabu_until[column] = 0  # from now on this column can be chosen
            is_outside = position[column] < 0
            if is_outside and tabu_until[column] <= swap_number:
                # A random number is drawn for columns of the wrong sign too.
                noise = 1.0 + SWAP_NOISE * (2.0 * next_random(random) - 1.0)
                g = negative_gradient[column]
                attraction = abs(g) / own_length[column] * noise
                has_wrong_sign = nonnegative[column] and g <= 0.0
                if attraction > largest and not has_wrong_sign:
                    best = column
                    largest = attraction
        if best != NONE:
            tabu_until[best] = swap_number + tabu_wait(TABU_AFTER_ADDITION, random)
            break
    return best


@leaf_kernel()
def choose_removal(workspace: Any) -> int:
    """Choose the variable to remove in a swap, the one that costs least; return its place.

    Removing the variable at place i of the support raises the loss by about w_i² / 2[H⁻¹]_ii, where
    w_i is its weight and H⁻¹ the inverse Hessian (`inverse`). The cost is this without the factor
    ½, times a random factor 1 + SWAP_NOISE·u with u in (−1, 1).

    A variable is tabu for a few swaps after it was added, and must stay. The variable chosen
    becomes tabu too, so that it is not added again at once. If all variables are tabu, the last one
    of the support is chosen, and its tabu is not changed.

    workspace : a fitted `Hinge`. The first `n_used[0]` places of its support are in use. The
        unpenalized columns (the intercept) have the first of these, and always stay.
    """
    support = workspace.state.support  # (places,) the columns in use
    weights = workspace.state.weights  # (places,)
    inverse = workspace.state.inverse  # (places, places)
    tabu_until = workspace.state.tabu_until  # (columns,) number of a swap
    random = workspace.state.random
    swap_number = workspace.state.iteration[0]
    n_unpenalized = workspace.data.n_unpenalized
    size = workspace.state.n_used[0]

    cheapest_place = size - 1  # the last one, if all are tabu
    least_cost = np.inf
    for place in range(n_unpenalized, size):
        if tabu_until[support[place]] <= swap_number:
            noise = 1.0 + SWAP_NOISE * (2.0 * next_random(random) - 1.0)
            cost = weights[place] ** 2 / inverse[place, place] * noise
            if cost < least_cost:
                cheapest_place = place
                least_cost = cost
    if least_cost < np.inf:
        tabu_until[support[cheapest_place]] = swap_number + tabu_wait(TABU_AFTER_REMOVAL, random)
    return cheapest_place


class SwapResult(NamedTuple):
    """How many swaps were done, and whether the support then separates all samples."""

    n_swaps: int
    separates: bool


@kernel()
def swap_until_separated(workspace: Any, size: int, max_swaps: int) -> SwapResult:
    """Swap columns at a fixed size of the support until it separates all samples.

    A swap consists of two half-swaps, each with a refit: the most attractive column is added, then
    the column that costs least is removed. Which one comes next depends on the present size only:
    a column is removed if the support is larger than `size`, else one is added. (A refit may also
    remove columns by itself, whose weight must not be negative but would become so. Then several
    additions follow each other, until the support is full again.)

    Parameters
    ----------
    workspace : a fitted `Hinge`; changed. The number of columns in use, `n_used`, is updated by
        each refit. It and `iteration` (number of additions, for the tabu) are arrays of one entry,
        so that compiled functions can change them.
    size : number of columns of the support to reach, including the unpenalized ones.
    max_swaps : largest number of swaps. The swaps also end if no column is left to add; then
        `max_swaps` are reported as done, since more swaps would not help.
    """
    n_used = workspace.state.n_used
    iteration = workspace.state.iteration
    # Swaps are counted by their work: two refits count as one swap, even if both are additions.
    for n_refits in range(1, 2 * max_swaps + 1):
        column_to_add = NONE
        place_to_drop = NONE  # a place in the support
        is_too_large = n_used[0] > size  # by one column, after an addition
        if is_too_large:
            place_to_drop = choose_removal(workspace)
            max_newton = SWAP_FIT_STEPS
        else:
            iteration[0] += 1
            find_gradient(workspace)
            column_to_add = choose_addition(workspace)
            max_newton = ADDITION_FIT_STEPS
            if column_to_add == NONE:  # no column is left to add
                break

        # Refit, without trimming any sample (`max_errors` is 0).
        separates = refit(
            workspace,
            add=column_to_add,
            drop=place_to_drop,
            max_errors=ZERO,
            trim_noise=0.0,
            max_newton=max_newton,
        )
        is_small_enough = n_used[0] <= size
        if separates and is_small_enough:
            n_swaps = n_refits // 2
            return SwapResult(n_swaps, True)
    return SwapResult(max_swaps, False)


def default_swaps(problem: Problem, n_variables: int) -> int:
    """Return the default number of swaps for a search that starts with so many variables.

    The work of the whole search is a power of the table's `length`, the side of a square table with
    as many entries. It is divided by the work of one swap. In all a search takes about 0.4 s with
    64 columns and samples, 4 s with 256, 40 s with 1024, and a second or two on gene-expression
    data.
    """
    n_columns, n_samples = problem.columns.shape
    n_counted_columns = min(n_columns, COLUMNS_PER_SAMPLE * n_samples)
    length = math.sqrt(n_samples * n_counted_columns)
    # Large tables get less than the power law says.
    reduction = min(1.0, (LARGE_LENGTH / length) ** EXPONENT_REDUCTION)
    work = WORK_AT_64 * (length / 64) ** WORK_EXPONENT * reduction
    work_per_swap = WORK_PER_SWAP + swap_work(n_columns, n_samples, n_variables)
    return max(FEWEST_DEFAULT_SWAPS, int(work / work_per_swap))


def swap_work(n_columns: int, n_samples: int, size: float) -> float:
    """Estimate the number of multiplications in one swap on a support of `size` columns.

    The terms are the gradient of all columns, a few Newton steps, and the updates of the inverse
    Hessian for samples that become active or inactive.
    """
    gradient_work = n_columns * n_samples
    newton_work = FIT_WORK * n_samples * size
    return gradient_work + newton_work + FLIP_WORK * n_samples * size * size


class Patience(NamedTuple):
    """After which share of the budget without success swaps end.

    Attributes
    ----------
    share : in general.
    share_above_wanted : where variables are swapped at a size above `wanted`.
    wanted : the largest number of variables that would be of use; None: all sizes are.
    """

    share: float = 1.0
    share_above_wanted: float = 1.0
    wanted: int | None = None

    def share_at(self, n_variables: int) -> float:
        """Return the share of the budget that may pass without success at so many variables."""
        if self.wanted is not None and n_variables > self.wanted:
            return self.share_above_wanted
        return self.share


FULL_PATIENCE = Patience()  # until the budget ends


def swap_down(
    workspace: Hinge,
    budget: int,
    seed: int,
    *,
    earlier_iterations: int = 0,
    patience: Patience = FULL_PATIENCE,
) -> Iterator[Candidate | int]:
    """Search for smaller and smaller supports that separate, by removals and swaps.

    The variable that costs least is removed. If the support does not separate any more, variables
    are swapped at this size until it does again. Then the next variable is removed. The search ends
    at one variable, when the budget is used up, or after too many swaps without success
    (`patience`).

    Parameters
    ----------
    workspace : a fitted `Hinge` whose support separates; changed.
    budget : largest number of swaps.
    seed : of the random numbers.
    earlier_iterations : those of searches before this one, which are added to its own.
    patience : after how many swaps without success the search ends, as a share of the budget.

    Yields
    ------
    A candidate for every support that separates, and between them the number of iterations spent,
    as a chance to interrupt.
    """
    workspace.state.random[:] = random_state(seed)
    n_swaps = 0
    # Sizes count the columns of the support, the variables and the intercept; `n_selected` counts
    # the variables only.
    target_size = workspace.size
    while True:
        # The support separates.
        yield candidate_of(workspace, earlier_iterations + n_swaps)
        if workspace.n_selected <= 1:
            return

        # Remove a variable. The target is one column fewer than before, or than the support has: it
        # may be smaller than the last target, because fits remove columns by themselves whose
        # weight must not be negative but would become so.
        n_variables_after_removal = workspace.n_selected - 1
        target_size = min(target_size, workspace.size) - 1
        separates = drop_cheapest(workspace)

        # If the support does not separate any more, swap variables, in chunks. Give up when the
        # patience or the budget has been used up.
        patience_share = patience.share_at(n_variables_after_removal)
        swaps_of_patience = int(patience_share * budget)
        last_swap = min(budget, n_swaps + swaps_of_patience)
        while not separates:
            if n_swaps >= last_swap:
                return
            n_swaps_left = last_swap - n_swaps
            max_swaps = min(_swaps_per_chunk(workspace), n_swaps_left)
            result = swap_until_separated(workspace, size=target_size, max_swaps=max_swaps)
            n_swaps += result.n_swaps
            separates = result.separates
            if not separates:
                yield earlier_iterations + n_swaps  # a chance to interrupt


def _swaps_per_chunk(workspace: Hinge) -> int:
    """Return how many swaps are done between two chances to interrupt, at least one."""
    n_columns, n_samples = workspace.data.columns.shape
    work_per_swap = swap_work(n_columns, n_samples, float(workspace.size))
    return int(max(1.0, WORK_PER_CHUNK / work_per_swap))


def run_tabu(problem: Problem, budget: int | None, seed: int) -> Iterator[Candidate | int]:
    """Method `tabu`: a greedy support, then removals and swaps; the budget counts swaps.

    If the greedy support does not separate, it is the only result, since swaps need one that does.
    """
    workspace, separates = fit_greedily(problem)
    n_added = workspace.n_selected
    if not separates:
        yield candidate_of(workspace, n_added)
        return
    if budget is None:
        budget = default_swaps(problem, n_added)
    yield from swap_down(workspace, budget, seed, earlier_iterations=n_added)
