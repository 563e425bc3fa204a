"""A result without its table: the rules, what they take in, and what was known about them.

It predicts new samples and is confirmed by them. How it becomes a file: `result_file`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan
from typing import Any

import numpy as np

from chanceline._arrays import Bools
from chanceline._results import Result, visible
from chanceline.cohort.confirmation import (
    Claim,
    Confirmation,
    SavedExpectation,
    confirm_units,
    make_units,
)
from chanceline.cohort.new_labels import NewLabels, read_new_labels, refuse_undeclared
from chanceline.cohort.new_samples import (
    NO_COLUMN,
    NewSamples,
    NewTable,
    new_samples,
)
from chanceline.cohort.new_settings import read_with_fixed_settings
from chanceline.cohort.overlap import refuse_known_rows
from chanceline.cohort.predictions import Predictions
from chanceline.cohort.saved_rule import RuleChoice, SavedRule, rules_of_result
from chanceline.errors import InputError
from chanceline.prediction.crossval import ExpectedError
from chanceline.significance.declared_roles import DeclaredRoles
from chanceline.significance.result import SeparationTest
from chanceline.significance.rule_inputs import RuleInputs
from chanceline.tables.dataset import Finding
from chanceline.tables.roles import Role
from chanceline.tables.settings import TableSettings


@dataclass(frozen=True, eq=False, repr=False)
class SavedResult(Result):
    """The rules of a `SeparationTest`, ready for new samples.

    Attributes
    ----------
    verdict, pvalue, story : what the test said, and its sentences.
    classes : the negative and the positive class, in words.
    rules : all rules of the result; the first is the one to use.
    inputs : what they take in.
    expected : what cross-validation said of the rule to use; None if it was not cross-validated.
    findings : what was noticed about the table tested.
    """

    verdict: str
    pvalue: float
    story: tuple[str, ...]
    classes: tuple[str, str]
    rules: tuple[SavedRule, ...]
    inputs: RuleInputs
    expected: SavedExpectation | None
    findings: tuple[Finding, ...]

    kind = "saved result"

    def summary(self) -> str:
        """`structure, data.csv: rule of 3 features, ill or well`."""
        n_features = len(self.rules[0].features)
        classes = " or ".join(reversed(self.classes))
        return visible(f"{self.verdict}, {self.inputs.source}: {n_features} features, {classes}")

    def rule(self, choice: str | None = None) -> SavedRule:
        """One of the rules; by default the one to use, or else that of the separating set.

        Parameters
        ----------
        choice : "rule", "few" (features), "points" (of a scorecard) or "separating".
        """
        if choice is None:
            return self.rules[0]
        by_choice = {rule.choice.value: rule for rule in self.rules}
        if choice not in by_choice:
            raise InputError(f"the result has no rule {choice!r}; it has {', '.join(by_choice)}.")
        return by_choice[choice]

    def predict(
        self,
        data: Any,
        *,
        rule: str | None = None,
        settings: TableSettings | None = None,
        **changes: Any,
    ) -> Predictions:
        """Score, probability and class of new samples.

        Parameters
        ----------
        data
            A file, or a table with named columns: the features and covariates, in any order.
        rule
            "rule", "few", "points" or "separating"; by default the rule to use.
        settings, changes
            How to read the file, as in `load_data`; and the columns of blocks or pairs, where they
            are called otherwise than in the table tested.
        """
        chosen_rule = self.rule(rule)
        table = read_with_fixed_settings(
            data, label=None, inputs=self.inputs, settings=settings, changes=changes
        )
        samples = new_samples(table, chosen_rule, self.inputs)  # rows without gaps in the features

        # Scores of all rows of the table; NaN for those with gaps.
        row_names = table.raw.values.index.tolist()
        scores = np.full(len(row_names), np.nan)
        scores[samples.is_complete] = self._scores(chosen_rule, samples)
        return Predictions(
            rows=row_names,
            scores=scores,
            probabilities=chosen_rule.probabilities(scores),
            classes=self.classes,
            findings=(*samples.findings, *table.findings),
            rule=chosen_rule.choice.value,
            source=table.source,
        )

    def confirm(
        self,
        data: Any,
        label: str | None = None,
        *,
        rule: str | None = None,
        settings: TableSettings | None = None,
        **changes: Any,
    ) -> Confirmation:
        """Test a rule, as it is, on new samples of known classes.

        A row of the new table becomes a sample if it is of one of the two classes and has no gap in
        what the rule needs (features and covariates). Samples of one group (a subject, say) are one
        unit, and every other sample is a unit of its own. The test counts units.

        Parameters
        ----------
        data, rule, settings, changes
            As in `predict`. Blocks, groups and pairs are in the columns of the table tested;
            ``groups="subject"`` names another one, and ``groups="none"`` says that there is none.
        label
            The column of the classes; by default as in the table tested.
        """
        # Read the table, keep the rows of the two classes, and among them the samples. `table` and
        # `labels` have the same rows, and `samples.is_complete` is a mask of these.
        chosen_rule = self.rule(rule)
        label = label or self.inputs.recipe.label or None
        whole_table = read_with_fixed_settings(
            data, label=label, inputs=self.inputs, settings=settings, changes=changes
        )
        table, labels = self._rows_of_classes(whole_table, label, chosen_rule)
        samples = new_samples(table, chosen_rule, self.inputs)

        # Refuse samples that the rule was made from. They are recognized by digests of their
        # features. Only those of the features of the first rule were saved, so that samples for
        # other rules, which may have other features, cannot be recognized.
        if chosen_rule is self.rules[0]:
            refuse_known_rows(samples.columns, self.inputs.row_digests, table.source)

        # From samples to units.
        units = make_units(
            scores=self._scores(chosen_rule, samples),
            labels=labels.signs[samples.is_complete],
            declared=declared_roles(table, samples.is_complete),
        )
        findings = (*samples.findings, *table.findings, *labels.findings)
        claim = self._claim_of(chosen_rule)
        return confirm_units(units, claim, source=table.source, findings=findings)

    def _rows_of_classes(
        self, whole_table: NewTable, label: str | None, rule: SavedRule
    ) -> tuple[NewTable, NewLabels]:
        """Keep the rows of a new table that are of the two classes.

        A column that looks like subjects or pairs, about which the user said nothing, is an error.

        Parameters
        ----------
        whole_table : the new samples.
        label : the column of the classes.
        rule : the rule to confirm. Its covariates are known not to tell subjects.

        Returns
        -------
        table : the rows of the two classes.
        labels : the labels of these rows.
        """
        recipe = self.inputs.recipe
        all_labels = read_new_labels(whole_table, label, self.classes, recipe)
        table = whole_table.with_rows(all_labels.is_compared)
        labels = all_labels.of_compared_rows()
        refuse_undeclared(
            table,
            outcome_columns=[labels.column],
            signs=labels.signs,
            recipe=recipe,
            covariates=rule.encoder.names,
        )
        return table, labels

    def _claim_of(self, rule: SavedRule) -> Claim:
        """What was fixed before the new samples were seen."""
        return Claim(
            classes=self.classes,
            rule=rule.choice.value,
            gives_probabilities=rule.gives_probabilities,
            # Only the rule to use was cross-validated.
            expected=self.expected if rule.choice is RuleChoice.RULE else None,
        )

    def _scores(self, rule: SavedRule, samples: NewSamples) -> Any:
        """x·w + b of every complete sample, (samples,)."""
        means = np.array([self.inputs.means[name] for name in rule.features])
        return rule.scores(samples.columns, samples.covariates, samples.blocks, means)


def declared_roles(table: NewTable, is_complete: Bools) -> DeclaredRoles:
    """Blocks, groups and pairs of the samples; a declared column that is not there is an error.

    Parameters
    ----------
    table : the new samples.
    is_complete : which rows of the table are samples, that is without gaps, (rows,).
    """
    values_of_role: dict[str, Any] = {}
    for role in Role:
        if role not in table.roles:
            continue
        if not table.has_role(role):
            column = table.roles[role]
            raise InputError(
                f"the table tested had {role} in column {column!r}, which {table.source} does not "
                f"have; say {role}=COLUMN, or {role}={NO_COLUMN!r} if there are none."
            )
        values_of_rows = table.role_values(role)
        values_of_role[role.value] = values_of_rows[is_complete]
    return DeclaredRoles(**values_of_role)


def saved_result(result: SeparationTest) -> SavedResult:
    """What is needed of a result to predict new samples, without its table."""
    expected = None
    if result.rule is not None and result.rule.expected_error is not None:
        expected = _saved_expectation(result.rule.expected_error)
    return SavedResult(
        verdict=str(result.verdict),
        pvalue=result.pvalue,
        story=result.story(),
        classes=result.class_names,
        rules=rules_of_result(result),
        inputs=result.inputs,
        expected=expected,
        findings=result.findings,
    )


def _saved_expectation(expected: ExpectedError) -> SavedExpectation:
    """What cross-validation said of the rule: the error and the area under the curve.

    An area of NaN, if no fold had both classes, is saved as None: JSON has no NaN.
    """
    area = None
    area_interval = None
    if not isnan(expected.auc):
        area = expected.auc
        area_interval = expected.auc_interval
    return SavedExpectation(
        error=expected.rate,
        error_interval=expected.interval,
        area=area,
        area_interval=area_interval,
    )
