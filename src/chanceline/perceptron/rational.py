"""Separation decided in rational arithmetic, where floating point leaves a doubt.

Doubles are rationals, so whether some w separates has an exact answer. It is found by the method of `margin.py`, Lawson and
Hanson's nonnegative least squares, in integers: min_{λ ≥ 0} |Σ_μ λ_μ a_μ|² + U² (1 − Σ_μ λ_μ)². At the minimum either
Σ_μ λ_μ a_μ = 0, and nothing separates (Gordan), or w = Σ_μ λ_μ a_μ has a_μ·w > 0 for all μ. Without rounding the method ends
after finitely many steps, and from the multipliers that floating point has found usually after one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from math import frexp, isqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from chanceline.perceptron.margin import largest_margin
from chanceline.perceptron.problem import Problem

MOST_COLUMNS = 24  # of a support: with more, the integers become long
MOST_ENTRIES = 20_000  # of a support and its samples

FACTORS = (1.0, 256.0)  # that make integers of small ones, of halves, quarters …
MOST_WHOLE = 2.0**20  # products of differences are far below 2^53, up to which integers are exact

Integers = list[int]


class Decision(NamedTuple):
    """Whether some weights separate, exactly, and the proof.

    slopes : where they do, one weight for each column of the support, in the units of X.
    bias : the weight of the intercept, zero without one.
    conflict : where nothing separates, the samples with a positive multiplier: they cannot all be right.
    """

    separable: bool
    slopes: tuple[Fraction, ...] = ()
    bias: Fraction = Fraction(0)
    conflict: tuple[int, ...] = ()


class _ScaledColumn(NamedTuple):
    """y (x − centre) of one column as integers: `values` are that times sign · 2^shift, of size about 2^bits."""

    values: Integers
    centre: Fraction
    sign: int
    shift: int
    bits: int


def is_affordable(columns: int, samples: int) -> bool:
    """Whether a support of so many columns, the intercept included, is decided in rational arithmetic within a moment."""
    return columns <= MOST_COLUMNS and columns * samples <= MOST_ENTRIES


def small_integers(
    problem: Problem, support: NDArray[np.int64] | slice = slice(None)
) -> NDArray[np.float64]:
    """Columns of X as small integers, on which floating point makes no errors: shape (columns, P), NaN for others.

    Each is X times a positive constant, and with an intercept two values may be any two: the same rules are possible.
    """
    X = np.asarray(problem.X[:, support], dtype=float)
    whole = np.full(X.T.shape, np.nan)
    for factor in FACTORS:
        scaled = X * factor
        fits = (scaled == np.round(scaled)).all(axis=0) & (np.abs(scaled) < MOST_WHOLE).all(axis=0)
        taken = fits & np.isnan(whole[:, 0])
        whole[taken] = scaled.T[taken]
    if problem.intercept:
        is_lowest = np.equal(X, X.min(axis=0))
        is_highest = np.equal(X, X.max(axis=0))
        two_values = (is_lowest | is_highest).all(axis=0)
        whole[two_values] = ~is_lowest.T[two_values]
    else:
        sizes = np.abs(X)
        one_size = ((sizes == 0) | (sizes == sizes.max(axis=0))).all(axis=0)
        whole[one_size] = np.sign(X).T[one_size]
    return whole


def integer_columns(
    problem: Problem, support: NDArray[np.int64] | slice = slice(None)
) -> NDArray[np.float64]:
    """The rows y_μ x_μ on a support in small integers, as columns, the intercept last; NaN where there are none.

    Columns whose weight must not be positive are reversed, as those of the problem are.
    """
    whole = small_integers(problem, support) * problem.y
    if problem.signs is not None:
        whole[problem.signs[support] < 0] *= -1.0
    return np.vstack([whole, *[problem.y] * problem.kept])


class ExactTable:
    """The table of a problem in integers, a column at a time as they are needed, and decisions on supports of it."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.decisions = 0
        self._columns: dict[int, _ScaledColumn] = {}

    @cached_property
    def _labels(self) -> list[int]:
        return [int(label) for label in self.problem.y]

    def _column(self, j: int) -> _ScaledColumn:
        if j not in self._columns:
            self._columns[j] = self._scaled_column(j)
        return self._columns[j]

    def _scaled_column(self, j: int) -> _ScaledColumn:
        """Column j, shifted by the same centre as in floating point, which only an intercept allows, and by a power of two."""
        centre = float(self.problem.centre[j])
        scale = float(self.problem.scale[j])
        ratios = [float(value).as_integer_ratio() for value in self.problem.X[:, j]]
        middle, middle_denominator = centre.as_integer_ratio()
        # Denominators of doubles are powers of two, so the largest is a multiple of all.
        common = max(middle_denominator, max(denominator for _, denominator in ratios))
        middle *= common // middle_denominator
        sign = -1 if scale < 0 else 1
        values = [
            sign * label * (numerator * (common // denominator) - middle)
            for (numerator, denominator), label in zip(ratios, self._labels, strict=True)
        ]
        shift = common.bit_length() - 1
        exponent = frexp(abs(scale))[1] if np.isfinite(scale) else 0
        return _ScaledColumn(values, Fraction(centre), sign, shift, max(exponent + shift, 1))

    def decide(
        self,
        support: Sequence[int] | NDArray[np.int64],
        samples: Sequence[int] | NDArray[np.int64] | None = None,
        start: Mapping[int, float] | None = None,
    ) -> Decision:
        """Whether weights on these columns, and an intercept if the problem has one, have all these samples right.

        Parameters
        ----------
        support : columns of X.
        samples : rows of X; all of them by default.
        start : multipliers of some samples, from which the method starts; by default those of floating point.
        """
        self.decisions += 1
        chosen = [int(j) for j in support]
        rows_used = (
            list(range(self.problem.n_samples)) if samples is None else [int(i) for i in samples]
        )
        if not rows_used:
            return Decision(True, (Fraction(0),) * len(chosen))
        columns = [self._column(j) for j in chosen]
        # All columns to one size, so that none drowns in the sum of squares.
        bits = max([column.bits for column in columns], default=1)
        raised = [bits - column.bits for column in columns]
        rows = [
            [column.values[i] << up for column, up in zip(columns, raised, strict=True)]
            for i in rows_used
        ]
        if self.problem.intercept:
            for row, i in zip(rows, rows_used, strict=True):
                row.append(self._labels[i] << bits)
        width = len(chosen) + self.problem.kept
        unit = isqrt(max(width, 1)) + 1 << bits
        patterns = len(rows)
        extended = [[*row, unit] for row in rows]
        for place, j in enumerate(chosen):
            if self.problem.signed[j]:
                extended.append([unit if place == other else 0 for other in range(width + 1)])
        if start is None:
            start = self._multipliers(chosen, rows_used)
        places = {i: place for place, i in enumerate(rows_used)}
        begin = {places[i]: Fraction(value) for i, value in start.items() if value > 0}
        weights, positive = nearest_point(extended, unit, begin)
        if weights is None:
            return Decision(
                False, conflict=tuple(rows_used[place] for place in positive if place < patterns)
            )
        slopes = tuple(
            Fraction(weight * column.sign) * 2 ** (column.shift + up)
            for weight, column, up in zip(weights, columns, raised, strict=False)
        )
        bias = Fraction(0)
        if self.problem.intercept:
            bias = Fraction(weights[len(chosen)]) * 2**bits
            bias -= sum(
                (slope * column.centre for slope, column in zip(slopes, columns, strict=True)),
                Fraction(0),
            )
        return Decision(True, slopes, bias)

    def _multipliers(self, support: list[int], samples: list[int]) -> dict[int, float]:
        """Those of the largest margin in floating point, which are nearly right."""
        columns = np.array(support, dtype=np.int64)
        rows = self.problem.rows(columns, np.array(samples, dtype=np.int64))
        if rows.shape[1] == 0:
            return {}
        signed = np.append(
            self.problem.signed[columns], np.zeros(self.problem.kept, dtype=np.bool_)
        )
        found = largest_margin(rows, signed=signed if signed.any() else None)
        return dict(zip(samples, found.multipliers.tolist(), strict=True))

    def fewest_errors_within(
        self, support: Sequence[int] | NDArray[np.int64], errors: int, most_decisions: int
    ) -> tuple[bool | None, Decision, list[int]]:
        """Whether at most `errors` samples need be given up so that the rest separates on these columns.

        At least one of the samples of a conflict is an error, so a search that gives up each in turn is exhaustive.

        Returns
        -------
        answer, decision, samples : the answer is None if `most_decisions` did not suffice; if it is True, the decision has
            weights that have these samples right.
        """
        limit = self.decisions + most_decisions
        every = list(range(self.problem.n_samples))
        undecided = False
        # Sets of samples still to be decided: those that are left, those among them that must be right, the errors left.
        waiting: list[tuple[list[int], frozenset[int], int]] = [(every, frozenset(), errors)]
        while waiting:
            samples, right, errors_left = waiting.pop()
            if self.decisions >= limit:
                undecided = True
                break
            decision = self.decide(support, samples)
            if decision.separable:
                return True, decision, samples
            if errors_left == 0:
                continue
            certain = right
            branches = []
            for sample in decision.conflict:
                if sample not in right:
                    rest = [other for other in samples if other != sample]
                    branches.append((rest, certain, errors_left - 1))
                    # In the branches after this one the sample is right: those with it wrong have been seen.
                    certain = certain | {sample}
            waiting.extend(reversed(branches))
        return None if undecided else False, Decision(False), []


def nearest_point(
    rows: list[Integers], unit: int, start: Mapping[int, Fraction]
) -> tuple[Integers | None, list[int]]:
    """min_{λ ≥ 0} |Σ_i λ_i b_i − (0, …, 0, unit)|² over the rows b_i, exactly.

    Returns
    -------
    weights, positive : Σ_i λ_i b_i without its last place and times a positive integer, or None if the distance is zero;
        and the rows with λ_i > 0.
    """
    inside = list(start)
    values = [start[i] for i in inside]
    width = len(rows[0])
    products: dict[tuple[int, int], int] = {}

    def product(i: int, j: int) -> int:
        key = (i, j) if i <= j else (j, i)
        if key not in products:
            products[key] = sum(a * b for a, b in zip(rows[i], rows[j], strict=True))
        return products[key]

    while True:
        numerators, denominator = _settle(rows, unit, inside, values, product)
        # The distance that is left, times the denominator.
        residual = [0] * width
        residual[-1] = unit * denominator
        for i, numerator in zip(inside, numerators, strict=True):
            residual = [
                left - numerator * entry for left, entry in zip(residual, rows[i], strict=True)
            ]
        if not any(residual):
            return None, inside
        entering = -1
        steepest = 0
        for i, row in enumerate(rows):
            slope = sum(left * entry for left, entry in zip(residual, row, strict=True))
            # Rows inside have slope zero.
            if slope > steepest:
                entering = i
                steepest = slope
        if entering < 0:
            return [-left for left in residual[:-1]], inside
        inside.append(entering)
        values.append(Fraction(0))


def _settle(
    rows: list[Integers],
    unit: int,
    inside: list[int],
    values: list[Fraction],
    product: Callable[[int, int], int],
) -> tuple[Integers, int]:
    """Least squares on the rows inside, walking back to λ > 0; changes them. Returns λ as numerators and one denominator."""
    while inside:
        gram = [[product(i, j) for j in inside] for i in inside]
        target = [unit * rows[i][-1] for i in inside]
        solution, denominator, dependent = solve_integers(gram, target)
        if dependent is not None:
            # Only a start can have such a row: one that enters points where those inside do not.
            del inside[dependent]
            del values[dependent]
            continue
        if min(solution) > 0:
            values[:] = [Fraction(numerator, denominator) for numerator in solution]
            return solution, denominator
        goals = [Fraction(numerator, denominator) for numerator in solution]
        step = min(
            value / (value - goal) for value, goal in zip(values, goals, strict=True) if goal <= 0
        )
        values[:] = [
            value + step * (goal - value) for value, goal in zip(values, goals, strict=True)
        ]
        stays = [place for place, value in enumerate(values) if value > 0]
        inside[:] = [inside[place] for place in stays]
        values[:] = [values[place] for place in stays]
    return [], 1


def solve_integers(matrix: list[Integers], target: Integers) -> tuple[Integers, int, int | None]:
    """The solution of a positive definite system in integers, by Bareiss' elimination: every division has no remainder.

    Returns
    -------
    numerators, denominator, dependent : the first row that depends on those before it, None if there is none.
    """
    size = len(matrix)
    work = [[*row, value] for row, value in zip(matrix, target, strict=True)]
    before = 1
    for i in range(size):
        pivot = work[i][i]
        if pivot == 0:
            return [], 0, i
        for row in range(i + 1, size):
            factor = work[row][i]
            for column in range(i + 1, size + 1):
                work[row][column] = (work[row][column] * pivot - factor * work[i][column]) // before
        before = pivot
    numerators = [0] * size
    for i in range(size - 1, -1, -1):
        total = before * work[i][size] - sum(work[i][j] * numerators[j] for j in range(i + 1, size))
        numerators[i] = total // work[i][i]
    return numerators, before, None
