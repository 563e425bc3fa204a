"""One walk over all supports of a size, with errors or without, for proofs and for counting.

A support that suffices contains a variable of every cut: of every set of variables without which
the others do not suffice. The walk branches on the variables of a small cut not yet met: j₁
included; j₁ excluded, j₂ included; j₁, j₂ excluded, j₃ included; …

Cuts come from two sources. The hard margin gives one anywhere: the heaviest variables |w_j| are
excluded one after the other until what is included or open does not suffice. For ±1 variables there
are many more, of few patterns each (`cuts.py`): while few variables are still to be chosen these do
alone.

              enter_level ◄───────────────────────────────┐
        (back if a cut has no open variable)              │
           │ by margin          │ by patterns             │
           ▼                    │                         │
    ┌─► fit_open                │                         │ does not suffice,
    │      ▼                    │                         │ not the last level
    └── grow_cut ──────────┐    │                         │
      exclude the heaviest │    │                         │
                  complete ▼    ▼                         │
    level above ◄────── next_choice ◄─ last level ─ fit_chosen
      no branch waits      │                          ▲   │ suffices
                           └──────────────────────────┘   ▼
                                                   FOUND, or counted

Where rounding leaves a doubt after `fit_open` or `fit_chosen`, the walk returns ASKED, and
`supports.py` answers in rational arithmetic. Where that would take too long, the walk goes on with
what floating point says, and its bound holds up to the gap that it notes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chanceline.kernels.compile import NONE, ZERO, inlined_kernel, inner_kernel, kernel
from chanceline.perceptron.margin import INSEPARABLE, SEPARABLE, UNDECIDED
from chanceline.select.support_fit import (
    COUNTED_SUPPORTS,
    NODES,
    UNDECIDED_SUPPORTS,
    errors_suffice,
    weights_are_certain,
)
from chanceline.select.unmet_cuts import exclude_set, set_status, smallest_open_cut
from chanceline.select.walk_state import (
    BY_MARGIN,
    BY_PATTERNS,
    EXCLUDED,
    GROWING,
    INCLUDED,
    NO_ANSWER,
    OPEN,
)

# Why the walk returns.
EXHAUSTED = 0  # no further support
PAUSED = 1
FOUND = 2  # the included variables suffice
ASKED = 3  # whether the included variables (and the open ones, for a cut) suffice
WALKING = 4  # it does not yet

# Where there are cuts of few patterns, a hard margin is worth its time only while so many variables
# are still to be chosen.
MARGIN_FROM = 5

# Whether a fit may stop at the first separating weights. To Numba a plain True has a type of its
# own, and every function that gets it would be compiled once more.
ANY_WEIGHTS = np.bool_(True)
LARGEST_MARGIN = np.bool_(False)


@kernel()
def walk_on(walk: Any, max_nodes: int) -> int:
    """Walk on for about `max_nodes` nodes: EXHAUSTED, PAUSED, FOUND or ASKED.

    The supports that differ in their last three variables alone are one node, and every hard margin
    is one.
    """
    levels = walk.levels
    tally = walk.fit.state.tally
    limit = tally[NODES] + max_nodes
    if tally[NODES] == 0:
        enter_level(walk, ZERO)

    while levels.current[0] >= 0:
        if tally[NODES] >= limit and walk.question.is_asked[0] == 0:
            return PAUSED
        level = levels.current[0]
        if levels.method[level] == GROWING:
            event = step_of_cut(walk, level)
        else:
            event = step_of_choice(walk, level)
        if event != WALKING:
            return event
    return EXHAUSTED


@inlined_kernel()
def step_of_cut(walk: Any, level: int) -> int:
    """Fit what is included or open, and let the cut of this level grow: WALKING or ASKED."""
    verdict = fit_open(walk, level)
    if is_question(walk.question, verdict):
        return ASKED
    grow_cut(walk, level, verdict)
    return WALKING


@inlined_kernel()
def step_of_choice(walk: Any, level: int) -> int:
    """Take the next branch of this level, test it or enter the next level: WALKING, FOUND or ASKED.

    A branch is tested at the last level, and at every level when supports are counted: if it
    suffices, all supports that contain the included variables do.
    """
    is_last = level == walk.size - 1
    tally = walk.fit.state.tally

    # The next branch, unless the answer for this one is to come.
    if walk.question.is_asked[0] == 0:
        if not next_choice(walk, level):
            walk.levels.current[0] = level - 1
            return WALKING
        if not (is_last or walk.counting):
            enter_level(walk, level + 1)
            return WALKING

    verdict = fit_chosen(walk)
    if is_question(walk.question, verdict):
        return ASKED
    if verdict == SEPARABLE:
        if not walk.counting:
            return FOUND
        tally[COUNTED_SUPPORTS] += n_completions(walk.variables.status, walk.size - level - 1)
    elif not is_last:
        enter_level(walk, level + 1)
    elif verdict == UNDECIDED:
        tally[UNDECIDED_SUPPORTS] += 1
    return WALKING


@inner_kernel()
def enter_level(walk: Any, level: int) -> None:
    """Go on to this level and begin its cut; stay above if an unmet cut has no open variable."""
    levels = walk.levels
    if level == 0 or level <= walk.size - 3:
        walk.fit.state.tally[NODES] += 1
    n_branches = smallest_open_cut(walk, level)
    if n_branches == 0:
        return

    levels.current[0] = level
    levels.chosen[level] = NONE
    levels.n_waiting[level] = 0
    levels.max_branches[level] = n_branches

    # What is included or open is what the level above had in one of its fits.
    if level > 0:
        levels.first_fit[level] = levels.first_fit[level - 1]
        if levels.method[level - 1] == BY_MARGIN:
            levels.first_fit[level] += levels.n_waiting[level - 1]

    # Whether many variables suffice with errors takes long to decide: then every support is tried.
    has_cuts = walk.unmet.cuts.shape[2] > 0
    is_worth_it = not has_cuts or walk.size - level >= MARGIN_FROM
    if walk.max_errors == 0 and is_worth_it:
        levels.method[level] = GROWING
    else:
        take_smallest_cut(walk, level)


@inner_kernel()
def take_smallest_cut(walk: Any, level: int) -> None:
    """Branch on the smallest cut of few patterns, which is in `walk.unmet.smallest`."""
    levels = walk.levels
    levels.method[level] = BY_PATTERNS
    levels.n_waiting[level] = exclude_set(
        walk.variables, walk.unmet.smallest, levels.branches[level]
    )


@inlined_kernel()
def fit_open(walk: Any, level: int) -> int:
    """Whether the included and open variables suffice; their weights and multipliers are kept.

    An answer to a question takes the place of the fit.
    """
    levels = walk.levels
    state = walk.fit.state
    if walk.question.answer[0] != NO_ANSWER:
        return walk.question.answer[0]
    is_first = level > 0 and levels.n_waiting[level] == 0
    if is_first and levels.method[level - 1] == BY_MARGIN and walk.question.is_asked[0] == 0:
        return SEPARABLE  # by the fit of the level above

    use_variables(walk, also=OPEN)
    if state.n_used[0] == 0:
        return SEPARABLE
    row = levels.first_fit[level] + levels.n_waiting[level]
    verdict = errors_suffice(
        fit=walk.fit,
        max_errors=walk.max_errors,
        multipliers=walk.cut_fits.multipliers[row],
        early=LARGEST_MARGIN,
    )
    for i in range(state.n_used[0] - walk.n_unpenalized):
        walk.cut_fits.weights[row, state.used[i]] = state.weights[i]
    return verdict


@inlined_kernel()
def fit_chosen(walk: Any) -> int:
    """Whether the included variables suffice, by the answer to a question or by a fit."""
    if walk.question.answer[0] != NO_ANSWER:
        return walk.question.answer[0]
    use_variables(walk, also=INCLUDED)
    multipliers = walk.cut_fits.of_support
    for pattern in range(multipliers.size):
        multipliers[pattern] = 0.0
    verdict = errors_suffice(
        fit=walk.fit, max_errors=walk.max_errors, multipliers=multipliers, early=ANY_WEIGHTS
    )
    if walk.counting and verdict == SEPARABLE and not weights_are_certain(walk.fit):
        return UNDECIDED
    return verdict


@inner_kernel()
def use_variables(walk: Any, also: int) -> None:
    """Fit the included variables next, and those of status `also`; no pattern is given up."""
    state = walk.fit.state
    status = walk.variables.status
    n_used = ZERO
    for j in range(state.used.size):
        is_unpenalized = j >= status.size
        if is_unpenalized or status[j] == INCLUDED or status[j] == also:
            state.used[n_used] = j
            n_used += 1
    state.n_used[0] = n_used
    for pattern in range(state.alive.size):
        state.alive[pattern] = True
        state.certain[pattern] = False


@inner_kernel()
def is_question(question: Any, verdict: int) -> bool:
    """Whether a verdict must be asked for; a second doubt, after the answer, is accepted."""
    if verdict == UNDECIDED and question.is_asked[0] == 0:
        question.is_asked[0] = 1
        return True
    question.is_asked[0] = 0
    question.answer[0] = NO_ANSWER
    return False


@inlined_kernel()
def grow_cut(walk: Any, level: int, verdict: int) -> None:
    """After a fit of what is included or open: exclude the heaviest open variable if it suffices.

    If it does not suffice, the cut is complete. If the cut would not be smaller than the smallest
    one of few patterns, or in doubt, that one is taken.
    """
    levels = walk.levels
    status = walk.variables.status
    n_waiting = levels.n_waiting[level]
    if verdict == INSEPARABLE:
        levels.method[level] = BY_MARGIN
        return

    row = levels.first_fit[level] + n_waiting
    heaviest = NONE
    largest = -1.0
    for j in range(status.size):
        weight = abs(walk.cut_fits.weights[row, j])
        if status[j] == OPEN and weight > largest:
            heaviest = j
            largest = weight
    can_grow = heaviest >= 0 and n_waiting + 1 < levels.max_branches[level]
    if verdict == SEPARABLE and can_grow:
        levels.branches[level, n_waiting] = heaviest
        levels.n_waiting[level] = n_waiting + 1
        set_status(walk.variables, heaviest, EXCLUDED)
        # The next fit starts from these multipliers.
        multipliers = walk.cut_fits.multipliers
        for pattern in range(multipliers.shape[1]):
            multipliers[row + 1, pattern] = multipliers[row, pattern]
        return

    for place in range(n_waiting):
        set_status(walk.variables, levels.branches[level, place], OPEN)
    take_smallest_cut(walk, level)


@inlined_kernel()
def next_choice(walk: Any, level: int) -> bool:
    """Open the variable chosen last, and include the next that waits; False if none does."""
    levels = walk.levels
    if levels.chosen[level] >= 0:
        set_status(walk.variables, levels.chosen[level], OPEN)
    if levels.n_waiting[level] == 0:
        return False
    levels.n_waiting[level] -= 1
    levels.chosen[level] = levels.branches[level, levels.n_waiting[level]]
    set_status(walk.variables, levels.chosen[level], INCLUDED)
    return True


@inlined_kernel()
def n_completions(status: Any, n_missing: int) -> int:
    """In how many ways the missing variables can be chosen from the open ones."""
    n_open = 0
    for j in range(status.size):
        n_open += status[j] == OPEN
    ways = 1
    for i in range(n_missing):
        ways = ways * (n_open - i) // (i + 1)
    return ways
