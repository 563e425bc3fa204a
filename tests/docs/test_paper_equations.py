"""Equations of the paper that no other test states in its own terms: separability, the number of choices, BIHT."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from scipy.optimize import linprog

from chanceline.select import certify, count, random_problem, separate
from chanceline.select.biht import greedy_biht_plain, hard_threshold


def feasible(X, y, support) -> bool:
    """Eq. (2) by a linear program: y_μ Σ_{i∈c} w_i x_μi ≥ 1 for some w, which the scale of w leaves free."""
    rows = -(y[:, None] * X[:, list(support)])
    found = linprog(
        np.zeros(len(support)),
        A_ub=rows,
        b_ub=-np.ones(len(y)),
        bounds=(None, None),
        method="highs",
    )
    return found.status == 0


def test_separability_is_a_sign_condition():
    X, y = random_problem(9, 1.0, seed=3)
    verdicts = []
    for support in combinations(range(9), 5):
        found = separate(X, y, support)
        verdicts.append(found.separates)
        assert found.separates == feasible(X, y, support)
        assert certify(X, y, support).separable == found.separates
        if found.separates:
            signs = np.sign(X[:, list(support)] @ found.weights)
            assert np.array_equal(signs, y)
    assert any(verdicts)
    assert not all(verdicts)


def test_number_of_separating_choices_by_enumeration():
    X, y = random_problem(9, 1.0, seed=3)
    for size in (3, 5):
        by_hand = sum(feasible(X, y, support) for support in combinations(range(9), size))
        assert count(X, y, size).count == by_hand


def test_greedy_biht_follows_the_printed_update():
    """Algorithm 1 with eqs. (31) and (32) written out once more, in the paper's own units."""
    X, y = random_problem(12, 0.5, seed=1)
    P, N = X.shape
    tau, rng = 0.002 / P, np.random.default_rng(0)
    start = rng.normal(size=N) / np.sqrt(N)
    columns = (y[:, None] * X).T
    expected, K = start, 1
    fixed = np.zeros(N, dtype=bool)
    while True:
        err, steps = np.inf, 0
        while err > 1e-8 and steps <= 1000:
            steps += 1
            a = expected + tau / 2 * X.T @ (y - np.sign(X @ expected))
            free = np.argsort(-np.where(fixed, -1.0, np.abs(a)), kind="stable")[: K - fixed.sum()]
            kept = fixed.copy()
            kept[free] = True
            new = np.where(kept, a, 0.0)
            err = np.linalg.norm(new - expected) / N
            expected = new
        if not np.any(y * (X @ expected) < 0) or K == N:
            break
        fixed = expected != 0
        K += 1
    found, last = greedy_biht_plain(columns, start)
    assert last == K
    np.testing.assert_allclose(found * tau, expected, atol=1e-12)
    values = np.array([0.3, -2.0, 1.0, 0.1])
    assert np.array_equal(hard_threshold(values, 2, np.zeros(4, dtype=bool)), [0.0, -2.0, 1.0, 0.0])
