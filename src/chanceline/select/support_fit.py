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

    in_rest : (patterns,), whether a pattern is in the rest: those that are fitted at the moment.
    conflicts : (max_errors + 1, patterns), the conflict found with so many errors left.
    further_multipliers : (patterns,), those of conflicts after the first.
    rows : (patterns + columns, columns), the rest, then e_i of the nonnegative weights.
    row_multipliers : (patterns + columns,), of these rows.
    members : (patterns + columns,), the rows whose multiplier is not negligible: patterns, and
        from place `patterns` on places of weights that must not be negative.
    passive : of the hard margin.
    basis, inverse, integers : of the proofs.
    """

    in_rest: NDArray[np.bool_]
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
    """Allocate fits on the problem's columns in this order, with up to so many errors.

    What each array is for is said at `FitData`, `FitState` and `FitScratch`.

    columns : indices of columns of the problem, those that belong to every support last.
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
        in_rest=np.zeros(n_patterns, dtype=np.bool_),
        conflicts=np.zeros((max_errors + 1, n_patterns), dtype=np.bool_),
        further_multipliers=np.zeros(n_patterns),
        rows=np.zeros((n_rows, n_columns)),
        row_multipliers=np.zeros(n_rows),
        members=np.zeros(n_rows, dtype=np.int64),
        passive=make_passive_set(n_rows, n_columns),
        # A conflict has a pattern more than columns at most, and their sum is one equation more.
        basis=np.zeros((n_columns + 1, n_columns + 1)),
        inverse=np.zeros((n_columns + 1, n_columns + 1)),
        integers=np.zeros((n_columns + 1, n_columns + 2), dtype=np.int64),
    )
    return SupportFit(data=data, state=state, scratch=scratch)


@inner_kernel()
def errors_suffice(  # noqa: C901
    fit: Any, max_errors: int, multipliers: NDArray, early: bool
) -> int:
    """Whether the used columns separate the alive patterns but for at most `max_errors` of them.

    SEPARABLE, INSEPARABLE or UNDECIDED. Afterwards `alive` is the set that separates, if there is
    one, else as it was.

    A conflict is a set of patterns, those with a positive multiplier, that cannot all be right: at
    least one of them is an error. More than `max_errors` disjoint conflicts refute at once. Else
    each pattern of the first conflict is given up in turn, with one error less for the others (the
    function calls itself).

    fit : the `SupportFit`; its `state` says which columns are used, and which patterns are alive
        (not given up) or `must_be_right` (not to be given up).
    multipliers : (patterns,), a start; overwritten, for max_errors = 0 by those of the fit.
    early : whether any separating weights will do.
    """
    alive = fit.state.alive
    must_be_right = fit.state.must_be_right
    in_rest = fit.scratch.in_rest
    further_multipliers = fit.scratch.further_multipliers
    conflict = fit.scratch.conflicts[max_errors]  # each depth of the recursion has its own
    n_patterns = in_rest.size

    fit.state.tally[NODES] += 1
    for pattern in range(n_patterns):
        in_rest[pattern] = alive[pattern]
        further_multipliers[pattern] = 0.0

    # Disjoint conflicts: the patterns of each leave the rest before the next fit.
    n_conflicts = 0
    verdict = INSEPARABLE
    while verdict == INSEPARABLE and n_conflicts <= max_errors:
        # The multipliers of the first fit are for the caller, those of the others are not.
        rest_multipliers = multipliers
        if n_conflicts > 0:
            rest_multipliers = further_multipliers
        verdict = fit_rest(fit, rest_multipliers, early)
        if n_conflicts == 0:
            if verdict != INSEPARABLE:
                return verdict
            mark_conflict(multipliers, must_be_right, conflict)
        leave_rest(in_rest, rest_multipliers)
        n_conflicts += 1
    if verdict == INSEPARABLE:
        return INSEPARABLE  # one conflict more than errors

    # Few enough conflicts so far. Give up each pattern of the first one in turn.
    verdict = INSEPARABLE
    for pattern in range(n_patterns):
        if conflict[pattern]:
            alive[pattern] = False
            verdict_without = errors_suffice(fit, max_errors - 1, multipliers, early)
            if verdict_without == SEPARABLE:
                return SEPARABLE
            if verdict_without == UNDECIDED:
                verdict = UNDECIDED
            alive[pattern] = True
            # All sets of errors with this pattern have been seen: from here on it is right.
            must_be_right[pattern] = True

    # For the caller they may be wrong, as before.
    for pattern in range(n_patterns):
        if conflict[pattern]:
            must_be_right[pattern] = False
    return verdict


