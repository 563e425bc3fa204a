"""One walk over all supports of a given size, ±1 or real, with errors or without, for proofs and for counting.

A support that suffices contains a variable of every cut: of every set of variables without which the others do not. The walk
branches on the variables of a small cut not yet met: j₁ in; j₁ out, j₂ in; j₁, j₂ out, j₃ in; … The hard margin gives a cut
anywhere: the heaviest variables |w_j| are taken out one after the other until what is in or open does not suffice. For ±1
variables there are many more, of few patterns each (`cuts.py`): while few variables are still to be chosen these do alone.

Where a set of patterns cannot all be right, few of them (one more than the variables at most) already cannot: those with a
positive multiplier. At least one of them is an error, so a search that gives up each in turn is exhaustive. Disjoint sets of
that kind cost one error each, which bounds the errors from below.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chanceline.perceptron.linalg import NONE, ZERO, counter, inlined_kernel, inner_kernel, kernel
from chanceline.perceptron.margin import INSEPARABLE, SEPARABLE, UNDECIDED, hard_margin, make_passive
from chanceline.perceptron.problem import Problem
from chanceline.select.auto import run_auto
from chanceline.select.cuts import NOTHING, SIXES_FROM, arranged_cuts, bits_set, can_cut, pack
from chanceline.select.outcome import Candidate, LowerBound

OPEN, IN, OUT = counter(0), counter(1), counter(2)
EXHAUSTED, PAUSED, FOUND = 0, 1, 2
BY_WORDS, BEGUN, BY_MARGIN = 0, 1, 2  # how the cut of a level is found
MARGIN_FROM = 5  # variables still to be chosen, from which a hard margin is worth its time where there are other cuts
NODES_A_CHUNK = 2_000
EXACT_NODES = 20_000_000
ONE = np.uint64(1)

Walk = namedtuple(
    "Walk",
    "columns signed order kept wanted errors counting cuts unmet status open words todo left most chosen how row weights "
    "multipliers level tally room",
)
Walk.__doc__ = """State of a depth-first walk, so that it can pause.

