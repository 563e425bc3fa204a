"""The planted line: against closed forms, against `chance_size`, and against all sets of small tables."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import chanceline
from chanceline.select.plane import best_split
from chanceline.significance.noise_size import log_typical_sets
from chanceline.significance.planted import (
    PlantedRule,
    draw_true_errors,
    simulate_alone,
    true_set_is_alone,
    unrelated_line,
    unrelated_set_does_as_well,
)

SMALL = PlantedRule(n_features=7, n_true=2, noise=0.1, intercept=True)


@pytest.mark.parametrize("n_features", [51, 201, 1001])
def test_one_feature_without_threshold_has_a_closed_form(n_features):
    # Each of N − 1 columns of noise agrees with all P labels, or with none, with probability
    # 2^(1 − P); none does with probability one half where (N − 1)·2^(1 − P) = ln 2.
    rule = PlantedRule(n_features=n_features, n_true=1, noise=0.0, intercept=False)
    exact = 1 + np.log2((n_features - 1) / np.log(2))
    # The theory's limit, many true features, is as far off as it can be: some per cent too low.
    assert 0.9 * exact < unrelated_line(rule).samples < exact


@pytest.mark.parametrize("errors", [0, 3])
@pytest.mark.parametrize("intercept", [False, True])
def test_there_is_one_set_where_chance_has_its_typical_size(errors, intercept):
    typical = chanceline.chance_size(40, 120, errors=errors, intercept=intercept).typical

    def log_number(size: int) -> float:
        (value,) = log_typical_sets(
            40, 120, size, positives=[20], errors=errors, intercept=intercept
        )
        return value

    assert log_number(int(np.floor(typical))) < 0 < log_number(int(np.ceil(typical)))


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
    line = unrelated_line(rule)
    steps = []
    alone = simulate_alone(
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
