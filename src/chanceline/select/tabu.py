"""Tabu search: swaps of one column for another at a fixed size, and one variable fewer at success.

A swap adds the column of largest gradient, refits, drops the variable that costs least, and refits.
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
TABU_AFTER_ADDITION = 2  # swaps at least that a column which came must stay
WORK_PER_CHUNK = 5e8  # multiplications between two looks at the keyboard
WORK_PER_SWAP = 40_000  # multiplications, whatever the table: overhead
FEWEST_DEFAULT_SWAPS = 200


@leaf_kernel()
def find_gradient(hinge: Any) -> None:
    """Write a_jᵀ(1 − Aw) of every column j, over active samples, into `scratch.gradient`."""
    margins = hinge.state.margins
    active = hinge.state.active
    rows = hinge.data.rows
    samples = hinge.scratch.samples
    slack = hinge.scratch.slack
    gradient = hinge.scratch.gradient

    # From the active rows alone: they are few.
    n_active = ZERO
    for sample in range(margins.size):
        if active[sample] > 0.5:
            samples[n_active] = sample
            slack[n_active] = 1.0 - margins[sample]
            n_active += 1
    combine(rows, samples, slack, n_active, gradient)


@leaf_kernel()
def choose_addition(hinge: Any) -> int:
    """The column of largest |gradient|, which is tabu from now on; −1 if there is none.

    Only columns outside the support that are not tabu count, and of the nonnegative ones those
    whose weight would become positive. Each |gradient| is multiplied by 1 + 0.2u, u ~ U(−1, 1).
    """
    nonnegative = hinge.data.nonnegative
    position = hinge.state.position
    tabu_until = hinge.state.tabu_until
    random = hinge.state.random
    now = hinge.state.iteration[0]
    gradient = hinge.scratch.gradient

    best = NONE
    largest = -1.0
    for attempt in range(2):
        for column in range(position.size):
            if attempt > 0:
                # Everything else was tabu, as there are few columns: forget the tabus.
                tabu_until[column] = 0
            if position[column] < 0 and tabu_until[column] <= now:
                size = abs(gradient[column])
                if nonnegative[column] and gradient[column] <= 0.0:
                    size = -10.0  # below `largest`, whatever the noise
                size *= 1.0 + SWAP_NOISE * (2.0 * next_random(random) - 1.0)
                if size > largest:
                    best = column
                    largest = size
        if best >= 0:
            tabu_until[best] = now + tabu_wait(TABU_AFTER_ADDITION, random)
            break
    return best


@leaf_kernel()
def choose_removal(hinge: Any) -> int:
    """The place of the variable that costs least, whose column is tabu from now on.

    To drop variable i costs w_i² / 2[H⁻¹]_ii. Only variables that are not tabu count; where all
    are, it is the last that came. Each cost is multiplied by 1 + 0.2u, u ~ U(−1, 1).
    """
    support = hinge.state.support
    weights = hinge.state.weights
    inverse = hinge.state.inverse
    tabu_until = hinge.state.tabu_until
    random = hinge.state.random
    now = hinge.state.iteration[0]
    n_unpenalized = hinge.data.n_unpenalized
    size = hinge.state.n_used[0]

    removal = size - 1
    least = np.inf
    for i in range(n_unpenalized, size):
        if tabu_until[support[i]] <= now:
            noise = 1.0 + SWAP_NOISE * (2.0 * next_random(random) - 1.0)
            cost = weights[i] ** 2 / inverse[i, i] * noise
            if cost < least:
                removal = i
                least = cost
    if least < np.inf:
        tabu_until[support[removal]] = now + tabu_wait(TABU_AFTER_REMOVAL, random)
    return removal


class SwapResult(NamedTuple):
    """How many swaps were done, and whether the support then separates all samples."""

    n_swaps: int
    separates: bool


@kernel()
def swap_until_separated(hinge: Any, size: int, max_swaps: int) -> SwapResult:
    """Swap until a support of `size` columns (the unpenalized ones among them) separates.

    The workspace must be fitted. Ends after `max_swaps`, or where no column is left to add.
    """
    n_used = hinge.state.n_used
    iteration = hinge.state.iteration
    for n_halves in range(1, 2 * max_swaps + 1):
        add = NONE
        drop = NONE
        max_newton = SWAP_FIT_STEPS
        if n_used[0] > size:
            drop = choose_removal(hinge)
        else:
            iteration[0] += 1
            find_gradient(hinge)
            add = choose_addition(hinge)
            max_newton = ADDITION_FIT_STEPS
            if add < 0:
                break
        separates = refit(
            hinge,
            add=add,
            drop=drop,
            max_errors=ZERO,
            trim_noise=0.0,
            max_newton=max_newton,
        )
        if separates and n_used[0] <= size:
            return SwapResult(n_halves // 2, True)
    return SwapResult(max_swaps, False)


def default_swaps(problem: Problem, n_variables: int) -> int:
    """The budget of a search that starts with so many variables, in swaps.

    In all about 0.4 s at N = P = 64, 4 s at 256, 40 s at 1024, and a second or two on
    gene-expression data.
    """
    n_columns, n_samples = problem.columns.shape
    length = math.sqrt(n_samples * min(n_columns, 4 * n_samples))
    work = 3.3e9 * (length / 64) ** 1.88 * min(1.0, (256 / length) ** 0.38)
    return max(
        FEWEST_DEFAULT_SWAPS,
        int(work / (WORK_PER_SWAP + swap_work(n_columns, n_samples, n_variables))),
    )


def swap_work(n_columns: int, n_samples: int, size: float) -> float:
    """Rough number of multiplications in a swap: gradient, a few of Newton's steps, and flips."""
    return n_columns * n_samples + 30 * n_samples * size + 0.3 * n_samples * size * size


