"""A rule on a second cohort: intervals and p-values by second routes, and what belongs together stays together."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from cohorts import ABOUT, GENES, cohort, pairs
from scipy.stats import binomtest

from chanceline import load_result, separation_test
from chanceline.chance.poisson_binomial import poisson_binomial_law, poisson_binomial_pmf
from chanceline.cohort.calibration import calibrate, calibration_slope, count_pvalue
from chanceline.cohort.confirmation import (
    SavedExpectation,
    error_interval,
    make_units,
    one_class_pvalue,
)
from chanceline.errors import InputError
from chanceline.prediction.area import area_interval, area_interval_of_blocks
from chanceline.prediction.interval import clopper_pearson
from chanceline.prediction.ridge_logistic import sigmoid
from chanceline.significance.declared_roles import DeclaredRoles


@pytest.fixture
def result(quick):
    """A rule on two genes that were named beforehand."""
    return separation_test(
        cohort(), label="outcome", features=["g0", "g1"], preregistered=True, drop=ABOUT, permutations=0
    )  # fmt: skip


def test_numbers_by_second_routes(result):
    new = cohort(seed=1)
    confirmation = result.confirm(new)
    is_ill = (new["outcome"] == "ill").to_numpy()
    called_ill = result.rule.scores(new[GENES]) > 0
    if result.positive_class == "well":
        called_ill = ~called_ill
    wrong = int(np.sum(called_ill != is_ill))
    assert confirmation.wrong == wrong
    exact = binomtest(wrong, len(new)).proportion_ci(method="exact")
    assert confirmation.error_interval == pytest.approx((exact.low, exact.high))
    # Against each class: samples won and lost, and the larger p-value.
    won_lost = [
        (np.sum(is_ill & called_ill), np.sum(~is_ill & called_ill)),
        (np.sum(~is_ill & ~called_ill), np.sum(is_ill & ~called_ill)),
    ]
    pvalues = [
        binomtest(int(won), int(won + lost), alternative="greater").pvalue for won, lost in won_lost
    ]
    assert confirmation.one_class_pvalue == pytest.approx(max(pvalues))
    assert confirmation.confirmed
    assert str(confirmation).startswith("CONFIRMED, p = ")
    assert json.dumps(confirmation.to_dict(), allow_nan=False)


@pytest.mark.parametrize(
    ("expected_interval", "words"),
    [((0.0, 0.001), "harder"), ((0.9, 1.0), "easier"), ((0.0, 1.0), None)],
)
def test_an_error_beyond_the_expected_one_is_said(result, expected_interval, words):
    confirmation = result.confirm(cohort(seed=1))
    low, high = expected_interval
    expected = SavedExpectation(
        error=(low + high) / 2, error_interval=expected_interval, area=None, area_interval=None
    )
    text = " ".join(str(replace(confirmation, expected=expected)).split())
    assert ("for the rule than expected" in text) == (words is not None)
    if words is not None:
        assert f"these samples are {words} for the rule than expected" in text


def test_a_rule_that_knows_nothing_is_not_confirmed(result):
    new = cohort(seed=2)
    rng = np.random.default_rng(0)
    confirmation = result.confirm(new.assign(outcome=rng.permutation(new["outcome"])))
    assert not confirmation.confirmed
    assert str(confirmation).startswith("NOT CONFIRMED, p = ")


def test_other_units_are_said_before_anything_else(result):
    text = str(result.confirm(cohort(seed=1).assign(g0=lambda table: 1000 * table["g0"])))
    assert text.startswith("  - 1 of 2 features looks as if measured in other units: 'g0'")


def test_groups_count_once_by_the_mean_of_their_scores(result):
    """Rows of a subject three times over, with noise: intervals are those of the subjects."""
    people = cohort(seed=3, rows=40).assign(subject=[f"S{number}" for number in range(40)])
    rows = pd.concat([people] * 3, ignore_index=True)
    rows[GENES] += 0.5 * np.random.default_rng(0).normal(size=(120, len(GENES)))
    with pytest.raises(InputError, match="declare it with groups='subject'"):
        result.confirm(rows)
    confirmation = result.confirm(rows, groups="subject")
    assert (confirmation.n_rows, confirmation.n_units) == (120, 40)
    means = rows.groupby("subject", sort=False)[GENES].mean()
    by_means = result.confirm(people.assign(**means.reset_index()[GENES]))
    assert confirmation.wrong == by_means.wrong
    assert confirmation.pvalue == pytest.approx(by_means.pvalue)
    assert "40 groups wrong" in str(confirmation)
    assert result.confirm(rows, independent=["subject"]).n_units == 120


def test_pairs_stay_together(quick, tmp_path):
    result = separation_test(pairs(), label="outcome", pairs="patient", permutations=0)
    result.save(tmp_path / "result.json")
    saved = load_result(tmp_path / "result.json")
    new = pairs(seed=1)
    confirmation = saved.confirm(new)
    assert confirmation.paired
    assert confirmation.calibration is None
    # In a new pair measured from its own mean the two scores lie opposite of the threshold, so that a pair is right or wrong.
    n_right = confirmation.sensitivity.right
    assert confirmation.specificity.right == n_right
    by_sign = binomtest(n_right, 40, alternative="greater").pvalue
    assert confirmation.pvalue == pytest.approx(by_sign)
    assert confirmation.one_class_pvalue == pytest.approx(by_sign)
    with pytest.raises(InputError, match="had pairs in column 'patient', which DataFrame does not"):
        saved.confirm(new.drop(columns="patient"))
    with pytest.raises(InputError, match="a pair must have one row of each class"):
        saved.confirm(new.drop(index=0))
    assert saved.confirm(new.rename(columns={"patient": "who"}), pairs="who").paired


@pytest.mark.parametrize("dependence", [0.0, 1.0])
def test_the_interval_of_pairs_holds_whatever_their_errors_have_in_common(dependence):
    """Both errors of a pair are 30 % likely; with full dependence they are always made together."""
    rng = np.random.default_rng(0)
    n_pairs, n_sets = 30, 400
    labels = np.tile([1.0, -1.0], n_pairs)
    declared = DeclaredRoles(pairs=np.repeat(np.arange(n_pairs), 2))
    n_covered = 0
    for _ in range(n_sets):
        both = rng.random((n_pairs, 2))
        if dependence == 1.0:
            both[:, 1] = both[:, 0]
        is_wrong = (both < 0.3).ravel()
        units = make_units(np.where(is_wrong, -labels, labels), labels, declared)
        low, high = error_interval(units)
        n_covered += low <= 0.3 <= high
    assert n_covered >= 0.95 * n_sets - 2 * np.sqrt(0.05 * 0.95 * n_sets)


def test_one_class_is_not_beaten_by_naming_it():
    """A rule that names the larger class always wins nothing, whatever the cohort."""
    labels = np.where(np.arange(50) < 40, 1.0, -1.0)
    assert one_class_pvalue(make_units(np.ones(50), labels, DeclaredRoles())) == 1.0


def test_blocks_of_one_pair_each_have_the_variance_of_a_coin():
    """Wilson's interval: the score interval of a share."""
    low, high = area_interval_of_blocks(0.8, [(1, 1)] * 50)
    wilson = binomtest(40, 50).proportion_ci(method="wilson")
    assert (low, high) == pytest.approx((wilson.low, wilson.high))
    assert area_interval_of_blocks(0.8, [(9, 12)]) == area_interval(0.8, 9, 12)


