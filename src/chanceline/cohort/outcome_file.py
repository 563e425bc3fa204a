"""A saved result of any outcome as plain values, and back."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from chanceline import __version__
from chanceline._arrays import Floats
from chanceline._results import plain
from chanceline.cohort.file_record import FileRecord
from chanceline.cohort.file_rules import covariate_from_record, covariate_to_record
from chanceline.cohort.file_tables import inputs_from_record, inputs_to_record
from chanceline.cohort.new_outcome import SavedColumns
from chanceline.cohort.saved_outcome import SavedOutcome
from chanceline.cohort.saved_outcome_rule import SavedKind, SavedOutcomeRule
from chanceline.prediction.covariates import CovariateEncoder
from chanceline.significance.outcomes.measures import Measure
from chanceline.significance.outcomes.rule_roles import RuleRoles, Stratum
from chanceline.significance.outcomes.rule_sums import RuleSums
from chanceline.significance.outcomes.several_classes import MultinomialRegression
from chanceline.tables.dataset import Finding, Severity

OUTCOME_FORMAT_NAME = "chanceline outcome"
OUTCOME_FORMAT = f"{OUTCOME_FORMAT_NAME}, format 1"


def outcome_to_record(saved: SavedOutcome) -> dict[str, Any]:
    """A saved result as plain values for JSON; `outcome_from_record` reads them."""
    return {
        "format": OUTCOME_FORMAT,
        "version": __version__,
        "verdict": saved.verdict,
        "pvalue": saved.pvalue,
        "story": list(saved.story),
        "outcome": saved.outcome_kind.value,
        "columns": saved.columns._asdict(),
        "predicted_name": saved.predicted_name,
        "expected": [plain(measure) for measure in saved.expected],
        "rule": _rule_to_record(saved.rule),
        "inputs": inputs_to_record(saved.inputs),
        "findings": [plain(finding) for finding in saved.findings],
    }


def _rule_to_record(rule: SavedOutcomeRule) -> dict[str, Any]:
    """A rule as plain values for JSON; matrices are lists of their rows.

    A rule predicts by a *full model*: weighted sums of features and covariates (`rule.sums`). It is
    compared with a *baseline*: sums without any feature, which predict from blocks and covariates
    alone (`rule.guess_sums`). In the record, "guesses" are the intercepts of the baseline.

    A stratum is a combination of a block and levels of categories. In both models every stratum has
    intercepts of its own, besides those of the average stratum.
    """
    full_model = rule.sums
    baseline = rule.guess_sums
    stratum_records = []
    for stratum, intercepts in full_model.stratum_intercepts.items():
        baseline_intercepts = baseline.stratum_intercepts[stratum]
        stratum_record = {
            "names": list(stratum),
            "intercepts": intercepts.tolist(),
            "guesses": baseline_intercepts.tolist(),
        }
        stratum_records.append(stratum_record)
    record = {
        "features": list(rule.features),
        "weights": _rows_of(full_model.weights),
        "covariate_weights": _rows_of(full_model.term_weights),
        "covariate_weights_of_guesses": _rows_of(baseline.term_weights),
        "intercepts": full_model.intercepts.tolist(),
        "guesses": baseline.intercepts.tolist(),
        "has_blocks": rule.roles.has_blocks,
        "block_column": rule.roles.block_column,
        "covariates": [covariate_to_record(item) for item in rule.roles.encoder.covariates],
        "block_categories": list(rule.roles.block_categories),
        "strata": stratum_records,
        "text": rule.text,
        "classes": None,
    }
    if rule.regression is not None:
        record["classes"] = {
            "names": list(rule.class_names),
            "weights": _rows_of(rule.regression.weights),
            "intercepts": rule.regression.intercepts.tolist(),
        }
    return record


def _rows_of(matrix: Floats) -> list[dict[str, list[float]]]:
    """The rows of a matrix."""
    return [{"row": row} for row in matrix.tolist()]


def outcome_from_record(record: FileRecord) -> SavedOutcome:
    """Read the saved result that `outcome_to_record` wrote.

    Values of a wrong type are refused, and a rule of classes for an outcome that has none.
    """
    column_record = record.record("columns")
    saved = SavedOutcome(
        verdict=record.text("verdict"),
        pvalue=record.number("pvalue"),
        story=record.texts("story"),
        outcome_kind=SavedKind(record.choice("outcome", list(SavedKind))),
        columns=SavedColumns(
            label=column_record.text("label"),
            time=column_record.text("time"),
            event=column_record.text("event"),
        ),
        predicted_name=record.text("predicted_name"),
        rule=_rule_from_record(record.record("rule")),
        inputs=inputs_from_record(record.record("inputs")),
        expected=tuple(_measure(measure) for measure in record.records("expected")),
        findings=tuple(
            Finding(item.choice("severity", list(Severity)), item.text("message"))
            for item in record.records("findings")
        ),
    )
    has_classes = saved.rule.regression is not None
    if has_classes != (saved.outcome_kind is SavedKind.CLASSES):
        record.refuse("its rule is that of another outcome")
    return saved


def _rule_from_record(record: FileRecord) -> SavedOutcomeRule:
    """Read the rule that `_rule_to_record` wrote; arrays of a wrong shape are refused.

    A rule predicts by a full model, weighted sums of features and covariates. Its baseline predicts
    from blocks and covariates alone.
    """
    features = record.texts("features")
    n_targets = len(record.numbers("intercepts"))
    roles = _roles_from_record(record)

    # A rule of classes has a regression too, from the fitted targets to probabilities.
    class_names: tuple[str, ...] = ()
    regression = None
    class_record = record.optional_record("classes")
    if class_record is not None:
        class_names = class_record.texts("names")
        regression = _regression_from_record(class_record, n_targets, n_classes=len(class_names))

    models = _models_from_record(record, roles, n_features=len(features), n_targets=n_targets)
    return SavedOutcomeRule(
        features=features,
        sums=models.full_model,
        guess_sums=models.baseline,
        roles=roles,
        class_names=class_names,
        regression=regression,
        text=record.text("text"),
    )


def _roles_from_record(record: FileRecord) -> RuleRoles:
    """Read which blocks and covariates a rule knows, from the record of the rule.

    Some covariates serve as blocks (`block_categories`): these must be categories.
    """
    covariates = [covariate_from_record(item) for item in record.records("covariates")]
    roles = RuleRoles(
        has_blocks=record.truth("has_blocks"),
        block_column=record.text("block_column"),
        encoder=CovariateEncoder(tuple(covariates)),
        block_categories=record.texts("block_categories"),
    )
    # `roles.categories` are those covariates among `block_categories` that are categories.
    if len(roles.categories) != len(roles.block_categories):
        record.refuse("block_categories must name categories")
    return roles


def _regression_from_record(
    record: FileRecord, n_targets: int, n_classes: int
) -> MultinomialRegression:
    """The regression of classes on the targets of a rule."""
    return MultinomialRegression(
        codes=np.arange(n_classes),
        weights=_matrix(record, "weights", n_rows=n_targets, n_columns=n_classes),
        intercepts=np.array(record.numbers("intercepts", length=n_classes)),
    )


class _RuleModels(NamedTuple):
    """The two sets of weighted sums that a rule has.

    Attributes
    ----------
    full_model : sums of features and covariates, by which the rule predicts.
    baseline : sums without any feature, which predict from blocks and covariates alone.
    """

    full_model: RuleSums
    baseline: RuleSums


def _models_from_record(
    record: FileRecord, roles: RuleRoles, *, n_features: int, n_targets: int
) -> _RuleModels:
    """Read the full model of a rule, and its baseline, which has no features.

    A model is features·weights + terms of covariates·weights + intercepts, (targets,) for each
    sample. Every stratum (a combination of a block and levels of categories) has intercepts of its
    own (`stratum_intercepts`), and the average stratum has those for new strata (`intercepts`). In
    the record, "guesses" are the intercepts of the baseline.

    Parameters
    ----------
    record : the record of the rule.
    roles : the blocks and covariates that the rule knows.
    n_features, n_targets : how many features the rule has, and how many targets it fits. The second
        was taken from the length of "intercepts", which therefore needs no check.
    """
    # The intercepts of every stratum, (targets,) each.
    stratum_intercepts: dict[Stratum, Floats] = {}
    baseline_stratum_intercepts: dict[Stratum, Floats] = {}
    for item in record.records("strata"):
        stratum = item.texts("names")
        if len(stratum) != len(roles.stratum_columns):
            item.refuse("strata must have a name for every block and category")
        stratum_intercepts[stratum] = np.array(item.numbers("intercepts", length=n_targets))
        baseline_stratum_intercepts[stratum] = np.array(item.numbers("guesses", length=n_targets))

    # Weights of features and of the terms of covariates, (features, targets) and (terms, targets).
    n_terms = len(roles.term_encoder.terms)
    full_model = RuleSums(
        weights=_matrix(record, "weights", n_rows=n_features, n_columns=n_targets),
        term_weights=_matrix(record, "covariate_weights", n_rows=n_terms, n_columns=n_targets),
        intercepts=np.array(record.numbers("intercepts")),
        stratum_intercepts=stratum_intercepts,
    )
    baseline = RuleSums(
        weights=np.zeros((0, n_targets)),  # no features
        term_weights=_matrix(
            record, "covariate_weights_of_guesses", n_rows=n_terms, n_columns=n_targets
        ),
        intercepts=np.array(record.numbers("guesses", length=n_targets)),
        stratum_intercepts=baseline_stratum_intercepts,
    )
    return _RuleModels(full_model, baseline)


def _matrix(record: FileRecord, key: str, *, n_rows: int, n_columns: int) -> Floats:
    """A matrix of this shape from its rows."""
    rows = [item.numbers("row", length=n_columns) for item in record.records(key)]
    if len(rows) != n_rows:
        record.refuse(f"{key} must have {n_rows} rows")
    return np.array(rows, dtype=np.float64).reshape(n_rows, n_columns)


def _measure(record: FileRecord) -> Measure:
    return Measure(
        name=record.text("name"),
        value=record.number("value"),
        interval=record.interval("interval"),
        guess=record.number("guess"),
    )
