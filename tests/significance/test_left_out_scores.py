"""What pictures of cross-validated scores show, against counts by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.metrics import roc_curve

from chanceline.prediction.crossval import expected_error
from chanceline.significance import separation_test
from chanceline.significance.left_out_scores import (
    MIN_SAMPLES_PER_BIN,
    ScoreKind,
    calibration_bins,
    pooled_roc,
    samples_along_rule,
)


@pytest.fixture(scope="module")
def result():
    rng = np.random.default_rng(8)
    y = rng.permutation(75) < 30
    X = rng.normal(size=(75, 6)) + 1.2 * y[:, None] * (np.arange(6) < 2)
    return separation_test(X, np.where(y, "ill", "well"), permutations=0)


def test_samples_lie_by_rules_that_they_had_no_part_in(result):
    samples = samples_along_rule(result)
    assert samples.kind is ScoreKind.CROSS_VALIDATED
    predictions = result.rule.expected_error.predictions
    assert predictions.shape == (3, 75)
    np.testing.assert_array_equal(samples.values, predictions.sum(axis=0) / 3)
    assert not np.allclose(samples.values, result.scores)
    np.testing.assert_array_equal(samples.is_wrong, np.sign(samples.values) != result.labels)


def test_without_cross_validation_the_scores_are_called_those_of_training(result):
    unmeasured = replace(result, rule=replace(result.rule, expected_error=None))
    without_rule = replace(result, rule=None)
    for one in (unmeasured, without_rule):
        samples = samples_along_rule(one)
        assert samples.kind is ScoreKind.TRAINING
        np.testing.assert_array_equal(samples.values, result.scores)
    assert tuple(np.flatnonzero(samples_along_rule(unmeasured).is_wrong)) == result.rule.wrong


def test_the_curve_is_that_of_scikit_learn_and_goes_through_the_rule(result):
    expected = result.rule.expected_error
    positive = result.labels > 0
    # Rounded, so that many scores are equal.
    rounded = replace(expected, predictions=np.round(expected.predictions, 1))
    for one in (expected, rounded):
        curve = pooled_roc(one, positive)
        false_alarms, sensitivities, _ = roc_curve(
            np.tile(positive, 3), one.predictions.ravel(), drop_intermediate=False
        )
        np.testing.assert_allclose(curve.false_alarms, false_alarms, atol=1e-15)
        np.testing.assert_allclose(curve.sensitivities, sensitivities, atol=1e-15)
    curve = pooled_roc(expected, positive)
    distances = np.hypot(
        curve.false_alarms - (1 - expected.specificity),
        curve.sensitivities - expected.sensitivity,
    )
    assert distances.min() == pytest.approx(0, abs=1e-12)


def test_bins_hold_every_sample_once_with_exact_intervals(result):
    expected = replace(result.rule.expected_error, n_effective=75.0)
    positive = result.labels > 0
    bins = calibration_bins(expected, positive)
    assert len(bins) == 75 // MIN_SAMPLES_PER_BIN
    assert sum(one.n_samples for one in bins) == 75
    assert sum(one.observed * one.n_samples for one in bins) == pytest.approx(30)
    probabilities = np.mean(1 / (1 + np.exp(-expected.predictions)), axis=0)
    mean_probability = sum(one.predicted * one.n_samples for one in bins) / 75
    assert mean_probability == pytest.approx(probabilities.mean())
    predicted = [one.predicted for one in bins]
    assert predicted == sorted(predicted)
    for one in bins:
        exact = binomtest(round(one.observed * one.n_samples), one.n_samples)
        assert (one.low, one.high) == pytest.approx(exact.proportion_ci(0.95))


def test_equal_probabilities_share_a_bin(result):
    expected = result.rule.expected_error
    scores = np.where(np.arange(75) < 50, -1.0, 2.0)
    one_value_each = replace(expected, predictions=np.tile(scores, (3, 1)))
    bins = calibration_bins(one_value_each, result.labels > 0)
    assert [one.n_samples for one in bins] == [50, 25]


def test_true_probabilities_are_inside_their_intervals():
    """Labels drawn from the probabilities themselves: about 95 of 100 intervals hold the diagonal."""
    rng = np.random.default_rng(12)
    X = rng.normal(size=(40, 3))
    template = expected_error(X, rng.permutation(40) < 20)
    n_inside = n_bins = 0
    for _ in range(100):
        scores = rng.normal(scale=1.5, size=200)
        positive = rng.random(200) < 1 / (1 + np.exp(-scores))
        expected = replace(template, predictions=scores[None, :], n_effective=200.0)
        for one in calibration_bins(expected, positive):
            n_bins += 1
            n_inside += one.low <= one.predicted <= one.high
    assert n_bins == 1000
    # Clopper and Pearson's intervals hold at least 95 %; three standard deviations below that.
    assert n_inside >= 950 - 3 * np.sqrt(1000 * 0.05 * 0.95)
