"""The commands of the rigorous bound: `bound` from four numbers, `plan` turned round."""

from __future__ import annotations

import contextlib
from math import log10
from typing import Annotated

import typer

import chanceline
from chanceline.cli.terminal import Intercept, Json, Level, Null, answer
from chanceline.errors import ConvergenceError, InputError, real_number

Features = Annotated[
    int, typer.Option("-N", "--features", help="Number of features to choose from, N.")
]
Errors = Annotated[int, typer.Option("--errors", help="Errors allowed, fixed before looking.")]


def bound(
    samples: Annotated[int, typer.Option("-P", "--samples", help="Number of labelled samples, P.")],
    features: Features,
    selected: Annotated[
        int, typer.Option("-M", "--selected", help="Number of features the rule uses, M.")
    ],
    positives: Annotated[
        int | None,
        typer.Option("--positives", help="Size of one class (needed by the fixed null)."),
    ] = None,
    errors: Errors = 0,
    null: Null = "fixed",
    intercept: Intercept = True,
    preregistered: Annotated[
        bool,
        typer.Option(
            "--preregistered", help="The M features were fixed before the labels were seen."
        ),
    ] = False,
    json: Json = False,
) -> None:
    """How often would labels that ignore the features let M of N features separate P samples? A rigorous bound.

    Example: [bold]chanceline bound -P 62 -N 2000 -M 3 --positives 40[/bold]
    """
    from chanceline.chance import format_p

    result = chanceline.chance_bound(
        samples,
        features,
        selected,
        positives=positives,
        errors=errors,
        null=null,
        intercept=intercept,
        preregistered=preregistered,
    )
    silent = (
        "The bound is silent here: only a permutation test of the data can tell (chanceline test)."
    )
    after = format_p(min(0.0, result.log10_p + (errors + 1) * log10(2)))
    lines = [
        str(result),
        *[silent] * (result.log10_p == 0),
        *[f"If the number of errors was chosen after looking: p ≤ {after}."] * (errors > 0),
        f"  log10 p        {result.log10_p:.4f}   (union bound at M = {selected}: {result.log10_union:+.4f})",
        f"  null           {'fixed class sizes' if null == 'fixed' else 'fair coin (wrong for unbalanced classes)'}",
        f"  smallest at    {result.best_size} features, dimension {result.dimension}, count: {result.form}",
        f"  supports       10^{result.log10_supports:.2f}",
    ]
    answer(result.to_dict(), "\n".join(lines), json)


def plan(
    features: Features,
    samples: Annotated[
        int | None,
        typer.Option("-P", "--samples", help="Number of samples, P: asks for the largest M."),
    ] = None,
    selected: Annotated[
        int | None,
        typer.Option("-M", "--selected", help="Features the rule uses, M: asks for samples."),
    ] = None,
    positives: Annotated[
        int | None, typer.Option("--positives", help="Size of one class, with -P.")
    ] = None,
    balance: Annotated[float, typer.Option("--balance", help="Share of one class, with -M.")] = 0.5,
    level: Level = 0.05,
    errors: Errors = 0,
    null: Null = "fixed",
    intercept: Intercept = True,
    json: Json = False,
) -> None:
    """Before the experiment: with -P the largest set of features that would convince, with -M the samples needed.

    Example: [bold]chanceline plan -P 62 -N 2000 --positives 40[/bold]

    Example: [bold]chanceline plan -N 2000 -M 5 --balance 0.35[/bold]
    """
    from chanceline.chance import format_p

    if (samples is None) == (selected is None):
        raise InputError(
            "give either -P (to ask for the largest M) or -M (to ask for the samples needed), not both."
        )
    if samples is not None:
        if positives is None and null == "fixed":
            positives = round(
                real_number(balance, "the balance, the share of one class,", above=0, below=1)
                * samples
            )
        _largest(samples, features, positives, level, errors, null, intercept, json)
        return
    assert selected is not None
    needed = chanceline.samples_needed(
        features,
        selected,
        balance=balance,
        level=level,
        errors=errors,
        null=null,
        intercept=intercept,
    )
    classes = (
        ""
        if needed.positives is None
        else f" ({needed.positives} + {needed.n_samples - needed.positives})"
    )
    first = f"{needed.n_samples} samples{classes} make {selected} of {features} features convincing ({level:g})."
    record = {"n_features": features, "n_selected": selected, **needed.to_dict()}
    answer(record, f"{first}\n  p ≤ {format_p(needed.bound.log10_p)} there (rigorous bound)", json)


def _largest(
    samples: int,
    features: int,
    positives: int | None,
    level: float,
    errors: int,
    null: str,
    intercept: bool,
    json: bool,
) -> None:
    """The largest set that would convince, and for comparison the smallest that noise allows."""
    from chanceline.chance import format_p

    largest = chanceline.largest_convincing(
        samples,
        features,
        positives=positives,
        level=level,
        errors=errors,
        null=null,
        intercept=intercept,
    )
    noise = None
    # The rigorous answer stands without it, where replica symmetry with errors has none.
    with contextlib.suppress(ConvergenceError):
        noise = chanceline.chance_size(
            samples, features, positives=positives, errors=errors, intercept=intercept
        )
    text = f"Up to {largest.largest} of {features} features would convince at level {level:g}."
    if largest.largest == 0:
        text = f"With {samples} samples no set of features would convince at level {level:g} by the bound."
    bounds = [bound for bound in (largest.bound, largest.next_bound) if bound is not None]
    lines = [f"  M = {bound.n_selected}: p ≤ {format_p(bound.log10_p)}" for bound in bounds]
    lines += (
        [f"For comparison: {noise.in_words()} (theory, for orientation)."] if noise is not None else []
    )
    record = {
        "n_samples": samples,
        "n_features": features,
        "positives": positives,
        **largest.to_dict(),
    }
    answer({**record, "chance_size": noise and noise.to_dict()}, "\n".join([text, *lines]), json)
