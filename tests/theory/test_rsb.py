"""One step of breaking between supports: the saddle by other routes, exact limits, reference values."""

from dataclasses import replace

import numpy as np
import pytest

from chanceline.errors import InputError
from chanceline.theory import rsb
from chanceline.theory.broken_capacity import capacity_1rsb
from chanceline.theory.capacity import capacity
from chanceline.theory.ensemble import PLAIN, Ensemble
from chanceline.theory.one_step import branch_off
from chanceline.theory.parisi import focused_grid, recurse, uniform_grid
from chanceline.theory.patterns import pattern_law
from chanceline.theory.rs_equations import OrderParameters
from chanceline.theory.solve import solve, solve_1rsb
from chanceline.theory.supports import variable_law
from chanceline.theory.symmetric import solve_rs
from chanceline.theory.transition import transition_at
from steps_of_breaking import add_step

RHO = 0.5


@pytest.fixture(scope="module")
def solution():
    return solve_1rsb(1.78, RHO)


def as_order(s):
    return rsb.RSBOrder(s.chi, s.K, s.E, s.F1, (s.p0, s.p1), (s.G0, s.G1), (s.x,), s.threshold)


def tensor_entropy(order, alpha, rho):
    """Σ(x) by a plain tensor rule on (z₀, z₁), wide enough for the tilted weights."""
    (p0, p1), (g0, g1), (x,) = order.p, order.G, order.x
    z = np.linspace(-40, 40, 6401)
    log_dz = -(z**2) / 2 - 0.5 * np.log(2 * np.pi) + np.log(z[1] - z[0])
    z0 = np.linspace(-10, 10, 161)
    dz0 = np.exp(-(z0**2) / 2) / np.sqrt(2 * np.pi) * (z0[1] - z0[0])
    total = 0.0
    for outer, weight in zip(z0, dz0, strict=True):
        mu = np.sqrt(p0) * outer + np.sqrt(p1 - p0) * z
        u = np.sqrt(g0) * outer + np.sqrt(g1 - g0) * z
        log_a = pattern_law(mu, rho - p1, order.chi).log_mean_weight
        log_b = variable_law(u, order.F1 - g1, order.E - order.F1 + g1, order.K).log_partition
        total += (
            weight
            / x
            * (
                alpha * np.logaddexp.reduce(x * log_a + log_dz)
                + np.logaddexp.reduce(x * log_b + log_dz)
            )
        )
    o = order
    outside = o.K * rho + 0.5 * (
        (o.E - o.F1) * rho - o.F1 * o.chi + (1 - x) * g1 * p1 + x * g0 * p0
    )
    return total + outside


def test_recursion_integrates_gaussians_exactly():
    # exp(x a u²/2) against Gaussians: g₀ = a u²/2c − ln(c)/2x with c = 1 − x a v, and P₁ Gaussian.
    a, x, v0, v1 = -1.7, 0.6, 0.4, 1.1
    grids = [uniform_grid(9, 0.2), focused_grid(9, 0.05, 0.2, 0.5)]
    u = grids[1].nodes
    recursion = recurse(grids, a * u**2 / 2, a * u, np.array([v0, v1]), np.array([x]))
    c = 1 - x * a * (v1 - v0)
    inside = abs(grids[0].nodes) < 6  # further out the upper grid ends within the Gaussian
    w = grids[0].nodes[inside]
    np.testing.assert_allclose(
        recursion.values[0][inside], a * w**2 / (2 * c) - np.log(c) / (2 * x), atol=1e-12
    )
    np.testing.assert_allclose(recursion.slopes[0][inside], a * w / c, atol=1e-12)
    np.testing.assert_allclose(
        recursion.bottom_curvature(np.full_like(u, a))[inside], a / c, rtol=1e-11
    )
    assert recursion.mean(1, u**2) == pytest.approx(v0 / c**2 + (v1 - v0) / c, rel=1e-12)
    assert recursion.edge_weight < 1e-15


