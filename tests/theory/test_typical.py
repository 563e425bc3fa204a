"""Below the Cover–Gardner load: the paper's equations, and the field near the edge."""

import numpy as np
import pytest
from scipy.stats import norm

import chanceline
from chanceline.theory.closed_forms import binary_entropy
from chanceline.theory.typical import gardner_field, mills, mills_slope


def test_mills_ratio_and_slope():
    x = np.array([-8.0, -1.0, 0.0, 2.0, 30.0])
    np.testing.assert_allclose(mills(x), -np.exp(norm.logpdf(x) - norm.logsf(x)), rtol=1e-12)
    h = 1e-4
    np.testing.assert_allclose(
        mills_slope(x), (mills(x + h) - mills(x - h)) / (2 * h), rtol=1e-6, atol=1e-9
    )
    # both sides of the switch to the asymptotic series
    np.testing.assert_allclose(
        np.diff(mills_slope(np.array([60 - 1e-9, 60 + 1e-9]))), 0, atol=1e-12
    )


@pytest.mark.parametrize(("alpha", "rho"), [(0.3, 0.5), (0.9, 0.5), (0.15, 0.1), (1.5, 0.9)])
def test_paper_equations_by_plain_nested_quadrature(alpha, rho):
    """Eqs. (qh1_2) to (rho_2), with the double integral as printed."""
    s = chanceline.solve(alpha, rho)
    hats = s.conjugates
    z = np.linspace(-9, 9, 301)[:, None]
    y = np.linspace(-9, 9, 1201)[None, :]
    dz, dy = (np.exp(-0.5 * grid**2) / np.exp(-0.5 * grid**2).sum() for grid in (z, y))
    ratio = mills((np.sqrt(s.q1 - s.q0) * y + np.sqrt(s.q0) * z) / np.sqrt(rho - s.q1))
    assert hats.q1 == pytest.approx(
        alpha / (rho - s.q1) * float((dz * dy * ratio**2).sum()), rel=1e-9
    )
    assert hats.q0 == pytest.approx(
        alpha / (rho - s.q1) * float((dz[:, 0] * (ratio * dy).sum(axis=1) ** 2).sum()), rel=1e-9
    )
    total = hats.Q + hats.q1
    assert rho == pytest.approx(rho / total + s.q1, rel=1e-12)
    assert s.q1 == pytest.approx(rho * hats.q1 / total**2, rel=1e-11)
    assert s.q0 == pytest.approx(rho**2 * hats.q0 / total**2, rel=1e-11)
    assert rho == pytest.approx(1 / (1 + np.exp(s.K)), rel=1e-12)
    assert s.entropy == pytest.approx(binary_entropy(rho), rel=1e-15)
    assert s.residual <= 1e-12


def test_replicon_products_below_by_their_definition():
    """λλ̂ of the paper at m → 0, and the product between supports, by nested sums."""
    alpha, rho = 0.8, 0.5
    s = chanceline.solve(alpha, rho)
    z = np.linspace(-9, 9, 301)[:, None]
    y = np.linspace(-9, 9, 1201)[None, :]
    dz, dy = (np.exp(-0.5 * grid**2) / np.exp(-0.5 * grid**2).sum() for grid in (z, y))
    width = rho - s.q1
    second = mills_slope((np.sqrt(s.q1 - s.q0) * y + np.sqrt(s.q0) * z) / np.sqrt(width)) / width
    hat = s.conjugates.Q + s.conjugates.q1
    within = alpha * float((dz * dy * second**2).sum()) * rho / hat**2
    between = alpha * float((dz[:, 0] * (second * dy).sum(axis=1) ** 2).sum()) * rho**2 / hat**2
    assert s.stability.within == pytest.approx(within, rel=1e-9)
    assert s.stability.between == pytest.approx(between, rel=1e-9)


def test_the_field_diverges_at_two():
    """Near P/M = 2 Gardner's equation gives 1 − load/2 ≈ (2/π)^{1/2} 2/(3γ)… : γ(2 − load) tends to a constant."""
    values = [gardner_field(2 - e).gamma * e for e in (1e-3, 1e-4, 1e-5, 1e-6)]
    steps = np.abs(np.diff(values))
    assert np.all(steps[1:] < 0.5 * steps[:-1])


def test_small_loads_have_small_overlaps():
    """α → 0: one pattern fixes nothing, q₁ → (2/π)α."""
    s = chanceline.solve(1e-4, 0.5)
    assert s.q1 == pytest.approx(2 / np.pi * 1e-4, rel=1e-3)
