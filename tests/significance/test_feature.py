"""The proof for one feature: by enumeration of all labellings, by closed forms, and against others' fits and tails."""

from __future__ import annotations

from itertools import combinations, product
from math import comb, cosh, log, log10

import numpy as np
import pytest
from scipy.stats import binom, hypergeom
from sklearn.linear_model import LogisticRegression

from chanceline.chance.chernoff import log_tail_bound
from chanceline.chance.poisson_binomial import poisson_binomial_pmf
from chanceline.significance import feature_bound


def every_labelling(sizes, positives):
    """All labellings ±1 with so many positives in every block."""
    of_blocks = [
        [
            np.where(np.isin(np.arange(size), chosen), 1.0, -1.0)
            for chosen in combinations(range(size), number)
        ]
        for size, number in zip(sizes, positives, strict=True)
    ]
    return np.array([np.concatenate(parts) for parts in product(*of_blocks)])


@pytest.mark.parametrize(
    ("sizes", "positives"), [([10], [5]), ([12], [3]), ([5, 5], [3, 2]), ([2] * 8, [1] * 8)]
)
def test_never_below_the_share_of_labellings_that_do_as_well(sizes, positives):
    labellings = every_labelling(sizes, positives)
    blocks = np.repeat(np.arange(len(sizes)), sizes)
    X = np.random.default_rng(1).standard_exponential(size=(len(blocks), 1)) ** 2
    pvalues = np.sort([10 ** feature_bound(X, y, blocks).log10_p for y in labellings])
    shares = np.arange(1, len(pvalues) + 1) / len(pvalues)
    speaking = pvalues < 1
    assert speaking.any()
    assert np.all(pvalues[speaking] >= shares[speaking] * (1 - 1e-9))


def test_the_generating_function_is_that_of_all_labellings():
    """E e^{h(S − s)} by the identity, and as the mean over the labellings of two blocks."""
    rng = np.random.default_rng(2)
    column, starts = rng.normal(size=11), np.array([0, 7])
    labellings = every_labelling([7, 4], [3, 1]) > 0
    for slope in (0.7, -2.5):
        sums = labellings @ column
        for labels in labellings[::37]:
            plain = log(np.mean(np.exp(slope * (sums - labels @ column))))
            assert log_tail_bound(column, labels, starts, slope) == pytest.approx(plain, abs=1e-10)


def test_for_pairs_it_is_a_product_of_hyperbolic_cosines():
    differences = np.array([0.5, -1.0, 2.0, 0.1])
    column = np.column_stack([differences / 2, -differences / 2]).ravel()
    labels = np.tile([True, False], 4)
    exact = sum(log(cosh(0.9 * d / 2)) - 0.9 * d / 2 for d in differences)
    assert log_tail_bound(column, labels, np.arange(0, 8, 2), 0.9) == pytest.approx(
        exact, abs=1e-12
    )


def test_a_sum_on_a_circle_of_residues_is_the_sum():
    assert poisson_binomial_pmf(np.full(4000, 0.3), 1180) == pytest.approx(
        binom.pmf(1180, 4000, 0.3), rel=1e-10
    )
    assert poisson_binomial_pmf(np.array([0.5, 0.25, 1.0]), 2) == pytest.approx(0.5, rel=1e-12)


def test_it_is_the_likelihood_of_logistic_regression():
    """What is minimised over h, apart from the chance of the sum, is minus the log-likelihood that another package maximises."""
    rng = np.random.default_rng(3)
    column = rng.normal(size=80)
    labels = rng.random(80) < 1 / (1 + np.exp(-1.5 * column + 1))
    model = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(column[:, None], labels)
    chances = model.predict_proba(column[:, None])[:, 1]
    likelihood = np.log(np.where(labels, chances, 1 - chances)).sum()
    rest = log(poisson_binomial_pmf(chances, labels.sum())) - log(comb(80, labels.sum()))
    assert log_tail_bound(
        column, labels, np.zeros(1, dtype=int), model.coef_[0, 0]
    ) == pytest.approx(rest - likelihood, abs=1e-5)


def test_close_to_the_exact_tail_of_a_yes_or_no_column():
    """For 0 and 1 the exact tail is hypergeometric; four events are paid for, and Markov's inequality costs a little."""
    x, y = np.repeat([1.0, 0.0], 300), np.repeat([1.0, -1.0, 1.0, -1.0], [200, 100, 100, 200])
    exact = hypergeom.logsf(199, 600, 300, 300) / log(10) + log10(4)
    found = feature_bound(x[:, None], y)
    assert exact <= found.log10_p <= exact + 1.3
    assert (found.feature, found.higher) == (0, True)
    assert feature_bound(x[:, None], y, among=1000).log10_p == pytest.approx(
        found.log10_p + 3, abs=1e-9
    )
    assert not feature_bound(x[:, None], -y).higher


def test_separation_by_one_feature_is_as_rare_as_it_is():
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(40, 5)), np.repeat([1.0, -1.0], [15, 25])
    X[:, 3] = y * rng.uniform(1, 2, size=40)
    found = feature_bound(X, y)
    assert found.feature == 3
    assert found.log10_p == pytest.approx(log10(20 / comb(40, 15)), abs=0.1)


def test_noise_and_blocks_of_one_class_say_nothing():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 30))
    y = np.repeat([1.0, -1.0], 30)
    assert feature_bound(X, y).log10_p == 0
    blocks = np.repeat([0, 1, 2], 20)
    X[:, 0] += 50 * y
    # Only the middle block has both classes.
    assert feature_bound(X, y, blocks).log10_p == pytest.approx(log10(120 / comb(20, 10)), abs=0.2)


def test_five_thousand_samples_prove_a_correlation_of_a_fifth():
    rng = np.random.default_rng(6)
    X = rng.normal(size=(5000, 500))
    y = np.where(0.25 * X[:, 7] + rng.normal(size=5000) > 0, 1.0, -1.0)
    found = feature_bound(X, y)
    assert abs(np.corrcoef(X[:, 7], y)[0, 1] - 0.2) < 0.02
    assert found.feature == 7
    assert found.log10_p < -30


@pytest.mark.slow
def test_a_hundred_thousand_shuffles_of_two_hundred_tables():
    """No tail of the shuffles is above the bound; a frequency counts as above if the bound gave it one chance in a million."""
    rng, violations, silent = np.random.default_rng(7), 0, 0
    for number in range(200):
        n_samples, positives = int(rng.integers(12, 41)), int(rng.integers(3, 7))
        column = [
            rng.standard_exponential(n_samples) ** 2,
            rng.integers(0, 3, n_samples),
            rng.permutation(n_samples),
        ][number % 3]
        column = (column - column.mean()) / np.abs(column - column.mean()).max()
        chosen = np.argpartition(rng.random((100_000, n_samples)), positives, axis=1)[:, :positives]
        sums = column[chosen].sum(axis=1)
        # Labels that go with the column more or less.
        labels = (
            np.argsort(np.argsort(column + rng.exponential() * rng.normal(size=n_samples)))
            >= n_samples - positives
        )
        slope = 3 * rng.normal()
        bound = np.exp(min(0.0, log_tail_bound(column, labels, np.zeros(1, dtype=int), slope)))
        as_far = np.sign(slope) * (sums - column[labels].sum()) >= -1e-9
        violations += binom.sf(np.count_nonzero(as_far) - 1, 100_000, bound) < 1e-6
        silent += bound > 0.5
    assert violations == 0
    assert silent < 150
