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
from numpy.typing import NDArray

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
WALKING = 4  # it does not yet: a fit is needed, or was made

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
    path = walk.path
    tally = path.tally
    limit = tally[NODES] + max_nodes
    if tally[NODES] == 0:
        enter_level(path, ZERO)

    while True:
        if walk.question.is_asked[0] == 0:
            event = advance(path, limit)
            if event != WALKING:
                return event
        # A fit is needed.
        level = path.levels.current[0]
        if path.levels.method[level] == GROWING:
            event = step_of_cut(walk, level)
        else:
            event = step_of_choice(walk, level)
        if event != WALKING:
            return event


@inner_kernel()
def advance(path: Any, limit: int) -> int:
    """Go from branch to branch and from level to level until a fit is needed: WALKING.

    Or until there is no further support, EXHAUSTED, or the nodes reach the limit, PAUSED. A branch
    is fitted at the last level, and at every level when supports are counted.
    """
    # Aliased once: a named tuple that is taken apart in the loop costs time for each of its arrays.
    size = path.size
    tally = path.tally
    unmet = path.unmet
    variables = path.variables
    current = path.levels.current
    method = path.levels.method
    branches = path.levels.branches
    n_waiting = path.levels.n_waiting
    chosen = path.levels.chosen

    while current[0] >= 0:
        level = current[0]
        if tally[NODES] >= limit:
            return PAUSED
        if method[level] == GROWING:
            return WALKING

        # The branch chosen last is open again, and the next that waits is included.
        if chosen[level] >= 0:
            set_status(variables, chosen[level], OPEN)
        if n_waiting[level] == 0:
            current[0] = level - 1
            continue
        n_waiting[level] -= 1
        chosen[level] = branches[level, n_waiting[level]]
        set_status(variables, chosen[level], INCLUDED)
        if path.counting or level == size - 1:
            return WALKING

        count_node(tally, level + 1, size)
        n_branches = smallest_open_cut(unmet, variables, chosen[level], level + 1, size)
        if n_branches > 0:
            begin_level(path, level + 1, n_branches)
    return EXHAUSTED


@inlined_kernel()
def step_of_cut(walk: Any, level: int) -> int:
    """Fit what is included or open, and let the cut of this level grow: WALKING or ASKED."""
    verdict = fit_open(walk, level)
    if is_question(walk.question, verdict):
        return ASKED
    grow_cut(walk.path, walk.cut_fits, level, verdict)
    return WALKING


@inlined_kernel()
def step_of_choice(walk: Any, level: int) -> int:
    """Fit the included variables, then enter the next level: WALKING, FOUND or ASKED.

    If they suffice when supports are counted, all supports that contain them do.
    """
    path = walk.path
    verdict = fit_chosen(walk)
    if is_question(walk.question, verdict):
        return ASKED
    if verdict == SEPARABLE:
        if not path.counting:
            return FOUND
        n_missing = path.size - level - 1
        path.tally[COUNTED_SUPPORTS] += n_completions(path.variables.status, n_missing)
    elif level < path.size - 1:
        enter_level(path, level + 1)
    elif verdict == UNDECIDED:
        path.tally[UNDECIDED_SUPPORTS] += 1
    return WALKING


@inner_kernel()
def enter_level(path: Any, level: int) -> None:
    """Go on to this level; stay above if an unmet cut has no open variable."""
    included = NONE
    if level > 0:
        included = path.levels.chosen[level - 1]
    count_node(path.tally, level, path.size)
    n_branches = smallest_open_cut(path.unmet, path.variables, included, level, path.size)
    if n_branches > 0:
        begin_level(path, level, n_branches)


@inlined_kernel()
def count_node(tally: NDArray, level: int, size: int) -> None:
    """Supports that differ in their last three variables alone are one node."""
    if level == 0 or level <= size - 3:
        tally[NODES] += 1


@inner_kernel()
def begin_level(path: Any, level: int, n_branches: int) -> None:
    """Begin the cut of a level, whose smallest cut of few patterns has so many open variables."""
    levels = path.levels
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
    has_cuts = path.unmet.cuts.shape[2] > 0
    is_worth_it = not has_cuts or path.size - level >= MARGIN_FROM
    if path.max_errors == 0 and is_worth_it:
        levels.method[level] = GROWING
    else:
        take_smallest_cut(path, level)


