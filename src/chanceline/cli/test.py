"""`chanceline test`: structure, or would chance allow it?"""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from chanceline.cli.output import print_json, say

if TYPE_CHECKING:
    from chanceline.significance import SeparationTest
    from chanceline.tables import Dataset

HELP = """Few features classify your samples perfectly: structure, or would noise allow it?

Reads CSV (any separator, compressed or not), Parquet or .npz (X, y). The verdict comes first, then the
three readings, then what would change the verdict.

Example: [bold]chanceline test data.csv --label outcome[/bold]

Example: [bold]chanceline test --example noise[/bold]
"""
FIGURES = (".svg", ".png", ".pdf")


def register(app: typer.Typer) -> None:
    app.command("test", help=HELP)(run_test)


def run_test(
    data: Path | None = typer.Argument(None, help="CSV, gzipped CSV, Parquet or .npz file.", show_default=False),
    label: str | None = typer.Option(None, "--label", help="Column with the two classes (name, or number from 0)."),
    example: str | None = typer.Option(None, "--example", help="breast-cancer, noise or planted instead of a file."),
    features: str | None = typer.Option(None, "--features", help="Names a,b,c to test; by default they are searched."),
    permutations: int = typer.Option(199, "--permutations", help="Shuffled labellings at most; 0 for none."),
    null: str = typer.Option("fixed", "--null", help="'fixed': class sizes kept; 'coin': each label a fair coin."),
    level: float = typer.Option(0.05, "--level", help="The p-value that convinces."),
    errors: int | None = typer.Option(None, "--errors", help="Errors allowed, fixed before looking."),
    intercept: bool = typer.Option(True, "--intercept/--no-intercept", help="Whether the rule has a threshold."),
    search: str = typer.Option("auto", "--search", help="Search method (see chanceline search --help)."),
    budget: int | None = typer.Option(None, "--budget", help="Iterations of one search."),
    seed: int = typer.Option(0, "--seed", help="Seed of the search and the permutations."),
    positive: str | None = typer.Option(None, "--positive", help="Class to set against all others."),
    blocks: str | None = typer.Option(None, "--blocks", help="Column of blocks: labels are shuffled within them."),
    groups: str | None = typer.Option(None, "--groups", help="Column of groups that share one label (subjects)."),
    drop: str | None = typer.Option(None, "--drop", help="Columns a,b,c to leave out."),
    missing: str = typer.Option("error", "--missing", help="error, rows, columns or median."),
    one_hot: bool = typer.Option(False, "--one-hot", help="Turn text columns into indicators."),
    keep_identifiers: bool = typer.Option(False, "--keep-identifiers", help="Keep columns that look like row ids."),
    preregistered: bool = typer.Option(False, "--preregistered", help="--features were fixed before the labels."),
    candidates: int | None = typer.Option(
        None, "--candidates", help="Features the selection chose from, if the file holds fewer."
    ),
    always_permute: bool = typer.Option(False, "--always-permute", help="Permute even if the bound convinces."),
    workers: int | None = typer.Option(None, "--workers", help="Processes (all cores by default)."),
    demonstrate_leakage: bool = typer.Option(
        False, "--demonstrate-leakage", help="Show what the usual workflow says about shuffled labels of these data."
    ),
    repeats: int = typer.Option(5, "--repeats", help="Shufflings of the leakage demonstration."),
    figure: Path | None = typer.Option(None, "--figure", help="Write the picture (.svg, .png or .pdf)."),
    report: Path | None = typer.Option(None, "--report", help="Write a self-contained HTML report."),
    json: bool = typer.Option(False, "--json", help="One JSON object on stdout."),
    quiet: bool = typer.Option(False, "--quiet", "-q", help="No progress."),
) -> None:
    from chanceline.errors import InputError
    from chanceline.significance import separation_test
    from chanceline.tables import load_data
    from chanceline.tables.examples import load_example

    if (data is None) == (example is None):
        raise InputError("give a data file, or --example with one of breast-cancer, noise, planted (and not both).")
    dataset = (
        load_example(example)
        if example is not None
        else load_data(
            data,  # type: ignore[arg-type]
            label,
            positive=positive,
            one_hot=one_hot,
            missing=missing,
            keep_identifiers=keep_identifiers,
            drop=_names(drop),
            blocks=blocks,
            groups=groups,
        )
    )
    if figure is not None and figure.suffix.lower() not in FIGURES:
        raise InputError(f"the figure's name must end in {', '.join(FIGURES)}, not {figure.name!r}.")
    workers = workers or usable_cores()
    if demonstrate_leakage:
        _leakage(dataset, repeats, permutations or 199, level, seed, budget, intercept, workers, json, quiet)
        return
    with progress_bar("shuffled labellings", quiet) as progress:
        result = separation_test(
            dataset.X,
            dataset.y,
            _names(features) or None,
            null=null,
            level=level,
            permutations=permutations,
            search=search,
            seed=seed,
            errors=errors,
            intercept=intercept,
            budget=budget,
            blocks=dataset.blocks,
            groups=dataset.groups,
            preregistered=preregistered,
            candidates=candidates,
            always_permute=always_permute,
            workers=workers,
            feature_names=dataset.feature_names,
            findings=dataset.findings,
            progress=progress,
        )
    # Files first: a reader of the pipe that has seen enough must not cost the report.
    if figure is not None:
        _draw(result, figure)
    if report is not None:
        from chanceline.report import write_test_report

        write_test_report(result, report, dataset)
        say(f"report written to {report}")
    if json:
        print_json({"source": dataset.source, "classes": dataset.classes, **result.to_dict()})
    else:
        _show(result, dataset)


