"""Files that name sets of features: a GMT file of gene sets, or a table with the columns set and
feature.

| format | a line |
|---|---|
| GMT, known by the ending `.gmt` | name, description, then the features, between tabs |
| any other text | a header with the columns `set` and `feature`, then one row for each member |
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from chanceline.errors import InputError
from chanceline.tables.readers.encoding import decode, decompress
from chanceline.tables.wording import quoted

GMT_SUFFIX = ".gmt"
GMT_FIELDS_BEFORE_FEATURES = 2  # the name of the set, and its description
SET_COLUMN = "set"
FEATURE_COLUMN = "feature"
# What may stand between the columns of a table, looked for in this order.
TABLE_SEPARATORS = ("\t", ";", ",")

# The name of every set → the names of its features, each once, in the order of the file.
FeatureSets = dict[str, tuple[str, ...]]


def read_feature_sets(path: str | Path) -> FeatureSets:
    """The sets of a file, compressed or not.

    Parameters
    ----------
    path : a GMT file (`.gmt`, `.gmt.gz`), or a text table with the columns `set` and `feature`.
    """
    file = Path(path)
    text = decode(_unpacked(file), file.name)
    is_gmt = GMT_SUFFIX in [suffix.lower() for suffix in file.suffixes]
    if is_gmt:
        return _read_gmt(text, file.name)
    return _read_set_table(text, file.name)


def _unpacked(file: Path) -> bytes:
    """The bytes of a file, unpacked if it is compressed."""
    packed = file.read_bytes()
    try:
        return decompress(packed, file.name)
    except (InputError, MemoryError):
        raise
    except Exception as error:  # whatever the readers of damaged archives raise
        raise InputError(f"{file.name} could not be unpacked; it is damaged.") from error


def _read_gmt(text: str, file_name: str) -> FeatureSets:
    """The sets of a GMT file: each line holds a name, a description and features, between tabs.

    Parameters
    ----------
    text : the content of the file.
    file_name : the name of the file, for error messages.
    """
    sets: FeatureSets = {}
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        fields = [field.strip() for field in line.split("\t")]
        name = fields[0]
        feature_fields = fields[GMT_FIELDS_BEFORE_FEATURES:]
        features = [field for field in feature_fields if field]
        if not name:
            raise InputError(f"line {number} of {file_name} has no name of a set; give it one.")
        if not features:
            raise InputError(
                f"line {number} of {file_name} names the set {name!r} but no features; a line has "
                "a name, a description and the features, between tabs."
            )
        if name in sets:
            raise InputError(
                f"{file_name} has the set {name!r} twice, again in line {number}; give every set "
                "a name of its own."
            )
        sets[name] = tuple(dict.fromkeys(features))  # each feature once, in the order of the line
    return sets


class _Membership(NamedTuple):
    """A row of a table of sets: a set, and a feature of it."""

    set_name: str
    feature: str


def _read_set_table(text: str, file_name: str) -> FeatureSets:
    """The sets of a table with the columns `set` and `feature`.

    Each row names one feature of a set. Rows of the same set need not be neighbours.

    Parameters
    ----------
    text : the content of the file.
    file_name : the name of the file, for error messages.
    """
    features_of_set: dict[str, list[str]] = {}
    for membership in _memberships(text, file_name):
        features_of_set.setdefault(membership.set_name, []).append(membership.feature)
    if not features_of_set:
        raise InputError(f"{file_name} has a header but no rows.")
    # `dict.fromkeys` keeps each feature once, in order.
    return {name: tuple(dict.fromkeys(features)) for name, features in features_of_set.items()}


def _memberships(text: str, file_name: str) -> Iterator[_Membership]:
    """The set and the feature that each row of a table names; empty rows are skipped.

    Parameters
    ----------
    text : a table with the columns `set` and `feature` in its header.
    file_name : the name of the file, for error messages.
    """
    lines = text.strip("\n").split("\n")
    rows = csv.reader(lines, delimiter=_table_separator(lines[0]), skipinitialspace=True)
    header = [name.strip().lower() for name in next(rows)]
    if SET_COLUMN not in header or FEATURE_COLUMN not in header:
        raise InputError(
            f"{file_name} must end in {GMT_SUFFIX} or have the columns {SET_COLUMN!r} and "
            f"{FEATURE_COLUMN!r}; its first line has {quoted(header)}."
        )
    set_position = header.index(SET_COLUMN)
    feature_position = header.index(FEATURE_COLUMN)
    for row in rows:
        if not any(cell.strip() for cell in row):
            continue
        set_name = _cell_at(row, set_position)
        feature = _cell_at(row, feature_position)
        if not set_name or not feature:
            raise InputError(
                f"row {rows.line_num} of {file_name} must name a set and a feature; complete or "
                "remove it."
            )
        yield _Membership(set_name, feature)


def _cell_at(row: list[str], position: int) -> str:
    """The text of a cell; empty where the row is too short."""
    if position >= len(row):
        return ""
    return row[position].strip()


def _table_separator(header: str) -> str:
    """The separator of the columns: the first of the usual separators that the header contains."""
    for separator in TABLE_SEPARATORS:
        if separator in header:
            return separator
    return ","
