"""The estimator under scikit-learn's own checks and in its usual surroundings."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectFromModel
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from chanceline.sklearn import SparseRule, SparseSeparator


# Some of their data cannot be separated, of which the estimator warns.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
# Some of the checks fit noise, where the rule has no feature.
@pytest.mark.filterwarnings("ignore:No features were selected")
@parametrize_with_checks(
    [SparseSeparator(), SparseSeparator(n_features=1, fit_intercept=False), SparseRule()]
)
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


@pytest.fixture
def flipped(planted):
    X, y = planted
    y = y.copy()
    some = [3, 40, 61]
    y[some] = np.where(y[some] == "case", "control", "case")
    return X, y


@pytest.mark.slow
def test_n_features_and_max_errors_make_smaller_rules(flipped):
    X, y = flipped
    full = SparseSeparator().fit(X, y)
    tolerant = SparseSeparator(max_errors=3).fit(X, y)
    small = SparseSeparator(n_features=2).fit(X, y)
    assert full.n_errors_ == 0
    assert len(full.support_) > 2
    assert tolerant.support_.tolist() == small.support_.tolist() == [7, 30]
    assert tolerant.n_errors_ == small.n_errors_ == 3
    assert np.sum(small.predict(X) != y) == 3
    assert len(SparseSeparator(n_features=5, max_errors=3).fit(X, y).support_) == 2


def test_a_table_that_is_not_separable_is_fitted_with_a_warning():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 5))
    y = np.sign(X[:, 1] + rng.normal(size=120))
    with pytest.warns(ConvergenceWarning, match="max_errors="):
        model = SparseSeparator(budget=300).fit(X, y)
    assert 0 < model.n_errors_ < 50
    assert np.sum(model.predict(X) != y) == model.n_errors_


@pytest.mark.slow
def test_inside_pipeline_and_grid_search(planted):
    X, y = planted
    pipeline = make_pipeline(StandardScaler(), SparseSeparator())
    assert cross_val_score(pipeline, X, y, cv=4).mean() > 0.9
    search = GridSearchCV(pipeline, {"sparseseparator__n_features": [1, 2, 4]}, cv=3).fit(X, y)
    assert search.best_params_["sparseseparator__n_features"] in (2, 4)
    selector = make_pipeline(SparseSeparator(), LogisticRegression()).fit(X, y)
    assert selector[-1].coef_.shape == (1, 2)
    outer = SelectFromModel(SparseSeparator(), threshold=1e-9).fit(X, y)
    assert outer.get_support(indices=True).tolist() == [7, 30]


def test_says_what_is_wrong():
    X = np.arange(12.0).reshape(6, 2)
    with pytest.raises(ValueError, match="one class"):
        SparseSeparator().fit(X, np.zeros(6))
    with pytest.raises(ValueError, match="n_features must be at least 1"):
        SparseSeparator(n_features=0).fit(X, [0, 0, 0, 1, 1, 1])


def test_the_rule_for_new_samples_is_that_of_the_library(flipped):
    X, y = flipped
    model = SparseRule(max_features=5).fit(X, y)
    assert {7, 30} <= set(model.support_.tolist())
    assert len(model.support_) <= 5
    assert np.allclose(model.predict_proba(X)[:, 1], model.rule_.probabilities(X))
    assert np.array_equal(model.predict(X) == "control", model.predict_proba(X)[:, 1] > 0.5)
    assert model.transform(X).shape == (80, len(model.support_))
    groups = np.arange(80) // 2
    assert cross_val_score(SparseRule(), X, y, params={"groups": groups}).mean() > 0.8
