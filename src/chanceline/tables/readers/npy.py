"""A NumPy array of samples × features, whose labels are in a file of their own."""

from __future__ import annotations

from pathlib import Path

from chanceline.columns.names import NumberedNames
from chanceline.columns.source import open_npy
from chanceline.errors import InputError
from chanceline.tables.raw_table import RawTable
from chanceline.tables.readers.columns import table_of_columns
from chanceline.tables.settings import TableSettings


def read_npy(path: Path, settings: TableSettings) -> RawTable:
    """The array of a `.npy` file; its columns are called x0, x1, …

    Parameters
    ----------
    path : the path of the file.
    settings : `labels` must name a second file with the classes; with `transpose` the array has
        samples in columns.
    """
    if settings.labels is None:
        raise InputError(
            f"{path.name} holds one array only; give the classes in another file (labels=FILE), or "
            "save X and y together with numpy.savez as .npz."
        )
    source = open_npy(path, transpose=settings.transpose)
    return table_of_columns(source, NumberedNames(source.n_columns))
