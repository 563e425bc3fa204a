"""Replica symmetry at one point of the diagram: below the Cover–Gardner load, at it and above.

Above α_CG (2ρ for the plain ensemble) it is a point of `rs_branch`, below that of `typical`.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import logit

from chanceline.errors import InputError
from chanceline.theory.bounds import bounds_at
from chanceline.theory.closed_forms import binary_entropy, l0_gardner, typical_overlap
from chanceline.theory.ensemble import PLAIN, Ensemble, check_alpha, check_rho
from chanceline.theory.newton import Solved
from chanceline.theory.quadrature import QUADRATURE_STEP
from chanceline.theory.rs_branch import Branch
from chanceline.theory.rs_equations import RSState
from chanceline.theory.solution import (
    Regime,
    RSSolution,
    Stability,
    regime_above_entrance,
)
from chanceline.theory.typical import solve_typical

if TYPE_CHECKING:
    import pandas as pd

# Nearer to ρ = 1 nothing is resolved.
_SMALLEST_COMPLEMENT = 1e-12
# Within this share of α_CG the two sides agree within rounding, and the limit is the answer.
_AT_ENTRANCE = 1e-12
# The table of a branch ends at this share of the way from 2ρ to the ℓ₀-Gardner load.
_TABLE_END = 0.98


def solve_rs(alpha: float, rho: float, ensemble: Ensemble = PLAIN) -> RSSolution:
    """The replica-symmetric solution at any load where it exists, 0 < α < α_ℓ₀(ρ)."""
    alpha = check_alpha(alpha)
    rho = check_rho(rho)
    bounds = bounds_at(rho, ensemble)
    if alpha >= bounds.l0_gardner:
        raise InputError(
            f"no replica-symmetric solution exists at alpha = {alpha:g}: at rho = {rho:g} the "
            f"branch ends at the l0-Gardner load {bounds.l0_gardner:.6g}; choose a smaller alpha"
        )
    if rho > 1 - _SMALLEST_COMPLEMENT:
        raise InputError(f"rho = {rho!r} is too close to 1 to resolve; choose a smaller rho")
    if ensemble.signed and alpha <= bounds.cover_gardner:
        raise InputError(
            f"at alpha = {alpha:g} typical choices of variables already separate (up to "
            f"{bounds.cover_gardner:g}), and the entropy is that of all choices; with given signs "
            "choose a larger alpha"
        )
    if ensemble.error_rate:
        return _with_errors(alpha, rho, ensemble)
    distance = abs(alpha - bounds.cover_gardner)
    if ensemble.plain and distance <= _AT_ENTRANCE * alpha:
        return _at_cover_gardner(alpha, rho)
    if alpha > bounds.cover_gardner:
        return _above_cover_gardner(alpha, rho, ensemble)
    return _below_cover_gardner(alpha, rho, ensemble)


def _below_cover_gardner(alpha: float, rho: float, ensemble: Ensemble) -> RSSolution:
    """The typical solution, on half the step; how far that moves it is its quadrature error."""
    coarse = solve_typical(alpha, rho, ensemble, QUADRATURE_STEP)
    fine = solve_typical(alpha, rho, ensemble, QUADRATURE_STEP / 2)
    error = max(abs(fine.q0 - coarse.q0), abs(fine.q1 - coarse.q1))
    return replace(fine, quadrature_error=error)


def _at_cover_gardner(alpha: float, rho: float) -> RSSolution:
    """The limit at α = 2ρ of the plain ensemble, in closed form: q₁ = ρ and q₀ = cρ."""
    c = typical_overlap(rho)
    # (ln H)'' becomes a step, so the replicon between supports is 2ρ P(two Gaussians of correlation
    # c are both positive).
    between = 2 * rho * (0.25 + math.asin(c) / (2 * math.pi))
    return RSSolution(
        alpha=alpha,
        rho=rho,
        regime=Regime.TYPICAL.value,
        entropy=binary_entropy(rho),
        q0=c * rho,
        q1=rho,
        chi=math.inf,
        K=float(logit(1 - rho)),
        E=0.0,
        F1=0.0,
        F0=0.0,
        stability=Stability(within=1.0, between=between),
        residual=0.0,
        quadrature_error=0.0,
        identity_error=0.0,
    )


def _above_cover_gardner(alpha: float, rho: float, ensemble: Ensemble) -> RSSolution:
    """The point at load α of the branch, followed from its entrance."""
    branch = Branch(rho, ensemble)
    *_, before, after = branch.from_entrance(
        until=lambda state: branch.excess_load(state, alpha) >= 0, below=alpha
    )
    return _at_load(branch, alpha, (before, after))


def _with_errors(alpha: float, rho: float, ensemble: Ensemble) -> RSSolution:
    """The point at load α where errors are allowed, on the part of the branch that counts choices.

    Σ counts pairs of a support and a cluster of weights. With many errors a typical support has
    several clusters: the branch then begins with Σ above H₂(ρ), the entropy of all choices, and
    runs back to smaller loads before it folds. Only points from where Σ falls below H₂(ρ) on are
    taken (`_past_fold`); without a fold these are all. Three cases:

    - α lies above the load of the first of these points: it is between the last two, because the
      branch is followed until its load reaches α;
    - α lies below, but there is no fold and α is above the Cover–Gardner load: it is between the
      entrance, χ = ∞, and the first point, and the branch is followed from a larger χ;
    - else typical choices do with this many errors: InputError.
    """
    branch = Branch(rho, ensemble)
    all_choices = binary_entropy(rho)
    points = list(
        branch.from_entrance(
            until=lambda state: state.entropy < all_choices and state.alpha >= alpha
        )
    )
    has_fold = any(point.state.entropy >= all_choices for point in points)
    if has_fold:
        points = _past_fold(branch, points, all_choices)

    first_load = points[0].state.alpha
    if first_load < alpha:
        before, after = points[-2:]
        return _at_load(branch, alpha, (before, after))
    if not has_fold and alpha > bounds_at(rho, ensemble).cover_gardner:
        return _above_cover_gardner(alpha, rho, ensemble)
    raise InputError(
        f"at alpha = {alpha:g} typical choices of variables already do with this many errors (up "
        f"to {first_load:.6g} in replica symmetry), and the entropy is that of all choices; "
        "choose a larger alpha"
    )


def _past_fold(
    branch: Branch, points: list[Solved[RSState]], all_choices: float
) -> list[Solved[RSState]]:
    """The points with Σ below that of all choices, H₂(ρ), led by the point where it falls to it."""
    above = [i for i, point in enumerate(points) if point.state.entropy >= all_choices]
    last = above[-1]
    crossing = branch.point_where(
        (points[last], points[last + 1]), lambda state: state.entropy - all_choices
    )
    return [crossing, *points[last + 1 :]]


def _at_load(
    branch: Branch, alpha: float, bracket: tuple[Solved[RSState], Solved[RSState]]
) -> RSSolution:
    """The solution at load α between two points of the branch.

    It is solved on the usual quadrature and again on half the step: the difference is the error.
    """
    rho = branch.rho
    ensemble = branch.ensemble
    coarse = branch.point_where(bracket, lambda state: branch.excess_load(state, alpha))
    fine = branch.at_chi(float(coarse.unknowns[0]), coarse.unknowns, QUADRATURE_STEP / 2)
    state = fine.state
    order = state.order
    overlap_error = abs(state.overlap / order.q0 - 1)
    norm_error = abs(state.norm / rho - 1)

    # What is left between the load of the point and α, within rounding and quadrature error, moves
    # Σ along its slope.
    entropy = state.entropy - state.entropy_by_alpha * branch.excess_load(state, alpha)
    within = alpha * state.tight / state.nonzero
    if ensemble.error_rate:
        # The violation that is corrected jumps at v*, and the replicon within a support diverges.
        within = math.inf
    return RSSolution(
        alpha=alpha,
        rho=rho,
        regime=regime_above_entrance(entropy).value,
        entropy=entropy,
        q0=order.q0,
        q1=rho,
        chi=order.chi,
        K=order.K,
        E=order.E,
        F1=order.F1,
        F0=order.F0,
        stability=Stability(within=within, between=state.between),
        residual=max(fine.residual, overlap_error, norm_error),
        quadrature_error=abs(entropy - coarse.state.entropy),
        identity_error=alpha * state.isostatic - state.nonzero,
        ensemble=ensemble,
        threshold=order.threshold,
        price=order.price if ensemble.error_rate else None,
        nonzero=state.nonzero if ensemble.signed else None,
    )


def branch_table(rho: float, points: int) -> pd.DataFrame:
    """Order parameters, entropy and stability along the branch at one density, a row a load.

    Loads go from near 0 to near the end of the branch; 2ρ is among them.
    """
    import pandas as pd

    entrance = 2 * rho
    end = entrance + _TABLE_END * (l0_gardner(rho) - entrance)
    loads = sorted({*np.linspace(end / points, end, points - 1).tolist(), entrance})
    rows = []
    for alpha in loads:
        solution = solve_rs(alpha, rho)
        rows.append(
            {
                "alpha": solution.alpha,
                "regime": solution.regime,
                "q1": solution.q1,
                "q0": solution.q0,
                "chi": solution.chi,
                "entropy": solution.entropy,
                "K": solution.K,
                "within": solution.stability.within,
                "between": solution.stability.between,
            }
        )
    return pd.DataFrame(rows)
