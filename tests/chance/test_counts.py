"""The counts against Python integers, and against all labellings of small point sets."""

from __future__ import annotations

import importlib.util
from itertools import combinations
from math import comb, lgamma, log
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from chanceline.chance.binomial import log_binomial
from chanceline.chance.cover import log_cover, log_cover_curve
from chanceline.chance.fixed_classes import EXACT_ERRORS, log_fixed_class_labellings
from chanceline.chance.hamming import log_hamming_ball, log_neighbours
from chanceline.chance.planar_sets import log_planar_sets

_spec = importlib.util.spec_from_file_location(
    "chance_oracle", Path(__file__).with_name("oracle.py")
)
oracle = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(oracle)


@given(st.integers(0, 4000), st.integers(-2, 4003))
@settings(max_examples=150, deadline=None)
def test_binomial_is_exact(n, k):
    """As exact as a difference of three log-gammas can be, of which ln n! is the largest."""
    exact = comb(n, k) if 0 <= k <= n else 0
    rounding = 4 * np.finfo(float).eps * lgamma(n + 1)
    assert float(log_binomial(n, k)) == pytest.approx(
        log(exact) if exact else -np.inf, rel=0, abs=rounding
    )


@given(st.integers(1, 2000), st.integers(1, 2200))
@settings(max_examples=60, deadline=None)
def test_cover_is_exact(points, dimension):
    assert log_cover(points, dimension) == pytest.approx(
        log(oracle.cover(points, dimension)), rel=1e-12
    )


def test_cover_of_large_numbers():
    exact = oracle.cover(100_000, 300)
    assert log_cover(100_000, 300) == pytest.approx(log(exact), rel=1e-13)
    curve = log_cover_curve(1_000_000, 1_000_000)
    assert curve[1_000_000] == pytest.approx(1_000_000 * log(2), rel=1e-12)
    # D(2d, d) = 2^(2d−1): Cover's "capacity two".
    assert curve[500_000] == pytest.approx(999_999 * log(2), rel=1e-12)
    assert np.all(np.diff(curve[1:]) >= 0)


