"""`chanceline test`, and how the commands that take a table read it.

Most options are fields of `TableSettings` and `TestSettings`: see `settings_options`.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import typer

from chanceline._io import write_text
from chanceline._results import visible
from chanceline.cli.exit_codes import ExitCode, interrupted_code
from chanceline.cli.flags import in_flags
from chanceline.cli.options import (
    DataArgument,
    FigureOption,
    JobsOption,
    JsonOption,
    LabelOption,
    QuietOption,
    ReportOption,
    SchedulerOption,
    weighable,
    writable,
)
from chanceline.cli.settings_options import options_from_settings, split_names
from chanceline.cli.terminal import complain, print_json, progress_bar, say, show, write_figure
from chanceline.errors import InputError
from chanceline.significance import TestSettings
from chanceline.tables import TableSettings

if TYPE_CHECKING:
    from chanceline.significance import SeparationTest
    from chanceline.tables import Dataset


@options_from_settings(
    table_settings=TableSettings,
    test_settings=TestSettings,
    excluded_fields=("restarts", "stop_after", "largest", "n_jobs"),
)
def run_test(
    table_settings: TableSettings,
    test_settings: TestSettings,
    data: DataArgument = None,
    label: LabelOption = None,
    features: str | None = typer.Option(
        None, "--features", help="Names a,b,c to test; by default they are searched."
    ),
    report: ReportOption = None,
    features_table: Path | None = typer.Option(
        None, "--table", help="Write the features' table (CSV) here.", callback=writable
    ),
    weights: Path | None = typer.Option(
        None,
        "--weights",
        help="Write the weights of every rule (.csv, or .xlsx with formulas) here.",
        callback=weighable,
    ),
    jobs: JobsOption = -1,
    example: str | None = typer.Option(
        None, "--example", help="breast-cancer, noise or planted instead of a file."
    ),
    figure: FigureOption = None,
    scheduler: SchedulerOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Few features classify your samples: structure, or would noise allow it?

    First the verdict and the features named, then what to expect of the rule to use on new samples, then what
    separates all samples. One Ctrl-C during the shuffles keeps what is done.

    Example: [bold]chanceline test data.csv --label outcome[/bold]

    Example: [bold]chanceline test genes.tsv --transpose --labels clinic.csv --id sample --label outcome[/bold]

    Example: [bold]chanceline test --example noise[/bold]
    """  # noqa: E501 (the help shows these lines as they are)
    from chanceline._cluster import cluster
    from chanceline.significance import judge

    dataset = load_table_or_example(data, label, table_settings, example)
    test_settings = replace(test_settings, n_jobs=jobs)
    named_features = split_names(features) or None
    with cluster(scheduler), progress_bar("shuffled labellings", quiet=quiet) as progress:
        result = judge(dataset, named_features, settings=test_settings, progress=progress)

    files = OutputFiles(figure, report=report, features_table=features_table, weights=weights)
    try:
        show_or_print(result, dataset.source, json=json)
    finally:
        # A reader of the pipe that has seen enough must not cost the files, and a file that cannot
        # be written must not cost the verdict.
        write_files(result, dataset, files)
    end_unfinished(result)


class OutputFiles(NamedTuple):
    """The files to write beside what is printed; None for those not asked for."""

    figure: Path | None
    report: Path | None
    features_table: Path | None
    weights: Path | None


def write_files(result: SeparationTest, dataset: Dataset, files: OutputFiles) -> None:
    """Write the picture, the page, the table of features and the weights, as far as asked for."""
    write_figure(result.plot, files.figure)
    if files.report is not None:
        from chanceline.report import write_test_report

        write_test_report(result, files.report, dataset)
        say(f"report written to {files.report}")
    if files.features_table is not None:
        from chanceline.report.separation import features_csv

        write_text(files.features_table, features_csv(result.to_frame()))
        say(f"table written to {files.features_table}")
    if files.weights is not None:
        from chanceline.report import write_weights

        write_weights(result, files.weights)
        say(f"weights written to {files.weights}")


def show_or_print(result: SeparationTest, source: str, *, json: bool) -> None:
    """Print the result for a program or for people, before anything else can fail."""
    if json:
        print_json({"source": source, **result.to_dict()})
    else:
        show_test(result, source)
    if sys.stdout is not None:
        sys.stdout.flush()


def end_unfinished(result: SeparationTest) -> None:
    """End with the exit code of what cut the test short; return if nothing did."""
    from chanceline.significance.unfinished import Unfinished

    if result.interrupted:
        raise typer.Exit(interrupted_code())
    if result.unfinished is Unfinished.NO_MEMORY:
        complain("there was not enough memory for all of it; what is missing is said above")
        raise typer.Exit(ExitCode.MACHINE)
    if result.unfinished is Unfinished.LOST_WORKERS:
        complain("workers or their scheduler were lost; what was finished is whole and told above")
        raise typer.Exit(ExitCode.FAILED)


def load_table_or_example(
    path: Path | None, label: str | None, settings: TableSettings, example: str | None
) -> Dataset:
    """Read the table at `path`, or the example of this name; exactly one of them must be given."""
    from chanceline.tables.examples import EXAMPLES, load_example

    if (path is None) == (example is None):
        raise InputError(
            f"give a data file, or --example with one of {', '.join(EXAMPLES)} (and not both)."
        )
    if example is None:
        return load_table(path, label, settings)
    return load_example(example)


def load_table(path: Path | None, label: str | None, settings: TableSettings) -> Dataset:
    """Read a table; `label` names the column with the classes."""
    from chanceline.tables import load_data

    if path is None:
        raise InputError("give a data file.")
    dataset = load_data(path, label, settings)
    # Nobody else has the array: what is computed from it needs no copy.
    dataset.X.flags.writeable = False
    return dataset


def show_test(result: SeparationTest, source: str) -> None:
    """Print the result of a test with its verdict in colour, and which data it is about."""
    from rich.console import Console

    from chanceline.significance.verdict import Verdict

    colours = {Verdict.STRUCTURE: "bold green", Verdict.CHANCE: "bold red"}
    colour = colours.get(result.verdict, "bold yellow")
    verdict_word = result.verdict.upper()
    # Parameters as the flags of the command line, and what cannot be seen written out.
    text = visible(in_flags(str(result)), keep="\n")
    # The text begins with the verdict, so that the first such word is meant.
    before, _, after = text.partition(verdict_word)
    console = Console(highlight=False, soft_wrap=True)
    console.print(before, end="", markup=False)
    console.print(verdict_word, style=colour, end="", markup=False)
    console.print(after, markup=False)

    negative, positive = result.classes
    n_negatives = result.n_samples - result.positives
    classes = f"{n_negatives} {negative}, {result.positives} {positive}"
    if result.n_units < result.n_samples:
        classes += f"; {result.n_units} groups"
    show(f"\n  {source}: {result.n_samples} samples ({classes}), {result.n_features} features")
