"""The hard margin on given columns, by nonnegative least squares on the patterns.

Patterns are the rows a_μ = y_μ x_μ. With w = Σ λ_μ a_μ and s = Σ λ_μ, the minimum of

    |Σ_μ λ_μ a_μ|² + squared_scale · (1 − Σ_μ λ_μ)²   over λ ≥ 0

has a_μ·w ≥ squared_scale · (1 − s) for all μ: w is the direction of the largest margin, or w = 0
and λ proves that nothing separates (Gordan's theorem). `squared_scale` is the squared length of
the longest row, so that neither term drowns the other.

Weights that must not be negative are one more row e_j each, whose margin w_j need only be ≥ 0: it
has no part in Σ λ_μ.

In floating point w is never quite zero: up to `RESOLUTION` it counts as zero, which is no proof.
`conflicts.py` and `rational.py` prove.

Lawson and Hanson's method keeps a passive set: independent rows, those with λ > 0. One pass:

    solve the least squares on the passive set (rows whose λ would be negative leave)
      → w = 0: INSEPARABLE
      → the inverse of the Gram matrix has worn out: compute it anew, next pass
      → every margin is as large as those of the passive set: the optimum, SEPARABLE or INSEPARABLE
      → else the row of smallest margin enters the passive set, next pass
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chanceline.kernels.compile import NONE, ZERO, kernel, leaf_kernel
from chanceline.kernels.inverse import extend_inverse, next_pivot, shrink_inverse
from chanceline.kernels.vectors import add_scaled, dot_first

# Verdicts.
SEPARABLE = 1
INSEPARABLE = 0
UNDECIDED = -1

RESOLUTION = 1e-8  # margins below this, relative to the longest row, count as none
OPTIMAL = 1e-12  # by so much, relative to `squared_scale`, margins may miss the optimum
WORN_OUT = 1e-11  # if margins on the passive set differ by more, updates have spoilt the inverse
DEPENDENT = 1e-13  # a pivot below this, relative to the diagonal: the row depends on the others
ZERO_MULTIPLIER = 1e-13  # λ below this leaves the passive set
TINY = 1e-300  # keeps denominators from being zero
PASSES_PER_ROW = 80  # the method takes a few; more means that it runs in circles


class Margin(NamedTuple):
    """What `largest_margin` says of some rows.

    verdict : SEPARABLE, INSEPARABLE or UNDECIDED.
    weights : (columns,), w.
    multipliers : (patterns,), λ.
    """

    verdict: int
    weights: NDArray[np.float64]
    multipliers: NDArray[np.float64]


class PatternRows(NamedTuple):
    """The rows that `hard_margin` works on.

    rows : (rows, columns or more), the patterns a_μ first, then e_j of nonnegative weights.
    n_patterns : how many of the rows are patterns.
    n_columns : how many places of a row count.
    squared_scale : squared length of the longest row.
    max_members : independent rows are at most so many.
    """

    rows: NDArray[np.float64]
    n_patterns: int
    n_columns: int
    squared_scale: float
    max_members: int


class PassiveSet(NamedTuple):
    """The rows with λ > 0, and scratch arrays; reused from one problem to the next.

    member_count : (1,), how many rows are members.
    members : (rows + 1,), their indices in the first `member_count` places; behind them those that
        are queued, that is, wait to become members.
    member_multipliers : (rows + 1,), λ of the same rows.
    is_member : (rows,), 1 or 0.
    inverse : (capacity, capacity), the inverse of the members' Gram matrix; a pattern has one more
        coordinate √squared_scale.
    products, scratch, unconstrained : (capacity,), scratch: products of a row with the members; any
        vector; and multipliers of the members without the constraint λ ≥ 0.
    """

    member_count: NDArray[np.int64]
    members: NDArray[np.int64]
    member_multipliers: NDArray[np.float64]
    is_member: NDArray[np.int64]
    inverse: NDArray[np.float64]
    products: NDArray[np.float64]
    scratch: NDArray[np.float64]
    unconstrained: NDArray[np.float64]


class MarginSurvey(NamedTuple):
    """The margins of all rows under the present weights.

    lowest : the smallest margin of a pattern, or of a weight that is negative.
    entering_row : the row off the passive set whose margin is smallest, −1 if there is none.
    entering_margin : its margin, raised by `target_margin` (see `survey_margins`) if the row
        is no pattern.
    drift : how far a member's margin, raised likewise, is from `target_margin`, where it should be,
        at most.
    """

    lowest: float
    entering_row: int
    entering_margin: float
    drift: float


def largest_margin(
    rows: NDArray[np.float64],
    start: NDArray[np.float64] | None = None,
    early: bool = False,
    nonnegative: NDArray[np.bool_] | None = None,
) -> Margin:
    """Find the weights of largest margin on some rows, or multipliers that prove there are none.

    The rows are a_μ = y_μ x_μ, features times the label ±1. Weights w separate if a_μ·w > 0 for
    every row. If no w does, there are multipliers λ ≥ 0, not all zero, with Σ λ_μ a_μ = 0 (Gordan's
    theorem); they are found up to rounding.

    Parameters
    ----------
    rows : (patterns, columns) the a_μ.
    start : (patterns,) multipliers λ ≥ 0 to start from; by default zeros.
    early : stop at the first w that separates, rather than at the largest margin.
    nonnegative : (columns,) the weights that must not be negative; by default none. For these
        columns Σ λ_μ a_μj ≤ 0 proves as much as Σ λ_μ a_μj = 0.
    """
    n_patterns, n_columns = rows.shape
    multipliers = np.zeros(n_patterns)
    if start is not None:
        multipliers = start.copy()  # because the solver overwrites the multipliers

    # Every condition w_j ≥ 0 is one more row, the unit vector e_j. Its multiplier starts at
    # −Σ λ_μ a_μj, which makes the sum over all rows zero in column j, or at 0 if that is negative.
    if nonnegative is not None:
        column_sums = multipliers @ rows
        sign_multipliers = np.maximum(-column_sums[nonnegative], 0.0)
        multipliers = np.append(multipliers, sign_multipliers)
        rows = np.vstack([rows, np.eye(n_columns)[nonnegative]])

    # The solver fills the weights, and replaces the multipliers by the final ones.
    weights = np.zeros(n_columns)
    solver_workspace = make_passive_set(len(rows), n_columns)
    verdict = hard_margin(
        rows=np.ascontiguousarray(rows),
        n_patterns=n_patterns,
        weights=weights,
        multipliers=multipliers,
        early=early,
        passive=solver_workspace,
    )
    return Margin(verdict=int(verdict), weights=weights, multipliers=multipliers[:n_patterns])


def make_passive_set(n_rows: int, n_columns: int) -> PassiveSet:
    """Allocate the arrays of a `PassiveSet` for up to so many rows and columns.

    The passive set of nonnegative least squares consists of the rows whose multiplier may be
    positive, its members. The members and their multipliers are kept in two lists of the same
    order, and `inverse` is the inverse of the members' Gram matrix.
    """
    # The lists also hold the rows that wait to become members, behind the members. So they have
    # room for every row, and one place more.
    list_length = n_rows + 1
    # The other arrays are for members only. These are linearly independent, and in the least
    # squares a row has one coordinate more than there are columns: so at most columns + 1 rows are
    # members. There is one place more here, too.
    max_members = min(n_rows, n_columns + 1)
    capacity = max_members + 1
    return PassiveSet(
        member_count=np.zeros(1, dtype=np.int64),
        members=np.zeros(list_length, dtype=np.int64),
        member_multipliers=np.zeros(list_length),
        is_member=np.zeros(n_rows, dtype=np.int64),
        inverse=np.zeros((capacity, capacity)),
        products=np.zeros(capacity),
        scratch=np.zeros(capacity),
        unconstrained=np.zeros(capacity),
    )


@kernel()
def hard_margin(  # noqa: PLR0913
    rows: NDArray,
    n_patterns: int,
    weights: NDArray,
    multipliers: NDArray,
    early: bool,
    passive: Any,
) -> int:
    """Find weights of largest margin on the rows, or multipliers that prove that nothing separates.

    Returns the verdict: SEPARABLE, INSEPARABLE or UNDECIDED. Over multipliers λ_μ ≥ 0 of the rows
    a_μ the kernel minimises

        |w|² + squared_scale · (1 − Σ_μ λ_μ)²,   where w = Σ_μ λ_μ a_μ,

    and `squared_scale` is the squared length of the longest row. This is nonnegative least squares,
    solved by Lawson and Hanson's active-set method (`run_passes`), which keeps a passive set: the
    rows whose λ may be positive, its members. At the minimum w ≠ 0 is the direction of largest
    margin; if w = 0, nothing separates. (Rows e_j of nonnegative weights do not count in Σ_μ λ_μ.)

    Parameters
    ----------
    rows : (rows, ≥ columns) the `n_patterns` patterns a_μ, then one unit vector e_j for each weight
        that must not be negative.
    weights : (columns,) filled with w; a_μ·w > 0 for all patterns if SEPARABLE.
    multipliers : (rows,) the start, λ ≥ 0 (zeros will do); filled with the final λ. If INSEPARABLE,
        Σ λ_μ a_μ = 0 up to rounding.
    early : stop at the first w that separates, rather than at the largest margin.
    passive : a `PassiveSet` for at least as many rows and columns; what it holds is overwritten.
    """
    n_rows = rows.shape[0]
    n_columns = weights.size
    members = passive.members
    member_multipliers = passive.member_multipliers
    table = PatternRows(
        rows=rows,
        n_patterns=n_patterns,
        n_columns=n_columns,
        # With this factor both terms of the objective are squared lengths of the same order.
        squared_scale=squared_length_of_longest(rows, n_columns),
        # Members of the passive set are linearly independent. In the least squares a pattern has
        # one more coordinate √squared_scale, so that at most columns + 1 rows are independent.
        max_members=min(n_rows, n_columns + 1),
    )

    # Start with the rows whose given multiplier is positive: `run_passes` finds them in the queue
    # of the passive set, makes them members, and goes on from there.
    n_queued = queue_rows_with_multiplier(multipliers, passive)
    verdict = run_passes(table, passive, n_queued, weights, early)

    # If this start leads to no verdict, try once more without any rows to start with.
    if verdict == UNDECIDED and n_queued > 0:
        passive.member_count[0] = 0
        for row in range(n_rows):
            passive.is_member[row] = 0
        verdict = run_passes(table, passive, ZERO, weights, early)  # 0 as a 64-bit integer

    # Weights that are at their bound 0 are so only up to rounding: set them to exactly 0.
    has_nonnegative_weights = n_rows > n_patterns
    if has_nonnegative_weights:
        clear_bound_weights(table, passive, weights)

    # Write the final λ, which is zero for rows that are no members.
    for row in range(n_rows):
        multipliers[row] = 0.0
    for i in range(passive.member_count[0]):
        multipliers[members[i]] = member_multipliers[i]
    return verdict


@leaf_kernel()
def squared_length_of_longest(rows: NDArray, n_columns: int) -> float:
    """Return the squared length of the longest row; a tiny number if all rows are zero."""
    longest = TINY
    for row in range(rows.shape[0]):
        longest = max(longest, dot_first(rows[row], rows[row], n_columns))
    return longest


@leaf_kernel()
def queue_rows_with_multiplier(multipliers: NDArray, passive: Any) -> int:
    """Empty the passive set, and queue for it the rows that start with a positive multiplier.

    The passive set consists of the rows whose multiplier λ may be positive, its members. The list
    `passive.members` holds the members and, behind them, the queued rows. There are no members yet,
    so the queue is written to the first places of this list, and the λ of the queued rows to the
    same places of `passive.member_multipliers`. `admit_queued_rows` makes these rows members later.

    `multipliers`, (rows,), are the λ to start from. Returns how many rows are queued.
    """
    passive.member_count[0] = 0
    n_queued = ZERO  # 0 as a 64-bit integer
    for row in range(multipliers.size):
        passive.is_member[row] = 0
        if multipliers[row] > 0.0:
            passive.members[n_queued] = row
            passive.member_multipliers[n_queued] = multipliers[row]
            n_queued += 1
    return n_queued


@leaf_kernel()
def run_passes(table: Any, passive: Any, n_queued: int, weights: NDArray, early: bool) -> int:
    """Run Lawson and Hanson's nonnegative least squares until it reaches a verdict.

    The verdict is SEPARABLE, INSEPARABLE or UNDECIDED.

    It minimises |w|² + squared_scale · (1 − s)² over λ ≥ 0, where w = Σ λ_μ a_μ and s = Σ λ_μ. With
    target_margin = squared_scale · (1 − s), the conditions of the minimum are

        a_μ·w = target_margin where λ_μ > 0,    a_μ·w ≥ target_margin elsewhere.

    The passive set consists of the rows with λ_μ > 0. A pass first solves the least squares on the
    passive set, which meets the first condition. If some row violates the second one, the row of
    smallest margin a_μ·w enters the passive set, and the next pass follows. (For rows e_j of
    nonnegative weights the conditions have 0 instead of target_margin.)

    The inverse of the Gram matrix of the passive rows is updated for every row that enters or
    leaves. When the rounding errors of these updates show, it is computed anew.

    Parameters
    ----------
    table : the `PatternRows`; tolerances are relative to its `squared_scale`, the squared length of
        the longest row.
    passive : an empty `PassiveSet`; the first `n_queued` places of `passive.members` hold rows to
        start with. `passive.member_count[0]` is the number of members.
    weights : (columns,) filled with w.
    early : any separating weights end the method.
    """
    squared_scale = table.squared_scale
    admit_queued_rows(table, passive, n_queued)
    n_updates = n_queued  # of the inverse, since it was computed anew

    max_passes = PASSES_PER_ROW * (table.rows.shape[0] + table.n_columns + 1)
    for _ in range(max_passes):
        # Solve the least squares on the passive set; compute s and w.
        n_updates += solve_nonnegative(passive, table.n_patterns, squared_scale)
        n_members = passive.member_count[0]
        multiplier_sum = combine_members(table, passive, weights)  # s; fills the weights with w

        # If w is zero, relative to s times the length of the longest row, nothing separates.
        squared_length = dot_first(weights, weights, table.n_columns)
        squared_resolution = RESOLUTION**2 * squared_scale * multiplier_sum * multiplier_sum
        if n_members > 0 and squared_length <= squared_resolution:
            return INSEPARABLE

        # The first condition holds up to rounding. If it does not, updates have spoilt the inverse.
        target_margin = squared_scale * (1.0 - multiplier_sum)
        survey = survey_margins(table, passive, weights, target_margin)
        if survey.drift > WORN_OUT * squared_scale and n_updates > 0:
            compute_inverse_anew(table, passive)
            n_updates = ZERO  # 0 as a 64-bit integer
            continue

        if early and n_members > 0 and survey.lowest > OPTIMAL * squared_scale * multiplier_sum:
            return SEPARABLE

        # The second condition: it holds for all other rows, or the passive set is full.
        is_optimal = (
            survey.entering_row < 0
            or survey.entering_margin >= target_margin - OPTIMAL * squared_scale
            or n_members == table.max_members
        )
        if is_optimal:
            return verdict_at_optimum(n_members, survey.lowest)

        # The row of smallest margin enters the passive set, with λ = 0. (Not a function of its own:
        # counting references to all arrays of the passive set once more would take time.)
        passive.members[n_members] = survey.entering_row
        passive.member_multipliers[n_members] = 0.0
        admit_queued_rows(table, passive, n_members + 1)
        n_updates += 1
        has_entered = passive.member_count[0] > n_members
        if not has_entered:
            # The row is linearly dependent on the members, up to rounding: no improvement is left.
            if n_members > 0 and survey.lowest > 0.0:
                return SEPARABLE
            return UNDECIDED
    return UNDECIDED


@leaf_kernel()
def compute_inverse_anew(table: Any, passive: Any) -> None:
    """Compute the inverse of the members' Gram matrix by taking all of them in again."""
    n_members = passive.member_count[0]
    passive.member_count[0] = 0
    admit_queued_rows(table, passive, n_members)


