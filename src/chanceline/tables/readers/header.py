"""The names of columns: read from one or two header lines, made unique, and told from a sample."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from itertools import count

import numpy as np
import pandas as pd

from chanceline.tables.dataset import Finding
from chanceline.tables.raw_table import numeric_columns
from chanceline.tables.readers.layout import WHITE_SPACE, split_line
from chanceline.tables.spelling import is_number
from chanceline.tables.wording import quoted

# How many lines of the file the setting `header` means; one for every other choice.
LINES_OF_HEADER = {"none": 0, "2": 2}


def n_header_lines(header: str) -> int:
    """How many lines hold names of columns, as the setting `header` says."""
    return LINES_OF_HEADER.get(header, 1)


def names_in_line(line: str, rows: list[str], separator: str) -> list[str]:
    """A name for every field of the rows.

    These may have one field more than the line has names: names of the rows at the beginning, as R
    writes them, or nothing behind a last separator.
    """
    if separator == WHITE_SPACE:
        names = [name.strip('"') for name in line.split()]
    else:
        lines = line.splitlines(keepends=True)
        names = next(csv.reader(lines, delimiter=separator, skipinitialspace=True))
    n_fields = {len(split_line(row, separator)) for row in rows}
    if n_fields != {len(names) + 1}:
        return names
    last_cells = [split_line(row, separator)[-1] for row in rows]
    if "".join(last_cells).strip():
        return ["row name", *names]
    return [*names, ""]


def join_header_lines(lines: list[list[str]]) -> list[str] | None:
    """The names of one header line, or of two; None without a header.

    `Lipids` above `C16` is `Lipids C16`, also for blank cells right of `Lipids`.
    """
    if not lines:
        return None
    names = lines[0]
    for lower_line in lines[1:]:
        names = _below(names, lower_line)
    return names


def _below(upper_line: list[str], lower_line: list[str]) -> list[str]:
    """Every name of the lower line behind the one above it, or behind the last one left of that."""
    joined = []
    upper = ""
    for above, lower in zip(upper_line, lower_line, strict=True):
        upper = above.strip() or upper
        joined.append(f"{upper} {lower.strip()}".strip())
    return joined


def looks_like_sample(names: Sequence[str], body: pd.DataFrame) -> bool:
    """Whether a header is made of measured numbers, as the first sample of a file without a header
    is; counted columns (0, 1, 2, …) and numbers of genes are names.

    Parameters
    ----------
    names : the cells of the first line.
    body : the rows below it, as many columns as names.
    """
    is_numeric = numeric_columns(body).tolist()
    numeric_names = [name for name, numeric in zip(names, is_numeric, strict=True) if numeric]
    numbers_written = [name.strip() for name in numeric_names if is_number(name)]
    numbers = [float(text) for text in numbers_written]
    if not numbers or 2 * len(numbers) < len(numeric_names):
        return False
    are_counted = len(numbers) > 1 and np.all(np.diff(numbers) == 1)
    if are_counted:
        return False

    words = {j: name.strip() for j, name in enumerate(names) if not _is_blank_or_number(name)}
    are_repeated = len(set(numbers_written)) < len(numbers_written)
    are_whole = all(number.is_integer() for number in numbers)
    if not words or are_repeated or not are_whole:
        return True
    # Names of genes may be whole numbers; then a word of the line tells, if it occurs below.
    return any(_occurs(word, body.iloc[:, j]) for j, word in words.items() if not is_numeric[j])


def _is_blank_or_number(name: str) -> bool:
    return not name.strip() or is_number(name)


def _occurs(word: str, column: pd.Series) -> bool:
    return word in set(column.dropna().astype(str).str.strip())


def unique_names(names: Sequence[str]) -> tuple[list[str], list[Finding]]:
    """The names stripped, blank ones numbered, later ones of equal names marked; and a word about
    those.
    """
    original: dict[str, str] = {}  # by unique name
    for j, name in enumerate(names):
        stripped = name.strip() or f"Unnamed: {j}"
        original[_not_in(original, stripped)] = stripped
    repeated = [stripped for unique, stripped in original.items() if unique != stripped]
    repeated = list(dict.fromkeys(repeated))
    if not repeated:
        return list(original), []
    example = f"{repeated[0]} (2)"
    finding = Finding.warning(
        f"names that occur more than once ({quoted(repeated)}) are told apart: {example!r} and so "
        "on."
    )
    return list(original), [finding]


def _not_in(taken: dict[str, str], name: str) -> str:
    """The name, or the first of `name (2)`, `name (3)`, … that is not taken."""
    if name not in taken:
        return name
    numbered = (f"{name} ({number})" for number in count(2))
    return next(candidate for candidate in numbered if candidate not in taken)
