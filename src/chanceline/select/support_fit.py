"""Whether the columns of one support separate all patterns but a few errors: compiled, and proven.

Nothing is refuted by a tolerance. A conflict that floating point has found counts if exact
multipliers near it are proven to be positive (`perceptron/conflicts.py`). Else the answer is
UNDECIDED, unless the state says that rounding is to be trusted; then the gap is noted up to which
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

    used : (columns,), the columns of the support in the first n_used[0] places.
    n_used : (1,).
    alive : (patterns,), those that are not given up as errors.
    must_be_right : (patterns,), those that must not be given up.
    weights : (columns,), of the used columns.
    trusts_rounding : (1,), 1 where a conflict counts that floating point alone has found.
    gap : (1,), the largest margin that such conflicts leave possible.
    tally : (3,), counts: NODES, UNDECIDED_SUPPORTS, COUNTED_SUPPORTS.
    """

    used: NDArray[np.int64]
    n_used: NDArray[np.int64]
    alive: NDArray[np.bool_]
    must_be_right: NDArray[np.bool_]
    weights: NDArray[np.float64]
    trusts_rounding: NDArray[np.int64]
    gap: NDArray[np.float64]
    tally: NDArray[np.int64]


class FitScratch(NamedTuple):
    """Arrays to work in.

    in_fit : (patterns,), flags of the patterns that are fitted at the moment.
    conflicts : (max_errors + 1, patterns), the conflict found with so many errors left.
    further_multipliers : (patterns,), those of conflicts after the first.
    rows : (patterns + columns, columns), the patterns in the fit, then the unit vectors e_i of the
        weights that must not be negative.
    row_multipliers : (patterns + columns,), of these rows.
    members : (patterns + columns,), the rows whose multiplier is not negligible: patterns, and
        from place `patterns` on places of weights that must not be negative.
    passive : of the hard margin.
    basis, inverse, integers : of the proofs.
    """

    in_fit: NDArray[np.bool_]
    conflicts: NDArray[np.bool_]
    further_multipliers: NDArray[np.float64]
    rows: NDArray[np.float64]
    row_multipliers: NDArray[np.float64]
    members: NDArray[np.int64]
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
    and what it leaves behind; and `scratch`. `FitData`, `FitState` and `FitScratch` say what each
    array is for. Single numbers are arrays of one entry, so that compiled functions can change
    them.

    problem : the data.
    columns : (n,) indices of the problem's columns, in the order in which the fits number them;
        those that belong to every support (the intercept) come last.
    max_errors : samples that may be misclassified.
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
        used=np.arange(n_columns),
        n_used=np.zeros(1, dtype=np.int64),
        alive=np.ones(n_patterns, dtype=np.bool_),
        must_be_right=np.zeros(n_patterns, dtype=np.bool_),
        weights=np.zeros(n_columns),
        trusts_rounding=np.zeros(1, dtype=np.int64),
        gap=np.zeros(1),
        tally=np.zeros(N_TALLIES, dtype=np.int64),
    )
    scratch = FitScratch(
        in_fit=np.zeros(n_patterns, dtype=np.bool_),
        conflicts=np.zeros((max_errors + 1, n_patterns), dtype=np.bool_),
        further_multipliers=np.zeros(n_patterns),
        rows=np.zeros((n_rows, n_columns)),
        row_multipliers=np.zeros(n_rows),
        members=np.zeros(n_rows, dtype=np.int64),
        passive=make_passive_set(n_rows, n_columns),
        # The proofs solve equations for the multipliers of a conflict: one for each column, and one
        # for their sum. A minimal conflict has at most as many patterns as there are equations.
        basis=np.zeros((n_columns + 1, n_columns + 1)),
        inverse=np.zeros((n_columns + 1, n_columns + 1)),
        integers=np.zeros((n_columns + 1, n_columns + 2), dtype=np.int64),
    )
    return SupportFit(data=data, state=state, scratch=scratch)


