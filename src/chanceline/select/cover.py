"""Supports of ±1 variables as covers: every few patterns that cancel on a support refute it.

If Σ_μ λ_μ a_μj = 0 with λ ≥ 0 for all j of a support, nothing separates there (Gordan). So every separating support
contains a variable of the cut D = {j : Σ_μ λ_μ a_μj ≠ 0}. Two patterns cancel on half of the variables, four with equal
λ on 3/8, six on 5/16 of them; the latter are so many that they refute nearly every support too small to separate. The walk
branches on the variables of the smallest cut not yet met: j₁ in; j₁ out, j₂ in; j₁, j₂ out, j₃ in; … While many variables are
still to be chosen, the hard margin on all that are allowed gives a smaller cut, of many patterns at once. The last variable
must lie in all the cuts that are left. The hard margin decides on the supports that meet every cut.
"""

from __future__ import annotations

import math
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

MOST_SIGNS = 16  # on more variables few patterns cancel, and the tree is faster
MOST_PATTERNS = 128  # their fours are ten million
SIXES_FROM = 9  # variables, from which the cuts of six patterns are worth their time
MOST_SIXES = 80_000_000  # those of 64 patterns
MOST_CUTS = 100_000
MARGIN_FROM = 5  # variables still to be chosen, from which a hard margin is worth its time
NODES_A_CHUNK = 500

ONE = np.uint64(1)
NOTHING = np.uint64(0)

