"""`chanceline report`: a finished run as one page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from chanceline.cli.options import Json
from chanceline.cli.output import print_json, show

HELP = """Turn a finished sweep or a folder of reproduce into one self-contained HTML page.

The commands test, solve, capacity and density write theirs with --report.

Example: [bold]chanceline report fig3.sqlite --out fig3.html[/bold]
"""


def register(app: typer.Typer) -> None:
    app.command("report", help=HELP)(report)


def report(
    source: Annotated[Path, typer.Argument(help="A sweep's store (.sqlite), or a folder that reproduce wrote.")],
    out: Annotated[Path | None, typer.Option("--out", help="The page to write; by default it stands beside the source.")] = None,
    as_json: Json = False,
) -> None:
    from chanceline.errors import InputError
    from chanceline.report import write_reproduce_report, write_sweep_report

    if source.is_dir():
        page = write_reproduce_report(source, out)
    elif source.is_file():
        page = write_sweep_report(source, out or source.with_suffix(".html"))
    else:
        raise InputError(f"there is no store or folder {source}.")
    if as_json:
        print_json({"page": str(page), "bytes": page.stat().st_size})
    else:
        show(f"The report is {page}")
