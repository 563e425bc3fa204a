"""What the page shows of a table under the present choices: first rows, columns, classes, errors.

The steps are those of `load_data` and of the test's plan. The first one that fails gives its
sentence, and what was found before it is shown nevertheless.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from chanceline.app.choices import (
    Choices,
    ColumnChoice,
    column_settings,
    declared_choice,
    reading_settings,
    settings_of_test,
)
from chanceline.errors import ChancelineError, InputError
from chanceline.significance.config import TestSettings
from chanceline.significance.plan import make_plan
from chanceline.tables.column_uses import ColumnUse, column_uses
from chanceline.tables.dataset import Dataset, Finding
from chanceline.tables.identifiers import possibly_whole_columns
from chanceline.tables.labelled import label_samples, read_table
from chanceline.tables.labels import find_label_column
from chanceline.tables.load import dataset_of_samples
from chanceline.tables.raw_table import RawTable
from chanceline.tables.readers.source import source_name
from chanceline.tables.reading_steps import ReadingStep, at_step
from chanceline.tables.settings import TableSettings, split_names
from chanceline.tables.spelling import plain_text

FIRST_ROWS_SHOWN = 6
COLUMNS_IN_FIRST_ROWS = 12
MOST_COLUMNS_LISTED = 150  # with a choice each; any other column can be named
FIRST_VALUES_SHOWN = 3
MOST_LABELS_LISTED = 200  # any other column can be named
MOST_CLASSES = 20  # a column with more values is no label, unless it is split
TEST_STEP = "test"  # beside the steps of reading: what the test itself refuses


@dataclass(frozen=True)
class ColumnView:
    """One column as the page lists it.

    Attributes
    ----------
    name : of the column.
    first_values : some of its cells.
    found : what it is taken for where nothing is said.
    use : what it is taken for now.
    choice : what the user says it is.
    """

    name: str
    first_values: str
    found: ColumnUse
    use: ColumnUse
    choice: ColumnChoice


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
    step : a `ReadingStep`, or `TEST_STEP`: beside which fields the sentence stands.
    sentence : of the command line.
    column, choice : what the sentence proposes to say about a column; None if it proposes nothing.
    """

    step: str
    sentence: str
    column: str = ""
    choice: ColumnChoice | None = None


@dataclass
class TableView:
    """What is known about a table; the fields are filled step by step.

    Attributes
    ----------
    n_rows : of the table.
    names : of all columns.
    first_rows : with their names, of the first columns.
    columns : those listed with a choice.
    label_names : columns that may be the label.
    label : the name of the label's column, once it is known.
    classes : of the label.
    positive : the class that is taken for positive, once it is known.
    summary : samples, classes and features in one line, once they are known.
    findings : what is worth knowing about the table.
    refusal : the first thing that is wrong; None if the test can be run.
    table_settings, test_settings : what the choices mean; None if they mean nothing.
    """

    n_rows: int = 0
    names: list[str] = field(default_factory=list)
    first_rows: list[list[str]] = field(default_factory=list)
    columns: list[ColumnView] = field(default_factory=list)
    label_names: list[str] = field(default_factory=list)
    label: str = ""
    classes: list[ClassSize] = field(default_factory=list)
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

    def label_positions(self) -> dict[int, str]:
        """The columns that may be the label, with the one that is, by their place in the table."""
        candidates = {*self.label_names, self.label}
        return {place: name for place, name in enumerate(self.names) if name in candidates}


def look_at(path: Path, second_file: Path | None, choices: Choices, n_jobs: int) -> TableView:
    """Read a table under the choices, as far as they go.

    Parameters
    ----------
    path, second_file : the files; the second one may be missing.
    choices : of the user.
    n_jobs : processes that a run may use.
    """
    view = TableView()
    try:
        _fill(view, path, second_file, choices, n_jobs)
    except InputError as error:
        view.refusal = Refusal(step=error.step or TEST_STEP, sentence=str(error))
    except ChancelineError as error:
        view.refusal = Refusal(TEST_STEP, str(error))
    except MemoryError:
        view.refusal = Refusal(ReadingStep.FILE, "there is not enough memory for this table.")
    return view


def _fill(
    view: TableView, path: Path, second_file: Path | None, choices: Choices, n_jobs: int
) -> None:
    """Fill the view step by step; `InputError` where a step fails."""
    label = choices.label or None
    settings = reading_settings(choices, second_file)
    table = read_table(path, label, settings)
    found = column_uses(table, label, settings)
    choices = choices.for_columns(found)
    _show_table(view, table)
    view.columns = _list_columns(table, found, found, choices)
    if choices.columns:
        with at_step(ReadingStep.COLUMNS):
            settings = column_settings(choices, settings, found)
            uses = column_uses(table, label, settings)
        view.columns = _list_columns(table, found, uses, choices)
    view.table_settings = settings

    with at_step(ReadingStep.LABEL):
        label_column = find_label_column(table, label)
    view.label = str(label_column.name)
    view.classes = _classes_of(label_column)
    samples = label_samples(table, label, settings)
    view.positive = samples.classes[1]
    dataset = dataset_of_samples(samples, settings, source_name(path))
    view.summary = dataset.summary()
    view.findings = dataset.findings
    view.test_settings = settings_of_test(choices, n_jobs)
    if dataset.undeclared:
        view.refusal = _undeclared(dataset)
        return
    plan = make_plan(dataset, feature_names(choices), view.test_settings)
    view.findings = plan.findings


