"""How symmetry between supports breaks: the break point, the density of the jump, α_d and α_K."""

from typing import NamedTuple

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit, log_ndtr

import chanceline
from chanceline.errors import InputError
from chanceline.theory.break_point import break_point, jump_density, replicon_line
from chanceline.theory.ensemble import Ensemble
from chanceline.theory.one_step import branch_off
from chanceline.theory.rsb import RSBBranch
from chanceline.theory.solve import Phase
from chanceline.theory.transition import transition_at

# Equally spaced nodes of ∫Dz: unlike the package's they are not adapted to anything.
NODES = np.linspace(-14, 14, 6001)
WEIGHTS = np.exp(-0.5 * NODES**2) / np.exp(-0.5 * NODES**2).sum()


def log_pattern(mu, s2, chi):
    """ln A(μ), as docs/theory.md has it."""
    log_c = 0.5 * np.log(chi / (chi + s2)) - mu**2 / (2 * (chi + s2))
    t = mu * np.sqrt(chi / (s2 * (chi + s2)))
    return np.logaddexp(log_ndtr(-mu / np.sqrt(s2)), log_c + log_ndtr(t))


def log_variable(u, E, d, K):
    """ln(1 + e^{−K}B(u))."""
    return np.logaddexp(0.0, 0.5 * np.log(E / d) + u**2 / (2 * d) - K)


def derivative(function, order, at, scale):
    """A derivative by central differences of eighth and of sixth order."""
    h = 0.03 * scale
    stencils = {
        2: np.array(
            [-1 / 560, 8 / 315, -1 / 5, 8 / 5, -205 / 72, 8 / 5, -1 / 5, 8 / 315, -1 / 560]
        ),
        3: np.array(
            [-7 / 240, 3 / 10, -169 / 120, 61 / 30, 0, -61 / 30, 169 / 120, -3 / 10, 7 / 240]
        ),
    }
    values = [function(at + k * h) for k in range(-4, 5)]
    return np.tensordot(stencils[order], values, axes=1) / h**order


def plain_break_point(rho, margin=0.0):
    """x_c by equally spaced quadrature and finite differences."""
    state = replicon_line(rho, Ensemble(margin=margin)).state
    o = state.order
    s2 = rho - o.q0
    d = o.E - o.F1 + o.F0
    mu = np.sqrt(o.q0) * NODES + margin * np.sqrt(rho)
    u = np.sqrt(o.F0) * NODES
    g2, g3 = (derivative(lambda m: log_pattern(m, s2, o.chi), k, mu, np.sqrt(s2)) for k in (2, 3))
    f2, f3 = (
        derivative(lambda h: log_variable(h, o.E, d, o.K), k, u, np.sqrt(d) / 4) for k in (2, 3)
    )
    a = state.alpha * WEIGHTS @ g2**2
    b = WEIGHTS @ f2**2
    assert a * b == pytest.approx(1, abs=1e-6)
    above = state.alpha * b * (WEIGHTS @ g3**2) + a**2 * (WEIGHTS @ f3**2)
    below = state.alpha * b * (WEIGHTS @ g2**3) + a**2 * (WEIGHTS @ f2**3)
    return above / (2 * below)


@pytest.mark.parametrize(
    ("rho", "x_c"),
    [(0.5, 0.773861), (0.1, 0.898726), (0.02, 0.992078), (0.005, 1.050370), (0.001, 1.099576)],
)
def test_break_point_by_plain_quadrature_and_finite_differences(rho, x_c):
    found = break_point(replicon_line(rho).state, rho)
    assert found == pytest.approx(x_c, abs=1e-6)
    assert found == pytest.approx(plain_break_point(rho), abs=1e-6)


def test_break_point_is_where_the_one_step_branch_begins():
    """x of the solutions with one step of breaking, extrapolated to p₁ = p₀."""
    for rho, margin in ((0.5, 0.0), (0.1, 0.2)):
        ensemble = Ensemble(margin=margin)
        branch = RSBBranch(rho, 1, ensemble)
        transition = transition_at(rho, ensemble)
        far, near = (
            branch_off(branch, transition, amplitude).state.order.x[0] for amplitude in (0.08, 0.04)
        )
        assert 2 * near - far == pytest.approx(transition.break_point, abs=2e-3)
        assert near == pytest.approx(transition.break_point, abs=0.01)


def test_density_of_the_jump():
    assert jump_density() == pytest.approx(0.016949, abs=1e-6)
    for margin, rho in (
        (0.2, 0.023589),
        (0.344, 0.05017),
        (0.5, 0.50645),
        (0.7, 0.53056),
        (1.0, 0.49802),
    ):
        found = jump_density(margin)
        assert found == pytest.approx(rho, rel=1e-3)
        assert plain_break_point(found, margin) == pytest.approx(1, abs=2e-6)
    with pytest.raises(InputError, match="margin must lie between 0 and 1"):
        jump_density(1.5)


