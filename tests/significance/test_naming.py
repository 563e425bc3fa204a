"""Who is named in the first line: the smallest set that convinces, and what adds to it."""

from __future__ import annotations

import json
from math import log10

import numpy as np
import pytest
from scipy.stats import binom, f as f_distribution

from chanceline.chance import chance_bound
from chanceline.prediction.candidates import Family
from chanceline.prediction.stability import selection_stability
from chanceline.significance import separation_test
from chanceline.significance.additions import NAMING_SHARE, AdditionNull, f_statistic
from chanceline.significance.config import TestSettings
from chanceline.significance.observed_path import columns_for_path
from chanceline.significance.outliers import clip_outliers
from chanceline.significance.plan import make_plan
from chanceline.significance.shuffle_stage import follow_first_batch
from chanceline.significance.span_of_set import span_of_set
from chanceline.significance.stages import Stage
from chanceline.tables.array_input import dataset_of_arrays

LEVEL = 0.05


def shifted_table(seed, n_samples, n_features, distances):
    """Balanced classes whose means lie so far apart in the first columns."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat([1.0, -1.0], n_samples // 2))
    X = rng.normal(size=(n_samples, n_features))
    X[:, : len(distances)] += np.array(distances) / 2 * y[:, None]
    return X, y


def halfspace_table(seed, n_samples, n_features):
    """Two columns separate together."""
    X = np.random.default_rng(seed).normal(size=(n_samples, n_features))
    return X, np.where(X[:, 0] + X[:, 1] > 0, 1.0, -1.0)


def plan_of(X, y, **settings):
    names = [f"x{j}" for j in range(X.shape[1])]
    dataset = dataset_of_arrays(X, y, {}, feature_names=names, positive=None)
    return make_plan(dataset, None, TestSettings(expected_error=False, **settings))


def left_unexplained(X, y, support):
    """Squares that least squares with a constant on some columns leaves, by numpy alone."""
    predictors = np.column_stack([np.ones(len(y)), X[:, support]])
    weights = np.linalg.lstsq(predictors, y, rcond=None)[0]
    return float(np.sum((y - predictors @ weights) ** 2))


def test_one_true_feature_is_named_and_not_the_seven_that_separate():
    X, y = shifted_table([5, 1], 100, 300, [2.0])
    result = separation_test(X, y, permutations=99, expected_error=False, budget=2000)
    assert (result.stage, result.separating.n_selected) == (Stage.DECLARED_ERRORS, 7)
    assert (result.evidence.k, result.evidence.features) == (1, ("x0",))
    assert result.reason.endswith(
        "The p-value is that of 7 features with no error; x0 convinces alone."
    )
    # The p-value is still that of the seven.
    assert result.log10_pvalue == chance_bound(100, 300, 7, positives=50).log10_p


def test_two_that_separate_together_are_both_told():
    X, y = halfspace_table([5, 1], 60, 100)
    result = separation_test(X, y, permutations=199, expected_error=False)
    evidence = result.evidence
    added = [addition.feature for addition in evidence.additions]
    assert (evidence.k, sorted([*evidence.features, *added])) == (1, ["x0", "x1"])
    assert evidence.additions[0].errors == 0 < evidence.errors
    words = f"with {added[0]} as well 0 errors instead of {evidence.errors}"
    assert words in result.reason
    assert {"x0", "x1"} <= set(result.columns)
    # The front knows of it.
    assert result.front[1].errors == 0


def test_a_pair_that_only_together_convinces_is_named_whole():
    """Two columns of correlation .98 whose difference decides: neither says anything alone."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(60, 100))
    X[:, 1] = 0.98 * X[:, 0] + np.sqrt(1 - 0.98**2) * X[:, 1]
    y = np.where(X[:, 0] > X[:, 1], 1.0, -1.0)
    result = separation_test(X, y, permutations=199)
    assert (result.evidence.features, result.evidence.unsettled) == (("x0", "x1"), ())
    for reading in result.named:
        assert reading.convinces_without is False
        assert reading.pvalue <= NAMING_SHARE * LEVEL
        assert reading.adds == pytest.approx(result.evidence.explained, abs=0.1)