def test_hamming_ball_is_exact():
    for points, errors in [(1, 0), (7, 3), (7, 9), (400, 120), (3000, 1)]:
        exact = sum(comb(points, j) for j in range(errors + 1))
        assert log_hamming_ball(points, errors) == pytest.approx(log(exact), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize(
    ("points", "positives", "errors"), [(7, 3, 0), (7, 3, 2), (8, 4, 3), (8, 1, 4), (6, 5, 6)]
)
def test_neighbours_by_enumeration(points, positives, errors):
    k, log_w = log_neighbours(points, positives, errors)
    goals = [set(c) for c in combinations(range(points), positives)]
    for size, value in zip(k, log_w, strict=True):
        start = set(range(size))
        exact = sum(len(start ^ goal) <= errors for goal in goals)
        assert np.exp(value) == pytest.approx(exact, rel=1e-10)


CLOUDS = {
    "general": lambda rng, p, n: rng.normal(size=(p, n)),
    "integers": lambda rng, p, n: rng.integers(-2, 3, size=(p, n)),
    "binary": lambda rng, p, n: rng.integers(0, 2, size=(p, n)),
    "duplicates": lambda rng, p, n: np.repeat(rng.normal(size=(p, 1)), n, axis=1),
    "constant": lambda rng, p, n: np.column_stack([rng.normal(size=(p, n - 1)), np.ones(p)]),
    "collinear": lambda rng, p, n: np.outer(np.arange(p), np.arange(1, n + 1)) + 1.0,
}


@pytest.mark.parametrize("cloud", CLOUDS)
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(("points", "selected"), [(6, 1), (6, 2), (6, 3), (7, 2)])
def test_counts_bound_every_configuration(cloud, intercept, points, selected):
    rng = np.random.default_rng([points, selected])
    X = CLOUDS[cloud](rng, points, selected)
    found = oracle.separable_labellings(X, tuple(range(selected)), intercept)
    dimension = selected + intercept
    if cloud == "general":
        assert len(found) == oracle.cover(points, dimension)
    else:
        assert len(found) <= oracle.cover(points, dimension)
    for errors in (0, 1, 2):
        for positives in range(1, points):
            exact = oracle.with_positives(oracle.within_errors(found, errors), positives)
            (value,), (form,) = log_fixed_class_labellings(
                points, positives, np.array([selected]), errors, intercept
            )
            assert exact <= np.exp(value) * (1 + 1e-9)
            if cloud == "general" and selected == 1 and intercept and errors == 0:
                assert form == "threshold"
                assert exact == pytest.approx(np.exp(value)) == 2


def test_planar_sets_bound_what_lines_cut_off():
    rng = np.random.default_rng(5)
    for points in (5, 6, 8, 9):
        clouds = [rng.normal(size=(points, 2))]
        angle = 2 * np.pi * np.arange(points) / points
        clouds.append(
            np.column_stack([np.cos(angle), np.sin(angle)]) + 1e-3 * rng.normal(size=(points, 2))
        )
        # Three arms from a centre have many halving lines.
        arm, radius = np.arange(points) % 3, 1.0 + np.arange(points) // 3
        turn = 2 * np.pi * arm / 3 + 0.05 * radius
        clouds.append(np.column_stack([radius * np.cos(turn), radius * np.sin(turn)]))
        for X in clouds:
            found = oracle.separable_labellings(X, (0, 1), True)
            for size in range(points + 1):
                bound = np.exp(log_planar_sets(points, size))
                assert oracle.with_positives(found, size) <= bound * (1 + 1e-9)
                assert bound == pytest.approx(oracle.planar_sets(points, size))


def test_identity_behind_the_planar_bound():
    """crossings + Σ C(δ/2, 2) = lower edges (and its form for halving lines), on random and convex points."""
    rng = np.random.default_rng(11)

    def side(p, q, r):
        return np.sign((q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0]))

    for trial in range(40):
        n = int(rng.integers(4, 11))
        X = rng.normal(size=(n, 2))
        if trial % 3 == 0:
            X /= np.linalg.norm(X, axis=1)[:, None]
        left = {
            (i, j): sum(side(X[i], X[j], X[k]) > 0 for k in range(n) if k not in (i, j))
            for i in range(n)
            for j in range(n)
            if i != j
        }
        for k in range((n - 2) // 2 + 1):
            edges = [(i, j) for i, j in combinations(range(n), 2) if k in (left[i, j], left[j, i])]
            degree = np.bincount(np.array(edges).ravel(), minlength=n)
            crossings = sum(
                side(X[a], X[b], X[c]) != side(X[a], X[b], X[d])
                and side(X[c], X[d], X[a]) != side(X[c], X[d], X[b])
                for (a, b), (c, d) in combinations(edges, 2)
                if len({a, b, c, d}) == 4
            )
            if 2 * k < n - 2:
                lower = sum(
                    min(left[i, j], n - 2 - left[i, j]) < k for i, j in combinations(range(n), 2)
                )
                assert crossings + sum(comb(int(g) // 2, 2) for g in degree) == lower <= n * k
            else:
                assert crossings + sum(comb((int(g) + 1) // 2, 2) for g in degree) == comb(
                    n // 2, 2
                )


def test_many_errors_fall_back_to_the_larger_ball():
    selected = np.array([3])
    exact, _ = log_fixed_class_labellings(5000, 2000, selected, EXACT_ERRORS, True)
    plain, _ = log_fixed_class_labellings(5000, 2000, selected, EXACT_ERRORS + 1, True)
    assert exact[0] < plain[0]
    assert plain[0] == pytest.approx(log_cover(5000, 4) + log_hamming_ball(5000, EXACT_ERRORS + 1))
