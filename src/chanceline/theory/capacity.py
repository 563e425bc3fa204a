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

from chanceline._results import Result
from chanceline._validation import shown
from chanceline.errors import ConvergenceError, InputError
from chanceline.theory.bounds import Bounds, bounds_at
from chanceline.theory.capacity_table import full_breaking
from chanceline.theory.closed_forms import l0_gardner
from chanceline.theory.gardner import gardner
from chanceline.theory.inputs import check_alpha, check_rho
from chanceline.theory.patterns import Patterns
from chanceline.theory.quadrature import STEP
from chanceline.theory.rs import Branch, RSState
from chanceline.theory.rsb import replicon_line
from chanceline.theory.rsb_capacity import capacity_1rsb
from chanceline.theory.solver import Solved, first_success, follow

Array = NDArray[np.float64]

APPROXIMATE = "errors make the set of weights non-convex: replica symmetry within a support is an approximation"


def with_error(value: float, error: float) -> str:
    """A number with as many of its first ten decimals as its error leaves (and one more), and the error."""
    decimals = 10 if error < 1e-9 else max(0, 1 - math.floor(math.log10(error)))
    return f"{value:.{decimals}f} ± {error:.1e}"


@dataclass(frozen=True, repr=False)
class Capacity(Result):
    """α_VS(ρ) with its numerical error, and the load where replica symmetry between supports breaks.

    `threshold` is b/|w| at capacity, for the rule w·x + b > 0.
    """

    rho: float
    ansatz: str
    alpha: float
    error: float
    bounds: Bounds
    replicon_alpha: float | None
    balance: float = 0.5
    margin: float = 0.0
    errors: float = 0.0
    threshold: float = 0.0

    kind = "asymptotic (replica method)"

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "kind": self.kind}

    def summary(self) -> str:
        extra = Patterns(self.balance, self.margin, self.errors).describe()
        at = f"ρ = {self.rho:g}" + (f", {extra}" if extra else "")
        return f"capacity at {at} ({self.ansatz}): α_VS = {with_error(self.alpha, self.error)}"

    def __str__(self) -> str:
        b, plain = self.bounds, Patterns(self.balance, self.margin, self.errors).plain
        typical = f"typical ones below {'2ρ' if plain else 'α_CG'} = {b.cover_gardner:g}"
        union = f"{b.union:.8f} (rigorous)" if math.isfinite(b.union) else "none"
        lines = [
            self.summary(),
            f"  every choice separates below α_VC = {b.vc:g}, {typical}" if b.vc is not None else f"  {typical} separate",
            f"  upper bounds: union {union}, ℓ₀-Gardner {b.l0_gardner:.8f}",
        ]
        if self.balance != 0.5:
            lines.append(f"  threshold b/|w| = {self.threshold:.8f}")
        if self.replicon_alpha is not None:
            lines.append(f"  symmetry between supports breaks at α = {self.replicon_alpha:.8f}")
        if self.errors:
            lines.append(f"  {APPROXIMATE}")
        return "\n".join(lines)


@dataclass(frozen=True, repr=False)
class Density(Result):
    """ρ_VS(α): the smallest share of variables that separates at load α."""

    alpha: float
    rho: float
    error: float
    balance: float = 0.5
    margin: float = 0.0
    errors: float = 0.0
    threshold: float = 0.0

    kind = "asymptotic (replica method)"

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "kind": self.kind}

    def summary(self) -> str:
        extra = Patterns(self.balance, self.margin, self.errors).describe()
        at = f"α = {self.alpha:g}" + (f", {extra}" if extra else "")
        return f"density at {at}: ρ_VS = {with_error(self.rho, self.error)}"

    def __str__(self) -> str:
        return self.summary() + (f"\n  {APPROXIMATE}" if self.errors else "")


@dataclass(frozen=True)
class End:
    """The point Σ = 0, its load on a refined rule, and the error of the load."""

    solved: Solved[RSState]
    alpha: float
    error: float


def _from_the_entrance(branch: Branch) -> Solved[RSState]:
    """The point Σ = 0 by the whole way along the branch."""
    *_, before, after = branch.follow(lambda state: state.entropy <= 0)
    return branch.point_where((before, after), lambda state: state.entropy)


