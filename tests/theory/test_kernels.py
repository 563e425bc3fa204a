"""Closed forms of the inner integrals against adaptive quadrature and finite differences."""

import numpy as np
import pytest
from scipy.integrate import quad

from chanceline.theory.patterns import pattern_law
from chanceline.theory.supports import variable_law

CASES = [(0.7, 0.3, 0.2), (-1.1, 0.05, 0.4), (0.02, 0.4, 0.001), (2.5, 0.01, 3.0)]


def gauss(y, centre, s2):
    return np.exp(-((y - centre) ** 2) / (2 * s2)) / np.sqrt(2 * np.pi * s2)


@pytest.mark.parametrize(("mu", "s2", "chi"), CASES)
def test_pattern_law_is_the_integral(mu, s2, chi):
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
    law = pattern_law(np.array([mu]), s2, chi)
    assert np.exp(law.log_mean_weight[0]) == pytest.approx(a, rel=1e-9)
    assert law.p_tight[0] == pytest.approx(r[0], rel=1e-8)
    assert law.p_not_tight[0] == pytest.approx(1 - r[0], rel=1e-8)
    assert law.mean_correction[0] == pytest.approx(r[1], rel=1e-8)
    assert law.mean_square_correction[0] == pytest.approx(r[2], rel=1e-8)
    assert law.correction_variance[0] == pytest.approx(r[2] - r[1] ** 2, rel=1e-7)


@pytest.mark.parametrize(("mu", "s2", "chi"), CASES)
def test_slope_curvature_and_heat_equation(mu, s2, chi):
    h = 1e-4 * np.sqrt(s2)
    low, here, high = pattern_law(np.array([mu - h, mu, mu + h]), s2, chi).log_mean_weight
    law = pattern_law(np.array([mu]), s2, chi)
    assert law.slope[0] == pytest.approx((high - low) / (2 * h), rel=1e-6, abs=1e-9)
    assert law.curvature[0] == pytest.approx((high - 2 * here + low) / h**2, rel=1e-4, abs=1e-4)
    by_s2 = (
        pattern_law(np.array([mu]), s2 * 1.0001, chi).log_mean_weight
        - pattern_law(np.array([mu]), s2 * 0.9999, chi).log_mean_weight
    ) / (2e-4 * s2)
    assert by_s2[0] == pytest.approx(0.5 * (law.curvature + law.slope**2)[0], rel=1e-6)


def test_moments_do_not_cancel_far_from_the_boundary():
    """Deep in the violated side T is the Gaussian N(m', σ'²), σ'² = s²χ/(s² + χ)."""
    s2, chi = 1e-6, 2e-6
    law = pattern_law(np.array([1.0]), s2, chi)
    var = s2 * chi / (s2 + chi)
    assert law.correction_variance[0] == pytest.approx(var, rel=1e-14)


def test_variable_law_is_the_integral():
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
    law = variable_law(np.array([u]), v, d, k)
    weight = np.exp(-k) * tilted[0]
    p = weight / (1 + weight)
    assert law.log_partition[0] == pytest.approx(np.log1p(weight), rel=1e-9)
    assert law.p_chosen[0] == pytest.approx(p, rel=1e-9)
    assert law.slope[0] == pytest.approx(p * tilted[1] / tilted[0] / e, rel=1e-8)
    assert (law.p_chosen * (law.mean_weight**2 + law.weight_variance))[0] == pytest.approx(
        p * tilted[2] / tilted[0] / e**2, rel=1e-8
    )
    low, here, high = variable_law(np.array([u - 1e-4, u, u + 1e-4]), v, d, k).log_partition
    assert law.slope[0] == pytest.approx((high - low) / 2e-4, rel=1e-7)
    assert law.curvature[0] == pytest.approx((high - 2 * here + low) / 1e-8, rel=1e-6)
