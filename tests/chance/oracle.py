"""Counts by another route: Python integers, and all separable labellings of a small point set by linear
programming.
"""

from __future__ import annotations

from itertools import combinations
from math import comb, floor, sqrt

import numpy as np
from scipy.optimize import linprog


def cover(points: int, dimension: int) -> int:
    return 2 * sum(comb(points - 1, k) for k in range(dimension))


def planar_sets(points: int, size: int) -> int:
    small = min(size, points - size)
    if small == 0:
        return 1
    if 2 * small == points:
        return floor(points * sqrt(points - 1) + 1e-6)
    return floor(points * (1 + sqrt(1 + 8 * (small - 1))) / 2 + 1e-6)


def separable(rows: np.ndarray, labels: tuple[int, ...]) -> bool:
    """Whether some w has y·(rows w) ≥ 1."""
    signed = rows * np.asarray(labels)[:, None]
    answer = linprog(
        np.zeros(rows.shape[1]),
        A_ub=-signed,
        b_ub=-np.ones(len(labels)),
        bounds=(None, None),
        method="highs",
    )
    return answer.status == 0


def separable_labellings(
    X: np.ndarray, support: tuple[int, ...], intercept: bool
) -> set[tuple[int, ...]]:
    """Every strictly separable labelling, grown point by point (a prefix of a separable labelling is
    separable).
    """
    rows = np.asarray(X, dtype=float)[:, list(support)]
    if intercept:
        rows = np.column_stack([rows, np.ones(len(rows))])
    found: set[tuple[int, ...]] = {(1,)} if np.any(rows[0]) else set()
    for p in range(1, len(rows)):
        found = {
            (*labels, sign)
            for labels in found
            for sign in (1, -1)
            if separable(rows[: p + 1], (*labels, sign))
        }
    return found | {tuple(-s for s in labels) for labels in found}


def by_some_support(X: np.ndarray, size: int, intercept: bool) -> set[tuple[int, ...]]:
    """Labellings separable by some `size` columns."""
    return set().union(
        *(
            separable_labellings(X, support, intercept)
            for support in combinations(range(X.shape[1]), size)
        )
    )


def within_errors(labellings: set[tuple[int, ...]], errors: int) -> set[tuple[int, ...]]:
    """Every labelling within `errors` flips of one of these."""
    reached = set(labellings)
    for _ in range(errors):
        reached |= {
            (*labels[:i], -labels[i], *labels[i + 1 :])
            for labels in reached
            for i in range(len(labels))
        }
    return reached


def with_positives(labellings: set[tuple[int, ...]], positives: int) -> int:
    return sum(1 for labels in labellings if sum(s > 0 for s in labels) == positives)
