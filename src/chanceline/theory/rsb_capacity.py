"""Capacity with k steps of breaking between supports: Σ = 0 solved together with the saddle equations.

For every finite number of steps the entropy vanishes at finite break points x_i, finite K and finite χ (ρ = ½: x = 0.353, K =
9.35 for k = 1), so that Σ = 0 is one more equation for Newton and nothing is extrapolated. It is well conditioned in the form
(7) of `steps`, which is the entropy inside the smallest group. Each further step raises K and lowers x₁ at Σ = 0, with x₁K
nearly constant: only full breaking ends with K → ∞ and x → 0 at finite xK, a single support in each smallest group.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from chanceline.errors import ConvergenceError
from chanceline.theory import rsb
from chanceline.theory.patterns import PLAIN, Patterns
from chanceline.theory.solver import follow, root_between
from chanceline.theory.steps import BrokenBranch, BrokenState, relative_entropy

Array = NDArray[np.float64]


@dataclass(frozen=True)
class BrokenCapacity:
    """α_VS(ρ) with k steps of breaking; `point` starts a solver near by (`steps.pack`)."""

    rho: float
    steps: int
    alpha: float
    error: float
    state: BrokenState
    point: Array

    def __str__(self) -> str:
        x = ", ".join(f"{value:.6f}" for value in self.state.order.x)
        return (
            f"capacity at ρ = {self.rho:g} with {self.steps} step(s) of breaking: α_VS = {self.alpha:.10f} ± {self.error:.1e}\n"
            f"  x {x}   K {self.state.order.K:.6f}   replicon of the innermost level {self.state.replicon_inner:.6f}"
        )


def capacity_near(branch: BrokenBranch, start: Array) -> BrokenCapacity:
    """Σ = 0 by Newton from a point near to it; one more Newton step on finer grids shows the error."""
    solved = branch.at_zero_entropy(start)
    state = solved.state
    finer = branch.equations(solved.unknowns, rsb.FINER)
    residual = np.append(finer.residual, relative_entropy(finer))
    moved = solved.unknowns - np.linalg.solve(state.jacobian, residual)
    alpha = branch.equations(moved, rsb.FINER).alpha
    # What Newton left undone is part of the error: its residual as an error of Σ, which falls with slope ∂Σ/∂α.
    error = abs(alpha - state.alpha) + abs(solved.residual / state.entropy_by_alpha) + 4e-16 * alpha
    return BrokenCapacity(branch.rho, branch.steps, alpha, error, state, moved)


def capacity_1rsb(rho: float, patterns: Patterns = PLAIN) -> BrokenCapacity:
    """One step of breaking, started from the shipped table; 0.02 ≤ ρ ≤ 0.95."""
    rsb.check_breaking(patterns)
    branch = BrokenBranch(rho, 1, patterns)
    return capacity_near(branch, rsb.end_of_branch(branch).unknowns)


def capacity_from_scratch(rho: float) -> BrokenCapacity:
    """One step, from the replica-symmetric branch: its replicon line, the branching point, then along the branch to Σ = 0."""
    branch = BrokenBranch(rho)
    critical = rsb.replicon_line(rho).state
    first = rsb.branch_off(branch, critical)
    *_, before, after = branch.follow(first, -0.05, lambda state: state.entropy <= 0)
    near = root_between(branch.at_response, (before, after), lambda state: state.entropy, tolerance=1e-4)
    return capacity_near(branch, near.unknowns)


def capacities_along(rhos: Sequence[float], first: BrokenCapacity) -> Iterator[BrokenCapacity]:
    """The capacity of plain patterns at each ρ in order, followed from `first`; gaps too wide for Newton are bridged."""
    steps, here = first.steps, first
    previous: BrokenCapacity | None = None
    for rho in rhos:
        target = float(logit(rho))
        guess = here.point
        if previous is not None:
            slope = (here.point - previous.point) / (logit(here.rho) - logit(previous.rho))
            guess = guess + slope * (target - logit(here.rho))
        branch = BrokenBranch(rho, steps)
        try:
            found = capacity_near(branch, guess)
        except ConvergenceError:
            found = capacity_near(branch, _bridge(here, target))
        previous, here = here, found
        yield found


def _bridge(here: BrokenCapacity, target: float) -> Array:
    """A point close to logit ρ = target, by continuation with a step that adapts."""
    begin = float(logit(here.rho))
    direction = float(np.sign(target - begin))
    start = BrokenBranch(here.rho, here.steps).at_zero_entropy(here.point)
    *_, before, after = follow(
        lambda position, guess: BrokenBranch(float(expit(position)), here.steps).at_zero_entropy(guess),
        start,
        begin,
        direction * min(0.05, abs(target - begin)),
        until=lambda point: direction * (logit(point.state.rho) - target) >= 0,
        smallest=1e-3,
    )
    at = [float(logit(point.state.rho)) for point in (before, after)]
    return before.unknowns + (after.unknowns - before.unknowns) * (target - at[0]) / (at[1] - at[0])
