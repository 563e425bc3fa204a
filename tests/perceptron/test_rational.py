"""Decisions in rational arithmetic, and what floating point may claim without them."""

from __future__ import annotations

import importlib.util
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import chanceline
from chanceline.errors import ConvergenceError
from chanceline.perceptron.integer_least_squares import solve_integers
from chanceline.perceptron.integers import integer_columns, small_integers
from chanceline.perceptron.margin import INSEPARABLE, SEPARABLE, largest_margin
from chanceline.perceptron.problem import make_problem
from chanceline.perceptron.rational import ExactTable
from chanceline.perceptron.rounded_rule import rule_in_doubles, separating_rule
from chanceline.perceptron.separate import is_refuted, margin_on, separate
from chanceline.select import check_weights

_path = Path(__file__).resolve().parents[1] / "select" / "oracle.py"
_spec = importlib.util.spec_from_file_location("select_oracle", _path)
oracle = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(oracle)
suffices, tiny_gap_table = oracle.suffices, oracle.tiny_gap_table


def narrow_tables(count):
    """Tables with gaps below any tolerance, and a support of up to four columns in each."""
    for seed in range(count):
        X, y, intercept, signs = tiny_gap_table(seed)
        yield X, y, np.arange(min(X.shape[1], 4)), intercept, signs


def test_integers_are_solved_without_remainder():
    rng = np.random.default_rng(0)
    for size in range(1, 7):
        half = rng.integers(-9, 10, size=(size, size + 2))
        matrix = (half @ half.T).tolist()
        target = rng.integers(-9, 10, size=size).tolist()
        numerators, denominator, dependent = solve_integers(matrix, target)
        assert dependent is None
        for row, wanted in zip(matrix, target, strict=True):
            assert (
                sum(Fraction(a * b, denominator) for a, b in zip(row, numerators, strict=True))
                == wanted
            )
    assert solve_integers([[1, 2], [2, 4]], [1, 2])[2] == 1


def test_decisions_are_those_of_the_simplex_method():
    seen = set()
    for X, y, support, intercept, signs in narrow_tables(150):
        problem = make_problem(X, y, intercept, allow_contradictions=True, signs=signs)
        table = ExactTable(problem)
        decision = table.decide(support)
        assert decision.separable == suffices(X, y, support, intercept, signs)
        seen.add((decision.separable, margin_on(problem, support).verdict))
        if decision.separable:
            for row, label in zip(X[:, support].tolist(), y, strict=True):
                field = sum(
                    (Fraction(x) * w for x, w in zip(row, decision.slopes, strict=True)),
                    decision.bias,
                )
                assert field * int(label) > 0
            if signs is not None:
                assert all(
                    slope * int(sign) >= 0
                    for slope, sign in zip(decision.slopes, signs[support], strict=True)
                )
        else:
            assert not table.decide(support, decision.conflict).separable
        # Wherever the method starts.
        for start in ({}, dict.fromkeys(range(len(y)), 1.0)):
            assert table.decide(support, start=start).separable == decision.separable
    # Floating point alone errs on some of them.
    assert (True, INSEPARABLE) in seen
    assert {(True, SEPARABLE), (False, INSEPARABLE)} <= seen


def test_errors_are_searched_exhaustively():
    for seed, (X, y, support, intercept, signs) in enumerate(narrow_tables(40)):
        problem = make_problem(X, y, intercept, allow_contradictions=True, signs=signs)
        for errors in (1, 2):
            answer, _, samples = ExactTable(problem).errors_within(support, errors, 10_000)
            assert answer == suffices(X, y, support, intercept, signs, errors), seed
            if answer:
                assert len(samples) >= len(y) - errors
        assert ExactTable(problem).errors_within(support, 1, 0)[0] is None


def test_a_conflict_that_is_certain_is_one():
    claimed = 0
    for X, y, support, intercept, signs in narrow_tables(400):
        problem = make_problem(X, y, intercept, allow_contradictions=True, signs=signs)
        if is_refuted(problem, support, margin_on(problem, support)):
            assert not ExactTable(problem).decide(support).separable
            claimed += 1
    assert claimed > 100


