"""How many features noise needs, and where M of N features and P samples lie on the paper's diagram: asymptotic, for independent
features. These numbers describe chance and decide nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

from chanceline._results import Result
from chanceline.chance.bound import check_shape
from chanceline.chance.counts import LOG2, log_binomial, log_cover, log_expected_supports
from chanceline.errors import ConvergenceError
from chanceline.theory.bounds import first_moment_density
from chanceline.theory.ensemble import Ensemble, gardner
from chanceline.theory.rs import Branch, density, zero_entropy

Value = TypeVar("Value")
# The exact first moment is summed up to this many features times splits of the errors; beyond, its limit N → ∞ takes its place.
_LARGEST_EXACT = 400
# An allowance, chosen and not fitted, for what the shift of the limit N → ∞ leaves out at finite size.
_SHARE = 0.1


@dataclass(frozen=True, repr=False)
class ChanceSize(Result):
    """The smallest set of features that separates noise of a given shape.

    Attributes
    ----------
    typical : the size in the middle, not rounded; the smallest whole set has about ⌈typical⌉ features. Infinite if noise of this
        shape is not separated by all features together, 0 if a constant rule makes as few errors.
    low, high : a range for single tables: where the expected number of sets is e^{−3} and e^{3}, widened by a tenth
        of `typical`, an allowance for what the theory's limit leaves out.
    first_moment : where the expected number of sets is one (exact for Gaussian inputs); None where it is not known.
    asymptotic : N·ρ_VS(P/N), the limit without the corrections.
    """

    low: float
    typical: float
    high: float
    first_moment: float | None
    asymptotic: float
    n_samples: int
    n_features: int
    positives: int
    errors: int
    intercept: bool

    kind = "asymptotic (replica method), for independent features"

    def needs(self) -> str:
        """The same without the shape, for a reader who knows it."""
        if math.isinf(self.typical) or self.typical == 0:
            return f"pure noise of this size is separated by {'a constant rule' if self.typical == 0 else 'no set'}"
        low, size, high = (max(1, math.ceil(value)) for value in (self.low, self.typical, self.high))
        return f"in pure noise of this size about {size} ({low}–{high}) features suffice"

    def summary(self) -> str:
        shape = f"{self.n_samples} samples ({self.positives} positive) and {self.n_features} independent features"
        task = "separated" if not self.errors else f"classified with at most {self.errors} error{'s' * (self.errors > 1)}"
        if math.isinf(self.typical):
            return f"noise of {shape} is not {task} even by all features"
        if self.typical == 0:
            return f"noise of {shape} is {task} by a constant rule"
        low, size, high = (max(1, math.ceil(value)) for value in (self.low, self.typical, self.high))
        return f"noise of {shape} is {task} by about {size} feature{'s' * (size > 1)} ({low} to {high})"

    __str__ = summary


def chance_size(
    n_samples: int, n_features: int, *, positives: int | None = None, errors: int = 0, intercept: bool = True
) -> ChanceSize:
    """The typical number of features with which the best rule separates labels that ignore them.

    The exact first moment says where one set is expected, with all its finite-size corrections; the replica method says by how
    much the typical size lies above it in the limit, N(ρ_VS − ρ_union). Both assume independent Gaussian features: dependent ones
    act like fewer, and need more. The number describes chance and decides nothing; the test does.

    Parameters
    ----------
    n_samples, n_features
        P and N.
    positives
        Size of one class; half of the samples by default. Without a threshold it does not matter.
    errors
        Number of samples that may be wrong.
    intercept
        Whether the rule has a free threshold.
    """
    half = n_samples // 2 if positives is None else positives
    n_samples, n_features, _, positives, errors = check_shape(n_samples, n_features, 1, half, errors)

    def result(low: float, typical: float, high: float, first: float | None, limit: float) -> ChanceSize:
        return ChanceSize(low, typical, high, first, limit, n_samples, n_features, positives, errors, intercept)

    if intercept and errors >= min(positives, n_samples - positives):
        return result(0.0, 0.0, 0.0, 0.0, 0.0)
    ensemble = Ensemble.checked(positives / n_samples if intercept else 0.5, 0.0, min(errors / n_samples, 0.49))
    load = n_samples / n_features
    if load >= gardner(ensemble).load:
        return result(math.inf, math.inf, math.inf, None, math.inf)
    limit = n_features * density(load, balance=ensemble.balance, errors=ensemble.error_rate).rho

    def log_expected(size: int) -> float:
        if intercept:
            return log_expected_supports(n_samples, n_features, positives, size, errors)
        kept = n_samples - errors
        counted = log_cover(kept, size) - kept * LOG2 + float(log_binomial(n_samples, errors))
        return counted + float(log_binomial(n_features, size))

    shift = _known(lambda: limit - n_features * first_moment_density(load, ensemble))
    if shift is None or limit * (errors + 1) > _LARGEST_EXACT:
        return result(limit * (1 - _SHARE) - 1, limit, limit * (1 + _SHARE) + 1, None, limit)
    levels = _crossings(log_expected, min(n_features, n_samples), (-3.0, 0.0, 3.0))
    low, typical, high = (level + shift for level in levels)
    return result(max(0.0, low - _SHARE * typical), typical, high + _SHARE * typical, levels[1], limit)


def _crossings(log_expected: Callable[[int], float], largest: int, levels: tuple[float, ...]) -> tuple[float, ...]:
    """The sizes, interpolated between whole numbers, at which the logarithm first reaches each level."""
    before = -math.inf
    found: list[float] = []
    for size in range(1, largest + 1):
        value = log_expected(size)
        while len(found) < len(levels) and value >= levels[len(found)]:
            level = levels[len(found)]
            # Below one feature there is nothing to interpolate with: the slope ahead is used.
            step = value - before if math.isfinite(before) else log_expected(min(2, largest)) - value
            found.append(size - (value - level) / step if step > 0 else float(size))
        if len(found) == len(levels):
            break
        before = value
    return (*found, *[float(largest)] * (len(levels) - len(found)))


@dataclass(frozen=True, repr=False)
class ReplicaReading(Result):
    """α = P/N against 2ρ (a typical set of M separates noise) and α_VS(ρ) (a chosen set does).

    Attributes
    ----------
    position : "below 2ρ", "between" or "above", or "unknown" if α_VS could not be computed there.
    chance_size : N·ρ_VS(α), the set size with which noise of this shape, classes included, is just separated; None where none
        is.
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


@lru_cache(maxsize=256)
def replica_reading(n_samples: int, n_features: int, n_selected: int, positives: int, intercept: bool) -> ReplicaReading:
    """The position of (ρ, α) = (M/N, P/N) relative to the two lines."""
    alpha, rho = n_samples / n_features, n_selected / n_features
    typical, chosen = 2 * rho, 2.0 if rho >= 1 else _known(lambda: zero_entropy(Branch(rho), None).alpha)
    if alpha <= typical:
        position = "below 2ρ"
    elif chosen is None:
        position = "unknown"
    else:
        position = "between" if alpha <= chosen else "above"
    noise = _known(lambda: chance_size(n_samples, n_features, positives=positives, intercept=intercept))
    size = noise.asymptotic if noise is not None and math.isfinite(noise.asymptotic) else None
    return ReplicaReading(alpha, rho, typical, chosen, size, position, noise)


def _known(compute: Callable[[], Value]) -> Value | None:
    """The value, None where the theory has none."""
    try:
        return compute()
    except ConvergenceError:
        return None
