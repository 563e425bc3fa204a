"""What every column of a table is taken for, before any label is known.

The same functions decide as in `load_data`, which needs the labels for its warnings alone.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import numpy as np
import pandas as pd

from chanceline.tables.dates import date_columns
from chanceline.tables.features import ColumnKinds, sort_columns
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
    """By the name of every column: what it is taken for.

    Parameters
    ----------
    table : as it was read.
    label : the name or the number of the label's column; None if nothing was said.
    settings : name other columns, and say which kinds of columns are kept.
    """
    named = _uses_that_settings_say(table, label, settings)
    uses = {str(name): ColumnUse.ABOUT_SAMPLES for name in table.about.columns}
    if table.index_name:
        uses[table.index_name] = ColumnUse.ABOUT_SAMPLES
    # In the order of the table.
    uses.update({str(name): ColumnUse.FEATURE for name in table.values.columns})
    is_free = [str(name) not in named for name in table.values.columns]
    uses.update(_uses_by_content(table.values.loc[:, is_free], settings))
    uses.update(named)
    return uses


def _uses_that_settings_say(
    table: RawTable, label: str | None, settings: TableSettings
) -> dict[str, ColumnUse]:
    """The uses of the columns that the user names, as far as the table has them."""
    uses: dict[str, ColumnUse] = {}

    def put(names: tuple[str, ...], use: ColumnUse) -> None:
        for name in names:
            column = table.column(name)
            if column is not None:
                uses[str(column.name)] = use

    put(settings.drop, ColumnUse.LEFT_OUT)
    put(settings.independent, ColumnUse.INDEPENDENT)
    put(settings.adjust, ColumnUse.COVARIATE)
    for role in Role:
        column = find_role(table, role, settings)
        if column is not None:
            uses[str(column.name)] = USE_OF_ROLE[role]
    if label is not None:
        put((label,), ColumnUse.LABEL)
    return uses


def _uses_by_content(columns: pd.DataFrame, settings: TableSettings) -> dict[str, ColumnUse]:
    """The uses of columns about which nothing was said, apart from plain features.

    Parameters
    ----------
    columns : of shape (samples, columns).
    settings : `keep_identifiers` and `one_hot`.
    """
    uses: dict[str, ColumnUse] = {}
    if not settings.keep_identifiers:
        dates = list(date_columns(columns))
        uses.update(_all_taken_for(dates, ColumnUse.DATE))
        columns = columns.drop(columns=dates)
    kinds = sort_columns(columns, settings)
    use_of_words = ColumnUse.INDICATORS if settings.one_hot else ColumnUse.TEXT
    uses.update(_all_taken_for(kinds.words.columns, use_of_words))
    if not settings.keep_identifiers:
        identifiers = identifier_columns(_numbers(kinds, columns))
        uses.update(_all_taken_for(identifiers, ColumnUse.IDENTIFIER))
    return uses


def _all_taken_for(names: Any, use: ColumnUse) -> dict[str, ColumnUse]:
    return {str(name): use for name in names}


def _numbers(kinds: ColumnKinds, columns: pd.DataFrame) -> pd.DataFrame:
    """All columns of numbers in the order of the table, of shape (samples, columns)."""
    if kinds.numbers_as_text.shape[1] == 0:
        return kinds.numeric  # a wide table is not copied
    read = pd.DataFrame(
        kinds.cells.numbers, columns=kinds.numbers_as_text.columns, index=columns.index
    )
    numbers = pd.concat([kinds.numeric, read], axis=1).astype(np.float64)
    return numbers[[name for name in columns.columns if name not in kinds.words]]