def feature_names(choices: Choices) -> tuple[str, ...] | None:
    """The names of the features in question; None to search them."""
    return split_names(choices.features) or None


def _undeclared(dataset: Dataset) -> Refusal:
    """That a column looks like subjects or pairs, with what could be said about it."""
    declaration = dataset.proposed
    if declaration is None:
        return Refusal(ReadingStep.COLUMNS, dataset.undeclared)
    return Refusal(
        step=ReadingStep.COLUMNS,
        sentence=dataset.undeclared,
        column=declaration.column,
        choice=declared_choice(declaration),
    )


def _show_table(view: TableView, table: RawTable) -> None:
    """The names, the first rows, and the columns that may be the label."""
    view.n_rows = len(table.values)
    view.names = _all_names(table)
    beginnings = _beginnings(table, view.shown_names)
    for row in range(min(FIRST_ROWS_SHOWN, view.n_rows)):
        cells = [_cell(beginnings[name].iloc[row]) for name in view.shown_names]
        view.first_rows.append([str(table.values.index[row]), *cells])
    view.label_names = _possible_labels(table)


def _all_names(table: RawTable) -> list[str]:
    """The names of all columns, and what the samples' names are called that are no column."""
    if table.index_name:
        return [table.index_name, *table.column_names]
    return table.column_names


def _beginnings(table: RawTable, names: Collection[str]) -> dict[str, pd.Series]:
    """The first rows of some columns, by name.

    One look at all names, as tables have many; a name that occurs both about the samples and among
    the values means the first, as everywhere.
    """
    wanted = set(names)
    beginnings: dict[str, pd.Series] = {}
    if table.sample_names is not None:
        beginnings[table.index_name] = table.sample_names.head(FIRST_ROWS_SHOWN)
    for frame in (table.values, table.about):
        first_rows = frame.head(FIRST_ROWS_SHOWN)
        for position, name in enumerate(frame.columns):
            if str(name) in wanted:
                beginnings[str(name)] = first_rows.iloc[:, position]
    return beginnings


def _cell(value: Any) -> str:
    """One cell as text, empty if nothing is in it."""
    if pd.isna(value):
        return ""
    return plain_text(value)


def _possible_labels(table: RawTable) -> list[str]:
    """Names of columns with two to `MOST_CLASSES` different values; those with two come first."""
    with_two_values = []
    with_more = []
    for frame in (table.about, table.values):
        for name, n_values in _few_values(frame).items():
            if n_values == 2:
                with_two_values.append(name)
            elif 2 < n_values <= MOST_CLASSES:
                with_more.append(name)
    return [*with_two_values, *with_more][:MOST_LABELS_LISTED]


def _few_values(frame: pd.DataFrame) -> dict[str, int]:
    """The number of different values of the columns that may have few: text and whole numbers."""
    n_values = {}
    text = frame.select_dtypes(exclude="number")
    for name, n_texts in text.nunique().items():
        n_values[str(name)] = int(n_texts)
    numbers = frame.select_dtypes("number")
    if len(numbers) == 0:
        return n_values
    whole_names = possibly_whole_columns(numbers)
    # In sorted columns every step up is a further value; gaps come last, and are none.
    ordered = np.sort(numbers[whole_names].to_numpy(dtype=np.float64), axis=0)
    n_numbers = 1 + np.sum(np.diff(ordered, axis=0) > 0, axis=0)
    for name, n_different in zip(whole_names, n_numbers, strict=True):
        n_values[str(name)] = int(n_different)
    return n_values


def _classes_of(column: pd.Series) -> list[ClassSize]:
    """The classes of a label with their sizes; none if there are too many for classes."""
    sizes = column.dropna().map(plain_text).value_counts()
    if len(sizes) > MOST_CLASSES:
        return []
    return [ClassSize(str(name), int(size)) for name, size in sizes.items()]


def _list_columns(
    table: RawTable,
    found: dict[str, ColumnUse],
    uses: dict[str, ColumnUse],
    choices: Choices,
) -> list[ColumnView]:
    """The columns with a choice each: those that are no plain features, then the first features.

    Parameters
    ----------
    table : as it was read.
    found, uses : what columns are taken for where nothing is said, and now.
    choices : of the user.
    """
    special = []
    plain = []
    for name, use in uses.items():
        is_plain = use is ColumnUse.FEATURE and name not in choices.columns
        if is_plain:
            plain.append(name)
        else:
            special.append(name)
    listed_names = [*special, *plain][:MOST_COLUMNS_LISTED]
    beginnings = _beginnings(table, listed_names)
    return [
        ColumnView(
            name=name,
            first_values=_first_values(beginnings[name]),
            found=found[name],
            use=uses[name],
            choice=choices.of_column(name),
        )
        for name in listed_names
    ]


def _first_values(beginning: pd.Series) -> str:
    """The first different values of a column, to recognise it by."""
    values = beginning.dropna().map(plain_text).unique()
    return ", ".join(values[:FIRST_VALUES_SHOWN])
