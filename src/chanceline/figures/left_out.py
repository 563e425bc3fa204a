"""Pictures of what cross-validation says of a rule: its curve, and its calibration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from chanceline.figures.significance import name_on_axis
from chanceline.figures.style import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from chanceline.significance.left_out_scores import CalibrationBin, RocCurve

CURVE_COLOUR = COLOURS["rs"]
GUESSING_COLOUR = COLOURS["breaks"]


def draw_roc(ax: Axes, curve: RocCurve, classes: tuple[str, str]) -> None:
    """Draw the ROC curve of a rule: sensitivity against false alarms at every threshold.

    Parameters
    ----------
    ax : the axes to draw on.
    curve : the curve, with sensitivity and specificity at the rule's own threshold, marked by
        a point.
    classes : names of the negative and the positive class.
    """
    negative, positive = (name_on_axis(name) for name in classes)
    _draw_diagonal(ax)  # guessing
    ax.plot(curve.false_alarms, curve.sensitivities, color=CURVE_COLOUR)
    ax.plot(
        [1 - curve.specificity_of_rule],
        [curve.sensitivity_of_rule],
        "o",
        color=COLOURS["here"],
        markersize=8,
        zorder=5,
    )
    ax.set(
        xlabel=f"share of {negative} called {positive}",
        ylabel=f"share of {positive} found",
    )


def draw_calibration(ax: Axes, bins: Sequence[CalibrationBin], positive: str) -> None:
    """Draw the observed share of the positive class against its predicted probability.

    Parameters
    ----------
    ax : the axes to draw on.
    bins : samples of similar probability, with the interval (low to high) of their observed share.
    positive : name of the positive class.
    """
    predicted = [calibration_bin.predicted for calibration_bin in bins]
    _draw_diagonal(ax)  # probabilities that are right
    ax.vlines(
        predicted,
        [calibration_bin.low for calibration_bin in bins],
        [calibration_bin.high for calibration_bin in bins],
        color=CURVE_COLOUR,
        linewidth=1.2,
    )
    observed = [calibration_bin.observed for calibration_bin in bins]
    ax.plot(predicted, observed, "o", color=CURVE_COLOUR, markersize=5)
    ax.set(
        xlabel=f"predicted probability of {name_on_axis(positive)}",
        ylabel=f"observed share of {name_on_axis(positive)}",
    )


def _draw_diagonal(ax: Axes) -> None:
    """A square from 0 to 1, and its diagonal: guessing, or probabilities that are right."""
    ax.plot([0, 1], [0, 1], color=GUESSING_COLOUR, linestyle="--", linewidth=1)
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
