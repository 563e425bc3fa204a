"""Text tables with any usual separator: the layout is found out, then pandas reads them."""

from __future__ import annotations

import re
from typing import Any

import pandas as pd

from chanceline.errors import InputError
from chanceline.tables.raw_table import numeric_columns
from chanceline.tables.readers.exact import read_csv_exactly
from chanceline.tables.readers.grid import CellGrid
from chanceline.tables.readers.header import join_header_lines, n_header_lines, names_in_line
from chanceline.tables.readers.layout import (
    DECIMAL_COMMA,
    WHITE_SPACE,
    find_separator,
    has_decimal_commas,
    head_lines,
    without_comments,
)
from chanceline.tables.settings import TableSettings

# What pandas says of a row with too many fields.
TOO_MANY_FIELDS = re.compile(r"Expected (\d+) fields in line (\d+), saw (\d+)")


def read_text(text: str, name: str, settings: TableSettings) -> CellGrid:
    """Read a text table: the names of its columns, and its cells.

    The index of the cells holds the number of each row's line in the file, for messages.

    Parameters
    ----------
    text : the content of the file.
    name : the name of the file, for messages.
    settings : `header`, `decimal` and `na`.
    """
    # Find out how the table is laid out, from its first lines: the header (lines of column names)
    # and some rows. Quoted fields are masked in them, so that separators in quotes do not count.
    table_text = without_comments(text)
    if not table_text:
        raise InputError(f"{name} holds nothing but comments.")
    first_lines = head_lines(table_text)
    separator = find_separator(first_lines)
    n_header = n_header_lines(settings.header)
    if n_header > 0 and len(first_lines) <= n_header:
        raise InputError(f"{name} has a header but no rows.")
    decimal = settings.decimal
    if decimal is None:
        decimal = "," if has_decimal_commas(first_lines, separator) else "."

    # Read the header here, and only the rows by pandas, which could not read a header of two lines,
    # or one with one field less than the rows.
    column_names, rows_text = _split_header(table_text, first_lines, separator, n_header)
    options: dict[str, Any] = {
        "sep": separator,
        "decimal": decimal,
        "na_values": list(settings.na),
        "skipinitialspace": separator != WHITE_SPACE,
    }
    if column_names is not None:
        # Pandas needs to know how many fields a row has. Columns are numbered, as names may repeat.
        options["names"] = range(len(column_names))

    # Read the rows. Line numbers are those of the file, in which comments and the header stand
    # above the rows.
    n_comment_lines = text.count("\n") - table_text.count("\n")
    n_lines_above = n_comment_lines + n_header
    cells = _read_numbered_rows(rows_text, name, n_lines_above, options)
    if decimal == ",":
        _commas_to_points(cells)
    return CellGrid(column_names, cells)


def _read_numbered_rows(
    rows_text: str, name: str, n_lines_above: int, options: dict[str, Any]
) -> pd.DataFrame:
    """The cells below the header, without blank lines; the index holds line numbers of the file.

    The line numbers are too small below a row with a line break in quotes.

    Parameters
    ----------
    rows_text : the text below the header.
    name : the name of the file, for messages.
    n_lines_above : the number of lines above that text: comments and the header.
    options : options of `pandas.read_csv`; `names` is one of them only if there is a header.
    """
    try:
        # Blank lines are read as rows at first, so that all rows get the right line numbers.
        cells = read_csv_exactly(rows_text, header=None, skip_blank_lines=False, **options)
    except pd.errors.ParserError as error:
        sentence = _long_row_sentence(
            str(error), name, n_lines_above, has_header="names" in options
        )
        if sentence is None:
            raise
        raise InputError(sentence) from None
    cells.index += n_lines_above + 1  # lines are numbered from 1
    # Drop blank lines. They have a gap in the first column, which is tested first, as it is fast.
    if cells.iloc[:, 0].isna().any():
        cells = cells.dropna(how="all").infer_objects()
    return cells


def _split_header(
    text: str, head: list[str], separator: str, n_header: int
) -> tuple[list[str] | None, str]:
    """Split a table into the names of its columns (None without a header) and the text below them.

    Parameters
    ----------
    text : the table.
    head : the first lines of the table, with as many letters in place of each quoted field.
    separator : what separates the cells.
    n_header : how many of the first lines are the header.
    """
    header = []
    begin = 0
    for masked_line in head[:n_header]:
        line = text[begin : begin + len(masked_line)]
        header.append(names_in_line(line, head[n_header:], separator))
        begin += len(masked_line) + 1
    return join_header_lines(header), text[begin:]


def _long_row_sentence(
    error: str, name: str, n_lines_above: int, *, has_header: bool
) -> str | None:
    """The error message about a row with too many fields; None if pandas has another complaint.

    Parameters
    ----------
    error : the message of pandas.
    name : the name of the file.
    n_lines_above : the number of lines of the file above those that pandas read.
    has_header : whether a header says how many fields a row should have, and not the first row.
    """
    match = TOO_MANY_FIELDS.search(error)
    if match is None:
        return None
    n_expected, line_of_pandas, n_seen = match.groups()
    line_in_file = int(line_of_pandas) + n_lines_above
    expectation = "the first row has"
    if has_header:
        expectation = "the header names"
    return (
        f"row {line_in_file} of {name} has {n_seen} fields, but {expectation} {n_expected}; "
        "correct that row."
    )


def _commas_to_points(table: pd.DataFrame) -> None:
    """Write decimal points in columns that hold other text too, as those of a transposed table with
    its labels do; in place.
    """
    for name in table.columns[~numeric_columns(table)]:
        cells = table[name].astype("string")
        is_number = cells.str.fullmatch(DECIMAL_COMMA.pattern).fillna(False)
        table[name] = cells.mask(is_number, cells.str.replace(",", "."))
