"""The hard margin on given columns, by nonnegative least squares on the patterns.

Patterns are the rows a_μ = y_μ x_μ. With w = Σ λ_μ a_μ and s = Σ λ_μ, the minimum of

    |Σ_μ λ_μ a_μ|² + unit · (1 − Σ_μ λ_μ)²   over λ ≥ 0

has a_μ·w ≥ unit · (1 − s) for all μ: w is the direction of the largest margin, or w = 0 and λ
proves that nothing separates (Gordan's theorem). `unit` is the squared length of the longest row,
so that neither term drowns the other.

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
OPTIMAL = 1e-12  # by so much, relative to `unit`, margins may miss the optimum
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
    unit : squared length of the longest row.
    max_members : independent rows are at most so many.
    """

    rows: NDArray[np.float64]
    n_patterns: int
    n_columns: int
    unit: float
    max_members: int


class PassiveSet(NamedTuple):
    """The rows with λ > 0, and scratch arrays; reused from one problem to the next.

    size : (1,), how many rows are members.
    members : (rows + 1,), their indices in the first `size` places; behind them those that wait to
        be taken in.
    values : (rows + 1,), λ of the same rows.
    is_member : (rows,), 1 or 0.
    inverse : (capacity, capacity), the inverse of the members' Gram matrix; a pattern has one more
        coordinate √unit.
    cross, solved, goal : (capacity,), scratch.
    """

    size: NDArray[np.int64]
    members: NDArray[np.int64]
    values: NDArray[np.float64]
    is_member: NDArray[np.int64]
    inverse: NDArray[np.float64]
    cross: NDArray[np.float64]
    solved: NDArray[np.float64]
    goal: NDArray[np.float64]


class MarginSurvey(NamedTuple):
    """The margins of all rows under the present weights.

    lowest : the smallest margin of a pattern, or of a weight that is negative.
    entering_row : the row off the passive set whose margin is smallest, −1 if there is none.
    entering_margin : its margin, raised by `slack` if the row is no pattern.
    drift : how far a member's margin, raised likewise, is from `slack`, where all should be.
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
    if start is None:
        multipliers = np.zeros(n_patterns)
    else:
        multipliers = start.copy()

    # Every condition w_j ≥ 0 is one more row, the unit vector e_j. Its multiplier starts at
    # −Σ λ_μ a_μj, which makes the sum over all rows zero in column j, or at 0 if that is negative.
    if nonnegative is not None:
        column_sums = multipliers @ rows
        sign_multipliers = np.maximum(-column_sums[nonnegative], 0.0)
        multipliers = np.append(multipliers, sign_multipliers)
        rows = np.vstack([rows, np.eye(n_columns)[nonnegative]])

    weights = np.zeros(n_columns)
    verdict = hard_margin(
        rows=np.ascontiguousarray(rows),
        n_patterns=n_patterns,
        weights=weights,
        multipliers=multipliers,
        early=early,
        passive=make_passive_set(len(rows), n_columns),
    )
    return Margin(verdict=int(verdict), weights=weights, multipliers=multipliers[:n_patterns])


def make_passive_set(n_rows: int, n_columns: int) -> PassiveSet:
    """Allocate the arrays of a `PassiveSet` for up to so many rows and columns.

    The passive set of nonnegative least squares consists of the rows whose multiplier may be
    positive. Its `members` and their multipliers, `values`, are lists; `inverse` is the inverse of
    the members' Gram matrix; `cross`, `solved` and `goal` are scratch arrays.
    """
    # The members are linearly independent. In the least squares a row has one coordinate more than
    # there are columns, so that there are at most columns + 1 members. One more place is for a row
    # that is being tested.
    capacity = min(n_rows, n_columns + 1) + 1
    return PassiveSet(
        size=np.zeros(1, dtype=np.int64),
        members=np.zeros(n_rows + 1, dtype=np.int64),
        values=np.zeros(n_rows + 1),
        is_member=np.zeros(n_rows, dtype=np.int64),
        inverse=np.zeros((capacity, capacity)),
        cross=np.zeros(capacity),
        solved=np.zeros(capacity),
        goal=np.zeros(capacity),
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

        |w|² + unit · (1 − Σ_μ λ_μ)²,   where w = Σ_μ λ_μ a_μ,

    and `unit` is the squared length of the longest row. This is nonnegative least squares, solved
    by Lawson and Hanson's active-set method (`run_passes`), which keeps a passive set: the rows
    whose λ may be positive. At the minimum w ≠ 0 is the direction of largest margin; if w = 0,
    nothing separates. (Rows e_j of nonnegative weights do not count in the Σ_μ λ_μ.)

    Parameters
    ----------
    rows : (rows, ≥ columns) the `n_patterns` patterns a_μ, then one unit vector e_j for each weight
        that must not be negative.
    weights : (columns,) filled with w; a_μ·w > 0 for all patterns if SEPARABLE.
    multipliers : (rows,) the start, λ ≥ 0 (zeros will do); filled with the final λ. If INSEPARABLE,
        Σ λ_μ a_μ = 0 up to rounding.
    early : stop at the first w that separates, rather than at the largest margin.
    passive : a `PassiveSet` for at least as many rows and columns; scratch.
    """
    n_rows = rows.shape[0]
    n_columns = weights.size
    members = passive.members
    values = passive.values
    table = PatternRows(
        rows=rows,
        n_patterns=n_patterns,
        n_columns=n_columns,
        # With this unit both terms of the objective are squared lengths of the same order.
        unit=longest_squared(rows, n_columns),
        # Members of the passive set are linearly independent. In the least squares a pattern has
        # one more coordinate √unit, so that at most columns + 1 rows are independent.
        max_members=min(n_rows, n_columns + 1),
    )

    # Run from the given start. If that leads to no verdict, empty the passive set and run again.
    n_waiting = queue_positive_rows(multipliers, passive)
    verdict = run_passes(table, passive, n_waiting, weights, early)
    if verdict == UNDECIDED and n_waiting > 0:
        passive.size[0] = 0
        for row in range(n_rows):
            passive.is_member[row] = 0
        verdict = run_passes(table, passive, ZERO, weights, early)

    # Weights that are at their bound 0 are so only up to rounding: set them to exactly 0.
    has_nonnegative_weights = n_rows > n_patterns
    if has_nonnegative_weights:
        clear_bound_weights(table, passive, weights)

    # Return λ, which is zero off the passive set.
    for row in range(n_rows):
        multipliers[row] = 0.0
    for i in range(passive.size[0]):
        multipliers[members[i]] = values[i]
    return verdict


