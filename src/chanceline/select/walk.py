"""One walk over all supports of a size, with errors or without, for proofs and for counting.

A support that suffices contains a variable of every cut: of every set of variables without which
the others do not suffice. The walk branches on the variables of a small cut not yet met: j₁
included; j₁ excluded, j₂ included; j₁, j₂ excluded, j₃ included; …

Cuts come from two sources. The hard margin gives one anywhere: the heaviest variables |w_j| are
excluded one after the other until what is included or open does not suffice. For ±1 variables there
are many more, of few patterns each (`cuts.py`): while few variables are still to be chosen these do
alone.

    advance_to_next_fit ── no further support ──► EXHAUSTED
    (next branch; level above if none waits;     ◄──────────────────────┐
     enter_level, if the branch needs no fit)                           │
       │ the cut of the level grows, or a branch is complete            │
       ▼                                                                │
    answer_or_fit ── rounding leaves a doubt ──► ASKED            │
       │ a cut grows              │ a branch                            │
       ▼                          ├── it suffices ──► FOUND             │
    grow_cut                      ▼                                     │
    exclude the heaviest;     count_or_descend                          │
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
from chanceline.select.unmet_cuts import exclude_set, find_branching_variables, set_status
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
FIT_NEEDED = 4  # inside the walk only: before it can go on, a fit is needed

# Where there are cuts of few patterns, a hard margin is worth its time only while so many variables
# are still to be chosen.
MARGIN_FROM = 5


@kernel()
def walk_on(walk: Any, max_nodes: int) -> int:
    """Continue the depth-first search over all supports of one size; return why it stops.

    A support is a set of variables. Each level of the search includes one variable of a cut: a set
    of variables of which every separating support contains at least one. Some cuts are built step
    by step ("growing"): variables are put into the cut one after the other, until a fit shows that
    the variables outside the cut do not separate.

    walk : the `Walk`, the whole state of the search, so that the next call continues where this one
        stops. All functions called here change it. Its single numbers are arrays of one entry, so
        that compiled functions can change them.
    max_nodes : the walk pauses after so many nodes. A node is one fit, or all supports that differ
        only in their last three variables.

    Returns
    -------
    EXHAUSTED : there is no further support.
    PAUSED : about `max_nodes` nodes are done.
    FOUND : the included variables separate, up to the errors that are allowed. (If supports are
        counted, the walk goes on instead.)
    ASKED : rounding leaves open whether some variables separate. Before the next call the caller
        may write the answer to `walk.question.answer`; without an answer the walk does with what
        floating point says.
    """
    path = walk.path  # where the search stands
    workspace = walk.workspace  # for fits
    cut_fits = walk.cut_fits
    question = walk.question
    node_limit = path.tally[NODES] + max_nodes
    has_not_begun = path.tally[NODES] == 0
    if has_not_begun:
        first_level = ZERO  # the number 0, as a 64-bit integer
        enter_level(path, first_level)

    while True:
        # Go to the next place that needs a fit: a growing cut, or one more variable included. If
        # the last call returned ASKED, the walk is at such a place already.
        waits_for_answer = question.is_asked[0] == 1
        if not waits_for_answer:
            event = advance_to_next_fit(path, node_limit)
            if event != FIT_NEEDED:
                return event

        # Make the fit, or take the caller's answer to the question.
        level = path.levels.current_level[0]
        is_growing = path.levels.method[level] == GROWING
        verdict = answer_or_fit(path, workspace, cut_fits, question, is_growing)
        if verdict == ASKED:
            return ASKED

        # React to the verdict.
        if is_growing:
            # The verdict is on the variables outside the cut. The cut gets one more variable, or is
            # complete, or is given up.
            grow_cut(path, cut_fits, level, verdict)
        elif verdict == SEPARABLE and not path.counts_supports:
            # The included variables are a support that suffices.
            return FOUND
        else:
            # If the included variables separate, count all supports that contain them. Otherwise go
            # to the next level, if a variable is missing.
            count_or_descend(path, level, verdict)


@inlined_kernel()
def answer_or_fit(path: Any, workspace: Any, cut_fits: Any, question: Any, is_growing: bool) -> int:
    """Decide whether variables separate: by the caller's answer, or else by a fit.

    This function is called once or twice for the same variables:

    1. A fit decides. If the fit is doubtful (UNDECIDED), ASKED is returned, `question.is_asked` is
       set, and the walk stops, so that its caller can write `question.answer`.
    2. If it has asked, it is called again when the walk goes on. The answer of the caller is the
       verdict. Without an answer the fit is repeated, and its verdict is returned even if it is
       UNDECIDED.

    Parameters
    ----------
    path, workspace, cut_fits, question : the parts of the `Walk`. `cut_fits` holds the weights and
        multipliers of fits for growing cuts.
    is_growing : whether a cut grows at this level. Then the open variables (neither included nor
        excluded) are fitted together with the included ones, else the included ones alone.

    Returns
    -------
    SEPARABLE, INSEPARABLE or UNDECIDED; or ASKED, if the caller is to answer.
    """
    # Read the question and its answer, and clear both.
    was_asked = question.is_asked[0] == 1
    answer = question.answer[0]
    question.is_asked[0] = 0
    question.answer[0] = NO_ANSWER

    # Take the answer of the caller, if there is one.
    if was_asked and answer != NO_ANSWER:
        return answer

    # Otherwise fit. If the fit is doubtful, ask, but only once.
    if is_growing:
        verdict = fit_with_open(path, workspace, cut_fits)
    else:
        verdict = fit_included(path, workspace, cut_fits.of_support)
    if verdict == UNDECIDED and not was_asked:
        question.is_asked[0] = 1
        return ASKED
    return verdict


@inner_kernel()
def advance_to_next_fit(path: Any, node_limit: int) -> int:
    """Move a depth-first search over supports to the next place that needs a fit.

    Each level 0 … size − 1 has a cut, a set of variables of which every separating support contains
    at least one. A branch of the level includes one variable of its cut. The search stands at the
    level `current_level[0]`, which is −1 after the end. A pass of the loop takes one step:

    - if the cut of the level still grows (GROWING), a fit is needed: it says which variable the cut
      gets next, or that the cut is complete. (After the fit `walk_on` continues with `grow_cut`,
      which replaces GROWING when the cut is complete.);
    - otherwise the next branch is taken; if none is left, the search goes one level up;
    - if the branch completes a support, or supports are counted, a fit is needed;
    - otherwise the search goes one level down, if the next level has branches.

    Parameters
    ----------
    path : the `WalkPath`: the state of the search. The functions called here change its arrays.
    node_limit : number of nodes, counted from the beginning of the walk, at which it pauses.

    Returns
    -------
    FIT_NEEDED : a fit is needed.
    EXHAUSTED : there is no further branch.
    PAUSED : the number of nodes has reached `node_limit`.
    """
    # These names are for speed: to read the tuples inside the loop would cost time.
    size = path.size
    tally = path.tally
    unmet = path.unmet
    variables = path.variables
    current_level = path.levels.current_level  # (1,)
    method = path.levels.method  # (levels,) how the cut of each level is found
    cut_variables = path.levels.cut_variables  # (levels, features)
    n_branches_left = path.levels.n_branches_left  # (levels,) variables of the cut not yet included
    included_variable = path.levels.included_variable  # (levels,) −1 at first

    while current_level[0] >= 0:
        level = current_level[0]
        if tally[NODES] >= node_limit:
            return PAUSED
        if method[level] == GROWING:
            return FIT_NEEDED

        # Take the next branch: include its variable, which becomes `included_variable[level]`,
        # instead of the variable of the last branch. If no branch is left, go back to the level
        # above.
        has_branch = include_next_branch(
            variables, cut_variables, n_branches_left, included_variable, level
        )
        if not has_branch:
            current_level[0] = level - 1
            continue
        completes_support = level == size - 1
        if path.counts_supports or completes_support:
            return FIT_NEEDED

        # Go down to the next level (`begin_level` makes it the current one), unless it has no
        # variables to branch on. Then no support of this branch separates: the search stays at this
        # level, and the next pass takes the next branch.
        next_level = level + 1
        count_node(tally, next_level, size)
        n_branches = find_branching_variables(
            unmet, variables, last_included=included_variable[level], level=next_level, size=size
        )
        if n_branches > 0:
            begin_level(path, next_level, n_branches)
    return EXHAUSTED


@leaf_kernel()
def include_next_branch(
    variables: Any,
    cut_variables: NDArray,
    n_branches_left: NDArray,
    included_variable: NDArray,
    level: int,
) -> bool:
    """Include the next variable of the level's cut instead of the last one; False if there is none.

    The variable included before, `included_variable[level]` (−1 if there is none), becomes open
    again. The variables that still wait for their turn are the first n_branches_left[level] entries
    of `cut_variables[level]`. They are excluded; now the last of them is included.
    """
    if included_variable[level] >= 0:
        set_status(variables, included_variable[level], OPEN)
    if n_branches_left[level] == 0:
        return False
    n_branches_left[level] -= 1
    included_variable[level] = cut_variables[level, n_branches_left[level]]
    set_status(variables, included_variable[level], INCLUDED)
    return True


@inner_kernel()
def count_or_descend(path: Any, level: int, verdict: int) -> None:
    """Continue after a fit of the included variables: count supports, or go to the next level.

    One variable is included at each of the levels 0 … level, and supports have `path.size`
    variables. If the included ones separate (`verdict`), so do all supports that contain them,
    which are counted at once. Otherwise variables have to be added, or the support is complete.
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
    """Go down to this level, unless it has no variables to branch on.

    It has none if a cut (a set of variables of which every separating support contains one) has no
    included variable and no open one. Then no support that contains the included variables
    separates, and the walk stays at the level above.

    path : the `WalkPath`: the state of the search; changed. The node is counted in its `tally`, the
        variables to branch on are written to its `unmet`, and the new level to its `levels`.
    """
    last_included = NONE  # at level 0, which has none above
    if level > 0:
        last_included = path.levels.included_variable[level - 1]
    count_node(path.tally, level, path.size)
    # The variables found are left in `path.unmet`, from where `begin_level` takes them.
    n_branches = find_branching_variables(
        path.unmet, path.variables, last_included, level, path.size
    )
    if n_branches > 0:
        begin_level(path, level, n_branches)


