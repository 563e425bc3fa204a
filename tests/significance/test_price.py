"""What the bound may spend, and what freedoms cost."""

from __future__ import annotations

from math import log10

import numpy as np
import pytest

from chanceline.chance import chance_bound
from chanceline.perceptron.rule import Rule
from chanceline.significance.null import make_scheme
from chanceline.significance.price import Price


def rule(selected: int, errors: int) -> Rule:
    return Rule(np.arange(selected), np.ones(selected), 0.0, np.arange(errors))


@pytest.fixture
def scheme():
    return make_scheme(np.repeat([1.0, -1.0], [14, 26]))


def test_declared_errors_have_no_premium(scheme):
    price = Price(scheme, 100, True, 1)
    exact = chance_bound(40, 100, 2, positives=14, errors=1)
    assert price.bound(rule(2, 0)).log10_p == price.bound(rule(2, 1)).log10_p == exact.log10_p
    assert price.bound(rule(2, 2)).log10_p == 0
    assert not price.covers(rule(2, 2))


def test_errors_counted_after_looking_share_the_level(scheme):
    price = Price(scheme, 100, True, None)
    for errors in (0, 1):
        exact = chance_bound(40, 100, 1, positives=14, errors=errors).log10_p
        assert price.bound(rule(1, errors)).log10_p == pytest.approx(exact + (errors + 1) * log10(2))
    assert price.spent(0.005) == 0.005


def test_spent_is_the_largest_attainable_value(scheme):
    price = Price(scheme, 100, True, 0)
    for gate in (1e-3, 0.01, 0.3):
        attainable = [chance_bound(40, 100, m, positives=14).pvalue for m in range(1, 101)]
        below = [value for value in attainable if value <= gate]
        assert price.spent(gate) == max(below, default=0.0)
        assert price.largest(gate) == len(below)
    assert price.spent(1e-12) == 0
    assert price.largest(1e-12) == 0


def test_spent_on_errors_of_fixed_features(scheme):
    price = Price(scheme, 100, True, None, preregistered=3)
    values = [chance_bound(40, 100, 3, positives=14, errors=e, preregistered=True).pvalue for e in range(12)]
    assert values == sorted(values)
    for gate in (1e-5, 0.005, 0.05):
        assert price.spent(gate) == max((value for value in values if value <= gate), default=0.0)
    assert price.bound(rule(3, 2)).pvalue == values[2]
    declared = Price(scheme, 100, True, 1, preregistered=3)
    assert declared.spent(0.05) == values[1]
