"""What a table is made of: the settings it is read with, what was found on the way, and the outcome.

The command line makes its options from `TableSettings`, so nothing heavy is imported here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chanceline._results import Result, visible
from chanceline.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, kw_only=True)
class TableSettings:
    """Settings of `load_data`. The help of every field also makes the command line's options."""

    classes: tuple[str, ...] = field(
        default=(),
        metadata={"help": "Two classes A,B: A, the positive one, against B; the rows of others are left out."},
    )
    positive: str | None = field(
        default=None,
        metadata={
            "help": "The positive class, which the rule predicts, against all others. By default, of two: the one not called "
            "control, normal, healthy, no, 0, negative or alike; else the rarer."
        },
    )
    unlabelled: str = field(
        default="error", metadata={"help": "Rows without a label: error or drop.", "choices": ("error", "drop")}
    )
    split_at: float | None = field(
        default=None, metadata={"help": "Classes of a number: at or above this value, fixed beforehand (positive), or below."}
    )
    labels: str | Path | None = field(
        default=None, metadata={"help": "Second file with the label of every sample (a table, or .cls)."}
    )
    id: str | None = field(
        default=None, metadata={"help": "Column of that second file with the samples' names (its first by default)."}
    )
    transpose: bool = field(default=False, metadata={"help": "The file has features in rows, samples in columns."})
    header: str = field(
        default="auto",
        metadata={
            "help": "none: the first line is a sample; first: it holds names; 2: the first two lines do.",
            "choices": ("auto", "first", "none", "2"),
        },
    )
    decimal: str | None = field(
        default=None, metadata={"help": "Decimal sign, '.' or ','; found out by default.", "choices": (".", ",")}
    )
    na: tuple[str, ...] = field(default=(), metadata={"help": "Cells that mean missing, as in '?,<LOD'."})
    sheet: str | None = field(default=None, metadata={"help": "Sheet of an Excel file (the first by default)."})
    below: str | None = field(
        default=None,
        metadata={
            "help": "Cells like <0.5, <LOD, ND: half (of the limit, or of the column's smallest value) or missing.",
            "choices": ("half", "missing"),
        },
    )
    missing: str = field(
        default="error",
        metadata={
            "help": "Gaps: error, or leave out rows or columns, or fill in the column's median, min or half-min.",
            "choices": ("error", "rows", "columns", "median", "min", "half-min"),
        },
    )
    transform: str | None = field(
        default=None,
        metadata={
            "help": "Units, blind to the labels: cpm or clr of rows, log of cells, rank in columns; none: as they are.",
            "choices": ("none", "cpm", "log", "clr", "rank"),
        },
    )
    layer: str | None = field(default=None, metadata={"help": "Layer of an AnnData file (X by default)."})
    pseudobulk: str | None = field(
        default=None, metadata={"help": "Column of AnnData's obs: the cells of each donor are summed to one sample."}
    )
    drop: tuple[str, ...] = field(default=(), metadata={"help": "Columns a,b,c to leave out."})
    one_hot: bool = field(default=False, metadata={"help": "Make indicators of text columns instead of leaving them out."})
    keep_identifiers: bool = field(default=False, metadata={"help": "Keep columns that look like row ids."})
    blocks: str | None = field(default=None, metadata={"help": "Column of blocks: labels are shuffled within them."})
    groups: str | None = field(
        default=None,
        metadata={"help": "Column of groups that share one label (subjects); stem:COLUMN if its names are 309_1, 309_2."},
    )
    pairs: str | None = field(
        default=None,
        metadata={"help": "Column of pairs (before, after): labels swap within each; stem:COLUMN if it has P1_T, P1_N."},
    )
    adjust: tuple[str, ...] = field(
        default=(), metadata={"help": "Covariates a,b,c: is there structure beyond what these columns explain?"}
    )
    independent: tuple[str, ...] = field(
        default=(), metadata={"help": "Columns that look like subjects or pairs, though rows are independent."}
    )

    def __post_init__(self) -> None:
        if isinstance(self.classes, str):
            object.__setattr__(self, "classes", self.classes.split(","))
        for name in ("classes", "drop", "na", "adjust", "independent"):
            given = getattr(self, name)
            object.__setattr__(self, name, (given,) if isinstance(given, str) else tuple(map(str, given)))
        for setting in fields(self):
            value, choices = getattr(self, setting.name), setting.metadata.get("choices", ())
            if choices and value is not None and value not in choices:
                raise InputError(f"{setting.name} must be one of {', '.join(map(repr, choices))}, not {value!r}.")
        if self.id is not None and self.labels is None:
            raise InputError(f"id={self.id!r} names a column of a second file; give that file as labels=FILE.")


