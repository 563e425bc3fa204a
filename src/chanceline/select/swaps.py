"""Searches by swaps: orthogonal matching pursuit, tabu search, and swaps that count errors and keep the best rule of every size.

Errors are lowered by exact line searches. Along w + t·d the margin of pattern μ is m_μ + t·d_μ, which changes sign once, at
t = −m_μ/d_μ. Sorting these breakpoints gives the number of errors on every interval between them. A point on the threshold counts
as an error, so only open intervals matter.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chanceline.kernels.compile import NONE, ZERO, counter, inlined_kernel, inner_kernel, kernel
from chanceline.kernels.random import next_random, random_state
from chanceline.kernels.vectors import add_scaled, combine
from chanceline.perceptron.hinge import (
    MAX_NEWTON,
    NEWTON,
    Hinge,
    fit,
    make_hinge,
    refit,
    set_support,
)
from chanceline.perceptron.hinge_fit import add_greedily
from chanceline.perceptron.problem import Problem
from chanceline.select.outcome import Candidate

NARROWEST = 1e-9  # intervals narrower than this, relative to their place, do not count: rounding could close them
ROUNDING = 1e-11  # margins below this, relative to the largest, count as errors
IDLE_ROUNDS = counter(2)  # of the descent on errors before it gives up
NEWTON_AFTER_ADDITION = counter(
    2
)  # steps rank the removals as well as the exact minimum does, in half the time
NOISE = 0.2  # of swaps, in what is added and dropped
CHUNK_WORK = 5e8  # work between two looks at the keyboard


@inlined_kernel()
def find_pulls(
    rows: NDArray, margins: NDArray, active: NDArray, loose: NDArray, slack: NDArray, pulls: NDArray
) -> None:
    """a_jᵀr for every column, the gradient of E, from the active rows alone."""
    count = ZERO
    for pattern in range(margins.size):
        if active[pattern] > 0.5:
            loose[count], slack[count] = pattern, 1.0 - margins[pattern]
            count += 1
    combine(rows, loose, slack, count, pulls)


@inlined_kernel()
def choose_addition(
    position: NDArray, signed: NDArray, pulls: NDArray, until: NDArray, now: int, random: NDArray
) -> int:
    """The non-tabu column with the largest |a_jᵀr| (1 + 0.2u), u ~ U(−1, 1), which is tabu from now on; −1 if there is none."""
    best, largest = NONE, -1.0
    for attempt in range(2):
        for j in range(position.size):
            if attempt > 0:
                # Everything else was tabu: few variables. Forget the tabus.
                until[j] = 0
            if position[j] < 0 and until[j] <= now:
                pull = -10.0 if signed[j] and pulls[j] <= 0.0 else abs(pulls[j])
                size = pull * (1.0 + NOISE * (2.0 * next_random(random) - 1.0))
                if size > largest:
                    best, largest = j, size
        if best >= 0:
            until[best] = now + 2 + int(6 * next_random(random))
            break
    return best


@inlined_kernel()
def choose_removal(
    support: NDArray,
    kept: int,
    k: int,
    weights: NDArray,
    inverse: NDArray,
    until: NDArray,
    now: int,
    random: NDArray,
) -> int:
    """Place of the non-tabu variable that costs least, w_i² / (2[H⁻¹]_ii) (1 + 0.2u), tabu from now on; else the last one in."""
    removal, least = k - 1, np.inf
    for i in range(kept, k):
        if until[support[i]] <= now:
            cost = (
                weights[i] ** 2 / inverse[i, i] * (1.0 + NOISE * (2.0 * next_random(random) - 1.0))
            )
            if cost < least:
                removal, least = i, cost
    if least < np.inf:
        until[support[removal]] = now + 4 + int(6 * next_random(random))
    return removal


@inlined_kernel()
def choose_swap(hinge: Any, size: int) -> tuple[int, int]:
    """Which column comes next and which place goes, one of them −1: a removal where there are more than `size` columns."""
    (_, rows, _, signed, kept, _, in_use, support, weights, position, margins, active, inverse, _, _, _, _, shift, _, _, _,
     loose, _, pulls, until, clock, random) = hinge  # fmt: skip
    if in_use[0] > size:
        return NONE, choose_removal(
            support, kept, in_use[0], weights, inverse, until, clock[0], random
        )
    clock[0] += 1
    find_pulls(rows, margins, active, loose, shift, pulls)
    return choose_addition(position, signed, pulls, until, clock[0], random), NONE


@kernel()
def fit_and_swap(
    hinge: Any, add: int, drop: int, allowed: int, most: int, swaps: int, size: int
) -> tuple[int, bool]:
    """Change the support and refit as `refit` does; then up to `swaps` tabu swaps until at most `allowed` are wrong.

    A swap adds the column of largest gradient, refits, drops the variable that costs least, and refits. A column is tabu for a
    few steps after it came or went. Noise keeps the walk from going in circles. The support keeps to `size` columns: where signed
    ones have left it, additions fill it up.
    """
    in_use = hinge.k
    for half in range(2 * swaps + 1):
        enough = refit(hinge, add, drop, allowed, 0.0, most)
        if half == 2 * swaps or (enough and in_use[0] <= size):
            return half // 2, enough and (swaps == 0 or in_use[0] <= size)
        add, drop = choose_swap(hinge, size)
        most = NEWTON if drop >= 0 else NEWTON_AFTER_ADDITION
        if add + drop < -1:
            break
    return swaps, False


@inner_kernel()
def count_errors(margins: NDArray) -> int:
    """Patterns whose margin is not safely positive."""
    largest = 0.0
    for pattern in range(margins.size):
        if abs(margins[pattern]) > largest:
            largest = abs(margins[pattern])
    errors = 0
    for pattern in range(margins.size):
        errors += not margins[pattern] > ROUNDING * largest
    return errors


def make_line(patterns: int) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Room for a line search: where margins change sign, and whether they rise there."""
    return np.zeros(patterns), np.zeros(patterns, dtype=np.bool_)


