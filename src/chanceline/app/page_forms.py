"""From what a browser sends to choices; nothing in it is trusted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import StrEnum

from chanceline.app.choices import Choices, ColumnChoice
from chanceline.app.setting_fields import TABLE_FIELDS, TEST_FIELDS, SettingField
from chanceline.app.table_view import Refusal, TableView
from chanceline.errors import InputError
from chanceline.tables.wording import quoted

# Names of fields begin so, and go on with the number of a column or the name of a setting.
COLUMN_FIELD = "column-"
TABLE_FIELD = "table-"
TEST_FIELD = "test-"
LABEL_CHOICE = "label"  # of the column that is named by typing


class Action(StrEnum):
    """Which button of a table's page was pressed; the values are those of the buttons."""

    LOOK = "look"
    RUN = "run"
    DECLARE = "declare"  # a column is what the sentence proposes
    INDEPENDENT = "independent"  # though a column looks like subjects, rows are independent


def action_of_form(form: Mapping[str, str]) -> Action:
    """The button that was pressed; a form that was sent without one only looks."""
    try:
        return Action(form.get("action", ""))
    except ValueError:
        return Action.LOOK


def with_answer(choices: Choices, action: Action, refusal: Refusal | None) -> Choices:
    """The choices with the answer to what was asked about a column, if a button gave one."""
    if refusal is None or refusal.choice is None:
        return choices
    if action is Action.DECLARE:
        return choices.with_column(refusal.column, refusal.choice)
    if action is Action.INDEPENDENT:
        return choices.with_column(refusal.column, ColumnChoice.INDEPENDENT)
    return choices


def choices_of_form(form: Mapping[str, str], choices: Choices, view: TableView) -> Choices:
    """The choices that a form makes, from those before and the page that it was filled in on.

    Parameters
    ----------
    form : the fields by name.
    choices, view : as they were when the page was shown.
    """
    class_names = [size.name for size in view.classes]
    columns = dict(choices.columns)
    for position, column in enumerate(view.columns):
        sent = form.get(f"{COLUMN_FIELD}{position}")
        if sent is not None:
            columns[column.name] = column_choice(sent)
    chosen = Choices(
        label=name_at(form, "label", view.names),
        positive=name_at(form, "positive", class_names),
        against=name_at(form, "against", class_names),
        # What is as it was found needs no entry.
        columns={name: choice for name, choice in columns.items() if choice},
        table_texts=texts_of_form(form, TABLE_FIELD, TABLE_FIELDS),
        test_texts=texts_of_form(form, TEST_FIELD, TEST_FIELDS),
        features=form.get("features", ""),
    )
    chosen = with_typed_column(chosen, form, view.names)
    if chosen.label != view.label:
        # The classes are those of another column.
        chosen = replace(chosen, positive="", against="")
    return chosen


def name_at(form: Mapping[str, str], field: str, names: Sequence[str]) -> str:
    """The name that a field means, which holds its place among the names; empty if it holds none.

    Names themselves would not survive the way to the browser and back: it changes line breaks, and
    what cannot be seen is written out.
    """
    place = form.get(field, "")
    if place == "":
        return ""
    if not place.isdecimal() or int(place) >= len(names):
        raise InputError(f"the page offers no such choice for {field}.")
    return names[int(place)]


def with_typed_column(choices: Choices, form: Mapping[str, str], names: Sequence[str]) -> Choices:
    """The choices with the column that was named by typing, if one was.

    Parameters
    ----------
    choices : those made otherwise.
    form : the fields by name.
    names : of all columns.
    """
    name = form.get("typed-name", "").strip()
    choice = form.get("typed-choice", "")
    if not name:
        return choices
    if choice == LABEL_CHOICE:
        return replace(choices, label=name)
    if name not in names:
        raise InputError(f"there is no column {name!r}; there are {quoted(names)}.")
    return choices.with_column(name, column_choice(choice))


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
