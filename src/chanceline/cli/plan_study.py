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


def print_samples_to_find_true_rule(question: PlantedQuestion, *, quiet: bool, json: bool) -> None:
    """Print how many samples it takes to find the features of a true rule among all features.

    The labels follow a rule on a few true features, except for a share of wrong labels. Two numbers
    of samples are printed: from which on the true features do better than any set of unrelated
    features, and from which on they do better than any other set at all.
    """
    # The number of true features must be given, and that of samples, which is asked for, must not.
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
    print_answer(plan.to_dict(), samples_to_find_true_rule_in_words(plan), json)


def samples_to_find_true_rule_in_words(plan: PlantedPlan) -> str:
    """Say in words how many samples it takes to find the true features of a rule among all others.

    The rule is noisy: a share of the labels is wrong.
    """
    # From this number of samples on, no set of unrelated features does as well as the true set.
    n_to_beat_unrelated = plan.no_unrelated
    # From this number on, no other set at all does; None if it was not simulated.
    n_to_beat_all = plan.alone

    lines = [
        f"A rule on {plan.n_true} of {plan.n_features} features, {plan.noise:.0%} of the labels "
        "wrong:",
        f"  from {n_to_beat_unrelated:.0f} samples on no {plan.n_true} unrelated features do as "
        f"well as the true ones, which make {plan.errors:.1f} errors there",
        "    (theory, in half of all tables; for independent features)",
    ]
    if n_to_beat_all is not None:
        lines += [
            f"  from {n_to_beat_all:.0f} ± {plan.alone_error:.0f} samples on the true set is the "
            "only one that does as well",
            f"    (simulated, {plan.n_tables} studies with equal weights; in half of them)",
        ]
    return "\n".join(lines)


def print_power_or_samples(question: EffectQuestion, *, figure: Path | None, json: bool) -> None:
    """Print the power of a study of given size, or the number of samples that a power needs.

    The power is the probability that the test sees an effect in some of the features.

    Parameters
    ----------
    question : the effect, and either the number of samples or the power; the other one is asked
        for. If neither is given, the number of samples for the power DEFAULT_POWER is.
    figure : a file in which the power is drawn against the number of samples; None for no figure.
    json : whether JSON is printed, instead of a sentence.
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
    print_answer(plan.to_dict(), power_in_words(plan), json)


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


def power_in_words(plan: PowerPlan) -> str:
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