@leaf_kernel()
def verdict_at_optimum(n_members: int, lowest: float) -> int:
    """Translate the smallest margin at the optimum of the least squares into a verdict.

    lowest : the smallest margin of a row: SEPARABLE if it is positive, else INSEPARABLE.
    n_members : rows with a positive multiplier. Without any the weights are zero although no
        conflict is known: UNDECIDED.
    """
    if n_members == 0:
        return UNDECIDED
    if lowest > 0.0:
        return SEPARABLE
    return INSEPARABLE


@leaf_kernel()
def admit_queued_rows(table: Any, passive: Any, queue_end: int) -> None:
    """Move the queued rows into the passive set, except those linearly dependent on its members.

    The list `passive.members` holds the members in its first places, as many as
    `passive.member_count[0]` says, and the queue in the places from there to queue_end − 1. The
    list `passive.member_multipliers` holds the λ of the same rows. The queue is processed in place:
    each row that is admitted moves forward to the place behind the members, and others are passed
    over. Rows for which there is no room are not admitted either. Afterwards the places behind the
    members have no meaning.

    table : the `PatternRows`. In Gram products of two patterns, the rows before `table.n_patterns`,
        `table.squared_scale` is added.
    passive : the `PassiveSet`, whose members, multipliers and inverse Gram matrix are changed.
    """
    rows = table.rows
    n_patterns = table.n_patterns
    n_columns = table.n_columns
    squared_scale = table.squared_scale
    member_count = passive.member_count
    members = passive.members
    member_multipliers = passive.member_multipliers
    is_member = passive.is_member
    inverse = passive.inverse  # of the members' Gram matrix
    # Scratch arrays: the row's products with the members, and the inverse times these.
    products = passive.products
    inverse_times_products = passive.scratch

    for queue_place in range(member_count[0], queue_end):
        row = members[queue_place]
        n_members = member_count[0]

        # The row's products with the members, and with itself.
        for i in range(n_members):
            products[i] = gram_product(rows, members[i], row, n_patterns, n_columns, squared_scale)
        squared_length = gram_product(rows, row, row, n_patterns, n_columns, squared_scale)

        # The pivot is the squared length of the row's part orthogonal to the members: if it is
        # tiny, the row depends linearly on the members. `next_pivot` also fills
        # `inverse_times_products`.
        pivot = next_pivot(inverse, n_members, products, squared_length, inverse_times_products)
        is_independent = pivot >= DEPENDENT * squared_length
        has_room = n_members < table.max_members
        if not (has_room and is_independent):
            # The row may have been a member until now, if the inverse is being computed anew.
            is_member[row] = 0
            continue

        # The row becomes the last member. This overwrites no row that is still in the queue,
        # because n_members ≤ queue_place: at most one row is admitted for each place.
        extend_inverse(inverse, n_members, pivot, inverse_times_products)
        is_member[row] = 1
        members[n_members] = row
        member_multipliers[n_members] = member_multipliers[queue_place]
        member_count[0] = n_members + 1


