"""From a path or an object in memory to a `RawTable`, by the reader of its format."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import pandas as pd

from chanceline.errors import InputError
from chanceline.tables.cells import tidy_cells
from chanceline.tables.raw_table import RawTable, named_index
from chanceline.tables.readers import genomics
from chanceline.tables.readers.annotated import is_anndata, open_anndata, table_from_anndata
from chanceline.tables.readers.encoding import decode, decompress, is_workbook
from chanceline.tables.readers.excel import read_workbook
from chanceline.tables.readers.grid import CellGrid, table_from_grid
from chanceline.tables.readers.npy import read_npy
from chanceline.tables.readers.npz import read_npz
from chanceline.tables.readers.parquet import has_many_numbers, read_parquet, read_wide_parquet
from chanceline.tables.readers.plink import read_plink
from chanceline.tables.readers.text import read_text
from chanceline.tables.readers.zarr_folder import is_zarr_folder, read_zarr
from chanceline.tables.settings import TableSettings

# Packages that are installed on demand, and the extra that installs them, by the files' endings.
PACKAGE_AND_EXTRA = {
    ".h5ad": ("anndata", "anndata"),
    ".parquet": ("pyarrow", "parquet"),
    ".pq": ("pyarrow", "parquet"),
    ".zarr": ("zarr", "zarr"),
}
EXCEL_PACKAGE_AND_EXTRA = ("openpyxl", "excel")  # Excel is known by its content, not its ending


def is_path(data: Any) -> bool:
    """Whether the table is in a file, and not in memory."""
    return isinstance(data, str | Path)


def source_name(data: Any) -> str:
    """The name of a table in messages: that of its file, or its type if it is in memory."""
    if is_path(data):
        return Path(data).name
    return type(data).__name__


def read_source(data: Any, label: str | None, settings: TableSettings) -> RawTable:
    """The table of a file or of an object in memory, its text tidied."""
    if is_path(data):
        return read_file(Path(data), settings, label)
    return _tidied(_read_object(data, label, settings), settings)


def read_file(path: Path, settings: TableSettings, label: str | None = None) -> RawTable:
    """Read a file, or a folder of Zarr, as a table with tidy text.

    Content that cannot be read is an `InputError` of one sentence.

    Parameters
    ----------
    path : the path of the file or folder.
    settings : how to read the file.
    label : the name or the number of the label's column; None if the user named none.
    """
    if is_zarr_folder(path):
        with _errors_in_one_sentence(path):
            table = read_zarr(path, settings)
    else:
        # Opening comes first, outside of the block that rewords errors: the operating system says
        # well enough that a file does not exist or may not be read.
        with path.open("rb") as file, _errors_in_one_sentence(path):
            table = _read_format(file, path, settings, label)
    if len(table.values) == 0:
        raise InputError(f"{path.name} has a header but no rows.")
    return _tidied(table, settings)


@contextmanager
def _errors_in_one_sentence(path: Path) -> Iterator[None]:
    """Within the block, turn any error into an `InputError` of one sentence.

    It says what is wrong with the content of the file. Errors that are an `InputError` already, or
    a lack of memory, are raised as they are.
    """
    try:
        yield
    except (InputError, MemoryError):
        raise
    except ImportError:
        # A package for the format is not installed. Files with an ending that is not listed can
        # only be Excel files: no other format needs a package.
        package, extra = PACKAGE_AND_EXTRA.get(path.suffix, EXCEL_PACKAGE_AND_EXTRA)
        remedy = f"install chanceline[{extra}] or save the table as CSV"
        raise InputError(f"{path.name} cannot be read without {package}; {remedy}.") from None
    except Exception as error:  # readers raise errors of many kinds when a file is damaged
        # The first line of the message, or the name of the error if it has none.
        message = str(error).strip() or type(error).__name__
        reason = message.splitlines()[0].rstrip(".")
        raise InputError(f"{path.name} could not be read as a table ({reason}).") from error


def _tidied(table: RawTable, settings: TableSettings) -> RawTable:
    return replace(
        table,
        values=tidy_cells(table.values, settings.na),
        descriptions=tidy_cells(table.descriptions, settings.na),
    )


def _read_format(  # noqa: PLR0911 (one return for each format)
    file: IO[bytes], path: Path, settings: TableSettings, label: str | None
) -> RawTable:
    """Read a file in the format that its ending or, for text and Excel, its content shows.

    Parameters
    ----------
    file : the open file.
    path : the path of the file; some readers open it themselves.
    settings : how to read the file.
    label : the name or the number of the label's column; None if the user named none.
    """
    # Formats that are known by their ending.
    if path.suffix == ".h5ad":
        return table_from_anndata(open_anndata(path, settings), label, settings)
    if path.suffix == ".bed":
        return read_plink(path, settings.missing)
    if path.suffix == ".npy":
        return read_npy(path, settings)
    if path.suffix == ".npz":
        return read_npz(file, path.name, transpose=settings.transpose)
    if path.suffix in (".parquet", ".pq"):
        # Transposing, and making indicators of text, need the whole table in memory.
        needs_memory = settings.transpose or settings.one_hot
        if not needs_memory and has_many_numbers(path):
            return read_wide_parquet(path)
        return table_from_grid(read_parquet(file), path.name, transpose=settings.transpose)

    # Formats that are known by their content: Excel, and text, perhaps compressed.
    raw = file.read()
    if is_workbook(raw):
        grid = read_workbook(raw, path.name, settings)
        return _table_below_header(grid, path.name, settings)
    text = decode(decompress(raw, path.name), path.name)
    return _read_text_format(text, path.name, settings)


def _read_text_format(text: str, name: str, settings: TableSettings) -> RawTable:
    """A format of genomics that is text, or any other text table."""
    if genomics.is_cls(text):
        return genomics.read_cls(text, name)
    if genomics.is_gct(text):
        return genomics.read_gct(text, name, settings.na)
    if genomics.is_series_matrix(text):
        return genomics.read_series_matrix(text, name, settings.na)
    return _table_below_header(read_text(text, name, settings), name, settings)


def _table_below_header(grid: CellGrid, name: str, settings: TableSettings) -> RawTable:
    """The table of a text or a sheet, whose header may be a sample unless the settings say."""
    return table_from_grid(
        grid,
        name,
        transpose=settings.transpose,
        check_header=settings.header == "auto",
    )


def _read_object(data: Any, label: str | None, settings: TableSettings) -> RawTable:
    """Make a table of an object in memory.

    The object is AnnData, or can become a DataFrame of pandas: a DataFrame of polars, an Arrow
    table, an array.

    If the index of a DataFrame holds names, `index_name` of the table is set, as these names may
    show which rows are of one subject. With `transpose` the index belongs to the features.

    Parameters
    ----------
    data : the object.
    label : the name or the number of the label's column; None if the user named none.
    settings : how to read the table.
    """
    if is_anndata(data):
        return table_from_anndata(data, label, settings)
    if hasattr(data, "to_pandas"):
        frame = data.to_pandas()
    else:
        frame = pd.DataFrame(data)
    names = [str(name) for name in frame]
    grid = CellGrid(names, frame)
    table = table_from_grid(grid, source_name(data), transpose=settings.transpose)
    index_column = named_index(table.values)
    if settings.transpose or index_column is None:
        return table
    return replace(table, index_name=str(index_column.name))
