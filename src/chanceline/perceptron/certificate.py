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
from chanceline.perceptron.rule import strictly_right

EXACT_INTEGERS = 2**53  # doubles below this hold integers exactly
POSITIVE_MULTIPLIER = 1e-9  # relative to the largest: the linear program rounds zeros to less
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
        """The verdict, or the errors of weights checked, which say more; and how exact it is."""
        if self.errors:
            verdict = f"{self.errors} errors"
        elif self.separable is None:
            verdict = "undecided"
        elif self.separable:
            verdict = "separable"
        else:
            verdict = "not separable"

        accuracy = "exactly" if self.exact else f"up to {self.resolution:.2g}"
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
    """Decide exactly whether y_μ(x_μ·w + b) > 0 for all μ.

    Weights against their `signs` (+1, −1 or 0 for every column of X) are refused.
    """
    problem = make_problem(X, y, allow_contradictions=True, signs=signs)
    columns = np.asarray(support, dtype=np.int64)
    checked_weights = np.asarray(weights, dtype=np.float64)
    if problem.signs is not None:
        refused = columns[checked_weights * problem.signs[columns] < 0]
        if refused.size:
            raise InputError(f"The weight of column {refused[0]} has not the sign given for it.")

    entries = problem.X[:, columns]
    is_right = strictly_right(entries, problem.y, checked_weights, bias)
    errors = int(np.count_nonzero(~is_right))
    # The verdict is exact; the margin, a number to be shown, is rounded.
    margins = problem.y * (entries @ checked_weights + bias)
    return Certificate(
        separable=errors == 0,
        exact=True,
        resolution=0.0,
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
    """Decide whether (X, y) is separable on these columns, with weights or multipliers as proof.

    With `signs` (+1, −1 or 0 for every column of X) by weights that have them.
    """
    problem = make_problem(X, y, intercept, allow_contradictions=True, signs=signs)
    columns = np.asarray(support, dtype=np.int64)
    n_patterns = problem.n_samples
    rows = _rows_with_signs(problem, columns)
    scale = np.maximum(np.abs(rows).max(axis=0, initial=0.0), np.finfo(float).tiny)
    scaled_rows = rows / scale
    direction, multipliers = _widest_box_margin(scaled_rows, n_patterns)

    proof = None
    has_positive_margin = (scaled_rows[:n_patterns] @ direction).min() > 0.0
    if has_positive_margin:
        proof = _proof_by_weights(problem, columns, weights=direction / scale)
    if proof is None:
        proof = _proof_in_integers(rows, multipliers, n_patterns)
    if proof is None:
        proof = _certificate_of_rounded(rows, multipliers, n_patterns)
    return proof


def _proof_by_weights(
    problem: Problem, columns: NDArray[np.int64], weights: Floats
) -> Certificate | None:
    """The certificate of weights, the intercept's last, that separate when checked exactly.

    Weights that fail prove nothing of others: None.
    """
    slopes, bias = problem.split(weights)
    checked = check_weights(
        problem.X, problem.y, columns, weights=slopes, bias=bias, signs=problem.signs
    )
    return checked if checked.separable else None


def _proof_in_integers(rows: Floats, multipliers: Floats, n_patterns: int) -> Certificate | None:
    """The certificate of integer multipliers, solved for on the rows with positive `multipliers`.

    None where the rows, (rows, columns), hold other numbers than integers, or no such multipliers
    are found. The first `n_patterns` rows are patterns, and their multipliers are kept; the others,
    one for every weight of given sign, only ask for that sign.
    """
    are_integers = np.all(rows == np.round(rows))
    if not are_integers or np.abs(rows).max(initial=0.0) >= EXACT_INTEGERS:
        return None
    positive_rows = np.flatnonzero(multipliers > POSITIVE_MULTIPLIER * multipliers.max())
    integers = _integer_multipliers(rows.astype(np.int64), positive_rows)
    if integers is None:
        return None
    return _certificate_without_weights(
        separable=False, multipliers=integers[:n_patterns], exact=True, resolution=0.0
    )


def _certificate_without_weights(
    separable: bool | None, multipliers: Floats | list[int], exact: bool, resolution: float
) -> Certificate:
    """A certificate of multipliers alone."""
    return Certificate(
        separable=separable,
        exact=exact,
        resolution=resolution,
        margin=float("nan"),
        errors=0,
        multipliers=multipliers,
    )


def _certificate_of_rounded(rows: Floats, multipliers: Floats, n_patterns: int) -> Certificate:
    """What rounded multipliers say: no w of length 1 has a margin larger than the `resolution`,

        |Σ_{all rows r} λ_r a_r| / Σ_{patterns μ} λ_μ.

    If that is small, the patterns count as inseparable, else they are undecided.

    rows : a_r, `n_patterns` patterns and then rows of signs, of which a_r·w ≥ 0 is asked.
    multipliers : λ_r ≥ 0, one for each row.
    """
    # If w has length 1 and a_μ·w ≥ margin for all patterns,
    # margin · Σ_patterns λ_μ ≤ Σ_all λ_r a_r·w ≤ |Σ_all λ_r a_r|: rows of signs add nothing
    # negative to the sum in the middle.
    resolution = float("inf")
    sum_over_patterns = float(multipliers[:n_patterns].sum())
    if sum_over_patterns > 0.0:
        resolution = float(np.linalg.norm(rows.T @ multipliers)) / sum_over_patterns
    longest = float(np.linalg.norm(rows, axis=1).max(initial=1.0))  # rows shorter than 1 count as 1
    separable = None
    if resolution <= SMALL_RESOLUTION * longest:
        separable = False
    return _certificate_without_weights(
        separable=separable,
        multipliers=multipliers[:n_patterns],
        exact=False,
        resolution=resolution,
    )


def _rows_with_signs(problem: Problem, columns: NDArray[np.int64]) -> Floats:
    """The patterns y_μ x_μ on these columns, the intercept last; below them s_j e_j per sign."""
    rows = problem.y[:, None] * problem.X[:, columns]
    if problem.intercept:
        rows = np.column_stack([rows, problem.y])
    if problem.signs is not None:
        signs = np.append(problem.signs[columns], np.zeros(problem.n_unpenalized))
        rows = np.vstack([rows, np.diag(signs)[signs != 0]])
    return rows


def _widest_box_margin(rows: Floats, n_patterns: int) -> tuple[Floats, Floats]:
    """max s ≤ 1 with a_μ·w ≥ s (≥ 0 for rows after the patterns) and |w_j| ≤ 1: a linear program.

    Returns w (columns,) and λ ≥ 0 (rows,) of its dual. If no w has s > 0, the dual's optimum is a
    vertex with Σ λ_μ a_μ = 0, so that few patterns carry it. The bound s ≤ 1 is not met then, and
    leaves Σ λ_μ = 1 over the patterns.
    """
    from scipy.optimize import linprog

    # The variables are (w, s): minimise −s with −a_μ·w + s ≤ 0.
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
    multipliers = np.maximum(-np.asarray(result.ineqlin.marginals), 0.0)
    return weights, multipliers


def _integer_multipliers(
    rows: NDArray[np.int64], positive_rows: NDArray[np.int64]
) -> list[int] | None:
    """λ ≥ 0 in integers, zero but on `positive_rows`, with Σ λ_μ a_μ = 0; else None.

    `rows` is (rows, columns), `positive_rows` indices of some. The null space of a minimal set of
    rows is one-dimensional. Where it is larger, the vector with all free multipliers equal to 1 is
    tried. The result is checked.
    """
    fractions = _null_vector(rows[positive_rows].T.tolist())
    if fractions is None or min(fractions) < 0:
        return None
    common_denominator = lcm(*(fraction.denominator for fraction in fractions))
    multipliers = [0] * rows.shape[0]
    for row, fraction in zip(positive_rows, fractions, strict=True):
        multipliers[int(row)] = int(fraction * common_denominator)

    for column in rows.T.tolist():
        if sum(m * a for m, a in zip(multipliers, column, strict=True)) != 0:
            return None
    if not any(multipliers):
        return None
    return multipliers


def _null_vector(matrix: list[list[int]]) -> list[Fraction] | None:
    """A vector v with M v = 0 and all free entries equal to 1; None if there is only v = 0.

    Gauss–Jordan elimination in rationals: the pivot columns become unit vectors, and the entry of v
    at a pivot is then minus the sum of its row over the free columns.
    """
    work = [[Fraction(entry) for entry in row] for row in matrix]
    n_columns = len(matrix[0]) if matrix else 0
    pivots: list[int] = []
    for column in range(n_columns):
        rank = len(pivots)
        candidates = [i for i in range(rank, len(work)) if work[i][column] != 0]
        if candidates:
            pivot_row = candidates[0]
            work[rank], work[pivot_row] = work[pivot_row], work[rank]
            _eliminate(work, rank, column)  # the pivot becomes 1, all else in its column 0
            pivots.append(column)

    free = [column for column in range(n_columns) if column not in pivots]
    if not free:
        return None
    # A pivot's row says: v at the pivot + Σ (row's entry · 1) over the free columns = 0.
    vector = [Fraction(1)] * n_columns
    for row, column in zip(work[: len(pivots)], pivots, strict=True):
        vector[column] = -sum((row[other] for other in free), Fraction(0))
    return vector


def _eliminate(work: list[list[Fraction]], pivot_row: int, column: int) -> None:
    """Divide the pivot's row by the pivot, and clear its column in all other rows."""
    pivot = work[pivot_row][column]
    work[pivot_row] = [entry / pivot for entry in work[pivot_row]]
    for i, row in enumerate(work):
        factor = row[column]
        if i != pivot_row and factor != 0:
            work[i] = [a - factor * b for a, b in zip(row, work[pivot_row], strict=True)]