@inner_kernel()
def errors_suffice(fit: Any, max_errors: int, multipliers: NDArray, early: bool) -> int:
    """Whether the used columns separate the alive patterns if `max_errors` of them may be wrong.

    A pattern is a sample times its label. A conflict is a set of a few patterns that cannot all be
    right, so at least one of them is an error. The steps:

    1. If a fit separates all alive patterns, the answer is SEPARABLE.
    2. If there are more than `max_errors` disjoint conflicts, the answer is INSEPARABLE.
    3. Otherwise each pattern of the first conflict is given up as an error in turn, and the
       function calls itself with one error fewer.

    Parameters
    ----------
    fit : the `SupportFit`. Its `state` has the used columns, the patterns that are alive (not given
        up as errors), and those that `must_be_right` (may not be given up).
    multipliers : (patterns,) a start for the first fit; overwritten.
    early : whether any separating weights will do, rather than those of the largest margin.

    Returns
    -------
    SEPARABLE : `alive` is now the set of patterns that are separated. Before the next question
        about a support the caller must set `alive` and `must_be_right` anew.
    INSEPARABLE or UNDECIDED : `alive` and `must_be_right` are as before.
    """
    alive = fit.state.alive
    must_be_right = fit.state.must_be_right
    conflict = fit.scratch.conflicts[max_errors]  # (patterns,); each recursion depth has its own
    fit.state.tally[NODES] += 1

    # Steps 1 and 2. If they leave the question open, `conflict` marks the patterns to give up.
    verdict = refute_by_conflicts(
        fit, max_errors=max_errors, multipliers=multipliers, early=early, conflict=conflict
    )
    if verdict != MUST_BRANCH:
        return verdict

    # Step 3. One doubtful branch makes the answer UNDECIDED, unless another branch separates.
    verdict = INSEPARABLE
    for pattern in range(conflict.size):
        if conflict[pattern]:
            alive[pattern] = False
            verdict_without = errors_suffice(fit, max_errors - 1, multipliers, early)
            if verdict_without == SEPARABLE:
                return SEPARABLE  # all recursive calls return at once, so nothing is undone
            if verdict_without == UNDECIDED:
                verdict = UNDECIDED
            alive[pattern] = True
            # All sets of errors that contain this pattern have been tried. So the further branches
            # need not give it up again.
            must_be_right[pattern] = True

    # Clear these marks again, because the caller may give the patterns up in other branches.
    for pattern in range(conflict.size):
        if conflict[pattern]:
            must_be_right[pattern] = False
    return verdict


@inlined_kernel()
def refute_by_conflicts(
    fit: Any, max_errors: int, multipliers: NDArray, early: bool, conflict: NDArray
) -> int:
    """Fit the alive patterns; if they do not separate, count disjoint conflicts among them.

    If a fit fails, the patterns with a positive multiplier are a conflict: they cannot all be
    right. They are left out of the next fit. So the conflicts have no pattern in common, and each
    costs at least one error.

    Parameters
    ----------
    fit : the `SupportFit`, with the used columns and the alive patterns in its `state`.
    multipliers : (patterns,) a start for the first fit; filled with the multipliers of that fit.
    early : whether any separating weights will do.
    conflict : (patterns,) bools, filled with the patterns of the first conflict that may be given
        up as errors.

    Returns
    -------
    SEPARABLE or UNDECIDED : the verdict of the first fit.
    INSEPARABLE : there are more conflicts than `max_errors`.
    MUST_BRANCH : neither; the caller has to try giving up each pattern of the first conflict.
    """
    in_fit = fit.scratch.in_fit  # (patterns,) the patterns that the next fit contains
    further_multipliers = fit.scratch.further_multipliers
    for pattern in range(in_fit.size):
        in_fit[pattern] = fit.state.alive[pattern]
        further_multipliers[pattern] = 0.0

    # The first conflict.
    verdict = fit_flagged_patterns(fit, multipliers, early)
    if verdict != INSEPARABLE:
        return verdict
    mark_conflict(multipliers, fit.state.must_be_right, conflict)
    remove_conflict(in_fit, multipliers)
    n_conflicts = 1

    # Further conflicts, until there are too many, or the patterns that are left separate.
    while n_conflicts <= max_errors:
        verdict = fit_flagged_patterns(fit, further_multipliers, early)
        if verdict != INSEPARABLE:
            return MUST_BRANCH
        remove_conflict(in_fit, further_multipliers)
        n_conflicts += 1
    return INSEPARABLE


