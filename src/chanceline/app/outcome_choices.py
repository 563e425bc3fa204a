"""What the user chose about the outcome: its columns, what they hold, and which classes count."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from chanceline.app.column_choice import ColumnChoice
from chanceline.errors import InputError
from chanceline.tables.outcome_kind import OutcomeKind
from chanceline.tables.outcome_table import OutcomeNames
from chanceline.tables.settings import TableSettings


class OutcomeQuestion(StrEnum):
    """What is known of every sample; the values are those of the page's fields."""

    ONE_COLUMN = "column"  # classes, or a number
    SURVIVAL = "survival"  # a time, and whether the event was seen then


@dataclass(frozen=True)
class OutcomeChoices:
    """Everything that was chosen about the outcome.

    Attributes
    ----------
    question : whether the outcome is one column, or a time and an event.
    label, time, event : the names of the columns; empty if none was chosen yet.
    asked_kind : "number" or "classes"; empty if it is to be found out.
    positive : the positive class; empty to let it be chosen, or to compare all classes at once.
    compared : the classes whose rows are compared; empty for all.
    """

    question: OutcomeQuestion = OutcomeQuestion.ONE_COLUMN
    label: str = ""
    time: str = ""
    event: str = ""
    asked_kind: str = ""
    positive: str = ""
    compared: tuple[str, ...] = ()

    @property
    def columns(self) -> dict[ColumnChoice, str]:
        """The columns of the outcome by what they hold, those that were chosen."""
        columns = {ColumnChoice.LABEL: self.label}
        if self.question is OutcomeQuestion.SURVIVAL:
            columns = {ColumnChoice.TIME: self.time, ColumnChoice.EVENT: self.event}
        return {choice: name for choice, name in columns.items() if name}

    @property
    def first_column(self) -> str | None:
        """The first column of the outcome; None if none was chosen."""
        return next(iter(self.columns.values()), None)

    def part_of(self, name: str) -> ColumnChoice | None:
        """What the column of this name holds of the outcome; None if nothing."""
        for choice, column in self.columns.items():
            if column == name:
                return choice
        return None

    def names(self) -> OutcomeNames:
        """The columns as reading wants them; an error if survival lacks two."""
        if self.question is OutcomeQuestion.ONE_COLUMN:
            return OutcomeNames(label=self.label or None, asked_kind=self.asked_kind or None)
        if not self.columns:
            raise InputError("choose the column of the times, and that of the events.")
        if self.time == self.event:
            raise InputError(f"{self.time!r} cannot be both the time and the event; choose two.")
        return OutcomeNames(time=self.time or None, event=self.event or None)

    def with_column(self, choice: ColumnChoice, name: str) -> OutcomeChoices:
        """The same choices, but for the column that holds this part of the outcome."""
        if choice is ColumnChoice.LABEL:
            return replace(self, question=OutcomeQuestion.ONE_COLUMN, label=name)
        if choice is ColumnChoice.TIME:
            return replace(self, question=OutcomeQuestion.SURVIVAL, time=name)
        return replace(self, question=OutcomeQuestion.SURVIVAL, event=name)

    def class_settings(self, settings: TableSettings) -> TableSettings:
        """The settings with what was chosen about classes."""
        has_classes = self.question is OutcomeQuestion.ONE_COLUMN
        if not has_classes or self.asked_kind == OutcomeKind.NUMBER:
            return settings
        if len(self.compared) == 2 and self.positive in self.compared:
            # Of two classes the first one is positive.
            others = [name for name in self.compared if name != self.positive]
            return replace(settings, classes=(self.positive, *others))
        return replace(settings, classes=self.compared, positive=self.positive or None)
