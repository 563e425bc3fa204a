"""The questions of `plan` about a study with something to find: a true set, or an effect."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import chanceline
from chanceline.cli.terminal import print_answer, progress_bar, write_figure
from chanceline.errors import InputError

if TYPE_CHECKING:
    from chanceline.significance.effect_power import PowerPlan
    from chanceline.significance.planted import PlantedPlan

DEFAULT_POWER = 0.8


class PlantedQuestion(NamedTuple):
    """A rule on `n_selected` of `n_features` features, with a share `noise` of wrong labels.

    The number of samples is the answer, and must not be given.
    """

    n_features: int
    n_selected: int | None
    n_samples: int | None
    noise: float
    intercept: bool
    tables: int
    seed: int


class EffectQuestion(NamedTuple):
    """An effect in some of the features.

    Either the number of samples is given, and the power is asked for, or the samples that the power
    needs are; the other is None.
    """

    n_features: int
    effect: float
    features_with_effect: int
    samples: int | None
    power: float | None
    balance: float
    level: float
    seed: int


def answer_planted(question: PlantedQuestion, *, quiet: bool, json: bool) -> None:
    """Print how many samples it takes to find a true rule among many features.

    The plan has two numbers of samples: from which on the true features do better than any set of
    unrelated features, and from which on they do better than any other set at all.
    """
    if question.n_selected is None or question.n_samples is not None:
        raise InputError("--noise goes with -M, the number of true features, and not with -P.")
    with progress_bar("simulated studies", quiet=quiet or json) as progress:
        plan = chanceline.planted_plan(
            question.n_features,
            question.n_selected,
            noise=question.noise,
            intercept=question.intercept,
            tables=question.tables,
            seed=question.seed,
            progress=progress,
        )
    print_answer(plan.to_dict(), describe_planted(plan), json)


def describe_planted(plan: PlantedPlan) -> str:
    """Say in words how many samples it takes to find a true set of features.

    `plan.no_unrelated` is the number of samples from which on no set of unrelated features does as
    well as the true set; `plan.alone` the one from which on no other set at all does, None if it
    was not simulated.
    """
    lines = [
        f"A rule on {plan.n_true} of {plan.n_features} features, {plan.noise:.0%} of the labels "
        "wrong:",
        f"  from {plan.no_unrelated:.0f} samples on no {plan.n_true} unrelated features do as well "
        f"as the true ones, which make {plan.errors:.1f} errors there",
        "    (theory, in half of all tables; for independent features)",
    ]
    if plan.alone is not None:
        lines += [
            f"  from {plan.alone:.0f} ± {plan.alone_error:.0f} samples on the true set is the only "
            "one that does as well",
            f"    (simulated, {plan.n_tables} studies with equal weights; in half of them)",
        ]
    return "\n".join(lines)


def answer_effect(question: EffectQuestion, *, figure: Path | None, json: bool) -> None:
    """Print the power of a study of given size, or the number of samples that a power needs.

    The power is the probability that the test sees an effect in some of the features. With
    `figure`, a path, the power is also drawn against the number of samples.
    """
    if question.samples is not None and question.power is not None:
        raise InputError(
            "give either -P (to ask for the power) or --power (to ask for the samples), not both."
        )
    plan = solve_effect(question)
    if figure is not None:
        from chanceline.figures.effect_power import draw_power_curve
        from chanceline.significance.effect_power import power_curve

        curve = power_curve(plan, seed=question.seed)
        write_figure(lambda ax: draw_power_curve(ax, curve, plan), figure)
    print_answer(plan.to_dict(), describe_effect(plan), json)


def solve_effect(question: EffectQuestion) -> PowerPlan:
    """Plan a study: its power if the number of samples is given, else the samples for a power.

    If neither the number of samples nor the power is given, the power is DEFAULT_POWER.
    """
    if question.samples is not None:
        return chanceline.power_of_effect(
            question.samples,
            question.n_features,
            question.effect,
            features_with_effect=question.features_with_effect,
            balance=question.balance,
            level=question.level,
            seed=question.seed,
        )
    power = question.power
    if power is None:
        power = DEFAULT_POWER
    return chanceline.samples_for_effect(
        question.n_features,
        question.effect,
        power=power,
        features_with_effect=question.features_with_effect,
        balance=question.balance,
        level=question.level,
        seed=question.seed,
    )


def describe_effect(plan: PowerPlan) -> str:
    """Say in words with what probability a study sees an effect (its power).

    The effect is a distance between the class means, in standard deviations, in some features.
    """
    negatives = plan.n_samples - plan.positives
    affected_features = "1 feature"
    if plan.features_with_effect > 1:
        affected_features = f"{plan.features_with_effect} features"
    return (
        f"{plan.n_samples} samples ({plan.positives} + {negatives}): the test sees "
        f"{affected_features} of "
        f"{plan.n_features} whose class means are {plan.effect:g} standard deviations apart\n"
        f"  with probability {plan.power:.2f} ± {plan.error:.2f}, at level {plan.level:g}\n"
        "    (a model of independent Gaussian features, drawn; ± is the error of the draws)"
    )