@inlined_kernel()
def mark_conflict(multipliers: NDArray, must_be_right: NDArray, conflict: NDArray) -> None:
    """Fill `conflict` with the patterns of positive multiplier that may be given up."""
    for pattern in range(conflict.size):
        conflict[pattern] = multipliers[pattern] > 0.0 and not must_be_right[pattern]


@inner_kernel()
def leave_rest(in_rest: NDArray, multipliers: NDArray) -> None:
    """Take the patterns with a positive multiplier out of the rest, those of flag `in_rest`."""
    for pattern in range(in_rest.size):
        if multipliers[pattern] > 0.0:
            in_rest[pattern] = False


@inlined_kernel()
def fit_rest(fit: Any, multipliers: NDArray, early: bool) -> int:
    """The hard margin of the used columns on the patterns of the rest: a verdict that is proven.

    The hard margin says in floating point whether some weights separate. If not, its multipliers
    are proven to be a conflict, first with a bound of all rounding errors, then in integers.
    Without a proof the verdict is UNDECIDED, unless rounding is to be trusted.

    fit : the `SupportFit`, whose scratch has the rest as flags `in_rest`; the weights are left in
        its state.
    multipliers : (patterns,), the start, and filled with those found; zero off the rest.
    early : whether any separating weights will do.
    """
    in_rest = fit.scratch.in_rest
    rows = fit.scratch.rows
    row_multipliers = fit.scratch.row_multipliers
    n_used = fit.state.n_used[0]
    n_in_rest = fill_patterns(fit, multipliers)
    n_rows = fill_sign_rows(fit, n_in_rest)

    verdict = SEPARABLE  # if no pattern is left
    if n_in_rest > 0:
        verdict = hard_margin(
            rows=rows[:n_rows],
            n_patterns=n_in_rest,
            weights=fit.state.weights[:n_used],
            multipliers=row_multipliers[:n_rows],
            early=early,
            passive=fit.scratch.passive,
        )
    if verdict == INSEPARABLE:
        conflict = Conflict(
            rows=rows[:n_rows],
            multipliers=row_multipliers[:n_rows],
            n_patterns=n_in_rest,
            n_columns=n_used,
        )
        basis = fit.scratch.basis
        is_proven = conflict_is_certain(conflict, basis, fit.scratch.inverse)
        if not is_proven and not is_integer_conflict(fit, n_in_rest):
            column_sums = basis[0]  # scratch, which the proof needs no more
            verdict = trust_conflict(fit.state, conflict, column_sums)  # or UNDECIDED

    # From the rows back to the patterns, which have the same order.
    place = 0
    for pattern in range(multipliers.size):
        multipliers[pattern] = 0.0
        if in_rest[pattern]:
            multipliers[pattern] = row_multipliers[place]
            place += 1
    return verdict


@inlined_kernel()
def fill_patterns(fit: Any, start: NDArray) -> int:
    """Fill `rows` with the patterns of the rest on the used columns, and `row_multipliers`.

    The rest are the patterns that are fitted at the moment, those of flag `in_rest`. `start`
    (patterns,) are the multipliers of all patterns to start from. Returns how many are in the rest.
    """
    columns = fit.data.columns
    used = fit.state.used
    n_used = fit.state.n_used[0]
    in_rest = fit.scratch.in_rest
    rows = fit.scratch.rows
    row_multipliers = fit.scratch.row_multipliers
    n_in_rest = ZERO  # a 64-bit integer, as all counts of kernels
    for pattern in range(in_rest.size):
        if in_rest[pattern]:
            row_multipliers[n_in_rest] = start[pattern]
            for i in range(n_used):
                rows[n_in_rest, i] = columns[used[i], pattern]
            n_in_rest += 1
    return n_in_rest


