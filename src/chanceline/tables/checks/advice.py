"""What bears on a verdict about numbers and labels: rows that contradict each other, identifiers
and the label among the features.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chanceline._arrays import Floats
from chanceline.perceptron.duplicates import contradicting_rows
from chanceline.tables.checks.near_rows import warn_of_near_rows
from chanceline.tables.dataset import Dataset, Finding
from chanceline.tables.identifiers import warn_of_identifiers

CONTRADICTIONS_SHOWN = 3


def examine(
    X: Floats,
    y: Floats,
    names: Sequence[str],
    rows: Sequence[Any] | None = None,
    *,
    look_for_identifiers: bool = True,
) -> list[Finding]:
    """What bears on a verdict about checked data: equal rows of opposite classes, columns that
    name the rows, columns equal to the label.

    Parameters
    ----------
    X, y : finite numbers of shape (samples, features), and labels ±1 of shape (samples,).
    names : of the features.
    rows : what sentences call the rows; numbers from 1 on by default.
    look_for_identifiers : whether to look for columns that name the rows. That makes sense among
        values as they were measured: ranks of a column all look like them.
    """
    row_names = rows or range(1, len(X) + 1)
    findings = _warn_of_contradictions(X, y, row_names)
    if look_for_identifiers:
        findings += warn_of_identifiers(X, names)
    for column in _columns_equal_to_label(X, y):
        findings.append(
            Finding.warning(
                f"column {names[column]!r} is the label over again; leave it out unless it was "
                "measured independently."
            )
        )
    return findings


def examine_dataset(data: Dataset, group_of_row: NDArray[np.int64]) -> list[Finding]:
    """What the numbers and labels of a table show that its reading did not look for: rows that are
    nearly equal, and whatever `examine` tells.

    Parameters
    ----------
    data : the table.
    group_of_row : rows with one number belong together and may be nearly equal, of shape
        (samples,).
    """
    row_names = data.rows or range(1, len(data.y) + 1)
    about_near_rows = warn_of_near_rows(data.X, data.y, group_of_row, row_names)
    other_findings = examine(
        data.X,
        data.y,
        data.feature_names,
        data.rows,
        # Reading looked for identifiers before any transform, after which they cannot be told.
        look_for_identifiers=not data.columns_checked,
    )
    return [*about_near_rows, *other_findings]


def _warn_of_contradictions(X: Floats, y: Floats, row_names: Sequence[Any]) -> list[Finding]:
    """A warning about equal rows of opposite classes, if there are any."""
    pairs = contradicting_rows(X, y)
    if not pairs:
        return []
    shown = [f"{row_names[i]} and {row_names[k]}" for i, k in pairs[:CONTRADICTIONS_SHOWN]]
    if len(pairs) > CONTRADICTIONS_SHOWN:
        shown.append("…")
    return [
        Finding.warning(
            f"rows {'; '.join(shown)} are equal but have opposite labels, so no rule whatever "
            "separates these data."
        )
    ]


def _columns_equal_to_label(X: Floats, y: Floats) -> NDArray[np.int64]:
    """Positions of the columns that have one value in each class, and not the same in both; both
    classes occur in y.
    """
    is_positive = y > 0
    positives = np.flatnonzero(is_positive)
    negatives = np.flatnonzero(~is_positive)
    positive_values = X[positives[0]]  # (features,) in the first positive row
    negative_values = X[negatives[0]]

    # The first and last row of each class tell most columns from the label, so that few are copied.
    is_candidate = (
        (positive_values == X[positives[-1]])
        & (negative_values == X[negatives[-1]])
        & (positive_values != negative_values)
    )
    candidates = np.flatnonzero(is_candidate)
    # What the columns would hold as copies of the label, of shape (samples, candidates).
    label_copies = np.where(
        is_positive[:, None], positive_values[candidates], negative_values[candidates]
    )
    is_copy = np.all(X[:, candidates] == label_copies, axis=0)
    return candidates[is_copy]
