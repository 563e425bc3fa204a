"""Fewest errors on two variables: the sweep of angles against all sets of errors, by linear programs."""

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import linprog

import chanceline
from chanceline.perceptron.problem import make_problem
from chanceline.select.plane import best_rule_on_pairs, best_split


def separable(rows):
    if len(rows) == 0:
        return True
    free = [(None, None)] * rows.shape[1]
    return (
        linprog(np.zeros(rows.shape[1]), A_ub=-rows, b_ub=-np.ones(len(rows)), bounds=free).status
        == 0
    )


def enumerated(X, y, intercept):
    rows = y[:, None] * (np.column_stack([X, np.ones(len(y))]) if intercept else X)
    for errors in range(len(y) + 1):
        if any(
            separable(np.delete(rows, out, axis=0)) for out in combinations(range(len(y)), errors)
        ):
            return errors
    raise AssertionError


def table(seed, kind):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rng.integers(4, 9), 2))
    X = {"real": X, "grid": rng.integers(0, 3, X.shape).astype(float), "decimals": X.round(1)}[kind]
    return X, np.append([1.0, -1.0], rng.choice([-1.0, 1.0], size=len(X) - 2))


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("kind", ["real", "grid", "decimals"])
def test_the_sweep_is_the_enumeration(kind, intercept):
    for seed in range(50):
        X, y = table(seed, kind)
        split = best_split(X, y, intercept)
        assert (
            split.errors
            == split.lower_bound
            == enumerated(X, y, intercept)
            == np.count_nonzero(~split.is_correct)
        )


def test_the_front_proves_two_variables_in_small_tables():
    rng = np.random.default_rng(3)
    X = rng.integers(0, 6, size=(40, 6)).astype(float)
    y = rng.choice([-1.0, 1.0], size=40)
    front = chanceline.front(X, y, max_features=3)
    pairs = [best_split(X[:, pair], y).errors for pair in map(list, combinations(range(6), 2))]
    assert front.points[2].errors == min(pairs)
    assert [point.proven for point in front.points] == [True, True, True, False]
    assert "*" in str(front).splitlines()[4]
    # With a budget of swaps only the pair that was found is looked at.
    assert not chanceline.front(X, y, max_features=2, budget=1).points[2].proven


def test_nothing_is_claimed_where_rounding_decides():
    # On a line in decimals, not in binary: which side of the line the third lies on cannot be drawn with floats.
    X = np.array([[0.1, 0.1], [0.2, 0.2], [0.3, 0.30000000000000004]])
    rule, lower_bound = best_rule_on_pairs(
        make_problem(X, np.array([1.0, -1.0, 1.0]), True), [(0, 1)]
    )
    assert lower_bound == 0 < rule.errors == 1
