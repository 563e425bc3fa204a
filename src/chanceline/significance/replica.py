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
from chanceline.significance.noise_size import ChanceSize, chance_size, if_converged
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
    alpha, rho : α = P/N and ρ = M/N.
    alpha_typical : 2ρ, up to which a set of M features taken at random separates noise.
    alpha_chosen : α_VS(ρ), up to which the best set does; None if it could not be computed.
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
    """Compare a table with what theory says about pure noise: features and random labels.

    The load α is the number of samples per feature. A set of `n_selected` features can separate
    random labels only up to a largest load, its capacity. There are two: that of a set taken at
    random (`alpha_typical`), and that of the best of all such sets (`alpha_chosen`). Both depend
    only on the density ρ, the share of the features that are in the set.

    Parameters
    ----------
    n_samples, n_features : shape of the table.
    n_selected : number of features in the set.
    positives : number of samples in the positive class.
    intercept : whether the rule has a free threshold.
    """
    alpha = n_samples / n_features
    rho = n_selected / n_features
    # Cover (1965): a set taken at random separates up to two samples per selected feature.
    alpha_typical = 2 * rho
    alpha_chosen = _capacity_of_best_set(rho)  # None if the theory could not be solved

    # The other way round: how many features separate random labels in a table of this shape. The
    # function gives two numbers, for a finite table and (`asymptotic`) for the limit of many
    # features; None if the equations were not solved.
    size_for_noise = if_converged(
        lambda: chance_size(n_samples, n_features, positives=positives, intercept=intercept)
    )
    # The number in the limit is infinite if not even all features separate random labels.
    asymptotic_size = None
    if size_for_noise is not None and math.isfinite(size_for_noise.asymptotic):
        asymptotic_size = size_for_noise.asymptotic

    return ReplicaReading(
        alpha=alpha,
        rho=rho,
        alpha_typical=alpha_typical,
        alpha_chosen=alpha_chosen,
        chance_size=asymptotic_size,
        position=_position(alpha, alpha_typical, alpha_chosen),
        noise=size_for_noise,
    )


def _capacity_of_best_set(density: float) -> float | None:
    """α_VS(ρ): the largest load P/N at which the best set of ρN features separates noise.

    There the entropy of separating sets vanishes. None if the equations of the theory could not be
    solved.

    Parameters
    ----------
    density : ρ, the share of the features that are selected.
    """
    if density >= 1:
        return FULL_CAPACITY
    return if_converged(lambda: zero_entropy(Branch(density), start=None).alpha)


def _position(alpha: float, alpha_typical: float, alpha_chosen: float | None) -> Position:
    """Where α lies relative to 2ρ and α_VS."""
    if alpha <= alpha_typical:
        return Position.BELOW_TYPICAL
    if alpha_chosen is None:
        return Position.UNKNOWN
    if alpha <= alpha_chosen:
        return Position.BETWEEN
    return Position.ABOVE_CHOSEN
