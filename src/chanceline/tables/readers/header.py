"""The names of columns: read from one or two header lines, made unique, and told from a sample."""

from __future__ import annotations

import csv
from collections.abc import Container, Sequence
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
    """The names in a line of the header, one for each field of the rows below it.

    If all rows have one field more than the line has names, a name is added: an empty one at the
    end if the rows end in a separator, else "row name" in front (R writes tables like that).

    Parameters
    ----------
    line : the line as it is in the file.
    rows : some lines below it, with letters in place of quoted fields.
    separator : what separates the fields.
    """
    if separator == WHITE_SPACE:
        names = [name.strip('"') for name in line.split()]
    else:
        lines = line.splitlines(keepends=True)  # several if a quoted name has a line break
        names = next(csv.reader(lines, delimiter=separator, skipinitialspace=True))

    # Is there one name less than every row has fields?
    cells_of_rows = [split_line(row, separator) for row in rows]
    numbers_of_fields = {len(cells) for cells in cells_of_rows}
    one_name_is_missing = numbers_of_fields == {len(names) + 1}
    if not one_name_is_missing:
        return names
    rows_end_in_separator = all(not cells[-1].strip() for cells in cells_of_rows)
    if rows_end_in_separator:
        return [*names, ""]
    return ["row name", *names]


def join_header_lines(lines: list[list[str]]) -> list[str] | None:
    """The names of one header line, or of two; None without a header.

    `Lipids` above `C16` is `Lipids C16`, also for blank cells right of `Lipids`.
    """
    if not lines:
        return None
    names = lines[0]
    for lower_line in lines[1:]:
        names = _join_lines(names, lower_line)
    return names


def _join_lines(upper_line: list[str], lower_line: list[str]) -> list[str]:
    """Every name of the lower line behind the one above it, or behind the last one left of that."""
    joined = []
    upper = ""
    for above, lower in zip(upper_line, lower_line, strict=True):
        upper = above.strip() or upper
        joined.append(f"{upper} {lower.strip()}".strip())
    return joined


def looks_like_sample(names: Sequence[str], body: pd.DataFrame) -> bool:
    """Whether the first line of a file seems to be a sample, and not a header with names.

    Two conditions must hold. At least half of the columns of numbers have a number in the first
    line, too; and these numbers do not just count the columns (1, 2, 3 or 7, 8, 9).

    Besides, there must be a sign that the line holds values: it has no words, a number occurs
    twice, a number has a fraction, or a word also occurs in the column below it.

    Parameters
    ----------
    names : the cells of the first line.
    body : the rows below it, with as many columns as names.
    """
    # The numbers in the line that stand above columns of numbers.
    is_numeric = numeric_columns(body)
    numeric_positions = np.flatnonzero(is_numeric).tolist()
    names_above_numbers = [names[j].strip() for j in numeric_positions]
    number_texts = [name for name in names_above_numbers if is_number(name)]
    numbers = [float(text) for text in number_texts]

    # The two conditions.
    most_are_names = 2 * len(numbers) < len(names_above_numbers)
    if not numbers or most_are_names:
        return False
    differences = np.diff(numbers)
    count_the_columns = len(numbers) > 1 and np.all(differences == 1)
    if count_the_columns:
        return False

    # A line without words, with repeated numbers, or with fractions is no header.
    has_words = any(_is_word(name) for name in names)
    are_repeated = len(set(number_texts)) < len(number_texts)
    have_fractions = not all(number.is_integer() for number in numbers)
    if not has_words or are_repeated or have_fractions:
        return True

    # Words beside different whole numbers may be a header, as genes may have numbers as names. But
    # if a word also occurs in the column below it, it is a value and no name.
    text_positions = np.flatnonzero(~is_numeric).tolist()
    return any(_is_word_of_column(names[j], body.iloc[:, j]) for j in text_positions)


def _is_word(name: str) -> bool:
    """Whether a cell of the header is filled, but with no number."""
    return bool(name.strip()) and not is_number(name)


def _is_word_of_column(name: str, column: pd.Series) -> bool:
    """Whether a cell of the header is a word that also occurs in the column below it."""
    return _is_word(name) and name.strip() in set(column.dropna().astype(str).str.strip())


def unique_names(names: Sequence[str]) -> tuple[list[str], list[Finding]]:
    """Make names of columns unique, and warn if some occurred more than once.

    Returns the new names in the same order, and a list of the warning or nothing.

    Spaces around names are removed. A blank name becomes `Unnamed: 3` (its position from 0), and
    the second of two equal names gets a number: `age (2)`.
    """
    new_names: list[str] = []
    taken_names: set[str] = set()  # the names in `new_names`, for a fast search
    repetitions: list[str] = []  # a name for every time that it occurs again
    for j, name in enumerate(names):
        stripped_name = name.strip() or f"Unnamed: {j}"
        new_name = _free_name(stripped_name, taken_names)
        if new_name != stripped_name:
            repetitions.append(stripped_name)
        new_names.append(new_name)
        taken_names.add(new_name)
    if not repetitions:
        return new_names, []

    repeated_names = list(dict.fromkeys(repetitions))  # each once
    example = f"{repeated_names[0]} (2)"
    finding = Finding.warning(
        f"names that occur more than once ({quoted(repeated_names)}) are told apart: {example!r} "
        "and so on."
    )
    return new_names, [finding]


def _free_name(name: str, taken: Container[str]) -> str:
    """The name, or the first of `name (2)`, `name (3)`, … that is not taken."""
    if name not in taken:
        return name
    numbered = (f"{name} ({number})" for number in count(2))
    return next(candidate for candidate in numbered if candidate not in taken)
