"""The capacity α_VS(ρ) with breaking between supports.

With k steps Σ = 0 is solved together with the saddle equations. For every finite number of steps
the entropy vanishes at finite break points x_i, finite K and finite χ (ρ = ½: x = 0.353, K = 9.35
for k = 1), so that Σ = 0 is one more equation for Newton and nothing is extrapolated. It is well
conditioned in the form (7) of `rsb`, which is the entropy inside the smallest group. Each further
step raises K and lowers x₁ at Σ = 0, with x₁K nearly constant: only full breaking ends with K → ∞
and x → 0 at finite xK, a single support in each smallest group.

More than one step, and the limit of all, are made by `scripts/steps_of_breaking.py` for the shipped
table.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.special import logit

from chanceline.errors import InputError
from chanceline.theory.capacity_table import capacity_table
from chanceline.theory.closed_forms import binary_entropy
from chanceline.theory.ensemble import PLAIN, Ensemble
from chanceline.theory.newton import Solved
from chanceline.theory.one_step import FINER, check_breaking, end_of_branch
from chanceline.theory.quadrature import Array
from chanceline.theory.rsb import RSBBranch, RSBState

# Relative rounding of a load, which is part of its error.
_LOAD_ROUNDING = 4e-16


@dataclass(frozen=True)
class RSBCapacity:
    """α_VS(ρ) with k steps of breaking; `point` starts a solver near by (`rsb.pack_order`)."""

    rho: float
    steps: int  # k
    alpha: float  # α_VS
    error: float  # of α_VS
    state: RSBState  # where the entropy vanishes, on the usual grids
    point: Array  # (coordinates,), on finer grids


def capacity_near(branch: RSBBranch, start: Array) -> RSBCapacity:
    """Compute the capacity, the load where the last separating supports vanish, and its error.

    A support is a choice of ρN out of N variables. `branch` has the density ρ and the equations of
    a theory in which the separating supports fall into groups within groups, on k levels. The
    capacity is where their entropy Σ = ln(number of separating supports)/N is 0. `start` is a
    point near the solution, (coordinates,), encoded by `rsb.pack_order`.
    """
    # Solve on the usual grids, and improve the solution by one Newton step on finer grids.
    solved = branch.at_zero_entropy(start)
    point = solved.unknowns + _newton_step_on_finer_grids(branch, solved)
    alpha = branch.equations(point, FINER).alpha  # FINER is the factor by which the grids are finer

    # The error of the grids is estimated by the change of the load.
    grid_error = abs(alpha - solved.state.alpha)

    # Newton's method stops where the largest residual r is small but not exactly 0. One of the
    # residuals is Σ/H₂(ρ), and the binary entropy H₂ is below 1, so |Σ| < r. An entropy of r
    # instead of 0 would shift the load by r/(∂Σ/∂α).
    largest_residual = solved.residual  # r
    newton_error = abs(largest_residual / solved.state.entropy_by_alpha)

    rounding_error = _LOAD_ROUNDING * alpha
    return RSBCapacity(
        rho=branch.rho,
        steps=branch.steps,
        alpha=alpha,
        error=grid_error + newton_error + rounding_error,
        state=solved.state,
        point=point,
    )


def _newton_step_on_finer_grids(branch: RSBBranch, solved: Solved[RSBState]) -> Array:
    """One more step of Newton's method from the capacity `solved`, (coordinates,), on finer grids.

    The equations are the saddle equations and Σ/H₂(ρ) = 0 for the entropy. Their errors are those
    of finer grids; their Jacobian, of the usual grids, is near enough for so short a step.
    """
    on_finer_grids = branch.equations(solved.unknowns, FINER)
    scaled_entropy = on_finer_grids.entropy / binary_entropy(branch.rho)  # Σ/H₂(ρ)
    errors = np.append(on_finer_grids.residual, scaled_entropy)
    return -np.linalg.solve(solved.jacobian, errors)


def capacity_1rsb(rho: float, ensemble: Ensemble = PLAIN) -> RSBCapacity:
    """The capacity at density ρ with one step of breaking between supports; 0.0005 ≤ ρ ≤ 0.95.

    InputError for an ensemble or a density for which it is not solved.
    """
    check_breaking(ensemble)
    branch = RSBBranch(rho, 1, ensemble)
    return capacity_near(branch, end_of_branch(branch).unknowns)


@lru_cache(maxsize=1)
def _full_spline() -> CubicSpline:
    """ln(α_1RSB − α_full) and the ln of its error in the shipped table, as functions of logit ρ.

    α_1RSB is the capacity with one step of breaking, α_full that of infinitely many; both
    differences and errors span orders of magnitude, which the logarithms make smooth.
    """
    table = capacity_table()
    rows = table[np.isfinite(table.alpha_full)]  # NaN where the limit is not known
    differences = rows.alpha_1rsb - rows.alpha_full
    values = np.column_stack([differences, rows.error_full])  # (densities, 2)
    return CubicSpline(logit(rows.rho), np.log(values))


def full_breaking(rho: float, alpha_1rsb: float) -> tuple[float, float]:
    """α_VS with full breaking and its error, from α_VS with one step.

    The difference between the two is interpolated in the shipped table, as their logarithm is a
    smooth function of logit ρ. InputError for a density outside of the table.
    """
    lowest, highest = capacity_table().rho[[0, -1]]
    if not lowest <= rho <= highest:
        raise InputError(
            f"the limit of full breaking is known for {lowest:g} ≤ rho ≤ {highest:g}, but rho is "
            f"{rho:g}; use ansatz '1rsb' or 'rs'"
        )
    difference, error = np.exp(_full_spline()(logit(rho)))
    return float(alpha_1rsb - difference), float(error)
