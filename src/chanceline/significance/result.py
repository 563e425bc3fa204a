"""What `separation_test` gives back, and how it shows itself: the verdict and what it rests on, what to expect of the rule to
use, what separates; then the rest.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from math import log10
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from chanceline._io import write_text
from chanceline._results import Result, listed, plain
from chanceline.chance.bound import chance_bound, format_p
from chanceline.errors import InputError
from chanceline.prediction.columns import as_table, columns_of
from chanceline.prediction.worth import FeatureReading, effect
from chanceline.significance.config import TestSettings
from chanceline.significance.design import Floats
from chanceline.significance.evidence import Evidence, Proof
from chanceline.significance.permutation import FrontReading, PermutationReading, SpreadReading
from chanceline.significance.plan import FeatureBound
from chanceline.significance.stages import AlphaSpending, Stage
from chanceline.significance.text import STRUCTURE, RuleToUse, Separating
from chanceline.tables.columns import plain_text
from chanceline.tables.dataset import Finding, plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Where the fields of version 0.2 are now; they are read from there for one version more.
MOVED = {
    "n_selected": "separating.n_selected",
    "features": "separating.features",
    "support": "separating.support",
    "weights": "separating.weights",
    "bias": "separating.bias",
    "errors": "separating.errors",
    "separates": "separating.separates",
    "rule_text": "separating.text",
    "bound": "separating.bound",
    "replica": "separating.replica",
    "decisive": "evidence",
    "expected_error": "rule.expected_error",
}
# Other sets that JSON lists.
MOST_SETS = 20
# Letters in a line of the text, and in front of a row's words.
WIDTH = 98
NAME_WIDTH = 13


@dataclass(frozen=True, eq=False, repr=False)
class SeparationTest(Result):
    """Verdict, p-value and what they rest on.

    Attributes
    ----------
    verdict
        "structure", "chance allows this", "not shown" or "cannot tell".
    pvalue, log10_pvalue
        The overall p-value (`chanceline.significance.stages` has the proof that it is valid). For features named after looking
        it is the bound's, which alone speaks about them.
    stage
        What gave the p-value: a proof, or the shuffles.
    reason
        What the verdict rests on, in words.
    evidence
        The features that the p-value rests on: `k`, `features`, `errors`, `shuffled`.
    rule
        The rule to use on new samples: `features`, `weights`, `threshold`, `expected_error`; None with a search of one's own, or
        if it was not asked for.
    separating
        The smallest set found that separates everything: `features`, `errors`, `bound`, `noise_needs`.
    front
        For every number of features: the fewest errors known, R² of least squares, the same on shuffled labels, adjusted
        p-value.
    spread
        All features together, each a little: the evidence that no small set holds. None without shuffles.
    feature_bound
        Rigorous bound for the one feature that goes best with the labels; None where features were named or the bound for the
        separating set convinced.
    proofs
        Every rigorous bound that says something, with what it is about; `stage` names the one that gave the p-value, if one did.
    exchange
        What the null hypothesis exchanges, in words.
    permutation
        Monte Carlo reading, None if it was not run (the bound convinced, or `permutations=0`).
    classes
        The negative and the positive class. Rules predict the positive one, and every sign of a weight, difference of means, AUC
        and sensitivity speaks of it (`chanceline.tables.classes` says which it is).
    scores, labels
        Every sample along the rule to use (x·w + b; along the separating rule where there is none) and its label ±1.
    columns, alone
        Values of the features of these sets, by name; and the adjusted p-value of each alone, where labels were shuffled.
    largest_convincing, samples_needed
        The largest set that the bound would accept, and the samples (or groups) with which this one would convince.
    advice
        What would change the verdict.
    findings
        What is worth knowing about the data.
    interrupted
        Ctrl-C ended the shuffles or the cross-validation early; what is here is valid.
    settings
        Every setting in force; `spending` has what the stages of the test may spend of the level.
    """

    verdict: str
    pvalue: float
    log10_pvalue: float
    stage: Stage
    reason: str
    evidence: Evidence
    rule: RuleToUse | None
    separating: Separating
    front: tuple[FrontReading, ...]
    spread: SpreadReading | None
    feature_bound: FeatureBound | None
    proofs: tuple[Proof, ...]
    exchange: str
    permutation: PermutationReading | None
    n_samples: int
    n_features: int
    n_distinct: int
    positives: int
    classes: tuple[Any, Any]
    scores: Floats
    labels: Floats
    columns: dict[str, Floats]
    alone: dict[str, float]
    largest_convincing: int
    samples_needed: int | None
    advice: tuple[str, ...]
    findings: tuple[Finding, ...]
    interrupted: bool
    settings: TestSettings
    spending: AlphaSpending
    errors_declared: int | None
    n_units: int
    n_blocks: int
    kind: str = "significance test"

    _derived = ("positive_class",)
    _hidden = ("scores", "labels", "columns", "alone", "spending", "errors_declared", "n_units", "n_blocks")

    def __getattr__(self, name: str) -> Any:
        if name not in MOVED:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        warnings.warn(f"{name} is now {MOVED[name]}.", DeprecationWarning, stacklevel=2)
        return self._moved(name)

    def _moved(self, name: str) -> Any:
        value: Any = self
        for part in MOVED[name].split("."):
            value = getattr(value, part, None)
        return value

    @property
    def class_names(self) -> tuple[str, str]:
        """The classes in words: `1` for 1.0."""
        return plain_text(self.classes[0]), plain_text(self.classes[1])

    @property
    def positive_class(self) -> str:
        """The class that rules predict above their threshold, in words."""
        return self.class_names[1]

    def predict(
        self,
        X: Any,
        *,
        blocks: ArrayLike | None = None,
        covariates: Any = None,
    ) -> NDArray[Any]:
        """The class of every row, of shape (rows,), by the rule to use.

        Where there is none, it is by the rule of the separating set.

        Parameters
        ----------
        X
            The columns of the table tested, in their order and after the same transform; or a
            DataFrame, of which those that the rule knows by name are taken: features, covariates,
            and the column of blocks or pairs.
        blocks
            The block (or pair) of every row, one of those of the table tested. Without blocks the
            threshold is that of the average block.
        covariates
            A DataFrame or a mapping with the covariates by name, or an array in the order of
            `adjust`, as they were in the table tested: text as text, numbers in the same units.
        """
        positive = self._scores(as_table(X), blocks, covariates) > 0
        return np.where(positive, np.array(self.classes[1:]), np.array(self.classes[:1]))

    def score(
        self,
        X: Any,
        y: ArrayLike,
        *,
        blocks: ArrayLike | None = None,
        covariates: Any = None,
    ) -> float:
        """Share of rows of X that are predicted to be of their class; see `predict`."""
        positive = self._scores(as_table(X), blocks, covariates) > 0
        return float(np.mean(positive == self._is_positive(y)))

    def _scores(self, table: Any, blocks: ArrayLike | None, covariates: Any) -> Floats:
        """x·w + b of every row, by the rule to use or that of the separating set."""
        used = self.rule or self.separating
        support = np.array(used.support, dtype=np.int64)
        columns = columns_of(table, support, used.features, self.n_features)
        if self.rule is not None:
            return self.rule.scores_of(columns, table, blocks, covariates)
        return columns @ np.array(self.separating.weights) + self.separating.bias

    def _is_positive(self, y: ArrayLike) -> NDArray[np.bool_]:
        """Which labels are those of the positive class, however they are written."""
        negative, positive = self.class_names
        names = [plain_text(label) for label in np.asarray(y).tolist()]
        unknown = [name for name in names if name not in (negative, positive)]
        # One class may have been set against all others.
        if unknown and negative != "others":
            classes = f"{negative} from {positive}"
            raise InputError(f"y has the class {unknown[0]!r}, but the rule tells {classes}.")
        return np.array([name == positive for name in names])

    @property
    def null_distribution(self) -> Floats:
        """Set sizes that separate shuffled labels, ∞ where none was found; empty without permutations."""
        sizes = self.permutation.null_sizes if self.permutation is not None else ()
        return np.array([np.inf if size is None else size for size in sizes], dtype=float)

    @property
    def alternatives(self) -> tuple[tuple[str, ...], ...]:
        """Other sets of features that do as well as those of the rule to use."""
        return () if self.rule is None else self.rule.alternatives

    @property
    def explorer(self) -> str:
        """What to write after the explorer's address (`chanceline explore`) to see the separating set there.

        Empty where there is no set, and where the explorer would prove what the bound of this test does not: it knows no blocks
        and no covariates, and takes the errors as fixed beforehand.
        """
        found = self.separating.bound
        errors = min(self.separating.errors, found.n_samples - 1)
        if self.separating.n_selected == 0:
            return ""
        there = chance_bound(
            found.n_samples,
            found.n_features,
            found.n_selected,
            errors=errors,
            positives=found.positives,
            null=found.null,
            intercept=found.intercept,
        )
        if there.log10_p <= log10(self.settings.level) < found.log10_p:
            return ""
        numbers = {
            "N": found.n_features,
            "P": found.n_samples,
            "M": found.n_selected,
            "positives": found.positives or "",
            "errors": errors,
            "level": self.settings.level,
            "null": found.null,
            "intercept": "yes" if found.intercept else "no",
        }
        return f"#{urlencode(numbers)}"

    def to_frame(self) -> pd.DataFrame:
        """Every feature of the sets above, the heaviest of the rule to use first.

        `weight` in the rule for one standard deviation, above 0 if large values speak for the positive class; `selected`, the
        share of halves of the samples in which the same procedure takes the feature; `difference` of the class means in standard
        deviations, positive less negative class; `auc` (above one half if the feature is larger in the positive class) and
        `adjusted_p` of the feature alone; the sets it is in; and its `stand_ins`, which replace it with at most one error more.
        """
        rule, labels = self.rule, self.labels > 0
        firm = {} if rule is None else dict(zip(rule.stand_ins, rule.firmness.readings, strict=True))
        weights = {} if rule is None else dict(zip(rule.features, rule.weights.tolist(), strict=True))
        heavy = {name: weights.get(name, 0.0) * float(values.std()) for name, values in self.columns.items()}
        read = {name: firm.get(name) or FeatureReading(-1, np.nan, *effect(self.columns[name], labels), ()) for name in heavy}
        return pd.DataFrame(
            {
                "feature": name,
                "weight": heavy[name],
                "selected": read[name].selected,
                "difference": read[name].difference,
                "auc": read[name].auc,
                "adjusted_p": self.alone.get(name, np.nan),
                "evidence": name in self.evidence.features,
                "rule": name in weights,
                "separating": name in self.separating.features,
                "stand_ins": ", ".join(rule.stand_ins.get(name, ()) if rule else ()),
            }
            for name in sorted(heavy, key=lambda name: -abs(heavy[name]))
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; the settings with what follows from them, and for one version the old names."""
        settings = self.settings.to_dict()
        in_force = {
            **settings,
            "search": settings["search"] or settings["method"],
            "errors": self.errors_declared,
            "units": self.n_units,
            "blocks": self.n_blocks,
            "bound_share": self.spending.stage1_level,
            "bound_spent": self.spending.stage1_used,
            "later_share": self.spending.stage2_level,
        }
        return {
            **super().to_dict(),
            "alternatives": plain(self.alternatives[:MOST_SETS]),
            "n_alternatives": len(self.alternatives),
            "null_distribution": [] if self.permutation is None else list(self.permutation.null_sizes),
            "explorer": self.explorer,
            "settings": in_force,
            **{name: plain(self._moved(name)) for name in MOVED},
        }

    def summary(self) -> str:
        """One line: the word, p, and what it rests on."""
        return f"{self.verdict}, {self.in_p()}: {self.evidence.summary()}"

    def in_p(self) -> str:
        """The p-value with the sign that it deserves."""
        return f"p {'≤' if self.stage.rigorous else '='} {format_p(self.log10_pvalue)}"

    def story(self) -> tuple[str, ...]:
        """The verdict and what it rests on, what to expect of the rule to use, what separates: one sentence or two for each."""
        expected = () if self.rule is None else (f"New samples: {self.rule.summary()}.",)
        return f"{self.verdict.upper()}, {self.in_p()}. {self.reason}", *expected, f"Separation: {self.separating.summary()}."

    def checks(self, *kinds: str) -> list[str]:
        """What was found about the data: warnings, which bear on the verdict, or findings of other kinds."""
        return [finding.message for finding in self.findings if finding.severity in (kinds or ("warning",))]

    def __str__(self) -> str:
        return render(self)

    # Figures and pages are built on results: the one place where a module below loads those above, when they are asked for.
    def _repr_html_(self) -> str:
        from chanceline.report.separation import notebook_card

        return notebook_card(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """The front with the band of shuffled labels, on the given or on new axes."""
        import matplotlib.pyplot as plt

        from chanceline.figures.significance import draw_test

        if ax is None:
            _, ax = plt.subplots(figsize=(7.5, 4.4), layout="constrained")
        draw_test(ax, self)
        return ax

    def to_html(self, path: str | Path | None = None) -> str:
        """The report as one self-contained page, also written to a file if its path is given."""
        from chanceline.report.separation import separation_page

        page = separation_page(self).render()
        if path is not None:
            write_text(path, page)
        return page


def render(result: SeparationTest) -> str:
    """The text of a result, no line over a hundred letters: one p-value in front, how it was made further down."""
    warned = result.checks()
    lines = _bullets("Data checks that bear on the verdict:", warned)[1:]
    if warned:
        lines.append("")
    lines += [fill(sentence, WIDTH, subsequent_indent="  ", break_on_hyphens=False) for sentence in result.story()]
    who = f"{result.positive_class} ({result.positives} of {result.n_samples} samples)"
    lines += ["", _row("positive", f"{who}: rule, weights, AUC and sensitivity speak of it")]
    if result.rule is not None and not result.rule.standing.startswith("no "):
        short = len(result.rule.features) <= 6 or result.rule.dense
        lines += [_row("rule", result.rule.text if short else listed(result.rule.features, 12))]
        # In pieces it could not be pasted.
        if 0 < len(result.rule.formula) <= WIDTH - NAME_WIDTH:
            lines += [f"  {'formula':<10} {result.rule.formula}"]
    if result.rule is not None and result.rule.card_text:
        lines += [_row("scorecard", result.rule.card_text)]
    if result.front:
        lines += ["", *_front_lines(result)]
    lines += ["", "How the p-value was made:", *(_row(*reading) for reading in readings(result))]
    lines += _bullets("Before relying on it:" if result.verdict == STRUCTURE else "What would change this:", result.advice)
    return "\n".join([*lines, *_bullets("Data checks:", result.checks("note", "prepared"))])


def _row(name: str, words: str) -> str:
    return fill(words, WIDTH, initial_indent=f"  {name:<10} ", subsequent_indent=" " * NAME_WIDTH, break_on_hyphens=False)


def _bullets(heading: str, sentences: Any) -> list[str]:
    listing = [fill(one, WIDTH, initial_indent="  - ", subsequent_indent="    ", break_on_hyphens=False) for one in sentences]
    return ["", heading, *listing] if listing else []


PROOF_NAMES = {
    Stage.DECLARED_ERRORS: "bound",
    Stage.COUNTED_ERRORS: "errors",
    Stage.ONE_FEATURE: "feature",
}
# Proofs that say less are not worth a line.
LEAST_TOLD = -1.0


def readings(result: SeparationTest) -> list[tuple[str, str]]:
    """What the p-value was made of: every proof with what it is about, and the shuffles; the one that gave it says so."""
    told = [proof for proof in result.proofs if proof.log10_p <= LEAST_TOLD or proof.stage is result.stage]
    rows = [(PROOF_NAMES[proof.stage], _proof_words(result, proof)) for proof in told]
    if not any(proof.stage is Stage.DECLARED_ERRORS for proof in told):
        rows.insert(0, ("bound", _silent_bound(result)))
    return [*rows, ("shuffles", _shuffles_words(result))]


def _proof_words(result: SeparationTest, proof: Proof) -> str:
    """`p ≤ 2.3e-4 for 2 features with no error (rigorous); it gave the p-value`."""
    text = f"p ≤ {format_p(proof.log10_p)} for {proof.about()} (rigorous); "
    if proof.stage is result.stage:
        return text + "it gave the p-value"
    return text + f"it would decide at {proof.share:.2g} or less"


def _silent_bound(result: SeparationTest) -> str:
    """Why the bound for the errors declared says nothing."""
    found, declared, reading = result.separating, result.errors_declared, result.permutation
    if reading is not None and reading.kind != "Monte Carlo":
        return "none: labels are drawn from a model of the covariates"
    if declared is not None and found.errors > declared:
        return f"none: {plural(found.errors, 'error')} where {declared} were allowed"
    if result.largest_convincing == 0:
        return "uninformative at this size"
    most = "1 feature" if result.largest_convincing == 1 else f"at most {result.largest_convincing} features"
    return f"uninformative here; could reach {result.settings.level:g} only with {most}"


def _shuffles_words(result: SeparationTest) -> str:
    reading, settings = result.permutation, result.settings
    if reading is None:
        return "not needed" if settings.permutations and settings.candidates is None else "not run"
    text = f"{reading.summary()} ({reading.kind})"
    sizes = sorted(size for size in reading.null_sizes if size is not None)
    if sizes and reading.statistic == "search":
        text += f"; the search needs {sizes[len(sizes) // 2]} ({sizes[0]}–{sizes[-1]}) features where it separates"
    if result.stage is Stage.SHUFFLES:
        spent = result.spending.before_shuffles
        text += f"; it gave the p-value, with {spent:.1g} for the proofs that came before"
    return text


def _front_lines(result: SeparationTest) -> list[str]:
    """The front as a small table."""
    lines = ["  features   fewest errors   R²     R² of shuffled labels   adjusted p"]
    for point in result.front:
        band = "" if point.shuffled is None else str(point.shuffled)
        pvalue = "" if point.pvalue is None else f"{point.pvalue:.2g}"
        line = f"  {point.k:>8}   {point.errors:>13}   {point.explained:.2f}   {band:<21}   {pvalue}"
        lines.append(line.rstrip())
    return lines