@kernel()
def fewest_on_line(
    margins: NDArray, direction: NDArray, least: float, line: Any, state: NDArray
) -> tuple[int, float]:
    """(errors, step t) with the fewest errors of margins + t·direction, t > least; ties are drawn by lot."""
    (breaks, rising), turning, errors, largest = line, 0, 0, 0.0
    for pattern in range(margins.size):
        if abs(direction[pattern]) > largest:
            largest = abs(direction[pattern])
    for pattern in range(margins.size):
        if abs(direction[pattern]) > 1e-12 * largest:
            breaks[turning] = -margins[pattern] / direction[pattern]
            rising[turning] = direction[pattern] > 0.0
            errors += rising[turning]
            turning += 1
        else:
            errors += not margins[pattern] > 0.0
    if turning == 0:
        return errors, least if least > 0.0 else 0.0
    # Shell's sort, both arrays at once: numpy's takes two seconds to compile.
    gap = turning // 2
    while gap > 0:
        for i in range(gap, turning):
            value, sign, j = breaks[i], rising[i], i
            while j >= gap and breaks[j - gap] > value:
                breaks[j], rising[j] = breaks[j - gap], rising[j - gap]
                j -= gap
            breaks[j], rising[j] = value, sign
        gap //= 2
    first = breaks[0]
    best, step, ties = errors if first > least else margins.size + 1, first - (1.0 + abs(first)), 1
    if step < least:
        step = 0.5 * (least + first)
    for i in range(turning):
        here = breaks[i] if breaks[i] > least else least
        errors += -1 if rising[i] else 1
        if i + 1 < turning:
            there = breaks[i + 1]
            if there - here <= NARROWEST * (1e-3 + abs(here)):
                continue
            middle = 0.5 * (here + there)
        else:
            middle = here + (1.0 + abs(here))
        ties = 1 if errors < best else ties + 1
        if errors < best or (errors == best and next_random(state) * ties < 1.0):
            best, step = errors, middle
    return best, step


@inlined_kernel()
def descend(
    columns: NDArray, signed: NDArray, support: NDArray, k: int,
    weights: NDArray, margins: NDArray, line: Any, state: NDArray, rounds: int,
) -> int:  # fmt: skip
    """Exact line searches along the coordinates, in random order, until `rounds` in a row gain nothing; the errors left.

    Changes weights and margins. Steps to intervals with equally many errors are taken too: they wander on the plateau.
    """
    errors = count_errors(margins)
    idle = 0
    while idle < rounds and errors > 0:
        before = errors
        start = int(next_random(state) * k)
        for i in range(k):
            place = (start + i) % k
            column = columns[support[place]]
            least = -weights[place] if signed[support[place]] else -np.inf
            found, step = fewest_on_line(margins, column, least, line, state)
            if found <= errors:
                weights[place] += step
                add_scaled(margins, step, column, margins.size)
                errors = found
        combine(columns, support, weights, k, margins)
        errors = count_errors(margins)
        idle = 0 if errors < before else idle + 1
    return errors