class Groups(NamedTuple):
    """Groups of supports at x = 1 with overlap p₁, by plain quadrature."""

    overlap_excess: float  # E₁[f'²] − p₁, at G₁ = αE₁[g'²]
    complexity: float


def averages_at_unit_break(log_weight, inner, outer):
    """∫Dz₀ ∫Dz₁ e^{w} F/∫Dz₁ e^{w} for F = w'² and F = w, and ∫Dz₀ ln ∫Dz₁ e^{w}.

    w is a function of the field, whose variance is `outer` for z₀ and `inner` − `outer` for z₁.
    """
    z0 = np.linspace(-9, 9, 121)
    w0 = np.exp(-0.5 * z0**2)
    w0 /= w0.sum()
    z1 = np.linspace(-24, 24, 961)
    log_w1 = -0.5 * z1**2 - np.log(np.exp(-0.5 * z1**2).sum())
    field = np.sqrt(outer) * z0[:, None] + np.sqrt(inner - outer) * z1
    values = log_weight(field)
    h = 1e-4 * np.sqrt(inner)
    slopes = (log_weight(field + h) - log_weight(field - h)) / (2 * h)
    log_terms = log_w1 + values
    top = log_terms.max(axis=1, keepdims=True)
    terms = np.exp(log_terms - top)
    total = terms.sum(axis=1)
    inside = terms / total[:, None]
    return (
        w0 @ (inside * slopes**2).sum(axis=1),
        w0 @ (inside * values).sum(axis=1),
        w0 @ (np.log(total) + top[:, 0]),
    )


def groups_at(alpha, rho, p1):
    """The equations of groups at x = 1 around the replica-symmetric solution."""
    s = chanceline.solve(alpha, rho)
    square_g, top_g, bottom_g = averages_at_unit_break(
        lambda mu: log_pattern(mu, rho - p1, s.chi), p1, s.q0
    )
    G1 = alpha * square_g
    square_f, top_f, bottom_f = averages_at_unit_break(
        lambda u: log_variable(u, s.E, s.E - s.F1 + G1, s.K), G1, s.F0
    )
    # −∂Σ/∂x at x = 1
    complexity = alpha * (bottom_g - top_g) + bottom_f - top_f + 0.5 * (G1 * p1 - s.F0 * s.q0)
    return Groups(square_f - p1, complexity)


@pytest.mark.slow
def test_both_transitions_of_a_jump_by_plain_quadrature():
    """At ρ = 0.001: α_K/α_r = 0.9881, where the complexity of groups is 0, and α_d before it."""
    rho = 0.001
    transition = transition_at(rho)
    line = transition.replicon_alpha
    assert transition.static_alpha / line == pytest.approx(0.9881, abs=2e-4)
    assert 0.9865 < transition.dynamic_alpha / line < 0.9870

    def complexity(share):
        """That of the groups with the larger overlap p₁ at this share of the replicon line."""
        p1 = brentq(
            lambda p: groups_at(share * line, rho, p).overlap_excess,
            0.54 * rho,
            0.7 * rho,
            xtol=1e-12,
        )
        return groups_at(share * line, rho, p1).complexity

    assert complexity(0.9875) == pytest.approx(2.1e-7, abs=1e-8)
    low, high = complexity(0.9880), complexity(0.9882)
    assert low > 0 > high
    root = 0.9880 + 0.0002 * low / (low - high)
    assert transition.static_alpha / line == pytest.approx(root, abs=2e-6)
    # Before α_d no overlap above q₀ solves the equations, after it one does.
    for share, exists in ((0.9866, False), (0.9871, True)):
        excess = [groups_at(share * line, rho, p * rho).overlap_excess for p in (0.45, 0.5, 0.55)]
        assert (max(excess) > 0) == exists


def test_where_the_break_point_is_below_one_no_jump_comes_before_the_line():
    """Nearly on the replicon line no overlap p₁ > q₀, near or far, solves the equations at x = 1."""
    for rho in (0.02, 0.1, 0.5):
        transition = transition_at(rho)
        assert transition.break_point < 1
        assert transition.jump is None
        assert transition.breaking_alpha == transition.replicon_alpha
        alpha = 0.999 * transition.replicon_alpha
        q0 = chanceline.solve(alpha, rho).q0
        for share in (0.02, 0.1, 0.3, 0.6, 0.9):
            assert groups_at(alpha, rho, q0 + share * (rho - q0)).overlap_excess < 0


