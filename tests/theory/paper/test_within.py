"""The paper's breaking within a support: its equations are derivatives of φ, and it collapses onto replica symmetry."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import log_ndtr

from chanceline.errors import InputError
from chanceline.theory.paper import within
from chanceline.theory.paper.finite_m import solve_rs_at_m
from chanceline.theory.quadrature import rule_for
from chanceline.theory.symmetric import mills_slope

ALPHA, RHO, M, GROUP = 1.2, 0.5, 0.1, 0.5


@pytest.fixture(scope="module")
def state():
    return within.impose_split(ALPHA, RHO, M, GROUP, 0.3)


def test_appendix_equations_are_derivatives_of_phi(state):
    o = state.order

    def derivative(name):
        value = getattr(o, name)
        h = 1e-3 * (RHO - o.q2 if name in ("q2", "q1") else 1.0 if name != "q0" else o.q0)
        up, down, up2, down2 = (
            within.free_energy(replace(o, **{name: value + k * h}), ALPHA, RHO, M, GROUP) for k in (1, -1, 2, -2)
        )
        return (8 * (up - down) - (up2 - down2)) / 12 / h

    for name in ("K", "q0", "q1", "q2", "q0_hat", "q1_hat"):
        assert derivative(name) == pytest.approx(0, abs=2e-8), name
    # q₂ − q₁ was imposed: the conjugates of what it enters see what is returned less what was imposed.
    missing = (state.growth - 1) * (o.q2 - o.q1)
    assert derivative("q2_hat") == pytest.approx(0.5 * M * (GROUP - 1) * missing, rel=1e-5)
    assert derivative("Q_hat") == pytest.approx(-0.5 * M * missing, rel=1e-5)


@pytest.mark.parametrize(("alpha", "m"), [(0.8, 0.1), (1.2, 0.1), (1.6, 0.05)])
def test_every_imposed_split_shrinks(alpha, m):
    growths = [within.impose_split(alpha, RHO, m, 0.4, split).growth for split in (0.05, 0.5, 2.0)]
    assert max(growths) < 1
    assert growths == sorted(growths, reverse=True)


def test_small_split_is_the_papers_stability_product():
    s = solve_rs_at_m(ALPHA, RHO, M)
    rule = rule_for(float(np.sqrt((RHO - s.q0) / s.q0)))
    width, between = np.sqrt(RHO - s.q1), np.sqrt(s.q1 - s.q0)
    y = np.linspace(-12, 12, 4801)
    x = (between * y + np.sqrt(s.q0) * rule.nodes[:, None]) / width
    log_weight = M * log_ndtr(-x) - y**2 / 2
    weight = np.exp(log_weight - log_weight.max(axis=1, keepdims=True))
    curvature = mills_slope(x) / width**2
    within_patterns = ALPHA * rule.mean((weight * curvature**2).sum(axis=1) / weight.sum(axis=1))
    product = within_patterns * RHO / (s.Q_hat + s.q1_hat) ** 2
    small = within.impose_split(ALPHA, RHO, M, GROUP, 2e-3)
    assert small.growth == pytest.approx(product, abs=2e-3)


def test_marginal_only_in_the_limit():
    growths = [within.impose_split(ALPHA, RHO, m, GROUP, 0.02).growth for m in (0.2, 0.05, 0.0125)]
    assert growths == sorted(growths)
    assert growths[-1] < 1


def test_bad_groups_are_refused():
    with pytest.raises(InputError, match="0 < m < group < 1"):
        within.impose_split(ALPHA, RHO, 0.5, 0.3, 0.1)
    with pytest.raises(InputError, match="split"):
        within.impose_split(ALPHA, RHO, 0.1, 0.3, 0.0)
