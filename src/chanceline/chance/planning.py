"""The bound turned round: the largest set that would convince, and the samples it takes."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, log10
from typing import Any

import numpy as np

from chanceline._results import Result
from chanceline._validation import real_number, whole_number
from chanceline.chance.bound import LARGEST, Bound, bound_curve, chance_bound
from chanceline.errors import InputError

# At most so many sizes on either side of the crossing are looked at one by one.
LONGEST_CYCLE = 50


@dataclass(frozen=True, repr=False)
class FeaturePlan(Result):
    """Largest number of selected features at which perfect (or e-error) classification is convincing by itself."""

    largest: int
    level: float
    bound: Bound | None
    next_bound: Bound | None
    kind: str = "rigorous bound"
    _hidden = ("largest",)

    def summary(self) -> str:
        if self.largest == 0:
            return f"no set of features would convince at level {self.level:g} by the bound"
        return f"up to {self.largest} selected features would convince at level {self.level:g}"

    def to_dict(self) -> dict[str, Any]:
        return {"largest_selected": self.largest, **super().to_dict()}


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

    The bound falls with P apart from the rounding of n₊: see `first_convincing`.
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
        return samples > errors and bound(samples).log10_p <= log10(level)

    start = max(2, whole_number(errors, "the number of errors allowed", at_most=LARGEST // 4) + 1)
    samples = first_convincing(convinces, start, ceil(1 / min(balance, 1 - balance)) + 1)
    if samples is None:
        raise InputError(
            f"even {LARGEST:,} samples would not convince with {n_selected} of {n_features} features; "
            "allow fewer features or fewer errors."
        )
    answer = bound(samples)
    return SamplePlan(samples, answer.positives, balance, level, answer)


def first_convincing(convinces: Callable[[int], bool], start: int, cycle: int) -> int | None:
    """The smallest count from which on all convince, None if more than 10⁷ would be needed.

    Rounding of the class sizes, or the turn of blocks, makes the bound rise here and there; after `cycle` more counts the classes
    are in the same proportion again, about. After the last failure near the crossing the bound stays low.
    """
    low, high = start, 2 * start
    while not convinces(high):
        low, high = high, 2 * high
        if high > LARGEST:
            return None
    high = bisect_left(range(high), True, lo=low + 1, key=convinces)
    around = min(cycle, LONGEST_CYCLE)
    failures = [count for count in range(max(2, high - around), high + around) if not convinces(count)]
    return failures[-1] + 1 if failures else high
