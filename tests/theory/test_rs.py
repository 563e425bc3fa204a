"""The rescaled saddle, α > 2ρ: reference values, gradients, exact identities, limits."""

import numpy as np
import pytest
from scipy.optimize import brentq

import chanceline
from chanceline.errors import InputError
from chanceline.theory.closed_forms import binary_entropy, first_moment_exponent, typical_overlap
from chanceline.theory.ensemble import PLAIN, Ensemble
from chanceline.theory.rs_branch import Branch
from chanceline.theory.rs_equations import OrderParameters, entropy_by_rho, equations
from chanceline.theory.symmetric import solve_rs

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


ENSEMBLES = [
    Ensemble(0.3),
    Ensemble(0.02),
    Ensemble(0.5, 0.4),
    Ensemble(0.2, 1.5),
    Ensemble(0.5, 0.0, 0.05),
    Ensemble(0.5, 0.3, 0.2),
    Ensemble(0.3, 0.1, 0.1),
    Ensemble(signs="given"),
    Ensemble(0.2, 0.3, signs="given"),
]


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


def slope_of(function, h):
    """The derivative at 0, by a difference of fourth order."""
    a, b, c, d = (np.asarray(function(k * h)) for k in (-2, -1, 1, 2))
    return (8 * (c - b) - (d - a)) / (12 * h)


def load_of(share, rho, ensemble):
    """A share of the capacity."""
    e = ensemble
    return (
        share
        * chanceline.capacity(
            rho, balance=e.balance, margin=e.margin, errors=e.error_rate, signs=e.signs
        ).alpha
    )


@pytest.mark.parametrize(
    ("alpha", "rho", "ensemble"),
    [
        (1.2, 0.5, PLAIN),
        (1.7, 0.5, PLAIN),
        (0.6, 0.1, PLAIN),
        (1.9, 0.9, PLAIN),
        *((None, 0.3, one) for one in ENSEMBLES),
    ],
)
def test_partial_derivatives_of_the_free_entropy_vanish(alpha, rho, ensemble, free_entropy):
    alpha = alpha or load_of(0.97, rho, ensemble)
    s, factor = solve_rs(alpha, rho, ensemble), 1 if ensemble.plain else 10
    values = np.array(
        [s.q0, s.chi, s.E, s.F1, s.F0, s.K, s.threshold, np.inf if s.price is None else s.price]
    )

    def entropy(values):
        return free_entropy.symmetric(OrderParameters(*values), alpha, rho, ensemble)

    assert entropy(values) == pytest.approx(s.entropy, abs=1e-11 * factor)
    for index in [
        *range(6),
        *([6] if ensemble.free_threshold else []),
        *([7] if ensemble.error_rate else []),
    ]:
        step = 1e-4 * max(abs(values[index]), 1e-3)
        slope = slope_of(
            lambda x, index=index: entropy(values + np.where(np.arange(8) == index, x, 0.0)), step
        )
        assert abs(slope * values[index]) <= 1e-8 * factor, index


@pytest.mark.parametrize(
    ("rho", "point", "ensemble"),
    [
        (0.5, [-1.5, -0.5, 0.4, 0.3, -0.7], PLAIN),
        (0.05, [-5.0, -0.5, 4.5, 0.9, 1.5], PLAIN),
        (0.97, [-8.0, 5.0, 1.0, 2.0, 14.0], PLAIN),
        *((0.4, [-2.0, -0.5, 0.4, 0.3, -0.2], one) for one in ENSEMBLES),
    ],
)
def test_jacobian_and_gradients_by_finite_differences(rho, point, ensemble):
    point = np.array(
        point + ([-0.3] if ensemble.free_threshold else []) + ([0.2] if ensemble.error_rate else [])
    )
    state = equations(point, rho, ensemble)
    for k, unit in enumerate(np.eye(len(point))):

        def slope(name, unit=unit):
            return slope_of(
                lambda x: getattr(equations(point + x * unit, rho, ensemble), name), 1e-4
            )

        np.testing.assert_allclose(
            state.jacobian[:, k], slope("residual"), atol=1e-8 * np.abs(state.jacobian).max()
        )
        assert state.alpha_gradient[k] == pytest.approx(
            slope("alpha"), abs=1e-9 if ensemble.plain else 1e-8 * state.alpha
        )
        assert state.entropy_gradient[k] == pytest.approx(
            slope("entropy"), rel=1e-7, abs=1e-8 * max(1, abs(state.entropy))
        )


