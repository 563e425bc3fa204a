"""Arrays and DataFrames as they are given to `separation_test`, made into a checked `Dataset`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from chanceline._arrays import Floats
from chanceline.columns.table import AnyTable
from chanceline.columns.zarr_store import ZarrColumns, is_zarr_array
from chanceline.errors import InputError
from chanceline.perceptron.validation import check_arrays
from chanceline.tables.checks.declared import check_values_repeat
from chanceline.tables.checks.subjects import SampleColumns, find_suspect
from chanceline.tables.classes import classes_of_array
from chanceline.tables.dataset import Dataset, Finding
from chanceline.tables.raw_table import named_index
from chanceline.tables.roles import Role
from chanceline.tables.wide_arrays import check_wide_arrays, column_reader_if_wide

# Name of the column that y becomes beside a DataFrame whose blocks, groups or pairs are named.
LABEL_COLUMN = "y (given beside the table)"


def table_with_labels(X: Any, y: ArrayLike) -> pd.DataFrame:
    """X as a DataFrame, with y as the column `LABEL_COLUMN`; columns of an array are x0, x1, …"""
    if hasattr(X, "columns"):
        frame = X
    else:
        frame = pd.DataFrame(X).add_prefix("x")
    return frame.assign(**{LABEL_COLUMN: np.asarray(y)})


def dataset_of_arrays(
    X: Any,
    y: ArrayLike | None,
    roles: Mapping[str, Any],
    *,
    feature_names: Sequence[str] | None,
    positive: Any,
) -> Dataset:
    """Check arrays given in Python, and make them a `Dataset`.

    Parameters
    ----------
    X : array or DataFrame of shape (samples, features).
    y : the class of each sample, of shape (samples,), two different ones; None is an error.
    roles : those of "blocks", "groups" and "pairs" (one value for each sample) and "adjust"
        (covariates) that were given.
    feature_names : names for the columns of an array; None to number them.
    positive : the positive class; None to choose it by name and size.
    """
    if y is None:
        raise InputError("y is needed: two classes, one value for each row of X.")
    table = _checked_table(X, y, feature_names)
    labels, classes = classes_of_array(y, table.labels, positive)

    # What the user declared, and what may have been forgotten.
    declared = {role: np.asarray(roles[role]) for role in Role if role in roles}
    hint_of_subjects = ""
    if Role.GROUPS not in declared and Role.PAIRS not in declared:
        hint_of_subjects = _hint_of_undeclared_subjects(X, table, labels)

    return Dataset(
        X=table.values,
        y=labels,
        feature_names=table.names,
        classes=classes,
        blocks=declared.get(Role.BLOCKS),
        groups=declared.get(Role.GROUPS),
        pairs=declared.get(Role.PAIRS),
        covariates=covariate_columns(roles.get("adjust")),
        undeclared=hint_of_subjects,
        findings=_check_declared_roles(declared, labels),
    )


class _CheckedTable(NamedTuple):
    """Arrays that were checked.

    Attributes
    ----------
    values : finite numbers, (samples, features).
    labels : (samples,) ±1, with 1 for the larger of the two values of y.
    names : the names of the features.
    subject_candidates : (samples, columns) the columns that may say which rows belong together.
    """

    values: AnyTable
    labels: Floats
    names: Sequence[str]
    subject_candidates: pd.DataFrame


def _checked_table(X: Any, y: ArrayLike, feature_names: Sequence[str] | None) -> _CheckedTable:
    """Check a table and its classes; raise an `InputError` if something is wrong with them.

    Parameters
    ----------
    X : array or DataFrame of shape (samples, features).
    y : the class of each sample, of shape (samples,), two different ones.
    feature_names : names for the columns of an array; None to number them.
    """
    # A table of very many columns is never copied, but read a few columns at a time. Its columns of
    # whole numbers, which alone may tell subjects, are in memory.
    column_reader = column_reader_if_wide(X)
    if column_reader is not None:
        wide = check_wide_arrays(column_reader, y, feature_names)
        return _CheckedTable(
            values=wide.features.table,
            labels=wide.labels,
            names=wide.features.names,
            subject_candidates=wide.whole_numbers,
        )

    # Any other table is in memory, and all its columns may tell subjects.
    values, labels, names = check_arrays(_read_only(X), y, feature_names)
    return _CheckedTable(
        values=values,
        labels=labels,
        names=names,
        subject_candidates=pd.DataFrame(values, columns=list(names), copy=False),
    )


def _read_only(X: Any) -> Any:
    """A read-only view of a NumPy array, which `check_arrays` need not copy.

    A Zarr array is read into memory, and anything else is returned as it is.
    """
    if is_zarr_array(X):
        columns = ZarrColumns(X, "X")
        return columns.read(0, columns.n_columns)
    if type(X) is np.ndarray:
        return np.broadcast_to(X, X.shape)  # a read-only view
    return X


def _hint_of_undeclared_subjects(X: Any, table: _CheckedTable, labels: Floats) -> str:
    """The message about a column or an index that looks like subjects or pairs; empty if none does.

    A column of subjects tells which rows are of one subject; its values are whole numbers here, as
    `table` holds nothing but numbers.

    Parameters
    ----------
    X : the table as the user gave it, perhaps a DataFrame with an index.
    table : the same table, checked.
    labels : ±1 of shape (samples,).
    """
    number_columns = table.subject_candidates
    no_text_columns = number_columns[[]]  # all rows, and no columns
    columns = SampleColumns(
        text=no_text_columns,
        numbers=number_columns,
        names=named_index(X),
        names_place="the index",
    )
    suspect = find_suspect(columns, labels)
    if suspect is None:
        return ""
    return suspect.sentence


def _check_declared_roles(
    declared: Mapping[Role, NDArray[Any]], labels: Floats
) -> tuple[Finding, ...]:
    """Findings about declared groups, pairs and blocks, given by role, (samples,) each."""
    findings: list[Finding] = []
    for role in (Role.GROUPS, Role.PAIRS, Role.BLOCKS):
        if role in declared:
            findings += check_values_repeat(role, pd.Series(declared[role]), labels)
    return tuple(findings)


def covariate_columns(adjust: Any) -> dict[str, NDArray[Any]] | None:
    """The covariates by name; None if there are none.

    Those of an array are called `covariate 0`, `covariate 1`, …
    """
    table = pd.DataFrame(adjust)
    if not hasattr(adjust, "columns"):
        table = table.add_prefix("covariate ")
    columns = {str(name): column.to_numpy() for name, column in table.items()}
    return columns or None
