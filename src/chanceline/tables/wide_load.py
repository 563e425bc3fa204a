"""From a file of very many columns to a `Dataset` whose features stay where they are kept.

The steps are those of `load`. The columns are passed twice, a tile of them at a time: for gaps and
identifiers, then for traces of how the table was made. Nothing that changes a number looks at the
labels.
"""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from chanceline._arrays import Floats
from chanceline.tables.checks.batches import FewWholeScan, warn_of_batches_in_table
from chanceline.tables.checks.class_fills import ClassFillScan
from chanceline.tables.checks.confounders import warn_of_confounders
from chanceline.tables.checks.row_shifts import warn_of_shifted_rows
from chanceline.tables.checks.scans import scan_table
from chanceline.tables.checks.subjects import SampleColumns, Suspect
from chanceline.tables.checks.totals import CountScan, warn_of_totals
from chanceline.tables.checks.undeclared import find_undeclared_subjects
from chanceline.tables.dataset import Dataset, Finding
from chanceline.tables.declared_columns import (
    find_declared_columns,
    proposed_declaration,
    require_features,
)
from chanceline.tables.gaps import Gaps, GapScan
from chanceline.tables.identifiers import IdentifierScan
from chanceline.tables.labelled import LabelledTable
from chanceline.tables.learn_recipe import learn_wide_recipe
from chanceline.tables.left_out import without_dates
from chanceline.tables.one_hot import note_left_out_text
from chanceline.tables.partitions import first_of_each_kept_group
from chanceline.tables.raw_table import RawTable
from chanceline.tables.reading_steps import ReadingStep, at_step
from chanceline.tables.report import TableReport
from chanceline.tables.roles import NamedColumns
from chanceline.tables.settings import TableSettings
from chanceline.tables.wide_features import WideFeatures
from chanceline.tables.wide_gaps import CompleteWideFeatures, wide_without_gaps
from chanceline.tables.wide_identifiers import (
    NonFeatureColumns,
    find_non_feature_columns,
    without_non_feature_columns,
)
from chanceline.tables.wide_transforms import transform_wide_features


@dataclass(frozen=True, eq=False)
class _WideSamples:
    """Samples whose features are not in memory.

    Attributes
    ----------
    features : numbers, without the columns that the user names.
    other_columns : the table without these columns: what is in memory describes the samples.
    words : the columns in memory that stand beside the features, without dates.
    labels : ±1 of shape (samples,).
    named_columns : the columns that the settings name: the label, blocks, groups, covariates and
        so on.
    """

    features: WideFeatures
    other_columns: RawTable
    words: pd.DataFrame
    labels: Floats
    named_columns: NamedColumns

    @property
    def index(self) -> pd.Index:
        """The names of the rows."""
        return self.other_columns.values.index

    @property
    def text(self) -> pd.DataFrame:
        """All that is known about the samples besides the features: (samples, columns)."""
        return pd.concat([self.other_columns.descriptions, self.words], axis=1)


@dataclass(frozen=True, eq=False)
class _Measurements:
    """The features that are measurements.

    Attributes
    ----------
    features : perhaps with gaps.
    gaps : the gaps of these features; None if there are none.
    suspect : a column that looks like subjects or pairs; None if none does.
    findings : what was left out.
    """

    features: WideFeatures
    gaps: Gaps | None
    suspect: Suspect | None
    findings: list[Finding]