@pytest.mark.parametrize(
    ("alpha", "rho", "ensemble"),
    [
        (1.2, 0.5, PLAIN),
        (0.5, 0.1, PLAIN),
        (1.9, 0.9, PLAIN),
        *((None, 0.3, one) for one in ENSEMBLES),
    ],
)
def test_total_derivatives_of_the_entropy(alpha, rho, ensemble):
    """dΣ/dα = ∫Dz ln A and dΣ/dρ, by envelope, against differences of solved points."""
    alpha = alpha or load_of(0.95, rho, ensemble)
    branch, h = Branch(rho, ensemble), 1e-4
    *_, before, after = branch.from_entrance(
        lambda state: state.alpha >= alpha and state.entropy < binary_entropy(rho)
    )
    point = branch.point_where((before, after), lambda state: state.alpha - alpha)
    by_alpha = (
        solve_rs(alpha + h, rho, ensemble).entropy - solve_rs(alpha - h, rho, ensemble).entropy
    ) / (2 * h)
    by_rho = (
        solve_rs(alpha, rho + h, ensemble).entropy - solve_rs(alpha, rho - h, ensemble).entropy
    ) / (2 * h)
    assert point.state.entropy_by_alpha == pytest.approx(by_alpha, rel=1e-5)
    assert entropy_by_rho(point.unknowns, rho, ensemble) == pytest.approx(
        by_rho, rel=1e-5 if ensemble.plain else 1e-4
    )


@pytest.mark.parametrize(("alpha", "rho"), [(1.2, 0.5), (0.5, 0.1), (1.9, 0.7), (0.05, 0.01)])
def test_without_overlap_between_supports_the_first_moment_comes_out(alpha, rho, free_entropy):
    """q₀ = F₀ = 0: d = ρ/(ρ+χ), F₁ = ρ²/χ(ρ+χ), e^{−K}B = ρ/(1−ρ), and χ from α ∂ln A/∂χ = F₁/2."""

    def slope(log_chi):
        chi = np.exp(log_chi)
        root = np.sqrt(chi / (chi + rho))
        return alpha * 0.5 * root * rho / (chi * (chi + rho)) / (1 + root) - 0.5 * rho**2 / (
            chi * (rho + chi)
        )

    chi = np.exp(brentq(slope, -40, 40, xtol=1e-15))
    d = rho / (rho + chi)
    K = 0.5 * np.log(rho / chi / d) - np.log(rho / (1 - rho))
    annealed = free_entropy.symmetric(
        OrderParameters(0.0, chi, rho / chi, rho / chi - d, 0.0, K), alpha, rho
    )
    assert annealed == pytest.approx(first_moment_exponent(alpha, rho), abs=1e-12)


@pytest.mark.parametrize("rho", [0.01, 0.1, 0.5, 0.9, 0.99])
def test_continuity_at_cover_gardner(rho):
    """Both sides reach Σ = H₂(ρ), q₁ = ρ, q₀ = cρ and the same replicon; so does the point itself."""
    at = chanceline.solve(2 * rho, rho)
    gaps = []
    for epsilon in (1e-4, 1e-5):
        below, above = (
            chanceline.solve(2 * rho * (1 + sign * epsilon * (1 - rho)), rho) for sign in (-1, 1)
        )
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
    assert (
        pytest.approx(
            alpha / s.chi**2 * float((dz * over_y(h_tilde * positive**2) / inner).sum()), rel=1e-4
        )
        == s.F1
    )
    assert (
        pytest.approx(
            alpha / s.chi**2 * float((dz * (over_y(h_tilde * positive) / inner) ** 2).sum()),
            rel=1e-4,
        )
        == s.F0
    )
    h = np.sqrt(s.F1 - s.F0) * y + np.sqrt(s.F0) * z
    xi = np.exp(h**2 / (2 * s.E) - s.K)
    denominator = 1 + over_y(xi)
    assert rho == pytest.approx(float((dz * over_y(xi) / denominator).sum()), rel=1e-7)
    assert rho == pytest.approx(
        float((dz * over_y(xi * h**2) / denominator).sum()) / s.E**2, rel=1e-7
    )
    assert s.q0 == pytest.approx(
        float((dz * (over_y(xi * h) / denominator) ** 2).sum()) / s.E**2, rel=1e-7
    )
    sigma = alpha * float((dz * np.log(inner)).sum()) + float((dz * np.log(denominator)).sum())
    sigma += s.K * rho + 0.5 * (s.E - s.F1) * rho - 0.5 * s.F1 * s.chi + 0.5 * s.F0 * s.q0
    assert s.entropy == pytest.approx(sigma, abs=1e-4)
