"""The commands that read a table: `test`, `search` and `front`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

import typer

import chanceline
from chanceline._io import write_text
from chanceline._results import visible
from chanceline.cli.terminal import (
    Budget,
    Data,
    Figure,
    Intercept,
    Jobs,
    Json,
    Label,
    Quiet,
    Report,
    Scheduler,
    Seed,
    Signs,
    answer,
    draw_figure,
    in_flags,
    names_in,
    print_json,
    progress_bar,
    say,
    show,
    status_line,
    with_settings,
    writable,
)
from chanceline.errors import InputError
from chanceline.significance import TestSettings
from chanceline.tables import TableSettings

if TYPE_CHECKING:
    from chanceline.significance import SeparationTest
    from chanceline.tables import Dataset

# What a shell reports for a process that Ctrl-C ended.
INTERRUPTED = 130
SIGNS = ("+", "-")


@with_settings(without=("restarts", "stop_after", "largest", "n_jobs"))
def run_test(
    table: TableSettings,
    settings: TestSettings,
    data: Data = None,
    label: Label = None,
    features: str | None = typer.Option(
        None, "--features", help="Names a,b,c to test; by default they are searched."
    ),
    report: Report = None,
    features_table: Path | None = typer.Option(
        None, "--table", help="Write the features' table (CSV) here.", callback=writable
    ),
    jobs: Jobs = -1,
    example: str | None = typer.Option(
        None, "--example", help="breast-cancer, noise or planted instead of a file."
    ),
    figure: Figure = None,
    scheduler: Scheduler = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Few features classify your samples: structure, or would noise allow it?

    First the verdict and the features it rests on, then what to expect of the rule to use on new samples, then what
    separates all samples. One Ctrl-C during the shuffles keeps what is done.

    Example: [bold]chanceline test data.csv --label outcome[/bold]

    Example: [bold]chanceline test genes.tsv --transpose --labels clinic.csv --id sample --label outcome[/bold]

    Example: [bold]chanceline test --example noise[/bold]
    """
    from chanceline._parallel import cluster
    from chanceline.significance import judge

    if (data is None) == (example is None):
        raise InputError(
            "give a data file, or --example with one of breast-cancer, noise, planted (and not both)."
        )
    if example is None:
        dataset = _load(data, label, table)
    else:
        from chanceline.tables.examples import load_example

        dataset = load_example(example)
    settings = replace(settings, n_jobs=jobs)
    with cluster(scheduler), progress_bar("shuffled labellings", quiet=quiet) as progress:
        result = judge(dataset, names_in(features) or None, settings=settings, progress=progress)
    # Files first: a reader of the pipe that has seen enough must not cost the report.
    draw_figure(result.plot, figure)
    if report is not None:
        from chanceline.report import write_test_report

        write_test_report(result, report, dataset)
        say(f"report written to {report}")
    if features_table is not None:
        write_text(features_table, result.to_frame().to_csv(index=False))
        say(f"table written to {features_table}")
    if json:
        print_json({"source": dataset.source, **result.to_dict()})
    else:
        _show_test(result, dataset)
    if result.interrupted:
        raise typer.Exit(INTERRUPTED)


def _load(
    path: Path | None, label: str | None, settings: TableSettings, *, tell: bool = False
) -> Dataset:
    """Read the table; `tell` what was noticed on stderr."""
    from chanceline.tables import load_data

    if path is None:
        raise InputError("give a data file.")
    dataset = load_data(path, label, settings)
    dataset.X.flags.writeable = False  # nobody else has it: what is computed from it needs no copy
    for finding in dataset.findings if tell else ():
        say(str(finding))
    return dataset


