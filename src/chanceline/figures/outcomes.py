"""Pictures of tests of outcomes: predictions of samples left out, and what features explain."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.ticker import MaxNLocator

from chanceline.figures.style import COLOURS
from chanceline.significance.outcomes.pictures import (
    ConfusionPicture,
    ObservedAndPredicted,
    Picture,
    SurvivalPicture,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from chanceline.significance.outcomes.result import OutcomeTest

CURVE_COLOURS = (COLOURS["rs"], COLOURS["cover-gardner"])


def draw_outcome(ax: Axes, result: OutcomeTest) -> None:
    """Predictions of samples left out; without a rule what features explain."""
    if result.held_out is None:
        draw_explained(ax, result)
        return
    draw_picture(ax, result.outcome.picture(result.held_out))


def draw_picture(ax: Axes, picture: Picture) -> None:
    """The picture of an outcome, by its kind."""
    if isinstance(picture, ObservedAndPredicted):
        _draw_points(ax, picture)
    elif isinstance(picture, ConfusionPicture):
        _draw_confusion(ax, picture)
    else:
        _draw_survival(ax, picture)


def _draw_points(ax: Axes, picture: ObservedAndPredicted) -> None:
    """A point for every sample, and the line on which predictions are right."""
    ax.plot(picture.observed, picture.predicted, "o", color=COLOURS["rs"], alpha=0.7, markersize=5)
    ends = [float(picture.observed.min()), float(picture.observed.max())]
    ax.plot(ends, ends, "--", color=COLOURS["breaks"], linewidth=1)
    ax.set_xlabel(picture.observed_words)
    ax.set_ylabel(picture.predicted_words)


def _draw_confusion(ax: Axes, picture: ConfusionPicture) -> None:
    """Draw a confusion table: rows are the true classes, columns the predicted ones.

    The shade of a cell shows its share of the true class; its number is how many samples it has,
    which need not be whole, as it is a mean over cross-validations.
    """
    # Shares of each true class, (true classes, predicted classes).
    shares = picture.counts / picture.counts.sum(axis=1, keepdims=True)
    ax.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    n_classes = len(picture.class_names)
    for row in range(n_classes):
        for column in range(n_classes):
            # Dark letters, and light ones on dark cells.
            colour = COLOURS["ink"]
            if shares[row, column] > 0.5:
                colour = COLOURS["card"]
            number = f"{picture.counts[row, column]:.1f}"
            ax.text(column, row, number, ha="center", va="center", color=colour)
    ax.set_xticks(list(range(n_classes)), labels=list(picture.class_names))
    ax.set_yticks(list(range(n_classes)), labels=list(picture.class_names))
    ax.set_xlabel("called")
    ax.set_ylabel("class")
    ax.grid(False)


def _draw_survival(ax: Axes, picture: SurvivalPicture) -> None:
    """A step curve for each half."""
    for curve, colour in zip(picture.curves, CURVE_COLOURS, strict=False):
        ax.step(curve.times, curve.shares, where="post", color=colour, label=curve.words)
    ax.set_ylim(0, 1.02)
    ax.set_xlabel(picture.time_words)
    ax.set_ylabel("share without the event")
    ax.legend()


def draw_explained(ax: Axes, result: OutcomeTest) -> None:
    """Draw how much of an outcome features explain: R² against the number of features.

    Features are added one by one, by stepwise least squares (`result.front` has a point for each
    number). A band shows R² for permuted outcomes, in which there is nothing to explain.
    """
    sizes = [point.k for point in result.front]
    # Draw the band, from the 5 % to the 95 % quantile. All sizes come from the same permutations,
    # so either all of them have a band or none has.
    bands = [point.shuffled for point in result.front if point.shuffled is not None]
    if len(bands) == len(sizes):
        ax.fill_between(
            sizes,
            [band.low for band in bands],
            [band.high for band in bands],
            color=COLOURS["breaks"],
            alpha=0.3,
            linewidth=0,
            label="permuted outcomes, 90 % of them",
        )
    explained = [point.explained for point in result.front]
    ax.plot(sizes, explained, "o-", color=COLOURS["rs"], markersize=5, label="your outcome")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlabel("number of features")
    ax.set_ylabel("R² of least squares")
    ax.set_ylim(0, None)
    ax.legend()
