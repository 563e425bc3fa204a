"""Three formats of genomics: GCT (1.2, 1.3), CLS and GEO's series matrix.

GCT and CLS: software.broadinstitute.org/cancer/software/gsea/wiki, "Data formats"; GEO series
matrix: ncbi.nlm.nih.gov/geo/info. All have features in rows.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from chanceline.errors import InputError
from chanceline.tables.raw_table import RawTable
from chanceline.tables.readers.exact import read_csv_exactly
from chanceline.tables.readers.grid import transposed_table

GCT = re.compile(r"#1\.[23]\s")
# `samples classes 1`, then `# names`, then a class for every sample.
CLS = re.compile(r"\s*\d+\s+\d+\s+\d+\s*\n#")
TABLE_BEGIN = "!series_matrix_table_begin"
TABLE_END = "!series_matrix_table_end"
SAMPLE_LINE = "!Sample_"
CHARACTERISTICS = "characteristics"  # whose cells are `disease: tumour`


def is_gct(text: str) -> bool:
    return GCT.match(text) is not None


def is_cls(text: str) -> bool:
    return CLS.match(text) is not None


def is_series_matrix(text: str) -> bool:
    return text.startswith("!") and TABLE_BEGIN in text


def read_gct(text: str, name: str, na: Sequence[str]) -> RawTable:
    """The table of a GCT file with samples in rows, and what the file says about them.

    The file has genes in rows, their names in the first column. Its second line announces the
    sizes. Between the names and the values there are columns that describe the genes; above the
    values there are, in version 1.3, rows that describe the samples.
    """
    _, size_line, body = text.split("\n", 2)
    announced = [int(number) for number in size_line.split()]
    if len(announced) == 2:
        # Version 1.2 has one column that describes genes, and no row about samples.
        announced += [1, 0]
    n_genes, n_samples, n_gene_columns, n_sample_rows = announced[:4]
    table = _read_tab_separated(body, na)
    if table.shape != (n_genes + n_sample_rows, n_samples + n_gene_columns):
        raise InputError(
            f"{name} announces {size_line.strip()!r} in its second line, but holds "
            f"{len(table) - n_sample_rows} rows and {table.shape[1] - n_gene_columns} samples; it "
            "seems to be cut off."
        )
    samples = table.iloc[:, n_gene_columns:]
    genes = samples.iloc[n_sample_rows:].reset_index()
    return _samples_in_rows(genes, about=samples.iloc[:n_sample_rows].T, name=name)


def read_series_matrix(text: str, name: str, na: Sequence[str]) -> RawTable:
    """The table of a GEO series matrix with samples in rows, and what its `!Sample_…` lines say
    about them. The file has probes in rows.
    """
    sample_lines, _, below = text.partition(TABLE_BEGIN)
    table_text, end_line, _ = below.partition(TABLE_END)
    if not end_line:
        raise InputError(f"{name} has no line {TABLE_END}; it seems to be cut off.")
    table = _read_tab_separated(table_text.lstrip("\n"), na)  # (probes, samples)
    if table.empty:
        raise InputError(
            f"{name} holds no values (GEO keeps those of sequencing studies in other files)."
        )
    columns = _sample_columns(sample_lines, n_samples=table.shape[1])
    about_samples = pd.DataFrame(columns, index=table.columns)
    # The names of the probes, which are the index, become the first column.
    return _samples_in_rows(table.reset_index(), about=about_samples, name=name)


def _sample_columns(text: str, n_samples: int) -> dict[str, list[str]]:
    """The cells of every `!Sample_…` line that has one for each sample, by the line's name.

    A name that is taken already gets the number of columns before it behind it: `age (7)`.
    """
    columns: dict[str, list[str]] = {}
    for line in csv.reader(io.StringIO(text), delimiter="\t"):
        has_all_cells = len(line) == n_samples + 1
        if not has_all_cells or not line[0].startswith(SAMPLE_LINE):
            continue
        name, cells = _split_characteristics(line[0].removeprefix(SAMPLE_LINE), line[1:])
        if name in columns:
            name = f"{name} ({len(columns)})"
        columns[name] = cells
    return columns


def _split_characteristics(key: str, cells: list[str]) -> tuple[str, list[str]]:
    """The name and cells of a line; `characteristics_ch1` with `disease: tumour` becomes `disease`
    with `tumour`.
    """
    names = {cell.partition(": ")[0] for cell in cells if ": " in cell}
    if not key.startswith(CHARACTERISTICS) or len(names) != 1:
        return key, cells
    return names.pop(), [cell.partition(": ")[2] for cell in cells]


def _samples_in_rows(features: pd.DataFrame, about: pd.DataFrame, name: str) -> RawTable:
    """The table turned round, and what is known about the samples beside it; `features` has
    features in rows, and their names in its first column.
    """
    table = transposed_table(features, name)
    return replace(table, about=about.set_index(table.values.index))


def _read_tab_separated(body: str, na: Sequence[str]) -> pd.DataFrame:
    return read_csv_exactly(body, sep="\t", index_col=0, na_values=list(na))


def read_cls(text: str, name: str) -> RawTable:
    """The classes of a CLS file as what is known about the samples, without any features."""
    # A text is taken for CLS only if it has the first two of these lines (`is_cls`).
    size_line, name_line, *class_lines = [line for line in text.split("\n") if line.strip()]
    n_samples = size_line.split()[0]
    class_names = name_line.removeprefix("#").split()
    cells = " ".join(class_lines).split()
    if len(cells) != int(n_samples):
        raise InputError(f"{name} announces {n_samples} samples, but holds {len(cells)}.")
    are_numbers = all(cell.isdigit() and int(cell) < len(class_names) for cell in cells)
    if are_numbers:
        cells = [class_names[int(cell)] for cell in cells]
    no_values = pd.DataFrame(index=range(len(cells)))
    return RawTable(no_values, about=pd.DataFrame({"class": cells}))