def test_floating_point_settles_nearly_all_of_generic_data():
    rng = np.random.default_rng(3)
    for _ in range(50):
        X, y = rng.normal(size=(30, 4)), rng.choice([-1.0, 1.0], size=30)
        problem = make_problem(X, y, True)
        found = margin_on(problem, np.arange(4))
        assert found.verdict == SEPARABLE or is_refuted(problem, np.arange(4), found)


def test_between_neighbouring_doubles():
    rng = np.random.default_rng(1)
    for offset in (0.0, 1.0, np.pi, 2e6, -7e-5):
        for _ in range(20):
            values = np.sort(offset + rng.normal(size=10))
            values[5] = np.nextafter(values[4], np.inf)
            values = np.sort(values)
            y = np.where(np.arange(10) < 5, -1.0, 1.0)
            separable, rule = separating_rule(
                ExactTable(make_problem(values[:, None], y, True)), np.array([0])
            )
            assert separable
            assert rule.separates
            assert check_weights(values[:, None], y, [0], rule.weights, rule.bias).separable
            assert np.hypot(rule.weights[0], rule.bias) == pytest.approx(1.0, abs=1e-6)


def test_no_rule_where_doubles_have_none():
    # y(wx + b) > 0 needs w(1 − 2⁻⁵³) < −b < w, and between those two there is no double, whatever w.
    X = np.array([[0.0], [1.0 - 2.0**-53], [1.0], [2.0]])
    y = [-1, -1, 1, 1]
    problem = make_problem(X, y, True)
    decision = ExactTable(problem).decide([0])
    assert decision.separable
    assert rule_in_doubles(problem, np.array([0]), decision) is None
    with pytest.raises(ConvergenceError, match="narrow a gap"):
        separate(X, y, [0], True)
    # Nothing is claimed then: not that one column suffices, nor that it does not.
    other = np.column_stack([X, [0.0, 3.0, 1.0, 2.0], [5.0, 1.0, 9.0, 2.0]])
    outcome = chanceline.search(other, y, "exact", intercept=True)
    assert (outcome.n_selected, outcome.errors, outcome.lower_bound, outcome.kind) == (
        2,
        0,
        1,
        "certified",
    )
    assert not chanceline.front(other, y, max_features=1).at(1).proven


def test_separate_is_exact():
    for X, y, support, intercept, signs in narrow_tables(150):
        expected = suffices(X, y, support, intercept, signs)
        try:
            found = separate(X, y, support, intercept, signs)
        except ConvergenceError:
            assert expected
            continue
        assert found.separates == expected


def test_columns_in_small_integers():
    X = np.array([[1.0, 0.25, 0.1, 3.0, 2e6], [2.0, 0.5, 0.2, 7.0, 2e6], [3.0, 1.0, 0.4, 3.0, 2e6]])
    y = np.array([1.0, -1.0, 1.0])
    whole = small_integers(make_problem(X, y, True))
    assert whole[0].tolist() == [1, 2, 3]
    assert whole[1].tolist() == [64, 128, 256]
    assert np.isnan(whole[2]).all()
    assert whole[3].tolist() == [0, 1, 0]
    assert whole[4].tolist() == [0, 0, 0]
    without = small_integers(make_problem(np.array([[0.3, 0.3], [-0.3, 0.6], [0.0, 0.3]]), y))
    assert without[0].tolist() == [1, -1, 0]
    assert np.isnan(without[1]).all()
    reversed_columns = integer_columns(make_problem(X[:, :1], y, True, signs=[-1]))
    assert reversed_columns.tolist() == [[-1, 2, -3], [1, -1, 1]]


def test_a_column_that_is_nearly_constant_is_a_column():
    values = 2e6 + np.array([0.0, 1.0, 2.0, 3.0]) * np.spacing(2e6)
    problem = make_problem(np.column_stack([values, np.full(4, 0.1)]), [0, 0, 1, 1], True)
    assert np.isfinite(problem.scale[0])
    assert problem.scale[1] == np.inf
    assert largest_margin(problem.rows(np.array([0]))).verdict == SEPARABLE
