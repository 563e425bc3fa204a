"""The built-in kinds of task: what they draw and find."""

import math
from itertools import combinations, pairwise, product
from math import comb

import numpy as np
import pytest

from chanceline.chance.gaussian_cones import log_expected_supports
from chanceline.errors import InputError
from chanceline.experiments.kinds import (
    count_classes,
    draw_classes,
    draw_problem,
    errors_classes,
    exact_count,
    separable_share,
    smallest_classes,
    smallest_support,
)
from chanceline.experiments.sampling import SAMPLING_RIDGE, support_separates
from chanceline.experiments.sweeps import load_sweep
from chanceline.perceptron.separate import separate
from chanceline.perceptron.workspace import make_hinge


def test_problems_have_the_classes_asked_for_and_depend_on_the_trial_alone():
    X, y = draw_classes(20, 1.5, 0.2, 3)
    assert X.shape == (30, 20)
    assert (y > 0).sum() == 6
    again, other = draw_classes(20, 1.5, 0.2, 3), draw_classes(20, 1.5, 0.2, 4)
    np.testing.assert_array_equal(X, again[0])
    assert not np.array_equal(X, other[0])
    with pytest.raises(InputError, match="one class"):
        draw_classes(20, 1.0, 0.01, 0)


def test_mean_exact_count_is_the_exact_first_moment():
    counts = np.array(
        [
            count_classes(0, n=10, alpha=1.2, balance=0.25, selected=3, trial=t)["count"]
            for t in range(300)
        ]
    )
    expected = math.exp(log_expected_supports(12, 10, 3, 3, 0))
    assert abs(counts.mean() - expected) < 3 * counts.std() / math.sqrt(len(counts))


def test_smallest_support_by_enumeration():
    found = smallest_classes(1, n=8, alpha=1.5, balance=0.25)
    X, y = draw_classes(8, 1.5, 0.25, 0)
    assert found["n_selected"] == next(
        size
        for size in range(1, 9)
        if any(separate(X, y, c, intercept=True).separates for c in combinations(range(8), size))
    )


def test_fewest_errors_fall_with_every_variable():
    errors = errors_classes(1, n=12, alpha=2.0, balance=0.5, largest=4)["errors"]
    assert len(errors) == 4
    assert all(a >= b for a, b in pairwise(errors))


def test_the_sweep_can_be_read():
    assert len(load_sweep("classes").tasks) == 48 + 6 + 80


def test_count_agrees_with_enumeration():
    for inputs in ("binary", "sphere"):
        X, y = draw_problem(10, 10, inputs, 1)
        hinge = make_hinge(np.ascontiguousarray((X * y[:, None]).T), 5, ridge=SAMPLING_RIDGE)
        brute = sum(
            support_separates(hinge, np.array(support)) for support in combinations(range(10), 5)
        )
        assert exact_count(0, n=10, rho=0.5, alpha=1.0, inputs=inputs, trial=1) == {
            "m": 5,
            "count": brute,
        }


def test_smallest_is_proven_by_exact_and_never_beaten():
    for trial in range(4):
        common = {"n": 14, "alpha": 1.0, "trial": trial}
        exact = smallest_support(1, method="exact", **common)
        found = smallest_support(1, method="auto", **common)
        assert exact["separates"]
        assert exact["n_selected"] <= found["n_selected"]


def test_share_is_covers_on_the_sphere_and_smaller_for_few_signs():
    """D(6, 3)/2⁶ = 1/2 in general position; three signs have 4 directions up to a sign, so by enumeration less."""
    draws = 20_000
    sphere = separable_share(1, m=3, patterns=6, inputs="sphere", draws=draws)["hits"] / draws
    assert abs(sphere - 0.5) < 4 * np.sqrt(0.25 / draws)
    binary = separable_share(1, m=3, patterns=6, inputs="binary", draws=draws)["hits"] / draws
    signs = np.array(list(product((-1, 1), repeat=3)))
    # A set of directions separates when some w has positive product with all of them; w in {−2 … 2}³ finds it.
    weights = np.array(list(product(range(-2, 3), repeat=3)))
    positive = signs @ weights.T > 0
    good = [
        np.any(positive[list(subset)].all(axis=0))
        for size in range(1, 7)
        for subset in combinations(range(8), size)
    ]
    sizes = [size for size in range(1, 7) for _ in combinations(range(8), size)]
    # Maps of 6 patterns onto a given set of k directions, by inclusion and exclusion.
    onto = {k: sum((-1) ** j * comb(k, j) * (k - j) ** 6 for j in range(k)) for k in range(1, 7)}
    exact = sum(onto[size] for size, fine in zip(sizes, good, strict=True) if fine) / 8**6
    assert abs(binary - exact) < 4 * np.sqrt(exact * (1 - exact) / draws)
    assert exact < 0.2
