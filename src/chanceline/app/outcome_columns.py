"""Which columns may hold the outcome, by what their values look like."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

import numpy as np
import pandas as pd

from chanceline.tables.identifiers import possibly_whole_columns
from chanceline.tables.raw_table import RawTable

MOST_CLASSES = 20  # words with more values are names; more whole numbers are sizes
MOST_LISTED_OF_A_KIND = 100  # any other column can be searched among all


class ValueKind(StrEnum):
    """What the values of a column look like; the values are words to show."""

    WORDS = "words"
    TWO_NUMBERS = "two different numbers"
    FEW_WHOLE_NUMBERS = "few whole numbers"
    NUMBERS = "numbers"


# What may be a class or a number, a time, and an event; the likelier kinds come first.
KINDS_OF_LABELS = tuple(ValueKind)
KINDS_OF_TIMES = (ValueKind.NUMBERS, ValueKind.FEW_WHOLE_NUMBERS)
KINDS_OF_EVENTS = (ValueKind.TWO_NUMBERS, ValueKind.WORDS)


class OfferedColumns(NamedTuple):
    """Columns that are offered together for a part of the outcome.

    Attributes
    ----------
    words : what they have in common.
    names : of the columns.
    """

    words: str
    names: tuple[str, ...]


def columns_by_kind(table: RawTable) -> dict[ValueKind, list[str]]:
    """The names of the columns with two or more values, by what these look like."""
    by_kind: dict[ValueKind, list[str]] = {kind: [] for kind in ValueKind}
    for frame in (table.descriptions, table.values):
        if len(frame) == 0:
            continue
        for name, kind in kinds_of_values(frame).items():
            by_kind[kind].append(name)
    return by_kind


def kinds_of_values(frame: pd.DataFrame) -> dict[str, ValueKind]:
    """What the values of each column look like: column → kind of values.

    Columns that cannot be an outcome are left out: text with one value or very many different ones,
    and numbers that are all equal.

    Parameters
    ----------
    frame : (samples, columns), at least one sample.
    """
    kinds: dict[str, ValueKind] = {}

    # Text may be classes if it has few different values.
    text = frame.select_dtypes(exclude="number")
    for name, n_values in text.nunique().items():
        if 2 <= n_values <= MOST_CLASSES:
            kinds[str(name)] = ValueKind.WORDS

    # Numbers may be an outcome if they vary; NaN is ignored.
    numbers = frame.select_dtypes("number")
    varies = numbers.max() > numbers.min()
    names_that_vary = numbers.columns[varies.to_numpy()]

    # A column of few different whole numbers may be classes; any other one is a number. The dict
    # has an entry for each column of whole numbers, and none for a column with other numbers.
    n_values_of_whole_columns = n_whole_values(numbers)
    for name in names_that_vary:
        if str(name) in n_values_of_whole_columns:
            n_values = n_values_of_whole_columns[str(name)]
            kinds[str(name)] = kind_of_whole_numbers(n_values)
        else:
            kinds[str(name)] = ValueKind.NUMBERS
    return kinds


def kind_of_whole_numbers(n_values: int) -> ValueKind:
    """What a column of whole numbers looks like that has `n_values` different ones."""
    if n_values > MOST_CLASSES:
        return ValueKind.NUMBERS
    if n_values == 2:
        return ValueKind.TWO_NUMBERS
    return ValueKind.FEW_WHOLE_NUMBERS


def n_whole_values(numbers: pd.DataFrame) -> dict[str, int]:
    """How many different values the columns have that may be whole numbers; gaps are none.

    Parameters
    ----------
    numbers : (samples, columns), at least one sample.
    """
    names = possibly_whole_columns(numbers)
    # In sorted columns every step up is a further value; gaps come last.
    ordered = np.sort(numbers[names].to_numpy(dtype=np.float64), axis=0)
    n_values = 1 + np.sum(np.diff(ordered, axis=0) > 0, axis=0)
    return {str(name): int(number) for name, number in zip(names, n_values, strict=True)}


def columns_to_offer(
    by_kind: Mapping[ValueKind, Sequence[str]], kinds: Sequence[ValueKind], chosen: str
) -> list[OfferedColumns]:
    """The columns that a selection field of the page offers, in groups by kind of their values.

    The column already chosen is always among them.

    Parameters
    ----------
    by_kind : kind → the names of the columns with such values.
    kinds : the kinds that the field offers, in this order.
    chosen : the name of the column that was chosen; empty if none was.
    """
    groups = []
    chosen_is_in_a_group = False
    for kind in kinds:
        names = both_ends(by_kind[kind])  # of very many names only the first and the last
        if names:
            groups.append(OfferedColumns(kind.value, names))
        if chosen in names:
            chosen_is_in_a_group = True

    if chosen and not chosen_is_in_a_group:
        # The user chose it in the list of all columns, which stands below this field.
        groups.insert(0, OfferedColumns("chosen below", (chosen,)))
    return groups


def both_ends(names: Sequence[str]) -> tuple[str, ...]:
    """All names, or of many the first and the last: people put an outcome at an end of a table."""
    if len(names) <= MOST_LISTED_OF_A_KIND:
        return tuple(names)
    half = MOST_LISTED_OF_A_KIND // 2
    return (*names[:half], *names[-half:])
