"""From the columns that may be features to numbers, without dates and identifiers.

The steps are the same for two classes (`load`) and for other outcomes (`outcome_table`).
"""

from __future__ import annotations

from typing import NamedTuple

import pandas as pd

from chanceline._arrays import Floats
from chanceline.tables.checks.subjects import SampleColumns
from chanceline.tables.checks.undeclared import find_undeclared_subjects
from chanceline.tables.dataset import Declaration, Finding
from chanceline.tables.declared_columns import proposed_declaration
from chanceline.tables.features import numeric_features
from chanceline.tables.left_out import without_dates, without_identifiers
from chanceline.tables.raw_table import RawTable
from chanceline.tables.reading_steps import ReadingStep, at_step
from chanceline.tables.roles import NamedColumns
from chanceline.tables.settings import TableSettings


class ReadFeatures(NamedTuple):
    """Columns as numbers, perhaps with gaps.

    Attributes
    ----------
    written_columns : (samples, columns) those that may be features, as they are in the file.
    features : (samples, features) the same as numbers, without identifiers.
    sample_columns : what may say which rows are of one subject.
    undeclared : the sentence about a column that looks like subjects; empty if there is none.
    proposed : what it could be declared as.
    findings : what was left out, and why.
    """

    written_columns: pd.DataFrame
    features: pd.DataFrame
    sample_columns: SampleColumns
    undeclared: str
    proposed: Declaration | None
    findings: list[Finding]


def read_features(
    other_columns: RawTable, labels: Floats, named_columns: NamedColumns, settings: TableSettings
) -> ReadFeatures:
    """Turn columns into numeric features, without dates and identifiers.

    Also looks for columns that seem to hold subjects, or pairs, but were not declared as such. The
    order of the steps matters: undeclared subjects are looked for among the numeric columns, before
    identifiers are left out, as an identifier may be the column that names the subjects.

    Parameters
    ----------
    other_columns : the table without the columns that the settings name (label, groups, …).
    labels : ±1 of shape (samples,), used only for checks.
    named_columns : the columns that the settings name: the label, blocks, groups, covariates and
        so on.
    settings : how the columns are to be read.
    """
    # 1. Leave out dates. They are compared between the classes within blocks or pairs, if there are
    # any (`exchange_blocks`).
    findings: list[Finding] = []
    written_columns = other_columns.values
    if not settings.keep_identifiers:
        written_columns, date_findings = without_dates(
            written_columns, labels, named_columns.exchange_blocks, named_columns.groups
        )
        findings += date_findings

    # 2. Turn columns into numbers. (`at_step` marks errors as errors about cells.)
    with at_step(ReadingStep.CELLS):
        features, feature_findings = numeric_features(
            written_columns, labels, settings, named_columns.groups
        )
    findings += feature_findings

    # 3. Look for undeclared subjects and pairs, unless reading the file has shown already that a
    # declaration is missing. The message about them is kept, and stops a test of the table later.
    sample_columns = _sample_columns(other_columns, written_columns, features)
    undeclared_message = other_columns.undeclared
    suspect = None
    if not undeclared_message:
        suspect = find_undeclared_subjects(sample_columns, labels, named_columns, settings.groups)
    if suspect is not None:
        undeclared_message = suspect.sentence

    # 4. Leave out identifiers.
    if not settings.keep_identifiers:
        features, identifier_findings = without_identifiers(
            features, labels, named_columns.exchange_blocks, named_columns.groups
        )
        findings += identifier_findings
    return ReadFeatures(
        written_columns=written_columns,
        features=features,
        sample_columns=sample_columns,
        undeclared=undeclared_message,
        proposed=proposed_declaration(suspect),
        findings=findings,
    )


def _sample_columns(
    other_columns: RawTable, columns: pd.DataFrame, features: pd.DataFrame
) -> SampleColumns:
    """What may say which rows are of one subject.

    Parameters
    ----------
    other_columns : the table without the columns that the settings name (label, groups, …).
    columns, features : columns that may be features, as they are written and as numbers, of shape
        (samples, columns).
    """
    text = columns.select_dtypes(exclude="number")
    return SampleColumns(
        text=pd.concat([other_columns.descriptions, text], axis=1),
        numbers=features,
        names=other_columns.sample_names,
        names_place=other_columns.names_place,
    )
