"""How a text table is laid out, found out from its first lines: comments above it, the separator,
the decimal sign.
"""

from __future__ import annotations

import io
import re
from itertools import islice

from chanceline.tables.spelling import is_number

SEPARATORS = (",", ";", "\t", "|")
WHITE_SPACE = r"\s+"  # the separator of columns that are aligned with spaces
HEAD_LINES = 20  # what separator and decimal sign are found from
# A quoted field: separators and line ends in it do not count.
QUOTED_FIELD = re.compile(r'(?<![^,;\t|\n ])"[^"]*(?:""[^"]*)*"')
# Lines with # and blank lines, from the beginning on.
COMMENTS = re.compile(r"(?:#[^\n]*(?:\n|$)|[ \t]*\n)*")
# 0,5 and <1,2e-3: one comma, with digits behind it, and perhaps the sign of a limit.
DECIMAL_COMMA = re.compile(r"\s*[<>≤≥]?\s*[+-]?\d*,\d+(?:[eE][+-]?\d+)?\s*")
# 1,234 and 12,345,678.
THOUSANDS = re.compile(r"\s*[+-]?[1-9]\d{0,2}(?:,\d{3})+\s*")


def without_comments(text: str) -> str:
    """The text below lines that begin with `#`; the last of them is the header if it fits numbers
    below it.
    """
    body = COMMENTS.sub("", text, count=1)
    comments = text[: len(text) - len(body)]
    if not comments or not body:
        return body
    last_comment = comments.rstrip("\n").rpartition("\n")[2].lstrip("# ")
    if _is_header_of(last_comment, head_lines(body)[0]):
        return f"{last_comment}\n{body}"
    return body


def _is_header_of(comment: str, first_row: str) -> bool:
    """Whether a comment has as many fields as the row below it, and most of that are numbers."""
    separator = find_separator([first_row, comment])
    cells = split_line(first_row, separator)
    n_names = len(split_line(comment, separator))
    n_numbers = sum(is_number(cell) for cell in cells)
    return n_names == len(cells) > 1 and 2 * n_numbers > len(cells)


def head_lines(text: str) -> list[str]:
    """The first lines that hold something, quoted fields masked by as many letters, so that
    positions in a line stay the same.
    """
    lines = "".join(islice(io.StringIO(text), HEAD_LINES))
    masked = QUOTED_FIELD.sub(_mask, lines)
    return [line for line in masked.split("\n") if line.strip()]


def _mask(quoted_field: re.Match[str]) -> str:
    return "Q" * len(quoted_field[0])


def split_line(line: str, separator: str) -> list[str]:
    """The cells of a line without quotes."""
    if separator == WHITE_SPACE:
        return line.split()
    return line.split(separator)


def find_separator(lines: list[str]) -> str:
    """The separator that cuts all lines into the same number of fields, at least two.

    A second number of fields may occur, as a header may be shorter than the rows. If several
    separators fit, the one that gives most fields is taken, and white space only if no other fits.
    If none fits, it is a comma.
    """
    n_fields: dict[str, int] = {}  # separator that fits → fewest fields of any line
    for separator in (*SEPARATORS, WHITE_SPACE):
        counts = {len(split_line(line, separator)) for line in lines}
        if len(counts) <= 2 and min(counts) > 1:
            n_fields[separator] = min(counts)
    if not n_fields:
        return ","
    return max(n_fields, key=lambda separator: (separator != WHITE_SPACE, n_fields[separator]))


def has_decimal_commas(lines: list[str], separator: str) -> bool:
    """Whether some cells are numbers with a decimal comma, as `0,5`.

    A cell such as `1,234` may mean 1234, and does not count; but if the separator is a semicolon,
    it does, because semicolons separate cells just where commas are decimal signs.

    Parameters
    ----------
    lines : some lines of the table, with letters in place of quoted fields.
    separator : what separates the cells.
    """
    if separator == ",":
        return False
    for line in lines:
        for cell in split_line(line, separator):
            if DECIMAL_COMMA.fullmatch(cell) is None:
                continue
            could_be_thousands = separator != ";" and THOUSANDS.fullmatch(cell) is not None
            if not could_be_thousands:
                return True
    return False
