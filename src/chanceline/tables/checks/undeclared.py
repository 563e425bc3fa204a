"""Why a test of a table stops unless something is said about its design."""

from __future__ import annotations

import numpy as np
import pandas as pd

from chanceline.perceptron.problem import Floats
from chanceline.tables.checks.subjects import (
    SampleColumns,
    Suspect,
    find_suspect,
    find_suspect_groups,
)
from chanceline.tables.raw_table import RawTable
from chanceline.tables.roles import NamedColumns, Role


def undeclared_design(
    columns: SampleColumns,
    labels: Floats,
    named: NamedColumns,
    label_column: pd.Series,
    groups_setting: str | None,
) -> Suspect | None:
    """Subjects or pairs that nothing was said about; None if there seem to be none.

    With declared groups these are looked at, with pairs nothing is. Without either, first the
    columns are looked at, then those that are to be left out: a subject that is to be no feature is
    a subject nevertheless.

    Parameters
    ----------
    columns : what is known about the samples, without the columns that the settings name.
    labels : ±1 of shape (samples,).
    named : the columns that the settings name.
    label_column : the classes as they are written.
    groups_setting : how groups were declared.
    """
    if Role.PAIRS in named.roles:
        return None
    if Role.GROUPS in named.roles:
        groups = named.roles[Role.GROUPS]
        if groups.name in [column.name for column in named.independent]:
            return None
        return find_suspect_groups(groups, labels, groups_setting or "")
    known = [label_column, *named.independent, *named.roles.values()]
    suspect = find_suspect(columns, labels, known)
    if suspect is not None:
        return suspect
    dropped = _dropped_columns(named)
    if dropped is None:
        return None
    return find_suspect(dropped, labels, known)


def _dropped_columns(named: NamedColumns) -> SampleColumns | None:
    """The columns to leave out about which nothing else was said; None if there are none."""
    about_enough = [*named.roles.values(), *named.adjust, *named.independent]
    names = [column.name for column in about_enough]
    dropped = {column.name: column for column in named.dropped if column.name not in names}
    if not dropped:
        return None
    table = pd.DataFrame(dropped)
    return SampleColumns(
        text=table.select_dtypes(exclude="number"),
        numbers=table.select_dtypes("number").astype(np.float64),
    )


def names_outside_columns(table: RawTable, used: list[str]) -> tuple[pd.Series | None, str]:
    """The samples' names where they are no column and have no role, and where they stand, as a
    sentence says it.
    """
    place = "the index" if table.header_ids is None else "the header"
    names = table.sample_names
    if names is not None and names.name in used:
        names = None
    return names, place
