"""Columns that are the label over again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from chanceline._arrays import Floats, Ints
from chanceline.columns.table import AnyTable
from chanceline.tables.checks.scans import FoundColumns, scan_table
from chanceline.tables.dataset import Finding


def warn_of_label_copies(X: AnyTable, y: Floats, names: Sequence[Any]) -> list[Finding]:
    """A warning about every column that is the label over again.

    Parameters
    ----------
    X : numbers of shape (samples, features).
    y : labels ±1 of shape (samples,).
    names : the names of the features.
    """
    scan = LabelCopyScan(y)
    scan_table(X, [scan])
    return scan.findings(names)


class LabelCopyScan:
    """Looks for columns that are the label over again.

    Parameters
    ----------
    y : labels ±1 of shape (samples,); both classes occur.
    """

    def __init__(self, y: Floats) -> None:
        self._is_positive = y > 0
        self._found = FoundColumns()

    def keep(self, start: int, seen: Ints) -> None:
        self._found.add(start, seen)

    def scan_columns(self, start: int, columns: Floats) -> Ints:
        """Positions, among these columns, of those that copy the label.

        A copy has one value in all positive rows and another one in all negative rows.

        Parameters
        ----------
        start : the position of the first column in the table. All scans get it; this one does not
            need it, as `keep` adds it to the positions.
        columns : numbers of shape (samples, columns).
        """
        positives = np.flatnonzero(self._is_positive)
        negatives = np.flatnonzero(~self._is_positive)
        positive_values = columns[positives[0]]  # in the first positive row, (columns,)
        negative_values = columns[negatives[0]]

        # Comparing the first and last row of each class rules most columns out quickly, so that
        # the arrays below are small.
        positives_agree = positive_values == columns[positives[-1]]
        negatives_agree = negative_values == columns[negatives[-1]]
        classes_differ = positive_values != negative_values
        candidates = np.flatnonzero(positives_agree & negatives_agree & classes_differ)

        # What the columns would hold as copies of the label, of shape (samples, candidates).
        label_copies = np.where(
            self._is_positive[:, None], positive_values[candidates], negative_values[candidates]
        )
        is_copy = np.all(columns[:, candidates] == label_copies, axis=0)
        return candidates[is_copy]

    def findings(self, names: Sequence[Any]) -> list[Finding]:
        """A warning for every column found; `names` are those of all features."""
        return [
            Finding.warning(
                f"column {names[column]!r} is the label over again; leave it out unless it was "
                "measured independently."
            )
            for column in self._found.numbers.tolist()
        ]