TableSettings.__doc__ = "\n".join(
    [f"{TableSettings.__doc__}\n\nAttributes\n----------"]
    + [f"{one.name} : {one.metadata['help']}" for one in fields(TableSettings)]
)


@dataclass(frozen=True)
class Finding:
    """One thing worth knowing: a `warning` that bears on the verdict, what was `prepared` blind to the labels, or a `note`."""

    severity: str
    message: str

    def __str__(self) -> str:
        return f"{self.severity}: {self.message}"


@dataclass(frozen=True, eq=False, repr=False)
class Dataset(Result):
    """P × N numbers, labels ±1 and names; what was left out on the way stands in `findings`.

    `classes` are the negative and the positive one (`chanceline.tables.classes` says which that is).
    `covariates` are the columns to adjust for, by name: numbers, or text for categories.
    `undeclared` is the sentence with which a test of this table stops, because a column looks like
    a subject that nothing was said about. `rows` is what the user's program calls each row: its
    number in a text or a sheet, or its name. `columns_checked` says that identifiers were looked
    for when the table was read, among its values before any transform.
    `role_columns` are the names of the columns that gave blocks, groups or pairs, by role.
    """

    X: NDArray[np.float64]
    y: NDArray[np.float64]
    feature_names: tuple[str, ...]
    classes: tuple[str, str]
    blocks: NDArray[Any] | None = None
    groups: NDArray[Any] | None = None
    pairs: NDArray[Any] | None = None
    covariates: dict[str, NDArray[Any]] | None = None
    undeclared: str = ""
    source: str = "arrays"
    findings: tuple[Finding, ...] = field(default=())
    rows: Sequence[Any] | None = None
    columns_checked: bool = False
    role_columns: dict[str, str] = field(default_factory=dict)
    kind = "data"

    def summary(self) -> str:
        positives = int((self.y > 0).sum())
        negative, positive = self.classes
        sizes = visible(f"{len(self.y) - positives} {negative}, {positives} {positive}")
        return f"{visible(self.source)}: {plural(len(self.y), 'sample')} ({sizes}), {plural(self.X.shape[1], 'feature')}"

    def __str__(self) -> str:
        return "\n".join([self.summary(), *(f"  - {finding}" for finding in self.findings)])

    def to_dict(self) -> dict[str, Any]:
        """What the table is, without its numbers."""
        return {
            "kind": self.kind,
            "source": self.source,
            "n_samples": len(self.y),
            "n_features": self.X.shape[1],
            "positives": int((self.y > 0).sum()),
            "classes": list(self.classes),
            "positive_class": self.classes[1],
            "feature_names": list(self.feature_names),
            "findings": [str(finding) for finding in self.findings],
        }


def quoted(names: Sequence[Any], at_most: int = 4) -> str:
    """The first names in quotes, and how many more there are."""
    shown = ", ".join(repr(str(name)) for name in names[:at_most])
    return shown + (f" and {len(names) - at_most} more" if len(names) > at_most else "")


def row_name(rows: Sequence[Any], place: int) -> str:
    """A row as the user's program shows it."""
    return f"sample {rows[place]!r}" if isinstance(rows[place], str) else f"row {rows[place]}"


def plural(number: int, noun: str) -> str:
    """A number with its noun."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
