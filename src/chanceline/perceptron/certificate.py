"""Checks of what the searchers claim, by routines that none of them uses.

Separable: every margin y_μ(x_μ·w + b) is bounded away from zero by its rounding error, or else evaluated in rational
arithmetic; floating-point numbers are rationals, so the verdict is exact for any data.
Not separable: by Gordan's theorem some λ ≥ 0, λ ≠ 0, has Σ λ_μ a_μ = 0. A linear program (HiGHS) finds the patterns it
needs; for integer data λ itself is then solved for in integers, which makes it a proof. Where a weight has a given sign s_j,
s_j Σ λ_μ a_μj ≤ 0 proves as much: s_j e_j is one more row, whose margin need only be ≥ 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chanceline._results import Result
from chanceline.errors import ConvergenceError, InputError
from chanceline.perceptron.problem import Floats, make_problem
from chanceline.perceptron.rule import strictly_right


@dataclass(frozen=True, eq=False, repr=False)
class Certificate(Result):
    """Proof of separability or of its impossibility.

    Attributes
    ----------
    separable : True (weights given and checked), False (multipliers found), or None if neither could be shown.
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
        verdict = {True: "separable", False: "not separable", None: "undecided"}[self.separable]
        if self.errors:
            verdict = f"{self.errors} errors"
        accuracy = "exactly" if self.exact else f"up to {self.resolution:.2g}"
        return f"{verdict}, {accuracy}" + (
            "" if np.isnan(self.margin) else f", margin {self.margin:.4g}"
        )


def check_weights(
    X: ArrayLike,
    y: ArrayLike,
    support: ArrayLike,
    weights: ArrayLike,
    bias: float = 0.0,
    signs: ArrayLike | None = None,
) -> Certificate:
    """Exact verdict on y_μ(x_μ·w + b) > 0 for all μ; weights against their `signs` (+1, −1 or 0 for every column) are refused."""
    problem = make_problem(X, y, contradictions=True, signs=signs)
    chosen = np.asarray(support, dtype=np.int64)
    columns = problem.X[:, chosen]
    w = np.asarray(weights, dtype=np.float64)
    if problem.signs is not None and np.any(w * problem.signs[chosen] < 0):
        raise InputError(
            f"The weight of column {chosen[w * problem.signs[chosen] < 0][0]} has not the sign given for it."
        )
    errors = int(np.count_nonzero(~strictly_right(columns, problem.y, w, bias)))
    margin = float((problem.y * (columns @ w + bias)).min())
    return Certificate(errors == 0, True, 0.0, margin, errors, None)


def certify(
    X: ArrayLike,
    y: ArrayLike,
    support: ArrayLike,
    intercept: bool = False,
    signs: ArrayLike | None = None,
) -> Certificate:
    """Decide whether (X, y) is separable on the given columns, with weights or multipliers as the proof.

    With `signs` (+1, −1 or 0 for every column of X) by weights that have them.
    """
    problem = make_problem(X, y, intercept, contradictions=True, signs=signs)
    chosen, patterns = np.asarray(support, dtype=np.int64), problem.n_samples
    rows = problem.y[:, None] * problem.X[:, chosen]
    if intercept:
        rows = np.column_stack([rows, problem.y])
    if problem.signs is not None:
        asked = np.diag(np.append(problem.signs[chosen], np.zeros(problem.kept)))
        rows = np.vstack([rows, asked[asked.any(axis=1)]])
    scale = np.maximum(np.abs(rows).max(axis=0, initial=0.0), np.finfo(float).tiny)
    scaled = rows / scale
    direction, multipliers = _widest_box_margin(scaled, patterns)
    if direction.size and (scaled[:patterns] @ direction).min() > 0.0:
        slopes, bias = problem.split(direction / scale)
        checked = check_weights(X, y, chosen, slopes, bias, signs)
        # Weights that fail when they are checked exactly prove nothing of others.
        if checked.separable:
            return checked
    if np.all(rows == np.round(rows)) and np.abs(rows).max(initial=0.0) < 2**53:
        integers = _integer_multipliers(
            rows.astype(np.int64), np.flatnonzero(multipliers > 1e-9 * multipliers.max())
        )
        if integers is not None:
            return Certificate(False, True, 0.0, float("nan"), 0, integers[:patterns])
    total = float(multipliers[:patterns].sum())
    resolution = (
        float(np.linalg.norm(rows.T @ multipliers)) / total if total > 0.0 else float("inf")
    )
    small = resolution <= 1e-6 * float(np.linalg.norm(rows, axis=1).max(initial=1.0))
    return Certificate(
        False if small else None, False, resolution, float("nan"), 0, multipliers[:patterns]
    )


def _widest_box_margin(rows: Floats, patterns: int) -> tuple[Floats, Floats]:
    """max s with a_μ·w ≥ s (≥ 0 for rows after the patterns) and |w_j| ≤ 1 as a linear program: w, and λ ≥ 0 of its dual.

    If no w has s > 0, the dual's optimum is a vertex with Σ λ_μ a_μ = 0, so that few patterns carry it.
    """
    from scipy.optimize import linprog

    total, size = rows.shape
    result = linprog(
        np.append(np.zeros(size), -1.0),
        A_ub=np.column_stack([-rows, np.arange(total) < patterns]),
        b_ub=np.zeros(total),
        bounds=[(-1.0, 1.0)] * size + [(None, 1.0)],
        method="highs",
    )
    if result.x is None:
        raise ConvergenceError(
            f"The linear program that decides separability was not solved ({result.message})."
        )
    return np.asarray(result.x[:size]), np.maximum(-np.asarray(result.ineqlin.marginals), 0.0)


def _integer_multipliers(rows: NDArray[np.int64], used: NDArray[np.int64]) -> list[int] | None:
    """λ > 0 in integers on the patterns used with Σ λ_μ a_μ = 0, or None if their null space has no such vector.

    Gaussian elimination in rationals; the null space of a minimal set of patterns is one-dimensional, and where it is
    larger the vector with all free multipliers equal to 1 is tried.
    """
    matrix = [[Fraction(int(rows[pattern, j])) for pattern in used] for j in range(rows.shape[1])]
    pivots: list[int] = []
    for column in range(len(used)):
        place = len(pivots)
        row = next((r for r in range(place, len(matrix)) if matrix[r][column] != 0), None)
        if row is None:
            continue
        matrix[place], matrix[row] = matrix[row], matrix[place]
        lead = matrix[place][column]
        matrix[place] = [value / lead for value in matrix[place]]
        for other in range(len(matrix)):
            factor = matrix[other][column]
            if other != place and factor != 0:
                matrix[other] = [
                    a - factor * b for a, b in zip(matrix[other], matrix[place], strict=True)
                ]
        pivots.append(column)
    free = [column for column in range(len(used)) if column not in pivots]
    if not free:
        return None
    values = [Fraction(int(column in free)) for column in range(len(used))]
    for place, column in enumerate(pivots):
        values[column] = -sum((matrix[place][other] for other in free), Fraction(0))
    if min(values) < 0:
        return None
    common = lcm(*(value.denominator for value in values))
    multipliers = [0] * rows.shape[0]
    for pattern, value in zip(used, values, strict=True):
        multipliers[int(pattern)] = int(value * common)
    sums = [
        sum(m * int(a) for m, a in zip(multipliers, rows[:, j], strict=True))
        for j in range(rows.shape[1])
    ]
    return multipliers if any(multipliers) and not any(sums) else None