@inlined_kernel()
def count_node(tally: NDArray, level: int, size: int) -> None:
    """Count a node when the walk enters a level.

    Supports that differ only in their last three variables are one node, so the last two levels are
    not counted.
    """
    if level == 0 or level <= size - 3:
        tally[NODES] += 1


@leaf_kernel()
def begin_level(path: Any, level: int, n_branches: int) -> None:
    """Begin a level of the search, and choose how to find the cut on which it will branch.

    A cut is a set of variables of which every separating support contains at least one. There are
    two ways to find one:

    - A cut grows by hard-margin fits (GROWING), one variable after each fit. These fits take time.
    - The smallest of the known cuts is taken. Known cuts are made of a few ±1 patterns each, before
      the walk. If there are none, all open variables take the place of the cut.

    path : the `WalkPath`: the state of the search. The entries of this level in the arrays of
        `path.levels` are set here. The open variables of the smallest known cut are already in
        `path.unmet`, where `find_branching_variables` has written them.
    n_branches : number of open variables of the smallest known cut, or of all variables if there is
        none.
    """
    # The level begins without an included variable, and with an empty cut.
    levels = path.levels
    levels.current_level[0] = level
    levels.included_variable[level] = NONE
    levels.n_branches_left[level] = 0
    levels.known_cut_size[level] = n_branches  # a cut that grows must stay smaller than this
    if level > 0:
        # Fits for growing cuts are stored in the rows of `CutFits`. This is the row for the fit of
        # the variables that the level begins with. (At level 0 it is 0, from the allocation.)
        levels.first_fit_row[level] = first_row_of_fits(levels, level)

    # If errors are allowed, fits of many variables take too long. If few variables are missing, a
    # known cut is good enough.
    n_known_cuts = path.unmet.cuts.shape[2]
    n_missing = path.size - level
    fits_are_worth_it = n_known_cuts == 0 or n_missing >= MARGIN_FROM
    if path.max_errors == 0 and fits_are_worth_it:
        levels.method[level] = GROWING
    else:
        take_smallest_cut(path, level)


