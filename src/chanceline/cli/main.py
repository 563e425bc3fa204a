"""Puts the commands together and turns errors into one sentence and an exit code."""

from __future__ import annotations

import gc
import io
import os
import signal
import sys
import traceback
from collections.abc import Iterable
from importlib import import_module
from typing import Any, NamedTuple, NoReturn

import typer
from typer.core import TyperGroup
from typer.main import get_command

from chanceline import __version__
from chanceline._results import visible
from chanceline.cli.exit_codes import ExitCode, exit_code_of_signal, signals_interrupt
from chanceline.cli.terminal import complain, say
from chanceline.errors import ChancelineError, InputError

# Refusals of the system that another file name puts right; any other is the machine's, such as a
# full disk.
WRONG_FILE_ERRORS = (
    FileNotFoundError,
    FileExistsError,
    IsADirectoryError,
    NotADirectoryError,
    PermissionError,
)
STDOUT_DESCRIPTOR = 1  # of every process


class CommandPlace(NamedTuple):
    """Where a command is listed in the help, and which function of which module of `cli` it is."""

    panel: str
    module: str
    function: str


# A command line imports the module of its own command alone, and the command imports science
# inside.
COMMANDS = {
    "test": CommandPlace("Your table", "table", "run_test"),
    "app": CommandPlace("Your table", "app", "app"),
    "search": CommandPlace("Your table", "search", "search"),
    "front": CommandPlace("Your table", "search", "front"),
    "predict": CommandPlace("New samples", "cohort", "predict"),
    "confirm": CommandPlace("New samples", "cohort", "confirm"),
    "bound": CommandPlace("Before the experiment", "plan", "bound"),
    "plan": CommandPlace("Before the experiment", "plan", "plan"),
    "explore": CommandPlace("Before the experiment", "pages", "explore"),
    "capacity": CommandPlace("Theory", "theory", "capacity"),
    "density": CommandPlace("Theory", "theory", "density"),
    "curve": CommandPlace("Theory", "theory", "curve"),
    "solve": CommandPlace("Theory", "theory", "solve"),
    "memory": CommandPlace("Memory", "memory", "memory"),
    "sweep": CommandPlace("Experiments", "experiments", "sweep_commands"),
    "reproduce": CommandPlace("Experiments", "experiments", "reproduce"),
    "report": CommandPlace("Experiments", "pages", "report"),
}


class Stopped(BaseException):
    """A signal has ended the command.

    Typer would catch KeyboardInterrupt and end the program without a word.
    """

    def __init__(self, signal_number: int) -> None:
        super().__init__(signal_number)
        self.signal_number = signal_number


