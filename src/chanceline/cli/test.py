"""`chanceline test`: structure, or would chance allow it?"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from chanceline._results import visible
from chanceline.cli.flags import in_flags
from chanceline.cli.options import Engine, Scheduler, Workers
from chanceline.cli.output import print_json, say
from chanceline.cli.progress import progress_bar
from chanceline.cli.table_options import TableChoice, names_in, with_table_options

if TYPE_CHECKING:
    from chanceline.significance import SeparationTest
    from chanceline.significance.config import TestSettings
    from chanceline.tables import Dataset

HELP = """Few features classify your samples: structure, or would noise allow it?

The verdict comes first, then the readings, then what would change the verdict. One Ctrl-C during the shuffles keeps what
is done.

Example: [bold]chanceline test data.csv --label outcome[/bold]

Example: [bold]chanceline test genes.tsv --transpose --labels clinic.csv --id sample --label outcome[/bold]

Example: [bold]chanceline test --example noise[/bold]
"""
# What a shell reports for a process that Ctrl-C ended.
INTERRUPTED = 130


def register(app: typer.Typer) -> None:
    app.command("test", help=HELP)(run_test)


@with_table_options
def run_test(
    table: TableChoice,
    example: str | None = typer.Option(None, "--example", help="breast-cancer, noise or planted instead of a file."),
    features: str | None = typer.Option(None, "--features", help="Names a,b,c to test; by default they are searched."),
    permutations: int = typer.Option(999, "--permutations", help="Shuffled labellings; 0 for none."),
    null: str = typer.Option("fixed", "--null", help="'fixed': class sizes kept; 'coin': each label a fair coin."),
    level: float = typer.Option(0.05, "--level", help="The p-value that convinces."),
    errors: int | None = typer.Option(None, "--errors", help="Errors allowed, fixed before looking."),
    intercept: bool = typer.Option(True, "--intercept/--no-intercept", help="Whether the rule has a threshold."),
    method: str = typer.Option("auto", "--method", help="Search for the smallest set (see chanceline search --help)."),
    search: str | None = typer.Option(
        None, "--search", help="Run this search method again on every shuffle, instead of the front.", show_default=False
    ),
    budget: int | None = typer.Option(None, "--budget", help="Iterations of one search."),
    seed: int = typer.Option(0, "--seed", help="Seed of the search and the permutations."),
    preregistered: bool = typer.Option(False, "--preregistered", help="--features were fixed before the labels."),
    candidates: int | None = typer.Option(
        None, "--candidates", help="Features the selection chose from, if the file holds fewer."
    ),
    always_permute: bool = typer.Option(False, "--always-permute", help="Permute even if the bound convinces."),
    expected_error: bool = typer.Option(
        True, "--expected-error/--no-expected-error", help="Cross-validate: what to expect on new samples."
    ),
    time_limit: float | None = typer.Option(
        None, "--time-limit", help="Seconds after which no further shuffle is begun.", show_default=False
    ),
    workers: Workers = None,
    engine: Engine = "processes",
    scheduler: Scheduler = None,
    figure: Path | None = typer.Option(None, "--figure", help="Write the picture (.svg, .png or .pdf)."),
    report: Path | None = typer.Option(None, "--report", help="Write a self-contained HTML report."),
    json: bool = typer.Option(False, "--json", help="One JSON object on stdout."),
    quiet: bool = typer.Option(False, "--quiet", "-q", help="No progress."),
) -> None:
    from chanceline._io import check_target
    from chanceline._parallel import cluster
    from chanceline.figures.style import check_figure, draw_to_file
    from chanceline.significance.config import TestSettings

    dataset = _load(table, example)
    if figure is not None:
        check_figure(figure)
    if report is not None:
        check_target(report)
    settings = TestSettings(
        level=level,
        permutations=permutations,
        seed=seed,
        null=null,
        intercept=intercept,
        errors=errors,
        method=method,
        search=search,
        budget=budget,
        preregistered=preregistered,
        candidates=candidates,
        always_permute=always_permute,
        expected_error=expected_error,
        time_limit=time_limit,
        n_jobs=workers or -1,
    )
    with cluster(scheduler):
        result = _run(dataset, names_in(features) or None, settings, quiet=quiet)
    # Files first: a reader of the pipe that has seen enough must not cost the report.
    if figure is not None:
        from chanceline.figures.significance import draw_test

        draw_to_file(lambda ax: draw_test(ax, result), figure)
        say(f"figure written to {figure}")
    if report is not None:
        _report(result, report, dataset)
    if json:
        print_json({"source": dataset.source, **result.to_dict()})
    else:
        _show(result, dataset)
    if result.interrupted:
        raise typer.Exit(INTERRUPTED)


def _load(table: TableChoice, example: str | None) -> Dataset:
    from chanceline.errors import InputError
    from chanceline.tables.examples import load_example

    if (table.path is None) == (example is None):
        raise InputError("give a data file, or --example with one of breast-cancer, noise, planted (and not both).")
    return table.load() if example is None else load_example(example)


def _run(dataset: Dataset, features: tuple[str, ...] | None, settings: TestSettings, *, quiet: bool) -> SeparationTest:
    """The test; one Ctrl-C or SIGTERM during the shuffles keeps what is done, a second one ends at once."""
    from chanceline.significance import judge

    with progress_bar("shuffled labellings", quiet=quiet) as progress, gentle_end():
        return judge(dataset, features, settings=settings, progress=progress)


@contextmanager
def gentle_end() -> Iterator[None]:
    """SIGTERM asks as Ctrl-C does; after the first of either, the next ends the process at once."""
    import signal
    import threading

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def ask(number: int, frame: object) -> None:
        for other in before:
            signal.signal(other, signal.SIG_DFL)
        raise KeyboardInterrupt

    for number in before:
        signal.signal(number, ask)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _report(result: SeparationTest, path: Path, dataset: Dataset) -> None:
    from chanceline.report import write_test_report

    write_test_report(result, path, dataset)
    say(f"report written to {path}")


def _show(result: SeparationTest, dataset: Dataset) -> None:
    from rich.console import Console

    from chanceline.significance.words import CHANCE, STRUCTURE

    colour = {STRUCTURE: "bold green", CHANCE: "bold red"}.get(result.verdict, "bold yellow")
    first, _, rest = visible(in_flags(str(result)), keep="\n").partition(":")
    console = Console(highlight=False, soft_wrap=True)
    console.print(first, style=colour, end="", markup=False)
    console.print(f":{rest}", markup=False)
    negative, positive = result.classes
    classes = f"{result.n_samples - result.positives} {negative}, {result.positives} {positive}"
    console.print(
        "\n  " + visible(f"{dataset.source}: {result.n_samples} samples ({classes}), {result.n_features} features"), markup=False
    )
