"""The paper's breaking within a support: its equations are derivatives of φ, and it collapses onto replica symmetry."""

import numpy as np
import pytest
from scipy.special import log_ndtr

from chanceline.errors import InputError
from chanceline.theory.paper.finite_m import free_energy, impose_split, solve_rs_at_m
from chanceline.theory.quadrature import rule_for
from chanceline.theory.symmetric import mills_slope

ALPHA, RHO, M, GROUP = 1.2, 0.5, 0.1, 0.5


@pytest.fixture(scope="module")
def state():
    return impose_split(ALPHA, RHO, M, GROUP, 0.3)


def test_appendix_equations_are_derivatives_of_phi(state):
    values = np.array([*state.q, *state.q_hat, state.Q_hat, state.K])
    gap = RHO - state.q[2]

    def derivative(index):
        h = 1e-3 * (gap if index in (1, 2) else state.q[0] if index == 0 else 1.0)
        moved = [values + k * h * np.eye(8)[index] for k in (1, -1, 2, -2)]
        up, down, up2, down2 = (free_energy(v[:3], v[3:6], v[6], v[7], ALPHA, RHO, np.array([M, GROUP])) for v in moved)
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


def test_bad_groups_are_refused():
    with pytest.raises(InputError, match="0 < m < group < 1"):
        impose_split(ALPHA, RHO, 0.5, 0.3, 0.1)
    with pytest.raises(InputError, match="split"):
        impose_split(ALPHA, RHO, 0.1, 0.3, 0.0)
