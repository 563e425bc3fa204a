"""Files as tables: text of any usual kind, Excel, Parquet, `.npz`, and three formats of genomics.

GCT (1.2, 1.3) and CLS: software.broadinstitute.org/cancer/software/gsea/wiki, "Data formats"; GEO series matrix:
ncbi.nlm.nih.gov/geo/info. Encoding, compression, separator, comments above the header and decimal commas are found out.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import re
import warnings
import zipfile
from collections.abc import Sequence
from itertools import chain, count, islice
from typing import IO, Any

import numpy as np
import pandas as pd

from chanceline.errors import InputError
from chanceline.tables.dataset import Finding, TableSettings, quoted

# Names of the columns (None without a header) and the rows below, columns numbered from 0.
Grid = tuple[list[str] | None, pd.DataFrame]

SEPARATORS = (",", ";", "\t", "|")
WHITE_SPACE = r"\s+"
HEAD_LINES = 20  # what separator and decimal sign are found from
# A quoted field: separators and line ends in it do not count.
QUOTED = re.compile(r'(?<![^,;\t|\n ])"[^"]*(?:""[^"]*)*"')
COMMENTS = re.compile(r"(?:#[^\n]*(?:\n|$)|[ \t]*\n)*")
DECIMAL_COMMA = re.compile(r"\s*[<>≤≥]?\s*[+-]?\d*,\d+(?:[eE][+-]?\d+)?\s*")
DATE = re.compile(r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([ T].*)?|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2})([ T].*)?")
THOUSANDS = re.compile(r"\s*[+-]?[1-9]\d{0,2}(?:,\d{3})+\s*")
COLUMNS_AT_ONCE = 4096  # of a Parquet file, so that any number fits into memory
INDEX = "__index_level_0__"  # what pandas calls an index without a name; it comes first here, as in a text file
INEXACT = 2.0**53  # from here on a float does not hold every whole number
LONG_NUMBER = r"[+-]?\d{16,}"  # a whole number that may reach it: an identifier or a class, hardly a measurement
TABLE_BEGIN, TABLE_END = "!series_matrix_table_begin", "!series_matrix_table_end"
GCT = re.compile(r"#1\.[23]\s")
# `samples classes 1`, then `# names`, then a class for every sample.
CLS = re.compile(r"\s*\d+\s+\d+\s+\d+\s*\n#")
# Packages that are installed on demand: their files, and what installs them; without a known ending it is Excel's.
EXTRAS = {".h5ad": ("anndata", "anndata"), ".parquet": ("pyarrow", "parquet"), ".pq": ("pyarrow", "parquet")}
ZIP = b"PK\x03\x04"
UNPACK = {b"\x1f\x8b": gzip.decompress, b"BZh": bz2.decompress, b"\xfd7zXZ": lzma.decompress}
# First bytes of files that hold tables but are not read, and what to do about them.
REFUSED = {
    b"\xd0\xcf\x11\xe0": "is an Excel file of the old kind; save it as .xlsx or CSV.",
    b"\x89HDF": "is an HDF5 file (as .h5 or .mat are); save the table as CSV, Parquet, .npz or .h5ad.",
    b"\x93NUMPY": "holds one array only; save X and y together with numpy.savez as .npz.",
    b"RDX": "is a file of R; save the table with write.csv.",
    b"%PDF": "is a PDF; export the table as CSV or .xlsx.",
}


def decompressed(raw: bytes, name: str) -> bytes:
    """The content of a gzip, bzip2, xz or one-file zip archive, known by its first bytes; anything else as it is."""
    for magic, unpack in UNPACK.items():
        if raw.startswith(magic):
            return unpack(raw)
    if not raw.startswith(ZIP):
        return raw
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        members = archive.namelist()
        if len(members) != 1:
            raise InputError(f"{name} holds {len(members)} files and is no .xlsx; give one table as .xlsx, CSV or .npz.")
        return archive.read(members[0])


def decoded(raw: bytes, name: str) -> str:
    """Text with one kind of line end."""
    for magic, sentence in REFUSED.items():
        if raw.startswith(magic):
            raise InputError(f"{name} {sentence}")
    try:
        text = raw.decode("utf-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    except UnicodeDecodeError:
        text = raw.decode("latin-1")
    if "\x00" in text[:1000]:
        raise InputError(f"{name} is not a text table; give CSV, Parquet (.parquet), Excel (.xlsx) or .npz.")
    if not text or text.isspace():
        raise InputError(f"{name} is empty.")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_text(text: str, name: str, settings: TableSettings) -> Grid:
    """A table with any usual separator."""
    lines = text.count("\n")
    text = _without_comments(text)
    if not text:
        raise InputError(f"{name} holds nothing but comments.")
    head = _head(text)
    separator = _find_separator(head)
    names, begin, above = None, 0, {"none": 0, "2": 2}.get(settings.header, 1)
    for line in head[:above]:
        if len(head) <= above:
            raise InputError(f"{name} has a header but no rows.")
        more = _header(text[begin : begin + len(line)], head[above:], separator)
        names, begin = joined_names(names, more), begin + len(line) + 1
    above += lines - text.count("\n")
    commas = settings.decimal == "," or (settings.decimal is None and _has_decimal_commas(head, separator))
    try:
        table = _read_exactly(
            text[begin:],
            sep=separator,
            header=None,
            names=None if names is None else range(len(names)),
            na_values=list(settings.na),
            decimal="," if commas else ".",
            skipinitialspace=separator != WHITE_SPACE,
            skip_blank_lines=False,
        )
    except pd.errors.ParserError as error:
        found = re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", str(error))
        if found is None:
            raise
        than = "the first row has" if names is None else "the header names"
        row = int(found[2]) + above
        raise InputError(f"row {row} of {name} has {found[3]} fields, but {than} {found[1]}; correct that row.") from None
    table.index += above + 1
    if table.iloc[:, 0].isna().any():
        table = table.dropna(how="all").infer_objects()  # lines without anything
    return names, _with_points(table) if commas else table


def _read_exactly(text: str, **options: Any) -> pd.DataFrame:
    """The text as pandas reads it, but whole numbers that floats would round stay text.

    A gap, or a fraction in another row, makes floats of a column of whole numbers, and then
    12345678901234567 and 12345678901234568 are one.
    """
    table = pd.read_csv(io.StringIO(text), low_memory=False, **options)
    rounded = inexact_columns(table)
    if not rounded:
        return table
    beside = 1 if "index_col" in options else 0  # columns of the file that are no columns of the table
    read_again = {"usecols": [*range(beside), *(beside + place for place in rounded)], "dtype": str}
    as_text = pd.read_csv(io.StringIO(text), low_memory=False, **options | read_again)
    for number, place in enumerate(rounded):
        cells = as_text.iloc[:, number]
        if cells.str.fullmatch(LONG_NUMBER).any():
            table.isetitem(place, cells)
    return table


def inexact_columns(table: pd.DataFrame) -> list[int]:
    """Places of the columns of floats in which different whole numbers may have become one."""
    places = np.flatnonzero([pd.api.types.is_float_dtype(kind) for kind in table.dtypes])
    if len(places) == 0 or len(table) == 0:
        return []
    values = table.iloc[:, places].to_numpy()
    # Gaps do not count in fmax and fmin.
    large = np.fmax(np.fmax.reduce(values), -np.fmin.reduce(values)) >= INEXACT
    sizes = np.abs(values[:, large])
    inexact = (sizes >= INEXACT) & np.isfinite(sizes)
    return places[large][inexact.any(axis=0)].tolist()


def joined_names(upper: list[str] | None, lower: list[str]) -> list[str]:
    """The names of one header line, or of two: `Lipids` above `C16` is `Lipids C16`, also for blank cells right of `Lipids`."""
    if upper is None:
        return lower
    over = pd.Series(upper).str.strip().replace("", None).ffill().fillna("")
    return [f"{above} {below.strip()}".strip() for above, below in zip(over, lower, strict=True)]


def _without_comments(text: str) -> str:
    """The text below lines that begin with `#`; the last of them is the header if it fits numbers below it."""
    body = COMMENTS.sub("", text, count=1)
    above = text[: len(text) - len(body)]
    if above and body:
        header, first = above.rstrip("\n").rpartition("\n")[2].lstrip("# "), _head(body)[0]
        separator = _find_separator([first, header])
        cells = _cells(first, separator)
        if len(_cells(header, separator)) == len(cells) > 1 and 2 * sum(map(is_number, cells)) > len(cells):
            return f"{header}\n{body}"
    return body


def _head(text: str) -> list[str]:
    """The first lines that hold something, quoted fields masked by as many letters, so that places stay the same."""
    lines = "".join(islice(io.StringIO(text), HEAD_LINES))
    return [line for line in QUOTED.sub(lambda found: "Q" * len(found[0]), lines).split("\n") if line.strip()]


def _find_separator(lines: list[str]) -> str:
    """The separator that cuts the lines into the same number (> 1) of fields, most fields first; one line may be shorter."""
    widths = {one: {len(_cells(line, one)) for line in lines} for one in (*SEPARATORS, WHITE_SPACE)}
    fitting = [one for one, found in widths.items() if len(found) <= 2 and min(found) > 1]
    return max(fitting, key=lambda one: (one != WHITE_SPACE, min(widths[one])), default=",")


def _cells(line: str, separator: str) -> list[str]:
    return line.split(None if separator == WHITE_SPACE else separator)


def _header(line: str, below: list[str], separator: str) -> list[str]:
    """A name for every field of the rows, which may have one field more: row names, as R writes them, or a last separator."""
    if separator == WHITE_SPACE:
        names = [field.strip('"') for field in line.split()]
    else:
        names = next(csv.reader(line.splitlines(keepends=True), delimiter=separator, skipinitialspace=True))
    if {len(_cells(one, separator)) for one in below} != {len(names) + 1}:
        return names
    last = [one.rpartition(separator)[2] for one in below]
    return ["row name", *names] if "".join(last).strip() else [*names, ""]


def _has_decimal_commas(lines: list[str], separator: str) -> bool:
    """Whether cells are numbers with a decimal comma; `1,234` alone could mean thousands, but not between semicolons."""
    cells = (cell for line in lines for cell in _cells(line, separator) if DECIMAL_COMMA.fullmatch(cell))
    return separator != "," and any(separator == ";" or not THOUSANDS.fullmatch(cell) for cell in cells)


def _with_points(table: pd.DataFrame) -> pd.DataFrame:
    """Decimal commas in columns that hold other text too, as those of a transposed table with its labels do."""
    for name in table.columns[[not pd.api.types.is_numeric_dtype(kind) for kind in table.dtypes]]:
        cells = table[name].astype("string")
        table[name] = cells.mask(cells.str.fullmatch(DECIMAL_COMMA.pattern).fillna(False), cells.str.replace(",", "."))
    return table


def is_number(text: str) -> bool:
    """Whether the text is a number as Python writes it."""
    try:
        float(text)
    except ValueError:
        return False
    # In Python 309_1 is 3091; in a table it is the first sample of subject 309.
    return "_" not in text


def read_workbook(raw: bytes, name: str, settings: TableSettings) -> Grid:
    """One sheet of an Excel file, empty rows and columns left out."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="openpyxl")  # about styles and extensions, which no table needs
        with pd.ExcelFile(io.BytesIO(raw), engine="openpyxl") as book:
            sheets = [str(sheet) for sheet in book.sheet_names]
            sheet = settings.sheet or sheets[0]
            if sheet not in sheets:
                raise InputError(f"{name} has no sheet {sheet!r}; it has {quoted(sheets)}.")
            grid = pd.read_excel(book, sheet_name=sheet, header=None, dtype=object, na_values=list(settings.na))
    grid.index += 1
    grid = grid.dropna(how="all").dropna(axis=1, how="all")
    if grid.empty:
        raise InputError(f"sheet {sheet!r} of {name} is empty.")
    grid.columns = range(grid.shape[1])
    if settings.header == "none":
        return None, grid.infer_objects()
    lines, names = 2 if settings.header == "2" else 1, None
    for row in range(min(lines, len(grid))):
        names = joined_names(names, ["" if pd.isna(cell) else str(cell) for cell in grid.iloc[row]])
    return names, grid.iloc[lines:].infer_objects()