columns (N + kept, P), the kept ones last; order says which variable each of the others is; signed ones have no negative weight.
status[j]: open, in, out; open has the same as bits. At each level: cuts[level, :, :unmet] that the variables in do not meet
(bits, by words), todo[:left] whose turn is still to come, meanwhile out, and the one chosen. If the level is a cut by the margin,
rows row, row + 1, … of weights and multipliers are the fits before each of its variables was taken out. tally: nodes, undecided
tests, supports counted. Of the nodes the supports that differ in their last three variables alone are one, and every hard margin
is one.
"""


def make_walk(problem: Problem, wanted: int, errors: int = 0, counting: bool = False) -> Walk:
    """A walk over the supports of `wanted` variables that make at most `errors` errors."""
    n, kept = problem.n_features, problem.kept
    order, smallest = np.arange(n), np.zeros((-(-n // 64), 0), dtype=np.uint64)
    if not errors and can_cut(problem, wanted):
        order, smallest = arranged_cuts(problem, wanted >= SIXES_FROM)
    cuts = np.zeros((wanted, *smallest.shape), dtype=np.uint64)
    cuts[0] = smallest
    every = np.append(order, np.arange(n, n + kept))
    return Walk(
        columns=problem.columns[every],
        signed=problem.signed[every],
        order=order,
        kept=kept,
        wanted=wanted,
        errors=errors,
        counting=counting,
        cuts=cuts,
        unmet=np.full(wanted, smallest.shape[1]),
        status=np.zeros(n, dtype=np.int64),
        open=pack(np.ones((1, n), dtype=np.bool_))[:, 0].copy(),
        words=np.zeros(len(smallest), dtype=np.uint64),
        todo=np.zeros((wanted, n), dtype=np.int64),
        left=np.zeros(wanted, dtype=np.int64),
        most=np.zeros(wanted, dtype=np.int64),
        chosen=np.full(wanted, -1),
        how=np.zeros(wanted, dtype=np.int64),
        row=np.zeros(wanted, dtype=np.int64),
        weights=np.zeros((n + 2, n)),
        multipliers=np.zeros((n + 2, problem.n_samples)),
        level=np.full(1, -1),
        tally=np.zeros(3, dtype=np.int64),
        room=make_room(n + kept, problem.n_samples, errors),
    )


Room = namedtuple("Room", "used alive certain rest conflicts rows values weights passive")
Room.__doc__ = (
    """What `errors_suffice` works in: the variables used, the patterns alive, those that are right, and what it makes of them."""
)


def make_room(columns: int, patterns: int, errors: int) -> Room:
    """Room for so many columns, all of them used, and patterns, all of them alive."""
    certain, rest = np.zeros((2, patterns), dtype=np.bool_)
    conflicts, rows = np.zeros((errors + 1, patterns), dtype=np.bool_), np.zeros((patterns + columns, columns))
    passive = make_passive(*rows.shape)
    return Room(np.arange(columns), ~rest, certain, rest, conflicts, rows, np.zeros(len(rows)), np.zeros(columns), passive)


@kernel(allocates=False)
def errors_suffice(
    columns: NDArray, signed: NDArray, k: int, errors: int, multipliers: NDArray, early: bool, tally: NDArray, room: Any
) -> int:
    """Whether giving up at most `errors` of the alive patterns, none of the certain ones, leaves a rest that k used separate.

    SEPARABLE, INSEPARABLE or UNDECIDED. Afterwards `alive` is the rest that separates, if there is one, else as it was.
    multipliers and early are those of `hard_margin`, its weights are in the room.
    """
    rest, values, conflict, found, verdict = room.rest, room.values, room.conflicts[errors], 0, INSEPARABLE
    for pattern in range(rest.size):
        rest[pattern] = room.alive[pattern]
        conflict[pattern] = False
    tally[0] += 1
    while verdict == INSEPARABLE:
        count = ZERO
        for pattern in range(rest.size):
            if rest[pattern]:
                values[count] = multipliers[pattern] if found == 0 else 0.0
                for i in range(k):
                    room.rows[count, i] = columns[room.used[i], pattern]
                count += 1
        verdict, total = SEPARABLE, count
        for i in range(k):
            if signed[room.used[i]]:
                for j in range(k):
                    room.rows[total, j] = 1.0 if i == j else 0.0
                values[total] = 0.0
                total += 1
        if count > 0:
            verdict = hard_margin(room.rows[:total], count, room.weights[:k], values[:total], early, room.passive)
        place = 0
        for pattern in range(rest.size):
            value = values[place] if rest[pattern] else 0.0
            place += rest[pattern]
            # Those of a conflict cannot all be right. Disjoint ones cost an error each.
            rest[pattern] &= value <= 0.0
            if found == 0:
                multipliers[pattern] = value
                conflict[pattern] = value > 0.0 and not room.certain[pattern]
        found += 1
        if (found == 1 and verdict != INSEPARABLE) or (verdict == INSEPARABLE and found > errors):
            return verdict
    verdict = INSEPARABLE
    for pattern in range(rest.size):
        if conflict[pattern]:
            room.alive[pattern] = False
            below = errors_suffice(columns, signed, k, errors - 1, multipliers, early, tally, room)
            if below == SEPARABLE:
                return SEPARABLE
            room.alive[pattern] = True
            verdict = UNDECIDED if below == UNDECIDED else verdict
            # From here on this pattern is right: all sets of errors with it have been seen.
            room.certain[pattern] = True
    for pattern in range(rest.size):
        room.certain[pattern] &= not conflict[pattern]
    return verdict


@inner_kernel(allocates=False)
def put(walk: Any, j: int, status: int) -> None:
    """Variable j is now open, in or out."""
    bit, w = ONE << np.uint64(j & 63), j >> 6
    walk.status[j] = status
    walk.open[w] = walk.open[w] | bit if status == OPEN else walk.open[w] & ~bit


@inlined_kernel()
def keep_unmet(walk: Any, level: int) -> None:
    """The cuts of this level: those of the one above that its variable does not meet."""
    j, count = walk.chosen[level - 1], 0
    bit, home = ONE << np.uint64(j & 63), walk.cuts[level - 1, j >> 6]
    for w in range(walk.open.size):
        before, now, count = walk.cuts[level - 1, w], walk.cuts[level, w], 0
        for i in range(walk.unmet[level - 1]):
            now[count] = before[i]
            count += (home[i] & bit) == NOTHING
    walk.unmet[level] = count


@inlined_kernel()
def shared_by_unmet(walk: Any, level: int) -> int:
    """The open variables that meet all cuts which the one above does not: how many."""
    j, shared, above = walk.chosen[level - 1], 0, level - 1
    bit, home = ONE << np.uint64(j & 63), j >> 6
    for w in range(walk.words.size):
        both = walk.open[w]
        for i in range(walk.unmet[above]):
            if (walk.cuts[above, home, i] & bit) == NOTHING:
                both &= walk.cuts[above, w, i]
                if both == NOTHING:
                    break
        walk.words[w] = both
        shared += bits_set(both)
    return shared


@inlined_kernel()
def smallest_unmet(walk: Any, level: int) -> int:
    """The open part of the cut for which that is smallest (all that are open if there is none): its size."""
    fewest, best, cuts, first = walk.status.size, -1, walk.cuts[level], walk.open[0]
    for i in range(walk.unmet[level]):
        size = bits_set(cuts[0, i] & first)
        for w in range(1, walk.words.size):
            size += bits_set(cuts[w, i] & walk.open[w])
        if size < fewest:
            fewest, best = size, i
            if size == 0:
                break
    for w in range(walk.words.size):
        walk.words[w] = walk.open[w] & (cuts[w, best] if best >= 0 else ~NOTHING)
    return fewest


@inner_kernel(allocates=False)
def open_level(walk: Any, level: int) -> None:
    """Go on to a level, unless a cut not met has no open variable."""
    fewest, last = walk.status.size, level == walk.wanted - 1
    walk.tally[0] += level == 0 or level <= walk.wanted - 3
    if walk.cuts.shape[2] > 0:
        if level > 0 and not last:
            keep_unmet(walk, level)
        fewest = shared_by_unmet(walk, level) if last else smallest_unmet(walk, level)
        if fewest == 0:
            return
    walk.level[0], walk.chosen[level], walk.left[level], walk.most[level] = level, -1, 0, fewest
    if level > 0:
        # What is in or open is what the level above had in one of its fits.
        walk.row[level] = walk.row[level - 1] + (walk.left[level - 1] if walk.how[level - 1] == BY_MARGIN else 0)
    # Whether many variables suffice with errors takes long to decide: then every support is tried.
    if walk.errors == 0 and (walk.cuts.shape[2] == 0 or walk.wanted - level >= MARGIN_FROM):
        walk.how[level] = BEGUN
    else:
        take_words(walk, level)


@inner_kernel(allocates=False)
def take_words(walk: Any, level: int) -> None:
    """Take the variables in `words` out until their turn comes."""
    walk.how[level], count = BY_WORDS, 0
    for w in range(walk.open.size):
        word = walk.words[w] if walk.cuts.shape[2] > 0 else walk.open[w]
        while word != NOTHING:
            walk.todo[level, count] = 64 * w + bits_set((word & (~word + ONE)) - ONE)
            put(walk, walk.todo[level, count], OUT)
            word &= word - ONE
            count += 1
    walk.left[level] = count


@inlined_kernel()
def extend_cut(walk: Any, level: int, row: int, verdict: int) -> None:
    """After a fit of what is in or open: if it suffices, take the heaviest open variable out; if not, the cut is complete."""
    if verdict == INSEPARABLE:
        walk.how[level] = BY_MARGIN
        return
    heaviest, largest = NONE, -1.0
    for j in range(walk.status.size):
        if walk.status[j] == OPEN and abs(walk.weights[row, j]) > largest:
            heaviest, largest = j, abs(walk.weights[row, j])
    count = walk.left[level]
    if verdict == SEPARABLE and heaviest >= 0 and count + 1 < walk.most[level]:
        walk.todo[level, count] = heaviest
        walk.left[level] += 1
        put(walk, heaviest, OUT)
        for pattern in range(walk.columns.shape[1]):
            walk.multipliers[row + 1, pattern] = walk.multipliers[row, pattern]
        return
    # No smaller cut this way.
    for place in range(count):
        put(walk, walk.todo[level, place], OPEN)
    take_words(walk, level)


@inner_kernel(allocates=False)
def choices(walk: Any, missing: int) -> int:
    """In how many ways the missing variables can be chosen from the open ones."""
    others, ways = 0, 1
    for j in range(walk.status.size):
        others += walk.status[j] == OPEN
    for i in range(missing):
        ways = ways * (others - i) // (i + 1)
    return ways


@kernel(allocates=False)
def walk_on(walk: Any, budget: int) -> int:
    """Walk on for about `budget` nodes: EXHAUSTED, PAUSED, or FOUND (the variables in suffice)."""
    limit, spare, patterns = walk.tally[0] + budget, walk.weights.shape[0] - 1, walk.columns.shape[1]
    if walk.tally[0] == 0:
        open_level(walk, walk.level[0] + 1)
    while walk.level[0] >= 0:
        level = walk.level[0]
        if walk.tally[0] >= limit:
            return PAUSED
        cutting, row = walk.how[level] == BEGUN, walk.row[level] + walk.left[level]
        needed = walk.left[level] > 0 or level == 0 or walk.how[level - 1] != BY_MARGIN
        if not cutting:
            if walk.chosen[level] >= 0:
                put(walk, walk.chosen[level], OPEN)
            if walk.left[level] == 0:
                walk.level[0] = level - 1
                continue
            walk.left[level] -= 1
            walk.chosen[level] = walk.todo[level, walk.left[level]]
            put(walk, walk.chosen[level], IN)
            needed, row = walk.counting or level == walk.wanted - 1, spare
        verdict = SEPARABLE if cutting else INSEPARABLE
        if needed:
            # On the variables in, for a cut also those open, and the kept columns.
            k, room = ZERO, walk.room
            for j in range(walk.columns.shape[0]):
                if j >= walk.status.size or walk.status[j] == IN or (walk.status[j] == OPEN and cutting):
                    room.used[k] = j
                    k += 1
            for pattern in range(patterns):
                room.alive[pattern], room.certain[pattern] = True, False
                if not cutting:
                    walk.multipliers[row, pattern] = 0.0
            if k > 0:
                verdict = errors_suffice(
                    walk.columns, walk.signed, k, walk.errors, walk.multipliers[row], not cutting, walk.tally, room
                )
            for i in range(k - walk.kept):
                walk.weights[row, room.used[i]] = room.weights[i]
        if cutting:
            extend_cut(walk, level, row, verdict)
        elif verdict == SEPARABLE and not walk.counting:
            return FOUND
        elif verdict == SEPARABLE:
            walk.tally[2] += choices(walk, walk.wanted - level - 1)
        elif level < walk.wanted - 1:
            open_level(walk, level + 1)
        else:
            walk.tally[1] += verdict == UNDECIDED
    return EXHAUSTED


class Step(NamedTuple):
    """How far the walk has come: EXHAUSTED, PAUSED or FOUND, and at what cost."""

    verdict: int
    nodes: int
    undecided: int
    support: NDArray[np.int64]


def all_supports(problem: Problem, size: int, errors: int = 0, chunk: int = NODES_A_CHUNK) -> Iterator[Step]:
    """All supports of `size` variables, a chunk of nodes at a time: does one make at most `errors` errors?"""
    walk = make_walk(problem, size, errors)
    verdict = PAUSED
    while verdict == PAUSED:
        verdict = walk_on(walk, chunk)
        yield Step(verdict, int(walk.tally[0]), int(walk.tally[1]), np.sort(walk.order[walk.status == IN]))


def prove(
    problem: Problem, best: Candidate, budget: int, errors: int = 0, lower: int = 1
) -> Iterator[Candidate | LowerBound | int]:
    """Refute size after size until the smallest support found is one variable larger, which is then the minimum.

    A size refuted refutes all below it, and costs a few times as much as the one before. So the last but one is left out: it
    is refuted with the last. Yields a `LowerBound` for every size refuted; stops when `budget` nodes are used.

    Parameters
    ----------
    errors : patterns that may be wrong.
    lower : no smaller support suffices, as is known already.
    """
    nodes, refuted, smallest = 0, lower - 1, best.support.size
    while refuted < smallest - 1:
        size = smallest - 1 if refuted >= smallest - 3 else refuted + 1
        for step in all_supports(problem, size, errors, min(NODES_A_CHUNK, budget - nodes)):
            yield best.iterations + nodes + step.nodes
            if nodes + step.nodes >= budget:
                break
        nodes += step.nodes
        if step.verdict == FOUND:
            smallest = size
            yield fitted_to_rest(problem, step.support, best.iterations + nodes, errors)
        elif step.verdict == EXHAUSTED and not step.undecided:
            refuted = size
            yield LowerBound(size + 1, nodes)
        else:
            return


def fitted_to_rest(problem: Problem, support: NDArray[np.int64], iterations: int, errors: int) -> Candidate:
    """The candidate of largest margin on what is left after giving up at most `errors` patterns, if that separates."""
    columns = np.ascontiguousarray(problem.rows(support).T)
    room = make_room(len(columns), problem.n_samples, errors)
    signed = np.append(problem.signed[support], problem.signed[problem.n_features :])
    errors_suffice(columns, signed, len(columns), errors, np.zeros(problem.n_samples), False, np.zeros(3, dtype=np.int64), room)
    return Candidate(support, *problem.split(room.weights), iterations)


def run_exact(problem: Problem, budget: int | None, seed: int, errors: int = 0) -> Iterator[Candidate | LowerBound | int]:
    """Method `exact`: a good support first, then size by size from below until one suffices or all are refuted.

    The budget counts nodes of the proof. When it ends, the outcome holds the best support and the bound so far.
    """
    best: Candidate | None = None
    lower = 1
    for event in run_auto(problem, None if budget is None else min(budget, 20_000), seed, errors):
        if isinstance(event, Candidate) and (best is None or event.support.size < best.support.size):
            best = event
        elif isinstance(event, LowerBound):
            lower = event.smallest
        yield event
    if best is not None:
        yield from prove(problem, best, EXACT_NODES if budget is None else budget, errors, lower)
