"""Weights of given sign: never violated, the smallest supports and counts right, by brute force over a linear programme."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import linprog

from chanceline import InputError, front, search
from chanceline.perceptron.certificate import certify, check_weights
from chanceline.perceptron.hinge_fit import fit_hinge
from chanceline.perceptron.margin import INSEPARABLE, SEPARABLE, largest_margin
from chanceline.perceptron.problem import make_problem
from chanceline.perceptron.random_patterns import random_problem
from chanceline.perceptron.separate import separate
from chanceline.select import count
from chanceline.select.amp import run_amp
from chanceline.select.outcome import Candidate
from chanceline.select.starts import start_from


def separable(X, y, signs, intercept=False):
    """max s with y(x·w + b) ≥ s, |w_j| ≤ 1 and s_j w_j ≥ 0, by a linear programme."""
    columns = np.column_stack([X, np.ones(len(X))]) if intercept else X
    bounds = [(0 if sign > 0 else -1, 0 if sign < 0 else 1) for sign in signs] + [
        (-1, 1)
    ] * intercept
    rows = np.column_stack([-y[:, None] * columns, np.ones(len(X))])
    best = linprog(
        np.append(np.zeros(columns.shape[1]), -1.0),
        rows,
        np.zeros(len(X)),
        bounds=[*bounds, (None, 1)],
    )
    return best.x[-1] > 1e-9


def separating(X, y, size, signs, intercept=False):
    chosen = map(list, combinations(range(X.shape[1]), size))
    return sum(separable(X[:, some], y, signs[some], intercept) for some in chosen)


def has_signs(rule, signs):
    """Every weight has its sign, and none is zero."""
    return bool(np.all(rule.weights != 0) and np.all(rule.weights * signs[rule.support] >= 0))


@st.composite
def problems(draw):
    n, patterns, seed = (
        draw(st.integers(1, 8)),
        draw(st.integers(2, 12)),
        draw(st.integers(0, 10**6)),
    )
    X, y = random_problem(
        n, seed=seed, inputs=draw(st.sampled_from(["binary", "gaussian"])), n_patterns=patterns
    )
    signs = np.array(draw(st.lists(st.sampled_from([-1, 0, 1]), min_size=n, max_size=n)))
    return X + draw(st.sampled_from([0.0, 0.7])), y, signs, draw(st.booleans())


@given(problems(), st.integers(1, 3))
@settings(max_examples=200, deadline=None, derandomize=True)
def test_no_search_with_errors_and_no_front_violates_a_sign(problem, errors):
    X, y, signs, intercept = problem
    found = search(X, y, "auto", 40, intercept=intercept, errors=errors, signs=signs)
    assert not signs.any() or has_signs(found.rule, signs)
    assert (
        check_weights(X, y, found.support, found.weights, found.bias, signs).errors == found.errors
    )
    for point in front(X, y, intercept=intercept, max_features=3, budget=20, signs=signs).points:
        assert np.all(point.rule.weights * signs[point.rule.support] >= 0)


@given(problems(), st.sampled_from(["auto", "tabu", "omp", "l1", "reweighted-l1", "exact"]))
@settings(max_examples=200, deadline=None, derandomize=True)
def test_every_method_separates_where_something_does_and_keeps_the_signs(problem, method):
    X, y, signs, intercept = problem
    try:
        found = search(X, y, method, 40, intercept=intercept, signs=signs)
    except InputError:  # equal rows with opposite labels
        return
    possible = separable(X, y, signs, intercept)
    # Greedy additions may end where every column that pulls leaves at once; `auto` then asks the linear program.
    assert found.separates <= possible if method in ("omp", "tabu") else found.separates == possible
    assert np.all(found.weights * signs[found.support] >= 0)
    everything = np.arange(X.shape[1])
    assert certify(X, y, everything, intercept, signs).separable == possible
    assert separate(X, y, everything, intercept, signs).separates == possible
    if possible and method == "exact":
        assert found.minimum_proven
        assert (
            found.n_selected == 0 or separating(X, y, found.n_selected - 1, signs, intercept) == 0
        )


@pytest.mark.parametrize("inputs", ["binary", "gaussian"])
def test_counts_are_those_of_brute_force_and_of_the_mean_in_closed_form(inputs):
    """With Gaussian inputs P rows and M signs are P + M hyperplanes in M dimensions, every orthant as likely as any other."""
    signs = np.array([1, -1, 1, 1, 0, -1, 1])
    for seed in range(8):
        X, y = random_problem(7, seed=seed, inputs=inputs, n_patterns=5)
        for size in (2, 3, 4):
            assert count(X, y, size, signs=signs).count == separating(X, y, size, signs)
    if inputs == "gaussian":
        counts = [
            count(*random_problem(8, seed=s, inputs=inputs, n_patterns=4), 3, signs=1).count
            for s in range(300)
        ]
        cover = 2 * (1 + 6 + 15) / 2**7  # 2 Σ_{i<3} C(6, i) of the 2⁷ signs of 4 + 3 hyperplanes
        assert np.mean(counts) == pytest.approx(56 * cover, abs=3 * np.std(counts) / np.sqrt(300))


def test_the_largest_margin_meets_its_dual():
    generator = np.random.default_rng(0)
    for _ in range(60):
        rows = generator.standard_normal((generator.integers(2, 12), generator.integers(1, 10)))
        signed = generator.random(rows.shape[1]) < 0.7
        found = largest_margin(
            rows,
            generator.random(len(rows)) * (generator.random(len(rows)) < 0.5),
            nonnegative=signed,
        )
        pull = found.multipliers @ rows / found.multipliers.sum()
        dual = np.linalg.norm(np.where(signed, np.maximum(pull, 0), pull))  # κ = min_λ |(Σ λ a)₊|
        assert found.verdict in (SEPARABLE, INSEPARABLE)
        assert (found.weights[signed] >= 0).all()
        margin = (
            (rows @ found.weights).min() / np.linalg.norm(found.weights)
            if found.verdict == SEPARABLE
            else 0.0
        )
        assert dual == pytest.approx(margin, abs=1e-7)


def test_the_least_hinge_with_signs_is_at_rest():
    rows = np.random.default_rng(1).standard_normal((40, 8))
    separates, weights = fit_hinge(rows, nonnegative=True)
    slope = rows.T @ np.maximum(1 - rows @ weights, 0) - 1e-6 * weights
    assert not separates
    assert (weights >= 0).all()
    assert np.abs(slope[weights > 0]).max() < 1e-6
    assert slope[weights == 0].max() <= 1e-6


def test_a_new_start_keeps_a_rule_that_separates():
    """Newton from its weights would turn some away, and the swaps that follow would aim too low."""
    for seed in (2, 3):
        X, y = random_problem(256, seed=seed, inputs="gaussian", n_patterns=128)
        problem = make_problem(X, y, signs=1)
        *_, found = (event for event in run_amp(problem, 300, seed) if isinstance(event, Candidate))
        hinge, separates = start_from(problem, found)
        assert separates
        assert set(hinge.support) == set(found.support)
        assert (
            search(X, y, seed=seed, signs=1).n_selected == 23
        )  # what tabu finds, and auto from other seeds


def test_bad_signs_get_one_sentence():
    X, y = random_problem(6, 1.0, 0)
    for signs in ([1, 0], 2, ["+"] * 6, np.ones((6, 6))):
        with pytest.raises(InputError, match="one for each of the 6 columns"):
            search(X, y, signs=signs)
    with pytest.raises(InputError, match="knows no signs"):
        search(X, y, "greedy-biht", signs=1)
    with pytest.raises(InputError, match="not the sign given"):
        check_weights(X, y, [0], [-1.0], signs=1)