def read_npz(file: IO[bytes], name: str, transpose: bool) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Arrays X, and y as what is known about the samples."""
    with np.load(file, allow_pickle=False) as archive:
        if "X" not in archive or "y" not in archive:
            raise InputError(f"{name} must hold arrays X and y, but holds {', '.join(archive.files) or 'nothing'}.")
        X, y, names = archive["X"], archive["y"], archive.get("feature_names")
    X = X.T if transpose else X
    if X.ndim != 2 or y.shape != X.shape[:1]:
        remedy = "" if transpose else "; set transpose=True if samples are columns"
        shapes = f"{X.shape} and {y.shape}"
        raise InputError(f"{name} needs X with two dimensions and a y for every row, but has {shapes}{remedy}.")
    columns = [f"x{j}" for j in range(X.shape[1])] if names is None else [str(one) for one in names]
    return pd.DataFrame(X, columns=columns), pd.DataFrame({"label" if "y" in columns else "y": y})


def read_parquet(file: IO[bytes]) -> pd.DataFrame:
    """The columns in the file's order, an index without a name before them."""
    from pyarrow import parquet

    with parquet.ParquetFile(file) as table:
        names = sorted(table.schema_arrow.names, key=lambda name: name != INDEX)
        several = (names[start : start + COLUMNS_AT_ONCE] for start in range(0, len(names), COLUMNS_AT_ONCE))
        parts = [_in_pandas(table.read(columns=some, use_threads=False)) for some in several]
    return pd.concat(parts, axis=1)[names].rename(columns={INDEX: "row name"})


