"""Towards full breaking: more steps between supports, and the limit of infinitely many.

The ladder of `steps` with k levels is the Parisi equation of this free entropy on a piecewise constant x(q); both the
pattern side (Gaussian convolutions of A^x) and the support side (of [1 + e^{−K}B]^x) are integrated exactly over each
level, and all p_i, G_i and x_i are stationary. A start for k + 1 levels is read off the k-level function. The capacities
α_k fall with k, and what is left falls like k^{−a} with a near 2, as for the ground state of the Sherrington–Kirkpatrick
model: three of them give a and the limit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import interp1d
from scipy.optimize import brentq

from chanceline.errors import ConvergenceError
from chanceline.theory.rsb_capacity import BrokenCapacity, capacity_near
from chanceline.theory.steps import Breaking, pack, solve_at_response, solve_with

Array = NDArray[np.float64]


def one_level_more(order: Breaking, rho: float, spread: float) -> Breaking:
    """A guess with k + 1 levels: ln(ρ − p), ln G and ln x of the k levels, interpolated on a finer ladder.

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
        x = np.exp(_line((np.arange(k) + 0.5) / k, np.log(order.x), (np.arange(k + 1) + 0.5) / (k + 1)))
    parts *= (np.array(order.x) @ np.diff(order.G)) / (x @ parts)
    G = order.G[0] + np.append(0.0, np.cumsum(parts))
    F1 = order.F1 - order.G[-1] + G[-1]
    return Breaking(order.chi, order.K, order.E, float(F1), tuple(map(float, p)), tuple(map(float, G)), tuple(map(float, x)))


def _line(at: Array, values: Array, wanted: Array) -> Array:
    return interp1d(at, values, fill_value="extrapolate")(wanted)


def add_step(capacity: BrokenCapacity) -> BrokenCapacity:
    """The capacity with one step more: break points held first, then freed at the same χ, then Σ = 0."""
    rho, steps = capacity.rho, capacity.steps + 1
    breaks = tuple(range(3 + steps, 3 + 2 * steps))
    failure: ConvergenceError | None = None
    for spread in (0.3, 0.0, 0.6, 1.0):
        point = pack(one_level_more(capacity.state.order, rho, spread), rho)
        what = f"a start for {steps} steps of breaking at ρ = {rho:.10g}"
        try:
            held = solve_with(point, (0, *breaks), rho, steps, what, hold_breaks=True)
            freed = solve_at_response(float(point[0]), rho, held.unknowns, steps)
            return capacity_near(rho, freed.unknowns, steps)
        except ConvergenceError as error:
            failure = error
    assert failure is not None
    raise failure


@dataclass(frozen=True)
class FullBreaking:
    """The limit k → ∞ of α_k, with an error: how far it moves when the exponent is set to 2, plus what the last step
    changed twice over."""

    alpha: float
    error: float
    exponent: float


def extrapolate(one: float, two: float, three: float) -> FullBreaking:
    """α_∞ from α_k = α_∞ + c k^{−a} through k = 1, 2, 3."""
    ratio = (one - two) / (two - three)

    def mismatch(a: float) -> float:
        return (1 - 2**-a) / (2**-a - 3**-a) - ratio

    exponent = float(brentq(mismatch, 0.2, 12))
    limit, square = (three - (two - three) / ((3 / 2) ** a - 1) for a in (exponent, 2.0))
    return FullBreaking(limit, abs(limit - square) + 0.25 * (two - three), exponent)
