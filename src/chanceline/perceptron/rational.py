"""Separation decided in rational arithmetic, where floating point leaves a doubt.

Doubles are rationals, so whether some w separates has an exact answer. It is found as in
`margin.py`, by nonnegative least squares, but in integers:

    min_{λ ≥ 0} |Σ_μ λ_μ a_μ|² + L² (1 − Σ_μ λ_μ)²,   with L about the length of the a_μ.

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


class _EqualSizeColumns(NamedTuple):
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

    def factors(self) -> list[Fraction]:
        """By what y (x − centre) was multiplied in every column: sign · 2^(shift + raised_by)."""
        pairs = zip(self.columns, self.raised_by, strict=True)
        return [column.sign * Fraction(2) ** (column.shift + more) for column, more in pairs]


class _ErrorBranch(NamedTuple):
    """A branch of the search for errors: some of its samples may still turn out to be errors.

    samples : all samples that are no errors so far.
    certain : the ones among them that this branch takes to be right.
    errors_left : how many of the others may be errors.
    """

    samples: list[int]
    certain: frozenset[int]
    errors_left: int


def is_affordable(n_columns: int, n_samples: int) -> bool:
    """Whether a support of so many columns, including the intercept, is decided quickly."""
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
        """Decide exactly whether weights on these columns (and the intercept) separate the samples.

        The question is answered by nonnegative least squares in integers: multipliers λ ≥ 0 of the
        rows either combine the rows to zero, which proves that nothing separates, or yield weights
        that separate.

        Parameters
        ----------
        support : indices of columns of X.
        samples : indices of rows of X; all of them by default.
        start : sample → multiplier, from which the method starts; by default the multipliers that
            floating point finds.
        """
        self.decisions += 1
        support = [int(j) for j in support]
        if samples is None:
            samples = range(self.problem.n_samples)
        samples = [int(i) for i in samples]
        if not samples:
            # There is nothing to separate: weights of zero will do.
            return Decision(separable=True, slopes=(Fraction(0),) * len(support))

        # The rows of the least squares, in integers: first one row (a_μ, L) for each sample, then
        # one row (L · e_j, 0) for each weight w_j that must not be negative. The length L is about
        # the length of the a_μ.
        columns = self._columns_of_equal_size(support)
        target_length = self._typical_length(columns)  # L
        rows = [[*row, target_length] for row in self._pattern_rows(columns, samples)]
        rows += self._sign_rows(support, target_length)

        # Find the λ ≥ 0 for which point = Σ_r λ_r row_r is nearest to target = (0, …, 0, L).
        if start is None:
            start = self._approximate_multipliers(support, samples)
        start_of_rows = _multipliers_of_rows(start, samples)
        nearest = nearest_point(rows, target_length, start_of_rows)

        # If the target is reached, the λ prove that nothing separates (Gordan's theorem): Σ λ_μ a_μ
        # is 0, or not positive where a weight must not be negative. The conflict consists of the
        # samples with λ > 0. (Row numbers from len(samples) on belong to weights.)
        if nearest.difference is None:
            conflict = [samples[row] for row in nearest.positive_rows if row < len(samples)]
            return Decision(separable=False, conflict=tuple(conflict))

        # Otherwise w, the difference point − target without its last entry, separates. The proof:
        # with s the sum of the λ of the samples, the whole difference is d = (w, L · (s − 1)).
        # 1. At the minimum row_r·d ≥ 0 for every row. For a sample this means a_μ·w ≥ L² (1 − s),
        #    and for a weight that must not be negative w_j ≥ 0.
        # 2. At the minimum also point·d = 0, so that L² (s − 1) = target·d = −|d|² < 0: s < 1.
        # 3. By 1 and 2, a_μ·w > 0 for every sample. (`difference` is a positive multiple of w.)
        return self._in_units_of_X(nearest.difference, columns)

    def _columns_of_equal_size(self, support: list[int]) -> _EqualSizeColumns:
        """Return the columns of a support in integers, and how to make them about equally large.

        Multiplied by its 2^raised_by, every column is of about the size 2^bits of the largest.
        """
        columns = [self._column(j) for j in support]
        bits = max([column.bits for column in columns], default=1)
        raised_by = [bits - column.bits for column in columns]
        return _EqualSizeColumns(columns=columns, raised_by=raised_by, bits=bits)

    def _typical_length(self, columns: _EqualSizeColumns) -> int:
        """Return a number about as large as the length of a row, which has entries of about 2^bits.

        A row of k entries of size s has a length of about √k · s. The number weighs the two terms
        of the least squares, so that they are of the same order.
        """
        n_columns = len(columns.columns) + self.problem.n_unpenalized
        return (isqrt(max(n_columns, 1)) + 1) * 2**columns.bits

    def _pattern_rows(self, equal_columns: _EqualSizeColumns, samples: list[int]) -> list[Integers]:
        """Return the rows y_μ x_μ of these samples in integers, with the intercept's entry last.

        The columns hold the integers y_μ x_μ already, each in a scale of its own. Here each column
        is multiplied by its 2^raised_by, so that the entries of all columns are of size about
        2^bits. The intercept's entry, if there is one, is y_μ · 2^bits.
        """
        columns = equal_columns.columns
        rows = []
        for sample in samples:
            row = []
            for column, raised_by in zip(columns, equal_columns.raised_by, strict=True):
                row.append(column.values[sample] << raised_by)  # times 2^raised_by
            if self.problem.intercept:
                row.append(self._labels[sample] << equal_columns.bits)  # times 2^bits
            rows.append(row)
        return rows

    def _sign_rows(self, support: list[int], length: int) -> list[Integers]:
        """Return one row length · e_j for each weight of the support that must not be negative.

        A row has an entry for each column, one for the intercept if there is one, and a last one,
        0.
        """
        rows = []
        for place, j in enumerate(support):
            if self.problem.nonnegative[j]:
                row = [0] * (len(support) + self.problem.n_unpenalized + 1)
                row[place] = length
                rows.append(row)
        return rows

    def _in_units_of_X(self, weights: Integers, equal_columns: _EqualSizeColumns) -> Decision:
        """Convert weights v of the integer rows into slopes and a bias for X.

        The row of a sample with label y has the entry factor_j · y (x_j − centre_j) for column j,
        and y · 2^bits for the intercept, if any. Here factor_j, a power of 2 with a sign, is
        what turned y (x_j − centre_j) into integers (`equal_columns.factors`), and `bits` is
        `equal_columns.bits`. So v·row = y (Σ_j slope_j x_j + bias) with

            slope_j = v_j · factor_j
            bias    = v_intercept · 2^bits − Σ_j slope_j · centre_j.
        """
        columns = equal_columns.columns
        column_weights = weights[: len(columns)]  # without the intercept's
        factors = equal_columns.factors()
        slopes = [weight * factor for weight, factor in zip(column_weights, factors, strict=True)]

        bias = Fraction(0)
        if self.problem.intercept:
            intercept_weight = Fraction(weights[-1])
            bias = intercept_weight * 2**equal_columns.bits
            for slope, column in zip(slopes, columns, strict=True):
                bias -= slope * column.centre
        return Decision(separable=True, slopes=tuple(slopes), bias=bias)

    def errors_within(
        self, support: Sequence[int] | NDArray[np.int64], max_errors: int, max_decisions: int
    ) -> ErrorsDecision:
        """Decide exactly whether some weights on these columns make at most `max_errors` errors.

        This is a branching search, depth first. A branch is a set of samples that are all to be
        right. If they are not separable, rational arithmetic names a conflict: a few samples that
        cannot all be right. At least one of these is an error, so a new branch is made for each of
        them, without that sample. A branch also has `certain` samples, which it must not give up
        because other branches do; so no set of errors is tried twice.

        Parameters
        ----------
        support : indices of columns of X.
        max_errors : the number of errors allowed.
        max_decisions : after so many decisions of separability the search gives up.

        Returns
        -------
        `within` : whether such weights exist, None if the search gave up. If they exist, also the
        `decision` with these weights, and `right_samples`, all samples but the errors.
        """
        decisions_limit = self.decisions + max_decisions
        every_sample = list(range(self.problem.n_samples))
        root = _ErrorBranch(every_sample, certain=frozenset(), errors_left=max_errors)
        branches = [root]  # a stack: the last branch is examined first
        while branches:
            if self.decisions >= decisions_limit:
                return ErrorsDecision(within=None)
            branch = branches.pop()
            decision = self.decide(support, branch.samples)
            if decision.separable:
                return ErrorsDecision(within=True, decision=decision, right_samples=branch.samples)
            if branch.errors_left > 0:
                new_branches = _split_branch(branch, decision.conflict)
                # In reverse order, so that the first new branch is popped first.
                branches.extend(reversed(new_branches))
        return ErrorsDecision(within=False)

    def _approximate_multipliers(self, support: list[int], samples: list[int]) -> dict[int, float]:
        """Return sample → multiplier of the largest margin, approximately, in floating point."""
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
        """Return column j in integers; it is converted once and kept."""
        if j not in self._columns:
            self._columns[j] = self._scaled_column(j)
        return self._columns[j]

    def _scaled_column(self, j: int) -> _ScaledColumn:
        """Convert column j of X to integers: values = sign · 2^shift · y (x − centre), exactly.

        y = ±1 are the labels, and the centre is the mean that floating point has found (0 without
        an intercept). The sign is −1 where the weight must not be positive, so that the weight of
        the values must not be negative. 2^shift is the common denominator of x and the centre: all
        doubles are fractions whose denominators are powers of two.
        """
        scale = float(self.problem.scale[j])  # negative where the weight must not be positive
        sign = 1
        if scale < 0:
            sign = -1

        # Of powers of two, the largest is a common multiple.
        centre = Fraction(float(self.problem.centre[j]))
        entries = [Fraction(float(value)) for value in self.problem.X[:, j]]
        denominator = max(number.denominator for number in [centre, *entries])
        shift = denominator.bit_length() - 1  # the denominator is 2^shift

        # All numbers times the denominator are integers.
        integer_centre = int(centre * denominator)
        values = []
        for entry, label in zip(entries, self._labels, strict=True):
            integer_entry = entry.numerator * (denominator // entry.denominator)
            values.append(sign * label * (integer_entry - integer_centre))

        # |scale| is the root mean square of x − centre, so the values are of size about
        # |scale| · 2^shift. `frexp` gives the exponent with |scale| < 2^exponent.
        exponent = 0  # for a useless column, whose scale is infinite
        if np.isfinite(scale):
            _, exponent = frexp(scale)
        bits = max(exponent + shift, 1)  # an integer other than 0 has at least one bit
        return _ScaledColumn(values=values, centre=centre, sign=sign, shift=shift, bits=bits)


def _multipliers_of_rows(start: Mapping[int, float], samples: list[int]) -> dict[int, Fraction]:
    """Translate sample → multiplier into row → multiplier, where row i belongs to samples[i].

    Multipliers that are not positive are left out.
    """
    row_of_sample = {sample: row for row, sample in enumerate(samples)}
    return {row_of_sample[sample]: Fraction(value) for sample, value in start.items() if value > 0}


def _split_branch(branch: _ErrorBranch, conflict: Sequence[int]) -> list[_ErrorBranch]:
    """Make one new branch for each sample of a conflict that may be an error.

    The new branch has that sample as an error: it is left out of the samples, and one error fewer
    is left. In the branches after it the sample is taken to be correct (`certain`), since all sets
    of errors that contain it are covered.
    """
    branches = []
    certain = branch.certain
    for sample in conflict:
        if sample not in branch.certain:
            others = [other for other in branch.samples if other != sample]
            branches.append(_ErrorBranch(others, certain, branch.errors_left - 1))
            certain = certain | {sample}
    return branches
