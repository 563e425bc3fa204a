"""What the test of an outcome other than two classes gives back."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
from numpy.typing import ArrayLike, NDArray

from chanceline._arrays import Floats
from chanceline._io import write_text
from chanceline._results import Result, listed, plain
from chanceline.errors import InputError
from chanceline.significance.config import TestSettings
from chanceline.significance.outcomes.held_out_fits import HeldOutPredictions
from chanceline.significance.outcomes.measures import Expectation
from chanceline.significance.outcomes.outcome import Outcome
from chanceline.significance.outcomes.rule_to_show import OutcomeRule
from chanceline.significance.outcomes.shuffle_contrasts import ContrastReading
from chanceline.significance.readings import Band, StopCause
from chanceline.significance.rule_inputs import RuleInputs
from chanceline.significance.verdict import Verdict
from chanceline.tables.dataset import Finding, Severity

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from chanceline.cohort.outcome_confirmation import OutcomeConfirmation

# Settings that mean something for outcomes other than two classes.
SETTINGS_USED = (
    "level", "permutations", "seed", "largest", "preregistered", "expected_error", "time_limit",
)  # fmt: skip
# Features alone that JSON lists, the best first.
FEATURES_IN_RECORD = 12


@dataclass(frozen=True)
class ScoreSizeReading:
    """What k features explain.

    Attributes
    ----------
    k : number of features.
    features : those that forward stepwise least squares takes.
    explained : R², the share of the scores' squares that they explain (beyond blocks and
        covariates).
    shuffled : R² of the same procedure on permuted outcomes; None without permutations.
    pvalue : adjusted for the choice of k; None without permutations.
    """

    k: int
    features: tuple[str, ...]
    explained: float
    shuffled: Band | None
    pvalue: float | None


@dataclass(frozen=True, repr=False)
class OutcomePvalue(Result):
    """The p-value of all members of the combination together.

    Attributes
    ----------
    pvalue : (1 + permutations that do as well)/(1 + permutations).
    interval : 95 % interval of the p-value that infinitely many permutations would give.
    done, requested : number of permutations.
    stopped_by : what ended them before that; None if nothing did.
    kind : "Monte Carlo", or with covariates how these were allowed for.
    """

    pvalue: float
    interval: tuple[float, float]
    done: int
    requested: int
    stopped_by: StopCause | None
    kind: str

    def summary(self) -> str:
        low, high = self.interval
        return f"p = {self.pvalue:.2g} (95 % CI {low:.2g}–{high:.2g}), {self.done} permutations"


@dataclass(frozen=True, eq=False, repr=False)
class OutcomeTest(Result):
    """Whether features and an outcome have to do with each other, and what to expect of a rule.

    Attributes
    ----------
    outcome : the outcome itself.
    verdict, reason : the word, and what it rests on.
    permutation : the p-value; None where nothing was permuted.
    named : the features named, the fewest that convince by themselves; none if the evidence is
        spread over many.
    is_spread : whether it is.
    front : what 1, 2, … features explain.
    contrasts : pairs of classes and each class against the rest, corrected for all of them; empty
        for other outcomes.
    rule : for new samples; None if none was asked for.
    expected : what to expect of it; None if none was asked for.
    exchange : what changes places under the null hypothesis.
    n_samples, n_units, n_blocks, n_features : of the table.
    feature_names : of all features.
    explained_alone, pvalues_alone : (features,) R² and adjusted p-value of every feature alone; nan
        for those that are constant or copies of others.
    covariates : names of those adjusted for.
    settings, findings : of the test, and about the table.
    held_out : predictions of samples left out, for the picture; None without a rule.
    interrupted : whether Ctrl-C ended it.
    inputs : what the rule takes in; None without a rule.
    """

    outcome: Outcome
    verdict: Verdict
    reason: str
    permutation: OutcomePvalue | None
    named: tuple[str, ...]
    is_spread: bool
    front: tuple[ScoreSizeReading, ...]
    contrasts: tuple[ContrastReading, ...]
    rule: OutcomeRule | None
    expected: Expectation | None
    exchange: str
    n_samples: int
    n_units: int
    n_blocks: int
    n_features: int
    feature_names: tuple[str, ...]
    explained_alone: Floats
    pvalues_alone: Floats
    covariates: tuple[str, ...]
    settings: TestSettings
    findings: tuple[Finding, ...]
    held_out: HeldOutPredictions | None = None
    interrupted: bool = False
    kind: str = "Monte Carlo"
    source: str = "arrays"
    inputs: RuleInputs | None = None
    _hidden = (
        "outcome", "held_out", "feature_names", "explained_alone", "pvalues_alone", "inputs",
    )  # fmt: skip
    _derived = ("pvalue", "taken_for", "outcome_kind")

    @property
    def pvalue(self) -> float:
        """The p-value, 1 where nothing was permuted."""
        return 1.0 if self.permutation is None else self.permutation.pvalue

    @property
    def taken_for(self) -> str:
        """What the outcome is taken for."""
        return self.outcome.taken_for()

    @property
    def outcome_kind(self) -> str:
        """`number`, `classes`, `survival`."""
        return self.outcome.kind

    def in_p(self) -> str:
        """`p = 0.001`."""
        return f"p = {self.pvalue:.2g}"

    def summary(self) -> str:
        """One line: the word, p and why."""
        return f"{self.verdict}, {self.in_p()}: {self.reason.removesuffix('.')}"

    def to_frame(self) -> pd.DataFrame:
        """A row for every feature by itself, the best first.

        The columns are `feature` (its name), `explained` (R²), `adjusted_p` (NaN if nothing was
        permuted) and `named` (whether the verdict names it). Constant features and copies of other
        features are left out.
        """
        frame = pd.DataFrame(
            {
                "feature": self.feature_names,
                "explained": self.explained_alone,
                "adjusted_p": self.pvalues_alone,
                "named": [name in self.named for name in self.feature_names],
            }
        )
        # R² is NaN for features that the test left out.
        frame = frame[frame["explained"].notna()]
        return frame.sort_values("explained", ascending=False, kind="stable", ignore_index=True)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        record = super().to_dict()
        settings = self.settings.to_dict()
        record["settings"] = {name: plain(settings[name]) for name in SETTINGS_USED}
        best_alone = self.to_frame().head(FEATURES_IN_RECORD)
        record["features_alone"] = plain(best_alone.to_dict(orient="records"))
        return record

    def predict(
        self, X: Any, *, blocks: ArrayLike | None = None, covariates: Any = None
    ) -> NDArray[Any]:
        """What the rule says of the rows of X: (rows,).

        A number, the name of a class, or a risk (large for early events).

        Parameters
        ----------
        X
            The columns of the table tested, in their order and after the same transform; or a
            DataFrame, of which those that the rule knows by name are taken: features, covariates,
            and the column of blocks or pairs.
        blocks
            The block (or pair) of every row, one of those of the table tested. Without blocks all
            rows are taken for rows of the average block.
        covariates
            A DataFrame or a mapping with the covariates by name, or an array in the order of
            `adjust`, as they were in the table tested: text as text, numbers in the same units.
        """
        if self.rule is None:
            raise InputError("there is no rule; test with expected_error=True.")
        return self.rule.predict(X, blocks=blocks, covariates=covariates)

    def save(self, path: str | Path) -> None:
        """Write the rule and all that new samples need to a JSON file, for `load_result`."""
        from chanceline.cohort.result_file import save_outcome

        save_outcome(self, path)

    def confirm(self, data: Any, label: str | None = None, **options: Any) -> OutcomeConfirmation:
        """The rule as it is on new samples of known outcome.

        Parameters
        ----------
        data
            A file, or a table in memory.
        label
            The column of the outcome; by default as in the table tested. Of times ``time`` and
            ``event`` name the columns.
        options
            How to read the table, as in `load_data`.
        """
        from chanceline.cohort.saved_outcome import saved_outcome

        return saved_outcome(self).confirm(data, label, **options)

    def checks(self, *kinds: str) -> list[str]:
        """What was found about the data; by default warnings."""
        wanted = kinds or (Severity.WARNING,)
        return [finding.message for finding in self.findings if finding.severity in wanted]

    def named_in_words(self) -> str:
        """The features named, or that there are too many to name."""
        if self.is_spread:
            return "many features together"
        return listed(list(self.named), 6)

    def __str__(self) -> str:
        from chanceline.significance.outcomes.text import render_outcome

        return render_outcome(self)

    def _repr_html_(self) -> str:
        from chanceline.report.outcome import outcome_card

        return outcome_card(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Predictions of samples left out against the outcome, on the given or on new axes."""
        import matplotlib.pyplot as plt

        from chanceline.figures.outcomes import draw_outcome

        if ax is None:
            _, ax = plt.subplots(figsize=(7.5, 4.4), layout="constrained")
        draw_outcome(ax, self)
        return ax

    def to_html(self, path: str | Path | None = None) -> str:
        """The report as one self-contained page, also written to a file if its path is given."""
        from chanceline.report.outcome import outcome_page

        page = outcome_page(self).render()
        if path is not None:
            write_text(path, page)
        return page
