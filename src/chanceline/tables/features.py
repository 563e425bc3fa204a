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
    """The columns as numbers, of shape (samples, features), and findings about what was done.

    Columns of words are left out, or replaced by indicators that stand behind all other columns.

    Parameters
    ----------
    table : columns that may be features, of shape (samples, columns).
    labels : ±1 of shape (samples,), used only for a warning.
    settings : `na`, `below` and `one_hot` say how to read.
    groups : rows with the same value belong to one subject, of which the warning counts only the
        first row; None without groups.
    """
    # A table of numbers alone, which may be large, is converted at once.
    if numeric_columns(table).all():
        dtype = working_precision(table.dtypes.unique(), table.shape[1])
        return table.astype(dtype), []

    # Columns of numbers, of numbers written as text (`<0.5`), and of words are converted apart.
    kinds = classify_columns(table, settings)
    indicators, about_words = _indicators_if_wanted(kinds.words, settings)
    read_numbers, about_numbers = _read_numbers(
        kinds.numbers_as_text, kinds.cells, labels, settings, groups
    )

    # Numbers stand in the order of the table again, then the indicators.
    features = pd.concat([kinds.numeric, read_numbers, indicators], axis=1)
    names_of_numbers = [name for name in table.columns if name not in kinds.words]
    names_in_order = [*names_of_numbers, *indicators]
    return features[names_in_order], [*about_words, *about_numbers]


def classify_columns(table: pd.DataFrame, settings: TableSettings) -> ColumnKinds:
    """Divide columns by what they hold: numbers, words, or numbers written as text (`<0.5`).

    Parameters
    ----------
    table : columns that may be features, of shape (samples, columns).
    settings : `na` names texts that mean "missing", besides the usual ones.
    """
    is_numeric = numeric_columns(table)
    numeric = table.loc[:, is_numeric].astype(np.float64)

    # Read every cell of the columns of text: is it a number, a word, a gap, …?
    text = table.loc[:, ~is_numeric]
    parsed_cells = read_cells(text.to_numpy(dtype=object), settings.na)
    cells = _decide_truth_values(parsed_cells)  # TRUE is a number in some columns, else a word

    # What was read of the cells is needed further on only where they hold numbers.
    holds_words = _is_text_column(cells)  # (columns of text,)
    holds_numbers = ~holds_words
    return ColumnKinds(
        numeric=numeric,
        words=text.loc[:, holds_words],
        numbers_as_text=text.loc[:, holds_numbers],
        cells=cells.of_columns(holds_numbers),
    )


def _indicators_if_wanted(
    words: pd.DataFrame, settings: TableSettings
) -> tuple[pd.DataFrame, list[Finding]]:
    """Indicators of columns of words, of shape (samples, indicators), and findings about the words.

    There are no indicators unless the setting `one_hot` asks for them.
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
    """Columns of numbers that are written as text, as floats; and findings about values beyond a
    limit of detection. A cell that is no number is an error.

    Parameters
    ----------
    numbers_as_text : the columns as they are in the file, of shape (samples, columns).
    cells : the same cells after parsing: kinds and numbers.
    labels : ±1 of shape (samples,), used only for a warning.
    settings : `below` says how to read values below a limit; others shape the messages.
    groups : rows with the same value belong to one subject, of which the warning counts only the
        first row; None without groups.
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
    """Decide whether TRUE and FALSE are numbers or words, and give the cells with these kinds.

    In a column that holds nothing else but gaps they are the numbers 1 and 0, as pandas reads
    columns of truth values without gaps. In all other columns they are words.
    """
    is_truth = cells.are(CellKind.TRUTH_VALUE)
    is_gap = cells.are(CellKind.GAP)
    holds_only_truth = np.all(is_truth | is_gap, axis=0)  # (columns,)
    becomes_word = is_truth & ~holds_only_truth  # (samples, columns)
    kinds = np.where(is_truth, CellKind.NUMBER, cells.kinds)
    kinds = np.where(becomes_word, CellKind.WORD, kinds)
    numbers = np.where(becomes_word, np.nan, cells.numbers)
    return Cells(kinds, numbers)


def _is_wordlike(cells: Cells) -> NDArray[np.bool_]:
    """Which cells hold words or what is almost a number (`1,234`), of shape (samples, columns)."""
    return cells.are(CellKind.ALMOST_NUMBER) | cells.are(CellKind.WORD)