class Commands(TyperGroup):
    """The commands; KeyboardInterrupt passes through Typer as `Stopped`."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            # Our handler raises it with the signal's number, Python's own without.
            number = error.args[0] if error.args else signal.SIGINT
            raise Stopped(number) from None


def build_app(names: Iterable[str] = COMMANDS) -> typer.Typer:
    """Make the command line with the commands of these names.

    The module of each command is imported here. So a single name saves the time to import the
    modules of all other commands.
    """
    app = typer.Typer(
        name="chanceline",
        cls=Commands,
        help=(
            "Few features classify your samples: structure, or chance? "
            "Begin with [bold]chanceline test[/bold]."
        ),
        no_args_is_help=True,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )

    # The options of `chanceline` itself, without a command.
    @app.callback(invoke_without_command=True)
    def top(
        version: bool = typer.Option(False, "--version", help="Print the version and stop."),
    ) -> None:
        if version:
            typer.echo(f"chanceline {__version__}")
            raise typer.Exit()

    for name in names:
        _add_command(app, name)
    return app


def _add_command(app: typer.Typer, name: str) -> None:
    """Import a command, and add it under its name, with its subcommands if it has some."""
    entry = COMMANDS[name]
    module = import_module(f"chanceline.cli.{entry.module}")
    command = getattr(module, entry.function)
    has_subcommands = isinstance(command, typer.Typer)
    if has_subcommands:
        app.add_typer(command, name=name, rich_help_panel=entry.panel)
    else:
        app.command(name, rich_help_panel=entry.panel)(command)


def main(arguments: list[str] | None = None) -> NoReturn:
    """Entry point of the `chanceline` command; `arguments` replace those of the command line.

    Runs the command and ends the process with its exit code.
    """
    # Imports and compiled kernels make a million objects that are never freed. Collect garbage
    # rarely, because each collection looks through these objects again.
    gc.set_threshold(200_000, 50, 50)

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Letters that a terminal cannot show, such as Greek ones, are escaped instead of
            # raising an error.
            stream.reconfigure(errors="backslashreplace")

    if arguments is None:
        arguments = sys.argv[1:]

    with signals_interrupt():
        code = run(arguments)
    sys.exit(flush_output(code))


def flush_output(code: int) -> int:
    """Write the output that is still buffered, and return the exit code of the process.

    The exit code is `code` or, if the output cannot be written and `code` is 0, 3
    (`ExitCode.MACHINE`). A closed pipe is no failure: its reader has seen enough.
    """
    if sys.stdout is None:
        return code
    try:
        sys.stdout.flush()
    except OSError as error:
        # Python flushes stdout again when it ends, which must not fail a second time. So send the
        # rest of the buffer to the null device.
        null_device = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null_device, STDOUT_DESCRIPTOR)
        if isinstance(error, BrokenPipeError):
            return code
        complain(f"cannot write the output: {error.strerror}")
        return code or ExitCode.MACHINE
    return code


def run(arguments: list[str]) -> int:
    """Run a command line and return its exit code; errors are reported on stderr."""
    try:
        code = run_command(arguments)
    except BrokenPipeError:
        return ExitCode.SUCCESS  # the reader of a pipe has seen enough
    except SystemExit:
        # Typer returns exit codes. It raises SystemExit in two cases only, which are no errors: the
        # reader of a pipe has closed it (`_main` in typer/core.py), or the shell asked how to
        # complete a word.
        return ExitCode.SUCCESS
    except Stopped as stopped:
        complain(stop_sentence(stopped))
        return exit_code_of_signal(stopped.signal_number)
    except Exception as error:
        return tell_error(error)
    return code


def run_command(arguments: list[str]) -> int:
    """Run a command line and return the exit code that the command asked for."""
    # The first word names the command; without it, the help lists all of them.
    names: Iterable[str] = COMMANDS
    if arguments and arguments[0] in COMMANDS:
        names = arguments[:1]
    command = get_command(build_app(names))
    code = command.main(args=arguments, prog_name="chanceline", standalone_mode=False)
    tell_if_nothing_is_kept()
    return code if isinstance(code, int) else ExitCode.SUCCESS


def tell_if_nothing_is_kept() -> None:
    """Say that compiled code could not be kept, if this command has compiled any."""
    compiling = sys.modules.get("chanceline.kernels.compile")
    if compiling is not None and not compiling.CACHE:
        say(
            "compiled code could not be kept, so that every run compiles it anew; set "
            "NUMBA_CACHE_DIR to a folder that can be written to"
        )


def stop_sentence(stopped: Stopped) -> str:
    """Which signal ended the command, in words."""
    if stopped.signal_number == signal.SIGINT:
        return "interrupted"
    return f"stopped by {signal.Signals(stopped.signal_number).name}"


def tell_error(error: Exception) -> int:
    """Report an error on stderr, and return the exit code of the process.

    An error that was foreseen is reported in one sentence, any other with its traceback.
    """
    if isinstance(error, InputError):
        complain(str(error))
        return ExitCode.BAD_INPUT
    if isinstance(error, ChancelineError):
        complain(str(error))
        return ExitCode.FAILED
    if isinstance(error, OSError):
        return tell_system_error(error)
    if isinstance(error, MemoryError):
        complain("there is not enough memory for this; ask for less")
        return ExitCode.MACHINE
    # Errors of the parser are those of click. They are recognised by a method and not by their
    # class, because click may be a package of its own or a part of typer.
    if hasattr(error, "format_message"):
        tell_parser_error(error)
        return ExitCode.BAD_INPUT
    # Any other error, even a ValueError, is a bug of the program, and is reported as one.
    tell_internal_error(error)
    return ExitCode.FAILED


def tell_system_error(error: OSError) -> int:
    """What the system refused, in its own words, with the file if there is one; the exit code."""
    if error.filename is None:
        complain(str(error))
    else:
        complain(f"{error.filename}: {error.strerror}")
    if isinstance(error, WRONG_FILE_ERRORS):
        return ExitCode.BAD_INPUT
    return ExitCode.MACHINE


def tell_parser_error(error: Any) -> None:
    """Report what the parser of the command line did not understand, and which help to read.

    `error` is an exception of click. Its class is not imported, because click may be a package of
    its own or a part of typer.
    """
    if type(error).__name__ == "NoArgsIsHelpError":
        # A command with subcommands was given without one, which is no error: show its help.
        error.show()
        return

    # The context knows the command in question, such as `chanceline sweep run`.
    command = "chanceline"
    context = getattr(error, "ctx", None)
    if context:
        command = context.command_path
    complain(f"{parser_sentence(error)}; see '{command} --help'")


def parser_sentence(error: Any) -> str:
    """The parser's message as one sentence that names the value given.

    Where a value is of the wrong type the message is pydantic's, which leaves the value out; its
    own error is then the cause, and knows the value::

        Input should be a valid integer, unable to parse string as an integer
        Input should be a valid integer, not 'x'
    """
    message = error.format_message().replace("\n", " ").rstrip(".")
    cause = error.__cause__
    if not hasattr(cause, "errors"):
        return message
    sentence = message.partition(", unable")[0]
    for wrong_value in cause.errors():
        sentence += f", not {wrong_value['input']!r}"
    return sentence


def tell_internal_error(error: Exception) -> None:
    """The traceback on stderr, and a sentence that says whose fault it is."""
    lines = "".join(traceback.format_exception(error))
    print(visible(lines, keep="\n"), end="", file=sys.stderr)
    complain(
        f"internal error ({type(error).__name__}); please report the lines above, "
        f"with the command and the version ({__version__})"
    )
