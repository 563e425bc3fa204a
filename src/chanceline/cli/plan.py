"""The commands before the experiment: `bound` from four numbers, `plan` turned round."""

from __future__ import annotations

import contextlib
from math import log10
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

import chanceline
from chanceline.cli.options import (
    FigureOption,
    InterceptOption,
    JsonOption,
    LevelOption,
    NullOption,
    QuietOption,
    SeedOption,
)
from chanceline.cli.plan_study import (
    EffectQuestion,
    PlantedQuestion,
    print_power_or_samples,
    print_samples_to_find_true_rule,
)
from chanceline.cli.terminal import print_answer
from chanceline.errors import ConvergenceError, InputError, real_number

if TYPE_CHECKING:
    from chanceline.chance import Bound, FeaturePlan
    from chanceline.significance.noise_size import ChanceSize

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
    print_answer(result.to_dict(), describe_bound(result, errors, null), json)


def describe_bound(bound: Bound, errors: int, null: str) -> str:
    """Describe a bound on a p-value in words, followed by the numbers behind it, one a line.

    Parameters
    ----------
    bound : for M features; it is the smallest of the bounds for all M′ ≥ M, found at `best_size`.
    errors : the number of errors that the rule was allowed.
    null : how random labels are drawn: "fixed" class sizes, or by "coin".
    """
    from chanceline.chance import format_p

    lines = [str(bound)]
    if bound.log10_p == 0:  # the bound is p ≤ 1, which says nothing
        lines.append(
            "The bound is silent here: only a permutation test of the data can tell "
            "(chanceline test)."
        )
    if errors > 0:
        # If the number of errors e was chosen after looking, the bound on p is larger by the factor
        # 2^(e + 1), but at most 1.
        log10_factor = (errors + 1) * log10(2)
        log10_p = min(0.0, bound.log10_p + log10_factor)
        lines.append(f"If the number of errors was chosen after looking: p ≤ {format_p(log10_p)}.")
    null_in_words = "fair coin (wrong for unbalanced classes)"
    if null == "fixed":
        null_in_words = "fixed class sizes"
    union_bound = f"union bound at M = {bound.n_selected}: {bound.log10_union:+.4f}"
    place_of_smallest = (
        f"{bound.best_size} features, dimension {bound.dimension}, count: {bound.form}"
    )
    lines += [
        f"  log10 p        {bound.log10_p:.4f}   ({union_bound})",
        f"  null           {null_in_words}",
        f"  smallest at    {place_of_smallest}",
        f"  supports       10^{bound.log10_supports:.2f}",
    ]
    return "\n".join(lines)


