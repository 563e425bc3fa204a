"""Tables from files: CSV with any usual separator, compressed or not, Parquet and `.npz`."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from chanceline.errors import InputError

COMPRESSED = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\xfd7zXZ": "xz", b"PK\x03\x04": "zip"}
UNREADABLE = (OSError, ValueError, EOFError, lzma.LZMAError, zipfile.BadZipFile, zlib.error)


def read_table(path: Path) -> pd.DataFrame:
    """The file as a table with stripped column names."""
    if not path.exists():
        raise InputError(f"there is no file {str(path)!r}.")
    if path.is_dir():
        raise InputError(f"{str(path)!r} is a folder; give a CSV, Parquet or .npz file.")
    try:
        if path.suffix == ".npz":
            table = _read_npz(path)
        elif path.suffix in (".parquet", ".pq"):
            table = pd.read_parquet(path)
        else:
            table = _read_text(path)
    except ImportError:
        raise InputError("Parquet files need pyarrow; install chanceline[parquet] or save the table as CSV.") from None
    except UNREADABLE as error:
        if isinstance(error, InputError):
            raise
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise InputError(f"{path.name} could not be read as a table ({reason.rstrip('.')}).") from None
    table.columns = [str(name).strip() for name in table.columns]
    repeated = table.columns[table.columns.duplicated()]
    if len(repeated):
        raise InputError(f"{path.name} has two columns named {repeated[0]!r}; names must differ.")
    if len(table) == 0:
        raise InputError(f"{path.name} has a header but no rows.")
    return table


def _read_npz(path: Path) -> pd.DataFrame:
    with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
        if "X" not in archive or "y" not in archive:
            raise InputError(f"{path.name} must hold arrays X and y, but holds {', '.join(archive.files) or 'nothing'}.")
        X, y = archive["X"], archive["y"]
        names = archive.get("feature_names")
    if X.ndim != 2 or y.shape != (X.shape[0],):
        raise InputError(f"{path.name} needs X with two dimensions and one y a row, but has {X.shape} and {y.shape}.")
    columns = [f"x{j}" for j in range(X.shape[1])] if names is None else [str(name) for name in names]
    if len(columns) != X.shape[1]:
        raise InputError(f"{path.name} has {len(columns)} feature names for {X.shape[1]} columns of X.")
    return pd.DataFrame(X, columns=columns).assign(**{"y" if "y" not in columns else "label": y})


def _read_text(path: Path) -> pd.DataFrame:
    raw = path.read_bytes()
    compression = next((name for magic, name in COMPRESSED.items() if raw.startswith(magic)), None)
    if compression == "zip":
        with zipfile.ZipFile(path) as archive:
            if len(archive.namelist()) != 1:
                raise InputError(f"{path.name} must hold exactly one file, but holds {len(archive.namelist())}.")
            raw = archive.read(archive.namelist()[0])
    elif compression is not None:
        raw = {"gzip": gzip, "bz2": bz2, "xz": lzma}[compression].decompress(raw)
    text = _decode(raw)
    if not text.strip():
        raise InputError(f"{path.name} is empty.")
    if "\x00" in text[:1000]:
        raise InputError(f"{path.name} is not a text table; give CSV, Parquet (.parquet) or .npz.")
    separator = _separator(text)
    options: dict[str, Any] = {"sep": separator, "skipinitialspace": True, "low_memory": False}
    if separator == r"\s+":
        options.pop("skipinitialspace")
    if _ends_rows_with(text, separator):
        options["index_col"] = False
    table = pd.read_csv(io.StringIO(text), **options)
    if separator == ";" and _has_decimal_commas(table):
        table = pd.read_csv(io.StringIO(text), decimal=",", **options)
    if not isinstance(table.index, pd.RangeIndex):
        # One field more in the rows than in the header, as R writes row names.
        table = table.reset_index().rename(columns={"index": "row name", "level_0": "row name"})
    # A trailing separator makes a last column without a name and without values.
    return table.loc[:, [not (str(c).startswith("Unnamed:") and table[c].isna().all()) for c in table.columns]]


def _decode(raw: bytes) -> str:
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return raw.decode("utf-16")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def _separator(text: str) -> str:
    """The separator that cuts the first lines into the same number (> 1) of fields, most fields first."""
    lines = [line for line in text.splitlines()[:20] if line.strip()]
    best, most = None, 1
    for separator in (",", ";", "\t", "|"):
        widths = {len(row) for row in csv.reader(lines, delimiter=separator)}
        if len(widths) <= 2 and min(widths) > most:
            best, most = separator, min(widths)
    if best is not None:
        return best
    words = {len(line.split()) for line in lines}
    return r"\s+" if len(words) <= 2 and min(words) > 1 else ","


def _ends_rows_with(text: str, separator: str) -> bool:
    """Whether rows, but not the header, end in a separator; the first column would be taken for row names."""
    if len(separator) > 1:
        return False
    header, *rows = csv.reader([line for line in text.splitlines()[:20] if line.strip()], delimiter=separator)
    return bool(rows) and all(len(row) == len(header) + 1 and not row[-1].strip() for row in rows)


def _has_decimal_commas(table: pd.DataFrame) -> bool:
    text = table.select_dtypes(include=["object", "string"])
    return any(text[name].dropna().astype(str).str.fullmatch(r"\s*-?\d*,\d+\s*").any() for name in text)