def test_confidence_of_an_interval():
    exact = binomtest(3, 20).proportion_ci(confidence_level=0.975, method="exact")
    assert clopper_pearson(3, 20, 0.975) == pytest.approx((exact.low, exact.high))


def test_the_law_of_a_count():
    probabilities = np.array([0.1, 0.5, 0.8, 0.3])
    law = poisson_binomial_law(probabilities)
    expected = np.array([1.0])
    for probability in probabilities:
        expected = np.convolve(expected, [1 - probability, probability])
    assert law == pytest.approx(expected)
    assert law[2] == pytest.approx(poisson_binomial_pmf(probabilities, 2))
    equal = np.full(30, 0.3)
    below = binomtest(4, 30, 0.3, alternative="less").pvalue
    assert count_pvalue(equal, 4) == pytest.approx(2 * below)


def test_the_slope_is_that_of_a_logistic_regression():
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(0)
    scores = 2 * rng.normal(size=300)
    positive = rng.random(300) < sigmoid(0.5 * scores)
    slope = calibration_slope(scores, positive)
    low, high = slope.interval
    peer = LogisticRegression(C=1e9, tol=1e-10).fit(scores[:, None], positive)
    assert slope.value == pytest.approx(peer.coef_[0, 0], rel=1e-5)
    assert low < 0.5 < high  # scores are twice too sure
    assert calibration_slope(scores, scores > 0.3) is None
    for size in (1e-7, 1e7):
        assert calibration_slope(size * scores, positive).value == pytest.approx(slope.value / size)
    found = calibrate(scores, positive)
    assert found.brier == pytest.approx(np.mean((sigmoid(scores) - positive) ** 2))


