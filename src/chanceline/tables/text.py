"""Tables of text: encoding, compression, comments, separator, header and decimal comma are found out."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import re
import zipfile
from typing import Any

import pandas as pd

from chanceline.errors import InputError
from chanceline.tables.settings import TableSettings

SEPARATORS = (",", ";", "\t", "|")
WHITE_SPACE = r"\s+"
# What the separator is guessed from: this many lines, or two if they are longer than all that text together.
HEAD_LINES, HEAD_CHARACTERS = 20, 1_000_000
# A quoted field: separators and line ends in it do not count.
QUOTED = re.compile(r'(?<![^,;\t|\n ])"[^"]*(?:""[^"]*)*"')
DECIMAL_COMMA = re.compile(r"\s*[+-]?\d*,\d+(?:[eE][+-]?\d+)?\s*")
THOUSANDS = re.compile(r"\s*[+-]?[1-9]\d{0,2}(?:,\d{3})+\s*")


def decompressed(raw: bytes, name: str) -> bytes:
    """The content of a gzip, bzip2, xz or one-file zip archive, known by its first bytes; anything else as it is."""
    if raw.startswith(b"\x1f\x8b"):
        return gzip.decompress(raw)
    if raw.startswith(b"BZh"):
        return bz2.decompress(raw)
    if raw.startswith(b"\xfd7zXZ"):
        return lzma.decompress(raw)
    if raw.startswith(b"PK\x03\x04"):
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            if len(archive.namelist()) != 1:
                raise InputError(f"{name} must hold exactly one file, but holds {len(archive.namelist())}.")
            return archive.read(archive.namelist()[0])
    return raw


def decoded(raw: bytes, name: str) -> str:
    """Text with one kind of line end."""
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        text = raw.decode("utf-16")
    else:
        try:
            text = raw.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = raw.decode("latin-1")
    if "\x00" in text[:1000]:
        raise InputError(f"{name} is not a text table; give CSV, Parquet (.parquet), Excel (.xlsx) or .npz.")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not text or text.isspace():
        raise InputError(f"{name} is empty.")
    return text


def read_grid(text: str, name: str, settings: TableSettings) -> tuple[list[str] | None, pd.DataFrame]:
    """Names of the columns (None without a header) and the rows below, columns numbered from 0."""
    text = without_comments(text)
    if not text or text.isspace():
        raise InputError(f"{name} holds nothing but comments.")
    head = _head(text)
    lines = [line for line in head.split("\n") if line.strip()]
    separator = find_separator(lines)
    begin = len(text) - len(text.lstrip("\n"))
    names = None
    if settings.header != "none":
        end = head.find("\n", begin)
        end = len(text) if end < 0 else end
        names = _fields(text[begin:end], separator)
        begin = end + 1
        names = _fit_names(names, [_width(line, separator) for line in lines[1:]], _last_fields(lines[1:], separator))
    options: dict[str, Any] = {
        "sep": separator,
        "header": None,
        "low_memory": False,
        "na_values": list(settings.na),
        "decimal": settings.decimal or ".",
    }
    if separator != WHITE_SPACE:
        options["skipinitialspace"] = True
    if names is not None:
        options["names"] = range(len(names))
        if re.compile(r"\S").search(text, begin) is None:
            raise InputError(f"{name} has a header but no rows.")

    def rows(**changes: Any) -> pd.DataFrame:
        source = io.StringIO(text)
        source.seek(begin)
        try:
            return pd.read_csv(source, **{**options, **changes})
        except pd.errors.ParserError as error:
            raise _ragged(error, name, names is not None) from None

    table = rows()
    commas = settings.decimal == ","
    if settings.decimal is None and separator != "," and has_decimal_commas(table, certain=separator == ";"):
        commas, table = True, rows(decimal=",")
    return names, _with_points(table) if commas else table


def without_comments(text: str) -> str:
    """The text without lines that begin with `#`, except for a header or a row that does."""
    if not text.startswith("#") and "\n#" not in text:
        return text
    lines = text.split("\n")
    first = next((i for i, line in enumerate(lines) if line.strip() and not line.startswith("#")), len(lines))
    body = [line for line in lines[first:] if line.strip()]
    separator = find_separator([QUOTED.sub("Q", line) for line in body[:HEAD_LINES]] or [""])
    above = lines[:first]
    width = _width(QUOTED.sub("Q", body[0]), separator) if body else 0
    header = []
    if body and above and _width(above[-1], separator) == width > 1 and _mostly_numbers(_fields(body[0], separator)):
        header = [above[-1].lstrip("# ")]
    kept = [line for line in lines[first:] if not line.startswith("#") or _width(QUOTED.sub("Q", line), separator) == width > 1]
    return "\n".join(header + kept)


def find_separator(lines: list[str]) -> str:
    """The separator that cuts the lines (quoted fields masked) into the same number (> 1) of fields, most fields first."""
    best, most = None, 1
    for separator in SEPARATORS:
        widths = {_width(line, separator) for line in lines}
        if len(widths) <= 2 and min(widths) > most:
            best, most = separator, min(widths)
    if best is not None:
        return best
    words = {_width(line, WHITE_SPACE) for line in lines}
    return WHITE_SPACE if len(words) <= 2 and min(words) > 1 else ","


def has_decimal_commas(table: pd.DataFrame, certain: bool) -> bool:
    """Whether cells are numbers with a decimal comma; `1,234` alone could mean thousands and is no proof unless `certain`."""
    for name in table.columns:
        if pd.api.types.is_numeric_dtype(table[name]):
            continue
        cells = table[name].dropna().astype(str)
        commas = cells[cells.str.fullmatch(DECIMAL_COMMA.pattern)]
        if len(commas) and (certain or not commas.str.fullmatch(THOUSANDS.pattern).all()):
            return True
    return False


def _with_points(table: pd.DataFrame) -> pd.DataFrame:
    """Decimal commas in columns that hold other text too, as those of a turned table with its labels do."""
    for name in table.columns[[not pd.api.types.is_numeric_dtype(kind) for kind in table.dtypes]]:
        cells = table[name].astype("string")
        table[name] = cells.mask(cells.str.fullmatch(DECIMAL_COMMA.pattern).fillna(False), cells.str.replace(",", "."))
    return table


def _ragged(error: pd.errors.ParserError, name: str, header: bool) -> InputError:
    found = re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", str(error))
    if found is None:
        return InputError(f"{name} could not be read as a table ({str(error).strip().rstrip('.')}).")
    than = "the header names" if header else "the first row has"
    return InputError(f"row {found[2]} of {name} has {found[3]} fields, but {than} {found[1]}; mend that row.")


def _head(text: str) -> str:
    """The first lines, quoted fields masked by as many letters, so that places stay the same."""
    end = 0
    for count in range(HEAD_LINES + 1):
        if count > 2 and end > HEAD_CHARACTERS:
            break
        following = text.find("\n", end)
        if following < 0:
            end = len(text)
            break
        end = following + 1
    return QUOTED.sub(lambda found: "Q" * len(found[0]), text[:end])


def _width(line: str, separator: str) -> int:
    return len(line.split()) if separator == WHITE_SPACE else line.count(separator) + 1


def _last_fields(lines: list[str], separator: str) -> list[str]:
    return [] if separator == WHITE_SPACE else [line.rpartition(separator)[2] for line in lines]


def _fields(line: str, separator: str) -> list[str]:
    if separator == WHITE_SPACE:
        return [field.strip('"') for field in line.split()]
    try:
        return next(csv.reader(line.splitlines(keepends=True), delimiter=separator, skipinitialspace=True))
    except csv.Error as error:
        raise InputError(f"the header could not be cut into names ({error}).") from None


def _mostly_numbers(fields: list[str]) -> bool:
    return sum(is_number(field) for field in fields) > len(fields) / 2


def is_number(text: str) -> bool:
    """Whether the text is a number as Python writes it."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def _fit_names(names: list[str], widths: list[int], last: list[str]) -> list[str]:
    """A name for every field of the rows, which may have one field more: row names, as R writes them, or a last separator."""
    if widths and min(widths) == max(widths) == len(names) + 1:
        return [*names, ""] if last and not any(field.strip() for field in last) else ["row name", *names]
    return names