def wide_dataset_of_samples(
    labelled: LabelledTable, features: WideFeatures, settings: TableSettings, source: str
) -> Dataset:
    """Make a `Dataset` of samples with their labels, whose features are not in memory.

    Parameters
    ----------
    labelled : the samples, as `label_samples` gives them.
    features : the features of the same samples, not in memory.
    settings : how the columns are to be read.
    source : the name of the table, for messages.
    """
    # What is known about the samples, and which columns are measurements.
    report = TableReport()
    report.add(labelled.findings)
    samples = _describe_samples(labelled, features, settings, report)
    label_name = str(samples.named_columns.label.name)
    measurements = _find_measurements(samples, settings)
    report.add(measurements.findings)
    with at_step(ReadingStep.COLUMNS):
        require_features(measurements.features.n_columns, source, label_name)

    # The measurements without gaps, then in other units.
    with at_step(ReadingStep.GAPS):
        complete = wide_without_gaps(
            measurements.features,
            measurements.gaps,
            missing=settings.missing,
            row_labels=samples.index,
        )
    report.add(complete.findings)
    report.put_first(_look_for_traces(complete, samples, settings))
    with at_step(ReadingStep.UNITS):
        transformed = transform_wide_features(complete.features, settings.transform or "none")
    report.add(transformed.findings)

    # A column that looks like subjects stops a test, if nothing did before.
    suspect = measurements.suspect
    undeclared = samples.other_columns.undeclared
    if suspect is not None:
        undeclared = suspect.sentence
    recipe = learn_wide_recipe(
        complete.features,
        added=transformed.added,
        fill_values=complete.fill_values,
        label=label_name,
        settings=settings,
    )
    return Dataset(
        X=transformed.features.table,
        y=samples.labels[complete.kept_rows],
        feature_names=transformed.features.names,
        classes=labelled.classes,
        **samples.named_columns.arrays(complete.kept_rows),
        undeclared=undeclared,
        proposed=proposed_declaration(suspect),
        source=source,
        findings=report.findings(),
        rows=samples.index[complete.kept_rows].tolist(),
        columns_checked=True,
        variants=labelled.table.variants,
        recipe=recipe,
    )


def _describe_samples(
    labelled: LabelledTable, features: WideFeatures, settings: TableSettings, report: TableReport
) -> _WideSamples:
    """Find the columns that the settings name, and what else is known about the samples.

    Parameters
    ----------
    labelled : the samples with their labels, and the columns in memory.
    features : the features of the same samples, not in memory.
    settings : how the columns are to be read.
    report : collects findings, and is changed in place: warnings about confounders are put before
        all other findings, and notes are added at the end.
    """
    # The columns that the settings name. (`at_step` marks errors as errors about columns.)
    labels = labelled.labels
    with at_step(ReadingStep.COLUMNS):
        named_columns, declared_findings = find_declared_columns(labelled, settings)
    report.add(declared_findings)

    # Warn of confounders among all other columns in memory: descriptions of the samples (from a
    # second file, say) and columns of the table itself.
    other_columns = labelled.table.without_columns(named_columns.names)
    for table in (other_columns.descriptions, other_columns.values):
        confounder_findings = warn_of_confounders(
            table, labels, named_columns.controlled_columns, named_columns.groups
        )
        report.put_first(confounder_findings)

    # Note which columns of the table itself are left out: dates, and text.
    words, date_findings = without_dates(
        other_columns.values, labels, named_columns.exchange_blocks, named_columns.groups
    )
    text_findings = note_left_out_text(words)
    report.add([*date_findings, *text_findings])
    return _WideSamples(
        features=features.without_names(named_columns.names),
        other_columns=other_columns,
        words=words,
        labels=labels,
        named_columns=named_columns,
    )


def _find_measurements(samples: _WideSamples, settings: TableSettings) -> _Measurements:
    """Leave out dates and identifiers, and find the gaps of the features that are left.

    Also looks for a column that seems to hold subjects, or pairs, but was not declared.

    Parameters
    ----------
    samples : the samples with their features.
    settings : with `keep_identifiers` no column is left out.
    """
    # One pass over all columns, for gaps and identifiers.
    features = samples.features
    gap_scan = GapScan(samples.labels, samples.named_columns.groups)
    identifier_scan = IdentifierScan(features.names)
    scan_table(features.table, [gap_scan, identifier_scan])
    non_feature_columns = find_non_feature_columns(features, identifier_scan, samples.index)
    suspect = _find_undeclared_subjects(samples, non_feature_columns, settings)
    if settings.keep_identifiers:
        return _Measurements(features, gap_scan.gaps, suspect, findings=[])

    measured, findings = without_non_feature_columns(
        features,
        non_feature_columns,
        labels=samples.labels,
        named_columns=samples.named_columns,
        index=samples.index,
    )
    gaps = gap_scan.gaps
    if gaps is not None and measured.n_columns < features.n_columns:
        # Count the gaps again, without the columns that are left out.
        gaps = _find_gaps(measured, samples)
    return _Measurements(measured, gaps, suspect, findings)


