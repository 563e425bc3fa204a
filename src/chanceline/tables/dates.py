"""Columns of dates: they say when a sample was taken, and are no features."""

from __future__ import annotations

from typing import Any

import pandas as pd

from chanceline.tables.column_names import is_called_date
from chanceline.tables.raw_table import numeric_columns
from chanceline.tables.spelling import DATE, is_date

THREE_NUMBERS = r"(\d+).(\d+).(\d+)"  # year, month and day in some order
LAST_MONTH = 12
LAST_DAY_OF_MONTH = 31


def date_columns(table: pd.DataFrame) -> dict[Any, pd.Series]:
    """The columns that hold dates, as numbers in the order of time, by the column's name.

    A column of text holds dates if all its cells are written as dates. A column of numbers holds
    dates if its name says so.
    """
    times_by_name = {}
    for name, is_numeric in zip(table, numeric_columns(table), strict=True):
        if is_numeric and not is_called_date(name):
            continue
        times = times_as_numbers(table[name])
        if times is not None:
            times_by_name[name] = times
    return times_by_name


def times_as_numbers(column: pd.Series) -> pd.Series | None:
    """A column of dates as numbers in the order of time, (samples,); None for text that is no date.

    Numbers and timestamps are replaced by their ranks. Dates written as text become
    10000 year + 100 month + day. Which of the three numbers in a text is the year, the month and
    the day follows from the largest values of the column: numbers above 31 are no days, and numbers
    above 12 are no months.
    """
    is_numeric = pd.api.types.is_numeric_dtype(column)
    if is_numeric or pd.api.types.is_datetime64_any_dtype(column):
        return column.rank()

    texts = column.astype("string").str.strip()
    if not _are_dates(texts.dropna()):
        return None
    numbers = texts.str.extract(THREE_NUMBERS).astype(float)  # (samples, 3)
    first = numbers[0]  # of the three numbers of each date
    second = numbers[1]
    third = numbers[2]

    if first.max() > LAST_DAY_OF_MONTH:  # 2021-03-04
        return _in_order(year=first, month=second, day=third)
    if second.max() > LAST_MONTH:  # 3/14/2021
        return _in_order(year=third, month=first, day=second)
    return _in_order(year=third, month=second, day=first)  # 4.3.2021


def _in_order(year: pd.Series, month: pd.Series, day: pd.Series) -> pd.Series:
    """Dates as numbers such as 20210304, of shape (samples,)."""
    return 10000 * year + 100 * month + day


def _are_dates(texts: pd.Series) -> bool:
    """Whether there are texts and all of them are written as dates.

    Looking at the first text alone rules most columns out.
    """
    if len(texts) == 0 or not is_date(texts.iloc[0]):
        return False
    return bool(texts.str.fullmatch(DATE.pattern).all())
