"""Columns that name rows or subjects, and days written as 20210304: these are no features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from chanceline.perceptron.problem import Floats
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
# ID1 and CAGE1 are genes, Family_XIII is a taxon: with so many columns like it a column is one of
# the measurements.
MANY_ALIKE = 10


def whole_columns(numbers: pd.DataFrame) -> pd.Index:
    """Names of the columns that may hold whole numbers, as their first row does."""
    return numbers.columns[(numbers.iloc[0] % 1 == 0).to_numpy()]


def identifier_columns(features: pd.DataFrame) -> list[Any]:
    """Names of the features that name rows or subjects, or are days."""
    row_columns = features.columns[row_identifiers(features.to_numpy(), features.columns)]
    return list(dict.fromkeys([*subject_columns(features), *row_columns]))


def subject_columns(numbers: pd.DataFrame) -> list[Any]:
    """Columns of whole numbers that are called like subjects, sites or identifiers; indicators
    (`site=north`) were asked for.

    With a number behind it (ID1, site 2) the name may be that of a measurement, such as a gene.
    Such a column counts only where few columns are like it: of whole numbers and, if it is
    different in every row, different in every row too.
    """
    likely = whole_columns(numbers)
    subjects = []
    for name in likely:
        text = str(name)
        is_indicator = "=" in text
        unnumbered = text.rstrip("0123456789")
        if is_indicator or not is_called_subject(unnumbered):
            continue
        if np.any(numbers[name] % 1 != 0):
            continue
        is_numbered = unnumbered != text
        if not is_numbered or _n_columns_alike(numbers[likely], name) <= MANY_ALIKE:
            subjects.append(name)
    return subjects


def _n_columns_alike(whole: pd.DataFrame, name: Any) -> int:
    """How many columns are different in every row like this one, as far as the first rows tell; all
    if it is not.
    """
    if not whole[name].is_unique:
        return whole.shape[1]
    return int(_are_different(whole.iloc[:FIRST_ROWS].to_numpy()).sum())


def _are_different(values: Floats) -> NDArray[np.bool_]:
    """Which columns of an array of shape (rows, columns) have no value twice."""
    ordered = np.sort(values, axis=0)
    return np.all(np.diff(ordered, axis=0) > 0, axis=0)


def row_identifiers(X: Floats, names: Sequence[Any]) -> NDArray[np.int64]:
    """Positions of columns of whole numbers that name the rows: all different, and they count the
    rows, follow their order or are called so; and of days written as 20210304.

    Parameters
    ----------
    X : numbers of shape (samples, features).
    names : of the features.
    """
    n_rows = len(X)
    if n_rows < FEWEST_ROWS:
        return np.array([], dtype=np.int64)

    # Days, or different in the first rows at least: columns are copied only if they may be either.
    may_be_either = _are_different(X[:FIRST_ROWS]) | (X[0] > LARGER_THAN_MEASUREMENTS)
    whole = np.flatnonzero((X[0] == np.round(X[0])) & may_be_either)
    whole = whole[np.all(X[:, whole] == np.round(X[:, whole]), axis=0)]
    values = X[:, whole]  # (samples, columns of whole numbers)

    count_rows = values.max(axis=0) - values.min(axis=0) == n_rows - 1
    steps = np.diff(values, axis=0)
    follow_rows = np.all(steps > 0, axis=0) | np.all(steps < 0, axis=0)
    if n_rows < FEWEST_SORTED_ROWS:
        follow_rows[:] = False
    are_called = [is_called_identifier(names[column]) for column in whole.tolist()]
    are_called_identifiers = np.array(are_called, dtype=np.bool_)
    name_rows = _are_different(values) & (count_rows | follow_rows | are_called_identifiers)
    return whole[name_rows | np.all(are_days(values), axis=0)]


def are_days(values: Any) -> Any:
    """Which numbers are days as 20210304, of the shape of `values`."""
    month = values // 100 % 100
    day = values % 100
    in_years = (values >= FIRST_DAY) & (values < DAY_TOO_LATE)
    return in_years & (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)


def about_identifiers(X: Floats, names: Sequence[Any]) -> list[Finding]:
    """A warning about the columns that look like identifiers, if there are any."""
    suspects = [str(names[column]) for column in row_identifiers(X, names)]
    if not suspects:
        return []
    if len(suspects) == 1:
        sentence = (
            f"column {suspects[0]!r} looks like an identifier of rows and should not be a feature."
        )
    else:
        sentence = (
            f"columns {quoted(suspects)} look like identifiers of rows and should not be features."
        )
    return [Finding.warning(sentence)]
