"""Supports of ±1 variables as covers: every few patterns that cancel on a support refute it.

If Σ_μ λ_μ a_μj = 0 with λ ≥ 0 for all j of a support, nothing separates there (Gordan). So every separating support
contains a variable of the cut D = {j : Σ_μ λ_μ a_μj ≠ 0}. Two patterns cancel on half of the variables, four with equal
λ on 3/8 of them; the latter are so many that they refute nearly every support too small to separate. The walk branches
on the variables of the smallest cut not yet met: j₁ in; j₁ out, j₂ in; j₁, j₂ out, j₃ in; … The last variable must lie in all
the cuts that are left. The hard margin decides on the supports that meet every cut.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chanceline.perceptron.bits import only_signs, pack_signs
from chanceline.perceptron.compiled import inner_kernel, kernel
from chanceline.perceptron.margin import INSEPARABLE, SEPARABLE, hard_margin
from chanceline.perceptron.problem import Problem
from chanceline.select.tree import EXHAUSTED, FOUND, PAUSED, Step

MOST_SIGNS = 10  # on more variables few patterns cancel, and the tree is faster
MOST_PATTERNS = 128  # their fours are ten million
MOST_CUTS = 40_000
NODES_A_CHUNK = 20_000

ONE = np.uint64(1)
NOTHING = np.uint64(0)

Cover = namedtuple("Cover", "columns cuts unmet allowed todo chosen size tally")
Cover.__doc__ = """State of a depth-first walk, so that it can pause; sets of variables are bits of a word.

