"""Tables from files: text of any usual kind, Parquet, Excel, `.npz`, GCT and GEO series matrices.

Whatever the format, the outcome is the same: samples in rows, a name for every column.
"""

from __future__ import annotations

import io
import lzma
import tokenize
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd

from chanceline.errors import InputError
from chanceline.tables.doctor import Finding
from chanceline.tables.genomics import is_gct, is_series_matrix, read_gct, read_series_matrix
from chanceline.tables.names import few, unique_names
from chanceline.tables.parquet import read_parquet
from chanceline.tables.settings import TableSettings
from chanceline.tables.text import decoded, decompressed, is_number, read_grid

# What the readers of damaged files raise; zipfile has RuntimeError for passwords and unknown compressions.
DAMAGED = (OSError, ValueError, EOFError, LookupError, OverflowError, MemoryError, RuntimeError, SyntaxError)
# The header of an array is parsed as Python.
UNREADABLE = (*DAMAGED, tokenize.TokenError, lzma.LZMAError, zipfile.BadZipFile, zlib.error)
# First bytes of files that hold tables but are not read, and what to do about them.
REFUSED = {
    b"\xd0\xcf\x11\xe0": "is an Excel file of the old kind; save it as .xlsx or CSV.",
    b"\x89HDF": "is an HDF5 file (as .h5, .h5ad or .mat are); save the table as CSV, Parquet or .npz.",
    b"\x93NUMPY": "holds one array only; save X and y together with numpy.savez as .npz.",
    b"RDX": "is a file of R; save the table with write.csv.",
    b"%PDF": "is a PDF; export the table as CSV or .xlsx.",
}


@dataclass
class RawTable:
    """A file as it was read: samples in rows.

    Attributes
    ----------
    values : columns that may be features, the label, blocks or groups.
    about : columns that describe the samples and are never features, from a second file or a header.
    ids : names of the samples, where they are no column (in a turned table).
    findings : what was noticed on the way.
    """

    values: pd.DataFrame
    about: pd.DataFrame = field(default_factory=pd.DataFrame)
    ids: list[str] | None = None
    findings: list[Finding] = field(default_factory=list)


def read_table(path: Path, settings: TableSettings | None = None) -> RawTable:
    """The file as a table; one sentence if that is impossible."""
    settings = settings or TableSettings()
    if not path.exists():
        raise InputError(f"there is no file {str(path)!r}.")
    if path.is_dir():
        raise InputError(f"{str(path)!r} is a folder; give a CSV, Parquet, Excel or .npz file.")
    try:
        table = _read(path, settings)
    except UNREADABLE as error:
        if isinstance(error, InputError):
            raise
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise InputError(f"{path.name} could not be read as a table ({reason.rstrip('.')}).") from None
    if len(table.values) == 0:
        raise InputError(f"{path.name} has a header but no rows.")
    return table


def _read(path: Path, settings: TableSettings) -> RawTable:
    if path.suffix in (".npz", ".parquet", ".pq") and not path.is_file():
        raise InputError(f"{path.name} is not a file, and {path.suffix} can be read only from one.")
    if path.suffix == ".npz":
        return RawTable(_read_npz(path, settings))
    if path.suffix in (".parquet", ".pq"):
        table = read_parquet(path)
        return _named([str(name) for name in table.columns], table, path.name, settings)
    raw = path.read_bytes()
    if raw.startswith(b"PK\x03\x04") and _is_workbook(raw, path.name):
        return _from_grid(*_read_workbook(raw, path.name, settings), path.name, settings)
    content = decompressed(raw, path.name)
    for magic, sentence in REFUSED.items():
        if content.startswith(magic):
            raise InputError(f"{path.name} {sentence}")
    text = decoded(content, path.name)
    if is_gct(text):
        values, about = read_gct(text, path.name, settings.na)
    elif is_series_matrix(text):
        values, about = read_series_matrix(text, path.name, settings.na)
    else:
        return _from_grid(*read_grid(text, path.name, settings), path.name, settings)
    columns, findings = unique_names([str(name) for name in values.columns])
    values.columns = columns
    return RawTable(values.reset_index(drop=True), about.reset_index(drop=True), [str(one) for one in values.index], findings)


def _read_npz(path: Path, settings: TableSettings) -> pd.DataFrame:
    with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
        if "X" not in archive or "y" not in archive:
            raise InputError(f"{path.name} must hold arrays X and y, but holds {', '.join(archive.files) or 'nothing'}.")
        X, y = archive["X"], archive["y"]
        names = archive.get("feature_names")
    if settings.transpose:
        X = X.T
    if X.ndim == 2 and y.shape == (X.shape[1],) != (X.shape[0],):
        raise InputError(f"X in {path.name} looks turned ({X.shape} for {len(y)} labels); set transpose=True.")
    if X.ndim != 2 or y.shape != (X.shape[0],):
        raise InputError(f"{path.name} needs X with two dimensions and a y for every row, but has {X.shape} and {y.shape}.")
    if X.dtype.kind not in "biuf":
        raise InputError(f"X in {path.name} must hold numbers, not {X.dtype}.")
    columns = [f"x{j}" for j in range(X.shape[1])] if names is None else [str(name) for name in names]
    if len(columns) != X.shape[1]:
        raise InputError(f"{path.name} has {len(columns)} feature names for {X.shape[1]} columns of X.")
    return pd.DataFrame(X, columns=columns).assign(**{"y" if "y" not in columns else "label": y})


