"""One sheet of an Excel file.

A sheet is read whole, from its first cell to its last. A small file can have a cell in the last row
and column, or unpack to more than any memory holds: both are refused.
"""

from __future__ import annotations

import io
import re
import warnings
import zipfile
from typing import NamedTuple

import numpy as np
import pandas as pd

from chanceline.errors import InputError
from chanceline.tables.readers.encoding import too_large_sentence, unpacked_limit
from chanceline.tables.readers.grid import CellGrid
from chanceline.tables.readers.header import join_header_lines, n_header_lines
from chanceline.tables.settings import TableSettings
from chanceline.tables.wording import quoted

CELL_PLACE = re.compile(rb'<c r="([A-Z]+)([0-9]+)"')
# A sheet from its first cell to its last may have so many cells, however few are filled; or so many
# times as many as are filled, if that is more.
MAX_MOSTLY_EMPTY_CELLS = 20_000_000
MAX_CELLS_PER_FILLED_ONE = 4


def read_workbook(raw: bytes, name: str, settings: TableSettings) -> CellGrid:
    """The names and cells of a sheet, empty rows and columns left out; rows are numbered as in
    Excel.

    Parameters
    ----------
    raw : the bytes of the file.
    name : the name of the file, for messages.
    settings : `sheet`, `header` and `na`.
    """
    cells = _read_sheet(raw, name, settings)
    n_header = n_header_lines(settings.header)
    header = []
    for row in range(min(n_header, len(cells))):
        header.append(["" if pd.isna(cell) else str(cell) for cell in cells.iloc[row]])
    return CellGrid(join_header_lines(header), cells.iloc[n_header:].infer_objects())


def _read_sheet(raw: bytes, name: str, settings: TableSettings) -> pd.DataFrame:
    """All cells of the sheet that the settings name, or of the first sheet, as objects.

    Empty rows and columns are left out. Rows are numbered from 1 as in Excel, columns from 0. A
    workbook or sheet that is far too large is an error.

    Parameters
    ----------
    raw : the bytes of the workbook.
    name : the name of the file, for error messages.
    settings : `sheet`, and `na` for texts that mean "missing".
    """
    _refuse_too_large(raw, name)
    with warnings.catch_warnings():
        # These warnings are about styles and extensions, which do not matter to a table.
        warnings.filterwarnings("ignore", module="openpyxl")
        with pd.ExcelFile(io.BytesIO(raw), engine="openpyxl") as book:
            sheets = [str(sheet) for sheet in book.sheet_names]
            sheet = settings.sheet or sheets[0]
            if sheet not in sheets:
                raise InputError(f"{name} has no sheet {sheet!r}; it has {quoted(sheets)}.")
            # The path of the sheet's file within the workbook, a zip archive. openpyxl has it only
            # in a private attribute.
            sheet_path = book.book[sheet]._worksheet_path
            _refuse_far_cells(raw, sheet_path, f"sheet {sheet!r} of {name}")
            cells = pd.read_excel(
                book, sheet_name=sheet, header=None, dtype=object, na_values=list(settings.na)
            )
    cells.index += 1  # rows are numbered from 1, as in Excel
    cells = cells.dropna(how="all").dropna(axis=1, how="all")
    if cells.empty:
        raise InputError(f"sheet {sheet!r} of {name} is empty.")
    cells.columns = range(cells.shape[1])
    return cells


def _refuse_too_large(raw: bytes, name: str) -> None:
    """Refuse a workbook that unpacks to far more than a table of its size would."""
    limit = unpacked_limit(len(raw))
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        unpacked_size = sum(member.file_size for member in archive.infolist())
    if unpacked_size > limit:
        raise InputError(f"{name} {too_large_sentence(limit)}")


def _refuse_far_cells(raw: bytes, sheet_path: str, sheet_name: str) -> None:
    """Refuse a sheet with a cell so far out that nearly all cells before it are empty."""
    extent = _sheet_extent(raw, sheet_path)
    n_cells = extent.n_rows * extent.n_columns
    if n_cells > max(MAX_MOSTLY_EMPTY_CELLS, MAX_CELLS_PER_FILLED_ONE * extent.n_filled):
        raise InputError(
            f"{sheet_name} reaches to row {extent.n_rows:,} and column {extent.n_columns:,}, but "
            f"only {extent.n_filled:,} cells are filled; delete what stands far outside the table."
        )


class SheetExtent(NamedTuple):
    """How far a sheet reaches, and how many of its cells are filled."""

    n_rows: int
    n_columns: int
    n_filled: int


def _sheet_extent(raw: bytes, sheet_path: str) -> SheetExtent:
    """How far a sheet reaches, and how many cells are filled.

    The XML of a sheet holds filled cells with their names, such as AB12.

    Parameters
    ----------
    raw : the bytes of the workbook, which is a zip archive.
    sheet_path : the path of the sheet's XML in the archive.
    """
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        places = CELL_PLACE.findall(archive.read(sheet_path))  # (b"AB", b"12") for cell AB12
    # Many cells share a column, so that the letters of each column are converted once.
    column_letters = {letters for letters, _ in places}
    column_numbers = [_column_number(letters) for letters in column_letters]
    row_numbers = np.array([row for _, row in places], dtype=np.int64)
    return SheetExtent(
        n_rows=int(row_numbers.max(initial=0)),
        n_columns=max(column_numbers, default=0),
        n_filled=len(places),
    )


def _column_number(letters: bytes) -> int:
    """1 for A, 26 for Z, 27 for AA, …"""
    number = 0
    for letter in letters:
        number = 26 * number + letter - ord("A") + 1
    return number
