"""What is proven, on tables with gaps far below any tolerance: against brute force in rational
arithmetic."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

import chanceline
from chanceline.perceptron.duplicates import contradicting_rows
from chanceline.perceptron.margin import INSEPARABLE
from chanceline.perceptron.problem import make_problem
from chanceline.perceptron.rational import ExactTable
from chanceline.select import count
from chanceline.select.cuts import pattern_cuts_help
from chanceline.select.exact import prove
from chanceline.select.outcome import LowerBound
from chanceline.select.pairs import (
    MAX_DECISIONS,
    PairSweep,
    SeparatingPair,
    settle_pair,
    sweep_pairs,
)
from chanceline.select.singles import best_single_rule, single_errors
from chanceline.select.supports import all_supports
from chanceline.select.walk import EXHAUSTED

_spec = importlib.util.spec_from_file_location(
    "select_oracle", Path(__file__).with_name("oracle.py")
)
oracle = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(oracle)
smallest, suffices, tiny_gap_table = oracle.smallest, oracle.suffices, oracle.tiny_gap_table


def one_column_decides(gap, offset=0.0, intercept=True, wrong=0):
    """Twelve samples, five columns; the third alone has the classes apart, by so much, but for some
    samples."""
    rng = np.random.default_rng(0)
    y = np.where(np.arange(12) < 6, -1.0, 1.0)
    X = rng.normal(size=(12, 5))
    sizes = rng.random(12)
    sizes[[0, 11]] = 0.0
    X[:, 2] = np.where(y > 0, offset + gap + sizes, offset - sizes)
    if not intercept:
        X[:, 2] -= gap / 2
    y[3 : 3 + wrong] *= -1.0
    return X, y


@pytest.mark.parametrize("gap", [1e-4, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-12, 1e-14, 1e-16])
@pytest.mark.parametrize(
    "options",
    [
        {"intercept": True},
        {"intercept": False},
        {"intercept": True, "signs": 1},
        {"intercept": False, "signs": 1},
        {"intercept": True, "errors": 1},
        {"intercept": True, "errors": 1, "signs": 1},
        {"intercept": False, "errors": 1},
    ],
)
def test_no_gap_is_too_narrow_for_one_column(gap, options):
    errors = options.get("errors", 0)
    X, y = one_column_decides(gap, intercept=options["intercept"], wrong=errors)
    for method in ("exact", "auto"):
        outcome = chanceline.search(X, y, method, **options)
        assert (outcome.support.tolist(), outcome.errors) == ([2], errors)
        assert outcome.kind == "exact"
    settings = {name: value for name, value in options.items() if name != "errors"}
    found = chanceline.front(X, y, max_features=2, **settings)
    assert found.at(1).errors == errors
    assert found.at(1).proven


@pytest.mark.parametrize("gap", [1e-4, 1e-6, 1e-8, 1e-9])
def test_values_like_years_have_narrow_gaps_too(gap):
    X, y = one_column_decides(gap, offset=2e6)
    assert X[11, 2] > X[0, 2]
    assert chanceline.search(X, y, "exact", intercept=True).support.tolist() == [2]
    assert chanceline.front(X, y).errors.tolist() == [6, 0]


def check_against_brute_force(seed):
    X, y, intercept, signs = tiny_gap_table(seed)
    errors = seed % 4 if seed % 2 else 0
    options = {"intercept": intercept, "signs": signs}
    if errors == 0 and contradicting_rows(X, y):
        return None
    exact = chanceline.search(X, y, "exact", errors=errors, budget=20_000, **options)
    auto = chanceline.search(X, y, "auto", errors=errors, budget=200, **options)
    front = chanceline.front(X, y, max_features=X.shape[1], budget=300, **options)
    fewest = smallest(X, y, intercept, signs, errors)
    if fewest is None:
        assert exact.errors > errors
        assert not exact.minimum_proven
        assert errors > 0 or exact.lower_bound == X.shape[1] + 1
        return exact
    assert exact.errors <= errors
    assert exact.n_selected == fewest
    assert exact.kind == "exact"
    assert exact.proven_gap == 0.0
    for outcome in (exact, auto):
        assert outcome.lower_bound <= max(fewest, 1)
        assert outcome.errors > errors or outcome.n_selected >= fewest
    assert not auto.minimum_proven or auto.n_selected == fewest
    first = front.smallest(errors)
    assert first is None or first.k >= fewest
    return exact


def test_exact_is_brute_force_and_nothing_contradicts_it():
    checked = sum(check_against_brute_force(seed) is not None for seed in range(60))
    assert checked > 50


def test_the_star_of_the_front_is_brute_force():
    starred = 0
    for seed in range(40):
        X, y, intercept, signs = tiny_gap_table(seed)
        X, signs = X[:, :4], None if signs is None else signs[:4]
        front = chanceline.front(X, y, intercept=intercept, signs=signs, max_features=3)
        for point in front.points:
            if point.proven and point.errors > 0:
                supports = combinations(range(X.shape[1]), min(point.k, X.shape[1]))
                assert not any(
                    suffices(X, y, chosen, intercept, signs, point.errors - 1)
                    for chosen in supports
                )
                starred += point.k == 2
        assert all(point.proven for point in front.points if point.k < 2)
    assert starred > 5


def test_columns_alone_are_counted_by_brute_force():
    for seed in range(0, 60, 2):
        X, y, intercept, signs = tiny_gap_table(seed)
        problem = make_problem(X, y, intercept, allow_contradictions=True, signs=signs)
        for j, errors in enumerate(single_errors(problem)):
            assert suffices(X, y, [j], intercept, signs, int(errors))
            assert errors == 0 or not suffices(X, y, [j], intercept, signs, int(errors) - 1)
            assert best_single_rule(problem, j).errors == errors


def test_pairs_are_swept_without_a_loss():
    found = set()
    for seed in range(100):
        X, y, intercept, signs = tiny_gap_table(seed)
        if X.shape[1] < 2:
            continue
        problem = make_problem(X, y, intercept, allow_contradictions=True, signs=signs)
        expected = any(
            suffices(X, y, pair, intercept, signs) for pair in combinations(range(X.shape[1]), 2)
        )
        *_, last = sweep_pairs(problem)
        assert isinstance(last, SeparatingPair) if expected else last is PairSweep.NONE_SEPARATES
        if expected:
            assert last.rule.separates
        found.add(expected)
        # Without decisions in rational arithmetic nothing is claimed that is not certain.
        *_, cautious = sweep_pairs(problem, max_decisions=0)
        assert not expected or cautious is not PairSweep.NONE_SEPARATES
    assert found == {True, False}


def test_supports_are_counted_by_brute_force():
    for seed in range(0, 40, 3):
        X, y, intercept, signs = tiny_gap_table(seed)
        for size in (1, 2, 3):
            if size <= X.shape[1]:
                expected = sum(
                    suffices(X, y, chosen, intercept, signs)
                    for chosen in combinations(range(X.shape[1]), size)
                )
                counted = count(X, y, size, intercept, signs)
                assert (counted.count, counted.gap, counted.kind) == (expected, 0.0, "exact")


@pytest.fixture
def narrow_pair():
    """Two columns separate by a gap of 1e-12, on a grid, so that conflicts of the others are no
    full simplices."""
    rng = np.random.default_rng(4)
    X = np.column_stack([rng.integers(0, 3, size=(14, 6)) / 3.0, rng.integers(0, 5, 14) / 7.0])
    y = np.where(X[:, 0] + X[:, 6] > 0.7, 1.0, -1.0)
    X[:, 0] = 0.7 - X[:, 6] + np.where(y > 0, 1e-12, 0.0)
    return X, y


def test_without_rational_arithmetic_the_gap_is_told(narrow_pair):
    X, y = narrow_pair
    assert chanceline.search(X, y, "exact", intercept=True).support.tolist() == [0, 6]
    problem = make_problem(X, y, True, allow_contradictions=True)
    *_, exact = all_supports(problem, 1)
    assert (exact.verdict, exact.gap) == (EXHAUSTED, 0.0)
    gaps = {}
    for size in (1, 2):
        *_, step = all_supports(problem, size, max_decisions=0)
        assert step.verdict == EXHAUSTED
        gaps[size] = step.gap
    # What is refuted separates by no more than the gap, and the pair that does separate, by less.
    assert 0 < gaps[2] < 1e-7
    bounds = [
        event
        for event in prove(problem, None, 10**6, max_decisions=0)
        if isinstance(event, LowerBound)
    ]
    assert any(bound.gap > 0 for bound in bounds)


def scaled_margin(problem, support, decision):
    """min_μ a_μ·w of weights of length 1 on the scaled columns, which an exact decision has found
    in the units of X."""
    columns = [int(j) for j in support]
    weights = [
        slope * Fraction(float(problem.scale[j]))
        for slope, j in zip(decision.slopes, columns, strict=True)
    ]
    if problem.intercept:
        shifts = [
            slope * Fraction(float(problem.centre[j]))
            for slope, j in zip(decision.slopes, columns, strict=True)
        ]
        weights.append(sum(shifts, decision.bias))
    fields = [
        sum(
            (Fraction(x) * slope for x, slope in zip(row, decision.slopes, strict=True)),
            decision.bias,
        )
        * int(label)
        for row, label in zip(problem.X[:, columns].tolist(), problem.y, strict=True)
    ]
    largest = max(map(abs, weights))
    length = float(np.linalg.norm([float(weight / largest) for weight in weights]))
    return float(min(fields) / largest) / length


def test_what_floating_point_misses_has_a_margin_within_the_gap():
    missed = 0
    for seed in range(400):
        X, y, intercept, signs = tiny_gap_table(seed)
        problem = make_problem(X, y, intercept, allow_contradictions=True, signs=signs)
        table = ExactTable(problem)
        *_, step = all_supports(problem, 1, max_decisions=0)
        if step.verdict == EXHAUSTED:
            for j in range(X.shape[1]):
                decision = table.decide([j])
                if decision.separable:
                    assert 0 < scaled_margin(problem, [j], decision) <= step.gap
                    missed += 1
    assert missed > 3


def test_the_outcome_says_up_to_which_gap_it_is_proven():
    X, y = one_column_decides(1e-3)
    outcome = chanceline.search(X[:, :2], y, "exact", intercept=True)
    assert outcome.to_dict()["proven_gap"] == 0.0
    proven = chanceline.search(X, y, "exact", intercept=True)
    assert (proven.kind, proven.summary()) == (
        "exact",
        "1 of 5 variables separates all 12 samples, the proven minimum",
    )
    up_to = replace(proven, proven_gap=2.41e-9)
    assert up_to.kind == "certified"
    assert up_to.minimum_proven
    assert up_to.summary().endswith("the proven minimum up to a gap of 2.5e-09"), (
        "a bound is rounded up"
    )
    assert replace(up_to, lower_bound=0).summary().endswith("12 samples")


def test_a_table_that_nothing_separates_is_called_so():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 4)), rng.choice([-1.0, 1.0], size=40)
    outcome = chanceline.search(X, y, "exact", intercept=True)
    assert outcome.lower_bound == 5
    assert not outcome.minimum_proven
    assert "nothing separates all (proven)" in str(outcome)


def test_a_bound_that_comes_before_any_support_counts():
    """Singles are refuted before the first support is found, where errors are allowed."""
    X, y, intercept, signs = tiny_gap_table(419)
    outcome = chanceline.search(X, y, "exact", errors=3, intercept=intercept, signs=signs)
    assert (outcome.n_selected, outcome.lower_bound) == (2, 2)
    assert outcome.minimum_proven


def test_values_that_only_scaling_makes_equal_are_no_signs():
    # Centred and scaled, 0 and 1e-20 are both −1.
    X = np.array([[0.0, 0.0], [1e-20, 1.0], [1.0, 0.0], [1.0, 1.0]])
    problem = make_problem(X, [0, 1, 1, 0], True)
    assert np.all(np.abs(problem.columns) == 1.0)
    assert not pattern_cuts_help(problem, 2)
    assert pattern_cuts_help(
        make_problem(np.sign(X - 0.5), [0, 1, 1, 0], True, allow_contradictions=True), 2
    )


def test_a_pair_that_rounding_refutes_is_settled():
    X, y = one_column_decides(1e-13)
    X[:, 2] -= X[:, 0]  # now the sum of two columns decides
    problem = make_problem(X, y, True)
    verdict, rule = settle_pair(ExactTable(problem), np.array([0, 2]), MAX_DECISIONS)
    expected = suffices(X, y, [0, 2], True)
    assert (verdict != INSEPARABLE) == expected
    assert (rule is not None) == expected