Cover = namedtuple("Cover", "columns order kept wanted cuts unmet allowed todo chosen multipliers level nodes undecided")
Cover.__doc__ = """State of a depth-first walk, so that it can pause; sets of variables are bits of a word.

columns (N + kept, P) are ±1, the kept ones last; order says which variable each of the others is. At each level: cuts[:unmet]
that the chosen variables do not meet, the variables still allowed, those still to be tried, the one chosen to get below, and
the multipliers of the hard margin, from which that of the next level starts. level, nodes and undecided (tests) are single
numbers. Of the nodes the supports that differ in their last three variables alone are one, and every hard margin is one.
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


@kernel()
def cuts_of_six(bits: NDArray, n: int, kept: int, largest: int, cuts: NDArray) -> NDArray:
    """The same for six patterns."""
    every = ~NOTHING >> np.uint64(64 - n)
    always = (~NOTHING >> np.uint64(64 - n - kept)) & ~every
    sizes = np.zeros(n + 1, dtype=np.int64)
    written = 0
    for a in range(bits.size):
        for b in range(a):
            # How many of the signs so far are −, as a binary number: ones, twos and fours. Six signs cancel where it is three.
            ones_b, twos_b = bits[a] ^ bits[b], bits[a] & bits[b]
            for c in range(b):
                ones_c, twos_c = ones_b ^ bits[c], twos_b | (ones_b & bits[c])
                for d in range(c):
                    ones_d, carry = ones_c ^ bits[d], ones_c & bits[d]
                    twos_d, fours_d = twos_c ^ carry, twos_c & carry
                    for e in range(d):
                        ones_e, carry = ones_d ^ bits[e], ones_d & bits[e]
                        twos_e, fours_e = twos_d ^ carry, fours_d | (twos_d & carry)
                        for f in range(e):
                            ones, carry = ones_e ^ bits[f], ones_e & bits[f]
                            cut = ~(ones & (twos_e ^ carry) & ~(fours_e | (twos_e & carry)))
                            if cut & always:
                                continue
                            count = members(cut & every)
                            sizes[count] += 1
                            if count <= largest:
                                cuts[written] = cut & every
                                written += 1
    return sizes


def smallest_cuts(problem: Problem, sixes: bool) -> NDArray[np.uint64]:
    """The smallest cuts of two, four and perhaps six patterns, at most MOST_CUTS, by rising size."""
    n, kept = problem.n_features, problem.kept
    bits = pack_signs(np.ascontiguousarray(problem.columns.T))[:, 0].copy()
    kinds = [cuts_of_four, cuts_of_six] if sixes and math.comb(problem.n_samples, 6) <= MOST_SIXES else [cuts_of_four]
    sizes = [np.cumsum(kind(bits, n, kept, -1, np.zeros(0, dtype=np.uint64))) for kind in kinds]
    largest = int(np.searchsorted(np.sum(sizes, axis=0), MOST_CUTS, side="right")) - 1
    parts = [np.zeros(int(few[largest]) if largest >= 0 else 0, dtype=np.uint64) for few in sizes]
    for kind, part in zip(kinds, parts, strict=True):
        kind(bits, n, kept, largest, part)
    cuts = np.concatenate(parts)
    counts = np.unpackbits(cuts.view(np.uint8)).reshape(-1, 64).sum(axis=1)
    return cuts[np.argsort(counts, kind="stable")]


def most_cuts_first(cuts: NDArray[np.uint64], n: int) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """The variables by falling number of cuts they meet, and the cuts with bits in that order.

    Such a variable is tried first: its branch is one, and all those after it go without it.
    """
    one = np.uint64(1)
    met = [int(np.count_nonzero(cuts >> np.uint64(j) & one)) for j in range(n)]
    order = np.argsort(np.array(met), kind="stable")[::-1].astype(np.int64)
    arranged = np.zeros_like(cuts)
    for place, j in enumerate(order):
        arranged |= (cuts >> np.uint64(j) & one) << np.uint64(place)
    return order, arranged


def make_cover(problem: Problem, wanted: int) -> Cover:
    """A walk over the supports of `wanted` variables."""
    n, kept = problem.n_features, problem.kept
    order, smallest = most_cuts_first(smallest_cuts(problem, wanted >= SIXES_FROM), n)
    cuts = np.zeros((wanted, smallest.size), dtype=np.uint64)
    cuts[0] = smallest
    cover = Cover(
        columns=problem.columns[np.append(order, np.arange(n, n + kept))],
        order=order,
        kept=kept,
        wanted=wanted,
        cuts=cuts,
        unmet=np.zeros(wanted, dtype=np.int64),
        allowed=np.zeros(wanted, dtype=np.uint64),
        todo=np.zeros(wanted, dtype=np.uint64),
        chosen=np.zeros(wanted, dtype=np.int64),
        multipliers=np.zeros((wanted, problem.n_samples)),
        level=np.zeros(1, dtype=np.int64),
        nodes=np.zeros(1, dtype=np.int64),
        undecided=np.zeros(1, dtype=np.int64),
    )
    cover.unmet[0] = smallest.size
    cover.allowed[0] = ~NOTHING >> np.uint64(64 - n)
    open_level(cover, 0)
    return cover


@inner_kernel()
def copy_to(out: NDArray, values: NDArray) -> None:
    for i in range(out.size):
        out[i] = values[i]


@inner_kernel()
def margin_on(cover: Any, variables: Any, early: bool, weights: NDArray, multipliers: NDArray) -> int:
    """The hard margin on these variables and the kept ones; weights are filled in their order."""
    n, patterns = cover.columns.shape[0] - cover.kept, cover.columns.shape[1]
    part = np.empty((patterns, members(variables) + cover.kept))
    place = 0
    for j in range(n + cover.kept):
        if j >= n or (variables >> np.uint64(j)) & ONE:
            for pattern in range(patterns):
                part[pattern, place] = cover.columns[j, pattern]
            place += 1
    verdict = hard_margin(part, weights[:place], multipliers, early)
    cover.nodes[0] += 1
    cover.undecided[0] += early and verdict != SEPARABLE and verdict != INSEPARABLE
    return verdict


@inner_kernel()
def chosen_above(cover: Any, level: int) -> Any:
    """The variables chosen above this level."""
    variables = NOTHING
    for i in range(level):
        variables |= ONE << np.uint64(cover.chosen[i])
    return variables


@inner_kernel()
def cut_by_margin(cover: Any, level: int, most: int) -> None:
    """Take allowed variables out, the heaviest first, until nothing separates: a cut. It is tried if it has fewer than `most`.

    Of the many patterns that cancel then, small cuts come that no two or four patterns have.
    """
    inside, rest, taken = chosen_above(cover, level), cover.allowed[level], NOTHING
    weights, multipliers = np.zeros(cover.columns.shape[0]), np.zeros(cover.columns.shape[1])
    if level > 0:
        copy_to(multipliers, cover.multipliers[level - 1])
    for count in range(most):
        verdict = margin_on(cover, inside | rest, False, weights, multipliers)
        if count == 0:
            copy_to(cover.multipliers[level], multipliers)
        if verdict == INSEPARABLE:
            cover.todo[level] = taken
        if verdict != SEPARABLE:
            return
        heaviest, largest, place = NOTHING, -1.0, 0
        left = inside | rest
        while left != NOTHING:
            bit = left & (~left + ONE)
            if rest & bit and abs(weights[place]) > largest:
                heaviest, largest = bit, abs(weights[place])
            left &= ~bit
            place += 1
        rest &= ~heaviest
        taken |= heaviest


@kernel()
def open_level(cover: Any, level: int) -> None:
    """Try the variables of the smallest cut that is not met; all that are allowed if there is none."""
    cover.nodes[0] += level <= max(cover.wanted - 3, 0)
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
    if fewest > 0 and cover.wanted - level >= MARGIN_FROM:
        cut_by_margin(cover, level, fewest)
    cover.level[0] = level


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


@inner_kernel()
def separates(cover: Any) -> bool:
    """Whether the chosen variables separate, by the hard margin."""
    weights, multipliers = np.zeros(cover.wanted + cover.kept), np.zeros(cover.columns.shape[1])
    return margin_on(cover, chosen_above(cover, cover.wanted), True, weights, multipliers) == SEPARABLE


@kernel()
def walk_cover(cover: Any, budget: int) -> int:
    """Walk on for about `budget` nodes: EXHAUSTED, PAUSED, or FOUND (a separating support is in `chosen`)."""
    limit = cover.nodes[0] + budget
    while cover.level[0] >= 0:
        level = cover.level[0]
        if cover.nodes[0] >= limit:
            return PAUSED
        if cover.todo[level] == NOTHING:
            cover.level[0] = level - 1
            continue
        j = lowest(cover.todo[level])
        bit = ONE << np.uint64(j)
        cover.todo[level] &= ~bit
        cover.allowed[level] &= ~bit
        cover.chosen[level] = j
        if level < cover.wanted - 2:
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
        yield Step(verdict, int(cover.nodes[0]), int(cover.undecided[0]), np.sort(cover.order[cover.chosen]))
