"""`chanceline test --sets`: every set of features of a file, in one run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from chanceline._io import write_text
from chanceline.cli.exit_codes import interrupted_code
from chanceline.cli.flags import in_flags
from chanceline.cli.terminal import print_json, progress_bar, say, show, write_figure
from chanceline.errors import InputError

if TYPE_CHECKING:
    from chanceline.significance import SetTests, TestSettings
    from chanceline.tables import Dataset
    from chanceline.tables.outcome_table import OutcomeTable


@dataclass(frozen=True)
class SetOutputs:
    """What is written besides the text: files where they are asked for.

    Attributes
    ----------
    figure, report, table : the picture, the page, and the table of sets as CSV; None for none.
    json : print one JSON object instead of text.
    quiet : no progress.
    """

    figure: Path | None
    report: Path | None
    table: Path | None
    json: bool
    quiet: bool


def refuse_beside_sets(options: Mapping[str, Any]) -> None:
    """Refuse options (those that are not None) that speak of one set of features."""
    for flag, value in options.items():
        if value is not None:
            raise InputError(f"{flag} does not go with --sets; leave out one of them.")


def run_sets(
    table: Dataset | OutcomeTable, sets: Path, test_settings: TestSettings, outputs: SetOutputs
) -> None:
    """Test all sets of a file, write what was asked for, and print the result."""
    from chanceline.significance import set_tests

    with progress_bar("sets of features", quiet=outputs.quiet) as progress:
        result = set_tests(table, sets, settings=test_settings, progress=progress)
    # Print first, because a file that cannot be written must not prevent the result from being
    # shown. `finally` writes the files even if printing fails, as it does if stdout is a closed
    # pipe.
    try:
        show_sets(result, table.source, json=outputs.json)
    finally:
        write_set_files(result, table, outputs)
    if result.interrupted:
        # A signal cut the test short: the exit code says so.
        raise typer.Exit(interrupted_code())


def show_sets(result: SetTests, source: str, *, json: bool) -> None:
    """Print the result for a program or for people."""
    if json:
        print_json({"source": source, **result.to_dict()})
        return
    show(in_flags(str(result)))
    show(f"\n  {source}: {result.table_in_words}")


def write_set_files(result: SetTests, table: Dataset | OutcomeTable, outputs: SetOutputs) -> None:
    """Write the files that were asked for: the figure, the page (HTML) and the table (CSV).

    The path of a file that was not asked for is None in `outputs`.
    """
    from chanceline.report.feature_sets import sets_csv, write_sets_report

    if outputs.figure is not None:
        from chanceline.figures.feature_sets import size_of_sets

        write_figure(result.plot, outputs.figure, size_of_sets(result))
    if outputs.report is not None:
        write_sets_report(result, outputs.report, table)
        say(f"report written to {outputs.report}")
    if outputs.table is not None:
        write_text(outputs.table, sets_csv(result))
        say(f"table written to {outputs.table}")
