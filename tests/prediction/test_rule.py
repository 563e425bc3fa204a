"""The rule for new samples: its path and its fits by another route, its design, and what it finds."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, lars_path

from chanceline.errors import InputError
from chanceline.prediction.candidates import Family, RuleCandidate, describe, mean_penalty
from chanceline.prediction.choose import choose_candidates
from chanceline.prediction.crossval import expected_error
from chanceline.prediction.dense import DENSE_PENALTIES, dense_directions
from chanceline.prediction.interval import clopper_pearson
from chanceline.prediction.paths import least_angle_path, stepwise_path
from chanceline.prediction.ranking import samples_for_ranking
from chanceline.prediction.ridge_logistic import fit_one_ridge_logistic, fit_ridge_logistic
from chanceline.prediction.rule import fit_rule
from chanceline.prediction.samples import make_samples
from chanceline.prediction.scaling import fit_scale, residualize
from chanceline.prediction.screening import ScreeningLimits, screen_columns
from chanceline.prediction.stability import stability_of_support
from chanceline.prediction.train import FeatureChoice, train


def planted(P=120, N=40, slope=3.0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(P, N)) * rng.uniform(0.1, 10, size=N) + rng.normal(size=N)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    y = np.where(rng.random(P) < 1 / (1 + np.exp(-slope * (Z[:, 3] - Z[:, 11]))), 1, 0)
    return X, y


@pytest.mark.parametrize("seed", range(12))
def test_the_path_is_that_of_another_implementation(seed):
    rng = np.random.default_rng(seed)
    P, N = [(60, 200), (50, 30), (100, 40), (30, 300)][seed % 4]
    # A common part makes columns correlated.
    X = rng.normal(size=(P, N)) + rng.normal(size=(P, 1)) * (seed % 3)
    target = np.sign(X[:, 0] - X[:, 3] + rng.normal(size=P))
    X, target = X - X.mean(axis=0), target - target.mean()
    X /= np.linalg.norm(X, axis=0)
    # Near as many columns as samples the other one leaves some out.
    joined = lars_path(X, target, method="lar", max_iter=12)[1]
    assert [support.tolist() for support in least_angle_path(X, target, 12)] == [
        joined[:size] for size in range(13)
    ]


@pytest.mark.parametrize("seed", range(4))
def test_stepwise_adds_what_lowers_the_residual_most(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 25)) + rng.normal(size=(30, 1)) * seed
    target = np.sign(X[:, 0] - X[:, 3] + rng.normal(size=30))
    X, target = X - X.mean(axis=0), target - target.mean()
    X /= np.linalg.norm(X, axis=0)
    support: list[int] = []
    for _ in range(6):
        rest = [j for j in range(25) if j not in support]
        support.append(
            min(rest, key=lambda j: np.linalg.lstsq(X[:, [*support, j]], target, rcond=None)[1][0])
        )
    assert [found.tolist() for found in stepwise_path(X, target, 6)] == [
        support[:size] for size in range(7)
    ]


@pytest.mark.parametrize("path", [least_angle_path, stepwise_path])
def test_copies_and_constants_never_join(path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 6))
    X[:, 2] = X[:, 1] = X[:, 0]
    X[:, 5] = 0
    X -= X.mean(axis=0)
    X /= np.maximum(np.linalg.norm(X, axis=0), 1e-300)
    last = path(X, X[:, 0] + X[:, 3] - X[:, 4], 6)[-1]
    assert sorted(last.tolist()) == [0, 3, 4]


@pytest.mark.parametrize("shape", [(40, 90), (90, 40)])
def test_dense_directions_are_those_of_another_implementation(shape):
    rng = np.random.default_rng(5)
    X, age = rng.normal(size=shape) * rng.uniform(1, 5, size=shape[1]), rng.normal(size=shape[0])
    y = np.where(X[:, 0] + 2 * age + rng.normal(size=shape[0]) > 0, 1.0, -1.0)
    samples = make_samples(X, y, covariates=age)
    scale = fit_scale(samples, samples.all_rows)
    residualized = residualize(samples, scale)
    columns, target, lengths = residualized
    beside = np.column_stack([np.ones(len(y)), age])
    for size, (support, weights) in zip(
        (20, shape[1]), dense_directions(residualized, (20, shape[1])), strict=True
    ):
        assert set(support.tolist()) == set(np.argsort(-np.abs(target @ columns))[:size].tolist())
        chosen, products = columns[:, support], np.sort(np.abs(target @ columns))[::-1]
        # Column by column: what the constant and age leave of it, at length 1.
        rest = X[:, support] - LinearRegression().fit(beside, X[:, support]).predict(beside)
        assert np.allclose(np.abs(chosen), np.abs(rest / np.linalg.norm(rest, axis=0)))
        left_out = products[size] if size < shape[1] else 0.0
        soft = np.sqrt(1 - left_out / np.abs(target @ chosen))
        mean = np.linalg.svd(chosen * soft, compute_uv=False) ** 2
        for row, penalty in zip(weights, DENSE_PENALTIES, strict=True):
            model = Ridge(alpha=penalty * mean.sum() / min(len(y), size), fit_intercept=False).fit(
                chosen * soft, target
            )
            assert np.allclose(row * lengths[support], model.coef_ * soft, atol=1e-8)
        # With a large ridge they are shrunken centroids: differences of the means less that of the best column left out.
        shrunken = np.sign(target @ chosen) * (np.abs(target @ chosen) - left_out)
        assert np.corrcoef(row * lengths[support], shrunken)[0, 1] > 0.9999


def test_large_tables_are_ranked_in_single_precision():
    """Large means and batches cost no digits; paths and dense directions are those of double precision."""
    rng = np.random.default_rng(8)
    X, y = rng.normal(size=(50, 4200)), np.repeat([1.0, -1.0], 25)
    X[:, :3] += 0.8 * y[:, None]
    X[:, 3] = X[:, 0]
    blocks = np.arange(50) % 2
    X = 1e5 + 300.0 * blocks[:, None] + 0.01 * X
    samples = make_samples(X, y, blocks=blocks)
    scale = fit_scale(samples, samples.all_rows)
    ranked = samples_for_ranking(samples, scale)
    assert ranked.X.dtype == np.float32
    single = residualize(ranked, fit_scale(ranked, ranked.all_rows))
    double = residualize(samples, scale)
    np.testing.assert_allclose(single.columns, double.columns, atol=1e-6)
    for path in (least_angle_path, stepwise_path):
        supports = path(double.columns, double.target, 9)
        assert supports[-1].tolist() == path(single.columns, single.target, 9)[-1].tolist()
        assert not {0, 3} <= set(supports[-1].tolist())
    in_single, in_double = (dense_directions(each, [32, 64, 4200]) for each in (single, double))
    for ours, other in zip(in_single, in_double, strict=True):
        # The weights of scaled columns; their scale is 1 in the one and that of X in the other.
        assert set(ours.support[:32]) == set(other.support[:32])
        np.testing.assert_allclose(
            np.sort(ours.weights, axis=1), np.sort(other.weights, axis=1), atol=1e-4
        )

    small = make_samples(X[:, :100], y)
    assert samples_for_ranking(small, fit_scale(small, small.all_rows)) is small


def test_many_features_where_no_small_set_does_as_well_and_none_where_nothing_is():
    rng = np.random.default_rng(6)
    y = np.arange(100) % 2
    X = rng.normal(size=(100, 400)) + 0.3 * y[:, None]
    fresh = rng.normal(size=(4000, 400)) + 0.3 * (np.arange(4000) % 2)[:, None]
    rule, small = fit_rule(X, y), fit_rule(X, y, max_features=30)
    wrong = [np.mean((one.scores(fresh) > 0) != np.arange(4000) % 2) for one in (rule, small)]
    assert rule.dense
    assert len(rule.support) > 100
    assert not small.dense
    assert len(small.support) <= 30
    assert wrong[0] < 0.1 < 0.2 < wrong[1]
    # Probabilities are those of new samples: where they are nearly sure, as many are positive as they say.
    chances = rule.probabilities(fresh)
    for low in (0.0, 0.9):
        inside = (chances >= low) & (chances < low + 0.1)
        assert np.mean(np.arange(4000)[inside] % 2) == pytest.approx(
            chances[inside].mean(), abs=0.1
        )
    assert (
        sum(
            len(fit_rule(rng.normal(size=(60, 100)), np.arange(60) % 2, seed=seed).support) == 0
            for seed in range(10)
        )
        >= 5
    )


def test_a_dense_rule_says_what_it_is_the_mean_of():
    """It reported the last of several ridges as if there were no other."""
    rng = np.random.default_rng(0)
    y = np.arange(80) % 2
    X = rng.normal(size=(80, 200))
    X[:, :60] += 0.5 * y[:, None]
    averaged = choose_candidates(make_samples(X, y), None, [0], n_repeats=10).many
    penalties = [candidate.penalty for candidate in averaged]
    sizes = [candidate.n_features for candidate in averaged]
    assert len(set(sizes)) > 1
    rule = fit_rule(X, y)
    assert rule.penalty == pytest.approx(np.exp(np.mean(np.log(penalties))))
    assert len(set(penalties)) > 1
    ridges = f"ridges {min(penalties):g}–{max(penalties):g}"
    features = f"{min(sizes)}–{max(sizes)} features"
    wanted = f"many features, mean of {len(averaged)} rules with {ridges} on {features}"
    assert rule.kind == f"{wanted}, tuned by cross-validation"
    assert len(rule.support) == max(sizes) == 200
    # Of one rule its own ridge, as it is; of several that have something in common, one number.
    few = RuleCandidate(Family.LEAST_ANGLE, 3, 0.3)
    assert describe([few]) == "least angle regression, ridge 0.3"
    assert mean_penalty([few]) == 0.3
    dense = [RuleCandidate(Family.DENSE, 64, penalty) for penalty in (0.01, 1.0)]
    assert describe(dense) == "many features, mean of 2 rules with ridges 0.01–1 on 64 features"
    assert mean_penalty(dense) == pytest.approx(0.1)


def test_a_rule_has_its_family_beside_the_sentence():
    X, y = planted()
    named = fit_rule(X, y, features=[3, 11])
    assert named.family is Family.NAMED
    chosen = fit_rule(X, y, max_features=4)
    assert chosen.family in (Family.LEAST_ANGLE, Family.STEPWISE)
    for rule in (named, chosen):
        assert rule.kind.startswith(rule.family.value)
        assert not rule.dense
        assert "family" not in rule.to_dict()


def test_fits_are_those_of_another_implementation():
    X, y = planted()
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    training = np.ones((2, len(y)))
    training[1, :30] = 0
    design = np.stack([np.column_stack([np.ones(len(y)), Z[:, :7]])] * 2)
    weights = fit_ridge_logistic(design, 2.0 * y - 1, training, np.array([0.3, 30.0]), 1)
    for row, mask in enumerate(training > 0):
        for column, penalty in enumerate((0.3, 30.0)):
            model = LogisticRegression(C=1 / penalty, tol=1e-10, max_iter=1000).fit(
                Z[mask, :7], y[mask]
            )
            assert np.allclose(weights[row, column, 1:], model.coef_[0], atol=2e-3)
            assert weights[row, column, 0] == pytest.approx(model.intercept_[0], abs=2e-3)
            alone = fit_one_ridge_logistic(design[row][mask], 2.0 * y[mask] - 1, penalty, 1)
            assert np.allclose(alone, weights[row, column])


def test_finds_what_was_planted_in_the_columns_own_units():
    X, y = planted()
    rule = fit_rule(X, y)
    assert {3, 11} <= set(rule.support.tolist())
    assert len(rule.support) <= 4
    scores = X[:, rule.support] @ rule.weights + rule.bias
    assert np.allclose(rule.scores(X), scores)
    assert np.allclose(rule.probabilities(X), 1 / (1 + np.exp(-scores)))
    assert np.mean((scores > 0) == y) > 0.8
    assert np.array_equal((X[:, rule.support] @ rule.weights > rule.threshold), scores > 0)
    again = fit_rule(X * 1000, y)
    assert np.array_equal(again.support, rule.support)
    assert np.allclose(again.weights * 1000, rule.weights)


def test_folds_keep_groups_together_and_spread_classes():
    X, y = planted()
    groups = np.repeat(np.arange(40), 3)
    samples = make_samples(X, np.repeat(np.arange(40) % 2, 3), groups=groups)
    fold_of = samples.assign_folds(10, [0])
    assert all(len(set(fold_of[groups == group])) == 1 for group in range(40))
    assert np.bincount(fold_of, weights=samples.y > 0).tolist() == [6.0] * 10
    small = make_samples(X, y, blocks=np.repeat(np.arange(60), 2))
    assert np.array_equal(small.unit_of_sample, small.block_of_sample)
    large = make_samples(X, y, blocks=np.arange(120) % 3)
    assert len(set(large.unit_of_sample)) == 120
    # As many of each class in every fold, and so in the training samples: guessing is right in half of the cases.
    odd = make_samples(X[:90], np.arange(90) % 2, blocks=np.arange(90) // 30)
    assert set(np.bincount(odd.assign_folds(10, [1]), weights=odd.y)) == {0.0}


def test_columns_are_measured_from_the_training_samples_of_their_block():
    X, y = planted()
    blocks = np.arange(120) // 40
    samples = make_samples(X, y, blocks=blocks)
    training = np.arange(120) < 100
    training[blocks == 1] = False
    scale = fit_scale(samples, training)
    assert np.allclose(scale.block_means[0], X[:40].mean(axis=0))
    assert np.allclose(scale.block_means[1], X[40:80].mean(axis=0))
    assert np.allclose(scale.block_means[2], X[80:100].mean(axis=0))


def test_a_block_has_its_own_bias():
    X, y = planted()
    blocks = np.array(["a", "b"])[np.arange(120) % 2]
    shifted = X + 100.0 * (blocks == "b")[:, None]
    rule, moved = (fit_rule(values, y, blocks=blocks) for values in (X, shifted))
    assert np.array_equal(rule.support, moved.support)
    assert np.allclose(rule.scores(X, blocks), moved.scores(shifted, blocks))
    with pytest.raises(InputError, match="no block 'c'"):
        rule.scores(X[:1], ["c"])
    # A column without a name is nobody's block; blocks with a name are found by it.
    unnamed = pd.DataFrame(X).rename(columns={39: ""})
    assert np.array_equal(rule.scores(unnamed), rule.scores(X))
    frame = pd.DataFrame(X, columns=[f"g{j}" for j in range(40)]).assign(site=blocks)
    named = fit_rule(frame.drop(columns="site"), y, blocks=frame["site"])
    assert np.array_equal(named.scores(frame), rule.scores(X, blocks))


def test_covariates_and_named_features():
    X, y = planted()
    rule = fit_rule(X, y, covariates=X[:, 3], features=[11, 20])
    assert rule.support.tolist() == [11, 20]
    assert len(rule.covariate_weights) == 1
    with pytest.raises(InputError, match="covariates"):
        rule.scores(X)
    beside = expected_error(X, y, covariates=X[:, 3], features=[11])
    alone = expected_error(X, y, features=[11])
    noise = expected_error(X, y, features=[20])
    assert beside.rate < alone.rate < noise.rate
    assert beside.rate < beside.covariates_rate < 0.4
    assert set(noise.n_features) == {1}
    assert not noise.knows_something
    assert not noise.better_than_majority
    assert beside.knows_something
    assert beside.better_than_majority


def test_the_interval_is_that_of_another_implementation():
    for wrong in (0, 3, 50):
        ends = binomtest(wrong, 50).proportion_ci(0.95, "exact")
        assert clopper_pearson(wrong, 50) == pytest.approx((ends.low, ends.high))


def test_a_very_wide_table_is_screened_within_the_training_samples():
    """By correlation with the labels, both without block means."""
    X, y = planted()
    blocks = np.arange(120) % 3
    training = np.arange(120) < 90
    member = blocks[:90]
    centred = [
        column - np.array([column[member == b].mean() for b in range(3)])[member]
        for column in (*X[:90].T, y[:90])
    ]
    sizes = np.abs(
        [
            column @ centred[-1] / part.std()
            for column, part in zip(centred[:-1], X[:90].T, strict=True)
        ]
    )
    limits = ScreeningLimits(max_unscreened=30, n_screened=8)
    samples = make_samples(X, y, blocks=blocks)
    screened, kept = screen_columns(samples, training, (39,), limits)
    assert kept.tolist() == sorted({*np.argsort(-sizes)[:8].tolist(), 39})
    assert np.array_equal(screened.X, X[:, kept])
    assert screen_columns(samples, training, (39,), ScreeningLimits(40))[0] is samples


def test_of_a_screened_table_the_rule_and_its_stability_are_told_in_all_columns():
    """With columns kept that hold the rule, it is the same rule."""
    X, y = planted()
    samples = make_samples(X, y)
    limits = ScreeningLimits(max_unscreened=30, n_screened=8)
    plain = train(samples, samples.all_rows, FeatureChoice(max_features=2), [0]).to_use
    narrow = FeatureChoice(max_features=2, screening=limits)
    screened = train(samples, samples.all_rows, narrow, [0]).to_use
    assert screened.support.tolist() == plain.support.tolist()
    np.testing.assert_allclose(screened.scores(samples), plain.scores(samples), atol=1e-9)
    np.testing.assert_allclose(
        screened.scores(samples), fit_rule(X, y, max_features=2).scores(X), atol=1e-9
    )
    support = np.array([3, 11, 20])
    found = stability_of_support(
        samples, support, penalty=3.0, family=Family.LEAST_ANGLE, seed=0, screening=limits
    )
    assert [reading.feature for reading in found.readings] == [3, 11, 20]
    kept = screen_columns(samples, samples.all_rows, limits=limits)[1].tolist()
    assert {j for reading in found.readings for j in reading.surrogates} <= {*kept, 3, 11, 20}
