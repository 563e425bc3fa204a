"""The samples to compare, with their labels: a table, a second file beside it, two classes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from chanceline._arrays import Floats
from chanceline.tables.dataset import Finding
from chanceline.tables.labels import find_label_column, read_labels, rows_to_compare
from chanceline.tables.raw_table import RawTable
from chanceline.tables.readers.source import read_source
from chanceline.tables.reading_steps import ReadingStep, at_step
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


def read_table(source: Any, label: str | None, settings: TableSettings) -> RawTable:
    """Read a table, and put beside it what a second file says about its samples.

    Parameters
    ----------
    source : the path of a file, or a table in memory.
    label : the name or the number of the label's column; None if a second file or an `.npz`
        gives it.
    settings : `labels` names the second file; others say how to read.
    """
    with at_step(ReadingStep.FILE):
        table = read_source(source, label, settings)
    second_file = settings.labels
    if second_file is None:
        return table
    with at_step(ReadingStep.SECOND_FILE):
        joined, second_file_findings = attach_second_file(table, Path(second_file), settings)
    return replace(joined, findings=(*joined.findings, *second_file_findings))


def label_samples(table: RawTable, label: str | None, settings: TableSettings) -> LabelledTable:
    """Find the label of every sample, and keep the rows whose classes are compared.

    Parameters
    ----------
    table : the table as `read_table` returns it.
    label : the name or the number of the label's column; None if a second file or an `.npz`
        gives it.
    settings : `classes` says which classes to compare, `unlabelled` whether rows without a label
        are an error or left out; others say which class is positive.
    """
    label_name = None if label is None else str(label)
    # (`at_step` marks errors as errors about the label.)
    with at_step(ReadingStep.LABEL):
        label_column = find_label_column(table, label_name)
        is_compared, row_findings = rows_to_compare(label_column, settings)
        compared_column = label_column.loc[is_compared]
        labels = read_labels(compared_column, settings)
    return LabelledTable(
        table=table.with_rows(is_compared),
        label_column=compared_column,
        labels=labels.signs,
        classes=labels.classes,
        findings=[*table.findings, *row_findings, *labels.findings],
    )
