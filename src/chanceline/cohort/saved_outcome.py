"""The result of an outcome other than two classes without its table: what new samples need.

It predicts new samples and is confirmed by them. How it becomes a file: `outcome_file`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from chanceline._results import Result, visible
from chanceline.cohort.new_labels import refuse_undeclared
from chanceline.cohort.new_outcome import SavedColumns, read_new_outcome
from chanceline.cohort.new_samples import NewSamples, NewTable, new_samples
from chanceline.cohort.new_settings import read_with_fixed_settings
from chanceline.cohort.outcome_confirmation import (
    N_PERMUTATIONS,
    OutcomeConfirmation,
    make_outcome_units,
    measures_of_units,
    permutation_pvalue,
)
from chanceline.cohort.outcome_predictions import OutcomePredictions
from chanceline.cohort.overlap import refuse_known_rows
from chanceline.cohort.saved_outcome_rule import (
    RulePredictions,
    SavedKind,
    SavedOutcomeRule,
    saved_outcome_rule,
)
from chanceline.cohort.saved_result import declared_roles
from chanceline.errors import InputError
from chanceline.significance.outcomes.measures import Measure
from chanceline.significance.outcomes.outcome import Outcome
from chanceline.significance.outcomes.result import OutcomeTest
from chanceline.significance.outcomes.score_design import make_score_design
from chanceline.significance.outcomes.survival import SurvivalOutcome
from chanceline.significance.outcomes.text import outcome_story
from chanceline.significance.rule_inputs import RuleInputs
from chanceline.tables.dataset import Finding
from chanceline.tables.outcome_table import two_halves
from chanceline.tables.settings import TableSettings
from chanceline.tables.wording import plural


@dataclass(frozen=True, eq=False, repr=False)
class SavedOutcome(Result):
    """The rule of an `OutcomeTest`, ready for new samples.

    Attributes
    ----------
    verdict, pvalue, story : what the test said, and its sentences.
    outcome_kind : a number, classes or survival.
    columns : of the outcome in the table tested.
    predicted_name : what predictions are called.
    rule : for new samples.
    inputs : what it takes in.
    expected : what cross-validation said of it; empty if it was not cross-validated.
    findings : what was noticed about the table tested.
    """

    verdict: str
    pvalue: float
    story: tuple[str, ...]
    outcome_kind: SavedKind
    columns: SavedColumns
    predicted_name: str
    rule: SavedOutcomeRule
    inputs: RuleInputs
    expected: tuple[Measure, ...]
    findings: tuple[Finding, ...]

    kind = "saved result"

    def summary(self) -> str:
        """`structure, data.csv: dose from 3 features`."""
        features = plural(len(self.rule.features), "feature")
        return visible(
            f"{self.verdict}, {self.inputs.source}: {self.predicted_name} from {features}"
        )

    def predict(
        self, data: Any, *, settings: TableSettings | None = None, **changes: Any
    ) -> OutcomePredictions:
        """A number, a class with probabilities, or a risk of new samples.

        Parameters
        ----------
        data
            A file, or a table in memory whose columns have names: the features and covariates as
            they were in the table tested, in any order.
        settings, changes
            How to read the file, as in `load_data`; and where they are called otherwise than in the
            table tested, the columns of blocks or pairs.
        """
        table = read_with_fixed_settings(
            data, label=None, inputs=self.inputs, settings=settings, changes=changes
        )
        samples = new_samples(table, self.rule, self.inputs)  # rows without gaps in the features
        rule_predictions = self._predictions(samples)
        predictions = rule_predictions.predictions  # (samples, columns of predictions)

        # From samples to all rows of the table: rows with gaps have None, and NaN as probabilities.
        row_names = table.raw.values.index.tolist()
        predicted = np.full(len(row_names), None, dtype=object)
        predicted[samples.is_complete] = self.rule.named(predictions)
        probabilities = None  # (rows, classes); only for classes, whose predictions they are
        if self.outcome_kind is SavedKind.CLASSES:
            n_classes = predictions.shape[1]
            probabilities = np.full((len(row_names), n_classes), np.nan)
            probabilities[samples.is_complete] = predictions
        return OutcomePredictions(
            rows=row_names,
            predicted=predicted,
            predicted_name=self.predicted_name,
            class_names=self.rule.class_names,
            probabilities=probabilities,
            findings=(*samples.findings, *rule_predictions.findings, *table.findings),
            source=table.source,
        )

    def confirm(
        self,
        data: Any,
        label: str | None = None,
        *,
        time: str | None = None,
        event: str | None = None,
        settings: TableSettings | None = None,
        **changes: Any,
    ) -> OutcomeConfirmation:
        """Test the rule, as it is, on new samples of known outcome.

        A row of the new table becomes a sample if it has an outcome and no gap in what the rule
        needs (features and covariates). Samples of one group (a subject, say) are one unit, and
        every other sample is a unit of its own. The test counts units.

        Parameters
        ----------
        data, settings, changes
            As in `predict`. Blocks, groups and pairs are in the columns of the table tested;
            ``groups="subject"`` names another one, and ``groups="none"`` says that there is none.
        label, time, event
            The columns of the outcome; by default as in the table tested.
        """
        # The rows that have an outcome, and among them the samples. `samples.is_complete` is a mask
        # of the rows of `table`. Samples that the rule was made from are refused.
        named_columns = SavedColumns(label or "", time or "", event or "")
        table, outcome_of_rows = self._rows_with_outcome(data, named_columns, settings, changes)
        samples = new_samples(table, self.rule, self.inputs)
        refuse_known_rows(samples.columns, self.inputs.row_digests, table.source)
        outcome = outcome_of_rows.take(samples.is_complete)

        # From samples to units. `guesses` are predictions without the features, from blocks and
        # covariates alone, with which those of the rule are compared.
        roles_of_samples = declared_roles(table, samples.is_complete)  # blocks, groups and pairs
        design = make_score_design(outcome, roles_of_samples)
        rule_predictions = self._predictions(samples)
        units = make_outcome_units(
            outcome,
            predictions=rule_predictions.predictions,
            guesses=rule_predictions.guesses,
            design=design,
        )
        return OutcomeConfirmation(
            source=table.source,
            outcome_kind=self.outcome_kind.value,
            n_rows=units.n_rows,
            n_units=len(units.predictions),
            n_blocks=design.n_blocks,
            measures=measures_of_units(units),
            expected=self.expected,
            pvalue=permutation_pvalue(units),
            n_permutations=N_PERMUTATIONS,
            findings=(*samples.findings, *rule_predictions.findings, *table.findings),
        )

    def _rows_with_outcome(
        self,
        data: Any,
        named_columns: SavedColumns,
        settings: TableSettings | None,
        changes: Mapping[str, Any],
    ) -> tuple[NewTable, Outcome]:
        """Read a new table, and keep the rows that have an outcome.

        The outcome is a label (a number or a class), or the time and the event of survival. A
        column that looks like subjects or pairs, about which the user said nothing, is an error.

        Parameters
        ----------
        data, settings, changes : as in `confirm`.
        named_columns : the outcome columns that the user named, with empty names for others, whose
            names in the table tested are then used.

        Returns
        -------
        table : the rows that have an outcome.
        outcome : the outcome of these rows.
        """
        # Read the table. Reading takes one column of the outcome: the label, or else the time.
        self._refuse_other_columns(named_columns)
        column_names = named_columns.with_defaults(self.columns)
        whole_table = read_with_fixed_settings(
            data,
            label=column_names.label or column_names.time,
            inputs=self.inputs,
            settings=settings,
            changes=changes,
        )
        new_outcome = read_new_outcome(
            whole_table, column_names, self.outcome_kind, self.rule.class_names
        )
        table = whole_table.with_rows(new_outcome.is_filled)

        # The search for undeclared subjects needs two classes. They are the lower half (−1) and the
        # upper half (1) of the outcome: of the label, or of the time.
        label_or_time = new_outcome.columns[0]
        refuse_undeclared(
            table,
            outcome_columns=new_outcome.columns,
            signs=two_halves(label_or_time),
            recipe=self.inputs.recipe,
            covariates=self.rule.encoder.names,
        )
        return table, new_outcome.outcome

    def _predictions(self, samples: NewSamples) -> RulePredictions:
        """What the rule says of every complete sample."""
        means = np.array([self.inputs.means[name] for name in self.rule.features])
        return self.rule.predict(samples, means)

    def _refuse_other_columns(self, named: SavedColumns) -> None:
        """Stop at a label of survival, or a time of another outcome."""
        is_survival = self.outcome_kind is SavedKind.SURVIVAL
        if is_survival and named.label:
            raise InputError("the outcome is a time with its event; say time and event, no label.")
        if not is_survival and (named.time or named.event):
            raise InputError("the outcome is no time; say label, and neither time nor event.")


def saved_outcome(result: OutcomeTest) -> SavedOutcome:
    """What is needed of a result to predict new samples, without its table.

    A result without a rule, or of a kind of outcome that cannot be saved, is an error.
    """
    if result.rule is None or result.inputs is None:
        raise InputError("there is no rule to save; test with expected_error=True.")
    outcome = result.outcome
    savable_kinds = list(SavedKind)  # a number, classes, or survival
    if outcome.kind not in savable_kinds:
        raise InputError("the rule of an outcome of your own cannot be saved.")

    # The column of the outcome in the table; survival has two.
    columns = SavedColumns(label=outcome.name)
    if isinstance(outcome, SurvivalOutcome):
        columns = SavedColumns(time=outcome.name, event=outcome.event_name)

    # What cross-validation said of the rule, if there was one.
    measures: tuple[Measure, ...] = ()
    if result.expected is not None:
        measures = result.expected.measures

    # The sentences that tell the verdict and the rule.
    sentences = tuple(outcome_story(result))
    return SavedOutcome(
        verdict=str(result.verdict),
        pvalue=result.pvalue,
        story=sentences,
        outcome_kind=SavedKind(outcome.kind),
        columns=columns,
        predicted_name=outcome.predicted_name,
        rule=saved_outcome_rule(result.rule),
        inputs=result.inputs,
        expected=measures,
        findings=result.findings,
    )
