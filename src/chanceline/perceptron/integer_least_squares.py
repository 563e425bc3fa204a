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
    """The point Σ_i λ_i b_i, λ ≥ 0, nearest to (0, …, 0, unit).

    weights : (point − target) without its last place, times a positive integer; None if the
        distance is zero.
    positive : the rows with λ_i > 0.
    """

    weights: Integers | None
    positive: list[int]


class IntegerSolution(NamedTuple):
    """The solution of a linear system in integers.

    numerators, denominator : the solution.
    dependent : the first row that depends on those before it; None if there is none. If there is
        one, there is no solution.
    """

    numerators: Integers
    denominator: int
    dependent: int | None = None


def nearest_point(rows: list[Integers], unit: int, start: Mapping[int, Fraction]) -> NearestPoint:
    """Minimise |Σ_i λ_i b_i − (0, …, 0, unit)|² over λ ≥ 0, exactly, for the rows b_i.

    Each pass solves the least squares on the passive rows, those with λ > 0. The residual is the
    target (0, …, 0, unit) less their sum, times a positive integer. If another row has a positive
    product with it, a little of that row would bring the sum nearer: the one of the largest product
    becomes passive. If none has, the sum is the nearest point.

    rows : the b_i, integers, all of one length.
    unit : the last place of the target.
    start : row → λ > 0 of some rows, from which the method starts.
    """
    passive = _PassiveRows(rows, unit, start)
    while True:
        solution = passive.settle()
        residual = passive.residual(solution)
        if not any(residual):
            return NearestPoint(weights=None, positive=passive.members)

        entering = None
        steepest = 0
        for i, row in enumerate(rows):
            slope = _product(residual, row)  # zero for passive rows
            if slope > steepest:
                entering = i
                steepest = slope
        if entering is None:
            # No row has b_i·residual > 0, so b_i·(−residual) ≥ 0: point − target = −residual, whose
            # places but the last are the weights.
            weights = [-entry for entry in residual[:-1]]
            return NearestPoint(weights=weights, positive=passive.members)
        passive.add(entering)


class _PassiveRows:
    """The rows with λ > 0 of `nearest_point`, and λ itself."""

    def __init__(self, rows: list[Integers], unit: int, start: Mapping[int, Fraction]) -> None:
        self.rows = rows
        self.unit = unit
        self.members = list(start)
        self.values = list(start.values())
        self._products: dict[tuple[int, int], int] = {}

    def add(self, row: int) -> None:
        """Let a row enter with λ = 0."""
        self.members.append(row)
        self.values.append(Fraction(0))

    def settle(self) -> IntegerSolution:
        """Solve the least squares on the members under λ ≥ 0: λ as numerators and a denominator.

        The solution without that constraint solves G λ = t, with the products G_ij = b_i·b_j of
        the members (`gram`) and their products t_i with the target (0, …, 0, unit) (`target`). Walk
        from λ towards it. If a λ becomes zero on the way, stop there, let its row leave, and walk
        on towards the solution on the others.
        """
        while self.members:
            gram = [[self._gram(i, j) for j in self.members] for i in self.members]
            # The target (0, …, 0, unit) meets nothing but the last place of a row.
            last_entries = [self.rows[i][-1] for i in self.members]
            target = [self.unit * last_entry for last_entry in last_entries]
            solution = solve_integers(gram, target)
            if solution.dependent is not None:
                # Only a start can have such a row: one that enters is independent of the members.
                del self.members[solution.dependent]
                del self.values[solution.dependent]
                continue

            goals = [Fraction(number, solution.denominator) for number in solution.numerators]
            if min(goals) > 0:
                self.values = goals
                return solution
            self._walk_towards(goals)
        return IntegerSolution(numerators=[], denominator=1)

    def _walk_towards(self, goals: list[Fraction]) -> None:
        """Move λ towards the goals until one becomes zero; members with λ = 0 leave.

        λ + step · (goal − λ) is zero at step = λ / (λ − goal); the smallest such step counts. At
        least one goal is not positive.
        """
        pairs = list(zip(self.values, goals, strict=True))
        step = min(value / (value - goal) for value, goal in pairs if goal <= 0)
        moved = [value + step * (goal - value) for value, goal in pairs]
        stays = [place for place, value in enumerate(moved) if value > 0]
        self.members = [self.members[place] for place in stays]
        self.values = [moved[place] for place in stays]

    def residual(self, solution: IntegerSolution) -> Integers:
        """(0, …, 0, unit) − Σ_i λ_i b_i, times the denominator of λ."""
        residual = [0] * len(self.rows[0])
        residual[-1] = self.unit * solution.denominator
        for i, numerator in zip(self.members, solution.numerators, strict=True):
            pairs = zip(residual, self.rows[i], strict=True)
            residual = [entry - numerator * row_entry for entry, row_entry in pairs]
        return residual

    def _gram(self, i: int, j: int) -> int:
        """b_i·b_j, computed once."""
        key = (min(i, j), max(i, j))
        if key not in self._products:
            self._products[key] = _product(self.rows[i], self.rows[j])
        return self._products[key]


def _product(left: Integers, right: Integers) -> int:
    return sum(a * b for a, b in zip(left, right, strict=True))


def solve_integers(matrix: list[Integers], target: Integers) -> IntegerSolution:
    """Solve a positive definite system by Bareiss' elimination: no division has a remainder.

    A row in which row i, the pivot's, is eliminated becomes

        (pivot · row − factor · row i) / last pivot,

    where `factor` is its entry in column i. A pivot of zero means that row i depends on those
    before it: the matrix is only semidefinite, and there is no solution.

    matrix : (size, size), symmetric; its rows are the equations.
    target : (size,), their right-hand sides.
    """
    size = len(matrix)
    # The equations with their right-hand sides in the last column.
    work = [[*row, value] for row, value in zip(matrix, target, strict=True)]
    last_pivot = 1
    for i in range(size):
        pivot = work[i][i]
        if pivot == 0:
            return IntegerSolution(numerators=[], denominator=0, dependent=i)
        for row in range(i + 1, size):
            factor = work[row][i]
            for column in range(i + 1, size + 1):
                product = work[row][column] * pivot - factor * work[i][column]
                work[row][column] = product // last_pivot
        last_pivot = pivot

    # Backwards; the last pivot is the determinant, the common denominator of the solution.
    numerators = [0] * size
    for i in range(size - 1, -1, -1):
        rest = last_pivot * work[i][size]
        for j in range(i + 1, size):
            rest -= work[i][j] * numerators[j]
        numerators[i] = rest // work[i][i]  # exact: by Cramer's rule the numerators are integers
    return IntegerSolution(numerators=numerators, denominator=last_pivot)
