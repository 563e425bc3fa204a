"""Capacity with breaking: Σ = 0, the shipped table, more steps and their limit."""

import numpy as np
import pytest
from scipy.optimize import brentq

from chanceline.errors import InputError
from chanceline.theory import rsb
from chanceline.theory.broken_capacity import capacity_1rsb
from chanceline.theory.capacity import capacity
from chanceline.theory.capacity_table import capacity_table
from chanceline.theory.one_step import start_at
from steps_of_breaking import add_step, capacities_along, capacity_from_scratch, extrapolate

RHO = 0.5


@pytest.fixture(scope="module")
def one():
    return capacity_1rsb(RHO)


@pytest.fixture(scope="module")
def two(one):
    return add_step(one)


def test_entropy_vanishes_at_finite_break_point(one, free_entropy):
    state = one.state
    assert 1.788 < one.alpha < 1.793
    assert free_entropy.broken(state.order, state.alpha, RHO) == pytest.approx(0, abs=1e-10)
    assert abs(state.identity_error) < 1e-10
    assert 0.3 < state.order.x[0] < 0.4
    assert 9 < state.order.K < 10
    assert one.error < 1e-10


def test_beyond_capacity_the_branch_tends_to_small_break_points(one):
    # Rescaled variables of the limit x → 0: xK and (ρ − p₁)/x stay of order one while K grows and Σ is negative.
    point = one
    orders = [point.state.order]
    unknowns = one.point
    for log_chi in np.arange(one.point[0], one.point[0] - 1.01, -0.1)[1:]:
        solved = rsb.RSBBranch(RHO).at_chi(float(log_chi), unknowns)
        unknowns = solved.unknowns
        orders.append(solved.state.order)
    assert solved.state.entropy < 0
    assert orders[-1].x[0] < 0.8 * orders[0].x[0]
    assert orders[-1].K > 1.3 * orders[0].K
    assert orders[-1].K * orders[-1].x[0] == pytest.approx(orders[0].K * orders[0].x[0], rel=0.1)


def test_two_steps_lie_below_one(one, two):
    assert two.alpha < one.alpha < capacity(RHO).alpha
    assert one.alpha - two.alpha == pytest.approx(3.65e-4, abs=2e-6)
    assert 1 < two.state.replicon_inner < one.state.replicon_inner
    assert two.state.order.K > one.state.order.K
    assert two.state.order.x[0] < one.state.order.x[0]
    assert abs(two.state.identity_error) < 1e-9


def test_extrapolation_recovers_a_power_law():
    def sequence(k):
        return 1.5 + 0.01 * k**-2.3

    limit, error, exponent = extrapolate(sequence(1), sequence(2), sequence(3))
    assert limit == pytest.approx(1.5, abs=1e-12)
    assert exponent == pytest.approx(2.3)
    assert error > abs(sequence(3) - sequence(2)) / 4


def test_table_is_ordered_and_covers_the_range():
    rows = capacity_table()
    assert (rows[0].rho, rows[-1].rho) == (0.02, 0.95)
    assert len(rows) >= 40
    for row in rows:
        assert 2 * row.rho < row.replicon_alpha < row.alpha_1rsb < row.alpha_rs < 2
        assert row.error_1rsb < 1e-9
        assert row.replicon_inner > 1
        if np.isfinite(row.alpha_full):
            assert row.alpha_full + row.error_full < row.alpha_2rsb < row.alpha_1rsb
            assert row.alpha_full < row.alpha_3rsb < row.alpha_2rsb
    assert sum(np.isfinite(row.alpha_2rsb) for row in rows) >= 40


@pytest.mark.slow
def test_random_rows_from_scratch():
    rows = [row for row in capacity_table() if 0.05 <= row.rho <= 0.8]
    row = rows[int(np.random.default_rng(5).integers(len(rows)))]
    assert capacity_from_scratch(row.rho).alpha == pytest.approx(row.alpha_1rsb, abs=1e-9)
    assert capacity(row.rho).alpha == pytest.approx(row.alpha_rs, abs=1e-10)


@pytest.mark.slow
def test_more_random_rows_from_scratch():
    rng = np.random.default_rng(11)
    for row in rng.choice(capacity_table(), 5, replace=False):
        found = capacity_from_scratch(row.rho)
        assert found.alpha == pytest.approx(row.alpha_1rsb, abs=1e-9)
    half = next(row for row in capacity_table() if row.rho == RHO)
    three = add_step(add_step(capacity_1rsb(RHO)))
    assert three.alpha == pytest.approx(half.alpha_3rsb, abs=1e-9)
    # A fourth step, which the table does not have, lies between the third and the limit, and its own limit within the error.
    four = add_step(three)
    assert half.alpha_full < four.alpha < half.alpha_3rsb
    ratio = (half.alpha_2rsb - half.alpha_3rsb) / (half.alpha_3rsb - four.alpha)
    a = brentq(lambda a: (2**-a - 3**-a) / (3**-a - 4**-a) - ratio, 0.2, 12)
    limit = four.alpha - (half.alpha_3rsb - four.alpha) / ((4 / 3) ** a - 1)
    assert abs(limit - half.alpha_full) < half.error_full


@pytest.mark.parametrize("rho", [0.0213, 0.137, 0.61, 0.945])
def test_starts_between_rows_are_good(rho):
    found = capacity_1rsb(rho)
    assert found.error < 1e-9
    assert np.abs(start_at(rho) - found.point).max() < 0.02
    assert found.alpha < capacity(rho).alpha


def test_following_in_density_agrees_with_the_table(one):
    *_, last = capacities_along([0.48, 0.4], one)
    row = next(row for row in capacity_table() if row.rho == 0.4)
    assert last.alpha == pytest.approx(row.alpha_1rsb, abs=1e-10)


def test_capacity_interface():
    symmetric, one, full = (capacity(0.3, ansatz) for ansatz in ("rs", "1rsb", "full"))
    assert full.alpha < one.alpha < symmetric.alpha
    assert symmetric.replicon_alpha == pytest.approx(one.replicon_alpha, abs=1e-8)
    assert one.error < 1e-10 < full.error < 1e-3
    with pytest.raises(InputError, match=r"0\.0005"):
        capacity(0.0004, "1rsb")
    with pytest.raises(InputError, match=r"0\.02"):
        capacity(0.01, "full")
    with pytest.raises(InputError, match="'full'"):
        capacity(0.3, "4rsb")


def test_the_former_home_of_the_result_warns():
    from chanceline.theory import broken_capacity, capacity as former_home

    with pytest.warns(DeprecationWarning, match="broken_capacity"):
        assert former_home.RSBCapacity is broken_capacity.RSBCapacity