@leaf_kernel()
def longest_squared(rows: NDArray, n_columns: int) -> float:
    """Return the squared length of the longest row; a tiny number if all rows are zero."""
    longest = TINY
    for row in range(rows.shape[0]):
        longest = max(longest, dot_first(rows[row], rows[row], n_columns))
    return longest


@leaf_kernel()
def queue_positive_rows(multipliers: NDArray, passive: Any) -> int:
    """Empty the passive set, and queue for it the rows that start with a positive multiplier.

    The passive set consists of the rows whose multiplier λ may be positive. The queued rows are
    written to the first places of `passive.members`, and their λ to `passive.values`; later
    `admit_queued_rows` makes them members. `multipliers`, (rows,), are the λ to start from.
    Returns how many rows are queued.
    """
    queue = passive.members  # the queue may use this array, as no row is a member yet
    values = passive.values
    is_member = passive.is_member
    n_queued = ZERO
    passive.size[0] = 0
    for row in range(multipliers.size):
        is_member[row] = 0
        if multipliers[row] > 0.0:
            queue[n_queued] = row
            values[n_queued] = multipliers[row]
            n_queued += 1
    return n_queued


@leaf_kernel()
def run_passes(table: Any, passive: Any, n_waiting: int, weights: NDArray, early: bool) -> int:
    """Run Lawson and Hanson's nonnegative least squares until it reaches a verdict.

    The verdict is SEPARABLE, INSEPARABLE or UNDECIDED.

    It minimises |w|² + unit · (1 − s)² over λ ≥ 0, where w = Σ λ_μ a_μ and s = Σ λ_μ. With slack =
    unit · (1 − s), the conditions of the minimum are

        a_μ·w = slack where λ_μ > 0,    a_μ·w ≥ slack elsewhere.

    The passive set consists of the rows with λ_μ > 0. A pass first solves the least squares on the
    passive set, which meets the first condition. If some row violates the second one, the row of
    smallest margin a_μ·w enters the passive set, and the next pass follows. (For rows e_j of
    nonnegative weights the conditions have 0 instead of slack.)

    The inverse of the Gram matrix of the passive rows is updated for every row that enters or
    leaves. When the rounding errors of these updates show, it is computed anew.

    Parameters
    ----------
    table : the `PatternRows`; tolerances are relative to its `unit`, the squared length of the
        longest row.
    passive : an empty `PassiveSet`; the first `n_waiting` places of `passive.members` hold rows to
        start with. `passive.size[0]` is the number of members.
    weights : (columns,) filled with w.
    early : any separating weights end the method.
    """
    unit = table.unit
    admit_queued_rows(table, passive, n_waiting)
    n_updates = n_waiting  # of the inverse, since it was computed anew

    max_passes = PASSES_PER_ROW * (table.rows.shape[0] + table.n_columns + 1)
    for _ in range(max_passes):
        # Solve the least squares on the passive set; compute s and w.
        n_updates += solve_nonnegative(passive, table.n_patterns, unit)
        n_members = passive.size[0]
        multiplier_sum = combine_members(table, passive, weights)  # s; fills the weights with w

        # If w is zero, relative to s times the length of the longest row, nothing separates.
        squared_length = dot_first(weights, weights, table.n_columns)
        squared_resolution = RESOLUTION**2 * unit * multiplier_sum * multiplier_sum
        if n_members > 0 and squared_length <= squared_resolution:
            return INSEPARABLE

        # The first condition holds up to rounding. If it does not, updates have spoilt the inverse.
        slack = unit * (1.0 - multiplier_sum)
        survey = survey_margins(table, passive, weights, slack)
        if survey.drift > WORN_OUT * unit and n_updates > 0:
            compute_inverse_anew(table, passive)
            n_updates = ZERO  # 0 as a 64-bit integer
            continue

        if early and n_members > 0 and survey.lowest > OPTIMAL * unit * multiplier_sum:
            return SEPARABLE

        # The second condition: it holds for all other rows, or the passive set is full.
        is_optimal = (
            survey.entering_row < 0
            or survey.entering_margin >= slack - OPTIMAL * unit
            or n_members == table.max_members
        )
        if is_optimal:
            return verdict_at_optimum(n_members, survey.lowest)

        # The row of smallest margin enters the passive set, with λ = 0. (Not a function of its own:
        # counting references to all arrays of the passive set once more would take time.)
        passive.members[n_members] = survey.entering_row
        passive.values[n_members] = 0.0
        admit_queued_rows(table, passive, n_members + 1)
        n_updates += 1
        has_entered = passive.size[0] > n_members
        if not has_entered:
            # The row is linearly dependent on the members, up to rounding: no improvement is left.
            if n_members > 0 and survey.lowest > 0.0:
                return SEPARABLE
            return UNDECIDED
    return UNDECIDED


