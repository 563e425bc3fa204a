"""Search with errors allowed."""

from __future__ import annotations

import numpy as np
import pytest

import chanceline
from chanceline.errors import InputError
from chanceline.select import check_weights, random_problem


@pytest.mark.parametrize("intercept", [True, False])
def test_errors_allowed_make_supports_smaller(intercept):
    X, y = random_problem(40, 1.0, 6, "gaussian")
    sizes = []
    for allowed in (0, 2, 5):
        outcome = chanceline.search(X, y, intercept=intercept, errors=allowed, budget=2000)
        assert outcome.errors <= allowed == outcome.max_errors
        assert (
            check_weights(X, y, outcome.support, outcome.weights, outcome.bias).errors
            == outcome.errors
        )
        sizes.append(outcome.n_selected)
    assert sizes[0] > sizes[1] > sizes[2]


def test_agrees_with_the_front():
    X, y = random_problem(24, 1.5, 2, "gaussian")
    found = chanceline.front(X, y, max_features=6, budget=20_000)
    for allowed in (4, 8, 12):
        outcome = chanceline.search(X, y, intercept=True, errors=allowed, budget=20_000)
        assert outcome.n_selected == found.smallest(allowed).k


def test_one_variable_and_none():
    X = np.random.default_rng(1).normal(size=(30, 8))
    y = np.sign(X[:, 3] - 0.2)
    y[:2] *= -1
    outcome = chanceline.search(X, y, intercept=True, errors=2)
    assert outcome.support.tolist() == [3]
    assert outcome.minimum_proven
    nothing = chanceline.search(X, np.where(np.arange(30) < 2, 1, 0), intercept=True, errors=2)
    assert nothing.n_selected == 0
    assert nothing.errors == 2


def test_all_variables_where_it_takes_all():
    rng = np.random.default_rng(45)
    for _ in range(6):
        X = rng.integers(-1, 2, size=(7, 3)).astype(float)
        y = rng.integers(0, 2, size=7)
        fewest = chanceline.front(X, y, intercept=False, max_features=3, budget=100).errors
        if 1 <= fewest[-1] < fewest[0]:
            outcome = chanceline.search(X, y, errors=int(fewest[-1]), budget=100)
            assert outcome.errors <= fewest[-1]


def test_equal_rows_with_opposite_labels_are_errors():
    X, y = random_problem(12, 1.0, 4, "gaussian")
    X, y = np.vstack([X, X[0]]), np.append(y, -y[0])
    with pytest.raises(InputError, match="equal"):
        chanceline.search(X, y)
    assert chanceline.search(X, y, errors=1).errors == 1


def test_too_few_errors_allowed_gives_the_best_found():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 12))
    y = np.sign(X[:, 2] + X[:, 5] + 0.8 * rng.normal(size=200))
    fewest = chanceline.front(X, y, max_features=12, budget=10_000).errors[-1]
    outcome = chanceline.search(X, y, intercept=True, errors=int(fewest) // 2, budget=300)
    assert outcome.errors > fewest // 2
    assert not outcome.minimum_proven
    plain = chanceline.search(X, y, intercept=True, budget=10_000)
    assert plain.errors <= fewest + 2


@pytest.mark.parametrize(
    ("options", "message"),
    [({"errors": -1}, "errors allowed"), ({"errors": 1, "method": "omp"}, "omp")],
)
def test_bad_requests(options, message):
    with pytest.raises(InputError, match=message):
        chanceline.search(np.eye(4), [0, 1, 0, 1], **options)


@pytest.mark.parametrize(("patterns", "n"), [(60, 500), (100, 100)])
def test_a_correlated_pair_whose_difference_decides_is_found(patterns, n):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(patterns, n))
        first, second = np.sort(rng.choice(n, 2, replace=False))
        X[:, second] = 0.99 * X[:, first] + np.sqrt(1 - 0.99**2) * X[:, second]
        y = np.sign(X[:, first] - X[:, second] - 0.02)
        outcome = chanceline.search(X, y, intercept=True, budget=100)
        assert outcome.support.tolist() == [first, second]
        assert outcome.minimum_proven
        y[:2] *= -1
        assert chanceline.search(X, y, intercept=True, errors=2, budget=100).support.tolist() == [
            first,
            second,
        ]