def _from_smaller_densities(branch: Branch) -> Solved[RSState]:
    """The same by way of the points Σ = 0 of other densities: with errors the entrance is hard to find near ρ = 1."""
    half = 0.5

    def solve_at(x: float, guess: Array) -> Solved[RSState]:
        return Branch(float(expit(x)), branch.patterns).at_zero_entropy(guess)

    first = _from_the_entrance(Branch(half, branch.patterns))
    *_, last = follow(solve_at, first, float(logit(half)), 0.5, until=float(logit(branch.rho)))
    return last


def zero_entropy(branch: Branch, start: Array | None) -> End:
    """The capacity of a branch, from a point near to it or from nothing."""
    if start is not None:
        try:
            coarse = branch.at_zero_entropy(start)
        except ConvergenceError:
            start = None  # too far away: take the whole way
    if start is None:
        coarse = first_success(lambda way: way(branch), (_from_the_entrance, _from_smaller_densities))
    fine = branch.at_response(float(coarse.unknowns[0]), coarse.unknowns, STEP / 2)
    state = fine.state
    alpha = state.alpha - state.entropy / state.entropy_by_alpha
    before_refinement = coarse.state.alpha - coarse.state.entropy / coarse.state.entropy_by_alpha
    order = state.order
    rounding = 4 * np.finfo(float).eps * (order.F0 * (branch.rho - order.q0) + abs(alpha * state.entropy_by_alpha))
    return End(fine, float(alpha), float(abs(alpha - before_refinement) + rounding / abs(state.entropy_by_alpha)))


def _replicon_crossing(branch: Branch, at_capacity: Solved[RSState]) -> float | None:
    """The load where the replicon between supports reaches 1, sought backwards from the capacity."""
    if at_capacity.state.between <= 1:
        return None
    *_, unstable, stable = branch.follow_back(at_capacity, lambda state: state.between < 1)
    return branch.point_where((unstable, stable), lambda state: state.between - 1).state.alpha


def _capacity(branch: Branch, end: End, crossing: float | None) -> Capacity:
    p = branch.patterns
    return Capacity(
        rho=branch.rho,
        ansatz="rs",
        alpha=end.alpha,
        error=end.error,
        bounds=bounds_at(branch.rho, p),
        replicon_alpha=crossing,
        balance=p.balance,
        margin=p.margin,
        errors=p.errors,
        threshold=end.solved.state.order.threshold,
    )


def capacity(rho: float, ansatz: str = "rs", *, balance: float = 0.5, margin: float = 0.0, errors: float = 0.0) -> Capacity:
    """α_VS(ρ): the load above which no choice of ρN variables separates random patterns.

    Parameters
    ----------
    rho
        Share of the variables kept, 0 < ρ < 1.
    ansatz
        "rs", replica symmetric; "1rsb", one step of breaking between supports; "full", the limit of infinitely many steps, with
        the error of that extrapolation.
    balance
        Share of positive patterns, 0 < balance < 1. Unless it is ½ the rule has a free threshold.
    margin
        y(w·x + b)/|w| must be at least this, for inputs of unit variance.
    errors
        Share of patterns that may be wrong, below ½ and below the share of the rarer class. With errors the weights of a support
        form clusters, Σ counts pairs of a support and a cluster, and one step is an approximation; `gardner_broken` has the
        limit ρ → 1.
    """
    rho, patterns = check_rho(rho), Patterns.checked(balance, margin, errors)
    if not isinstance(ansatz, str) or ansatz not in ("rs", "1rsb", "full"):
        raise InputError(f"ansatz must be 'rs', '1rsb' or 'full', but is {shown(ansatz)}")
    if ansatz != "rs":
        return _broken_capacity(rho, ansatz, patterns)
    branch = Branch(rho, patterns)
    end = zero_entropy(branch, None)
    return _capacity(branch, end, _replicon_crossing(branch, end.solved))


