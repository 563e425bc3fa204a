"""Columns that the settings name: blocks, groups, pairs, covariates, what is independent or left
out.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from chanceline.errors import InputError
from chanceline.tables.raw_table import RawTable
from chanceline.tables.settings import TableSettings
from chanceline.tables.spelling import plain_text
from chanceline.tables.stems import find_any_stems
from chanceline.tables.wording import quoted, row_name

STEM_PREFIX = "stem:"  # before a column's name: the stems of its names


class Role(StrEnum):
    """How rows belong together; the values are names of settings."""

    BLOCKS = "blocks"
    GROUPS = "groups"
    PAIRS = "pairs"


def find_column(table: RawTable, name: str, role: str) -> pd.Series:
    """The column meant by `name`; `role` is what the sentence calls it if there is none."""
    column = table.column(name)
    if column is not None:
        return column
    raise InputError(no_such_column(table, name, role, f"there are {quoted(table.column_names)}."))


def no_such_column(table: RawTable, name: str, role: str, else_hint: str) -> str:
    """The sentence about a column that is not there: names like it, or another hint."""
    close_names = table.close_names(name)
    hint = else_hint
    if close_names:
        hint = f"did you mean {' or '.join(repr(close) for close in close_names)}?"
    return f"there is no {role} column {name!r}; {hint}"


def require_filled(column: pd.Series, role: str, settings: TableSettings) -> pd.Series:
    """The column itself, if it has no gap; a gap is an error.

    Parameters
    ----------
    column : one value for each sample; its index holds the names of the rows.
    role : what the message calls the column: "label", "groups", …
    settings : `header` says whether the first row may belong to the header.
    """
    is_empty = column.isna()
    if not is_empty.any():
        return column

    # The message about the first gap.
    row = int(np.argmax(is_empty))
    remedy = "remove that row"
    if role == "label":
        remedy = "leave such rows out with unlabelled='drop'"
    if row == 0 and settings.header != "2":
        # The first row may be the second line of a header, in which this column has no name.
        remedy = f"{remedy}, or set header='2' if the header has two lines"
    raise InputError(
        f"{role} column {str(column.name)!r} is empty (or NA) in {row_name(column.index, row)}; "
        f"fill it in or {remedy}."
    )


def find_role(table: RawTable, role: Role, settings: TableSettings) -> pd.Series | None:
    """Find the column of blocks, groups or pairs; None if the settings name no column.

    A gap in the column is an error.

    The prefix `stem:` before the column's name stands for the stems of the names in the column
    (`P07_V1` is the stem of `P07_V1_R2`), `stem:stem:` for the stems of these stems (`P07`), and so
    on.

    Parameters
    ----------
    table : the table as it was read.
    role : whether blocks, groups or pairs are meant.
    settings : name the columns.
    """
    name = getattr(settings, role)  # a role is the name of its setting
    if name is None:
        return None

    # Take the prefixes off and count them, unless a column is really called `stem:…`.
    columns = set(table.column_names)
    n_prefixes = 0
    while name not in columns and name.startswith(STEM_PREFIX):
        name = name.removeprefix(STEM_PREFIX).strip()
        n_prefixes += 1
    column = find_column(table, name, role)
    require_filled(column, role, settings)

    # Every prefix replaces the names by their stems once.
    for _ in range(n_prefixes):
        column = _stems_of_column(column, name, role)
    return column


def _stems_of_column(column: pd.Series, name: str, role: Role) -> pd.Series:
    """The stems of the names in a column (`P07` of `P07_V1`), of shape (samples,).

    Names without common stems are an error, which proposes to declare the names themselves.

    Parameters
    ----------
    column : names, one for each sample.
    name : the name of the column, for the error message.
    role : what the column is declared as, for the error message.
    """
    texts = [plain_text(value) for value in column]
    stems = find_any_stems(texts)
    if stems is None:
        different_texts = list(dict.fromkeys(texts))
        examples = quoted(different_texts, 3)
        raise InputError(
            f"the names in {role} column {name!r} ({examples}) have no stems in common; "
            f"say {role}={name!r}."
        )
    return pd.Series(stems.stems, index=column.index, name=column.name)


@dataclass(frozen=True)
class NamedColumns:
    """The columns that the user names, one value for each sample.

    Attributes
    ----------
    label : the classes as they are written.
    roles : blocks, groups and pairs, those that were declared.
    adjust : covariates.
    independent : columns that look like subjects though rows are independent.
    dropped : columns to leave out.
    """

    label: pd.Series
    roles: dict[Role, pd.Series]
    adjust: list[pd.Series]
    independent: list[pd.Series]
    dropped: list[pd.Series]

    @property
    def names(self) -> list[Any]:
        """The names of all these columns."""
        roles = self.roles.values()
        columns = [self.label, *roles, *self.adjust, *self.independent, *self.dropped]
        return [column.name for column in columns]

    @property
    def groups(self) -> pd.Series | None:
        """Rows with one value belong to one subject; None if none were declared."""
        return self.roles.get(Role.GROUPS)

    @property
    def exchange_blocks(self) -> pd.Series | None:
        """Blocks, or else pairs, in which labels are exchanged; None if neither was declared."""
        return self.roles.get(Role.BLOCKS, self.roles.get(Role.PAIRS))

    @property
    def controlled_columns(self) -> list[pd.Series]:
        """The columns whose differences between the classes are no structure."""
        if self.exchange_blocks is None:
            return self.adjust
        return [*self.adjust, self.exchange_blocks]

    def arrays(self, kept_rows: NDArray[np.bool_]) -> dict[str, Any]:
        """The fields of a `Dataset` that these columns give, of the rows that are kept."""
        role_values = {
            role.value: column.to_numpy()[kept_rows] for role, column in self.roles.items()
        }
        role_columns = {role.value: str(column.name) for role, column in self.roles.items()}
        covariates = {str(column.name): column.to_numpy()[kept_rows] for column in self.adjust}
        return {**role_values, "role_columns": role_columns, "covariates": covariates or None}


def find_named_columns(
    table: RawTable, label: pd.Series, roles: dict[Role, pd.Series], settings: TableSettings
) -> NamedColumns:
    """Collect all columns that the settings name; a name that the table does not have is an error.

    Parameters
    ----------
    table : the table as it was read.
    label : the column of the label.
    roles : the columns of blocks, groups and pairs, as far as they were declared.
    settings : `adjust`, `independent` and `drop` name the other columns.
    """
    adjust = []
    for name in settings.adjust:
        covariate = find_column(table, name, "adjust")
        # The test computes with the values of covariates, so none may be missing. Of the other
        # columns it needs only the names, and which rows have equal values.
        adjust.append(require_filled(covariate, "adjust", settings))
    return NamedColumns(
        label=label,
        roles=roles,
        adjust=adjust,
        independent=[find_column(table, name, "independent") for name in settings.independent],
        dropped=[find_column(table, name, "dropped") for name in settings.drop],
    )
