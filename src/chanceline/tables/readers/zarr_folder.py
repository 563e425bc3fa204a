"""A folder of Zarr: an array of samples × features, perhaps with labels and names beside it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from chanceline.columns.names import NumberedNames, PackedNames
from chanceline.columns.zarr_store import ZarrColumns, open_zarr
from chanceline.errors import InputError
from chanceline.tables.raw_table import RawTable
from chanceline.tables.readers.columns import table_of_columns
from chanceline.tables.settings import TableSettings

# What a folder of Zarr holds, in its second and third version.
FILES_OF_ZARR = ("zarr.json", ".zarray", ".zgroup")


def is_zarr_folder(path: Path) -> bool:
    """Whether a path is a folder that Zarr wrote, or is called so."""
    if not path.is_dir():
        return False
    return path.suffix == ".zarr" or any((path / name).exists() for name in FILES_OF_ZARR)


def read_zarr(path: Path, settings: TableSettings) -> RawTable:
    """Read a folder of Zarr as a table.

    The folder holds one array, or the arrays `X`, `y` and perhaps `feature_names`.

    Parameters
    ----------
    path : the path of the folder.
    settings : `labels` must name a second file with the classes if there is no `y`; with
        `transpose` the array has samples in columns.
    """
    # The labels are in the folder, or in a second file.
    content = open_zarr(path)
    if content.labels is None and settings.labels is None:
        raise InputError(
            f"{path.name} holds no labels; give the classes in another file (labels=FILE), or "
            "beside X as an array y."
        )

    # The columns and their names.
    source = ZarrColumns(content.table, path.name, transpose=settings.transpose)
    names: Sequence[str] = NumberedNames(source.n_columns)
    if content.feature_names is not None:
        names = PackedNames(str(name) for name in content.feature_names)
    if len(names) != source.n_columns:
        raise InputError(
            f"{path.name} has {len(names)} feature names for {source.n_columns} columns; "
            "set transpose=True if samples are columns."
        )

    # The labels of the folder, if it has any, describe the samples.
    if content.labels is None:
        return table_of_columns(source, names, descriptions=None)
    if content.labels.shape != (source.n_samples,):
        raise InputError(
            f"{path.name} needs a label in y for each of {source.n_samples} samples, but y has "
            f"the shape {content.labels.shape}; set transpose=True if samples are columns."
        )
    return table_of_columns(source, names, descriptions=pd.DataFrame({"y": content.labels}))
