"""The outcome of new samples, read as that of the table tested was."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from chanceline._arrays import Bools
from chanceline.cohort.new_samples import NewTable
from chanceline.cohort.saved_outcome_rule import SavedKind
from chanceline.errors import InputError
from chanceline.significance.outcomes.make_outcome import read_number, read_survival
from chanceline.significance.outcomes.outcome import Outcome
from chanceline.significance.outcomes.several_classes import ClassesOutcome
from chanceline.tables.labels import find_label_column
from chanceline.tables.roles import find_column, require_filled
from chanceline.tables.spelling import folded_name, plain_text
from chanceline.tables.wording import row_name


class SavedColumns(NamedTuple):
    """The columns of an outcome.

    Attributes
    ----------
    label : of a number or of classes; empty for survival.
    time, event : of survival; else empty.
    """

    label: str = ""
    time: str = ""
    event: str = ""

    def with_defaults(self, defaults: SavedColumns) -> SavedColumns:
        """These columns, and the default wherever none is named."""
        pairs = zip(self, defaults, strict=True)
        return SavedColumns(*(name or default for name, default in pairs))


class NewOutcome(NamedTuple):
    """The outcome of the rows that have one.

    Attributes
    ----------
    outcome : the outcome of these rows.
    columns : the columns of the outcome, as they are written in these rows.
    is_filled : which rows of the table they are, (rows,).
    """

    outcome: Outcome
    columns: tuple[pd.Series, ...]
    is_filled: Bools


def read_new_outcome(
    table: NewTable, names: SavedColumns, kind: SavedKind, class_names: tuple[str, ...]
) -> NewOutcome:
    """Read the outcome (survival, a number or classes) of the rows of a new table that have one.

    Parameters
    ----------
    table : the new samples.
    names : the names of the columns of the outcome.
    kind : what the outcome of the table tested was.
    class_names : the names of the classes of the table tested; empty for other outcomes.
    """
    # Survival has two columns, and a row needs both. Rows without them are an error, unless the
    # settings drop them (`_filled_rows`).
    if kind is SavedKind.SURVIVAL:
        times = find_column(table.raw, names.time, "time")
        events = find_column(table.raw, names.event, "event")
        is_filled = _filled_rows(table, {"time": times, "event": events})
        filled_times = times[is_filled]
        filled_events = events[is_filled]
        survival = read_survival(filled_times, filled_events)
        return NewOutcome(survival, (filled_times, filled_events), is_filled)

    # A number or classes have one column.
    column = find_label_column(table.raw, names.label or None)
    is_filled = _filled_rows(table, {"label": column})
    filled_column = column[is_filled]
    outcome: Outcome
    if kind is SavedKind.NUMBER:
        outcome = read_number(filled_column)
    else:
        outcome = read_known_classes(filled_column, class_names)
    return NewOutcome(outcome, (filled_column,), is_filled)


def _filled_rows(table: NewTable, columns: dict[str, pd.Series]) -> Bools:
    """Which rows have an outcome, (rows,); all of them must, unless the others are dropped.

    Parameters
    ----------
    table : new samples.
    columns : the columns of the outcome, by their role.
    """
    is_filled = np.ones(len(table.raw.values), dtype=bool)
    for role, column in columns.items():
        if table.settings.unlabelled != "drop":
            require_filled(column, role, table.settings)
        is_filled &= column.notna().to_numpy(dtype=bool)
    return is_filled


def read_known_classes(column: pd.Series, class_names: tuple[str, ...]) -> ClassesOutcome:
    """Turn the classes of new samples into codes: the position of each in `class_names`.

    A class that the table tested did not have is an error, and so are samples of one class only.

    Parameters
    ----------
    column : the classes as they are written, (samples,).
    class_names : the names of the classes of the table tested.
    """
    # Names are compared in folded form, without regard to case and spaces.
    code_of_name = {folded_name(name): code for code, name in enumerate(class_names)}
    codes = []
    for row, value in enumerate(column):
        name = folded_name(plain_text(value))
        code = code_of_name.get(name)
        if code is None:
            raise InputError(
                f"label column {str(column.name)!r} has {str(value)!r} in "
                f"{row_name(column.index, row)}, which is none of the classes of the rule "
                f"({', '.join(class_names)}); write the classes alike, or leave that row out."
            )
        codes.append(code)
    if len(set(codes)) < 2:
        raise InputError(
            f"label column {str(column.name)!r} has one class only; samples of two are needed."
        )
    return ClassesOutcome(
        name=str(column.name), class_names=class_names, codes=np.array(codes, dtype=np.int64)
    )
