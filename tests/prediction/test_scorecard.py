"""Whole weights: errors against a count by hand, the search against all whole weights of a small rule."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from chanceline.errors import InputError
from chanceline.prediction.metrics import best_threshold
from chanceline.prediction.rule import fit_rule
from chanceline.prediction.scorecard import scorecard


def noisy(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(90, 15)) * 7 + 3
    return X, np.where(2 * X[:, 0] - X[:, 1] + X[:, 2] + 8 * rng.normal(size=90) > 6, 1, 0)


@pytest.mark.parametrize("seed", range(3))
def test_few_more_errors_than_any_whole_weights(seed):
    X, y = noisy(seed)
    rule = fit_rule(X, y, features=[0, 1, 2])
    found = scorecard(X, y, rule, largest=3)
    total = X[:, found.support] / found.steps @ found.points
    assert found.errors == np.sum((total > found.threshold) != y)
    assert found.loss == found.errors - np.sum((rule.scores(X) > 0) != y)
    assert np.abs(found.points).max() <= 3
    assert found.points.dtype.kind == "i"
    assert [
        float(f"{step:.2g}") for step in X[:, found.support].std(axis=0)
    ] == found.steps.tolist()
    labels = 2.0 * y - 1
    fewest = min(
        best_threshold(X[:, :3] / found.steps @ np.array(points), labels).errors
        for points in product(range(-3, 4), repeat=3)
    )
    assert found.errors <= fewest + 2


def test_given_steps_and_rules_that_have_no_scorecard():
    X, y = noisy()
    rule = fit_rule(X, y, features=[0, 1, 2])
    assert scorecard(X, y, rule, steps=[10, 5, 5]).steps.tolist() == [10, 5, 5]
    with pytest.raises(InputError, match="each of the 3"):
        scorecard(X, y, rule, steps=[1, 2])
    with pytest.raises(InputError, match="without covariates"):
        scorecard(X, y, fit_rule(X, y, covariates=X[:, 0]))
