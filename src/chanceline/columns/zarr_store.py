"""Arrays of Zarr: in a folder, alone or with labels and names beside them, or as an object.

A chunk that is not there reads as zeros, without a word: an array that was cut off while it was
written or copied would be taken for a table of zeros. So every chunk has to be there.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chanceline.columns.source import SlicedColumns
from chanceline.columns.views import TransposedRows
from chanceline.errors import InputError

DAMAGED = (RuntimeError, ValueError, OSError)  # what chunks that are cut off raise
TABLE_NAME = "X"  # of the array in a group


class ZarrGroup(NamedTuple):
    """What a folder of Zarr holds.

    Attributes
    ----------
    table : the array of numbers.
    labels : of the samples; None if there are none.
    feature_names : of the columns; None if there are none.
    """

    table: Any
    labels: NDArray[Any] | None = None
    feature_names: NDArray[Any] | None = None


class ZarrColumns(SlicedColumns):
    """The columns of an array of Zarr.

    Parameters
    ----------
    array : of shape (samples, columns), or (columns, samples) if `transpose` is set.
    name : what errors call it.
    """

    def __init__(self, array: Any, name: str, *, transpose: bool = False) -> None:
        _require_all_chunks(array, name)
        super().__init__(TransposedRows(array) if transpose else array, name)
        self._folder = _folder_of(array)

    @property
    def files(self) -> tuple[Path, ...]:
        return () if self._folder is None else (self._folder,)

    def read(self, start: int, stop: int) -> NDArray[Any]:
        try:
            return super().read(start, stop)
        except DAMAGED as error:
            raise InputError(
                f"columns {start} to {stop} of {self._name} cannot be read ({error}); the array is "
                "damaged, write it anew."
            ) from error


def is_zarr_array(data: Any) -> bool:
    """Whether an object is an array of Zarr."""
    return type(data).__module__.partition(".")[0] == "zarr" and hasattr(data, "shape")


def open_zarr(path: Path) -> ZarrGroup:
    """Open a folder of Zarr that holds a table, without reading the table yet.

    The folder is either a single array, the table, or a group of several arrays: the table is then
    named `X`, and there may be labels `y` and `feature_names`, which are read into memory.
    """
    import zarr

    try:
        content = zarr.open(str(path), mode="r")
    except Exception as error:  # versions of Zarr differ in what they raise
        reason = str(error).splitlines()[0].rstrip(".")
        raise InputError(f"{path.name} is no array of Zarr ({reason}).") from error
    if hasattr(content, "shape"):  # a single array
        return ZarrGroup(content)

    arrays = dict(content.arrays())
    if TABLE_NAME not in arrays:
        names_found = ", ".join(sorted(arrays)) or "no arrays"
        raise InputError(f"{path.name} must hold an array {TABLE_NAME}, but holds {names_found}.")
    return ZarrGroup(
        table=arrays[TABLE_NAME],
        labels=_read_if_present(arrays.get("y")),
        feature_names=_read_if_present(arrays.get("feature_names")),
    )


def _folder_of(array: Any) -> Path | None:
    """The folder that the store of an array is; None for a store that is none."""
    folder = getattr(array.store, "root", None)
    return folder.absolute() if isinstance(folder, Path) else None


def _read_if_present(array: Any) -> NDArray[Any] | None:
    """Read the whole of a short array; None stays None."""
    if array is None:
        return None
    return np.asarray(array[:])


def _require_all_chunks(array: Any, name: str) -> None:
    """Stop if some chunks of an array were never written."""
    n_missing = int(array.nchunks) - int(array.nchunks_initialized)
    if n_missing <= 0:
        return
    raise InputError(
        f"{n_missing} of {array.nchunks} chunks of {name} are not there and would read as "
        f"{array.fill_value}: it is cut off, or chunks of nothing else were left out; write all of "
        "them (write_empty_chunks=True)."
    )
