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
    """Read CSV with pandas; columns with whole numbers that floats would round stay text.

    Parameters
    ----------
    text : a table in the format CSV, with any separator.
    options : options of `pandas.read_csv`. If `index_col` is one of them, it must be 0.
    """
    table = pd.read_csv(io.StringIO(text), low_memory=False, **options)
    columns_in_table = inexact_columns(table)
    if not columns_in_table:
        return table

    # Read only these columns again, as text. If the first column of the file is the index, it is no
    # column of the table, so that positions in the file are larger by one.
    n_index_columns = 0
    if "index_col" in options:
        n_index_columns = 1
    columns_in_file = [n_index_columns + column for column in columns_in_table]
    options["usecols"] = [*range(n_index_columns), *columns_in_file]
    options["dtype"] = str
    texts = pd.read_csv(io.StringIO(text), low_memory=False, **options)

    # Put the text in place of the floats where it holds long whole numbers. Other large numbers, as
    # 1e300, are measurements and stay floats.
    for column_in_texts, column_in_table in enumerate(columns_in_table):
        cells = texts.iloc[:, column_in_texts]
        if cells.str.fullmatch(LONG_NUMBER).any():
            table.isetitem(column_in_table, cells)
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

    # First a test that makes no copy of the values; few columns pass it. `fmax` and `fmin` ignore
    # gaps (NaN).
    largest_values = np.fmax.reduce(values)  # (float columns,)
    smallest_values = np.fmin.reduce(values)
    largest_magnitudes = np.fmax(largest_values, -smallest_values)
    is_large = largest_magnitudes >= INEXACT_FROM
    # Then a test of the columns that passed: the large value must be finite.
    magnitudes = np.abs(values[:, is_large])  # (rows, large columns)
    is_inexact = np.any((magnitudes >= INEXACT_FROM) & np.isfinite(magnitudes), axis=0)
    large_columns = float_columns[is_large]
    return large_columns[is_inexact].tolist()
