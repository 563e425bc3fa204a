"""The front against enumeration, and what a front promises."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

import chanceline
from chanceline.errors import InputError
from chanceline.perceptron.problem import make_problem
from chanceline.select import check_weights
from chanceline.select.outcome import max_margin_candidate
from chanceline.select.supports import all_supports
from chanceline.select.walk import EXHAUSTED, FOUND


def fewest_by_rays(rows):
    """The fewest rows a·w ≤ 0 over all w, by enumeration: some best w lies next to a ray on which dim − 1 rows vanish.

    Rows that vanish on the ray are decided by a step away from it, which is the same problem in one dimension less.
    """
    rows = rows[np.any(np.abs(rows) > 1e-9, axis=1)] if rows.size else rows
    if len(rows) == 0:
        return 0
    basis = np.linalg.svd(rows, full_matrices=False)[2][: np.linalg.matrix_rank(rows)]
    rows = rows @ basis.T
    dim = rows.shape[1]
    if dim == 1:
        return int(min(np.sum(rows <= 0), np.sum(rows >= 0)))
    best = len(rows)
    for chosen in itertools.combinations(range(len(rows)), dim - 1):
        part = rows[list(chosen)]
        values, vectors = np.linalg.svd(part)[1:]
        if values[-1] < 1e-9 * values[0]:
            continue
        sides = rows @ vectors[-1]
        on = np.abs(sides) <= 1e-9
        apart = rows[on] - np.outer(rows[on] @ vectors[-1], vectors[-1])
        inside = 0 if on.sum() == dim - 1 else fewest_by_rays(apart)
        best = min(best, inside + min(np.sum(sides < -1e-9), np.sum(sides > 1e-9)))
    return int(best)


def enumerated_front(X, y, most, intercept):
    fewest = []
    for k in range(most + 1):
        best = fewest[-1] if fewest else len(y)
        for support in itertools.combinations(range(X.shape[1]), k):
            columns = np.column_stack(
                [X[:, list(support)], *([np.ones(len(y))] if intercept else [])]
            )
            zero = int(np.sum(np.all(columns == 0, axis=1))) if columns.shape[1] else len(y)
            best = min(
                best, zero + fewest_by_rays(columns * y[:, None]) if columns.shape[1] else zero
            )
        fewest.append(best)
        if best == 0:
            break
    return fewest


def small_problem(kind, seed, n=6, patterns=11):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(patterns, n))
    y = rng.choice([-1.0, 1.0], size=patterns)
    if kind == "planted":
        y = np.sign(X[:, 0] - X[:, 1] + 0.3)
        y[rng.choice(patterns, 2, replace=False)] *= -1
    elif kind == "ties":
        X, y = rng.integers(-1, 2, size=(patterns - 2, n - 2)).astype(float), y[2:]
    elif kind == "unequal":
        y = np.where(np.arange(patterns) < 3, 1.0, -1.0)
    y[0], y[-1] = 1.0, -1.0
    return X, y


@pytest.mark.parametrize("kind", ["noise", "planted", "ties", "unequal"])
@pytest.mark.parametrize("intercept", [True, False])
def test_front_is_the_enumerated_one(kind, intercept):
    for seed in range(2):
        X, y = small_problem(kind, seed)
        found = chanceline.front(X, y, intercept=intercept, max_features=3, budget=2000)
        assert found.errors.tolist() == enumerated_front(X, y, 3, intercept)


def test_rules_make_the_errors_they_say():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(50, 30)) * np.geomspace(1e-4, 1e4, 30) + 7.0
    y = rng.choice(["a", "b"], size=50)
    found = chanceline.front(X, y, max_features=6, budget=2000)
    assert [point.k for point in found.points] == list(range(7))
    assert np.all(np.diff(found.errors) <= 0)
    signs = np.where(y == "b", 1.0, -1.0)
    for point in found.points:
        rule = point.rule
        assert rule.n_selected <= point.k
        assert (
            check_weights(X, signs, rule.support, rule.weights, rule.bias).errors
            == point.errors
            == rule.errors
        )
    assert found.at(3).errors == found.errors[3]
    assert found.smallest(int(found.errors[4])).errors <= found.errors[4]


def test_front_of_a_data_frame_has_its_names():
    X = pd.DataFrame(
        np.random.default_rng(0).normal(size=(40, 5)), columns=["a", "b", "c", "d", "e"]
    )
    found = chanceline.front(X, X["b"] - X["d"] > 0, max_features=3, budget=500)
    assert found.features(found.smallest()) == ["b", "d"]
    assert str(found).endswith("0* b, d")
    assert found.to_dict()["front"][-1]["features"] == ["b", "d"]
    unnamed = chanceline.front(X.to_numpy(), X["b"] - X["d"] > 0, max_features=3, budget=500)
    assert unnamed.features(unnamed.smallest()) == ["1", "3"]
    assert "features" not in unnamed.to_dict()["front"][-1]


def test_front_ends_where_nothing_is_wrong():
    X = np.random.default_rng(0).normal(size=(40, 12))
    y = np.sign(X[:, 3] - X[:, 7])
    found = chanceline.front(X, y)
    assert found.points[-1].k == 2
    assert found.points[-1].rule.support.tolist() == [3, 7]
    assert found.at(9).errors == 0


def test_a_sample_on_the_threshold_is_an_error():
    found = chanceline.front(
        np.array([[0.0], [1.0], [2.0], [-1.0]]), [1, 1, 1, -1], intercept=False
    )
    assert found.errors.tolist() == [4, 1]
    found = chanceline.front(np.array([[0.0], [0.0], [1.0], [-1.0]]), [1, 0, 1, 0])
    assert found.errors.tolist() == [2, 1]


def test_same_seed_same_front():
    X, y = small_problem("noise", 3, n=20, patterns=40)
    first, second = (chanceline.front(X, y, max_features=4, budget=500, seed=9) for _ in range(2))
    assert first.to_dict() == second.to_dict()


def test_ctrl_c_ends_the_search():
    X, y = small_problem("noise", 4, n=20, patterns=40)

    def interrupt(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        chanceline.front(X, y, max_features=4, budget=5000, progress=interrupt)


def test_one_class_and_constant_columns():
    X = np.column_stack([np.ones(6), np.arange(6.0)])
    assert chanceline.front(X, np.ones(6)).errors.tolist() == [0]
    assert chanceline.front(X[:, :1], [0, 0, 0, 1, 1, 0]).errors.tolist() == [2, 2]


@pytest.mark.parametrize("options", [{"max_features": -1}, {"budget": -1}, {"seed": -1}])
def test_bad_options(options):
    with pytest.raises(InputError, match=next(iter(options))):
        chanceline.front(np.eye(4), [0, 1, 0, 1], **options)


@pytest.mark.parametrize("kind", ["noise", "ties"])
def test_fewest_errors_on_a_support_are_proven(kind):
    X, y = small_problem(kind, 7)
    for intercept, support in itertools.product([True, False], [(0, 1), (1, 2, 3)]):
        problem = make_problem(X[:, support], y, intercept, allow_contradictions=True)
        columns = np.column_stack([X[:, list(support)], *([np.ones(len(y))] if intercept else [])])
        zero = int(np.sum(np.all(columns == 0, axis=1)))
        fewest = zero + fewest_by_rays(columns * y[:, None])
        for allowed in range(max(fewest - 1, 0), fewest + 1):
            *_, step = all_supports(problem, len(support), allowed)
            assert step.verdict == (FOUND if allowed == fewest else EXHAUSTED)
        found = max_margin_candidate(problem, step.support, 0, step.correct_samples)
        weights, bias = problem.in_original_units(found.support, found.weights, found.constant)
        assert (
            np.count_nonzero(problem.y * (problem.X[:, found.support] @ weights + bias) <= 1e-12)
            == fewest
        )


@pytest.mark.parametrize("intercept", [True, False])
def test_exact_with_errors_proves_the_enumerated_minimum(intercept):
    X, y = small_problem("noise", 11)
    fewest = enumerated_front(X, y, 3, intercept)
    for allowed in (fewest[3], fewest[2]):
        outcome = chanceline.search(
            X, y, method="exact", errors=allowed, intercept=intercept, budget=100_000
        )
        assert outcome.n_selected == next(k for k, errors in enumerate(fewest) if errors <= allowed)
        assert outcome.errors <= allowed
        assert outcome.minimum_proven
    short = chanceline.search(X, y, method="exact", errors=fewest[3], intercept=intercept, budget=3)
    assert short.lower_bound == 2
    assert short.minimum_proven == (short.n_selected == 2)


def test_rows_of_zeros_leave_every_sample_wrong():
    for size in (1, 3, 5):
        outcome = chanceline.search(np.zeros((4, size)), [1, 1, 1, 1], method="auto", budget=3000)
        assert outcome.errors == 4
        points = chanceline.front(
            np.zeros((4, size)), [1, 1, -1, 1], intercept=False, budget=500
        ).points
        assert {point.errors for point in points} == {4}