def plan(
    features: FeaturesOption,
    samples: Annotated[
        int | None,
        typer.Option(
            "-P",
            "--samples",
            help="Number of samples, P: asks for the largest M; with --effect for the power.",
        ),
    ] = None,
    selected: Annotated[
        int | None,
        typer.Option("-M", "--selected", help="Features the rule uses, M: asks for samples."),
    ] = None,
    noise: Annotated[
        float | None,
        typer.Option(
            "--noise",
            help="With -M: share of wrong labels; asks when M true features beat all others.",
        ),
    ] = None,
    effect: Annotated[
        float | None,
        typer.Option(
            "--effect",
            help="Distance of the class means, in standard deviations: asks for the samples that "
            "the test needs to see it, or with -P for its power.",
        ),
    ] = None,
    features_with_effect: Annotated[
        int,
        typer.Option("--features-with-effect", help="With --effect: how many features have it."),
    ] = 1,
    power: Annotated[
        float | None,
        typer.Option("--power", help="With --effect: the power wanted (0.8 by default)."),
    ] = None,
    positives: Annotated[
        int | None, typer.Option("--positives", help="Size of one class, with -P.")
    ] = None,
    balance: Annotated[
        float, typer.Option("--balance", help="Share of one class, with -M or --effect.")
    ] = 0.5,
    level: LevelOption = 0.05,
    errors: ErrorsOption = 0,
    null: NullOption = "fixed",
    intercept: InterceptOption = True,
    tables: Annotated[
        int, typer.Option("--tables", help="With --noise: studies to simulate; 0 for none.")
    ] = 40,
    seed: SeedOption = 0,
    figure: FigureOption = None,
    quiet: QuietOption = False,
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
    """Before the experiment: with -P the largest set of features that would convince, with -M the samples needed; with --noise or --effect what it takes to find what is there.

    For other outcomes: with -P how strongly one feature must go with it to be seen, with --explained the samples needed.

    Example: [bold]chanceline plan -P 62 -N 2000 --positives 40[/bold]

    Example: [bold]chanceline plan -N 2000 -M 5 --balance 0.35[/bold]

    Example: [bold]chanceline plan -N 500 -M 3 --noise 0.1[/bold]

    Example: [bold]chanceline plan -N 2000 --effect 1.0 --power 0.8 --figure power.svg[/bold]

    Example: [bold]chanceline plan -N 2000 --outcome survival --explained 0.25[/bold]
    """  # noqa: E501 (the help shows these lines as they are)
    if outcome is not None:
        print_plan_for_outcome(
            outcome,
            features,
            n_samples=samples,
            explained=explained,
            n_classes=n_classes,
            level=level,
            json=json,
        )
        return
    if effect is not None:
        if selected is not None or noise is not None:
            raise InputError("--effect goes with -P or --power, not with -M or --noise.")
        effect_question = EffectQuestion(
            n_features=features,
            effect=effect,
            features_with_effect=features_with_effect,
            samples=samples,
            power=power,
            balance=balance_of(positives, samples, balance),
            level=level,
            seed=seed,
        )
        print_power_or_samples(effect_question, figure=figure, json=json)
        return
    if power is not None or figure is not None or features_with_effect != 1:
        raise InputError("--power, --features-with-effect and --figure go with --effect.")
    if noise is not None:
        planted_question = PlantedQuestion(
            n_features=features,
            n_selected=selected,
            n_samples=samples,
            noise=noise,
            intercept=intercept,
            tables=tables,
            seed=seed,
        )
        print_samples_to_find_true_rule(planted_question, quiet=quiet, json=json)
        return
    options = PlanOptions(level=level, errors=errors, null=null, intercept=intercept)
    print_plan_by_bound(
        features,
        samples=samples,
        selected=selected,
        positives=positives,
        balance=balance,
        options=options,
        json=json,
    )


def balance_of(positives: int | None, samples: int | None, balance: float) -> float:
    """The share of one class: from its size, if that and the number of samples are given."""
    if positives is None:
        return balance
    if samples is None:
        raise InputError("--positives goes with -P; without it give --balance.")
    return positives / samples


def print_plan_by_bound(
    n_features: int,
    *,
    samples: int | None,
    selected: int | None,
    positives: int | None,
    balance: float,
    options: PlanOptions,
    json: bool,
) -> None:
    """Print the largest set of features that would convince, or the number of samples needed.

    If the number of `samples` is given, it is the largest set; if the number of `selected` features
    is given, how many samples they need. A set convinces if the rigorous bound on its p-value is at
    most the level.
    """
    if (samples is None) == (selected is None):
        raise InputError(
            "give either -P (to ask for the largest M) or -M (to ask for the samples needed), "
            "not both."
        )
    if selected is not None:
        print_samples_needed(n_features, selected, balance, options, json)
    elif samples is not None:
        # Where random labels keep the class sizes, the size of one class must be known.
        if positives is None and options.null == "fixed":
            share = real_number(balance, "the balance, the share of one class,", above=0, below=1)
            positives = round(share * samples)
        print_largest_set(samples, n_features, positives, options, json)


def print_plan_for_outcome(
    outcome: str,
    n_features: int,
    *,
    n_samples: int | None,
    explained: float | None,
    n_classes: int,
    level: float,
    json: bool,
) -> None:
    """Print what it takes to detect one feature that is associated with an outcome.

    The association is measured by `explained`, the share of the feature's variance in common with
    the outcome. Either this share is given, and the number of samples needed is printed, or the
    number of samples is given, and the smallest share that is detected is printed.

    Parameters
    ----------
    outcome : "number", "classes" (of which there are `n_classes`) or "survival".
    n_features : how many features are tested.
    n_samples, explained : one of them must be None; it is asked for.
    level : of the test that is to detect the feature.
    json : whether JSON is printed, instead of a sentence.
    """
    from chanceline.significance.outcomes.planning import plan_outcome

    if (n_samples is None) == (explained is None):
        raise InputError(
            "give either -P (to ask what is seen) or --explained (to ask for the samples needed), "
            "not both."
        )
    plan_of_study = plan_outcome(
        outcome,
        n_features,
        n_samples=n_samples,
        share=explained,
        n_classes=n_classes,
        level=level,
    )
    sentence = f"{plan_of_study.summary()} (approximate)."
    print_answer(plan_of_study.to_dict(), sentence, json)


class PlanOptions(NamedTuple):
    """What both questions of `plan` share: the p-value that convinces, the errors allowed, the
    null, and whether the rule has a threshold.
    """

    level: float
    errors: int
    null: str
    intercept: bool


def print_samples_needed(
    n_features: int, n_selected: int, balance: float, options: PlanOptions, json: bool
) -> None:
    """Print how many samples make a rule on `n_selected` features convincing.

    A rule is convincing if the rigorous bound on its p-value is at most `options.level`. `balance`
    is the share of one class.
    """
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
    # In words, with the sizes of both classes if they matter.
    samples = f"{needed.n_samples} samples"
    if needed.positives is not None:
        samples += f" ({needed.positives} + {needed.n_samples - needed.positives})"
    text = (
        f"{samples} make {n_selected} of {n_features} features convincing ({options.level:g}).\n"
        f"  p ≤ {format_p(needed.bound.log10_p)} there (rigorous bound)"
    )
    record = {"n_features": n_features, "n_selected": n_selected, **needed.to_dict()}
    print_answer(record, text, json)


def chance_size_by_theory(
    n_samples: int, n_features: int, positives: int | None, options: PlanOptions
) -> ChanceSize | None:
    """By theory, how many features the best rule needs to separate labels drawn at random.

    The table has `n_samples` samples and `n_features` independent features, and `positives` samples
    in one class (None for half of them). `options` says how many errors the rule may make and
    whether it has an intercept. Returns None if the theory has no answer.
    """
    # With errors the replica-symmetric equations have no solution for some sizes.
    with contextlib.suppress(ConvergenceError):
        return chanceline.chance_size(
            n_samples,
            n_features,
            positives=positives,
            errors=options.errors,
            intercept=options.intercept,
        )
    return None


def print_largest_set(
    n_samples: int, n_features: int, positives: int | None, options: PlanOptions, json: bool
) -> None:
    """Print the largest set of features that would convince, with noise of this size to compare.

    A set convinces if the rigorous bound on its p-value is at most `options.level`. For comparison
    the theory says how many features the best rule needs to separate labels drawn at random, which
    is called the chance size.

    Parameters
    ----------
    n_samples, n_features : the shape of the table.
    positives : the size of one class; may be None if random labels are drawn by a fair coin.
    options : level, errors allowed, the null hypothesis, and whether a rule has a threshold.
    json : whether JSON is printed, instead of text.
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
    chance_size = chance_size_by_theory(n_samples, n_features, positives, options)
    lines = lines_of_largest(feature_plan, n_samples, n_features, options.level)
    if chance_size is not None:  # None if the theory has no answer
        lines.append(f"For comparison: {chance_size.in_words()} (theory, for orientation).")
    record = {
        "n_samples": n_samples,
        "n_features": n_features,
        "positives": positives,
        **feature_plan.to_dict(),
        "chance_size": chance_size,  # `print_answer` makes plain data of this result
    }
    print_answer(record, "\n".join(lines), json)


def lines_of_largest(
    feature_plan: FeaturePlan, n_samples: int, n_features: int, level: float
) -> list[str]:
    """The largest number of features that would convince, in words, and the bounds that show it.

    `feature_plan` has the bound on p for the largest set of features that convinces, and the one
    for a set with one feature more, which does not; either may be None.
    """
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
    for size_bound in (feature_plan.bound, feature_plan.next_bound):
        if size_bound is not None:
            p = format_p(size_bound.log10_p)
            lines.append(f"  M = {size_bound.n_selected}: p ≤ {p}")
    return lines
