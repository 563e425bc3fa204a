"""The bound turned round: the largest set that would convince, and the samples it takes."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log10
from typing import Any

import numpy as np

from chanceline._results import Result
from chanceline.chance.bound import Bound, bound_curve, chance_bound
from chanceline.chance.first_count import first_convincing
from chanceline.chance.shape import MAX_COUNT, Null
from chanceline.errors import InputError, real_number, whole_number


@dataclass(frozen=True, repr=False)
class FeaturePlan(Result):
    """Largest number of selected features at which perfect (or e-error) classification convinces.

    Attributes
    ----------
    largest : that number, 0 if not even one feature would convince.
    level : the level at which a p-value convinces.
    bound, next_bound : the bound at that number and at one feature more; None where there is no
        such number.
    """

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
    """Smallest number of samples from which on M of N features convince.

    Attributes
    ----------
    n_samples : that number.
    positives : how many of them are in the class whose share is `balance`; None where the null does
        not fix the class sizes.
    level : the level at which a p-value convinces.
    bound : the bound with that many samples.
    """

    n_samples: int
    positives: int | None
    balance: float
    level: float
    bound: Bound
    kind: str = "rigorous bound"

    def summary(self) -> str:
        chosen = f"{self.bound.n_selected} of {self.bound.n_features} features"
        return f"{self.n_samples} samples make {chosen} convincing at level {self.level:g}"


def largest_convincing(  # noqa: PLR0913
    n_samples: int,
    n_features: int,
    *,
    positives: int | None = None,
    level: float = 0.05,
    errors: int = 0,
    null: str = "fixed",
    intercept: bool = True,
) -> FeaturePlan:
    """Find the largest number M of features that would convince if they separated the samples.

    M features convince if the bound on the probability that some M of all features separate by
    chance (`chance_bound`) is at most `level`. The answer is 0 if not even one feature would
    convince. The other parameters are those of `chance_bound`: `errors` is the number of errors
    allowed, `null` says how labels are drawn by chance, and `intercept` whether the rule has a free
    threshold.
    """
    level = real_number(level, "the level", above=0, below=1)
    labels_and_rule: dict[str, Any] = {
        "positives": positives,
        "errors": errors,
        "null": null,
        "intercept": intercept,
    }
    curve = bound_curve(n_samples, n_features, **labels_and_rule)
    # The curve is log₁₀ of the bound for M = 0, 1, …. It never falls, so the entries up to the
    # level come first: `searchsorted` counts them, and the last of them is the largest M. Entry 0
    # is −∞, so there is at least one.
    largest = int(np.searchsorted(curve, log10(level), side="right")) - 1

    def bound_at(n_selected: int) -> Bound | None:
        """The bound for these samples and labels; None if there is no such number of features."""
        if not 1 <= n_selected <= n_features:
            return None
        return chance_bound(n_samples, n_features, n_selected, **labels_and_rule)

    return FeaturePlan(
        largest=largest,
        level=level,
        bound=bound_at(largest),
        next_bound=bound_at(largest + 1),
    )


def samples_needed(  # noqa: PLR0913
    n_features: int,
    n_selected: int,
    *,
    balance: float = 0.5,
    level: float = 0.05,
    errors: int = 0,
    null: str = "fixed",
    intercept: bool = True,
) -> SamplePlan:
    """Find the smallest number P of samples from which on M of N features would convince.

    M features that separate the samples convince if the bound on the probability that some M of N
    features do so by chance (`chance_bound`) is at most `level`. One class has round(balance·P)
    samples; because of this rounding convincing and failing P alternate near the answer. The other
    parameters are those of `chance_bound`.
    """
    level = real_number(level, "the level", above=0, below=1)
    balance = real_number(balance, "the balance, the share of one class,", above=0, below=1)
    # The search starts above the number of errors, doubles, and ends at MAX_COUNT. Errors up to a
    # quarter of MAX_COUNT leave room for that.
    errors = whole_number(errors, "the number of errors allowed", at_most=MAX_COUNT // 4)

    def bound_with(n_samples: int) -> Bound:
        """Return the chance bound with `n_samples` samples; all else is as in `samples_needed`.

        The positive class has the share `balance` of the samples, rounded to a whole number, but
        each class has at least one sample. If the null does not fix the class sizes, there is no
        number of positives.
        """
        positives = None
        if null == Null.FIXED:
            rounded_positives = round(balance * n_samples)
            positives = min(max(rounded_positives, 1), n_samples - 1)
        return chance_bound(
            n_samples,
            n_features,
            n_selected,
            positives=positives,
            errors=errors,
            null=null,
            intercept=intercept,
        )

    def convinces(n_samples: int) -> bool:
        """Whether the rule convinces with `n_samples` samples; never if all may be errors."""
        return n_samples > errors and bound_with(n_samples).log10_p <= log10(level)

    # Start with at least two samples, one for each class, and more samples than errors.
    start = max(2, errors + 1)
    # After 1/(share of the smaller class) more samples this class has grown by one, and its share
    # is about the same again. Convincing and failing P alternate within such a cycle.
    cycle = ceil(1 / min(balance, 1 - balance)) + 1
    n_samples = first_convincing(convinces, start, cycle)
    if n_samples is None:
        raise InputError(
            f"even {MAX_COUNT:,} samples would not convince with {n_selected} of {n_features} "
            "features; allow fewer features or fewer errors."
        )
    bound = bound_with(n_samples)
    return SamplePlan(
        n_samples=n_samples,
        positives=bound.positives,
        balance=balance,
        level=level,
        bound=bound,
    )
