"""From what a browser sends to choices; nothing in it is trusted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import NamedTuple

from chanceline.app.choices import Choices
from chanceline.app.column_choice import OUTCOME_CHOICES, ColumnChoice
from chanceline.app.outcome_choices import OutcomeChoices, OutcomeQuestion
from chanceline.app.setting_fields import FILE_FIELDS, TABLE_FIELDS, TEST_FIELDS, SettingField
from chanceline.app.table_view import Refusal, TableView
from chanceline.errors import InputError
from chanceline.tables.outcome_kind import KINDS_TO_ASK_FOR, OutcomeKind

# Names of fields begin so, and go on with the number of a column or of a class, or with the name of
# a setting.
COLUMN_FIELD = "column-"
CLASS_FIELD = "class-"
TABLE_FIELD = "table-"
TEST_FIELD = "test-"

# A longer place is beyond any table. Python refuses to read very long numbers at all.
MOST_DIGITS_OF_PLACE = 12


class Action(StrEnum):
    """Which button of a table's page was pressed; the values are those of the buttons."""

    LOOK = "look"
    RUN = "run"
    DECLARE = "declare"  # a column is what the sentence proposes
    INDEPENDENT = "independent"  # though a column looks like subjects, rows are independent
    CLASSES = "classes"  # few whole numbers are classes
    NUMBER = "number"  # they are sizes


KIND_OF_ACTION = {Action.CLASSES: OutcomeKind.CLASSES, Action.NUMBER: OutcomeKind.NUMBER}


def action_of_form(form: Mapping[str, str]) -> Action:
    """The button that was pressed; a form that was sent without one only looks."""
    try:
        return Action(form.get("action", ""))
    except ValueError:
        return Action.LOOK


def choices_after_answer(choices: Choices, action: Action, refusal: Refusal | None) -> Choices:
    """The choices after the user answered a question of the page by pressing a button.

    Parameters
    ----------
    choices : the choices when the page was shown.
    action : the button that was pressed. Buttons that answer no question change nothing.
    refusal : why the table could not be tested; None if it could. It may name a column
        (`refusal.column`) and propose what that column should be said to be (`refusal.choice`).
    """
    # Was the question whether the outcome is classes or a number?
    if action in KIND_OF_ACTION:
        outcome = replace(choices.outcome, asked_kind=KIND_OF_ACTION[action].value)
        return replace(choices, outcome=outcome)

    # All other answers are about the column that the refusal names. The page asks about it only if
    # there is a proposal: the user accepts it, or says that the rows are independent.
    if refusal is None or refusal.choice is None:
        return choices
    if action is Action.DECLARE:
        return choices.with_column(refusal.column, refusal.choice)
    if action is Action.INDEPENDENT:
        return choices.with_column(refusal.column, ColumnChoice.INDEPENDENT)
    return choices


def choices_after_form(
    form: Mapping[str, str], choices_before: Choices, view: TableView
) -> Choices:
    """The user's choices after a form was sent.

    The form has fields for the outcome and for settings, and a list with one row for each column,
    in which the user may say what the column is.

    Parameters
    ----------
    form : field → its text, as the browser sent it.
    choices_before : the choices before the form was sent.
    view : what the page with the form showed, such as the names of the columns.
    """
    if not view.names:
        # The file could not be read, so the page only asked how to read it. All other choices, and
        # settings that this form has no fields for, stay as they were. (`table_texts` holds the
        # settings of how to read a table, as they were typed.)
        file_texts = texts_of_form(form, TABLE_FIELD, FILE_FIELDS)
        table_texts = {**choices_before.table_texts, **file_texts}
        return replace(choices_before, table_texts=table_texts)

    choices = replace(
        choices_before,
        outcome=outcome_of_form(form, choices_before.outcome, view),
        table_texts=texts_of_form(form, TABLE_FIELD, TABLE_FIELDS),
        test_texts=texts_of_form(form, TEST_FIELD, TEST_FIELDS),
        features=form.get("features", ""),
        search=form.get("search", ""),
    )

    # The columns of the outcome can be chosen in fields of their own, which are applied above, and
    # in the list of columns. The form has all rows of the list. Only those that the user changed
    # are applied: an unchanged row would undo what was chosen in a field above.
    for row in column_rows(form, view.names):
        is_changed = row.choice is not choices_before.of_column(row.name)
        if is_changed:
            choices = choices_after_row(choices, row)

    # The page showed the classes of the label `view.label`. If the label is another one now, the
    # choices about these classes no longer hold.
    if choices.outcome.label != view.label:
        kind_before = choices_before.outcome.asked_kind
        outcome = without_former_classes(choices.outcome, kind_before)
        choices = replace(choices, outcome=outcome)

    # The columns of the outcome, and columns that the table does not have, need no other choice.
    return choices.for_columns(view.names)


