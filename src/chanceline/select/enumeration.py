"""All supports of a few ±1 variables, tested by the sets of sign patterns that occur on them.

On K variables a pattern a_μ is one of 2^K sign vectors. If two patterns are opposite there, nothing separates. Turned so
that its first sign is +, a pattern is a number below 2^(K−1), and one bit of a word; the turned and the unturned patterns
are a word each, and the support is refuted when the words share a bit. Of those that pass, few in a thousand where the
smallest support is near, the hard margin decides. A support costs about ten nanoseconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import comb

import numpy as np
from numpy.typing import NDArray

from chanceline.perceptron.bits import only_signs
from chanceline.perceptron.compiled import kernel
from chanceline.perceptron.margin import INSEPARABLE, SEPARABLE, hard_margin
from chanceline.perceptron.problem import Problem
from chanceline.select.tree import EXHAUSTED, FOUND, PAUSED, Step, Tally, no_tally

MOST_SIGNS = 7  # the relative signs of the others number one bit of a 64-bit word


@kernel()
def opposite_patterns(code: NDArray, relative: NDArray, turned: NDArray) -> bool:
    """Whether a turned and an unturned pattern have the same code 2·code_μ + relative_μ."""
    plain, mirrored = np.uint64(0), np.uint64(0)
    for pattern in range(code.size):
        bit = np.uint64(1) << np.uint64((code[pattern] << 1) | relative[pattern])
        plain |= bit & ~turned[pattern]
        mirrored |= bit & turned[pattern]
    return (plain & mirrored) != 0


@kernel()
def enumerate_from(columns: NDArray, kept: int, size: int, first: int, tally: Tally) -> NDArray:
    """The first separating support of `size` variables whose lowest is `first`, or nothing (−1 everywhere).

    columns (N + kept, P) are ±1, the kept ones last. The supports that differ in their last variable alone are
    one node.
    """
    total, patterns = columns.shape
    n = total - kept
    negative = columns < 0.0
    # The intercept, or else the first variable, is the sign that patterns are turned by.
    lead = negative[n] if kept else negative[first]
    turned = np.zeros(patterns, dtype=np.uint64)
    for pattern in range(patterns):
        turned[pattern] = ~np.uint64(0) if lead[pattern] else np.uint64(0)
    relative = np.zeros((n, patterns), dtype=np.uint8)
    for j in range(n):
        for pattern in range(patterns):
            relative[j, pattern] = negative[j, pattern] != lead[pattern]
    code = np.zeros((size + 1, patterns), dtype=np.uint8)
    chosen = np.full(size, first)
    part, weights, multipliers = np.zeros((patterns, size + kept)), np.zeros(size + kept), np.zeros(patterns)
    level = 0
    while level >= 0:
        j = chosen[level]
        if j > n - (size - level) or (level == 0 and j > first):
            level -= 1
            if level >= 0:
                chosen[level] += 1
            continue
        if level < size - 1:
            for pattern in range(patterns):
                code[level + 1, pattern] = (code[level, pattern] << 1) | relative[j, pattern]
            level += 1
            chosen[level] = j + 1
            tally.nodes[0] += level == size - 1
            continue
        if not opposite_patterns(code[level], relative[j], turned):
            for pattern in range(patterns):
                for i in range(size):
                    part[pattern, i] = columns[chosen[i], pattern]
                for i in range(kept):
                    part[pattern, size + i] = columns[n + i, pattern]
            multipliers[:] = 0.0
            verdict = hard_margin(part, weights, multipliers, True)
            tally.nodes[0] += 1
            if verdict == SEPARABLE:
                return chosen
            tally.undecided[0] += verdict != INSEPARABLE
        chosen[level] += 1
    return np.full(size, -1)


def nodes_to_enumerate(problem: Problem, size: int) -> float:
    """About how many nodes the supports of this size are; infinite where they cannot be enumerated."""
    if size + problem.kept > MOST_SIGNS or not only_signs(problem.columns):
        return float("inf")
    return comb(problem.n_features, size - 1)


def enumerate_supports(problem: Problem, size: int) -> Iterator[Step]:
    """All supports of `size` variables, one lowest variable at a time."""
    tally = no_tally()
    for first in range(problem.n_features - size + 1):
        support = enumerate_from(problem.columns, problem.kept, size, first, tally)
        yield Step(FOUND if support[0] >= 0 else PAUSED, int(tally.nodes[0]), int(tally.undecided[0]), support)
    yield Step(EXHAUSTED, int(tally.nodes[0]), int(tally.undecided[0]), np.zeros(0, dtype=np.int64))
