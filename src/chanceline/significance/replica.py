"""Where M of N features and P samples lie on the paper's diagram: asymptotic, for independent
features. These numbers describe chance and decide nothing.

With ρ = M/N and α = P/N, noise is separated by a typical set of M features up to α = 2ρ, and by a
chosen one up to α_VS(ρ).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from chanceline._results import Result
from chanceline.significance.noise_size import (
    ChanceSize as ChanceSize,
    chance_size as chance_size,
    if_converged,
)
from chanceline.theory.chance_line import zero_entropy
from chanceline.theory.rs_branch import Branch

# α_VS at ρ = 1, where there is nothing to choose: Cover's capacity.
FULL_CAPACITY = 2.0


class Position(StrEnum):
    """Where the load α lies."""

    BELOW_TYPICAL = "below 2ρ"
    BETWEEN = "between"
    ABOVE_CHOSEN = "above"
    UNKNOWN = "unknown"  # above 2ρ, and α_VS could not be computed


@dataclass(frozen=True, repr=False)
class ReplicaReading(Result):
    """α = P/N against 2ρ (a typical set of M separates noise) and α_VS(ρ) (a chosen set does).

    Attributes
    ----------
    position : "below 2ρ", "between" or "above", or "unknown" if α_VS could not be computed there.
    chance_size : N·ρ_VS(α), the set size with which noise of this shape, classes included, is just
        separated; None where none is.
    noise : how many features noise of this shape needs, at finite size and with these class sizes;
        None if that is not known.
    """

    alpha: float
    rho: float
    alpha_typical: float
    alpha_chosen: float | None
    chance_size: float | None
    position: str
    noise: ChanceSize | None = None
    kind: str = "asymptotic"

    @property
    def chance_reaches(self) -> bool:
        """Whether the replica method says that a set of this size separates noise."""
        return self.position in (Position.BELOW_TYPICAL, Position.BETWEEN)

    def summary(self) -> str:
        if self.noise is not None:
            return self.noise.summary()
        chosen = "not known here" if self.alpha_chosen is None else f"{self.alpha_chosen:.3g}"
        return (
            f"α = {self.alpha:.3g}, 2ρ = {self.alpha_typical:.3g}, α_VS = {chosen} "
            f"for independent features: {self.position}"
        )


@lru_cache(maxsize=256)
def replica_reading(
    n_samples: int, n_features: int, n_selected: int, positives: int, intercept: bool
) -> ReplicaReading:
    """The position of (ρ, α) = (M/N, P/N) relative to the two lines."""
    alpha = n_samples / n_features
    rho = n_selected / n_features
    alpha_typical = 2 * rho
    if rho >= 1:
        alpha_chosen: float | None = FULL_CAPACITY
    else:
        alpha_chosen = if_converged(lambda: zero_entropy(Branch(rho), None).alpha)
    noise = if_converged(
        lambda: chance_size(n_samples, n_features, positives=positives, intercept=intercept)
    )
    limit_size = None
    if noise is not None and math.isfinite(noise.asymptotic):
        limit_size = noise.asymptotic
    return ReplicaReading(
        alpha=alpha,
        rho=rho,
        alpha_typical=alpha_typical,
        alpha_chosen=alpha_chosen,
        chance_size=limit_size,
        position=_position(alpha, alpha_typical, alpha_chosen),
        noise=noise,
    )


def _position(alpha: float, alpha_typical: float, alpha_chosen: float | None) -> Position:
    """Where α lies relative to 2ρ and α_VS."""
    if alpha <= alpha_typical:
        return Position.BELOW_TYPICAL
    if alpha_chosen is None:
        return Position.UNKNOWN
    if alpha <= alpha_chosen:
        return Position.BETWEEN
    return Position.ABOVE_CHOSEN
