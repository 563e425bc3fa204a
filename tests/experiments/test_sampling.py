"""The Monte Carlo count against enumeration, and its walk against the uniform measure."""

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import linprog

from chanceline.experiments.kinds import draw_problem
from chanceline.experiments.sampling import (
    SAMPLING_RIDGE,
    draw_support,
    sample_counts,
    support_separates,
    walk_by_swaps,
)
from chanceline.perceptron.workspace import make_hinge


def separable(rows):
    """By linear programming: is the largest t with rows·w ≥ t, |w_i| ≤ 1 positive?"""
    patterns, m = rows.shape
    answer = linprog(
        np.append(np.zeros(m), -1.0),
        A_ub=np.column_stack([-rows, np.ones(patterns)]),
        b_ub=np.zeros(patterns),
        bounds=[(-1, 1)] * m + [(None, 1)],
    )
    return -answer.fun > 1e-7


def rows_of(n, patterns, inputs, trial):
    X, y = draw_problem(n, patterns, inputs, trial)
    return X * y[:, None]


def hinge_of(rows, m):
    return make_hinge(np.ascontiguousarray(rows.T), m, ridge=SAMPLING_RIDGE)


@pytest.mark.parametrize("inputs", ["binary", "sphere"])
def test_separability_agrees_with_linear_programming(inputs):
    rows = rows_of(20, 19, inputs, 0)
    hinge = hinge_of(rows, 10)
    rng = np.random.default_rng(0)
    supports = [rng.permutation(20)[:10] for _ in range(200)]
    verdicts = [support_separates(hinge, support) for support in supports]
    assert verdicts == [separable(rows[:, support]) for support in supports]
    assert 10 < sum(verdicts) < 190


@pytest.mark.parametrize("inputs", ["binary", "sphere"])
@pytest.mark.parametrize(("n", "m", "patterns"), [(12, 5, 14), (14, 4, 12)])
def test_curve_agrees_with_enumeration(inputs, n, m, patterns):
    deviations, bars = [], []
    for trial in range(4):
        X, y = draw_problem(n, patterns, inputs, trial)
        curve = sample_counts(X, y, m, sweeps=400, seed=trial)
        for p, estimate, error in zip(curve.patterns, curve.log_counts, curve.errors, strict=True):
            hinge = hinge_of((X * y[:, None])[:p], m)
            exact = sum(
                support_separates(hinge, np.array(support)) for support in combinations(range(n), m)
            )
            if np.isfinite(error):
                deviations.append(estimate - np.log(exact))
                bars.append(error)
    deviations, bars = np.array(deviations), np.array(bars)
    assert len(deviations) > 10
    # Rungs of one run share their errors, so few of these are independent: no single one may be far off, and on the
    # whole they scatter as the errors say. A count of one or two has blocks that agree exactly (error near 0).
    z = deviations / np.maximum(bars, 0.01)
    assert np.abs(z).max() < 6
    assert np.sqrt(np.mean(z**2)) < 2


def test_lowest_rung_and_walk_are_uniform_over_separating_supports():
    n, m = 7, 3
    rows = rows_of(n, 5, "sphere", 3)
    hinge, order, state = hinge_of(rows, m), np.arange(n), np.array([1], dtype=np.uint64)
    good = [support for support in combinations(range(n), m) if separable(rows[:, support])]
    assert 10 < len(good) < 35
    for step in (
        lambda: draw_support(hinge, order, m, 10_000, state),
        lambda: walk_by_swaps(hinge, order, m, 12, state),
    ):
        seen = dict.fromkeys(good, 0)
        for _ in range(6000):
            step()
            seen[tuple(sorted(map(int, order[:m])))] += 1
        expected = 6000 / len(good)
        chi2 = sum((count - expected) ** 2 / expected for count in seen.values())
        # Mean len(good) − 1, standard deviation √(2·dof); the walk's steps are nearly independent after 12 swaps.
        assert chi2 < len(good) - 1 + 5 * np.sqrt(2 * len(good))


def test_same_seed_same_curve_and_rungs_only_thin_it():
    X, y = draw_problem(16, 24, "sphere", 0)
    first, second = (sample_counts(X, y, 8, sweeps=40, seed=3) for _ in range(2))
    assert np.array_equal(first.log_counts, second.log_counts)
    assert not np.array_equal(
        first.log_counts, sample_counts(X, y, 8, sweeps=40, seed=4).log_counts
    )
    wide = sample_counts(X, y, 8, sweeps=400, spacing=4, seed=3)
    assert list(wide.patterns) == [16, 20, 24]
    fine = sample_counts(X, y, 8, sweeps=400, spacing=1, seed=3)
    assert wide.log_counts == pytest.approx(fine.log_counts[::4], abs=0.4)


def test_no_support_at_all_gives_an_empty_curve():
    X = np.array([[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]])
    curve = sample_counts(X, np.array([1.0, -1.0]), 1, sweeps=10)
    assert len(curve.patterns) == len(curve.log_counts) == len(curve.errors) == 0