@inlined_kernel()
def mark_conflict(multipliers: NDArray, must_be_right: NDArray, conflict: NDArray) -> None:
    """Mark the patterns of a conflict that may be given up as errors, in `conflict`, (patterns,).

    These have a positive multiplier and are not marked as `must_be_right`.
    """
    for pattern in range(conflict.size):
        conflict[pattern] = multipliers[pattern] > 0.0 and not must_be_right[pattern]


@inner_kernel()
def remove_conflict(in_fit: NDArray, multipliers: NDArray) -> None:
    """Take the patterns of a conflict, those of positive multiplier, out of the next fit.

    Their flags in `in_fit`, (patterns,), are cleared.
    """
    for pattern in range(in_fit.size):
        if multipliers[pattern] > 0.0:
            in_fit[pattern] = False


@inner_kernel()
def fit_flagged_patterns(fit: Any, multipliers: NDArray, early: bool) -> int:
    """Decide whether the used columns separate some of the patterns, those flagged in `in_fit`.

    A hard-margin fit decides in floating point. If it finds no separating weights, it has found a
    conflict (patterns that cannot all be right), given by a multiplier for each pattern. Unless
    this conflict is proven, the verdict is UNDECIDED; or INSEPARABLE, if rounding is to be trusted.

    Parameters
    ----------
    fit : the `SupportFit`, with the flags in `scratch.in_fit`. The weights found are left in
        `state.weights`.
    multipliers : (patterns,) the start; filled with the multipliers found, zero for patterns that
        are not flagged.
    early : whether any separating weights will do, rather than those of the largest margin.

    Returns
    -------
    SEPARABLE, INSEPARABLE or UNDECIDED.
    """
    in_fit = fit.scratch.in_fit
    rows = fit.scratch.rows
    row_multipliers = fit.scratch.row_multipliers
    n_used = fit.state.n_used[0]

    # Fill the rows of the hard margin: the patterns, then one row for each nonnegative weight.
    n_pattern_rows = fill_patterns(fit, multipliers)
    n_rows = fill_sign_rows(fit, n_pattern_rows)

    verdict = SEPARABLE  # if there is no pattern to fit
    if n_pattern_rows > 0:
        verdict = hard_margin(
            rows=rows[:n_rows],
            n_patterns=n_pattern_rows,
            weights=fit.state.weights[:n_used],
            multipliers=row_multipliers[:n_rows],
            early=early,
            passive=fit.scratch.passive,
        )
    if verdict == INSEPARABLE:
        verdict = verdict_of_conflict(fit, n_pattern_rows, n_rows)

    # Copy the multipliers from the rows back to the patterns. The rows have the flagged patterns in
    # the same order.
    row = 0
    for pattern in range(multipliers.size):
        multipliers[pattern] = 0.0
        if in_fit[pattern]:
            multipliers[pattern] = row_multipliers[row]
            row += 1
    return verdict


@inlined_kernel()
def verdict_of_conflict(fit: Any, n_pattern_rows: int, n_rows: int) -> int:
    """Return INSEPARABLE if a conflict is proven, or rounding is to be trusted; else UNDECIDED.

    A conflict of rows a_r is Σ_r λ_r a_r = 0 with multipliers λ ≥ 0, not all zero. If there is one,
    no weights separate the patterns. The conflict was found in floating point. It is proven either
    by bounds on all rounding errors, or in exact integer arithmetic.

    fit : the `SupportFit`. The first `n_rows` of `scratch.rows` are the a_r, and those of
        `scratch.row_multipliers` the λ_r.
    n_pattern_rows : so many of the rows are patterns; the others, which come after them, are unit
        vectors for weights that must not be negative.
    """
    basis = fit.scratch.basis
    conflict = Conflict(
        rows=fit.scratch.rows[:n_rows],
        multipliers=fit.scratch.row_multipliers[:n_rows],
        n_patterns=n_pattern_rows,
        n_columns=fit.state.n_used[0],
    )
    if conflict_is_certain(conflict, basis, fit.scratch.inverse):
        return INSEPARABLE
    if is_integer_conflict(fit, n_pattern_rows):
        return INSEPARABLE
    # There is no proof. `basis` is not needed any more: its first row serves as scratch.
    return trust_conflict(fit.state, conflict, column_sums=basis[0])


