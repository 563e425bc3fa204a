"""How a table is read and what is made of its columns: one frozen object."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from chanceline.errors import InputError

MISSING = ("error", "rows", "columns", "median")
HEADERS = ("auto", "first", "none")
DECIMALS = (None, ".", ",")


@dataclass(frozen=True)
class TableSettings:
    """Settings of `load_data`.

    Attributes
    ----------
    positive : class to set against all others; needed with more than two classes.
    missing : "error", or leave out "rows" or "columns" with gaps, or fill gaps with the column's "median".
    one_hot : turn text columns into indicators instead of leaving them out.
    keep_identifiers : keep columns that look like row numbers or identifiers.
    drop : names of columns to leave out.
    blocks, groups : names of the columns that hold blocks or groups.
    transpose : the file has features in rows and samples in columns, as is usual for genes.
    labels : a second file that holds the label (and perhaps blocks and groups) of every sample.
    id : the column of `labels` with the samples' names; its first column by default.
    header : "none" if the first line is a sample, "first" if it holds names even though they look like numbers.
    decimal : "." or ","; by default found out.
    na : further cells that mean "missing", such as "?" or "<LOD".
    sheet : name of the sheet of an Excel file; the first by default.
    """

    positive: str | None = None
    missing: str = "error"
    one_hot: bool = False
    keep_identifiers: bool = False
    drop: tuple[str, ...] = ()
    blocks: str | None = None
    groups: str | None = None
    transpose: bool = False
    labels: str | Path | None = None
    id: str | None = None
    header: str = "auto"
    decimal: str | None = None
    na: tuple[str, ...] = ()
    sheet: str | None = None

    def __post_init__(self) -> None:
        for name in ("drop", "na"):
            object.__setattr__(self, name, _names(getattr(self, name)))
        _one_of("missing", self.missing, MISSING)
        _one_of("header", self.header, HEADERS)
        _one_of("decimal", self.decimal, DECIMALS)
        if self.id is not None and self.labels is None:
            raise InputError(f"id={self.id!r} names a column of a second file; give that file as labels=FILE.")

    def with_changes(self, changes: dict[str, Any]) -> TableSettings:
        """The same settings but for `changes`."""
        known = {field.name: getattr(self, field.name) for field in fields(self)}
        unknown = sorted(set(changes) - set(known))
        if unknown:
            raise InputError(f"there is no table setting {unknown[0]!r}; there are {', '.join(known)}.")
        return TableSettings(**{**known, **changes})


def _names(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(map(str, given))


def _one_of(name: str, value: object, allowed: Sequence[object]) -> None:
    if value not in allowed:
        raise InputError(f"{name} must be one of {', '.join(repr(one) for one in allowed if one is not None)}, not {value!r}.")
