"""Values beyond a limit of detection (`<0.5`, `>100`, `ND`) as numbers.

Limits may differ between the rows of a column, and between the classes: everything below the
largest lower limit is then read as that limit's half, so that a limit says nothing about its row.
In the same way everything above the smallest upper limit is read as that limit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from chanceline._arrays import Floats
from chanceline.errors import InputError
from chanceline.tables.cells import CellKind, Cells
from chanceline.tables.dataset import Finding
from chanceline.tables.settings import TableSettings
from chanceline.tables.wording import plural, quoted, row_name


@dataclass(frozen=True)
class Limits:
    """The strictest limits of several columns, all of shape (columns,).

    Attributes
    ----------
    lower, upper : NaN where no value of a column lies beyond such a limit.
    differ : whether different limits are written in a column.
    """

    lower: Floats
    upper: Floats
    differ: NDArray[np.bool_]


def numbers_within_limits(
    written: pd.DataFrame, cells: Cells, settings: TableSettings
) -> tuple[Floats, list[Finding]]:
    """The numbers of all cells, of shape (samples, columns), and what was done to those beyond a
    limit.

    below='half': cells below a limit become half the largest lower limit of their column, or half
    its smallest value where no limit is written. below='missing': they become gaps. Cells above a
    limit become the smallest upper limit. Numbers that were measured beyond these limits are
    replaced alike.

    Parameters
    ----------
    written, cells : the columns as they are in the file, and as they were read.
    settings : `below` says what to do; without it values beyond a limit are an error.
    """
    is_beyond = cells.are(CellKind.BELOW_LIMIT) | cells.are(CellKind.ABOVE_LIMIT)
    if not is_beyond.any():
        return cells.numbers, []
    if settings.below is None:
        raise InputError(_limits_sentence(written, is_beyond))

    limits = _strictest_limits(cells)
    if settings.below == "half":
        _require_limits_from_0(limits, written)
        value_below = limits.lower / 2
        reading = "half the limit"
    else:
        value_below = np.full(len(limits.lower), np.nan)
        reading = "missing"
    numbers = _replace_beyond(cells, limits, value_below)

    strictest = ""
    if limits.differ.any():
        differing = quoted(written.columns[limits.differ])
        strictest = f"; limits differ within {differing}, and the strictest holds for all rows"
    finding = Finding.prepared(
        f"{_count_in_words(is_beyond)} read as {reading} (those above an upper limit as that "
        f"limit){strictest}."
    )
    return numbers, [finding]


def _replace_beyond(cells: Cells, limits: Limits, value_below: Floats) -> Floats:
    """The numbers of the cells, those above the upper limits replaced by these limits, those below
    the lower limits by `value_below`, of shape (columns,).
    """
    is_below = cells.are(CellKind.BELOW_LIMIT)
    is_above = cells.are(CellKind.ABOVE_LIMIT)
    numbers = cells.numbers
    # The limits of a column without cells beyond one are NaN, and no number is larger or smaller.
    numbers = np.where(is_above | (numbers > limits.upper), limits.upper, numbers)
    return np.where(is_below | (numbers < limits.lower), value_below, numbers)


def _count_in_words(is_beyond: NDArray[np.bool_]) -> str:
    """How many values of how many columns are beyond a limit."""
    values_in_words = plural(int(is_beyond.sum()), "value")
    columns_in_words = plural(int(is_beyond.any(axis=0).sum()), "column")
    return f"{values_in_words} beyond a limit of detection in {columns_in_words}"


def _limits_sentence(written: pd.DataFrame, is_beyond: NDArray[np.bool_]) -> str:
    """The sentence about values beyond a limit, with the first one and what can be done."""
    column = int(np.argmax(is_beyond.any(axis=0)))
    row = int(np.argmax(is_beyond[:, column]))
    cell = str(written.iloc[row, column]).strip()
    name = str(written.columns[column])
    return (
        f"{_count_in_words(is_beyond)} ({cell!r} in column {name!r}, "
        f"{row_name(written.index, row)}); below='half' reads half the limit, below='missing' "
        "makes gaps of them."
    )


def _strictest_limits(cells: Cells) -> Limits:
    """The largest lower and the smallest upper limit of each column.

    A column may have cells below a limit that is not written (`ND`): where that holds for all of
    them, its smallest value is the limit; above limits its largest.
    """
    is_below = cells.are(CellKind.BELOW_LIMIT)
    is_above = cells.are(CellKind.ABOVE_LIMIT)
    lower_limits = np.where(is_below, cells.numbers, np.nan)  # (samples, columns)
    upper_limits = np.where(is_above, cells.numbers, np.nan)
    measured = np.where(cells.are(CellKind.NUMBER), cells.numbers, np.nan)

    # The limits that are written, of shape (columns,); NaN does not count in fmax and fmin.
    lower = np.fmax.reduce(lower_limits)
    upper = np.fmin.reduce(upper_limits)
    differ = (np.fmin.reduce(lower_limits) < lower) | (np.fmax.reduce(upper_limits) > upper)

    # Where none is written, the values that were measured.
    lower = np.where(np.isnan(lower), np.fmin.reduce(measured), lower)
    upper = np.where(np.isnan(upper), np.fmax.reduce(measured), upper)
    return Limits(
        lower=np.where(is_below.any(axis=0), lower, np.nan),
        upper=np.where(is_above.any(axis=0), upper, np.nan),
        differ=differ,
    )


def _require_limits_from_0(limits: Limits, written: pd.DataFrame) -> None:
    """Stop at a negative limit, as that of logarithms, half of which is larger."""
    is_negative = limits.lower < 0
    if is_negative.any():
        name = str(written.columns[np.argmax(is_negative)])
        raise InputError(
            f"column {name!r} has a limit below 0, half of which lies above it; set "
            "below='missing'."
        )
