"""One walk over all supports of a size, with errors or without, for proofs and for counting.

A support that suffices contains a variable of every cut: of every set of variables without which
the others do not suffice. The walk branches on the variables of a small cut not yet met: j₁
included; j₁ excluded, j₂ included; j₁, j₂ excluded, j₃ included; …

Cuts come from two sources. The hard margin gives one anywhere: the heaviest variables |w_j| are
excluded one after the other until what is included or open does not suffice. For ±1 variables there
are many more, of few patterns each (`cuts.py`): while few variables are still to be chosen these do
alone.

    advance ── no further support ──► EXHAUSTED
    (next branch; level above if none waits;     ◄──────────────────────┐
     enter_level, if the branch needs no fit)                           │
       │ the cut of the level grows, or a branch is complete            │
       ▼                                                                │
    fit_variables ── rounding leaves a doubt ──► ASKED                  │
       │ a cut grows              │ a branch                            │
       ▼                          ├── it suffices ──► FOUND             │
    grow_cut                      ▼                                     │
    exclude the heaviest;     leave_choice                              │
    or the cut is complete    count supports, or enter_level            │
       └──────────────────────────┴─────────────────────────────────────┘

enter_level finds the smallest cut of few patterns; if it has no open variable, the walk stays at
the level above.

`supports.py` answers a doubt in rational arithmetic. Where that would take too long, the walk goes
on with what floating point says, and its bound holds up to the gap that it notes.
"""

from __future__ import annotations

from typing import Any

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


@kernel()
def walk_on(walk: Any, max_nodes: int) -> int:
    """Walk on for about `max_nodes` nodes: EXHAUSTED, PAUSED, FOUND or ASKED.

    The supports that differ in their last three variables alone are one node, and every hard margin
    is one.

    From fit to fit: `advance` to the next branch that needs one, fit it, go on with the verdict.
    Where rounding leaves the verdict open the walk returns ASKED and waits: `question.is_asked[0]`
    stays 1, and the next call finds the answer in `question.answer[0]`. Without an answer
    (NO_ANSWER) it fits once more. Single numbers are arrays of one place, so that kernels can
    change them.
    """
    path = walk.path
    fit = walk.fit
    cut_fits = walk.cut_fits
    question = walk.question
    node_limit = path.tally[NODES] + max_nodes
    has_not_begun = path.tally[NODES] == 0
    if has_not_begun:
        enter_level(path, ZERO)

    while True:
        # After a question the walk is where the fit is.
        if question.is_asked[0] == 0:
            event = advance(path, node_limit)
            if event != WALKING:
                return event

        # A fit is needed, unless there is an answer.
        level = path.levels.current[0]
        is_growing = path.levels.method[level] == GROWING
        verdict = question.answer[0]
        if verdict == NO_ANSWER:
            verdict = fit_variables(path, fit, cut_fits, is_growing, question.is_asked[0])
        if verdict == UNDECIDED and question.is_asked[0] == 0:
            question.is_asked[0] = 1
            return ASKED

        # There is a verdict, by the fit or by the answer. A second doubt, after the answer, is
        # accepted.
        question.is_asked[0] = 0
        question.answer[0] = NO_ANSWER
        if is_growing:
            grow_cut(path, cut_fits, level, verdict)
        elif verdict == SEPARABLE and not path.counting:
            return FOUND
        else:
            leave_choice(path, level, verdict)


