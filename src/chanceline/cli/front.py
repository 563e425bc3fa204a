"""`chanceline front`: for every number of features the fewest errors."""

from __future__ import annotations

from dataclasses import replace

import typer

from chanceline.cli.options import Budget, Figure, Intercept, Json, Quiet, Seed
from chanceline.cli.output import print_json, say, show
from chanceline.cli.progress import progress_bar
from chanceline.cli.table_options import TableChoice, with_table_options

HELP = """For every number of features, the fewest errors of a linear rule on some of them.

One run gives the whole front: the rule on 1, 2, 3 … features, up to the first that makes no error. Errors are counted
exactly; a sample on the threshold is one. Few errors are no evidence yet: [bold]chanceline test[/bold] tells whether
chance allows them. Ctrl-C keeps the best so far.

Example: [bold]chanceline front data.csv --label outcome[/bold]

Example: [bold]chanceline front data.csv --label outcome --max-features 20 --figure front.svg[/bold]
"""


def register(app: typer.Typer) -> None:
    app.command("front", help=HELP)(run_front)


@with_table_options(without=("blocks", "groups"))
def run_front(
    table: TableChoice,
    max_features: int = typer.Option(10, "--max-features", min=0, help="Largest number of features."),
    intercept: Intercept = True,
    budget: Budget = None,
    seed: Seed = 0,
    figure: Figure = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    from chanceline.figures.style import check_figure, draw_to_file

    if figure is not None:
        check_figure(figure)
    dataset = table.load(tell=True)
    from chanceline.select.front import front

    with progress_bar("swaps", quiet=quiet) as progress:
        found = front(
            dataset.X,
            dataset.y,
            intercept=intercept,
            max_features=max_features,
            budget=budget,
            seed=seed,
            progress=progress,
        )
    if found.interrupted:
        say("interrupted: this is the best so far.")
    # The file first: a reader of the pipe that has seen enough must not cost the figure.
    if figure is not None:
        from chanceline.figures.significance import draw_front

        draw_to_file(lambda ax: draw_front(ax, found), figure, (6.5, 4.0))
        say(f"figure written to {figure}")
    found = replace(found, feature_names=dataset.feature_names)
    if json:
        print_json({"source": dataset.source, "classes": dataset.classes, **found.to_dict()})
        return
    show(f"Fewest errors found among {found.n_samples} samples of {dataset.source}, {found.n_features} features")
    print("  k  errors  features")
    for point in found.points:
        show(f"{point.k:3d}  {point.errors:6d}  {', '.join(found.features(point))}".rstrip())
