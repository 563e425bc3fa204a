"""Arrays and DataFrames as they are given to `separation_test`, made into a checked `Dataset`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from chanceline._arrays import Floats
from chanceline.errors import InputError
from chanceline.perceptron.validation import check_arrays
from chanceline.tables.checks.declared import check_declared
from chanceline.tables.checks.subjects import SampleColumns, find_suspect
from chanceline.tables.classes import classes_of_array
from chanceline.tables.dataset import Dataset, Finding
from chanceline.tables.raw_table import named_index
from chanceline.tables.roles import Role

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
    """Check arrays and what was said about them, and make them a `Dataset`.

    Parameters
    ----------
    X : (samples, features), an array or a DataFrame.
    y : (samples,), two classes.
    roles : blocks, groups, pairs (one value for each sample) and adjust (covariates), those that
        were given.
    feature_names : of the columns of an array.
    positive : the positive class; None for the usual one.
    """
    if y is None:
        raise InputError("y is needed: two classes, one value for each row of X.")
    values, larger_is_positive, names = check_arrays(_read_only(X), y, feature_names)
    labels, classes = classes_of_array(y, larger_is_positive, positive)
    declared = {role: np.asarray(roles[role]) for role in Role if role in roles}
    warning_of_undeclared_subjects = ""
    if Role.GROUPS not in declared and Role.PAIRS not in declared:
        warning_of_undeclared_subjects = _undeclared_sentence(X, values, labels, names)
    return Dataset(
        X=values,
        y=labels,
        feature_names=names,
        classes=classes,
        blocks=declared.get(Role.BLOCKS),
        groups=declared.get(Role.GROUPS),
        pairs=declared.get(Role.PAIRS),
        covariates=covariate_columns(roles.get("adjust")),
        undeclared=warning_of_undeclared_subjects,
        findings=_check_declared_roles(declared, labels),
    )


def _read_only(X: Any) -> Any:
    """An array as a view that nobody can write to, which needs no copy; else X as it is."""
    if type(X) is np.ndarray:
        return np.broadcast_to(X, X.shape)
    return X


def _undeclared_sentence(given: Any, values: Floats, labels: Floats, names: Sequence[str]) -> str:
    """The sentence about a column or an index that looks like subjects; empty if there is none.

    Parameters
    ----------
    given : the table as the user gave it, perhaps with an index.
    values, labels, names : its numbers of shape (samples, features), labels ±1 and features' names.
    """
    numbers = pd.DataFrame(values, columns=list(names), copy=False)
    no_texts = numbers[[]]  # an array has no columns of text
    columns = SampleColumns(
        text=no_texts, numbers=numbers, names=named_index(given), names_place="the index"
    )
    suspect = find_suspect(columns, labels)
    if suspect is None:
        return ""
    return suspect.sentence


def _check_declared_roles(
    declared: Mapping[Role, NDArray[Any]], labels: Floats
) -> tuple[Finding, ...]:
    """What is worth knowing about groups, pairs and blocks that were declared."""
    findings: list[Finding] = []
    for role in (Role.GROUPS, Role.PAIRS, Role.BLOCKS):
        if role in declared:
            findings += check_declared(role, pd.Series(declared[role]), labels)
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
