"""`chanceline app`: the page on this machine."""

from __future__ import annotations

import signal
from typing import Annotated

import typer

from chanceline.cli.options import JobsOption, JsonOption
from chanceline.cli.terminal import print_answer, say
from chanceline.errors import InputError


def app(
    port: Annotated[
        int, typer.Option("--port", help="Port of this machine; 0 for any that is free.")
    ] = 0,
    limit: Annotated[
        int, typer.Option("--limit", help="The largest file that the page takes, in MB.")
    ] = 500,
    jobs: JobsOption = -1,
    open_page: Annotated[
        bool, typer.Option("--open/--no-open", help="Show it in the browser, if there is one.")
    ] = True,
    json: JsonOption = False,
) -> None:
    """Test a table without typing: a page on this machine, for this machine alone.

    Drop a file, say what its columns are, and read the verdict. Nothing leaves the machine; Ctrl-C
    ends it and removes the files.

    Example: [bold]chanceline app[/bold]

    Example: [bold]chanceline app --port 8800 --no-open[/bold]
    """
    try:
        from chanceline.app.desk import CommandWriters
        from chanceline.app.server import ServerOptions, serve
    except ImportError as error:
        raise InputError(
            f"the page cannot be shown without {error.name}; install chanceline[app]."
        ) from None
    from chanceline.cli.command_text import command_of_request, commands_of_cohort

    def show_address(address: str) -> None:
        """Print the address of the page, and open the page; called when the server is ready."""
        print_answer({"address": address}, f"The page is {address}\nCtrl-C ends it.", json)
        if open_page and not json:
            open_in_browser(address)

    # The page shows the command lines that do the same. The functions that write them are handed
    # over, because the library does not import the modules of the command line.
    options = ServerOptions(port=port, largest_megabytes=limit, n_jobs=jobs)
    command_writers = CommandWriters(command_of_request, commands_of_cohort)
    try:
        serve(options, command_writers, show_address)
    except KeyboardInterrupt as interrupt:
        # Ctrl-C is the usual way to end the page, and no failure; SIGTERM is passed on. The
        # exception has the number of its signal as argument.
        if signal.SIGTERM in interrupt.args:
            raise
    say("The page has ended; its files are removed.")


def open_in_browser(address: str) -> None:
    """Show the page in the browser, if there is one."""
    import webbrowser

    if not webbrowser.open(address):
        say("No browser was found; open the address yourself.")
