"""Strongly correlated columns: what counts as such, and swaps that use their differences."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

import chanceline
from chanceline.kernels.compile import kernel
from chanceline.perceptron import relatives as relatives_module
from chanceline.perceptron.hinge import fit
from chanceline.perceptron.problem import make_problem
from chanceline.perceptron.relatives import chance_of_correlation, find_relatives
from chanceline.perceptron.workspace import make_hinge, set_support
from chanceline.select import random_problem
from chanceline.select.tabu import find_own_lengths


def pairs_problem(n, n_samples, correlation, seed):
    """Gaussian columns in pairs of this correlation, neighbours, and labels by fair coin."""
    generator = np.random.default_rng(seed)
    common = np.repeat(generator.standard_normal((n_samples, n // 2)), 2, axis=1)
    own = generator.standard_normal((n_samples, n))
    X = math.sqrt(correlation) * common + math.sqrt(1 - correlation) * own
    return X, np.where(generator.random(n_samples) < 0.5, -1.0, 1.0)


def as_dictionary(found):
    """(column, relative) → own length."""
    n_columns = found.first.size - 1
    return {
        (j, int(found.column[pair])): float(found.own_length[pair])
        for j in range(n_columns)
        for pair in range(found.first[j], found.first[j + 1])
    }


@pytest.mark.parametrize("columns_per_block", [7, 256])
def test_relatives_are_the_pairs_that_numpy_finds(columns_per_block, monkeypatch):
    monkeypatch.setattr(relatives_module, "COLUMNS_PER_BLOCK", columns_per_block)
    X, y = pairs_problem(30, 60, 0.9, seed=1)
    X[:, 4] = -X[:, 4]  # a negative correlation is one too
    problem = make_problem(X, y, intercept=True)
    found = as_dictionary(problem.relatives)
    correlations = np.corrcoef(X.T)
    expected = {
        (j, k): math.sqrt(1 - correlations[j, k] ** 2)
        for j in range(30)
        for k in range(30)
        if j != k and abs(correlations[j, k]) >= 0.7
    }
    assert (4, 5) in expected
    assert found == pytest.approx(expected)


def test_an_own_length_is_the_distance_from_the_line_of_the_other():
    X, y = pairs_problem(10, 40, 0.95, seed=2)
    columns = make_problem(X, y).columns
    for (j, k), own_length in as_dictionary(find_relatives(columns)).items():
        scaled = columns / np.linalg.norm(columns, axis=1, keepdims=True)
        _, residual, *_ = np.linalg.lstsq(scaled[j][:, None], scaled[k], rcond=None)
        assert own_length == pytest.approx(math.sqrt(residual[0]))


def test_copies_are_no_relatives():
    X, y = random_problem(6, None, 0, "gaussian", n_patterns=80)
    X[:, 3] = -2.0 * X[:, 0]
    X[:, 4] = X[:, 1] + 1e-5 * X[:, 2]
    assert as_dictionary(make_problem(X, y).relatives) == {}


def test_wide_tables_have_no_relatives(monkeypatch):
    X, y = pairs_problem(30, 60, 0.9, seed=1)
    monkeypatch.setattr(relatives_module, "MAX_RELATED_COLUMNS", 29)
    found = make_problem(X, y).relatives
    assert found.column.size == 0
    assert found.first.tolist() == [0] * 31


@pytest.mark.parametrize("inputs", ["binary", "gaussian"])
@pytest.mark.parametrize(("n", "n_samples"), [(12, 6), (24, 12), (30, 24), (64, 64), (200, 30)])
def test_independent_columns_have_no_relatives(inputs, n, n_samples):
    for seed in range(20):
        X, y = random_problem(n, None, seed, inputs, n_patterns=n_samples)
        assert make_problem(X, y).relatives.column.size == 0


@pytest.mark.parametrize("n_samples", [5, 24, 101])
def test_the_chance_of_a_correlation_is_bounded(n_samples):
    n_equal = np.arange(n_samples // 2 + 1, n_samples + 1)
    r = 2.0 * n_equal / n_samples - 1.0
    exact = 2.0 * binom.sf(n_equal - 1, n_samples, 0.5)  # as many equal signs or more, or opposite
    bound = chance_of_correlation(r, n_samples)
    assert np.all(bound >= exact * (1 - 1e-12))
    assert bound[-1] == pytest.approx(exact[-1])  # all signs equal: 2 · 2^−P
    np.testing.assert_array_equal(chance_of_correlation(-r, n_samples), bound)


def test_own_lengths_beside_a_support():
    X, y = pairs_problem(30, 60, 0.9, seed=1)
    problem = make_problem(X, y)
    hinge = make_hinge(problem.columns, 8, relatives=problem.relatives)
    set_support(hinge, np.array([3, 10, 17]))
    fit(hinge)
    hinge.scratch.own_length[:] = np.nan
    call_from_python(hinge)

    related = as_dictionary(problem.relatives)
    expected = [
        min([1.0, *[length for (j, k), length in related.items() if k == column and j in support]])
        for support in [{3, 10, 17}]
        for column in range(30)
    ]
    assert sorted(expected)[2] < 1.0 == sorted(expected)[3]
    np.testing.assert_array_equal(hinge.scratch.own_length, expected)


@kernel()
def call_from_python(hinge):
    find_own_lengths(hinge)


def test_a_difference_of_near_copies_is_found():
    # The labels are those of a difference, x₀ − x₁, of columns correlated by 0.999, nearly: neither
    # alone is of any use.
    generator = np.random.default_rng(5)
    X = generator.standard_normal((60, 40))
    X[:, 1] = X[:, 0] + 0.04 * generator.standard_normal(60)
    y = np.sign(X[:, 0] - X[:, 1] + 0.02 * X[:, 2])
    outcome = chanceline.search(X, y, method="tabu")
    assert outcome.support.tolist() == [0, 1, 2]


def test_relatives_find_proven_minima_that_are_missed_without(monkeypatch):
    problems = [pairs_problem(24, 24, 0.98, seed) for seed in range(8)]
    minima = []
    for X, y in problems:
        exact = chanceline.search(X, y, method="exact")
        assert exact.minimum_proven
        minima.append(exact.n_selected)

    assert n_missed(problems, minima) <= 1
    monkeypatch.setattr(relatives_module, "MAX_RELATED_COLUMNS", 0)
    assert n_missed(problems, minima) >= 2


def n_missed(problems, minima):
    """On how many problems `auto` needs more variables than the minimum."""
    sizes = np.array([chanceline.search(X, y).n_selected for X, y in problems])
    return np.count_nonzero(sizes > minima)


def rule_on_differences(seed):
    """40 columns in pairs of r = 0.99; labels by three differences of relatives, two of them wrong."""
    X, _ = pairs_problem(40, 60, 0.99, seed=seed)
    y = np.where((X[:, [0, 2, 4]] - X[:, [1, 3, 5]]).sum(axis=1) > 0, 1.0, -1.0)
    y[np.random.default_rng(seed).choice(60, 2, replace=False)] *= -1
    return X, y


def test_a_search_with_errors_finds_differences_of_relatives(monkeypatch):
    tables = [rule_on_differences(seed) for seed in (11, 12, 13)]

    def mean_size() -> float:
        searches = [chanceline.search(X, y, errors=2, budget=300) for X, y in tables]
        assert all(found.rule.errors <= 2 for found in searches)
        return float(np.mean([found.n_selected for found in searches]))

    with_relatives = mean_size()
    monkeypatch.setattr(relatives_module, "MAX_RELATED_COLUMNS", 0)
    # Six variables are enough by construction; without relatives about five more are found.
    assert with_relatives < mean_size() - 2


def test_a_front_makes_fewer_errors_where_it_knows_relatives(monkeypatch):
    tables = [rule_on_differences(seed) for seed in (11, 12, 13)]

    def errors_of_six() -> int:
        fronts = [chanceline.front(X, y, max_features=6, budget=1000) for X, y in tables]
        return sum(int(found.errors[-1]) for found in fronts)

    with_relatives = errors_of_six()
    monkeypatch.setattr(relatives_module, "MAX_RELATED_COLUMNS", 0)
    assert with_relatives < errors_of_six()
