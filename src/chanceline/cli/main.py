"""Puts the commands together and turns errors into one sentence and an exit code.

| exit code | meaning |
|---|---|
| 0 | success; a reader of the output that has seen enough (`| head`) is no error |
| 1 | a computation did not settle, or workers were lost again and again; or an internal error, with its traceback |
| 2 | bad input: a wrong option or value, or a file that is not there, is no file or may not be read or written |
| 3 | the machine could not: a full disk, too little memory |
| 129, 130, 143 | stopped by SIGHUP, Ctrl-C or SIGTERM |
"""

from __future__ import annotations

import gc
import io
import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup
from typer.main import get_command

from chanceline import __version__
from chanceline._results import visible
from chanceline.cli.terminal import complain, say
from chanceline.errors import ChancelineError, InputError

# What another name puts right; any other refusal of the system is the machine's (a full disk).
WRONG_FILE = (
    FileNotFoundError,
    FileExistsError,
    IsADirectoryError,
    NotADirectoryError,
    PermissionError,
)
# What the commands are for → command → its module and function. A command line imports the module of its own command, and that
# loads science inside.
PANELS = {
    "Your table": {"test": "table:run_test", "search": "table:search", "front": "table:front"},
    "Before the experiment": {"bound": "plan:bound", "plan": "plan:plan", "explore": "pages:explore"},
    "Theory": {
        "capacity": "theory:capacity", "density": "theory:density", "curve": "theory:curve", "solve": "theory:solve",
    },
    "Memory": {"memory": "memory:memory"},
    "Experiments": {
        "sweep": "experiments:sweep_commands", "reproduce": "experiments:reproduce", "report": "pages:report",
    },
}  # fmt: skip
COMMANDS = {
    name: (panel, place) for panel, commands in PANELS.items() for name, place in commands.items()
}


class Stopped(BaseException):
    """A signal has ended the command; Typer would catch KeyboardInterrupt and end the program without a word."""


class Commands(TyperGroup):
    """The commands; KeyboardInterrupt passes through Typer as `Stopped`."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            raise Stopped(*error.args or (signal.SIGINT,)) from None


def build_app(names: Iterable[str] = COMMANDS) -> typer.Typer:
    app = typer.Typer(
        name="chanceline",
        cls=Commands,
        help="Few features classify your samples: structure, or chance? Begin with [bold]chanceline test[/bold].",
        no_args_is_help=True,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )

    @app.callback(invoke_without_command=True)
    def top(
        version: bool = typer.Option(False, "--version", help="Print the version and stop."),
    ) -> None:
        if version:
            typer.echo(f"chanceline {__version__}")
            raise typer.Exit()

    for name in names:
        panel, place = COMMANDS[name]
        module, _, function = place.partition(":")
        command = getattr(import_module(f"chanceline.cli.{module}"), function)
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name, rich_help_panel=panel)
        else:
            app.command(name, rich_help_panel=panel)(command)
    return app


def main(arguments: list[str] | None = None) -> NoReturn:
    """Entry point of the `chanceline` command."""
    # Imports and compiled kernels make a million objects that stay: looking through them for garbage again and again takes time.
    gc.set_threshold(200_000, 50, 50)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal without Greek letters is no reason to fail.
            stream.reconfigure(errors="backslashreplace")
    with signals_interrupt():
        code = run(sys.argv[1:] if arguments is None else arguments)
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        # What is left in the buffer must not fail again when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        if not isinstance(error, BrokenPipeError):
            complain(f"cannot write the output: {error.strerror}")
            code = code or 3
    sys.exit(code)


def run(arguments: list[str]) -> int:
    """Run a command line and return the exit code; whatever goes wrong on purpose is one sentence on stderr."""
    try:
        command = get_command(
            build_app(arguments[:1] if arguments and arguments[0] in COMMANDS else COMMANDS)
        )
        code = command.main(
            args=list(_with_new_names(arguments)), prog_name="chanceline", standalone_mode=False
        )
    except ChancelineError as error:
        complain(str(error))
        return 2 if isinstance(error, InputError) else 1
    except (
        BrokenPipeError,
        SystemExit,
    ):  # Typer ends the program when the reader of a pipe has left
        return 0
    except OSError as error:
        complain(
            f"{error.filename}: {error.strerror}" if error.filename is not None else str(error)
        )
        return 2 if isinstance(error, WRONG_FILE) else 3
    except MemoryError:
        complain("there is not enough memory for this; ask for less")
        return 3
    except Stopped as stopped:
        number = stopped.args[0]
        complain(
            "interrupted"
            if number == signal.SIGINT
            else f"stopped by {signal.Signals(number).name}"
        )
        return 128 + number
    except Exception as error:
        # Errors of the parser: click may be a package of its own or live inside typer, so they are known by what they can do.
        if not hasattr(error, "format_message"):
            # What nobody raised on purpose, a ValueError too, is our fault and must look like it.
            show_internal_error(error)
            return 1
        if type(error).__name__ == "NoArgsIsHelpError":
            error.show()  # type: ignore[attr-defined]
        else:
            sentence = error.format_message().replace("\n", " ").rstrip(".")
            for fault in getattr(
                error.__cause__, "errors", list
            )():  # pydantic's, whose words leave out what was given
                sentence = f"{sentence.partition(', unable')[0]}, not {fault['input']!r}"
            context = getattr(error, "ctx", None)
            complain(
                f"{sentence}; see '{context.command_path if context else 'chanceline'} --help'"
            )
        return 2
    return code if isinstance(code, int) else 0


def show_internal_error(error: Exception) -> None:
    """The traceback on stderr, and a sentence that says whose fault it is."""
    lines = "".join(traceback.format_exception(error))
    print(visible(lines, keep="\n"), end="", file=sys.stderr)
    complain(
        f"internal error ({type(error).__name__}); please report the lines above, with the command and the version "
        f"({__version__})"
    )


def _with_new_names(arguments: list[str]) -> Iterator[str]:
    """The words of the command line with options of 0.2 as they are called now."""
    words = iter(arguments)
    for word in words:
        name, equals, value = word.partition("=")
        if name == "--workers":
            say("--workers is now --jobs or -j; the old name will go in 0.4.")
            yield f"--jobs{equals}{value}"
        elif name == "--engine":
            say("--engine will go in 0.4: --scheduler ADDRESS alone chooses a Dask cluster.")
            engine = value if equals else next(words, "")
            if engine != "processes" and not any(
                other.startswith("--scheduler") for other in arguments
            ):
                raise InputError(
                    f"the engine {engine!r} needs the address of its cluster: --scheduler tcp://HOST:8786."
                )
        else:
            yield word


@contextmanager
def signals_interrupt() -> Iterator[None]:
    """Ctrl-C, SIGTERM and SIGHUP raise KeyboardInterrupt, so that files are cleaned up and workers end; the next ends at once.

    Elsewhere than in the main thread Python allows no handlers, and none are needed.
    """
    numbers = [
        getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
    ]
    if threading.current_thread() is not threading.main_thread():
        numbers = []
    # Under nohup a hang-up stays ignored.
    before = {
        number: signal.getsignal(number)
        for number in numbers
        if signal.getsignal(number) is not signal.SIG_IGN
    }

    def interrupt(number: int, _: object) -> NoReturn:
        for other in before:
            signal.signal(other, signal.SIG_DFL)
        raise KeyboardInterrupt(number)

    for number in before:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