@leaf_kernel()
def gram_product(  # noqa: PLR0913
    rows: NDArray, first: int, second: int, n_patterns: int, n_columns: int, squared_scale: float
) -> float:
    """Return the product of two rows in the Gram matrix: a_μ·a_ν, and more if both are patterns.

    In the least squares every pattern has one more coordinate, √squared_scale, so that
    `squared_scale` is added to the product of two patterns. Rows from index `n_patterns` on are
    unit vectors of nonnegative weights, without that coordinate.
    """
    product = dot_first(rows[first], rows[second], n_columns)
    if first < n_patterns and second < n_patterns:
        product += squared_scale
    return product


@leaf_kernel()
def solve_nonnegative(passive: Any, n_patterns: int, squared_scale: float) -> int:
    """Solve the least squares on the passive set under λ ≥ 0; return how many rows were removed.

    The multipliers λ of the members move on a straight line towards the solution without the
    constraint. If some λ becomes zero on the way, its row is removed from the passive set, and λ
    moves on towards the solution of the smaller problem.

    passive : the `PassiveSet`. Its `members` and their multipliers are two lists of the same order,
        which is also the order of the rows and columns of `inverse`. All three are changed.
    n_patterns : rows from this index on are unit vectors of nonnegative weights.
    squared_scale : squared length of the longest row.
    """
    member_count = passive.member_count  # (1,)
    members = passive.members  # row indices
    member_multipliers = passive.member_multipliers  # λ
    is_member = passive.is_member  # 1 or 0 for each row
    inverse = passive.inverse  # of the members' Gram matrix
    unconstrained = passive.unconstrained  # scratch for the solution without the constraint

    n_removed = ZERO
    while member_count[0] > 0:
        n_members = member_count[0]
        solve_unconstrained(
            inverse,
            members,
            n_members=n_members,
            n_patterns=n_patterns,
            squared_scale=squared_scale,
            solution=unconstrained,
        )

        # Move λ towards this solution, as far as every λ ≥ 0 allows.
        step, place_of_zero = step_towards_goal(member_multipliers, unconstrained, n_members)
        for i in range(n_members):
            member_multipliers[i] += step * (unconstrained[i] - member_multipliers[i])
        no_multiplier_is_zero = place_of_zero < 0
        if no_multiplier_is_zero:
            break  # the step was 1: λ is the solution without the constraint

        # Remove the member whose λ is zero now: its place is taken by the last member, in both
        # lists. `shrink_inverse` moves the last row and column of the inverse in the same way.
        last = n_members - 1
        is_member[members[place_of_zero]] = 0
        members[place_of_zero] = members[last]
        member_multipliers[place_of_zero] = member_multipliers[last]
        shrink_inverse(inverse, n_members, place_of_zero, passive.scratch)
        member_count[0] = last
        n_removed += 1
    return n_removed


