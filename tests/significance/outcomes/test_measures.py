"""What to expect: measures against scikit-learn, SciPy and scikit-survival; folds and rules."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr
from sklearn.linear_model import Ridge
from sklearn.metrics import balanced_accuracy_score, confusion_matrix as peer_confusion, r2_score
from sksurv.metrics import concordance_index_censored
from sksurv.nonparametric import kaplan_meier_estimator

import chanceline
from chanceline.significance.outcomes.deal import deal_by_class, deal_in_order
from chanceline.significance.outcomes.held_out_fits import HeldOutPredictions
from chanceline.significance.outcomes.measures import (
    CONCORDANCE_SHARE,
    R_SQUARED_SHARE,
    balanced_error,
    concordance,
    confusion_matrix,
    error_rate,
    r_squared,
    rank_correlation,
)
from chanceline.significance.outcomes.number import make_number
from chanceline.significance.outcomes.pictures import kaplan_meier
from chanceline.significance.outcomes.rule_samples import RuleSamples
from chanceline.significance.outcomes.score_rule import (
    fit_ridges,
    prepare_samples,
    train_score_rule,
)
from chanceline.significance.ridges import principal_axes, ridge_of_share

RNG = np.random.default_rng(0)


def one_repeat(predicted: np.ndarray, guessed: np.ndarray) -> HeldOutPredictions:
    """Predictions (samples, columns) of one repeat, all in one fold."""
    n_samples = len(predicted)
    return HeldOutPredictions(
        predicted=predicted[None],
        guessed=guessed[None],
        fold_of_sample=np.zeros((1, n_samples), dtype=np.int64),
        unit_of_sample=np.arange(n_samples),
        n_features=(1,),
    )


def test_r_squared_and_rank_correlation_are_those_of_peers():
    values = RNG.normal(size=40)
    predicted = values + RNG.normal(size=40)
    held_out = one_repeat(predicted[:, None], np.full((40, 1), values.mean()))
    assert r_squared(values, held_out).value == pytest.approx(r2_score(values, predicted))
    reference = spearmanr(values, predicted).statistic
    assert rank_correlation(values, held_out).value == pytest.approx(reference)


def test_the_error_of_r_squared_is_that_of_a_bootstrap():
    rng = np.random.default_rng(2)
    values = rng.normal(size=400)
    predicted = 0.6 * values + 0.6 * rng.normal(size=400)
    held_out = one_repeat(predicted[:, None], np.zeros((400, 1)))
    measure = r_squared(values, held_out)
    draws = []
    for _ in range(1000):
        rows = rng.integers(400, size=400)
        draws.append(1 - np.sum((values - predicted)[rows] ** 2) / np.sum(values[rows] ** 2))
    low, high = measure.interval
    # The interval counts a share of the samples.
    widening = np.sqrt(1 / R_SQUARED_SHARE)
    assert (high - low) / (2 * 1.98) == pytest.approx(widening * np.std(draws), rel=0.1)


def test_errors_and_confusion_are_those_of_scikit_learn():
    codes = RNG.integers(3, size=50)
    probabilities = RNG.dirichlet(np.ones(3), size=50)
    held_out = one_repeat(probabilities, probabilities)
    called = probabilities.argmax(axis=1)
    assert error_rate(codes, held_out).value == pytest.approx(np.mean(called != codes))
    balanced = 1 - balanced_accuracy_score(codes, called)
    assert balanced_error(codes, held_out).value == pytest.approx(balanced)
    np.testing.assert_allclose(confusion_matrix(codes, held_out), peer_confusion(codes, called))


def test_concordance_is_harrells_within_folds():
    times = np.ceil(RNG.exponential(5, size=60))
    events = RNG.random(60) < 0.6
    risks = np.round(RNG.normal(size=60), 1)
    held_out = one_repeat(risks[:, None], np.zeros((60, 1)))
    reference = concordance_index_censored(events, times, risks)[0]
    assert concordance(times, events, held_out).value == pytest.approx(reference)
    two_folds = HeldOutPredictions(
        predicted=held_out.predicted,
        guessed=held_out.guessed,
        fold_of_sample=(np.arange(60) % 2)[None],
        unit_of_sample=np.arange(60),
        n_features=(1, 1),
    )
    agreeing = 0.0
    pairs = 0.0
    for fold in range(2):
        rows = np.arange(60) % 2 == fold
        _, concordant, discordant, tied, _ = concordance_index_censored(
            events[rows], times[rows], risks[rows]
        )
        agreeing += concordant + tied / 2
        pairs += concordant + discordant + tied
    assert concordance(times, events, two_folds).value == pytest.approx(agreeing / pairs)


def test_the_error_of_concordance_is_that_of_repeated_samples():
    rng = np.random.default_rng(4)
    values = []
    lengths = []
    for _ in range(150):
        risks = rng.normal(size=80)
        times = rng.exponential(np.exp(-0.5 * risks))
        measure = concordance(
            times, np.ones(80, dtype=bool), one_repeat(risks[:, None], np.zeros((80, 1)))
        )
        low, high = measure.interval
        values.append(measure.value)
        lengths.append(high - low)
    # The interval counts a share of the samples.
    expected_length = 2 * 1.96 * np.sqrt(1 / CONCORDANCE_SHARE) * np.std(values)
    assert np.mean(lengths) == pytest.approx(expected_length, rel=0.15)


def test_survival_curve_is_that_of_kaplan_and_meier():
    times = np.ceil(RNG.exponential(5, size=40))
    events = RNG.random(40) < 0.6
    curve = kaplan_meier(times, events, "all")
    distinct, shares = kaplan_meier_estimator(events, times)
    np.testing.assert_allclose(curve.times[1:], distinct)
    np.testing.assert_allclose(curve.shares[1:], shares)


def test_folds_keep_units_together_and_outcomes_alike():
    units = np.arange(120) // 2
    order = RNG.normal(size=60)[units]
    folds = deal_in_order(order, units, n_folds=10, seed=[0])
    assert set(np.bincount(folds)) == {12}
    assert np.all(folds[::2] == folds[1::2])
    means = [order[folds == fold].mean() for fold in range(10)]
    assert np.std(means) < 0.5 * order.std() / np.sqrt(6)


def test_folds_have_all_classes_alike():
    """Without features the rule says the larger class: in every fold that of all samples."""
    class_of_group = np.repeat([0, 1, 2], [9, 8, 8])
    units = np.arange(75) // 3
    classes = class_of_group[units]
    folds = deal_by_class(classes, units, n_folds=5, seed=[0])
    assert np.all(folds.reshape(25, 3) == folds[::3, None])
    for fold in range(5):
        held_out = np.bincount(classes[folds == fold], minlength=3)
        assert np.ptp(held_out) <= 3  # one group of three rows
        assert np.bincount(classes[folds != fold]).argmax() == 0


def test_ridge_weights_are_those_of_scikit_learn():
    X = RNG.normal(size=(30, 50))
    y = X[:, 0] + RNG.normal(size=30)
    samples = RuleSamples(
        X=X,
        outcome=make_number(y, "y"),
        terms=np.zeros((30, 0)),
        unit_of_sample=np.arange(30),
        block_of_sample=np.zeros(30, dtype=np.int64),
    )
    prepared = prepare_samples(samples, np.ones(30, dtype=bool))
    penalty = ridge_of_share(principal_axes(prepared.columns).squared_lengths, 0.3)
    peer = Ridge(alpha=penalty).fit(prepared.columns, y)
    np.testing.assert_allclose(fit_ridges(prepared, [0.3])[0][:, 0], peer.coef_, atol=1e-9)


def test_a_choice_by_several_deals_depends_less_on_the_seed():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(50, 30))
    y = 0.9 * X[:, 0] + 0.6 * X[:, 1] + rng.normal(size=50)
    samples = RuleSamples(
        X=X,
        outcome=make_number(y, "y"),
        terms=np.zeros((50, 0)),
        unit_of_sample=np.arange(50),
        block_of_sample=np.zeros(50, dtype=np.int64),
    )
    every_row = np.ones(50, dtype=bool)

    def sizes(n_repeats):
        """Numbers of features that ten seeds choose."""
        rules = [train_score_rule(samples, every_row, [seed], n_repeats) for seed in range(10)]
        return {len(rule.support) for rule in rules}

    assert len(sizes(n_repeats=10)) < len(sizes(n_repeats=1))


def test_blocks_and_covariates_are_taken_out_of_training_samples():
    block = np.arange(60) % 3
    age = RNG.normal(size=60)
    X = RNG.normal(size=(60, 4)) + 5 * block[:, None] + 2 * age[:, None]
    y = 3.0 * block + age
    samples = RuleSamples(
        X=X,
        outcome=make_number(y, "y"),
        terms=age[:, None],
        unit_of_sample=np.arange(60),
        block_of_sample=block,
    )
    prepared = prepare_samples(samples, np.arange(60) < 45)
    np.testing.assert_allclose(prepared.targets, 0, atol=1e-12)
    design = np.column_stack([block[:45, None] == np.arange(3), age[:45]]).astype(float)
    np.testing.assert_allclose(design.T @ prepared.columns, 0, atol=1e-10)
    guesses = prepared.target_background.explained(block[45:], age[45:, None])
    np.testing.assert_allclose(guesses[:, 0], y[45:], atol=1e-12)


@pytest.mark.parametrize("kind", ["number", "classes", "survival"])
def test_rules_predict_and_their_expectation_is_better_than_guessing(kind):
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(90, 12))).add_prefix("g")
    if kind == "number":
        arguments = {"y": 1 + 2 * X["g2"] + 0.5 * rng.normal(size=90)}
    elif kind == "classes":
        codes = np.digitize(X["g2"] + 0.2 * rng.normal(size=90), [-0.5, 0.5])
        arguments = {"y": np.array(["low", "middle", "high"])[codes]}
    else:
        arguments = {"time": rng.exponential(np.exp(-2 * X["g2"])), "event": np.ones(90)}
    result = chanceline.separation_test(X, **arguments, permutations=19)
    assert result.expected.better_than_guessing
    assert result.rule.features[0] == "g2"
    predictions = result.predict(X)
    if kind == "number":
        assert np.corrcoef(predictions, arguments["y"])[0, 1] > 0.9
        assert f"{result.rule.weights[0, 0]:.4g}·g2" in result.rule.text
    elif kind == "classes":
        # The middle class of three along a line is predicted, too.
        assert set(predictions) == {"low", "middle", "high"}
        assert np.mean(predictions == arguments["y"]) > 0.7
    else:
        assert spearmanr(predictions, arguments["time"]).statistic < -0.5
