"""The columns that a rule needs from a table of new samples: by name in a DataFrame, else by place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chanceline.errors import InputError
from chanceline.perceptron.problem import column_names
from chanceline.prediction.covariates import real_numbers

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def as_table(X: Any) -> Any:
    """A DataFrame, or an array, from what is or becomes one."""
    if hasattr(X, "to_pandas"):
        return X.to_pandas()
    if hasattr(X, "columns"):
        return X
    if hasattr(X, "toarray"):
        return X.toarray()
    return np.asarray(X)


def columns_of(
    table: Any,
    support: Ints,
    names: Sequence[str],
    n_columns: int | None = None,
) -> Floats:
    """The columns of a rule as numbers, samples × features.

    They are found by name in a DataFrame that has at least one of the names, else by their places.

    Parameters
    ----------
    table : a DataFrame or an array.
    support : places of the columns in the table that the rule was made from.
    names : their names, or none.
    n_columns : how many columns that table had, where it is known.
    """
    given = column_names(table)
    if given is not None and not set(names).isdisjoint(given):
        missing = [name for name in names if name not in given]
        if missing:
            raise InputError(f"X has no column {missing[0]!r}, which the rule uses; add it.")
        places = [given.index(name) for name in names]
        return finite_numbers(table.iloc[:, places], names)
    shape = table.shape
    if len(shape) != 2:
        raise InputError(f"X must have samples as rows and features as columns, not shape {shape}.")
    if given is not None and len(support) == 0:
        # A rule without features needs no columns.
        return np.zeros((len(table), 0))
    remedy = f"but X has shape {shape}; give the same columns."
    if n_columns is not None and shape[1] != n_columns:
        raise InputError(f"the rule was found on {n_columns} features, {remedy}")
    if shape[1] <= support.max(initial=-1):
        raise InputError(f"the rule uses column {support.max() + 1}, {remedy}")
    if not names:
        every = given or [f"x{place}" for place in range(shape[1])]
        names = [every[place] for place in support]
    if given is not None:
        table = table.to_numpy()
    return finite_numbers(table[:, support], names)


def finite_numbers(columns: Any, names: Sequence[str]) -> Floats:
    """Samples × columns as numbers, row by row in memory; a sentence about what is none."""
    try:
        numbers = np.array(columns, dtype=float, order="C")
    except (TypeError, ValueError):
        for name, column in zip(names, np.array(columns, dtype=object).T, strict=True):
            real_numbers(column, name, role="column")
        raise
    if not np.isfinite(numbers).all():
        row, place = np.argwhere(~np.isfinite(numbers))[0]
        where = f"row {row + 1}, column {names[place]!r}"
        remedy = "fill it in or leave the row out"
        raise InputError(f"X has a missing or infinite value in {where}; {remedy}.")
    return numbers
