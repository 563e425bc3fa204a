"""The options that say which table to read and how; `test`, `search` and `front` share them.

A command that is decorated with `with_table_options` takes one parameter `table: TableChoice` in their place::

    @with_table_options
    def run(table: TableChoice, seed: Seed = 0) -> None:
        if table.path is not None:
            dataset = table.load()
"""

from __future__ import annotations

import csv
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from chanceline._validation import shown
from chanceline.cli.output import say
from chanceline.errors import InputError

if TYPE_CHECKING:
    from chanceline.tables import Dataset

FILE = "CSV (any separator, compressed or not), Parquet, Excel, GCT, GEO series matrix or .npz file; samples in rows."


@dataclass(frozen=True)
class TableChoice:
    """The file, the column with the classes, and the fields of `TableSettings` that were given."""

    path: Path | None
    label: str | None
    settings: dict[str, Any]

    def load(self, *, tell: bool = False) -> Dataset:
        """Read the table; `tell` what was noticed on stderr."""
        from chanceline.tables import load_data

        if self.path is None:
            raise InputError("give a data file.")
        dataset = load_data(self.path, self.label, **self.settings)
        dataset.X.flags.writeable = False  # nobody else has it: what is computed from it needs no copy
        if tell:
            for finding in dataset.findings:
                say(str(finding))
        return dataset


def _option(kind: Any, flag: str, text: str, **more: Any) -> Any:
    return Annotated[kind, typer.Option(flag, help=text, show_default=False, rich_help_panel="The table", **more)]


TEXT = str | None
# Name of the setting, option and default; lists are given as a,b,c.
OPTIONS: dict[str, tuple[Any, Any]] = {
    "label": (_option(TEXT, "--label", "Column with the two classes (name, or number from 0)."), None),
    "positive": (_option(TEXT, "--positive", "Class to set against all others."), None),
    "labels": (_option(Path | None, "--labels", "Second file with the label of every sample (a table, or .cls)."), None),
    "id": (_option(TEXT, "--id", "Column of --labels with the samples' names (its first by default)."), None),
    "transpose": (_option(bool, "--transpose", "The file has features in rows, samples in columns."), False),
    "header": (_option(str, "--header", "none: the first line is a sample; first: it holds names."), "auto"),
    "decimal": (_option(TEXT, "--decimal", "Decimal sign, '.' or ','; found out by default."), None),
    "na": (_option(TEXT, "--na", "Cells that mean missing, as in '?,<LOD'."), None),
    "sheet": (_option(TEXT, "--sheet", "Sheet of an Excel file (the first by default)."), None),
    "missing": (_option(str, "--missing", "Gaps: error, or leave out rows or columns, or fill in the median."), "error"),
    "drop": (_option(TEXT, "--drop", "Columns a,b,c to leave out."), None),
    "one_hot": (_option(bool, "--one-hot", "Turn text columns into indicators."), False),
    "keep_identifiers": (_option(bool, "--keep-identifiers", "Keep columns that look like row ids."), False),
    "blocks": (_option(TEXT, "--blocks", "Column of blocks: labels are shuffled within them."), None),
    "groups": (_option(TEXT, "--groups", "Column of groups that share one label (subjects)."), None),
}
LISTS = ("drop", "na")


def with_table_options(command: Callable[..., None] | None = None, *, without: tuple[str, ...] = ()) -> Any:
    """Give a command the file argument and the table's options (but for `without`) in place of its parameter `table`."""
    if command is None:
        return lambda one: with_table_options(one, without=without)
    own = inspect.signature(command, eval_str=True)
    options = {name: pair for name, pair in OPTIONS.items() if name not in without}
    data = Annotated[Path | None, typer.Argument(help=FILE, show_default=False)]
    given = [inspect.Parameter("data", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=data)]
    given += [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
        for name, (kind, default) in options.items()
    ]
    others = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for name, one in own.parameters.items() if name != "table"]

    @wraps(command)
    def run(**values: Any) -> None:
        path = values.pop("data")
        settings = {name: values.pop(name) for name in options}
        for name in LISTS:
            if name in settings:
                settings[name] = names_in(settings[name])
        command(table=TableChoice(path, settings.pop("label", None), settings), **values)

    signature = inspect.Signature(given + others)
    run.__signature__ = signature  # type: ignore[attr-defined]
    run.__annotations__ = {name: one.annotation for name, one in signature.parameters.items()}
    return run


def names_in(text: str | None) -> tuple[str, ...]:
    """Comma-separated names; quotes protect commas."""
    if text is None:
        return ()
    try:
        names = next(csv.reader([text], skipinitialspace=True))
    except csv.Error as error:
        raise InputError(f"the names {shown(text)} cannot be read; put a name that holds a line break in quotes") from error
    return tuple(name.strip() for name in names if name.strip())
