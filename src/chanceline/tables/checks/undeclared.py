"""Subjects and pairs that nothing was said about, because of which a test of the table stops."""

from __future__ import annotations

import numpy as np
import pandas as pd

from chanceline._arrays import Floats
from chanceline.tables.checks.subjects import (
    SampleColumns,
    Suspect,
    find_suspect,
    find_suspect_groups,
)
from chanceline.tables.roles import NamedColumns, Role


def find_undeclared_subjects(
    columns: SampleColumns, labels: Floats, named_columns: NamedColumns, groups_setting: str | None
) -> Suspect | None:
    """The column that looks like subjects or pairs but was not declared; None if there is none.

    Parameters
    ----------
    columns : what is known about the samples, without the columns that the settings name.
    labels : ±1 of shape (samples,).
    named_columns : the columns that the settings name: the label, blocks, groups, covariates and
        so on.
    groups_setting : the setting that declared groups, which is proposed in a changed form if the
        groups are suspect; None if no groups were declared.
    """
    if Role.PAIRS in named_columns.roles:
        return None  # the user has said which rows belong together
    if Role.GROUPS in named_columns.roles:
        # The groups may be visits of fewer subjects, unless they are declared independent.
        groups = named_columns.roles[Role.GROUPS]
        independent_names = [column.name for column in named_columns.independent]
        if groups.name in independent_names:
            return None
        return find_suspect_groups(groups, labels, groups_setting or "")

    # The settings tell what these columns are. A column that groups the rows as one of them is no
    # suspect, either.
    explained_columns = [
        named_columns.label,
        *named_columns.independent,
        *named_columns.roles.values(),
    ]
    suspect = find_suspect(columns, labels, explained_columns)
    if suspect is not None:
        return suspect

    # A column that is left out as a feature may still hold the subjects.
    dropped_columns = _dropped_columns(named_columns)
    if dropped_columns is None:
        return None
    return find_suspect(dropped_columns, labels, explained_columns)


def _dropped_columns(named_columns: NamedColumns) -> SampleColumns | None:
    """The columns that the settings only leave out; None if there are none.

    Columns that also have another use are not among them: blocks, groups, pairs, covariates, and
    columns declared independent.
    """
    used_otherwise = [
        *named_columns.roles.values(),
        *named_columns.adjust,
        *named_columns.independent,
    ]
    names_used_otherwise = {column.name for column in used_otherwise}
    only_dropped = [
        column for column in named_columns.dropped if column.name not in names_used_otherwise
    ]
    if not only_dropped:
        return None
    table = pd.DataFrame({column.name: column for column in only_dropped})
    return SampleColumns(
        text=table.select_dtypes(exclude="number"),
        numbers=table.select_dtypes("number").astype(np.float64),
    )
