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

from chanceline._arrays import Bools, Floats
from chanceline.perceptron.validation import working_precision
from chanceline.tables.checks.batches import warn_of_batches
from chanceline.tables.checks.class_fills import warn_of_class_fills
from chanceline.tables.checks.confounders import warn_of_confounders
from chanceline.tables.checks.row_shifts import warn_if_row_means_follow_classes
from chanceline.tables.checks.totals import warn_if_totals_follow_classes
from chanceline.tables.dataset import Dataset, Finding
from chanceline.tables.declared_columns import (
    find_declared_columns,
    require_features,
)
from chanceline.tables.gaps import CompleteFeatures, without_gaps
from chanceline.tables.identifiers import warn_of_identifiers
from chanceline.tables.labelled import LabelledTable, label_samples, read_table
from chanceline.tables.learn_recipe import learn_recipe
from chanceline.tables.partitions import first_of_each_kept_group
from chanceline.tables.read_features import ReadFeatures, read_features
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
    settings : how the columns are to be read.
    source : the name of the table, for messages.
    """
    if samples.table.wide is not None:
        return wide_dataset_of_samples(samples, samples.table.wide, settings, source)
    report = TableReport()
    report.add(samples.findings)
    labels = samples.labels

    # The columns that the settings name. An error in an `at_step` block says where it came up.
    with at_step(ReadingStep.COLUMNS):
        named_columns, findings = find_declared_columns(samples, settings)
    report.add(findings)
    other_columns = samples.table.without_columns(named_columns.names)
    for table in (other_columns.descriptions, other_columns.values):
        confounder_findings = warn_of_confounders(
            table, labels, named_columns.controlled_columns, named_columns.groups
        )
        report.put_first(confounder_findings)

    # Features as numbers.
    reading = read_features(other_columns, labels, named_columns, settings)
    report.add(reading.findings)
    with at_step(ReadingStep.COLUMNS):
        require_features(reading.features.shape[1], source, label=str(named_columns.label.name))

    # Features without gaps, in the units asked for.
    with at_step(ReadingStep.GAPS):
        complete = without_gaps(reading.features, labels, settings.missing, named_columns.groups)
    report.add(complete.findings)
    feature_names = complete.features.columns
    precision = working_precision(complete.features.dtypes.unique(), len(feature_names))
    X = np.ascontiguousarray(complete.features.to_numpy(dtype=precision))
    y = labels[complete.kept_rows]
    if not settings.keep_identifiers:
        # A gap may have hidden that a column counts the rows.
        report.add(warn_of_identifiers(X, feature_names))
    report.put_first(_look_for_traces(reading, complete, labels, named_columns))
    if settings.transform is None:
        is_counted = first_of_each_kept_group(named_columns.groups, complete.kept_rows)
        mean_findings, total_findings = _look_at_depth(X, y, is_counted[complete.kept_rows])
        report.put_first(mean_findings)
        report.put_first(total_findings)
    else:
        with at_step(ReadingStep.UNITS):
            X, findings = transform_table(X, settings.transform, feature_names)
        report.add(findings)
    recipe = learn_recipe(
        written_columns=reading.written_columns,
        features=reading.features,
        complete_features=complete.features,
        label=str(named_columns.label.name),
        settings=settings,
    )

    return Dataset(
        X=X,
        y=y,
        feature_names=tuple(str(name) for name in feature_names),
        classes=samples.classes,
        **named_columns.arrays(complete.kept_rows),
        undeclared=reading.undeclared,
        proposed=reading.proposed,
        source=source,
        findings=report.findings(),
        rows=complete.features.index.tolist(),
        columns_checked=True,
        variants=samples.table.variants,
        recipe=recipe,
    )


def _look_at_depth(X: Floats, y: Floats, is_counted: Bools) -> tuple[list[Finding], list[Finding]]:
    """Warnings about the depth of rows that is associated with the classes.

    Returns two lists of warnings: about the means of rows, and about the totals of counts.

    Parameters
    ----------
    X : features in the units of the table, (samples, features).
    y : labels ±1, (samples,).
    is_counted : (samples,) which rows are compared, one of each group.
    """
    if not is_counted.all():
        X = X[is_counted]
        y = y[is_counted]
    return warn_if_row_means_follow_classes(X, y), warn_if_totals_follow_classes(X, y)


def _look_for_traces(
    reading: ReadFeatures,
    complete: CompleteFeatures,
    labels: Floats,
    named_columns: NamedColumns,
) -> list[Finding]:
    """Warn of traces of how the table was made that may tell the classes apart.

    They are batches that are associated with the classes, and gaps that were filled class by class
    before the table was written. Rows that were left out because of gaps do not count.

    Parameters
    ----------
    reading : the features of all samples, with their gaps, and columns of words.
    complete : the features without gaps, of the kept rows alone.
    labels : ±1 of shape (samples,).
    named_columns : the columns that the settings name: the label, blocks, groups, covariates and
        so on.
    """
    # The kept rows of labels and columns, as in `complete.features`.
    is_kept = complete.kept_rows  # (samples,)
    kept_labels = labels[is_kept]
    kept_text = reading.sample_columns.text.loc[is_kept]
    kept_controlled_columns = [column.loc[is_kept] for column in named_columns.controlled_columns]

    # Batches. Rows of a group (a subject) are not independent: only the first one counts.
    is_first_of_group = first_of_each_kept_group(named_columns.groups, is_kept)[is_kept]
    batch_findings = warn_of_batches(
        text=kept_text.loc[is_first_of_group],
        features=complete.features.loc[is_first_of_group],
        labels=kept_labels[is_first_of_group],
        controlled_columns=[column.loc[is_first_of_group] for column in kept_controlled_columns],
    )

    # Filled gaps. Look only at columns that had no gap in the file: gaps that were filled while
    # reading it were filled without the labels.
    had_no_gap = np.isfinite(reading.features.to_numpy()).all(axis=0)  # (features,), of all rows
    features_as_written = reading.features.loc[is_kept, had_no_gap]
    fill_findings = warn_of_class_fills(
        features_as_written.to_numpy(), kept_labels, features_as_written.columns
    )
    return [*batch_findings, *fill_findings]
