"""One tree over all supports of a given size, for proofs and for counting.

A node has decided some variables in (I) and some out; R are the rest. If I ∪ R does not separate, nothing below does.
The node's witness w orders R by |w_j|, and the children are: j₁ out; j₁ in, j₂ out; j₁, j₂ in, j₃ out; … Taking the most
important variable out first makes the rest inseparable soon, which keeps the tree small.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chanceline.perceptron.bits import pack_signs
from chanceline.perceptron.compiled import kernel
from chanceline.perceptron.margin import INSEPARABLE, SEPARABLE, hard_margin

UNDECIDED_YET, IN, OUT = 0, 1, 2
EXHAUSTED, PAUSED, FOUND = 0, 1, 2


class Step(NamedTuple):
    """How far the proof for one size has come: EXHAUSTED, PAUSED or FOUND, and at what cost."""

    verdict: int
    nodes: int
    undecided: int
    support: NDArray[np.int64]


Tally = namedtuple("Tally", "nodes undecided")
Tally.__doc__ = """What a proof has cost so far, counted in place: nodes, and tests that could not decide."""


def no_tally() -> Tally:
    return Tally(np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64))


Tree = namedtuple(
    "Tree",
    "rows bits binomial kept wanted counting status order width turn inside witness multipliers level chosen nodes undecided "
    "counted found",
)
Tree.__doc__ = """State of a depth-first walk, so that it can pause.

rows (P, N + kept) with the kept columns last; bits are the rows' signs in one word each (empty unless all are ±1).
status[j]: undecided, in, out. At each level: order[:width] the undecided variables, turn how many of them were taken
out so far, inside how many were in at its start, and its witness. Single numbers are the level, how many variables are in
(chosen), the nodes, the undecided tests and the supports counted; found is the support that separates, as 0/1.
"""


def make_tree(columns: NDArray[np.float64], kept: int, wanted: int, counting: bool) -> Tree:
    """A walk over supports of `wanted` variables: all of them counted, or any found that is at most as large."""
    total, patterns = columns.shape
    n = total - kept
    rows = np.ascontiguousarray(columns.T)
    bits = np.zeros(0, dtype=np.uint64)
    if total <= 64 and pack_signs(columns).shape[1]:
        bits = pack_signs(rows)[:, 0].copy()
    binomial = np.zeros((n + 1, n + 1))
    for row in range(n + 1):
        binomial[row, 0] = 1.0
        for place in range(1, row + 1):
            binomial[row, place] = binomial[row - 1, place - 1] + binomial[row - 1, place]
    depth = n + 2
    return Tree(
        rows=rows,
        bits=bits,
        binomial=binomial,
        kept=kept,
        wanted=wanted,
        counting=counting,
        status=np.zeros(n, dtype=np.int64),
        order=np.zeros((depth, n), dtype=np.int64),
        width=np.zeros(depth, dtype=np.int64),
        turn=np.zeros(depth, dtype=np.int64),
        inside=np.zeros(depth, dtype=np.int64),
        witness=np.zeros((depth, total)),
        multipliers=np.zeros((depth, patterns)),
        level=np.full(1, -1, dtype=np.int64),
        chosen=np.zeros(1, dtype=np.int64),
        nodes=np.zeros(1, dtype=np.int64),
        undecided=np.zeros(1, dtype=np.int64),
        counted=np.zeros(1, dtype=np.int64),
        found=np.zeros(n, dtype=np.int64),
    )


@kernel()
def opposite_pair(bits: NDArray, mask: Any) -> bool:
    """Whether two patterns are opposite on the masked variables, so that no w can have both."""
    for first in range(bits.size):
        differ = np.uint64(0)
        for second in range(first):
            differ |= np.uint64(((bits[first] ^ bits[second]) & mask) == mask)
        if differ:
            return True
    return False


@kernel()
def test_separable(tree: Any, only_in: bool, level: int) -> int:
    """Whether the variables in (or, unless `only_in`, all that are not out) separate; fills the level's witness."""
    n, kept = tree.status.size, tree.kept
    tree.nodes[0] += 1
    chosen, mask = 0, np.uint64(0)
    for j in range(n + kept):
        if j >= n or tree.status[j] == IN or (tree.status[j] == UNDECIDED_YET and not only_in):
            mask |= np.uint64(1) << np.uint64(j & 63)
            chosen += 1
    if chosen == 0:
        return INSEPARABLE
    if tree.bits.size and only_in and opposite_pair(tree.bits, mask):
        return INSEPARABLE
    patterns = tree.rows.shape[0]
    part = np.empty((patterns, chosen))
    for pattern in range(patterns):
        place = 0
        for j in range(n + kept):
            if j >= n or tree.status[j] == IN or (tree.status[j] == UNDECIDED_YET and not only_in):
                part[pattern, place] = tree.rows[pattern, j]
                place += 1
    weights = np.zeros(chosen)
    multipliers = np.zeros(patterns)
    if not only_in and level > 0:
        multipliers[:] = tree.multipliers[level - 1]
    verdict = hard_margin(part, weights, multipliers, only_in)
    if verdict != SEPARABLE and verdict != INSEPARABLE:
        tree.undecided[0] += 1
    if not only_in:
        tree.multipliers[level] = multipliers
        place = 0
        for j in range(n):
            tree.witness[level, j] = 0.0
            if tree.status[j] != OUT:
                tree.witness[level, j] = weights[place]
                place += 1
    return verdict


