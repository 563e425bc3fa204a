"""Declared blocks, groups and pairs in which every row has a value of its own: these group nothing.

Names of samples were declared, perhaps, where their stems were meant (`309` of `309_1`).
"""

from __future__ import annotations

import pandas as pd

from chanceline._arrays import Floats
from chanceline.errors import InputError
from chanceline.tables.checks.designs import design_of_stems
from chanceline.tables.dataset import Finding
from chanceline.tables.roles import STEM_PREFIX, Role
from chanceline.tables.stems import Stems, are_names, find_stems


def check_values_repeat(
    role: str, column: pd.Series, labels: Floats, *, setting: str = ""
) -> list[Finding]:
    """Check that a column declared as blocks, groups or pairs has a value that repeats.

    Nothing is wrong if some value repeats. If every row has a value of its own, the result depends
    on the values. Names with common stems (`309_1`, `309_2`) raise an `InputError`, which proposes
    to declare the stems (`309`). Other values give a warning for groups, and nothing for blocks and
    pairs, which the test itself refuses if they have one row each.

    Parameters
    ----------
    role : the `Role` that the column was declared as.
    column : the values of the column, of shape (samples,).
    labels : ±1 of shape (samples,).
    setting : the value of the setting that declared it, as in groups=SETTING; empty for an array.
    """
    n_rows = len(column)
    has_repeated_value = column.nunique() < n_rows
    if has_repeated_value or n_rows < 2:
        return []

    _refuse_names_with_stems(role, column, labels, setting)  # may raise an InputError
    if role != Role.GROUPS:
        return []
    group_in_words = "group"
    if setting:
        group_in_words = f"group of {setting!r}"
    return [Finding.warning(f"every {group_in_words} has one row, so that groups change nothing.")]


def _refuse_names_with_stems(role: str, column: pd.Series, labels: Floats, setting: str) -> None:
    """Raise an `InputError` if the values are names (`309_1`) whose stems should be declared.

    A stem (`309`) is what is left of a name when its last part is cut off. The stems should be
    declared instead of the names if the labels are arranged by stems as by subjects, pairs or
    blocks: all rows of a stem have one label, or all stems have equally many rows of each class.
    If the names were declared as blocks, the labels do not matter: any stems can be blocks.

    Parameters
    ----------
    role : the `Role` the column was declared as.
    column : the values of the column, all different, of shape (samples,).
    labels : ±1 of shape (samples,).
    setting : the value of the setting that declared it, as in groups=SETTING; empty for an array.
    """
    # Nothing is refused if the values are no names, if they have no common stems, or if the stems
    # have no role: they are neither subjects nor pairs nor blocks.
    names = column.tolist()
    if not are_names(names, numbers_too=True):
        return
    stems = find_stems(names)
    if stems is None:
        return
    stem_role = _role_of_stems(stems, role, labels)
    if stem_role is None:
        return

    # The message quotes the declaration (`groups='sample'`) and proposes another one.
    declaration = role
    if setting:
        declaration = f"{role}={setting!r}"
    remedy = _remedy_by_stems(stem_role, setting)
    raise InputError(
        f"{declaration} has a value of its own in each of the {len(names)} rows; these have "
        f"{stems.described()} ({stems.example()}): {remedy}."
    )


def _role_of_stems(stems: Stems, declared_role: str, labels: Floats) -> Role | None:
    """The role that the stems of declared names should be declared as; None if they have none.

    It is the role of the design that the stems show (subjects, pairs or blocks). If they show none,
    names that were declared as blocks still have stems that can be blocks: any set of rows can.
    """
    design = design_of_stems(stems, labels)
    if design is not None:
        return design.role
    if declared_role == Role.BLOCKS:
        return Role.BLOCKS
    return None


def _remedy_by_stems(role: Role, setting: str) -> str:
    """What to do: declare the stems of a column by its setting, or give those of an array."""
    if not setting:
        return f"give the stems as {role}"
    stem_setting = f"{STEM_PREFIX}{setting}"
    return (
        f"set {role}={stem_setting!r}, or say independent={setting!r} instead if the rows are "
        "independent"
    )
