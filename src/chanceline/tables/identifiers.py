"""Columns that name rows or subjects, and days written as 20210304: these are no features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from chanceline._arrays import Floats, Ints
from chanceline.columns.names import ChosenNames
from chanceline.tables.checks.scans import FoundColumns
from chanceline.tables.column_names import is_called_identifier, is_called_subject
from chanceline.tables.dataset import Finding
from chanceline.tables.wording import quoted

FEWEST_ROWS = 4  # fewer tell nothing
FEWEST_SORTED_ROWS = 10  # rows whose order a column of measurements will not follow by chance
FIRST_ROWS = 20  # tell most columns that repeat
# Days are numbers as 20210304, from 1900 to 2099.
FIRST_DAY = 19000101
DAY_TOO_LATE = 21000101
LARGER_THAN_MEASUREMENTS = 19000000  # a whole number beyond it may be a day
# ID1 and CAGE1 are genes, Family_XIII is a taxon: with more columns like it than this a column is
# one of the measurements.
MOST_SIMILAR_COLUMNS = 10


def possibly_whole_columns(numbers: pd.DataFrame) -> pd.Index:
    """Names of the columns that may hold whole numbers: their first row does."""
    return numbers.columns[(numbers.iloc[0] % 1 == 0).to_numpy()]


@dataclass(frozen=True)
class SimilarCounts:
    """How many columns of a table are like a column of identifiers.

    Attributes
    ----------
    n_whole : columns that begin with a whole number.
    n_unique : those of them whose first rows are all different.
    """

    n_whole: int
    n_unique: int


def identifier_columns(features: pd.DataFrame) -> list[Any]:
    """Names of the features that name rows or subjects, or are days."""
    row_columns = features.columns[row_identifiers(features.to_numpy(), features.columns)]
    return list(dict.fromkeys([*subject_columns(features), *row_columns]))


def subject_columns(
    numbers: pd.DataFrame, similar_counts: SimilarCounts | None = None
) -> list[Any]:
    """Names of the columns of whole numbers that are named like subjects, sites or identifiers.

    Parameters
    ----------
    numbers : columns of numbers, of shape (samples, columns).
    similar_counts : how many columns of the whole table hold similar values, if `numbers` are only
        some of its columns; None if they are all.
    """
    candidates = possibly_whole_columns(numbers)
    subject_names = []
    for name in candidates:
        text = str(name)
        is_indicator = "=" in text  # such as `site=north`, a feature that the user asked for
        if is_indicator or not may_be_subjects(text):
            continue
        is_whole = np.all(numbers[name] % 1 == 0)
        if not is_whole:
            continue
        # A column such as `ID1` is a measurement (a gene) if many columns hold similar values.
        ends_in_number = _without_number(text) != text
        if ends_in_number:
            n_similar = _n_similar_columns(numbers[candidates], name, similar_counts)
            if n_similar > MOST_SIMILAR_COLUMNS:
                continue
        subject_names.append(name)
    return subject_names


def may_be_subjects(name: str) -> bool:
    """Whether a column is called like subjects, sites or identifiers, perhaps with a number."""
    return is_called_subject(_without_number(name))


def _without_number(name: str) -> str:
    """The name without a number at its end."""
    return name.rstrip("0123456789")


def _n_similar_columns(
    candidates: pd.DataFrame, name: Any, similar_counts: SimilarCounts | None
) -> int:
    """Count the columns of whole numbers with values similar to those of the column `name`.

    If no value of that column occurs twice, these are the columns without repeated values in the
    first rows; else they are all columns of whole numbers. The column itself is counted, too.

    Parameters
    ----------
    candidates : columns that may hold whole numbers, of shape (samples, columns).
    name : the name of one of these columns.
    similar_counts : the two counts for the whole table, if `candidates` are only some of its
        columns; None to count the candidates.
    """
    if similar_counts is None:
        begins_unique = _are_unique(candidates.iloc[:FIRST_ROWS].to_numpy())
        n_unique = int(begins_unique.sum())
        similar_counts = SimilarCounts(n_whole=candidates.shape[1], n_unique=n_unique)
    if candidates[name].is_unique:
        return similar_counts.n_unique
    return similar_counts.n_whole


def _are_unique(values: Floats) -> NDArray[np.bool_]:
    """Which columns of an array of shape (rows, columns) have no value twice."""
    ordered = np.sort(values, axis=0)
    return np.all(np.diff(ordered, axis=0) > 0, axis=0)


def row_identifiers(X: Floats, names: Sequence[Any]) -> NDArray[np.int64]:
    """Positions of the columns that identify the rows, or hold days written as 20210304.

    A column identifies the rows if it holds whole numbers without repetition that are consecutive
    in any order, or sorted, or if the column is named like an identifier.

    Parameters
    ----------
    X : numbers of shape (samples, features).
    names : the names of the features.
    """
    n_rows = len(X)
    if n_rows < FEWEST_ROWS:
        return np.array([], dtype=np.int64)
    candidates = _candidate_identifiers(X)  # positions of columns of whole numbers
    values = X[:, candidates]  # (samples, candidates)

    # n different whole numbers are consecutive if the largest less the smallest is n − 1. That they
    # are different is tested below.
    span = values.max(axis=0) - values.min(axis=0)
    may_be_consecutive = span == n_rows - 1
    is_named_identifier = np.array(
        [is_called_identifier(names[column]) for column in candidates.tolist()], dtype=np.bool_
    )
    may_identify_rows = may_be_consecutive | is_named_identifier
    if n_rows >= FEWEST_SORTED_ROWS:  # fewer measurements may be sorted by chance
        may_identify_rows |= _are_sorted(values)
    is_row_identifier = _are_unique(values) & may_identify_rows
    is_day = np.all(are_days(values), axis=0)
    return candidates[is_row_identifier | is_day]


def _are_sorted(values: Floats) -> NDArray[np.bool_]:
    """Which columns of (samples, columns) rise or fall from each row to the next."""
    steps = np.diff(values, axis=0)
    return np.all(steps > 0, axis=0) | np.all(steps < 0, axis=0)


def _candidate_identifiers(X: Floats) -> NDArray[np.int64]:
    """Positions of the columns of X (samples, features) that hold whole numbers, and may identify
    the rows or be days by their first rows.

    The first rows rule out most measurements, so that few columns are copied.
    """
    begins_whole = X[0] == np.round(X[0])
    begins_unique = _are_unique(X[:FIRST_ROWS])
    begins_like_day = X[0] > LARGER_THAN_MEASUREMENTS
    candidates = np.flatnonzero(begins_whole & (begins_unique | begins_like_day))
    values = X[:, candidates]
    is_whole = np.all(values == np.round(values), axis=0)
    return candidates[is_whole]


def are_days(values: Any) -> Any:
    """Which numbers are days as 20210304, of the shape of `values`."""
    month = values // 100 % 100
    day = values % 100
    in_years = (values >= FIRST_DAY) & (values < DAY_TOO_LATE)
    return in_years & (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)


class IdentifiersInColumns(NamedTuple):
    """What an `IdentifierScan` finds in a stretch of columns; positions are within the stretch.

    Attributes
    ----------
    row_identifiers : positions of the columns that identify the rows, or are days.
    whole : positions of the columns that begin with a whole number.
    n_unique : how many of the columns in `whole` have no number twice in the first rows.
    """

    row_identifiers: Ints
    whole: Ints
    n_unique: int


class IdentifierScan:
    """Looks for columns that name the rows, and counts those that might.

    Parameters
    ----------
    names : the names of the features.
    """

    def __init__(self, names: Sequence[Any]) -> None:
        self._names = names
        self._row_identifiers = FoundColumns()
        self._whole = FoundColumns()
        self._n_unique = 0

    def scan_columns(self, start: int, columns: Floats) -> IdentifiersInColumns:
        """Find the columns that identify the rows, and those of possibly whole numbers.

        `start` is the position of the first of these columns (samples, columns) in the table.
        """
        # Names are looked up one by one, as only few of them are needed.
        names = ChosenNames(self._names, np.arange(start, start + columns.shape[1]))
        whole = np.flatnonzero(columns[0] % 1 == 0)
        return IdentifiersInColumns(
            row_identifiers=row_identifiers(columns, names),
            whole=whole,
            n_unique=int(_are_unique(columns[:FIRST_ROWS, whole]).sum()),
        )

    def keep(self, start: int, seen: IdentifiersInColumns) -> None:
        self._row_identifiers.add(start, seen.row_identifiers)
        self._whole.add(start, seen.whole)
        self._n_unique += seen.n_unique

    @property
    def row_identifiers(self) -> Ints:
        """The numbers of the columns that name the rows, or are days."""
        return self._row_identifiers.numbers

    @property
    def possibly_whole(self) -> Ints:
        """The numbers of the columns that begin with a whole number."""
        return self._whole.numbers

    @property
    def similar_counts(self) -> SimilarCounts:
        """How many columns are like one of identifiers."""
        return SimilarCounts(n_whole=len(self.possibly_whole), n_unique=self._n_unique)

    def findings(self) -> list[Finding]:
        """The warning, if some columns look like identifiers."""
        return _identifier_warning([str(self._names[column]) for column in self.row_identifiers])


def warn_of_identifiers(X: Floats, names: Sequence[Any]) -> list[Finding]:
    """A warning about the columns that look like identifiers, if there are any."""
    return _identifier_warning([str(names[column]) for column in row_identifiers(X, names)])


def _identifier_warning(names: list[str]) -> list[Finding]:
    """The warning that the columns with these names look like identifiers, if there are any."""
    if not names:
        return []
    if len(names) == 1:
        sentence = (
            f"column {names[0]!r} looks like an identifier of rows and should not be a feature."
        )
    else:
        sentence = (
            f"columns {quoted(names)} look like identifiers of rows and should not be features."
        )
    return [Finding.warning(sentence)]
