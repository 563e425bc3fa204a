"""One sheet of an Excel file."""

from __future__ import annotations

import io
import warnings

import pandas as pd

from chanceline.errors import InputError
from chanceline.tables.readers.grid import CellGrid
from chanceline.tables.readers.header import join_header_lines, n_header_lines
from chanceline.tables.settings import TableSettings
from chanceline.tables.wording import quoted


def read_workbook(raw: bytes, name: str, settings: TableSettings) -> CellGrid:
    """The names and cells of a sheet, empty rows and columns left out; rows are numbered as in
    Excel.

    Parameters
    ----------
    raw : the bytes of the file.
    name : of the file, for sentences.
    settings : `sheet`, `header` and `na`.
    """
    cells = _read_sheet(raw, name, settings)
    n_header = n_header_lines(settings.header)
    header = []
    for row in range(min(n_header, len(cells))):
        header.append(["" if pd.isna(cell) else str(cell) for cell in cells.iloc[row]])
    return CellGrid(join_header_lines(header), cells.iloc[n_header:].infer_objects())


def _read_sheet(raw: bytes, name: str, settings: TableSettings) -> pd.DataFrame:
    """All cells of the sheet that the settings name, or of the first one, as objects."""
    with warnings.catch_warnings():
        # About styles and extensions, which no table needs.
        warnings.filterwarnings("ignore", module="openpyxl")
        with pd.ExcelFile(io.BytesIO(raw), engine="openpyxl") as book:
            sheets = [str(sheet) for sheet in book.sheet_names]
            sheet = settings.sheet or sheets[0]
            if sheet not in sheets:
                raise InputError(f"{name} has no sheet {sheet!r}; it has {quoted(sheets)}.")
            cells = pd.read_excel(
                book, sheet_name=sheet, header=None, dtype=object, na_values=list(settings.na)
            )
    cells.index += 1  # rows are numbered from 1, as in Excel
    cells = cells.dropna(how="all").dropna(axis=1, how="all")
    if cells.empty:
        raise InputError(f"sheet {sheet!r} of {name} is empty.")
    cells.columns = range(cells.shape[1])
    return cells
