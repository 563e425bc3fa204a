"""Three formats of genomics, all with genes in rows: GCT (1.2, 1.3), GEO series matrix, and CLS with the classes.

GCT and CLS: software.broadinstitute.org/cancer/software/gsea/wiki, "Data formats"; series matrix: ncbi.nlm.nih.gov/geo/info.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

import pandas as pd

from chanceline.errors import InputError

TABLE_BEGIN, TABLE_END = "!series_matrix_table_begin", "!series_matrix_table_end"


def is_gct(text: str) -> bool:
    return text.startswith(("#1.2\n", "#1.3\n", "#1.2\t", "#1.3\t"))


def is_series_matrix(text: str) -> bool:
    return text.startswith("!") and TABLE_BEGIN in text


def is_cls(text: str) -> bool:
    """Whether the text is a CLS file: `samples classes 1`, then `# names`, then a class for every sample."""
    first, _, rest = text.partition("\n")
    numbers = first.split()
    return len(numbers) == 3 and all(number.isdigit() for number in numbers) and rest.startswith("#")


def read_gct(text: str, name: str, na: Sequence[str] = ()) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Values (samples × genes, the index holds the samples' names) and what the file says about the samples."""
    version, size, body = text.split("\n", 2)
    sizes = [int(one) for one in size.split() if one.isdigit()]
    table = _turned_table(body, name, na)
    beside, above = 1, 0
    if version.startswith("#1.3"):
        if len(sizes) != 4:
            raise InputError(f"{name} is a GCT file of version 1.3, but its second line does not hold four numbers.")
        beside, above = sizes[2], sizes[3]
    if len(sizes) < 2 or len(table) != sizes[0] + above or table.shape[1] != sizes[1] + beside:
        raise InputError(
            f"{name} announces {size.strip()!r} in its second line, but holds {len(table) - above} rows and "
            f"{table.shape[1] - beside} samples; it seems to be cut off."
        )
    samples = table.iloc[:, beside:]
    return _numbers(samples.iloc[above:], name).T, samples.iloc[:above].T


def read_series_matrix(text: str, name: str, na: Sequence[str] = ()) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Values (samples × probes) and the `!Sample_…` lines; `disease: tumour` becomes a column `disease`."""
    above, _, rest = text.partition(TABLE_BEGIN)
    body, end, _ = rest.partition(TABLE_END)
    if not end:
        raise InputError(f"{name} has no line {TABLE_END}; it seems to be cut off.")
    table = _turned_table(body.lstrip("\n"), name, na)
    if len(table) == 0:
        raise InputError(f"{name} holds no values (GEO keeps those of sequencing studies in other files).")
    about: dict[str, list[str]] = {}
    for key, *cells in csv.reader(io.StringIO(above), delimiter="\t"):
        if not key.startswith("!Sample_") or len(cells) != table.shape[1]:
            continue
        name_of_line, cells = _characteristic(key.removeprefix("!Sample_"), cells)
        while name_of_line in about:
            name_of_line += " (2)"
        about[name_of_line] = cells
    return _numbers(table, name).T, pd.DataFrame(about, index=table.columns)


def read_cls(text: str, name: str) -> list[str]:
    """The class of every sample, in the order of the samples."""
    first, names, *rows = [line for line in text.split("\n") if line.strip()]
    classes, cells = names.removeprefix("#").split(), " ".join(rows).split()
    if len(cells) != int(first.split()[0]):
        raise InputError(f"{name} announces {first.split()[0]} samples, but holds {len(cells)}.")
    if all(cell.isdigit() and int(cell) < len(classes) for cell in cells):
        return [classes[int(cell)] for cell in cells]
    return cells


def _characteristic(key: str, cells: Sequence[str]) -> tuple[str, list[str]]:
    """`characteristics_ch1` with cells `age: 61` is a column `age`."""
    keys = {cell.partition(": ")[0] for cell in cells if ": " in cell}
    if key.startswith("characteristics") and len(keys) == 1:
        return keys.pop(), [cell.partition(": ")[2] for cell in cells]
    return key, list(cells)


def _turned_table(body: str, name: str, na: Sequence[str]) -> pd.DataFrame:
    """Tab-separated text, the first column as index; cells stay as they are where a column is not all numbers."""
    table = pd.read_csv(io.StringIO(body), sep="\t", index_col=0, low_memory=False, na_values=list(na))
    if table.shape[1] == 0:
        raise InputError(f"{name} holds no samples.")
    return table


def _numbers(table: pd.DataFrame, name: str) -> pd.DataFrame:
    numbers = table.apply(pd.to_numeric, errors="coerce")
    odd = (numbers.isna() & table.notna()).to_numpy()
    if odd.any():
        row, column = (int(place[0]) for place in odd.nonzero())
        raise InputError(
            f"{name} holds {table.iloc[row, column]!r} for {table.index[row]!r} in sample {str(table.columns[column])!r}; "
            f"set na={str(table.iloc[row, column])!r} if that means missing."
        )
    return numbers.astype(float)
