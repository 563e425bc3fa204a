"""ρ_VS(α) with breaking between supports: the inverse of the capacity with one step, or with all.

The capacity with breaking lies below that of replica symmetry, by a per cent or less: so the
density lies a little above that of replica symmetry, from where it is sought.
"""

from __future__ import annotations

from typing import NamedTuple

from scipy.optimize import brentq
from scipy.special import expit, logit

from chanceline.errors import InputError
from chanceline.theory.broken_capacity import capacity_1rsb, full_breaking
from chanceline.theory.chance_line import Density
from chanceline.theory.ensemble import Ensemble

# How far above that of replica symmetry the density is sought at first, and at most, in logit ρ.
_FIRST_DISTANCE = 0.03
_LARGEST_DISTANCE = 0.5
_TOLERANCE_OF_LOGIT = 1e-12


class _BrokenCapacity(NamedTuple):
    """The capacity at one density."""

    alpha: float
    error: float  # of α
    threshold: float  # b/|w| of the rule, 0 for equal classes


def broken_density(alpha: float, ansatz: str, ensemble: Ensemble, symmetric_rho: float) -> Density:
    """Find the density whose capacity is the load α, if separating choices fall into groups.

    The density ρ is the share of variables chosen, the load is patterns per variable. `ansatz` says
    which groups the theory takes into account: "1rsb" has one level of groups, "full" has groups
    within groups on infinitely many levels. `symmetric_rho` is the density by the theory without
    groups, which is a little smaller than the result and starts the search.
    """
    # The search is in logit ρ. Its lower end is `symmetric_rho`.
    lower_logit = float(logit(symmetric_rho))

    def excess_capacity(logit_rho: float) -> float:
        """The capacity at the density with this logit, minus α; it increases with the density."""
        rho = float(expit(logit_rho))
        return _broken_capacity_at(rho, ansatz, ensemble).alpha - alpha

    # Find an upper end whose capacity is at least α, by doubling the distance from the lower end.
    distance = _FIRST_DISTANCE
    while excess_capacity(lower_logit + distance) < 0:
        distance *= 2
        if distance > _LARGEST_DISTANCE:
            raise InputError(
                f"no density with ansatz {ansatz!r} was found at alpha = {alpha:g} near that of "
                "replica symmetry; use ansatz 'rs'"
            )
    upper_logit = lower_logit + distance

    root = float(brentq(excess_capacity, lower_logit, upper_logit, xtol=_TOLERANCE_OF_LOGIT))
    rho = float(expit(root))
    capacity_at_rho = _broken_capacity_at(rho, ansatz, ensemble)

    # The error of the density is that of the capacity, divided by the slope of the capacity. The
    # slope is taken between the result and the upper end.
    upper_rho = float(expit(upper_logit))
    capacity_at_upper_rho = _broken_capacity_at(upper_rho, ansatz, ensemble)
    slope = (capacity_at_upper_rho.alpha - capacity_at_rho.alpha) / (upper_rho - rho)
    return Density(
        alpha=alpha,
        rho=rho,
        error=capacity_at_rho.error / abs(slope),
        ansatz=ansatz,
        ensemble=ensemble,
        threshold=capacity_at_rho.threshold,
    )


def _broken_capacity_at(rho: float, ansatz: str, ensemble: Ensemble) -> _BrokenCapacity:
    """The capacity at density ρ with one step of breaking, or, for "full", with all.

    That of all steps is the capacity with one, corrected by the shipped table.
    """
    one_step = capacity_1rsb(rho, ensemble)
    alpha = one_step.alpha
    error = one_step.error
    if ansatz == "full":
        alpha, error = full_breaking(rho, one_step.alpha)
    return _BrokenCapacity(alpha, error, threshold=one_step.state.order.threshold)
