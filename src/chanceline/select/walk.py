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
    verdict_or_question ── rounding leaves a doubt ──► ASKED            │
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

from chanceline.kernels.compile import (
    NO,
    NONE,
    YES,
    ZERO,
    inlined_kernel,
    inner_kernel,
    kernel,
    leaf_kernel,
)
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
    Where rounding leaves the verdict open the walk returns ASKED, and waits there for the next
    call. Single numbers, such as `levels.current[0]`, are arrays of one place, so that kernels can
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
        # If the last call ended with a question, the walk already is where the fit is.
        waits_for_answer = question.is_asked[0] == 1
        if not waits_for_answer:
            event = advance(path, node_limit)
            if event != WALKING:
                return event

        level = path.levels.current[0]
        is_growing = path.levels.method[level] == GROWING
        verdict = verdict_or_question(path, fit, cut_fits, question, is_growing)
        if verdict == ASKED:
            return ASKED
        if is_growing:
            grow_cut(path, cut_fits, level, verdict)
        elif verdict == SEPARABLE and not path.counting:
            return FOUND
        else:
            leave_choice(path, level, verdict)


@inlined_kernel()
def verdict_or_question(path: Any, fit: Any, cut_fits: Any, question: Any, is_growing: bool) -> int:
    """The verdict at the current level; ASKED, and the question is noted, if it is to be asked for.

        nothing was asked yet           fit; a doubt is to be asked for
        it was asked, and answered      the answer is the verdict
        it was asked, without answer    fit once more; a doubt is accepted

    path, fit, cut_fits, question : the parts of the `Walk`.
    is_growing : whether it is on a growing cut, rather than on the included variables alone.
    """
    was_asked = question.is_asked[0] == 1
    answer = question.answer[0]
    question.is_asked[0] = 0
    question.answer[0] = NO_ANSWER
    if was_asked and answer != NO_ANSWER:
        return answer

    if is_growing:
        verdict = fit_with_open(path, fit, cut_fits)
    else:
        verdict = fit_included(path, fit, cut_fits.of_support)
    if verdict == UNDECIDED and not was_asked:
        question.is_asked[0] = 1
        return ASKED
    return verdict


