"""Text read by pandas, with every digit of long whole numbers.

A gap, or a fraction in another row, makes floats of a column of whole numbers, and then
12345678901234567 and 12345678901234568 are one. These are identifiers or classes, hardly
measurements, and stay text here.
"""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pandas as pd

INEXACT_FROM = 2.0**53  # from here on a float does not hold every whole number
LONG_NUMBER = r"[+-]?\d{16,}"  # a whole number that may reach it


def read_csv_exactly(text: str, **options: Any) -> pd.DataFrame:
    """Read CSV with pandas, but keep whole numbers as text that floats would round.

    Parameters
    ----------
    text : a table in the format CSV, with any separator.
    options : options of `pandas.read_csv`. If `index_col` is one of them, it must be 0.
    """
    table = pd.read_csv(io.StringIO(text), low_memory=False, **options)
    inexact_positions = inexact_columns(table)
    if not inexact_positions:
        return table

    # Read these columns again, as they are written. With an index, the first column of the file is
    # no column of the table, so that positions in the file are larger by one.
    n_index_columns = 1 if "index_col" in options else 0
    file_columns = [n_index_columns + position for position in inexact_positions]
    options["usecols"] = [*range(n_index_columns), *file_columns]
    options["dtype"] = str
    as_text = pd.read_csv(io.StringIO(text), low_memory=False, **options)

    # Put the text in place of the floats, unless there are no long whole numbers: large numbers
    # with an exponent are measurements.
    for text_column, position in enumerate(inexact_positions):
        cells = as_text.iloc[:, text_column]
        if cells.str.fullmatch(LONG_NUMBER).any():
            table.isetitem(position, cells)
    return table


def inexact_columns(table: pd.DataFrame) -> list[int]:
    """Positions of the columns of floats in which different whole numbers may have become equal.

    They have a finite value of magnitude 2⁵³ (`INEXACT_FROM`) or more: from there on floats do not
    hold every whole number.
    """
    is_float = [pd.api.types.is_float_dtype(dtype) for dtype in table.dtypes]
    float_columns = np.flatnonzero(is_float)
    if len(float_columns) == 0 or len(table) == 0:
        return []
    values = table.iloc[:, float_columns].to_numpy()  # (rows, float columns)

    # First a test without a copy, which few columns pass. `fmax` and `fmin` ignore gaps (NaN).
    largest_magnitudes = np.fmax(np.fmax.reduce(values), -np.fmin.reduce(values))
    is_large = largest_magnitudes >= INEXACT_FROM
    # Then a test of the columns that passed: the large value must be finite.
    magnitudes = np.abs(values[:, is_large])  # (rows, large columns)
    is_inexact = np.any((magnitudes >= INEXACT_FROM) & np.isfinite(magnitudes), axis=0)
    large_columns = float_columns[is_large]
    return large_columns[is_inexact].tolist()