def test_entropy_equals_a_plain_tensor_rule(solution, free_entropy):
    order = as_order(solution)
    tensor = tensor_entropy(order, solution.alpha, RHO)
    assert free_entropy.broken(order, solution.alpha, RHO) == pytest.approx(tensor, abs=1e-10)
    # and the value that the solver gives, which is a different expression that only holds at the saddle
    assert solution.entropy == pytest.approx(tensor, abs=1e-9)


def natural_scales(order, rho):
    """How far each order parameter may move before Σ changes its shape: the distances to its singularities."""
    d = order.E - order.F1 + order.G[-1]
    lowest = d - np.array(order.x) @ np.diff(order.G)
    s2 = rho - order.p[-1]
    yield from (
        ("chi", order.chi),
        ("K", 1.0),
        ("E", lowest),
        ("F1", lowest),
        ("threshold", abs(order.threshold)),
    )
    for i, x in enumerate([*order.x, 1.0]):
        yield f"G{i}", lowest / x
        yield f"p{i}", s2
    for i, part in enumerate(np.diff(order.G)):
        yield f"x{i}", lowest / part


def moved(order, name, shift):
    if hasattr(order, name):
        return replace(order, **{name: getattr(order, name) + shift})
    values = list(getattr(order, name[0]))
    values[int(name[1:])] += shift
    return replace(order, **{name[0]: tuple(values)})


def scaled_derivative(entropy, order, name, scale, alpha, rho, ensemble=PLAIN):
    """dΣ/d(parameter)·scale by a difference of fourth order."""
    h = 2e-3
    shifts = [k * h * scale for k in (1, -1, 2, -2)]
    up, down, up2, down2 = (
        entropy(moved(order, name, shift), alpha, rho, ensemble) for shift in shifts
    )
    return (8 * (up - down) - (up2 - down2)) / 12 / h


@pytest.mark.parametrize("alpha", [pytest.param(1.72, marks=pytest.mark.slow), 1.75, 1.79])
def test_every_saddle_equation_is_a_derivative_of_the_entropy(alpha, free_entropy):
    order = as_order(solve_1rsb(alpha, RHO))
    for name, scale in natural_scales(order, RHO):
        assert abs(scaled_derivative(free_entropy.broken, order, name, scale, alpha, RHO)) < 2e-9, (
            name
        )


@pytest.mark.parametrize(
    "kind",
    [
        {"balance": 0.2},
        pytest.param({"margin": 0.5}, marks=pytest.mark.slow),
        pytest.param({"balance": 0.3, "margin": 0.2}, marks=pytest.mark.slow),
    ],
)
def test_the_same_with_balance_and_margin(kind, free_entropy):
    """And the capacity lies a little below the symmetric one."""
    rho, ensemble = 0.3, Ensemble(**kind)
    symmetric, broken = (capacity(rho, ansatz, **kind) for ansatz in ("rs", "1rsb"))
    assert 0.97 * symmetric.alpha < broken.alpha < symmetric.alpha
    assert broken.error < 1e-9
    alpha = 0.3 * symmetric.replicon_alpha + 0.7 * broken.alpha
    s = solve_1rsb(alpha, rho, ensemble)
    order = as_order(s)
    assert s.broken
    assert free_entropy.broken(order, alpha, rho, ensemble) == pytest.approx(s.entropy, abs=1e-9)
    for name, scale in natural_scales(order, rho):
        assert (
            abs(scaled_derivative(free_entropy.broken, order, name, scale, alpha, rho, ensemble))
            < 1e-7
        ), name


def test_two_steps_are_stationary_too(free_entropy):
    two = add_step(capacity_1rsb(RHO))
    order = two.state.order
    for name, scale in natural_scales(order, RHO):
        assert (
            abs(scaled_derivative(free_entropy.broken, order, name, scale, two.state.alpha, RHO))
            < 2e-9
        ), name


