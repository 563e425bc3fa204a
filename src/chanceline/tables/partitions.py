"""How columns put rows together: rows with one value belong to one part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from chanceline._arrays import Bools


def first_of_each_group(groups: pd.Series | NDArray[Any] | None, n_rows: int) -> Bools:
    """Whether a row is the first of its group, of shape (rows,); True everywhere without groups.

    Rows of the same group are not independent, so that tests of rows take one row of each group.
    """
    if groups is None:
        return np.ones(n_rows, dtype=bool)
    is_repetition: Bools = pd.Series(groups).duplicated().to_numpy()
    return ~is_repetition


def first_of_each_kept_group(groups: pd.Series | None, is_kept: Bools) -> Bools:
    """Whether a row is the first kept row of its group, of shape (rows,).

    Parameters
    ----------
    groups : the group of every row; None if every row is a group of its own.
    is_kept : which rows are kept, of shape (rows,).
    """
    if groups is None:
        return is_kept
    is_first = np.zeros(len(is_kept), dtype=bool)
    is_first[is_kept] = first_of_each_group(groups[is_kept], int(np.count_nonzero(is_kept)))
    return is_first


def same_partition(first: Sequence[Any], second: Sequence[Any]) -> bool:
    """Whether two columns put the same rows together."""
    # Values are numbered in the order in which they occur first.
    first_codes, _ = pd.factorize(pd.Series(first))
    second_codes, _ = pd.factorize(pd.Series(second))
    return np.array_equal(first_codes, second_codes)


def determines(category: pd.Series, column: pd.Series) -> bool:
    """Whether rows of the same category always have the same value of the column, as with the
    categories `sex` and the column `sex_code`.

    False if there are more different categories than half the number of rows: they would determine
    any column.
    """
    category_of_row, categories = pd.factorize(category)
    if 2 * len(categories) > len(category):
        return False
    value_of_row, _ = pd.factorize(column)
    n_values = pd.Series(value_of_row).groupby(category_of_row).nunique()
    return bool(n_values.max() == 1)
