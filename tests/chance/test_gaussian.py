"""The exact probability that a support separates Gaussian noise: identities, brute force, its limit."""

import math

import numpy as np
import pytest
from scipy.optimize import linprog

from chanceline.chance.binomial import log_binomial
from chanceline.chance.cover import log_cover
from chanceline.chance.gaussian_cones import (
    log_cone_share,
    log_expected_supports,
    log_intrinsic_volume,
    log_separable,
)
from chanceline.theory.ensemble import Ensemble
from chanceline.theory.first_moment import first_moment_load


@pytest.mark.parametrize(("samples", "positives"), [(5, 2), (12, 4), (40, 2), (60, 30)])
def test_intrinsic_volumes_sum_to_one_and_alternate(samples, positives):
    volumes = np.exp([log_intrinsic_volume(samples, positives, n) for n in range(1, samples + 1)])
    assert volumes.sum() == pytest.approx(1, abs=1e-12)
    assert volumes[::2].sum() == pytest.approx(0.5, abs=1e-12)


@pytest.mark.parametrize(("samples", "positives"), [(12, 6), (25, 4), (40, 20), (40, 3)])
def test_intrinsic_volumes_have_one_peak(samples, positives):
    """So the sum of a probability may end where its terms have become negligible."""
    log_volumes = [log_intrinsic_volume(samples, positives, n) for n in range(1, samples)]
    rises = np.diff(log_volumes) > 0
    peak = int(np.argmax(log_volumes))
    assert 0 < peak < samples - 2
    assert np.all(rises[:peak])
    assert not np.any(rises[peak:])


def test_shares_of_a_plane_in_closed_form():
    """i = j = 1: half of the line λ₁ = λ₂. i = 2, j = 1: an angle of the cone λ₁ + λ₂ = λ₃ seen from its plane, 60° of 360°."""
    assert math.exp(log_cone_share(1, 1)) == pytest.approx(0.5, rel=1e-10)
    edges = np.array([[1, 0, 1], [0, 1, 1]]) / math.sqrt(2)
    angle = math.acos(edges[0] @ edges[1])
    assert math.exp(log_cone_share(2, 1)) == pytest.approx(angle / (2 * math.pi), rel=1e-9)


def test_one_feature_is_a_threshold():
    """The positives are the largest values or the smallest: 2 of C(P, n₊) subsets."""
    for samples, positives in ((10, 5), (30, 4)):
        assert log_separable(samples, positives, 1) == pytest.approx(
            math.log(2 / math.comb(samples, positives)), rel=1e-12
        )


@pytest.mark.parametrize(("samples", "selected"), [(9, 2), (14, 5), (30, 11)])
def test_all_class_sizes_together_are_covers_count(samples, selected):
    """Σ over n₊ of C(P, n₊) P_sep = D(P, M + 1), whatever the inputs in general position."""
    terms = [
        float(log_binomial(samples, n)) + log_separable(samples, n, selected)
        for n in range(samples + 1)
    ]
    assert np.logaddexp.reduce(terms) == pytest.approx(log_cover(samples, selected + 1), rel=1e-12)


def test_against_linear_programs():
    samples, positives, draws = 11, 4, 600
    labels = np.array([1] * positives + [-1] * (samples - positives))
    rng = np.random.default_rng(3)
    for selected in (2, 4):
        found = 0
        for _ in range(draws):
            rows = np.column_stack([rng.normal(size=(samples, selected)), np.ones(samples)])
            program = linprog(
                np.zeros(selected + 1),
                A_ub=-labels[:, None] * rows,
                b_ub=-np.ones(samples),
                bounds=(None, None),
            )
            found += program.status == 0
        probability = math.exp(log_separable(samples, positives, selected))
        assert abs(found - draws * probability) < 4 * math.sqrt(
            draws * probability * (1 - probability)
        )


def test_its_limit_is_the_first_moment_of_the_theory():
    """ln E[𝒩]/N → 0 at the load of `first_moment_load`, with corrections ln N/N."""
    rho, ensemble, gaps = 0.05, Ensemble(0.2), []
    load = first_moment_load(rho, ensemble)
    for n in (200, 800):
        samples = round(load * n)
        gaps.append(log_expected_supports(samples, n, round(0.2 * samples), round(rho * n), 0) / n)
    assert abs(gaps[1]) < 0.35 * abs(gaps[0])
    assert abs(gaps[1]) < 0.02


def test_errors_are_counted_as_pairs():
    """One error among 6: the sum over which sample is given up, each a separation of the other five."""
    without_a_positive = math.log(2) + log_separable(5, 1, 2)
    without_a_negative = math.log(4) + log_separable(5, 2, 2)
    by_hand = np.logaddexp(without_a_positive, without_a_negative)
    assert log_expected_supports(6, 10, 2, 2, 1) == pytest.approx(
        float(log_binomial(10, 2)) + by_hand, rel=1e-12
    )
