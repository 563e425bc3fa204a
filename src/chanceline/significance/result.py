"""What `separation_test` gives back: the verdict, what it rests on, what can be done with it.

How it looks in a terminal: `text_output`; as a table of features: `features_table`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log10
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from chanceline._arrays import Floats
from chanceline._io import write_text
from chanceline._results import Result, plain
from chanceline.chance.bound import chance_bound, format_p
from chanceline.errors import InputError
from chanceline.prediction.columns import as_table, columns_of
from chanceline.significance.config import TestSettings
from chanceline.significance.evidence import Evidence
from chanceline.significance.named_features import NamedFeature
from chanceline.significance.plain_sentence import (
    PlainFacts,
    expected_of_100,
    plain_sentence,
    standing_of_rule,
)
from chanceline.significance.proofs import Proof
from chanceline.significance.readings import (
    PermutationReading,
    SizeReading,
    SpreadReading,
)
from chanceline.significance.rule_inputs import RuleInputs
from chanceline.significance.rule_to_use import RuleToUse
from chanceline.significance.separating import Separating
from chanceline.significance.single_feature import FeatureBound
from chanceline.significance.stages import AlphaSpending, Stage
from chanceline.significance.unfinished import Unfinished
from chanceline.significance.verdict import Verdict
from chanceline.tables.dataset import Finding, Severity
from chanceline.tables.spelling import plain_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from chanceline.cohort.confirmation import Confirmation

# Other sets that JSON lists.
MAX_ALTERNATIVES = 20


@dataclass(frozen=True, eq=False, repr=False)
class SeparationTest(Result):
    """Verdict, p-value and what they rest on.

    Attributes
    ----------
    verdict
        "structure", "chance allows this", "not shown" or "cannot tell".
    pvalue, log10_pvalue
        The overall p-value (`chanceline.significance.stages` has the proof that it is valid). For
        features named after looking it is the bound's, which alone speaks about them.
    stage
        What gave the p-value: a proof, or the shuffles.
    reason
        What the verdict rests on, in words.
    evidence
        The features that the first line names, the smallest set that convinces by itself: `k`,
        `features`, `errors`, `shuffled`, `additions`. `proofs` has the set of the p-value where
        that is another one.
    named
        For each of these features what it adds to the others, and how often halves select it.
    rule
        The rule to use on new samples: `features`, `weights`, `threshold`, `expected_error`; None
        with a search of one's own, or if it was not asked for.
    reconciliation
        How the verdict goes with what cross-validation says of the rule, where the two seem to
        contradict each other; else empty.
    separating
        The smallest set found that separates everything: `features`, `errors`, `bound`,
        `noise_needs`.
    front
        For every number of features: the fewest errors known, R² of least squares, the same on
        shuffled labels, adjusted p-value.
    spread
        All features together: the evidence that no small set holds. None without shuffles.
    feature_bound
        Rigorous bound for the one feature that goes best with the labels; None where features were
        named or the bound for the separating set convinced.
    proofs
        Every rigorous bound that says something, with what it is about; `stage` names the one that
        gave the p-value, if one did.
    exchange
        What the null hypothesis exchanges, in words.
    permutation
        Monte Carlo reading, None if it was not run (the bound convinced, or `permutations=0`).
    n_samples, n_features, n_distinct, positives
        Shape of the table, its distinct columns, and the samples of the positive class.
    classes
        The negative and the positive class. Rules predict the positive one, and every sign of a
        weight, difference of means, AUC and sensitivity speaks of it (`chanceline.tables.classes`
        says which it is).
    scores, labels
        Every sample along the rule to use (x·w + b; along the separating rule where there is none)
        and its label ±1, both of shape (samples,).
    columns, marginal_pvalues
        Values of the features of these sets, by name; and the adjusted p-value of each feature by
        itself, where labels were shuffled.
    largest_convincing, samples_needed
        The largest set that the bound would accept, and the samples (or groups) with which this
        one would convince.
    advice
        What would change the verdict.
    findings
        What is worth knowing about the data.
    interrupted
        Ctrl-C ended the shuffles or the cross-validation early; what is here is valid.
    unfinished
        Why something is missing, where the machine could not do it; None if nothing is.
    settings
        Every setting in force; `spending` has what the stages of the test may spend of the level.
    errors_declared
        Errors allowed beforehand, None if they were counted after looking.
    n_units, n_blocks
        Samples (or groups) whose labels are exchanged, and the blocks within which they are.
    labels_from_model
        Whether labels are drawn from a model of covariates instead of being exchanged.
    n_named, covariates
        How many features the user named (None where all were asked about), and the names of what
        the test adjusts for.
    inputs
        What the rules take in, for samples of another table: how cells become numbers.
    """

    verdict: Verdict
    pvalue: float
    log10_pvalue: float
    stage: Stage
    reason: str
    evidence: Evidence
    named: tuple[NamedFeature, ...]
    rule: RuleToUse | None
    reconciliation: str
    separating: Separating
    front: tuple[SizeReading, ...]
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
    marginal_pvalues: dict[str, float]
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
    labels_from_model: bool
    n_named: int | None
    covariates: tuple[str, ...]
    inputs: RuleInputs
    unfinished: Unfinished | None = None
    kind: str = "significance test"

    _derived = ("positive_class",)
    _former = MappingProxyType({"alone": "marginal_pvalues"})
    _hidden = (
        "scores",
        "labels",
        "columns",
        "marginal_pvalues",
        "spending",
        "errors_declared",
        "n_units",
        "n_blocks",
        "labels_from_model",
        "n_named",
        "covariates",
        "inputs",
        "unfinished",
    )

    @property
    def class_names(self) -> tuple[str, str]:
        """The classes in words: `1` for 1.0."""
        negative, positive = self.classes
        return plain_text(negative), plain_text(positive)

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
        is_positive = self._scores(as_table(X), blocks, covariates) > 0
        negative, positive = self.classes
        return np.where(is_positive, np.array([positive]), np.array([negative]))

    def score(
        self,
        X: Any,
        y: ArrayLike,
        *,
        blocks: ArrayLike | None = None,
        covariates: Any = None,
    ) -> float:
        """Share of rows of X that are predicted to be of their class; see `predict`."""
        is_positive = self._scores(as_table(X), blocks, covariates) > 0
        return float(np.mean(is_positive == self._is_positive(y)))

    def _scores(self, table: Any, blocks: ArrayLike | None, covariates: Any) -> Floats:
        """x·w + b of every row, (rows,), by the rule to use or that of the separating set."""
        if self.rule is not None:
            columns = columns_of(table, self.rule.support, self.rule.features, self.n_features)
            return self.rule.scores_of(columns, table, blocks, covariates)
        support = np.array(self.separating.support, dtype=np.int64)
        columns = columns_of(table, support, self.separating.features, self.n_features)
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

    def save(self, path: str | Path) -> None:
        """Write the rule and all that new samples need to a JSON file, for `load_result`."""
        from chanceline.cohort.result_file import save_result

        save_result(self, path)

    def confirm(self, data: Any, label: str | None = None, **options: Any) -> Confirmation:
        """The rule as it is on a second cohort: see `chanceline.cohort.SavedResult.confirm`.

        Parameters
        ----------
        data
            A file or a table of new samples, with the columns that the rule needs.
        label
            The column of the classes; by default as in the table tested.
        options
            `rule`, and settings of `load_data` such as ``groups="subject"``.
        """
        from chanceline.cohort.saved_result import saved_result

        return saved_result(self).confirm(data, label, **options)

    @property
    def null_distribution(self) -> Floats:
        """Set sizes that separate shuffled labels, ∞ where none was found, (shuffles,).

        Empty without permutations.
        """
        if self.permutation is None:
            return np.zeros(0)
        sizes = [np.inf if size is None else size for size in self.permutation.null_sizes]
        return np.array(sizes, dtype=float)

    @property
    def alternatives(self) -> tuple[tuple[str, ...], ...]:
        """Other sets of features that do as well as those of the rule to use."""
        if self.rule is None:
            return ()
        return self.rule.alternatives

    @property
    def explorer(self) -> str:
        """The URL fragment `#N=…&P=…` that opens the explorer at the separating set.

        The explorer is the interactive page that `chanceline explore` writes; the fragment goes
        after its address, and fills in the page's fields. It is empty if there is no set, or if the
        explorer's bound would convince although that of this test does not.
        """
        separating = self.separating
        if separating.n_selected == 0:
            return ""

        # The bound is on independent units: samples, or groups of samples with one label. The
        # explorer allows fewer errors than units; a rule can make more, as it errs on samples.
        bound = separating.bound
        n_units = bound.n_samples
        errors = min(separating.errors, n_units - 1)
        if self._explorer_overstates(errors):
            return ""
        parameters = {
            "N": bound.n_features,
            "P": n_units,
            "M": bound.n_selected,
            "positives": bound.positives or "",  # no number: not fixed by the null hypothesis
            "errors": errors,
            "level": self.settings.level,
            "null": bound.null,
            "intercept": "yes" if bound.intercept else "no",
        }
        return f"#{urlencode(parameters)}"

    def _explorer_overstates(self, errors: int) -> bool:
        """Whether the explorer's bound for the separating set convinces, but this test's does not.

        The explorer, an interactive page, knows no blocks and no covariates, and treats the errors
        as fixed beforehand. So its bound can be smaller than that of the test.

        Parameters
        ----------
        errors : the number of errors that the explorer is given.
        """
        bound_of_test = self.separating.bound
        # The same numbers, but without blocks.
        bound_of_explorer = chance_bound(
            n_samples=bound_of_test.n_samples,
            n_features=bound_of_test.n_features,
            n_selected=bound_of_test.n_selected,
            errors=errors,
            positives=bound_of_test.positives,
            null=bound_of_test.null,
            intercept=bound_of_test.intercept,
        )
        log10_level = log10(self.settings.level)
        test_convinces = bound_of_test.log10_p <= log10_level
        explorer_convinces = bound_of_explorer.log10_p <= log10_level
        return explorer_convinces and not test_convinces

    def to_frame(self) -> pd.DataFrame:
        """Every feature of the sets above, the heaviest of the rule to use first.

        `weight` in the rule for one standard deviation, above 0 if large values speak for the
        positive class; `selected`, the share of halves of the samples in which the same procedure
        takes the feature; `difference` of the class means in standard deviations, positive less
        negative class; `auc` (above one half if the feature is larger in the positive class) and
        `adjusted_p` of the feature alone; the sets it is in; and its `surrogates`, which replace it
        with at most one error more.
        """
        from chanceline.significance.features_table import features_table

        return features_table(self)

    def to_dict(self) -> dict[str, Any]:
        """The result as plain values, for JSON.

        It has all fields, some properties, and the settings that were in force. The list of
        alternatives (other sets that are as good) is cut after the first `MAX_ALTERNATIVES`; their
        full number is `n_alternatives`.
        """
        null_sizes = [] if self.permutation is None else list(self.permutation.null_sizes)
        return {
            **super().to_dict(),
            "alternatives": plain(self.alternatives[:MAX_ALTERNATIVES]),
            "n_alternatives": len(self.alternatives),
            "null_distribution": null_sizes,
            "explorer": self.explorer,
            "settings": self._settings_in_force(),
        }

    def _settings_in_force(self) -> dict[str, Any]:
        """The user's settings for JSON, with the values that the test chose where they were open.

        The significance level is divided between two stages of proofs, p-values bounded without
        shuffles, and the shuffles. What the stages of proofs get is added to the settings.
        """
        settings = self.settings.to_dict()
        # The user's own search function, in words, or else the name of the built-in method.
        search_in_words = settings["search"] or settings["method"]
        stage1_level = self.spending.stage1_level
        stage1_used = self.spending.stage1_used  # at most stage1_level, as p-values are discrete
        stage2_level = self.spending.stage2_level
        return {
            **settings,
            "search": search_in_words,
            "errors": self.errors_declared,
            "units": self.n_units,
            "blocks": self.n_blocks,
            "stage1_level": stage1_level,
            "stage1_used": stage1_used,
            "stage2_level": stage2_level,
            # The same three numbers by their former names, kept for one version.
            "bound_share": stage1_level,
            "bound_spent": stage1_used,
            "later_share": stage2_level,
        }

    def summary(self) -> str:
        """One line: the word, p, the features named, and whose p-value it is if not theirs."""
        words = self.evidence.summary()
        if self.verdict is Verdict.STRUCTURE:
            words = self.reason.removesuffix(".")
        return f"{self.verdict}, {self.in_p()}: {words}"

    def in_p(self) -> str:
        """The p-value with the sign that it deserves."""
        sign = "≤" if self.stage.rigorous else "="
        return f"p {sign} {format_p(self.log10_pvalue)}"

    @property
    def plain_sentence(self) -> str:
        """The result in one sentence, for a reader who knows no statistics.

        The sentence is written from a few facts, which are collected here.
        """
        # With fewer units than samples, units are groups of samples.
        n_groups = self.n_units if self.n_units < self.n_samples else None
        facts = PlainFacts(
            verdict=self.verdict,
            n_samples=self.n_samples,
            n_groups=n_groups,
            classes=self.class_names,
            n_named=self.n_named,  # features that the user named, None if all were asked about
            covariates=self.covariates,
            # The rule for new samples: how well it did in cross-validation, as one of six grades,
            # and how many of 100 new samples it is expected to classify correctly.
            standing=standing_of_rule(self.rule),
            expected=expected_of_100(self.rule),
            has_warnings=bool(self.checks()),
        )
        return plain_sentence(facts)

    def story(self) -> tuple[str, ...]:
        """The verdict and what it rests on, what to expect of the rule to use, what separates.

        One sentence or two for each.
        """
        sentences = [f"{self.verdict.upper()}, {self.in_p()}. {self.reason}"]
        if self.rule is not None:
            sentences.append(f"New samples: {self.rule.summary()}.")
        if self.reconciliation:
            sentences.append(self.reconciliation)
        sentences.append(f"Separation: {self.separating.summary()}.")
        return tuple(sentences)

    def checks(self, *kinds: str) -> list[str]:
        """What was found about the data.

        Parameters
        ----------
        kinds : severities of findings; by default warnings, which bear on the verdict.
        """
        wanted = kinds or (Severity.WARNING,)
        return [finding.message for finding in self.findings if finding.severity in wanted]

    # Texts, tables, figures and pages are built on results: the one place where a module loads
    # those above it, when they are asked for.
    def __str__(self) -> str:
        from chanceline.significance.text_output import render

        return render(self)

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
