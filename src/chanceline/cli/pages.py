"""The commands that write pages to look at: `explore` and `report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from chanceline.cli.options import JsonOption, OutOption, writable
from chanceline.cli.terminal import print_answer, say
from chanceline.errors import InputError


def explore(
    source: Annotated[
        Path | None,
        typer.Argument(
            help="A page of chanceline test --report; the file begins with its numbers then."
        ),
    ] = None,
    out: OutOption = Path("chanceline-explorer.html"),
    open_page: Annotated[
        bool, typer.Option("--open/--no-open", help="Show it in the browser, if there is one.")
    ] = True,
    json: JsonOption = False,
) -> None:
    """Write the interactive diagram: your N, P and M, the live bound, and the samples needed.

    One file that works offline, on a phone too.

    Example: [bold]chanceline explore --out explorer.html --no-open[/bold]

    Example: [bold]chanceline explore page.html[/bold]
    """
    from chanceline.report import write_explorer

    # The fragment is the end of the page's address, `#N=…`: the numbers that the page begins with.
    fragment = ""
    source_name = ""
    if source is not None:
        fragment = explorer_fragment(source)
        source_name = source.name
    page = write_explorer(out, fragment, source_name)

    sentence = f"The explorer is {page}"
    if source is not None:
        sentence += f"; it begins with the numbers of {source_name}"
    record = {"page": str(page), "bytes": page.stat().st_size, "at": fragment}
    print_answer(record, sentence, json)
    if open_page and not json:
        import webbrowser

        address = page.resolve().as_uri() + fragment
        was_opened = webbrowser.open(address)
        if not was_opened:
            say("No browser was found; open the file yourself.")


def explorer_fragment(report_path: Path) -> str:
    """Read the numbers of the set of features that a test has found from the test's page.

    `report_path` is the path of the page. The numbers are returned as the explorer takes them in
    its address: `#N=2000&P=62&M=3…`.
    """
    from chanceline.report import read_report

    fragment = read_report(report_path).get("explorer")
    if not isinstance(fragment, str):
        raise InputError(
            f"{report_path} is no page of chanceline test, so that it has no set to show."
        )
    # The page has an empty fragment if the explorer cannot show its test.
    if fragment == "":
        raise InputError(
            f"the explorer cannot show the set of {report_path}: there is none, or its design has "
            "blocks, covariates or errors counted after looking, which the explorer does not know."
        )
    return fragment


def report(
    source: Annotated[
        Path, typer.Argument(help="A sweep's store (.sqlite), or a folder that reproduce wrote.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="The page to write; by default it stands beside the source.",
            callback=writable,
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Turn a finished sweep or a folder of reproduce into one self-contained HTML page.

    The commands test, solve, capacity and density write theirs with --report.

    Example: [bold]chanceline report fig3.sqlite --out fig3.html[/bold]
    """
    from chanceline.report import write_reproduce_report, write_sweep_report

    if source.is_dir():
        page = write_reproduce_report(source, out)
    elif source.is_file():
        page = write_sweep_report(source, out or source.with_suffix(".html"))
    else:
        raise InputError(f"there is no store or folder {source}.")
    record = {"page": str(page), "bytes": page.stat().st_size}
    print_answer(record, f"The report is {page}", json)
