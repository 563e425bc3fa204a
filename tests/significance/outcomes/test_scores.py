"""Scores of outcomes, by closed forms and against scikit-survival."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm
from sksurv.compare import compare_survival
from sksurv.metrics import concordance_index_censored
from sksurv.nonparametric import nelson_aalen_estimator

from chanceline.errors import InputError
from chanceline.significance.outcomes.measures import comparable_pairs
from chanceline.significance.outcomes.number import make_number, normal_scores
from chanceline.significance.outcomes.several_classes import make_classes
from chanceline.significance.outcomes.survival import (
    cumulative_hazard,
    log_rank_scores,
    make_survival,
)


def survival_times(seed: int, ties: bool) -> tuple[np.ndarray, np.ndarray]:
    """Fifty times, 40 % cut off; with ties they are whole numbers."""
    rng = np.random.default_rng(seed)
    times = rng.exponential(4.0, size=50)
    if ties:
        times = np.ceil(times)
    return times, rng.random(50) < 0.6


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_hazard_is_that_of_nelson_and_aalen(seed, ties):
    times, events = survival_times(seed, ties)
    distinct, hazard = nelson_aalen_estimator(events, times)
    expected = hazard[np.searchsorted(distinct, times)]
    np.testing.assert_allclose(cumulative_hazard(times, events), expected, rtol=1e-12)


@pytest.mark.parametrize("ties", [False, True])
def test_scores_of_a_group_are_observed_less_expected_events(ties):
    times, events = survival_times(7, ties)
    group = np.arange(50) % 2
    survival = np.array(list(zip(events, times, strict=True)), dtype=[("e", bool), ("t", float)])
    stats = compare_survival(survival, group, return_stats=True)[2]
    scores = log_rank_scores(times, events)
    difference = stats["observed"] - stats["expected"]
    np.testing.assert_allclose(np.bincount(group, weights=scores), difference, atol=1e-10)
    assert abs(scores.sum()) < 1e-10


@pytest.mark.parametrize("seed", range(4))
def test_comparable_pairs_are_harrells(seed):
    times, events = survival_times(seed, ties=True)
    risk = np.round(np.random.default_rng(seed).normal(size=50), 1)
    pairs = comparable_pairs(times, events)
    agreeing = pairs * (0.5 + 0.5 * np.sign(risk[:, None] - risk))
    reference = concordance_index_censored(events, times, risk)[0]
    assert agreeing.sum() / pairs.sum() == pytest.approx(reference)


def test_contrasts_of_classes_are_orthonormal_and_span_the_indicators():
    names = ["a"] * 5 + ["b"] * 9 + ["c"] * 4 + ["d"] * 2
    outcome = make_classes(names, "diagnosis", ["a", "b", "c", "d"])
    scores = outcome.scores
    np.testing.assert_allclose(scores.T @ scores, np.eye(3), atol=1e-12)
    centred = outcome.indicators - outcome.indicators.mean(axis=0)
    np.testing.assert_allclose(scores @ (scores.T @ centred), centred, atol=1e-12)


def test_squared_products_of_classes_are_the_share_between_classes():
    # Σ_c (x·z_c)² = Σ_class n (mean of the class − mean)², the numerator of F.
    rng = np.random.default_rng(0)
    x = rng.normal(size=20)
    x -= x.mean()
    names = ["a"] * 5 + ["b"] * 9 + ["c"] * 6
    outcome = make_classes(names, "diagnosis", ["a", "b", "c"])
    between = sum(
        np.sum(outcome.codes == code) * x[outcome.codes == code].mean() ** 2 for code in range(3)
    )
    assert np.sum((x @ outcome.scores) ** 2) == pytest.approx(between)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: make_number(np.full(9, 2.0), "dose"), "is 2 in every row"),
        (lambda: make_number(np.array([1.0, np.inf]), "dose"), "infinite"),
        (lambda: make_classes(["a", "a", "b"], "kind", ["a", "b"]), "'b' of 'kind' has one sample"),
        (
            lambda: make_survival(np.array([1.0, -2.0]), np.array([1.0, 0.0]), "months", "relapse"),
            "'months' is -2 in row 2",
        ),
        (
            lambda: make_survival(np.array([1.0, 2.0]), np.array([1.0, 2.0]), "months", "relapse"),
            "'relapse' is 2 in row 2",
        ),
        (
            lambda: make_survival(np.array([1.0, 2.0]), np.zeros(2), "months", "relapse"),
            "no event was seen",
        ),
        (
            lambda: make_survival(np.ones(3), np.ones(3), "months", "relapse"),
            "the same in every row",
        ),
    ],
)
def test_bad_outcomes_are_refused_in_one_sentence(make, words):
    with pytest.raises(InputError, match=words) as error:
        make()
    assert str(error.value).count("\n") == 0
    assert str(error.value).endswith(".")


def test_normal_scores_are_quantiles_at_the_ranks():
    numbers = np.array([7.0, 1.0, 3.0, 1000.0, 3.0])
    # The two 3s share the ranks 2 and 3.
    expected = norm.ppf(np.array([3.5, 0.5, 2.0, 4.5, 2.0]) / 5)
    np.testing.assert_allclose(normal_scores(numbers), expected, rtol=1e-12)


def test_heavy_tails_are_tested_by_normal_scores():
    dose = np.random.default_rng(4).normal(size=60)
    plain = make_number(dose, "dose")
    skewed = make_number(np.exp(3 * dose), "dose")

    np.testing.assert_allclose(plain.scores[:, 0], dose - dose.mean())
    np.testing.assert_allclose(skewed.scores[:, 0], normal_scores(dose), atol=1e-12)
    assert "normal scores" not in plain.taken_for()
    assert skewed.taken_for().endswith("with heavy tails, so that its normal scores are tested")


@pytest.mark.parametrize("draw", ["normal", "uniform"])
def test_light_tails_are_tested_as_they_are(draw):
    rng = np.random.default_rng(5)
    n_heavy = 0
    for _ in range(100):
        numbers = getattr(rng, draw)(size=50)
        n_heavy += make_number(numbers, "dose").has_heavy_tails
    assert n_heavy <= 5


def test_two_values_are_tested_as_they_are():
    # However rare one of them is: normal scores of two values are two values.
    rare = (np.arange(40) < 3).astype(float)
    assert not make_number(rare, "dose").has_heavy_tails