@leaf_kernel()
def step_towards_goal(multipliers: NDArray, goal: NDArray, n_members: int) -> tuple[float, int]:
    """Find the longest step from λ towards a goal, at most all the way (1), that keeps every λ ≥ 0.

    A step t moves λ to λ + t · (goal − λ). `multipliers` are the λ ≥ 0, and `goal` the values that
    they move towards, both (≥ n_members,).

    Returns
    -------
    The step, and the place of a λ that must be removed after it; −1 if there is none. This is the λ
    that limits the step, because it becomes zero first. If the whole step, 1, is allowed, it is the
    first λ whose goal is zero up to rounding.
    """
    step = 1.0
    place_of_zero = NONE  # −1 as a 64-bit integer
    for i in range(n_members):
        goal_is_zero_or_negative = goal[i] <= ZERO_MULTIPLIER
        if not goal_is_zero_or_negative:
            continue

        # Solve λ + step · (goal − λ) = 0. TINY keeps the denominator from being zero, as it may be
        # if λ and its goal are both nearly zero.
        step_to_zero = multipliers[i] / max(multipliers[i] - goal[i], TINY)
        if step_to_zero < step:
            step = step_to_zero
            place_of_zero = i
        elif place_of_zero < 0:
            # The λ does not limit the step, but its goal is zero: it is to be removed, unless a
            # later λ limits the step and replaces it here.
            place_of_zero = i
    return step, place_of_zero


