"""The columns of a table as the page lists them, each with a choice; tables may have very many."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from chanceline.app.choices import Choices
from chanceline.app.column_choice import ColumnChoice
from chanceline.tables.column_uses import ColumnUse
from chanceline.tables.raw_table import RawTable
from chanceline.tables.spelling import plain_text

FIRST_ROWS_KEPT = 6
FIRST_VALUES_SHOWN = 3
MOST_COLUMNS_LISTED = 150  # at once; any other column can be searched


@dataclass(frozen=True)
class ColumnView:
    """One column as the page lists it.

    Attributes
    ----------
    place : of the column in the table, by which forms know it.
    name : of the column.
    first_values : some of its cells.
    default_use : what it is taken for if the user chooses nothing.
    use : what it is taken for now.
    choice : what the user says it is.
    """

    place: int
    name: str
    first_values: str
    default_use: ColumnUse
    use: ColumnUse
    choice: ColumnChoice


@dataclass(frozen=True, eq=False)
class ColumnList:
    """All columns of a table, to be listed in part.

    Attributes
    ----------
    places : of all columns, by their names.
    beginning : the first rows of the table.
    default_uses, uses : what columns are taken for if the user chooses nothing, and now.
    choices : of the user.
    """

    places: Mapping[str, int]
    beginning: RawTable
    default_uses: Mapping[str, ColumnUse]
    uses: Mapping[str, ColumnUse]
    choices: Choices

    def first_views(self) -> list[ColumnView]:
        """The columns listed when the page opens, at most `MOST_COLUMNS_LISTED`.

        First come the columns that deserve a look: those that are no features, and those for which
        the user has chosen something. They are followed by the other features whose names contain
        the text that the user searches for (all of them if it is empty).
        """
        deserving_a_look = []
        plain_features = []
        for name, use in self.uses.items():
            is_plain_feature = use is ColumnUse.FEATURE and name not in self.choices.columns
            if is_plain_feature:
                plain_features.append(name)
            else:
                deserving_a_look.append(name)
        features_found = names_with(self.choices.search, plain_features)
        listed = [*deserving_a_look, *features_found]
        return self._views_of(listed[:MOST_COLUMNS_LISTED])

    def containing(self, text: str) -> list[ColumnView]:
        """The columns in whose names a text occurs, in the order of the table."""
        return self._views_of(names_with(text, list(self.uses))[:MOST_COLUMNS_LISTED])

    def n_containing(self, text: str) -> int:
        """In how many names a text occurs."""
        return len(names_with(text, list(self.uses)))

    def _views_of(self, names: Sequence[str]) -> list[ColumnView]:
        """What the page shows of each of these columns, in the order of the names.

        That is its place in the table, its name and first values, its use as a feature, an
        identifier and so on (by default and now), and what the user chose for it.
        """
        first_cells = columns_by_name(self.beginning, names)  # name of a column → its first cells
        return [
            ColumnView(
                place=self.places[name],
                name=name,
                first_values=first_values_as_text(first_cells[name]),
                default_use=self.default_uses[name],
                use=self.uses[name],
                choice=self.choices.of_column(name),
            )
            for name in names
        ]


def names_with(text: str, names: Sequence[str]) -> list[str]:
    """The names in which a text occurs, in any case."""
    wanted = text.strip().casefold()
    return [name for name in names if wanted in name.casefold()]


def names_of_columns(table: RawTable) -> list[str]:
    """The names of all columns, and what the samples' names are called that are no column."""
    if table.index_name:
        return [table.index_name, *table.column_names]
    return table.column_names


def beginning_of(table: RawTable) -> RawTable:
    """The first rows of a table."""
    return table.with_rows(np.arange(len(table.values)) < FIRST_ROWS_KEPT)


def columns_by_name(table: RawTable, names: Collection[str]) -> dict[str, pd.Series]:
    """The columns of a table that have these names, as a dict from names to columns.

    A table holds two frames: `values`, whose columns may be features, and `descriptions`, whose
    columns describe the samples. If both have a column of the same name, that of `descriptions` is
    returned. A table may also have names of samples that are no column, `sample_names`. They are
    always added, by the name `index_name`, even if this is not among `names`.
    """
    wanted_names = set(names)  # a set is searched quickly
    columns: dict[str, pd.Series] = {}
    if table.sample_names is not None:
        columns[table.index_name] = table.sample_names
    # One pass over all columns is faster than a search for each name. `descriptions` comes second,
    # so that its columns replace those of `values` with the same name.
    for frame in (table.values, table.descriptions):
        for position, name in enumerate(frame.columns):
            if str(name) in wanted_names:
                columns[str(name)] = frame.iloc[:, position]
    return columns


def first_values_as_text(first_cells: pd.Series) -> str:
    """The first different values of a column, to recognise it by."""
    values = first_cells.dropna().map(plain_text).unique()
    return ", ".join(values[:FIRST_VALUES_SHOWN])