@inlined_kernel()
def first_row_of_fits(levels: Any, level: int) -> int:
    """Return the row of `CutFits` with the fit of the variables that a level begins with.

    Row r holds the fit without the r variables that growing cuts have excluded so far. Example: the
    level above has grown the cut a, b, c, beginning at row 0. So row 1 is the fit without a, and
    row 2 that without a and b. While that level includes c, the other two, a and b, wait and are
    excluded. So this level begins with the variables of row 2. `level` is at least 1.
    """
    row = levels.first_fit_row[level - 1]
    if levels.method[level - 1] == BY_MARGIN:
        row += levels.n_branches_left[level - 1]
    return row


@leaf_kernel()
def take_smallest_cut(path: Any, level: int) -> None:
    """Branch on the smallest cut of few patterns, which is in `path.unmet.branching_words` as bits.

    Its open variables become the branches of the level; all are excluded until their turn comes.
    """
    levels = path.levels
    levels.method[level] = BY_PATTERNS
    levels.n_branches_left[level] = exclude_set(
        path.variables, path.unmet.branching_words, levels.cut_variables[level]
    )


@inlined_kernel()
def fit_with_open(path: Any, workspace: Any, cut_fits: Any) -> int:
    """Decide whether the variables outside a growing cut, included or open, separate.

    A cut grows by excluding one variable after the other, until the variables outside the cut do
    not separate any more. Before the first exclusion and after each one these variables are fitted
    here.

    path : where the walk is.
    workspace : the `SupportFit` that makes the fit.
    cut_fits : weights and multipliers of such fits. Row r belongs to the fit with r variables
        excluded. The fit starts from the multipliers of its row; then the multipliers and weights
        found are written there. The weights tell `grow_cut` which variable to exclude next.

    Returns
    -------
    SEPARABLE, INSEPARABLE or UNDECIDED.
    """
    levels = path.levels
    level = levels.current_level[0]
    is_cut_empty = levels.n_branches_left[level] == 0
    if is_cut_empty and was_fitted_above(levels, level):
        # No variable is excluded at this level yet. So the variables are those of a fit that the
        # level above has made while its own cut grew. They separated, because that cut went on
        # growing afterwards. Nothing has to be written: the row of this level is that of the fit
        # above, and still has its weights. (Branches are taken from the last to the first, so that
        # only later rows have been overwritten since.)
        return SEPARABLE

    n_used = use_variables(workspace.state, path.variables.status, with_open=YES)
    row = row_of_growing_cut(levels, level)
    # Not early: the weights of the largest margin show which variable is the heaviest.
    verdict = errors_suffice(
        workspace=workspace,
        max_errors=path.max_errors,
        multipliers=cut_fits.multipliers[row],
        stops_early=NO,
    )
    keep_weights(
        workspace.state.used_columns, n_used, workspace.state.weights, cut_fits.weights[row]
    )
    return verdict


