"""What every column of a table is taken for, before any label is known.

The same functions decide as in `load_data`, which needs the labels for its warnings alone.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import numpy as np
import pandas as pd

from chanceline.tables.dates import date_columns
from chanceline.tables.features import ColumnKinds, classify_columns
from chanceline.tables.identifiers import identifier_columns
from chanceline.tables.raw_table import RawTable
from chanceline.tables.roles import Role, find_role
from chanceline.tables.settings import TableSettings


class ColumnUse(StrEnum):
    """What a column is taken for; the values are words to show."""

    FEATURE = "feature"
    INDICATORS = "indicators"  # text that becomes features, one for each value
    LABEL = "label"
    TIME = "time"  # of survival
    EVENT = "event"
    GROUPS = "subject"
    PAIRS = "pair"
    BLOCKS = "block"
    COVARIATE = "covariate"
    INDEPENDENT = "no subject"  # though it looks like one
    IDENTIFIER = "identifier"
    DATE = "date"
    TEXT = "text"
    ABOUT_SAMPLES = "about the samples"  # from a second file or a header, never a feature
    LEFT_OUT = "left out"


USE_OF_ROLE = {
    Role.GROUPS: ColumnUse.GROUPS,
    Role.PAIRS: ColumnUse.PAIRS,
    Role.BLOCKS: ColumnUse.BLOCKS,
}


def column_uses(
    table: RawTable, label: str | None, settings: TableSettings
) -> dict[str, ColumnUse]:
    """How every column of a table is used (as a feature, label, group, …), by the column's name.

    Parameters
    ----------
    table : the table as it was read.
    label : the name or the number of the label's column; None if the user named none.
    settings : name blocks, groups and so on, and say which kinds of columns are kept.
    """
    # First an entry for every column, in the order of the table: columns that only describe the
    # samples (`descriptions`), their names, and columns that may be features (`values`).
    uses = {str(name): ColumnUse.ABOUT_SAMPLES for name in table.descriptions.columns}
    if table.index_name:
        uses[table.index_name] = ColumnUse.ABOUT_SAMPLES
    uses.update({str(name): ColumnUse.FEATURE for name in table.values.columns})

    # Then the uses that the settings name. The content of the other columns decides which of them
    # are no features.
    named_uses = _uses_by_settings(table, label, settings)
    is_unnamed = [str(name) not in named_uses for name in table.values.columns]
    uses.update(_uses_by_content(table.values.loc[:, is_unnamed], settings))
    uses.update(named_uses)
    return uses


def _uses_by_settings(
    table: RawTable, label: str | None, settings: TableSettings
) -> dict[str, ColumnUse]:
    """The uses of the columns that the settings name, by the column's name.

    Names that the table does not have are ignored. A column that is named for several uses has the
    last of them, in the order of the code.
    """
    uses = _uses_of_named(table, settings.drop, ColumnUse.LEFT_OUT)
    uses.update(_uses_of_named(table, settings.independent, ColumnUse.INDEPENDENT))
    uses.update(_uses_of_named(table, settings.adjust, ColumnUse.COVARIATE))
    for role in Role:
        column = find_role(table, role, settings)
        if column is not None:
            uses[str(column.name)] = USE_OF_ROLE[role]
    if label is not None:
        uses.update(_uses_of_named(table, (label,), ColumnUse.LABEL))
    return uses


def _uses_of_named(table: RawTable, names: tuple[str, ...], use: ColumnUse) -> dict[str, ColumnUse]:
    """`use` for each of the columns with these names or numbers, by the column's name.

    Names that the table does not have are ignored.
    """
    uses = {}
    for name in names:
        column = table.column(name)
        if column is not None:
            uses[str(column.name)] = use
    return uses


def _uses_by_content(columns: pd.DataFrame, settings: TableSettings) -> dict[str, ColumnUse]:
    """The uses of columns that the settings do not name, found from their content.

    Columns that are plain features have no entry.

    Parameters
    ----------
    columns : these columns, of shape (samples, columns).
    settings : with `keep_identifiers` dates and identifiers are features, with `one_hot` words
        become indicators.
    """
    uses: dict[str, ColumnUse] = {}

    # Dates.
    undated_columns = columns
    if not settings.keep_identifiers:
        dates = list(date_columns(columns))
        uses.update(_same_use_for_all(dates, ColumnUse.DATE))
        undated_columns = columns.drop(columns=dates)

    # Words.
    kinds = classify_columns(undated_columns, settings)
    use_of_words = ColumnUse.INDICATORS if settings.one_hot else ColumnUse.TEXT
    uses.update(_same_use_for_all(kinds.words.columns, use_of_words))

    # Numbers that only tell the rows apart.
    if not settings.keep_identifiers:
        numbers = _all_numbers(kinds, undated_columns)
        identifiers = identifier_columns(numbers)
        uses.update(_same_use_for_all(identifiers, ColumnUse.IDENTIFIER))
    return uses


def _same_use_for_all(names: Any, use: ColumnUse) -> dict[str, ColumnUse]:
    return {str(name): use for name in names}


def _all_numbers(kinds: ColumnKinds, columns: pd.DataFrame) -> pd.DataFrame:
    """All columns of numbers, also those written as text (`<0.5`), in the order of `columns`.

    Parameters
    ----------
    kinds : the columns, sorted by what they hold.
    columns : the same columns in the order of the table, of shape (samples, columns).
    """
    if kinds.numbers_as_text.shape[1] == 0:
        return kinds.numeric  # without a copy, as the table may be large
    parsed = pd.DataFrame(
        kinds.cells.numbers, columns=kinds.numbers_as_text.columns, index=columns.index
    )
    numbers = pd.concat([kinds.numeric, parsed], axis=1).astype(np.float64)
    names_in_order = [name for name in columns.columns if name not in kinds.words]
    return numbers[names_in_order]
