"""`chanceline reproduce`: every figure and number of the paper, computed again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from chanceline.cli.options import Json, Quiet
from chanceline.cli.output import print_json, say, show
from chanceline.errors import InputError


def register(app: typer.Typer) -> None:
    @app.command()
    def reproduce(
        out: Annotated[Path, typer.Option("--out", help="Folder for the figures (PNG and SVG) and their data (CSV).")],
        quick: Annotated[
            bool, typer.Option("--quick", help="Within a minute: coarser curves, small runs made on the spot.")
        ] = False,
        full: Annotated[bool, typer.Option("--full", help="Everything at full size; resumes where it was stopped.")] = False,
        quiet: Quiet = False,
        as_json: Json = False,
    ) -> None:
        """Compute every figure and number of the paper again.

        Example: chanceline reproduce --quick --out results
        """
        if quick and full:
            raise InputError("--quick and --full exclude each other; give one of them")
        from chanceline.report import write_reproduce_report
        from chanceline.reproduce.folder import Folder
        from chanceline.reproduce.stages import run_all

        mode = "quick" if quick else "full" if full else "normal"
        folder = Folder(out, mode, (lambda line: None) if quiet else say)
        run_all(folder)
        page = write_reproduce_report(out)
        if as_json:
            print_json(
                {"folder": str(out), "mode": mode, "figures": folder.written, "numbers": folder.numbers, "report": str(page)}
            )
        else:
            show(f"{len(folder.written)} figures, numbers.csv and provenance.json are in {out}; to look at: {page}")
