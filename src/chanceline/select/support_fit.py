"""Whether the columns of one support separate all patterns but a few errors: compiled, and proven.

Nothing is refuted by a tolerance. A conflict that floating point has found counts if exact
multipliers near it are proven to be positive (`perceptron/conflicts.py`). Else the answer is
UNDECIDED, unless the state says that unproven conflicts count; then the gap is noted up to which
the refutation holds.

Where a set of patterns cannot all be right, few of them (one more than the columns at most) already
cannot: those with a positive multiplier. At least one of them is an error, so a search that gives
up each in turn is exhaustive. Disjoint sets of that kind cost one error each, which bounds the
errors from below.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chanceline.kernels.compile import ZERO, inlined_kernel, inner_kernel
from chanceline.perceptron.conflicts import (
    NEGLIGIBLE_MULTIPLIER,
    UNIT_ROUNDOFF,
    Conflict,
    IntegerConflict,
    conflict_is_certain,
    conflict_is_exact,
    largest_gap,
)
from chanceline.perceptron.integers import integer_columns
from chanceline.perceptron.margin import (
    INSEPARABLE,
    SEPARABLE,
    UNDECIDED,
    PassiveSet,
    hard_margin,
    make_passive_set,
)
from chanceline.perceptron.problem import Problem

# Places of the tally.
NODES = 0  # levels entered and supports fitted
UNDECIDED_SUPPORTS = 1
COUNTED_SUPPORTS = 2
N_TALLIES = 3

# Beside the verdicts SEPARABLE, INSEPARABLE and UNDECIDED: errors have to be tried one by one.
MUST_BRANCH = 2

# Of a margin, besides those of its sum: of an entry (a column of X less its centre, divided by its
# scale), of its product with the weight, and of the bound itself.
MARGIN_ROUNDINGS = 6.0


class FitData(NamedTuple):
    """What is never changed.

    columns : (columns, patterns), y_μ x_μj scaled; those of every support (the intercept) are last.
    integer_columns : (columns, patterns), the same columns in small integers; NaN where there are
        none.
    nonnegative : (columns,), the weights that must not be negative.
    """

    columns: NDArray[np.float64]
    integer_columns: NDArray[np.float64]
    nonnegative: NDArray[np.bool_]


class FitState(NamedTuple):
    """What a fit is asked, and what it leaves behind.

    used_columns : (columns,), the columns of the support in the first n_used[0] places.
    n_used : (1,), the number of columns of the support.
    is_kept : (patterns,), the patterns that are not given up as errors.
    must_be_kept : (patterns,), the patterns that must not be given up.
    weights : (columns,), of the used columns.
    accepts_unproven : (1,), 1 where a conflict counts that floating point alone has found.
    gap : (1,), the largest margin that such conflicts leave possible.
    tally : (3,), counts: NODES, UNDECIDED_SUPPORTS, COUNTED_SUPPORTS.
    """

    used_columns: NDArray[np.int64]
    n_used: NDArray[np.int64]
    is_kept: NDArray[np.bool_]
    must_be_kept: NDArray[np.bool_]
    weights: NDArray[np.float64]
    accepts_unproven: NDArray[np.int64]
    gap: NDArray[np.float64]
    tally: NDArray[np.int64]


class FitScratch(NamedTuple):
    """Arrays to work in.

    is_fitted : (patterns,), flags of the patterns that are fitted at the moment.
    conflicts : (max_errors + 1, patterns), the conflict found with so many errors left.
    later_multipliers : (patterns,), those of conflicts after the first.
    rows : (patterns + columns, columns), the patterns in the fit, then the unit vectors e_i of the
        weights that must not be negative.
    row_multipliers : (patterns + columns,), of these rows.
    conflict_members : (patterns + columns,), the rows whose multiplier is not negligible: patterns,
        and from place `patterns` on places of weights that must not be negative.
    passive : of the hard margin.
    basis, inverse, integers : of the proofs.
    """

    is_fitted: NDArray[np.bool_]
    conflicts: NDArray[np.bool_]
    later_multipliers: NDArray[np.float64]
    rows: NDArray[np.float64]
    row_multipliers: NDArray[np.float64]
    conflict_members: NDArray[np.int64]
    passive: PassiveSet
    basis: NDArray[np.float64]
    inverse: NDArray[np.float64]
    integers: NDArray[np.int64]


class SupportFit(NamedTuple):
    """All that `errors_suffice` needs."""

    data: FitData
    state: FitState
    scratch: FitScratch


def make_support_fit(problem: Problem, columns: NDArray[np.int64], max_errors: int) -> SupportFit:
    """Allocate the arrays for fits on subsets of the problem's columns.

    The result has three parts: `data`, which is never changed; `state`, with what a fit is asked
    and what it leaves behind; and `scratch`, arrays to work in. `FitData`, `FitState` and
    `FitScratch` say what each array is for. Single numbers are arrays of one entry, so that
    compiled functions can change them.

    problem : the data.
    columns : (n,) indices of the problem's columns, in the order in which the fits number them;
        those that belong to every support (the intercept) come last.
    max_errors : number of patterns (samples times labels) that may be given up as errors.
    """
    n_columns = columns.size
    n_patterns = problem.n_samples
    n_rows = n_patterns + n_columns
    data = FitData(
        columns=problem.columns[columns],
        integer_columns=integer_columns(problem)[columns],
        nonnegative=problem.nonnegative[columns],
    )
    state = FitState(
        used_columns=np.arange(n_columns),
        n_used=np.zeros(1, dtype=np.int64),
        # No pattern is given up as an error yet, and each may be.
        is_kept=np.ones(n_patterns, dtype=np.bool_),
        must_be_kept=np.zeros(n_patterns, dtype=np.bool_),
        weights=np.zeros(n_columns),
        # A conflict (patterns that cannot all be right) counts only if it is proven. So the gap,
        # the largest margin that unproven conflicts leave possible, is zero.
        accepts_unproven=np.zeros(1, dtype=np.int64),
        gap=np.zeros(1),
        tally=np.zeros(N_TALLIES, dtype=np.int64),
    )
    scratch = FitScratch(
        is_fitted=np.zeros(n_patterns, dtype=np.bool_),
        conflicts=np.zeros((max_errors + 1, n_patterns), dtype=np.bool_),
        later_multipliers=np.zeros(n_patterns),
        rows=np.zeros((n_rows, n_columns)),
        row_multipliers=np.zeros(n_rows),
        conflict_members=np.zeros(n_rows, dtype=np.int64),
        passive=make_passive_set(n_rows, n_columns),
        # The proofs solve equations for the multipliers of a conflict: one for each column, and one
        # for their sum. A minimal conflict has at most as many patterns as there are equations.
        basis=np.zeros((n_columns + 1, n_columns + 1)),
        inverse=np.zeros((n_columns + 1, n_columns + 1)),
        integers=np.zeros((n_columns + 1, n_columns + 2), dtype=np.int64),
    )
    return SupportFit(data=data, state=state, scratch=scratch)


@inner_kernel()
def errors_suffice(workspace: Any, max_errors: int, multipliers: NDArray, stops_early: bool) -> int:
    """Whether the used columns separate the kept patterns if `max_errors` of them may be wrong.

    A pattern is a sample times its label. It is kept unless it has been given up as an error. A
    conflict is a set of a few patterns that cannot all be right, so at least one of them is an
    error. The steps:

    1. If a fit separates all kept patterns, the answer is SEPARABLE.
    2. If there are more than `max_errors` disjoint conflicts, the answer is INSEPARABLE.
    3. Otherwise each pattern of the first conflict is given up as an error in turn, and the
       function calls itself with one error fewer.

    Parameters
    ----------
    workspace : the `SupportFit`. Its `state` has the used columns; `is_kept`, which marks the
        patterns that are kept; and `must_be_kept`, those that may not be given up.
    multipliers : (patterns,) a start for the first fit; overwritten.
    stops_early : whether any separating weights will do, rather than those of the largest margin.

    Returns
    -------
    SEPARABLE : `is_kept` now marks the patterns that are separated; up to `max_errors` more are
        given up.
    INSEPARABLE or UNDECIDED : `is_kept` is as before.

    In every case `must_be_kept` is as before.
    """
    is_kept = workspace.state.is_kept
    must_be_kept = workspace.state.must_be_kept
    # (patterns,) bools; each depth of the recursion has a row of its own.
    conflict = workspace.scratch.conflicts[max_errors]
    workspace.state.tally[NODES] += 1

    # Steps 1 and 2. If they leave the question open, `conflict` marks the patterns to give up.
    verdict = fit_and_count_conflicts(
        workspace,
        max_errors=max_errors,
        multipliers=multipliers,
        stops_early=stops_early,
        conflict=conflict,
    )
    if verdict != MUST_BRANCH:
        return verdict

    # Step 3. One doubtful branch makes the answer UNDECIDED, unless another branch separates.
    verdict = INSEPARABLE
    for pattern in range(conflict.size):
        if conflict[pattern]:
            is_kept[pattern] = False
            verdict_without = errors_suffice(workspace, max_errors - 1, multipliers, stops_early)
            if verdict_without == SEPARABLE:
                verdict = SEPARABLE
                break  # the pattern stays given up
            if verdict_without == UNDECIDED:
                verdict = UNDECIDED
            is_kept[pattern] = True
            # All sets of errors that contain this pattern have been tried. So the further branches
            # need not give it up again.
            must_be_kept[pattern] = True

    # Clear the marks set here. (`conflict` holds no pattern that was marked before.) The caller may
    # give these patterns up in other branches.
    for pattern in range(conflict.size):
        if conflict[pattern]:
            must_be_kept[pattern] = False
    return verdict


@inlined_kernel()
def fit_and_count_conflicts(
    workspace: Any, max_errors: int, multipliers: NDArray, stops_early: bool, conflict: NDArray
) -> int:
    """Fit the kept patterns; if no weights separate them, count disjoint conflicts among them.

    A pattern is a sample times its label; it is kept unless it is given up as an error. A fit that
    fails leaves a multiplier for each pattern. The patterns with a positive multiplier are a
    conflict: they cannot all be right. They are left out of the next fit. So the conflicts have no
    pattern in common, and each costs at least one error.

    Parameters
    ----------
    workspace : the `SupportFit`: the arrays that a fit reads and writes. Its `state` says which
        columns are used and which patterns are kept.
    multipliers : (patterns,) a start for the first fit; filled with the multipliers of that fit.
    stops_early : whether any separating weights will do, rather than those of the largest margin.
    conflict : (patterns,) bools, filled with the patterns of the first conflict that may be given
        up as errors.

    Returns
    -------
    SEPARABLE or UNDECIDED : the verdict of the first fit.
    INSEPARABLE : there are more conflicts than `max_errors`.
    MUST_BRANCH : neither; the caller has to try giving up each pattern of the first conflict.
    """
    # (patterns,) which patterns the next fit contains; `fit_patterns` reads these flags.
    is_fitted = workspace.scratch.is_fitted
    later_multipliers = workspace.scratch.later_multipliers
    for pattern in range(is_fitted.size):
        is_fitted[pattern] = workspace.state.is_kept[pattern]
        later_multipliers[pattern] = 0.0

    # The first conflict.
    verdict = fit_patterns(workspace, multipliers, stops_early)
    if verdict != INSEPARABLE:
        return verdict
    mark_conflict(multipliers, workspace.state.must_be_kept, conflict)
    remove_conflict(is_fitted, multipliers)
    n_conflicts = 1

    # Further conflicts, until there are too many, or the patterns that are left separate.
    while n_conflicts <= max_errors:
        verdict = fit_patterns(workspace, later_multipliers, stops_early)
        if verdict != INSEPARABLE:
            return MUST_BRANCH
        remove_conflict(is_fitted, later_multipliers)
        n_conflicts += 1
    return INSEPARABLE


@inlined_kernel()
def mark_conflict(multipliers: NDArray, must_be_kept: NDArray, conflict: NDArray) -> None:
    """Mark the patterns of a conflict that may be given up as errors, in `conflict`, (patterns,).

    These have a positive multiplier and are not marked as `must_be_kept`.
    """
    for pattern in range(conflict.size):
        conflict[pattern] = multipliers[pattern] > 0.0 and not must_be_kept[pattern]


@inner_kernel()
def remove_conflict(is_fitted: NDArray, multipliers: NDArray) -> None:
    """Take the patterns of a conflict, those of positive multiplier, out of the next fit.

    Their flags in `is_fitted`, (patterns,), are cleared.
    """
    for pattern in range(is_fitted.size):
        if multipliers[pattern] > 0.0:
            is_fitted[pattern] = False


@inner_kernel()
def fit_patterns(workspace: Any, multipliers: NDArray, stops_early: bool) -> int:
    """Decide whether weights of the used columns separate some of the patterns.

    A hard-margin fit decides in floating point. If it finds no separating weights, it has found a
    conflict (patterns that cannot all be right), given by a multiplier for each pattern.

    Parameters
    ----------
    workspace : the `SupportFit`. Its `scratch.is_fitted`, (patterns,) bools, marks the patterns to
        separate; the caller sets these marks. The weights found are left in `state.weights`.
    multipliers : (patterns,) the start; filled with the multipliers found, zero for patterns that
        are not fitted.
    stops_early : whether any separating weights will do, rather than those of the largest margin.

    Returns
    -------
    SEPARABLE : the weights separate these patterns in floating point.
    INSEPARABLE : there is a conflict, and it is proven; or `state.accepts_unproven` says that it
        counts without a proof.
    UNDECIDED : there is a conflict that is not proven and does not count.
    """
    is_fitted = workspace.scratch.is_fitted
    rows = workspace.scratch.rows
    row_multipliers = workspace.scratch.row_multipliers
    n_used = workspace.state.n_used[0]

    # Fill `rows` and `row_multipliers`, the start of the hard margin: first the patterns, then one
    # row for each weight that must not be negative.
    n_pattern_rows = fill_pattern_rows(workspace, multipliers)
    n_rows = fill_sign_rows(workspace, n_pattern_rows)

    verdict = SEPARABLE  # if there is no pattern to fit
    if n_pattern_rows > 0:
        verdict = hard_margin(
            rows=rows[:n_rows],
            n_patterns=n_pattern_rows,
            weights=workspace.state.weights[:n_used],
            multipliers=row_multipliers[:n_rows],
            early=stops_early,
            passive=workspace.scratch.passive,
        )
    if verdict == INSEPARABLE:
        verdict = verdict_of_conflict(workspace, n_pattern_rows, n_rows)

    # Copy the multipliers from the rows back to the patterns. The rows have the fitted patterns in
    # the same order.
    row = 0
    for pattern in range(multipliers.size):
        multipliers[pattern] = 0.0
        if is_fitted[pattern]:
            multipliers[pattern] = row_multipliers[row]
            row += 1
    return verdict


@inlined_kernel()
def verdict_of_conflict(workspace: Any, n_pattern_rows: int, n_rows: int) -> int:
    """Say what a conflict found in floating point proves: INSEPARABLE, or else UNDECIDED.

    A conflict of rows a_r is Σ_r λ_r a_r = 0 with multipliers λ ≥ 0, not all zero. If there is one,
    no weights separate the patterns. As rounding may feign one, it has to be proven, either by
    bounds on all rounding errors or in exact integer arithmetic. Without a proof it still counts if
    `state.accepts_unproven` is set.

    workspace : the `SupportFit`. The first `n_rows` of `scratch.rows` are the a_r, and those of
        `scratch.row_multipliers` the λ_r.
    n_pattern_rows : so many of the rows are patterns; the others, which come after them, are unit
        vectors for weights that must not be negative.
    """
    basis = workspace.scratch.basis  # (columns + 1, columns + 1), overwritten by the first proof
    conflict = Conflict(
        rows=workspace.scratch.rows[:n_rows],
        multipliers=workspace.scratch.row_multipliers[:n_rows],
        n_patterns=n_pattern_rows,
        n_columns=workspace.state.n_used[0],
    )
    if conflict_is_certain(conflict, basis, workspace.scratch.inverse):
        return INSEPARABLE
    if is_integer_conflict(workspace, n_pattern_rows):
        return INSEPARABLE
    # There is no proof. `basis` is not needed any more: its first row serves as scratch.
    column_sums = basis[0]
    return accept_or_doubt_conflict(workspace.state, conflict, column_sums)


@inlined_kernel()
def fill_pattern_rows(workspace: Any, start: NDArray) -> int:
    """Copy the patterns to be fitted into the rows of the hard margin; return how many there are.

    workspace : the `SupportFit`: the arrays that a fit reads and writes. The patterns marked in
        `scratch.is_fitted` are copied to the first rows of `scratch.rows`, which have one entry for
        each used column. Their multipliers are copied to the same places of
        `scratch.row_multipliers`.
    start : (patterns,) the multipliers from which the hard margin starts.
    """
    columns = workspace.data.columns  # (columns, patterns)
    used_columns = workspace.state.used_columns  # in the first n_used places
    n_used = workspace.state.n_used[0]
    is_fitted = workspace.scratch.is_fitted
    rows = workspace.scratch.rows
    row_multipliers = workspace.scratch.row_multipliers
    n_pattern_rows = ZERO  # the number 0 as a 64-bit integer, the type of all compiled counts
    for pattern in range(is_fitted.size):
        if is_fitted[pattern]:
            row_multipliers[n_pattern_rows] = start[pattern]
            for i in range(n_used):
                rows[n_pattern_rows, i] = columns[used_columns[i], pattern]
            n_pattern_rows += 1
    return n_pattern_rows


@inlined_kernel()
def fill_sign_rows(workspace: Any, n_pattern_rows: int) -> int:
    """Append a unit row e_i for every weight that must not be negative; return the number of rows.

    The row e_i has a 1 at place i of the used columns, and zeros elsewhere: in the hard margin it
    demands w_i ≥ 0. Its multiplier starts at zero.

    workspace : the `SupportFit`, whose `scratch.rows` and `scratch.row_multipliers` are filled.
    n_pattern_rows : the number of rows filled before, those of the patterns.
    """
    nonnegative = workspace.data.nonnegative
    used_columns = workspace.state.used_columns
    n_used = workspace.state.n_used[0]
    rows = workspace.scratch.rows
    row_multipliers = workspace.scratch.row_multipliers
    n_rows = n_pattern_rows
    for i in range(n_used):
        if nonnegative[used_columns[i]]:
            for j in range(n_used):
                rows[n_rows, j] = 0.0
            rows[n_rows, i] = 1.0
            row_multipliers[n_rows] = 0.0
            n_rows += 1
    return n_rows


@inner_kernel()
def accept_or_doubt_conflict(state: Any, conflict: Any, column_sums: NDArray) -> int:
    """Return INSEPARABLE if conflicts count without a proof, else UNDECIDED.

    If the conflict counts, the largest margin that it leaves possible is noted in `state.gap`.

    state : the `FitState`.
    conflict : the `Conflict`.
    column_sums : (columns,) scratch.
    """
    if state.accepts_unproven[0] == 0:
        return UNDECIDED
    state.gap[0] = max(state.gap[0], largest_gap(conflict, column_sums))
    return INSEPARABLE


@inner_kernel()
def is_integer_conflict(workspace: Any, n_pattern_rows: int) -> bool:
    """Whether a conflict found in floating point is proven in exact integer arithmetic.

    A conflict shows that no weights separate: Σ_r λ_r a_r = 0 with multipliers λ_r ≥ 0, not all
    zero. The rows a_r are patterns (samples times labels), and unit rows e_i, one for each weight
    that must not be negative; i counts the columns in use. The λ_r from floating point only tell
    which rows matter: those with a λ_r that is not negligible. For these rows the λ_r are computed
    anew, in integers, and must be positive.

    workspace : the `SupportFit`. The λ_r from floating point, of sum 1, are in
        `scratch.row_multipliers`: first those of the fitted patterns, then those of the unit rows.
    n_pattern_rows : number of the fitted patterns.
    """
    # Two lists of the rows that matter: the indices of patterns, and the places i of unit rows.
    # Each is written to the front of its part of one scratch array; the parts are as long as there
    # are patterns and columns.
    n_all_patterns = workspace.scratch.is_fitted.size
    patterns_buffer = workspace.scratch.conflict_members[:n_all_patterns]
    unit_places_buffer = workspace.scratch.conflict_members[n_all_patterns:]
    n_patterns = list_conflict_patterns(workspace, patterns_buffer)
    n_units = list_conflict_units(workspace, n_pattern_rows, unit_places_buffer)
    patterns = patterns_buffer[:n_patterns]
    unit_places = unit_places_buffer[:n_units]

    # The λ_r solve one equation for each column used, and one for their sum. With more rows than
    # equations they are not unique. Then there is no proof in integers.
    n_used = workspace.state.n_used[0]
    n_rows = n_patterns + n_units
    n_equations = n_used + 1
    if n_rows > n_equations:
        return False
    conflict = IntegerConflict(
        integer_values=workspace.data.integer_columns,
        used_columns=workspace.state.used_columns,
        n_columns=n_used,
        patterns=patterns,
        unit_places=unit_places,
    )
    return conflict_is_exact(conflict, workspace.scratch.integers)


@inlined_kernel()
def list_conflict_patterns(workspace: Any, patterns: NDArray) -> int:
    """List the patterns whose multiplier is not negligible; return how many there are.

    workspace : the `SupportFit`. Only patterns marked in `scratch.is_fitted` were fitted. Their
        multipliers have the first places of `scratch.row_multipliers`, in the same order.
    patterns : (all patterns,) filled from the front with the indices of the patterns listed.
    """
    is_fitted = workspace.scratch.is_fitted
    row_multipliers = workspace.scratch.row_multipliers
    row = 0
    n_listed = 0
    for pattern in range(is_fitted.size):
        if is_fitted[pattern]:
            if row_multipliers[row] > NEGLIGIBLE_MULTIPLIER:
                patterns[n_listed] = pattern
                n_listed += 1
            row += 1
    return n_listed


@inlined_kernel()
def list_conflict_units(workspace: Any, first_unit_row: int, unit_places: NDArray) -> int:
    """List the weights whose sign condition takes part in a conflict; return how many.

    A fit has a unit row e_i for each used column i whose weight must not be negative, in the order
    of the columns. The sign condition takes part if the multiplier of this row is not negligible.

    workspace : the `SupportFit`, with the multipliers in `scratch.row_multipliers`.
    first_unit_row : the number of the first unit row; the rows of patterns come before.
    unit_places : filled from the front with the i of the weights listed.
    """
    nonnegative = workspace.data.nonnegative  # (columns,)
    used_columns = workspace.state.used_columns
    row_multipliers = workspace.scratch.row_multipliers
    n_used = workspace.state.n_used[0]  # the number of used columns, in an array of one entry
    unit_row = first_unit_row
    n_listed = 0
    for i in range(n_used):
        has_unit_row = nonnegative[used_columns[i]]
        if has_unit_row:
            if row_multipliers[unit_row] > NEGLIGIBLE_MULTIPLIER:
                unit_places[n_listed] = i
                n_listed += 1
            unit_row += 1
    return n_listed


@inner_kernel()
def weights_are_certain(workspace: Any) -> bool:
    """Whether the weights of the used columns classify every pattern correctly, for certain.

    Every margin, a sum of products, must exceed the largest possible rounding error:

        2 · (number of roundings) · (unit roundoff) · Σ |product|,

    with one rounding for each product, and MARGIN_ROUNDINGS more; the factor 2 is for safety.

    workspace : the `SupportFit`, with the weights in `state.weights`.
    """
    columns = workspace.data.columns  # (columns, patterns)
    used_columns = workspace.state.used_columns
    n_used = workspace.state.n_used[0]
    weights = workspace.state.weights
    n_roundings = n_used + MARGIN_ROUNDINGS
    relative_bound = 2.0 * n_roundings * UNIT_ROUNDOFF
    for pattern in range(columns.shape[1]):
        margin = 0.0
        absolute_sum = 0.0
        for i in range(n_used):
            product = columns[used_columns[i], pattern] * weights[i]
            margin += product
            absolute_sum += abs(product)
        # Written with "not", so that NaN is not certain either.
        if not margin > relative_bound * absolute_sum:
            return False
    return True
