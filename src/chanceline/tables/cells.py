"""What a cell is: a number, a gap, a value beyond a limit, a genotype, a truth value, a word."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from chanceline._arrays import Floats
from chanceline.tables.raw_table import numeric_columns
from chanceline.tables.spelling import tidy_text

# Cells that mean "missing" to pandas, for cells with spaces around them, and in files of genotypes.
ABSENT = frozenset(
    {
        "", "NA", "N/A", "NaN", "nan", "NULL", "null", "None", "n/a", "<NA>", "#N/A", "./.", ".|.",
    }
)  # fmt: skip
# Words for a value below an unknown limit of detection, in small letters.
UNDETECTED = frozenset(
    {
        "nd", "n.d.", "n.d", "bdl", "bld", "bql", "blq", "bloq", "lod", "loq", "lloq",
        "not detected", "undetected",
    }
)  # fmt: skip
TRUTH_VALUES = {"true": 1.0, "false": 0.0}
# <0.5, ≥ 100, <LOD: the sign, and the limit where one is written.
LIMIT = re.compile(
    r"(?P<sign>[<>≤≥])\s*=?\s*"
    r"(?:(?P<limit>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|[A-Za-z]*LO[DQ])",
    re.IGNORECASE,
)
UPPER_SIGNS = ">≥"
GENOTYPE = re.compile(r"[01][/|][01]")
# A number with something before or behind it: a per cent sign, thousands, a decimal comma.
ALMOST_NUMBER = re.compile(r"[~=<>≤≥]*\s*[+-]?(?:\d[\d,]*\.?\d*|\.\d+|,\d+)(?:[eE][+-]?\d+)?\s*%?")


class CellKind(IntEnum):
    """What is written in a cell."""

    NUMBER = 0
    GAP = 1
    BELOW_LIMIT = 2
    ABOVE_LIMIT = 3
    ALMOST_NUMBER = 4
    WORD = 5
    TRUTH_VALUE = 6


class Cell(NamedTuple):
    """One cell: its kind, and its number (of a value beyond a limit that limit, else NaN)."""

    kind: CellKind
    number: float


@dataclass(frozen=True)
class Cells:
    """The cells of several columns, both arrays of shape (samples, columns).

    Attributes
    ----------
    kinds : a `CellKind` for each.
    numbers : the number, of a value beyond a limit that limit; NaN where none is written.
    """

    kinds: NDArray[np.int64]
    numbers: Floats

    def of_columns(self, is_chosen: NDArray[np.bool_]) -> Cells:
        """Only the columns where `is_chosen`, of shape (columns,), is True."""
        return Cells(self.kinds[:, is_chosen], self.numbers[:, is_chosen])

    def are(self, kind: CellKind) -> NDArray[np.bool_]:
        """Which cells are of this kind."""
        return self.kinds == kind


def read_cells(written_cells: NDArray[Any], na: Collection[str]) -> Cells:
    """Parse cells: find the kind of each (number, gap, word, …) and its number.

    Parameters
    ----------
    written_cells : the cells as they are in the file, of shape (samples, columns).
    na : texts that mean "missing", besides the usual ones (`ABSENT`).
    """
    # Equal cells are parsed once: cell i of the flattened array is different_cells[codes[i]].
    codes, different_cells = pd.factorize(written_cells.ravel())
    texts = [str(cell).strip() for cell in different_cells]
    kinds, numbers = _read_texts(texts, absent_texts=ABSENT | set(na))

    # Cells that pandas takes for missing have the code −1, which is the index of the last entry. So
    # the entry of a gap is appended.
    kind_of_code = np.append(kinds, CellKind.GAP)
    number_of_code = np.append(numbers, np.nan)
    return Cells(
        kinds=kind_of_code[codes].reshape(written_cells.shape),
        numbers=number_of_code[codes].reshape(written_cells.shape),
    )


def _read_texts(texts: Sequence[str], absent_texts: Collection[str]) -> tuple[NDArray[Any], Floats]:
    """The kind (a `CellKind`) and the number of each text, two arrays of shape (texts,).

    The number of a value beyond a limit of detection (`<0.5`) is the limit; it is NaN where none is
    written. Texts in `absent_texts` are gaps.
    """
    # Plain numbers are parsed all at once.
    parsed = pd.to_numeric(pd.Series(texts, dtype=object), errors="coerce")
    numbers = parsed.to_numpy(dtype=float, copy=True)
    is_plain_number = ~np.isnan(numbers)
    kinds = np.full(len(texts), CellKind.NUMBER)

    # Gaps, and texts that are no plain numbers, replace the entries made so far.
    for i, text in enumerate(texts):
        if text in absent_texts:
            kinds[i] = CellKind.GAP
            numbers[i] = np.nan
        elif not is_plain_number[i]:
            cell = _read_cell(text)
            kinds[i] = cell.kind
            numbers[i] = cell.number
    return kinds, numbers


def _read_cell(text: str) -> Cell:
    """The kind and the number of a text that is neither a plain number nor a gap.

    The number of a value beyond a limit of detection is the limit, or NaN if none is written. The
    number of a genotype is its count of variant alleles.
    """
    # `<0.5`, `>100`, `<LOD`.
    beyond_limit = LIMIT.fullmatch(text)
    if beyond_limit is not None:
        is_above = beyond_limit["sign"] in UPPER_SIGNS
        kind = CellKind.ABOVE_LIMIT if is_above else CellKind.BELOW_LIMIT
        limit_text = beyond_limit["limit"]  # None in `<LOD`
        limit = np.nan if limit_text is None else float(limit_text)
        return Cell(kind, limit)

    # `ND`, `0/1`, `TRUE`, `5 %`, or else a word.
    word = text.casefold()
    if word in UNDETECTED:
        return Cell(CellKind.BELOW_LIMIT, np.nan)
    if GENOTYPE.fullmatch(text):
        n_variant_alleles = text.count("1")  # 1 in `0/1`
        return Cell(CellKind.NUMBER, float(n_variant_alleles))
    if word in TRUTH_VALUES:
        return Cell(CellKind.TRUTH_VALUE, TRUTH_VALUES[word])
    if ALMOST_NUMBER.fullmatch(text):
        return Cell(CellKind.ALMOST_NUMBER, np.nan)
    return Cell(CellKind.WORD, np.nan)


def tidy_cells(table: pd.DataFrame, na: Collection[str]) -> pd.DataFrame:
    """A copy of the table with tidy text: without superfluous white space, and with gaps in place
    of empty texts.

    Parameters
    ----------
    table : columns of text and of numbers; only text is changed.
    na : texts that mean "missing", besides the usual ones (`ABSENT`).
    """
    absent_texts = ABSENT | set(na)
    tidied = table.copy(deep=False)
    # Columns are taken by their positions, as two may have the same name.
    for position in np.flatnonzero(~numeric_columns(table)):
        column = table.iloc[:, position]
        # Text → tidy text, or None for a gap.
        replacements = _text_replacements(column, absent_texts)
        if not replacements:
            continue
        cells = [_replaced(cell, replacements) for cell in column]
        tidy_column = pd.Series(cells, index=column.index, dtype=object)
        tidied.isetitem(position, tidy_column)
    return tidied


def _text_replacements(column: pd.Series, absent_texts: Collection[str]) -> dict[str, str | None]:
    """The replacement of each untidy text of a column: the tidied text, or None for a gap.

    Empty texts become gaps, and so does ` NA ` with spaces around it. A plain `NA` stays: where it
    means "missing", pandas has already made it a gap, so that one that is left is meant as text.

    Parameters
    ----------
    column : cells of a column, some or all of which are texts.
    absent_texts : texts that mean "missing".
    """
    replacements: dict[str, str | None] = {}
    for cell in column.dropna().unique():
        if not isinstance(cell, str):
            continue
        text = tidy_text(cell)
        is_untidy = text != cell
        if text == "" or (is_untidy and text in absent_texts):
            replacements[cell] = None
        elif is_untidy:
            replacements[cell] = text
    return replacements


def _replaced(cell: Any, replacements: dict[str, str | None]) -> Any:
    """The replacement of a text, if it has one; else the cell, which need not be hashable."""
    if isinstance(cell, str):
        return replacements.get(cell, cell)
    return cell
