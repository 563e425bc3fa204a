"""A number as the outcome: its scores are the number itself, centred."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from chanceline._arrays import Bools, Floats, Ints
from chanceline.errors import InputError
from chanceline.significance.outcomes.held_out_fits import HeldOutPredictions
from chanceline.significance.outcomes.measures import Expectation, r_squared, rank_correlation
from chanceline.significance.outcomes.outcome import Outcome


@dataclass(frozen=True, eq=False)
class NumberOutcome(Outcome):
    """A number of every sample.

    Attributes
    ----------
    name : what the user calls it.
    numbers : (samples,) finite, not all equal.
    """

    name: str
    numbers: Floats
    kind: ClassVar[str] = "number"
    noun: ClassVar[str] = "values"
    residuals_are_exchangeable: ClassVar[bool] = True

    @property
    def scores(self) -> Floats:
        return (self.numbers - self.numbers.mean())[:, None]

    @property
    def targets(self) -> Floats:
        return self.numbers[:, None]

    def take(self, rows: Bools | Ints) -> Self:
        return replace(self, numbers=self.numbers[rows])

    @property
    def values(self) -> NDArray[Any]:
        return self.numbers

    @property
    def fold_order(self) -> Floats:
        return self.numbers

    def taken_for(self) -> str:
        low = self.numbers.min()
        high = self.numbers.max()
        n_values = len(np.unique(self.numbers))
        return f"{self.name!r} is taken for a number ({n_values} values, {low:g} to {high:g})"

    def expectation(self, held_out: HeldOutPredictions) -> Expectation:
        explained = r_squared(self.numbers, held_out)
        correlation = rank_correlation(self.numbers, held_out)
        return Expectation(
            measures=(explained, correlation),
            better_than_guessing=explained.interval[0] > explained.guess,
            n_folds=held_out.n_folds,
            n_repeats=held_out.n_repeats,
        )


def make_number(numbers: Floats, name: str) -> NumberOutcome:
    """Check the numbers (samples,), which have to be finite and not all equal."""
    if not np.isfinite(numbers).all():
        raise InputError(f"the number {name!r} has infinite values; leave those rows out.")
    if np.ptp(numbers) == 0:
        raise InputError(
            f"the number {name!r} is {numbers[0]:g} in every row, so that there is nothing to "
            "explain; name another column."
        )
    return NumberOutcome(name=name, numbers=numbers)
