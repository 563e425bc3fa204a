"""Columns of a table that is not in memory which are no features: dates, identifiers, subjects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from chanceline._arrays import Floats, Ints
from chanceline.columns.names import NumberedNames
from chanceline.tables.checks.subjects import MOST_COLUMNS_EXAMINED
from chanceline.tables.column_names import is_called_date
from chanceline.tables.dataset import Finding
from chanceline.tables.identifiers import IdentifierScan, may_be_subjects, subject_columns
from chanceline.tables.left_out import note_identifiers, without_dates
from chanceline.tables.roles import NamedColumns
from chanceline.tables.wide_features import WideFeatures


@dataclass(frozen=True, eq=False)
class NonFeatureColumns:
    """Columns that are called, or look like, something else than a measurement.

    Attributes
    ----------
    dates, subjects : (columns,) the numbers of those that are called so.
    row_identifiers : (columns,) of those that name the rows.
    possibly_whole : (columns,) of those that begin with a whole number.
    """

    dates: Ints
    subjects: Ints
    row_identifiers: Ints
    possibly_whole: Ints

    @property
    def identifiers(self) -> Ints:
        """The numbers of the columns that name subjects or rows, without dates; rising."""
        both = np.union1d(self.subjects, self.row_identifiers)
        return np.setdiff1d(both, self.dates)

    @property
    def subject_candidates(self) -> Ints:
        """The numbers of the columns whose values may be subjects: whole numbers, or of many only
        those that are called so.
        """
        if len(self.possibly_whole) > MOST_COLUMNS_EXAMINED:
            return self.subjects
        return self.possibly_whole


def find_non_feature_columns(
    features: WideFeatures, scan: IdentifierScan, index: pd.Index
) -> NonFeatureColumns:
    """Find the columns that are no measurements: dates, subjects, and identifiers of rows.

    Parameters
    ----------
    features : numbers, perhaps with gaps.
    scan : the result of a pass over all columns of these features.
    index : the names of the rows, (samples,).
    """
    telling_names = _find_telling_names(features.names)
    # Columns named like subjects are read into memory, and kept if they hold whole numbers.
    candidates = features.frame(telling_names.subjects, index)
    subject_names = subject_columns(candidates, scan.similar_counts)
    is_subject = candidates.columns.isin(subject_names)
    return NonFeatureColumns(
        dates=telling_names.dates,
        subjects=telling_names.subjects[is_subject],
        row_identifiers=scan.row_identifiers,
        possibly_whole=scan.possibly_whole,
    )


class _TellingNames(NamedTuple):
    """The numbers of columns that are called like dates, and like subjects or identifiers."""

    dates: Ints
    subjects: Ints


def _find_telling_names(names: Sequence[str]) -> _TellingNames:
    """The positions of the columns whose names say that they hold dates or subjects.

    If very many columns are named like dates, none of them is taken for one; the same holds for
    subjects.
    """
    date_positions: list[int] = []
    subject_positions: list[int] = []
    names_say_nothing = isinstance(names, NumberedNames)  # x0, x1, …
    if not names_say_nothing:
        for position, name in enumerate(names):
            if is_called_date(name):
                date_positions.append(position)
            if may_be_subjects(name):
                subject_positions.append(position)
    return _TellingNames(
        dates=_positions_if_few(date_positions),
        subjects=_positions_if_few(subject_positions),
    )


def _positions_if_few(positions: list[int]) -> Ints:
    """The positions, or none if there are very many: then these columns are measurements."""
    if len(positions) > MOST_COLUMNS_EXAMINED:
        positions = []
    return np.array(positions, dtype=np.int64)


def without_non_feature_columns(
    features: WideFeatures,
    non_feature_columns: NonFeatureColumns,
    labels: Floats,
    named_columns: NamedColumns,
    index: pd.Index,
) -> tuple[WideFeatures, list[Finding]]:
    """Leave out the columns that are dates or identifiers.

    Returns the other features, and findings about the columns left out.

    Parameters
    ----------
    features : all columns, which are not in memory.
    non_feature_columns : the positions of dates, subjects and identifiers among these columns.
    labels : ±1 of shape (samples,), used only for warnings.
    named_columns : the columns that the settings name: the label, blocks, groups, covariates and
        so on.
    index : the names of the rows, (samples,).
    """
    # The findings about dates. The function leaves the dates out of its own table, which holds
    # nothing else, so that this table is dropped.
    dates = features.frame(non_feature_columns.dates, index)  # in memory
    _, findings = without_dates(dates, labels, named_columns.exchange_blocks, named_columns.groups)

    # The findings about identifiers.
    if len(non_feature_columns.identifiers) > 0:
        identifiers = features.frame(non_feature_columns.identifiers, index)
        findings += note_identifiers(
            identifiers, labels, named_columns.exchange_blocks, named_columns.groups
        )

    left_out = np.union1d(non_feature_columns.dates, non_feature_columns.identifiers)
    return features.without_columns(left_out), findings
