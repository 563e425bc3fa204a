"""The guarantee itself: under the null every p-value is ≤ a in at most a share a of the data sets.

A binomial slack of one in ten thousand is left, seeds are fixed, and the verdict "structure" counts as a rejection too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.feature_selection import SelectKBest, f_classif

from chanceline.chance import chance_bound
from chanceline.perceptron.few_errors import rule_on
from chanceline.significance import separation_test
from chanceline.significance.declared_roles import DeclaredRoles
from chanceline.significance.design import make_design
from chanceline.significance.own_search import SearchProcedure, SearchShufflePlan, shuffle_search
from chanceline.significance.path_columns import make_path_columns
from chanceline.significance.readings import SearchStatistic
from chanceline.significance.shuffles import ShufflePlan, shuffle_paths

LEVELS = (0.01, 0.05, 0.25)
# So that p = 1/120 and what the bound spends lie below 0.01.
PERMUTATIONS = 119


def labels(rng, n_samples, positives):
    return rng.permutation(np.repeat([1.0, -1.0], [positives, n_samples - positives]))


def balanced(rng):
    return rng.normal(size=(12, 4)), labels(rng, 12, 6), {}


def wide(rng):
    return rng.normal(size=(14, 30)), labels(rng, 14, 7), {}


def tall(rng):
    """Nothing separates, and the bound speaks of errors counted after looking."""
    return rng.normal(size=(30, 2)), labels(rng, 30, 15), {}


def tall_at_a_quarter(rng):
    """A level at which every stage of the combination has something to spend."""
    return rng.normal(size=(16, 1)), labels(rng, 16, 8), {"level": 0.25}


def small_at_a_quarter(rng):
    return rng.normal(size=(10, 2)), labels(rng, 10, 5), {"level": 0.25}


def few_positives(rng):
    return rng.normal(size=(20, 8)), labels(rng, 20, 2), {}


def one_of_sixteen(rng):
    return rng.normal(size=(16, 5)), labels(rng, 16, 1), {}


def correlated(rng):
    common = rng.normal(size=(14, 1))
    return 0.05 * rng.normal(size=(14, 8)) + common, labels(rng, 14, 6), {}


def duplicated(rng):
    return np.repeat(rng.normal(size=(12, 3)), 3, axis=1), labels(rng, 12, 5), {}


def ties(rng):
    return rng.integers(0, 3, size=(14, 6)).astype(float), labels(rng, 14, 6), {}


def binary(rng):
    return rng.integers(0, 2, size=(16, 12)).astype(float), labels(rng, 16, 8), {}


def equal_rows(rng):
    """Rows that are equal and may have opposite labels."""
    return np.repeat(rng.normal(size=(7, 3)), 2, axis=0), labels(rng, 14, 7), {}


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


def pairs_as_blocks(rng):
    block = np.repeat(np.arange(8), 2)
    y = np.concatenate([labels(rng, 2, 1) for _ in range(8)])
    return rng.normal(size=(16, 5)) + rng.normal(size=(8, 5))[block] * 2, y, {"blocks": block}


def groups(rng):
    """Three nearly equal rows for each of 8 subjects, who have one label each."""
    subject = np.repeat(np.arange(8), 3)
    X = rng.normal(size=(8, 4))[subject] + 0.05 * rng.normal(size=(24, 4))
    return X, labels(rng, 8, 4)[subject], {"groups": subject}


def groups_in_blocks(rng):
    """Two rows for each of 12 subjects at two sites that differ in labels and features."""
    subject = np.repeat(np.arange(12), 2)
    site = np.repeat([0, 1], 12)
    y = np.concatenate([labels(rng, 6, 5), labels(rng, 6, 1)])[subject]
    X = rng.normal(size=(12, 4))[subject] + 0.1 * rng.normal(size=(24, 4)) + 2.0 * site[:, None]
    return X, y, {"groups": subject, "blocks": site}


def chosen_after_looking(rng):
    """The user takes the feature that makes fewest errors, and says so only with `features`."""
    X, y = rng.normal(size=(12, 3)), labels(rng, 12, 6)
    fewest = min(range(3), key=lambda j: rule_on(X, y, np.array([j]), True).errors)
    return X, y, {"features": [fewest]}


def preregistered(rng):
    return rng.normal(size=(12, 5)), labels(rng, 12, 6), {"features": [1, 3], "preregistered": True}


def selector(rng):
    return rng.normal(size=(14, 6)), labels(rng, 14, 7), {"search": SelectKBest(f_classif, k=2)}


def search_by_name(rng):
    return rng.normal(size=(12, 5)), labels(rng, 12, 5), {"search": "omp"}


def bound_alone(rng):
    return rng.normal(size=(12, 2)), labels(rng, 12, 6), {"permutations": 0, "level": 0.25}


def more_candidates(rng):
    return rng.normal(size=(14, 3)), labels(rng, 14, 7), {"candidates": 20}


def one_feature_alone(rng):
    """Long enough that the bound for one feature speaks now and then, with a share of the level that it can reach."""
    return rng.normal(size=(60, 1)), labels(rng, 60, 25), {"permutations": 0, "level": 0.25}


def one_feature_in_blocks(rng):
    block = np.repeat([0, 1, 2], [20, 12, 12])
    y = np.concatenate([labels(rng, 20, 14), labels(rng, 12, 3), labels(rng, 12, 6)])
    return (
        rng.standard_exponential(size=(44, 1)) + block[:, None],
        y,
        {"blocks": block, "permutations": 0, "level": 0.25},
    )


def factors(rng):
    """Two factors behind all columns: the spread is theirs."""
    return (
        rng.normal(size=(20, 2)) @ rng.normal(size=(2, 30)) + 0.5 * rng.normal(size=(20, 30)),
        labels(rng, 20, 9),
        {},
    )


SCENARIOS: dict[str, Callable[[np.random.Generator], tuple[Any, Any, dict[str, Any]]]] = {
    scenario.__name__: scenario
    for scenario in (
        balanced, wide, tall, tall_at_a_quarter, small_at_a_quarter, few_positives, one_of_sixteen, correlated, duplicated, ties,
        binary, equal_rows, heavy_tails, errors_allowed, ties_with_errors, no_intercept, fair_coin, blocks, pairs_as_blocks,
        groups, groups_in_blocks, chosen_after_looking, preregistered, selector, search_by_name, bound_alone, more_candidates,
        one_feature_alone, one_feature_in_blocks, factors,
    )
}  # fmt: skip


def null_results(scenario: str, repeats: int, seed: int, **options):
    number = list(SCENARIOS).index(scenario)
    for repeat in range(repeats):
        X, y, extra = SCENARIOS[scenario](np.random.default_rng([seed, number, repeat]))
        if len(set(y)) < 2:
            # A coin that fell on one side only is no data set: every test abstains.
            continue
        yield separation_test(
            X, y, seed=repeat, budget=40, restarts=1, expected_error=False, **{**options, **extra}
        )


def assert_valid(pvalues, what: str) -> None:
    for level in LEVELS:
        rejected = int(np.sum(np.asarray(pvalues) <= level))
        assert rejected <= binom.isf(1e-4, len(pvalues), level), (
            f"{what}: {rejected} of {len(pvalues)} at level {level}"
        )


def check(scenario: str, repeats: int, seed: int) -> None:
    overall, bounds, alone, permuted, structure, level = [], [], [], [], 0, 0.05
    for result in null_results(scenario, repeats, seed, permutations=PERMUTATIONS):
        overall.append(result.pvalue)
        bounds.append(result.separating.bound.pvalue)
        alone.append(1.0 if result.feature_bound is None else 10**result.feature_bound.log10_p)
        if result.permutation is not None:
            permuted.append(result.permutation.pvalue)
        structure += result.verdict == "structure"
        level = result.settings.level
    assert_valid(overall, "overall p")
    # Where the bound or the shuffles are read only after a look at the other, as many sets count as there were.
    assert_valid(bounds, "bound")
    assert_valid(alone, "bound for one feature")
    assert_valid([*permuted, *[1.0] * (len(overall) - len(permuted))], "permutation p")
    assert structure <= binom.isf(1e-4, len(overall), level)


def front_pvalues(scenario: str, repeats: int, seed: int) -> list[float]:
    """The front's p-value alone."""
    number = list(SCENARIOS).index(scenario)
    pvalues = []
    for repeat in range(repeats):
        X, y, extra = SCENARIOS[scenario](np.random.default_rng([seed, number, repeat]))
        design = make_design(
            y, DeclaredRoles(blocks=extra.get("blocks"), groups=extra.get("groups"))
        )
        columns = make_path_columns(X, design, True)
        steps = min(6, len(columns.feature_of_column))
        draws, _ = shuffle_paths(columns, design, ShufflePlan(39, seed=repeat), steps)
        pvalues.append(draws.permutation_reading().pvalue)
    return pvalues


