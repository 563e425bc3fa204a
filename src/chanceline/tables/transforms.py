"""The table in other units, blind to the labels: row by row (cpm, clr, centre), cell by cell (log)
or column by column (rank).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from chanceline._arrays import Floats
from chanceline.errors import InputError
from chanceline.tables.dataset import Finding
from chanceline.tables.wording import plural

TRANSFORMS_IN_WORDS = {
    "cpm": "counts per million: every row divided by its total",
    "log": "logarithms to base 2, 1 added first where the table has zeros",
    "clr": "centred log-ratios: logarithms (0.5 added first where the table has zeros) less their "
    "mean in the row",
    "centre": "every value less the mean of its row",
    "rank": "ranks within the column",
}
# What is added to every value before its logarithm, where the table has zeros.
ADDED_TO_ZEROS = {"log": 1.0, "clr": 0.5}
NEED_VALUES_FROM_0 = frozenset({"cpm", "log", "clr"})


def transform_table(
    X: Floats, transform: str, names: Sequence[str]
) -> tuple[Floats, list[Finding]]:
    """The table in the units that the setting `transform` names, and what was done."""
    if transform == "none":
        return X, []
    finding = Finding.prepared(f"{TRANSFORMS_IN_WORDS[transform]}.")
    return apply_transform(X, transform, names), [finding]


def added_to_values(X: Floats, transform: str) -> float:
    """What is added to every value before logarithms: nothing, unless the table has zeros."""
    takes_logarithms = transform in ADDED_TO_ZEROS
    if takes_logarithms and (X == 0).any():
        return ADDED_TO_ZEROS[transform]
    return 0.0


def apply_transform(
    X: Floats, transform: str, names: Sequence[str], added: float | None = None
) -> Floats:
    """Transform a table; values without a logarithm, or rows without a total, are an error.

    Parameters
    ----------
    X : numbers of shape (samples, features).
    transform : "cpm", "log", "clr", "centre" or "rank" (`TRANSFORMS_IN_WORDS`).
    names : the names of the features, for error messages.
    added : what is added to every value before logarithms; None for what this table needs. Only
        "log" and "clr" use it.
    """
    if transform == "rank":
        return pd.DataFrame(X).rank().to_numpy()
    if transform == "centre":
        return X - X.mean(axis=1, keepdims=True)

    # The other transforms need values from 0 on.
    columns_with_negative = np.flatnonzero(X.min(axis=0) < 0)
    if len(columns_with_negative) > 0:
        first_column = int(columns_with_negative[0])
        raise negative_values_error(transform, names[first_column])
    if transform == "cpm":
        return _counts_per_million(X)

    # The two transforms with logarithms.
    if added is None:
        added = added_to_values(X, transform)
    positive_values = _positive_values(X, added, names)
    if transform == "clr":
        return _centred_log_ratios(positive_values)
    # transform == "log"
    return np.log2(positive_values)


def negative_values_error(transform: str, name: Any) -> InputError:
    """The error about values below 0 in the column with this name."""
    return InputError(
        f"transform={transform!r} needs values from 0 on, but column {str(name)!r} has some below."
    )


def _positive_values(X: Floats, added: float, names: Sequence[str]) -> Floats:
    """Add a number to every value of a table, so that all values have a logarithm.

    If nothing is added, a value of 0 is an error. This happens only to new samples: a table with
    zeros gets something added, but new samples get what the table got from which a rule was made.

    Parameters
    ----------
    X : values from 0 on, (samples, features).
    added : a number from 0 on.
    names : the names of the features.
    """
    if added > 0:
        return X + added
    columns_with_zero = np.flatnonzero((X == 0).any(axis=0))
    if len(columns_with_zero) > 0:
        first_column = int(columns_with_zero[0])
        name = str(names[first_column])
        raise InputError(
            f"column {name!r} has a 0, which has no logarithm, and the table that the rule was "
            "made from had none; leave that row out."
        )
    return X


def _counts_per_million(X: Floats) -> Floats:
    """Every row divided by its total."""
    totals = X.sum(axis=1, keepdims=True)
    require_totals(totals)
    return 1e6 * X / totals


def require_totals(totals: Floats) -> None:
    """Raise an `InputError` if a row has the total 0, by which it cannot be divided."""
    if totals.all():
        return
    empty_rows = plural(int(np.sum(totals == 0)), "row")
    raise InputError(f"transform='cpm' needs something in every row, but {empty_rows} have none.")


def _centred_log_ratios(X: Floats) -> Floats:
    """Logarithms less their mean in the row."""
    logs = np.log(X)
    return logs - logs.mean(axis=1, keepdims=True)
