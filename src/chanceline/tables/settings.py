"""How a table is read and what is made of its columns. The command line makes its options from this: no heavy imports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path

from chanceline.errors import InputError


@dataclass(frozen=True, kw_only=True)
class TableSettings:
    """Settings of `load_data`. The help of every field also makes the command line's options."""

    positive: str | None = field(
        default=None, metadata={"help": "Class to set against all others; needed with more than two classes."}
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
        metadata={"help": "none: the first line is a sample; first: it holds names.", "choices": ("auto", "first", "none")},
    )
    decimal: str | None = field(
        default=None, metadata={"help": "Decimal sign, '.' or ','; found out by default.", "choices": (".", ",")}
    )
    na: tuple[str, ...] = field(default=(), metadata={"help": "Cells that mean missing, as in '?,<LOD'."})
    sheet: str | None = field(default=None, metadata={"help": "Sheet of an Excel file (the first by default)."})
    missing: str = field(
        default="error",
        metadata={
            "help": "Gaps: error, or leave out rows or columns, or fill in the median.",
            "choices": ("error", "rows", "columns", "median"),
        },
    )
    drop: tuple[str, ...] = field(default=(), metadata={"help": "Columns a,b,c to leave out."})
    one_hot: bool = field(default=False, metadata={"help": "Make indicators of text columns instead of leaving them out."})
    keep_identifiers: bool = field(default=False, metadata={"help": "Keep columns that look like row ids."})
    blocks: str | None = field(default=None, metadata={"help": "Column of blocks: labels are shuffled within them."})
    groups: str | None = field(default=None, metadata={"help": "Column of groups that share one label (subjects)."})

    def __post_init__(self) -> None:
        for name in ("drop", "na"):
            object.__setattr__(self, name, _names(getattr(self, name)))
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


def _names(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(map(str, given))