def test_no_smaller_set_that_was_found_convinces():
    """By the front's p-values and by the bound, over again."""
    sizes = []
    for seed in range(6):
        X, y = shifted_table([seed, 3], 60, 40, [1.1, 0.9])
        result = separation_test(
            X, y, permutations=99, expected_error=False, always_permute=True, budget=100
        )
        if result.evidence.k is None or not result.evidence.convinces:
            continue
        spent = result.spending.spent_before_shuffles
        convincing = [point.k for point in result.front if point.pvalue + spent <= LEVEL]
        for point in result.front:
            bound = chance_bound(60, 40, point.k, positives=30, errors=point.errors)
            log10_counted = bound.log10_p + point.errors * log10(2)
            # Stage 2 asks for less than its share, with a factor 2 and what stage 1 may spend.
            share_left = result.spending.stage2_level - result.spending.stage1_used
            if share_left > 0 and log10_counted + log10(2) <= log10(share_left):
                convincing.append(point.k)
        assert result.evidence.k <= min(convincing)
        sizes.append(result.evidence.k)
    assert len(sizes) >= 3
    assert min(sizes) == 1


def test_of_a_set_that_one_feature_carries_the_other_is_not_named():
    """The pair convinces, and the second column is noise: the first line says "and 1 more"."""
    for seed in (7, 10):
        X, y = shifted_table([seed, 8], 40, 100, [1.3])
        result = separation_test(X, y, permutations=199, expected_error=False, budget=100)
        evidence = result.evidence
        assert evidence.convinces
        assert (evidence.k, evidence.features, len(evidence.unsettled)) == (2, ("x0",), 1)
        assert "K = 2 (x0 and 1 more): " in result.reason
        assert [reading.feature for reading in result.named] == ["x0"]
        assert evidence.unsettled[0] not in " ".join(result.story()[:1])


def test_nobody_is_named_where_small_sets_convince_only_together_with_many():
    for seed in (9, 31, 60):
        X, y = shifted_table([seed, 9], 40, 60, [0.5] * 12)
        result = separation_test(X, y, permutations=99, expected_error=False, budget=50)
        evidence = result.evidence
        assert (result.verdict, evidence.spread, evidence.convinces) == ("structure", False, False)
        assert (evidence.features, result.named) == ((), ())
        assert result.reason.startswith(f"K = {evidence.k} (not settled which): ")
        assert result.reason.endswith("few and many features together do.")


def test_r2_and_next_column_by_brute_force():
    X, y = shifted_table(2, 30, 12, [1.0, 1.0])
    X = np.clip(X, -2, 2)  # far within what the path clips
    plan = plan_of(X, y, permutations=9)
    columns = columns_for_path(plan)
    support = np.array([0, 5])
    span = span_of_set(plan, columns, support)
    total = left_unexplained(X, y, [])
    left = left_unexplained(X, y, support)
    assert span.explained == pytest.approx(1 - left / total)
    others = [j for j in range(12) if j not in support]
    left_with = {j: left_unexplained(X, y, [*support, j]) for j in others}
    best = min(left_with, key=left_with.get)
    found = span.next_column(columns)
    assert (found.feature, found.share) == (best, pytest.approx(1 - left_with[best] / left))


def test_nothing_is_left_to_explain_by_the_labels_themselves():
    X, y = shifted_table(2, 30, 3, [1.0])
    X[:, 1] = y
    plan = plan_of(X, y, permutations=9)
    columns = columns_for_path(plan)
    assert span_of_set(plan, columns, np.array([1])).next_column(columns) is None


def test_f_is_that_of_nested_models():
    """F of one more column, by the squares that both models leave."""
    X, y = shifted_table(3, 40, 3, [1.0, 0.5])
    smaller = left_unexplained(X, y, [0])
    larger = left_unexplained(X, y, [0, 1])
    by_models = (smaller - larger) / (larger / (40 - 3))
    share = np.array(1 - larger / smaller)
    n_dimensions = 40 - 2  # beside the constant and the first column
    assert f_statistic(share, n_dimensions) == pytest.approx(by_models)
    without_shuffles = AdditionNull(np.zeros(0), n_columns=3, n_dimensions=39)
    assert without_shuffles.pvalue(float(share), n_others=1) == pytest.approx(
        min(1.0, 3 * f_distribution.sf(by_models, 1, 37))
    )


