"""What bears on a verdict about numbers and labels: rows that contradict each other or are too
near, identifiers and the label among the features, traces of labels in how the table was made.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chanceline._arrays import Floats
from chanceline.perceptron.duplicates import contradicting_rows
from chanceline.tables.checks.class_fills import warn_of_class_fills
from chanceline.tables.checks.corrected import warn_of_corrected_batches
from chanceline.tables.checks.filtered import warn_of_filtered_features
from chanceline.tables.checks.lone_columns import warn_of_lone_columns
from chanceline.tables.checks.near_rows import warn_of_near_rows
from chanceline.tables.checks.row_order import is_in_order_of_rows, warn_of_drift_along_rows
from chanceline.tables.dataset import Dataset, Finding
from chanceline.tables.identifiers import warn_of_identifiers
from chanceline.tables.partitions import first_of_each_group

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


def examine_dataset(
    data: Dataset, group_of_row: NDArray[np.int64], *, has_all_candidates: bool = True
) -> list[Finding]:
    """What the numbers and labels of a table show that its reading did not look for: rows that are
    too near, traces of how the table was made, and whatever `examine` tells.

    Parameters
    ----------
    data : the table.
    group_of_row : rows with one number belong together and may be nearly equal, of shape
        (samples,).
    has_all_candidates : whether the table has all features that were candidates, as far as is
        known.
    """
    row_names = data.rows or range(1, len(data.y) + 1)
    about_near_rows = warn_of_near_rows(data.X, data.y, group_of_row, row_names)
    about_traces = _look_for_traces_of_labels(data, has_all_candidates=has_all_candidates)
    other_findings = examine(
        data.X,
        data.y,
        data.feature_names,
        data.rows,
        # Where reading has checked the columns, it has looked for identifiers already, and before
        # any transform, after which they cannot be told from measurements.
        look_for_identifiers=not data.columns_checked,
    )
    return [*about_near_rows, *about_traces, *other_findings]


def _look_for_traces_of_labels(data: Dataset, *, has_all_candidates: bool) -> list[Finding]:
    """Warnings about features that were made or chosen with the labels, and about the order of the
    rows.

    Parameters
    ----------
    data, has_all_candidates : as in `examine_dataset`.
    """
    findings = warn_of_corrected_batches(data.X, data.y)
    if not data.columns_checked:
        findings += warn_of_class_fills(data.X, data.y, data.feature_names)

    X = data.X
    y = data.y
    if data.groups is not None:
        is_first = first_of_each_group(data.groups, len(y))
        X = X[is_first]
        y = y[is_first]
    findings += warn_of_lone_columns(X, y, data.feature_names)
    if has_all_candidates:
        findings += warn_of_filtered_features(X, y)
    if not _order_is_allowed_for(data):
        findings += warn_of_drift_along_rows(X, y)
    return findings


def _order_is_allowed_for(data: Dataset) -> bool:
    """Whether something was said that may keep a drift along the rows out: blocks, pairs, or a
    covariate that rises or falls with the rows.
    """
    if data.blocks is not None or data.pairs is not None:
        return True
    return any(is_in_order_of_rows(values) for values in (data.covariates or {}).values())


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
