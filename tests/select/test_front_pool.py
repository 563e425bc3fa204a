"""Large tables: the pool of columns that stands for all."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import chanceline
from chanceline.errors import InputError
from chanceline.kernels.random import random_state
from chanceline.perceptron.problem import Problem, make_problem
from chanceline.select import certify, check_weights, random_problem
from chanceline.select.auto import (
    AutoSettings,
    all_columns_separate,
    can_grow,
    run_auto,
    search_pools,
    variables_needed,
)
from chanceline.select.column_pool import (
    Ranking,
    default_pool_width,
    needs_pool,
    rank_columns,
    slack_products,
)
from chanceline.select.outcome import Candidate, LowerBound, candidate_rule
from chanceline.select.singles import search_singles, single_errors


@pytest.fixture
def wide():
    """A table of two hundred columns, of which two decide, but for one sample."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(40, 200)) * np.geomspace(1e-3, 1e3, 200) + 5.0
    score = (X[:, 20] - 5.0) / X[:, 20].std() + (X[:, 150] - 5.0) / X[:, 150].std()
    y = np.where(score > 0.1, 1.0, -1.0)
    y[0] *= -1
    return X, y


def ranked(problem, steps=None):
    return rank_columns(
        problem, problem.n_samples if steps is None else steps, single_errors(problem)
    )


def shape(samples, columns):
    """A problem of that shape, whose numbers nobody looks at."""
    return Problem(X=np.broadcast_to(np.float64(0.0), (samples, columns)), y=np.ones(samples))


def test_rows_are_those_of_the_scaled_columns(wide):
    problem = make_problem(*wide, True)
    some, samples = np.array([3, 99, 7]), np.array([0, 5, 39])
    np.testing.assert_array_equal(problem.rows(some), problem.columns[[3, 99, 7, 200]].T)
    np.testing.assert_array_equal(
        problem.rows(some, samples), problem.columns[[3, 99, 7, 200]][:, samples].T
    )


def test_pool_holds_the_best_single_and_what_decides(wide):
    X, y = wide
    pool = ranked(make_problem(X, y, True)).pool(30)
    assert pool.size == 30
    assert np.all(np.diff(pool) > 0)
    assert {20, 150} <= set(pool.tolist())
    alone = [
        chanceline.front(X[:, [j]], y, max_features=1, budget=0).errors[-1] for j in range(200)
    ]
    assert min(alone) == min(alone[j] for j in pool)


def test_searches_in_the_pool_speak_of_the_whole_table(wide):
    X, y = wide
    found = chanceline.front(X, y, max_features=4, budget=500, pool=30)
    assert found.at(2).rule.support.tolist() == [20, 150]
    assert found.at(2).errors == 1
    outcome = chanceline.search(X, y, intercept=True, errors=1, budget=200, pool=30)
    assert outcome.support.tolist() == [20, 150]
    assert not outcome.minimum_proven
    separating = chanceline.search(X, y, intercept=True, budget=200, pool=30)
    for rule in (outcome, separating):
        assert check_weights(X, y, rule.support, rule.weights, rule.bias).errors == rule.errors
    assert separating.separates


def test_one_variable_is_exact_whatever_the_pool(wide):
    X, y = wide
    problem = make_problem(X, y, True)
    one = chanceline.front(X, y, max_features=2, budget=0, pool=1).at(1)
    assert one.errors == single_errors(problem).min()
    assert one.proven


@pytest.mark.parametrize("intercept", [True, False])
def test_errors_of_singles_are_those_of_the_line_search(wide, intercept):
    X, y = wide
    X = np.where(np.arange(200) % 2, np.round(X / np.geomspace(1e-3, 1e3, 200)), X)
    problem = make_problem(X, y, intercept, allow_contradictions=True, signs=np.arange(200) % 3 - 1)
    errors = search_singles(problem, random_state(0)).errors
    assert single_errors(problem, block_entries=40 * 17).tolist() == errors.tolist()


def test_a_pool_that_is_too_small_is_no_obstacle():
    """A square table, scaled down: noise needs more variables than the pool has columns."""
    for seed in range(3):
        X, y = random_problem(120, 1.0, seed, "gaussian")
        whole = chanceline.search(X, y, budget=2000)
        assert whole.n_selected > 15
        for pool in (5, 15):
            outcome = chanceline.search(X, y, budget=2000, pool=pool)
            assert outcome.separates
            assert outcome.n_selected <= 1.35 * whole.n_selected


def test_a_pool_of_the_default_size_is_as_good_as_the_table():
    for seed in range(3):
        X, y = random_problem(1200, None, seed, "gaussian", n_patterns=100)
        width = 4 * variables_needed(make_problem(X, y))
        assert width == 200
        whole = chanceline.search(X, y, budget=3000)
        outcome = chanceline.search(X, y, budget=3000, pool=width)
        assert outcome.separates
        assert outcome.n_selected <= whole.n_selected + 1


