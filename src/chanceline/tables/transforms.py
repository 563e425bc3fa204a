"""The table in other units, blind to the labels: row by row (cpm, clr, centre), cell by cell (log)
or column by column (rank).
"""

from __future__ import annotations

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
ADDED_BEFORE_LOG = 1.0  # to every value, where the table has zeros
ADDED_BEFORE_RATIOS = 0.5  # the same, before centred log-ratios


def transform_table(X: Floats, transform: str, names: pd.Index) -> tuple[Floats, list[Finding]]:
    """The table in the units that the setting `transform` names, and what was done."""
    if transform == "none":
        return X, []
    finding = Finding.prepared(f"{TRANSFORMS_IN_WORDS[transform]}.")
    return apply_transform(X, transform, names), [finding]


def apply_transform(X: Floats, transform: str, names: pd.Index) -> Floats:
    """The table in other units.

    Parameters
    ----------
    X : numbers of shape (samples, features).
    transform : a key of `TRANSFORMS_IN_WORDS`.
    names : of the features, for sentences.
    """
    if transform == "rank":
        return pd.DataFrame(X).rank().to_numpy()
    if transform == "centre":
        return X - X.mean(axis=1, keepdims=True)
    if X.min() < 0:
        name = str(names[np.argmax(X.min(axis=0) < 0)])
        raise InputError(
            f"transform={transform!r} needs values from 0 on, but column {name!r} has some below."
        )
    if transform == "cpm":
        return _counts_per_million(X)
    if transform == "clr":
        return _centred_log_ratios(_without_zeros(X, ADDED_BEFORE_RATIOS))
    # "log", the last of them.
    return np.log2(_without_zeros(X, ADDED_BEFORE_LOG))


def _without_zeros(X: Floats, added: float) -> Floats:
    """The table, with something added to every value if any of them is 0."""
    if (X == 0).any():
        return X + added
    return X


def _counts_per_million(X: Floats) -> Floats:
    """Every row divided by its total."""
    totals = X.sum(axis=1, keepdims=True)
    if not totals.all():
        empty_rows = plural(int(np.sum(totals == 0)), "row")
        raise InputError(
            f"transform='cpm' needs something in every row, but {empty_rows} have none."
        )
    return 1e6 * X / totals


def _centred_log_ratios(X: Floats) -> Floats:
    """Logarithms less their mean in the row."""
    logs = np.log(X)
    return logs - logs.mean(axis=1, keepdims=True)
