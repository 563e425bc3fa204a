"""What to expect of a rule: errors and areas of samples left out, their intervals, the larger class."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest, mannwhitneyu, norm

from chanceline.prediction.against_majority import compare_with_majority, sign_test
from chanceline.prediction.area import area_interval, area_variance, cross_validated_area_interval
from chanceline.prediction.crossval import expected_error
from chanceline.prediction.held_out import score_held_out_samples
from chanceline.prediction.samples import make_samples
from chanceline.prediction.train import FeatureChoice, train


def planted(P=120, N=40, slope=3.0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(P, N))
    y = np.where(rng.random(P) < 1 / (1 + np.exp(-slope * (X[:, 3] - X[:, 11]))), 1, 0)
    return X, y


def test_every_sample_is_scored_by_a_rule_that_it_had_no_part_in():
    X, y = planted(P=60)
    samples = make_samples(X, y)
    held_out = score_held_out_samples(samples, FeatureChoice(), seed=4, n_repeats=2)
    assert held_out.fold_of_sample.shape == held_out.to_use.shape == (2, 60)
    assert not np.array_equal(held_out.fold_of_sample[0], held_out.fold_of_sample[1])
    in_fold = held_out.fold_of_sample[1] == 6
    by_hand = train(samples, ~in_fold, FeatureChoice(), [4, 3, 1, 6])
    wanted = by_hand.to_use.scores(samples)[in_fold]
    np.testing.assert_allclose(held_out.to_use[1, in_fold], wanted, atol=1e-12)
    assert held_out.n_features[16] == len(by_hand.to_use.support)
    wanted_few = by_hand.few.scores(samples)[in_fold]
    np.testing.assert_allclose(held_out.few[1, in_fold], wanted_few, atol=1e-12)


def test_numbers_are_those_of_the_samples_left_out():
    X, y = planted(P=60)
    found = expected_error(X, y)
    held_out = score_held_out_samples(make_samples(X, y), FeatureChoice(), seed=0)
    wrong = (held_out.to_use > 0) != y
    assert found.rate == pytest.approx(wrong.mean())
    assert found.sensitivity == pytest.approx(1 - wrong[:, y == 1].mean())
    assert found.specificity == pytest.approx(1 - wrong[:, y == 0].mean())
    assert found.balanced_rate == pytest.approx(
        (wrong[:, y == 1].mean() + wrong[:, y == 0].mean()) / 2
    )
    assert found.few_rate == pytest.approx(np.mean((held_out.few > 0) != y))
    assert found.few_minus_many.mean == pytest.approx(found.few_rate - found.many_rate)
    assert np.array_equal(found.predictions, held_out.to_use)
    assert found.interval[0] < found.rate < found.interval[1]
    assert found.majority_error == pytest.approx(min(y.mean(), 1 - y.mean()))
    assert 0.8 < found.auc <= 1
    assert (found.n_folds, found.n_repeats, len(found.n_features)) == (10, 3, 30)
    assert found.to_dict()["kind"] == "cross-validated"


def test_nothing_is_cross_validated_with_too_few_samples_of_a_class():
    X, _ = planted()
    assert expected_error(X[:6], [0, 0, 0, 0, 0, 1]) is None


def test_in_noise_that_can_be_separated_nothing_is_known():
    rng = np.random.default_rng(1)
    found = expected_error(rng.normal(size=(50, 50)), rng.permutation(50) % 2)
    assert found.rate > 0.35
    assert not found.knows_something
    assert not found.better_than_majority


@pytest.mark.parametrize("area", [0.5, 0.7, 0.9])
def test_the_variance_of_an_area_is_that_of_exponential_scores(area):
    """Hanley and McNeil's formula is exact for exponential scores, here drawn 4,000 times."""
    rng = np.random.default_rng(0)
    positives = rng.exponential(area / (1 - area), size=(4000, 12))
    negatives = rng.exponential(1.0, size=(4000, 20))
    areas = (positives[:, :, None] > negatives[:, None, :]).mean(axis=(1, 2))
    assert areas.mean() == pytest.approx(area, abs=0.01)
    assert area_variance(area, 12, 20) == pytest.approx(areas.var(), rel=0.1)


def test_one_half_is_outside_where_mann_and_whitney_say_so():
    rng = np.random.default_rng(2)
    for _ in range(20):
        scores = rng.normal(size=30) + np.r_[np.full(12, 0.7), np.zeros(18)]
        test = mannwhitneyu(scores[:12], scores[12:], method="asymptotic", use_continuity=False)
        low, high = area_interval(test.statistic / (12 * 18), 12, 18)
        assert (low > 0.5 or high < 0.5) == (test.pvalue < 0.05)


def test_an_interval_has_a_length_where_the_estimate_has_no_variance():
    low, high = area_interval(1.0, 10, 10)
    assert high == 1.0
    assert 0.6 < low < 0.95
    assert area_interval(1.0, 10, 10)[0] == pytest.approx(1 - area_interval(0.0, 10, 10)[1])
    assert np.isnan(area_interval(float("nan"), 5, 5)).all()


def test_tails_of_a_cross_validated_area():
    """At the lower end the estimate has 4 % above it, at the upper end 1 % below it."""
    low, high = cross_validated_area_interval(0.8, 15, 25)
    below_estimate = (0.8 - low) / np.sqrt(area_variance(low, 15, 25))
    above_estimate = (high - 0.8) / np.sqrt(area_variance(high, 15, 25))
    assert norm.sf(below_estimate) == pytest.approx(0.04)
    assert norm.sf(above_estimate) == pytest.approx(0.01)
    # Further up and not so far down as with equal tails.
    equal_low, equal_high = area_interval(0.8, 15, 25)
    assert low > equal_low
    assert high > equal_high
    assert np.isnan(cross_validated_area_interval(float("nan"), 5, 5)).all()


def test_the_larger_class_is_compared_sample_by_sample():
    positive = np.array([True] * 3 + [False] * 7)
    errors = np.array([0.0, 0.0, 1.0] + [1.0] + [0.0] * 6)
    found = compare_with_majority(errors, positive, independent_share=1.0)
    assert (found.won, found.lost) == (2.0, 1.0)
    assert found.pvalue == pytest.approx(binomtest(2, 3, alternative="greater").pvalue)
    # The other class larger: the same.
    again = compare_with_majority(errors, ~positive, independent_share=1.0)
    assert again == found
    # Equal classes: a coin.
    coin = compare_with_majority(errors, np.arange(10) % 2 == 0, independent_share=1.0)
    assert (coin.won, coin.lost) == (8.0, 2.0)
    assert coin.pvalue == pytest.approx(binomtest(8, 10, alternative="greater").pvalue)
    assert sign_test(0.0, 0.0) == 1.0
    assert found.better == (found.pvalue <= 0.05)


@pytest.mark.parametrize(("won", "lost"), [(13, 3), (29, 15), (5, 5)])
def test_the_sign_test_is_that_of_another_implementation(won, lost):
    wanted = binomtest(won, won + lost, alternative="greater").pvalue
    assert sign_test(won, lost) == pytest.approx(wanted)
