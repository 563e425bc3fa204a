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
    """Read a GCT file: a table with samples in rows, and descriptions of the samples.

    The first line of the file is its version and the second its sizes; then comes a table between
    tabs, with genes in rows. The columns of that table are the names of the genes, columns that
    describe the genes, and the samples. In version 1.3 its first rows describe the samples.

    Parameters
    ----------
    text : the content of the file.
    name : the name of the file, for error messages.
    na : texts that mean "missing", besides the usual ones.
    """
    _, size_line, body = text.split("\n", 2)
    sizes = [int(number) for number in size_line.split()]
    if len(sizes) == 2:
        # Version 1.2 announces two sizes only: it has one column that describes genes, and no row
        # that describes samples.
        sizes += [1, 0]
    n_genes, n_samples, n_gene_columns, n_sample_rows = sizes[:4]
    table = _read_tab_separated(body, na)
    if table.shape != (n_genes + n_sample_rows, n_samples + n_gene_columns):
        raise InputError(
            f"{name} announces {size_line.strip()!r} in its second line, but holds "
            f"{len(table) - n_sample_rows} rows and {table.shape[1] - n_gene_columns} samples; it "
            "seems to be cut off."
        )
    # The names of the genes are the index, and become the first column.
    samples = table.iloc[:, n_gene_columns:]  # (sample rows + genes, samples)
    genes = samples.iloc[n_sample_rows:].reset_index()  # (genes, 1 + samples)
    descriptions = samples.iloc[:n_sample_rows].T  # (samples, sample rows)
    return _samples_in_rows(genes, descriptions, name)


def read_series_matrix(text: str, name: str, na: Sequence[str]) -> RawTable:
    """Read a GEO series matrix: a table with samples in rows, and descriptions of the samples.

    The file has lines `!Sample_…` that describe the samples, and then a table between tabs, with
    probes (features) in rows.

    Parameters
    ----------
    text : the content of the file.
    name : the name of the file, for error messages.
    na : texts that mean "missing", besides the usual ones.
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
    columns = _sample_columns(sample_lines, n_samples=table.shape[1])  # name → cells
    descriptions = pd.DataFrame(columns, index=table.columns)
    # The names of the probes, which are the index, become the first column.
    probes = table.reset_index()  # (probes, 1 + samples)
    return _samples_in_rows(probes, descriptions, name)


def _sample_columns(text: str, n_samples: int) -> dict[str, list[str]]:
    """The `!Sample_…` lines of a series matrix as columns: the cells of each line, by its name.

    Lines without a cell for each sample are skipped. If a name occurs again, the number of columns
    before it is added to it: `age (7)`.

    Parameters
    ----------
    text : the lines of the file above its table.
    n_samples : the number of samples.
    """
    columns: dict[str, list[str]] = {}
    for line in csv.reader(io.StringIO(text), delimiter="\t"):
        has_all_cells = len(line) == n_samples + 1  # the first cell is the name of the line
        if not has_all_cells or not line[0].startswith(SAMPLE_LINE):
            continue
        key = line[0].removeprefix(SAMPLE_LINE)
        name, cells = _split_characteristics(key, line[1:])
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


def _samples_in_rows(features: pd.DataFrame, descriptions: pd.DataFrame, name: str) -> RawTable:
    """Transpose a table and add the descriptions of its samples.

    `features` has features in rows, and their names in its first column.
    """
    table = transposed_table(features, name)
    return replace(table, descriptions=descriptions.set_index(table.values.index))


def _read_tab_separated(body: str, na: Sequence[str]) -> pd.DataFrame:
    return read_csv_exactly(body, sep="\t", index_col=0, na_values=list(na))


def read_cls(text: str, name: str) -> RawTable:
    """Read a CLS file: its classes as the description `class` of the samples, and no features.

    The first line of the file is `samples classes 1`, the second `#` and the names of the classes.
    Then follows the class of each sample: a name, or a number from 0 that stands for a name.

    Parameters
    ----------
    text : the content of a file with these first two lines (`is_cls`).
    name : the name of the file, for error messages.
    """
    size_line, name_line, *class_lines = [line for line in text.split("\n") if line.strip()]
    n_samples = size_line.split()[0]
    class_names = name_line.removeprefix("#").split()
    cells = " ".join(class_lines).split()
    if len(cells) != int(n_samples):
        raise InputError(f"{name} announces {n_samples} samples, but holds {len(cells)}.")
    n_classes = len(class_names)
    are_class_numbers = all(_is_class_number(cell, n_classes) for cell in cells)
    if are_class_numbers:
        cells = [class_names[int(cell)] for cell in cells]
    no_values = pd.DataFrame(index=range(len(cells)))
    return RawTable(no_values, descriptions=pd.DataFrame({"class": cells}))


def _is_class_number(cell: str, n_classes: int) -> bool:
    """Whether a cell is a whole number from 0 to `n_classes` − 1."""
    return cell.isdigit() and int(cell) < n_classes