@inlined_kernel()
def fill_patterns(fit: Any, start: NDArray) -> int:
    """Copy the patterns flagged in `in_fit` into `scratch.rows`; return how many there are.

    A row has one entry for each used column. The multiplier from which the hard margin starts is
    copied to the same place of `scratch.row_multipliers`.

    fit : the `SupportFit`.
    start : (patterns,) a multiplier for each pattern.
    """
    columns = fit.data.columns  # (columns, patterns)
    used = fit.state.used  # the columns in use, in the first n_used places
    n_used = fit.state.n_used[0]
    in_fit = fit.scratch.in_fit
    rows = fit.scratch.rows
    row_multipliers = fit.scratch.row_multipliers
    n_pattern_rows = ZERO  # a 64-bit integer, so that the compiled code has one type for all counts
    for pattern in range(in_fit.size):
        if in_fit[pattern]:
            row_multipliers[n_pattern_rows] = start[pattern]
            for i in range(n_used):
                rows[n_pattern_rows, i] = columns[used[i], pattern]
            n_pattern_rows += 1
    return n_pattern_rows


@inlined_kernel()
def fill_sign_rows(fit: Any, n_pattern_rows: int) -> int:
    """Append a unit row e_i for every weight that must not be negative; return the number of rows.

    The row e_i has a 1 at place i of the used columns, and zeros elsewhere: in the hard margin it
    demands w_i ≥ 0. Its multiplier starts at zero.

    fit : the `SupportFit`, whose `scratch.rows` and `scratch.row_multipliers` are filled.
    n_pattern_rows : the number of rows filled before, those of the patterns.
    """
    nonnegative = fit.data.nonnegative
    used = fit.state.used
    n_used = fit.state.n_used[0]
    rows = fit.scratch.rows
    row_multipliers = fit.scratch.row_multipliers
    n_rows = n_pattern_rows
    for i in range(n_used):
        if nonnegative[used[i]]:
            for j in range(n_used):
                rows[n_rows, j] = 0.0
            rows[n_rows, i] = 1.0
            row_multipliers[n_rows] = 0.0
            n_rows += 1
    return n_rows


@inner_kernel()
def trust_conflict(state: Any, conflict: Any, column_sums: NDArray) -> int:
    """Return INSEPARABLE for a conflict without proof if rounding is to be trusted, else UNDECIDED.

    If it is trusted, the largest margin that the conflict leaves possible is noted in `state.gap`.

    state : the `FitState`.
    conflict : the `Conflict`.
    column_sums : (columns,) scratch.
    """
    if state.trusts_rounding[0] == 0:
        return UNDECIDED
    state.gap[0] = max(state.gap[0], largest_gap(conflict, column_sums))
    return INSEPARABLE


