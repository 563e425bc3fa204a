"""`chanceline plan`: the largest set that would convince, or the samples needed."""

from __future__ import annotations

import contextlib

import typer

from chanceline.cli.output import print_json

HELP = """Before the experiment: with -P the largest set of features that would convince, with -M the
samples needed.

Example: [bold]chanceline plan -P 62 -N 2000 --positives 40[/bold]

Example: [bold]chanceline plan -N 2000 -M 5 --balance 0.35[/bold]
"""


def register(app: typer.Typer) -> None:
    app.command("plan", help=HELP)(plan)


def plan(
    features: int = typer.Option(..., "-N", "--features", help="Number of features to choose from, N."),
    samples: int | None = typer.Option(None, "-P", "--samples", help="Number of samples, P: asks for the largest M."),
    selected: int | None = typer.Option(None, "-M", "--selected", help="Features the rule uses, M: asks for samples."),
    positives: int | None = typer.Option(None, "--positives", help="Size of one class, with -P."),
    balance: float = typer.Option(0.5, "--balance", help="Share of one class, with -M."),
    level: float = typer.Option(0.05, "--level", help="The p-value that convinces."),
    errors: int = typer.Option(0, "--errors", help="Errors allowed, fixed before looking."),
    null: str = typer.Option("fixed", "--null", help="'fixed': class sizes kept; 'coin': each label a fair coin."),
    intercept: bool = typer.Option(True, "--intercept/--no-intercept", help="Whether the rule has a threshold."),
    json: bool = typer.Option(False, "--json", help="One JSON object on stdout."),
) -> None:
    from chanceline.chance import format_p, largest_convincing, samples_needed
    from chanceline.chance.planning import check_balance
    from chanceline.errors import ConvergenceError, InputError
    from chanceline.significance.size import ChanceSize, chance_size

    if (samples is None) == (selected is None):
        raise InputError("give either -P (to ask for the largest M) or -M (to ask for the samples needed), not both.")
    if samples is not None:
        if positives is None and null == "fixed":
            check_balance(balance)
            positives = round(balance * samples)
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
