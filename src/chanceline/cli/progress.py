"""The one progress bar of all commands: on stderr, redrawn a few times a second, with the time that is left.

In a terminal a line that is drawn over and removed at the end; in a pipe a plain line now and then. While kernels compile
it says so, because that happens once and is not part of the work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any

from chanceline.cli.output import say
from chanceline.parallel.compiling import compile_watch

Progress = Callable[[int, int], None]

REDRAW_SECONDS = 0.1
LINE_SECONDS = 10.0
COMPILING = "compiling, once …"


@contextmanager
def progress_bar(what: str, *, quiet: bool) -> Iterator[Progress | None]:
    """Yield a `progress(done, total)` for the library, or None if `quiet`.

    Parameters
    ----------
    what : the things that are counted, such as "shuffled labellings".
    quiet : show nothing.
    """
    if quiet:
        yield None
        return
    from rich.console import Console

    console = Console(stderr=True)
    with _bar(what, console) if console.is_terminal else _lines(what) as progress:
        yield progress


@contextmanager
def status_line(what: str, *, quiet: bool) -> Iterator[Callable[[str], None] | None]:
    """Yield a `tell(text)` for work of unknown length, or None if `quiet`: in a pipe every new text is a line."""
    if quiet:
        yield None
        return
    from rich.console import Console
    from rich.markup import escape

    console = Console(stderr=True)
    if console.is_terminal:
        with console.status(escape(what)) as status, compile_watch(lambda: status.update(COMPILING)):
            yield lambda text: status.update(escape(text))
    else:
        shown = what

        def tell(text: str) -> None:
            nonlocal shown
            if text != shown:
                shown = text
                say(text)

        with compile_watch(lambda: say(COMPILING)):
            yield tell


class Pace:
    """How much time is left, from the mean pace since the first report.

    The first report comes after starting and compiling, and on a resumed run it counts what was there before; neither says
    anything about the pace, so both are left out.
    """

    def __init__(self) -> None:
        self._first = (0, 0.0)
        self._last: int | None = None

    def remaining(self, done: int, total: int, now: float) -> float | None:
        """Seconds left, or None while nothing is known."""
        if self._last is None or done < self._last:
            self._first = (done, now)
        self._last = done
        counted, since = self._first
        if done >= total:
            return 0.0
        return None if done == counted else (now - since) / (done - counted) * (total - done)


def in_words(seconds: float | None) -> str:
    """A duration as a person says it; empty if it is not known."""
    if seconds is None:
        return ""
    if seconds < 90:
        return f"{seconds:.0f} s left"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min left"
    return f"{seconds / 3600:.1f} h left"


@contextmanager
def _bar(what: str, console: Any) -> Iterator[Progress]:
    from rich.markup import escape
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[left]}"))
    pace, drawn = Pace(), -1.0
    with Bar(*columns, console=console, transient=True) as bar:
        task = bar.add_task("starting …", total=None, left="")

        def show(done: int, total: int) -> None:
            nonlocal drawn
            now = monotonic()
            left = pace.remaining(done, total, now)
            if now - drawn >= REDRAW_SECONDS or done >= total:
                drawn = now
                bar.update(task, completed=done, total=total, description=escape(what), left=in_words(left))

        with compile_watch(lambda: bar.update(task, description=COMPILING)):
            yield show


@contextmanager
def _lines(what: str) -> Iterator[Progress]:
    pace, told = Pace(), monotonic()

    def show(done: int, total: int) -> None:
        nonlocal told
        now = monotonic()
        left = pace.remaining(done, total, now)
        if now - told >= LINE_SECONDS:
            told = now
            say(", ".join(part for part in (f"{what}: {done} of {total}", in_words(left)) if part))

    with compile_watch(lambda: say(COMPILING)):
        yield show
