"""Features as numbers: those written as text, those beyond a limit, truth values, indicators."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from chanceline._arrays import Floats
from chanceline.errors import InputError
from chanceline.perceptron.validation import working_precision
from chanceline.tables.cells import ALMOST_NUMBER, CellKind, Cells, read_cells
from chanceline.tables.checks.gap_patterns import warn_if_gaps_follow_classes
from chanceline.tables.dataset import Finding
from chanceline.tables.limits import numbers_within_limits
from chanceline.tables.one_hot import make_indicators, note_left_out_text
from chanceline.tables.partitions import first_of_each_group
from chanceline.tables.raw_table import numeric_columns
from chanceline.tables.settings import TableSettings
from chanceline.tables.wording import plural, row_name


@dataclass(frozen=True)
class ColumnKinds:
    """Columns by what they hold, all of shape (samples, columns).

    Attributes
    ----------
    numeric : numbers.
    words : text.
    numbers_as_text : numbers as instruments write them (`<0.5`, `1/1`, TRUE).
    cells : what was read of the cells of `numbers_as_text`.
    """

    numeric: pd.DataFrame
    words: pd.DataFrame
    numbers_as_text: pd.DataFrame
    cells: Cells


def numeric_features(
    table: pd.DataFrame,
    labels: Floats,
    settings: TableSettings,
    groups: pd.Series | None,
) -> tuple[pd.DataFrame, list[Finding]]:
    """The columns as numbers, of shape (samples, features), and what was done to them.

    Columns of words are left out or made indicators, which stand behind the other columns.

    Parameters
    ----------
    table : columns that may be features, of shape (samples, columns).
    labels : ±1 of shape (samples,), for a warning only.
    settings : `na`, `below` and `one_hot` say how to read.
    groups : rows with one value count once in the warning.
    """
    if numeric_columns(table).all():
        dtype = working_precision(table.dtypes.unique(), table.shape[1])
        return table.astype(dtype), []
    kinds = sort_columns(table, settings)
    indicators, about_words = _indicators_if_wanted(kinds.words, settings)
    read_numbers, about_numbers = _read_numbers(
        kinds.numbers_as_text, kinds.cells, labels, settings, groups
    )

    features = pd.concat([kinds.numeric, read_numbers, indicators], axis=1)
    in_order_of_table = [name for name in table.columns if name not in kinds.words]
    return features[[*in_order_of_table, *indicators]], [*about_words, *about_numbers]


def sort_columns(table: pd.DataFrame, settings: TableSettings) -> ColumnKinds:
    """The columns sorted by what they hold: numbers, words, or numbers written as text.

    `settings.na` names further texts that mean "missing".
    """
    is_numeric = numeric_columns(table)
    text = table.loc[:, ~is_numeric]
    cells = _decide_truth_values(read_cells(text.to_numpy(dtype=object), settings.na))
    holds_words = _hold_words(cells)
    return ColumnKinds(
        numeric=table.loc[:, is_numeric].astype(np.float64),
        words=text.loc[:, holds_words],
        numbers_as_text=text.loc[:, ~holds_words],
        cells=cells.of_columns(~holds_words),
    )


def _indicators_if_wanted(
    words: pd.DataFrame, settings: TableSettings
) -> tuple[pd.DataFrame, list[Finding]]:
    """Indicators of columns of words, of shape (samples, indicators), none of them unless
    `one_hot` is set; and what to know about these columns.
    """
    if settings.one_hot:
        return make_indicators(words)
    return pd.DataFrame(index=words.index), note_left_out_text(words)


def _read_numbers(
    numbers_as_text: pd.DataFrame,
    cells: Cells,
    labels: Floats,
    settings: TableSettings,
    groups: pd.Series | None,
) -> tuple[pd.DataFrame, list[Finding]]:
    """Columns of numbers that are written as text, as floats; and what was done to those beyond a
    limit of detection. A cell that is no number is an error.

    Parameters
    ----------
    numbers_as_text, cells : the columns as they are in the file, and as they were read, both of
        shape (samples, columns).
    labels : ±1 of shape (samples,), for a warning only.
    settings : `below`, and what its sentences speak of.
    groups : rows with one value belong together, and count once in the warning.
    """
    is_malformed = _is_wordlike(cells)
    if is_malformed.any():
        raise InputError(_malformed_cell_sentence(numbers_as_text, is_malformed, settings))
    findings = _warn_of_unknown_limits(cells, labels, settings, groups)
    numbers, about_limits = numbers_within_limits(numbers_as_text, cells, settings)
    columns = numbers_as_text.columns
    table = pd.DataFrame(numbers, columns=columns, index=numbers_as_text.index)
    return table, [*findings, *about_limits]


def _decide_truth_values(cells: Cells) -> Cells:
    """TRUE and FALSE are 1 and 0 in a column of nothing else, as they are where no cell is empty;
    elsewhere they are words.
    """
    is_truth = cells.are(CellKind.TRUTH_VALUE)
    is_gap = cells.are(CellKind.GAP)
    nothing_else = np.all(is_truth | is_gap, axis=0)  # (columns,)
    becomes_word = is_truth & ~nothing_else
    kinds = np.where(is_truth, CellKind.NUMBER, cells.kinds)
    kinds = np.where(becomes_word, CellKind.WORD, kinds)
    numbers = np.where(becomes_word, np.nan, cells.numbers)
    return Cells(kinds, numbers)


def _is_wordlike(cells: Cells) -> NDArray[np.bool_]:
    """Words and what is almost a number, of shape (samples, columns)."""
    return cells.are(CellKind.ALMOST_NUMBER) | cells.are(CellKind.WORD)


def _hold_words(cells: Cells) -> NDArray[np.bool_]:
    """Which columns are text, of shape (columns,): nothing in them is a number, or almost one, or a
    limit; or they have words, and most of their filled cells are no numbers.
    """
    is_numeric = (
        cells.are(CellKind.NUMBER) | cells.are(CellKind.ALMOST_NUMBER) | np.isfinite(cells.numbers)
    )
    n_wordlike = _is_wordlike(cells).sum(axis=0)
    n_filled = (~cells.are(CellKind.GAP)).sum(axis=0)
    has_words = cells.are(CellKind.WORD).any(axis=0)
    return ~is_numeric.any(axis=0) | (has_words & (2 * n_wordlike > n_filled))


def _malformed_cell_sentence(
    numbers_as_text: pd.DataFrame, is_malformed: NDArray[np.bool_], settings: TableSettings
) -> str:
    """The message about the first cell that is no number in a column of numbers, and its remedy.

    Parameters
    ----------
    numbers_as_text : columns of numbers as they are in the file, of shape (samples, columns).
    is_malformed : which of their cells are no numbers, at least one; (samples, columns).
    settings : how the table was read; what was set already is not proposed.
    """
    # The first True: the first column that has such a cell, and its first row in that column.
    column = int(np.argmax(is_malformed.any(axis=0)))
    row = int(np.argmax(is_malformed[:, column]))
    name = str(numbers_as_text.columns[column])
    cell = str(numbers_as_text.iloc[row, column]).strip()
    place = row_name(numbers_as_text.index, row)
    n_more = int(is_malformed[:, column].sum()) - 1
    if n_more > 0:
        place = f"{place} (and in {plural(n_more, 'more row')})"

    # If the first row alone holds words, and mostly words, it may be a line of the header.
    first_row_is_mostly_words = 2 * is_malformed[0].sum() > is_malformed.shape[1]
    other_rows_have_words = is_malformed[1:].any()
    remedy = _remedy_for_malformed_cell(
        cell,
        settings,
        first_row_may_be_header=first_row_is_mostly_words and not other_rows_have_words,
    )
    return (
        f"column {name!r} holds numbers, but {cell!r} in {place}; {remedy}, or leave it out with "
        f"drop={name!r}."
    )


def _remedy_for_malformed_cell(
    cell: str, settings: TableSettings, *, first_row_may_be_header: bool
) -> str:
    """What to do about a cell that is no number: a decimal comma, a line of a header, or a gap.

    Parameters
    ----------
    cell : the text.
    settings : what was said already is not proposed again. `header` is "none" for a file without
        names, "2" for two lines of them.
    first_row_may_be_header : most cells of the first row are no numbers, and none of other rows.
    """
    if "," in cell and ALMOST_NUMBER.fullmatch(cell):
        remedy = "write numbers with a point and no comma"
        if settings.decimal != ",":
            remedy = f"set decimal=',' if commas are decimal, or {remedy}"
        return remedy
    if first_row_may_be_header and settings.header == "none":
        return "leave out header='none' if the first line holds names"
    if first_row_may_be_header and settings.header != "2":
        return "set header='2' if the header has two lines"
    return f"write plain numbers, set na={cell!r} if that means missing"


def _warn_of_unknown_limits(
    cells: Cells, labels: Floats, settings: TableSettings, groups: pd.Series | None
) -> list[Finding]:
    """A warning if cells below an unknown limit (`ND`) are more frequent in one class.

    With below='half' numbers take their place. Otherwise they are gaps, and not looked at here.
    """
    if settings.below != "half":
        return []
    is_unknown = cells.are(CellKind.BELOW_LIMIT) & np.isnan(cells.numbers)
    remedy = "blocks=COLUMN if each run has its own limit"
    if settings.blocks is not None:
        remedy = "below='missing' with missing='columns' keeps that out"
    is_counted = first_of_each_group(groups, len(labels))
    return warn_if_gaps_follow_classes(
        is_unknown[is_counted], labels[is_counted], "values below a limit", remedy
    )
