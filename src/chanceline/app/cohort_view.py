"""What the page shows of a saved result on a second cohort: predictions, and whether they hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from chanceline.app.column_list import names_of_columns
from chanceline.app.outcome_columns import (
    KINDS_OF_LABELS,
    OfferedColumns,
    ValueKind,
    columns_by_kind,
    columns_to_offer,
)
from chanceline.app.setting_fields import FILE_FIELDS, NEW_SAMPLES_FIELDS, values_of_texts
from chanceline.cohort.confirmation import Confirmation
from chanceline.cohort.predictions import Predictions
from chanceline.cohort.result_file import load_result
from chanceline.cohort.saved_outcome import SavedOutcome
from chanceline.cohort.saved_result import SavedResult
from chanceline.errors import InputError
from chanceline.tables.labelled import read_table
from chanceline.tables.settings import TableSettings

COHORT_FIELDS = [*FILE_FIELDS, *NEW_SAMPLES_FIELDS]


class CohortStep(StrEnum):
    """What is being done when something turns out to be wrong."""

    RESULT = "result"
    PREDICT = "predict"
    CONFIRM = "confirm"


class CohortFiles(NamedTuple):
    """The files that were brought together.

    Attributes
    ----------
    result : what a test saved.
    table : the new samples.
    labels : a second file with the class of every sample; None if there is none.
    """

    result: Path
    table: Path
    labels: Path | None = None


@dataclass(frozen=True)
class CohortChoices:
    """Everything that was chosen for one cohort.

    Attributes
    ----------
    label : the column of the classes; empty to predict alone, None for that of the table tested.
    rule : which of the rules; empty for the one to use.
    texts : settings as they were typed, by name.
    """

    label: str | None = None
    rule: str = ""
    texts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class CohortRefusal:
    """Why something could not be done.

    Attributes
    ----------
    step : beside what the sentence stands.
    sentence : of the command line.
    """

    step: CohortStep
    sentence: str


@dataclass
class CohortView:
    """What is known about a cohort; the fields are filled step by step.

    Attributes
    ----------
    saved : the result.
    names : of the columns of the new table.
    outcome_columns : those that may hold the classes, by what their values look like.
    label : the column of the classes; empty if there is none.
    settings : with which the new table is read.
    predictions : of every row.
    confirmation : whether the rule holds; None where no classes are known.
    refusal : the first thing that is wrong; None if nothing is.
    """

    saved: SavedResult | None = None
    names: list[str] = field(default_factory=list)
    outcome_columns: Mapping[ValueKind, Sequence[str]] = field(default_factory=dict)
    label: str = ""
    settings: TableSettings = field(default_factory=TableSettings)
    predictions: Predictions | None = None
    confirmation: Confirmation | None = None
    refusal: CohortRefusal | None = None

    def places(self) -> dict[str, int]:
        """The place of every column in the table, by which forms know it."""
        return {name: place for place, name in enumerate(self.names)}

    def offered_labels(self) -> list[OfferedColumns]:
        """The columns that may hold the classes."""
        return columns_to_offer(self.outcome_columns, KINDS_OF_LABELS, self.label)


def look_at_cohort(files: CohortFiles, choices: CohortChoices) -> CohortView:
    """Apply a saved result to new samples, up to the first step that fails.

    The steps are: read the result, predict the classes of the samples, and compare the predictions
    with the true classes if these are known. The view that is returned holds what these steps have
    found, and the refusal of the step that failed.
    """
    # The functions below fill the fields of the view, so that these stay if a later step fails.
    # `step` is always the step that runs next, which is the one that fails if there is an error.
    view = CohortView()
    step = CohortStep.RESULT
    try:
        view.saved = _load_result_of_classes(files.result)
        step = CohortStep.PREDICT
        _predict(view, view.saved, files, choices)
        step = CohortStep.CONFIRM
        _confirm_predictions(view, view.saved, files, choices)
    except InputError as error:
        view.refusal = CohortRefusal(step, str(error))
    except MemoryError:
        view.refusal = CohortRefusal(step, "there is not enough memory for this table.")
    return view


def _load_result_of_classes(path: Path) -> SavedResult:
    """The saved result, if it is of two classes."""
    saved = load_result(path)
    if isinstance(saved, SavedOutcome):
        raise InputError(
            "this result is not of two classes; apply it with the commands 'chanceline predict' "
            "and 'chanceline confirm'."
        )
    return saved


def _predict(
    view: CohortView, saved: SavedResult, files: CohortFiles, choices: CohortChoices
) -> None:
    """Read the new samples, and predict them."""
    values = values_of_texts(choices.texts, COHORT_FIELDS)
    view.settings = TableSettings(labels=files.labels, **values)
    table = read_table(files.table, None, view.settings)
    view.names = names_of_columns(table)
    view.outcome_columns = columns_by_kind(table)
    view.predictions = saved.predict(files.table, rule=choices.rule or None, settings=view.settings)


def _confirm_predictions(
    view: CohortView, saved: SavedResult, files: CohortFiles, choices: CohortChoices
) -> None:
    """Compare the predictions with the true classes, if a column of the new table holds these.

    Sets `view.label`, the name of that column (empty if there is none), and `view.confirmation`.
    """
    label = choices.label
    if label is None:
        # The user has not chosen a column yet. Propose the one that held the classes in the table
        # from which the result was made, if the new table has it too.
        label = saved.inputs.recipe.label
        if label not in view.names:
            label = ""
    view.label = label
    if label:
        rule = choices.rule or None  # None stands for the default rule
        view.confirmation = saved.confirm(files.table, label, rule=rule, settings=view.settings)