@leaf_kernel()
def compute_inverse_anew(table: Any, passive: Any) -> None:
    """Compute the inverse of the members' Gram matrix by taking all of them in again."""
    n_members = passive.size[0]
    passive.size[0] = 0
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
def admit_queued_rows(table: Any, passive: Any, n_queued: int) -> None:
    """Move the queued rows into the passive set, except those linearly dependent on its members.

    `passive.members` holds the members in places 0 … size − 1, and behind them the queue, in places
    size … n_queued − 1; `passive.values` holds the multipliers λ in the same places. Rows for which
    there is no room are left out as well. Afterwards the places behind the members have no meaning.

    table : the `PatternRows`. In Gram products of two patterns, the rows before `table.n_patterns`,
        `table.unit` is added.
    passive : the `PassiveSet`, whose members, multipliers and inverse Gram matrix are changed.
    """
    rows = table.rows
    n_patterns = table.n_patterns
    n_columns = table.n_columns
    unit = table.unit
    size = passive.size
    members = passive.members
    queue = passive.members  # the same array: the queue stands behind the members
    values = passive.values
    is_member = passive.is_member
    inverse = passive.inverse  # of the members' Gram matrix
    # Scratch arrays: the row's products with the members, and the inverse times these.
    cross = passive.cross
    inverse_times_cross = passive.solved

    for place in range(size[0], n_queued):
        row = queue[place]
        n_members = size[0]

        # The pivot is the squared length of the row's part orthogonal to the members: if this is
        # tiny, the row depends linearly on the members. `next_pivot` also fills
        # `inverse_times_cross`.
        for i in range(n_members):
            cross[i] = gram_product(rows, members[i], row, n_patterns, n_columns, unit)
        diagonal = gram_product(rows, row, row, n_patterns, n_columns, unit)
        pivot = next_pivot(inverse, n_members, cross, diagonal, inverse_times_cross)
        is_independent = pivot >= DEPENDENT * diagonal
        has_room = n_members < table.max_members
        if not (has_room and is_independent):
            # Where all members are taken in anew, this row may have been one of them.
            is_member[row] = 0
            continue

        # The row becomes the last member. Its new place is not beyond `place`, so that no row still
        # in the queue is overwritten.
        extend_inverse(inverse, n_members, pivot, inverse_times_cross)
        is_member[row] = 1
        members[n_members] = row
        values[n_members] = values[place]
        size[0] = n_members + 1


