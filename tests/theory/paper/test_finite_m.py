"""φ(m) at finite m: its limits m → 0, and m = 1 where one integral is elementary; the appendix's breaking collapses onto it."""

import numpy as np
import pytest
from scipy.special import log_ndtr

import chanceline
from chanceline.theory.paper.finite_m import (
    impose_split,
    solve_rs_at_m,
    support_law,
    volume_recursion,
)
from chanceline.theory.quadrature import rule_for
from chanceline.theory.typical import mills_slope

ALPHA, RHO, M, GROUP = 1.2, 0.5, 0.1, 0.5


@pytest.mark.parametrize(("alpha", "rho"), [(1.2, 0.5), (0.6, 0.1), (1.9, 0.8)])
def test_limit_above_cover_gardner(alpha, rho):
    """φ(m) → Σ, (ρ − q₁)/m → χ, m²q̂ → F, m(Q̂ + q̂₁) → E."""
    limit = chanceline.solve(alpha, rho)
    errors = []
    for m in (1e-3, 1e-4, 1e-5):
        state = solve_rs_at_m(alpha, rho, m)
        assert np.abs(state.residual).max() <= 1e-12
        pairs = [
            (state.phi, limit.entropy),
            ((rho - state.q[1]) / m, limit.chi),
            (state.q[0], limit.q0),
            (m**2 * state.q_hat[1], limit.F1),
            (m**2 * state.q_hat[0], limit.F0),
            (m * (state.Q_hat + state.q_hat[1]), limit.E),
        ]
        errors.append([abs(got / want - 1) for got, want in pairs])
    # corrections are of order m ln m
    assert np.all(np.array(errors[1]) < 0.2 * np.array(errors[0]))
    assert np.all(np.array(errors[2]) < 0.2 * np.array(errors[1]))
    assert max(errors[2]) < 2e-3


@pytest.mark.parametrize(("alpha", "rho"), [(0.8, 0.5), (0.15, 0.1)])
def test_limit_below_cover_gardner(alpha, rho):
    limit = chanceline.solve(alpha, rho)
    errors = []
    for m in (1e-2, 1e-3, 1e-4):
        state = solve_rs_at_m(alpha, rho, m)
        pairs = [
            (state.phi, limit.entropy),
            (state.q[1], limit.q1),
            (state.q[0], limit.q0),
            (state.q_hat[1], limit.conjugates.q1),
        ]
        errors.append([abs(got / want - 1) for got, want in pairs])
    assert np.all(np.array(errors[2]) < 0.12 * np.array(errors[1]))
    assert np.all(np.array(errors[1]) < 0.2 * np.array(errors[0]))


def test_phi_is_stationary_in_what_it_was_solved_for():
    """dφ/dα at the saddle is ∫Dz ln ∫Dy H^m (envelope)."""
    alpha, rho, m = 1.1, 0.5, 0.5
    state = solve_rs_at_m(alpha, rho, m)
    h = 1e-3
    slope = (solve_rs_at_m(alpha + h, rho, m).phi - solve_rs_at_m(alpha - h, rho, m).phi) / (2 * h)
    log_a = m * volume_recursion(state.q, np.array([m]), rho - state.q[1]).mean_values[0]
    assert log_a == pytest.approx(slope, rel=1e-5)


def test_first_power_of_h_integrates_to_h():
    """∫Dy H((√(q₁−q₀)y + √q₀z)/√(ρ−q₁)) = H(√q₀z/√(ρ−q₀)), whatever q₁."""
    rho, q1, q0 = 0.5, 0.35, 0.2
    rule = rule_for(1.0)
    expected = float(rule.mean(log_ndtr(-np.sqrt(q0 / (rho - q0)) * rule.nodes)))
    recursion = volume_recursion(np.array([q0, q1]), np.array([1.0]), rho - q1)
    assert recursion.mean_values[0] == pytest.approx(expected, rel=1e-12)


def free_energy(q, q_hat, Q_hat, K):
    """φ as a function of all order parameters, off the saddle too."""
    breaks = np.array([M, GROUP])
    patterns = volume_recursion(q, breaks, RHO - q[-1])
    supports = support_law(Q_hat + q_hat[-1], q_hat, K, breaks)
    outside = Q_hat * RHO + np.diff(breaks, prepend=0.0, append=1.0) @ (q_hat * q)
    return float(
        ALPHA * M * patterns.mean_values[0]
        + supports.weights @ np.logaddexp(0.0, supports.log_odds)
        + K * RHO
        + 0.5 * M * outside
    )


@pytest.fixture(scope="module")
def state():
    return impose_split(ALPHA, RHO, M, GROUP, 0.3)


def test_appendix_equations_are_derivatives_of_phi(state):
    values = np.array([*state.q, *state.q_hat, state.Q_hat, state.K])
    gap = RHO - state.q[2]

    def derivative(index):
        h = 1e-3 * (gap if index in (1, 2) else state.q[0] if index == 0 else 1.0)
        moved = [values + k * h * np.eye(8)[index] for k in (1, -1, 2, -2)]
        up, down, up2, down2 = (free_energy(v[:3], v[3:6], v[6], v[7]) for v in moved)
        return (8 * (up - down) - (up2 - down2)) / 12 / h

    for index in (0, 1, 2, 3, 4, 7):
        assert derivative(index) == pytest.approx(0, abs=2e-8), index
    # q₂ − q₁ was imposed: the conjugates of what it enters see what is returned less what was imposed.
    missing = (state.growth - 1) * (state.q[2] - state.q[1])
    assert derivative(5) == pytest.approx(0.5 * M * (GROUP - 1) * missing, rel=1e-5)
    assert derivative(6) == pytest.approx(-0.5 * M * missing, rel=1e-5)


@pytest.mark.parametrize(("alpha", "m"), [(0.8, 0.1), (1.2, 0.1), (1.6, 0.05)])
def test_every_imposed_split_shrinks(alpha, m):
    growths = [impose_split(alpha, RHO, m, 0.4, split).growth for split in (0.05, 0.5, 2.0)]
    assert max(growths) < 1
    assert growths == sorted(growths, reverse=True)


def test_small_split_is_the_papers_stability_product():
    s = solve_rs_at_m(ALPHA, RHO, M)
    q0, q1 = s.q
    rule = rule_for(float(np.sqrt((RHO - q0) / q0)))
    width, between = np.sqrt(RHO - q1), np.sqrt(q1 - q0)
    y = np.linspace(-12, 12, 4801)
    x = (between * y + np.sqrt(q0) * rule.nodes[:, None]) / width
    log_weight = M * log_ndtr(-x) - y**2 / 2
    weight = np.exp(log_weight - log_weight.max(axis=1, keepdims=True))
    curvature = mills_slope(x) / width**2
    within_patterns = ALPHA * rule.mean((weight * curvature**2).sum(axis=1) / weight.sum(axis=1))
    product = within_patterns * RHO / (s.Q_hat + s.q_hat[1]) ** 2
    small = impose_split(ALPHA, RHO, M, GROUP, 2e-3)
    assert small.growth == pytest.approx(product, abs=2e-3)


def test_marginal_only_in_the_limit():
    growths = [impose_split(ALPHA, RHO, m, GROUP, 0.02).growth for m in (0.2, 0.05, 0.0125)]
    assert growths == sorted(growths)
    assert growths[-1] < 1
