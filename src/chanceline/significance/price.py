"""What the bound says about a rule, given which freedoms were used to find it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log10
from typing import Any

import numpy as np

from chanceline.chance.bound import Bound, bound_curve, chance_bound
from chanceline.errors import InputError
from chanceline.perceptron.rule import Rule
from chanceline.significance.null import LabelScheme

LOG10_2 = log10(2.0)


@dataclass(frozen=True)
class Price:
    """The bound as a p-value for the statistic that was declared.

    * `errors` declared: the statistic is the smallest M that makes at most e errors, and the bound at (M,
      e) covers it.
    * `errors` None, features chosen: both M and e were chosen after looking. Spending the share 2^−(e+1) of
      the level on every e (they add up to 1) the p-value is 2^(e+1) times the bound at (M, e).
    * `preregistered`: M is fixed, the statistic is the fewest errors, and the bound at (M, e) needs no price.
    """

    scheme: LabelScheme
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

    def largest(self, gate: float) -> int:
        """The largest M that the bound would accept at p ≤ gate (without errors if these are free)."""
        if self.scheme.n_units <= (self.errors or 0):
            return 0
        curve = bound_curve(self.scheme.n_units, self.n_features, errors=self.errors or 0, **self._null)
        return int(np.searchsorted(curve + self._premium(0), log10(gate), side="right")) - 1

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


def check_candidates(candidates: int | None, n_features: int) -> None:
    if candidates is not None and candidates < n_features:
        raise InputError(
            f"the number of candidate features cannot be smaller than the {n_features} in the data, but is {candidates}."
        )
