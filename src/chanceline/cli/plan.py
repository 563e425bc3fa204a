"""The commands of the rigorous bound: `bound` from four numbers, `plan` turned round."""

from __future__ import annotations

import contextlib
from math import log10
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

import chanceline
from chanceline.cli.options import InterceptOption, JsonOption, LevelOption, NullOption
from chanceline.cli.terminal import answer
from chanceline.errors import ConvergenceError, InputError, real_number

if TYPE_CHECKING:
    from chanceline.chance import Bound, FeaturePlan

FeaturesOption = Annotated[
    int, typer.Option("-N", "--features", help="Number of features to choose from, N.")
]
ErrorsOption = Annotated[
    int, typer.Option("--errors", help="Errors allowed, fixed before looking.")
]


def bound(
    samples: Annotated[int, typer.Option("-P", "--samples", help="Number of labelled samples, P.")],
    features: FeaturesOption,
    selected: Annotated[
        int, typer.Option("-M", "--selected", help="Number of features the rule uses, M.")
    ],
    positives: Annotated[
        int | None,
        typer.Option("--positives", help="Size of one class (needed by the fixed null)."),
    ] = None,
    errors: ErrorsOption = 0,
    null: NullOption = "fixed",
    intercept: InterceptOption = True,
    preregistered: Annotated[
        bool,
        typer.Option(
            "--preregistered", help="The M features were fixed before the labels were seen."
        ),
    ] = False,
    json: JsonOption = False,
) -> None:
    """How often would labels that ignore the features let M of N features separate P samples? A rigorous bound.

    Example: [bold]chanceline bound -P 62 -N 2000 -M 3 --positives 40[/bold]
    """  # noqa: E501 (the help shows these lines as they are)
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
    answer(result.to_dict(), describe_bound(result, errors, null), json)


def describe_bound(bound: Bound, errors: int, null: str) -> str:
    """The bound for people: the sentence, what limits it, and the numbers behind it.

    The bound for M features is the smallest of those for M′ ≥ M features: `best_size` is that M′,
    `dimension` the one of rules on M′ features, `form` how their labellings were counted.
    """
    from chanceline.chance import format_p

    lines = [str(bound)]
    if bound.log10_p == 0:
        lines.append(
            "The bound is silent here: only a permutation test of the data can tell "
            "(chanceline test)."
        )
    if errors > 0:
        # Errors e that were counted after looking cost a factor 2^(e + 1).
        log10_p = min(0.0, bound.log10_p + (errors + 1) * log10(2))
        lines.append(f"If the number of errors was chosen after looking: p ≤ {format_p(log10_p)}.")
    null_in_words = "fair coin (wrong for unbalanced classes)"
    if null == "fixed":
        null_in_words = "fixed class sizes"
    union = f"union bound at M = {bound.n_selected}: {bound.log10_union:+.4f}"
    bound_smallest_at = (
        f"{bound.best_size} features, dimension {bound.dimension}, count: {bound.form}"
    )
    lines += [
        f"  log10 p        {bound.log10_p:.4f}   ({union})",
        f"  null           {null_in_words}",
        f"  smallest at    {bound_smallest_at}",
        f"  supports       10^{bound.log10_supports:.2f}",
    ]
    return "\n".join(lines)


def plan(
    features: FeaturesOption,
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
    level: LevelOption = 0.05,
    errors: ErrorsOption = 0,
    null: NullOption = "fixed",
    intercept: InterceptOption = True,
    outcome: Annotated[
        str | None,
        typer.Option("--outcome", help="number, classes or survival instead of two classes."),
    ] = None,
    explained: Annotated[
        float | None,
        typer.Option(
            "--explained",
            help="With --outcome: share of one feature's variance in common with the outcome; "
            "asks for samples.",
        ),
    ] = None,
    n_classes: Annotated[
        int, typer.Option("--n-classes", help="With --outcome classes: how many.")
    ] = 3,
    json: JsonOption = False,
) -> None:
    """Before the experiment: with -P the largest set of features that would convince, with -M the samples needed.

    For other outcomes: with -P how strongly one feature must go with it to be seen, with --explained the samples needed.

    Example: [bold]chanceline plan -P 62 -N 2000 --positives 40[/bold]

    Example: [bold]chanceline plan -N 2000 -M 5 --balance 0.35[/bold]

    Example: [bold]chanceline plan -N 2000 --outcome survival --explained 0.25[/bold]
    """  # noqa: E501 (the help shows these lines as they are)
    if outcome is not None:
        answer_for_outcome(
            outcome,
            features,
            n_samples=samples,
            explained=explained,
            n_classes=n_classes,
            level=level,
            json=json,
        )
        return
    if (samples is None) == (selected is None):
        raise InputError(
            "give either -P (to ask for the largest M) or -M (to ask for the samples needed), "
            "not both."
        )
    options = PlanOptions(level=level, errors=errors, null=null, intercept=intercept)
    if selected is not None:
        answer_samples_needed(features, selected, balance, options, json)
    elif samples is not None:
        if positives is None and null == "fixed":
            share = real_number(balance, "the balance, the share of one class,", above=0, below=1)
            positives = round(share * samples)
        answer_largest(samples, features, positives, options, json)


