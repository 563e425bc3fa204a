"""Samples that belong together: what they are worth, and words that do not contradict numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from chanceline.prediction.crossval import EFFECTIVE_SHARE, expected_error
from chanceline.prediction.interval import (
    clopper_pearson,
    cross_validated_interval,
    independent_samples,
)
from chanceline.significance import separation_test


def voices(seed, shift=1.0, subjects=14, rows=9):
    """Every subject has rows of both classes, a third of them positive, and a level of its own."""
    rng = np.random.default_rng(seed)
    subject = np.repeat(np.arange(subjects), rows)
    y = (rng.random(len(subject)) < 0.33).astype(float)
    X = rng.normal(size=(len(subject), 30)) + 0.7 * rng.normal(size=(subjects, 30))[subject]
    X[:, :6] += shift * y[:, None]
    return X, y, subject


def test_units_count_where_their_samples_are_alike_and_samples_where_they_are_not():
    rng = np.random.default_rng(0)
    units = np.repeat(np.arange(50), 4)
    alike = np.repeat(rng.random(50), 4)
    assert independent_samples(alike, units) == pytest.approx(50)
    assert independent_samples(np.full(200, 0.3), units) == pytest.approx(50)
    assert independent_samples(rng.random(200), np.arange(200)) == 200
    assert 150 < np.mean([independent_samples(rng.random(200), units) for _ in range(50)]) <= 200
    # Of units of very unequal size the large ones count most.
    unequal = np.repeat(np.arange(4), [90, 5, 3, 2])
    same = np.repeat(rng.random(4), [90, 5, 3, 2])
    assert independent_samples(same, unequal) == pytest.approx(100**2 / (90**2 + 25 + 9 + 4))


@pytest.mark.parametrize("correlation", [0.1, 0.4, 0.8])
def test_the_mean_scatters_as_that_of_so_many_independent_samples(correlation):
    """The variance of the mean, over tables drawn with this correlation within units."""
    rng = np.random.default_rng(1)
    units = np.repeat(np.arange(200), rng.integers(1, 9, size=200))
    means, worth = [], []
    for _ in range(400):
        values = np.sqrt(correlation) * rng.normal(size=200)[units]
        values += np.sqrt(1 - correlation) * rng.normal(size=len(units))
        means.append(values.mean())
        worth.append(independent_samples(values, units))
    assert np.mean(worth) == pytest.approx(1 / np.var(means), rel=0.15)


def test_tails_of_a_cross_validated_rate():
    """By binomial sums: at the lower end 6 or more errors of 50 have 1 %, at the upper 6 or fewer 4 %."""
    low, high = cross_validated_interval(0.12, 50)
    assert binom.sf(5, 50, low) == pytest.approx(0.01)
    assert binom.cdf(6, 50, high) == pytest.approx(0.04)
    # Further down and not so far up as with equal tails.
    equal_low, equal_high = clopper_pearson(6, 50)
    assert low < equal_low
    assert high < equal_high


def test_many_rows_of_few_subjects_are_worth_more_than_the_subjects():
    """Fourteen subjects with nine rows each were 5.6 samples: 12 % (0–61), no better than guessing."""
    X, y, subject = voices(3)
    found = expected_error(X, y, blocks=subject)
    assert found.rate < 0.15
    assert found.majority_error > 0.25
    assert EFFECTIVE_SHARE * 14 < found.n_effective <= EFFECTIVE_SHARE * 126
    assert found.interval == cross_validated_interval(found.rate, found.n_effective)
    assert found.interval[1] < found.majority_error
    assert found.knows_something
    assert found.better_than_majority


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    "shift", [pytest.param(0.0, marks=SLOW), pytest.param(0.5, marks=SLOW), 1.0]
)
@pytest.mark.parametrize("seed", range(1))
def test_words_error_and_area_agree(seed, shift):
    X, y, subject = voices(seed, shift)
    frame = pd.DataFrame(X).add_prefix("v").assign(subject=subject, status=y)
    result = separation_test(frame, label="status", blocks="subject", permutations=9)
    expected = result.rule.expected_error
    text = " ".join(result.story())
    assert ("not clearly better than guessing" in text) == (not expected.knows_something)
    if result.rule.features:
        assert (": not clearly better," in text) == (not expected.better_than_majority)
    assert expected.auc_interval[0] < expected.auc < expected.auc_interval[1]
    if expected.knows_something:
        assert expected.auc > 0.6
        assert result.rule.may_be_useful
    if expected.better_than_majority:
        assert expected.against_majority.won > expected.against_majority.lost
        assert expected.rate < expected.majority_error
    if shift == 1.0:
        assert expected.knows_something
    if shift == 0.0:
        assert not expected.knows_something
        assert not expected.better_than_majority
