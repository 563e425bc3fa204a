"""Rules: exact about separation, the same for every labelling."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog

from chanceline.perceptron import certificate
from chanceline.perceptron.few_errors import rule_on
from chanceline.perceptron.rule import has_positive_margin, make_rule
from chanceline.select import certify


def separable(X, y):
    rows = np.column_stack([X, np.ones(len(X))]) * y[:, None]
    return (
        linprog(
            np.zeros(rows.shape[1]), A_ub=-rows, b_ub=-np.ones(len(y)), bounds=(None, None)
        ).status
        == 0
    )


def test_rounding_never_decides():
    """Three points with 0.1·3 − 0.3: positive in floating point, and exactly so; its mirror image is not."""
    columns = np.array([[0.1, 0.3], [3.0, 1.0]])
    weights = np.array([3.0, -1.0])
    exact = 3 * (0.1).as_integer_ratio()[0] / (0.1).as_integer_ratio()[1] - 0.3
    assert has_positive_margin(columns, np.array([1.0, 1.0]), weights, 0.0).tolist() == [
        exact > 0,
        True,
    ]
    assert not has_positive_margin(np.array([[1.0]]), np.array([1.0]), np.array([1.0]), -1.0)[0]
    tiny = np.array([[1.0 + 2.0**-52]])
    assert has_positive_margin(tiny, np.array([1.0]), np.array([1.0]), -1.0)[0]


def test_rule_on_given_features_agrees_with_linear_programming():
    rng = np.random.default_rng(6)
    agree = set()
    for _ in range(40):
        X = rng.integers(-3, 4, size=(9, 3)).astype(float)
        y = np.where(rng.random(9) < 0.5, 1.0, -1.0)
        if len(set(y)) < 2:
            continue
        rule = rule_on(X, y, np.arange(3), True)
        assert (rule.errors == 0) == separable(X, y)
        margins = y * (X[:, rule.support] @ rule.weights + rule.bias)
        assert rule.errors == np.sum(margins <= 0)
        agree.add(rule.errors == 0)
    assert agree == {True, False}


def test_rule_reports_its_errors():
    X = np.array([[0.0], [1.0], [2.0]])
    rule = make_rule(X, np.array([-1.0, 1.0, -1.0]), np.array([0]), np.array([1.0]), -0.5)
    assert rule.wrong.tolist() == [2]
    assert rule.errors == 1


def test_without_features_and_intercept_everything_is_wrong():
    y = np.array([1.0, 1.0, 1.0, -1.0])
    assert rule_on(np.ones((4, 2)), y, np.zeros(0, dtype=int), False).errors == 4


def test_weights_that_fail_are_no_proof(monkeypatch):
    """A direction that only rounding makes right says nothing of other directions."""
    X = np.array([[1.0, 2.0], [2.0, 1.0], [-1.0, -1.0]])
    y = np.array([1, 1, -1])
    assert certify(X, y, [0, 1]).separable
    right, multipliers = certificate._largest_margin_in_box(X * y[:, None], 3)
    monkeypatch.setattr(
        certificate, "_largest_margin_in_box", lambda rows, patterns: (right, multipliers)
    )
    monkeypatch.setattr(
        certificate, "has_positive_margin", lambda *rest: np.array([True, False, True])
    )
    found = certify(X, y, [0, 1])
    assert found.separable is None
    assert not found.exact