def _is_text_column(cells: Cells) -> NDArray[np.bool_]:
    """Whether a column is text, and not numbers, of shape (columns,).

    A column is text if no cell is numeric: a number, almost a number (`1,234`), or a value beyond a
    written limit (`<0.5`). It is also text if some cells are words, and most filled cells are words
    or almost numbers.
    """
    is_number = cells.are(CellKind.NUMBER)
    is_almost_number = cells.are(CellKind.ALMOST_NUMBER)
    # `<0.5` has the number 0.5. A limit without a number (`<LOD`), a word or a gap has NaN.
    has_finite_number = np.isfinite(cells.numbers)
    is_numeric = is_number | is_almost_number | has_finite_number  # (samples, columns)
    has_no_number = ~is_numeric.any(axis=0)

    n_wordlike = _is_wordlike(cells).sum(axis=0)  # words, and what is almost a number
    n_filled = (~cells.are(CellKind.GAP)).sum(axis=0)
    has_words = cells.are(CellKind.WORD).any(axis=0)
    has_mostly_words = has_words & (2 * n_wordlike > n_filled)
    return has_no_number | has_mostly_words


def _malformed_cell_sentence(
    numbers_as_text: pd.DataFrame, is_malformed: NDArray[np.bool_], settings: TableSettings
) -> str:
    """The error message about the first cell that is no number in a column of numbers.

    Parameters
    ----------
    numbers_as_text : columns of numbers as they are in the file, of shape (samples, columns).
    is_malformed : which cells of these columns are no numbers, (samples, columns); at least one.
    settings : how the table was read; the message proposes no setting that is set already.
    """
    # `argmax` finds the first True: the first column with such a cell, and the first such row in
    # that column.
    column = int(np.argmax(is_malformed.any(axis=0)))
    row = int(np.argmax(is_malformed[:, column]))
    name = str(numbers_as_text.columns[column])
    cell = str(numbers_as_text.iloc[row, column]).strip()
    place = row_name(numbers_as_text.index, row)
    n_more = int(is_malformed[:, column].sum()) - 1  # cells of this column, besides the first
    if n_more > 0:
        place = f"{place} (and in {plural(n_more, 'more row')})"

    # The first row may be a second line of the header: then most of its cells are no numbers, and
    # all cells of the other rows are.
    first_row_is_mostly_words = 2 * is_malformed[0].sum() > is_malformed.shape[1]
    other_rows_have_words = is_malformed[1:].any()
    first_row_may_be_header = first_row_is_mostly_words and not other_rows_have_words
    remedy = _remedy_for_malformed_cell(
        cell, settings, first_row_may_be_header=first_row_may_be_header
    )
    return (
        f"column {name!r} holds numbers, but {cell!r} in {place}; {remedy}, or leave it out with "
        f"drop={name!r}."
    )


def _remedy_for_malformed_cell(
    cell: str, settings: TableSettings, *, first_row_may_be_header: bool
) -> str:
    """The part of a message that says what to do about a cell that is no number.

    It depends on whether the cell may be a number with a comma, part of a header, or a gap.

    Parameters
    ----------
    cell : the text of the cell.
    settings : how the table was read; a setting that is set already is not proposed. `header` is
        "none" for a file without column names, "2" for two lines of names.
    first_row_may_be_header : whether the first row looks like a line of the header.
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

    The setting `below` says what becomes of values below a limit of detection. With below='half'
    they are replaced by half the limit of their column, and the classes are compared here. With
    below='missing' they become gaps, which another check compares between the classes.

    Parameters
    ----------
    cells : kinds and numbers of cells, of shape (samples, columns).
    labels : ±1 of shape (samples,).
    settings : `below`, and `blocks`: if blocks are declared, the message proposes another remedy.
    groups : rows with the same value belong to one subject, of which only the first row counts;
        None without groups.
    """
    if settings.below != "half":
        return []
    # The number of a cell below a limit is the limit, or NaN if none is written.
    has_unknown_limit = cells.are(CellKind.BELOW_LIMIT) & np.isnan(cells.numbers)

    remedy = "blocks=COLUMN if each run has its own limit"
    if settings.blocks is not None:
        remedy = "below='missing' with missing='columns' keeps that out"
    is_first_of_group = first_of_each_group(groups, len(labels))  # (samples,)
    return warn_if_gaps_follow_classes(
        has_unknown_limit[is_first_of_group],
        labels[is_first_of_group],
        "values below a limit",
        remedy,
    )
