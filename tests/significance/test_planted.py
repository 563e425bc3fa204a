"""The planted line: against closed forms, against `chance_size`, and against all sets of small tables."""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
import pytest

import chanceline
from chanceline.select.plane import best_split
from chanceline.significance.planted import (
    PlantedRule,
    draw_true_errors,
    samples_to_beat_all,
    samples_to_beat_unrelated,
    true_set_is_alone,
    unrelated_set_does_as_well,
)
from chanceline.significance.unrelated_sets import (
    NoiseSets,
    fair_coin_probability,
    log_typical_sets,
    one_feature_probability,
)

SMALL = PlantedRule(n_features=7, n_true=2, noise=0.1, intercept=True)


@pytest.mark.parametrize("n_features", [51, 201, 1001])
def test_one_feature_without_threshold_has_a_closed_form(n_features):
    # Each of N − 1 columns of noise agrees with all P labels, or with none, with probability
    # 2^(1 − P); none does with probability one half where (N − 1)·2^(1 − P) = ln 2.
    rule = PlantedRule(n_features=n_features, n_true=1, noise=0.0, intercept=False)
    exact = 1 + np.log2((n_features - 1) / np.log(2))
    # Between whole numbers of samples the line is interpolated.
    assert samples_to_beat_unrelated(rule).samples == pytest.approx(exact, rel=1e-2)


@pytest.mark.parametrize(("positives", "errors"), [(4, 1), (4, 3), (3, 2), (5, 3)])
def test_one_feature_has_the_probability_of_all_orders_of_the_labels(positives, errors):
    n_samples = 9
    n_good = 0
    for first in combinations(range(n_samples), positives):
        steps = np.full(n_samples, -1)
        steps[list(first)] = 1
        walk = np.cumsum(steps)
        fewest = min(positives - walk.max(), n_samples - positives + walk.min())
        n_good += fewest <= errors
    expected = n_good / comb(n_samples, positives)
    assert one_feature_probability(n_samples, positives, errors) == pytest.approx(expected)


@pytest.mark.parametrize("errors", [0, 1, 2])
def test_a_line_through_the_origin_turns_like_a_threshold_on_fair_coins(errors):
    rng = np.random.default_rng(5)
    n_samples, n_pairs = 10, 3000
    n_good = 0
    for _ in range(n_pairs):
        angles = np.sort(rng.uniform(0, 2 * np.pi, n_samples))  # of the points y·x
        ahead = (angles[None, :] - angles[:, None]) % (2 * np.pi)
        most_on_one_side = (ahead < np.pi).sum(axis=1).max()
        n_good += n_samples - most_on_one_side <= errors
    predicted = fair_coin_probability(n_samples, errors)
    slack = 3 * np.sqrt(predicted * (1 - predicted) / n_pairs)
    assert n_good / n_pairs == pytest.approx(predicted, abs=slack)