@kernel()
def record(tree: Any, only_in: bool) -> None:
    for j in range(tree.status.size):
        tree.found[j] = tree.status[j] == IN or (tree.status[j] == UNDECIDED_YET and not only_in)


@kernel()
def open_level(tree: Any, level: int) -> None:
    """The undecided variables by falling |w_j| of the level's witness."""
    count = 0
    for j in range(tree.status.size):
        if tree.status[j] == UNDECIDED_YET:
            place = count
            while place > 0 and abs(tree.witness[level, tree.order[level, place - 1]]) < abs(tree.witness[level, j]):
                tree.order[level, place] = tree.order[level, place - 1]
                place -= 1
            tree.order[level, place] = j
            count += 1
    tree.width[level] = count
    tree.turn[level] = 0
    tree.inside[level] = tree.chosen[0]
    tree.level[0] = level


@kernel()
def close_level(tree: Any, level: int) -> None:
    for place in range(tree.turn[level]):
        tree.status[tree.order[level, place]] = UNDECIDED_YET
    tree.chosen[0] = tree.inside[level]
    tree.level[0] = level - 1


@kernel()
def walk(tree: Any, budget: int) -> int:
    """Walk on for `budget` nodes: EXHAUSTED, PAUSED, or FOUND (a support is in `found`)."""
    wanted, counting = tree.wanted, tree.counting
    limit = tree.nodes[0] + budget
    if tree.level[0] < 0:
        if wanted < 0 or wanted > tree.status.size or test_separable(tree, False, 0) == INSEPARABLE:
            return EXHAUSTED
        open_level(tree, 0)
    while tree.level[0] >= 0:
        level = tree.level[0]
        if tree.nodes[0] >= limit:
            return PAUSED
        turn = tree.turn[level]
        if turn > 0 and tree.status[tree.order[level, turn - 1]] == OUT:
            # Back from the child without this variable: from now on it is in.
            tree.status[tree.order[level, turn - 1]] = IN
            tree.chosen[0] += 1
            left = tree.width[level] - turn
            if tree.chosen[0] >= wanted or counting:
                separable = test_separable(tree, True, level) == SEPARABLE
                if separable and not counting:
                    record(tree, True)
                    close_level(tree, level)
                    return FOUND
                if separable:
                    tree.counted[0] += int(tree.binomial[left, wanted - tree.chosen[0]])
                if separable or tree.chosen[0] >= wanted:
                    close_level(tree, level)
                    continue
        remaining = tree.chosen[0] + tree.width[level] - turn
        if tree.chosen[0] > wanted or (counting and remaining < wanted):
            close_level(tree, level)
            continue
        if turn == tree.width[level] or (remaining <= wanted):
            # Everything not out fits, and separates.
            if counting:
                tree.counted[0] += 1
                close_level(tree, level)
                continue
            record(tree, False)
            close_level(tree, level)
            return FOUND
        tree.status[tree.order[level, turn]] = OUT
        tree.turn[level] = turn + 1
        if counting and remaining - 1 < wanted:
            continue
        if test_separable(tree, False, level + 1) != INSEPARABLE:
            open_level(tree, level + 1)
    return EXHAUSTED