def test_probabilities_that_hold_are_seldom_doubted():
    """The p-value of the count is at most 5 % in at most 5 % of cohorts."""
    rng = np.random.default_rng(1)
    n_sets = 400
    n_doubted = 0
    for _ in range(n_sets):
        probabilities = sigmoid(2 * rng.normal(size=60))
        n_positive = int(np.sum(rng.random(60) < probabilities))
        n_doubted += count_pvalue(probabilities, n_positive) <= 0.05
    assert n_doubted <= 0.05 * n_sets + 2 * np.sqrt(0.05 * 0.95 * n_sets)


def test_classes_are_those_of_the_table_tested(result):
    new = cohort(seed=4)
    wanted = result.confirm(new).wrong
    written_otherwise = new.assign(outcome=new["outcome"].str.upper().add(" "))
    assert result.confirm(written_otherwise).wrong == wanted
    assert result.confirm(new.rename(columns={"outcome": "class"}), "class").wrong == wanted
    with pytest.raises(InputError, match="'outcome' has 'dead' in row 0, but the rule tells"):
        result.confirm(new.assign(outcome=["dead", *new["outcome"][1:]]))
    with pytest.raises(InputError, match="has no row of class 'ill'"):
        result.confirm(new[new["outcome"] == "well"])
    with pytest.raises(InputError, match="no label column 'outcome'"):
        result.confirm(new.drop(columns="outcome"))
    gap = new.assign(outcome=[None, *new["outcome"][1:]])
    with pytest.raises(InputError, match="is empty"):
        result.confirm(gap)
    assert result.confirm(gap, unlabelled="drop").n_rows == len(new) - 1


def graded(seed):
    """A second label with four values."""
    return cohort(seed).assign(
        grade=lambda table: (table["g0"] > 6) * 1.0 + (table["g1"] > 6) * 2.0
    )


def test_split_and_chosen_classes_are_made_as_in_the_table_tested():
    frame = graded(seed=0)
    new = graded(seed=1)
    options = {"features": ["g2", "g3"], "drop": [*ABOUT, "outcome"], "expected_error": False}
    split = separation_test(frame, label="grade", split_at=2.0, permutations=0, **options)
    is_wrong = (split.predict(new) == "≥2") != (new["grade"] >= 2)
    assert split.confirm(new).wrong == is_wrong.sum()
    chosen = separation_test(frame, label="grade", classes=("1", "2"), permutations=0, **options)
    confirmation = chosen.confirm(new)
    assert confirmation.n_rows == new["grade"].isin([1, 2]).sum() < len(new)
    assert "of other classes left out" in str(confirmation)
    against = separation_test(frame, label="grade", positive="3", permutations=0, **options)
    assert against.confirm(new).n_rows == len(new)


def test_samples_that_the_rule_was_made_from_confirm_nothing(result):
    old = cohort()
    new = cohort(seed=1)
    with pytest.raises(InputError, match=r"80 rows of the 80 of DataFrame .* cannot confirm it"):
        result.confirm(old)
    with pytest.raises(InputError, match="20 rows of the 100"):
        result.confirm(pd.concat([new, old[:20]], ignore_index=True))
    assert result.confirm(pd.concat([new, old[:1]], ignore_index=True)).n_rows == 81
    # Coarse values coincide by chance.
    coarse = {gene: lambda table, gene=gene: table[gene].round() for gene in GENES}
    rounded = separation_test(
        old.assign(**coarse), label="outcome", features=["g0"], drop=ABOUT, permutations=0, expected_error=False
    )  # fmt: skip
    assert rounded.confirm(new.assign(**coarse)).n_rows == 80
