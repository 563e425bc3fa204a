"""One walk over all supports of a given size, ±1 or real, with errors or without, for proofs and for counting.

A support that suffices contains a variable of every cut: of every set of variables without which the others do not. The walk
branches on the variables of a small cut not yet met: j₁ in; j₁ out, j₂ in; j₁, j₂ out, j₃ in; … The hard margin gives a cut
anywhere: the heaviest variables |w_j| are taken out one after the other until what is in or open does not suffice. For ±1
variables there are many more, of few patterns each (`cuts.py`): while few variables are still to be chosen these do alone.

Nothing is refuted by a tolerance. A conflict that floating point has found counts if exact multipliers near it are proven to be
positive (`conflict_is_certain`); else the walk asks, and `all_supports` answers in rational arithmetic. Where that would take too
long, the walk goes on with what floating point says, and the bound holds up to the gap that it notes.

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

from chanceline.kernels.compile import NONE, ZERO, counter, inlined_kernel, inner_kernel, kernel
from chanceline.perceptron.margin import (
    INSEPARABLE,
    NEGLIGIBLE,
    ROUNDING,
    SEPARABLE,
    UNDECIDED,
    conflict_is_certain,
    conflict_is_exact,
    hard_margin,
    largest_gap,
    make_passive,
)
from chanceline.perceptron.problem import Problem
from chanceline.perceptron.rational import ExactTable, integer_columns, is_affordable
from chanceline.perceptron.rule import Rule, rule_in_doubles
from chanceline.select.auto import run_auto
from chanceline.select.cuts import NOTHING, SIXES_FROM, arranged_cuts, bits_set, can_cut, pack
from chanceline.select.outcome import Candidate, LowerBound, candidate_rule, max_margin_candidate

OPEN, IN, OUT = counter(0), counter(1), counter(2)
EXHAUSTED, PAUSED, FOUND, ASKED = 0, 1, 2, 3
NO_ANSWER = counter(-2)  # the walk has asked nothing, or shall test once more
CHOSEN, BY_WORDS, BEGUN, BY_MARGIN = (
    0,
    1,
    2,
    3,
)  # how the cut of a level is found; by words it is chosen first, then taken
MARGIN_FROM = 5  # variables still to be chosen, from which a hard margin is worth its time where there are other cuts
NODES_A_CHUNK = 2_000
EXACT_NODES = 20_000_000
RATIONAL_DECISIONS = 10_000  # of one walk, some seconds; after that it goes on up to a gap
ONE = np.uint64(1)

Walk = namedtuple(
    "Walk",
    "columns signed order kept wanted errors counting cuts unmet status open words todo left most chosen how row weights "
    "multipliers level tally answer asking room",
)
Walk.__doc__ = """State of a depth-first walk, so that it can pause.

columns (N + kept, P), the kept ones last; order says which variable each of the others is; signed ones have no negative weight.
status[j]: open, in, out; open has the same as bits. At each level: cuts[level, :, :unmet] that the variables in do not meet
(bits, by words), todo[:left] whose turn is still to come, meanwhile out, and the one chosen. If the level is a cut by the margin,
rows row, row + 1, … of weights and multipliers are the fits before each of its variables was taken out. tally: nodes, undecided
tests, supports counted. Of the nodes the supports that differ in their last three variables alone are one, and every hard margin
is one. asking: 1 while an answer is awaited on the variables in (for a cut also those open); answer: what it is.
"""


def make_walk(problem: Problem, wanted: int, errors: int = 0, counting: bool = False) -> Walk:
    """A walk over the supports of `wanted` variables that make at most `errors` errors."""
    n, kept = problem.n_features, problem.kept
    order, smallest = np.arange(n), np.zeros((-(-n // 64), 0), dtype=np.uint64)
    if not errors and can_cut(problem, wanted):
        order, smallest = arranged_cuts(problem, wanted >= SIXES_FROM)
    cuts = np.zeros((wanted, *smallest.shape), dtype=np.uint64)
    cuts[0] = smallest
    every, patterns = np.append(order, np.arange(n, n + kept)), problem.n_samples
    certain, rest = np.zeros((2, patterns), dtype=np.bool_)
    rows = np.zeros((patterns + len(every), len(every)))
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
        multipliers=np.zeros((n + 2, patterns)),
        level=np.full(1, -1),
        tally=np.zeros(3, dtype=np.int64),
        answer=np.full(1, NO_ANSWER),
        asking=np.zeros(1, dtype=np.int64),
        room=Room(
            used=np.arange(len(every)),
            alive=~rest,
            certain=certain,
            rest=rest,
            conflicts=np.zeros((errors + 1, patterns), dtype=np.bool_),
            rows=rows,
            values=np.zeros(len(rows)),
            weights=np.zeros(len(every)),
            passive=make_passive(*rows.shape),
            matrix=np.zeros((len(every) + 1, len(every) + 1)),
            inverse=np.zeros((len(every) + 1, len(every) + 1)),
            whole=integer_columns(problem)[every],
            integers=np.zeros((len(every) + 1, len(every) + 2), dtype=np.int64),
            members=np.zeros(len(rows), dtype=np.int64),
            trusting=np.zeros(1, dtype=np.int64),
            gap=np.zeros(1),
        ),
    )


Room = namedtuple(
    "Room",
    "used alive certain rest conflicts rows values weights passive matrix inverse whole integers members trusting gap",
)
Room.__doc__ = """What `errors_suffice` works in.

