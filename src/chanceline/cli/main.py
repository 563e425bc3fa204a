"""Puts the commands together and turns errors into one sentence and an exit code.

Exit codes: 0 success, 1 a computation did not settle, 2 bad input, 3 the machine could not (a full disk), 129, 130 and 143
stopped from outside by SIGHUP, Ctrl-C and SIGTERM.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup
from typer.main import get_command

from chanceline.cli.output import complain
from chanceline.cli.streams import careful_streams
from chanceline.errors import ChancelineError, InputError

# What another name mends; any other refusal of the system is the machine's (a full disk).
WRONG_FILE = (FileNotFoundError, FileExistsError, IsADirectoryError, NotADirectoryError, PermissionError)
# One module a command (or command group); each has `register(app)`. Science packages load inside the commands.
COMMANDS: tuple[str, ...] = (
    "search",
    "front",
    "reproduce",
    "solve",
    "capacity",
    "density",
    "curve",
    "sweep",
    "bound",
    "plan",
    "test",
    "explore",
    "report",
    "memory",
)


class Stopped(BaseException):
    """A signal that ends the program; not an Exception, so that nothing takes it for a failure of its own."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class Commands(TyperGroup):
    """The commands; Ctrl-C passes through Typer, which would end the program without a word."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise Stopped(signal.SIGINT) from None


def build_app() -> typer.Typer:
    app = typer.Typer(
        name="chanceline",
        cls=Commands,
        help="Structure or chance? The capacity of a perceptron that chooses its variables.",
        no_args_is_help=True,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )

    @app.callback(invoke_without_command=True)
    def top(version: bool = typer.Option(False, "--version", help="Print the version and stop.")) -> None:
        if version:
            from chanceline import __version__

            typer.echo(f"chanceline {__version__}")
            raise typer.Exit()

    for name in COMMANDS:
        import_module(f"chanceline.cli.{name}").register(app)
    return app


def main(arguments: list[str] | None = None) -> NoReturn:
    """Entry point of the `chanceline` command."""
    with careful_streams(), _signals_raise():
        code = run(sys.argv[1:] if arguments is None else arguments)
        try:
            sys.stdout.flush()
        except OSError as error:
            complain(f"cannot write the output: {error.strerror}")
            code = code or 3
    sys.exit(code)


def run(arguments: list[str]) -> int:
    """Run a command line and return the exit code; whatever goes wrong on purpose is one sentence on stderr."""
    try:
        command = get_command(build_app())
        code = command.main(args=arguments, prog_name="chanceline", standalone_mode=False)
    except InputError as error:
        complain(str(error))
        return 2
    except ChancelineError as error:
        complain(str(error))
        return 1
    except OSError as error:
        complain(f"{error.filename}: {error.strerror}" if error.filename is not None else str(error))
        return 2 if isinstance(error, WRONG_FILE) else 3
    except MemoryError:
        complain("there is not enough memory for this; ask for less")
        return 3
    except (KeyboardInterrupt, typer.Abort):
        complain("interrupted")
        return 128 + signal.SIGINT
    except Stopped as stopped:
        name = signal.Signals(stopped.number).name
        complain("interrupted" if stopped.number == signal.SIGINT else f"stopped by {name}")
        return 128 + stopped.number
    except Exception as error:
        # Errors of the parser: click may be a package of its own or live inside typer, so they are known by what they can do.
        if not hasattr(error, "format_message"):
            raise
        if type(error).__name__ == "NoArgsIsHelpError":
            error.show()  # type: ignore[attr-defined]
        else:
            sentence = error.format_message().replace("\n", " ").rstrip(".")
            complain(f"{sentence}; see 'chanceline --help'")
        return 2
    return code if isinstance(code, int) else 0


@contextmanager
def _signals_raise() -> Iterator[None]:
    """SIGTERM and SIGHUP raise `Stopped`, so that files are cleaned up and workers end.

    Elsewhere than in the main thread Python allows no handlers, and none are needed.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, _: object) -> NoReturn:
        raise Stopped(number)

    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    # Under nohup a hang-up stays ignored.
    before = {number: signal.getsignal(number) for number in numbers if signal.getsignal(number) is not signal.SIG_IGN}
    for number in before:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
