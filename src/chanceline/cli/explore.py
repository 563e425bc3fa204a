"""`chanceline explore`: the diagram as an interactive page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from chanceline.cli.options import Json, Out
from chanceline.cli.output import print_json, say, show

HELP = """Write the interactive diagram: your N, P and M, the live bound, and the samples needed.

One file that works offline, on a phone too.

Example: [bold]chanceline explore --out explorer.html --no-open[/bold]
"""


def register(app: typer.Typer) -> None:
    app.command("explore", help=HELP)(explore)


def explore(
    out: Out = Path("chanceline-explorer.html"),
    open_page: Annotated[bool, typer.Option("--open/--no-open", help="Show it in the browser, if there is one.")] = True,
    as_json: Json = False,
) -> None:
    from chanceline.report.explorer import write_explorer

    page = write_explorer(out)
    if as_json:
        print_json({"page": str(page), "bytes": page.stat().st_size})
    else:
        show(f"The explorer is {page}")
    if open_page and not as_json:
        import webbrowser

        if not webbrowser.open(page.resolve().as_uri()):
            say("No browser was found; open the file yourself.")
