"""The estimator under scikit-learn's own checks and in its usual surroundings."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.feature_selection import SelectFromModel
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from chanceline.sklearn import SparseSeparator


@parametrize_with_checks([SparseSeparator(), SparseSeparator(max_features=1, fit_intercept=False)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture
def planted():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(80, 60))
    return X, np.where(X[:, 7] - X[:, 30] > 0.2, "case", "control")


def test_finds_the_planted_features(planted):
    X, y = planted
    model = SparseSeparator().fit(X, y)
    assert model.support_.tolist() == [7, 30]
    assert model.n_errors_ == 0
    assert model.score(X, y) == 1.0
    assert model.transform(X).shape == (80, 2)
    assert np.array_equal(np.flatnonzero(model.coef_), model.support_)
    assert np.array_equal(model.predict(X) == "control", model.decision_function(X) > 0)


def test_max_features_and_errors_make_smaller_rules(planted):
    X, y = planted
    y = y.copy()
    flipped = [3, 40, 61]
    y[flipped] = np.where(y[flipped] == "case", "control", "case")
    full = SparseSeparator().fit(X, y)
    tolerant = SparseSeparator(errors=3).fit(X, y)
    small = SparseSeparator(max_features=2).fit(X, y)
    assert full.n_errors_ == 0
    assert tolerant.n_errors_ <= 3
    assert len(tolerant.support_) < len(full.support_)
    assert len(small.support_) == 2
    assert small.score(X, y) > 0.6


def test_inside_pipeline_and_grid_search(planted):
    X, y = planted
    pipeline = make_pipeline(StandardScaler(), SparseSeparator())
    assert cross_val_score(pipeline, X, y, cv=4).mean() > 0.9
    search = GridSearchCV(pipeline, {"sparseseparator__max_features": [1, 2, 4]}, cv=3).fit(X, y)
    assert search.best_params_["sparseseparator__max_features"] in (2, 4)
    selector = make_pipeline(SparseSeparator(), LogisticRegression()).fit(X, y)
    assert selector[-1].coef_.shape == (1, 2)
    outer = SelectFromModel(SparseSeparator(), threshold=1e-9).fit(X, y)
    assert outer.get_support(indices=True).tolist() == [7, 30]


def test_says_what_is_wrong():
    X = np.arange(12.0).reshape(6, 2)
    with pytest.raises(ValueError, match="Only binary classification is supported"):
        SparseSeparator().fit(X, [0, 1, 2, 0, 1, 2])
    with pytest.raises(ValueError, match="one class"):
        SparseSeparator().fit(X, np.zeros(6))
    with pytest.raises(ValueError, match="max_features must be at least 1"):
        SparseSeparator(max_features=0).fit(X, [0, 0, 0, 1, 1, 1])
