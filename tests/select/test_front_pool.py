"""Very wide tables: the pool of columns."""

from __future__ import annotations

import numpy as np
import pytest

import chanceline
from chanceline.perceptron.hinge import random_state
from chanceline.perceptron.problem import make_problem
from chanceline.select import check_weights, pairs, pareto as front_pool


@pytest.fixture
def wide(monkeypatch):
    """A table that counts as very wide, with a pool of thirty columns; two columns decide, but for one sample."""
    monkeypatch.setattr(front_pool, "WIDE", 1000)
    monkeypatch.setattr(front_pool, "pool_size", lambda problem: 30)
    monkeypatch.setattr(pairs, "SINGLES_KEPT", 3)
    monkeypatch.setattr(pairs, "BLOCK_ENTRIES", 40 * 17)
    rng = np.random.default_rng(2)
    X = rng.normal(size=(40, 200)) * np.geomspace(1e-3, 1e3, 200) + 5.0
    score = (X[:, 20] - 5.0) / X[:, 20].std() + (X[:, 150] - 5.0) / X[:, 150].std()
    y = np.where(score > 0.1, 1.0, -1.0)
    y[0] *= -1
    return X, y


def test_rows_are_those_of_the_scaled_columns(wide):
    problem = make_problem(*wide, True)
    some, samples = np.array([3, 99, 7]), np.array([0, 5, 39])
    np.testing.assert_array_equal(problem.rows(some), problem.columns[[3, 99, 7, 200]].T)
    np.testing.assert_array_equal(problem.rows(some, samples), problem.columns[[3, 99, 7, 200]][:, samples].T)


def test_pool_holds_the_best_single_and_what_decides(wide):
    X, y = wide
    pool = front_pool.pool_of_columns(make_problem(X, y, True), 40)
    assert pool.size == 30
    assert np.all(np.diff(pool) > 0)
    assert {20, 150} <= set(pool.tolist())
    alone = [chanceline.front(X[:, [j]], y, max_features=1, budget=0).errors[-1] for j in range(200)]
    assert min(alone) == min(alone[j] for j in pool)


def test_searches_in_the_pool_speak_of_the_whole_table(wide):
    X, y = wide
    found = chanceline.front(X, y, max_features=4, budget=500)
    assert found.at(2).rule.support.tolist() == [20, 150]
    assert found.at(2).errors == 1
    outcome = chanceline.search(X, y, intercept=True, errors=1, budget=200)
    assert outcome.support.tolist() == [20, 150]
    assert not outcome.minimum_proven
    separating = chanceline.search(X, y, intercept=True, budget=200)
    for rule in (outcome, separating):
        assert check_weights(X, y, rule.support, rule.weights, rule.bias).errors == rule.errors
    assert separating.separates


@pytest.mark.parametrize("intercept", [True, False])
def test_best_singles_are_those_of_the_sweep(wide, monkeypatch, intercept):
    X, y = wide
    X = np.where(np.arange(200) % 2, np.round(X / np.geomspace(1e-3, 1e3, 200)), X)
    problem = make_problem(X, y, intercept, contradictions=True, signs=np.arange(200) % 3 - 1)
    monkeypatch.setattr(pairs, "SINGLES_KEPT", 25)
    errors, _ = pairs.all_singles(problem.columns, problem.signed, problem.kept, random_state(0))
    assert pairs.best_singles(problem).tolist() == np.argsort(errors, kind="stable")[:25].tolist()
