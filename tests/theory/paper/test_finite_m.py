"""φ(m) at finite m: its limits m → 0 on both sides of 2ρ, and m = 1 where one integral is elementary."""

import numpy as np
import pytest
from scipy.special import log_ndtr

import chanceline
from chanceline.errors import InputError
from chanceline.theory.paper.finite_m import pattern_recursion, solve_rs_at_m
from chanceline.theory.quadrature import rule_for


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
    log_a = m * pattern_recursion(state.q, np.array([m]), rho - state.q[1]).mean_values[0]
    assert log_a == pytest.approx(slope, rel=1e-5)


def test_first_power_of_h_integrates_to_h():
    """∫Dy H((√(q₁−q₀)y + √q₀z)/√(ρ−q₁)) = H(√q₀z/√(ρ−q₀)), whatever q₁."""
    rho, q1, q0 = 0.5, 0.35, 0.2
    rule = rule_for(1.0)
    expected = float(rule.mean(log_ndtr(-np.sqrt(q0 / (rho - q0)) * rule.nodes)))
    recursion = pattern_recursion(np.array([q0, q1]), np.array([1.0]), rho - q1)
    assert recursion.mean_values[0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("m", [0, -1, float("nan"), float("inf")])
def test_bad_m_is_named(m):
    with pytest.raises(InputError, match="m must be positive"):
        solve_rs_at_m(1.2, 0.5, m)
