"""The rigorous bound as a p-value, under the freedoms that were used; and what it may spend of the
level.

The bound of `chance` covers all sets of M features with at most e errors at once. What it says as a
p-value depends on what was fixed before the labels were looked at:

* errors declared: the statistic is the smallest M that makes at most e errors, and the bound at
  (M, e) covers it;
* errors counted after looking, features chosen: both M and e were chosen after looking. Spending
  the share 2^−(e+1) of the level on every e (they add up to 1), the p-value is 2^(e+1) times the
  bound at (M, e);
* features preregistered: M is fixed, the statistic is the fewest errors, and the bound at (M, e)
  needs no factor.

When the smallest separating set was looked for and there is none, points (K, e) of the front with
e ≥ 1 still have a p-value: 2^e times the bound at (K, e).

The stages themselves, and the proof that their p-value is valid: `stages`.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, replace
from math import ceil, log10
from typing import Any

import numpy as np

from chanceline._arrays import Floats
from chanceline.chance.bound import Bound, bound_curve, chance_bound
from chanceline.chance.first_count import first_convincing
from chanceline.chance.shape import MAX_COUNT
from chanceline.perceptron.rule import Rule
from chanceline.significance.null_sizes import FIXED_NULL, NullSizes
from chanceline.significance.stages import (
    LOG10_2,
    LOG10_P_ONE,
    AlphaSpending,
    Stage2Proofs,
    combine_stages,
)

# Share of the level that the first stage may spend when shuffles are there to spend the rest.
STAGE1_SHARE = 0.1
# Share of the level for errors counted after looking and for one feature, with shuffles ...
STAGE2_SHARE = 0.01
# ... and without.
STAGE2_SHARE_WITHOUT_SHUFFLES = 0.1


@dataclass(frozen=True)
class UnionBound:
    """The bound as a p-value for the statistic that was declared.

    Attributes
    ----------
    sizes : of the null.
    n_features : number of features that could have been chosen.
    intercept : whether the rule has a threshold.
    errors : errors allowed beforehand; None if they are counted after looking.
    preregistered : number of features fixed before the labels were seen; None if chosen.
    uninformative : labels are drawn from a model and not exchanged, and the bound says nothing
        (p ≤ 1).
    """

    sizes: NullSizes
    n_features: int
    intercept: bool
    errors: int | None
    preregistered: int | None = None
    uninformative: bool = False

    def bound(self, rule: Rule) -> Bound:
        """The bound of the first stage for this rule, `log10_p` being the valid p-value.

        It says nothing about a rule that makes more errors than were declared.
        """
        n_selected, errors = self._statistic(rule)
        most_errors = self.sizes.n_units - 1
        bound = self._bound_at(n_selected, min(errors, most_errors))
        if rule.errors > errors or errors > most_errors:
            return replace(bound, log10_p=LOG10_P_ONE)
        log10_p = bound.log10_p + self._log10_factor(errors)
        return replace(bound, log10_p=min(LOG10_P_ONE, log10_p))

    def _statistic(self, rule: Rule) -> tuple[int, int]:
        """M and e at which the bound is taken for a rule."""
        n_selected = self.preregistered
        if not n_selected:
            n_selected = min(max(rule.n_selected, 1), self.n_features)
        errors = rule.errors if self.errors is None else self.errors
        return n_selected, errors

    def _log10_factor(self, errors: int) -> float:
        """log₁₀ of 2^(e+1) if errors are counted after looking; else of 1."""
        if self.errors is None and self.preregistered is None:
            return (errors + 1) * LOG10_2
        return 0.0

    @property
    def _null_arguments(self) -> dict[str, Any]:
        """What the functions of `chance.bound` are told about the null."""
        is_fixed = self.sizes.null == FIXED_NULL
        return {
            "positives": self.sizes.positives if is_fixed else None,
            "null": self.sizes.null,
            "intercept": self.intercept,
            "blocks": self.sizes.blocks,
        }

    def _bound_at(self, n_selected: int, errors: int) -> Bound:
        """The union bound for sets of M features with at most e errors on random labels.

        It is not corrected for errors that were counted after looking.

        Parameters
        ----------
        n_selected : M.
        errors : e.
        """
        bound = chance_bound(
            n_samples=self.sizes.n_units,
            # `n_features` counts equal columns once, but several of them may be preregistered: at
            # least the selected features are counted.
            n_features=max(self.n_features, n_selected),
            n_selected=n_selected,
            errors=errors,
            preregistered=self.preregistered is not None,
            **self._null_arguments,  # positives, null, intercept, blocks
        )
        if self.uninformative:
            # Labels are drawn from a model, for which the bound does not hold: p ≤ 1.
            return replace(bound, log10_p=LOG10_P_ONE)
        return bound

    def _curve(self) -> Floats:
        """log₁₀ of the bound at M = 0, 1, … for the errors declared (none if they are counted)."""
        return bound_curve(
            n_samples=self.sizes.n_units,
            n_features=self.n_features,
            errors=self.errors or 0,
            **self._null_arguments,
        )

    @property
    def _has_curve(self) -> bool:
        """Whether there are more units than errors declared; else there is nothing to bound."""
        return self.sizes.n_units > (self.errors or 0)

    def log10_p_counted(self, n_selected: int, errors: int) -> float:
        """log₁₀ of 2^e·bound(K, e), e ≥ 1: p-value of K features whose errors were counted later.

        The shares 2^−e add up to 1, so the smallest over all (K, e) is a p-value. It is 1 for K or
        e that have none.
        """
        if n_selected < 1 or not 1 <= errors < self.sizes.n_units:
            return LOG10_P_ONE
        bound = self._bound_at(min(n_selected, self.n_features), errors)
        return min(LOG10_P_ONE, bound.log10_p + errors * LOG10_2)

    def log10_p_at(self, n_selected: int, errors: int) -> float:
        """log₁₀ of what the bound says about K features with e errors, seen after looking.

        It says nothing about parts of what was preregistered.
        """
        if self.preregistered is not None:
            return LOG10_P_ONE
        if errors > 0:
            return self.log10_p_counted(n_selected, errors)
        return self._bound_at(min(n_selected, self.n_features), 0).log10_p

    def bound_after_looking(self, rule: Rule) -> Bound:
        """The bound at the size and the errors of a rule, for words only: no stage may spend it."""
        log10_p = self.log10_p_at(rule.n_selected, rule.errors)
        return replace(self.bound(rule), errors=rule.errors, log10_p=log10_p)

    def second_stage(self, log10_counted: float, log10_feature: float) -> Stage2Proofs:
        """The second stage, after a first one without errors (or with those declared).

        Parameters
        ----------
        log10_counted : the smallest `log10_p_counted` of the rules found.
        log10_feature : log₁₀ of the bound for one feature.
        """
        if not self._has_curve:
            # The first stage has no value to spend.
            return combine_stages(log10_counted, log10_feature, np.array([-np.inf]))
        return combine_stages(log10_counted, log10_feature, self._curve())

    def spending(self, level: float, n_shuffles: int, *, has_stage2: bool) -> AlphaSpending:
        """Divide the significance level between the three stages of the test.

        As in a test with interim analyses, each stage may use a part of the level. Stages 1 and 2
        are p-values that are bounded without shuffles (proofs). Stage 3 are the shuffles, for which
        the rest remains.

        Stage 1 convinces if its p-value is at most `stage1_level`. In pure noise this happens less
        often than `stage1_level` says, because the p-value is discrete: the probability is at most
        `stage1_used`, the largest possible p-value up to `stage1_level`. So the shuffles get the
        level without `stage1_used` and `stage2_level`.

        Parameters
        ----------
        level : the level of the whole test.
        n_shuffles : number of shuffles; without shuffles, stages 1 and 2 share the whole level.
        has_stage2 : whether there are proofs of stage 2, which count errors after looking or choose
            the best single feature.
        """
        has_shuffles = n_shuffles > 0
        stage2_share = STAGE2_SHARE if has_shuffles else STAGE2_SHARE_WITHOUT_SHUFFLES
        stage2_level = stage2_share * level if has_stage2 else 0.0
        if has_shuffles:
            stage1_level = STAGE1_SHARE * level
        else:
            # There is no third stage: stage 1 may use all that stage 2 does not.
            stage1_level = level - stage2_level
        return AlphaSpending(
            stage1_level=stage1_level,
            stage1_used=self.largest_attainable_pvalue(stage1_level),
            stage2_level=stage2_level,
        )

    def largest_convincing(self, stage1_level: float) -> int:
        """The largest M that the bound would accept at this level.

        It is taken without errors if these are counted after looking.
        """
        if self.uninformative or not self._has_curve:
            return 0
        log10_p = self._curve() + self._log10_factor(0)
        return int(np.searchsorted(log10_p, log10(stage1_level), side="right")) - 1

    def largest_attainable_pvalue(self, stage1_level: float) -> float:
        """The largest possible p-value of stage 1 that is at most its level; 0 if there is none.

        The p-value of stage 1 is a union bound. It depends on two whole numbers, how many features
        a rule has and how many errors it makes, so that only certain values are possible.

        The number of features may have been fixed before looking at the labels (`preregistered`),
        and so may the number of errors (`errors`); else the attribute is None. If neither was, the
        level itself is returned: it is at least the largest possible p-value up to the level, and
        so a safe number for what stage 1 uses of the level.
        """
        n_fixed_features = self.preregistered
        n_fixed_errors = self.errors
        if self.uninformative:
            # The p-value is always 1.
            return 0.0
        if n_fixed_features is not None:
            return self._largest_attainable_by_errors(n_fixed_features, stage1_level)
        if n_fixed_errors is None:
            return stage1_level

        # Only the errors are fixed. The p-value rises with the number of features, so that the
        # largest one up to the level is that of the most features that convince.
        most_features = self.largest_convincing(stage1_level)
        if most_features <= 0:
            return 0.0
        return self._bound_at(most_features, n_fixed_errors).pvalue

    def _largest_attainable_by_errors(self, n_selected: int, stage1_level: float) -> float:
        """The largest p-value of the union bound that is at most the level, for fixed features.

        If the number of errors was declared beforehand, too, there is one possible p-value; else
        there is one for every number of errors. The result is 0 if no p-value is so small.

        Parameters
        ----------
        n_selected : number of features that were fixed beforehand.
        stage1_level : the level of stage 1, to which the bound belongs.
        """

        def pvalue(errors: int) -> float:
            return self._bound_at(n_selected, errors).pvalue

        if self.errors is not None:
            declared_pvalue = pvalue(self.errors)
            return declared_pvalue if declared_pvalue <= stage1_level else 0.0

        # p-values rise with the errors: bisection finds how many of 0, 1, … errors convince.
        n_convincing = bisect_right(range(self.sizes.n_units), stage1_level, key=pvalue)
        if n_convincing == 0:
            return 0.0
        most_errors = n_convincing - 1
        return pvalue(most_errors)

    def samples_needed(self, rule: Rule, level: float) -> int | None:
        """How many units a new study needs so that a rule as good as this one convinces.

        It convinces if the p-value of the union bound reaches the level. Units are samples, or
        groups of samples with one label. The new study is like this one: the same null hypothesis
        and preregistration, and the same balance of classes. If there are blocks, it has more
        blocks like the present ones.

        Parameters
        ----------
        rule
            The numbers of its features and errors count.
        level
            The p-value to be reached.

        Returns
        -------
        None if no study is large enough, or if the rule makes more errors than were declared.
        """
        # The numbers that enter the bound. The errors are those declared, or the errors of the rule
        # if they are counted after looking; then the p-value is the bound times a factor.
        n_selected, bound_errors = self._statistic(rule)
        if self.uninformative or rule.errors > bound_errors:
            return None
        max_log10_bound = log10(level) - self._log10_factor(bound_errors)

        # A study size counts what is added to a study: blocks if there are any, else units.
        def convinces(study_size: int) -> bool:
            """Whether the bound for a study of this size reaches the level."""
            new_study = replace(self, sizes=self.sizes.resized(study_size))
            if not new_study._has_bound_for(bound_errors):
                return False
            bound = new_study._bound_at(n_selected, bound_errors)
            return bound.log10_p <= max_log10_bound

        # The bound does not fall at every single step, because class sizes are rounded, and blocks
        # of different sizes are added in turn. But after a period, the number of steps that brings
        # back the same balance of classes, it has fallen. So bisection is not enough:
        # `first_convincing` also checks all sizes within a period.
        period = self._balance_period()
        smallest_size = first_convincing(convinces, start=1, cycle=period)
        if smallest_size is None:
            return None
        new_sizes = self.sizes.resized(smallest_size)
        return new_sizes.n_units

    def _has_bound_for(self, errors: int) -> bool:
        """Whether the bound at this number of errors exists: both classes, and enough units."""
        n_units = self.sizes.n_units
        has_both_classes = 0 < self.sizes.positives < n_units
        has_units_in_range = max(errors, 1) < n_units <= MAX_COUNT
        return has_both_classes and has_units_in_range

    def _balance_period(self) -> int:
        """How many more units (blocks, if there are any) bring about the same balance again."""
        if self.sizes.blocks is not None:
            return len(self.sizes.blocks)
        smaller_class = min(self.sizes.positives, self.sizes.n_units - self.sizes.positives)
        return ceil(self.sizes.n_units / max(smaller_class, 1)) + 1
