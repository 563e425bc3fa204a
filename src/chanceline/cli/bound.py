"""`chanceline bound`: the rigorous bound from four numbers."""

from __future__ import annotations

from typing import Annotated

import typer

from chanceline.cli.options import Intercept, Json, Null
from chanceline.cli.output import print_json

HELP = """How often would labels that ignore the features let M of N features separate P samples? A rigorous
bound.

Example: [bold]chanceline bound -P 62 -N 2000 -M 3 --positives 40[/bold]
"""


def register(app: typer.Typer) -> None:
    app.command("bound", help=HELP)(bound)


def bound(
    samples: Annotated[int, typer.Option("-P", "--samples", help="Number of labelled samples, P.")],
    features: Annotated[int, typer.Option("-N", "--features", help="Number of features to choose from, N.")],
    selected: Annotated[int, typer.Option("-M", "--selected", help="Number of features the rule uses, M.")],
    positives: Annotated[int | None, typer.Option("--positives", help="Size of one class (needed by the fixed null).")] = None,
    errors: Annotated[int, typer.Option("--errors", help="Errors allowed, fixed before looking.")] = 0,
    null: Null = "fixed",
    intercept: Intercept = True,
    preregistered: Annotated[
        bool, typer.Option("--preregistered", help="The M features were fixed before the labels were seen.")
    ] = False,
    json: Json = False,
) -> None:
    from math import log10

    from chanceline.chance import chance_bound, format_p

    result = chance_bound(
        samples,
        features,
        selected,
        positives=positives,
        errors=errors,
        null=null,
        intercept=intercept,
        preregistered=preregistered,
    )
    if json:
        print_json(result.to_dict())
        return
    print(result)
    if result.log10_p == 0:
        print("The bound is silent here: only a permutation test of the data can tell (chanceline test).")
    if errors > 0:
        after = min(0.0, result.log10_p + (errors + 1) * log10(2))
        print(f"If the number of errors was chosen after looking: p ≤ {format_p(after)}.")
    print(f"  log10 p        {result.log10_p:.4f}   (union bound at M = {selected}: {result.log10_union:+.4f})")
    assumed = "fixed class sizes" if null == "fixed" else "fair coin (wrong for unbalanced classes)"
    print(f"  null           {assumed}")
    print(f"  smallest at    {result.best_size} features, dimension {result.dimension}, count: {result.form}")
    print(f"  supports       10^{result.log10_supports:.2f}")
