"""From a file to a `Dataset`, step by step; whatever is wrong is said in one sentence.

Cells as instruments write them become numbers: limits of detection, genotypes, gaps, transforms of
counts. Nothing that changes a number looks at the labels, so that every shuffle of them stays
valid.

Rows are called as the user's program shows them: by their line in a text or a sheet, by the index
of a data frame, or by the names of samples that stand in columns.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from chanceline.errors import InputError
from chanceline.perceptron.problem import Floats
from chanceline.tables.checks.confounders import confounded_columns
from chanceline.tables.checks.subjects import SampleColumns, check_declared
from chanceline.tables.checks.totals import totals_follow_classes
from chanceline.tables.checks.undeclared import names_outside_columns, undeclared_design
from chanceline.tables.dataset import Dataset, Finding
from chanceline.tables.features import numeric_features
from chanceline.tables.gaps import without_gaps
from chanceline.tables.identifiers import about_identifiers
from chanceline.tables.labels import find_label_column, read_labels, rows_to_compare
from chanceline.tables.left_out import without_dates, without_identifiers
from chanceline.tables.raw_table import RawTable
from chanceline.tables.readers.source import read_source, source_name
from chanceline.tables.report import TableReport
from chanceline.tables.roles import NamedColumns, Role, find_named_columns, find_role
from chanceline.tables.second_file import attach_second_file
from chanceline.tables.settings import TableSettings
from chanceline.tables.transforms import transform_table


def load_data(
    path: Any, label: str | None = None, settings: TableSettings | None = None, **changes: Any
) -> Dataset:
    """Read a table and make it a `Dataset`.

    Parameters
    ----------
    path : text (CSV with any usual separator, compressed or not), Parquet, Excel, GCT, GEO series
        matrix, AnnData, or an `.npz` that holds `X`, `y` and perhaps `feature_names`; or a table in
        memory: a DataFrame of pandas or polars, an Arrow table, or AnnData.
    label : column with the two classes, by its name or its number from 0 (not needed for `.npz`
        files, nor if `labels` names a file with one column besides the id).
    settings : how to read the file and what to make of its columns.
    changes : single settings by name, such as `missing="median"` or `transpose=True`.
    """
    settings = replace(settings or TableSettings(), **changes)
    report = TableReport()

    # The samples with their labels, and the columns that the settings name.
    samples = _read_samples(path, label, settings)
    report.add(samples.findings)
    labels = samples.labels
    named, findings = _find_columns(samples, settings)
    report.add(findings)
    columns, about = _other_columns(samples, named)
    report.put_first(_confounders(columns, about, labels, named))

    # Features as numbers.
    if not settings.keep_identifiers:
        columns, findings = without_dates(columns, labels, named.exchanged_within)
        report.add(findings)
    features, findings = numeric_features(columns, labels, settings)
    report.add(findings)
    text = columns.select_dtypes(exclude="number")
    known_of_samples = pd.concat([about, text], axis=1)
    undeclared = _undeclared_sentence(samples, named, known_of_samples, features, settings)
    if not settings.keep_identifiers:
        features, findings = without_identifiers(features, labels, named.exchanged_within)
        report.add(findings)
    if features.shape[1] == 0:
        label_name = str(samples.label_column.name)
        raise InputError(
            f"{source_name(path)} has no numeric feature column left besides the label "
            f"{label_name!r}."
        )

    # Features without gaps, in the units asked for.
    complete = without_gaps(features, labels, settings.missing)
    report.add(complete.findings)
    feature_names = complete.features.columns
    X = np.ascontiguousarray(complete.features.to_numpy(dtype=np.float64))
    y = labels[complete.kept_rows]
    if not settings.keep_identifiers:
        # A gap may have hidden that a column counts the rows.
        report.add(about_identifiers(X, feature_names))
    if settings.transform is None:
        report.put_first(totals_follow_classes(X, y))
    else:
        X, findings = transform_table(X, settings.transform, feature_names)
        report.add(findings)

    return Dataset(
        X=X,
        y=y,
        feature_names=tuple(str(name) for name in feature_names),
        classes=samples.classes,
        **named.arrays(complete.kept_rows),
        undeclared=undeclared,
        source=source_name(path),
        findings=report.findings(),
        rows=complete.features.index.tolist(),
        columns_checked=True,
    )


@dataclass(frozen=True)
class Samples:
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


def _read_samples(path: Any, label: str | None, settings: TableSettings) -> Samples:
    """The table with what a second file says beside it, and of its rows those to compare."""
    table = read_source(path, label, settings)
    findings = list(table.findings)
    if settings.labels is not None:
        table, about_second_file = attach_second_file(table, Path(settings.labels), settings)
        findings += about_second_file
    label_column = find_label_column(table, None if label is None else str(label))
    is_compared, about_rows = rows_to_compare(label_column, settings)
    findings += about_rows
    label_column = label_column.loc[is_compared]
    labels = read_labels(label_column, settings)
    findings += labels.findings
    return Samples(
        table=table.with_rows(is_compared),
        label_column=label_column,
        labels=labels.signs,
        classes=labels.classes,
        findings=findings,
    )


def _find_columns(samples: Samples, settings: TableSettings) -> tuple[NamedColumns, list[Finding]]:
    """The columns that the settings name, and what to know about declared roles."""
    roles = {}
    findings = []
    for role in Role:
        column = find_role(samples.table, role, settings)
        if column is not None:
            roles[role] = column
            setting = getattr(settings, role)
            findings += check_declared(role, column, samples.labels, setting=setting)
    return find_named_columns(samples.table, roles, settings), findings


def _other_columns(samples: Samples, named: NamedColumns) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The columns that may be features, and those that describe samples, without the label and
    those that the settings name.
    """
    used = [samples.label_column.name, *named.names]
    columns = samples.table.values.drop(columns=used, errors="ignore")
    about = samples.table.about.drop(columns=used, errors="ignore")
    return columns, about


def _confounders(
    columns: pd.DataFrame, about: pd.DataFrame, labels: Floats, named: NamedColumns
) -> list[Finding]:
    """Warnings about columns that go with the classes and were not allowed for."""
    allowed_for = list(named.adjust)
    if named.exchanged_within is not None:
        allowed_for.append(named.exchanged_within)
    return [
        *confounded_columns(columns, labels, allowed_for),
        *confounded_columns(about, labels, allowed_for),
    ]


def _undeclared_sentence(
    samples: Samples,
    named: NamedColumns,
    text: pd.DataFrame,
    numbers: pd.DataFrame,
    settings: TableSettings,
) -> str:
    """The sentence with which a test stops because nothing was said about the design; else empty.

    Parameters
    ----------
    text, numbers : columns that may say which rows are of one subject, of shape (samples, columns).
    """
    if samples.table.undeclared:
        return samples.table.undeclared
    used = [samples.label_column.name, *named.names]
    names, names_place = names_outside_columns(samples.table, used)
    suspect = undeclared_design(
        SampleColumns(text=text, numbers=numbers, names=names, names_place=names_place),
        samples.labels,
        named=named,
        label_column=samples.label_column,
        groups_setting=settings.groups,
    )
    if suspect is None:
        return ""
    return suspect.sentence
