"""The null draws every allowed labelling equally often, and no other."""

from __future__ import annotations

from collections import Counter
from math import comb, exp

import numpy as np
import pytest
from scipy.stats import chisquare

from chanceline.errors import InputError
from chanceline.significance.plan import make_scheme


def drawn(scheme, times=4000):
    rng = np.random.default_rng(8)
    return Counter(tuple(scheme.draw(rng).astype(int)) for _ in range(times))


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
    scheme = make_scheme(np.array(labels, dtype=float), **options)
    counts = drawn(scheme)
    assert len(counts) == number == round(exp(scheme.sizes.log_labellings))
    assert chisquare(list(counts.values())).pvalue > 1e-4
    if "groups" in options:
        groups = np.array(options["groups"])
        for labelling in counts:
            assert all(len(set(np.array(labelling)[groups == g])) == 1 for g in groups)


def test_units_of_groups_and_blocks():
    scheme = make_scheme(np.array([1.0, 1, -1, 1, -1, -1]), groups=[0, 0, 1, 2, 3, 3], blocks=[0, 0, 0, 1, 1, 1])
    assert scheme.sizes.n_units == 4
    assert scheme.sizes.positives == 2
    assert scheme.sizes.blocks == ((2, 1), (2, 1))


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"groups": [0, 0, 1, 2]}, "row 2 differs from its group"),
        ({"blocks": [0, 1, 0]}, "one value for each of the 4 samples"),
        ({"blocks": [0, 1, 0, 1], "null": "coin"}, "fixed class sizes"),
        ({"blocks": ["a", "b", "a", "b"]}, "every block holds one class"),
        ({"groups": [0, 1, 0, 2], "blocks": [0, 0, 1, 1]}, "within one block"),
    ],
)
def test_bad_schemes_get_one_sentence(options, match):
    with pytest.raises(InputError, match=match):
        make_scheme(np.array([1.0, -1, 1, -1]), **options)
