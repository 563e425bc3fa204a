"""The correlation of every column with the labels, a stretch of columns at a time."""

from __future__ import annotations

import numpy as np

from chanceline._arrays import Floats, Ints


class CorrelationScan:
    """Correlations of the columns with labels.

    Parameters
    ----------
    y : labels of the rows that count, (rows,).
    rows : (rows,) the positions of these rows in the table; None for all rows.
    """

    def __init__(self, y: Floats, rows: Ints | None = None) -> None:
        self._labels = y - y.mean()
        self._length_of_labels = float(np.linalg.norm(self._labels))
        self._rows = rows
        self._parts: list[Floats] = []

    def scan_columns(self, start: int, columns: Floats) -> Floats:
        """The correlation of each column with the labels, (columns,); NaN for a constant column."""
        values = columns if self._rows is None else columns[self._rows]
        centred = values - values.mean(axis=0)
        lengths = np.sqrt(np.einsum("ij,ij->j", centred, centred))
        products = self._labels @ centred
        # r = y·x/(|y| |x|) with centred labels y and columns x; for a constant column |x| is 0.
        lengths[lengths == 0] = np.nan
        correlations: Floats = products / (self._length_of_labels * lengths)
        return correlations

    def keep(self, start: int, seen: Floats) -> None:
        self._parts.append(seen)

    @property
    def correlations(self) -> Floats:
        """Of the columns that vary: (varying columns,)."""
        all_columns = np.concatenate(self._parts)
        return all_columns[~np.isnan(all_columns)]

    def most_correlated(self, n_columns: int) -> Ints:
        """The positions of the `n_columns` columns most correlated with the labels (of all columns,
        if there are fewer).

        The most correlated comes first; of equal ones, the one with the smallest position.
        """
        magnitudes = np.nan_to_num(np.abs(np.concatenate(self._parts)))
        return np.argsort(-magnitudes, kind="stable")[:n_columns]
