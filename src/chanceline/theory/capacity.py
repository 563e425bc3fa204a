"""The capacity α_VS(ρ), replica symmetric or with breaking; its inverse ρ_VS(α) is in `rs`.

With k steps of breaking between supports Σ = 0 is solved together with the saddle equations. For every finite number of steps
the entropy vanishes at finite break points x_i, finite K and finite χ (ρ = ½: x = 0.353, K = 9.35 for k = 1), so that Σ = 0 is
one more equation for Newton and nothing is extrapolated. It is well conditioned in the form (7) of `rsb`, which is the entropy
inside the smallest group. Each further step raises K and lowers x₁ at Σ = 0, with x₁K nearly constant: only full breaking ends
with K → ∞ and x → 0 at finite xK, a single support in each smallest group.

With k levels the recursion of `rsb` is the Parisi equation of this free entropy on a piecewise constant x(q); both the
pattern side (Gaussian convolutions of A^x) and the support side (of [1 + e^{−K}B]^x) are integrated exactly over each
level, and all p_i, G_i and x_i are stationary. A start for k + 1 levels is read off the k-level function. The capacities
α_k fall with k, and what is left falls like k^{−a} with a near 2, as for the ground state of the Sherrington–Kirkpatrick
model: three of them give a and the limit.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast, overload

import numpy as np
from scipy.interpolate import CubicSpline, interp1d
from scipy.optimize import brentq
from scipy.special import expit, logit

from chanceline._validation import shown
from chanceline.errors import InputError
from chanceline.theory.bounds import Bounds, bounds_at
from chanceline.theory.curve import Curve
from chanceline.theory.ensemble import (
    APPROXIMATE,
    PLAIN,
    Ensemble,
    EnsembleResult,
    binary_entropy,
    capacity_table,
    check_rho,
    gardner,
    with_error,
)
from chanceline.theory.numerics import Array, Solved, first_success, follow
from chanceline.theory.rs import Branch, Density, End, density as density_at, zero_entropy
from chanceline.theory.rsb import RSBBranch, RSBOrder, RSBState, pack
from chanceline.theory.solve import FINER, branch_off, check_breaking, end_of_branch, replicon_line


@dataclass(frozen=True, repr=False)
class Capacity(EnsembleResult):
    """α_VS(ρ) with its numerical error, and the load where replica symmetry between supports breaks."""

    rho: float
    ansatz: str
    alpha: float
    error: float
    bounds: Bounds
    replicon_alpha: float | None

    kind = "asymptotic (replica method)"

    def summary(self) -> str:
        at = self.ensemble.label(f"ρ = {self.rho:g}")
        return f"capacity at {at} ({self.ansatz}): α_VS = {with_error(self.alpha, self.error)}"

    def __str__(self) -> str:
        b = self.bounds
        name = "2ρ" if self.ensemble.plain else "ρ" if self.ensemble == Ensemble(signs="given") else "α_CG"
        typical = f"typical ones below {name} = {b.cover_gardner:g}"
        union = f"{b.union:.8f} (rigorous)" if math.isfinite(b.union) else "none"
        lines = [
            self.summary(),
            f"  every choice separates below α_VC = {b.vc:g}, {typical}" if b.vc is not None else f"  {typical} separate",
            f"  upper bounds: union {union}, ℓ₀-Gardner {b.l0_gardner:.8f}",
        ]
        if self.ensemble.free_threshold:
            lines.append(f"  threshold b/|w| = {self.threshold:.8f}")
        if self.signs == "given" and self.rho >= 0.5:
            lines.append(
                "  a good choice of half of the inputs reaches the load of all of them: half of all weights are zero there"
            )
        if self.replicon_alpha is not None:
            lines.append(f"  symmetry between supports breaks at α = {self.replicon_alpha:.8f}")
        if self.errors:
            lines.append(f"  {APPROXIMATE}")
        return "\n".join(lines)


def _capacity(branch: Branch, end: End, replicon: bool) -> Capacity:
    """The result, with the load where the replicon between supports reaches 1, sought backwards from the capacity."""
    breaks = None
    if replicon and end.solved.state.between > 1:
        *_, unstable, stable = branch.follow(end.solved, 0.25, lambda state: state.between < 1)
        breaks = branch.point_where((unstable, stable), lambda state: state.between - 1).state.alpha
    bounds, threshold = bounds_at(branch.rho, branch.ensemble), end.solved.state.order.threshold
    return Capacity(branch.rho, "rs", end.alpha, end.error, bounds, breaks, ensemble=branch.ensemble, threshold=threshold)


def _end(branch: Branch, start: Array | None = None, replicon: bool = False) -> tuple[Capacity, Array | None]:
    """The capacity of a branch, and its point.

    With given signs and ρ ≥ ½ it is that of all inputs, α_c: half of their weights are zero there, so the other half suffice, and
    Σ ends above 0, at ½H₂(2ρ − 1), the free choice among inputs without weight.
    """
    rho, ensemble = branch.rho, branch.ensemble
    if rho >= ensemble.widest:
        top = gardner(ensemble)
        bounds = bounds_at(rho, ensemble)
        return Capacity(rho, "rs", top.load, 0.0, bounds, None, ensemble=ensemble, threshold=top.threshold), None
    end = zero_entropy(branch, start)
    return _capacity(branch, end, replicon), end.solved.unknowns


@overload
def capacity(
    rho: float, ansatz: str = ..., *, balance: float = ..., margin: float = ..., errors: float = ..., signs: str = ...
) -> Capacity: ...


@overload
def capacity(
    rho: Sequence[float] | Array,
    ansatz: str = ...,
    *,
    balance: float = ...,
    margin: float = ...,
    errors: float = ...,
    signs: str = ...,
) -> Curve: ...


def capacity(
    rho: float | Sequence[float] | Array,
    ansatz: str = "rs",
    *,
    balance: float = 0.5,
    margin: float = 0.0,
    errors: float = 0.0,
    signs: str = "free",
) -> Capacity | Curve:
    """α_VS(ρ): the load above which no choice of ρN variables separates random patterns.

    Parameters
    ----------
    rho
        Share of the variables kept, 0 < ρ < 1. Of several the `Curve` comes back, as from `capacity_curve`.
    ansatz
        "rs", replica symmetric; "1rsb", one step of breaking between supports; "full", the limit of infinitely many steps, with
        the error of that extrapolation.
    balance
        Share of positive patterns, 0 < balance < 1. Unless it is ½ the rule has a free threshold.
    margin
        y(w·x + b)/|w| must be at least this, for inputs of unit variance.
    errors
        Share of patterns that may be wrong, below the share of the rarer class. With errors the weights of a support form
        clusters, Σ counts pairs of a support and a cluster, and one step is an approximation; `bounds.one_step_gardner` has the
        limit ρ → 1.
    signs
        "given" if the sign of each input's weight is prescribed (a synapse is excitatory or inhibitory, a marker can only raise
        the risk), for inputs of mean 0, without errors and with ansatz "rs".
    """
    if np.ndim(rho):
        return capacity_curve(np.ravel(rho), ansatz, balance=balance, margin=margin, errors=errors, signs=signs)
    rho, ensemble = check_rho(cast("float", rho)), Ensemble.checked(balance, margin, errors, signs)
    if ansatz == "rs":
        return _end(Branch(rho, ensemble), replicon=True)[0]
    if ansatz not in ("1rsb", "full"):
        raise InputError(f"ansatz must be 'rs', '1rsb' or 'full', but is {shown(ansatz)}")
    if ansatz == "full" and not ensemble.plain:
        raise InputError("the limit of full breaking is known for balance ½, no margin and no errors; use ansatz '1rsb' or 'rs'")
    broken = capacity_1rsb(rho, ensemble)
    alpha, error = (broken.alpha, broken.error) if ansatz == "1rsb" else full_breaking(rho, broken.alpha)
    breaks, threshold = replicon_line(rho, ensemble).state.alpha, broken.state.order.threshold
    return Capacity(rho, ansatz, alpha, error, bounds_at(rho, ensemble), breaks, ensemble=ensemble, threshold=threshold)


def capacity_curve(
    rhos: Iterable[float],
    ansatz: str = "rs",
    replicon: bool = False,
    *,
    balance: float = 0.5,
    margin: float = 0.0,
    errors: float = 0.0,
    signs: str = "free",
) -> Curve:
    """α_VS at many densities, each started from its neighbour; in the order of `rhos`.

    With `replicon` the load where symmetry breaks is found too (it costs more than the capacity itself). The other parameters are
    those of `capacity`.
    """
    wanted = [check_rho(rho) for rho in rhos]
    if ansatz != "rs":
        kind: dict[str, Any] = {"balance": balance, "margin": margin, "errors": errors, "signs": signs}
        return Curve(tuple(capacity(rho, ansatz, **kind) for rho in wanted))
    ensemble = Ensemble.checked(balance, margin, errors, signs)
    found: dict[float, Capacity] = {}
    recent: list[tuple[float, Array]] = []
    for rho in sorted(set(wanted)):
        x = logit(min(rho / ensemble.widest, 1.0))
        start = recent[-1][1] if recent else None
        if len(recent) == 2:
            (x0, p0), (x1, p1) = recent
            start = p1 + (p1 - p0) * (x - x1) / (x1 - x0)
        found[rho], point = _end(Branch(rho, ensemble), start, replicon)
        recent = [*recent[-1:], (x, point)] if point is not None else []
    return Curve(tuple(found[rho] for rho in wanted))


@overload
def density(alpha: float, *, balance: float = ..., margin: float = ..., errors: float = ..., signs: str = ...) -> Density: ...


@overload
def density(
    alpha: Sequence[float] | Array, *, balance: float = ..., margin: float = ..., errors: float = ..., signs: str = ...
) -> Curve: ...


def density(
    alpha: float | Sequence[float] | Array,
    *,
    balance: float = 0.5,
    margin: float = 0.0,
    errors: float = 0.0,
    signs: str = "free",
) -> Density | Curve:
    """ρ_VS(α), the inverse of the capacity: the smallest density that separates at load α, 0 < α < α_c.

    α_c is the capacity with all variables kept (2 for equal classes without margin and errors, half of it with given signs). Of
    several loads the `Curve` comes back; the other parameters are those of `capacity`.
    """
    kind: dict[str, Any] = {"balance": balance, "margin": margin, "errors": errors, "signs": signs}
    if np.ndim(alpha):
        return Curve(tuple(density_at(float(load), **kind) for load in np.ravel(alpha)))
    return density_at(cast("float", alpha), **kind)


def evenly_spaced(points: int) -> list[float]:
    """ρ = 1/(n+1), …, n/(n+1)."""
    return [(i + 1) / (points + 1) for i in range(points)]


# With breaking.


@dataclass(frozen=True)
class RSBCapacity:
    """α_VS(ρ) with k steps of breaking; `point` starts a solver near by (`rsb.pack`)."""

    rho: float
    steps: int
    alpha: float
    error: float
    state: RSBState
    point: Array


def capacity_near(branch: RSBBranch, start: Array) -> RSBCapacity:
    """Σ = 0 by Newton from a point near to it; one more Newton step on finer grids shows the error."""
    solved = branch.at_zero_entropy(start)
    state = solved.state
    finer = branch.equations(solved.unknowns, FINER)
    residual = np.append(finer.residual, finer.entropy / binary_entropy(branch.rho))
    moved = solved.unknowns - np.linalg.solve(solved.jacobian, residual)
    alpha = branch.equations(moved, FINER).alpha
    # What Newton left undone is part of the error: its residual as an error of Σ, which falls with slope ∂Σ/∂α.
    error = abs(alpha - state.alpha) + abs(solved.residual / state.entropy_by_alpha) + 4e-16 * alpha
    return RSBCapacity(branch.rho, branch.steps, alpha, error, state, moved)


def capacity_1rsb(rho: float, ensemble: Ensemble = PLAIN) -> RSBCapacity:
    """One step of breaking, started from the shipped table; 0.02 ≤ ρ ≤ 0.95."""
    check_breaking(ensemble)
    branch = RSBBranch(rho, 1, ensemble)
    return capacity_near(branch, end_of_branch(branch).unknowns)


def capacity_from_scratch(rho: float) -> RSBCapacity:
    """One step, from the replica-symmetric branch: its replicon line, the branching point, then along the branch to Σ = 0."""
    branch = RSBBranch(rho)
    first = branch_off(branch, replicon_line(rho).state)
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
        x = np.exp(_line((np.arange(k) + 0.5) / k, np.log(order.x), (np.arange(k + 1) + 0.5) / (k + 1)))
    parts *= (np.array(order.x) @ np.diff(order.G)) / (x @ parts)
    G = order.G[0] + np.append(0.0, np.cumsum(parts))
    F1 = order.F1 - order.G[-1] + G[-1]
    return RSBOrder(order.chi, order.K, order.E, float(F1), tuple(map(float, p)), tuple(map(float, G)), tuple(map(float, x)))


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
        point = pack(one_level_more(order, branch.rho, spread), branch.rho)
        held = branch.solve_with(point, (0, *breaks), f"a start for {steps} steps of breaking", hold_breaks=True)
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


@lru_cache(maxsize=1)
def _full_spline() -> CubicSpline:
    table = capacity_table()
    rows = table[np.isfinite(table.alpha_full)]
    return CubicSpline(logit(rows.rho), np.log(np.column_stack([rows.alpha_1rsb - rows.alpha_full, rows.error_full])))


def full_breaking(rho: float, alpha_1rsb: float) -> tuple[float, float]:
    """α_VS with full breaking and its error, from α_VS with one step: the shipped table's difference is interpolated."""
    difference, error = np.exp(_full_spline()(logit(rho)))
    return float(alpha_1rsb - difference), float(error)