def test_each_phase_is_said():
    rho = 0.001
    transition = transition_at(rho)
    before = chanceline.solve(0.99 * transition.dynamic_alpha, rho, "1rsb")
    assert (before.phase, before.broken) == (Phase.SYMMETRIC, False)
    assert "replica symmetry is exact" in str(before)
    between = chanceline.solve(0.01298, rho, "1rsb")
    assert (between.phase, between.broken) == (Phase.GROUPED, False)
    assert between.dynamic_alpha < 0.01298 < between.static_alpha
    assert "exponentially many groups" in str(between)
    assert "exact" not in str(between)
    assert between.entropy == chanceline.solve(0.01298, rho).entropy
    # Below the replicon line, and yet broken.
    after = chanceline.solve(0.01303, rho, "1rsb")
    assert after.replicon_alpha > 0.01303
    assert (after.phase, after.broken) == (Phase.BROKEN, True)
    assert after.x < 1
    assert after.entropy < chanceline.solve(0.01303, rho).entropy

    capacity = chanceline.capacity(rho)
    assert capacity.break_point == pytest.approx(transition.break_point, abs=1e-9)
    assert capacity.static_alpha == pytest.approx(transition.static_alpha, abs=1e-10)
    assert "by a jump at α = 0.01298" in str(capacity)
    assert chanceline.capacity(0.5).static_alpha is None


@pytest.mark.parametrize(
    ("rho", "margin"),
    [
        pytest.param(0.005, 0.6, marks=pytest.mark.slow),
        pytest.param(0.0005, 0.0, marks=pytest.mark.slow),
        pytest.param(0.0165, 0.0, marks=pytest.mark.slow),
        pytest.param(0.02, 1.0, marks=pytest.mark.slow),
    ],
)
def test_small_densities_are_solved_from_the_transition_to_the_capacity(rho, margin):
    ensemble = Ensemble(margin=margin)
    begin = transition_at(rho, ensemble).breaking_alpha
    end = chanceline.capacity(rho, "1rsb", margin=margin).alpha
    assert begin < end < chanceline.capacity(rho, margin=margin).alpha
    breaks = []
    for share in (1e-5, 0.3, 0.95):
        solution = chanceline.solve(begin + share * (end - begin), rho, "1rsb", margin=margin)
        assert solution.broken
        assert solution.entropy > 0
        breaks.append(solution.x)
    assert 1.0001 > breaks[0] > breaks[1] > breaks[2]


@pytest.mark.slow
def test_just_above_a_continuous_transition_the_gap_is_small():
    transition = transition_at(0.5)
    for excess, gap in ((1e-7, 0.0), (1e-4, 0.01)):
        s = chanceline.solve(transition.replicon_alpha * (1 + excess), 0.5, "1rsb")
        assert s.broken
        assert s.x == pytest.approx(transition.break_point, abs=1e-3)
        assert 0 <= s.p1 - s.p0 <= gap


def test_two_further_modes_of_stability_stay_below_one():
    """Perturbations of a ≠ b that depend on the replicas of the weights, by plain quadrature."""
    rho = 0.5
    for alpha, weights, mixed in ((1.2, 0.27, 0.33), (1.7964, 0.51, 0.64)):
        stability = chanceline.solve(alpha, rho).stability
        assert stability.weights == pytest.approx(weights, abs=6e-3)
        assert stability.mixed == pytest.approx(mixed, abs=6e-3)
    s = chanceline.solve(1.2, rho)
    mu, u = np.sqrt(s.q0) * NODES, np.sqrt(s.F0) * NODES
    s2, d = rho - s.q0, s.E - s.F1 + s.F0
    # p₊ = CΦ(t)/A and p from the odds
    tight = 1 - np.exp(log_ndtr(-mu / np.sqrt(s2)) - log_pattern(mu, s2, s.chi))
    chosen = expit(0.5 * np.log(s.E / d) + u**2 / (2 * d) - s.K)
    g2 = derivative(lambda m: log_pattern(m, s2, s.chi), 2, mu, np.sqrt(s2))
    f2 = derivative(lambda h: log_variable(h, s.E, d, s.K), 2, u, np.sqrt(d))
    of_weights = 1.2 * (WEIGHTS @ (tight / s.chi) ** 2) * (WEIGHTS @ (chosen / s.E) ** 2)
    of_both = 1.2 * (WEIGHTS @ (-g2 * tight / s.chi)) * (WEIGHTS @ (f2 * chosen / s.E))
    assert s.stability.weights == pytest.approx(of_weights, abs=1e-9)
    assert s.stability.mixed == pytest.approx(of_both, abs=1e-7)
    # Cauchy and Schwarz: neither passes 1 before the replicon between supports does.
    assert s.stability.mixed**2 <= s.stability.between * s.stability.weights
    assert s.stability.weights <= s.stability.within
