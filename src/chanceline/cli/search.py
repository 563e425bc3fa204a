"""`chanceline search`: few variables that separate, or nearly, from a file or on a random problem."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import typer

from chanceline.cli.options import Budget, Intercept, Json, Quiet, Seed
from chanceline.cli.output import print_json, say, show
from chanceline.cli.progress import status_line
from chanceline.cli.table_options import TableChoice, with_table_options

if TYPE_CHECKING:
    from chanceline.select import SearchOutcome

HELP = """Find as few variables as possible whose perceptron classifies every sample, or all but --errors of them.

Methods: auto (the best), tabu, amp, omp, greedy-biht, greedy-biht-literal, biht, l1, reweighted-l1, and exact, which
proves the minimum. Budgets count iterations, so a result does not depend on the machine. Ctrl-C keeps the best so far.

Example: [bold]chanceline search data.csv --label outcome --intercept[/bold]

Example: [bold]chanceline search data.csv --label outcome --intercept --errors 3[/bold]

Example: [bold]chanceline search --random N=256,alpha=1,seed=0,inputs=binary[/bold]
"""


def register(app: typer.Typer) -> None:
    app.command("search", help=HELP)(run_search)


@with_table_options(without=("blocks", "groups"))
def run_search(
    table: TableChoice,
    random: str | None = typer.Option(None, "--random", help="N=…,alpha=…[,seed=…,inputs=binary|gaussian|sphere]."),
    method: str = typer.Option("auto", "--method", help="Search method, see above."),
    errors: int = typer.Option(0, "--errors", help="Samples that may be wrong (methods auto and exact)."),
    budget: Budget = None,
    seed: Seed = 0,
    intercept: Intercept = False,
    target: int | None = typer.Option(None, "--target", help="Stop when at most this many variables suffice."),
    size: int | None = typer.Option(None, "--size", help="Number of variables for the method biht."),
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    from chanceline.errors import InputError

    if (table.path is None) == (random is None):
        raise InputError("give a data file, or --random N=256,alpha=1 for a random problem (and not both).")
    X, y, names = _draw(random) if random is not None else _read(table)
    options = {} if size is None else {"size": size}
    if size is not None and method != "biht":
        raise InputError(f"--size belongs to the method biht, not to {method}; use --target to stop early.")
    from chanceline.select.api import search

    with status_line("searching …", quiet=quiet) as tell:
        progress = None if tell is None else _falling(tell)
        outcome = search(X, y, method, budget, seed, intercept, errors=errors, target=target, progress=progress, **options)
    if outcome.interrupted:
        say("interrupted: this is the best so far.")
    record = outcome.to_dict() | {"features": [names[j] for j in outcome.support]}
    if json:
        print_json(record)
        return
    show(str(outcome))
    for name, weight in zip(record["features"], record["weights"], strict=True):
        show(f"  {weight:+12.5g}  {name}")


def _falling(tell: Callable[[str], None]) -> Callable[[int, SearchOutcome], None]:
    """A progress of the search that tells every improvement."""
    shown: tuple[int, int] | None = None

    def show(iterations: int, best: SearchOutcome) -> None:
        nonlocal shown
        now = (best.errors, best.n_selected)
        if now != shown:
            shown = now
            left = f", {best.errors} errors" if best.errors else ""
            tell(f"iteration {iterations}: {best.n_selected} variables{left}")

    return show


def _read(table: TableChoice) -> tuple[Any, Any, list[str]]:
    dataset = table.load(tell=True)
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
