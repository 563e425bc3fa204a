"""What the commands print: data on stdout; messages and progress on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from textwrap import fill
from time import monotonic
from typing import TYPE_CHECKING, Any

from chanceline._parallel import Progress
from chanceline._results import plain, visible
from chanceline.cli.flags import in_flags

if TYPE_CHECKING:
    from rich.console import Console

MAX_LINE = 100  # letters; longer lines of text are broken
WRAPPED_INDENT = " " * 6  # of the rest of a line that was broken
LINE_SECONDS = 10.0  # between two lines of progress in a pipe
STARTING = "starting (a first run compiles) …"


def print_json(record: Mapping[str, Any]) -> None:
    """Print one JSON object on stdout, the only thing printed there with --json.

    Letters are printed as they are if stdout can show them and all of them can be seen; else JSON's
    escapes stand for them.
    """
    values = plain(record)
    text = json.dumps(values, indent=2, ensure_ascii=False)
    encoding = getattr(sys.stdout, "encoding", None) or "utf"
    all_seen = visible(text, keep="\n") == text
    if "utf" not in encoding or not all_seen:
        text = json.dumps(values, indent=2)
    print(text)


def show(text: str) -> None:
    """Print text for people on stdout; lines are broken at 100 letters, but never within a name."""
    for line in visible(text, keep="\n").split("\n"):
        if len(line) > MAX_LINE:
            line = fill(line, MAX_LINE, subsequent_indent=WRAPPED_INDENT, break_long_words=False)
        print(line)


def print_answer(
    record: Mapping[str, Any], sentence: str, json: bool, tell: Callable[[str], None] = show
) -> None:
    """Print what a command has done: the record for a program, or a sentence for people.

    `tell` prints the sentence: `show` if it is data, `say` if it is a message about files.
    """
    if json:
        print_json(record)
    else:
        tell(sentence)


def write_figure(
    draw: Callable[[Any], object], path: Path | None, size: tuple[float, float] = (7.5, 4.5)
) -> None:
    """Write the picture of --figure, if asked for; `draw` puts it on axes of `size` inches."""
    if path is None:
        return
    from chanceline.figures.style import draw_to_file

    draw_to_file(draw, path, size)
    say(f"figure written to {path}")


def complain(sentence: str) -> None:
    """Print one sentence about an error on stderr."""
    print(f"chanceline: {visible(in_flags(sentence))}", file=sys.stderr, flush=True)


def say(sentence: str) -> None:
    """Print a message that is not data on stderr."""
    print(visible(in_flags(sentence), keep="\n"), file=sys.stderr, flush=True)


@contextmanager
def progress_bar(
    what_is_counted: str, *, quiet: bool, line_seconds: float = LINE_SECONDS
) -> Iterator[Progress | None]:
    """Yield a function `progress(done, total)` that shows on stderr how much work is done.

    In a terminal the function moves a bar; in a pipe or a file it prints a line from time to time.
    If `quiet`, None is yielded instead of a function.

    Parameters
    ----------
    what_is_counted : in words, such as "shuffled labellings".
    line_seconds : the time from one line to the next in a pipe.
    """
    if quiet:
        yield None
        return

    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield progress_lines(what_is_counted, line_seconds)
        return
    with _bar_in_terminal(console, what_is_counted) as move_bar:
        yield move_bar


@contextmanager
def _bar_in_terminal(console: Console, what_is_counted: str) -> Iterator[Progress]:
    """Yield a function `progress(done, total)` that moves a bar, which vanishes at the end.

    The bar says STARTING until the function is first called, then `what_is_counted`.
    """
    from rich import progress as rich_progress

    columns = (
        rich_progress.TextColumn("{task.description}", markup=False),
        rich_progress.BarColumn(),
        rich_progress.MofNCompleteColumn(),
        rich_progress.TimeRemainingColumn(),
    )
    with rich_progress.Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(STARTING, total=None)

        def move_bar(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total, description=what_is_counted)

        yield move_bar


def progress_lines(what_is_counted: str, line_seconds: float) -> Progress:
    """Make a function `progress(done, total)` that prints a line on stderr from time to time.

    Calls that come less than `line_seconds` after the last line print nothing.
    """
    time_of_last_line = monotonic()

    def print_sometimes(done: int, total: int) -> None:
        nonlocal time_of_last_line
        if monotonic() - time_of_last_line >= line_seconds:
            time_of_last_line = monotonic()
            say(f"{what_is_counted}: {done} of {total}")

    return print_sometimes


@contextmanager
def status_line(*, quiet: bool) -> Iterator[Callable[[str], None] | None]:
    """Yield a function `tell(text)` that shows the state of work of unknown length on stderr.

    In a terminal each call replaces the text of one line; in a pipe or a file each call prints a
    line. If `quiet`, None is yielded instead of a function.
    """
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
