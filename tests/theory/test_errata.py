"""What the paper states and its own equations do not: each point of docs/errata.md, shown."""

import math

import numpy as np
import pytest

import chanceline
from chanceline.theory.patterns import pattern_law
from chanceline.theory.quadrature import rule_for
from chanceline.theory.supports import variable_law


@pytest.mark.parametrize(
    ("alpha", "rho"), [(1.05, 0.5), (1.5, 0.5), (1.79, 0.5), (0.5, 0.1), (1.9, 0.9)]
)
def test_the_at_condition_is_marginal_and_not_violated(alpha, rho):
    """Fig. (d): λλ̂, computed as the paper defines it, is 1 at every α > 2ρ."""
    s = chanceline.solve(alpha, rho)
    rule = rule_for(0.05)
    pattern = pattern_law(np.sqrt(s.q0) * rule.nodes, rho - s.q0, s.chi)
    support = variable_law(np.sqrt(s.F0) * rule.nodes, s.F1 - s.F0, s.E - s.F1 + s.F0, s.K)
    lam = alpha / s.chi**2 * float(rule.mean(pattern.p_tight))
    lam_hat = float(rule.mean(support.p_chosen)) / s.E**2
    assert lam * lam_hat - 1 == pytest.approx(0, abs=1e-9)


def test_what_breaks_is_the_symmetry_between_supports():
    """RS is stable above 2ρ up to α = 1.7157 at ρ = 0.5, and unstable before Σ = 0."""
    end = chanceline.capacity(0.5)
    assert 1.0 < end.replicon_alpha < end.alpha
    assert chanceline.solve(1.2, 0.5).stability.verdict == "stable"
    assert chanceline.solve(1.2, 0.5).stability.between == pytest.approx(0.425, abs=5e-4)
    assert chanceline.solve(1.75, 0.5).stability.verdict == "unstable"


def test_chi_is_the_limit_of_rho_minus_q1():
    """Text on Fig. (b): χ = lim (ρ − q₁)/m; (ρ − q₀)/m diverges."""
    from chanceline.theory.paper.finite_m import solve_rs_at_m

    chi = chanceline.solve(1.2, 0.5).chi
    state = solve_rs_at_m(1.2, 0.5, 1e-5)
    assert (0.5 - state.q[1]) / 1e-5 == pytest.approx(chi, rel=1e-3)
    assert (0.5 - state.q[0]) / 1e-5 > 1e4


def test_the_linearised_lambda_needs_its_square():
    """Appendix B: with (∂²ln H̃)² the product is 1; with ∂²ln H̃ as printed it is −χ·1, not even positive."""
    s = chanceline.solve(1.5, 0.5)
    rule = rule_for(0.05)
    tight = float(rule.mean(pattern_law(np.sqrt(s.q0) * rule.nodes, 0.5 - s.q0, s.chi).p_tight))
    # ∂²ln H̃/∂v² = −Θ(v)/χ
    squared, as_printed = 1.5 * tight / s.chi**2, -1.5 * tight / s.chi
    lam_hat = 0.5 / s.E**2
    assert squared * lam_hat == pytest.approx(1, abs=1e-9)
    assert as_printed * lam_hat < 0


def test_below_cover_gardner_typical_choices_separate_but_not_all():
    """Section 5.1: Σ = H₂(ρ) counts typical choices. By Cover, P(one choice separates) is 1 below α_VC = ρ only."""
    m, p = 40, 60  # ρ < α < 2ρ
    share = sum(math.comb(p - 1, k) for k in range(m)) / 2 ** (p - 1)
    assert 0.9 < share < 1
    assert sum(math.comb(m - 1, k) for k in range(m)) == 2 ** (m - 1)


def test_no_choice_may_separate_at_any_finite_size():
    """Eq. (4): E ln 𝒩 is −∞ at finite N, as 𝒩 = 0 has a positive probability for P > M.

    Two patterns that differ in the sign of y·x in every variable leave no choice of one variable.
    """
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(2000, 2, 3))  # (problems, patterns, variables), y·x
    one_variable_separates = (np.sign(rows[:, 0]) == np.sign(rows[:, 1])).any(axis=1)
    share = np.mean(~one_variable_separates)
    assert share == pytest.approx(1 / 8, abs=4 * np.sqrt(7 / 64 / 2000))
