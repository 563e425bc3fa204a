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
    """Name the columns and put samples in rows.

    Parameters
    ----------
    grid : cells; columns are called x0, x1, … where they have no names.
    source : what the grid is called in sentences.
    transpose : whether features stand in rows.
    check_header : stop where the names seem to be a sample.
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
    # A last separator makes a column without a name and without values.
    unnamed = [j for j, name in enumerate(names) if not name.strip()]
    empty = [columns[j] for j in unnamed if cells.iloc[:, j].isna().all()]
    cells.columns = columns
    if empty:
        cells = cells.drop(columns=empty)
    table = transposed_table(cells, source) if transpose else RawTable(cells)
    return replace(table, findings=(*findings, *table.findings))


def transposed_table(table: pd.DataFrame, source: str) -> RawTable:
    """Samples in rows, from a table of shape (features, 1 + samples) with the features' names in
    its first column.

    Columns that are mostly words describe the features and are left out.
    """
    samples = table.iloc[:, 1:]
    numbers = samples.apply(pd.to_numeric, errors="coerce")  # (features, samples)
    is_word = (numbers.isna() & samples.notna()).to_numpy()
    is_description = is_word.mean(axis=0) > MOSTLY_WORDS
    if is_description.all():
        raise InputError(
            f"{source} has no numbers beside its first column, so there is nothing to transpose."
        )
    feature_names = ["" if pd.isna(name) else str(name) for name in table.iloc[:, 0]]
    columns, findings = unique_names(feature_names)
    if is_description.any():
        descriptions = quoted(samples.columns[is_description])
        text_left_out = Finding.note(f"text beside the names of features left out: {descriptions}.")
        findings = [text_left_out, *findings]
        samples = samples.loc[:, ~is_description]
        numbers = numbers.loc[:, ~is_description]
        is_word = is_word[:, ~is_description]

    ids = [str(name) for name in samples.columns]
    transposed = numbers.to_numpy(dtype=float, na_value=np.nan).T  # (samples, features)
    values = pd.DataFrame(transposed, columns=columns, index=ids)
    # Rows of text, and of numbers too long for floats, stay as they are written.
    stays_text = is_word.any(axis=1)
    stays_text[inexact_columns(values)] = True
    for feature in np.flatnonzero(stays_text):
        values[columns[feature]] = samples.iloc[feature].to_numpy()
    return RawTable(values, header_ids=ids, index_name="samples", findings=tuple(findings))
