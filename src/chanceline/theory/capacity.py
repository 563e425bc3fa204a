"""The chance line: α_VS(ρ), where the entropy of separating choices vanishes, and its inverse ρ_VS(α)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit, logit

from chanceline.errors import ConvergenceError, InputError
from chanceline.theory import rs
from chanceline.theory.capacity_table import full_breaking
from chanceline.theory.closed_forms import cover_gardner, l0_gardner, union_bound, vapnik_chervonenkis
from chanceline.theory.inputs import check_alpha, check_rho
from chanceline.theory.quadrature import STEP
from chanceline.theory.rsb import replicon_line
from chanceline.theory.rsb_capacity import capacity_1rsb
from chanceline.theory.solver import Solved

Array = NDArray[np.float64]


def with_error(value: float, error: float) -> str:
    """A number with as many of its first ten decimals as its error leaves (and one more), and the error."""
    decimals = 10 if error < 1e-9 else max(0, 1 - math.floor(math.log10(error)))
    return f"{value:.{decimals}f} ± {error:.1e}"


@dataclass(frozen=True)
class Bounds:
    """The closed-form loads around α_VS, in their order for small ρ."""

    vc: float
    cover_gardner: float
    union: float
    l0_gardner: float


@dataclass(frozen=True)
class Capacity:
    """α_VS(ρ) with its numerical error, and the load where replica symmetry between supports breaks."""

    rho: float
    ansatz: str
    alpha: float
    error: float
    bounds: Bounds
    replicon_alpha: float | None

    kind = "asymptotic (replica method)"

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        lines = [
            f"capacity at ρ = {self.rho:g} ({self.ansatz}): α_VS = {with_error(self.alpha, self.error)}",
            f"  every choice separates below α_VC = {self.bounds.vc:g}, typical ones below 2ρ = {self.bounds.cover_gardner:g}",
            f"  upper bounds: union {self.bounds.union:.8f} (rigorous), ℓ₀-Gardner {self.bounds.l0_gardner:.8f}",
        ]
        if self.replicon_alpha is not None:
            lines.append(f"  symmetry between supports breaks at α = {self.replicon_alpha:.8f}")
        return "\n".join(lines)


@dataclass(frozen=True)
class Density:
    """ρ_VS(α): the smallest share of variables that separates at load α."""

    alpha: float
    rho: float
    error: float

    kind = "asymptotic (replica method)"

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        return f"density at α = {self.alpha:g}: ρ_VS = {with_error(self.rho, self.error)}"


def _zero_entropy(rho: float, start: Array | None) -> tuple[Solved[rs.RSState], float, float]:
    """The point Σ = 0, its load on a refined rule, and the error of the load."""
    if start is not None:
        try:
            coarse = rs.solve_at_zero_entropy(rho, start)
        except ConvergenceError:
            start = None  # too far away: take the whole way
    if start is None:
        *_, before, after = rs.follow_branch(rho, lambda state: state.entropy <= 0)
        coarse = rs.point_where(rho, (before, after), lambda state: state.entropy)
    fine = rs.solve_at_response(float(coarse.unknowns[0]), rho, coarse.unknowns, STEP / 2)
    state = fine.state
    alpha = state.alpha - state.entropy / state.entropy_by_alpha
    before_refinement = coarse.state.alpha - coarse.state.entropy / coarse.state.entropy_by_alpha
    order = state.order
    rounding = 4 * np.finfo(float).eps * (order.F0 * (rho - order.q0) + abs(alpha * state.entropy_by_alpha))
    return fine, float(alpha), float(abs(alpha - before_refinement) + rounding / abs(state.entropy_by_alpha))


def _replicon_crossing(rho: float, at_capacity: Solved[rs.RSState]) -> float | None:
    """The load where the replicon between supports reaches 1, sought backwards from the capacity."""
    if at_capacity.state.between <= 1:
        return None
    *_, unstable, stable = rs.follow_back(at_capacity, rho, lambda state: state.between < 1)
    return rs.point_where(rho, (unstable, stable), lambda state: state.between - 1).state.alpha


def closed_form_bounds(rho: float) -> Bounds:
    """α_VC, α_CG, union bound and ℓ₀-Gardner at one ρ."""
    return Bounds(vapnik_chervonenkis(rho), cover_gardner(rho), union_bound(rho), l0_gardner(rho))


def capacity(rho: float, ansatz: str = "rs") -> Capacity:
    """α_VS(ρ): the load above which no choice of ρN variables separates random patterns.

    Parameters
    ----------
    rho
        Share of the variables kept, 0 < ρ < 1.
    ansatz
        "rs", replica symmetric; "1rsb", one step of breaking between supports; "full", the limit of infinitely many steps, with
        the error of that extrapolation.
    """
    rho = check_rho(rho)
    if ansatz in ("1rsb", "full"):
        broken = capacity_1rsb(rho)
        alpha, error = (broken.alpha, broken.error) if ansatz == "1rsb" else full_breaking(broken.rho, broken.alpha)
        return Capacity(rho, ansatz, alpha, error, closed_form_bounds(rho), replicon_line(rho).state.alpha)
    if ansatz != "rs":
        raise InputError(f"ansatz must be 'rs', '1rsb' or 'full', but is {ansatz!r}")
    solved, alpha, error = _zero_entropy(rho, None)
    return Capacity(rho, "rs", alpha, error, closed_form_bounds(rho), _replicon_crossing(rho, solved))


def capacity_curve(rhos: Iterable[float], ansatz: str = "rs", replicon: bool = False) -> tuple[Capacity, ...]:
    """α_VS at many densities, each started from its neighbour; in the order of `rhos`.

    With `replicon` the load where symmetry breaks is found too (it costs more than the capacity itself).
    """
    wanted = [check_rho(rho) for rho in rhos]
    if ansatz != "rs":
        return tuple(capacity(rho, ansatz) for rho in wanted)
    found: dict[float, Capacity] = {}
    recent: list[tuple[float, Array]] = []
    for rho in sorted(set(wanted)):
        x = logit(rho)
        start = None
        if len(recent) == 2:
            (x0, p0), (x1, p1) = recent
            start = p1 + (p1 - p0) * (x - x1) / (x1 - x0)
        elif recent:
            start = recent[-1][1]
        solved, alpha, error = _zero_entropy(rho, start)
        recent = [*recent[-1:], (x, solved.unknowns)]
        crossing = _replicon_crossing(rho, solved) if replicon else None
        found[rho] = Capacity(rho, "rs", alpha, error, closed_form_bounds(rho), crossing)
    return tuple(found[rho] for rho in wanted)


def density(alpha: float) -> Density:
    """ρ_VS(α), the inverse of the capacity: the smallest density that separates at load α, 0 < α < 2.

    Newton on ln(α/(2 − α)) as a function of logit ρ, with dα_VS/dρ = −(∂Σ/∂ρ)/(∂Σ/∂α).
    """
    alpha = check_alpha(alpha)
    if alpha >= 2:
        raise InputError(f"alpha must be below 2, the capacity with all variables kept, but is {alpha:g}")
    lowest, highest = -30.0, 14.0
    if not l0_gardner(float(expit(lowest))) < alpha < l0_gardner(float(expit(highest))):
        raise InputError(f"alpha = {alpha:g} is too close to 0 or 2 to resolve; choose a load further inside")
    x = float(brentq(lambda x: l0_gardner(float(expit(x))) - alpha, lowest, highest))
    start: Array | None = None
    for _ in range(50):
        rho = float(expit(x))
        solved, reached, error = _zero_entropy(rho, start)
        start, state = solved.unknowns, solved.state
        slope = -state.entropy_by_rho / state.entropy_by_alpha
        move = np.log(alpha * (2 - reached) / (reached * (2 - alpha)))
        by_x = slope * rho * (1 - rho) * 2 / (reached * (2 - reached))
        step = float(np.clip(move / by_x, -1.0, 1.0))
        x += step
        if abs(step) < 1e-13 or abs(reached - alpha) <= error:
            return Density(alpha, float(expit(x)), float(error / slope + 2 * np.finfo(float).eps * rho))
    raise ConvergenceError(f"density at α = {alpha:g}: Newton stopped at ρ = {expit(x):.10g}; try a load further from 0 or 2")