@pytest.mark.slow
@pytest.mark.parametrize("scenario", ["balanced", "ties", "groups_in_blocks"])
def test_the_front_rejects_as_often_as_it_says(scenario):
    """At level 0.05 about 20 of 400 are expected; 43 or more, or 4 or fewer without ties, would be noticed."""
    pvalues = np.array(front_pvalues(scenario, 400, 1))
    rejected = np.count_nonzero(pvalues <= 0.05)
    assert rejected <= binom.isf(1e-4, 400, 0.05)
    if scenario == "balanced":
        assert rejected >= binom.ppf(1e-4, 400, 0.05)


@pytest.mark.parametrize("scenario", ["tall_at_a_quarter", "chosen_after_looking"])
def test_false_positive_rate_small(scenario):
    check(scenario, repeats=100, seed=1)


@dataclass(frozen=True, eq=False)
class Unfair:
    """The errors of features that were selected on the observed labels."""

    selected: np.ndarray

    def __call__(self, X, y):
        errors = rule_on(X, y, self.selected, True).errors
        return SearchStatistic(errors, len(self.selected), errors, tuple(self.selected.tolist()))


def test_wrong_tests_would_be_noticed():
    """Selecting features on the observed labels but not again on the shuffled ones must fail the same check."""
    pvalues = []
    for repeat in range(60):
        X, y, _ = wide(np.random.default_rng([7, repeat]))
        selected = tuple(SearchProcedure(budget=40).find(X, y).support.tolist())
        unfair = Unfair(np.array(selected))
        reading = shuffle_search(
            unfair, X, make_design(y), unfair(X, y), SearchShufflePlan(19, seed=repeat)
        )
        pvalues.append(reading.pvalue)
    with pytest.raises(AssertionError, match="unfair"):
        assert_valid(pvalues, "unfair")


