"""Puts the commands together and turns errors into one sentence and an exit code.

Exit codes: 0 success, 1 a computation did not settle, 2 bad input, 130 interrupted.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module

import typer

from chanceline.cli.flags import in_flags
from chanceline.cli.output import complain

# One module a command (or command group); each has `register(app)`. Science packages load inside the commands.
COMMANDS: tuple[str, ...] = (
    "search",
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


def build_app() -> typer.Typer:
    app = typer.Typer(
        name="chanceline",
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


def main(arguments: list[str] | None = None) -> None:
    """Entry point of the `chanceline` command."""
    from chanceline.errors import ChancelineError, InputError

    try:
        code = build_app()(args=arguments, prog_name="chanceline", standalone_mode=False)
    except InputError as error:
        complain(in_flags(str(error)))
        code = 2
    except ChancelineError as error:
        complain(in_flags(str(error)))
        code = 1
    except (KeyboardInterrupt, typer.Abort):
        complain("interrupted")
        code = 130
    except BrokenPipeError:
        # The reader of the pipe has seen enough, as `| head` does.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except Exception as error:
        # Errors of the parser: click may be a package of its own or live inside typer, so they are known by what they can do.
        if not hasattr(error, "format_message"):
            raise
        if type(error).__name__ == "NoArgsIsHelpError":
            error.show()  # type: ignore[attr-defined]
        else:
            sentence = error.format_message().replace("\n", " ").rstrip(".")
            complain(f"{sentence}; see 'chanceline --help'")
        code = 2
    sys.exit(code if isinstance(code, int) else 0)