def _is_workbook(raw: bytes, name: str) -> bool:
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        members = archive.namelist()
    if "mimetype" in members and "content.xml" in members:
        raise InputError(f"{name} is an OpenDocument file; save it as .xlsx or CSV.")
    return "xl/workbook.xml" in members


def _read_workbook(raw: bytes, name: str, settings: TableSettings) -> tuple[list[str] | None, pd.DataFrame]:
    try:
        book = pd.ExcelFile(io.BytesIO(raw), engine="openpyxl")
    except ImportError:
        raise InputError("Excel files need openpyxl; install chanceline[excel] or save the table as CSV.") from None
    with book:
        sheets = [str(sheet) for sheet in book.sheet_names]
        if settings.sheet is not None and settings.sheet not in sheets:
            raise InputError(f"{name} has no sheet {settings.sheet!r}; it has {few(sheets)}.")
        grid = pd.read_excel(book, sheet_name=settings.sheet or sheets[0], header=None, dtype=object, na_values=list(settings.na))
    grid = grid.dropna(how="all").dropna(axis=1, how="all").reset_index(drop=True)
    if grid.empty:
        raise InputError(f"sheet {settings.sheet or sheets[0]!r} of {name} is empty.")
    grid.columns = range(grid.shape[1])
    if settings.header == "none":
        return None, grid.infer_objects()
    names = ["" if pd.isna(cell) else str(cell) for cell in grid.iloc[0]]
    return names, grid.iloc[1:].reset_index(drop=True).infer_objects()


def _from_grid(names: list[str] | None, body: pd.DataFrame, source: str, settings: TableSettings) -> RawTable:
    """Name the columns, and stop where the header seems to be a sample."""
    if names is None:
        return _named([f"x{j}" for j in range(body.shape[1])], body, source, settings)
    names = [name.strip() for name in names]
    # A last separator makes a column without a name and without values.
    kept = [j for j in range(body.shape[1]) if names[j] or not body[j].isna().all()]
    names, body = [names[j] for j in kept], body[kept] if len(kept) < body.shape[1] else body
    if settings.header == "auto" and _is_sample(names, body):
        raise InputError(
            f"the first line of {source} looks like a sample, not like names ({few(names, 3)}); "
            "set header='none' if it is one, header='first' if these are names."
        )
    return _named(names, body, source, settings)


def _named(names: list[str], body: pd.DataFrame, source: str, settings: TableSettings) -> RawTable:
    body.columns, findings = unique_names(names)
    table = _arranged(body, source, settings)
    table.findings[:0] = findings
    return table


def _is_sample(names: Sequence[str], body: pd.DataFrame) -> bool:
    """Whether a header is made of measured numbers; counted columns (0, 1, 2, …) and numbers of genes are names."""
    numeric = [pd.api.types.is_numeric_dtype(kind) for kind in body.dtypes]
    numbers = [float(name) for name, yes in zip(names, numeric, strict=True) if yes and is_number(name)]
    if not numbers or 2 * len(numbers) < sum(numeric):
        return False
    if any(not np.isfinite(one) or one != round(one) for one in numbers):
        return True
    if len(numbers) > 1 and all(later == former + 1 for former, later in pairwise(numbers)):
        return False
    words = [(j, name) for j, name in enumerate(names) if name and not is_number(name)]
    if len(set(numbers)) < len(numbers) or not words:
        return True
    return any(name in set(body.iloc[:, j].dropna().astype(str).str.strip()) for j, name in words if not numeric[j])


def _arranged(table: pd.DataFrame, source: str, settings: TableSettings) -> RawTable:
    """Samples in rows."""
    if not settings.transpose:
        return RawTable(table)
    if table.shape[1] < 2:
        raise InputError(f"{source} has one column only, so there is nothing to transpose.")
    findings: list[Finding] = []
    samples = table.iloc[:, 1:]
    numbers = samples.apply(pd.to_numeric, errors="coerce")
    words = (numbers.isna() & samples.notna()).to_numpy()
    described = samples.columns[words.mean(axis=0) > 0.5]
    if len(described) == samples.shape[1]:
        raise InputError(f"{source} holds text rather than numbers beside its first column, so there is nothing to transpose.")
    if len(described):
        findings.append(Finding("note", f"text beside the names of features left out: {few(described)}."))
        kept = ~samples.columns.isin(described)
        samples, numbers, words = samples.loc[:, kept], numbers.loc[:, kept], words[:, kept]
    names = ["" if pd.isna(name) else str(name).strip() for name in table.iloc[:, 0]]
    columns, repeated = unique_names(names)
    values = pd.DataFrame(numbers.to_numpy(dtype=float, na_value=np.nan).T, columns=columns)
    for row in np.flatnonzero(words.any(axis=1)):
        values[columns[row]] = samples.iloc[row].to_numpy()
    return RawTable(values, ids=[str(name) for name in samples.columns], findings=findings + repeated)
