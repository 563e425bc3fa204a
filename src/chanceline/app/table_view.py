"""What the page shows of a table under the present choices: first rows, columns, classes, errors.

The steps are those of `load_any_outcome` and of the test's plan. The first one that fails gives its
sentence, and what was found before it is shown nevertheless.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from chanceline.app.choices import (
    Choices,
    column_settings,
    declared_choice,
    reading_settings,
    settings_of_test,
)
from chanceline.app.column_choice import ColumnChoice
from chanceline.app.column_list import (
    ColumnList,
    ColumnView,
    beginning_of,
    columns_by_name,
    names_of_columns,
)
from chanceline.app.outcome_choices import OutcomeChoices, OutcomeQuestion
from chanceline.app.outcome_columns import (
    KINDS_OF_EVENTS,
    KINDS_OF_LABELS,
    KINDS_OF_TIMES,
    MOST_CLASSES,
    OfferedColumns,
    ValueKind,
    columns_by_kind,
    columns_to_offer,
)
from chanceline.errors import ChancelineError, InputError
from chanceline.significance.config import TestSettings
from chanceline.significance.outcomes.make_outcome import outcome_of_table
from chanceline.significance.outcomes.run import make_outcome_plan
from chanceline.significance.plan import make_plan
from chanceline.significance.set_run import check_set_settings, question_of_table, sets_of_table
from chanceline.tables.column_uses import ColumnUse, column_uses
from chanceline.tables.dataset import Dataset, Finding
from chanceline.tables.feature_sets import read_feature_sets
from chanceline.tables.labelled import read_table
from chanceline.tables.labels import find_label_column
from chanceline.tables.outcome_kind import OutcomeKind, UnclearOutcomeError
from chanceline.tables.outcome_table import OutcomeTable, kind_of_outcome, outcome_of_raw_table
from chanceline.tables.raw_table import RawTable
from chanceline.tables.readers.source import source_name
from chanceline.tables.reading_steps import ReadingStep, at_step
from chanceline.tables.settings import TableSettings, split_names
from chanceline.tables.spelling import plain_text
from chanceline.tables.wording import plural

FIRST_ROWS_SHOWN = 6
COLUMNS_IN_FIRST_ROWS = 12
TEST_STEP = "test"  # beside the steps of reading: what the test itself refuses
SETS_STEP = "sets"  # and the file of sets
USE_OF_OUTCOME = {
    ColumnChoice.LABEL: ColumnUse.LABEL,
    ColumnChoice.TIME: ColumnUse.TIME,
    ColumnChoice.EVENT: ColumnUse.EVENT,
}


class TableFiles(NamedTuple):
    """The files that were brought together.

    Attributes
    ----------
    table : the table itself.
    labels : the second file with the label of every sample; None if there is none.
    sets : the file of sets of features; None to test features instead.
    """

    table: Path
    labels: Path | None = None
    sets: Path | None = None


@dataclass(frozen=True)
class ClassSize:
    """A class of the label, and how many rows have it."""

    name: str
    n_rows: int


@dataclass(frozen=True)
class Refusal:
    """Why the table cannot be tested as it is.

    Attributes
    ----------
    step : a `ReadingStep`, `SETS_STEP` or `TEST_STEP`: beside which fields the sentence stands.
    sentence : of the command line.
    column, choice : what the sentence proposes to say about a column; None if it proposes nothing.
    asks_kind : whether it asks if the outcome are classes or a number.
    """

    step: str
    sentence: str
    column: str = ""
    choice: ColumnChoice | None = None
    asks_kind: bool = False


@dataclass
class TableView:
    """What is known about a table; the fields are filled step by step.

    Attributes
    ----------
    n_rows : of the table.
    names : of all columns.
    first_rows : with their names, of the first columns.
    column_list : all columns with what they are taken for; None until they are known.
    outcome_columns : columns that may be the outcome, by what their values look like.
    label : the name of the label's column, once it is known; empty for survival.
    classes : of the label.
    kind : what the outcome is taken for, once it is known.
    positive : the class that is taken for positive, once it is known.
    summary : samples, classes and features in one line, once they are known.
    findings : what is worth knowing about the table.
    refusal : the first thing that is wrong; None if the test can be run.
    table_settings, test_settings : what the choices mean; None if they mean nothing.
    """

    n_rows: int = 0
    names: list[str] = field(default_factory=list)
    first_rows: list[list[str]] = field(default_factory=list)
    column_list: ColumnList | None = None
    outcome_columns: Mapping[ValueKind, Sequence[str]] = field(default_factory=dict)
    label: str = ""
    classes: list[ClassSize] = field(default_factory=list)
    kind: OutcomeKind | None = None
    positive: str = ""
    summary: str = ""
    findings: Sequence[Finding] = ()
    refusal: Refusal | None = None
    table_settings: TableSettings | None = None
    test_settings: TestSettings | None = None

    @property
    def shown_names(self) -> list[str]:
        """The names of the columns whose first rows are shown."""
        return self.names[:COLUMNS_IN_FIRST_ROWS]

    @property
    def columns(self) -> list[ColumnView]:
        """The columns that are listed at first."""
        if self.column_list is None:
            return []
        return self.column_list.first_views()

    def places(self) -> dict[str, int]:
        """The place of every column in the table, by which forms know it."""
        return {name: place for place, name in enumerate(self.names)}

    def offered_labels(self) -> list[OfferedColumns]:
        """The columns that may be classes or a number."""
        return columns_to_offer(self.outcome_columns, KINDS_OF_LABELS, self.label)

    def offered_times(self, chosen: str) -> list[OfferedColumns]:
        """The columns that may be times; `chosen` is the present one."""
        return columns_to_offer(self.outcome_columns, KINDS_OF_TIMES, chosen)

    def offered_events(self, chosen: str) -> list[OfferedColumns]:
        """The columns that may be events; `chosen` is the present one."""
        return columns_to_offer(self.outcome_columns, KINDS_OF_EVENTS, chosen)


def look_at(files: TableFiles, choices: Choices, n_jobs: int) -> TableView:
    """Read a table with the user's choices, up to the first step that fails.

    The view that is returned holds what the steps found, and why the failing one was refused.

    Parameters
    ----------
    files : the table, and the files uploaded with it.
    choices : the user's choices of how to read and test the table.
    n_jobs : the number of processes that a test may use.
    """
    # The view is filled step by step, so that the results of earlier steps stay when a step fails.
    view = TableView()
    try:
        _fill_view(view, files, choices, n_jobs)
    except InputError as error:
        view.refusal = Refusal(
            step=error.step or TEST_STEP,
            sentence=str(error),
            asks_kind=isinstance(error, UnclearOutcomeError),
        )
    except ChancelineError as error:
        view.refusal = Refusal(TEST_STEP, str(error))
    except MemoryError:
        view.refusal = Refusal(ReadingStep.FILE, "there is not enough memory for this table.")
    return view


def _fill_view(view: TableView, files: TableFiles, choices: Choices, n_jobs: int) -> None:
    """Read a table with the user's choices, and fill the view (what the page shows) step by step.

    Every step may raise `InputError`. The page then shows what the steps before it have written
    into the view.
    """
    # The file and its first rows.
    file_settings = reading_settings(choices, files.labels)
    raw_table = read_table(files.table, choices.outcome.first_column, file_settings)
    _show_table(view, raw_table)

    # The columns. A label that was chosen comes first, so that it is shown even if the choices for
    # columns are refused.
    _show_chosen_label(view, raw_table, choices.outcome)
    table_settings = _show_columns_and_complete_settings(view, raw_table, choices, file_settings)
    view.table_settings = table_settings

    # The outcome: classes, numbers, or survival times.
    source = source_name(files.table)
    table = _read_outcome(view, raw_table, choices.outcome, table_settings, source)

    # The test. It cannot be run if a column looks like subjects or pairs of dependent rows, until
    # the user has said whether it is.
    view.test_settings = settings_of_test(choices, n_jobs)
    if table.undeclared:
        view.refusal = _refusal_of_undeclared(table)
        return
    view.findings = _findings_of_plan(table, files.sets, choices, view.test_settings)


def feature_names(choices: Choices) -> tuple[str, ...] | None:
    """The names of the features in question; None to search them."""
    return split_names(choices.features) or None


def _show_table(view: TableView, table: RawTable) -> None:
    """The names, the first rows, and the columns that may be the outcome."""
    view.n_rows = len(table.values)
    view.names = names_of_columns(table)
    beginnings = columns_by_name(beginning_of(table), view.shown_names)
    for row in range(min(FIRST_ROWS_SHOWN, view.n_rows)):
        cells = [_cell(beginnings[name].iloc[row]) for name in view.shown_names]
        view.first_rows.append([str(table.values.index[row]), *cells])
    view.outcome_columns = columns_by_kind(table)


def _cell(value: Any) -> str:
    """One cell as text, empty if nothing is in it."""
    if pd.isna(value):
        return ""
    return plain_text(value)


def _show_columns_and_complete_settings(
    view: TableView, table: RawTable, choices: Choices, settings: TableSettings
) -> TableSettings:
    """Show how each column is used; return the settings with the user's choices for columns.

    A use is what a column is taken for: a feature, text, an identifier and so on. The uses are
    shown by setting `view.column_list`, twice: first to the uses without any choice, which stay in
    the view if the user's choices are refused (InputError), and then to the uses by the choices.

    Parameters
    ----------
    view : what the page shows; its `column_list` is set.
    table : the table as it was read from the file.
    choices : the user's choices. Those for columns that the table does not have are left out: they
        may have been made when the file was read in another way.
    settings : how the file is read, from `reading_settings`.
    """
    # The uses without any choice.
    default_uses = column_uses(table, None, settings)
    choices_in_table = choices.for_columns(default_uses)
    default_list = ColumnList(
        places=view.places(),
        beginning=beginning_of(table),
        default_uses=default_uses,
        uses=_with_uses_of_outcome(default_uses, choices_in_table),
        choices=choices_in_table,
    )
    view.column_list = default_list
    if not choices_in_table.columns:
        return settings

    # The uses that follow from the choices. If these are refused, the rest is not reached.
    with at_step(ReadingStep.COLUMNS):
        settings_with_choices = column_settings(choices_in_table, settings, default_uses)
        chosen_uses = column_uses(table, choices.outcome.first_column, settings_with_choices)
    uses = _with_uses_of_outcome(chosen_uses, choices_in_table)
    view.column_list = replace(default_list, uses=uses)
    return settings_with_choices


def _with_uses_of_outcome(uses: Mapping[str, ColumnUse], choices: Choices) -> dict[str, ColumnUse]:
    """The uses of the columns, where those chosen as parts of the outcome are just that."""
    of_outcome = {
        name: USE_OF_OUTCOME[part] for part, name in choices.outcome.columns.items() if name in uses
    }
    return {**uses, **of_outcome}


def _show_chosen_label(view: TableView, table: RawTable, chosen: OutcomeChoices) -> None:
    """The label and its classes, if the user chose one that is in the table."""
    label = chosen.columns.get(ColumnChoice.LABEL)
    if label in view.names:
        _show_label(view, find_label_column(table, label))


def _read_outcome(
    view: TableView,
    raw_table: RawTable,
    chosen: OutcomeChoices,
    settings: TableSettings,
    source: str,
) -> Dataset | OutcomeTable:
    """The table with its outcome. Each part of the outcome is shown as soon as it is known.

    Parameters
    ----------
    view : gets the label, then the kind, then the summary of the table.
    raw_table : as it was read.
    chosen : about the outcome; a label is looked for if none was chosen.
    settings : of reading, with what was chosen for columns.
    source : what the table is called.
    """
    with at_step(ReadingStep.LABEL):
        names = chosen.names()
        if chosen.question is OutcomeQuestion.ONE_COLUMN:
            _show_label(view, find_label_column(raw_table, names.label))
    view.kind = kind_of_outcome(raw_table, names, settings)
    table = outcome_of_raw_table(raw_table, names, settings, source)
    _show_outcome(view, table)
    return table


def _show_label(view: TableView, column: pd.Series) -> None:
    """The name of the label's column, and the classes that it has."""
    view.label = str(column.name)
    view.classes = _classes_of(column)