def test_shuffling_across_blocks_would_be_noticed():
    """Sites that differ in labels and features: the front is valid within blocks and would not be across them."""
    ignored = []
    for repeat in range(60):
        X, y, _ = blocks(np.random.default_rng([8, repeat]))
        design = make_design(y)
        draws, _ = shuffle_paths(
            make_path_columns(X, design, True), design, ShufflePlan(39, seed=repeat), 4
        )
        ignored.append(draws.permutation_reading().pvalue)
    with pytest.raises(AssertionError, match="across blocks"):
        assert_valid(ignored, "across blocks")


@pytest.mark.slow
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_false_positive_rate(scenario):
    check(scenario, repeats=2000, seed=2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_samples", "positives", "n_features", "errors"),
    [(12, 6, 3, 0), (20, 2, 4, 0), (14, 4, 2, 1)],
)
def test_bound_is_never_below_the_frequency(n_samples, positives, n_features, errors):
    """For fixed X, how often shuffled labels let M features do with e errors, against the bound, for every M."""
    rng = np.random.default_rng(9)
    X = rng.normal(size=(n_samples, n_features))
    draws = 2000
    sizes = []
    for _ in range(draws):
        found = SearchProcedure(budget=100, errors=errors).find(
            X, labels(rng, n_samples, positives)
        )
        sizes.append(found.n_selected if found.errors <= errors else np.inf)
    for m in range(1, n_features + 1):
        reached = int(np.sum(np.array(sizes) <= m))
        bound = chance_bound(n_samples, n_features, m, positives=positives, errors=errors).pvalue
        # Lower end of the frequency's interval: the bound must not lie below it.
        assert binom.sf(reached - 1, draws, min(bound, 1.0)) > 1e-4
