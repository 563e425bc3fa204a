"""The capacity α_VS(ρ), replica symmetric or with breaking; its inverse ρ_VS(α) is in `rs`.

With k steps of breaking between supports Σ = 0 is solved together with the saddle equations. For every finite number of steps
the entropy vanishes at finite break points x_i, finite K and finite χ (ρ = ½: x = 0.353, K = 9.35 for k = 1), so that Σ = 0 is
one more equation for Newton and nothing is extrapolated. It is well conditioned in the form (7) of `rsb`, which is the entropy
inside the smallest group. Each further step raises K and lowers x₁ at Σ = 0, with x₁K nearly constant: only full breaking ends
with K → ∞ and x → 0 at finite xK, a single support in each smallest group.

More than one step, and the limit of all, are made by `scripts/steps_of_breaking.py` for the shipped table.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast, overload

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.special import logit

from chanceline.errors import InputError, shown
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
from chanceline.theory.numerics import Array
from chanceline.theory.rs import Branch, Density, End, density as density_at, zero_entropy
from chanceline.theory.rsb import RSBBranch, RSBState
from chanceline.theory.solve import FINER, check_breaking, end_of_branch, replicon_line


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


@lru_cache(maxsize=1)
def _full_spline() -> CubicSpline:
    table = capacity_table()
    rows = table[np.isfinite(table.alpha_full)]
    return CubicSpline(logit(rows.rho), np.log(np.column_stack([rows.alpha_1rsb - rows.alpha_full, rows.error_full])))


def full_breaking(rho: float, alpha_1rsb: float) -> tuple[float, float]:
    """α_VS with full breaking and its error, from α_VS with one step: the shipped table's difference is interpolated."""
    difference, error = np.exp(_full_spline()(logit(rho)))
    return float(alpha_1rsb - difference), float(error)
