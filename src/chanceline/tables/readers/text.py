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
    """The names and cells of a text table; rows are numbered by the lines of the file.

    Parameters
    ----------
    text : of the whole file.
    name : the name of the file, for messages.
    settings : `header`, `decimal` and `na`.
    """
    table_text = without_comments(text)
    if not table_text:
        raise InputError(f"{name} holds nothing but comments.")
    head = head_lines(table_text)
    separator = find_separator(head)
    n_header = n_header_lines(settings.header)
    if n_header > 0 and len(head) <= n_header:
        raise InputError(f"{name} has a header but no rows.")
    # Pandas cannot read a header of two lines, or of one field less than the rows.
    names, rows_text = _split_header(table_text, head, separator, n_header)

    commas_are_decimal = settings.decimal == ","
    if settings.decimal is None:
        commas_are_decimal = has_decimal_commas(head, separator)
    options: dict[str, Any] = {
        "sep": separator,
        "decimal": "," if commas_are_decimal else ".",
        "na_values": list(settings.na),
        "skipinitialspace": separator != WHITE_SPACE,
    }
    if names is not None:
        # Numbers instead of names, which may not be unique; they say how many fields a row has.
        options["names"] = range(len(names))

    n_comment_lines = text.count("\n") - table_text.count("\n")
    n_lines_above = n_comment_lines + n_header
    cells = _read_numbered_rows(rows_text, name, n_lines_above, options)
    if commas_are_decimal:
        _commas_to_points(cells)
    return CellGrid(names, cells)


def _read_numbered_rows(
    rows_text: str, name: str, n_lines_above: int, options: dict[str, Any]
) -> pd.DataFrame:
    """The cells below the header; the index holds the number of every row's line in the file (too
    small below a row with a line break in quotes).

    Parameters
    ----------
    rows_text : the text below the header.
    name : the name of the file, for messages.
    n_lines_above : lines of the file above that: comments and the header.
    options : for pandas; `names` only if there is a header.
    """
    try:
        # Blank lines are read as rows, so that the rows below them get the right numbers.
        cells = read_csv_exactly(rows_text, header=None, skip_blank_lines=False, **options)
    except pd.errors.ParserError as error:
        sentence = _long_row_sentence(
            str(error), name, n_lines_above, has_header="names" in options
        )
        if sentence is None:
            raise
        raise InputError(sentence) from None
    cells.index += n_lines_above + 1  # lines are numbered from 1
    # A quick look at the first column, before all are searched for blank lines.
    if cells.iloc[:, 0].isna().any():
        cells = cells.dropna(how="all").infer_objects()
    return cells


def _split_header(
    text: str, head: list[str], separator: str, n_header: int
) -> tuple[list[str] | None, str]:
    """The names of the columns (None without a header), and the text below them.

    Parameters
    ----------
    text : the table.
    head : its first lines, quoted fields masked by as many letters.
    separator : of cells.
    n_header : how many of these lines are the header.
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
    """The sentence about a row with more fields than it should have; None if pandas stopped for
    another reason.

    Parameters
    ----------
    error : what pandas said.
    name : the name of the file.
    n_lines_above : lines of the file that pandas did not see.
    has_header : whether names say how many fields there should be.
    """
    match = TOO_MANY_FIELDS.search(error)
    if match is None:
        return None
    n_expected, line, n_seen = match.groups()
    row = int(line) + n_lines_above
    expectation = "the first row has"
    if has_header:
        expectation = "the header names"
    return (
        f"row {row} of {name} has {n_seen} fields, but {expectation} {n_expected}; correct that "
        "row."
    )


def _commas_to_points(table: pd.DataFrame) -> None:
    """Write decimal points in columns that hold other text too, as those of a transposed table with
    its labels do; in place.
    """
    for name in table.columns[~numeric_columns(table)]:
        cells = table[name].astype("string")
        is_number = cells.str.fullmatch(DECIMAL_COMMA.pattern).fillna(False)
        table[name] = cells.mask(is_number, cells.str.replace(",", "."))
