"""The rescaled saddle, α > 2ρ: reference values, gradients, exact identities, limits."""

from dataclasses import astuple

import numpy as np
import pytest
from scipy.optimize import brentq

import chanceline
from chanceline.errors import InputError
from chanceline.theory.closed_forms import binary_entropy, first_moment_exponent, typical_overlap
from chanceline.theory.rs import Branch, Order, equations, free_entropy

POINTS = [
    (1.2, 0.5),
    (1.79, 0.5),
    (0.021, 0.01),
    (0.11, 0.01),
    (0.6, 0.1),
    (1.95, 0.9),
    (1.998, 0.9),
    (0.0152, 0.001),
    (1.999998, 0.99),
]


def order_of(solution):
    return Order(solution.q0, solution.chi, solution.E, solution.F1, solution.F0, solution.K)


def test_reference_values():
    """Two independent programs gave these six digits for α = 1.2, ρ = 0.5."""
    s = chanceline.solve(1.2, 0.5)
    assert s.entropy == pytest.approx(0.667065, abs=5e-7)
    assert s.chi == pytest.approx(0.269115, abs=5e-7)
    assert s.q0 == pytest.approx(0.194722, abs=5e-7)
    assert pytest.approx(0.529060, abs=5e-7) == s.K
    assert pytest.approx(1.351479, abs=5e-7) == s.F1
    assert pytest.approx(0.567326, abs=5e-7) == s.F0
    assert (s.regime, s.q1) == ("selected", 0.5)


@pytest.mark.parametrize(("alpha", "rho"), POINTS)
def test_every_point_meets_its_tolerances(alpha, rho):
    s = chanceline.solve(alpha, rho)
    assert s.residual <= 1e-12
    assert abs(s.identity_error) <= 1e-10
    assert s.quadrature_error <= 1e-9
    assert s.stability.within == pytest.approx(1, abs=1e-10)


@pytest.mark.parametrize(("alpha", "rho"), [(1.2, 0.5), (1.7, 0.5), (0.6, 0.1), (1.9, 0.9)])
def test_partial_derivatives_of_the_free_entropy_vanish(alpha, rho):
    order = order_of(chanceline.solve(alpha, rho))
    values = np.array(astuple(order)[:6])
    assert free_entropy(order, alpha, rho) == pytest.approx(chanceline.solve(alpha, rho).entropy, abs=1e-11)
    for index, value in enumerate(values):
        h = 1e-4 * max(abs(value), 1e-3)
        shifted = [values + k * h * np.eye(6)[index] for k in (-2, -1, 1, 2)]
        a, b, c, d = (free_entropy(Order(*point), alpha, rho) for point in shifted)
        derivative = (8 * (c - b) - (d - a)) / (12 * h)
        assert abs(derivative * value) <= 1e-8, f"dΣ/d{('q0', 'chi', 'E', 'F1', 'F0', 'K')[index]} = {derivative}"


@pytest.mark.parametrize(
    ("rho", "point"),
    [(0.5, [-1.5, -0.5, 0.4, 0.3, -0.7]), (0.05, [-5.0, -0.5, 4.5, 0.9, 1.5]), (0.97, [-8.0, 5.0, 1.0, 2.0, 14.0])],
)
def test_jacobian_and_gradients_by_finite_differences(rho, point):
    point = np.array(point)
    state = equations(point, rho)
    h = 1e-4
    for k, unit in enumerate(np.eye(5)):
        far_low, low, high, far_high = (equations(point + j * h * unit, rho) for j in (-2, -1, 1, 2))

        def slope(name, far_low=far_low, low=low, high=high, far_high=far_high):
            f = [np.asarray(getattr(s, name)) for s in (far_low, low, high, far_high)]
            return (8 * (f[2] - f[1]) - (f[3] - f[0])) / (12 * h)

        scale = np.abs(state.jacobian).max()
        np.testing.assert_allclose(state.jacobian[:, k], slope("residual"), atol=1e-8 * scale)
        assert state.alpha_gradient[k] == pytest.approx(slope("alpha"), abs=1e-9)
        assert state.entropy_gradient[k] == pytest.approx(slope("entropy"), rel=1e-7, abs=1e-8 * max(1, abs(state.entropy)))


@pytest.mark.parametrize(("alpha", "rho"), [(1.2, 0.5), (0.5, 0.1), (1.9, 0.9)])
def test_total_derivatives_of_the_entropy(alpha, rho):
    """dΣ/dα = ∫Dz ln A and dΣ/dρ, by envelope, against differences of solved points."""
    branch = Branch(rho)
    *_, before, after = branch.from_entrance(lambda state: state.alpha >= alpha)
    state = branch.point_where((before, after), lambda state: state.alpha - alpha).state
    h = 1e-4
    by_alpha = (chanceline.solve(alpha + h, rho).entropy - chanceline.solve(alpha - h, rho).entropy) / (2 * h)
    by_rho = (chanceline.solve(alpha, rho + h).entropy - chanceline.solve(alpha, rho - h).entropy) / (2 * h)
    assert state.entropy_by_alpha == pytest.approx(by_alpha, rel=1e-5)
    assert state.entropy_by_rho == pytest.approx(by_rho, rel=1e-5)


