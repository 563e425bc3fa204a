"""Names, rows and numbers as they stand in a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def quoted(names: Sequence[Any], at_most: int = 4) -> str:
    """The first names in quotes, and how many more there are."""
    shown = ", ".join(repr(str(name)) for name in names[:at_most])
    n_hidden = len(names) - at_most
    if n_hidden > 0:
        return f"{shown} and {n_hidden} more"
    return shown


def row_name(row_labels: Sequence[Any], row: int) -> str:
    """A row as the user's program shows it: a name of a sample, or the number of a line."""
    label = row_labels[row]
    if isinstance(label, str):
        return f"sample {label!r}"
    return f"row {label}"


def plural(number: int, noun: str) -> str:
    """A number with its noun: `1 row`, `2 rows`."""
    if number == 1:
        return f"{number} {noun}"
    return f"{number} {noun}s"
