"""`chanceline plan`: the largest set that would convince, or the samples needed."""

from __future__ import annotations

import contextlib
from typing import Annotated

import typer

from chanceline.cli.options import Intercept, Json, Level, Null
from chanceline.cli.output import print_json

HELP = """Before the experiment: with -P the largest set of features that would convince, with -M the
samples needed.

Example: [bold]chanceline plan -P 62 -N 2000 --positives 40[/bold]

Example: [bold]chanceline plan -N 2000 -M 5 --balance 0.35[/bold]
"""


def register(app: typer.Typer) -> None:
    app.command("plan", help=HELP)(plan)


def plan(
    features: Annotated[int, typer.Option("-N", "--features", help="Number of features to choose from, N.")],
    samples: Annotated[int | None, typer.Option("-P", "--samples", help="Number of samples, P: asks for the largest M.")] = None,
    selected: Annotated[int | None, typer.Option("-M", "--selected", help="Features the rule uses, M: asks for samples.")] = None,
    positives: Annotated[int | None, typer.Option("--positives", help="Size of one class, with -P.")] = None,
    balance: Annotated[float, typer.Option("--balance", help="Share of one class, with -M.")] = 0.5,
    level: Level = 0.05,
    errors: Annotated[int, typer.Option("--errors", help="Errors allowed, fixed before looking.")] = 0,
    null: Null = "fixed",
    intercept: Intercept = True,
    json: Json = False,
) -> None:
    from chanceline._validation import real_number
    from chanceline.chance import format_p, largest_convincing, samples_needed
    from chanceline.errors import ConvergenceError, InputError
    from chanceline.significance.size import ChanceSize, chance_size

    if (samples is None) == (selected is None):
        raise InputError("give either -P (to ask for the largest M) or -M (to ask for the samples needed), not both.")
    if samples is not None:
        if positives is None and null == "fixed":
            positives = round(real_number(balance, "the balance, the share of one class,", above=0, below=1) * samples)
        largest = largest_convincing(
            samples,
            features,
            positives=positives,
            level=level,
            errors=errors,
            null=null,
            intercept=intercept,
        )
        noise: ChanceSize | None = None
        # The rigorous answer stands without it, where replica symmetry with errors has none.
        with contextlib.suppress(ConvergenceError):
            noise = chance_size(samples, features, positives=positives, errors=errors, intercept=intercept)
        if json:
            record = {"n_samples": samples, "n_features": features, "positives": positives, **largest.to_dict()}
            print_json({**record, "chance_size": noise and noise.to_dict()})
        elif largest.largest == 0:
            print(f"With {samples} samples no set of features would convince at level {level:g} by the bound.")
        else:
            print(f"Up to {largest.largest} of {features} features would convince at level {level:g}.")
        for found in () if json else (largest.bound, largest.next_bound):
            if found is not None:
                print(f"  M = {found.n_selected}: p ≤ {format_p(found.log10_p)}")
        if noise is not None and not json:
            print(f"For comparison, {noise}: {noise.kind}.")
        return
    assert selected is not None
    needed = samples_needed(
        features,
        selected,
        balance=balance,
        level=level,
        errors=errors,
        null=null,
        intercept=intercept,
    )
    if json:
        print_json({"n_features": features, "n_selected": selected, **needed.to_dict()})
        return
    classes = "" if needed.positives is None else f" ({needed.positives} + {needed.n_samples - needed.positives})"
    print(f"{needed.n_samples} samples{classes} make {selected} of {features} features convincing ({level:g}).")
    print(f"  p ≤ {format_p(needed.bound.log10_p)} there (rigorous bound)")
