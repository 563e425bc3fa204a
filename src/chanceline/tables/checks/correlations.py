"""The correlation of every column with the labels, a stretch of columns at a time."""

from __future__ import annotations

import numpy as np

from chanceline._arrays import Floats, Ints


class CorrelationScan:
    """Correlations of the columns with labels.

    Parameters
    ----------
    y : labels of the rows that count, (rows,).
    rows : (rows,) which of the table's rows these are; None for all of them.
    """

    def __init__(self, y: Floats, rows: Ints | None = None) -> None:
        self._labels = y - y.mean()
        self._length_of_labels = float(np.linalg.norm(self._labels))
        self._rows = rows
        self._parts: list[Floats] = []

    def look(self, start: int, columns: Floats) -> Floats:
        """The correlation of each column, (columns,); NaN for constants."""
        values = columns if self._rows is None else columns[self._rows]
        centred = values - values.mean(axis=0)
        lengths = np.sqrt(np.einsum("ij,ij->j", centred, centred))
        products = self._labels @ centred
        # r = y·x/(|y| |x|), of centred labels y and columns x; a constant has none.
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
        """The numbers of the columns most correlated with the labels, at most so many; the most
        correlated first, of equal ones that with the smallest number.
        """
        sizes = np.nan_to_num(np.abs(np.concatenate(self._parts)))
        return np.argsort(-sizes, kind="stable")[:n_columns]