class Best(NamedTuple):
    """The best rule of every size k: its errors, columns (the kept ones first) and weights; then room to work in."""

    errors: NDArray[np.int64]
    supports: NDArray[np.int64]
    weights: NDArray[np.float64]
    trial: NDArray[np.float64]
    margins: NDArray[np.float64]
    line: tuple[NDArray[np.float64], NDArray[np.bool_]]

    def take(self, other: Best, where: NDArray[np.bool_]) -> None:
        """The rules of another at these sizes."""
        for mine, theirs in zip(self[:3], other[:3], strict=True):
            mine[where] = theirs[where]

    def candidate(self, k: int, kept: int, iterations: int) -> Candidate:
        """The best rule of k variables, in scaled weights."""
        return as_candidate(
            self.supports[k, : k + kept], self.weights[k, : k + kept], kept, iterations
        )


def make_best(most: int, kept: int, patterns: int) -> Best:
    """Nothing found yet for 0 … `most` variables."""
    width = most + kept + 1
    return Best(
        errors=np.full(most + 1, patterns, dtype=np.int64),
        supports=np.full((most + 1, width), -1, dtype=np.int64),
        weights=np.zeros((most + 1, width)),
        trial=np.zeros(width),
        margins=np.zeros(patterns),
        line=make_line(patterns),
    )


@inner_kernel()
def store(
    best: Any, features: int, errors: int, support: NDArray, weights: NDArray, k: int
) -> None:
    best.errors[features] = errors
    for i in range(k):
        best.supports[features, i] = support[i]
        best.weights[features, i] = weights[i]


@inlined_kernel()
def note(
    best: Any, features: int, near: int, columns: NDArray, signed: NDArray, support: NDArray, k: int, weights: NDArray,
    margins: NDArray, random: NDArray,
) -> int:  # fmt: skip
    """Keep the present rule if it is the best of its size; within `near` errors of it, descend on the errors first.

    What a descent finds replaces a rule with as many errors: the next visits begin elsewhere on the plateau.
    """
    fewest, supports, _, trial, trial_margins, line = best
    errors = count_errors(margins)
    if features < 1 or features >= fewest.size:
        return errors
    if errors < fewest[features] or supports[features, 0] < 0:
        store(best, features, errors, support, weights, k)
    if errors == 0 or errors > fewest[features] + near:
        return errors
    for i in range(k):
        trial[i] = weights[i]
    for pattern in range(margins.size):
        trial_margins[pattern] = margins[pattern]
    errors = descend(columns, signed, support, k, trial, trial_margins, line, random, IDLE_ROUNDS)
    if errors <= fewest[features]:
        store(best, features, errors, support, trial, k)
    return errors


@kernel()
def fit_and_note(
    hinge: Any, best: Any, add: int, drop: int, allowed: int, most: int,
    share: float, near: int, noise: float, wanted: int, swaps: int, size: int,
) -> tuple[int, int]:  # fmt: skip
    """Change the support, refit and note it; then up to `swaps` swaps until the best of `size` makes at most `wanted` errors.

    The size has the kept columns too; where signed columns have left the support, additions fill it up.
    With share = 1 always after one error fewer than the best; with less, so much of that is forgiven, down to the plain
    squared hinge, whose landscape is smoother. Returns the errors after the first fit and the swaps done.
    """
    columns, signed, kept, in_use, support = (
        hinge.columns,
        hinge.signed,
        hinge.kept,
        hinge.k,
        hinge.support,
    )
    weights, margins, random, fewest = hinge.weights, hinge.margins, hinge.random, best.errors
    features, errors, jitter, watch = size - kept, ZERO, 0.0, near
    for half in range(2 * swaps + 1):
        refit(hinge, add, drop, allowed, jitter, most)
        k = in_use[0]
        counted = note(best, k - kept, watch, columns, signed, support, k, weights, margins, random)
        if half == 0:
            errors = counted
        if half == 2 * swaps or (in_use[0] <= size and fewest[features] <= wanted):
            return errors, half // 2
        add, drop = choose_swap(hinge, size)
        most, jitter, watch = NEWTON, 0.0, near
        if drop < 0:
            allowed = int(share * (fewest[features] - 1))
            most, jitter, watch = NEWTON_AFTER_ADDITION, noise, NONE
            if add < 0:
                break
    return errors, swaps


def cheapest(hinge: Hinge) -> int:
    """Place of the variable that costs least as in `choose_removal`, whatever its tabu."""
    chosen = slice(hinge.kept, hinge.size)
    noise = np.array(
        [1.0 + NOISE * (2.0 * next_random(hinge.random) - 1.0) for _ in range(hinge.selected)]
    )
    costs = hinge.weights[chosen] ** 2 / np.diag(hinge.inverse)[chosen] * noise
    return hinge.kept + int(np.argmin(costs))


def drop_cheapest(hinge: Hinge) -> bool:
    """Drop the cheapest variable; whether the rest still separates."""
    return fit(hinge, drop=cheapest(hinge), newton=NEWTON)


