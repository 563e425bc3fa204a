"""Options that several commands have, each with one name, one meaning and one help text.

A command writes `seed: Seed = 0`; where its default differs from the others' it says so in its own help. Settings of the library
become options by `with_settings`.
"""

from __future__ import annotations

import csv
import inspect
from collections.abc import Callable
from dataclasses import Field, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from chanceline._io import check_target


def writable(path: Path | None) -> Path | None:
    """Refuse a place that cannot be written to before anything is computed."""
    return None if path is None else check_target(path)


def drawable(path: Path | None) -> Path | None:
    """Refuse a place or a format that a figure cannot be written to."""
    if path is None:
        return None
    from chanceline.figures.style import check_figure

    return check_figure(path)


# The table
Data = Annotated[
    Path | None,
    typer.Argument(
        help="CSV (any separator, compressed or not), Parquet, Excel, GCT, GEO series matrix, AnnData or .npz; samples in rows.",
        show_default=False,
    ),
]
Label = Annotated[
    str | None,
    typer.Option("--label", help="Column with the two classes (name, or number from 0).", show_default=False),
]

# Output
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout, and nothing else there.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")]
Out = Annotated[Path, typer.Option("--out", help="The file to write.", callback=writable)]
Report = Annotated[Path | None, typer.Option("--report", help="Write a self-contained HTML page as well.", callback=writable)]
Figure = Annotated[
    Path | None, typer.Option("--figure", help="Write the picture as well (.svg, .png or .pdf).", callback=drawable)
]

# Where and how long to compute
Jobs = Annotated[
    int, typer.Option("--jobs", "-j", help="Processes; all cores by default. The result is the same.", show_default=False)
]
Scheduler = Annotated[
    str | None,
    typer.Option("--scheduler", help="Work on the Dask cluster at this address (tcp://HOST:8786).", show_default=False),
]
Signs = Annotated[
    str | None, typer.Option("--signs", help="Signs of the weights where known: + or - for all features, or name=+,other=-.")
]
Seed = Annotated[int, typer.Option("--seed", help="Same seed, same result.")]
Budget = Annotated[
    int | None, typer.Option("--budget", help="Iterations of one search; by default some seconds' worth.", show_default=False)
]

# The question
Intercept = Annotated[
    bool, typer.Option("--intercept/--no-intercept", help="Whether the rule has a threshold, which is not counted.")
]
Level = Annotated[float, typer.Option("--level", help="The p-value that convinces.")]
Null = Annotated[str, typer.Option("--null", help="fixed: class sizes are kept; coin: each label is a fair coin.")]


# Settings of a table that say how the samples belong together.
DESIGN = {"groups", "pairs", "blocks", "adjust", "independent"}


def with_settings(*, without: tuple[str, ...] = ()) -> Callable[[Callable[..., None]], Any]:
    """For parameters whose type is a class of settings a command gets one option for each field, apart from `without`.

    Name, type, default and help are those of the field::

        @with_settings(without=("blocks",))
        def search(table: TableSettings, seed: Seed = 0) -> None: ...
    """

    def decorate(command: Callable[..., None]) -> Any:
        own = inspect.signature(command, eval_str=True).parameters
        options: dict[str, Any] = {}
        members: dict[str, list[Field[Any]]] = {}
        for name, parameter in own.items():
            if is_dataclass(parameter.annotation):
                hints = get_type_hints(parameter.annotation)
                members[name] = [field for field in fields(parameter.annotation) if field.name not in without]
                options |= {field.name: _option(field, hints[field.name], f"The {name}") for field in members[name]}
            else:
                options[name] = parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)

        @wraps(command)
        def run(**values: Any) -> None:
            for name, several in members.items():
                given = {field.name: values.pop(field.name) for field in several}
                lists = {field.name: names_in(given[field.name]) for field in several if field.default == ()}
                values[name] = own[name].annotation(**(given | lists))
            command(**values)

        run.__signature__ = inspect.Signature(list(options.values()))  # type: ignore[attr-defined]
        run.__annotations__ = {name: parameter.annotation for name, parameter in options.items()}
        return run

    return decorate


def _option(field: Field[Any], hint: Any, panel: str) -> inspect.Parameter:
    """The option of one setting: a flag, a number or text; lists are given as a,b,c."""
    kind: Any = next((kind for kind in (bool, int, float) if hint in (kind, kind | None)), str)
    default = None if field.default == () else field.default
    flag = "--" + field.name.replace("_", "-")
    flags = f"{flag}/--no-{flag[2:]}" if default is True else flag
    panel = "The design" if field.name in DESIGN else "The test" if panel == "The settings" else panel
    option = typer.Option(flags, help=field.metadata["help"], show_default=default is not False, rich_help_panel=panel)
    annotation: Any = Annotated[kind if default is not None else kind | None, option]
    return inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def names_in(text: str | None) -> tuple[str, ...]:
    """Comma-separated names; quotes protect commas."""
    rows = csv.reader((text or "").splitlines(), skipinitialspace=True)
    return tuple(name.strip() for row in rows for name in row if name.strip())