def _find_gaps(features: WideFeatures, samples: _WideSamples) -> Gaps | None:
    """The gaps of the features, by one pass over them; None if there are none."""
    gap_scan = GapScan(samples.labels, samples.named_columns.groups)
    scan_table(features.table, [gap_scan])
    return gap_scan.gaps


def _find_undeclared_subjects(
    samples: _WideSamples, non_feature_columns: NonFeatureColumns, settings: TableSettings
) -> Suspect | None:
    """A column that looks like subjects or pairs but was not declared; None if there is none.

    Such a column is looked for among all text about the samples, among features of whole numbers,
    and among the names of the samples.

    Parameters
    ----------
    samples : the samples, with features that are not in memory.
    non_feature_columns : the positions of the features that may hold subjects.
    settings : `groups` says how groups were declared, if they were.
    """
    # If reading the file has shown already that a declaration is missing, that message stands.
    if samples.other_columns.undeclared:
        return None

    candidates = SampleColumns(
        text=samples.text,
        numbers=samples.features.frame(non_feature_columns.subject_candidates, samples.index),
        names=samples.other_columns.sample_names,
        names_place=samples.other_columns.names_place,
    )
    return find_undeclared_subjects(
        candidates, samples.labels, samples.named_columns, settings.groups
    )


def _look_for_traces(
    complete: CompleteWideFeatures, samples: _WideSamples, settings: TableSettings
) -> list[Finding]:
    """Warn of traces of how the table was made that may tell the classes apart.

    They are totals of rows, or batches, that are associated with the classes, and gaps that were
    filled class by class before the table was written.

    Parameters
    ----------
    complete : features without gaps, of the kept rows alone.
    samples : all samples.
    settings : with a transform, totals of rows are not examined.
    """
    # One pass over all columns for three scans, which keep their results.
    features = complete.features
    kept_rows = complete.kept_rows  # (samples,)
    kept_labels = samples.labels[kept_rows]
    # Whether the numbers are counts, and the totals of the rows.
    count_scan = CountScan(len(kept_labels))
    # Gaps that were filled class by class before the table was written. Columns whose gaps were
    # filled while the table was read are skipped: the labels were not used there.
    fill_scan = ClassFillScan(kept_labels, filled_without_labels=complete.was_filled)
    # Columns of few whole numbers, which may be codes of batches.
    whole_number_scan = FewWholeScan()
    scan_table(features.table, [count_scan, fill_scan, whole_number_scan])

    # Rows of a group (a subject) are not independent, so that only its first kept row is tested.
    # The mask is needed in two numberings: among all samples, and among the kept rows.
    is_tested = first_of_each_kept_group(samples.named_columns.groups, kept_rows)  # (samples,)
    kept_row_is_tested = is_tested[kept_rows]  # (kept rows,)
    tested_labels = samples.labels[is_tested]
    tested_features = features.with_rows(kept_row_is_tested)
    controlled_columns = [
        column.loc[is_tested] for column in samples.named_columns.controlled_columns
    ]

    # Totals of rows, and batches, that are associated with the classes.
    findings = []
    if settings.transform is None:
        tested_totals = count_scan.row_totals[kept_row_is_tested]
        findings += _warn_of_depth(
            tested_features, tested_labels, tested_totals, are_counts=count_scan.are_counts
        )
    findings += warn_of_batches_in_table(
        text=samples.text.loc[is_tested],
        features=tested_features,
        whole_number_positions=whole_number_scan.columns,
        labels=tested_labels,
        controlled_columns=controlled_columns,
    )
    return [*findings, *fill_scan.findings(features.names)]


def _warn_of_depth(
    features: WideFeatures, labels: Floats, row_totals: Floats, *, are_counts: bool
) -> list[Finding]:
    """Warnings if row totals of counts, or else row means, are associated with the classes.

    Parameters
    ----------
    features : the features in one row of each group, (rows, features).
    labels : ±1, (rows,).
    row_totals : the sum of each row over all features, (rows,).
    are_counts : whether the features are counts.
    """
    if are_counts:
        return warn_of_totals(row_totals, labels)
    row_means = row_totals / features.n_columns
    return warn_of_shifted_rows(features.table, labels, row_means)
