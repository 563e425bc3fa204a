"""What the commands share: options, each with one name, one meaning and one help text, and answers.

A command writes `seed: Seed = 0`; where its default differs from the others' it says so in its own help. Settings of the library
become options by `with_settings`. Data go to stdout, messages and progress to stderr; the library's parameters become flags.
"""

from __future__ import annotations

import csv
import inspect
import json
import re
import shlex
import sys
from ast import literal_eval
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import Field, fields, is_dataclass
from functools import wraps
from pathlib import Path
from textwrap import fill
from time import monotonic
from typing import Annotated, Any, get_type_hints

import typer

from chanceline._io import check_target
from chanceline._results import plain, visible

Progress = Callable[[int, int], None]

LINE_SECONDS = 10.0
STARTING = "starting (a first run compiles) …"
# Parameters that the library's sentences name and the command line has as flags.
PARAMETERS = (
    "adjust", "below", "blocks", "budget", "candidates", "classes", "decimal", "drop", "errors", "features", "groups",
    "header", "id", "independent", "intercept", "keep_identifiers", "label", "labels", "layer", "level", "method", "missing",
    "na", "null", "one_hot", "pairs", "permutations", "positive", "positives", "preregistered", "pseudobulk", "scheduler",
    "seed", "sheet", "split_at", "target", "transform", "transpose", "unlabelled",
)  # fmt: skip
VALUE = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|True|False|[\w.:/*-]*[\w/*]"
ASSIGNMENT = re.compile(rf"(?<![\w.,-])({'|'.join(PARAMETERS)})=({VALUE})")


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
    typer.Option(
        "--label", help="Column with the two classes (name, or number from 0).", show_default=False
    ),
]

# Output
Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON object on stdout, and nothing else there.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")]
Out = Annotated[Path, typer.Option("--out", help="The file to write.", callback=writable)]
Report = Annotated[
    Path | None,
    typer.Option("--report", help="Write a self-contained HTML page as well.", callback=writable),
]
Figure = Annotated[
    Path | None,
    typer.Option(
        "--figure", help="Write the picture as well (.svg, .png or .pdf).", callback=drawable
    ),
]

# Where and how long to compute
Jobs = Annotated[
    int,
    typer.Option(
        "--jobs",
        "-j",
        help="Processes; all cores by default. The result is the same.",
        show_default=False,
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        help="Work on the Dask cluster at this address (tcp://HOST:8786).",
        show_default=False,
    ),
]
Signs = Annotated[
    str | None,
    typer.Option(
        "--signs",
        help="Signs of the weights where known (+: large values speak for the positive class): + or - for all features, or "
        "name=+,other=-.",
    ),
]
Seed = Annotated[int, typer.Option("--seed", help="Same seed, same result.")]
Budget = Annotated[
    int | None,
    typer.Option(
        "--budget",
        help="Iterations of one search; by default some seconds' worth.",
        show_default=False,
    ),
]

# The question
Intercept = Annotated[
    bool,
    typer.Option(
        "--intercept/--no-intercept", help="Whether the rule has a threshold, which is not counted."
    ),
]
Level = Annotated[float, typer.Option("--level", help="The p-value that convinces.")]
Null = Annotated[
    str,
    typer.Option("--null", help="fixed: class sizes are kept; coin: each label is a fair coin."),
]


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
                members[name] = [
                    field for field in fields(parameter.annotation) if field.name not in without
                ]
                options |= {
                    field.name: _option(field, hints[field.name], f"The {name}")
                    for field in members[name]
                }
            else:
                options[name] = parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)

        @wraps(command)
        def run(**values: Any) -> None:
            for name, several in members.items():
                given = {field.name: values.pop(field.name) for field in several}
                lists = {
                    field.name: names_in(given[field.name])
                    for field in several
                    if field.default == ()
                }
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
    panel = (
        "The design" if field.name in DESIGN else "The test" if panel == "The settings" else panel
    )
    option = typer.Option(
        flags, help=field.metadata["help"], show_default=default is not False, rich_help_panel=panel
    )
    annotation: Any = Annotated[kind if default is not None else kind | None, option]
    return inspect.Parameter(
        field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )


def names_in(text: str | None) -> tuple[str, ...]:
    """Comma-separated names; quotes protect commas."""
    rows = csv.reader((text or "").splitlines(), skipinitialspace=True)
    return tuple(name.strip() for row in rows for name in row if name.strip())


def print_json(record: Mapping[str, Any]) -> None:
    """One JSON object on stdout, the only thing printed there with --json."""
    text = json.dumps(plain(record), indent=2, ensure_ascii=False)
    # The escapes of JSON stand for the same letters, and what is unseen can be seen.
    faithful = (
        "utf" in (getattr(sys.stdout, "encoding", None) or "utf")
        and visible(text, keep="\n") == text
    )
    print(text if faithful else json.dumps(plain(record), indent=2))


def show(text: str) -> None:
    """Text for people on stdout, names from outside in it, no line longer than 100 letters (unless a name is)."""
    lines = visible(text, keep="\n").split("\n")
    print(
        "\n".join(
            fill(line, 100, subsequent_indent=" " * 6, break_long_words=False)
            if len(line) > 100
            else line
            for line in lines
        )
    )


def answer(
    record: Mapping[str, Any], sentence: str, json: bool, tell: Callable[[str], None] = show
) -> None:
    """What a command has done, for a program or for people."""
    if json:
        print_json(record)
    else:
        tell(sentence)


def draw_figure(
    draw: Callable[[Any], object], path: Path | None, size: tuple[float, float] = (7.5, 4.5)
) -> None:
    """The picture of --figure, if asked for."""
    if path is not None:
        from chanceline.figures.style import draw_to_file

        draw_to_file(draw, path, size)
        say(f"figure written to {path}")


def complain(sentence: str) -> None:
    """One sentence on stderr."""
    print(f"chanceline: {visible(in_flags(sentence))}", file=sys.stderr, flush=True)


def say(sentence: str) -> None:
    """A message that is not data, on stderr."""
    print(visible(in_flags(sentence), keep="\n"), file=sys.stderr, flush=True)


def in_flags(sentence: str) -> str:
    """The sentence with `missing='median'` as `--missing median` and `transpose=True` as `--transpose`."""
    return ASSIGNMENT.sub(lambda found: _flag(found[1].replace("_", "-"), found[2]), sentence)


def _flag(name: str, value: str) -> str:
    if value in ("True", "False"):
        return f"--{name}" if value == "True" else f"--no-{name}"
    text = shlex.quote(literal_eval(value)) if value.startswith(("'", '"')) else value
    return f"--{name} {text}"


@contextmanager
def progress_bar(what: str, *, quiet: bool) -> Iterator[Progress | None]:
    """Yield a `progress(done, total)` for the library: a bar in a terminal, a line now and then in a pipe, None if `quiet`.

    Parameters
    ----------
    what : the things that are counted, such as "shuffled labellings".
    """
    if quiet:
        yield None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress as Bar,
        TextColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    if not console.is_terminal:
        yield _lines(what)
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=console, transient=True) as bar:
        task = bar.add_task(STARTING, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total, description=what)


def _lines(what: str) -> Progress:
    told = monotonic()

    def show(done: int, total: int) -> None:
        nonlocal told
        if monotonic() - told >= LINE_SECONDS:
            told = monotonic()
            say(f"{what}: {done} of {total}")

    return show


@contextmanager
def status_line(*, quiet: bool) -> Iterator[Callable[[str], None] | None]:
    """Yield a `tell(text)` for work of unknown length: in a terminal one line that changes, in a pipe lines, None if `quiet`."""
    if quiet:
        yield None
        return
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield say
        return
    with console.status(STARTING) as status:
        yield status.update