@inlined_kernel()
def row_of_growing_cut(levels: Any, level: int) -> int:
    """Return the row of `CutFits` for the fit without the variables of the cut that grows here.

    Row r holds the fit without the r variables that growing cuts have excluded so far. The cuts of
    the levels above have excluded `first_fit_row[level]`, and the cut of this level
    `n_branches_left[level]`: all variables of a growing cut are excluded, and wait for their turn
    as branches.
    """
    return levels.first_fit_row[level] + levels.n_branches_left[level]


@inlined_kernel()
def was_fitted_above(levels: Any, level: int) -> bool:
    """Whether the level above has already fitted the variables that this level begins with.

    If so, they separate. Example: the level above has grown the cut a, b, c by hard-margin fits.
    The variables left separated without a, and without a and b, but not without a, b and c, which
    ended the cut. Now that level includes c, while a and b are excluded: what is left here is what
    was fitted without a and b. A cut of few patterns involves no fits.
    """
    return level > 0 and levels.method[level - 1] == BY_MARGIN


@inlined_kernel()
def fit_included(path: Any, workspace: Any, multipliers: NDArray) -> int:
    """Decide by a fit whether the included variables alone separate.

    If supports are counted, the weights found must separate by more than rounding errors; otherwise
    the verdict is UNDECIDED. (If supports are searched, the one found is checked later.)

    path : where the walk is: which variables are included, how many errors are allowed, and whether
        supports are counted.
    workspace : the `SupportFit` that makes the fit. The weights found are left in its `state`.
    multipliers : (patterns,) scratch.

    Returns
    -------
    SEPARABLE, INSEPARABLE or UNDECIDED.
    """
    clear(multipliers)  # the fit starts from multipliers of zero
    # List the included variables in `workspace.state` as the columns of the fit, without the open
    # ones.
    use_variables(workspace.state, path.variables.status, with_open=NO)
    # Any separating weights will do, not only those of the largest margin, so the fit stops early.
    verdict = errors_suffice(
        workspace=workspace, max_errors=path.max_errors, multipliers=multipliers, stops_early=YES
    )
    if path.counts_supports and verdict == SEPARABLE and not weights_are_certain(workspace):
        return UNDECIDED
    return verdict


@inner_kernel()
def clear(values: NDArray) -> None:
    """Set all values to zero, in place."""
    for i in range(values.size):
        values[i] = 0.0


@inner_kernel()
def keep_weights(used_columns: NDArray, n_used: int, weights: NDArray, kept: NDArray) -> None:
    """Copy the weights of the used variables into `kept`, (features,)."""
    for i in range(n_used):
        # Columns that belong to every support come after the variables.
        if used_columns[i] < kept.size:
            kept[used_columns[i]] = weights[i]