def _in_pandas(part: Any) -> pd.DataFrame:
    """A part of an Arrow table as a DataFrame, long whole numbers beside gaps as they are."""
    from pyarrow import types

    table = part.to_pandas(ignore_metadata=True)
    for place in inexact_columns(table):
        if types.is_integer(part.schema.field(place).type):
            table.isetitem(place, part.column(place).to_pandas(integer_object_nulls=True))
    return table


def read_gct(text: str, name: str, na: Sequence[str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Genes in rows, their names in the first column; and what the file says about the samples."""
    _, size, body = text.split("\n", 2)
    # Rows and samples; version 1.3 also has the number of columns beside the values and of rows above them.
    rows, samples, beside, above = [*map(int, size.split()), 1, 0][:4]
    table = _tab_separated(body, na)
    if table.shape != (rows + above, samples + beside):
        raise InputError(
            f"{name} announces {size.strip()!r} in its second line, but holds {len(table) - above} rows and "
            f"{table.shape[1] - beside} samples; it seems to be cut off."
        )
    values = table.iloc[:, beside:]
    return values.iloc[above:].reset_index(), values.iloc[:above].T


def read_series_matrix(text: str, name: str, na: Sequence[str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Probes in rows, and the `!Sample_…` lines; `disease: tumour` becomes a column `disease`."""
    above, _, rest = text.partition(TABLE_BEGIN)
    body, end, _ = rest.partition(TABLE_END)
    if not end:
        raise InputError(f"{name} has no line {TABLE_END}; it seems to be cut off.")
    table = _tab_separated(body.lstrip("\n"), na)
    if table.empty:
        raise InputError(f"{name} holds no values (GEO keeps those of sequencing studies in other files).")
    about: dict[str, list[str]] = {}
    for line in csv.reader(io.StringIO(above), delimiter="\t"):
        if line and line[0].startswith("!Sample_") and len(line) == table.shape[1] + 1:
            key, cells = line[0].removeprefix("!Sample_"), line[1:]
            named = {cell.partition(": ")[0] for cell in cells if ": " in cell}
            if key.startswith("characteristics") and len(named) == 1:
                key, cells = named.pop(), [cell.partition(": ")[2] for cell in cells]
            about[key if key not in about else f"{key} ({len(about)})"] = cells
    return table.reset_index(), pd.DataFrame(about, index=table.columns)


def _tab_separated(body: str, na: Sequence[str]) -> pd.DataFrame:
    return _read_exactly(body, sep="\t", index_col=0, na_values=list(na))


def read_cls(text: str, name: str) -> list[str]:
    """The class of every sample, in the order of the samples."""
    first, names, *rows = [line for line in text.split("\n") if line.strip()]
    classes, cells = names.removeprefix("#").split(), " ".join(rows).split()
    if len(cells) != int(first.split()[0]):
        raise InputError(f"{name} announces {first.split()[0]} samples, but holds {len(cells)}.")
    if all(cell.isdigit() and int(cell) < len(classes) for cell in cells):
        return [classes[int(cell)] for cell in cells]
    return cells


def is_sample(names: Sequence[str], body: pd.DataFrame) -> bool:
    """Whether a header is made of measured numbers; counted columns (0, 1, 2, …) and numbers of genes are names."""
    numeric = [pd.api.types.is_numeric_dtype(kind) for kind in body.dtypes]
    written = [name.strip() for name, yes in zip(names, numeric, strict=True) if yes and is_number(name)]
    numbers = [float(name) for name in written]
    if not numbers or 2 * len(numbers) < sum(numeric) or (len(numbers) > 1 and np.all(np.diff(numbers) == 1)):
        return False
    words = [(name.strip(), j) for j, name in enumerate(names) if name.strip() and not is_number(name)]
    if not words or len(set(written)) < len(written) or not all(number.is_integer() for number in numbers):
        return True
    return any(name in set(body.iloc[:, j].dropna().astype(str).str.strip()) for name, j in words if not numeric[j])


def unique_names(names: Sequence[str]) -> tuple[list[str], list[Finding]]:
    """The names stripped, blank ones numbered, later ones of equal names marked, and a word about those."""
    unique: dict[str, str] = {}
    for j, name in enumerate(names):
        plain = name.strip() or f"Unnamed: {j}"
        candidates = chain([plain], (f"{plain} ({number})" for number in count(2)))
        unique[next(new for new in candidates if new not in unique)] = plain
    repeated = list(dict.fromkeys(plain for new, plain in unique.items() if new != plain))
    if not repeated:
        return list(unique), []
    message = f"names that occur more than once ({quoted(repeated)}) are told apart: {repeated[0] + ' (2)'!r} and so on."
    return list(unique), [Finding("warning", message)]