used: variables; alive: patterns; certain: those that are right; then what it makes of them.
whole: the columns in small integers, NaN where they are none; matrix, inverse, integers, members: room for proofs.
trusting: 1 where a conflict counts that floating point alone has found; gap: the largest margin that such conflicts allow.
"""


@inlined_kernel()
def is_proven(signed: NDArray, k: int, rest: NDArray, count: int, total: int, room: Any) -> bool:
    """Whether the conflict among the patterns of the rest is one for certain: by bounds on rounding, or in integers.

    The first `count` of the room's rows are those patterns, and the others, up to `total`, the weights that are not negative.
    """
    used = room.used
    values = room.values
    members = room.members
    if conflict_is_certain(room.rows[:total], count, k, values[:total], room.matrix, room.inverse):
        return True
    # Multipliers of sum 1: those that are zero up to rounding have no part in the exact ones.
    place = 0
    found = 0
    for pattern in range(rest.size):
        if rest[pattern]:
            if values[place] > NEGLIGIBLE:
                members[found] = pattern
                found += 1
            place += 1
    extra = found
    for i in range(k):
        if signed[used[i]]:
            if values[place] > NEGLIGIBLE:
                members[extra] = i
                extra += 1
            place += 1
    if extra > k + 1:
        return False
    return conflict_is_exact(
        room.whole, used, k, members[:found], members[found:extra], room.integers
    )


@inner_kernel()
def errors_suffice(
    columns: NDArray,
    signed: NDArray,
    k: int,
    errors: int,
    multipliers: NDArray,
    early: bool,
    tally: NDArray,
    room: Any,
) -> int:
    """Whether giving up at most `errors` of the alive patterns, none of the certain ones, leaves a rest that k used separate.

    SEPARABLE, INSEPARABLE or UNDECIDED. Afterwards `alive` is the rest that separates, if there is one, else as it was.
    multipliers and early are those of `hard_margin`, its weights are in the room.
    """
    used, alive, certain, rest, conflicts, rows, values, weights, passive = room[:9]
    matrix, trusting, gap = room.matrix, room.trusting, room.gap
    conflict, found, verdict = conflicts[errors], 0, INSEPARABLE
    for pattern in range(rest.size):
        rest[pattern] = alive[pattern]
        conflict[pattern] = False
    tally[0] += 1
    while verdict == INSEPARABLE:
        count = ZERO
        for pattern in range(rest.size):
            if rest[pattern]:
                values[count] = multipliers[pattern] if found == 0 else 0.0
                for i in range(k):
                    rows[count, i] = columns[used[i], pattern]
                count += 1
        verdict, total = SEPARABLE, count
        for i in range(k):
            if signed[used[i]]:
                for j in range(k):
                    rows[total, j] = 1.0 if i == j else 0.0
                values[total] = 0.0
                total += 1
        if count > 0:
            verdict = hard_margin(rows[:total], count, weights[:k], values[:total], early, passive)
        if verdict == INSEPARABLE and not is_proven(signed, k, rest, count, total, room):
            if trusting[0] == 0:
                verdict = UNDECIDED
            else:
                allowed_margin = largest_gap(rows[:total], count, k, values[:total], matrix[0])
                gap[0] = allowed_margin if allowed_margin > gap[0] else gap[0]
        place = 0
        for pattern in range(rest.size):
            value = values[place] if rest[pattern] else 0.0
            place += rest[pattern]
            # Those of a conflict cannot all be right. Disjoint ones cost an error each.
            rest[pattern] &= value <= 0.0
            if found == 0:
                multipliers[pattern] = value
                conflict[pattern] = value > 0.0 and not certain[pattern]
        found += 1
        if (found == 1 and verdict != INSEPARABLE) or (verdict == INSEPARABLE and found > errors):
            return verdict
    verdict = INSEPARABLE
    for pattern in range(rest.size):
        if conflict[pattern]:
            alive[pattern] = False
            below = errors_suffice(columns, signed, k, errors - 1, multipliers, early, tally, room)
            if below == SEPARABLE:
                return SEPARABLE
            alive[pattern] = True
            verdict = UNDECIDED if below == UNDECIDED else verdict
            # From here on this pattern is right: all sets of errors with it have been seen.
            certain[pattern] = True
    for pattern in range(rest.size):
        certain[pattern] &= not conflict[pattern]
    return verdict


@inner_kernel()
def put(status: NDArray, opened: NDArray, j: int, now: int) -> None:
    """Variable j is now open, in or out."""
    bit, w = ONE << np.uint64(j & 63), j >> 6
    status[j] = now
    opened[w] = opened[w] | bit if now == OPEN else opened[w] & ~bit


@inlined_kernel()
def keep_unmet(cuts: NDArray, unmet: NDArray, j: int, level: int) -> None:
    """The cuts of this level: those of the one above that its variable j does not meet."""
    bit, home, count = ONE << np.uint64(j & 63), cuts[level - 1, j >> 6], 0
    for w in range(cuts.shape[1]):
        before, now, count = cuts[level - 1, w], cuts[level, w], 0
        for i in range(unmet[level - 1]):
            now[count] = before[i]
            count += (home[i] & bit) == NOTHING
    unmet[level] = count


@inlined_kernel()
def shared_by_unmet(
    cuts: NDArray, unmet: NDArray, j: int, above: int, opened: NDArray, words: NDArray
) -> int:
    """The open variables that meet all cuts of the level above which its variable j does not: how many."""
    bit, home, shared = ONE << np.uint64(j & 63), j >> 6, 0
    for w in range(words.size):
        both = opened[w]
        for i in range(unmet[above]):
            if (cuts[above, home, i] & bit) == NOTHING:
                both &= cuts[above, w, i]
                if both == NOTHING:
                    break
        words[w] = both
        shared += bits_set(both)
    return shared


@inlined_kernel()
def smallest_unmet(cuts: NDArray, unmet: int, opened: NDArray, words: NDArray, most: int) -> int:
    """The open part of the cut of this level for which that is smallest (all that are open if there is none): its size."""
    fewest, best, first = most, -1, opened[0]
    for i in range(unmet):
        size = bits_set(cuts[0, i] & first)
        for w in range(1, words.size):
            size += bits_set(cuts[w, i] & opened[w])
        if size < fewest:
            fewest, best = size, i
            if size == 0:
                break
    for w in range(words.size):
        words[w] = opened[w] & (cuts[w, best] if best >= 0 else ~NOTHING)
    return fewest


@inlined_kernel()
def fewest_to_try(
    cuts: NDArray,
    unmet: NDArray,
    chosen: NDArray,
    level: int,
    last: bool,
    opened: NDArray,
    words: NDArray,
    most: int,
) -> int:
    """How many open variables the smallest cut of this level has, at most all that there are; they are in `words`."""
    if last and cuts.shape[2] > 0:
        return shared_by_unmet(cuts, unmet, chosen[level - 1], level - 1, opened, words)
    if level > 0:
        keep_unmet(cuts, unmet, chosen[level - 1], level)
    return smallest_unmet(cuts[level], unmet[level], opened, words, most)


@inlined_kernel()
def take_out(status: NDArray, opened: NDArray, words: NDArray, todo: NDArray) -> int:
    """Take the variables in `words` out until their turn comes: how many."""
    count = 0
    for w in range(words.size):
        word = words[w]
        while word != NOTHING:
            todo[count] = 64 * w + bits_set((word & (~word + ONE)) - ONE)
            put(status, opened, todo[count], OUT)
            word &= word - ONE
            count += 1
    return count


@inlined_kernel()
def extend_cut(
    status: NDArray,
    opened: NDArray,
    todo: NDArray,
    count: int,
    most: int,
    weights: NDArray,
    verdict: int,
) -> int:
    """After a fit of what is in or open: if it suffices, take the heaviest open variable out; if not, the cut is complete.

    How the cut is found from now on.
    """
    if verdict == INSEPARABLE:
        return BY_MARGIN
    heaviest, largest = NONE, -1.0
    for j in range(status.size):
        if status[j] == OPEN and abs(weights[j]) > largest:
            heaviest, largest = j, abs(weights[j])
    if verdict == SEPARABLE and heaviest >= 0 and count + 1 < most:
        todo[count] = heaviest
        put(status, opened, heaviest, OUT)
        return BEGUN
    # No smaller cut this way.
    for place in range(count):
        put(status, opened, todo[place], OPEN)
    return CHOSEN


@inlined_kernel()
def choices(status: NDArray, missing: int) -> int:
    """In how many ways the missing variables can be chosen from the open ones."""
    others, ways = 0, 1
    for j in range(status.size):
        others += status[j] == OPEN
    for i in range(missing):
        ways = ways * (others - i) // (i + 1)
    return ways


@inlined_kernel()
def is_certain(columns: NDArray, used: NDArray, k: int, weights: NDArray) -> bool:
    """Whether these weights of the k columns used have every pattern right, rounding included."""
    for pattern in range(columns.shape[1]):
        margin = 0.0
        size = 0.0
        for i in range(k):
            margin += columns[used[i], pattern] * weights[i]
            size += abs(columns[used[i], pattern] * weights[i])
        if not margin > 2.0 * (k + 6.0) * ROUNDING * size:
            return False
    return True


@kernel()
def walk_on(walk: Any, budget: int) -> int:
    """Walk on for about `budget` nodes: EXHAUSTED, PAUSED, FOUND (the variables in suffice), or ASKED whether some suffice."""
    (columns, signed, _, kept, wanted, errors, counting, cuts, unmet, status, opened, words, todo, left, most, chosen, how, row,
     weights, multipliers, at, tally, answer, asking, room) = walk  # fmt: skip
    used, alive, certain, fitted_weights = room.used, room.alive, room.certain, room.weights
    limit, spare, patterns, deeper = (
        tally[0] + budget,
        weights.shape[0] - 1,
        columns.shape[1],
        tally[0] == 0,
    )
    while deeper or at[0] >= 0:
        if deeper:
            # Go on to a level, unless a cut not met has no open variable.
            level, deeper = at[0] + 1, False
            tally[0] += level == 0 or level <= wanted - 3
            fewest = fewest_to_try(
                cuts, unmet, chosen, level, level == wanted - 1, opened, words, status.size
            )
            if fewest > 0:
                at[0], chosen[level], left[level], most[level] = level, -1, 0, fewest
                # What is in or open is what the level above had in one of its fits.
                if level > 0:
                    row[level] = row[level - 1] + (
                        left[level - 1] if how[level - 1] == BY_MARGIN else 0
                    )
                # Whether many variables suffice with errors takes long to decide: then every support is tried.
                by_margin = errors == 0 and (cuts.shape[2] == 0 or wanted - level >= MARGIN_FROM)
                how[level] = BEGUN if by_margin else CHOSEN
            continue
        level = at[0]
        asked = asking[0] > 0
        if tally[0] >= limit and not asked:
            return PAUSED
        if how[level] == CHOSEN:
            how[level], left[level] = BY_WORDS, take_out(status, opened, words, todo[level])
        cutting, fit = how[level] == BEGUN, row[level] + left[level]
        needed = asked or left[level] > 0 or level == 0 or how[level - 1] != BY_MARGIN
        if not cutting:
            fit = spare
            if not asked:
                if chosen[level] >= 0:
                    put(status, opened, chosen[level], OPEN)
                if left[level] == 0:
                    at[0] = level - 1
                    continue
                left[level] -= 1
                chosen[level] = todo[level, left[level]]
                put(status, opened, chosen[level], IN)
                needed = counting or level == wanted - 1
        verdict = SEPARABLE if cutting else INSEPARABLE
        if asked and answer[0] != NO_ANSWER:
            verdict = answer[0]
        elif needed:
            # On the variables in, for a cut also those open, and the kept columns.
            k = ZERO
            for j in range(columns.shape[0]):
                if j >= status.size or status[j] == IN or (status[j] == OPEN and cutting):
                    used[k] = j
                    k += 1
            for pattern in range(patterns):
                alive[pattern], certain[pattern] = True, False
                if not cutting:
                    multipliers[fit, pattern] = 0.0
            if k > 0:
                verdict = errors_suffice(
                    columns, signed, k, errors, multipliers[fit], not cutting, tally, room
                )
            if (
                counting
                and verdict == SEPARABLE
                and not cutting
                and not is_certain(columns, used, k, fitted_weights)
            ):
                verdict = UNDECIDED
            for i in range(k - kept):
                weights[fit, used[i]] = fitted_weights[i]
            if verdict == UNDECIDED and not asked:
                asking[0] = 1
                return ASKED
        asking[0] = 0
        answer[0] = NO_ANSWER
        if cutting:
            how[level] = extend_cut(
                status, opened, todo[level], left[level], most[level], weights[fit], verdict
            )
            if how[level] == BEGUN:
                left[level] += 1
                for pattern in range(patterns):
                    multipliers[fit + 1, pattern] = multipliers[fit, pattern]
        elif verdict == SEPARABLE and not counting:
            return FOUND
        elif verdict == SEPARABLE:
            tally[2] += choices(status, wanted - level - 1)
        elif level < wanted - 1:
            deeper = True
        else:
            tally[1] += verdict == UNDECIDED
    return EXHAUSTED


class Step(NamedTuple):
    """How far the walk has come.

    verdict : EXHAUSTED, PAUSED or FOUND.
    nodes, undecided : its cost, and the supports that could not be decided.
    support, right : the support found, and the samples it has right.
    rule : the rule on it, where the largest margin in floating point is not one.
    gap : what is refuted has no larger margin than this (weights of length 1, columns scaled); 0 where nothing was left to
        floating point.
    """

    verdict: int
    nodes: int
    undecided: int
    support: NDArray[np.int64]
    right: NDArray[np.int64]
    rule: Rule | None = None
    gap: float = 0.0


def all_supports(
    problem: Problem,
    size: int,
    errors: int = 0,
    chunk: int = NODES_A_CHUNK,
    decisions: int = RATIONAL_DECISIONS,
) -> Iterator[Step]:
    """All supports of `size` variables, a chunk of nodes at a time: does one make at most `errors` errors?

    What floating point leaves open is decided in rational arithmetic, up to so many `decisions`.
    """
    walk = make_walk(problem, size, errors)
    table = ExactTable(problem)
    unsettled = (
        0  # supports that suffice in rational arithmetic, but by no rule in doubles that was found
    )
    verdict = PAUSED
    while verdict == PAUSED:
        verdict = walk_on(walk, chunk)
        rule = None
        found = np.sort(walk.order[walk.status == IN])
        right = np.flatnonzero(walk.room.alive)
        if verdict == ASKED:
            answer_walk(walk, table, errors, decisions)
            verdict = PAUSED
        elif verdict == FOUND and found_rule(problem, found, right).errors > errors:
            # Margins as small as rounding errors.
            suffices, right, rule = settle(table, found, errors, decisions)
            if suffices == INSEPARABLE:
                verdict = PAUSED
            elif rule is None:
                unsettled += 1
                verdict = PAUSED
        undecided = int(walk.tally[1]) + unsettled
        yield Step(
            verdict, int(walk.tally[0]), undecided, found, right, rule, float(walk.room.gap[0])
        )


def found_rule(problem: Problem, support: NDArray[np.int64], samples: NDArray[np.int64]) -> Rule:
    """The rule of largest margin on a support and these samples, its errors counted exactly."""
    return candidate_rule(problem, max_margin_candidate(problem, support, 0, samples))


def answer_walk(walk: Walk, table: ExactTable, errors: int, decisions: int) -> None:
    """Answer what the walk asks; where that takes too long, let it go on with what floating point says."""
    level = int(walk.level[0])
    cutting = walk.how[level] == BEGUN
    chosen = walk.status == IN
    if cutting:
        chosen = chosen | (walk.status == OPEN)
    support = np.sort(walk.order[chosen])
    if not is_affordable(support.size + walk.kept, table.problem.n_samples):
        if cutting:
            # No cut then: every variable is tried.
            walk.answer[0] = UNDECIDED
        else:
            walk.room.trusting[0] = 1
        return
    left = decisions - table.decisions
    suffices = UNDECIDED
    if left > 0:
        suffices, _, _ = settle(table, support, errors, left)
    if suffices == UNDECIDED:
        walk.room.trusting[0] = 1
    else:
        walk.answer[0] = suffices


def settle(
    table: ExactTable, support: NDArray[np.int64], errors: int, decisions: int
) -> tuple[int, NDArray[np.int64], Rule | None]:
    """Whether these variables make at most `errors` errors, in rational arithmetic: the verdict, the samples right, the rule."""
    problem = table.problem
    nobody = np.zeros(0, dtype=np.int64)
    if not is_affordable(support.size + problem.kept, problem.n_samples):
        return UNDECIDED, nobody, None
    suffices, decision, samples = table.fewest_errors_within(support, errors, decisions)
    if suffices is None:
        return UNDECIDED, nobody, None
    if not suffices:
        return INSEPARABLE, nobody, None
    right = np.array(samples, dtype=np.int64)
    return SEPARABLE, right, rule_in_doubles(problem, support, decision, right)


def prove(
    problem: Problem,
    best: Candidate | None,
    budget: int,
    errors: int = 0,
    lower: int = 1,
    decisions: int = RATIONAL_DECISIONS,
) -> Iterator[Candidate | LowerBound | int]:
    """Refute size after size until the smallest support found is one variable larger, which is then the minimum.

    A size refuted refutes all below it, and costs a few times as much as the one before. So the last but one is left out: it
    is refuted with the last. Yields a `LowerBound` for every size refuted; stops when `budget` nodes are used.

    Parameters
    ----------
    best : a support that suffices; None if none is known.
    errors : patterns that may be wrong.
    lower : no smaller support suffices, as is known already.
    decisions : in rational arithmetic, for every size.
    """
    nodes, refuted = 0, lower - 1
    done = 0 if best is None else best.iterations
    smallest = problem.n_features + 1 if best is None else best.support.size
    while refuted < smallest - 1:
        size = smallest - 1 if refuted >= smallest - 3 else refuted + 1
        if smallest > problem.n_features and errors == 0:
            # Whether all variables together separate is soon decided, and if not, nothing does.
            size = problem.n_features
        for step in all_supports(
            problem, size, errors, min(NODES_A_CHUNK, budget - nodes), decisions
        ):
            yield done + nodes + step.nodes
            if nodes + step.nodes >= budget:
                break
        nodes += step.nodes
        if step.verdict == FOUND:
            smallest = size
            found = max_margin_candidate(problem, step.support, done + nodes, step.right)
            yield found._replace(rule=step.rule)
        elif step.verdict == EXHAUSTED and not step.undecided:
            refuted = size
            yield LowerBound(size + 1, nodes, step.gap)
        else:
            return


def run_exact(
    problem: Problem,
    budget: int | None,
    seed: int,
    errors: int = 0,
    decisions: int = RATIONAL_DECISIONS,
) -> Iterator[Candidate | LowerBound | int]:
    """Method `exact`: a good support first, then size by size from below until one suffices or all are refuted.

    The budget counts nodes of the proof. When it ends, the outcome holds the best support and the bound so far. After so many
    `decisions` in rational arithmetic at one size, the bound holds up to a gap.
    """
    best: Candidate | None = None
    lower = 1
    for event in run_auto(problem, None if budget is None else min(budget, 20_000), seed, errors):
        if isinstance(event, Candidate):
            # What separates in floating point may have errors when they are counted exactly.
            is_smaller = best is None or event.support.size < best.support.size
            if is_smaller and candidate_rule(problem, event).errors <= errors:
                best = event
        elif isinstance(event, LowerBound):
            lower = event.smallest
        yield event
    yield from prove(
        problem, best, EXACT_NODES if budget is None else budget, errors, lower, decisions
    )
