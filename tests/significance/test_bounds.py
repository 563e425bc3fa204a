"""The null draws every allowed labelling equally often; what the bound may spend, and the samples that would convince."""

from __future__ import annotations

from collections import Counter
from math import comb, exp, log10

import numpy as np
import pytest
from scipy.stats import chisquare

from chanceline.chance import chance_bound
from chanceline.errors import InputError
from chanceline.perceptron.rule import Rule
from chanceline.significance.declared_roles import DeclaredRoles
from chanceline.significance.design import make_design
from chanceline.significance.union_bound import UnionBound


def design_of(y, null="fixed", **roles):
    return make_design(y, DeclaredRoles(**roles), null)


def rule(selected: int, errors: int = 0) -> Rule:
    return Rule(np.arange(selected), np.ones(selected), 0.0, np.arange(errors))


@pytest.fixture
def sizes():
    return make_design(np.repeat([1.0, -1.0], [14, 26])).sizes


def test_declared_errors_have_no_premium(sizes):
    bounds = UnionBound(sizes, n_features=100, intercept=True, errors=1)
    exact = chance_bound(40, 100, 2, positives=14, errors=1)
    assert bounds.bound(rule(2, 0)).log10_p == bounds.bound(rule(2, 1)).log10_p == exact.log10_p
    assert bounds.bound(rule(2, 2)).log10_p == 0
    assert bounds.samples_needed(rule(2, 2), 0.05) is None


def test_errors_counted_after_looking_share_the_level(sizes):
    bounds = UnionBound(sizes, n_features=100, intercept=True, errors=None)
    for errors in (0, 1):
        exact = chance_bound(40, 100, 1, positives=14, errors=errors).log10_p
        assert bounds.bound(rule(1, errors)).log10_p == pytest.approx(
            exact + (errors + 1) * log10(2)
        )
    assert bounds.largest_attainable_pvalue(0.005) == 0.005


def test_spent_is_the_largest_attainable_value(sizes):
    bounds = UnionBound(sizes, n_features=100, intercept=True, errors=0)
    for gate in (1e-3, 0.01, 0.3):
        attainable = [chance_bound(40, 100, m, positives=14).pvalue for m in range(1, 101)]
        below = [value for value in attainable if value <= gate]
        assert bounds.largest_attainable_pvalue(gate) == max(below, default=0.0)
        assert bounds.largest_convincing(gate) == len(below)
    assert bounds.largest_attainable_pvalue(1e-12) == 0
    assert bounds.largest_convincing(1e-12) == 0


def test_spent_on_errors_of_fixed_features(sizes):
    bounds = UnionBound(sizes, n_features=100, intercept=True, errors=None, preregistered=3)
    values = [
        chance_bound(40, 100, 3, positives=14, errors=e, preregistered=True).pvalue
        for e in range(12)
    ]
    assert values == sorted(values)
    for gate in (1e-5, 0.005, 0.05):
        assert bounds.largest_attainable_pvalue(gate) == max(
            (value for value in values if value <= gate), default=0.0
        )
    assert bounds.bound(rule(3, 2)).pvalue == values[2]
    declared = UnionBound(sizes, n_features=100, intercept=True, errors=1, preregistered=3)
    assert declared.largest_attainable_pvalue(0.05) == values[1]


def smallest_convincing(level, bound_at, sizes):
    """From which size on every bound is at most the level, by a scan."""
    fails = [size for size in sizes if bound_at(size) > np.log10(level)]
    return next(size for size in sizes if size > max(fails))


def test_samples_needed_of_preregistered_features():
    design = make_design(np.repeat([1.0, -1.0], 5))
    bounds = UnionBound(design.sizes, n_features=100, intercept=True, errors=None, preregistered=4)

    def bound(n):
        return chance_bound(n, 4, 4, positives=round(n / 2), preregistered=True).log10_p

    wanted = smallest_convincing(0.05, bound, range(6, 60))
    assert bounds.samples_needed(rule(4), 0.05) == wanted == 21


def test_samples_needed_pays_for_errors_counted_afterwards():
    design = make_design(np.repeat([1.0, -1.0], 10))
    bounds = UnionBound(design.sizes, n_features=50, intercept=True, errors=None)

    def bound(n):
        return chance_bound(n, 50, 2, positives=round(n / 2), errors=2).log10_p + 3 * np.log10(2)

    assert bounds.samples_needed(rule(2, 2), 0.05) == smallest_convincing(
        0.05, bound, range(10, 90)
    )


def test_samples_needed_with_pairs_as_blocks():
    """Twenty pairs: only 2^20 labellings, so that the bound is silent where it would speak without blocks."""
    y = np.tile([1.0, -1.0], 20)
    design = design_of(y, blocks=np.repeat(np.arange(20), 2))
    bounds = UnionBound(design.sizes, n_features=100, intercept=True, errors=0)

    def bound(pairs):
        return chance_bound(2 * pairs, 100, 3, positives=pairs, blocks=[(2, 1)] * pairs).log10_p

    assert bounds.samples_needed(rule(3), 0.05) == 2 * smallest_convincing(
        0.05, bound, range(5, 90)
    )
    assert bound(20) == 0


def test_no_number_of_samples_for_more_errors_than_declared():
    assert (
        UnionBound(
            make_design(np.tile([1.0, -1.0], 20)).sizes, n_features=10, intercept=True, errors=0
        ).samples_needed(rule(2, 9), 0.05)
        is None
    )


def drawn(design, times=4000):
    rng = np.random.default_rng(8)
    return Counter(tuple(design.draw(rng).astype(int)) for _ in range(times))


@pytest.mark.parametrize(
    ("labels", "options", "number"),
    [
        ([1, 1, -1, -1, -1], {}, comb(5, 2)),
        ([1, -1, -1, 1, 1, -1], {"blocks": ["a", "a", "a", "b", "b", "b"]}, 9),
        ([1, 1, -1, -1, -1, -1, 1], {"groups": [5, 5, 2, 2, 2, 9, 7]}, comb(4, 2)),
        ([1, 1, -1, 1, -1, -1], {"groups": [0, 0, 1, 2, 3, 3], "blocks": [0, 0, 0, 1, 1, 1]}, 4),
        ([1, -1, -1], {"null": "coin"}, 8),
    ],
)
def test_uniform_on_what_the_null_allows(labels, options, number):
    design = design_of(np.array(labels, dtype=float), **options)
    counts = drawn(design)
    assert len(counts) == number == round(exp(design.sizes.log_labellings))
    assert chisquare(list(counts.values())).pvalue > 1e-4
    if "groups" in options:
        groups = np.array(options["groups"])
        for labelling in counts:
            assert all(len(set(np.array(labelling)[groups == g])) == 1 for g in groups)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"groups": [0, 0, 1, 2]}, "row 2 differs from its group"),
        ({"blocks": [0, 1, 0, 1], "null": "coin"}, "fixed class sizes"),
        ({"blocks": ["a", "b", "a", "b"]}, "every block holds one class"),
        ({"groups": [0, 1, 0, 2], "blocks": [0, 0, 1, 1]}, "within one block"),
    ],
)
def test_bad_designs_get_one_sentence(options, match):
    with pytest.raises(InputError, match=match):
        design_of(np.array([1.0, -1, 1, -1]), **options)
