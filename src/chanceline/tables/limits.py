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

from chanceline._arrays import Bools, Floats
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
    written_cells: pd.DataFrame, cells: Cells, settings: TableSettings
) -> tuple[Floats, list[Finding]]:
    """Replace values beyond a limit of detection (`<0.5`, `>100`) by numbers or gaps.

    Returns the numbers of all cells, (samples, columns), and a finding about what was replaced.

    All rows of a column get the same limits, the strictest that are written in it: a smaller number
    than the lower limit is treated like `<0.5`, and a larger number than the upper limit like
    `>100`. So a limit says nothing about the row in which it is written.

    Parameters
    ----------
    written_cells : the columns as they are in the file, of shape (samples, columns).
    cells : the same cells after parsing: kinds and numbers.
    settings : with below='half', values below a limit become half of the limit, with
        below='missing' they become gaps (NaN). Values above a limit become the limit. If `below` is
        None, values beyond a limit are an error.
    """
    is_beyond = cells.are(CellKind.BELOW_LIMIT) | cells.are(CellKind.ABOVE_LIMIT)
    if not is_beyond.any():
        return cells.numbers, []
    if settings.below is None:
        raise InputError(_message_about_limits(written_cells, is_beyond))

    limits = strictest_limits(cells)
    if settings.below == "half":
        _require_limits_from_0(limits, written_cells)
        values_below = limits.lower / 2  # replace values below the limit, (columns,)
        values_below_in_words = "half the limit"
    else:
        values_below = np.full(len(limits.lower), np.nan)
        values_below_in_words = "missing"
    numbers = _replace_beyond(cells, limits, values_below)

    count_in_words = _count_in_words(is_beyond)
    names_with_several_limits = written_cells.columns[limits.differ]
    finding = Finding.prepared(
        f"{count_in_words} read as {values_below_in_words} (those above an upper limit as that "
        f"limit){_differing_limits_in_words(names_with_several_limits)}."
    )
    return numbers, [finding]


def _differing_limits_in_words(names: pd.Index) -> str:
    """The end of a sentence: in which columns, if any, rows have different limits."""
    if len(names) == 0:
        return ""
    return f"; limits differ within {quoted(names)}, and the strictest holds for all rows"


def _replace_beyond(cells: Cells, limits: Limits, values_below: Floats) -> Floats:
    """The numbers of the cells, (samples, columns), with those beyond the limits replaced.

    Numbers above the upper limit of their column become that limit, and numbers below the lower
    limit become the column's entry of `values_below` (columns,).
    """
    is_below = cells.are(CellKind.BELOW_LIMIT)
    is_above = cells.are(CellKind.ABOVE_LIMIT)
    numbers = cells.numbers
    # Where a column has no limit it is NaN, and comparisons with NaN are False.
    numbers = np.where(is_above | (numbers > limits.upper), limits.upper, numbers)
    return np.where(is_below | (numbers < limits.lower), values_below, numbers)


def _count_in_words(is_beyond: NDArray[np.bool_]) -> str:
    """How many values of how many columns are beyond a limit."""
    values_in_words = plural(int(is_beyond.sum()), "value")
    columns_in_words = plural(int(is_beyond.any(axis=0).sum()), "column")
    return f"{values_in_words} beyond a limit of detection in {columns_in_words}"


def _message_about_limits(written_cells: pd.DataFrame, is_beyond: NDArray[np.bool_]) -> str:
    """The error message about values beyond a limit, if the setting `below` is not set.

    It tells their number and the first of them. As a remedy it proposes the two values of the
    setting: "half" and "missing".

    Parameters
    ----------
    written_cells : the columns as they are in the file, of shape (samples, columns).
    is_beyond : which values are beyond a limit, (samples, columns); at least one.
    """
    # `argmax` finds the first True: the first column with such a value, and the first such row in
    # that column.
    first_column = int(np.argmax(is_beyond.any(axis=0)))
    first_row = int(np.argmax(is_beyond[:, first_column]))
    cell = str(written_cells.iloc[first_row, first_column]).strip()
    column_name = str(written_cells.columns[first_column])
    place = f"column {column_name!r}, {row_name(written_cells.index, first_row)}"
    return (
        f"{_count_in_words(is_beyond)} ({cell!r} in {place}); below='half' reads half the limit, "
        "below='missing' makes gaps of them."
    )


def strictest_limits(cells: Cells) -> Limits:
    """The largest lower limit and the smallest upper limit of each column.

    If all cells below the limit of a column are written without a number (`ND`), the smallest
    measured value counts as the lower limit. In the same way the largest measured value counts as
    the upper limit. A column without any cell beyond a limit has NaN.
    """
    is_below = cells.are(CellKind.BELOW_LIMIT)
    is_above = cells.are(CellKind.ABOVE_LIMIT)

    # The number of a cell beyond a limit is that limit, or NaN if none is written.
    is_measured = cells.are(CellKind.NUMBER)
    smallest_lower, largest_lower = _column_ranges(cells.numbers, is_below)
    smallest_upper, largest_upper = _column_ranges(cells.numbers, is_above)
    smallest_measured, largest_measured = _column_ranges(cells.numbers, is_measured)

    # Where no limit is written, the measured values stand for it. A column without any cell beyond
    # a limit has none.
    lower = np.where(np.isnan(largest_lower), smallest_measured, largest_lower)
    upper = np.where(np.isnan(smallest_upper), largest_measured, smallest_upper)
    return Limits(
        lower=np.where(is_below.any(axis=0), lower, np.nan),
        upper=np.where(is_above.any(axis=0), upper, np.nan),
        differ=(smallest_lower < largest_lower) | (largest_upper > smallest_upper),
    )


def _column_ranges(numbers: Floats, is_marked: Bools) -> tuple[Floats, Floats]:
    """The smallest and the largest marked number of each column, (columns,) each; NaN if no number
    of a column is marked.

    Parameters
    ----------
    numbers : (samples, columns)
    is_marked : (samples, columns) which numbers to consider.
    """
    marked_numbers = np.where(is_marked, numbers, np.nan)
    return np.fmin.reduce(marked_numbers), np.fmax.reduce(marked_numbers)  # both ignore NaN


def _require_limits_from_0(limits: Limits, written_cells: pd.DataFrame) -> None:
    """Raise an `InputError` about a negative lower limit: half of it would lie above it."""
    is_negative = limits.lower < 0
    if is_negative.any():
        name = str(written_cells.columns[np.argmax(is_negative)])  # the first of them
        raise InputError(
            f"column {name!r} has a limit below 0, half of which lies above it; set "
            "below='missing'."
        )