@pytest.mark.parametrize("errors", [2, 3])
def test_splits_of_one_set_clump_in_every_direction(errors):
    # Two features with a threshold: how often they make so few errors, by the best split of each.
    rng = np.random.default_rng(6)
    n_samples, n_pairs = 14, 1500
    y = np.repeat([1.0, -1.0], n_samples // 2)
    n_good = sum(
        best_split(rng.standard_normal((n_samples, 2)), y).errors <= errors for _ in range(n_pairs)
    )
    noise = NoiseSets(n_samples, 2, n_samples // 2, errors, intercept=True)
    measured = noise.log_expected(2) - np.log(n_good / n_pairs)
    of_one_set = 2 * (noise.log_expected(1) - np.log(2)) - 2 * np.log(
        one_feature_probability(n_samples, n_samples // 2, errors)
    )
    # Directions are not quite independent; one of them would have half of it.
    assert 0.9 * of_one_set < measured < 1.35 * of_one_set


@pytest.mark.parametrize(("size", "errors"), [(1, 0), (2, 1), (3, 2)])
def test_expected_splits_of_all_class_sizes_are_covers(size, errors):
    # Labels by a fair coin: P_sep is then Cover's probability in one dimension more.
    n_samples, n_features = 12, 20
    expected = sum(
        comb(n_samples, positives)
        / 2**n_samples
        * np.exp(
            NoiseSets(n_samples, n_features, positives, errors, intercept=True).log_expected(size)
        )
        for positives in range(n_samples + 1)
    )
    cover = 2 * sum(comb(n_samples - 1, k) for k in range(size + 1))
    ball = sum(comb(n_samples, k) for k in range(errors + 1))
    assert expected == pytest.approx(comb(n_features, size) * cover * ball / 2**n_samples)


def pair_separates(labelled_rows) -> np.ndarray:
    """Whether each pair of columns, without a threshold, separates rows y·x: (pairs,)."""
    first, second = np.triu_indices(labelled_rows.shape[1], k=1)
    angles = np.sort(np.arctan2(labelled_rows[:, first], labelled_rows[:, second]), axis=0)
    gaps = np.diff(angles, axis=0, append=angles[:1] + 2 * np.pi)
    return gaps.max(axis=0) > np.pi


@pytest.mark.parametrize(("n_samples", "n_features"), [(12, 24), (16, 100)])
def test_few_features_separate_noise_as_often_as_exact_counts_say(n_samples, n_features):
    rng = np.random.default_rng(17)
    n_tables = 400
    n_without = 0
    for _ in range(n_tables):
        rows = rng.standard_normal((n_samples, n_features))
        n_without += not pair_separates(rows).any()
    (log_number,) = log_typical_sets(
        n_samples, n_features, 2, positives=[n_samples // 2], errors=0, intercept=False
    )
    predicted = np.exp(-np.exp(log_number))
    # Three standard errors. The first moment alone, without clumps, has less than a third of it.
    slack = 3 * np.sqrt(predicted * (1 - predicted) / n_tables)
    assert n_without / n_tables == pytest.approx(predicted, abs=slack)
    assert 0.3 < predicted < 0.7


@pytest.mark.parametrize("errors", [0, 3])
@pytest.mark.parametrize("intercept", [False, True])
def test_there_is_one_set_where_chance_has_its_typical_size(errors, intercept):
    typical = chanceline.chance_size(40, 120, errors=errors, intercept=intercept).typical
    sizes = np.arange(1, 12)
    log_numbers = []
    for size in sizes.tolist():
        log_numbers += log_typical_sets(
            40, 120, size, positives=[20], errors=errors, intercept=intercept
        )
    size_of_one = np.interp(0.0, log_numbers, sizes)
    # `chance_size` takes the limit of many features as it is; here it is less for few.
    assert typical - 0.4 < size_of_one < typical


def test_unequal_classes_are_separated_by_more_sets():
    equal, unequal = log_typical_sets(30, 100, 3, positives=[15, 8], errors=0, intercept=True)
    assert unequal > equal + 0.5


def test_numbers_of_sets_at_the_ends():
    def log_number(n_samples: int, n_features: int, errors: int) -> float:
        (value,) = log_typical_sets(
            n_samples, n_features, 1, positives=[n_samples // 2], errors=errors, intercept=True
        )
        return value

    assert log_number(20, 100, errors=10) == np.inf
    assert log_number(100, 20, errors=0) == -np.inf


def test_a_study_that_grows_keeps_its_samples():
    small = SMALL.draw(10, n_columns=7, seed=3)
    large = SMALL.draw(25, n_columns=7, seed=3)
    assert np.array_equal(large.X[:10], small.X)
    assert np.array_equal(large.y[:10], small.y)


def test_wrong_labels_are_as_many_as_asked_for():
    right = PlantedRule(7, 2, 0.0, True).draw(30, n_columns=7, seed=1)
    wrong = SMALL.draw(30, n_columns=7, seed=1, n_wrong=4)
    assert np.array_equal(right.X, wrong.X)
    assert np.sum(right.y != wrong.y) == 4


def test_true_errors_are_fewer_than_wrong_labels():
    errors = draw_true_errors(PlantedRule(10, 1, 0.2, True), 30)
    # The mean number of wrong labels is 6; a fitted rule makes some of them right.
    assert 3.5 < errors.mean() < 6


def brute_force_errors(table, pairs) -> int:
    return min(best_split(table.X[:, pair], table.y).errors for pair in pairs)


def test_rivals_are_those_that_all_pairs_show():
    found = {"alone": 0, "unrelated": 0}
    for seed in range(12):
        table = SMALL.draw(14, n_columns=7, seed=seed)
        true_errors = best_split(table.X[:, :2], table.y).errors
        pairs = [list(pair) for pair in combinations(range(7), 2)]
        others = [pair for pair in pairs if pair != [0, 1]]
        disjoint = [pair for pair in pairs if min(pair) >= 2]
        is_alone = brute_force_errors(table, others) > true_errors
        is_beaten = brute_force_errors(table, disjoint) <= true_errors
        assert true_set_is_alone(SMALL, table) == is_alone
        assert unrelated_set_does_as_well(SMALL, table) == is_beaten
        found["alone"] += is_alone
        found["unrelated"] += is_beaten
    # Both answers occur.
    assert 0 < found["alone"] < 12
    assert 0 < found["unrelated"] < 12


def test_the_only_set_comes_later_than_the_end_of_unrelated_ones():
    rule = PlantedRule(n_features=20, n_true=2, noise=0.0, intercept=False)
    line = samples_to_beat_unrelated(rule)
    steps = []
    alone = samples_to_beat_all(
        rule, line.samples, 8, progress=lambda done, total: steps.append((done, total))
    )
    assert alone.samples > line.samples
    assert alone.error > 0
    assert steps[-1] == (8, 8)


def test_plan_with_noise(command):
    code, out, err = command("plan", "-N", "20", "-M", "1", "--noise", "0.0", "--tables", "2", "-q")
    assert code == 0, err
    assert "unrelated features do as well" in out
    assert "the true set is the only one" in out


@pytest.mark.parametrize(
    ("options", "culprit"),
    [
        (["-M", "3", "--noise", "0.45"], "the noise"),
        (["-M", "30", "--noise", "0.1"], "the number of true features"),
        (["--noise", "0.1"], "-M"),
        (["-M", "3", "-P", "30", "--noise", "0.1"], "-P"),
        (["-M", "3", "--noise", "0.1", "--tables", "-1"], "tables"),
    ],
)
def test_mistakes_about_noise_get_one_sentence(command, options, culprit):
    code, out, err = command("plan", "-N", "50", *options)
    assert code == 2
    assert out == ""
    assert culprit in err
    assert err.count("\n") == 1
