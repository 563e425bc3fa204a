"""The bound never lies below the true frequency, and equals Python integers where it should."""

from __future__ import annotations

import importlib.util
from math import comb, fsum, log, log10
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from chanceline.chance import (
    bound_curve,
    chance_bound,
    format_p,
    largest_convincing,
    samples_needed,
)
from chanceline.errors import InputError

_spec = importlib.util.spec_from_file_location(
    "chance_oracle", Path(__file__).with_name("oracle.py")
)
oracle = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(oracle)


def exact_log10(numerator: int, denominator: int) -> float:
    """log₁₀ of a ratio of whole numbers of any size."""
    return (log10(numerator) if numerator else -np.inf) - log10(denominator)


@given(
    st.integers(3, 300),
    st.integers(3, 400),
    st.integers(3, 60),
    st.floats(0.05, 0.95),
    st.booleans(),
    st.sampled_from(["fixed", "coin"]),
)
@settings(max_examples=80, deadline=None)
def test_agrees_with_whole_numbers(samples, features, selected, balance, intercept, null):
    selected = min(selected, features)
    positives = min(max(round(balance * samples), 1), samples - 1)
    result = chance_bound(
        samples, features, selected, positives=positives, intercept=intercept, null=null
    )

    def union(m: int) -> float:
        count = min(oracle.cover(samples, m + intercept), 2**samples)
        if null == "coin":
            return exact_log10(comb(features, m) * count, 2**samples)
        return exact_log10(
            comb(features, m) * (count if 2 * positives == samples else count // 2),
            comb(samples, positives),
        )

    assert result.log10_union == pytest.approx(union(selected), rel=1e-10, abs=1e-9)
    smallest = min(union(m) for m in range(selected, min(features, max(samples, selected)) + 1))
    assert result.log10_p == pytest.approx(min(0.0, smallest), rel=1e-10, abs=1e-9)


def test_table_of_real_data():
    """log₁₀ p of published data sets with the set sizes a search found (fixed class sizes, fair coin)."""
    rows = [
        (38, 3051, 11, 1, exact_log10(2 * 3051, comb(38, 11)), -6.1),
        (
            62,
            2000,
            22,
            3,
            exact_log10(comb(2000, 3) * oracle.cover(62, 4) // 2, comb(62, 22)),
            -4.7,
        ),
        (
            62,
            2000,
            22,
            4,
            exact_log10(comb(2000, 4) * oracle.cover(62, 5) // 2, comb(62, 22)),
            -0.8,
        ),
        (
            569,
            30,
            212,
            24,
            exact_log10(comb(30, 24) * oracle.cover(569, 25) // 2, comb(569, 212)),
            -123.1,
        ),
    ]
    for samples, features, positives, selected, fixed, coin in rows:
        assert chance_bound(
            samples, features, selected, positives=positives
        ).log10_union == pytest.approx(fixed)
        assert chance_bound(samples, features, selected, null="coin").log10_union == pytest.approx(
            coin, abs=0.06
        )
    sonar = chance_bound(208, 60, 35, positives=97)
    assert sonar.best_size == 60
    assert sonar.log10_p < sonar.log10_union - 3


def test_two_features_use_the_planar_bound():
    result = chance_bound(72, 7129, 2, positives=25)
    assert result.form == "planar k-sets"
    exact = exact_log10(comb(7129, 2) * oracle.planar_sets(72, 25), comb(72, 25))
    assert result.log10_p == pytest.approx(exact)
    assert chance_bound(72, 7129, 2, positives=25, intercept=False).form == "cover"


@pytest.mark.parametrize("kind", ["normal", "integers", "duplicated"])
@pytest.mark.parametrize("intercept", [True, False])
def test_never_below_the_true_frequency(kind, intercept):
    """All labellings of 7 samples, all supports of 4 features: exact frequencies under both nulls, with
    errors.
    """
    rng = np.random.default_rng(2)
    X = {"normal": rng.normal(size=(7, 4)), "integers": rng.integers(0, 3, size=(7, 4))}.get(kind)
    if X is None:
        X = np.repeat(rng.normal(size=(7, 2)), 2, axis=1)
    for selected in (1, 2):
        found = oracle.by_some_support(X, selected, intercept)
        for errors in (0, 1):
            reached = oracle.within_errors(found, errors)
            coin = chance_bound(7, 4, selected, null="coin", errors=errors, intercept=intercept)
            assert len(reached) / 2**7 <= coin.pvalue * (1 + 1e-12)
            for positives in range(1, 7):
                fixed = chance_bound(
                    7, 4, selected, positives=positives, errors=errors, intercept=intercept
                )
                assert oracle.with_positives(reached, positives) / comb(
                    7, positives
                ) <= fixed.pvalue * (1 + 1e-12)


def test_fair_coin_is_wrong_for_unbalanced_classes():
    """P = 20, n₊ = 3, N = 100, M = 1: the true frequency is near 0.16."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 100))
    order = np.argsort(X, axis=0)
    separable = {frozenset(column[:3]) for column in order.T} | {
        frozenset(column[-3:]) for column in order.T
    }
    truth = len(separable) / comb(20, 3)
    assert 0.14 < truth < 0.18
    assert chance_bound(20, 100, 1, positives=3).pvalue >= truth
    assert chance_bound(20, 100, 1, null="coin").pvalue < 0.004


def test_blocks_restrict_the_labellings():
    """Labels permuted within two blocks: the bound covers the exact frequency over those labellings only."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(8, 3))
    X[:4] += 1.5
    blocks = [(4, 1), (4, 2)]
    found = oracle.by_some_support(X, 1, True)
    allowed = [
        labels
        for labels in found
        if sum(s > 0 for s in labels[:4]) == 1 and sum(s > 0 for s in labels[4:]) == 2
    ]
    result = chance_bound(8, 3, 1, positives=3, blocks=blocks)
    assert len(allowed) / (comb(4, 1) * comb(4, 2)) <= result.pvalue
    assert result.log10_union == pytest.approx(exact_log10(2 * 3, comb(4, 1) * comb(4, 2)))
    with pytest.raises(InputError, match="add up"):
        chance_bound(8, 3, 1, positives=4, blocks=blocks)


def test_preregistered_features_pay_for_one_support():
    chosen, fixed = (
        chance_bound(40, 500, 3, positives=20, preregistered=flag) for flag in (False, True)
    )
    assert chosen.log10_union - fixed.log10_union == pytest.approx(log10(comb(500, 3)))
    assert fixed.supports == 1
    assert chosen.supports == comb(500, 3)


def test_errors_as_whole_numbers():
    """e = 1, n₊ ≠ P/2, M ≥ 3: D/2 times the larger of w_k, w_k = C(k, ·)C(P−k, ·) by hand."""
    samples, positives = 30, 10
    largest = max(1, positives + 1, samples - positives + 1)
    exact = exact_log10(
        comb(50, 4) * oracle.cover(samples, 5) * largest // 2, comb(samples, positives)
    )
    result = chance_bound(samples, 50, 4, positives=positives, errors=1)
    assert result.log10_union == pytest.approx(exact)


def test_curve_is_the_bound_at_every_size():
    curve = bound_curve(40, 300, positives=15)
    assert len(curve) == 41
    assert np.all(np.diff(curve) >= 0)
    for selected in (1, 2, 3, 9, 40):
        assert curve[selected] == pytest.approx(
            chance_bound(40, 300, selected, positives=15).log10_p
        )


def test_a_million_of_each_by_exact_sums():
    """C(P, n₊) and C(N, M) as sums of logarithms rounded once, Cover's count in whole numbers."""
    million, selected, positives = 10**6, 1000, 350_000

    def log_choose(n: int, k: int) -> float:
        return fsum(log((n - k + i) / i) for i in range(1, k + 1))

    term = half = 1
    for k in range(1, selected + 1):
        term = term * (million - k) // k
        half += term
    exact = (log_choose(million, selected) + log(half) - log_choose(million, positives)) / log(10)
    result = chance_bound(million, million, selected, positives=positives)
    assert result.log10_union == pytest.approx(exact, abs=1e-8)


def test_never_prints_zero():
    assert format_p(-5000.0) == "1.0e-5000"
    assert format_p(-4999.2) == "6.3e-5000"
    assert format_p(-3.0001) == format_p(-3.0) == "1.0e-3"
    assert format_p(-1.5) == "0.032"
    assert format_p(0.0) == "1"
    assert "e-" in str(chance_bound(569, 30, 24, positives=212))
    for log10_p in np.linspace(-20, -3, 401):
        assert float(format_p(log10_p)) == pytest.approx(10**log10_p, rel=0.051)


@pytest.mark.parametrize("null", ["fixed", "coin"])
def test_plan_inverts_the_bound(null):
    plan = largest_convincing(62, 2000, positives=40, level=0.05, null=null)
    assert plan.bound.pvalue <= 0.05 < plan.next_bound.pvalue
    needed = samples_needed(2000, 5, balance=0.35, level=0.05, null=null)
    assert needed.bound.pvalue <= 0.05
    for samples in range(needed.n_samples, needed.n_samples + 30):
        assert (
            chance_bound(samples, 2000, 5, positives=round(0.35 * samples), null=null).pvalue
            <= 0.05
        )
    below = needed.n_samples - 1
    assert chance_bound(below, 2000, 5, positives=round(0.35 * below), null=null).pvalue > 0.05


def test_plan_says_when_nothing_convinces():
    plan = largest_convincing(8, 2000, positives=4)
    assert plan.largest == 0
    assert plan.bound is None
    assert plan.next_bound.log10_p == 0


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"n_samples": 1}, "samples"),
        ({"n_features": 0}, "features"),
        ({"n_selected": 9}, "selected"),
        ({"positives": 20}, "positives"),
        ({"positives": None}, "positives"),
        ({"errors": -1}, "errors"),
        ({"null": "fair"}, "null"),
    ],
)
def test_bad_numbers_get_one_sentence(arguments, match):
    good = {"n_samples": 20, "n_features": 8, "n_selected": 2, "positives": 7}
    with pytest.raises(InputError, match=match) as caught:
        chance_bound(**{**good, **arguments})
    assert str(caught.value).count(".") - str(caught.value).count("..") <= 1
