"""From a file to a `Dataset`, step by step; whatever is wrong is said in one sentence.

Cells as instruments write them become numbers: limits of detection, genotypes, gaps, transforms of
counts. Nothing that changes a number looks at the labels, so that every shuffle of them stays
valid.

Rows are called as the user's program shows them: by their line in a text or a sheet, by the index
of a data frame, or by the names of samples that stand in columns.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from chanceline._arrays import Floats
from chanceline.perceptron.validation import working_precision
from chanceline.tables.checks.batches import warn_of_batches
from chanceline.tables.checks.class_fills import warn_of_class_fills
from chanceline.tables.checks.confounders import warn_of_confounders
from chanceline.tables.checks.row_shifts import warn_if_row_means_follow_classes
from chanceline.tables.checks.subjects import SampleColumns
from chanceline.tables.checks.totals import warn_if_totals_follow_classes
from chanceline.tables.checks.undeclared import find_undeclared
from chanceline.tables.dataset import Dataset, Finding
from chanceline.tables.declared_columns import (
    find_declared_columns,
    proposed_declaration,
    require_features,
)
from chanceline.tables.features import numeric_features
from chanceline.tables.gaps import CompleteFeatures, without_gaps
from chanceline.tables.identifiers import warn_of_identifiers
from chanceline.tables.labelled import LabelledTable, label_samples, read_table
from chanceline.tables.learn_recipe import learn_recipe
from chanceline.tables.left_out import without_dates, without_identifiers
from chanceline.tables.raw_table import RawTable
from chanceline.tables.readers.source import source_name
from chanceline.tables.reading_steps import ReadingStep, at_step
from chanceline.tables.report import TableReport
from chanceline.tables.roles import NamedColumns
from chanceline.tables.settings import TableSettings
from chanceline.tables.transforms import transform_table
from chanceline.tables.wide_load import wide_dataset_of_samples


def load_data(
    path: Any, label: str | None = None, settings: TableSettings | None = None, **changes: Any
) -> Dataset:
    """Read a table and make it a `Dataset`.

    Parameters
    ----------
    path : text (CSV with any usual separator, compressed or not), Parquet, Excel, GCT, GEO series
        matrix, AnnData, PLINK (`.bed` with `.bim` and `.fam` beside it), an `.npz` that holds `X`,
        `y` and perhaps `feature_names`, a folder of Zarr, or a `.npy` with its labels in another
        file; or a table in memory: a DataFrame of pandas or polars, an Arrow table, or AnnData.
        Very many columns of numbers stay in the file, and `X` of the `Dataset` reads them.
    label : column with the two classes, by its name or its number from 0 (not needed for `.npz`
        files, nor if `labels` names a file with one column besides the id).
    settings : how to read the file and what to make of its columns.
    changes : single settings by name, such as `missing="median"` or `transpose=True`.
    """
    settings = replace(settings or TableSettings(), **changes)
    table = read_table(path, label, settings)
    samples = label_samples(table, label, settings)
    return dataset_of_samples(samples, settings, source_name(path))


def dataset_of_samples(samples: LabelledTable, settings: TableSettings, source: str) -> Dataset:
    """Make a `Dataset` of samples with their labels.

    Parameters
    ----------
    samples : as `label_samples` gives them.
    settings : what to make of the columns.
    source : what the table is called.
    """
    if samples.table.wide is not None:
        return wide_dataset_of_samples(samples, samples.table.wide, settings, source)
    report = TableReport()
    report.add(samples.findings)
    labels = samples.labels

    # The columns that the user names.
    with at_step(ReadingStep.COLUMNS):
        named, findings = find_declared_columns(samples, settings)
    report.add(findings)
    others = samples.table.without_columns(named.names)
    for table in (others.about, others.values):
        report.put_first(warn_of_confounders(table, labels, named.allowed_for, named.groups))

    # Features as numbers.
    columns = others.values
    if not settings.keep_identifiers:
        columns, findings = without_dates(columns, labels, named.exchange_blocks)
        report.add(findings)
    with at_step(ReadingStep.CELLS):
        features, findings = numeric_features(columns, labels, settings)
    report.add(findings)
    sample_columns = _sample_columns(others, columns, features)
    undeclared = others.undeclared
    suspect = None
    if not undeclared:
        suspect = find_undeclared(sample_columns, labels, named, settings.groups)
        undeclared = "" if suspect is None else suspect.sentence
    if not settings.keep_identifiers:
        features, findings = without_identifiers(features, labels, named.exchange_blocks)
        report.add(findings)
    with at_step(ReadingStep.COLUMNS):
        require_features(features.shape[1], source, label=str(named.label.name))

    # Features without gaps, in the units asked for.
    with at_step(ReadingStep.GAPS):
        complete = without_gaps(features, labels, settings.missing)
    report.add(complete.findings)
    feature_names = complete.features.columns
    precision = working_precision(complete.features.dtypes.unique(), len(feature_names))
    X = np.ascontiguousarray(complete.features.to_numpy(dtype=precision))
    y = labels[complete.kept_rows]
    if not settings.keep_identifiers:
        # A gap may have hidden that a column counts the rows.
        report.add(warn_of_identifiers(X, feature_names))
    report.put_first(_look_for_traces(features, complete, sample_columns.text, labels, named))
    if settings.transform is None:
        report.put_first(warn_if_row_means_follow_classes(X, y))
        report.put_first(warn_if_totals_follow_classes(X, y))
    else:
        with at_step(ReadingStep.UNITS):
            X, findings = transform_table(X, settings.transform, feature_names)
        report.add(findings)
    recipe = learn_recipe(
        written=columns,
        features=features,
        complete=complete.features,
        label=str(named.label.name),
        settings=settings,
    )

    return Dataset(
        X=X,
        y=y,
        feature_names=tuple(str(name) for name in feature_names),
        classes=samples.classes,
        **named.arrays(complete.kept_rows),
        undeclared=undeclared,
        proposed=proposed_declaration(suspect),
        source=source,
        findings=report.findings(),
        rows=complete.features.index.tolist(),
        columns_checked=True,
        variants=samples.table.variants,
        recipe=recipe,
    )


def _sample_columns(
    others: RawTable, columns: pd.DataFrame, features: pd.DataFrame
) -> SampleColumns:
    """What may say which rows are of one subject.

    Parameters
    ----------
    others : the table without the columns that the user names.
    columns, features : columns that may be features, as they are written and as numbers, of shape
        (samples, columns).
    """
    text = columns.select_dtypes(exclude="number")
    return SampleColumns(
        text=pd.concat([others.about, text], axis=1),
        numbers=features,
        names=others.sample_names,
        names_place=others.names_place,
    )


def _look_for_traces(
    features: pd.DataFrame,
    complete: CompleteFeatures,
    text: pd.DataFrame,
    labels: Floats,
    named: NamedColumns,
) -> list[Finding]:
    """Warnings about traces of how the table was made: batches that go with the classes, and gaps
    that were filled class by class before the table was written.

    Parameters
    ----------
    features : with their gaps, of shape (samples, features).
    complete : the same without gaps.
    text : columns of words, of shape (samples, columns).
    labels : ±1 of shape (samples,).
    named : the columns that the user names.
    """
    kept_rows = complete.kept_rows
    kept_labels = labels[kept_rows]
    about_batches = warn_of_batches(
        text=text.loc[kept_rows],
        features=complete.features,
        labels=kept_labels,
        allowed_for=[column.loc[kept_rows] for column in named.allowed_for],
    )
    # Only columns without gaps: what was filled in here is known not to look at the labels.
    without_gap = np.isfinite(features.to_numpy()).all(axis=0)
    as_written = features.loc[kept_rows, without_gap]
    about_fills = warn_of_class_fills(as_written.to_numpy(), kept_labels, as_written.columns)
    return [*about_batches, *about_fills]
