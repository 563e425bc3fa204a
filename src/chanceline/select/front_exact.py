"""Proofs with errors: no support of a size makes as few as e, by Gordan's certificates.

Where a set of patterns cannot all be right, few of them (one more than the variables at most) already cannot: those with a
positive multiplier. At least one of them is an error, so a search that gives up each in turn is exhaustive. Disjoint sets of
that kind cost one error each, which bounds the errors from below.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import comb

import numpy as np
from numpy.typing import NDArray

from chanceline.perceptron.compiled import kernel
from chanceline.perceptron.margin import INSEPARABLE, SEPARABLE, UNDECIDED, hard_margin
from chanceline.perceptron.problem import Problem
from chanceline.select.outcome import Bound, Candidate
from chanceline.select.tree import EXHAUSTED, FOUND, PAUSED, Step, Tally, no_tally

SUPPORTS_A_CHUNK = 200


@kernel()
def conflict(rows: NDArray, alive: NDArray, members: NDArray) -> int:
    """Mark patterns among those alive that cannot all be right: their number, 0 if all can, −1 if undecided."""
    patterns, k = rows.shape
    count = 0
    for pattern in range(patterns):
        members[pattern] = False
        count += alive[pattern]
    if count == 0:
        return 0
    part = np.empty((count, k))
    place = 0
    for pattern in range(patterns):
        if alive[pattern]:
            for i in range(k):
                part[place, i] = rows[pattern, i]
            place += 1
    multipliers = np.zeros(count)
    verdict = hard_margin(part, np.zeros(k), multipliers, True)
    if verdict == SEPARABLE:
        return 0
    if verdict != INSEPARABLE:
        return -1
    place, size = 0, 0
    for pattern in range(patterns):
        if alive[pattern]:
            if multipliers[place] > 0.0:
                members[pattern] = True
                size += 1
            place += 1
    return size


@kernel()
def disjoint_conflicts(rows: NDArray, alive: NDArray, members: NDArray, enough: int) -> int:
    """How many disjoint conflicts there are, found greedily, up to `enough`: so many errors are unavoidable."""
    rest = alive.copy()
    found = 0
    while found < enough:
        size = conflict(rows, rest, members)
        if size <= 0:
            return found
        found += 1
        for pattern in range(rest.size):
            if members[pattern]:
                rest[pattern] = False
    return found


@kernel()
def errors_suffice(rows: NDArray, alive: NDArray, certain: NDArray, allowed: int, tally: Tally) -> int:
    """Whether giving up at most `allowed` of the alive patterns, none of the certain ones, leaves a separable rest.

    SEPARABLE, INSEPARABLE or UNDECIDED. Afterwards `alive` is the rest that separates, if there is one, else as it
    was.
    """
    tally.nodes[0] += 1
    members = np.zeros(alive.size, dtype=np.bool_)
    size = conflict(rows, alive, members)
    if size == 0:
        return SEPARABLE
    if size < 0:
        return UNDECIDED
    if allowed == 0:
        return INSEPARABLE
    if disjoint_conflicts(rows, alive, np.zeros(alive.size, dtype=np.bool_), allowed + 1) > allowed:
        return INSEPARABLE
    verdict = INSEPARABLE
    fixed = np.zeros(alive.size, dtype=np.bool_)
    for pattern in range(alive.size):
        if members[pattern] and not certain[pattern]:
            alive[pattern] = False
            below = errors_suffice(rows, alive, certain, allowed - 1, tally)
            if below == SEPARABLE:
                return SEPARABLE
            alive[pattern] = True
            if below == UNDECIDED:
                verdict = UNDECIDED
            # From here on this pattern is right: all sets of errors with it have been seen.
            certain[pattern] = True
            fixed[pattern] = True
    for pattern in range(alive.size):
        if fixed[pattern]:
            certain[pattern] = False
    return verdict


@kernel()
def next_support(chosen: NDArray, n: int) -> bool:
    """The next combination in lexicographic order; False after the last."""
    size = chosen.size
    i = size - 1
    while i >= 0 and chosen[i] == n - size + i:
        i -= 1
    if i < 0:
        return False
    chosen[i] += 1
    for j in range(i + 1, size):
        chosen[j] = chosen[j - 1] + 1
    return True


@kernel()
def try_supports(columns: NDArray, kept: int, chosen: NDArray, allowed: int, tally: Tally, count: int) -> int:
    """Test up to `count` supports from `chosen` on: FOUND (it is in `chosen`), PAUSED or EXHAUSTED."""
    total, patterns = columns.shape
    n = total - kept
    rows = np.empty((patterns, chosen.size + kept))
    alive, certain = np.ones(patterns, dtype=np.bool_), np.zeros(patterns, dtype=np.bool_)
    for _ in range(count):
        for pattern in range(patterns):
            for i in range(chosen.size):
                rows[pattern, i] = columns[chosen[i], pattern]
            for i in range(kept):
                rows[pattern, chosen.size + i] = columns[n + i, pattern]
            alive[pattern] = True
            certain[pattern] = False
        verdict = errors_suffice(rows, alive, certain, allowed, tally)
        if verdict == SEPARABLE:
            return FOUND
        tally.undecided[0] += verdict == UNDECIDED
        if not next_support(chosen, n):
            return EXHAUSTED
    return PAUSED


def supports_with_errors(problem: Problem, size: int, allowed: int) -> Iterator[Step]:
    """All supports of `size` variables, some at a time: does one make at most `allowed` errors?"""
    chosen, tally = np.arange(size), no_tally()
    verdict = PAUSED
    while verdict == PAUSED:
        verdict = try_supports(problem.columns, problem.kept, chosen, allowed, tally, SUPPORTS_A_CHUNK)
        yield Step(verdict, int(tally.nodes[0]), int(tally.undecided[0]), chosen.copy())


def rule_with_errors(problem: Problem, support: NDArray[np.int64], allowed: int, iterations: int) -> Candidate | None:
    """The candidate of largest margin on what is left after giving up at most `allowed` patterns; None if impossible."""
    chosen = np.append(support, np.arange(problem.n_features, problem.n_features + problem.kept))
    rows = np.ascontiguousarray(problem.columns[chosen].T)
    alive, certain = np.ones(problem.n_samples, dtype=np.bool_), np.zeros(problem.n_samples, dtype=np.bool_)
    if errors_suffice(rows, alive, certain, allowed, no_tally()) != SEPARABLE:
        return None
    weights = np.zeros(chosen.size)
    if alive.any():
        hard_margin(np.ascontiguousarray(rows[alive]), weights, np.zeros(int(alive.sum())), False)
    return Candidate(support, weights[: support.size], float(weights[-1]) if problem.kept else 0.0, iterations)


def prove_with_errors(problem: Problem, best: Candidate, budget: int, errors: int) -> Iterator[Candidate | Bound | int]:
    """Refute sizes 1, 2, … until one makes at most `errors` errors, which is then the minimum, or `best` is reached.

    The budget counts nodes: choices of patterns to give up.
    """
    nodes = 0
    for size in range(1, best.support.size):
        if comb(problem.n_features, size) > budget - nodes:
            return
        for step in supports_with_errors(problem, size, errors):
            yield best.iterations + nodes + step.nodes
            if nodes + step.nodes >= budget:
                break
        nodes += step.nodes
        if step.verdict == FOUND:
            found = rule_with_errors(problem, step.support, errors, best.iterations + nodes)
            assert found is not None  # the same test has just said so
            yield found
        if step.verdict != EXHAUSTED or step.undecided:
            return
        yield Bound(size + 1, nodes)