def _classes_of(column: pd.Series) -> list[ClassSize]:
    """The classes of a label with their sizes; none if there are too many for classes."""
    sizes = column.dropna().map(plain_text).value_counts()
    if len(sizes) > MOST_CLASSES:
        return []
    return [ClassSize(str(name), int(size)) for name, size in sizes.items()]


def _show_outcome(view: TableView, table: Dataset | OutcomeTable) -> None:
    """Set what the view says of the whole table: its findings, and its summary in one line.

    Findings are what was noticed about the data. The summary has the size of the table and what the
    outcome is taken for. A `Dataset` has two classes, the second of which is positive; an
    `OutcomeTable` has another outcome, such as numbers.
    """
    view.findings = table.findings
    if isinstance(table, Dataset):
        view.positive = table.classes[1]
        view.summary = table.summary()
        return
    # The outcome may be refused (InputError). `at_step` adds to the error that it is about the
    # label, so that the page shows it beside the field of the label.
    with at_step(ReadingStep.LABEL):
        outcome = outcome_of_table(table)
        outcome_in_words = outcome.taken_for()  # such as "'age' is taken for a number (…)"
    n_samples, n_features = table.X.shape
    size = f"{plural(n_samples, 'sample')}, {plural(n_features, 'feature')}"
    view.summary = f"{table.source}: {size}; {outcome_in_words}"