def _show_test(result: SeparationTest, dataset: Dataset) -> None:
    from rich.console import Console

    from chanceline.significance.text import CHANCE, STRUCTURE

    colour = {STRUCTURE: "bold green", CHANCE: "bold red"}.get(result.verdict, "bold yellow")
    text, word = visible(in_flags(str(result)), keep="\n"), result.verdict.upper()
    before, _, rest = text.partition(word)
    console = Console(highlight=False, soft_wrap=True)
    console.print(before, end="", markup=False)
    console.print(word, style=colour, end="", markup=False)
    console.print(rest, markup=False)
    negative, positive = result.classes
    classes = f"{result.n_samples - result.positives} {negative}, {result.positives} {positive}"
    classes += f"; {result.n_units} groups" * (result.n_units < result.n_samples)
    show(
        f"\n  {dataset.source}: {result.n_samples} samples ({classes}), {result.n_features} features"
    )


@with_settings(without=("blocks", "groups", "pairs", "adjust", "independent"))
def search(
    table: TableSettings,
    data: Data = None,
    label: Label = None,
    random: str | None = typer.Option(
        None, "--random", help="N=…,alpha=…[,seed=…,inputs=binary|gaussian|sphere]."
    ),
    method: str = typer.Option("auto", "--method", help="Search method, see above."),
    errors: int = typer.Option(
        0, "--errors", help="Samples that may be wrong (methods auto and exact)."
    ),
    budget: Budget = None,
    seed: Seed = 0,
    intercept: Intercept = False,
    signs: Signs = None,
    target: int | None = typer.Option(
        None, "--target", help="Stop when at most this many variables suffice."
    ),
    size: int | None = typer.Option(
        None, "--size", help="Number of variables for the method biht."
    ),
    out: Path | None = typer.Option(
        None, "--out", help="Write the features and their weights (CSV) here.", callback=writable
    ),
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Find as few variables as possible whose perceptron classifies every sample, or all but --errors of them.

    Methods: auto (the best), tabu, amp, omp, greedy-biht, biht, l1, reweighted-l1, and exact, which proves the minimum.
    Budgets count iterations, so a result does not depend on the machine.

    Example: [bold]chanceline search data.csv --label outcome --intercept[/bold]

    Example: [bold]chanceline search data.csv --label outcome --intercept --errors 3[/bold]

    Example: [bold]chanceline search data.csv --label outcome --intercept --signs age=+,albumin=-[/bold]

    Example: [bold]chanceline search --random N=256,alpha=1,seed=0,inputs=binary[/bold]
    """
    from chanceline.select import iter_search
    from chanceline.significance.sentences import rule_sentence

    if (data is None) == (random is None):
        raise InputError(
            "give a data file, or --random N=256,alpha=1 for a random problem (and not both)."
        )
    if random is None:
        dataset = _load(data, label, table, tell=True)
        X, y, names, classes = dataset.X, dataset.y, dataset.feature_names, dataset.classes
    else:
        X, y = _random_problem(random)
        names, classes = tuple(f"x{j}" for j in range(X.shape[1])), ("-1", "+1")
    options: dict[str, Any] = {
        "errors": errors,
        "target": target,
        "signs": _read_signs(signs, names),
    }
    options |= {} if size is None else {"size": size}
    with status_line(quiet=quiet) as tell:
        for outcome in iter_search(X, y, method, budget, seed, intercept, **options):
            if tell is not None:
                left = f", {outcome.errors} errors" if outcome.errors else ""
                tell(f"iteration {outcome.iterations}: {outcome.n_selected} variables{left}")
    record = outcome.to_dict() | {"features": [names[j] for j in outcome.support]}
    record |= {"classes": classes, "positive_class": classes[1]}
    if out is not None:
        import pandas as pd

        weights = dict(zip(record["features"], record["weights"], strict=True)) | {
            "(intercept)": outcome.bias
        }
        write_text(out, pd.Series(weights, name="weight").to_csv(index_label="feature"))
        say(f"rule written to {out}")
    first, _, last = str(outcome).splitlines()
    rule = fill(
        rule_sentence(outcome.rule, X, names, classes),
        width=98,
        initial_indent="  ",
        subsequent_indent="    ",
        break_on_hyphens=False,
        max_lines=12,
        placeholder=" … (--out FILE has all)",
    )
    answer(record, f"{first}\n{rule}\n{last}", json)


def _read_signs(text: str | None, names: Sequence[str]) -> list[int] | None:
    """Signs from '+' or '-' for all features, or from `name=+,other=-`; the rest are free."""
    if text is None:
        return None
    signs = dict.fromkeys(names, int(f"{text}1") if text in SIGNS else 0)
    for part in () if text in SIGNS else text.split(","):
        name, _, sign = part.strip().rpartition("=")
        if name not in signs or sign not in SIGNS:
            raise InputError(
                f"--signs does not understand {part!r}; write + or - for all features, or name=+,other=- for some."
            )
        signs[name] = int(f"{sign}1")
    return list(signs.values())


def _random_problem(text: str) -> tuple[Any, Any]:
    """A random problem from `N=…,alpha=…,seed=…,inputs=…`."""
    from chanceline.perceptron.random_patterns import random_problem

    kinds: dict[str, Callable[[str], Any]] = {
        "N": int,
        "alpha": float,
        "P": int,
        "seed": int,
        "inputs": str,
    }
    parts = [part.strip().partition("=") for part in text.split(",")]
    try:
        given = {name: kinds[name](value) for name, _, value in parts}
        n = given["N"]
    except (KeyError, ValueError):
        raise InputError(
            f"--random does not understand {text!r}; write N=256,alpha=1,seed=0,inputs=binary."
        ) from None
    seed, inputs = given.get("seed", 0), given.get("inputs", "binary")
    return random_problem(n, given.get("alpha"), seed, inputs, n_patterns=given.get("P"))


@with_settings(without=("blocks", "groups", "pairs", "adjust", "independent"))
def front(
    table: TableSettings,
    data: Data = None,
    label: Label = None,
    max_features: int = typer.Option(
        10, "--max-features", min=0, help="Largest number of features."
    ),
    intercept: Intercept = True,
    signs: Signs = None,
    budget: Budget = None,
    seed: Seed = 0,
    figure: Figure = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """For every number of features, the fewest errors of a linear rule on some of them.

    One run gives the whole front: the rule on 1, 2, 3 … features, up to the first that makes no error. Errors are counted
    exactly; a sample on the threshold is one. Few errors are no evidence yet: [bold]chanceline test[/bold] tells whether
    chance allows them.

    Example: [bold]chanceline front data.csv --label outcome[/bold]

    Example: [bold]chanceline front data.csv --label outcome --max-features 20 --figure front.svg[/bold]
    """
    dataset = _load(data, label, table, tell=True)
    with progress_bar("swaps", quiet=quiet) as progress:
        found = chanceline.front(
            dataset.X,
            dataset.y,
            intercept=intercept,
            max_features=max_features,
            budget=budget,
            seed=seed,
            signs=_read_signs(signs, dataset.feature_names),
            progress=progress,
        )
    # The file first: a reader of the pipe that has seen enough must not cost the figure.
    if figure is not None:
        from chanceline.figures.significance import draw_front

        draw_figure(lambda ax: draw_front(ax, found), figure, (6.5, 4.0))
    found = replace(found, feature_names=dataset.feature_names)
    first = f"Fewest errors found among {found.n_samples} samples of {dataset.source}, {found.n_features} features"
    lines = [
        f"{point.k:3d}  {point.errors:6d}{'*' if point.proven else ' '} {', '.join(found.features(point))}".rstrip()
        for point in found.points
    ]
    record = {
        "source": dataset.source,
        "classes": dataset.classes,
        "positive_class": dataset.classes[1],
        **found.to_dict(),
    }
    answer(
        record,
        "\n".join(
            [first, "  k  errors  features (*: proven, no rule on so many makes fewer)", *lines]
        ),
        json,
    )
