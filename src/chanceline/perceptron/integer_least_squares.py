"""Nonnegative least squares in integers: Lawson and Hanson's method without rounding.

Without rounding the method ends after finitely many steps, and from a start that floating point has
found usually after one.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple

Integers = list[int]


class NearestPoint(NamedTuple):
    """The point Σ_i λ_i b_i, λ ≥ 0, nearest to the target (0, …, 0, target_length).

    difference : (point − target) without its last entry, times a positive integer; None if the
        point is the target.
    positive_rows : the rows with λ_i > 0.
    """

    difference: Integers | None
    positive_rows: list[int]


class IntegerSolution(NamedTuple):
    """The solution of a linear system in integers.

    numerators, denominator : the solution.
    dependent : the first row that depends on those before it; None if there is none. If there is
        one, there is no solution.
    """

    numerators: Integers
    denominator: int
    dependent: int | None = None


def nearest_point(
    rows: list[Integers], target_length: int, start: Mapping[int, Fraction]
) -> NearestPoint:
    """Minimise |Σ_i λ_i b_i − target|² over λ ≥ 0, exactly.

    The target is (0, …, 0, target_length). The minimum is found by Lawson and Hanson's active-set
    method: only the λ of "passive" rows may be positive, and rows enter and leave this set until
    the conditions of the minimum hold.

    rows : the b_i, lists of integers, all of one length.
    target_length : the last entry of the target.
    start : row → λ > 0, for some rows, from which the method starts.

    Returns
    -------
    The difference Σ_i λ_i b_i − target at the minimum, without its last entry and times a positive
    integer, or None if the sum reaches the target; and the rows with λ > 0.
    """
    passive = _PassiveRows(rows, target_length, start)
    while True:
        # Solve the least squares on the passive rows; those whose λ would be negative leave. The
        # solution has a common denominator. The residual target − Σ_i λ_i b_i is multiplied by it,
        # so that its entries are integers.
        solution = passive.solve_nonnegative()
        scaled_residual = passive.residual_times_denominator(solution)
        reaches_target = not any(scaled_residual)
        if reaches_target:
            return NearestPoint(difference=None, positive_rows=passive.members)

        # If a row has a positive product with the residual, increasing its λ a little brings the
        # sum nearer to the target. Without such a row the sum is as near as possible.
        entering_row = _row_along_residual(scaled_residual, rows)
        if entering_row is None:
            difference = [-entry for entry in scaled_residual[:-1]]
            return NearestPoint(difference=difference, positive_rows=passive.members)
        passive.add(entering_row)


def _row_along_residual(residual: Integers, rows: list[Integers]) -> int | None:
    """The row with the largest product with the residual; None if no product is positive.

    The products of passive rows are zero.
    """
    best_row = None
    largest_product = 0
    for i, row in enumerate(rows):
        product = _product(residual, row)
        if product > largest_product:
            best_row = i
            largest_product = product
    return best_row


class _PassiveRows:
    """The rows of `nearest_point` whose λ may be positive, its members, and their λ.

    `multipliers` maps each member to its λ. Vectors and matrices of the members have its order.
    """

    def __init__(
        self, rows: list[Integers], target_length: int, start: Mapping[int, Fraction]
    ) -> None:
        self.rows = rows
        self.target_length = target_length
        self.multipliers = dict(start)
        self._products: dict[tuple[int, int], int] = {}

    @property
    def members(self) -> list[int]:
        return list(self.multipliers)

    def add(self, row: int) -> None:
        """Add a row with λ = 0."""
        self.multipliers[row] = Fraction(0)

    def solve_nonnegative(self) -> IntegerSolution:
        """Solve the least squares on the members under λ ≥ 0, and return λ in integers.

        The members are the rows whose λ may be positive. Each round solves the least squares on the
        members without the constraint. If this makes a λ negative, λ is moved only until the first
        λ becomes zero (`_move_towards`), the rows with λ = 0 are removed from the members, and the
        next round follows. `multipliers`, row → λ, is changed.

        Returns
        -------
        λ as integer numerators, in the order of the members, with a common denominator; no
        numerators if no member remains.
        """
        while self.multipliers:
            solution = self._solve_unconstrained()
            if solution.dependent is not None:
                # Remove a row that depends linearly on the others. Only rows that the method starts
                # with can be dependent: those that enter later are independent of the members.
                dependent_row = self.members[solution.dependent]
                del self.multipliers[dependent_row]
                continue

            # If all λ are positive, the constraint does not matter.
            denominator = solution.denominator
            unconstrained = [Fraction(number, denominator) for number in solution.numerators]
            if min(unconstrained) > 0:
                self.multipliers = dict(zip(self.members, unconstrained, strict=True))
                return solution
            self._move_towards(unconstrained)
        return IntegerSolution(numerators=[], denominator=1)

    def _solve_unconstrained(self) -> IntegerSolution:
        """Solve the least squares on the members, with λ of any sign.

        λ solves G λ = t, with the products G_ij = b_i·b_j of the members and their products t_i
        with the target (0, …, 0, target_length).
        """
        members = self.members
        gram = [[self._gram(i, j) for j in members] for i in members]
        # The target has only one entry that is not zero, the last.
        target_products = [self.target_length * self.rows[i][-1] for i in members]
        return solve_integers(gram, target_products)

    def _move_towards(self, goals: list[Fraction]) -> None:
        """Move λ towards the goals until the first λ becomes zero, and remove the rows with λ = 0.

        λ + step · (goal − λ) is zero at step = λ / (λ − goal). This is computed for every λ whose
        goal is not positive, at least one, and the smallest step is taken. `goals` has the order of
        the members.
        """
        pairs = list(zip(self.multipliers.values(), goals, strict=True))
        steps_to_zero = [value / (value - goal) for value, goal in pairs if goal <= 0]
        step = min(steps_to_zero)
        moved = [value + step * (goal - value) for value, goal in pairs]

        # Keep the rows whose λ is still positive.
        moved_multipliers = zip(self.members, moved, strict=True)
        self.multipliers = {row: value for row, value in moved_multipliers if value > 0}

    def residual_times_denominator(self, solution: IntegerSolution) -> Integers:
        """Return the target minus Σ_i λ_i b_i, multiplied by the common denominator of the λ."""
        residual = [0] * len(self.rows[0])
        residual[-1] = self.target_length * solution.denominator
        for i, numerator in zip(self.members, solution.numerators, strict=True):
            pairs = zip(residual, self.rows[i], strict=True)
            residual = [entry - numerator * row_entry for entry, row_entry in pairs]
        return residual

    def _gram(self, i: int, j: int) -> int:
        """Return b_i·b_j, which is computed once and kept."""
        key = (min(i, j), max(i, j))
        if key not in self._products:
            self._products[key] = _product(self.rows[i], self.rows[j])
        return self._products[key]


def _product(left: Integers, right: Integers) -> int:
    return sum(a * b for a, b in zip(left, right, strict=True))


def solve_integers(matrix: list[Integers], target: Integers) -> IntegerSolution:
    """Solve a positive definite linear system in integers, by Bareiss' fraction-free elimination.

    Eliminating column i from a row below row i replaces the row by

        (pivot · row − factor · row i) / last pivot,

    where `pivot` is the entry of row i in column i, `factor` is the entry of the changed row there,
    and `last pivot` is the pivot of row i − 1 (1 for the first row). These divisions leave no
    remainder, because every entry that results is a determinant of a part of the original system
    (Sylvester's identity). A pivot of zero means that row i of the matrix depends linearly on the
    rows before it: then there is no solution.

    matrix : (size, size) symmetric; its rows are the equations.
    target : (size,) the right-hand sides.

    Returns
    -------
    The solution as numerators with a common denominator, or `dependent`, the first row i whose
    pivot is zero.
    """
    size = len(matrix)
    # The equations with their right-hand sides in the last column; changed in place.
    equations = [[*row, value] for row, value in zip(matrix, target, strict=True)]
    last_pivot = 1
    for i in range(size):
        pivot_row = equations[i]
        pivot = pivot_row[i]
        if pivot == 0:
            return IntegerSolution(numerators=[], denominator=0, dependent=i)

        # Eliminate. Entries left of the pivot count as zero from now on, and are not written.
        for changed_row in equations[i + 1 :]:
            factor = changed_row[i]
            for column in range(i + 1, size + 1):
                difference = pivot * changed_row[column] - factor * pivot_row[column]
                changed_row[column] = difference // last_pivot
        last_pivot = pivot

    # The last pivot is the determinant of the matrix, the common denominator of the solution.
    numerators = _substitute_back(equations, determinant=last_pivot)
    return IntegerSolution(numerators=numerators, denominator=last_pivot)


def _substitute_back(equations: list[Integers], determinant: int) -> Integers:
    """Solve equations in triangular form; return the solution times the determinant of the matrix.

    Equation i is Σ_{j ≥ i} u_ij x_j = t_i. Multiplied by the determinant D it gives the numerators
    n_j = D x_j, from the last one to the first:

        n_i = (D t_i − Σ_{j > i} u_ij n_j) / u_ii

    They are integers by Cramer's rule, so that the divisions leave no remainder.

    equations : (size, size + 1) the u_ij, with the t_i in the last column. Entries below the
        diagonal count as zero, and are not read.
    """
    size = len(equations)
    numerators = [0] * size
    for i in range(size - 1, -1, -1):
        equation = equations[i]
        right_side = determinant * equation[size]
        for j in range(i + 1, size):
            right_side -= equation[j] * numerators[j]
        numerators[i] = right_side // equation[i]
    return numerators
