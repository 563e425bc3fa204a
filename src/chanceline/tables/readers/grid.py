"""From a grid of cells to a table with named columns and samples in rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from chanceline.errors import InputError
from chanceline.tables.dataset import Finding
from chanceline.tables.raw_table import RawTable
from chanceline.tables.readers.exact import inexact_columns
from chanceline.tables.readers.header import looks_like_sample, unique_names
from chanceline.tables.wording import quoted

MOSTLY_WORDS = 0.5  # a column of a transposed table with a larger share of words is no sample


@dataclass(frozen=True)
class CellGrid:
    """Cells below a header.

    Attributes
    ----------
    names : of the columns; None without a header.
    cells : the rows, as many columns as names.
    """

    names: list[str] | None
    cells: pd.DataFrame


def table_from_grid(
    grid: CellGrid, source: str, *, transpose: bool, check_header: bool = False
) -> RawTable:
    """Turn a grid of cells into a table with named columns and samples in rows.

    Parameters
    ----------
    grid : cells and the names of their columns; without names they are called x0, x1, …
    source : the name of the grid, for messages.
    transpose : whether the grid has features in rows.
    check_header : whether to raise an error if the names look like a sample, not like names.
    """
    cells = grid.cells.copy(deep=False)
    names = grid.names
    if names is None:
        names = [f"x{j}" for j in range(cells.shape[1])]
    elif check_header and looks_like_sample(names, cells):
        raise InputError(
            f"the first line of {source} looks like a sample, not like names ({quoted(names, 3)}); "
            "set header='none' if it is one, header='first' if these are names."
        )
    columns, findings = unique_names(names)
    cells.columns = columns

    # A separator at the end of every line makes a column without a name and without values, which
    # is left out.
    is_unnamed = [not name.strip() for name in names]
    unnamed_columns = cells.columns[is_unnamed]
    empty_columns = [column for column in unnamed_columns if cells[column].isna().all()]
    if empty_columns:
        cells = cells.drop(columns=empty_columns)

    if transpose:
        table = transposed_table(cells, source)
    else:
        table = RawTable(cells)
    return replace(table, findings=(*findings, *table.findings))


def transposed_table(table: pd.DataFrame, source: str) -> RawTable:
    """Turn a table with features in rows into one with samples in rows.

    Columns that are mostly words are taken to describe the features and left out. Features with
    words stay text, all others become numbers.

    Parameters
    ----------
    table : a table of shape (features, 1 + columns): the names of the features, then the samples,
        perhaps among columns that describe the features.
    source : the name of the table, for messages.
    """
    # The names of the features. Repeated names are changed, as columns need different names.
    first_column = table.iloc[:, 0]
    written_names = ["" if pd.isna(name) else str(name) for name in first_column]
    feature_names, findings = unique_names(written_names)

    # The cells, all of shape (features, samples) until they are transposed.
    written_cells = table.iloc[:, 1:]  # as they are in the file
    numbers = written_cells.apply(pd.to_numeric, errors="coerce")  # NaN for words and gaps
    is_word = (numbers.isna() & written_cells.notna()).to_numpy()

    # Leave out the columns that describe the features: they are no samples.
    is_description = is_word.mean(axis=0) > MOSTLY_WORDS
    if is_description.all():
        raise InputError(
            f"{source} has no numbers beside its first column, so there is nothing to transpose."
        )
    if is_description.any():
        descriptions = quoted(written_cells.columns[is_description])
        note = Finding.note(f"text beside the names of features left out: {descriptions}.")
        findings = [note, *findings]
        written_cells = written_cells.loc[:, ~is_description]
        numbers = numbers.loc[:, ~is_description]
        is_word = is_word[:, ~is_description]

    # Transpose the numbers: from here on samples are rows, and features are columns.
    sample_names = [str(name) for name in written_cells.columns]
    transposed = numbers.to_numpy(dtype=float, na_value=np.nan).T  # (samples, features)
    values = pd.DataFrame(transposed, columns=feature_names, index=sample_names)

    # Features with words, or with numbers that floats would round, stay as they are written. The
    # columns of `values` are in the order of the rows of `written_cells`.
    stays_as_written = np.any(is_word, axis=1)  # (features,)
    stays_as_written[inexact_columns(values)] = True
    for position in np.flatnonzero(stays_as_written):
        name = feature_names[position]
        values[name] = written_cells.iloc[position].to_numpy()
    return RawTable(values, header_ids=sample_names, index_name="samples", findings=tuple(findings))