@leaf_kernel()
def solve_unconstrained(  # noqa: PLR0913
    inverse: NDArray,
    members: NDArray,
    n_members: int,
    n_patterns: int,
    squared_scale: float,
    solution: NDArray,
) -> None:
    """Fill `solution`, (≥ n_members,), with the multipliers of least squares, of any sign.

    The objective |Σ λ_μ a_μ|² + squared_scale · (1 − Σ λ_μ)² over the members has its minimum at
    λ = squared_scale · G⁻¹ b. Here G is the Gram matrix of the members, with `squared_scale` added
    to the products of two patterns, and b is 1 for patterns and 0 for unit vectors of nonnegative
    weights, the rows from index `n_patterns` on.

    inverse : G⁻¹, in its leading n_members × n_members places.
    members : (≥ n_members,) the row index of each member.
    """
    for i in range(n_members):
        inverse_times_b = 0.0
        for j in range(n_members):
            is_pattern = members[j] < n_patterns
            if is_pattern:
                inverse_times_b += inverse[i, j]
        solution[i] = inverse_times_b * squared_scale


@leaf_kernel()
def combine_members(table: Any, passive: Any, weights: NDArray) -> float:
    """Fill the weights with Σ λ_μ a_μ over the passive set; return Σ λ_μ over its patterns.

    table : the `PatternRows`. Rows from `table.n_patterns` on are unit vectors, one for each
        nonnegative weight. They count in the sum of the rows, but not in the sum returned.
    passive : the `PassiveSet`: the first `passive.member_count[0]` entries of `passive.members` are
        row indices, and those of `passive.member_multipliers` their λ_μ.
    weights : (columns,) overwritten.
    """
    rows = table.rows
    n_columns = table.n_columns
    members = passive.members
    member_multipliers = passive.member_multipliers
    multiplier_sum = 0.0
    for j in range(n_columns):
        weights[j] = 0.0
    for i in range(passive.member_count[0]):
        row = members[i]
        if row < table.n_patterns:
            multiplier_sum += member_multipliers[i]
        add_scaled(weights, member_multipliers[i], rows[row], n_columns)
    return multiplier_sum


