"""α_VS(ρ) with two, three and more steps of breaking between supports, and the limit of all: what the shipped table is made of.

With k levels the recursion of `rsb` is the Parisi equation of this free entropy on a piecewise constant x(q); both the
pattern side (Gaussian convolutions of A^x) and the support side (of [1 + e^{−K}B]^x) are integrated exactly over each
level, and all p_i, G_i and x_i are stationary. A start for k + 1 levels is read off the k-level function. The capacities
α_k fall with k, and what is left falls like k^{−a} with a near 2, as for the ground state of the Sherrington–Kirkpatrick
model: three of them give a and the limit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.interpolate import interp1d
from scipy.optimize import brentq
from scipy.special import expit, logit

from chanceline.theory.broken_capacity import RSBCapacity, capacity_near
from chanceline.theory.continuation import first_success, follow
from chanceline.theory.newton import Solved
from chanceline.theory.one_step import branch_off
from chanceline.theory.quadrature import Array
from chanceline.theory.rsb import RSBBranch, RSBOrder, RSBState, pack_order
from chanceline.theory.transition import transition_at


def capacity_from_scratch(rho: float) -> RSBCapacity:
    """One step, from the replica-symmetric branch: its replicon line, the branching point, then along the branch to Σ = 0."""
    branch = RSBBranch(rho)
    first = branch_off(branch, transition_at(rho))
    *_, before, after = branch.follow(first, -0.05, lambda state: state.entropy <= 0)
    near = branch.point_where((before, after), lambda state: state.entropy, tolerance=1e-4)
    return capacity_near(branch, near.unknowns)


def capacities_along(rhos: Sequence[float], first: RSBCapacity) -> Iterator[RSBCapacity]:
    """The capacity of the plain ensemble at each ρ in order, followed from `first` in logit ρ."""

    def solve_at(position: float, start: Array) -> Solved[RSBState]:
        return RSBBranch(float(expit(position)), first.steps).at_zero_entropy(start)

    position = float(logit(first.rho))
    here = solve_at(position, first.point)
    for rho in rhos:
        target = float(logit(rho))
        *_, here = follow(solve_at, here, position, target - position, until=target, smallest=1e-3)
        position = target
        yield capacity_near(RSBBranch(rho, first.steps), here.unknowns)


def one_level_more(order: RSBOrder, rho: float, spread: float) -> RSBOrder:
    """A guess with k + 1 levels: ln(ρ − p), ln G and ln x of the k levels, interpolated on finer levels.

    `spread` moves the ends outwards, as a further step does. The parts of G keep Σ x_i(G_i − G_{i−1}), on which d hangs.
    """
    k = len(order.x)
    levels = np.arange(k + 1) / k
    overhang = spread / (4 * k * k)
    finer = -overhang + (1 + 2 * overhang) * np.arange(k + 2) / (k + 1)
    p = rho - np.exp(_line(levels, np.log(rho - np.array(order.p)), finer))
    parts = np.diff(np.exp(_line(levels, np.log(order.G), finer)))
    if k == 1:
        # One break point has no slope to continue.
        x = order.x[0] * np.array([0.85, 1.2])
    else:
        x = np.exp(
            _line((np.arange(k) + 0.5) / k, np.log(order.x), (np.arange(k + 1) + 0.5) / (k + 1))
        )
    parts *= (np.array(order.x) @ np.diff(order.G)) / (x @ parts)
    G = order.G[0] + np.append(0.0, np.cumsum(parts))
    F1 = order.F1 - order.G[-1] + G[-1]
    return RSBOrder(
        order.chi,
        order.K,
        order.E,
        float(F1),
        tuple(map(float, p)),
        tuple(map(float, G)),
        tuple(map(float, x)),
    )


def _line(at: Array, values: Array, wanted: Array) -> Array:
    return interp1d(at, values, fill_value="extrapolate")(wanted)


def add_step(capacity: RSBCapacity) -> RSBCapacity:
    """The capacity with one step more. Where the jump fails at Σ = 0 it is made at a larger χ, where the levels differ less."""
    return first_success(lambda retreat: _add_step_at(capacity, retreat), (0.0, 0.45))


def _add_step_at(capacity: RSBCapacity, retreat: float) -> RSBCapacity:
    rho = capacity.rho
    fewer, branch = RSBBranch(rho, capacity.steps), RSBBranch(rho, capacity.steps + 1)
    here = fewer.at_zero_entropy(capacity.point)
    if retreat:
        goal = here.unknowns[0] + retreat
        *_, here = fewer.follow(here, 0.15, lambda state: np.log(state.order.chi) >= goal)
    freed = _free_level(here.state.order, branch)
    if not retreat:
        return capacity_near(branch, freed.unknowns)
    *_, before, after = branch.follow(freed, -0.08, lambda state: state.entropy < 0)
    share = before.state.entropy / (before.state.entropy - after.state.entropy)
    return capacity_near(branch, before.unknowns + share * (after.unknowns - before.unknowns))


def _free_level(order: RSBOrder, branch: RSBBranch) -> Solved[RSBState]:
    """The saddle with one level more than `order` has, at the same χ: break points held first, then freed."""
    steps = branch.steps
    breaks = tuple(range(3 + steps, 3 + 2 * steps))

    def with_ends_moved(spread: float) -> Solved[RSBState]:
        point = pack_order(one_level_more(order, branch.rho, spread), branch.rho)
        held = branch.solve_with(
            point, (0, *breaks), f"a start for {steps} steps of breaking", hold_breaks=True
        )
        return branch.at_chi(float(point[0]), held.unknowns)

    return first_success(with_ends_moved, (0.3, 0.0, 0.6, 1.0))


def extrapolate(one: float, two: float, three: float) -> tuple[float, float, float]:
    """α_∞, its error and a, from α_k = α_∞ + c k^{−a} through k = 1, 2, 3.

    The exponent is not quite constant: at ρ = ½ it is 2.1 between one and three steps and 2.6 between two and four. How far
    the limit moves when the exponent is higher by one is the error.
    """
    ratio = (one - two) / (two - three)
    exponent = float(brentq(lambda a: (1 - 2**-a) / (2**-a - 3**-a) - ratio, 0.2, 12))
    limit, higher = (three - (two - three) / ((3 / 2) ** a - 1) for a in (exponent, exponent + 1))
    return limit, higher - limit, exponent