@inner_kernel()
def take_smallest_cut(path: Any, level: int) -> None:
    """Branch on the smallest cut of few patterns, which is in `path.unmet.smallest`."""
    levels = path.levels
    levels.method[level] = BY_PATTERNS
    levels.n_waiting[level] = exclude_set(
        path.variables, path.unmet.smallest, levels.branches[level]
    )


@inlined_kernel()
def fit_open(walk: Any, level: int) -> int:
    """Whether the included and open variables suffice; their weights and multipliers are kept.

    An answer to a question takes the place of the fit.
    """
    levels = walk.path.levels
    used = walk.fit.state.used
    fitted_weights = walk.fit.state.weights
    weights = walk.cut_fits.weights
    if walk.question.answer[0] != NO_ANSWER:
        return walk.question.answer[0]
    is_first = level > 0 and levels.n_waiting[level] == 0
    if is_first and levels.method[level - 1] == BY_MARGIN and walk.question.is_asked[0] == 0:
        return SEPARABLE  # by the fit of the level above

    n_used = use_variables(walk.fit.state, walk.path.variables.status, also=OPEN)
    if n_used == 0:
        return SEPARABLE
    row = levels.first_fit[level] + levels.n_waiting[level]
    verdict = errors_suffice(
        fit=walk.fit,
        max_errors=walk.path.max_errors,
        multipliers=walk.cut_fits.multipliers[row],
        early=LARGEST_MARGIN,
    )
    for i in range(n_used - walk.n_unpenalized):
        weights[row, used[i]] = fitted_weights[i]
    return verdict


@inlined_kernel()
def fit_chosen(walk: Any) -> int:
    """Whether the included variables suffice, by the answer to a question or by a fit."""
    if walk.question.answer[0] != NO_ANSWER:
        return walk.question.answer[0]
    use_variables(walk.fit.state, walk.path.variables.status, also=INCLUDED)
    multipliers = walk.cut_fits.of_support
    for pattern in range(multipliers.size):
        multipliers[pattern] = 0.0
    verdict = errors_suffice(
        fit=walk.fit, max_errors=walk.path.max_errors, multipliers=multipliers, early=ANY_WEIGHTS
    )
    if walk.path.counting and verdict == SEPARABLE and not weights_are_certain(walk.fit):
        return UNDECIDED
    return verdict


@inner_kernel()
def use_variables(state: Any, status: NDArray, also: int) -> int:
    """Fit the included variables next, and those of status `also`; return the number of columns.

    No pattern is given up. `state` is that of the fit, `status` (features,) that of the variables.
    """
    used = state.used
    alive = state.alive
    certain = state.certain
    n_used = ZERO
    for j in range(used.size):
        is_unpenalized = j >= status.size
        if is_unpenalized or status[j] == INCLUDED or status[j] == also:
            used[n_used] = j
            n_used += 1
    state.n_used[0] = n_used
    for pattern in range(alive.size):
        alive[pattern] = True
        certain[pattern] = False
    return n_used


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
def grow_cut(path: Any, cut_fits: Any, level: int, verdict: int) -> None:
    """After a fit of what is included or open: exclude the heaviest open variable if it suffices.

    If it does not suffice, the cut is complete. If the cut would not be smaller than the smallest
    one of few patterns, or in doubt, that one is taken.
    """
    levels = path.levels
    status = path.variables.status
    weights = cut_fits.weights
    n_waiting = levels.n_waiting[level]
    if verdict == INSEPARABLE:
        levels.method[level] = BY_MARGIN
        return

    row = levels.first_fit[level] + n_waiting
    heaviest = NONE
    largest = -1.0
    for j in range(status.size):
        weight = abs(weights[row, j])
        if status[j] == OPEN and weight > largest:
            heaviest = j
            largest = weight
    can_grow = heaviest >= 0 and n_waiting + 1 < levels.max_branches[level]
    if verdict == SEPARABLE and can_grow:
        levels.branches[level, n_waiting] = heaviest
        levels.n_waiting[level] = n_waiting + 1
        set_status(path.variables, heaviest, EXCLUDED)
        # The next fit starts from these multipliers.
        multipliers = cut_fits.multipliers
        for pattern in range(multipliers.shape[1]):
            multipliers[row + 1, pattern] = multipliers[row, pattern]
        return

    for place in range(n_waiting):
        set_status(path.variables, levels.branches[level, place], OPEN)
    take_smallest_cut(path, level)


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
