"""A saved result of any outcome as plain values, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from chanceline import __version__
from chanceline._arrays import Floats
from chanceline._results import plain
from chanceline.cohort.file_record import FileRecord
from chanceline.cohort.file_tables import inputs_from_record, inputs_to_record
from chanceline.cohort.new_outcome import SavedColumns
from chanceline.cohort.saved_outcome import SavedOutcome
from chanceline.cohort.saved_outcome_rule import SavedKind, SavedOutcomeRule
from chanceline.significance.outcomes.measures import Measure
from chanceline.significance.outcomes.several_classes import MultinomialRegression
from chanceline.tables.dataset import Finding, Severity

OUTCOME_FORMAT_NAME = "chanceline outcome"
OUTCOME_FORMAT = f"{OUTCOME_FORMAT_NAME}, format 1"


def outcome_to_record(saved: SavedOutcome) -> dict[str, Any]:
    """The plain values that the file holds, with all digits."""
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
    """A rule as plain values; matrices are lists of their rows."""
    record = {
        "features": list(rule.features),
        "weights": _rows_of(rule.weights),
        "intercepts": rule.intercepts.tolist(),
        "guesses": rule.guesses.tolist(),
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
    """What `outcome_to_record` wrote."""
    columns = record.record("columns")
    saved = SavedOutcome(
        verdict=record.text("verdict"),
        pvalue=record.number("pvalue"),
        story=record.texts("story"),
        outcome_kind=SavedKind(record.choice("outcome", list(SavedKind))),
        columns=SavedColumns(
            label=columns.text("label"), time=columns.text("time"), event=columns.text("event")
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
    """What `_rule_to_record` wrote."""
    features = record.texts("features")
    intercepts = np.array(record.numbers("intercepts"))
    n_targets = len(intercepts)
    class_names: tuple[str, ...] = ()
    regression = None
    classes = record.optional_record("classes")
    if classes is not None:
        class_names = classes.texts("names")
        n_classes = len(class_names)
        regression = MultinomialRegression(
            codes=np.arange(n_classes),
            weights=_matrix(classes, "weights", n_rows=n_targets, n_columns=n_classes),
            intercepts=np.array(classes.numbers("intercepts", length=n_classes)),
        )
    return SavedOutcomeRule(
        features=features,
        weights=_matrix(record, "weights", n_rows=len(features), n_columns=n_targets),
        intercepts=intercepts,
        guesses=np.array(record.numbers("guesses", length=n_targets)),
        class_names=class_names,
        regression=regression,
        text=record.text("text"),
    )


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