def test_noise_is_seldom_added():
    """One true feature of 30: chance adds another to it as often as it may, and hardly more."""
    pvalues = []
    for seed in range(200):
        X, y = shifted_table([seed, 6], 40, 30, [1.5])
        plan = plan_of(X, y, permutations=99)
        path, losses = follow_first_batch(plan)
        shuffled = f_statistic(1 - losses.losses.path[1:, 0], 39)
        null = AdditionNull(shuffled, n_columns=30, n_dimensions=39)
        best_of_rest = span_of_set(plan, path.columns, np.array([0])).next_column(path.columns)
        pvalues.append(null.pvalue(best_of_rest.share, n_others=1))
    for level in (0.01, 0.05, 0.2):
        n_small = np.count_nonzero(np.array(pvalues) <= level)
        assert n_small <= binom.ppf(0.999, 200, level)
    assert np.mean(pvalues) == pytest.approx(0.5, abs=0.08)


def test_halves_are_those_of_the_stability_of_the_set():
    X, y = shifted_table(1, 60, 30, [2.2])
    result = separation_test(X, y, permutations=99)
    assert result.verdict == "structure"
    assert result.evidence.features == ("x0",)
    stability = selection_stability(X, y, [0], family=Family.STEPWISE, prepare=clip_outliers)
    share = stability.readings[0].selected
    assert result.named[0].selected_in_halves == share > 0.5
    assert f"x0: forward selection of 1 feature takes it in {100 * share:.0f} % of halves" in str(
        result
    )
    record = json.loads(json.dumps(result.to_dict()))
    assert record["named"][0]["selected_in_halves"] == share
    assert record["evidence"]["features"] == ["x0"]
    # Without a rule to use halves are not looked at; without structure nobody is named for it.
    assert separation_test(X, y, expected_error=False).named[0].selected_in_halves is None


def test_halves_ask_as_the_proof_of_one_feature_did():
    """Of two features that go with the classes one is better by values, the proven one by ranks."""
    rng = np.random.default_rng(3)
    y = np.repeat([1.0, -1.0], 150)
    X = rng.normal(size=(300, 20))
    X[:, 4] = np.sign(X[:, 4] + 0.8 * y) * np.abs(X[:, 4] + 0.8 * y) ** 3
    X[:, 7] += 0.72 * y
    result = separation_test(X, y, permutations=99)
    assert result.evidence.features == ("x4",)
    assert result.evidence.is_proven_alone
    share = result.named[0].selected_in_halves
    stepwise = selection_stability(X, y, [4], family=Family.STEPWISE, prepare=clip_outliers)
    assert stepwise.readings[0].selected + 0.2 < share
    said = f"x4: no other goes better with the classes in {100 * share:.0f} % of halves"
    assert said in str(result)


def test_features_of_the_users_choice_are_named_as_they_are():
    X, y = shifted_table(1, 60, 30, [2.5])
    after = separation_test(X, y, features=["x0", "x7"], permutations=99, expected_error=False)
    assert (after.evidence.features, after.evidence.unsettled) == (("x0", "x7"), ())
    before = separation_test(
        X, y, features=["x0"], preregistered=True, permutations=99, expected_error=False
    )
    assert (before.evidence.features, before.evidence.additions) == (("x0",), ())


@pytest.mark.parametrize("permutations", [0, 99])
def test_nothing_adds_to_a_feature_that_is_the_labels(permutations):
    X, y = shifted_table(1, 30, 10, [])
    X[:, 0] = y
    result = separation_test(
        X, y, features=["x0", "x1"], permutations=permutations, expected_error=False
    )
    labels_themselves, other = result.named
    assert (labels_themselves.feature, other.feature) == ("x0", "x1")
    # Of what the other leaves the labels explain all, so that chance never does as well.
    assert labels_themselves.pvalue == pytest.approx(1 / (1 + permutations) if permutations else 0)
    assert (other.adds, other.pvalue) == (pytest.approx(0, abs=1e-9), 1.0)


@pytest.mark.parametrize("role", ["blocks", "groups", "adjust"])
def test_what_a_feature_adds_is_the_r2_of_the_front_in_every_design(role):
    X, y = shifted_table(5, 80, 20, [3.0])
    values = np.repeat(np.arange(40), 2) if role == "groups" else np.arange(80) % 4
    if role == "groups":
        # Rows of a group share their label.
        y = np.repeat(np.tile([1.0, -1.0], 20), 2)
        X[:, 0] += 1.5 * y
    result = separation_test(
        X, y, **{role: values}, permutations=99, expected_error=False, always_permute=True
    )
    assert result.evidence.features == ("x0",)
    assert result.named[0].adds == pytest.approx(result.front[0].explained, abs=1e-6)
