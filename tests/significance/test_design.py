"""The design of a study: which labellings are exchanged, and how small a p-value they allow."""

from itertools import product

import numpy as np
import pytest

from chanceline.significance.design import make_scheme
from chanceline.significance.stepwise import follow_paths, make_columns

HALVES = np.repeat([1.0, -1.0], 3)
SMALL = {
    "3 + 3 samples": (HALVES, {}, 2 / 20),
    "2 + 5 samples": (np.repeat([1.0, -1.0], [2, 5]), {}, 1 / 21),
    "six subjects of two rows": (np.repeat(HALVES, 2), {"groups": np.repeat(np.arange(6), 2)}, 2 / 20),
    "four pairs": (np.tile([1.0, -1.0], 4), {"blocks": np.repeat(np.arange(4), 2)}, 2 / 16),
    "unequal blocks": (np.array([1.0, -1, -1, 1, -1]), {"blocks": [0, 0, 0, 1, 1]}, 1 / 6),
    "coin": (HALVES, {"null": "coin"}, 2 / 64),
}


@pytest.mark.parametrize("name", SMALL)
def test_smallest_p_is_that_of_the_best_labelling_of_all(name):
    y, design, expected = SMALL[name]
    scheme = make_scheme(y, **design)
    X = np.random.default_rng(3).normal(size=(len(y), 9))
    drawn = {tuple(scheme.draw(np.random.default_rng(seed))) for seed in range(1500)}
    losses = follow_paths(make_columns(X, scheme, True), np.array(sorted(drawn)), 1).losses[:, 0]
    # Labels of one class (the coin has them) are explained by the threshold alone: no loss to compare.
    smallest = np.count_nonzero(losses <= losses[losses > 1e-9].min() + 1e-9) - np.count_nonzero(losses <= 1e-9)
    assert scheme.smallest_p == pytest.approx(expected) == pytest.approx(smallest / len(drawn))


def test_smallest_p_counts_every_labelling_once():
    for labels in product([-1.0, 1.0], repeat=5):
        if len(set(labels)) == 2:
            scheme = make_scheme(np.array(labels))
            drawn = {tuple(scheme.draw(np.random.default_rng(seed))) for seed in range(200)}
            assert scheme.smallest_p == pytest.approx(1 / len(drawn))
