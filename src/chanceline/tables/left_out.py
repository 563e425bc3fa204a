"""Columns that are no features, though they may be numbers: dates and identifiers.

They are left out, which is said, and a warning follows where the time of sampling tells the classes
apart.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from chanceline._arrays import Floats
from chanceline.tables.checks.drift import warn_if_dates_follow_classes
from chanceline.tables.dataset import Finding
from chanceline.tables.dates import date_columns
from chanceline.tables.identifiers import are_days, identifier_columns
from chanceline.tables.raw_table import numeric_columns
from chanceline.tables.wording import quoted


def without_dates(
    table: pd.DataFrame,
    labels: Floats,
    blocks: pd.Series | None,
    groups: pd.Series | None,
) -> tuple[pd.DataFrame, list[Finding]]:
    """The columns that are no dates, and findings about those that are.

    Parameters
    ----------
    table : columns of the samples, of shape (samples, columns).
    labels : ±1 of shape (samples,), used only for warnings.
    blocks : (samples,) blocks or pairs within which labels are shuffled; None without any.
    groups : rows with the same value belong to one subject, of which warnings count only the
        first row; None without groups.
    """
    times_by_name = date_columns(table)
    if not times_by_name:
        return table, []
    names = list(times_by_name)
    findings = [_note_dates(table[names])]
    for name, times in times_by_name.items():
        findings += warn_if_dates_follow_classes(name, times, labels, blocks, groups)
    return table.drop(columns=names), findings


def _note_dates(dates: pd.DataFrame) -> Finding:
    """The note that columns of dates are left out, and how to keep those that hold numbers."""
    remedy = ""
    are_numbers = dates.columns[numeric_columns(dates)]
    if len(are_numbers) > 0:
        remedy = f"; keep_identifiers=True keeps {quoted(are_numbers)}"
    return Finding.note(f"left out as dates: {quoted(dates.columns)}{remedy}.")


def without_identifiers(
    features: pd.DataFrame,
    labels: Floats,
    blocks: pd.Series | None,
    groups: pd.Series | None,
) -> tuple[pd.DataFrame, list[Finding]]:
    """The features that do not identify rows or subjects and are no days written as 20210304, and
    findings about the columns left out.

    Parameters
    ----------
    features : numbers of shape (samples, features).
    labels, blocks, groups : as in `without_dates`.
    """
    names = identifier_columns(features)
    if not names:
        return features, []
    findings = note_identifiers(features[names], labels, blocks, groups)
    return features.drop(columns=names), findings


def note_identifiers(
    identifiers: pd.DataFrame,
    labels: Floats,
    blocks: pd.Series | None,
    groups: pd.Series | None,
) -> list[Finding]:
    """A note that columns are left out as identifiers or dates.

    Warnings follow it about columns of days (numbers as 20210304) that tell the classes apart.

    Parameters
    ----------
    identifiers : the columns that are left out, of shape (samples, columns); at least one.
    labels : ±1 of shape (samples,), used only for warnings.
    blocks : (samples,) blocks or pairs within which labels are shuffled; None without any.
    groups : rows with the same value belong to one subject, of which warnings count only the
        first row; None without groups.
    """
    names = [*identifiers.columns]
    note = f"left out as identifiers or dates: {quoted(names)}; keep_identifiers=True keeps them."
    findings = [Finding.note(note)]
    for name in names:
        if np.all(are_days(identifiers[name])):
            findings += warn_if_dates_follow_classes(
                name, identifiers[name], labels, blocks, groups
            )
    return findings
