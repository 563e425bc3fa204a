"""The commands that look for few features: `search` and `front`.

Options of the table are fields of `TableSettings`: see `settings_options`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

import chanceline
from chanceline._io import write_text
from chanceline._results import harmless
from chanceline.cli.options import (
    BudgetOption,
    DataArgument,
    FigureOption,
    InterceptOption,
    JobsOption,
    JsonOption,
    LabelOption,
    QuietOption,
    RestartsOption,
    SchedulerOption,
    SeedOption,
    SignsOption,
    writable,
)
from chanceline.cli.settings_options import DESIGN_SETTINGS, options_from_settings
from chanceline.cli.table import load_table
from chanceline.cli.terminal import print_answer, progress_bar, say, status_line, write_figure
from chanceline.errors import InputError
from chanceline.tables import TableSettings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from chanceline.select import SearchOutcome
    from chanceline.select.front_result import Front
    from chanceline.tables import Dataset

SIGN_VALUES = {"+": 1, "-": -1}
# What --random takes → what reads its value.
RANDOM_PARAMETERS: dict[str, Callable[[str], Any]] = {
    "N": int,
    "alpha": float,
    "P": int,
    "seed": int,
    "inputs": str,
}
MAX_RULE_LINES = 12  # of a rule in the answer; a file holds longer ones
RULE_WIDTH = 98  # letters of each line
FRONT_SIZE = (6.5, 4.0)  # of the picture, in inches


class SearchData(NamedTuple):
    """What is searched: values (samples, features), labels ±1 and names; the second class is +1."""

    X: NDArray[np.float64]
    y: NDArray[np.float64]
    feature_names: Sequence[str]
    classes: tuple[Any, Any]


@options_from_settings(table_settings=TableSettings, excluded_fields=DESIGN_SETTINGS)
def search(
    table_settings: TableSettings,
    data: DataArgument = None,
    label: LabelOption = None,
    random: str | None = typer.Option(
        None, "--random", help="N=…,alpha=…[,seed=…,inputs=binary|gaussian|sphere]."
    ),
    method: str = typer.Option("auto", "--method", help="Search method, see above."),
    errors: int = typer.Option(
        0, "--errors", help="Samples that may be wrong (methods auto and exact)."
    ),
    budget: BudgetOption = None,
    seed: SeedOption = 0,
    intercept: InterceptOption = False,
    signs: SignsOption = None,
    target: int | None = typer.Option(
        None, "--target", help="Stop when at most this many variables suffice."
    ),
    size: int | None = typer.Option(
        None, "--size", help="Number of variables for the method biht."
    ),
    out: Path | None = typer.Option(
        None, "--out", help="Write the features and their weights (CSV) here.", callback=writable
    ),
    restarts: RestartsOption = 1,
    jobs: JobsOption = -1,
    scheduler: SchedulerOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Find as few variables as possible whose perceptron classifies every sample, or all but --errors of them.

    Methods: auto (the best), tabu, amp, omp, greedy-biht, biht, l1, reweighted-l1, and exact, which proves the minimum.
    Budgets count iterations, so a result does not depend on the machine.

    Example: [bold]chanceline search data.csv --label outcome --intercept[/bold]

    Example: [bold]chanceline search data.csv --label outcome --intercept --errors 3[/bold]

    Example: [bold]chanceline search data.csv --label outcome --intercept --signs age=+,albumin=-[/bold]

    Example: [bold]chanceline search --random N=256,alpha=1,seed=0,inputs=binary[/bold]
    """  # noqa: E501 (the help shows these lines as they are)
    if (data is None) == (random is None):
        raise InputError(
            "give a data file, or --random N=256,alpha=1 for a random problem (and not both)."
        )
    # The features and labels: from the file, or at random.
    if random is None:
        dataset = load_table_and_tell(data, label, table_settings)
        problem = search_data(dataset)
    else:
        problem = random_search_data(random)

    # Search once, or from several seeds.
    options: dict[str, Any] = {
        "method": method,
        "budget": budget,
        "seed": seed,
        "intercept": intercept,
        "errors": errors,
        "target": target,
        "signs": parse_signs(signs, problem.feature_names),
    }
    if size is not None:
        options["size"] = size  # only the method biht accepts it
    if restarts == 1:
        outcome = search_once(problem, options, quiet=quiet)
    else:
        outcome = search_often(problem, options, SeedRuns(restarts, jobs, scheduler), quiet=quiet)

    # Write the rule to the file of --out, and print it.
    features = [problem.feature_names[j] for j in outcome.support]
    if out is not None:
        write_rule(out, outcome, features)
        say(f"rule written to {out}")
    record = {
        **outcome.to_dict(),
        "features": features,
        "classes": problem.classes,
        "positive_class": problem.classes[1],
    }
    print_answer(record, describe_outcome(outcome, problem), json)


class SeedRuns(NamedTuple):
    """How often to search, and on what: the number of seeds, of jobs, and a cluster's address."""

    restarts: int
    jobs: int
    scheduler: str | None


