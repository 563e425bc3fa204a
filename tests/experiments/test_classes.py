"""Noise with unequal classes: what the tasks draw and find."""

import math
from itertools import combinations, pairwise

import numpy as np
import pytest

from chanceline.chance.gaussian import log_expected_supports
from chanceline.errors import InputError
from chanceline.experiments.classes import count, draw_classes, fewest_errors, smallest
from chanceline.experiments.sweeps import load_sweep
from chanceline.perceptron.fit import separate


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
    counts = np.array([count(0, n=10, alpha=1.2, balance=0.25, selected=3, trial=t)["count"] for t in range(300)])
    expected = math.exp(log_expected_supports(12, 10, 3, 3, 0))
    assert abs(counts.mean() - expected) < 3 * counts.std() / math.sqrt(len(counts))


def test_smallest_support_by_enumeration():
    found = smallest(1, n=8, alpha=1.5, balance=0.25)
    X, y = draw_classes(8, 1.5, 0.25, 0)
    assert found["n_selected"] == next(
        size for size in range(1, 9) if any(separate(X, y, c, intercept=True).separates for c in combinations(range(8), size))
    )


def test_fewest_errors_fall_with_every_variable():
    errors = fewest_errors(1, n=12, alpha=2.0, balance=0.5, largest=4)["errors"]
    assert len(errors) == 4
    assert all(a >= b for a, b in pairwise(errors))


def test_the_sweep_can_be_read():
    assert len(load_sweep("classes").tasks) == 48 + 6 + 80