def _names(text: str | None) -> list[str]:
    """Comma-separated names; quotes protect commas."""
    if text is None:
        return []
    return [name.strip() for name in next(csv.reader([text], skipinitialspace=True)) if name.strip()]


def _show(result: SeparationTest, dataset: Dataset) -> None:
    from rich.console import Console

    colour = {"structure": "bold green", "chance allows this": "bold red"}.get(result.verdict, "bold yellow")
    first, _, rest = str(result).partition(":")
    console = Console(highlight=False, soft_wrap=True)
    console.print(first, style=colour, end="", markup=False)
    console.print(f":{rest}", markup=False)
    negative, positive = dataset.classes
    console.print(
        f"\n  {dataset.source}: {result.n_samples} samples ({result.n_samples - result.positives} "
        f"{negative}, "
        f"{result.positives} {positive}), {result.n_features} features",
        markup=False,
    )


def _draw(result: SeparationTest, path: Path) -> None:
    from io import BytesIO

    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    from chanceline.figures.significance import draw_test
    from chanceline.files import write_bytes

    chart, ax = plt.subplots(figsize=(7.5, 4.5), layout="constrained")
    draw_test(ax, result)
    content = BytesIO()
    chart.savefig(content, format=path.suffix[1:].lower(), dpi=150)
    plt.close(chart)
    write_bytes(path, content.getvalue())
    say(f"figure written to {path}")


def _leakage(
    dataset: Dataset,
    repeats: int,
    permutations: int,
    level: float,
    seed: int,
    budget: int | None,
    intercept: bool,
    workers: int,
    json: bool,
    quiet: bool,
) -> None:
    from chanceline.significance.leakage import demonstrate_leakage

    with progress_bar("shufflings", quiet) as progress:
        demonstration = demonstrate_leakage(
            dataset.X,
            dataset.y,
            repeats=repeats,
            permutations=permutations,
            level=level,
            seed=seed,
            budget=budget,
            intercept=intercept,
            workers=workers,
            progress=progress,
        )
    if json:
        print_json({"source": dataset.source, **demonstration.to_dict()})
    else:
        print(demonstration)


@contextmanager
def progress_bar(what: str, quiet: bool) -> Iterator[Callable[[int, int], None] | None]:
    """A bar on stderr; in a pipe one line now and then."""
    if quiet:
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield _lines(what)
        return
    columns: tuple[Any, ...] = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
    )  # fmt: skip
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("searching …", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total, description=what)


def _lines(what: str) -> Callable[[int, int], None]:
    from time import monotonic

    last = monotonic()

    def show(done: int, total: int) -> None:
        nonlocal last
        if monotonic() - last > 10:
            last = monotonic()
            say(f"{what}: {done} of {total}")

    return show


def usable_cores() -> int:
    """Cores this process may use (fewer than the machine has, in a container or under taskset)."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
