"""What the user chose on the page, and the settings that this means.

The page offers one choice for every column, and one field for every other setting. Both become
`TableSettings` and `TestSettings`, which are all that reading and testing know.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from chanceline.app.column_choice import CHOICES_LEFT_OUT, ColumnChoice
from chanceline.app.outcome_choices import OutcomeChoices
from chanceline.app.setting_fields import TABLE_FIELDS, TEST_FIELDS, values_of_texts
from chanceline.errors import InputError
from chanceline.significance.config import TestSettings
from chanceline.tables.column_uses import ColumnUse
from chanceline.tables.dataset import Declaration
from chanceline.tables.reading_steps import ReadingStep, at_step
from chanceline.tables.roles import STEM_PREFIX, Role
from chanceline.tables.settings import TableSettings
from chanceline.tables.wording import quoted


class RoleSetting(NamedTuple):
    """The setting of a table by which a choice of the page declares blocks, groups or pairs.

    Attributes
    ----------
    role : the setting: blocks, groups or pairs of rows, which a column tells apart.
    prefix : what stands before the column's name in the setting's value: "stem:" for every ending
        that is taken off the column's cells, as "_1" off "A7_1", and empty for none.
    """

    role: Role
    prefix: str = ""


ROLE_SETTING_OF_CHOICE = {
    ColumnChoice.GROUPS: RoleSetting(Role.GROUPS),
    ColumnChoice.STEMS_ARE_GROUPS: RoleSetting(Role.GROUPS, STEM_PREFIX),
    ColumnChoice.STEMS_OF_STEMS_ARE_GROUPS: RoleSetting(Role.GROUPS, 2 * STEM_PREFIX),
    ColumnChoice.PAIRS: RoleSetting(Role.PAIRS),
    ColumnChoice.STEMS_ARE_PAIRS: RoleSetting(Role.PAIRS, STEM_PREFIX),
    ColumnChoice.BLOCKS: RoleSetting(Role.BLOCKS),
}


@dataclass(frozen=True)
class Choices:
    """Everything that was chosen for one table.

    Attributes
    ----------
    outcome : its columns and classes.
    columns : by name, what the user says the other columns are.
    table_texts, test_texts : settings as they were typed, by name.
    features : names a,b,c of the features in question; empty to search them.
    search : part of the names of columns to list; empty for the first ones.
    """

    outcome: OutcomeChoices = field(default_factory=OutcomeChoices)
    columns: Mapping[str, ColumnChoice] = field(default_factory=dict)
    table_texts: Mapping[str, str] = field(default_factory=dict)
    test_texts: Mapping[str, str] = field(default_factory=dict)
    features: str = ""
    search: str = ""

    def of_column(self, name: str) -> ColumnChoice:
        """What the user says about one column."""
        part = self.outcome.part_of(name)
        if part is not None:
            return part
        return self.columns.get(name, ColumnChoice.AS_FOUND)

    def with_column(self, name: str, choice: ColumnChoice) -> Choices:
        """The same choices but for one column."""
        return replace(self, columns={**self.columns, name: choice})

    def for_columns(self, names: Collection[str]) -> Choices:
        """The same choices, but for columns that are not there any more: the file may have been
        read in another way since. A column of the outcome is nothing else besides.
        """
        columns = {}
        for name, choice in self.columns.items():
            if name in names and self.outcome.part_of(name) is None:
                columns[name] = choice
        return replace(self, columns=columns)

    def names(self, choice: ColumnChoice) -> tuple[str, ...]:
        """The columns for which this was chosen."""
        return tuple(name for name, chosen in self.columns.items() if chosen is choice)


def reading_settings(choices: Choices, second_file: Path | None) -> TableSettings:
    """The settings that do not speak of single columns: how the file is read, and its cells."""
    with at_step(ReadingStep.FILE):
        values = values_of_texts(choices.table_texts, TABLE_FIELDS)
        settings = TableSettings(labels=second_file, **values)
    return choices.outcome.class_settings(settings)


def column_settings(
    choices: Choices, settings: TableSettings, default_uses: Mapping[str, ColumnUse]
) -> TableSettings:
    """Add what the user chose for single columns to the settings of how a table is read.

    Parameters
    ----------
    choices : the user's choices, only for columns that are in the table.
    settings : how the file is read, from `reading_settings`.
    default_uses : column → what it is used as if the user chooses nothing, in the table's order.
    """
    # Columns that the user left out.
    dropped_names = {name for choice in CHOICES_LEFT_OUT for name in choices.names(choice)}

    # By default, identifiers (with dates) and text are no features. A single one of these columns
    # cannot be made a feature: the setting `keep_identifiers` keeps all identifiers, and `one_hot`
    # all columns of text. If the user chose one as a feature, its setting is therefore turned on,
    # and the columns of the same sort for which nothing was chosen are dropped by name.
    feature_names = choices.names(ColumnChoice.FEATURE)

    identifier_names = _columns_used_as((ColumnUse.IDENTIFIER, ColumnUse.DATE), default_uses)
    keep_identifiers = not identifier_names.isdisjoint(feature_names)
    if keep_identifiers:
        dropped_names |= _without_choice(identifier_names, choices)

    text_names = _columns_used_as((ColumnUse.TEXT,), default_uses)
    one_hot = not text_names.isdisjoint(feature_names)
    if one_hot:
        dropped_names |= _without_choice(text_names, choices)

    dropped_in_table_order = tuple(name for name in default_uses if name in dropped_names)
    return replace(
        settings,
        drop=dropped_in_table_order,
        keep_identifiers=keep_identifiers,
        one_hot=one_hot,
        adjust=choices.names(ColumnChoice.COVARIATE),
        independent=choices.names(ColumnChoice.INDEPENDENT),
        blocks=_column_setting_of_role(Role.BLOCKS, choices),
        groups=_column_setting_of_role(Role.GROUPS, choices),
        pairs=_column_setting_of_role(Role.PAIRS, choices),
    )


def settings_of_test(choices: Choices, n_jobs: int) -> TestSettings:
    """The settings of the test; `n_jobs` processes share its shuffles."""
    return TestSettings(n_jobs=n_jobs, **values_of_texts(choices.test_texts, TEST_FIELDS))


def declared_choice(declaration: Declaration) -> ColumnChoice | None:
    """The choice that says what was proposed; None if the page has none for it."""
    for choice, role_setting in ROLE_SETTING_OF_CHOICE.items():
        value = f"{role_setting.prefix}{declaration.column}"
        if role_setting.role == declaration.role and value == declaration.setting:
            return choice
    return None


def _columns_used_as(
    uses: Collection[ColumnUse], use_of_column: Mapping[str, ColumnUse]
) -> set[str]:
    """The names of the columns that have one of these uses."""
    return {name for name, use in use_of_column.items() if use in uses}


def _without_choice(names: set[str], choices: Choices) -> set[str]:
    """Those of the columns for which the user chose nothing."""
    return {name for name in names if choices.of_column(name) is ColumnChoice.AS_FOUND}


def _column_setting_of_role(role: Role, choices: Choices) -> str | None:
    """The column that the user chose as groups, blocks or pairs, as the value of that setting.

    The value is the name of the column that says which rows belong together. Before the name stands
    the prefix "stem:" if rows belong together whose cells have the same stem, such as "A7" of
    "A7_1" and "A7_2". Returns None if no column was chosen for the `role`, the name of the setting;
    raises `InputError` if several were.
    """
    # Several choices of the page have the same role: they differ in the prefix.
    setting_of_column: dict[str, str] = {}  # name of the column → value of the setting
    for choice, role_setting in ROLE_SETTING_OF_CHOICE.items():
        if role_setting.role is role:
            for name in choices.names(choice):
                setting_of_column[name] = f"{role_setting.prefix}{name}"

    names = list(setting_of_column)
    if not names:
        return None
    if len(names) > 1:
        error = InputError(f"columns {quoted(names)} are all said to be {role}; choose one.")
        error.step = ReadingStep.COLUMNS
        raise error
    return setting_of_column[names[0]]
