"""From the readings to one p-value and one word.

The overall p-value. Let γ be the share of the level that the bound may spend: the whole level without
permutations, a tenth with them. The bound's p-value p_b takes few values; let β ≤ γ be the largest of them
not above γ (known from P, N and the class sizes before the labels are seen), 0 if there is none. Then

    p = p_b  if p_b ≤ γ,   else   p = min(1, p_perm + β)   (p_b itself without permutations)

is valid: P(p ≤ a) ≤ P(p_b ≤ a) ≤ a for a < β, and P(p ≤ a) ≤ P(p_b ≤ γ) + P(p_perm ≤ a − β) ≤ β + (a − β) =
a for a ≥ β. The bound may be taken at the best set that any search found, however long, because it covers
all sets at once; the permutation p-value uses the standard search only.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log10

from chanceline.chance.bound import Bound, format_p
from chanceline.perceptron.rule import Rule
from chanceline.significance.permutation import PermutationReading
from chanceline.significance.replica import ReplicaReading

STRUCTURE = "structure"
CHANCE = "chance allows this"
UNDECIDED = "cannot tell"
# Share of the level that the bound may spend when permutations are there to spend the rest.
BOUND_SHARE = 0.1


@dataclass(frozen=True)
class Evidence:
    """The rule found and the three readings.

    `bound.log10_p` is valid under the freedoms used; `gate` is γ. `given`: the features were named by the
    user, and permutations judge the built-in search on the same data; `fixed`: they were named beforehand,
    and permutations judge them alone.
    """

    rule: Rule
    n_samples: int
    n_features: int
    bound: Bound
    gate: float
    permutation: PermutationReading | None
    replica: ReplicaReading | None
    given: bool
    fixed: bool

    @property
    def bound_convinces(self) -> bool:
        return self.bound.log10_p <= log10(self.gate)

    def deed(self) -> str:
        """What the rule does, as the beginning of a sentence."""
        many = self.rule.n_selected != 1
        who = f"{self.rule.n_selected} of {self.n_features} features"
        if self.rule.errors == 0:
            return f"{who} separate{'' if many else 's'} all {self.n_samples} samples"
        count = "1 error" if self.rule.errors == 1 else f"{self.rule.errors} errors"
        return f"{who} leave{'' if many else 's'} {count} among {self.n_samples} samples"

    def shuffled(self) -> str:
        """What the permutations saw."""
        assert self.permutation is not None
        reading = self.permutation
        who = "the same search"
        if self.fixed:
            who = "these features"
        elif self.given:
            who = f"the built-in search (M = {reading.observed.n_selected} on the true labels)"
        do = "do" if self.fixed else "does"
        return (
            f"{who} {do} as well on {reading.exceedances} of {reading.done} shuffled labellings "
            f"(p = {reading.pvalue:.2g}, Monte Carlo)"
        )


@dataclass(frozen=True)
class Verdict:
    """One word, and the sentence that says why."""

    word: str
    reason: str


def bound_share(level: float, permutations: int) -> float:
    """γ: what the bound may spend of the level."""
    return level if permutations == 0 else BOUND_SHARE * level


def overall_log10_p(log10_bound: float, spent: float, gate: float, permutation: PermutationReading | None) -> float:
    """log₁₀ of the overall p-value; `spent` is β and `gate` is γ."""
    if log10_bound <= log10(gate) or permutation is None:
        return log10_bound
    return min(0.0, log10(permutation.pvalue + spent))


def decide(evidence: Evidence, level: float, log10_p: float, trouble: str | None) -> Verdict:
    """The verdict and its reason; `trouble` says why no rule can separate, if that is plain."""
    deed, permutation, replica = evidence.deed(), evidence.permutation, evidence.replica
    if log10_p <= log10(level):
        if evidence.bound_convinces:
            at_most = format_p(evidence.bound.log10_p)
            return Verdict(STRUCTURE, f"{deed}; unrelated labels would allow that with p ≤ {at_most} (rigorous bound).")
        return Verdict(STRUCTURE, f"{deed}; {evidence.shuffled()}.")
    if permutation is not None and permutation.done > 0:
        low, high = permutation.interval
        if low > level:
            return Verdict(CHANCE, f"{deed}; {evidence.shuffled()}.")
        return Verdict(
            UNDECIDED,
            f"{deed}; {evidence.shuffled()}, and with p between {low:.2g} and {high:.2g} level {level:g} is not settled.",
        )
    if trouble is not None:
        return Verdict(UNDECIDED, trouble)
    if replica is not None and replica.chance_reaches:
        line = "2ρ" if replica.position == "below 2ρ" else "α_VS"
        value = replica.alpha_typical if line == "2ρ" else replica.alpha_chosen
        return Verdict(
            CHANCE,
            f"{deed}, but P/N = {replica.alpha:.3g} lies below {line} = {value:.3g}, where noise is "
            "separated as well "
            "(asymptotic, for independent features).",
        )
    return Verdict(
        UNDECIDED,
        f"{deed}; the bound is silent (p ≤ {format_p(evidence.bound.log10_p)}) and no permutation was run.",
    )
