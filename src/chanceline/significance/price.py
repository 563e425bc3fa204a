"""What the bound says about a rule, given which freedoms were used to find it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import cycle, islice
from math import log, log10
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chanceline.chance.bound import LARGEST, Bound, bound_curve, chance_bound
from chanceline.errors import InputError
from chanceline.perceptron.rule import Rule
from chanceline.significance.null import Larger, Sizes

LOG10_2 = log10(2.0)
LN10 = log(10.0)
# At most so many sizes on either side of the crossing are looked at one by one.
LONGEST_CYCLE = 50


@dataclass(frozen=True)
class Price:
    """The bound as a p-value for the statistic that was declared.

    * `errors` declared: the statistic is the smallest M that makes at most e errors, and the bound at (M,
      e) covers it.
    * `errors` None, features chosen: both M and e were chosen after looking. Spending the share 2^−(e+1) of
      the level on every e (they add up to 1) the p-value is 2^(e+1) times the bound at (M, e).
    * `preregistered`: M is fixed, the statistic is the fewest errors, and the bound at (M, e) needs no price.

    When the smallest separating set was looked for (`errors` 0) and there is none, points (K, e) of the front still have a price:
    `afterwards`.
    """

    scheme: Sizes
    n_features: int
    intercept: bool
    errors: int | None
    preregistered: int | None = None

    @property
    def _null(self) -> dict[str, Any]:
        positives = self.scheme.positives if self.scheme.null == "fixed" else None
        return {
            "positives": positives,
            "null": self.scheme.null,
            "intercept": self.intercept,
            "blocks": self.scheme.blocks,
        }

    def covers(self, rule: Rule) -> bool:
        """Whether the rule attains what was declared, so that the bound speaks about it at all."""
        return self.errors is None or rule.errors <= self.errors

    def bound(self, rule: Rule) -> Bound:
        """The bound for this rule, with `log10_p` as the valid p-value under the freedoms used."""
        selected = self.preregistered or min(max(rule.n_selected, 1), self.n_features)
        counted = rule.errors if self.errors is None else self.errors
        bound = self._at(selected, min(counted, self.scheme.n_units - 1))
        if not self.covers(rule) or counted >= self.scheme.n_units:
            return replace(bound, log10_p=0.0)
        return replace(bound, log10_p=min(0.0, bound.log10_p + self._premium(counted)))

    def _premium(self, errors: int) -> float:
        """log₁₀ of the factor for errors counted after looking."""
        return (errors + 1) * LOG10_2 if self.errors is None and self.preregistered is None else 0.0

    def _at(self, selected: int, errors: int) -> Bound:
        return chance_bound(
            self.scheme.n_units,
            max(self.n_features, selected),
            selected,
            errors=errors,
            preregistered=self.preregistered is not None,
            **self._null,
        )

    def afterwards(self, selected: int, errors: int) -> float:
        """log₁₀ of 2^e·bound(K, e), e ≥ 1: the shares 2^−e add up to 1, so the smallest over all points is a p-value."""
        if selected < 1 or not 1 <= errors < self.scheme.n_units:
            return 0.0
        return min(0.0, self._at(min(selected, self.n_features), errors).log10_p + errors * LOG10_2)

    def at_front(self, selected: int, errors: int) -> float:
        """log₁₀ of what the bound says about a point of the front; nothing about parts of what was preregistered."""
        if self.preregistered is not None:
            return 0.0
        return self.afterwards(selected, errors) if errors else self._at(min(selected, self.n_features), 0).log10_p

    def beside_no_errors(self, log10_q: float) -> float:
        """The p-value for q = `afterwards` where the bound without errors came first: the smallest a with q ≤ a − β(a).

        β(a) is the largest p-value ≤ a that the bound takes without errors, so that P(p ≤ a) ≤ β(a) + (a − β(a)) = a. Its values
        lie orders of magnitude apart, and q is hardly changed.
        """
        values = self._curve()[1:]
        below = -np.inf
        for value in [*values.tolist(), np.inf]:
            pvalue = float(np.logaddexp(log10_q * LN10, below * LN10) / LN10)
            if pvalue < value:
                return min(0.0, pvalue)
            below = value
        return 0.0

    def _curve(self) -> NDArray[np.float64]:
        return bound_curve(self.scheme.n_units, self.n_features, errors=self.errors or 0, **self._null)

    def largest(self, gate: float) -> int:
        """The largest M that the bound would accept at p ≤ gate (without errors if these are free)."""
        if self.scheme.n_units <= (self.errors or 0):
            return 0
        return int(np.searchsorted(self._curve() + self._premium(0), log10(gate), side="right")) - 1

    def spent(self, gate: float) -> float:
        """β: the largest attainable p-value of the bound that is not above the gate, 0 if there is none."""
        if self.preregistered is not None:
            return self._spent_on_errors(self.preregistered, gate)
        if self.errors is None:
            return gate
        largest = self.largest(gate)
        return self._at(largest, self.errors).pvalue if largest > 0 else 0.0

    def _spent_on_errors(self, selected: int, gate: float) -> float:
        """β when M is fixed and the statistic is the number of errors: the bound rises with e, so bisect."""
        lowest, highest = (0, self.scheme.n_units) if self.errors is None else (self.errors, self.errors + 1)
        if self._at(selected, lowest).pvalue > gate:
            return 0.0
        while highest - lowest > 1:
            middle = (lowest + highest) // 2
            if self._at(selected, middle).pvalue <= gate:
                lowest = middle
            else:
                highest = middle
        return self._at(selected, lowest).pvalue

    def scheme_of(self, count: int) -> Sizes:
        """`count` units of the same balance, or `count` blocks like the given ones in turn."""
        scheme = self.scheme
        if scheme.blocks is None:
            share = scheme.positives / scheme.n_units
            return Larger(count, min(max(round(share * count), 1), max(count - 1, 1)), None, scheme.null)
        blocks = tuple(islice(cycle(scheme.blocks), count))
        return Larger(sum(size for size, _ in blocks), sum(number for _, number in blocks), blocks, scheme.null)

    def samples_needed(self, rule: Rule, level: float) -> int | None:
        """Units (samples, or groups) from which on as many features and errors convince by the bound alone; None if out of reach
        or if the rule makes more errors than were declared.

        More of the same kind: the same balance of classes, or more blocks like those there are; and the same null, price and
        preregistration as in the test.
        """
        if not self.covers(rule):
            return None
        selected = self.preregistered or min(max(rule.n_selected, 1), self.n_features)
        errors = rule.errors if self.errors is None else self.errors
        limit = log10(level) - self._premium(errors)

        def convinces(count: int) -> bool:
            scheme = self.scheme_of(count)
            if scheme.n_units <= max(errors, 1) or scheme.n_units > LARGEST or not 0 < scheme.positives < scheme.n_units:
                return False
            return replace(self, scheme=scheme)._at(selected, errors).log10_p <= limit

        # Counted in units, or in blocks.
        low, high = 1, 2
        while not convinces(high):
            low, high = high, 2 * high
            if high > LARGEST:
                return None
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if convinces(middle) else (middle, high)
        # Rounding of the class sizes, or the turn of the blocks, makes the bound rise here and there: after the last failure near
        # the crossing it stays low.
        around = range(max(2, high - self._cycle), high + self._cycle)
        failures = [count for count in around if not convinces(count)]
        return self.scheme_of(failures[-1] + 1 if failures else high).n_units

    @property
    def _cycle(self) -> int:
        """After how many more units or blocks the classes are in the same proportion again, about."""
        if self.scheme.blocks is not None:
            return min(len(self.scheme.blocks), LONGEST_CYCLE)
        smaller = min(self.scheme.positives, self.scheme.n_units - self.scheme.positives)
        return min(-(-self.scheme.n_units // max(smaller, 1)) + 1, LONGEST_CYCLE)


def check_candidates(candidates: int | None, n_features: int) -> None:
    if candidates is not None and candidates < n_features:
        raise InputError(
            f"the number of candidate features cannot be smaller than the {n_features} in the data, but is {candidates}."
        )
