"""The test's sentences: verdict and reason, what would change it, the rule. The only place where the readings become words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, log10

import numpy as np

from chanceline.chance.bound import Bound, format_p
from chanceline.perceptron.problem import contradicting_rows
from chanceline.perceptron.rule import Rule, consistent_rows
from chanceline.significance.design import Bools, Floats
from chanceline.significance.permutation import FrontReading, PermutationReading, SpreadReading
from chanceline.significance.plan import Plan

# The three verdicts, in the words that people, pages and JSON see.
STRUCTURE = "structure"
CHANCE = "chance allows this"
UNDECIDED = "cannot tell"
FEWEST_DIGITS = 3
MOST_DIGITS = 17


def counted(number: int, thing: str) -> str:
    """`1 error`, `3 errors`."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


@dataclass(frozen=True, eq=False)
class Evidence:
    """The rule found and what was learnt about it.

    Attributes
    ----------
    bound : its `log10_p` is valid under the freedoms used.
    later : log₁₀ p of the second stage (errors counted after looking).
    point : where the front stands out most, None without shuffles or where the spread stands out more.
    largest : the largest set that the bound would accept.
    needed : the units with which this rule would convince by the bound alone.
    """

    plan: Plan
    rule: Rule
    bound: Bound
    later: float
    permutation: PermutationReading | None
    point: FrontReading | None
    spread: SpreadReading | None
    largest: int
    needed: int | None

    def decide(self, log10_p: float) -> tuple[str, str]:
        """The verdict, and the sentence that says why."""
        if self.plan.named_after:
            return self._about_named()
        does, reading, level = self._does(), self.permutation, self.plan.settings.level
        if log10_p <= log10(level):
            spending = self.plan.spending
            by_bound = spending.convinces(self.bound.log10_p) or spending.later_convinces(self.later)
            return STRUCTURE, f"{does}; {_unrelated(log10_p) if by_bound else self._shuffled()}."
        if reading is None or reading.done == 0:
            return UNDECIDED, f"{does}; the bound is silent (p ≤ {format_p(self.bound.log10_p)}) and no labels were shuffled."
        if reading.void:
            return UNDECIDED, (
                f"{does}; the search gave the same features for every shuffled labelling, so it does not look at the labels it "
                "is given, and shuffling them says nothing."
            )
        low, high = reading.interval
        if low > level:
            return CHANCE, f"{does}; {self._shuffled()}."
        return (
            UNDECIDED,
            f"{does}; {self._shuffled()}, and with p between {low:.2g} and {high:.2g} level {level:g} is not settled.",
        )

    def _does(self) -> str:
        """What the rule does, as the beginning of a sentence."""
        rule, X, y = self.rule, self.plan.data.X, self.plan.data.y
        who, ending = f"{rule.n_selected} of {len(self.plan.data.feature_names)} features", "s" * (rule.n_selected == 1)
        if rule.errors == 0:
            return f"{who} separate{ending} all {len(y)} samples"
        does = f"{who} leave{ending} {counted(rule.errors, 'error')} among {len(y)} samples"
        contrary = contradicting_rows(X, y)
        if not contrary:
            return does
        (first, second), wrong = contrary[0], len(y) - len(consistent_rows(X, y))
        return (
            f"{does}, {wrong} of which cannot be avoided (rows {first + 1} and {second + 1} are equal but have opposite labels)"
        )

    def _shuffled(self) -> str:
        """What the permutations saw."""
        assert self.permutation is not None
        reading, point = self.permutation, self.point
        if point is None and self.spread is not None:
            low, middle, high = self.spread.shuffled
            return (
                f"the evidence is spread over many features: their mean squared correlation with the labels is "
                f"{self.spread.value:.2f} times what chance gives on average, where shuffled labels give {middle:.2f} "
                f"({low:.2f} to {high:.2f}); p = {reading.pvalue:.2g}, Monte Carlo"
            )
        if point is None or point.shuffled is None:
            return (
                f"the same search does as well on {reading.exceedances} of {reading.done} shuffled labellings "
                f"(p = {reading.pvalue:.2g}, Monte Carlo)"
            )
        band, who = point.shuffled, ""
        if self.plan.settings.preregistered:
            who = "these " if point.k == self.rule.n_selected else "the best found "
        return (
            f"{who}{counted(point.k, 'feature')} leave{'s' * (point.k == 1)} {counted(point.errors, 'error')} by least squares, "
            f"where shuffled labels leave {band.median} ({band.low} to {band.high}); p = {reading.pvalue:.2g}, Monte Carlo"
        )

    def _about_named(self) -> tuple[str, str]:
        """Features named after looking: what the bound shows about them, and what the shuffles show about the table."""
        rule, reading, level = self.rule, self.permutation, self.plan.settings.level
        names = self.plan.names_of(rule.support)
        named = ", ".join(names[:4]) + ", …" * (len(names) > 4)
        which = f"the feature named ({named})" if rule.n_selected == 1 else f"the {rule.n_selected} features named ({named})"
        errors = "no error" if rule.errors == 0 else counted(rule.errors, "error")
        done, log10_p = f"{errors} among {len(self.plan.data.y)} samples", self.bound.log10_p
        if log10_p <= log10(level):
            return STRUCTURE, f"{which} leave{'s' * (rule.n_selected == 1)} {done}; {_unrelated(log10_p)}."
        nothing = f"nothing is shown about {which}: {done}, p ≤ {format_p(log10_p)} by the bound"
        if reading is None or reading.done == 0:
            return UNDECIDED, f"{nothing}, and no labels were shuffled."
        if reading.pvalue <= level:
            return UNDECIDED, f"{nothing}. The table as a whole holds structure: {self._shuffled()}."
        if reading.interval[0] > level:
            return CHANCE, f"{nothing}. Chance would allow the table as a whole: {self._shuffled()}."
        return UNDECIDED, f"{nothing}. About the table as a whole nothing is settled: {self._shuffled()}."

    def advise(self, verdict: str) -> tuple[str, ...]:
        """What would change the verdict, the most useful first."""
        settings, reading = self.plan.settings, self.permutation
        if verdict == STRUCTURE:
            return (
                "structure need not be what you look for: rule out batch effects, confounders and leakage "
                "(order, site, date, preprocessing that saw the labels).",
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
        return tuple(sentence for sentence in (first, *self._by_the_bound()) if sentence)

    def _by_the_bound(self) -> tuple[str, str]:
        """Fewer features, more samples."""
        fewer = more = ""
        rule, n_units = self.rule, self.plan.scheme.sizes.n_units
        units = "samples" if n_units == len(self.plan.data.y) else "groups"
        if rule.separates and not self.plan.settings.preregistered and rule.n_selected > self.largest:
            features = counted(self.largest, "feature")
            fewer = f"a set of at most {features} would convince by the bound: a longer search may find one."
            if self.largest == 0:
                fewer = f"no set, however small, would convince by the bound with {n_units} {units}."
        if self.needed is not None and self.needed > n_units:
            which = counted(rule.n_selected, "feature") + ("" if rule.separates else f" with as many errors ({rule.errors})")
            more = f"with {self.needed} {units} of the same kind, {which} would convince by the bound alone."
        return fewer, more

    def _more_permutations(self, reading: PermutationReading, verdict: str) -> str:
        level, spent = self.plan.settings.level, self.plan.spending.spent + self.plan.spending.later
        if reading.interrupted:
            return f"drawing was stopped after {reading.done} of {reading.requested} permutations; let it finish."
        if verdict == CHANCE:
            return ""
        if spent >= level:
            return "no number of permutations can help: the level is spent on the bound already."
        if reading.floor + spent > level:
            return f"at least {ceil(1 / (level - spent))} permutations are needed to reach level {level:g}."
        if not reading.interval[0] <= level <= reading.interval[1]:
            return ""
        distance = max(abs(reading.pvalue - level), 0.1 * level)
        enough = max(2 * reading.requested, 100 * ceil(4 * level * (1 - level) / distance**2 / 100))
        return f"more permutations would narrow the interval (permutations={enough - 1})."


def _unrelated(log10_p: float) -> str:
    return f"unrelated labels would allow that with p ≤ {format_p(log10_p)} (rigorous bound)"


def predicted_positive(X: Floats, support: Sequence[int], weights: Sequence[float], bias: float) -> Bools:
    """Which samples the rule calls positive; one on the threshold is not."""
    return X[:, list(support)] @ np.asarray(weights, dtype=float) > -bias


def scaled(weights: Sequence[float] | Floats, bias: float) -> tuple[Floats, float]:
    """Weights and threshold as the sentence has them: divided by the largest weight, unless all are zero."""
    values = np.asarray(weights, dtype=float)
    largest = float(np.abs(values).max(initial=0.0)) or 1.0
    return values / largest, -bias / largest


def rule_sentence(rule: Rule, X: Floats, names: Sequence[str], positive: object) -> str:
    """The rule with as few digits as classify every sample of X the same way (three at least)."""
    if not np.any(rule.weights):
        return f"predict {positive} always" if rule.bias > 0 else f"predict {positive} never"
    weights, threshold = scaled(rule.weights, rule.bias)
    wanted = predicted_positive(X, rule.support.tolist(), rule.weights.tolist(), rule.bias)
    for digits in range(FEWEST_DIGITS, MOST_DIGITS + 1):
        shown, limit = [_rounded(weight, digits) for weight in weights], _rounded(threshold, digits)
        if np.array_equal(predicted_positive(X, rule.support.tolist(), [float(w) for w in shown], -float(limit)), wanted):
            break
    else:
        # Dividing by the largest weight costs the last digit, and here it matters.
        shown, limit = [repr(float(weight)) for weight in rule.weights], repr(float(-rule.bias))
    return f"predict {positive} if {_combination(shown, [names[j] for j in rule.support])} > {limit.replace('-', '−')}"


def _rounded(value: float, digits: int) -> str:
    text = f"{value:.{digits}g}"
    return "0" if float(text) == 0 else text


def _combination(weights: Sequence[str], names: Sequence[str]) -> str:
    """`0.52·g1 − 0.31·g7`; features that weigh nothing are left out."""
    text = ""
    for weight, name in zip(weights, names, strict=True):
        if float(weight) == 0:
            continue
        sign = "−" if weight.startswith("-") else "+"
        size = weight.lstrip("-").replace("-", "−")
        # A name that begins like a number needs its weight beside it.
        term = name if size == "1" and not name[:1].isdigit() else f"{size}·{name}"
        text += f" {sign} {term}" if text else f"−{term}" if sign == "−" else term
    return text
