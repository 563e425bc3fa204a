"""Closed forms of the inner integrals against adaptive quadrature and finite differences."""

import numpy as np
import pytest
from scipy.integrate import quad

from chanceline.theory.patterns import pattern_side
from chanceline.theory.supports import support_side

CASES = [(0.7, 0.3, 0.2), (-1.1, 0.05, 0.4), (0.02, 0.4, 0.001), (2.5, 0.01, 3.0)]


def gauss(y, centre, s2):
    return np.exp(-((y - centre) ** 2) / (2 * s2)) / np.sqrt(2 * np.pi * s2)


@pytest.mark.parametrize(("mu", "s2", "chi"), CASES)
def test_pattern_side_is_the_integral(mu, s2, chi):
    def moment(k):
        reach = 12 * np.sqrt(s2)
        inside = quad(
            lambda v: gauss(v, mu, s2) * np.exp(-v * v / (2 * chi)) * v**k,
            0,
            max(mu, 0) + reach,
            epsabs=1e-15,
            limit=400,
            points=[min(max(mu, 0) + reach, 3 * np.sqrt(chi))],
        )[0]
        return inside

    outside = quad(
        lambda v: gauss(v, mu, s2), min(mu, 0) - 12 * np.sqrt(s2), 0, epsabs=1e-15, limit=400
    )[0]
    a = outside + moment(0)
    r = [moment(k) / a for k in range(3)]
    side = pattern_side(np.array([mu]), s2, chi)
    assert np.exp(side.log_a[0]) == pytest.approx(a, rel=1e-9)
    assert side.tight[0] == pytest.approx(r[0], rel=1e-8)
    assert side.loose[0] == pytest.approx(1 - r[0], rel=1e-8)
    assert side.mean[0] == pytest.approx(r[1], rel=1e-8)
    assert side.second[0] == pytest.approx(r[2], rel=1e-8)
    assert side.variance[0] == pytest.approx(r[2] - r[1] ** 2, rel=1e-7)


@pytest.mark.parametrize(("mu", "s2", "chi"), CASES)
def test_slope_curvature_and_heat_equation(mu, s2, chi):
    h = 1e-4 * np.sqrt(s2)
    low, here, high = pattern_side(np.array([mu - h, mu, mu + h]), s2, chi).log_a
    side = pattern_side(np.array([mu]), s2, chi)
    assert side.slope[0] == pytest.approx((high - low) / (2 * h), rel=1e-6, abs=1e-9)
    assert side.curvature[0] == pytest.approx((high - 2 * here + low) / h**2, rel=1e-4, abs=1e-4)
    by_s2 = (
        pattern_side(np.array([mu]), s2 * 1.0001, chi).log_a
        - pattern_side(np.array([mu]), s2 * 0.9999, chi).log_a
    ) / (2e-4 * s2)
    assert by_s2[0] == pytest.approx(0.5 * (side.curvature + side.slope**2)[0], rel=1e-6)


def test_moments_do_not_cancel_far_from_the_boundary():
    """Deep in the violated side T is the Gaussian N(m', σ'²), σ'² = s²χ/(s² + χ)."""
    s2, chi = 1e-6, 2e-6
    side = pattern_side(np.array([1.0]), s2, chi)
    var = s2 * chi / (s2 + chi)
    assert side.variance[0] == pytest.approx(var, rel=1e-14)


def test_support_side_is_the_integral():
    e, v, k, u = 1.7, 0.9, 0.6, 0.8
    d = e - v
    tilted = [
        quad(
            lambda h, j=j: gauss(h, u, v) * np.exp(h * h / (2 * e)) * h**j,
            -30,
            30,
            epsabs=1e-13,
            limit=400,
        )[0]
        for j in range(3)
    ]
    side = support_side(np.array([u]), v, d, k)
    weight = np.exp(-k) * tilted[0]
    p = weight / (1 + weight)
    assert side.log_partition[0] == pytest.approx(np.log1p(weight), rel=1e-9)
    assert side.chosen[0] == pytest.approx(p, rel=1e-9)
    assert side.slope[0] == pytest.approx(p * tilted[1] / tilted[0] / e, rel=1e-8)
    assert (side.chosen * (side.mean**2 + side.variance))[0] == pytest.approx(
        p * tilted[2] / tilted[0] / e**2, rel=1e-8
    )
    low, here, high = support_side(np.array([u - 1e-4, u, u + 1e-4]), v, d, k).log_partition
    assert side.slope[0] == pytest.approx((high - low) / 2e-4, rel=1e-7)
    assert side.curvature[0] == pytest.approx((high - 2 * here + low) / 1e-8, rel=1e-6)
