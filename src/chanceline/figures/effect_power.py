"""Pictures of a planned study: the power of the test against the number of samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from chanceline.figures.style import COLOURS
from chanceline.significance.effect_power import PowerPlan


def draw_power_curve(ax: Any, curve: Sequence[PowerPlan], plan: PowerPlan) -> None:
    """The power at several sample sizes, with a band of two standard errors, and the plan's own.

    Parameters
    ----------
    ax : matplotlib axes.
    curve : plans of the same effect, in ascending order of samples.
    plan : the one to mark.
    """
    samples = [point.n_samples for point in curve]
    power = np.array([point.power for point in curve])
    error = np.array([point.error for point in curve])
    low = np.maximum(power - 2 * error, 0.0)
    high = np.minimum(power + 2 * error, 1.0)
    label = f"effect {plan.effect:g} in {plan.features_with_effect} of {plan.n_features} features"
    ax.fill_between(samples, low, high, color=COLOURS["rs"], alpha=0.2, linewidth=0)
    ax.plot(samples, power, marker="o", color=COLOURS["rs"], label=label)

    mark = f"{plan.n_samples} samples: {plan.power:.2f}"
    ax.plot([plan.n_samples], [plan.power], "o", color=COLOURS["here"], label=mark)
    ax.axhline(plan.level, color="0.6", linewidth=0.9, linestyle=":", label=f"level {plan.level:g}")
    ax.set(xlabel="samples", ylabel="power of the test", ylim=(0, 1.02))
    ax.legend(loc="lower right", fontsize=9)
