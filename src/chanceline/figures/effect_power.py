"""Pictures of a planned study: the power of the test against the number of samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from chanceline.figures.style import COLOURS
from chanceline.significance.effect_power import PowerPlan


def draw_power_curve(ax: Any, curve: Sequence[PowerPlan], plan: PowerPlan) -> None:
    """Draw the power of a test against the number of samples, and mark a plan.

    A plan is a study with so many samples and an effect in some features. Its power was estimated
    by simulation, so the curve has a band of two standard errors to either side.

    Parameters
    ----------
    ax : matplotlib axes.
    curve : plans of the same effect, in ascending order of samples.
    plan : the one to mark.
    """
    # The curve and its band.
    n_samples = [point.n_samples for point in curve]
    power = np.array([point.power for point in curve])
    standard_error = np.array([point.error for point in curve])
    low = np.maximum(power - 2 * standard_error, 0.0)
    high = np.minimum(power + 2 * standard_error, 1.0)
    effect = f"effect {plan.effect:g} in {plan.features_with_effect} of {plan.n_features} features"
    ax.fill_between(n_samples, low, high, color=COLOURS["rs"], alpha=0.2, linewidth=0)
    ax.plot(n_samples, power, marker="o", color=COLOURS["rs"], label=effect)

    # The plan, and the level of the test, which is its power without any effect.
    plan_in_words = f"{plan.n_samples} samples: {plan.power:.2f}"
    ax.plot([plan.n_samples], [plan.power], "o", color=COLOURS["here"], label=plan_in_words)
    ax.axhline(plan.level, color="0.6", linewidth=0.9, linestyle=":", label=f"level {plan.level:g}")
    ax.set(xlabel="samples", ylabel="power of the test", ylim=(0, 1.02))
    ax.legend(loc="lower right", fontsize=9)
