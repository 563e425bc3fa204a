"""`chanceline search`: few variables that separate, from a file or on a random problem."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from chanceline.cli.output import print_json, say

if TYPE_CHECKING:
    from chanceline.select import SearchOutcome

HELP = """Find as few variables as possible whose perceptron classifies every sample.

Methods: auto (the best), tabu, amp, omp, greedy-biht, greedy-biht-literal, biht, l1, reweighted-l1, and exact, which
proves the minimum. Budgets count iterations, so a result does not depend on the machine. Ctrl-C keeps the best so far.

Example: [bold]chanceline search data.csv --label outcome --intercept[/bold]

Example: [bold]chanceline search --random N=256,alpha=1,seed=0,inputs=binary[/bold]
"""


def register(app: typer.Typer) -> None:
    app.command("search", help=HELP)(run_search)


def run_search(
    data: Path | None = typer.Argument(None, help="CSV, gzipped CSV, Parquet or .npz file.", show_default=False),
    label: str | None = typer.Option(None, "--label", help="Column with the two classes (name, or number from 0)."),
    random: str | None = typer.Option(None, "--random", help="N=…,alpha=…[,seed=…,inputs=binary|gaussian|sphere]."),
    method: str = typer.Option("auto", "--method", help="Search method, see above."),
    budget: int | None = typer.Option(None, "--budget", help="Iterations; by default seconds' worth."),
    seed: int = typer.Option(0, "--seed", help="Same seed, same result."),
    intercept: bool = typer.Option(False, "--intercept/--no-intercept", help="Allow a threshold, which is not counted."),
    target: int | None = typer.Option(None, "--target", help="Stop when at most this many variables separate."),
    size: int | None = typer.Option(None, "--size", help="Number of variables for the method biht."),
    json: bool = typer.Option(False, "--json", help="One JSON object on stdout."),
    quiet: bool = typer.Option(False, "--quiet", "-q", help="No progress."),
) -> None:
    from chanceline.errors import InputError

    if (data is None) == (random is None):
        raise InputError("give a data file, or --random N=256,alpha=1 for a random problem (and not both).")
    X, y, names = _read(data, label) if data is not None else _draw(str(random))
    options = {} if size is None else {"size": size}
    if size is not None and method != "biht":
        raise InputError(f"--size belongs to the method biht, not to {method}; use --target to stop early.")
    from chanceline.select.api import search

    if not quiet and not _compiled():
        say("compiling the search; this happens once and takes up to a minute …")

    with _progress(quiet) as progress:
        outcome = search(X, y, method, budget, seed, intercept, target=target, progress=progress, **options)
    if outcome.interrupted and not quiet:
        say("interrupted: this is the best so far.")
    record = _record(outcome, names)
    if json:
        print_json(record)
        return
    print(outcome)
    for name, weight in zip(record["features"], record["weights"], strict=True):
        print(f"  {weight:+12.5g}  {name}")


def _record(outcome: SearchOutcome, names: list[str]) -> dict[str, Any]:
    return {
        "method": outcome.method,
        "n_samples": outcome.n_samples,
        "n_features": outcome.n_features,
        "n_selected": outcome.n_selected,
        "support": outcome.support,
        "features": [names[j] for j in outcome.support],
        "weights": outcome.weights,
        "bias": outcome.bias,
        "margin": outcome.margin,
        "errors": outcome.errors,
        "separates": outcome.separates,
        "iterations": outcome.iterations,
        "history": outcome.history,
        "minimum_proven": outcome.minimum_proven,
        "lower_bound": outcome.lower_bound,
        "proof_size": outcome.proof_size,
        "interrupted": outcome.interrupted,
        "seed": outcome.seed,
    }


def _read(path: Path, label: str | None) -> tuple[Any, Any, list[str]]:
    from chanceline.tables import load_data

    dataset = load_data(path, label)
    for finding in dataset.findings:
        say(str(finding))
    return dataset.X, dataset.y, list(dataset.feature_names)


def _draw(text: str) -> tuple[Any, Any, list[str]]:
    """A random problem from `N=…,alpha=…,seed=…,inputs=…`."""
    from chanceline.errors import InputError
    from chanceline.perceptron.random_problem import random_problem

    kinds: dict[str, Callable[[str], Any]] = {"N": int, "alpha": float, "P": int, "seed": int, "inputs": str}
    given: dict[str, Any] = {}
    for part in text.split(","):
        key, equals, value = part.strip().partition("=")
        if not equals or key not in kinds:
            raise InputError(f"--random does not understand {part.strip()!r}; write N=256,alpha=1,seed=0,inputs=binary.")
        try:
            given[key] = kinds[key](value)
        except ValueError:
            raise InputError(f"--random needs a number for {key}, not {value!r}.") from None
    if "N" not in given:
        raise InputError("--random needs the number of variables, as in N=256,alpha=1.")
    X, y = random_problem(
        given["N"], given.get("alpha"), given.get("seed", 0), given.get("inputs", "binary"), n_patterns=given.get("P")
    )
    return X, y, [f"x{j}" for j in range(X.shape[1])]


def _compiled() -> bool:
    """Whether an earlier run has left compiled kernels behind (where the cache lies elsewhere: assume so)."""
    import os

    import chanceline.select

    folder = Path(chanceline.select.__path__[0]) / "__pycache__"
    return bool(os.environ.get("NUMBA_CACHE_DIR")) or any(folder.glob("local.tabu_steps*.nbi"))


@contextmanager
def _progress(quiet: bool) -> Iterator[Callable[[int, SearchOutcome], None] | None]:
    """A line on stderr that shows K falling; plain lines where stderr is no terminal."""
    if quiet:
        yield None
        return
    if not sys.stderr.isatty():
        shown: list[int] = []

        def tell(iterations: int, best: SearchOutcome) -> None:
            if not shown or best.n_selected < shown[-1]:
                shown.append(best.n_selected)
                say(f"  iteration {iterations}: {best.n_selected} variables")

        yield tell
        return
    from rich.console import Console

    console = Console(stderr=True)
    with console.status("searching …") as status:
        yield lambda iterations, best: status.update(f"iteration {iterations}: {best.n_selected} variables")
