"""The exact law of concordant pairs: against all labellings, SciPy, and the sign test."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import binom, mannwhitneyu

from chanceline.cohort import concordance
from chanceline.cohort.concordance import concordance_test, law_of_rank_sum
from chanceline.prediction.metrics import area_under_curve


def brute_force(scores, positive, blocks):
    """The share of all labellings within blocks whose concordance is at least that observed."""

    def concordant(labels):
        total = 0.0
        for block in np.unique(blocks):
            above = scores[(blocks == block) & labels]
            below = scores[(blocks == block) & ~labels]
            total += np.sum(above[:, None] > below) + 0.5 * np.sum(above[:, None] == below)
        return total

    labellings = [np.zeros(len(scores), dtype=bool)]
    for block in np.unique(blocks):
        rows = np.flatnonzero(blocks == block)
        number = int(positive[rows].sum())
        extended = []
        for chosen in combinations(rows, number):
            for labels in labellings:
                more = labels.copy()
                more[list(chosen)] = True
                extended.append(more)
        labellings = extended
    observed = concordant(positive)
    return np.mean([concordant(labels) >= observed for labels in labellings])


@pytest.mark.parametrize("seed", range(6))
def test_all_labellings(seed):
    """With ties and without, one block and several, more positives than negatives and fewer."""
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 5, size=11).astype(float) if seed % 2 else rng.normal(size=11)
    positive = rng.random(11) < (0.7 if seed < 3 else 0.3)
    positive[:2] = [True, False]
    blocks = np.zeros(11, dtype=int) if seed < 2 else np.arange(11) % 2
    found = concordance_test(scores, positive, blocks)
    assert found.pvalue == pytest.approx(brute_force(scores, positive, blocks), rel=1e-12)
    if seed < 2:
        assert found.area == pytest.approx(area_under_curve(scores, positive))


def test_scipy_without_ties():
    rng = np.random.default_rng(0)
    positive = rng.random(60) < 0.4
    scores = rng.normal(size=60) + positive
    expected = mannwhitneyu(
        scores[positive], scores[~positive], alternative="greater", method="exact"
    )
    found = concordance_test(scores, positive, np.zeros(60, dtype=int))
    assert found.pvalue == pytest.approx(expected.pvalue, rel=1e-9)
    assert found.n_shuffles == 0


def test_pairs_are_a_sign_test():
    rng = np.random.default_rng(1)
    differences = rng.normal(size=30) + 0.5
    scores = np.column_stack([differences, np.zeros(30)]).ravel()
    positive = np.tile([True, False], 30)
    found = concordance_test(scores, positive, np.repeat(np.arange(30), 2))
    n_right = int(np.sum(differences > 0))
    assert found.pvalue == pytest.approx(binom.sf(n_right - 1, 30, 0.5), rel=1e-12)
    assert found.area == pytest.approx(n_right / 30)


def test_the_law_is_one_of_chances():
    law = law_of_rank_sum(np.array([2, 4, 7, 7, 10]), 2)
    assert law.sum() == pytest.approx(1)
    assert law[14] == pytest.approx(2 / 10)  # 4 + 10, and 7 + 7
    assert law[6] == pytest.approx(1 / 10)


def test_shuffles_of_a_large_cohort_agree(monkeypatch):
    rng = np.random.default_rng(2)
    positive = rng.random(40) < 0.5
    scores = rng.normal(size=40) + 0.3 * positive
    blocks = np.arange(40) % 3
    exact = concordance_test(scores, positive, blocks)
    monkeypatch.setattr(concordance, "MAX_EXACT_STEPS", 0)
    shuffled = concordance_test(scores, positive, blocks)
    assert shuffled.n_shuffles == 99_999
    error = np.sqrt(exact.pvalue / shuffled.n_shuffles)
    assert abs(shuffled.pvalue - exact.pvalue) < 5 * error


def test_blocks_of_one_class_say_nothing():
    scores = np.arange(4.0)
    found = concordance_test(scores, np.array([True, True, False, False]), np.array([0, 0, 1, 1]))
    assert found.pvalue == 1
    assert np.isnan(found.area)
