"""From the readings to one p-value and one word.

The overall p-value is spent in stages. Let γ be the share of the level that the bound may spend and β ≤ γ the largest value not
above γ that its p-value p_b can take (known from P, N and the class sizes before the labels are seen; 0 if there is none).

1. p = p_b if p_b ≤ γ.
2. When the smallest separating set is asked for, the bound also speaks of points (K, e) of the front, e ≥ 1 errors counted after
   looking: q = min 2^e·bound(K, e). If q ≤ γ₁, p is the smallest a with q ≤ a − β(a) (`Price.beside_no_errors`), about q.
3. Else p = min(1, p_perm + β + γ₁), or p_b + γ₁ if there was no permutation.

P(p ≤ a) ≤ a for every a: for a < β only the first two stages can be that small, with probability at most β(a) + (a − β(a)); for
larger a the stages add up to β + γ₁ + (a − β − γ₁). The bound may be taken at the best set that any search found, however long,
because it covers all sets at once; the permutation p-value uses the standard procedure only.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log10

from chanceline.chance.bound import Bound, format_p
from chanceline.perceptron.rule import Rule
from chanceline.significance.front_test import FrontReading
from chanceline.significance.permutation import PermutationReading
from chanceline.significance.words import CHANCE, STRUCTURE, UNDECIDED, counted

# Share of the level that the bound may spend when permutations are there to spend the rest.
BOUND_SHARE = 0.1
# Share of the level for errors counted after looking, with permutations and without.
LATER_SHARE = 0.01
LATER_ALONE = 0.1


@dataclass(frozen=True)
class Shares:
    """What each stage may spend: `gate` is γ, `spent` is β, `later` is γ₁ (0 if that stage is not asked for)."""

    gate: float
    spent: float
    later: float = 0.0

    def convinces(self, log10_bound: float) -> bool:
        return log10_bound <= log10(self.gate)

    def later_convinces(self, log10_later: float) -> bool:
        return self.later > 0 and log10_later <= log10(self.later)


@dataclass(frozen=True)
class Evidence:
    """The rule found and what was learnt about it.

    `bound.log10_p` is valid under the freedoms used. `point`: where the front stands out most, None without shuffles.
    `later`: log₁₀ p of the second stage. `given`: the features were named after looking, so that only the bound speaks of
    them and permutations speak of the table; `fixed`: they were named beforehand, and permutations judge them alone.
    """

    rule: Rule
    names: tuple[str, ...]
    n_samples: int
    n_features: int
    bound: Bound
    shares: Shares
    later: float
    permutation: PermutationReading | None
    point: FrontReading | None
    given: bool
    fixed: bool
    unavoidable: str | None

    @property
    def bound_convinces(self) -> bool:
        return self.shares.convinces(self.bound.log10_p) or self.shares.later_convinces(self.later)

    def deed(self) -> str:
        """What the rule does, as the beginning of a sentence."""
        many = self.rule.n_selected != 1
        who = f"{self.rule.n_selected} of {self.n_features} features"
        if self.rule.errors == 0:
            return f"{who} separate{'' if many else 's'} all {self.n_samples} samples"
        deed = f"{who} leave{'' if many else 's'} {counted(self.rule.errors, 'error')} among {self.n_samples} samples"
        return deed if self.unavoidable is None else f"{deed}, {self.unavoidable}"

    def shuffled(self) -> str:
        """What the permutations saw."""
        assert self.permutation is not None
        reading = self.permutation
        if self.point is not None and self.point.shuffled is not None:
            point, band = self.point, self.point.shuffled
            who = "these" if self.fixed and point.k == self.rule.n_selected else "the best found" if self.fixed else ""
            subject = f"{who} {counted(point.k, 'feature')}".strip()
            return (
                f"{subject} leave{'' if point.k != 1 else 's'} {counted(point.errors, 'error')} by least squares, where shuffled "
                f"labels leave {band.median} ({band.low} to {band.high}); p = {reading.pvalue:.2g}, Monte Carlo"
            )
        return (
            f"the same search does as well on {reading.exceedances} of {reading.done} shuffled labellings "
            f"(p = {reading.pvalue:.2g}, Monte Carlo)"
        )


@dataclass(frozen=True)
class Verdict:
    """One word, and the sentence that says why."""

    word: str
    reason: str


def bound_shares(level: float, permutations: int, *, later: bool) -> tuple[float, float]:
    """γ and γ₁: what the bound may spend of the level, and what errors counted after looking may."""
    if permutations == 0:
        share = LATER_ALONE * level if later else 0.0
        return level - share, share
    return BOUND_SHARE * level, LATER_SHARE * level if later else 0.0


def overall_log10_p(log10_bound: float, log10_later: float, shares: Shares, permutation: PermutationReading | None) -> float:
    """log₁₀ of the overall p-value; `log10_later` is that of the second stage."""
    if shares.convinces(log10_bound):
        return log10_bound
    if shares.later_convinces(log10_later):
        return log10_later
    if permutation is None or permutation.void or permutation.done == 0:
        return min(0.0, log10(10.0**log10_bound + shares.later))
    return min(0.0, log10(permutation.pvalue + shares.spent + shares.later))


def decide(evidence: Evidence, level: float, log10_p: float) -> Verdict:
    """The verdict and its reason."""
    if evidence.given:
        return _about_named(evidence, level)
    deed, permutation = evidence.deed(), evidence.permutation
    if log10_p <= log10(level):
        if evidence.bound_convinces:
            at_most = format_p(log10_p)
            return Verdict(STRUCTURE, f"{deed}; unrelated labels would allow that with p ≤ {at_most} (rigorous bound).")
        return Verdict(STRUCTURE, f"{deed}; {evidence.shuffled()}.")
    if permutation is not None and permutation.void:
        return Verdict(
            UNDECIDED,
            f"{deed}; the search gave the same features for every shuffled labelling, so it does not look at the labels it is "
            "given, and shuffling them says nothing.",
        )
    if permutation is not None and permutation.done > 0:
        return _by_shuffles(evidence, permutation, level, deed)
    silent = f"the bound is silent (p ≤ {format_p(evidence.bound.log10_p)}) and no labels were shuffled"
    return Verdict(UNDECIDED, f"{deed}; {silent}.")


def _by_shuffles(evidence: Evidence, permutation: PermutationReading, level: float, deed: str) -> Verdict:
    low, high = permutation.interval
    if low > level:
        return Verdict(CHANCE, f"{deed}; {evidence.shuffled()}.")
    open_ = f"with p between {low:.2g} and {high:.2g} level {level:g} is not settled"
    return Verdict(UNDECIDED, f"{deed}; {evidence.shuffled()}, and {open_}.")


def _about_named(evidence: Evidence, level: float) -> Verdict:
    """Features named after looking: what the bound shows about them, and what the shuffles show about the table."""
    rule, permutation = evidence.rule, evidence.permutation
    named = ", ".join(evidence.names[:4]) + (", …" if len(evidence.names) > 4 else "")
    which = f"the feature named ({named})" if rule.n_selected == 1 else f"the {rule.n_selected} features named ({named})"
    done = "no error" if rule.errors == 0 else counted(rule.errors, "error")
    at_most = format_p(evidence.bound.log10_p)
    about = f"{which} leave{'s' if rule.n_selected == 1 else ''} {done} among {evidence.n_samples} samples"
    if evidence.bound.log10_p <= log10(level):
        return Verdict(STRUCTURE, f"{about}; unrelated labels would allow that with p ≤ {at_most} (rigorous bound).")
    nothing = f"nothing is shown about {which}: {done} among {evidence.n_samples} samples, p ≤ {at_most} by the bound"
    if permutation is None or permutation.done == 0:
        return Verdict(UNDECIDED, f"{nothing}, and no labels were shuffled.")
    if permutation.pvalue <= level:
        return Verdict(UNDECIDED, f"{nothing}. The table as a whole holds structure: {evidence.shuffled()}.")
    if permutation.interval[0] > level:
        return Verdict(CHANCE, f"{nothing}. Chance would allow the table as a whole: {evidence.shuffled()}.")
    return Verdict(UNDECIDED, f"{nothing}. About the table as a whole nothing is settled: {evidence.shuffled()}.")