def try_out(
    hinge: Hinge,
    best: Best,
    add: int = -1,
    drop: int = -1,
    *,
    allowed: int = 0,
    near: int = 0,
    newton: int = int(NEWTON),
) -> int:
    """Errors of the support after a change and a fit that forgives so many; the rule is kept if it is the best of its size."""
    return int(fit_and_note(hinge, best, add, drop, allowed, newton, 1.0, near, 0.0, 0, 0, 0)[0])


def as_candidate(
    columns: NDArray[np.int64], weights: NDArray[np.float64], kept: int, iterations: int
) -> Candidate:
    """A support with the kept columns first, and its weights, as what a method yields."""
    order = np.argsort(columns[kept:])
    return Candidate(
        columns[kept:][order], weights[kept:][order], float(weights[0]) if kept else 0.0, iterations
    )


def candidate(hinge: Hinge, iterations: int) -> Candidate:
    """The present support and weights of a workspace."""
    return as_candidate(
        hinge.support[: hinge.size], hinge.weights[: hinge.size], hinge.kept, iterations
    )


def fit_greedily(problem: Problem) -> tuple[Hinge, int, bool]:
    """Add argmax_j |a_jᵀ r|, r = (1 − Aw)₊, and refit, until they separate: (workspace, columns added, separable)."""
    most = min(problem.n_features, problem.n_samples) + problem.kept
    hinge = make_hinge(problem.columns, most + 2, problem.kept, signed=problem.signed)
    separable = add_greedily(hinge)
    return hinge, hinge.selected, separable


def run_omp(problem: Problem, budget: int | None, seed: int) -> Iterator[Candidate]:
    """Method `omp`: one run, no randomness; the budget is not needed."""
    hinge, added, _ = fit_greedily(problem)
    yield candidate(hinge, added)


def start_from(problem: Problem, found: Candidate) -> tuple[Hinge, bool]:
    """A workspace at a candidate, and whether its support separates."""
    support = np.concatenate(
        [np.arange(problem.n_features, problem.n_features + problem.kept), found.support]
    )
    hinge = make_hinge(problem.columns, support.size + 2, problem.kept, signed=problem.signed)
    set_support(
        hinge, support, np.concatenate([np.full(problem.kept, found.constant), found.weights])
    )
    # Newton's first step could turn signed weights away that the rule needs: they stay as they are.
    return hinge, fit(
        hinge, newton=0 if hinge.signed.any() and found.weights.any() else MAX_NEWTON
    ) or bool(hinge.margins.min() > 0.0)


def default_budget(problem: Problem, size: int) -> int:
    """Swaps for a start of `size` variables.

    In all about 0.4 s at N = P = 64, 4 s at 256, 40 s at 1024, and a second or two on gene-expression data.
    """
    n, patterns = problem.columns.shape
    length = math.sqrt(patterns * min(n, 4 * patterns))
    work = 3.3e9 * (length / 64) ** 1.88 * min(1.0, (256 / length) ** 0.38)
    return max(200, int(work / (40_000 + step_cost(n, patterns, size))))


def step_cost(n: int, patterns: int, size: float) -> float:
    """Rough number of operations in one swap: the gradient, a few Newton steps, and the flips they cause."""
    return n * patterns + 30 * patterns * size + 0.3 * patterns * size * size


def swap_down(
    hinge: Hinge, budget: int, seed: int, spent: int = 0, patience: float = 1.0
) -> Iterator[Candidate | int]:
    """From a separating support, fewer and fewer variables, until `budget` swaps are done, or this share of them without success.

    Yields a candidate at every improvement and the iterations spent at every other chance to interrupt.
    """
    n, patterns = hinge.columns.shape
    hinge.random[:] = random_state(seed)
    left, end, separable, size = budget, 0, True, hinge.size
    while True:
        while separable:
            yield candidate(hinge, spent + budget - left)
            end = max(0, left - int(patience * budget))
            if hinge.selected <= 1:
                return
            size = min(size, hinge.size) - 1
            separable = drop_cheapest(hinge)
        if left <= end:
            return
        chunk = int(max(1.0, CHUNK_WORK / step_cost(n, patterns, float(hinge.size))))
        steps, separable = fit_and_swap(hinge, -1, -1, 0, 0, min(chunk, left - end), size)
        left -= steps
        if not separable:
            yield spent + budget - left


def run_tabu(problem: Problem, budget: int | None, seed: int) -> Iterator[Candidate | int]:
    """Method `tabu`: OMP's support, then swaps."""
    hinge, added, separable = fit_greedily(problem)
    if not separable:
        yield candidate(hinge, added)
        return
    yield from swap_down(
        hinge, default_budget(problem, added) if budget is None else budget, seed, added
    )