@leaf_kernel()
def survey_margins(
    table: Any, passive: Any, weights: NDArray, target_margin: float
) -> MarginSurvey:
    """Compute the margins of all rows, and compare them with the conditions of the optimum.

    At the optimum a pattern has the margin a_μ·w = `target_margin` if it is a member of the passive
    set, and a_μ·w ≥ `target_margin` otherwise. A unit vector e_j stands for the condition w_j ≥ 0;
    its margin is the weight w_j, which is 0 for members and ≥ 0 otherwise. So that all rows can be
    compared, the margins of unit vectors are raised: `target_margin` is added to them. The raised
    margins have the same conditions as the margins of patterns.

    Parameters
    ----------
    table : the `PatternRows`: first the patterns, from row `n_patterns` on the unit vectors.
    passive : the `PassiveSet`.
    weights : (columns,) w = Σ λ_μ a_μ.
    target_margin : squared_scale · (1 − Σ λ_μ).

    Returns
    -------
    lowest
        The smallest margin of a pattern, or, if that is smaller, the most negative weight among
        those that must not be negative. The weights separate if `lowest` is positive.
    entering_row, entering_margin
        The row of smallest margin (raised for unit vectors) that is no member, and this margin;
        row −1 if all rows are members.
    drift
        The largest |margin − target_margin| of a member, raised likewise: it is due to rounding.
    """
    rows = table.rows
    n_rows = rows.shape[0]
    n_patterns = table.n_patterns
    n_columns = table.n_columns
    is_member = passive.is_member
    tolerance = OPTIMAL * table.squared_scale

    lowest = np.inf
    entering_row = NONE
    entering_margin = np.inf
    drift = 0.0

    # Patterns.
    for row in range(n_patterns):
        margin = dot_first(rows[row], weights, n_columns)
        lowest = min(lowest, margin)
        if is_member[row] > 0:
            drift = max(drift, abs(margin - target_margin))
        elif margin < entering_margin:
            entering_margin = margin
            entering_row = row

    # Unit vectors e_j, whose margin is the weight w_j.
    for row in range(n_patterns, n_rows):
        weight = dot_first(rows[row], weights, n_columns)
        # With a negative weight, which is not allowed, the weights do not separate. A weight that
        # is negative only by rounding is ignored here; `clear_bound_weights` sets it to zero.
        if weight < -tolerance:
            lowest = min(lowest, weight)
        raised_margin = weight + target_margin
        if is_member[row] > 0:
            drift = max(drift, abs(raised_margin - target_margin))
        elif raised_margin < entering_margin:
            entering_margin = raised_margin
            entering_row = row
    return MarginSurvey(
        lowest=lowest, entering_row=entering_row, entering_margin=entering_margin, drift=drift
    )


@leaf_kernel()
def clear_bound_weights(table: Any, passive: Any, weights: NDArray) -> None:
    """Set nonnegative weights to exactly zero where they are members, or negative by rounding.

    Their rows, from `table.n_patterns` on, are unit vectors e_j. The weight of a member of the
    passive set is zero up to rounding, since its multiplier holds it at its bound.
    """
    for row in range(table.n_patterns, table.rows.shape[0]):
        weight = dot_first(table.rows[row], weights, table.n_columns)
        if weight < 0.0 or passive.is_member[row] > 0:
            # w − w_j e_j: place j becomes zero.
            add_scaled(weights, -weight, table.rows[row], table.n_columns)
