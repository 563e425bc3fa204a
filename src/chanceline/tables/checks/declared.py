"""Declared blocks, groups and pairs in which every row has a value of its own: these group nothing.

Names of samples were declared, perhaps, where their stems were meant (`309` of `309_1`).
"""

from __future__ import annotations

import pandas as pd

from chanceline.errors import InputError
from chanceline.perceptron.problem import Floats
from chanceline.tables.checks.designs import design_of_stems
from chanceline.tables.dataset import Finding
from chanceline.tables.roles import STEM_PREFIX, Role
from chanceline.tables.stems import Stems, are_names, find_stems


def check_declared(
    role: str, column: pd.Series, labels: Floats, *, setting: str = ""
) -> list[Finding]:
    """Stop where every row has a value of its own, so that nothing is grouped, and stems would
    group it; else a warning.

    Parameters
    ----------
    role : a `Role`.
    column, labels : what was declared as that, and ±1, of shape (samples,).
    setting : how it was declared; empty for an array.
    """
    n_rows = len(column)
    if column.nunique() < n_rows or n_rows < 2:
        return []
    values = column.tolist()
    stems = None
    if are_names(values, numbers_too=True):
        stems = find_stems(values)
    if stems is not None:
        stem_role = _role_of_stems(stems, role, labels)
        if stem_role is not None:
            remedy = _remedy_by_stems(stem_role, setting)
            declared = f"{role}={setting!r}" if setting else role
            raise InputError(
                f"{declared} has a value of its own in each of the {n_rows} rows; these have "
                f"{stems.described()} ({stems.example(values)}): {remedy}."
            )
    if role != Role.GROUPS:
        return []
    which = f" of {setting!r}" if setting else ""
    return [Finding.warning(f"every group{which} has one row, so that groups change nothing.")]


def _role_of_stems(stems: Stems, declared_role: str, labels: Floats) -> Role | None:
    """As what the stems of declared names are to be declared; blocks need no design."""
    design = design_of_stems(stems, labels)
    if design is not None:
        return design.role
    if declared_role == Role.BLOCKS:
        return Role.BLOCKS
    return None


def _remedy_by_stems(role: Role, setting: str) -> str:
    """How to declare stems, of a column or of an array."""
    if not setting:
        return f"give the stems as {role}"
    stem_setting = f"{STEM_PREFIX}{setting}"
    return (
        f"set {role}={stem_setting!r}, or say independent={setting!r} instead if the rows are "
        "independent"
    )
