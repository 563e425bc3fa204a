"""The settings with which a table is read.

The command line makes its options from the fields of `TableSettings`: their types, their help and
their choices. Nothing heavy is imported here, so that its help stays fast.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from io import StringIO
from pathlib import Path
from typing import Any

from chanceline.errors import InputError

# Settings that take several values; a single text stands for one of them.
SETTINGS_OF_SEVERAL_VALUES = ("classes", "drop", "na", "adjust", "independent")


def table_field(default: Any, description: str, choices: tuple[str, ...] = ()) -> Any:
    """A field with its help and, where only certain values will do, these."""
    metadata: dict[str, Any] = {"help": description}
    if choices:
        metadata["choices"] = choices
    return field(default=default, metadata=metadata)


@dataclass(frozen=True, kw_only=True)
class TableSettings:
    """Settings of `load_data`. The help of every field also makes the command line's options."""

    classes: tuple[str, ...] = table_field(
        (),
        "Two classes A,B: A, the positive one, against B; the rows of others are left out.",
    )
    positive: str | None = table_field(
        None,
        "The positive class, which the rule predicts, against all others. By default, of two: the "
        "one not called control, normal, healthy, no, 0, negative or alike; else the rarer.",
    )
    unlabelled: str = table_field(
        "error",
        "Rows without a label: error or drop.",
        choices=("error", "drop"),
    )
    split_at: float | None = table_field(
        None,
        "Classes of a number: at or above this value, fixed beforehand (positive), or below.",
    )
    labels: str | Path | None = table_field(  # noqa: RUF009 (it makes a field)
        None,
        "Second file with the label of every sample (a table, or .cls).",
    )
    id: str | None = table_field(
        None,
        "Column of that second file with the samples' names (its first by default).",
    )
    transpose: bool = table_field(
        False,
        "The file has features in rows, samples in columns.",
    )
    header: str = table_field(
        "auto",
        "none: the first line is a sample; first: it holds names; 2: the first two lines do.",
        choices=("auto", "first", "none", "2"),
    )
    decimal: str | None = table_field(
        None,
        "Decimal sign, '.' or ','; found out by default.",
        choices=(".", ","),
    )
    na: tuple[str, ...] = table_field(
        (),
        "Cells that mean missing, as in '?,<LOD'.",
    )
    sheet: str | None = table_field(
        None,
        "Sheet of an Excel file (the first by default).",
    )
    below: str | None = table_field(
        None,
        "Cells like <0.5, <LOD, ND: half (of the limit, or of the column's smallest value) or "
        "missing.",
        choices=("half", "missing"),
    )
    missing: str = table_field(
        "error",
        "Gaps: error, or leave out rows or columns, or fill in the column's median, min or "
        "half-min.",
        choices=("error", "rows", "columns", "median", "min", "half-min"),
    )
    transform: str | None = table_field(
        None,
        "Units, blind to the labels: cpm or clr of rows, centre (logarithms less their mean in the "
        "row), log of cells, rank in columns; none: as they are.",
        choices=("none", "cpm", "log", "clr", "centre", "rank"),
    )
    layer: str | None = table_field(
        None,
        "Layer of an AnnData file (X by default).",
    )
    pseudobulk: str | None = table_field(
        None,
        "Column of AnnData's obs: the cells of each donor are summed to one sample.",
    )
    drop: tuple[str, ...] = table_field(
        (),
        "Columns a,b,c to leave out.",
    )
    one_hot: bool = table_field(
        False,
        "Make indicators of text columns instead of leaving them out.",
    )
    keep_identifiers: bool = table_field(
        False,
        "Keep columns that look like row ids.",
    )
    blocks: str | None = table_field(
        None,
        "Column of blocks: labels are shuffled within them.",
    )
    groups: str | None = table_field(
        None,
        "Column of groups that share one label (subjects); stem:COLUMN if its names are 309_1, "
        "309_2.",
    )
    pairs: str | None = table_field(
        None,
        "Column of pairs (before, after): labels swap within each; stem:COLUMN if it has P1_T, "
        "P1_N.",
    )
    adjust: tuple[str, ...] = table_field(
        (),
        "Covariates a,b,c: is there structure beyond what these columns explain?",
    )
    independent: tuple[str, ...] = table_field(
        (),
        "Columns that look like subjects or pairs, though rows are independent.",
    )

    def __post_init__(self) -> None:
        self._make_tuples()
        self._check_choices()
        if self.id is not None and self.labels is None:
            raise InputError(
                f"id={self.id!r} names a column of a second file; give that file as labels=FILE."
            )

    def _make_tuples(self) -> None:
        """Turn settings of several values into tuples of texts; classes may be written `A,B`."""
        if isinstance(self.classes, str):
            object.__setattr__(self, "classes", self.classes.split(","))
        for name in SETTINGS_OF_SEVERAL_VALUES:
            value = getattr(self, name)
            if isinstance(value, str):
                value = (value,)
            object.__setattr__(self, name, tuple(str(item) for item in value))

    def _check_choices(self) -> None:
        """Raise an `InputError` if a setting has a value that is none of its choices."""
        for table_setting in fields(self):
            choices = table_setting.metadata.get("choices", ())
            value = getattr(self, table_setting.name)
            if choices and value is not None and value not in choices:
                allowed = ", ".join(repr(choice) for choice in choices)
                raise InputError(f"{table_setting.name} must be one of {allowed}, not {value!r}.")


def split_names(text: str | None) -> tuple[str, ...]:
    """Comma-separated names; quotes protect commas, and None holds no names."""
    if text is None:
        return ()
    rows = csv.reader(text.splitlines(), skipinitialspace=True)
    names = [name.strip() for row in rows for name in row]
    return tuple(name for name in names if name)


def join_names(names: Sequence[str]) -> str:
    """The names as `split_names` takes them: with commas, and quotes where a name needs them."""
    line = StringIO()
    csv.writer(line, lineterminator="").writerow(names)
    return line.getvalue()


def _with_attributes(docstring: str | None) -> str:
    """The docstring with a line for every setting, made from its help."""
    lines = [f"{docstring}\n\nAttributes\n----------"]
    for setting in fields(TableSettings):
        lines.append(f"{setting.name} : {setting.metadata['help']}")
    return "\n".join(lines)


TableSettings.__doc__ = _with_attributes(TableSettings.__doc__)
