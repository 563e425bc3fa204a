"""Other looks at a source of columns: some of its columns, gaps filled in, sparse columns made
dense. Nothing is copied before it is read.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chanceline._arrays import Floats, Ints
from chanceline.columns.source import ColumnSource

# Columns of the other source that are read at once, where the chosen ones are far apart.
LONGEST_STRETCH = 4_096


class ChosenColumns:
    """Some columns of another source.

    Parameters
    ----------
    source : with all columns.
    indices : (chosen columns,) their numbers there, rising.
    """

    def __init__(self, source: ColumnSource, indices: Ints) -> None:
        self._source = source
        self._indices = indices

    @property
    def n_samples(self) -> int:
        return self._source.n_samples

    @property
    def n_columns(self) -> int:
        return len(self._indices)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._source.dtype

    @property
    def files(self) -> tuple[Path, ...]:
        return self._source.files

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Read the chosen columns number `start` … `stop` − 1: (samples, stop − start).

        The underlying source, which has all columns, is read in stretches of at most
        LONGEST_STRETCH columns, each from the first to the last column that is wanted.
        """
        wanted_columns = self._indices[start:stop]  # numbers in the underlying source, rising
        stretch_of_column = wanted_columns // LONGEST_STRETCH
        parts = []
        for stretch in np.unique(stretch_of_column):
            columns = wanted_columns[stretch_of_column == stretch]
            first = int(columns[0])
            last = int(columns[-1])
            values = self._source.read(first, last + 1)
            has_unwanted_columns = values.shape[1] > len(columns)
            if has_unwanted_columns:
                values = values[:, columns - first]
            parts.append(values)
        return np.concatenate(parts, axis=1)


class FilledColumns:
    """The columns of another source with a value of each column in its gaps.

    Parameters
    ----------
    source : with missing or infinite values.
    fill_values : (columns,) what stands in the gaps of each.
    """

    def __init__(self, source: ColumnSource, fill_values: Floats) -> None:
        self._source = source
        self._fill_values = fill_values

    @property
    def n_samples(self) -> int:
        return self._source.n_samples

    @property
    def n_columns(self) -> int:
        return self._source.n_columns

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._source.dtype

    @property
    def files(self) -> tuple[Path, ...]:
        return self._source.files

    def read(self, start: int, stop: int) -> NDArray[Any]:
        values = self._source.read(start, stop)
        is_gap = ~np.isfinite(values)
        if not is_gap.any():
            return values
        fill_values = self._fill_values[start:stop].astype(values.dtype)
        return np.where(is_gap, fill_values, values)


class SparseColumns:
    """The columns of a sparse matrix, whose zeros are filled in a few columns at a time.

    Parameters
    ----------
    matrix : of SciPy, (samples, columns).
    """

    def __init__(self, matrix: Any) -> None:
        # By columns, so that a stretch of them is found at once.
        self._matrix = matrix.tocsc()

    @property
    def n_samples(self) -> int:
        return int(self._matrix.shape[0])

    @property
    def n_columns(self) -> int:
        return int(self._matrix.shape[1])

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(self._matrix.dtype)

    @property
    def files(self) -> tuple[Path, ...]:
        return ()

    def read(self, start: int, stop: int) -> NDArray[Any]:
        values: NDArray[Any] = self._matrix[:, start:stop].toarray()
        return values


class TransposedRows:
    """Columns that are the rows of whatever is sliced like an array.

    Parameters
    ----------
    array : of shape (columns, samples).
    """

    def __init__(self, array: Any) -> None:
        self._array = array

    @property
    def shape(self) -> tuple[int, int]:
        """(samples, columns)."""
        n_columns, n_samples = self._array.shape
        return n_samples, n_columns

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(self._array.dtype)

    def __getitem__(self, key: tuple[slice, slice]) -> NDArray[Any]:
        """`[:, start:stop]`, as `SlicedColumns` asks for columns."""
        _, columns = key
        return np.asarray(self._array[columns, :]).T
