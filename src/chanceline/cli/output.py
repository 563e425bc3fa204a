"""Data to stdout, messages and progress to stderr; the library's parameters become flags."""

from __future__ import annotations

import json
import re
import shlex
import sys
from ast import literal_eval
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from textwrap import fill
from time import monotonic
from typing import Any

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


def print_json(record: Mapping[str, Any]) -> None:
    """One JSON object on stdout, the only thing printed there with --json."""
    text = json.dumps(plain(record), indent=2, ensure_ascii=False)
    # The escapes of JSON stand for the same letters, and what is unseen can be seen.
    faithful = "utf" in (getattr(sys.stdout, "encoding", None) or "utf") and visible(text, keep="\n") == text
    print(text if faithful else json.dumps(plain(record), indent=2))


def show(text: str) -> None:
    """Text for people on stdout, names from outside in it, no line longer than 100 letters (unless a name is)."""
    lines = visible(text, keep="\n").split("\n")
    print(
        "\n".join(
            fill(line, 100, subsequent_indent=" " * 6, break_long_words=False) if len(line) > 100 else line for line in lines
        )
    )


def answer(record: Mapping[str, Any], sentence: str, json: bool, tell: Callable[[str], None] = show) -> None:
    """What a command has done, for a program or for people."""
    if json:
        print_json(record)
    else:
        tell(sentence)


def draw_figure(draw: Callable[[Any], object], path: Path | None, size: tuple[float, float] = (7.5, 4.5)) -> None:
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
    from rich.progress import BarColumn, MofNCompleteColumn, Progress as Bar, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield _lines(what)
        return
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
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