def without_former_classes(outcome: OutcomeChoices, kind_before: str) -> OutcomeChoices:
    """The choices without what was said about the classes or the kind of the label before.

    A kind that was chosen together with the new label stays: it differs from `kind_before`.
    """
    kind_of_new_label = ""
    if outcome.asked_kind != kind_before:
        kind_of_new_label = outcome.asked_kind
    return replace(outcome, asked_kind=kind_of_new_label, positive="", compared=())


def outcome_of_form(
    form: Mapping[str, str], outcome: OutcomeChoices, view: TableView
) -> OutcomeChoices:
    """The choices about the outcome (what the features are to predict) after a form was sent.

    Parameters
    ----------
    form : field → its text, as the browser sent it.
    outcome : the choices about the outcome before the form was sent.
    view : what the page with the form showed. Fields for columns and classes hold their numbers in
        the lists that it showed.
    """
    class_names = [size.name for size in view.classes]
    return replace(
        outcome,
        question=question_of_form(form, outcome.question),
        label=name_at(form, "label", view.names),
        time=name_at(form, "time", view.names),
        event=name_at(form, "event", view.names),
        asked_kind=kind_of_form(form, outcome.asked_kind),
        positive=name_at(form, "positive", class_names),
        compared=compared_classes(form, class_names),
    )


def question_of_form(form: Mapping[str, str], before: OutcomeQuestion) -> OutcomeQuestion:
    """Whether the outcome is one column or survival; as before if that was not sent."""
    try:
        return OutcomeQuestion(form.get("question", before))
    except ValueError:
        raise InputError("the page offers no such choice for question.") from None


def kind_of_form(form: Mapping[str, str], before: str) -> str:
    """What the outcome is said to be, empty for nothing; as before if that was not sent."""
    kind = form.get("kind", before)
    if kind and kind not in KINDS_TO_ASK_FOR:
        raise InputError("the page offers no such choice for kind.")
    return kind


def compared_classes(form: Mapping[str, str], class_names: Sequence[str]) -> tuple[str, ...]:
    """The classes that are ticked; none where all of them are, or where there are no boxes."""
    ticked = [name for place, name in enumerate(class_names) if f"{CLASS_FIELD}{place}" in form]
    if len(ticked) == len(class_names):
        return ()
    return tuple(ticked)


def name_at(form: Mapping[str, str], field: str, names: Sequence[str]) -> str:
    """The name that a field means, which holds its place among the names; empty if it holds none.

    Names themselves would not survive the way to the browser and back: it changes line breaks, and
    what cannot be seen is written out.
    """
    place = form.get(field, "")
    if place == "":
        return ""
    is_number = place.isdecimal() and len(place) <= MOST_DIGITS_OF_PLACE
    if not is_number or int(place) >= len(names):
        raise InputError(f"the page offers no such choice for {field}.")
    return names[int(place)]


class ColumnRow(NamedTuple):
    """A row of the list of columns: the column's name, and what was chosen for it."""

    name: str
    choice: ColumnChoice


def column_rows(form: Mapping[str, str], names: Sequence[str]) -> Iterator[ColumnRow]:
    """The rows that a form holds; `names` are those of all columns."""
    for field, text in form.items():
        if field.startswith(COLUMN_FIELD):
            place = {"column": field.removeprefix(COLUMN_FIELD)}
            yield ColumnRow(name_at(place, "column", names), column_choice(text))


def choices_after_row(choices: Choices, row: ColumnRow) -> Choices:
    """The choices after the user changed one row of the list of columns.

    A row has the name of a column, and what the user says it is (`row.choice`): a part of the
    outcome (label, time or event), another use, or nothing (AS_FOUND). The columns of the outcome
    are kept in `choices.outcome`, those with another use in `choices.columns`.
    """
    outcome = choices.outcome
    is_part_of_outcome = row.choice in OUTCOME_CHOICES  # label, time or event
    if is_part_of_outcome:
        outcome = outcome.with_column(row.choice, row.name)
        return replace(choices, outcome=outcome)

    # If the column was a part of the outcome before, that part now has no column: its name is "".
    part_before = outcome.part_of(row.name)
    if part_before is not None:
        outcome = outcome.with_column(part_before, "")

    # The entry of this column is replaced, or taken away if the user says nothing about it.
    uses = {name: use for name, use in choices.columns.items() if name != row.name}
    if row.choice is not ColumnChoice.AS_FOUND:
        uses[row.name] = row.choice
    return replace(choices, outcome=outcome, columns=uses)


def column_choice(text: str) -> ColumnChoice:
    """The choice that a field holds; one that the page does not offer is an error."""
    try:
        return ColumnChoice(text)
    except ValueError:
        raise InputError("the page offers no such choice for a column.") from None


def texts_of_form(
    form: Mapping[str, str], prefix: str, setting_fields: Sequence[SettingField]
) -> dict[str, str]:
    """What was typed for settings, by name; a box that is not ticked is not sent at all."""
    return {item.name: form.get(f"{prefix}{item.name}", "") for item in setting_fields}