@leaf_kernel()
def gram_product(  # noqa: PLR0913
    rows: NDArray, first: int, second: int, n_patterns: int, n_columns: int, unit: float
) -> float:
    """Return the product of two rows in the Gram matrix: a_μ·a_ν, plus `unit` if both are patterns.

    In the least squares every pattern has one more coordinate, √unit. Rows from index `n_patterns`
    on are unit vectors of nonnegative weights, without that coordinate.
    """
    product = dot_first(rows[first], rows[second], n_columns)
    if first < n_patterns and second < n_patterns:
        product += unit
    return product


@leaf_kernel()
def solve_nonnegative(passive: Any, n_patterns: int, unit: float) -> int:
    """Solve the least squares on the passive set under λ ≥ 0; return how many rows were removed.

    λ (`passive.values`) moves on a straight line towards the solution without the constraint. Where
    a λ becomes zero, its row leaves the passive set, and λ moves on towards the solution of the
    smaller problem.

    passive : the `PassiveSet`, changed.
    n_patterns : rows from this index on are unit vectors of nonnegative weights.
    unit : squared length of the longest row.
    """
    size = passive.size  # (1,), the number of members
    members = passive.members  # row indices
    values = passive.values
    is_member = passive.is_member
    inverse = passive.inverse  # of the members' Gram matrix, in the order of the members
    # Scratch arrays.
    goal = passive.goal
    last_row = passive.solved

    n_departures = ZERO
    while size[0] > 0:
        # Fill `goal`, the solution without the constraint, and move λ towards it as far as every
        # λ ≥ 0 allows. `leaving_place` is the place of a λ that is now zero, or whose goal is zero
        # up to rounding; −1 if there is none.
        n_members = size[0]
        solve_unconstrained(
            inverse,
            members,
            n_members=n_members,
            n_patterns=n_patterns,
            unit=unit,
            goal=goal,
        )
        step, leaving_place = step_towards_goal(values, goal, n_members)
        for i in range(n_members):
            values[i] += step * (goal[i] - values[i])
        if leaving_place < 0:
            break  # the goal was reached

        # Remove the member at this place. The last member moves there: in the inverse
        # (`shrink_inverse`), and likewise in the lists.
        is_member[members[leaving_place]] = 0
        shrink_inverse(inverse, n_members, leaving_place, last_row)
        members[leaving_place] = members[n_members - 1]
        values[leaving_place] = values[n_members - 1]
        size[0] = n_members - 1
        n_departures += 1
    return n_departures


@leaf_kernel()
def step_towards_goal(values: NDArray, goal: NDArray, n_members: int) -> tuple[float, int]:
    """Find the longest step from λ towards a goal, at most all the way (1), that keeps every λ ≥ 0.

    A step t moves λ to λ + t · (goal − λ). `values` are the λ ≥ 0, and `goal` the values that they
    move towards, both (≥ n_members,).

    Returns the step, and the place of the λ that becomes zero first; −1 if none does. A λ whose
    goal is zero up to rounding counts as becoming zero, even if it does not limit the step.
    """
    step = 1.0
    leaving_place = NONE  # −1 as a 64-bit integer
    for i in range(n_members):
        if goal[i] <= ZERO_MULTIPLIER:
            # Solve λ + step · (goal − λ) = 0. TINY keeps the denominator from being zero, as it may
            # be if λ and its goal are both nearly zero.
            step_to_zero = values[i] / max(values[i] - goal[i], TINY)
            if step_to_zero < step:
                step = step_to_zero
                leaving_place = i
            elif leaving_place < 0:
                leaving_place = i  # this λ does not limit the step, but its goal is zero
    return step, leaving_place


