"""Where M of N features and P samples lie on the paper's diagram: asymptotic, for independent features."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Any

from chanceline.errors import ConvergenceError
from chanceline.perceptron.rule import Rule
from chanceline.significance.question import Question
from chanceline.significance.size import ChanceSize, chance_size
from chanceline.theory.capacity import capacity_curve, density


@dataclass(frozen=True)
class ReplicaReading:
    """α = P/N against 2ρ (a typical set of M separates noise) and α_VS(ρ) (a chosen set does).

    Attributes
    ----------
    position : "below 2ρ", "between" or "above", or "unknown" if α_VS could not be computed there.
    chance_size : N·ρ_VS(α), the set size with which noise of this shape is just separated; None for α ≥ 2.
    noise : how many features noise of this shape needs, at finite size and with these class sizes; None if that is not known.
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
        """Whether noise would be separated by a set of this size, according to the replica method."""
        return self.position in ("below 2ρ", "between")

    def summary(self) -> str:
        if self.noise is not None:
            return self.noise.summary()
        line = "not known here" if self.alpha_chosen is None else f"{self.alpha_chosen:.3g}"
        return f"α = {self.alpha:.3g}, 2ρ = {self.alpha_typical:.3g}, α_VS = {line} for independent features: {self.position}"

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "noise": self.noise.to_dict() if self.noise is not None else None}


def replica_reading(question: Question, rule: Rule) -> ReplicaReading | None:
    """Where the rule lies on the diagram; None with errors, and for features that were not chosen but fixed beforehand."""
    if rule.errors > 0 or rule.n_selected == 0 or question.fixed:
        return None
    scheme, n_features = question.scheme, max(question.price.n_features, rule.n_selected)
    reading = place(scheme.n_units, n_features, rule.n_selected)
    return replace(reading, noise=_noise(scheme.n_units, n_features, scheme.positives, question.settings.intercept))


def place(n_samples: int, n_features: int, n_selected: int) -> ReplicaReading:
    """The position of (ρ, α) = (M/N, P/N) relative to the two lines."""
    alpha, rho = n_samples / n_features, n_selected / n_features
    typical, chosen = 2 * rho, _capacity(rho)
    if alpha <= typical:
        position = "below 2ρ"
    elif chosen is None:
        position = "unknown"
    else:
        position = "between" if alpha <= chosen else "above"
    density = _density(alpha)
    size = None if density is None else density * n_features
    return ReplicaReading(alpha, rho, typical, chosen, size, position)


@lru_cache(maxsize=256)
def _noise(n_samples: int, n_features: int, positives: int, intercept: bool) -> ChanceSize | None:
    try:
        return chance_size(n_samples, n_features, positives=positives, intercept=intercept)
    except ConvergenceError:
        return None


@lru_cache(maxsize=256)
def _capacity(rho: float) -> float | None:
    if rho >= 1:
        return 2.0
    try:
        return float(capacity_curve((rho,))[0].alpha)
    except ConvergenceError:
        return None


@lru_cache(maxsize=256)
def _density(alpha: float) -> float | None:
    if alpha >= 2:
        return None
    try:
        return float(density(alpha).rho)
    except ConvergenceError:
        return None
