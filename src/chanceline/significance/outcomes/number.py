"""A number as the outcome: its scores are the number itself, centred, or its normal scores.

A few numbers far from all others decide every correlation, and hide what the rest would show. So a
number with heavy tails is tested by its normal scores, the quantiles of the normal distribution at
its ranks. Its values alone decide that, whichever sample has them: the permutations stay exact.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import rankdata

from chanceline._arrays import Bools, Floats, Ints
from chanceline.errors import InputError
from chanceline.significance.outcomes.held_out_fits import HeldOutPredictions
from chanceline.significance.outcomes.measures import Expectation, r_squared, rank_correlation
from chanceline.significance.outcomes.outcome import Outcome

# The squared correlation of a number with its normal scores below which its tails are heavy. It is
# hardly ever smaller for normal and even distributions of 30 samples or more (0.88 in one of a
# hundred), and nearly always for exponential and log-normal ones. On seven designs
# beside those of `benchmarks/outcomes.py`, 60 tables each, normal scores gained up to 0.4 of power
# where tails were heavy, and lost up to 0.05 where they were not.
HEAVY_TAILS_BELOW = 0.9


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
        tested = self.numbers
        if self.has_heavy_tails:
            tested = normal_scores(self.numbers)
        return (tested - tested.mean())[:, None]

    @property
    def has_heavy_tails(self) -> bool:
        """Whether the normal scores are tested in place of the numbers."""
        correlation = np.corrcoef(self.numbers, normal_scores(self.numbers))[0, 1]
        return bool(correlation**2 < HEAVY_TAILS_BELOW)

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
        words = f"{self.name!r} is taken for a number ({n_values} values, {low:g} to {high:g})"
        if self.has_heavy_tails:
            words += " with heavy tails, so that its normal scores are tested"
        return words

    def expectation(self, held_out: HeldOutPredictions) -> Expectation:
        explained = r_squared(self.numbers, held_out)
        correlation = rank_correlation(self.numbers, held_out)
        return Expectation(
            measures=(explained, correlation),
            better_than_guessing=explained.interval[0] > explained.guess,
            n_folds=held_out.n_folds,
            n_repeats=held_out.n_repeats,
        )


def normal_scores(numbers: Floats) -> Floats:
    """The normal quantiles Φ⁻¹((rank − ½)/n) of the numbers, equal ones in the middle: (samples,).

    Parameters
    ----------
    numbers : (samples,)
    """
    ranks = rankdata(numbers)
    scores: Floats = ndtri((ranks - 0.5) / len(numbers))
    return scores


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
