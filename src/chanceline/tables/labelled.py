"""The samples to compare, with their labels: a table, a second file beside it, two classes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from chanceline._arrays import Floats
from chanceline.tables.dataset import Finding
from chanceline.tables.labels import find_label_column, read_labels, rows_to_compare
from chanceline.tables.raw_table import RawTable
from chanceline.tables.readers.source import read_source
from chanceline.tables.second_file import attach_second_file
from chanceline.tables.settings import TableSettings


@dataclass(frozen=True)
class LabelledTable:
    """The rows to compare.

    Attributes
    ----------
    table : these rows of the table.
    label_column : their classes as they are written, of shape (samples,).
    labels : ±1 of shape (samples,).
    classes : the names of the negative and the positive class.
    findings : what to know about the rows and their labels.
    """

    table: RawTable
    label_column: pd.Series
    labels: Floats
    classes: tuple[str, str]
    findings: list[Finding]


@dataclass(frozen=True)
class SourceTable:
    """A table with what a second file says about its samples.

    Attributes
    ----------
    table : all rows.
    findings : what was noticed while reading.
    """

    table: RawTable
    findings: list[Finding]


def read_source_table(source: Any, label: str | None, settings: TableSettings) -> SourceTable:
    """Read a table and what a second file says about its samples.

    Parameters
    ----------
    source : the path of a file, or a table in memory.
    label : the name or the number of the label's column; None if it needs none.
    settings : `labels` names the second file.
    """
    table = read_source(source, label, settings)
    findings = list(table.findings)
    second_file = settings.labels
    if second_file is not None:
        table, about_second_file = attach_second_file(table, Path(second_file), settings)
        findings += about_second_file
    return SourceTable(table, findings)


def keep_labelled_rows(
    read: SourceTable, label: str | None, settings: TableSettings
) -> LabelledTable:
    """The rows to compare, with their two classes.

    Parameters
    ----------
    read : the table.
    label : the name or the number of the label's column; None if it needs none.
    settings : which rows to compare.
    """
    label_name = None if label is None else str(label)
    label_column = find_label_column(read.table, label_name)
    is_compared, about_rows = rows_to_compare(label_column, settings)
    compared_column = label_column.loc[is_compared]
    labels = read_labels(compared_column, settings)
    return LabelledTable(
        table=read.table.with_rows(is_compared),
        label_column=compared_column,
        labels=labels.signs,
        classes=labels.classes,
        findings=[*read.findings, *about_rows, *labels.findings],
    )