@leaf_kernel()
def solve_unconstrained(  # noqa: PLR0913
    inverse: NDArray,
    members: NDArray,
    n_members: int,
    n_patterns: int,
    unit: float,
    goal: NDArray,
) -> None:
    """Fill `goal`, (≥ n_members,), with the least-squares multipliers of the members, of any sign.

    The objective |Σ λ_μ a_μ|² + unit · (1 − Σ λ_μ)² has its minimum at λ = unit · G⁻¹ b. Here G is
    the Gram matrix of the members, with `unit` added to the products of two patterns, and b is 1
    for patterns and 0 for unit vectors of nonnegative weights, the rows from index `n_patterns` on.

    inverse : G⁻¹, in its leading n_members × n_members places.
    members : (≥ n_members,) the row index of each member.
    """
    for i in range(n_members):
        inverse_times_b = 0.0
        for j in range(n_members):
            is_pattern = members[j] < n_patterns
            if is_pattern:
                inverse_times_b += inverse[i, j]
        goal[i] = inverse_times_b * unit


@leaf_kernel()
def combine_members(table: Any, passive: Any, weights: NDArray) -> float:
    """Fill the weights with Σ λ_μ a_μ over the passive set; return Σ λ_μ over its patterns.

    table : the `PatternRows`. Rows from `table.n_patterns` on are unit vectors, one for each
        nonnegative weight. They count in the sum of the rows, but not in the sum returned.
    passive : the `PassiveSet`: its first `passive.size[0]` `members` are row indices, and `values`
        their multipliers λ_μ.
    weights : (columns,) overwritten.
    """
    rows = table.rows
    n_columns = table.n_columns
    members = passive.members
    values = passive.values
    multiplier_sum = 0.0
    for j in range(n_columns):
        weights[j] = 0.0
    for i in range(passive.size[0]):
        row = members[i]
        if row < table.n_patterns:
            multiplier_sum += values[i]
        add_scaled(weights, values[i], rows[row], n_columns)
    return multiplier_sum


@leaf_kernel()
def survey_margins(table: Any, passive: Any, weights: NDArray, slack: float) -> MarginSurvey:
    """Compute the margins of all rows, and check them against the conditions of the optimum.

    At the optimum the margin a_μ·w of a pattern is `slack` for members of the passive set, and at
    least `slack` for other patterns. For a unit vector e_j, which stands for the condition w_j ≥ 0,
    0 takes the place of `slack`.

    Parameters
    ----------
    table : the `PatternRows`: first the patterns, from row `n_patterns` on the unit vectors.
    passive : the `PassiveSet`.
    weights : (columns,) w = Σ λ_μ a_μ.
    slack : unit · (1 − Σ λ_μ).

    Returns
    -------
    drift
        How far, by rounding, the margin of a member is from its value at the optimum, at most.
    entering_row, entering_margin
        The row of smallest margin off the passive set (−1 if there is none), and its margin. The
        margin of a unit vector is raised by `slack`, to be comparable with those of patterns.
    lowest
        The smallest margin of a pattern, or of a weight that violates its sign. The weights
        separate if it is positive.
    """
    rows = table.rows
    n_rows = rows.shape[0]
    n_patterns = table.n_patterns
    n_columns = table.n_columns
    is_member = passive.is_member
    tolerance = OPTIMAL * table.unit

    lowest = np.inf
    entering_row = NONE
    entering_margin = np.inf
    drift = 0.0

    # Patterns.
    for row in range(n_patterns):
        margin = dot_first(rows[row], weights, n_columns)
        lowest = min(lowest, margin)
        if is_member[row] > 0:
            drift = max(drift, abs(margin - slack))
        elif margin < entering_margin:
            entering_margin = margin
            entering_row = row

    # Unit vectors e_j, whose margin is the weight w_j.
    for row in range(n_patterns, n_rows):
        weight = dot_first(rows[row], weights, n_columns)
        # With a negative weight, which is not allowed, the weights do not separate. A weight that
        # is negative only by rounding is ignored here; it is set to zero at the end.
        if weight < -tolerance:
            lowest = min(lowest, weight)
        # The optimum requires w_j = 0 of members and w_j ≥ 0 of other rows. As `slack` is added to
        # w_j, it can be compared with `slack`, like the margin of a pattern.
        raised_margin = weight + slack
        if is_member[row] > 0:
            drift = max(drift, abs(raised_margin - slack))
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