@inner_kernel()
def advance(path: Any, node_limit: int) -> int:
    """Go from branch to branch and from level to level until a fit is needed: WALKING.

    Or until there is no further support, EXHAUSTED, or the nodes reach the limit, PAUSED. A branch
    is fitted at the last level, and at every level when supports are counted.

    At each level one variable of a cut is included, its branch. The variables of the cut whose
    branches are still to come wait in the first `n_waiting` places of `branches`, excluded.
    `chosen` is the one included now, −1 before the first. `current[0]` is the level, −1 at the end.
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
        if tally[NODES] >= node_limit:
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
        # Without an open variable a cut stays unmet: no support of this branch suffices.
        if n_branches > 0:
            begin_level(path, level + 1, n_branches)
    return EXHAUSTED


@inner_kernel()
def leave_choice(path: Any, level: int, verdict: int) -> None:
    """Go on after the included variables were fitted: count the supports, or enter the next level.

    `verdict` says whether they suffice. If so, all supports that contain them do, and are counted
    at once. Supports have `path.size` variables, and one is included at each of the levels
    0 … level.
    """
    n_missing = path.size - level - 1
    if verdict == SEPARABLE:
        path.tally[COUNTED_SUPPORTS] += n_completions(path.variables.status, n_missing)
    elif n_missing > 0:
        enter_level(path, level + 1)
    elif verdict == UNDECIDED:
        path.tally[UNDECIDED_SUPPORTS] += 1


@inner_kernel()
def enter_level(path: Any, level: int) -> None:
    """Go on to this level; stay above if an unmet cut has no open variable.

    Then no support that contains the included variables suffices.
    """
    included = NONE  # at level 0, which has none above
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
    """Begin the cut of a level, whose smallest cut of few patterns has `n_branches` open variables.

    The walk will branch on the variables of this cut. Either it grows by the hard margin, from fit
    to fit, as long as it stays smaller than `n_branches`; or the smallest cut of few patterns is
    taken.
    """
    levels = path.levels
    levels.current[0] = level
    levels.chosen[level] = NONE
    levels.n_waiting[level] = 0
    levels.max_branches[level] = n_branches

    # The fits of a growing cut are numbered, one for each variable excluded. What is included or
    # open here is what the level above had in the fit with as many excluded as wait there now.
    if level > 0:
        levels.first_fit[level] = levels.first_fit[level - 1]
        if levels.method[level - 1] == BY_MARGIN:
            levels.first_fit[level] += levels.n_waiting[level - 1]

    # Whether many variables suffice with errors takes long to decide: then every support is tried.
    has_cuts = path.unmet.cuts.shape[2] > 0
    n_missing = path.size - level
    is_margin_worth_it = not has_cuts or n_missing >= MARGIN_FROM
    if path.max_errors == 0 and is_margin_worth_it:
        levels.method[level] = GROWING
    else:
        take_smallest_cut(path, level)


@inner_kernel()
def take_smallest_cut(path: Any, level: int) -> None:
    """Branch on the smallest cut of few patterns, which is in `path.unmet.smallest`.

    Its open variables become the branches of the level; all are excluded until their turn comes.
    """
    levels = path.levels
    levels.method[level] = BY_PATTERNS
    levels.n_waiting[level] = exclude_set(
        path.variables, path.unmet.smallest, levels.branches[level]
    )


@inlined_kernel()
def fit_variables(path: Any, fit: Any, cut_fits: Any, is_growing: bool, is_asked: int) -> int:
    """Whether the included variables suffice, for a growing cut together with the open ones.

    Weights and multipliers of a growing cut are kept, in the row of `cut_fits` that belongs to the
    variables excluded so far. Other fits may stop at any separating weights; to be counted, these
    must be certain.

    path : where the walk is; the fit is that of its current level.
    fit : the `SupportFit` that does it.
    is_growing : whether it is for a growing cut.
    is_asked : 1 if the same fit was made before and left a doubt.
    """
    level = path.levels.current[0]
    n_waiting = path.levels.n_waiting[level]
    multipliers = cut_fits.of_support
    also = INCLUDED  # no others
    row = path.levels.first_fit[level] + n_waiting
    if is_growing:
        # Before anything is excluded, what is included or open is as in a fit of the level above.
        is_first_fit = level > 0 and n_waiting == 0 and is_asked == 0
        if is_first_fit and path.levels.method[level - 1] == BY_MARGIN:
            return SEPARABLE  # as it was there
        multipliers = cut_fits.multipliers[row]
        also = OPEN
    else:
        clear(multipliers)

    n_used = use_variables(fit.state, path.variables.status, also)
    if n_used == 0:
        return SEPARABLE
    verdict = errors_suffice(
        fit=fit, max_errors=path.max_errors, multipliers=multipliers, early=not is_growing
    )
    if is_growing:
        keep_weights(fit.state.used, n_used, fit.state.weights, cut_fits.weights[row])
    elif path.counting and verdict == SEPARABLE and not weights_are_certain(fit):
        return UNDECIDED
    return verdict


@inner_kernel()
def clear(values: NDArray) -> None:
    """Set all values to zero."""
    for i in range(values.size):
        values[i] = 0.0


@inner_kernel()
def keep_weights(used: NDArray, n_used: int, weights: NDArray, kept: NDArray) -> None:
    """Copy the weights of the used variables to `kept` (features,)."""
    for i in range(n_used):
        # Columns that belong to every support come after the variables.
        if used[i] < kept.size:
            kept[used[i]] = weights[i]


@inner_kernel()
def use_variables(state: Any, status: NDArray, also: int) -> int:
    """Fit the included variables next, and those of status `also`; return the number of columns.

    They are listed in `state.used`, with the unpenalized columns, which come after the variables
    and belong to every support. No pattern is given up: all are alive, and none must be right.

    state : the `FitState`.
    status : (features,), OPEN, INCLUDED or EXCLUDED.
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
def grow_cut(path: Any, cut_fits: Any, level: int, verdict: int) -> None:
    """After a fit of what is included or open: exclude the heaviest open variable if it suffices.

    The variables excluded so far, in the first `n_waiting` places of `levels.branches[level]`, are
    a cut as soon as the others do not suffice. That is the verdict INSEPARABLE: the cut is
    complete. If the cut would not be smaller than the smallest one of few patterns
    (`levels.max_branches`), or in doubt, it is given up and that one is taken.
    """
    levels = path.levels
    status = path.variables.status
    weights = cut_fits.weights
    n_waiting = levels.n_waiting[level]
    if verdict == INSEPARABLE:
        levels.method[level] = BY_MARGIN
        return

    # The open variable of largest |weight| in the fit just made, which is in this row.
    row = levels.first_fit[level] + n_waiting
    heaviest = NONE
    largest = -1.0  # below all absolute weights
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

    # Give the cut up: what it has excluded is open again.
    for place in range(n_waiting):
        set_status(path.variables, levels.branches[level, place], OPEN)
    take_smallest_cut(path, level)


@inlined_kernel()
def n_completions(status: Any, n_missing: int) -> int:
    """In how many ways the missing variables can be chosen from the open ones: a binomial.

    `status` (features,) is OPEN, INCLUDED or EXCLUDED. Every product has a binomial coefficient
    as its quotient, so no division has a remainder.
    """
    n_open = 0
    for j in range(status.size):
        n_open += status[j] == OPEN
    ways = 1
    for i in range(n_missing):
        ways = ways * (n_open - i) // (i + 1)
    return ways
