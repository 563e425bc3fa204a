"""The columns that a rule needs from a table of new samples: by name, else by index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from chanceline._arrays import Floats, Ints
from chanceline.columns.table import ColumnTable
from chanceline.errors import InputError
from chanceline.perceptron.validation import column_names
from chanceline.prediction.covariates import CovariateEncoder, real_numbers


def as_table(X: Any) -> Any:
    """A DataFrame, an array, or a table of columns, from what is or becomes one."""
    if hasattr(X, "to_pandas"):
        return X.to_pandas()
    if hasattr(X, "columns") or isinstance(X, ColumnTable):
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
    """The columns of a rule as numbers, (samples, support).

    They are found by name in a DataFrame that has at least one of the names, else by index.

    Parameters
    ----------
    table : a DataFrame or an array.
    support : indices of the columns in the table that the rule was made from, (support,)
    names : their names, or none.
    n_columns : how many columns that table had, where it is known.
    """
    table_names = column_names(table)
    if table_names is not None:
        return _columns_of_frame(table, table_names, support, names, n_columns)
    _check_shape(table.shape, support, n_columns)
    names_in_errors = names or [f"x{column}" for column in support]
    return finite_numbers(table[:, support], names_in_errors)


def _columns_of_frame(
    table: Any,
    table_names: Sequence[str],
    support: Ints,
    names: Sequence[str],
    n_columns: int | None,
) -> Floats:
    """`columns_of` for a DataFrame, whose columns have the names `table_names`."""
    if not set(names).isdisjoint(table_names):
        return _columns_by_name(table, names)
    if len(support) == 0:
        # A rule without features takes any DataFrame.
        return np.zeros((len(table), 0))
    _check_shape(table.shape, support, n_columns)
    names_in_errors = names or [table_names[column] for column in support]
    return finite_numbers(table.to_numpy()[:, support], names_in_errors)


def _columns_by_name(table: Any, names: Sequence[str]) -> Floats:
    """The columns of a DataFrame with these names, (samples, names); of equal names the first."""
    index_of_name: dict[str, int] = {}
    for index, name in enumerate(column_names(table) or ()):
        index_of_name.setdefault(name, index)
    missing = [name for name in names if name not in index_of_name]
    if missing:
        raise InputError(f"X has no column {missing[0]!r}, which the rule uses; add it.")
    indices = [index_of_name[name] for name in names]
    return finite_numbers(table.iloc[:, indices], names)


def covariates_in(table: Any, encoder: CovariateEncoder) -> Any:
    """The table, if covariates can be found in it by name; nothing where there are none.

    Parameters
    ----------
    table : a DataFrame or an array.
    encoder : which covariates a rule has.
    """
    if not encoder.covariates:
        return {}
    if column_names(table) is None:
        names = ", ".join(encoder.names)
        remedy = "give those of the new samples as covariates=, or by name in a DataFrame X"
        raise InputError(f"the rule was made with covariates ({names}); {remedy}.")
    return table


def _check_shape(shape: tuple[int, ...], support: Ints, n_columns: int | None) -> None:
    """Whether columns of a table of this shape can be found by index."""
    if len(shape) != 2:
        raise InputError(f"X must have samples as rows and features as columns, not shape {shape}.")
    remedy = f"but X has shape {shape}; give the same columns."
    if n_columns is not None and shape[1] != n_columns:
        raise InputError(f"the rule was found on {n_columns} features, {remedy}")
    if shape[1] <= support.max(initial=-1):
        raise InputError(f"the rule uses column {support.max() + 1}, {remedy}")


def finite_numbers(columns: Any, names: Sequence[str]) -> Floats:
    """The columns as a C-contiguous array of numbers, (samples, columns).

    If a cell is not a finite number, the error names its row and column.

    Parameters
    ----------
    columns : what NumPy can make an array of, (samples, columns)
    names : of the columns, for errors
    """
    try:
        numbers = np.array(columns, dtype=float, order="C")
    except (TypeError, ValueError):
        # NumPy's error does not say where the text is. Converted one by one, the column at fault
        # raises an error with its name; if no column does, NumPy's own error is raised again.
        transposed = np.array(columns, dtype=object).T
        for name, values in zip(names, transposed, strict=True):
            real_numbers(values, name, role="column")
        raise
    if not np.isfinite(numbers).all():
        row, column = np.argwhere(~np.isfinite(numbers))[0]
        where = f"row {row + 1}, column {names[column]!r}"
        remedy = "fill it in or leave the row out"
        raise InputError(f"X has a missing or infinite value in {where}; {remedy}.")
    return numbers