def swap_down(
    hinge: Hinge, budget: int, seed: int, *, spent: int = 0, patience: float = 1.0
) -> Iterator[Candidate | int]:
    """From a separating support to fewer and fewer variables.

    Parameters
    ----------
    hinge : a fitted workspace whose support separates.
    budget : swaps at most.
    seed : of the random numbers.
    spent : iterations of the searches before this one, which are added to its own.
    patience : the search ends after this share of the budget without success.

    Yields
    ------
    A candidate at every success, and the iterations spent at every other chance to interrupt.
    """
    n_columns, n_samples = hinge.data.columns.shape
    hinge.state.random[:] = random_state(seed)
    n_swaps = 0
    deadline = budget
    size = hinge.size
    separates = True
    while True:
        # As long as it separates, drop the cheapest variable.
        while separates:
            yield candidate_of(hinge, spent + n_swaps)
            deadline = min(budget, n_swaps + int(patience * budget))
            if hinge.n_selected <= 1:
                return
            # Nonnegative columns that left the support by themselves are dropped for good.
            size = min(size, hinge.size) - 1
            separates = drop_cheapest(hinge)
        if n_swaps >= deadline:
            return

        chunk = int(max(1.0, WORK_PER_CHUNK / swap_work(n_columns, n_samples, float(hinge.size))))
        result = swap_until_separated(hinge, size=size, max_swaps=min(chunk, deadline - n_swaps))
        n_swaps += result.n_swaps
        separates = result.separates
        if not separates:
            yield spent + n_swaps


def run_tabu(problem: Problem, budget: int | None, seed: int) -> Iterator[Candidate | int]:
    """Method `tabu`: the greedy support, then swaps; the budget counts swaps."""
    hinge, separates = fit_greedily(problem)
    n_added = hinge.n_selected
    if not separates:
        yield candidate_of(hinge, n_added)
        return
    if budget is None:
        budget = default_swaps(problem, n_added)
    yield from swap_down(hinge, budget, seed, spent=n_added)