@inner_kernel()
def advance(path: Any, node_limit: int) -> int:
    """Go from branch to branch and from level to level until a fit is needed: WALKING.

    Or until there is no further support, EXHAUSTED, or the nodes reach the limit, PAUSED. A branch
    is fitted at the last level, and at every level when supports are counted.

    `current[0]` is the level, −1 at the end. At each level one variable of a cut is included, its
    branch.
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

        # The next branch of this level, or back to the level above.
        has_branch = include_next_branch(variables, branches, n_waiting, chosen, level)
        if not has_branch:
            current[0] = level - 1
            continue
        if path.counting or level == size - 1:
            return WALKING

        # On to the next level. Where an unmet cut has no open variable, no support of this branch
        # suffices, and the walk stays at this one.
        count_node(tally, level + 1, size)
        n_branches = smallest_open_cut(unmet, variables, chosen[level], level + 1, size)
        if n_branches > 0:
            begin_level(path, level + 1, n_branches)
    return EXHAUSTED


@leaf_kernel()
def include_next_branch(
    variables: Any, branches: NDArray, n_waiting: NDArray, chosen: NDArray, level: int
) -> bool:
    """Include the next variable of the level's cut in place of the last; whether there is one.

    The last one, `chosen[level]` (−1 before the first), is open again. The variables whose turn
    is still to come are the first n_waiting[level] of `branches[level]`; they stay excluded. The
    last of them is next.
    """
    if chosen[level] >= 0:
        set_status(variables, chosen[level], OPEN)
    if n_waiting[level] == 0:
        return False
    n_waiting[level] -= 1
    chosen[level] = branches[level, n_waiting[level]]
    set_status(variables, chosen[level], INCLUDED)
    return True


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


@leaf_kernel()
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

    # Row r of `CutFits` is the fit of all variables but r that growing cuts have excluded. Say the
    # level above has grown the cut a, b, c, from its first row 0: row 1 is without a, row 2 without
    # a and b. While it includes c, two wait, a and b. So what is included or open here is what row
    # 2 has fitted, and this level begins there.
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


@leaf_kernel()
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
def fit_with_open(path: Any, fit: Any, cut_fits: Any) -> int:
    """Whether the included and the open variables suffice, for the cut that grows at this level.

    A cut grows by excluding one variable after the other until those left, included or open, do
    not suffice; they are fitted after each. There is at least one: a cut never excludes all.

    path : where the walk is.
    fit : the `SupportFit` that does it.
    cut_fits : where weights and multipliers are kept, in a row for each number of variables that
        growing cuts have excluded, those of the levels above among them.
    """
    levels = path.levels
    level = levels.current[0]
    n_excluded = levels.n_waiting[level]  # by this cut
    row = levels.first_fit[level] + n_excluded
    if n_excluded == 0 and was_fitted_above(levels, level):
        return SEPARABLE

    n_used = use_variables(fit.state, path.variables.status, with_open=YES)
    # Not early: the weights of the largest margin say which variable is the heaviest.
    verdict = errors_suffice(
        fit=fit, max_errors=path.max_errors, multipliers=cut_fits.multipliers[row], early=NO
    )
    keep_weights(fit.state.used, n_used, fit.state.weights, cut_fits.weights[row])
    return verdict


@inlined_kernel()
def was_fitted_above(levels: Any, level: int) -> bool:
    """Whether the level above has fitted what is included or open where this level begins.

    Then it sufficed. Say the level above has grown the cut a, b, c by the margin: what was left
    sufficed without a, and without a and b, but not without all three, which ended the cut. Now it
    includes c, while a and b wait, excluded: the same variables are left as without a and b. A cut
    of few patterns is not made by fits, so that there is none to go on from.
    """
    return level > 0 and levels.method[level - 1] == BY_MARGIN


@inlined_kernel()
def fit_included(path: Any, fit: Any, multipliers: NDArray) -> int:
    """Whether the included variables, of which there is at least one, suffice.

    If supports are counted the weights must be certain, else the verdict is UNDECIDED.

    path : where the walk is.
    fit : the `SupportFit` that does it.
    multipliers : (patterns,), scratch.
    """
    clear(multipliers)
    use_variables(fit.state, path.variables.status, with_open=NO)  # the included ones alone
    # Early: any weights that suffice will do, not those of the largest margin.
    verdict = errors_suffice(
        fit=fit, max_errors=path.max_errors, multipliers=multipliers, early=YES
    )
    if path.counting and verdict == SEPARABLE and not weights_are_certain(fit):
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
def use_variables(state: Any, status: NDArray, with_open: bool) -> int:
    """Fit the included variables next, and `with_open` the open ones; return the number of columns.

    They are listed in `state.used`, with the unpenalized columns, which come after the variables
    and belong to every support. No pattern is given up: all are alive, and none must be right.

    state : the `FitState`.
    status : (features,), OPEN, INCLUDED or EXCLUDED.
    """
    used = state.used
    alive = state.alive
    must_be_right = state.must_be_right
    n_used = ZERO
    for j in range(used.size):
        is_unpenalized = j >= status.size
        if is_unpenalized or status[j] == INCLUDED or (with_open and status[j] == OPEN):
            used[n_used] = j
            n_used += 1
    state.n_used[0] = n_used
    for pattern in range(alive.size):
        alive[pattern] = True
        must_be_right[pattern] = False
    return n_used


@inner_kernel()
def grow_cut(path: Any, cut_fits: Any, level: int, verdict: int) -> None:
    """Go on with the cut of this level after a fit of what is included or open.

    The cut is made of the variables that it has excluded so far. `verdict` says whether the others,
    included or open, suffice without them:

        INSEPARABLE    they do not: the cut is complete
        SEPARABLE      they do: the heaviest open variable is excluded too
        UNDECIDED      a doubt: the cut is given up

    It is given up as well if it would become as large as the smallest cut of few patterns, which
    has `levels.max_branches[level]` variables.
    """
    levels = path.levels
    weights = cut_fits.weights
    multipliers = cut_fits.multipliers
    status = path.variables.status
    if verdict == INSEPARABLE:
        levels.method[level] = BY_MARGIN
        return

    n_excluded = levels.n_waiting[level]  # by this cut: they wait for their turn as branches
    fit_row = levels.first_fit[level] + n_excluded  # of the fit just made
    heaviest = heaviest_open(status, weights[fit_row])
    stays_smallest = n_excluded + 1 < levels.max_branches[level]
    if verdict == SEPARABLE and heaviest != NONE and stays_smallest:
        exclude_next(path, level, heaviest)
        # The next fit, one row further on, starts from the multipliers of this one.
        for pattern in range(multipliers.shape[1]):
            multipliers[fit_row + 1, pattern] = multipliers[fit_row, pattern]
    else:
        give_up_growing(path, level)


@inlined_kernel()
def exclude_next(path: Any, level: int, j: int) -> None:
    """Exclude variable j too: it is the next member of the cut that grows at this level."""
    levels = path.levels
    n_excluded = levels.n_waiting[level]
    levels.branches[level, n_excluded] = j
    levels.n_waiting[level] = n_excluded + 1
    set_status(path.variables, j, EXCLUDED)


@inlined_kernel()
def give_up_growing(path: Any, level: int) -> None:
    """Open the variables that the growing cut has excluded; branch on the smallest cut instead.

    That is the smallest one of few patterns, or all open variables if there is none.
    """
    levels = path.levels
    for place in range(levels.n_waiting[level]):
        set_status(path.variables, levels.branches[level, place], OPEN)
    take_smallest_cut(path, level)


@leaf_kernel()
def heaviest_open(status: NDArray, weights: NDArray) -> int:
    """The open variable of largest |weight|, the first of several; −1 if none is open.

    `status` and `weights` are (features,).
    """
    heaviest = NONE
    largest = -1.0  # below all absolute weights
    for j in range(status.size):
        weight = abs(weights[j])
        if status[j] == OPEN and weight > largest:
            heaviest = j
            largest = weight
    return heaviest


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
