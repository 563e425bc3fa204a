"""The test's sentences: what the p-value rests on, the verdict and its reason, what separates, what would change it.

The only place where readings become words.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, inf, isfinite, log10, sqrt

import numpy as np
from scipy.special import ndtri, stdtrit

from chanceline._results import Result, listed
from chanceline.chance.bound import Bound
from chanceline.perceptron.problem import contradicting_rows
from chanceline.perceptron.rule import consistent_rows
from chanceline.prediction.rule import MOST_FEATURES, PredictionRule
from chanceline.prediction.worth import ExpectedError, Firmness, Scorecard
from chanceline.significance.design import Floats
from chanceline.significance.evidence import Evidence, Proof
from chanceline.significance.permutation import PermutationReading, SpreadReading
from chanceline.significance.plan import Plan
from chanceline.significance.replica import ChanceSize, ReplicaReading
from chanceline.significance.stages import OverallP
from chanceline.tables.dataset import plural

# The verdicts, in the words that people, pages and JSON see.
STRUCTURE = "structure"
CHANCE = "chance allows this"
NOT_SHOWN = "not shown"
UNDECIDED = "cannot tell"
# "Chance allows this" is said where a feature whose class means lie so many standard deviations apart (alone it classifies 84 %
# of the samples) would have been seen with this probability.
LARGE_EFFECT, POWER = 2.0, 0.8


@dataclass(frozen=True, eq=False, repr=False)
class Separating(Result):
    """The smallest set found that separates all samples (or the features named, or the fewest errors if nothing separates).

    Attributes
    ----------
    weights, bias, text : its rule, the second class where x·w + b > 0; and the rule as a sentence.
    errors : samples on the wrong side of it.
    bound : rigorous bound for this rule, its `log10_p` including the factor for errors counted after looking.
    replica : where the set lies on the paper's diagram, None where that has no meaning; asymptotic, it never decides.
    noise_needs : how many features separate pure noise of this shape, by the same theory.
    """

    features: tuple[str, ...]
    support: tuple[int, ...]
    weights: tuple[float, ...]
    bias: float
    errors: int
    text: str
    bound: Bound
    replica: ReplicaReading | None
    n_samples: int
    n_features: int
    unavoidable: str

    kind = "rigorous bound; noise_needs asymptotic"
    _derived = ("n_selected", "separates", "noise_needs")

    @property
    def n_selected(self) -> int:
        return len(self.features)

    @property
    def separates(self) -> bool:
        return self.errors == 0

    @property
    def noise_needs(self) -> ChanceSize | None:
        return None if self.replica is None else self.replica.noise

    def summary(self) -> str:
        who = f"{self.n_selected} of {plural(self.n_features, 'feature')}"
        ending = "s" if self.n_selected == 1 else ""
        does = f"separate{ending} all {self.n_samples} samples"
        if self.errors:
            does = f"leave{ending} {plural(self.errors, 'error')} among {self.n_samples} samples{self.unavoidable}"
        parts = [f"{who} {does}"]
        if self.noise_needs is not None:
            parts.append(f"{self.noise_needs.needs()} (theory, for orientation)")
        return "; ".join(parts)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class RuleToUse(PredictionRule):
    """The rule for new samples (the positive class where x·w > threshold, the negative one else), and what to expect of it.

    Attributes
    ----------
    features : their names.
    text : the rule as a sentence, rounded so that it classifies every sample of the table the same way.
    formula : the same to paste into a spreadsheet with the features' names in row 1; empty where no formula says the same, as
        with blocks or covariates (`chanceline.significance.spreadsheet`).
    along : x·w + b of every sample of the table.
    wrong : samples of the table (counted from 0) that the rule takes for the other class.
    expected_error : of this rule on new samples, cross-validated; None if a class is too small.
    firmness : how firm the choice of every feature is; of a rule on more than thirty, of the ten with the largest weights, alone.
    stand_ins : for every feature those that replace it with at most one error more.
    alternatives : other sets of the same size that make no more errors on the table (one feature exchanged).
    scorecard, card_text : the same with small whole weights, and in words, if asked for.
    """

    features: tuple[str, ...]
    text: str
    along: Floats
    wrong: tuple[int, ...]
    expected_error: ExpectedError | None
    firmness: Firmness
    stand_ins: dict[str, tuple[str, ...]]
    alternatives: tuple[tuple[str, ...], ...]
    scorecard: Scorecard | None = None
    card_text: str = ""
    formula: str = ""

    _hidden = ("along", "firmness", "alternatives")

    def summary(self) -> str:
        large = self.dense and len(self.features) > MOST_FEATURES and not self.standing.startswith("no ")
        more = f"; no set of {MOST_FEATURES} or fewer does as well" * large
        who = f"rule of {plural(len(self.features), 'feature')}{more}" if self.features else "no feature helps"
        if (expected := self.expected_error) is None:
            return f"{who}, not cross-validated (too few samples of a class)"
        error = expected.summary()
        if expected.covariates_rate is not None:
            error += f", covariates alone {100 * expected.covariates_rate:.0f} %"
        standing, area = self.standing, f", AUC {expected.auc:.2f}" if self.features and isfinite(expected.auc) else ""
        return f"{standing}{'; ' * bool(standing)}{error}{area} ({who})"

    @property
    def standing(self) -> str:
        """The error against guessing, in words, where its interval reaches that.

        "No better" if half of the interval above the error does (about one standard error), and the
        rule does not rank samples better than guessing either; else "not clearly better".
        """
        expected = self.expected_error
        if expected is None or not expected.no_better_than_guessing:
            return ""
        near = expected.guess <= (expected.rate + expected.interval[1]) / 2
        if near and not expected.ranks_better_than_guessing:
            return "no better than guessing"
        return "not clearly better than guessing"


def unavoidable_errors(X: Floats, y: Floats) -> str:
    """How many errors equal rows with opposite labels force on any rule."""
    contrary = contradicting_rows(X, y)
    if not contrary:
        return ""
    (first, second), wrong = contrary[0], len(y) - len(consistent_rows(X, y))
    return f", {wrong} of which cannot be avoided (rows {first + 1} and {second + 1} are equal but have opposite labels)"


def exchange(plan: Plan) -> str:
    """What the null hypothesis exchanges, for a methods paragraph: "labels were permuted within 4 blocks"."""
    scheme, data = plan.scheme, plan.data
    units = plural(scheme.sizes.n_units, "sample")
    if data.groups is not None:
        units = f"{plural(scheme.sizes.n_units, 'group')}, whose rows keep one label"
    if scheme.model is not None:
        within = ""
        if scheme.sizes.blocks is not None:
            within = f" in each of {len(scheme.sizes.blocks)} blocks"
        names = listed(list(data.covariates or {}))
        return f"the labels of {units}, drawn from a logistic model of {names}, with the number of positives kept{within}"
    if plan.settings.null == "coin":
        return f"the labels of {units}, drawn by fair coins"
    if data.pairs is not None:
        return f"the labels of {units}, swapped within {len(scheme.sizes.blocks or ())} pairs"
    if scheme.sizes.blocks is not None:
        return f"the labels of {units}, permuted within {len(scheme.sizes.blocks)} blocks"
    return f"the labels of {units}, permuted, with the class sizes kept"


def detectable_effect(plan: Plan) -> float:
    """Distance of class means, in standard deviations within classes, at which one feature is seen with probability `POWER`.

    A correlation r with the labels is seen if its t-value is significant at level/N (Bonferroni: for correlated features the
    distance is rather too large), and Fisher's z of r scatters by 1/√(f − 1) with f degrees of freedom. A distance d
    between classes of shares s and 1 − s makes r² = s(1−s)d²/(1 + s(1−s)d²).
    """
    sizes, level = plan.scheme.sizes, plan.settings.level - plan.spending.before_shuffles
    blocks = sizes.blocks or ((sizes.n_units, sizes.positives),)
    spread = sum(positives * (size - positives) / size for size, positives in blocks) / sizes.n_units
    basis = plan.scheme.basis
    freedom = sizes.n_units - len(blocks) - 1 - (0 if basis is None else basis.shape[1])
    among = len(plan.features) if plan.settings.preregistered and plan.features is not None else len(plan.distinct)
    if freedom < 2 or level <= 0:
        return inf
    t = float(stdtrit(freedom, 1 - level / (2 * among)))
    seen = np.tanh(np.arctanh(t / sqrt(t**2 + freedom)) + float(ndtri(POWER)) / sqrt(freedom - 1))
    return float(seen / sqrt(spread * (1 - seen**2)))


@dataclass(frozen=True, eq=False)
class Story:
    """What was learnt, on its way to a verdict.

    Attributes
    ----------
    needed : the units with which the separating rule would convince by the bound alone.
    better : the rule to use does better than guessing by its cross-validated error, of which nobody says that chance allows it.
    """

    plan: Plan
    evidence: Evidence
    separating: Separating
    permutation: PermutationReading | None
    spread: SpreadReading | None
    proofs: tuple[Proof, ...]
    needed: int | None
    better: bool

    @property
    def unit(self) -> str:
        return "sample" if self.plan.scheme.sizes.n_units == len(self.plan.data.y) else "group"

    def decide(self, overall: OverallP) -> tuple[str, str]:
        """The verdict, and the sentences that say why."""
        if self.plan.named_after:
            return self._about_named(overall)
        if self.plan.scheme.model is not None and self.plan.scheme.model.determined:
            return UNDECIDED, f"{self.plan.scheme.model.determined}."
        reading, level, shown = self.permutation, self.plan.settings.level, f"{self.evidence.summary()}."
        if self.evidence.by == "search" and reading is not None:
            shown = (
                f"{self.evidence.summary()}; the same search does as well on {reading.exceedances} of {reading.done} shuffled "
                "labellings."
            )
        if self.evidence.spread and self.spread is not None:
            low, middle, high = self.spread.shuffled
            band = f"shuffled labels {middle:.2f} ({low:.2f}–{high:.2f})"
            shown = f"{self.evidence.summary()}: mean squared correlation, relative to chance, {self.spread.value:.2f}, {band}."
        if self.plan.data.covariates:
            shown = f"Beyond what {listed(list(self.plan.data.covariates))} explain: {shown}"
        if overall.log10_p <= log10(level):
            if (self.evidence.pvalue or 0.0) > level:
                shown += " Alone it would not convince; few and many features together do."
            return STRUCTURE, shown
        if reading is None or reading.done == 0:
            return UNDECIDED, f"{shown} The bound is silent here and no labels were shuffled."
        if reading.void:
            return UNDECIDED, (
                f"{shown} The search gave the same features for every shuffled labelling, so it does not look at the labels it "
                "is given, and shuffling them says nothing."
            )
        least = self.plan.scheme.smallest_p
        if least + self.plan.spending.before_shuffles > level:
            return UNDECIDED, (
                f"{shown} This design ({plural(self.plan.scheme.sizes.n_units, self.unit)}) can give no p-value below "
                f"{least:.2g}, whatever the data."
            )
        low, high = reading.interval
        if low <= level:
            return UNDECIDED, f"{shown} With p between {low:.2g} and {high:.2g}, level {level:g} is not settled."
        if self.evidence.by == "search":
            return NOT_SHOWN, shown
        return self._without_structure(shown)

    def _without_structure(self, shown: str) -> tuple[str, str]:
        """Chance allows it, or it is only not shown: chance is not blamed where a proof or the rule to use speaks against it."""
        unspent = [proof for proof in self.proofs if proof.log10_p <= log10(self.plan.settings.level)]
        if unspent:
            strongest = min(unspent, key=lambda proof: proof.log10_p)
            return NOT_SHOWN, (
                f"{shown} There is a proof for {strongest.about()}, but not within its share of the level; it would count "
                "had this been declared beforehand."
            )
        effect = detectable_effect(self.plan)
        if effect == inf:
            return NOT_SHOWN, f"{shown} No single feature could have been seen."
        seen = f"whose class means lie {effect:.1f} SD apart would have been seen (power {POWER:g})."
        if effect > LARGE_EFFECT:
            return NOT_SHOWN, f"{shown} Only a feature {seen}"
        return NOT_SHOWN if self.better else CHANCE, f"{shown} A feature {seen}"

    def _about_named(self, overall: OverallP) -> tuple[str, str]:
        """Features named after looking: what the bound shows about them, and what the shuffles show about the table."""
        found, reading, level = self.separating, self.permutation, self.plan.settings.level
        if overall.log10_p <= log10(level):
            return STRUCTURE, f"{self.evidence.summary()}."
        shown = f"Nothing is shown about the {plural(found.n_selected, 'feature')} named. {self.evidence.summary()}."
        if reading is None or reading.done == 0:
            return UNDECIDED, f"{shown} The bound is silent here and no labels were shuffled."
        holds = "holds structure" if reading.pvalue <= level else "shows no structure either"
        return NOT_SHOWN, f"{shown} The table as a whole {holds} (p = {reading.pvalue:.2g}, {reading.done} shuffles)."

    def advise(self, verdict: str) -> tuple[str, ...]:
        """What would change the verdict, the most useful first."""
        settings, reading = self.plan.settings, self.permutation
        if verdict == STRUCTURE:
            return (
                "structure need not be what you look for: rule out batch effects, confounders and leakage (order, site, date, "
                "preprocessing that saw the labels).",
            )
        if self.plan.named_after:
            first = "features fixed beforehand (preregistered) and tested on new samples need less."
        elif settings.candidates is not None:
            first = "permutations need all candidate features, so give the full table rather than the selected part."
        elif reading is None:
            first = f"shuffled labels would decide (permutations={max(999, ceil(10 / settings.level) - 1)})."
        elif reading.void:
            first = "give a search that selects features for the labels it is handed, or name the features."
        else:
            first = self._more_permutations(reading, verdict)
        more = ""
        if self.needed is not None and self.needed > self.plan.scheme.sizes.n_units:
            which = plural(self.separating.n_selected, "feature")
            errors = "" if self.separating.separates else f" with as many errors ({self.separating.errors})"
            more = f"with {plural(self.needed, self.unit)} of the same kind, {which}{errors} would convince by the bound alone."
        return tuple(sentence for sentence in (first, more) if sentence)

    def _more_permutations(self, reading: PermutationReading, verdict: str) -> str:
        level, spent = self.plan.settings.level, self.plan.spending.before_shuffles
        if reading.interrupted:
            return f"drawing was stopped after {reading.done} of {reading.requested} permutations; let it finish."
        if verdict != UNDECIDED or self.plan.scheme.smallest_p + spent > level:
            more = f"more {self.unit}s than {self.plan.scheme.sizes.n_units} would show smaller effects."
            return more if verdict != CHANCE else ""
        if reading.floor + spent > level:
            return f"at least {ceil(1 / (level - spent))} permutations are needed to reach level {level:g}."
        distance = max(abs(reading.pvalue - level), 0.1 * level)
        enough = max(2 * reading.requested, 100 * ceil(4 * level * (1 - level) / distance**2 / 100))
        return f"more permutations would narrow the interval (permutations={enough - 1})."