@inner_kernel()
def is_integer_conflict(fit: Any, n_pattern_rows: int) -> bool:
    """Whether a conflict found in floating point also holds in exact integer arithmetic.

    A conflict proves that nothing separates: Σ_r λ_r a_r = 0 with multipliers λ_r ≥ 0, not all
    zero. The rows a_r are patterns (samples times labels), and unit rows e_i, one for each weight
    that must not be negative; i counts the columns in use. The λ_r from floating point only tell
    which rows matter: those with a λ_r that is not negligible. For these rows the λ_r are computed
    anew, in integers, and must be positive.

    fit : the `SupportFit`. The λ_r from floating point, of sum 1, are in `scratch.row_multipliers`:
        first those of the fitted patterns, then those of the unit rows.
    n_pattern_rows : number of the fitted patterns.
    """
    # Room for two lists of the rows that matter: the indices of patterns, and the places i of unit
    # rows. Both are views of one scratch array, with room for all patterns and then all columns.
    n_all_patterns = fit.scratch.in_fit.size
    room_for_patterns = fit.scratch.members[:n_all_patterns]
    room_for_units = fit.scratch.members[n_all_patterns:]

    # Fill the two lists from the front. (Each function returns the length of its list.)
    n_patterns = list_conflict_patterns(fit, room_for_patterns)
    n_units = list_conflict_units(fit, n_pattern_rows, room_for_units)
    patterns = room_for_patterns[:n_patterns]
    unit_places = room_for_units[:n_units]

    # The λ_r solve one equation for each column used, and one for their sum. With more rows than
    # equations they are not unique, and nothing is proven.
    n_used = fit.state.n_used[0]
    n_rows = n_patterns + n_units
    n_equations = n_used + 1
    if n_rows > n_equations:
        return False
    conflict = IntegerConflict(
        integer_values=fit.data.integer_columns,
        used_columns=fit.state.used,
        n_columns=n_used,
        patterns=patterns,
        unit_places=unit_places,
    )
    return conflict_is_exact(conflict, fit.scratch.integers)


@inlined_kernel()
def list_conflict_patterns(fit: Any, patterns: NDArray) -> int:
    """List the patterns whose multiplier is not negligible; return how many there are.

    fit : the `SupportFit`. Only patterns flagged in `scratch.in_fit` were fitted. Their
        multipliers have the first places of `scratch.row_multipliers`, in the same order.
    patterns : (all patterns,) filled from the front with the indices of the patterns listed.
    """
    in_fit = fit.scratch.in_fit
    row_multipliers = fit.scratch.row_multipliers
    row = 0
    n_listed = 0
    for pattern in range(in_fit.size):
        if in_fit[pattern]:
            if row_multipliers[row] > NEGLIGIBLE_MULTIPLIER:
                patterns[n_listed] = pattern
                n_listed += 1
            row += 1
    return n_listed


@inlined_kernel()
def list_conflict_units(fit: Any, first_row: int, unit_places: NDArray) -> int:
    """List the places i of unit rows e_i whose multiplier is not negligible; return how many.

    There is a unit row e_i for each used column i whose weight must not be negative, in the order
    of the columns.

    fit : the `SupportFit`, with the multipliers in `scratch.row_multipliers`.
    first_row : the place of the multiplier of the first unit row.
    unit_places : filled from the front with the places i listed.
    """
    nonnegative = fit.data.nonnegative
    used = fit.state.used
    row_multipliers = fit.scratch.row_multipliers
    row = first_row
    n_listed = 0
    for i in range(fit.state.n_used[0]):
        if nonnegative[used[i]]:
            if row_multipliers[row] > NEGLIGIBLE_MULTIPLIER:
                unit_places[n_listed] = i
                n_listed += 1
            row += 1
    return n_listed


@inner_kernel()
def weights_are_certain(fit: Any) -> bool:
    """Whether the weights of the used columns classify every pattern correctly, for certain.

    Every margin, a sum of products, must exceed the largest possible rounding error:

        2 · (number of roundings) · (unit roundoff) · Σ |product|,

    with one rounding for each product, and MARGIN_ROUNDINGS more; the factor 2 is for safety.

    fit : the `SupportFit`, with the weights in `state.weights`.
    """
    columns = fit.data.columns  # (columns, patterns)
    used = fit.state.used
    n_used = fit.state.n_used[0]
    weights = fit.state.weights
    n_roundings = n_used + MARGIN_ROUNDINGS
    relative_bound = 2.0 * n_roundings * UNIT_ROUNDOFF
    for pattern in range(columns.shape[1]):
        margin = 0.0
        absolute_sum = 0.0
        for i in range(n_used):
            product = columns[used[i], pattern] * weights[i]
            margin += product
            absolute_sum += abs(product)
        # Written with "not", so that NaN is not certain either.
        if not margin > relative_bound * absolute_sum:
            return False
    return True
