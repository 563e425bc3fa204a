"""The pool of a very wide table: every fold finds its own columns in it, and rules are those of the array."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from chanceline.columns.source import SlicedColumns
from chanceline.columns.table import ColumnTable
from chanceline.prediction.crossval import expected_error, training_sets_of_folds
from chanceline.prediction.held_out import score_held_out_samples
from chanceline.prediction.rule import fit_rule, fit_rules
from chanceline.prediction.samples import make_samples
from chanceline.prediction.screening import (
    ScreeningLimits,
    correlations_with_labels,
    screen_columns,
)
from chanceline.prediction.stability import selection_stability
from chanceline.prediction.table_pool import (
    all_samples_alone,
    best_of_training_sets,
    pool_samples,
    scores_of_sets,
)
from chanceline.prediction.train import FeatureChoice

N_SAMPLES, N_FEATURES = 60, 400
BLOCKS = np.arange(N_SAMPLES) % 3
AGE = {"age": np.random.default_rng(1).normal(size=N_SAMPLES)}


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(2)
    X = 30 + rng.normal(size=(N_SAMPLES, N_FEATURES))
    X[:, 9] = 5
    return X


@pytest.fixture(scope="module")
def y(X):
    score = X[:, 50] - X[:, 350] + np.random.default_rng(3).normal(0, 0.5, N_SAMPLES)
    return (score > np.median(score)).astype(int)


def tiled(X):
    return ColumnTable(SlicedColumns(X), tile_width=64)


@pytest.mark.parametrize("roles", [{}, {"blocks": BLOCKS}, {"covariates": AGE}])
def test_scores_of_all_training_sets_are_those_of_each(X, y, roles):
    samples = make_samples(X, y, **roles)
    sets = training_sets_of_folds(samples, seed=0)
    assert len(sets) == 30
    table = tiled(X)
    pool = best_of_training_sets(table, samples, sets, n_best=20, n_threads=2)
    best_of_sets = [
        np.argsort(-correlations_with_labels(samples, training), kind="stable")[:20]
        for training in sets
    ]
    assert np.array_equal(pool, np.unique(np.concatenate(best_of_sets)))
    assert len(pool) < N_FEATURES / 4


def test_a_column_that_is_constant_in_a_training_set_has_no_score():
    rng = np.random.default_rng(4)
    values = rng.normal(size=(N_SAMPLES, 3))
    training = np.arange(N_SAMPLES) < 50
    values[:, 0] = 0.1
    values[:, 1] = np.where(training, 1 / 3, 7.0)
    y = np.where(np.arange(N_SAMPLES) % 2 == 0, 1.0, -1.0)
    target = np.where(training, y - y[training].mean(), 0.0)
    is_training = training[None].astype(float)
    scores = scores_of_sets(tiled(values).tile(0), None, is_training, target[None])
    assert scores[0, 0] == 0
    assert scores[0, 1] < 1e-6
    expected = abs(target @ values[:, 2]) / values[training, 2].std()
    np.testing.assert_allclose(scores[0, 2], expected, rtol=1e-6)


def test_a_fold_finds_in_the_pool_what_it_finds_in_the_table(X, y):
    samples = make_samples(X, y)
    sets = training_sets_of_folds(samples, seed=0)
    pool = best_of_training_sets(tiled(X), samples, sets, n_best=20, n_threads=1)
    pooled = replace(samples, X=X[:, pool])
    limits = ScreeningLimits(max_unscreened=20, n_screened=20)
    for training in sets[:10]:
        _, in_table = screen_columns(samples, training, limits=limits)
        _, in_pool = screen_columns(pooled, training, limits=limits)
        assert np.array_equal(pool[in_pool], in_table)
    choice = FeatureChoice(screening=limits)
    in_table_scores = score_held_out_samples(samples, choice, seed=0, n_repeats=1).to_use
    in_pool_scores = score_held_out_samples(pooled, choice, seed=0, n_repeats=1).to_use
    np.testing.assert_allclose(in_pool_scores, in_table_scores, rtol=1e-9)


def test_rules_and_stability_of_a_table_are_those_of_the_array(X, y):
    table = tiled(X)
    rule, expected = fit_rules(table, y), fit_rules(X, y)
    assert np.array_equal(rule.to_use.support, expected.to_use.support)
    np.testing.assert_allclose(rule.to_use.weights, expected.to_use.weights)
    np.testing.assert_allclose(rule.to_use.scores(table), expected.to_use.scores(X))
    support = np.array([350, 50])
    stability = selection_stability(table, y, support)
    assert stability.to_dict() == selection_stability(X, y, support).to_dict()


def test_named_features_are_the_pool(X, y):
    table = tiled(X)
    named = [350, 50]
    pooled = pool_samples(table, y, features=named)
    assert pooled.pool.tolist() == [50, 350]
    assert pooled.samples.X.dtype == np.float64
    rule = fit_rules(table, y, features=named).to_use
    expected = fit_rule(X, y, features=named)
    assert rule.support.tolist() == [50, 350]
    np.testing.assert_allclose(rule.weights, expected.weights)
    ours = expected_error(table, y, features=named)
    np.testing.assert_allclose(
        ours.predictions, expected_error(X, y, features=named).predictions, rtol=1e-9
    )


def test_an_array_is_its_own_pool(X, y):
    pooled = pool_samples(X, y)
    assert pooled.pool is None
    assert pooled.n_features == N_FEATURES
    assert len(all_samples_alone(pooled.samples)) == 1


@pytest.mark.slow
def test_labels_without_signal_are_not_foretold_from_a_pool():
    """A pool that leaked the labels of samples held out would tell them apart."""
    rng = np.random.default_rng(5)
    table = ColumnTable(SlicedColumns(rng.integers(0, 3, size=(40, 20_000)).astype(np.int8)))
    y = rng.permutation(np.arange(40) % 2)
    expected = expected_error(table, y)
    assert expected.auc_interval[0] < 0.5 < expected.auc_interval[1]
