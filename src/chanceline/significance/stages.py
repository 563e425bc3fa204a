"""The stages in which the level is spent, and the one p-value that they make.

Let γ be the share of the level that stage 1 may spend, and β ≤ γ the largest value not above γ
that its p-value can take (known from P, N and the class sizes before the labels are seen; 0 if
there is none). γ₁ is the share of stage 2.

1. p = p_b if p_b ≤ γ: the bound for the errors that were declared (none by default).
2. Where no features were named, two more proofs share γ₁, half for each: points (K, e) of the
   front, e ≥ 1 errors counted after looking, min 2^e·bound(K, e) (unless the errors were
   declared), and the one feature that goes best with the labels. q is twice the smaller of the
   two. If q ≤ γ₁, p is the smallest a with q ≤ a − β(a), β(a) being the largest value up to a
   that p_b takes.
3. Else p = min(1, p_perm + β + γ₁), or p_b + γ₁ if no labels were shuffled.

P(p ≤ a) ≤ a for every a: for a < β only the first two stages can be that small, with probability
at most β(a) + (a − β(a)); for larger a the stages add up to β + γ₁ + (a − β − γ₁). The proofs may
be taken at the best sets that any search found, however long, because they cover all sets at
once; the shuffles repeat a fixed procedure.

Each stage has a type of its own. A number that is shown beside a rule is none of them and cannot
be spent.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from math import log10

import numpy as np
from numpy.typing import NDArray

LN10 = float(np.log(10.0))
LOG10_2 = log10(2.0)
LOG10_P_ONE = 0.0  # of p ≤ 1, which says nothing


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
class Stage1Proof:
    """The bound for the smallest set that makes no more errors than declared.

    Attributes
    ----------
    log10_p : log₁₀ of the bound p_b; 0 if no such set was found.
    """

    log10_p: float


@dataclass(frozen=True)
class Stage2Proofs:
    """The two proofs that are looked at after the first stage did not convince.

    Attributes
    ----------
    log10_counted : log₁₀ of the least 2^e·bound(K, e) of the points found with e ≥ 1 errors; 0 if
        errors were declared.
    log10_feature : log₁₀ of the bound for the one feature that goes best with the labels.
    log10_p : the p-value of this stage, with what the first one could have spent.
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


def combine_stages(
    log10_counted: float,
    log10_feature: float,
    stage1_log10_values: NDArray[np.float64],
) -> Stage2Proofs:
    """The p-value of stage 2 of the test, corrected for the part of the level spent by stage 1.

    Stages 1 and 2 are proofs, p-values bounded without shuffles. Stage 2 has two: by errors that
    were counted after looking, and by one feature.

    Stage 1 is tried first. Its p-value is discrete: v_0 = 0 ≤ v_1 ≤ v_2 ≤ … are the possible
    values. So at a level a it convinces by chance with at most the probability β(a), the largest
    v_i that is at most a. The rest a − β(a) is left for stage 2. Let q be the p-value of stage 2 by
    itself. The corrected p-value is the smallest level a with

        q ≤ a − β(a).

    Between two neighbouring values, v_i ≤ a < v_{i+1}, β(a) is v_i. So the smallest a that fulfils
    the condition there is q + v_i, provided that this sum lies below v_{i+1}. The p-value is the
    first sum q + v_i that does.

    Example: v = 0, 0.01, 0.02 and q = 0.012. The sum 0.012 + 0 is not below 0.01, and 0.012 + 0.01
    is not below 0.02. No value follows 0.02, so that the p-value is 0.012 + 0.02 = 0.032.

    Parameters
    ----------
    log10_counted, log10_feature
        log₁₀ of the p-values of the two proofs of stage 2.
    stage1_log10_values
        log₁₀ of v_0, v_1, …, of shape (values,), ascending; the first is −∞, as v_0 = 0.
    """
    # q is twice the smaller p-value, because two proofs share the stage (Bonferroni); at most 1.
    smaller_log10_p = min(log10_counted, log10_feature)
    log10_q = min(0.0, smaller_log10_p + LOG10_2)

    # The sums q + v_i, and the value v_{i+1} after each v_i: (values,). No value follows the last
    # one; its sum is below ∞, so that there is always a first sum.
    log10_sums = _log10_of_sum(log10_q, stage1_log10_values)
    log10_next_values = np.append(stage1_log10_values[1:], np.inf)
    is_below_next = log10_sums < log10_next_values
    possible_log10_p = log10_sums[is_below_next]
    log10_p = possible_log10_p[0]
    return Stage2Proofs(
        log10_counted=log10_counted,
        log10_feature=log10_feature,
        log10_p=min(0.0, float(log10_p)),
    )


def _log10_of_sum(log10_x: float, log10_y: NDArray[np.float64]) -> NDArray[np.float64]:
    """log₁₀(x + y), where x and y may be too small to be written as they are."""
    return np.logaddexp(log10_x * LN10, log10_y * LN10) / LN10


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
    stage1_level : γ, the largest p-value with which stage 1 decides.
    stage1_used : β, the largest value not above γ that stage 1 can take.
    stage2_level : γ₁, the largest p-value with which stage 2 decides; 0 if it is not asked for.
    """

    stage1_level: float
    stage1_used: float
    stage2_level: float = 0.0

    @property
    def spent_before_shuffles(self) -> float:
        """β + γ₁, what both stages of proofs spend before labels are shuffled."""
        return self.stage1_used + self.stage2_level

    def stage1_convinces(self, stage1: Stage1Proof) -> bool:
        return stage1.log10_p <= log10(self.stage1_level)

    def stage2_convinces(self, stage2: Stage2Proofs) -> bool:
        return self.stage2_level > 0 and stage2.log10_p <= log10(self.stage2_level)

    def proofs_convince(self, stage1: Stage1Proof, stage2: Stage2Proofs | None) -> bool:
        """Whether labels need not be shuffled; `stage2` is None where it was not asked for."""
        if self.stage1_convinces(stage1):
            return True
        return stage2 is not None and self.stage2_convinces(stage2)

    def overall(
        self,
        stage1: Stage1Proof,
        stage2: Stage2Proofs | None,
        permutation_p: float | None,
    ) -> OverallP:
        """The one p-value of the test, and the stage that gave it.

        Stages 1 and 2 are proofs, p-values bounded without shuffles; stage 3 are the shuffles. If a
        proof convinces, its p-value is taken as it is. If none does, the p-value is that of the
        last stage, plus the probability with which the other stages convince in pure noise: a
        union bound over the stages. Without shuffles, the p-value of stage 1 takes the place of the
        last stage, so that only the level of stage 2 is added.

        Parameters
        ----------
        stage1
            The proof of stage 1.
        stage2
            The proofs of stage 2; None if stage 2 was not asked for.
        permutation_p
            The p-value of the shuffles; None without shuffles.
        """
        if self.stage1_convinces(stage1):
            return OverallP(stage1.log10_p, Stage.DECLARED_ERRORS)
        if stage2 is not None and self.stage2_convinces(stage2):
            return OverallP(stage2.log10_p, stage2.stage)

        if permutation_p is None:
            # The other stage is stage 2, which convinces by chance with at most its level.
            pvalue = 10.0**stage1.log10_p + self.stage2_level
            stage = Stage.NOTHING
        else:
            # The other stages are 1 and 2: what both could spend of the level.
            pvalue = permutation_p + self.spent_before_shuffles
            stage = Stage.SHUFFLES
        return OverallP(min(0.0, log10(pvalue)), stage)
