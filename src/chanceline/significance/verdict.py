"""The verdict and the sentences that say why.

"Structure" is said where the p-value reaches the level. Where it does not, three words are kept
apart: "cannot tell" (this design, or these shuffles, could not decide), "chance allows this" (a
large effect would have been seen) and "not shown" (the rest).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from math import inf, log10

from chanceline._results import listed
from chanceline.significance.evidence import Evidence, EvidenceSource
from chanceline.significance.plan import Plan
from chanceline.significance.power import POWER, detectable_effect
from chanceline.significance.proofs import Proof
from chanceline.significance.readings import PermutationReading, SpreadMeasure, SpreadReading
from chanceline.significance.separating import Separating
from chanceline.significance.stages import OverallP
from chanceline.tables.wording import plural

# "Chance allows this" is said where a feature whose class means lie so many standard deviations
# apart would have been seen: alone it classifies 84 % of the samples.
LARGE_EFFECT = 2.0
# log₁₀ of p-values that differ by less are the same but for rounding.
SAME_LOG10_P = 1e-9
NOTHING_SHUFFLED = "The bound is silent here and no labels were shuffled."
BLIND_SEARCH = (
    "The search gave the same features for every shuffled labelling, so it does not look at the "
    "labels it is given, and shuffling them says nothing."
)


class Verdict(StrEnum):
    """The word of the test, as people, pages and JSON see it."""

    STRUCTURE = "structure"
    CHANCE = "chance allows this"
    NOT_SHOWN = "not shown"
    UNDECIDED = "cannot tell"


@dataclass(frozen=True)
class ReasonedVerdict:
    """A verdict, and what it rests on in words."""

    verdict: Verdict
    reason: str


@dataclass(frozen=True, eq=False, kw_only=True)
class Grounds:
    """What the verdict is decided on.

    Attributes
    ----------
    overall : the p-value and its stage.
    evidence : the features that are named.
    separating : the set that separates, for words only.
    permutation, spread : the shuffles; None where no labels were shuffled.
    proofs : every rigorous bound that says something.
    rule_helps : whether the rule to use is clearly better than guessing in cross-validation: of
        that nobody says that chance allows it.
    """

    plan: Plan
    overall: OverallP
    evidence: Evidence
    separating: Separating
    permutation: PermutationReading | None
    spread: SpreadReading | None
    proofs: tuple[Proof, ...]
    rule_helps: bool

    @property
    def level(self) -> float:
        return self.plan.settings.level

    @property
    def convinces(self) -> bool:
        """Whether the p-value reaches the level."""
        return self.overall.log10_p <= log10(self.level)

    @property
    def completed_permutation(self) -> PermutationReading | None:
        """The shuffles, None if none was completed."""
        if self.permutation is None or self.permutation.done == 0:
            return None
        return self.permutation

    @property
    def unit(self) -> str:
        """What labels belong to, as a noun."""
        n_samples = len(self.plan.data.y)
        return "sample" if self.plan.design.sizes.n_units == n_samples else "group"


def decide(grounds: Grounds) -> ReasonedVerdict:
    """The verdict of the test, with a sentence that gives the reason.

    It is "structure" (the p-value reaches the level), "cannot tell" (this design or these shuffles
    could not decide), "chance allows this" (a large effect would have been seen) or "not shown"
    (the rest). The first case below that applies decides.

    Parameters
    ----------
    grounds : everything that the verdict depends on: the p-value, the evidence (the features named,
        and where they come from), the shuffles, and the design of the test.
    """
    # The user named features after looking at the data: only the rigorous bound is valid for these.
    plan = grounds.plan
    if plan.named_after:
        return _verdict_on_named_features(grounds)

    # Covariates nearly determine the labels: cannot tell.
    model = plan.design.covariate_model
    if model is not None and model.nearly_determines:
        return ReasonedVerdict(Verdict.UNDECIDED, model.determined_sentence())

    # The p-value reaches the level: structure.
    evidence_sentence = evidence_in_words(grounds)
    p_reaches_level = grounds.convinces
    if p_reaches_level:
        reason = evidence_sentence + owner_of_pvalue_sentence(grounds)
        return ReasonedVerdict(Verdict.STRUCTURE, reason)

    # The shuffles could not decide: cannot tell.
    obstacle = why_undecided(grounds)
    if obstacle is not None:
        return ReasonedVerdict(Verdict.UNDECIDED, f"{evidence_sentence} {obstacle}")

    # A search of the user's own was repeated, whose power is not known: not shown.
    features_come_from_own_search = grounds.evidence.by is EvidenceSource.SEARCH
    if features_come_from_own_search:
        return ReasonedVerdict(Verdict.NOT_SHOWN, evidence_sentence)

    # Else: "chance allows this" if nothing else speaks against chance and the power of the test is
    # high enough; "not shown" if not.
    return _verdict_without_structure(grounds, evidence_sentence)


def evidence_in_words(grounds: Grounds) -> str:
    """A sentence about the features named: what they do, compared with shuffled labels.

    Parameters
    ----------
    grounds : the features named, the shuffles, and the covariates that were adjusted for.
    """
    evidence = grounds.evidence
    permutation = grounds.permutation
    spread = grounds.spread  # what all features do together; None without shuffles
    covariates = list(grounds.plan.data.covariates or {})

    text = evidence.summary()
    if evidence.by is EvidenceSource.SEARCH and permutation is not None:
        as_good = f"{permutation.exceedances} of {permutation.done}"
        text += f"; the same search does as well on {as_good} shuffled labellings"
    if evidence.spread and spread is not None:
        text += f": {_spread_in_words(spread)}"
    if covariates:
        verb = "explains" if len(covariates) == 1 else "explain"
        text = f"Beyond what {listed(covariates)} {verb}: {text}"
    return f"{text}."


def _spread_in_words(spread: SpreadReading) -> str:
    """What all features do together, beside the same on shuffled labels."""
    low, median, high = spread.shuffled
    if spread.measure is SpreadMeasure.RIDGE:
        # Small ridges fit much of any labels, so that what matters is in the third decimal.
        observed = f"fit of a ridge regression on all, relative to chance, {spread.value:.3f}"
        return f"{observed}, shuffled labels {median:.3f} ({low:.3f}–{high:.3f})"
    observed = f"mean squared correlation, relative to chance, {spread.value:.2f}"
    return f"{observed}, shuffled labels {median:.2f} ({low:.2f}–{high:.2f})"


def owner_of_pvalue_sentence(grounds: Grounds) -> str:
    """Say what the p-value of the test belongs to, if it is not that of the features named.

    The result is a sentence, or empty if there is nothing to say. There are two p-values: that of
    the test (overall), and that which the test would have by the few features named alone. The
    overall one can belong to a larger set, or to all numbers of features together.
    """
    evidence = grounds.evidence

    # 1. The features named have a p-value by shuffles, but do not convince alone.
    pvalue_by_shuffles = evidence.pvalue
    if pvalue_by_shuffles is not None and not evidence.convinces:
        return _remark_on_joint_evidence(grounds, pvalue_by_shuffles)

    # 2. They do not convince alone, and have no p-value by shuffles: nothing can be said.
    log10_p_alone = evidence.log10_p_alone  # None if they do not convince
    if log10_p_alone is None:
        return ""

    # 3. They convince alone. The overall p-value may be theirs, up to rounding, or another one.
    overall_p_is_theirs = abs(log10_p_alone - grounds.overall.log10_p) <= SAME_LOG10_P
    if overall_p_is_theirs:
        return ""
    return f" The p-value is that of {_owner_of_pvalue(grounds)}; {_convinces_alone(evidence)}."


def _convinces_alone(evidence: Evidence) -> str:
    """`g1, g2 convince alone`; or `this convinces by itself`, if it is not settled which do."""
    if evidence.unsettled:
        return "this convinces by itself"
    verb = "convinces" if len(evidence.features) == 1 else "convince"
    return f"{listed(evidence.features)} {verb} alone"


def _remark_on_joint_evidence(grounds: Grounds, pvalue: float) -> str:
    """A remark where the features named do not convince alone; nothing where they do.

    Parameters
    ----------
    pvalue : of the features named (or of the spread) alone, by shuffles.
    """
    if pvalue + grounds.plan.spending.spent_before_shuffles <= grounds.level:
        return ""
    return " Alone it would not convince; few and many features together do."


def _owner_of_pvalue(grounds: Grounds) -> str:
    """What the p-value is about: `5 features with no error`, or all sizes together."""
    for proof in grounds.proofs:
        if proof.stage is grounds.overall.stage:
            return proof.about()
    return "all numbers of features together"


def why_undecided(grounds: Grounds) -> str | None:
    """Why a p-value above the level says nothing: the sentence for an undecided verdict, or None.

    None means that the test could have reached the level, and is clearly above it.
    """
    plan = grounds.plan
    permutation = grounds.completed_permutation
    if permutation is None:
        return NOTHING_SHUFFLED
    if permutation.void:
        # The user's search gave the same features for all labels.
        return BLIND_SEARCH
    # The smallest p-value that shuffles of this design can give. The p-value of the test is larger
    # by what the proofs, which were tried before the shuffles, could spend of the level.
    smallest_p = plan.design.smallest_p
    if smallest_p + plan.spending.spent_before_shuffles > grounds.level:
        design = plural(plan.design.sizes.n_units, grounds.unit)
        limit = f"can give no p-value below {smallest_p:.2g}, whatever the data"
        return f"This design ({design}) {limit}."
    # The interval of the Monte Carlo p-value contains the level: more shuffles could decide.
    low, high = permutation.interval
    if low <= grounds.level:
        interval = f"With p between {low:.2g} and {high:.2g}"
        return f"{interval}, level {grounds.level:g} is not settled."
    return None


def _verdict_without_structure(grounds: Grounds, evidence_sentence: str) -> ReasonedVerdict:
    """The verdict if no structure is shown: "chance allows this" or "not shown".

    "Not shown" is said if a proof or the cross-validated rule speaks against chance, or if a large
    effect could have been missed.

    Parameters
    ----------
    grounds : the proofs (p-values bounded without shuffles), the level, and the design. The p-value
        of the whole test must be above the level, as `decide` makes sure.
    evidence_sentence : the features named and what they do; every reason begins with it.
    """
    # Proofs with a p-value below the level. Each may spend only a share of the level, and is not
    # below this share: else the p-value of the whole test would have reached the level.
    log10_level = log10(grounds.level)
    proofs_below_level = [proof for proof in grounds.proofs if proof.log10_p <= log10_level]
    if proofs_below_level:
        strongest = min(proofs_below_level, key=lambda proof: proof.log10_p)
        reason = (
            f"{evidence_sentence} There is a proof for {strongest.about()}, but not within its "
            "share of the level; it would count had this been declared beforehand."
        )
        return ReasonedVerdict(Verdict.NOT_SHOWN, reason)

    # The smallest effect that the test would have seen with the power `POWER`: the distance of the
    # class means of one feature, in standard deviations. Infinite if the test can see no feature.
    effect = detectable_effect(grounds.plan)
    if effect == inf:
        reason = f"{evidence_sentence} No single feature could have been seen."
        return ReasonedVerdict(Verdict.NOT_SHOWN, reason)

    effect_clause = (
        f"whose class means lie {effect:.1f} SD apart would have been seen (power {POWER:g})."
    )
    if effect > LARGE_EFFECT:
        reason = f"{evidence_sentence} Only a feature {effect_clause}"
        return ReasonedVerdict(Verdict.NOT_SHOWN, reason)
    reason = f"{evidence_sentence} A feature {effect_clause}"
    # The rule for new samples is clearly better than guessing.
    if grounds.rule_helps:
        return ReasonedVerdict(Verdict.NOT_SHOWN, reason)
    return ReasonedVerdict(Verdict.CHANCE, reason)


def _verdict_on_named_features(grounds: Grounds) -> ReasonedVerdict:
    """The verdict on features that the user named after looking at the data.

    Only the rigorous bound can prove these, because it covers all sets that could have been named.
    If it does not, the reason tells what shuffles say about the table as a whole.
    """
    summary = grounds.evidence.summary()
    if grounds.convinces:
        return ReasonedVerdict(Verdict.STRUCTURE, f"{summary}.")

    # Nothing is shown about these features. What is known about the table?
    features = plural(grounds.separating.n_selected, "feature")
    nothing_shown = f"Nothing is shown about the {features} named. {summary}."
    permutation = grounds.completed_permutation
    if permutation is None:
        return ReasonedVerdict(Verdict.UNDECIDED, f"{nothing_shown} {NOTHING_SHUFFLED}")
    whole_table = "shows no structure either"
    if permutation.pvalue <= grounds.level:
        whole_table = "holds structure"
    shuffles = f"p = {permutation.pvalue:.2g}, {permutation.done} shuffles"
    reason = f"{nothing_shown} The table as a whole {whole_table} ({shuffles})."
    return ReasonedVerdict(Verdict.NOT_SHOWN, reason)