columns (N + kept, P) are ±1, the kept ones last. At each level: cuts[:unmet] that the chosen variables do not meet, the
variables still allowed, those still to be tried, and the one chosen to get below. size = [N, kept, wanted, level];
tally = [nodes, undecided tests]; the supports that differ in their last three variables alone are one node.
"""


@inner_kernel()
def members(word: Any) -> Any:
    """The number of bits set."""
    word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@inner_kernel()
def lowest(word: Any) -> Any:
    """The place of the lowest bit set."""
    return members((word & (~word + ONE)) - ONE)


@kernel()
def cuts_of_four(bits: NDArray, n: int, kept: int, largest: int, cuts: NDArray) -> NDArray:
    """How many cuts of two and of four patterns have 0, 1, … variables; those up to `largest` are written to `cuts`.

    Cuts with a kept variable are met by every support, and left out.
    """
    every = ~NOTHING >> np.uint64(64 - n)
    always = (~NOTHING >> np.uint64(64 - n - kept)) & ~every
    sizes = np.zeros(n + 1, dtype=np.int64)
    written = 0
    for a in range(bits.size):
        for b in range(a):
            unlike = bits[a] ^ bits[b]
            for c in range(b + 1):
                # c = b stands for the pair alone.
                for d in range(c if c < b else 1):
                    cut = ~unlike
                    if c < b:
                        # Four signs cancel where an even number of them is −, and not all are equal.
                        cut = (unlike ^ bits[c] ^ bits[d]) | ~(unlike | (bits[a] ^ bits[c]))
                    if cut & always:
                        continue
                    count = members(cut & every)
                    sizes[count] += 1
                    if count <= largest:
                        cuts[written] = cut & every
                        written += 1
    return sizes


def smallest_cuts(problem: Problem) -> NDArray[np.uint64]:
    """The smallest cuts of two and four patterns, at most MOST_CUTS, by rising size."""
    n, kept = problem.n_features, problem.kept
    bits = pack_signs(np.ascontiguousarray(problem.columns.T))[:, 0].copy()
    sizes = np.cumsum(cuts_of_four(bits, n, kept, -1, np.zeros(0, dtype=np.uint64)))
    largest = int(np.searchsorted(sizes, MOST_CUTS, side="right")) - 1
    cuts = np.zeros(int(sizes[largest]) if largest >= 0 else 0, dtype=np.uint64)
    cuts_of_four(bits, n, kept, largest, cuts)
    counts = np.unpackbits(cuts.view(np.uint8)).reshape(-1, 64).sum(axis=1)
    return cuts[np.argsort(counts, kind="stable")]


def make_cover(problem: Problem, wanted: int) -> Cover:
    """A walk over the supports of `wanted` variables."""
    smallest = smallest_cuts(problem)
    cuts = np.zeros((wanted, smallest.size), dtype=np.uint64)
    cuts[0] = smallest
    cover = Cover(
        columns=problem.columns,
        cuts=cuts,
        unmet=np.zeros(wanted, dtype=np.int64),
        allowed=np.zeros(wanted, dtype=np.uint64),
        todo=np.zeros(wanted, dtype=np.uint64),
        chosen=np.zeros(wanted, dtype=np.int64),
        size=np.array([problem.n_features, problem.kept, wanted, 0], dtype=np.int64),
        tally=np.zeros(2, dtype=np.int64),
    )
    cover.unmet[0] = smallest.size
    cover.allowed[0] = ~NOTHING >> np.uint64(64 - problem.n_features)
    open_level(cover, 0)
    return cover


@kernel()
def open_level(cover: Any, level: int) -> None:
    """Try the variables of the smallest cut that is not met; all that are allowed if there is none."""
    cover.tally[0] += level <= max(cover.size[2] - 3, 0)
    allowed = cover.allowed[level]
    cover.todo[level] = allowed
    fewest = members(allowed)
    for i in range(cover.unmet[level]):
        part = cover.cuts[level, i] & allowed
        count = members(part)
        if count < fewest:
            fewest = count
            cover.todo[level] = part
            if count == 0:
                break
    cover.size[3] = level


@inner_kernel()
def go_down(cover: Any, level: int, j: int) -> None:
    """The cuts that j does not meet, for the level below."""
    count, bit = 0, ONE << np.uint64(j)
    for i in range(cover.unmet[level]):
        cut = cover.cuts[level, i]
        cover.cuts[level + 1, count] = cut
        count += (cut & bit) == NOTHING
    cover.unmet[level + 1] = count
    cover.allowed[level + 1] = cover.allowed[level]


@inner_kernel()
def last_variables(cover: Any, level: int, j: int) -> Any:
    """The variables that meet all cuts which j does not."""
    both, bit = cover.allowed[level], ONE << np.uint64(j)
    for i in range(cover.unmet[level]):
        cut = cover.cuts[level, i]
        if (cut & bit) == NOTHING:
            both &= cut
            if both == NOTHING:
                break
    return both


@kernel()
def separates(cover: Any) -> bool:
    """Whether the chosen variables separate, by the hard margin."""
    n, kept, wanted = cover.size[0], cover.size[1], cover.size[2]
    patterns = cover.columns.shape[1]
    part = np.empty((patterns, wanted + kept))
    for pattern in range(patterns):
        for i in range(wanted):
            part[pattern, i] = cover.columns[cover.chosen[i], pattern]
        for i in range(kept):
            part[pattern, wanted + i] = cover.columns[n + i, pattern]
    verdict = hard_margin(part, np.zeros(wanted + kept), np.zeros(patterns), True)
    cover.tally[0] += 1
    cover.tally[1] += verdict != SEPARABLE and verdict != INSEPARABLE
    return verdict == SEPARABLE


@kernel()
def walk_cover(cover: Any, budget: int) -> int:
    """Walk on for about `budget` nodes: EXHAUSTED, PAUSED, or FOUND (a separating support is in `chosen`)."""
    wanted = cover.size[2]
    limit = cover.tally[0] + budget
    while cover.size[3] >= 0:
        level = cover.size[3]
        if cover.tally[0] >= limit:
            return PAUSED
        if cover.todo[level] == NOTHING:
            cover.size[3] = level - 1
            continue
        j = lowest(cover.todo[level])
        bit = ONE << np.uint64(j)
        cover.todo[level] &= ~bit
        cover.allowed[level] &= ~bit
        cover.chosen[level] = j
        if level < wanted - 2:
            go_down(cover, level, j)
            open_level(cover, level + 1)
            continue
        last = last_variables(cover, level, j)
        while last != NOTHING:
            cover.chosen[level + 1] = lowest(last)
            last &= last - ONE
            if separates(cover):
                return FOUND
    return EXHAUSTED


def can_cover(problem: Problem, size: int) -> bool:
    """Whether the supports of this size can be walked as covers, and should be."""
    signs = size + problem.kept
    fits = problem.n_features + problem.kept <= 64 and problem.n_samples <= MOST_PATTERNS
    return size >= 2 and signs <= MOST_SIGNS and fits and only_signs(problem.columns)


def covers(problem: Problem, size: int) -> Iterator[Step]:
    """The supports of `size` variables that meet all cuts, a chunk of nodes at a time."""
    cover = make_cover(problem, size)
    while True:
        verdict = walk_cover(cover, NODES_A_CHUNK)
        yield Step(verdict, int(cover.tally[0]), int(cover.tally[1]), np.sort(cover.chosen))
