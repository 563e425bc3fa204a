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


def find_undeclared(
    columns: SampleColumns, labels: Floats, named: NamedColumns, groups_setting: str | None
) -> Suspect | None:
    """The column that looks like subjects or pairs but was not declared; None if there is none.

    Parameters
    ----------
    columns : what is known about the samples, without the columns that the settings name.
    labels : ±1 of shape (samples,).
    named : the columns that the settings name: the label, blocks, groups, covariates and so on.
    groups_setting : the setting that declared groups; None if there are none.
    """
    if Role.PAIRS in named.roles:
        return None  # the user has said which rows belong together
    if Role.GROUPS in named.roles:
        # The groups may be visits of fewer subjects, unless they are declared independent.
        groups = named.roles[Role.GROUPS]
        if groups.name in [column.name for column in named.independent]:
            return None
        return find_suspect_groups(groups, labels, groups_setting or "")

    known_columns = [named.label, *named.independent, *named.roles.values()]
    suspect = find_suspect(columns, labels, known_columns)
    if suspect is not None:
        return suspect
    # A column that is left out as a feature may still hold the subjects.
    dropped = _dropped_columns(named)
    if dropped is None:
        return None
    return find_suspect(dropped, labels, known_columns)


def _dropped_columns(named: NamedColumns) -> SampleColumns | None:
    """The columns that the settings only leave out; None if there are none.

    Columns that also have another use are not among them: blocks, groups, pairs, covariates, and
    columns declared independent.
    """
    used_otherwise = [*named.roles.values(), *named.adjust, *named.independent]
    names_used_otherwise = {column.name for column in used_otherwise}
    only_dropped = [column for column in named.dropped if column.name not in names_used_otherwise]
    if not only_dropped:
        return None
    table = pd.DataFrame({column.name: column for column in only_dropped})
    return SampleColumns(
        text=table.select_dtypes(exclude="number"),
        numbers=table.select_dtypes("number").astype(np.float64),
    )
