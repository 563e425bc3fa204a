"""Where the columns of a table are kept, and one way to read some of them.

A source gives a stretch of columns in the type in which they are stored: genotypes stay small
integers. Anything that is sliced like an array is one: an array in memory, a memory map, a Zarr or
HDF5 array, a `dask.array`.

A source that reads files can be sent to another process that sees them: it goes without the
numbers, and reads them there.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from chanceline._arrays import Ints
from chanceline.errors import InputError

NUMERIC_KINDS = "biuf"  # NumPy's letters for truth values, integers and floats


class ColumnSource(Protocol):
    """The columns of a table of shape (n_samples, n_columns)."""

    @property
    def n_samples(self) -> int: ...

    @property
    def n_columns(self) -> int: ...

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type in which columns are stored."""

    @property
    def files(self) -> tuple[Path, ...]:
        """The files or folders that the numbers are read from; none if they are in memory."""

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """The columns from `start` up to `stop`, of shape (samples, stop − start)."""


class SlicedColumns:
    """The columns of whatever has a shape, a type, and slices as an array has them.

    Parameters
    ----------
    array : of shape (samples, columns).
    name : what errors call it.
    """

    def __init__(self, array: Any, name: str = "the array") -> None:
        shape = getattr(array, "shape", ())
        if len(shape) != 2:
            raise InputError(f"{name} must have two dimensions, but has the shape {shape}.")
        if array.dtype.kind not in NUMERIC_KINDS:
            raise InputError(f"{name} must hold numbers, not {array.dtype}.")
        self._array = array
        self._name = name

    @property
    def n_samples(self) -> int:
        return int(self._array.shape[0])

    @property
    def n_columns(self) -> int:
        return int(self._array.shape[1])

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(self._array.dtype)

    @property
    def files(self) -> tuple[Path, ...]:
        return ()

    @property
    def array(self) -> Any:
        """What is sliced."""
        return self._array

    def read(self, start: int, stop: int) -> NDArray[Any]:
        # A dask array is computed by this, and any other is copied into memory.
        values = np.asarray(self._array[:, start:stop])
        expected_shape = (self.n_samples, stop - start)
        if values.shape != expected_shape:
            raise InputError(
                f"columns {start} to {stop} of {self._name} have the shape {values.shape} and not "
                f"{expected_shape}: it is cut off."
            )
        return values


class RowsOfSource:
    """The columns of another source with some of its samples only.

    Parameters
    ----------
    source : with all samples.
    rows : (samples here,) their numbers there.
    """

    def __init__(self, source: ColumnSource, rows: Ints) -> None:
        self._source = source
        self._rows = rows

    @property
    def n_samples(self) -> int:
        return len(self._rows)

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
        return self._source.read(start, stop)[self._rows]


class NpyColumns:
    """The columns of a `.npy` file.

    The file is mapped anew for every stretch: pages of a map that stays count as memory of the
    process, and a worker of a cluster would be ended for them.

    Parameters
    ----------
    path : of the file, with an array of shape (samples, columns).
    transpose : whether its shape is (columns, samples).
    """

    def __init__(self, path: Path, *, transpose: bool = False) -> None:
        self._path = path.absolute()
        self._transpose = transpose
        mapped = self._map()
        self._shape = (mapped.n_samples, mapped.n_columns)
        self._dtype = mapped.dtype

    @property
    def n_samples(self) -> int:
        return self._shape[0]

    @property
    def n_columns(self) -> int:
        return self._shape[1]

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._dtype

    @property
    def files(self) -> tuple[Path, ...]:
        return (self._path,)

    def read(self, start: int, stop: int) -> NDArray[Any]:
        # A copy, which does not need the map any more.
        return self._map().read(start, stop).copy(order="K")

    def _map(self) -> SlicedColumns:
        name = self._path.name
        try:
            array = np.load(self._path, mmap_mode="r", allow_pickle=False)
        except (ValueError, EOFError) as error:
            raise InputError(f"{name} is no whole .npy file of numbers ({error}).") from error
        return SlicedColumns(array.T if self._transpose else array, name)


def open_npy(path: Path, *, transpose: bool = False) -> NpyColumns:
    """The columns of a `.npy` file of shape (samples, columns), or the other way round with
    `transpose`; nothing is read yet.
    """
    return NpyColumns(path, transpose=transpose)
