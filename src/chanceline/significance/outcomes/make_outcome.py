"""The outcome of a table: its columns, read and checked as what the outcome is taken for."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from chanceline.prediction.covariates import real_numbers
from chanceline.significance.outcomes.number import make_number
from chanceline.significance.outcomes.outcome import Outcome
from chanceline.significance.outcomes.several_classes import make_classes
from chanceline.significance.outcomes.survival import make_survival
from chanceline.tables.labels import class_order
from chanceline.tables.outcome_kind import OutcomeKind
from chanceline.tables.outcome_table import OutcomeTable
from chanceline.tables.spelling import plain_text


def outcome_of_table(table: OutcomeTable) -> Outcome:
    """The outcome of every sample of a table."""
    return READERS[table.kind](*table.outcome)


def read_number(column: pd.Series) -> Outcome:
    """A number from its column."""
    name = str(column.name)
    return make_number(real_numbers(column.to_numpy(), name, role="number"), name)


def read_classes(column: pd.Series) -> Outcome:
    """Several classes from their column."""
    names = [plain_text(value) for value in column]
    order = sorted(set(names), key=class_order)
    return make_classes(names, str(column.name), order)


def read_survival(time: pd.Series, event: pd.Series) -> Outcome:
    """Make a survival outcome from two columns of a table.

    Parameters
    ----------
    time : the time of every sample.
    event : 1 (or true) where the event was seen at that time, 0 where the time was cut off.
    """
    name = str(time.name)
    event_name = str(event.name)
    return make_survival(
        times=real_numbers(time.to_numpy(), name, role="time"),
        events=real_numbers(event.to_numpy(), event_name, role="event"),
        name=name,
        event_name=event_name,
        row_labels=time.index,
    )


def own_outcome(outcome: Outcome) -> Outcome:
    """An outcome that the user made."""
    return outcome


# What an outcome is taken for → how it is read from its columns.
READERS: dict[OutcomeKind, Callable[..., Outcome]] = {
    OutcomeKind.NUMBER: read_number,
    OutcomeKind.CLASSES: read_classes,
    OutcomeKind.SURVIVAL: read_survival,
    OutcomeKind.OWN: own_outcome,
}
