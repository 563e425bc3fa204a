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
    EventOption,
    FigureOption,
    JobsOption,
    JsonOption,
    OutcomeLabelOption,
    OutcomeOption,
    QuietOption,
    ReportOption,
    SchedulerOption,
    TimeOption,
    weighable,
    writable,
)
from chanceline.cli.settings_options import options_from_settings
from chanceline.cli.terminal import complain, print_json, progress_bar, say, show, write_figure
from chanceline.errors import InputError
from chanceline.significance import TestSettings
from chanceline.tables import TableSettings
from chanceline.tables.settings import split_names

if TYPE_CHECKING:
    from chanceline.significance import OutcomeTest, SeparationTest
    from chanceline.tables import Dataset
    from chanceline.tables.outcome_table import OutcomeNames, OutcomeTable


@options_from_settings(
    table_settings=TableSettings,
    test_settings=TestSettings,
    excluded_fields=("restarts", "stop_after", "largest", "n_jobs"),
)
def run_test(
    table_settings: TableSettings,
    test_settings: TestSettings,
    data: DataArgument = None,
    label: OutcomeLabelOption = None,
    time: TimeOption = None,
    event: EventOption = None,
    outcome: OutcomeOption = None,
    features: str | None = typer.Option(
        None, "--features", help="Names a,b,c to test; by default they are searched."
    ),
    sets: Path | None = typer.Option(
        None,
        "--sets",
        help="Sets of features to test instead, all in one run: a GMT file, a CSV with the "
        "columns set and feature, or the word chromosome for genotypes of PLINK.",
    ),
    report: ReportOption = None,
    features_table: Path | None = typer.Option(
        None,
        "--table",
        help="Write the table of features, or of sets, (CSV) here.",
        callback=writable,
    ),
    weights: Path | None = typer.Option(
        None,
        "--weights",
        help="Write the weights of every rule (.csv, or .xlsx with formulas) here.",
        callback=weighable,
    ),
    save: Path | None = typer.Option(
        None,
        "--save",
        help="Write the result for predict and confirm (JSON) here.",
        callback=writable,
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
    """Few features tell the outcome of your samples: structure, or would noise allow it?

    The outcome is two classes, several classes, a number, or the time to an event. First the verdict and the features
    named, then what to expect of the rule to use on new samples, then what separates two classes. One Ctrl-C during the shuffles keeps what is done.

    Example: [bold]chanceline test data.csv --label outcome[/bold]

    Example: [bold]chanceline test data.csv --time months --event relapse[/bold]

    Example: [bold]chanceline test genes.tsv --transpose --labels clinic.csv --id sample --label outcome[/bold]

    Example: [bold]chanceline test genes.csv --label outcome --sets hallmark.gmt[/bold]

    Example: [bold]chanceline test --example noise[/bold]
    """  # noqa: E501 (the help shows these lines as they are)
    # The decorator `options_from_settings` makes one option of each field of `TableSettings` and
    # `TestSettings`, and calls this function with the settings made of their values. Fields without
    # an option keep their defaults, but `n_jobs`, which is set from `jobs`.
    from chanceline._cluster import cluster
    from chanceline.significance import judge
    from chanceline.tables.outcome_table import OutcomeNames, OutcomeTable

    names = OutcomeNames(label=label, time=time, event=event, asked_kind=outcome)
    with cluster(scheduler):
        table = load_outcome_or_example(data, names, table_settings, example)
        if isinstance(table, OutcomeTable):
            check_weights_of_outcome(weights)
        test_settings = replace(test_settings, n_jobs=jobs)
        if sets is not None:
            from chanceline.cli.feature_sets import SetOutputs, refuse_beside_sets, run_sets

            # The test of many sets has another kind of result, and outputs of its own.
            refuse_beside_sets({"--features": features, "--weights": weights, "--save": save})
            outputs = SetOutputs(
                figure=figure, report=report, table=features_table, json=json, quiet=quiet
            )
            run_sets(table, sets, test_settings, outputs)
            return
        named_features = split_names(features) or None  # None: the features are searched
        with progress_bar("shuffled labellings", quiet=quiet) as progress:
            result = judge(table, named_features, settings=test_settings, progress=progress)

    files = OutputFiles(
        figure=figure,
        report=report,
        features_table=features_table,
        weights=weights,
        save=save,
    )
    # Print first, because a file that cannot be written must not prevent the verdict from being
    # shown. And write the files even if printing fails, as it does if stdout is a closed pipe.
    try:
        show_or_print(result, table.source, json=json)
    finally:
        write_files(result, table, files)
    exit_if_unfinished(result)  # with an exit code of its own, if the test was cut short


def check_weights_of_outcome(path: Path | None) -> None:
    """Refuse a file of weights that only rules of two classes have, before hours of work."""
    from chanceline.report.outcome_weights import check_outcome_weights_path

    if path is not None:
        check_outcome_weights_path(path)


class OutputFiles(NamedTuple):
    """The files to write beside what is printed; None for those not asked for."""

    figure: Path | None
    report: Path | None
    features_table: Path | None
    weights: Path | None
    save: Path | None


def write_files(
    result: SeparationTest | OutcomeTest, table: Dataset | OutcomeTable, files: OutputFiles
) -> None:
    """Write the files that were asked for; the path of any other file is None in `files`.

    They are the figure, the page (HTML), the table of features (CSV), the weights of the rules, and
    the result itself (JSON).
    """
    # Each of these functions does nothing if the path is None.
    write_figure(result.plot, files.figure)
    write_page(result, files.report, table)
    if files.features_table is not None:
        from chanceline.report.separation import features_csv

        write_text(files.features_table, features_csv(result.to_frame()))
        say(f"table written to {files.features_table}")
    write_weights_file(result, files.weights)
    write_saved_result(result, files.save)


def show_or_print(result: SeparationTest | OutcomeTest, source: str, *, json: bool) -> None:
    """Print the result for a program or for people, before anything else can fail."""
    if json:
        print_json({"source": source, **result.to_dict()})
    else:
        show_test(result, source)
    if sys.stdout is not None:
        sys.stdout.flush()


def exit_if_unfinished(result: SeparationTest | OutcomeTest) -> None:
    """If the test was cut short, end the command with an exit code that says why; else return.

    A signal such as Ctrl-C cuts a test short. A test of two classes (`SeparationTest`) can also run
    out of memory, or lose its workers. What it has finished has been printed before.
    """
    from chanceline.significance import SeparationTest
    from chanceline.significance.unfinished import Unfinished

    if result.interrupted:
        raise typer.Exit(interrupted_code())
    if not isinstance(result, SeparationTest):
        return
    if result.unfinished is Unfinished.NO_MEMORY:
        complain("there was not enough memory for all of it; what is missing is said above")
        raise typer.Exit(ExitCode.MACHINE)
    if result.unfinished is Unfinished.LOST_WORKERS:
        complain("workers or their scheduler were lost; what was finished is whole and told above")
        raise typer.Exit(ExitCode.FAILED)


def write_page(
    result: SeparationTest | OutcomeTest, path: Path | None, table: Dataset | OutcomeTable
) -> None:
    """Write the page of --report to `path`; do nothing if `path` is None.

    Tests of two classes and of other outcomes have different pages. With two classes `table` is a
    `Dataset`, whose name and hash are on the page.
    """
    if path is None:
        return
    from chanceline.report import write_outcome_report, write_test_report
    from chanceline.significance import OutcomeTest
    from chanceline.tables import Dataset

    if isinstance(result, OutcomeTest):
        write_outcome_report(result, path)
    elif isinstance(table, Dataset):
        write_test_report(result, path, table)
    say(f"report written to {path}")


def write_weights_file(result: SeparationTest | OutcomeTest, path: Path | None) -> None:
    """Write the weights of all rules of a result to `path`; do nothing if `path` is None.

    A test of two classes (`SeparationTest`) and one of another outcome have different writers.
    """
    if path is None:
        return
    from chanceline.report import write_outcome_weights, write_weights
    from chanceline.significance import OutcomeTest

    if isinstance(result, OutcomeTest):
        write_outcome_weights(result, path)
    else:
        write_weights(result, path)
    say(f"weights written to {path}")


def write_saved_result(result: SeparationTest | OutcomeTest, path: Path | None) -> None:
    """Write the file of --save, if asked for."""
    if path is None:
        return
    result.save(path)
    say(f"result written to {path}")


def load_outcome_or_example(
    path: Path | None, names: OutcomeNames, settings: TableSettings, example: str | None
) -> Dataset | OutcomeTable:
    """Read the table at `path`, or the example of this name; exactly one of them must be given."""
    from chanceline.tables.examples import EXAMPLES, load_example
    from chanceline.tables.memory_of_table import make_read_only
    from chanceline.tables.outcome_table import load_any_outcome

    if (path is None) == (example is None):
        raise InputError(
            f"give a data file, or --example with one of {', '.join(EXAMPLES)} (and not both)."
        )
    if example is not None:
        return load_example(example)
    table = load_any_outcome(path, names, settings)
    # Nobody else has the array. Read-only, it can be computed with without being copied first.
    make_read_only(table.X)
    return table


def load_table(path: Path | None, label: str | None, settings: TableSettings) -> Dataset:
    """Read a table into memory; `label` names the column with the classes."""
    from chanceline.tables import load_data
    from chanceline.tables.memory_of_table import make_read_only, with_array

    if path is None:
        raise InputError("give a data file.")
    # A wide table is read by blocks of columns; `with_array` makes one array of it.
    dataset = with_array(load_data(path, label, settings))
    # Nobody else has the array. Read-only, it can be computed with without being copied first.
    make_read_only(dataset.X)
    return dataset


def show_test(result: SeparationTest | OutcomeTest, source: str) -> None:
    """Print the result of a test with its verdict in colour, then the name and size of the table.

    `source` is the name of the table. The colour is green for structure and red for chance.
    """
    from rich.console import Console

    from chanceline.significance.verdict import Verdict

    colours = {Verdict.STRUCTURE: "bold green", Verdict.CHANCE: "bold red"}
    colour = colours.get(result.verdict, "bold yellow")

    # Write parameters as flags of the command line (`missing='median'` as `--missing median`), and
    # invisible characters as escapes (`\x1b`).
    text = visible(in_flags(str(result)), keep="\n")

    # Split the text at the verdict, its first words in capitals, to print these in colour.
    verdict_words = result.verdict.upper()
    text_before, _, text_after = text.partition(verdict_words)
    console = Console(highlight=False, soft_wrap=True)
    console.print(text_before, end="", markup=False)
    console.print(verdict_words, style=colour, end="", markup=False)
    console.print(text_after, markup=False)
    show(f"\n  {source}: {table_in_words(result)}")


def table_in_words(result: SeparationTest | OutcomeTest) -> str:
    """The size of the table tested: `60 samples (30 control, 30 case; 20 groups), 200 features`.

    The sizes of the classes are told if there are two. Groups are told if samples belong together,
    so that there are fewer independent units than samples.
    """
    from chanceline.significance import SeparationTest

    details = []
    if isinstance(result, SeparationTest):
        negative, positive = result.classes
        n_negatives = result.n_samples - result.positives
        details.append(f"{n_negatives} {negative}, {result.positives} {positive}")
    if result.n_units < result.n_samples:
        details.append(f"{result.n_units} groups")
    samples = f"{result.n_samples} samples"
    if details:
        samples += f" ({'; '.join(details)})"
    return f"{samples}, {result.n_features} features"
