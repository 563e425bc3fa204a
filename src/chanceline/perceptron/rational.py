"""Separation decided in rational arithmetic, where floating point leaves a doubt.

Doubles are rationals, so whether some w separates has an exact answer. It is found as in
`margin.py`, by nonnegative least squares, but in integers:

    min_{λ ≥ 0} |Σ_μ λ_μ a_μ|² + unit² (1 − Σ_μ λ_μ)².

At the minimum either Σ_μ λ_μ a_μ = 0, and nothing separates (Gordan's theorem), or w = Σ_μ λ_μ a_μ
has a_μ·w > 0 for all μ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from math import frexp, isqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from chanceline.perceptron.integer_least_squares import Integers, nearest_point
from chanceline.perceptron.margin import largest_margin
from chanceline.perceptron.problem import Problem

MAX_COLUMNS = 24  # of a support: with more, the integers become long
MAX_SUPPORT_ENTRIES = 20_000  # of a support and its samples


class Decision(NamedTuple):
    """Whether some weights separate, exactly, and the proof.

    slopes : where they do, one weight for each column of the support, in the units of X.
    bias : the weight of the intercept, zero without one.
    conflict : where nothing separates, the samples with a positive multiplier: they cannot all be
        right.
    """

    separable: bool
    slopes: tuple[Fraction, ...] = ()
    bias: Fraction = Fraction(0)
    conflict: tuple[int, ...] = ()


class ErrorsDecision(NamedTuple):
    """Whether some weights make at most so many errors, exactly.

    within : the answer; None if it took too many decisions.
    decision : where the answer is yes, the weights that have `right_samples` right.
    right_samples : where the answer is yes, all samples but the errors.
    """

    within: bool | None
    decision: Decision = Decision(separable=False)
    right_samples: Sequence[int] = ()


class _ScaledColumn(NamedTuple):
    """One column y (x − centre) in integers.

    values : sign · 2^shift · y (x − centre), one for each sample, of size about 2^bits.
    sign : −1 if the weight must not be positive, else 1.
    """

    values: Integers
    centre: Fraction
    sign: int
    shift: int
    bits: int


class _RaisedColumns(NamedTuple):
    """The columns of a support in integers of about one size: none drowns in sums of squares.

    columns : of the support.
    raised_by : the values of each are multiplied by 2^raised_by, so that
        2^raised_by · values = sign · 2^(shift + raised_by) · y (x − centre) is of size about
        2^bits.
    bits : the largest of the columns' own; the intercept's column is y · 2^bits.
    """

    columns: list[_ScaledColumn]
    raised_by: list[int]
    bits: int


class _ErrorBranch(NamedTuple):
    """A set of samples of which some may still be errors.

    samples : those that are no errors so far.
    certain : those among them that are right in this branch.
    errors_left : how many of the others may be errors.
    """

    samples: list[int]
    certain: frozenset[int]
    errors_left: int


def is_affordable(n_columns: int, n_samples: int) -> bool:
    """Whether so many columns, the intercept included, are decided upon within a moment."""
    return n_columns <= MAX_COLUMNS and n_columns * n_samples <= MAX_SUPPORT_ENTRIES


class ExactTable:
    """The table of a problem in integers, converted a column at a time, and decisions on supports.

    decisions : how many decisions were made so far.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.decisions = 0
        self._columns: dict[int, _ScaledColumn] = {}

    def decide(
        self,
        support: Sequence[int] | NDArray[np.int64],
        samples: Sequence[int] | NDArray[np.int64] | None = None,
        start: Mapping[int, float] | None = None,
    ) -> Decision:
        """Whether weights on these columns (and an intercept if the problem has one) separate.

        With rows a_μ = y_μ x_μ and multipliers λ ≥ 0, the sum Σ_μ λ_μ (a_μ, unit) nearest to the
        target (0, …, 0, unit) decides. If it reaches the target, Σ_μ λ_μ a_μ = 0: the samples with
        λ_μ > 0 are in conflict. Else the weights are its difference from the target.

        Parameters
        ----------
        support : columns of X.
        samples : rows of X; all of them by default.
        start : multipliers of some samples, from which the method starts; by default those of
            floating point.
        """
        self.decisions += 1
        support = [int(j) for j in support]
        if samples is None:
            samples = range(self.problem.n_samples)
        samples = [int(i) for i in samples]
        if not samples:
            return Decision(separable=True, slopes=(Fraction(0),) * len(support))

        # The columns in integers, each times a power of two ("raised") so that all are of about
        # one size. `unit` is about as large as a row is long: so in |Σ λ_μ (a_μ, unit) − target|²
        # the last place counts about as much as all others.
        raised_columns = self._raised_columns(support)
        unit = self._unit(raised_columns)

        # The rows (a_μ, unit) of the samples; then, for weights that must not be negative, rows of
        # signs, with zero in the place of `unit`.
        rows = [[*row, unit] for row in self._pattern_rows(raised_columns, samples)]
        rows += self._sign_rows(support, unit)

        if start is None:
            start = self._approximate_multipliers(support, samples)
        point = nearest_point(rows, unit, _multipliers_of_rows(start, samples))
        if point.weights is None:
            # The target is reached. The conflict is of samples; rows of signs are left out.
            conflict = [samples[row] for row in point.positive if row < len(samples)]
            return Decision(separable=False, conflict=tuple(conflict))
        return self._in_units_of_X(point.weights, raised_columns)

    def _raised_columns(self, support: list[int]) -> _RaisedColumns:
        """The columns of a support, and by how many bits each is raised to the size of all."""
        columns = [self._column(j) for j in support]
        bits = max([column.bits for column in columns], default=1)
        raised_by = [bits - column.bits for column in columns]
        return _RaisedColumns(columns=columns, raised_by=raised_by, bits=bits)

    def _unit(self, raised_columns: _RaisedColumns) -> int:
        """A number about as large as the length of the rows: √columns entries of about 2^bits.

        It weighs the two terms of the least squares, so that neither drowns the other.
        """
        n_columns = len(raised_columns.columns) + self.problem.n_unpenalized
        return (isqrt(max(n_columns, 1)) + 1) * 2**raised_columns.bits

    def _pattern_rows(self, raised_columns: _RaisedColumns, samples: list[int]) -> list[Integers]:
        """The rows y_μ x_μ of these samples in integers, the intercept last.

        Each column is raised, multiplied by 2^raised_by, so that the entries of all columns are of
        size about 2^bits; the intercept's entry is y_μ · 2^bits.
        """
        columns = raised_columns.columns
        rows = []
        for sample in samples:
            row = []
            for column, raised_by in zip(columns, raised_columns.raised_by, strict=True):
                row.append(column.values[sample] << raised_by)  # times 2^raised_by
            if self.problem.intercept:
                row.append(self._labels[sample] << raised_columns.bits)
            rows.append(row)
        return rows

    def _sign_rows(self, support: list[int], unit: int) -> list[Integers]:
        """One row unit · e_j for each weight of the support that must not be negative.

        Rows have a place for the intercept, if there is one, and a last place, here zero.
        """
        rows = []
        for place, j in enumerate(support):
            if self.problem.nonnegative[j]:
                row = [0] * (len(support) + self.problem.n_unpenalized + 1)
                row[place] = unit
                rows.append(row)
        return rows

    def _in_units_of_X(self, weights: Integers, raised_columns: _RaisedColumns) -> Decision:
        """The weights v that separate `_pattern_rows` as slopes and bias in the units of X.

        A row has the entries factor_j · y (x_j − centre_j), integers, where

            factor_j = sign_j · 2^(shift_j + raised_by_j):

        2^shift_j makes integers of column j, 2^raised_by_j brings them to the size 2^bits of all
        columns, and sign_j is −1 where the weight must not be positive. The intercept's entry is
        brought to that size as well, y · 2^bits. So v·row = y (Σ_j slope_j x_j + bias) with

            slope_j = v_j · factor_j
            bias    = v_intercept · 2^bits − Σ_j slope_j · centre_j.
        """
        columns = raised_columns.columns
        column_weights = weights[: len(columns)]
        slopes = []
        for column, raised_by, weight in zip(
            columns, raised_columns.raised_by, column_weights, strict=True
        ):
            slopes.append(Fraction(weight * column.sign) * 2 ** (column.shift + raised_by))

        bias = Fraction(0)
        if self.problem.intercept:
            bias = Fraction(weights[-1]) * 2**raised_columns.bits
            for slope, column in zip(slopes, columns, strict=True):
                bias -= slope * column.centre
        return Decision(separable=True, slopes=tuple(slopes), bias=bias)

    def errors_within(
        self, support: Sequence[int] | NDArray[np.int64], max_errors: int, max_decisions: int
    ) -> ErrorsDecision:
        """Whether the samples without at most `max_errors` of them separate on these columns.

        At least one of the samples of a conflict is an error, so a search that takes each in turn
        for an error is exhaustive. It goes depth first: `branches` is a stack of sets of samples
        that are still to be decided on. A branch has some `certain` samples, which it takes for
        right, as other branches take them for errors: no set of errors is tried twice. After
        `max_decisions` the answer is None.
        """
        decisions_limit = self.decisions + max_decisions
        every_sample = list(range(self.problem.n_samples))
        branches = [_ErrorBranch(every_sample, certain=frozenset(), errors_left=max_errors)]
        while branches:
            if self.decisions >= decisions_limit:
                return ErrorsDecision(within=None)
            branch = branches.pop()
            decision = self.decide(support, branch.samples)
            if decision.separable:
                return ErrorsDecision(within=True, decision=decision, right_samples=branch.samples)
            if branch.errors_left > 0:
                # Reversed, so that the first one is popped first.
                branches.extend(reversed(_split_branch(branch, decision.conflict)))
        return ErrorsDecision(within=False)

    def _approximate_multipliers(self, support: list[int], samples: list[int]) -> dict[int, float]:
        """Sample → multiplier of the largest margin in floating point, which is nearly right."""
        columns = np.array(support, dtype=np.int64)
        rows = self.problem.rows(columns, np.array(samples, dtype=np.int64))
        if rows.shape[1] == 0:
            return {}
        margin = largest_margin(rows, nonnegative=self.problem.nonnegative_on(columns))
        return dict(zip(samples, margin.multipliers.tolist(), strict=True))

    @cached_property
    def _labels(self) -> list[int]:
        return [int(label) for label in self.problem.y]

    def _column(self, j: int) -> _ScaledColumn:
        """Column j in integers, converted once."""
        if j not in self._columns:
            self._columns[j] = self._scaled_column(j)
        return self._columns[j]

    def _scaled_column(self, j: int) -> _ScaledColumn:
        """Convert column j, less the same centre as in floating point, times a power of two.

        The values are sign · 2^shift · y (x − centre), integers. 2^shift is the common denominator
        of the column, and the sign is that of the problem's scale, negative where the weight must
        not be positive. `bits` tells their size: the scale, about the root mean square of
        x − centre, lies below 2^exponent, so the values are of size about 2^(exponent + shift).
        """
        centre = Fraction(float(self.problem.centre[j]))
        scale = float(self.problem.scale[j])
        sign = -1 if scale < 0 else 1

        # Denominators of doubles are powers of two, so the largest is a multiple of all.
        entries = [Fraction(float(value)) for value in self.problem.X[:, j]]
        common_denominator = max(entry.denominator for entry in [centre, *entries])
        shifted_centre = int(centre * common_denominator)
        values = []
        for entry, label in zip(entries, self._labels, strict=True):
            shifted_entry = entry.numerator * (common_denominator // entry.denominator)
            values.append(sign * label * (shifted_entry - shifted_centre))

        shift = common_denominator.bit_length() - 1  # the denominator is 2^shift
        exponent = 0  # of a column that carries nothing, whose scale is infinite
        if np.isfinite(scale):
            exponent = frexp(scale)[1]
        bits = max(exponent + shift, 1)  # integers other than 0 have at least one
        return _ScaledColumn(values=values, centre=centre, sign=sign, shift=shift, bits=bits)


def _multipliers_of_rows(start: Mapping[int, float], samples: list[int]) -> dict[int, Fraction]:
    """Row → multiplier, where row i is that of samples[i]; `start` has them by sample.

    Those that are zero are left out.
    """
    row_of_sample = {sample: row for row, sample in enumerate(samples)}
    return {row_of_sample[sample]: Fraction(value) for sample, value in start.items() if value > 0}


def _split_branch(branch: _ErrorBranch, conflict: Sequence[int]) -> list[_ErrorBranch]:
    """One branch for each sample of the conflict that may be an error, with it left out.

    In the branches after it the sample is right: those with it wrong have been seen. So it is
    `certain` there, and is not taken for an error again.
    """
    branches = []
    certain = branch.certain
    for sample in conflict:
        if sample not in branch.certain:
            others = [other for other in branch.samples if other != sample]
            branches.append(_ErrorBranch(others, certain, branch.errors_left - 1))
            certain = certain | {sample}
    return branches