def _refusal_of_undeclared(table: Dataset | OutcomeTable) -> Refusal:
    """The refusal to test a table in which a column looks like subjects or pairs.

    `table.undeclared` is the sentence that says so. If there is something to propose, the refusal
    also holds the column and what the user may choose for it.
    """
    declaration = table.proposed
    if declaration is None:
        return Refusal(ReadingStep.COLUMNS, table.undeclared)
    return Refusal(
        step=ReadingStep.COLUMNS,
        sentence=table.undeclared,
        column=declaration.column,
        choice=declared_choice(declaration),
    )


def _findings_of_plan(
    table: Dataset | OutcomeTable,
    sets_file: Path | None,
    choices: Choices,
    test_settings: TestSettings,
) -> Sequence[Finding]:
    """What the plan of the test finds; `InputError` if the test cannot be run.

    Parameters
    ----------
    table : with its outcome.
    sets_file : of features to test; None to test features.
    choices : of the user.
    test_settings : how to test.
    """
    names = feature_names(choices)
    if sets_file is not None:
        if names is not None:
            raise InputError("features does not go with sets; leave out one of them.")
        return _findings_of_sets(table, sets_file, test_settings)
    if isinstance(table, OutcomeTable):
        return make_outcome_plan(table, names, test_settings).table.findings
    return make_plan(table, names, test_settings).findings


def _findings_of_sets(
    table: Dataset | OutcomeTable, sets_file: Path, test_settings: TestSettings
) -> Sequence[Finding]:
    """What is noticed about a table, and about the sets of features to be tested on it.

    `sets_file` is the file with the sets. Raises `InputError` if they cannot be tested; its `step`
    tells the page beside which field to show it.
    """
    check_set_settings(test_settings)
    try:
        features_of_sets = read_feature_sets(sets_file)
        # What is asked of every set: how it goes with the outcome of this table.
        question = question_of_table(table, test_settings)
        matched_sets = sets_of_table(question, features_of_sets)  # with columns of the table
    except InputError as error:
        error.step = SETS_STEP
        raise
    findings_of_table = question.findings
    findings_of_matching = matched_sets.findings()
    return (*findings_of_table, *findings_of_matching)