def test_break_point_zero_and_one_give_replica_symmetry_back(free_entropy):
    alpha = 1.75
    o = solve_rs(alpha, RHO)
    split = rsb.RSBOrder(
        o.chi, o.K, o.E, o.F1, (o.q0 - 0.03, o.q0 + 0.02), (o.F0 * 0.97, o.F0 * 1.02), (0.5,)
    )

    def symmetric(p, g):
        return free_entropy.symmetric(OrderParameters(p, o.chi, o.E, o.F1, g, o.K), alpha, RHO)

    at_one = free_entropy.broken(replace(split, x=(1.0,)), alpha, RHO)
    assert at_one == pytest.approx(symmetric(split.p[0], split.G[0]), abs=1e-11)
    small = [free_entropy.broken(replace(split, x=(x,)), alpha, RHO) for x in (2e-5, 4e-5)]
    assert 2 * small[0] - small[1] == pytest.approx(symmetric(split.p[1], split.G[1]), abs=2e-8)


@pytest.mark.parametrize(("alpha", "entropy", "x"), [(1.75, 0.15117, 0.70), (1.78, 0.0536, 0.56)])
def test_reference_values(alpha, entropy, x):
    # From an independent program of the same equations (five and four digits).
    s = solve_1rsb(alpha, RHO)
    assert s.entropy == pytest.approx(entropy, abs=1.5e-5 if alpha == 1.75 else 6e-5)
    assert s.x == pytest.approx(x, abs=0.006)


@pytest.mark.parametrize(
    "rho", [0.1, *(pytest.param(rho, marks=pytest.mark.slow) for rho in (0.5, 0.8))]
)
def test_identity_and_order_along_the_branch(rho):
    transition = transition_at(rho)
    critical = transition.critical
    branch = rsb.RSBBranch(rho)
    first = branch_off(branch, transition)
    points = list(branch.follow(first, -0.05, lambda state: state.entropy < 0))
    assert len(points) > 5
    assert max(abs(point.state.identity_error) for point in points) < 1e-8
    assert max(point.residual for point in points) <= rsb.RSB_TOLERANCE
    assert max(point.state.edge_weight for point in points) < 1e-15
    loads = [point.state.alpha for point in points]
    assert loads == sorted(loads)
    assert loads[0] > critical.alpha
    for point in points[:: len(points) // 3]:
        assert point.state.entropy <= solve_rs(point.state.alpha, rho).entropy
        assert point.state.replicon_inner > 1


def test_the_branch_begins_at_the_replicon_line():
    transition = transition_at(RHO)
    critical = transition.critical
    assert critical.replicon_between == pytest.approx(1, abs=1e-10)
    small, smaller, smallest = (
        branch_off(rsb.RSBBranch(RHO), transition, amplitude).state
        for amplitude in (0.04, 0.02, 0.01)
    )
    # a polynomial in the amplitude whose constant term is the critical load
    assert (8 * smallest.alpha - 6 * smaller.alpha + small.alpha) / 3 == pytest.approx(
        critical.alpha, abs=1e-6
    )
    assert smaller.replicon_inner == pytest.approx(1, abs=1e-4)


def test_below_the_replicon_line_replica_symmetry_is_returned_and_said():
    s = solve(1.6, RHO, ansatz="1rsb")
    plain = solve(1.6, RHO)
    assert not s.broken
    assert s.x is None
    assert (s.entropy, s.p0, s.p1, s.G0, s.G1) == (
        plain.entropy,
        plain.q0,
        plain.q0,
        plain.F0,
        plain.F0,
    )
    assert "replica symmetry is exact" in str(s)
    assert solve(0.9, RHO, ansatz="1rsb").regime == "typical"


def test_finer_grids_do_not_move_the_solution(solution):
    point = rsb.pack_order(as_order(solution), RHO)
    residuals = [
        rsb.RSBBranch(RHO).equations(point, fineness).residual for fineness in (1.0, 1.4, 2.0)
    ]
    np.testing.assert_allclose(residuals[0], residuals[2], atol=1e-10)
    np.testing.assert_allclose(residuals[1], residuals[2], atol=1e-12)


def test_too_large_a_load_is_refused():
    with pytest.raises(InputError, match="choose a smaller alpha"):
        solve_1rsb(1.83, RHO)
    with pytest.raises(InputError, match="'rs' or '1rsb'"):
        solve(1.0, RHO, ansatz="2rsb")