@inner_kernel()
def use_variables(state: Any, status: NDArray, with_open: bool) -> int:
    """Set up a fit of the included variables, and of the open ones too if `with_open`.

    The columns of the fit are listed in `state.used_columns`, and their number is written to
    `state.n_used`. All patterns (samples times labels) are marked as kept; the fit may then give
    some of them up as errors. Returns the number of columns.

    state : the `FitState`, the input and the result of a fit; changed.
    status : (features,) OPEN, INCLUDED or EXCLUDED for every variable. Columns with the numbers
        from `status.size` on are no variables but unpenalized (the intercept): they belong to every
        fit.
    """
    used_columns = state.used_columns  # (columns,)
    is_kept = state.is_kept  # (patterns,) whether a pattern is not given up as an error
    must_be_kept = state.must_be_kept  # (patterns,) whether it must not be given up

    # List the columns of the fit.
    n_used = ZERO  # the number 0 as a 64-bit integer, the type of all compiled counts
    for j in range(used_columns.size):
        is_unpenalized = j >= status.size
        if is_unpenalized or status[j] == INCLUDED or (with_open and status[j] == OPEN):
            used_columns[n_used] = j
            n_used += 1
    state.n_used[0] = n_used

    # All patterns are to be classified, and each may be given up.
    for pattern in range(is_kept.size):
        is_kept[pattern] = True
        must_be_kept[pattern] = False
    return n_used


@inner_kernel()
def grow_cut(path: Any, cut_fits: Any, level: int, verdict: int) -> None:
    """Continue a growing cut after a fit: enlarge the cut, complete it, or give it up.

    The variables of a growing cut are excluded. The verdict of the fit says whether the variables
    outside the cut, included or open, separate:

        INSEPARABLE    the cut is complete: every support needs one of its variables
        SEPARABLE      the open variable of largest |weight| is put into the cut too
        UNDECIDED      the cut is given up

    The cut is also given up if it would become as large as the smallest cut known before, which has
    `levels.known_cut_size[level]` open variables; then the walk branches on that one.

    path : where the walk is. The cut of this level is changed in `path.levels`, and the status of
        its variables in `path.variables`.
    cut_fits : weights and multipliers of the fits; row r belongs to the fit with r variables
        excluded. The multipliers of the next fit are filled in as its start.
    """
    levels = path.levels
    weights = cut_fits.weights  # (rows, features)
    multipliers = cut_fits.multipliers  # (rows, patterns)
    status = path.variables.status
    if verdict == INSEPARABLE:
        levels.method[level] = BY_MARGIN  # no longer GROWING: its variables are the branches now
        return

    fit_row = row_of_growing_cut(levels, level)  # of the fit just made
    heaviest = heaviest_open(status, weights[fit_row])
    cut_size = levels.n_branches_left[level]  # while it grows, none of its variables is included
    stays_smaller_than_known_cut = cut_size + 1 < levels.known_cut_size[level]
    can_grow = verdict == SEPARABLE and heaviest != NONE and stays_smaller_than_known_cut
    if not can_grow:
        give_up_growing(path, level)
        return

    # One more variable is excluded, so the next fit has the next row. It starts from the
    # multipliers of this fit.
    exclude_next(path, level, heaviest)
    next_row = fit_row + 1
    for pattern in range(multipliers.shape[1]):
        multipliers[next_row, pattern] = multipliers[fit_row, pattern]


@inlined_kernel()
def exclude_next(path: Any, level: int, j: int) -> None:
    """Exclude variable j: it becomes the next member of the cut that grows at this level."""
    levels = path.levels
    cut_size = levels.n_branches_left[level]  # while it grows, none of its variables is included
    levels.cut_variables[level, cut_size] = j
    levels.n_branches_left[level] = cut_size + 1
    set_status(path.variables, j, EXCLUDED)


@inlined_kernel()
def give_up_growing(path: Any, level: int) -> None:
    """Give up a growing cut: reopen its variables, and branch on the smallest cut instead.

    That is the smallest cut of few patterns, or all open variables if there is none.
    """
    levels = path.levels
    for place in range(levels.n_branches_left[level]):
        set_status(path.variables, levels.cut_variables[level, place], OPEN)
    take_smallest_cut(path, level)


@leaf_kernel()
def heaviest_open(status: NDArray, weights: NDArray) -> int:
    """Return the open variable of largest |weight|, the first of several; −1 if none is open.

    `status`, OPEN, INCLUDED or EXCLUDED, and `weights` have shape (features,).
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
    """Count the ways to choose the missing variables from the open ones: a binomial coefficient.

    `status`, (features,), is OPEN, INCLUDED or EXCLUDED. After each division `ways` is itself a
    binomial coefficient, so that no division has a remainder.
    """
    n_open = 0
    for j in range(status.size):
        n_open += status[j] == OPEN
    ways = 1
    for i in range(n_missing):
        ways = ways * (n_open - i) // (i + 1)
    return ways
