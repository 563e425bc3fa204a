"""Errors, thresholds and areas against counts by hand and another implementation."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from chanceline.prediction.metrics import (
    area_under_curve,
    area_within_folds,
    best_threshold,
    error_indicators,
    standardized_difference,
)
from chanceline.select.thresholds import sweep_thresholds


def test_the_threshold_is_the_best_of_all():
    rng = np.random.default_rng(1)
    for _ in range(50):
        scores = rng.integers(-3, 4, size=9).astype(float)
        labels = rng.choice([-1.0, 1.0], size=9)
        threshold, errors = best_threshold(scores, labels)
        assert errors == np.sum((scores > threshold) != (labels > 0))
        assert errors == min(np.sum((scores > t) != (labels > 0)) for t in np.arange(-3.5, 4))


def test_a_threshold_never_lies_between_scores_that_differ_by_rounding():
    scores = np.array([1.0, 1.0 + 1e-12, 2.0, 2.0 + 1e-12])
    labels = np.array([-1.0, 1.0, -1.0, 1.0])
    threshold, errors = best_threshold(scores, labels)
    assert errors == 2
    assert np.abs(scores - threshold).min() > 0.4


def test_a_sweep_counts_the_errors_of_every_threshold_of_every_row():
    rng = np.random.default_rng(2)
    scores = rng.normal(size=(4, 7))
    labels = rng.choice([-1.0, 1.0], size=(4, 7))
    ranked, errors = sweep_thresholds(scores, labels)
    assert np.array_equal(ranked, np.sort(scores, axis=1))
    for row in range(4):
        middles = (ranked[row, 1:] + ranked[row, :-1]) / 2
        thresholds = [-np.inf, *middles, np.inf]
        counted = [np.sum((scores[row] > t) != (labels[row] > 0)) for t in thresholds]
        assert errors[row].tolist() == counted


def test_the_area_is_the_share_of_pairs_in_order():
    scores = np.array([1.0, 2.0, 2.0, 3.0, 9.0])
    positive = np.array([False, True, False, True, True])
    pairs = [(a > b) + 0.5 * (a == b) for a in scores[positive] for b in scores[~positive]]
    assert area_under_curve(scores, positive) == pytest.approx(np.mean(pairs))
    rng = np.random.default_rng(3)
    tied = rng.integers(0, 9, size=60).astype(float)
    classes = rng.random(60) < 0.3
    assert area_under_curve(tied, classes) == pytest.approx(roc_auc_score(classes, tied))
    assert np.isnan(area_under_curve(scores, np.ones(5, dtype=bool)))


def test_the_area_within_folds_has_pairs_of_one_fold_only():
    rng = np.random.default_rng(4)
    scores = rng.normal(size=40)
    positive = rng.random(40) < 0.5
    fold_of_sample = rng.integers(0, 4, size=40)
    pairs = [
        scores[i] > scores[j]
        for i in np.flatnonzero(positive)
        for j in np.flatnonzero(~positive)
        if fold_of_sample[i] == fold_of_sample[j]
    ]
    found = area_within_folds(scores, positive, fold_of_sample)
    assert found == pytest.approx(np.mean(pairs))
    # A shift of a whole fold changes nothing.
    shifted = area_within_folds(scores + 100.0 * fold_of_sample, positive, fold_of_sample)
    assert shifted == found


def test_small_formulas():
    indicators = error_indicators(np.array([1.0, -1.0, 0.0]), np.array([1.0, 1.0, -1.0]))
    assert indicators.tolist() == [0.0, 1.0, 0.5]
    values = np.array([1.0, 3.0, 10.0, 14.0])
    positive = np.array([False, False, True, True])
    assert standardized_difference(values, positive) == pytest.approx(10 / np.sqrt((1 + 4) / 2))
    assert standardized_difference(np.array([1.0, 1.0, 2.0, 2.0]), positive) == 0.0