def answer_for_outcome(
    outcome: str,
    n_features: int,
    *,
    n_samples: int | None,
    explained: float | None,
    n_classes: int,
    level: float,
    json: bool,
) -> None:
    """Print what so many samples see of one feature, or how many samples see so much of it."""
    from chanceline.significance.outcomes.planning import plan_outcome

    if (n_samples is None) == (explained is None):
        raise InputError(
            "give either -P (to ask what is seen) or --explained (to ask for the samples needed), "
            "not both."
        )
    outcome_plan = plan_outcome(
        outcome,
        n_features,
        n_samples=n_samples,
        share=explained,
        n_classes=n_classes,
        level=level,
    )
    answer(outcome_plan.to_dict(), f"{outcome_plan.summary()} (approximate).", json)


class PlanOptions(NamedTuple):
    """What both questions of `plan` share: the p-value that convinces, the errors allowed, the
    null, and whether the rule has a threshold.
    """

    level: float
    errors: int
    null: str
    intercept: bool


def answer_samples_needed(
    n_features: int, n_selected: int, balance: float, options: PlanOptions, json: bool
) -> None:
    """Print how many samples make a rule on `n_selected` features convincing."""
    from chanceline.chance import format_p

    needed = chanceline.samples_needed(
        n_features,
        n_selected,
        balance=balance,
        level=options.level,
        errors=options.errors,
        null=options.null,
        intercept=options.intercept,
    )
    samples = f"{needed.n_samples} samples"
    if needed.positives is not None:
        samples += f" ({needed.positives} + {needed.n_samples - needed.positives})"
    text = (
        f"{samples} make {n_selected} of {n_features} features convincing ({options.level:g}).\n"
        f"  p ≤ {format_p(needed.bound.log10_p)} there (rigorous bound)"
    )
    record = {"n_features": n_features, "n_selected": n_selected, **needed.to_dict()}
    answer(record, text, json)


def answer_largest(
    n_samples: int, n_features: int, positives: int | None, options: PlanOptions, json: bool
) -> None:
    """Print the largest set that would convince and, for comparison, what noise of this size needs.

    `positives` is the size of one class; the null "coin" needs none.
    """
    feature_plan = chanceline.largest_convincing(
        n_samples,
        n_features,
        positives=positives,
        level=options.level,
        errors=options.errors,
        null=options.null,
        intercept=options.intercept,
    )
    noise_size = None
    # Replica symmetry with errors has no answer in places; the rigorous one stands without it.
    with contextlib.suppress(ConvergenceError):
        noise_size = chanceline.chance_size(
            n_samples,
            n_features,
            positives=positives,
            errors=options.errors,
            intercept=options.intercept,
        )

    lines = lines_of_largest(feature_plan, n_samples, n_features, options.level)
    if noise_size is not None:
        lines.append(f"For comparison: {noise_size.in_words()} (theory, for orientation).")
    record = {
        "n_samples": n_samples,
        "n_features": n_features,
        "positives": positives,
        **feature_plan.to_dict(),
        "chance_size": noise_size,
    }
    answer(record, "\n".join(lines), json)


def lines_of_largest(
    feature_plan: FeaturePlan, n_samples: int, n_features: int, level: float
) -> list[str]:
    """The largest number of features that would convince, in words, with the bounds around it."""
    from chanceline.chance import format_p

    if feature_plan.largest == 0:
        lines = [
            f"With {n_samples} samples no set of features would convince at level "
            f"{level:g} by the bound."
        ]
    else:
        lines = [
            f"Up to {feature_plan.largest} of {n_features} features would convince at level "
            f"{level:g}."
        ]
    # The bounds of this number of features, which convinces, and of the next, which does not.
    for size_bound in (feature_plan.bound, feature_plan.next_bound):
        if size_bound is not None:
            p = format_p(size_bound.log10_p)
            lines.append(f"  M = {size_bound.n_selected}: p ≤ {p}")
    return lines