@inlined_kernel()
def fill_sign_rows(fit: Any, n_in_rest: int) -> int:
    """Add a row e_i, below those of the patterns in the rest, for every nonnegative weight.

    i is the place of the weight among the used columns, and e_i, with a 1 in place i and zeros
    elsewhere, asks w_i ≥ 0. Its multiplier starts at zero. Returns the number of rows with these.
    """
    nonnegative = fit.data.nonnegative
    used = fit.state.used
    n_used = fit.state.n_used[0]
    rows = fit.scratch.rows
    row_multipliers = fit.scratch.row_multipliers
    n_rows = n_in_rest
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
    """INSEPARABLE, and the gap is noted, if rounding is to be trusted; else UNDECIDED.

    The gap is the largest margin that an unproven conflict leaves possible. `state` is the
    `FitState`, `column_sums` (columns,) is scratch.
    """
    if state.trusts_rounding[0] == 0:
        return UNDECIDED
    state.gap[0] = max(state.gap[0], largest_gap(conflict, column_sums))
    return INSEPARABLE


@inner_kernel()
def is_integer_conflict(fit: Any, n_in_rest: int) -> bool:
    """Whether the rows whose multipliers are not negligible are in conflict, in small integers.

    The multipliers, of sum 1, are in `row_multipliers`: those of the `n_in_rest` patterns in the
    rest, then those of the unit rows e_i, each of a weight i that must not be negative. Small ones
    may be zero but for rounding, and their rows are left out. If no more rows remain than the used
    columns and one, their multipliers can be unique, and are computed in integers.
    """
    # Two lists of what remains: patterns, and places i among the used columns.
    n_patterns = fit.scratch.in_rest.size
    patterns = fit.scratch.members[:n_patterns]
    unit_places = fit.scratch.members[n_patterns:]
    n_remaining = list_remaining_patterns(fit, patterns)
    n_units = list_remaining_units(fit, n_in_rest, unit_places)

    n_used = fit.state.n_used[0]
    if n_remaining + n_units > n_used + 1:
        return False  # their multipliers cannot be unique
    conflict = IntegerConflict(
        integer_values=fit.data.integer_columns,
        used_columns=fit.state.used,
        n_columns=n_used,
        patterns=patterns[:n_remaining],
        unit_places=unit_places[:n_units],
    )
    return conflict_is_exact(conflict, fit.scratch.integers)


@inlined_kernel()
def list_remaining_patterns(fit: Any, patterns: NDArray) -> int:
    """List the patterns of the rest whose multiplier is not negligible; return how many.

    The multipliers of the rest are the first of `row_multipliers`, in the order of the patterns.
    """
    in_rest = fit.scratch.in_rest
    row_multipliers = fit.scratch.row_multipliers
    row = 0
    n_remaining = 0
    for pattern in range(in_rest.size):
        if in_rest[pattern]:
            if row_multipliers[row] > NEGLIGIBLE_MULTIPLIER:
                patterns[n_remaining] = pattern
                n_remaining += 1
            row += 1
    return n_remaining


@inlined_kernel()
def list_remaining_units(fit: Any, first_row: int, unit_places: NDArray) -> int:
    """List the places i of the unit rows e_i whose multiplier is not negligible; return how many.

    There is one for each nonnegative weight, from `first_row` on, in the order of the used columns.
    """
    nonnegative = fit.data.nonnegative
    used = fit.state.used
    row_multipliers = fit.scratch.row_multipliers
    row = first_row
    n_units = 0
    for i in range(fit.state.n_used[0]):
        if nonnegative[used[i]]:
            if row_multipliers[row] > NEGLIGIBLE_MULTIPLIER:
                unit_places[n_units] = i
                n_units += 1
            row += 1
    return n_units


@inner_kernel()
def weights_are_certain(fit: Any) -> bool:
    """Whether the weights of the used columns have every pattern right, rounding included.

    A margin is a sum of products. In floating point it is off by at most `n_roundings` relative
    errors of the sum of their absolute values: one for each term, and MARGIN_ROUNDINGS.
    """
    columns = fit.data.columns
    used = fit.state.used
    n_used = fit.state.n_used[0]
    weights = fit.state.weights
    n_roundings = n_used + MARGIN_ROUNDINGS
    relative_bound = 2.0 * n_roundings * UNIT_ROUNDOFF  # twice, to be on the safe side
    for pattern in range(columns.shape[1]):
        margin = 0.0
        absolute = 0.0
        for i in range(n_used):
            product = columns[used[i], pattern] * weights[i]
            margin += product
            absolute += abs(product)
        # "Not above" rather than "below": zero and NaN are not certain either.
        if not margin > relative_bound * absolute:
            return False
    return True
