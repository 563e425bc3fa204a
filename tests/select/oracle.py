"""Separation by brute force in rational arithmetic: a simplex method with Bland's rule, which no searcher uses."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np


def separable(rows, signs):
    """Whether some w has a·w > 0 for all rows a, with s_j w_j ≥ 0 where a sign s_j is not 0.

    By Gordan's theorem none has if and only if some λ ≥ 0 of sum 1 has Σ λ_μ a_μj = 0 for free j, and s_j Σ λ_μ a_μj ≤ 0
    otherwise. The first phase of the simplex method looks for such a λ.
    """
    if not rows:
        return True
    width = len(rows[0])
    # One variable for each row and one slack for each sign; one equation for each column, and the sum.
    variables = [[*row, Fraction(1)] for row in rows]
    for j, sign in enumerate(signs):
        if sign:
            variables.append([Fraction(sign) if i == j else Fraction(0) for i in range(width + 1)])
    size = width + 1
    equations = [[variable[i] for variable in variables] for i in range(size)]
    right = [Fraction(0)] * width + [Fraction(1)]
    basis = [len(variables) + i for i in range(size)]
    # What is to be made zero: the sum of the artificial variables, all of which are in the basis at first.
    cost = [-sum(column) for column in zip(*equations, strict=True)]
    total = -sum(right)
    while True:
        entering = next((j for j, value in enumerate(cost) if value < 0), None)
        if entering is None:
            return total < 0
        ratios = [
            (right[i] / equations[i][entering], basis[i], i)
            for i in range(size)
            if equations[i][entering] > 0
        ]
        leaving = min(ratios)[2]
        pivot = equations[leaving][entering]
        equations[leaving] = [value / pivot for value in equations[leaving]]
        right[leaving] /= pivot
        for i in range(size):
            factor = equations[i][entering]
            if i != leaving and factor != 0:
                equations[i] = [
                    a - factor * b for a, b in zip(equations[i], equations[leaving], strict=True)
                ]
                right[i] -= factor * right[leaving]
        factor = cost[entering]
        cost = [a - factor * b for a, b in zip(cost, equations[leaving], strict=True)]
        total -= factor * right[leaving]
        basis[leaving] = entering


def exact_rows(X, y, support, intercept):
    """y_μ x_μ on a support, with the intercept last, as fractions."""
    rows = []
    for values, label in zip(X[:, list(support)].tolist(), y.tolist(), strict=True):
        row = [Fraction(value) * int(label) for value in values]
        if intercept:
            row.append(Fraction(int(label)))
        rows.append(row)
    return rows


def suffices(X, y, support, intercept, signs=None, errors=0):
    """Whether some rule on these columns makes at most so many errors."""
    rows = exact_rows(X, y, support, intercept)
    given = [0 if signs is None else int(signs[j]) for j in support] + [0] * intercept
    return any(
        separable([row for i, row in enumerate(rows) if i not in out], given)
        for out in combinations(range(len(rows)), min(errors, len(rows)))
    )


def smallest(X, y, intercept, signs=None, errors=0):
    """The fewest columns on which some rule makes at most so many errors, by all subsets; None if there are none."""
    for size in range(X.shape[1] + 1):
        if any(
            suffices(X, y, support, intercept, signs, errors)
            for support in combinations(range(X.shape[1]), size)
        ):
            return size
    return None


def tiny_gap_table(seed):
    """A small table with gaps far below any tolerance, ties and columns that are equal, and how it is to be searched."""
    rng = np.random.default_rng(seed)
    samples, columns = int(rng.integers(4, 13)), int(rng.integers(1, 9))
    kind = ("real", "grid", "decimals", "years")[seed % 4]
    X = rng.normal(size=(samples, columns))
    if kind == "grid":
        X = rng.integers(0, 3, size=X.shape).astype(float)
    elif kind == "decimals":
        X = X.round(1)
    elif kind == "years":
        X = 2e6 + X.round(2)
    y = np.where(rng.random(samples) < 0.5, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    gap = 10.0 ** -rng.integers(2, 17)
    # A plane through some columns decides, and the samples next to it are moved to within the gap.
    used = rng.choice(columns, int(rng.integers(1, min(columns, 3) + 1)), replace=False)
    weights = rng.choice([-1.0, 1.0, 0.5], size=used.size)
    fields = X[:, used] @ weights
    middle = np.median(fields)
    near = rng.random(samples) < 0.4
    X[near, used[0]] -= (
        fields[near] - middle - gap * y[near] * rng.integers(0, 2, near.sum())
    ) / weights[0]
    if seed % 3 < 2:
        y = np.where(X[:, used] @ weights - middle > 0, 1.0, -1.0)
    if seed % 5 == 0 and columns > 1:
        X[:, 1] = X[:, 0]
    signs = rng.integers(-1, 2, size=columns) if seed % 6 == 5 else None
    return X, y, bool(seed % 7 < 5), signs