def search_once(problem: SearchData, options: dict[str, Any], *, quiet: bool) -> SearchOutcome:
    """The outcome of one search, whose improvements are told as they come."""
    from chanceline.select import iter_search

    # Each outcome is better than the one before, and there is at least one: the last is the result.
    with status_line(quiet=quiet) as tell:
        for outcome in iter_search(problem.X, problem.y, **options):
            if tell is not None:
                tell(describe_improvement(outcome))
    return outcome


def search_often(
    problem: SearchData, options: dict[str, Any], runs: SeedRuns, *, quiet: bool
) -> SearchOutcome:
    """Search from several seeds, in several processes or on a cluster; return the best outcome.

    Parameters
    ----------
    problem : features (samples, features), labels ±1 and names.
    options : arguments of every search, such as the method, the budget and the first seed.
    runs : the number of seeds, the number of processes, and the address of a cluster or None.
    quiet : show no progress.
    """
    from chanceline._cluster import cluster
    from chanceline.select.restarts import search_from_seeds

    with cluster(runs.scheduler), progress_bar("searches", quiet=quiet) as progress:
        return search_from_seeds(
            problem.X,
            problem.y,
            restarts=runs.restarts,
            n_jobs=runs.jobs,
            progress=progress,
            **options,
        )


def load_table_and_tell(path: Path | None, label: str | None, settings: TableSettings) -> Dataset:
    """Read a table, and say on stderr what was noticed about it."""
    dataset = load_table(path, label, settings)
    for finding in dataset.findings:
        say(str(finding))
    return dataset


def search_data(dataset: Dataset) -> SearchData:
    """The part of a data set in memory that a search needs."""
    import numpy as np

    return SearchData(
        X=np.asarray(dataset.X),
        y=dataset.y,
        feature_names=tuple(dataset.feature_names),
        classes=dataset.classes,
    )


def random_search_data(text: str) -> SearchData:
    """Draw a random problem as described by `N=…,alpha=…,seed=…,inputs=…`.

    N is the number of features. The number of samples is given by alpha, the samples per feature,
    or as P=… instead. The features are named x0, x1, …, and the classes -1 and +1.
    """
    from chanceline.perceptron.random_patterns import random_problem

    n_features, values = read_random_parameters(text)
    X, y = random_problem(
        n_features,
        values.get("alpha"),
        seed=values.get("seed", 0),
        inputs=values.get("inputs", "binary"),
        n_patterns=values.get("P"),
    )
    names = [f"x{j}" for j in range(X.shape[1])]
    return SearchData(X=X, y=y, feature_names=names, classes=("-1", "+1"))


def read_random_parameters(text: str) -> tuple[int, dict[str, Any]]:
    """Parse `N=256,alpha=1,…`; return the number N and the other values by name.

    N is required; any of the other parameters may be left out.
    """
    values: dict[str, Any] = {}
    try:
        for assignment in text.split(","):
            name, _, value_text = assignment.strip().partition("=")
            convert = RANDOM_PARAMETERS[name]  # int, float or str
            values[name] = convert(value_text)
        n_features = values.pop("N")
    except (KeyError, ValueError):  # an unknown name, a value that is no number, or no N
        raise InputError(
            f"--random does not understand {text!r}; write N=256,alpha=1,seed=0,inputs=binary."
        ) from None
    return n_features, values


def parse_signs(text: str | None, feature_names: Sequence[str]) -> list[int] | None:
    """Parse the option --signs: the sign that the weight of each feature must have.

    `text` is + or - for all features, or `name=+,other=-` for some of them. Returns 1, −1, or 0
    (free) for each feature, in their order; None without --signs.
    """
    if text is None:
        return None
    if text in SIGN_VALUES:
        return [SIGN_VALUES[text]] * len(feature_names)

    signs = dict.fromkeys(feature_names, 0)
    for part in text.split(","):
        # Split at the last =, because a name may contain this character.
        name, _, sign = part.strip().rpartition("=")
        if name not in signs or sign not in SIGN_VALUES:
            raise InputError(
                f"--signs does not understand {part!r}; "
                "write + or - for all features, or name=+,other=- for some."
            )
        signs[name] = SIGN_VALUES[sign]
    return [signs[name] for name in feature_names]


def describe_improvement(outcome: SearchOutcome) -> str:
    """How far the search has come, for one line of progress."""
    text = f"iteration {outcome.iterations}: {outcome.n_selected} variables"
    if outcome.errors:
        text += f", {outcome.errors} errors"
    return text