@pytest.mark.parametrize(("alpha", "rho"), [(1.2, 0.5), (0.5, 0.1), (1.9, 0.7), (0.05, 0.01)])
def test_without_overlap_between_supports_the_first_moment_comes_out(alpha, rho):
    """q₀ = F₀ = 0: d = ρ/(ρ+χ), F₁ = ρ²/χ(ρ+χ), e^{−K}B = ρ/(1−ρ), and χ from α ∂ln A/∂χ = F₁/2."""

    def slope(log_chi):
        chi = np.exp(log_chi)
        root = np.sqrt(chi / (chi + rho))
        return alpha * 0.5 * root * rho / (chi * (chi + rho)) / (1 + root) - 0.5 * rho**2 / (chi * (rho + chi))

    chi = np.exp(brentq(slope, -40, 40, xtol=1e-15))
    d = rho / (rho + chi)
    K = 0.5 * np.log(rho / chi / d) - np.log(rho / (1 - rho))
    annealed = free_entropy(Order(0.0, chi, rho / chi, rho / chi - d, 0.0, K), alpha, rho)
    assert annealed == pytest.approx(first_moment_exponent(alpha, rho), abs=1e-12)


@pytest.mark.parametrize("rho", [0.01, 0.1, 0.5, 0.9, 0.99])
def test_continuity_at_cover_gardner(rho):
    """Both sides reach Σ = H₂(ρ), q₁ = ρ, q₀ = cρ and the same replicon; so does the point itself."""
    at = chanceline.solve(2 * rho, rho)
    gaps = []
    for epsilon in (1e-4, 1e-5):
        below, above = (chanceline.solve(2 * rho * (1 + sign * epsilon * (1 - rho)), rho) for sign in (-1, 1))
        gaps.append(
            [
                abs(below.entropy - above.entropy),
                rho - below.q1,
                abs(below.q0 - typical_overlap(rho) * rho),
                abs(above.q0 - typical_overlap(rho) * rho),
                abs(below.stability.between - at.stability.between),
                abs(above.stability.between - at.stability.between),
                1 / above.chi,
            ]
        )
    assert at.entropy == pytest.approx(binary_entropy(rho), abs=1e-15)
    assert at.q0 == pytest.approx(typical_overlap(rho) * rho, rel=1e-14)
    for coarse, fine in zip(*gaps, strict=True):
        assert fine <= 0.4 * coarse + 1e-13


def test_the_branch_ends_at_l0_gardner():
    with pytest.raises(InputError, match="l0-Gardner"):
        chanceline.solve(1.858, 0.5)
    near_end = chanceline.solve(1.85, 0.5)
    assert near_end.regime == "beyond"
    assert near_end.entropy < -0.3
    assert near_end.q0 / 0.5 > 0.98


@pytest.mark.parametrize(
    ("alpha", "rho"), [(float("nan"), 0.5), (-1, 0.5), (0, 0.5), (1, 0), (1, 1), (1, float("inf")), ("x", 0.5)]
)
def test_bad_input_is_named(alpha, rho):
    with pytest.raises(InputError, match=r"alpha|rho"):
        chanceline.solve(alpha, rho)


def test_unknown_ansatz_is_named():
    with pytest.raises(InputError, match="full"):
        chanceline.solve(1.2, 0.5, ansatz="full")


def test_paper_equations_by_plain_nested_quadrature():
    """The six equations as the paper prints them, with nothing in closed form."""
    alpha, rho = 1.4, 0.5
    s = chanceline.solve(alpha, rho)
    z = np.linspace(-9, 9, 361)[:, None]
    y = np.linspace(-14, 14, 8001)[None, :]
    dz, dy = (np.exp(-0.5 * grid**2) / np.exp(-0.5 * grid**2).sum() for grid in (z, y))

    def over_y(values):
        return (values * dy).sum(axis=1, keepdims=True)

    v = np.sqrt(rho - s.q0) * y + np.sqrt(s.q0) * z
    h_tilde = np.where(v > 0, np.exp(-(v**2) / (2 * s.chi)), 1.0)
    inner = over_y(h_tilde)
    positive = (v > 0) * v
    assert pytest.approx(alpha / s.chi**2 * float((dz * over_y(h_tilde * positive**2) / inner).sum()), rel=1e-4) == s.F1
    assert pytest.approx(alpha / s.chi**2 * float((dz * (over_y(h_tilde * positive) / inner) ** 2).sum()), rel=1e-4) == s.F0
    h = np.sqrt(s.F1 - s.F0) * y + np.sqrt(s.F0) * z
    xi = np.exp(h**2 / (2 * s.E) - s.K)
    denominator = 1 + over_y(xi)
    assert rho == pytest.approx(float((dz * over_y(xi) / denominator).sum()), rel=1e-7)
    assert rho == pytest.approx(float((dz * over_y(xi * h**2) / denominator).sum()) / s.E**2, rel=1e-7)
    assert s.q0 == pytest.approx(float((dz * (over_y(xi * h) / denominator) ** 2).sum()) / s.E**2, rel=1e-7)
    sigma = alpha * float((dz * np.log(inner)).sum()) + float((dz * np.log(denominator)).sum())
    sigma += s.K * rho + 0.5 * (s.E - s.F1) * rho - 0.5 * s.F1 * s.chi + 0.5 * s.F0 * s.q0
    assert s.entropy == pytest.approx(sigma, abs=1e-4)
