"""The bound turned round: the largest set that would convince, and the samples it takes."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import log10
from typing import Any

import numpy as np

from chanceline._results import Result
from chanceline._validation import real_number, whole_number
from chanceline.chance.bound import LARGEST, Bound, bound_curve, chance_bound
from chanceline.errors import InputError


@dataclass(frozen=True, repr=False)
class FeaturePlan(Result):
    """Largest number of selected features at which perfect (or e-error) classification is convincing by itself."""

    largest: int
    level: float
    bound: Bound | None
    next_bound: Bound | None
    kind: str = "rigorous bound"

    def summary(self) -> str:
        if self.largest == 0:
            return f"no set of features would convince at level {self.level:g} by the bound"
        return f"up to {self.largest} selected features would convince at level {self.level:g}"

    def to_dict(self) -> dict[str, Any]:
        return {
            "largest_selected": self.largest,
            "level": self.level,
            "bound": self.bound.to_dict() if self.bound else None,
            "next_bound": self.next_bound.to_dict() if self.next_bound else None,
            "kind": self.kind,
        }


@dataclass(frozen=True, repr=False)
class SamplePlan(Result):
    """Smallest number of samples from which on M of N features convince."""

    n_samples: int
    positives: int | None
    balance: float
    level: float
    bound: Bound
    kind: str = "rigorous bound"

    def summary(self) -> str:
        chosen = f"{self.bound.n_selected} of {self.bound.n_features} features"
        return f"{self.n_samples} samples make {chosen} convincing at level {self.level:g}"

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "bound": self.bound.to_dict()}


def largest_convincing(
    n_samples: int,
    n_features: int,
    *,
    positives: int | None = None,
    level: float = 0.05,
    errors: int = 0,
    null: str = "fixed",
    intercept: bool = True,
) -> FeaturePlan:
    """The largest M whose bound is at most `level`; 0 if not even one feature would convince."""
    level = real_number(level, "the level", above=0, below=1)
    curve = bound_curve(n_samples, n_features, positives=positives, errors=errors, null=null, intercept=intercept)
    largest = int(np.searchsorted(curve, log10(level), side="right")) - 1

    def at(selected: int) -> Bound | None:
        if not 1 <= selected <= n_features:
            return None
        return chance_bound(
            n_samples,
            n_features,
            selected,
            positives=positives,
            errors=errors,
            null=null,
            intercept=intercept,
        )

    return FeaturePlan(largest, level, at(largest), at(largest + 1))


def samples_needed(
    n_features: int,
    n_selected: int,
    *,
    balance: float = 0.5,
    level: float = 0.05,
    errors: int = 0,
    null: str = "fixed",
    intercept: bool = True,
) -> SamplePlan:
    """The smallest P from which on separating with M of N features is convincing, classes n₊ =
    round(balance·P).

    The bound falls with P apart from the rounding of n₊; the answer is the smallest P such that this and
    the following sample sizes (a full cycle of the rounding) convince.
    """
    level = real_number(level, "the level", above=0, below=1)
    balance = real_number(balance, "the balance, the share of one class,", above=0, below=1)

    def bound(samples: int) -> Bound:
        positives = min(max(round(balance * samples), 1), samples - 1) if null == "fixed" else None
        return chance_bound(
            samples,
            n_features,
            n_selected,
            positives=positives,
            errors=errors,
            null=null,
            intercept=intercept,
        )

    def convinces(samples: int) -> bool:
        return bound(samples).log10_p <= log10(level)

    low = max(2, whole_number(errors, "the number of errors allowed", at_most=LARGEST // 4) + 1)
    high = 2 * low
    while not convinces(high):
        low, high = high, 2 * high
        if high > LARGEST:
            raise InputError(
                f"even {LARGEST:,} samples would not convince with {n_selected} of {n_features} features; "
                "allow fewer features or fewer errors."
            )
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if convinces(middle) else (middle, high)
    cycle = min(50, int(np.ceil(1 / min(balance, 1 - balance))) + 1)
    # Largest failure near the crossing, then one more.
    failures = [p for p in range(max(2, high - cycle), high + cycle) if p > errors and not convinces(p)]
    samples = failures[-1] + 1 if failures else high
    answer = bound(samples)
    return SamplePlan(samples, answer.positives, balance, level, answer)
