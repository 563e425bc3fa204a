"""The stages in which the level is spent, and the one p-value that they make.

Let γ be the share of the level that the first stage may spend, and β ≤ γ the largest value not above γ that its p-value can
take (known from P, N and the class sizes before the labels are seen; 0 if there is none). γ₁ is the share of the second stage.

1. p = p_b if p_b ≤ γ: the bound for the errors that were declared (none by default).
2. Where no features were named, two more proofs share γ₁, half for each: points (K, e) of the front, e ≥ 1 errors counted after
   looking, min 2^e·bound(K, e) (unless the errors were declared), and the one feature that goes best with the labels. q is twice
   the smaller of the two. If q ≤ γ₁, p is the smallest a with q ≤ a − β(a), β(a) being the largest value up to a that p_b takes.
3. Else p = min(1, p_perm + β + γ₁), or p_b + γ₁ if no labels were shuffled.

P(p ≤ a) ≤ a for every a: for a < β only the first two stages can be that small, with probability at most β(a) + (a − β(a)); for
larger a the stages add up to β + γ₁ + (a − β − γ₁). The proofs may be taken at the best sets that any search found, however long,
because they cover all sets at once; the shuffles repeat a fixed procedure.

Each stage has a type of its own. A number that is shown beside a rule is none of them and cannot be spent.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from math import log10

import numpy as np
from numpy.typing import NDArray

LN10 = float(np.log(10.0))
LOG10_2 = log10(2.0)


class Stage(Enum):
    """What gave the p-value."""

    DECLARED_ERRORS = "bound"
    COUNTED_ERRORS = "bound, errors counted after looking"
    ONE_FEATURE = "bound, one feature"
    SHUFFLES = "shuffled labels"
    NOTHING = "nothing"  # no proof convinced, and no labels were shuffled

    @property
    def rigorous(self) -> bool:
        """Whether the p-value is an upper bound that holds without shuffles."""
        return self is not Stage.SHUFFLES


@dataclass(frozen=True)
class DeclaredErrors:
    """The first stage: log₁₀ of the bound for the smallest set that makes no more errors than declared (0: none was found)."""

    log10_p: float


@dataclass(frozen=True)
class CountedLater:
    """The second stage.

    Attributes
    ----------
    log10_counted : log₁₀ of the least 2^e·bound(K, e) of the points found with e ≥ 1 errors; 0 if errors were declared.
    log10_feature : log₁₀ of the bound for the one feature that goes best with the labels.
    log10_p : the p-value of this stage, beside what the first one could have spent.
    """

    log10_counted: float
    log10_feature: float
    log10_p: float

    @property
    def stage(self) -> Stage:
        """Which of the two proofs says more."""
        if self.log10_feature <= self.log10_counted:
            return Stage.ONE_FEATURE
        return Stage.COUNTED_ERRORS


def combine_stages(log10_counted: float, log10_feature: float, first_stage: NDArray[np.float64]) -> CountedLater:
    """The second stage from its two proofs.

    Parameters
    ----------
    log10_counted, log10_feature : as in `CountedLater`.
    first_stage : log₁₀ of every p-value that the first stage can take, ascending, beginning with −∞ ("none so small").
    """
    # Two proofs share the stage.
    log10_q = min(0.0, min(log10_counted, log10_feature) + LOG10_2)
    # The smallest a with q ≤ a − β(a): between two neighbouring values of the first stage β(a) is the lower one.
    candidates = np.logaddexp(log10_q * LN10, first_stage * LN10) / LN10
    next_value = np.append(first_stage[1:], np.inf)
    place = int(np.argmax(candidates < next_value))
    return CountedLater(log10_counted, log10_feature, min(0.0, float(candidates[place])))


@dataclass(frozen=True)
class OverallP:
    """log₁₀ of the one p-value, and the stage that gave it."""

    log10_p: float
    stage: Stage


@dataclass(frozen=True)
class AlphaSpending:
    """How the level is spent.

    Attributes
    ----------
    stage1_level : γ, the largest p-value with which the first stage decides.
    stage1_used : β, the largest value not above γ that the first stage can take.
    stage2_level : γ₁, the same for the second stage; 0 if that is not asked for.
    """

    stage1_level: float
    stage1_used: float
    stage2_level: float = 0.0

    @property
    def before_shuffles(self) -> float:
        """What both proofs spend before labels are shuffled."""
        return self.stage1_used + self.stage2_level

    def first_convinces(self, first: DeclaredErrors) -> bool:
        return first.log10_p <= log10(self.stage1_level)

    def second_convinces(self, second: CountedLater | None) -> bool:
        return second is not None and self.stage2_level > 0 and second.log10_p <= log10(self.stage2_level)

    def overall(self, first: DeclaredErrors, second: CountedLater | None, permutation_p: float | None) -> OverallP:
        """The p-value by the stages above; `second` is None where it was not asked for, `permutation_p` without shuffles."""
        if self.first_convinces(first):
            return OverallP(first.log10_p, Stage.DECLARED_ERRORS)
        if second is not None and self.second_convinces(second):
            return OverallP(second.log10_p, second.stage)
        if permutation_p is None:
            return OverallP(min(0.0, log10(10.0**first.log10_p + self.stage2_level)), Stage.NOTHING)
        return OverallP(min(0.0, log10(permutation_p + self.before_shuffles)), Stage.SHUFFLES)
