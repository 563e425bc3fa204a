"""The guarantee itself: under the null every p-value is ≤ a in at most a share a of the data sets.

A binomial slack of one in ten thousand is left, seeds are fixed, and the verdict "structure" counts as a rejection too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.feature_selection import SelectKBest, f_classif

from chanceline.chance import chance_bound
from chanceline.perceptron.rule import rule_on
from chanceline.significance import separation_test

LEVELS = (0.05, 0.1, 0.25)
# Small data and a quarter as level, so that bound and permutations both have something to spend.
LEVEL = 0.25


def labels(rng, n_samples, positives):
    return rng.permutation(np.repeat([1.0, -1.0], [positives, n_samples - positives]))


def balanced(rng):
    return rng.normal(size=(12, 4)), labels(rng, 12, 6), {}


def wide(rng):
    return rng.normal(size=(14, 30)), labels(rng, 14, 7), {}


def few_positives(rng):
    return rng.normal(size=(20, 8)), labels(rng, 20, 2), {}


def correlated(rng):
    common = rng.normal(size=(14, 1))
    return 0.3 * rng.normal(size=(14, 8)) + common, labels(rng, 14, 6), {}


def duplicated(rng):
    return np.repeat(rng.normal(size=(12, 3)), 3, axis=1), labels(rng, 12, 5), {}


def ties(rng):
    return rng.integers(0, 3, size=(14, 6)).astype(float), labels(rng, 14, 6), {}


def heavy_tails(rng):
    return rng.standard_cauchy(size=(12, 6)) * 1e6, labels(rng, 12, 4), {}


def errors_allowed(rng):
    return rng.normal(size=(12, 3)), labels(rng, 12, 6), {"errors": 1}


def ties_with_errors(rng):
    return rng.integers(0, 2, size=(14, 4)).astype(float), labels(rng, 14, 5), {"errors": 2}


def no_intercept(rng):
    return rng.normal(size=(10, 3)), labels(rng, 10, 5), {"intercept": False}


def fair_coin(rng):
    return rng.normal(size=(10, 3)), np.where(rng.random(10) < 0.5, 1.0, -1.0), {"null": "coin"}


def blocks(rng):
    """Block and features go together, labels are exchangeable within blocks only."""
    block = np.repeat([0, 1], [8, 6])
    y = np.concatenate([labels(rng, 8, 6), labels(rng, 6, 1)])
    return rng.normal(size=(14, 4)) + 3 * block[:, None], y, {"blocks": block}


def groups(rng):
    """Three nearly equal rows for each of 8 subjects, who have one label each."""
    subject = np.repeat(np.arange(8), 3)
    X = rng.normal(size=(8, 4))[subject] + 0.05 * rng.normal(size=(24, 4))
    return X, labels(rng, 8, 4)[subject], {"groups": subject}


def chosen_after_looking(rng):
    """The user takes the feature that makes fewest errors, and says so only with `features`."""
    X, y = rng.normal(size=(12, 3)), labels(rng, 12, 6)
    fewest = min(range(3), key=lambda j: rule_on(X, y, np.array([j]), True).errors)
    return X, y, {"features": [fewest]}


def preregistered(rng):
    return rng.normal(size=(12, 5)), labels(rng, 12, 6), {"features": [1, 3], "preregistered": True}


def selector(rng):
    return rng.normal(size=(14, 6)), labels(rng, 14, 7), {"search": SelectKBest(f_classif, k=2)}


SCENARIOS: dict[str, Callable[[np.random.Generator], tuple[Any, Any, dict[str, Any]]]] = {
    scenario.__name__: scenario
    for scenario in (
        balanced, wide, few_positives, correlated, duplicated, ties, heavy_tails, errors_allowed, ties_with_errors,
        no_intercept, fair_coin, blocks, groups, chosen_after_looking, preregistered, selector,
    )
}  # fmt: skip


def null_results(scenario: str, repeats: int, seed: int, **options):
    number = list(SCENARIOS).index(scenario)
    for repeat in range(repeats):
        X, y, extra = SCENARIOS[scenario](np.random.default_rng([seed, number, repeat]))
        if len(set(y)) < 2:
            # A coin that fell on one side only is no data set: every test abstains.
            continue
        yield separation_test(X, y, level=LEVEL, seed=repeat, budget=40, restarts=1, **{**options, **extra})


def assert_valid(pvalues, what: str) -> None:
    for level in LEVELS:
        rejected = int(np.sum(np.asarray(pvalues) <= level))
        assert rejected <= binom.isf(1e-4, len(pvalues), level), f"{what}: {rejected} of {len(pvalues)} at level {level}"


def check(scenario: str, repeats: int, permutations: int, seed: int) -> None:
    overall, bounds, permuted, structure = [], [], [], 0
    for result in null_results(scenario, repeats, seed, permutations=permutations, always_permute=True, stop_after=3):
        overall.append(result.pvalue)
        bounds.append(result.bound.pvalue)
        permuted.append(result.permutation.pvalue)
        structure += result.verdict == "structure"
    assert_valid(overall, "overall p")
    assert_valid(bounds, "bound")
    assert_valid(permuted, "permutation p")
    assert structure <= binom.isf(1e-4, len(overall), LEVEL)


@pytest.mark.parametrize("scenario", ["balanced", "few_positives", "ties_with_errors", "chosen_after_looking"])
def test_false_positive_rate_small(scenario):
    check(scenario, repeats=60, permutations=19, seed=1)


def test_wrong_test_would_be_noticed():
    """Selecting features on the observed labels but not again on the shuffled ones must fail the same check."""
    from chanceline.significance.null import make_scheme
    from chanceline.significance.permutation import permutation_reading
    from chanceline.significance.procedure import Procedure

    pvalues = []
    for repeat in range(60):
        X, y, _ = wide(np.random.default_rng([7, repeat]))
        selected = tuple(Procedure(budget=40).find(X, y).support.tolist())
        unfair = Procedure(fixed=selected)
        reading = permutation_reading(unfair, X, make_scheme(y), unfair(X, y), permutations=19, seed=repeat)
        pvalues.append(reading.pvalue)
    with pytest.raises(AssertionError, match="unfair"):
        assert_valid(pvalues, "unfair")


@pytest.mark.slow
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_false_positive_rate(scenario):
    check(scenario, repeats=2000, permutations=19, seed=2)


@pytest.mark.slow
@pytest.mark.parametrize("scenario", ["balanced", "ties", "few_positives", "errors_allowed"])
def test_false_positive_rate_of_the_bound_alone(scenario):
    results = list(null_results(scenario, 2000, 3, permutations=0))
    assert_valid([result.pvalue for result in results], "bound alone")


@pytest.mark.slow
@pytest.mark.parametrize(("n_samples", "positives", "n_features", "errors"), [(12, 6, 3, 0), (20, 2, 4, 0), (14, 4, 2, 1)])
def test_bound_is_never_below_the_frequency(n_samples, positives, n_features, errors):
    """For fixed X, how often shuffled labels let M features do with e errors, against the bound, for every M."""
    rng = np.random.default_rng(9)
    X = rng.normal(size=(n_samples, n_features))
    draws = 2000
    sizes = []
    for _ in range(draws):
        result = separation_test(X, labels(rng, n_samples, positives), permutations=0, errors=errors, restarts=0, budget=100)
        sizes.append(result.n_selected if result.errors <= errors else np.inf)
    for m in range(1, n_features + 1):
        reached = int(np.sum(np.array(sizes) <= m))
        bound = chance_bound(n_samples, n_features, m, positives=positives, errors=errors).pvalue
        # Lower end of the frequency's interval: the bound must not lie below it.
        assert binom.sf(reached - 1, draws, min(bound, 1.0)) > 1e-4
