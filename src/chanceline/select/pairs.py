"""Two variables that separate, exhaustively.

With an intercept, w separates if and only if w·(x_μ − x_ν) > 0 for every positive μ and negative ν,
so the intercept drops out and a pair of variables leaves directions in the plane. Every constraint
cuts the cone of allowed directions; a few of them usually empty it, so a pair costs some ten
nanoseconds. Only cuts that rounding cannot undo are made; the pairs left over are decided exactly,
in rational arithmetic where need be.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chanceline._arrays import Floats
from chanceline.kernels.compile import inner_kernel, kernel
from chanceline.perceptron.integers import small_integers
from chanceline.perceptron.margin import INSEPARABLE, SEPARABLE, UNDECIDED
from chanceline.perceptron.problem import Problem
from chanceline.perceptron.rational import ExactTable, is_affordable
from chanceline.perceptron.rounded_rule import separating_rule
from chanceline.perceptron.rule import Rule, scaled_rule
from chanceline.perceptron.separate import is_refuted, margin_on

MAX_PAIRS = 100_000_000  # a second or so
MAX_CONSTRAINTS = 20_000  # of one problem; more are sampled
SIGN_DOUBT = 8 * 2.0**-53  # products of two differences are right to four roundings, their sum too
UNDERFLOW = 1e-300  # products below this may have lost all their digits
MAX_DECISIONS = 5_000  # pairs decided in rational arithmetic, some seconds
ROWS_A_STEP = 64  # variables whose pairs are swept between two looks at the keyboard


class Cone(NamedTuple):
    """An open cone of directions, at most a half-plane, between two edges, counter-clockwise.

    Attributes
    ----------
    start_u, start_v : direction of the first edge.
    stop_u, stop_v : direction of the second one.
    is_empty : whether certainly no direction is left.
    """

    start_u: float
    start_v: float
    stop_u: float
    stop_v: float
    is_empty: bool


# Without constraints every direction is left; the edges of a half-plane stand for that.
EVERYTHING = Cone(0.0, 1.0, 0.0, -1.0, False)


@inner_kernel(error_model="numpy")
def half_plane(x: float, y: float) -> Cone:
    """Return the cone of all directions (u, v) with x·u + y·v > 0.

    Its edges are the normal (x, y) turned by a quarter either way. It is empty if the normal is
    zero.
    """
    return Cone(y, -x, -y, x, x == 0.0 and y == 0.0)


@inner_kernel(error_model="numpy")
def cut_cone(cone: Any, x: float, y: float, is_exact: bool) -> Cone:
    """Return the part of an open cone of directions (u, v) that satisfies x·u + y·v > 0.

    The cone contains the directions from its start edge counter-clockwise to its stop edge, at most
    a half-plane. An edge is inside if x·u + y·v > 0 there, outside if it is < 0, and on the border
    if it is 0. The cases, in the order of the code:

        A  both outside                          nothing is left
        B  one outside, the other inside         the border replaces the edge that is outside
        C  none outside, one or both inside      all is left
        D  one outside, the other on the border  nothing is left
        E  both on the border                    the cone is a half-plane: all of it is left if the
                                                 normal (x, y) points into it, else nothing

    If the products may have rounding errors, an edge counts as on the border where rounding could
    change the sign. Then nothing is cut off in the cases D and E. So the result may be too large,
    but never too small.

    cone : the `Cone`.
    x, y : the normal of the constraint.
    is_exact : whether the products are free of rounding errors.
    """
    start_u, start_v, stop_u, stop_v, _ = cone
    if x == 0.0 and y == 0.0:
        return Cone(start_u, start_v, stop_u, stop_v, True)  # empty: no direction has 0 > 0

    # x·u + y·v at both edges, and the largest |x·u + y·v| that may be rounding (0 if exact).
    at_start = x * start_u + y * start_v
    at_stop = x * stop_u + y * stop_v
    doubt_at_start = 0.0
    doubt_at_stop = 0.0
    if not is_exact:
        doubt_at_start = SIGN_DOUBT * (abs(x * start_u) + abs(y * start_v)) + UNDERFLOW
        doubt_at_stop = SIGN_DOUBT * (abs(x * stop_u) + abs(y * stop_v)) + UNDERFLOW
    start_is_outside = at_start < -doubt_at_start
    stop_is_outside = at_stop < -doubt_at_stop
    start_is_inside = at_start > doubt_at_start
    stop_is_inside = at_stop > doubt_at_stop

    is_empty = False
    if start_is_outside and stop_is_outside:  # case A
        is_empty = True
    elif start_is_inside or stop_is_inside:  # cases B and C
        # Replace an edge that is outside by an edge of the half-plane x·u + y·v > 0. The start edge
        # of the half-plane is the normal (x, y) turned clockwise by a right angle, its stop edge is
        # the normal turned counter-clockwise.
        if start_is_outside:
            start_u = y
            start_v = -x
        if stop_is_outside:
            stop_u = -y
            stop_v = x
    elif is_exact:  # cases D and E; with rounding errors the cone stays as it is
        # No edge is inside, and one or both are on the border. If both are, the cone is one of the
        # two half-planes beside the border. The normal points into it if it lies counter-clockwise
        # of the start edge: the cross product start × normal is positive.
        both_on_border = at_start == 0.0 and at_stop == 0.0
        start_cross_normal = y * start_u - x * start_v
        normal_points_inside = start_cross_normal > 0.0
        all_is_left = both_on_border and normal_points_inside
        is_empty = not all_is_left
    return Cone(start_u, start_v, stop_u, stop_v, is_empty)


@inner_kernel(error_model="numpy")
def has_directions(cone: Any) -> bool:
    """Whether an open cone contains any direction: whether its edges differ.

    The angle between the edges must be above 0 and at most π. Below π the cross product of the
    edges is positive; at π it is zero, and the dot product negative.
    """
    cross_product = cone.start_u * cone.stop_v - cone.start_v * cone.stop_u
    dot_product = cone.start_u * cone.stop_u + cone.start_v * cone.stop_v
    return cross_product > 0.0 or dot_product < 0.0


@kernel(error_model="numpy")
def next_pair(  # noqa: PLR0913
    values: NDArray,
    is_whole: NDArray,
    plus_sample: NDArray,
    minus_sample: NDArray,
    first_row: int,
    after_column: int,
    stop_row: int,
) -> tuple[int, int]:
    """Find the next pair of variables (i, j), i < j, that may meet all constraints.

    Weights (u, v) of variables i and j meet constraint c if x·u + y·v > 0. Here x is the value of
    variable i at sample plus_sample[c] minus that at sample minus_sample[c], and y the same for
    variable j. (If minus_sample[c] is −1, nothing is subtracted.) The directions (u, v) that meet
    all constraints so far form a cone: `half_plane` is the cone of the first constraint, and
    `cut_cone` cuts off what another one forbids. If the cone becomes empty, the pair cannot
    separate.

    Pairs are visited row by row, from (first_row, after_column + 1) on, as long as i < stop_row.
    (All loops are in this function: to hand arrays on to another function for every pair would take
    as long as the arithmetic, because references to them are counted.)

    Parameters
    ----------
    values : (features, samples).
    is_whole : (features,) whether the values of a variable are small integers.
    plus_sample, minus_sample : (constraints,).
    first_row, stop_row : the range of i.
    after_column : in the first row, j begins after this column.

    Returns
    -------
    The pair (i, j), or (−1, −1) if there is none. If not both variables are small integers,
    rounding may have kept a pair that does not meet all constraints.
    """
    for i in range(first_row, stop_row):
        first_partner = i + 1
        if i == first_row:
            first_partner = after_column + 1
        for j in range(first_partner, values.shape[0]):
            # Arithmetic with small integers is exact.
            is_exact = is_whole[i] and is_whole[j]

            # The cone of all directions (u, v) that meet all constraints.
            cone = EVERYTHING
            for constraint in range(plus_sample.size):
                x = values[i, plus_sample[constraint]]
                y = values[j, plus_sample[constraint]]
                if minus_sample[constraint] >= 0:
                    x -= values[i, minus_sample[constraint]]
                    y -= values[j, minus_sample[constraint]]
                if constraint == 0:
                    cone = half_plane(x, y)
                else:
                    cone = cut_cone(cone, x, y, is_exact)
                if cone.is_empty:
                    break

            # With rounding the cone may be too large, and the caller has to decide on the pair.
            if not cone.is_empty and (not is_exact or has_directions(cone)):
                return i, j
    return -1, -1


class Constraints(NamedTuple):
    """What weights must meet to separate: w·(values at one sample − those at another) > 0.

    Attributes
    ----------
    values : (features, samples).
    is_whole : (features,) the variables whose values are small integers.
    plus_sample, minus_sample : (constraints,) the two samples; where `minus_sample` is −1, nothing
        is taken off.
    """

    values: Floats
    is_whole: NDArray[np.bool_]
    plus_sample: NDArray[np.int64]
    minus_sample: NDArray[np.int64]


def pair_constraints(problem: Problem) -> Constraints:
    """List the constraints that weights must meet to separate, in random order.

    With an intercept, w separates if and only if w·(x_μ − x_ν) > 0 for every positive sample μ and
    negative sample ν. If there are more than MAX_CONSTRAINTS such pairs of samples, a random part
    of them is taken; weights that meet this part have to be tested in full. Without an intercept
    there is one constraint for every sample, y_μ w·x_μ > 0. In random order contradictions between
    constraints show up soon.

    The values are those of X itself, because the scaled columns of the problem are rounded.

    Returns
    -------
    The `Constraints`: the values, (features, samples), and for each constraint the two samples
    whose difference w must make positive. Without an intercept the values are multiplied by the
    labels y, and there is no second sample (−1).
    """
    # The values, (features, samples). `small_integers` returns a row for each variable, with its
    # values as integers, or all NaN if they are not small integers (after a change of scale). Rows
    # of NaN are filled with the values of X.
    values = small_integers(problem)
    is_whole = ~np.isnan(values[:, 0])
    values[~is_whole] = problem.X.T[~is_whole]

    # The seed can be fixed, because the order of constraints does not change results.
    generator = np.random.Generator(np.random.PCG64(0))
    if not problem.intercept:
        # A constraint y_μ w·x_μ > 0 has the values y_μ x_μ of a single sample.
        samples = generator.permutation(problem.n_samples)
        labelled_values = values * problem.y
        return Constraints(
            labelled_values,
            is_whole,
            plus_sample=samples,
            minus_sample=np.full(samples.size, -1),  # nothing is subtracted
        )

    # Constraint c pairs positive sample number c // n with negative sample number c % n, where n is
    # the number of negative samples.
    positive_samples = np.flatnonzero(problem.y > 0)
    negative_samples = np.flatnonzero(problem.y < 0)
    n_constraints = positive_samples.size * negative_samples.size
    if n_constraints <= MAX_CONSTRAINTS:
        constraint_numbers = generator.permutation(n_constraints)
    else:
        constraint_numbers = generator.integers(n_constraints, size=MAX_CONSTRAINTS)
    number_of_positive = constraint_numbers // negative_samples.size
    number_of_negative = constraint_numbers % negative_samples.size
    return Constraints(
        values,
        is_whole,
        plus_sample=positive_samples[number_of_positive],
        minus_sample=negative_samples[number_of_negative],
    )


class SeparatingPair(NamedTuple):
    """Two variables that separate, (2,), and a rule on them that does."""

    support: NDArray[np.int64]
    rule: Rule


class PairSweep(Enum):
    """How a sweep of all pairs stands that has found none which separates."""

    GOES_ON = "goes on"  # a chance to interrupt
    NONE_SEPARATES = "none separates"  # at its end, for certain


def sweep_pairs(
    problem: Problem, max_decisions: int = MAX_DECISIONS
) -> Iterator[SeparatingPair | PairSweep]:
    """Look for a pair of variables that separates, among all pairs.

    Pairs that floating point rules out for certain are skipped quickly (`next_pair`); each pair
    that is left is decided by itself (`settle_pair`).

    Yields GOES_ON now and then, as a chance to interrupt. In the end it yields the separating pair
    if there is one, or NONE_SEPARATES if it is proven that there is none. It ends with neither of
    them if some pair could not be decided.

    max_decisions : how many pairs may be decided in rational arithmetic, where rounding could
        matter.
    """
    constraints = pair_constraints(problem)
    table = ExactTable(problem)
    all_refuted = True
    # Pairs (i, j), i < j, are visited row by row: i is the row and j the column of a table of all
    # pairs. Between two chances to interrupt, ROWS_A_STEP rows are swept.
    for start_row in range(0, problem.n_features, ROWS_A_STEP):
        stop_row = min(start_row + ROWS_A_STEP, problem.n_features)
        # The first pair of these rows that the constraints do not rule out; i = −1 if there is
        # none. As j > i, the search begins after column j = start_row of row i = start_row.
        i, j = next_pair(
            *constraints, first_row=start_row, after_column=start_row, stop_row=stop_row
        )
        while i >= 0:
            pair = np.array([i, j])
            verdict, rule = settle_pair(table, pair, max_decisions)
            if rule is not None:
                yield SeparatingPair(support=pair, rule=rule)
                return
            if verdict != INSEPARABLE:
                all_refuted = False
            # Go on after this pair.
            i, j = next_pair(*constraints, first_row=i, after_column=j, stop_row=stop_row)
        yield PairSweep.GOES_ON
    if all_refuted:
        yield PairSweep.NONE_SEPARATES


class SettledPair(NamedTuple):
    """Whether two variables separate, and a rule that does, where there is one in doubles."""

    verdict: int
    rule: Rule | None


def settle_pair(table: ExactTable, pair: NDArray[np.int64], max_decisions: int) -> SettledPair:
    """Decide exactly whether two variables separate.

    The hard-margin fit in floating point decides if it finds a rule whose margins are all positive,
    or a conflict (samples that cannot all be right) which is proven in spite of rounding. Otherwise
    rational arithmetic decides.

    Parameters
    ----------
    table : the problem in rational arithmetic, which counts its decisions.
    pair : (2,) the variables.
    max_decisions : the table may make no more decisions than this in all.

    Returns
    -------
    The verdict SEPARABLE or INSEPARABLE; or UNDECIDED if rational arithmetic would take too long.
    With it a rule that separates, if one is known in doubles.
    """
    problem = table.problem
    margin_fit = margin_on(problem, pair)  # its verdict, weights and multipliers
    if margin_fit.verdict == SEPARABLE:
        weights, constant = problem.split(margin_fit.weights)
        rule = scaled_rule(problem, pair, weights, constant)
        if rule.separates:
            return SettledPair(SEPARABLE, rule)
        # A rule with errors decides nothing: its margins are as small as rounding errors.
    if is_refuted(problem, pair, margin_fit):  # by a proven conflict
        return SettledPair(INSEPARABLE, None)

    # Neither is certain: use rational arithmetic, if that is allowed and affordable.
    n_columns = pair.size + problem.n_unpenalized
    if table.decisions >= max_decisions:
        return SettledPair(UNDECIDED, None)
    if not is_affordable(n_columns, problem.n_samples):
        return SettledPair(UNDECIDED, None)
    exact_decision = separating_rule(table, pair)
    if exact_decision.separable:
        return SettledPair(SEPARABLE, exact_decision.rule)
    return SettledPair(INSEPARABLE, None)
