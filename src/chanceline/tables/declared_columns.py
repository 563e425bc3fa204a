"""Steps of reading that are the same wherever the features are kept: the columns that the user
names, and what could be declared.
"""

from __future__ import annotations

from chanceline.errors import InputError
from chanceline.tables.checks.declared import check_values_repeat
from chanceline.tables.checks.subjects import Suspect
from chanceline.tables.dataset import Declaration, Finding
from chanceline.tables.labelled import LabelledTable
from chanceline.tables.roles import NamedColumns, Role, find_named_columns, find_role
from chanceline.tables.settings import TableSettings


def require_features(n_features: int, source: str, label: str) -> None:
    """Raise an `InputError` if no column is left that could be a feature."""
    if n_features == 0:
        raise InputError(
            f"{source} has no numeric feature column left besides the label {label!r}."
        )


def proposed_declaration(suspect: Suspect | None) -> Declaration | None:
    """The declaration to propose for a column that looks like subjects or pairs; None for None."""
    if suspect is None:
        return None
    return Declaration(column=suspect.name, role=str(suspect.design.role), setting=suspect.setting)


def find_declared_columns(
    samples: LabelledTable, settings: TableSettings
) -> tuple[NamedColumns, list[Finding]]:
    """Find the columns that the settings name, and check blocks, groups and pairs.

    Returns these columns, and findings about the blocks, groups and pairs.
    """
    roles = {}  # role → its column
    findings = []
    for role in Role:
        column = find_role(samples.table, role, settings)
        if column is None:
            continue
        roles[role] = column
        setting = getattr(settings, role)  # a role is the name of its setting
        findings += check_values_repeat(role, column, samples.labels, setting=setting)
    named_columns = find_named_columns(samples.table, samples.label_column, roles, settings)
    return named_columns, findings