def _broken_capacity(rho: float, ansatz: str, patterns: Patterns) -> Capacity:
    if ansatz == "full" and not patterns.plain:
        raise InputError("the limit of full breaking is known for balance ½, no margin and no errors; use ansatz '1rsb' or 'rs'")
    broken = capacity_1rsb(rho, patterns)
    alpha, error = (broken.alpha, broken.error) if ansatz == "1rsb" else full_breaking(broken.rho, broken.alpha)
    breaks = replicon_line(rho, patterns).state.alpha
    p, threshold = patterns, broken.state.order.threshold
    return Capacity(rho, ansatz, alpha, error, bounds_at(rho, p), breaks, p.balance, p.margin, p.errors, threshold)


def capacity_curve(
    rhos: Iterable[float],
    ansatz: str = "rs",
    replicon: bool = False,
    *,
    balance: float = 0.5,
    margin: float = 0.0,
    errors: float = 0.0,
) -> tuple[Capacity, ...]:
    """α_VS at many densities, each started from its neighbour; in the order of `rhos`.

    With `replicon` the load where symmetry breaks is found too (it costs more than the capacity itself). The other parameters are
    those of `capacity`.
    """
    try:
        wanted = [check_rho(rho) for rho in rhos]
    except TypeError:
        raise InputError(f"the densities must be a list of numbers, not {shown(rhos)}") from None
    patterns = Patterns.checked(balance, margin, errors)
    if ansatz != "rs":
        return tuple(capacity(rho, ansatz, balance=balance, margin=margin, errors=errors) for rho in wanted)
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
        branch = Branch(rho, patterns)
        end = zero_entropy(branch, start)
        recent = [*recent[-1:], (x, end.solved.unknowns)]
        found[rho] = _capacity(branch, end, _replicon_crossing(branch, end.solved) if replicon else None)
    return tuple(found[rho] for rho in wanted)


def density(alpha: float, *, balance: float = 0.5, margin: float = 0.0, errors: float = 0.0) -> Density:
    """ρ_VS(α), the inverse of the capacity: the smallest density that separates at load α, 0 < α < α_c.

    α_c is the capacity with all variables kept (2 for equal classes without margin and errors); the other parameters are those of
    `capacity`. Newton on ln(α/(α_c − α)) as a function of logit ρ, with dα_VS/dρ = −(∂Σ/∂ρ)/(∂Σ/∂α).
    """
    alpha, patterns = check_alpha(alpha), Patterns.checked(balance, margin, errors)
    top = gardner(patterns).load
    if alpha >= top:
        raise InputError(f"alpha must be below {top:.6g}, the capacity with all variables kept, but is {alpha:g}")
    lowest, highest = -30.0, 14.0

    def nearest(x: float) -> float:
        return top * l0_gardner(float(expit(x))) / 2 - alpha

    if not nearest(lowest) < 0 < nearest(highest):
        raise InputError(f"alpha = {alpha:g} is too close to 0 or {top:.6g} to resolve; choose a load further inside")
    x = float(brentq(nearest, lowest, highest))
    start: Array | None = None
    for _ in range(50):
        rho = float(expit(x))
        end = zero_entropy(Branch(rho, patterns), start)
        start, state, reached = end.solved.unknowns, end.solved.state, end.alpha
        slope = -state.entropy_by_rho / state.entropy_by_alpha
        if slope <= 0:
            raise ConvergenceError(
                f"density at α = {alpha:g}, {patterns.describe()}: with errors replica symmetry is an approximation, in which no "
                "density has this capacity; choose a smaller load"
            )
        move = np.log(alpha * (top - reached) / (reached * (top - alpha)))
        by_x = slope * rho * (1 - rho) * top / (reached * (top - reached))
        step = float(np.clip(move / by_x, -1.0, 1.0))
        x += step
        if abs(step) < 1e-13 or abs(reached - alpha) <= end.error:
            return _density(alpha, x, end, slope, patterns)
    raise ConvergenceError(
        f"density at α = {alpha:g}: Newton stopped at ρ = {expit(x):.10g}; try a load further from 0 or {top:.6g}"
    )


def _density(alpha: float, x: float, end: End, slope: float, patterns: Patterns) -> Density:
    rho = float(expit(x))
    error = float(end.error / slope + 2 * np.finfo(float).eps * rho)
    p = patterns
    return Density(alpha, rho, error, p.balance, p.margin, p.errors, end.solved.state.order.threshold)
