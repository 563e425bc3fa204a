"""One field of the page for each setting: its words are those of the command line's help."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import Field, dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import Any, get_type_hints

from chanceline._results import visible
from chanceline.errors import InputError
from chanceline.significance.config import TestSettings
from chanceline.tables.settings import TableSettings, split_names

ANNDATA_SUFFIX = ".h5ad"
# Settings that mean something for some files alone.
ANNDATA_SETTINGS = {"layer", "pseudobulk"}
SECOND_FILE_SETTINGS = {"id"}
ON = "on"  # what a browser sends for a box that is ticked


class FieldKind(StrEnum):
    """How a setting is asked for."""

    BOX = "box"
    CHOICE = "choice"
    NUMBER = "number"
    WHOLE_NUMBER = "whole number"
    NAMES = "names"
    TEXT = "text"


@dataclass(frozen=True)
class SettingField:
    """A setting as the page asks for it.

    Attributes
    ----------
    name : of the setting.
    question : above the field.
    help : beside the field, as the command line has it.
    kind : how it is asked for.
    choices : where only certain values will do.
    default : what an empty field means.
    """

    name: str
    question: str
    help: str
    kind: FieldKind
    choices: tuple[str, ...]
    default: Any


# Settings that the page asks for, with the question; those about columns and classes have places of
# their own on the page.
FILE_QUESTIONS = {
    "transpose": "Are the features in rows, the samples in columns?",
    "header": "What does the first line hold?",
    "sheet": "Which sheet of the workbook?",
    "decimal": "Which decimal sign?",
    "id": "Which column of the second file names the samples?",
    "layer": "Which layer of AnnData?",
    "pseudobulk": "Are the rows cells of donors?",
}
LABEL_QUESTIONS = {
    "unlabelled": "Are there rows without an outcome?",
}
SPLIT_QUESTIONS = {"split_at": "Is the number to be split in two classes?"}
CELL_QUESTIONS = {
    "below": "Are there values below a limit of detection?",
    "na": "Which cells mean missing?",
}
GAP_QUESTIONS = {"missing": "Are there gaps?"}
UNIT_QUESTIONS = {"transform": "Are the values counts, or in other units?"}
# What a table of new samples may have of its own; all else belongs to the saved result.
NEW_SAMPLES_QUESTIONS = {
    "unlabelled": "Are there rows without a class?",
    "na": "Which cells mean missing?",
    "groups": "Which column names the subjects?",
    "pairs": "Which column names the pairs?",
    "blocks": "Which column names the sites, batches or runs?",
    "independent": "Which columns look like subjects, though rows are independent?",
}
TEST_QUESTIONS = {
    "preregistered": "Were the features named above fixed beforehand?",
    "permutations": "How many shuffled labellings?",
    "level": "Which p-value convinces?",
    "errors": "How many errors are allowed?",
    "integer": "A scorecard too?",
    "seed": "Which seed?",
}


def fields_of(settings_class: type[Any], questions: Mapping[str, str]) -> list[SettingField]:
    """The fields of some settings, in the order of their questions."""
    by_name = {item.name: item for item in fields(settings_class)}
    hints = get_type_hints(settings_class)
    return [
        _setting_field(by_name[name], hints[name], question) for name, question in questions.items()
    ]


def _setting_field(dataclass_field: Field[Any], type_hint: Any, question: str) -> SettingField:
    """Make the field of the page that asks for one setting.

    Parameters
    ----------
    dataclass_field : the setting, a field of a dataclass. Its metadata hold the help text, and the
        values to choose from if only some are allowed.
    type_hint : the type of the setting's value.
    question : the words above the field.
    """
    choices = dataclass_field.metadata.get("choices", ())
    return SettingField(
        name=dataclass_field.name,
        question=question,
        help=dataclass_field.metadata["help"],
        kind=_field_kind(dataclass_field, type_hint, choices),
        choices=choices,
        default=dataclass_field.default,
    )


def _field_kind(dataclass_field: Field[Any], type_hint: Any, choices: Sequence[str]) -> FieldKind:
    """How the page asks for a setting, by its choices, its default and its type.

    Parameters
    ----------
    dataclass_field : the setting, a field of a dataclass.
    type_hint : the type of the setting's value.
    choices : the values allowed; empty if any will do.
    """
    if choices:
        return FieldKind.CHOICE
    if dataclass_field.default == ():  # a tuple of names, empty by default
        return FieldKind.NAMES
    kind_of_type = {bool: FieldKind.BOX, int: FieldKind.WHOLE_NUMBER, float: FieldKind.NUMBER}
    for value_type, kind in kind_of_type.items():
        # Settings that may be left open have the type `value_type | None`.
        if type_hint in (value_type, value_type | None):
            return kind
    return FieldKind.TEXT


FILE_FIELDS = fields_of(TableSettings, FILE_QUESTIONS)
LABEL_FIELDS = fields_of(TableSettings, LABEL_QUESTIONS)
SPLIT_FIELDS = fields_of(TableSettings, SPLIT_QUESTIONS)
CELL_FIELDS = fields_of(TableSettings, CELL_QUESTIONS)
GAP_FIELDS = fields_of(TableSettings, GAP_QUESTIONS)
UNIT_FIELDS = fields_of(TableSettings, UNIT_QUESTIONS)
TABLE_FIELDS = [*FILE_FIELDS, *LABEL_FIELDS, *SPLIT_FIELDS, *CELL_FIELDS, *GAP_FIELDS, *UNIT_FIELDS]
NEW_SAMPLES_FIELDS = fields_of(TableSettings, NEW_SAMPLES_QUESTIONS)
TEST_FIELDS = fields_of(TestSettings, TEST_QUESTIONS)


def file_fields(table: Path, labels: Path | None) -> list[SettingField]:
    """The fields that ask how files are read, those that mean something for them.

    Parameters
    ----------
    table : the file of a table.
    labels : a second file; None if there is none.
    """
    hidden: set[str] = set()
    if table.suffix != ANNDATA_SUFFIX:
        hidden |= ANNDATA_SETTINGS
    if labels is None:
        hidden |= SECOND_FILE_SETTINGS
    return [item for item in FILE_FIELDS if item.name not in hidden]


def values_of_texts(
    texts: Mapping[str, str], setting_fields: Sequence[SettingField]
) -> dict[str, Any]:
    """The values of settings from what was typed, by name; an empty field means its default."""
    values = {}
    for setting_field in setting_fields:
        text = texts.get(setting_field.name, "").strip()
        if text:
            values[setting_field.name] = _value_of_text(text, setting_field)
    return values


def _value_of_text(text: str, setting_field: SettingField) -> Any:
    """The value of one setting from what was typed into its field, a text that is not empty."""
    kind = setting_field.kind
    if kind is FieldKind.BOX:
        return text == ON  # what a browser sends for a box that is ticked
    if kind is FieldKind.NAMES:
        return split_names(text)
    if kind is FieldKind.WHOLE_NUMBER:
        return _number_of_text(text, setting_field.name, int, "a whole number")
    if kind is FieldKind.NUMBER:
        return _number_of_text(text, setting_field.name, float, "a number")
    return text


def _number_of_text(text: str, name: str, number_type: type[Any], in_words: str) -> Any:
    """The number that a text writes; an error that names the setting if it writes none."""
    try:
        return number_type(text)
    except ValueError:
        raise InputError(f"{name} must be {in_words}, not {visible(text)!r}.") from None
