"""Checks of what the searchers claim, by routines that none of them uses.

Separable: every margin y_μ(x_μ·w + b) is bounded away from zero by its rounding error, or else
evaluated in rational arithmetic; floating-point numbers are rationals, so the verdict is exact for
any data.

Not separable: by Gordan's theorem some λ ≥ 0, λ ≠ 0, has Σ λ_μ a_μ = 0. A linear program (HiGHS)
finds the patterns it needs; for integer data λ itself is then solved for in integers, which makes
it a proof. Where a weight has a prescribed sign s_j, s_j Σ λ_μ a_μj ≤ 0 proves as much: s_j e_j
is one more row, whose margin need only be ≥ 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chanceline._arrays import Floats
from chanceline._results import Result
from chanceline.errors import ConvergenceError, InputError
from chanceline.perceptron.problem import Problem, make_problem
from chanceline.perceptron.rule import has_positive_margin

EXACT_INTEGERS = 2**53  # doubles below this hold integers exactly
NEGLIGIBLE_SHARE = 1e-9  # of the largest multiplier: the linear program rounds zeros to less
SMALL_RESOLUTION = 1e-6  # relative to the longest row: no margin worth the name is possible


@dataclass(frozen=True, eq=False, repr=False)
class Certificate(Result):
    """Proof of separability or of its impossibility.

    Attributes
    ----------
    separable : True (weights checked), False (multipliers found), or None if undecided.
    exact : the verdict holds in exact arithmetic; otherwise up to `resolution`.
    resolution : without exactness, every w of length 1 has a margin of at most this.
    margin : smallest margin of the weights checked, nan without weights.
    errors : patterns with margin ≤ 0, for weights.
    multipliers : λ, one for each pattern; integers if exact.
    """

    separable: bool | None
    exact: bool
    resolution: float
    margin: float
    errors: int
    multipliers: NDArray[np.float64] | list[int] | None

    @property
    def kind(self) -> str:  # type: ignore[override]
        """Whether the verdict holds in exact arithmetic, or up to `resolution`."""
        return "exact" if self.exact else "numerical"

    def summary(self) -> str:
        """Say the verdict, or how many errors checked weights make, and how exact this is.

        `separable` is None if the question is undecided; the margin is NaN if no weights were
        checked.
        """
        if self.errors:
            verdict = f"{self.errors} errors"
        elif self.separable is None:
            verdict = "undecided"
        elif self.separable:
            verdict = "separable"
        else:
            verdict = "not separable"

        accuracy = f"up to {self.resolution:.2g}"
        if self.exact:
            accuracy = "exactly"
        text = f"{verdict}, {accuracy}"
        if not np.isnan(self.margin):
            text += f", margin {self.margin:.4g}"
        return text


def check_weights(  # noqa: PLR0913
    X: ArrayLike,
    y: ArrayLike,
    support: ArrayLike,
    weights: ArrayLike,
    bias: float = 0.0,
    signs: ArrayLike | None = None,
) -> Certificate:
    """Check exactly whether given weights classify every sample correctly: y_μ(x_μ·w + b) > 0.

    Parameters
    ----------
    X : (samples, features).
    y : (samples,) labels, two values.
    support : (k,) indices of the features that have weights.
    weights : (k,) their weights w.
    bias : the intercept b.
    signs : the sign that each weight must have, +1, −1 or 0 (free), for every feature or one for
        all. A weight of the wrong sign is an error of the caller.
    """
    problem = make_problem(X, y, allow_contradictions=True, signs=signs)
    columns = np.asarray(support, dtype=np.int64)
    checked_weights = np.asarray(weights, dtype=np.float64)
    if problem.signs is not None:
        has_wrong_sign = checked_weights * problem.signs[columns] < 0  # (k,)
        refused_columns = columns[has_wrong_sign]
        if refused_columns.size:
            raise InputError(
                f"The weight of column {refused_columns[0]} has not the sign given for it."
            )

    entries = problem.X[:, columns]
    is_right = has_positive_margin(entries, problem.y, checked_weights, bias)
    errors = int(np.count_nonzero(~is_right))
    # The verdict is exact. The margin is only shown, and computed in floating point.
    margins = problem.y * (entries @ checked_weights + bias)
    return Certificate(
        separable=errors == 0,
        exact=True,
        resolution=0.0,  # no gap is too narrow for exact arithmetic
        margin=float(margins.min()),
        errors=errors,
        multipliers=None,
    )


def certify(
    X: ArrayLike,
    y: ArrayLike,
    support: ArrayLike,
    intercept: bool = False,
    signs: ArrayLike | None = None,
) -> Certificate:
    """Decide whether (X, y) is separable on some features, with weights or multipliers as proof.

    A linear program finds either weights or multipliers. Weights are then checked exactly.
    Multipliers λ ≥ 0, not all zero, with Σ λ_μ a_μ = 0 for the rows a_μ = y_μ x_μ prove that no
    weights separate: exactly if the data are integers, else up to rounding.

    Parameters
    ----------
    X : (samples, features).
    y : (samples,) labels, two values.
    support : (k,) indices of features.
    intercept : whether the rule has one.
    signs : the sign that each weight must have, +1, −1 or 0 (free), for every feature or one for
        all.
    """
    problem = make_problem(X, y, intercept, allow_contradictions=True, signs=signs)
    columns = np.asarray(support, dtype=np.int64)

    # The rows: first the patterns a_μ, one for each sample; then one unit vector, times ±1, for
    # each weight whose sign is prescribed.
    n_patterns = problem.n_samples
    rows = _rows_with_signs(problem, columns)

    # For the linear program the columns are scaled to entries of at most 1. This changes the
    # weights, which are scaled back below, but not which multipliers are a proof.
    largest_entries = np.abs(rows).max(axis=0, initial=0.0)
    scale = np.maximum(largest_entries, np.finfo(float).tiny)
    scaled_rows = rows / scale
    scaled_weights, multipliers = _largest_margin_in_box(scaled_rows, n_patterns)

    # Try three ways in turn. First, weights that separate in floating point, checked exactly.
    margins = scaled_rows[:n_patterns] @ scaled_weights
    if margins.min() > 0.0:
        certificate = _certificate_of_weights(problem, columns, weights=scaled_weights / scale)
        if certificate is not None:
            return certificate

    # Second, multipliers in integers, which prove exactly that nothing separates.
    certificate = _certificate_in_integers(rows, multipliers, n_patterns)
    if certificate is not None:
        return certificate

    # Third, multipliers up to rounding. This gives a certificate in any case: "not separable", or,
    # if the multipliers are too inexact for it, "undecided".
    return _certificate_up_to_rounding(rows, multipliers, n_patterns)


def _certificate_of_weights(
    problem: Problem, columns: NDArray[np.int64], weights: Floats
) -> Certificate | None:
    """Check weights exactly, and return their certificate if they separate, else None.

    Weights that fail prove nothing about other weights. `weights` has one entry for each of the
    columns, and a last one for the intercept if there is one.
    """
    slopes, bias = problem.split(weights)
    checked = check_weights(
        problem.X, problem.y, columns, weights=slopes, bias=bias, signs=problem.signs
    )
    if not checked.separable:
        return None
    return checked


def _certificate_in_integers(
    rows: Floats, multipliers: Floats, n_patterns: int
) -> Certificate | None:
    """Look for integer multipliers that prove inseparability; None if none are found.

    The proof consists of multipliers λ_r ≥ 0, not all zero, with Σ_r λ_r a_r = 0 for the rows a_r.
    The linear program knows the λ_r only up to rounding, but shows which of them are positive. The
    exact values of these are then computed in integers. This needs rows of integers.

    rows : (rows, columns) the a_r: first the `n_patterns` patterns (samples times labels), then one
        row for each weight whose sign is prescribed.
    multipliers : (rows,) the λ_r of the linear program.
    """
    # Doubles hold all integers below EXACT_INTEGERS exactly.
    are_integers = np.all(rows == np.round(rows))
    are_exact = np.abs(rows).max(initial=0.0) < EXACT_INTEGERS
    if not are_integers or not are_exact:
        return None

    # Which λ_r are positive: the linear program does not always return exact zeros for the others,
    # but numbers that are tiny compared with the largest λ_r.
    rounding_of_zeros = NEGLIGIBLE_SHARE * multipliers.max()
    positive_rows = np.flatnonzero(multipliers > rounding_of_zeros)

    # Solve Σ_r λ_r a_r = 0 for these λ_r in integers. The solver checks its result.
    integer_multipliers = _solve_for_integer_multipliers(rows.astype(np.int64), positive_rows)
    if integer_multipliers is None:
        return None
    return _make_multiplier_certificate(
        separable=False,
        multipliers=integer_multipliers[:n_patterns],  # without those of the prescribed signs
        exact=True,
        resolution=0.0,  # exactly no weights have a positive margin
    )


def _make_multiplier_certificate(
    separable: bool | None, multipliers: Floats | list[int], exact: bool, resolution: float
) -> Certificate:
    """Make a certificate that has multipliers, but no weights that were checked."""
    return Certificate(
        separable=separable,
        exact=exact,
        resolution=resolution,
        margin=float("nan"),
        errors=0,
        multipliers=multipliers,
    )


def _certificate_up_to_rounding(rows: Floats, multipliers: Floats, n_patterns: int) -> Certificate:
    """Make a certificate of inseparability from multipliers that are known only up to rounding.

    Nothing separates if Σ_r λ_r a_r = 0 for multipliers λ_r ≥ 0 of the rows a_r. Up to rounding the
    sum is only short. Then no weights w of length 1 have a large margin, which is the smallest
    a_μ·w of a pattern μ:

        margin ≤ |Σ_{all rows r} λ_r a_r| / Σ_{patterns μ} λ_μ.

    The certificate calls this bound its `resolution`. If the bound is tiny compared with the
    longest row, the verdict is "not separable" (`separable` is False). Otherwise weights of a small
    margin may exist, and the verdict is "undecided" (`separable` is None).

    The bound is derived in three steps, for any w of length 1:

        margin · Σ_patterns λ_μ ≤ Σ_patterns λ_μ a_μ·w     as the margin is the smallest a_μ·w
                                ≤ Σ_{all rows} λ_r a_r·w   as a_r·w ≥ 0 for the other rows
                                ≤ |Σ_{all rows} λ_r a_r|   as |w| = 1

    rows : (rows, columns) the a_r: first the `n_patterns` patterns, then one row for each weight
        whose sign is prescribed, where only a_r·w ≥ 0 is required.
    multipliers : (rows,) the λ_r.
    """
    margin_bound = float("inf")
    sum_over_patterns = float(multipliers[:n_patterns].sum())
    if sum_over_patterns > 0.0:
        summed_rows = rows.T @ multipliers  # (columns,)
        margin_bound = float(np.linalg.norm(summed_rows)) / sum_over_patterns

    lengths_of_rows = np.linalg.norm(rows, axis=1)
    longest = float(lengths_of_rows.max(initial=1.0))  # but at least 1
    separable = None  # undecided
    if margin_bound <= SMALL_RESOLUTION * longest:
        separable = False
    return _make_multiplier_certificate(
        separable=separable,
        multipliers=multipliers[:n_patterns],  # without those of the prescribed signs
        exact=False,
        resolution=margin_bound,
    )


def _rows_with_signs(problem: Problem, columns: NDArray[np.int64]) -> Floats:
    """Return the rows of the linear program, (rows, columns).

    First the patterns y_μ x_μ on these columns, with y_μ as the last entry if there is an
    intercept; then for every weight of given sign s_j the row s_j e_j, which asks s_j w_j ≥ 0.
    """
    rows = problem.y[:, None] * problem.X[:, columns]
    if problem.intercept:
        rows = np.column_stack([rows, problem.y])
    if problem.signs is not None:
        signs = np.append(problem.signs[columns], np.zeros(problem.n_unpenalized))
        rows = np.vstack([rows, np.diag(signs)[signs != 0]])
    return rows


def _largest_margin_in_box(rows: Floats, n_patterns: int) -> tuple[Floats, Floats]:
    """Find the weights w in the box |w_j| ≤ 1 with the largest margin s, by a linear program.

    Maximise s ≤ 1 subject to row·w ≥ s for the first `n_patterns` rows, and row·w ≥ 0 for the other
    rows, which prescribe signs of weights.

    Returns w, (columns,), and the multipliers λ ≥ 0 of these constraints, (rows,). If no w has
    s > 0, then Σ λ_r row_r = 0, and the λ of the patterns have the sum 1. The solver ends at a
    vertex of the feasible set, so that few rows have λ > 0.
    """
    from scipy.optimize import linprog

    # The variables are (w, s): minimise −s with −row·w + s ≤ 0 for patterns, −row·w ≤ 0 for others.
    n_rows, n_columns = rows.shape
    is_pattern = np.arange(n_rows) < n_patterns
    result = linprog(
        np.append(np.zeros(n_columns), -1.0),
        A_ub=np.column_stack([-rows, is_pattern]),
        b_ub=np.zeros(n_rows),
        bounds=[(-1.0, 1.0)] * n_columns + [(None, 1.0)],
        method="highs",
    )
    if result.x is None:
        raise ConvergenceError(
            f"The linear program that decides separability was not solved ({result.message})."
        )
    weights = np.asarray(result.x[:n_columns])
    # The marginals are the derivatives of the minimum with respect to `b_ub`, that is −λ. Rounding
    # may give them the wrong sign.
    multipliers = np.maximum(-np.asarray(result.ineqlin.marginals), 0.0)
    return weights, multipliers


def _solve_for_integer_multipliers(
    rows: NDArray[np.int64], positive_rows: NDArray[np.int64]
) -> list[int] | None:
    """Find λ ≥ 0 in integers, not all zero, with Σ λ_r a_r = 0; None if this fails.

    Only the rows in `positive_rows` may have λ > 0. If each of them is necessary, λ is unique up to
    a factor, and `_null_vector` finds it. Otherwise there are many solutions. The one that
    `_null_vector` finds may have negative entries; no other is tried, and None is returned. The
    result is checked.

    rows : (rows, columns) the a_r.
    positive_rows : (k,) indices of rows.
    """
    matrix = rows[positive_rows].T.tolist()  # the rows a_r become its columns
    fractions = _null_vector(matrix)
    if fractions is None or min(fractions) < 0:
        return None

    # Multiplied by a common denominator, the fractions become integers.
    common_denominator = lcm(*(fraction.denominator for fraction in fractions))
    multipliers = [0] * rows.shape[0]
    for row, fraction in zip(positive_rows, fractions, strict=True):
        multipliers[int(row)] = int(fraction * common_denominator)

    # Check that Σ_r λ_r a_r is zero in every column, and that not all λ are zero.
    for column in rows.T.tolist():
        terms = [factor * entry for factor, entry in zip(multipliers, column, strict=True)]
        if sum(terms) != 0:
            return None
    if not any(multipliers):
        return None
    return multipliers


def _null_vector(matrix: list[list[int]]) -> list[Fraction] | None:
    """Return a vector v ≠ 0 with M v = 0, exactly; None if there is none.

    `matrix` is M, a list of rows. After elimination its columns are of two kinds: columns with a
    pivot are unit vectors, and all others are free. The entries of v for the free columns may be
    chosen, and are all set to 1; the other entries follow from them.
    """
    n_columns = 0
    if matrix:
        n_columns = len(matrix[0])
    reduced = [[Fraction(entry) for entry in row] for row in matrix]
    pivot_columns = _eliminate_all_columns(reduced, n_columns)  # changes `reduced`
    free_columns = [column for column in range(n_columns) if column not in pivot_columns]
    if not free_columns:
        return None

    # Row i now has its pivot, a 1, in the i-th pivot column. So it says:
    # v[pivot column] + Σ over free columns of entry · 1 = 0.
    vector = [Fraction(1)] * n_columns
    rows_with_pivot = reduced[: len(pivot_columns)]
    for row, pivot_column in zip(rows_with_pivot, pivot_columns, strict=True):
        sum_over_free = sum((row[free_column] for free_column in free_columns), Fraction(0))
        vector[pivot_column] = -sum_over_free
    return vector


def _eliminate_all_columns(rows: list[list[Fraction]], n_columns: int) -> list[int]:
    """Gauss–Jordan elimination of a matrix, a list of rows, in place; return the pivot columns.

    In the end row i has its pivot, 1, in the i-th pivot column, where all other rows have 0.
    """
    pivot_columns: list[int] = []
    for column in range(n_columns):
        rank = len(pivot_columns)  # the rows 0 … rank − 1 have their pivots already
        possible_pivot_rows = [i for i in range(rank, len(rows)) if rows[i][column] != 0]
        if possible_pivot_rows:
            # Move a row with an entry in this column up to place `rank`, and eliminate with it.
            pivot_row = possible_pivot_rows[0]
            rows[rank], rows[pivot_row] = rows[pivot_row], rows[rank]
            _eliminate(rows, pivot_row=rank, column=column)
            pivot_columns.append(column)
    return pivot_columns


def _eliminate(rows: list[list[Fraction]], pivot_row: int, column: int) -> None:
    """Divide the pivot's row by the pivot, and make the column zero in all other rows, in place."""
    pivot = rows[pivot_row][column]
    rows[pivot_row] = [entry / pivot for entry in rows[pivot_row]]
    for i, row in enumerate(rows):
        factor = row[column]
        if i != pivot_row and factor != 0:
            rows[i] = [a - factor * b for a, b in zip(row, rows[pivot_row], strict=True)]
