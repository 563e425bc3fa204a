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
    """The text as pandas reads it, but columns with whole numbers that floats would round stay
    text.

    Parameters
    ----------
    text : in the format CSV, with any separator.
    options : of `pandas.read_csv`; `index_col` is 0 if it is among them.
    """
    table = pd.read_csv(io.StringIO(text), low_memory=False, **options)
    inexact_positions = inexact_columns(table)
    if not inexact_positions:
        return table

    # Read these columns again, as they are written. An index is the first column of the file.
    n_index_columns = 1 if "index_col" in options else 0
    file_columns = [n_index_columns + position for position in inexact_positions]
    options["usecols"] = [*range(n_index_columns), *file_columns]
    options["dtype"] = str
    as_text = pd.read_csv(io.StringIO(text), low_memory=False, **options)

    # Large numbers with an exponent are measurements, and stay numbers.
    for text_column, position in enumerate(inexact_positions):
        cells = as_text.iloc[:, text_column]
        if cells.str.fullmatch(LONG_NUMBER).any():
            table.isetitem(position, cells)
    return table


def inexact_columns(table: pd.DataFrame) -> list[int]:
    """Positions of the columns of floats in which different whole numbers may have become one.

    These have a finite value of at least `INEXACT_FROM`, or at most −`INEXACT_FROM`.
    """
    is_float = [pd.api.types.is_float_dtype(dtype) for dtype in table.dtypes]
    float_columns = np.flatnonzero(is_float)
    if len(float_columns) == 0 or len(table) == 0:
        return []
    values = table.iloc[:, float_columns].to_numpy()  # (rows, float columns)

    # Few columns have a large value, and only these are copied. Gaps do not count in fmax and fmin.
    largest_magnitudes = np.fmax(np.fmax.reduce(values), -np.fmin.reduce(values))
    is_large = largest_magnitudes >= INEXACT_FROM
    # Of these, the ones whose large value is not an infinity alone.
    magnitudes = np.abs(values[:, is_large])  # (rows, large columns)
    is_inexact = np.any((magnitudes >= INEXACT_FROM) & np.isfinite(magnitudes), axis=0)
    large_columns = float_columns[is_large]
    return large_columns[is_inexact].tolist()