def describe_outcome(outcome: SearchOutcome, problem: SearchData) -> str:
    """The outcome of a search in words: a summary, the rule as a formula, and the effort."""
    from chanceline.significance.sentences import rule_sentence

    # The formula is wrapped, and cut after a number of lines.
    formula = rule_sentence(outcome.rule, problem.X, problem.feature_names, problem.classes)
    wrapped_formula = fill(
        formula,
        width=RULE_WIDTH,
        initial_indent="  ",
        subsequent_indent="    ",
        break_on_hyphens=False,
        max_lines=MAX_RULE_LINES,
        placeholder=" … (--out FILE has all)",
    )
    effort = f"{outcome.method}, seed {outcome.seed}, {outcome.iterations} iterations"
    if outcome.proof_size:
        effort += f", a proof of {outcome.proof_size} nodes"
    last_line = f"  {effort}; margin {outcome.margin:.3g}"
    return f"{outcome.summary()}\n{wrapped_formula}\n{last_line}"


def write_rule(path: Path, outcome: SearchOutcome, features: Sequence[str]) -> None:
    """Write the features of a rule with their weights, and its intercept, as a CSV file."""
    import pandas as pd

    names = [harmless(name) for name in features]
    weights = dict(zip(names, outcome.weights.tolist(), strict=True))
    weights["(intercept)"] = outcome.bias
    write_text(path, pd.Series(weights, name="weight").to_csv(index_label="feature"))


@options_from_settings(table_settings=TableSettings, excluded_fields=DESIGN_SETTINGS)
def front(
    table_settings: TableSettings,
    data: DataArgument = None,
    label: LabelOption = None,
    max_features: int = typer.Option(
        10, "--max-features", min=0, help="Largest number of features."
    ),
    intercept: InterceptOption = True,
    signs: SignsOption = None,
    budget: BudgetOption = None,
    seed: SeedOption = 0,
    restarts: RestartsOption = 1,
    jobs: JobsOption = -1,
    scheduler: SchedulerOption = None,
    figure: FigureOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """For every number of features, the fewest errors of a linear rule on some of them.

    One run gives the whole front: the rule on 1, 2, 3 … features, up to the first that makes no error. Errors are counted
    exactly; a sample on the threshold is one. Few errors are no evidence yet: [bold]chanceline test[/bold] tells whether
    chance allows them.

    Example: [bold]chanceline front data.csv --label outcome[/bold]

    Example: [bold]chanceline front data.csv --label outcome --max-features 20 --figure front.svg[/bold]
    """  # noqa: E501 (the help shows these lines as they are)
    dataset = load_table_and_tell(data, label, table_settings)

    # Search once, or from several seeds.
    options: dict[str, Any] = {
        "intercept": intercept,
        "max_features": max_features,
        "budget": budget,
        "seed": seed,
        "signs": parse_signs(signs, dataset.feature_names),
    }
    if restarts == 1:
        with progress_bar("swaps", quiet=quiet) as progress:
            found_front = chanceline.front(dataset.X, dataset.y, progress=progress, **options)
    else:
        runs = SeedRuns(restarts, jobs, scheduler)
        found_front = best_front_of_seeds(dataset, options, runs, quiet=quiet)
    found_front = replace(found_front, feature_names=tuple(dataset.feature_names))

    # Write the figure before anything is printed: printing fails if stdout is a closed pipe.
    if figure is not None:
        from chanceline.figures.significance import draw_front

        write_figure(lambda ax: draw_front(ax, found_front), figure, size=FRONT_SIZE)
    record = {
        "source": dataset.source,
        "classes": dataset.classes,
        "positive_class": dataset.classes[1],
        **found_front.to_dict(),
    }
    print_answer(record, describe_front(found_front, dataset.source), json)


def best_front_of_seeds(
    dataset: Dataset, options: dict[str, Any], runs: SeedRuns, *, quiet: bool
) -> Front:
    """Search from several seeds, in several processes or on a cluster; return the best front.

    A front holds, for each number of features, the fewest errors found.

    Parameters
    ----------
    dataset : features (samples, features) and labels ±1.
    options : arguments of every search, such as the budget and the first seed.
    runs : the number of seeds, the number of processes, and the address of a cluster's scheduler;
        without an address the searches run on this computer.
    quiet : show no progress.
    """
    from chanceline._cluster import cluster
    from chanceline.select.restarts import front_from_seeds

    with cluster(runs.scheduler), progress_bar("searches", quiet=quiet) as progress:
        return front_from_seeds(
            dataset.X,
            dataset.y,
            restarts=runs.restarts,
            n_jobs=runs.jobs,
            progress=progress,
            **options,
        )


def describe_front(front: Front, source: str) -> str:
    """The fewest errors found for each number of features k, as a table.

    A star marks numbers of errors that are proven to be the fewest. `source` names the data.
    """
    lines = [
        f"Fewest errors found among {front.n_samples} samples of {source}, "
        f"{front.n_features} features",
        "  k  errors  features (*: proven, no rule on so many makes fewer)",
    ]
    for point in front.points:
        mark = "*" if point.proven else " "
        features = ", ".join(front.features(point))
        lines.append(f"{point.k:3d}  {point.errors:6d}{mark} {features}".rstrip())
    return "\n".join(lines)