def test_the_pool_is_as_large_as_noise_needs():
    assert default_pool_width(shape(200, 400_000), 100) == 2500
    assert default_pool_width(shape(4500, 4500), variables_needed(shape(4500, 4500))) == 9000
    for problem in (shape(4500, 4500), shape(10_000, 10_000), shape(3000, 10_000)):
        # No pool of less than half of the table has room for what is needed.
        assert not needs_pool(problem, default_pool_width(problem, variables_needed(problem)))
    assert needs_pool(
        shape(2000, 20_000),
        default_pool_width(shape(2000, 20_000), variables_needed(shape(2000, 20_000))),
    )
    # With more than two samples a column noise is not separated at all.
    assert variables_needed(shape(5000, 2000)) == 0


def test_infinitely_many_promising_columns_are_not_dropped_at_random():
    """All columns of a path that separates are in the pool, however many they are, then others in a fixed order."""
    X, y = random_problem(120, 1.0, 0, "gaussian")
    problem = make_problem(X, y)
    ranking = ranked(problem)
    assert ranking.separates
    assert ranking.path_length > 20
    path = ranking.order[: ranking.path_length]
    assert sorted(ranking.order.tolist()) == list(range(120))
    for width in (1, 5, ranking.path_length, ranking.path_length + 7):
        pool = ranking.pool(width)
        assert set(path.tolist()) <= set(pool.tolist())
        assert pool.size == max(width, ranking.path_length)
        assert certify(X, y, pool).separable


def test_equal_columns_rank_in_the_order_of_the_table():
    rng = np.random.default_rng(0)
    X = np.tile(rng.normal(size=(30, 4)), 10)
    problem = make_problem(X, rng.choice([-1.0, 1.0], size=30))
    ranking = ranked(problem, steps=2)
    copies = [j for j in ranking.order[ranking.path_length :].tolist() if j % 4 == 1]
    assert copies == sorted(copies)
    assert np.array_equal(ranking.order, ranked(problem, steps=2).order)


def test_single_precision_does_not_overflow():
    """Sums of large numbers in single precision are infinite, and their differences no numbers; doubles hold them."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(50, 6))
    X[:, [1, 4]] = np.abs(X[:, [1, 4]]) * 1e38
    y = np.where(X[:, 4] > np.median(X[:, 4]), 1.0, -1.0)
    single, double = (
        Problem(X.astype(np.float32), y, True),
        Problem(X.astype(np.float32).astype(float), y, True),
    )
    with np.errstate(over="ignore", invalid="ignore"):
        products = slack_products(single, np.ones(50))
    assert np.isfinite(products).all()
    np.testing.assert_allclose(products, slack_products(double, np.ones(50)), rtol=1e-4, atol=1e-3)
    assert products.argmax() == 4


def in_vain(samples, columns):
    """A ranking of which nothing separates."""
    return Ranking(np.arange(columns), min(samples, columns), separates=False)


def test_a_pool_grows_only_where_that_may_help():
    X, y = random_problem(40, None, 0, "gaussian", n_patterns=20)
    separable = make_problem(X, y)
    assert all_columns_separate(separable)
    assert all_columns_separate(replace(separable, intercept=True))
    assert can_grow(separable, in_vain(20, 40), 0)
    # Two samples that no column tells apart.
    X[1], y[1] = X[0], -y[0]
    contradicting = make_problem(X, y, allow_contradictions=True)
    assert not all_columns_separate(contradicting)
    assert not all_columns_separate(replace(contradicting, intercept=True))
    assert not can_grow(contradicting, in_vain(20, 40), 0)
    assert can_grow(contradicting, in_vain(20, 40), 1)
    tall = make_problem(*random_problem(10, None, 0, "gaussian", n_patterns=60))
    assert not can_grow(tall, in_vain(60, 10), 0)


@pytest.mark.parametrize("errors", [0, 2])
def test_a_pool_without_a_solution_is_enlarged(errors):
    """Four columns cannot separate forty samples of noise, nor can eight; a ranking that has found no path is no obstacle."""
    X, y = random_problem(100, None, 3, "gaussian", n_patterns=40)
    problem = make_problem(X, y)
    ranking = Ranking(np.random.default_rng(0).permutation(100), path_length=2, separates=False)
    settings = AutoSettings(budget=200, seed=0, max_errors=errors)
    events = list(search_pools(problem, ranking, 4, settings))
    found = [event for event in events if isinstance(event, Candidate)]
    assert found
    smallest = min(found, key=lambda event: event.support.size)
    assert candidate_rule(problem, smallest).errors <= errors
    assert smallest.support.size > 4
    # The pool in which it was found: 4, 8, 16 and so on of the ranking.
    places = np.flatnonzero(np.isin(ranking.order, smallest.support))
    assert places.max() < 64
    assert not any(isinstance(event, LowerBound) for event in events)


def test_a_table_that_nothing_separates_gets_the_fewest_errors_of_its_pool():
    X, y = random_problem(100, None, 3, "gaussian", n_patterns=40)
    X[1], y[1] = X[0], -y[0]
    problem = make_problem(X, y, allow_contradictions=True)
    found = [event for event in run_auto(problem, 200, 0, pool=50) if isinstance(event, Candidate)]
    assert 1 <= min(candidate_rule(problem, event).errors for event in found) < 10


def test_a_pool_is_a_number_of_columns(wide):
    for call in (chanceline.search, chanceline.front):
        with pytest.raises(InputError, match="pool, a number of columns"):
            call(*wide, pool=0)
